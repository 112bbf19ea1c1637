//! Totals by class and name tell what a device spent its time on. They are sums of durations, so events that overlap count each.

use crate::names::Name;
use crate::recording::{Class, DeviceEvent};
use std::collections::HashMap;

/// All events of a class that have one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelTotal {
    /// The class.
    pub class: Class,
    /// The name.
    pub name: Name,
    /// How many.
    pub count: u64,
    /// The sum of their durations, in ns.
    pub sum_ns: i64,
    /// The shortest.
    pub min_ns: i64,
    /// The longest.
    pub max_ns: i64,
}

impl KernelTotal {
    /// `sum / count`, rounded to the nearest ns.
    pub fn mean_ns(&self) -> i64 {
        let count = i64::try_from(self.count).unwrap_or(i64::MAX).max(1);
        self.sum_ns.saturating_add(count / 2) / count
    }
}

/// The totals, by class and then from the largest sum down.
pub fn kernel_totals<'a>(events: impl IntoIterator<Item = &'a DeviceEvent>) -> Vec<KernelTotal> {
    let mut totals: HashMap<(Class, Name), KernelTotal> = HashMap::new();
    for event in events {
        let (class, name, length) = (event.class, event.name, event.interval().length());
        let none = KernelTotal { class, name, count: 0, sum_ns: 0, min_ns: i64::MAX, max_ns: 0 };
        let total = totals.entry((class, name)).or_insert(none);
        total.count += 1;
        total.sum_ns = total.sum_ns.saturating_add(length);
        total.min_ns = total.min_ns.min(length);
        total.max_ns = total.max_ns.max(length);
    }
    let mut totals: Vec<KernelTotal> = totals.into_values().collect();
    totals.sort_by_key(|total| (total.class, -total.sum_ns, total.name));
    totals
}
