//! Communication by collective, and how much of it computation does not hide.
//!
//! A collective is what the file says a kernel belongs to (PyTorch's `Collective name`), else the kernel's name without its
//! arguments. With `N_c` the time of collective `c`: `time = |N_c|`, `exposed = |N_c| - |N_c n C|`. Collectives that overlap each other
//! count each, so sums over them may exceed the device's communication time.

use super::figures::ClassIntervals;
use crate::interval::{length, merged, shared};
use crate::names::Names;
use crate::recording::{Class, DeviceEvent};
use std::collections::BTreeMap;

/// One collective on one device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collective {
    /// Its name.
    pub name: String,
    /// Events of it.
    pub count: u64,
    /// Time in which it was on, in ns.
    pub time_ns: i64,
    /// Of that, without computation.
    pub exposed_ns: i64,
}

/// The collectives among events, the most exposed first. `lists` is of the same events.
pub fn collectives(events: &[DeviceEvent], lists: &ClassIntervals, names: &Names) -> Vec<Collective> {
    let mut by_name: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.class == Class::Communication) {
        let name = match event.collective() {
            Some(collective) => names.text(collective),
            None => without_arguments(names.text(event.name)),
        };
        by_name.entry(name).or_default().push(event.interval());
    }
    let total = |(name, intervals): (&str, Vec<_>)| {
        let count = intervals.len() as u64;
        let on = merged(intervals);
        let time_ns = length(&on);
        let exposed_ns = time_ns - shared(&on, &lists.computation);
        Collective { name: name.to_owned(), count, time_ns, exposed_ns }
    };
    let mut all: Vec<Collective> = by_name.into_iter().map(total).collect();
    all.sort_by_key(|collective| -collective.exposed_ns);
    all
}

fn without_arguments(name: &str) -> &str {
    name.split(['(', '<']).next().filter(|head| !head.trim().is_empty()).unwrap_or(name).trim_start_matches("void ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_loses_its_arguments_but_not_itself() {
        let check = |name, expected| assert_eq!(without_arguments(name), expected);
        check(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, ncclWork*)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        );
        check("void rcclGenericKernel<1, false>(x)", "rcclGenericKernel");
        check("(anonymous)::nccl", "(anonymous)::nccl");
        check("", "");
    }
}
