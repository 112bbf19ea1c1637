//! Where the time of a device went: temporal breakdown and overlap. Exact to the nanosecond; the parts add up.
//!
//! With `C` computation, `N` communication and `M` memory as sets of time, and `|X|` the length of a set:
//! `kernel = last end - first start`, `idle = kernel - |C u N u M|`, `non_compute = |N u M| - |C n (N u M)|`,
//! `compute = kernel - non_compute - idle = |C|`; `overlap = |C n N|`. Costs one sort of the work, then sweeps.
//! Results do not depend on the order of events, on splitting or repeating one, or on the clock's zero.

use crate::interval::{Interval, length, merged, shared, union};
use crate::recording::{Class, DeviceEvent};

/// The time of a device as merged lists by class.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClassIntervals {
    /// `C`.
    pub computation: Vec<Interval>,
    /// `N`.
    pub communication: Vec<Interval>,
    /// `M`.
    pub memory: Vec<Interval>,
}

impl ClassIntervals {
    /// Of events in any order; in order of their starts it costs no sort.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a DeviceEvent>) -> ClassIntervals {
        let mut lists = ClassIntervals::default();
        for event in events {
            let list = match event.class {
                Class::Computation => &mut lists.computation,
                Class::Communication => &mut lists.communication,
                Class::Memory => &mut lists.memory,
            };
            let next = event.interval();
            match list.last_mut() {
                Some(last) if last.start <= next.start && next.start <= last.end => last.end = last.end.max(next.end),
                _ => list.push(next),
            }
        }
        let ClassIntervals { computation, communication, memory } = lists;
        ClassIntervals {
            computation: merged(computation),
            communication: merged(communication),
            memory: merged(memory),
        }
    }

    /// `N u M`.
    pub fn non_compute(&self) -> Vec<Interval> {
        union(&self.communication, &self.memory)
    }

    /// `C u N u M`.
    pub fn busy(&self) -> Vec<Interval> {
        union(&self.computation, &self.non_compute())
    }

    /// Both analyses.
    pub fn figures(&self) -> Figures {
        let non_compute = self.non_compute();
        let busy = union(&self.computation, &non_compute);
        let span = busy.first().zip(busy.last()).map(|(first, last)| Interval { start: first.start, end: last.end });
        let kernel_ns = span.map_or(0, Interval::length);
        let idle_ns = kernel_ns - length(&busy);
        let non_compute_ns = length(&non_compute) - shared(&self.computation, &non_compute);
        let comp_ns = length(&self.computation);
        let compute_ns = kernel_ns - non_compute_ns - idle_ns;
        debug_assert_eq!(compute_ns, comp_ns, "the parts are disjoint");
        Figures {
            span,
            breakdown: Breakdown { kernel_ns, compute_ns, non_compute_ns, idle_ns },
            overlap: Overlap {
                comp_ns,
                comm_ns: length(&self.communication),
                overlap_ns: shared(&self.computation, &self.communication),
            },
        }
    }
}

/// Both analyses of some events.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Figures {
    /// From the first start to the last end; none without work.
    pub span: Option<Interval>,
    /// The breakdown.
    pub breakdown: Breakdown,
    /// The overlap.
    pub overlap: Overlap,
}

impl Figures {
    /// Of events in any order.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a DeviceEvent>) -> Figures {
        ClassIntervals::of(events).figures()
    }
}

/// Where the time from the first start to the last end went, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Breakdown {
    /// All of it.
    pub kernel_ns: i64,
    /// Computation was on.
    pub compute_ns: i64,
    /// Communication or memory was on, computation was not.
    pub non_compute_ns: i64,
    /// Nothing was on.
    pub idle_ns: i64,
}

/// How far computation hides communication, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Overlap {
    /// `|C|`.
    pub comp_ns: i64,
    /// `|N|`.
    pub comm_ns: i64,
    /// `|C n N|`.
    pub overlap_ns: i64,
}

impl Overlap {
    /// `100 |C n N| / |C u N|`; none if neither was on.
    pub fn ratio_of_union_percent(self) -> Option<f64> {
        percent(self.overlap_ns, self.comp_ns + self.comm_ns - self.overlap_ns)
    }

    /// `100 |C n N| / |N|`; none without communication.
    pub fn hidden_percent(self) -> Option<f64> {
        percent(self.overlap_ns, self.comm_ns)
    }

    /// Communication that computation does not hide.
    pub fn exposed_ns(self) -> i64 {
        self.comm_ns - self.overlap_ns
    }
}

/// `100 part / whole`; none if the whole is 0.
pub fn percent(part: i64, whole: i64) -> Option<f64> {
    (whole != 0).then(|| 100.0 * part as f64 / whole as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::names::Names;
    use proptest::prelude::*;

    const C: Class = Class::Computation;
    const N: Class = Class::Communication;

    pub(in crate::analysis) fn events(rows: &[(Class, i64, i64)]) -> Vec<DeviceEvent> {
        let name = Names::default().name("k");
        rows.iter().map(|&(class, start, end)| DeviceEvent::new(class, name, 0, start, end)).collect()
    }

    fn check(rows: &[(Class, i64, i64)], breakdown: [i64; 4], overlap: [i64; 3]) {
        let figures = Figures::of(&events(rows));
        let [kernel_ns, compute_ns, non_compute_ns, idle_ns] = breakdown;
        let [comp_ns, comm_ns, overlap_ns] = overlap;
        assert_eq!(figures.breakdown, Breakdown { kernel_ns, compute_ns, non_compute_ns, idle_ns }, "{rows:?}");
        assert_eq!(figures.overlap, Overlap { comp_ns, comm_ns, overlap_ns }, "{rows:?}");
    }

    #[test]
    fn the_examples_of_the_page_come_out() {
        check(&[(C, 0, 40), (C, 45, 80), (N, 10, 50), (N, 55, 70)], [80, 75, 5, 0], [75, 55, 50]);
        check(&[(C, 0, 100), (N, 80, 120)], [120, 100, 20, 0], [100, 40, 20]);
        check(&[(C, 1, 5), (N, 5, 8)], [7, 4, 3, 0], [4, 3, 0]);
        check(&[], [0; 4], [0; 3]);
        let figures = Figures::of(&events(&[(C, 0, 40), (C, 45, 80), (N, 10, 50), (N, 55, 70)]));
        assert_eq!(figures.overlap.ratio_of_union_percent(), Some(62.5));
        assert!((figures.overlap.hidden_percent().expect("communication") - 90.909_090_909).abs() < 1e-8);
        assert_eq!(Overlap::default().hidden_percent(), None);
    }

    #[test]
    fn an_event_of_no_length_counts_no_time_but_stretches_the_span() {
        check(&[(C, 0, 10), (N, 5, 5), (C, 10, 10)], [10, 10, 0, 0], [10, 0, 0]);
        check(&[(C, 0, 10), (Class::Memory, 15, 15)], [15, 10, 0, 5], [10, 0, 0]);
    }

    fn row() -> impl Strategy<Value = (Class, i64, i64)> {
        (0_usize..3, 0_i64..200, 0_i64..30)
            .prop_map(|(class, start, length)| (Class::ALL[class], start, start + length))
    }

    fn rows() -> impl Strategy<Value = Vec<(Class, i64, i64)>> {
        proptest::collection::vec(row(), 1..40)
    }

    proptest! {
        #[test]
        fn parts_add_up(rows in rows()) {
            let Figures { breakdown, overlap, .. } = Figures::of(&events(&rows));
            let Breakdown { kernel_ns, compute_ns, non_compute_ns, idle_ns } = breakdown;
            prop_assert_eq!(compute_ns + non_compute_ns + idle_ns, kernel_ns);
            prop_assert_eq!(compute_ns, overlap.comp_ns);
            prop_assert!(compute_ns >= 0 && non_compute_ns >= 0 && idle_ns >= 0);
            prop_assert!(overlap.overlap_ns <= overlap.comp_ns.min(overlap.comm_ns));
        }

        #[test]
        fn the_order_of_events_does_not_matter(rows in rows(), shuffled in rows().prop_perturb(|_, rng| rng)) {
            let mut other = rows.clone();
            let mut rng = shuffled;
            for place in (1..other.len()).rev() {
                other.swap(place, rng.random_range(0..=place));
            }
            prop_assert_eq!(Figures::of(&events(&rows)), Figures::of(&events(&other)));
        }

        #[test]
        fn splitting_and_repeating_an_event_changes_nothing(rows in rows(), pick in 0_usize..40, part in 0_i64..30) {
            let (class, start, end) = rows[pick % rows.len()];
            let cut = start + part.min(end - start);
            let mut split = rows.clone();
            split[pick % rows.len()] = (class, start, cut);
            split.push((class, cut, end));
            let repeated = [&rows[..], &[(class, start, end)]].concat();
            let expected = Figures::of(&events(&rows));
            prop_assert_eq!(Figures::of(&events(&split)), expected);
            prop_assert_eq!(Figures::of(&events(&repeated)), expected);
        }

        #[test]
        fn the_clocks_zero_does_not_matter(rows in rows(), by in -1_000_000_i64..1_000_000) {
            let moved: Vec<_> = rows.iter().map(|&(class, start, end)| (class, start + by, end + by)).collect();
            let (here, there) = (Figures::of(&events(&rows)), Figures::of(&events(&moved)));
            prop_assert_eq!((here.breakdown, here.overlap), (there.breakdown, there.overlap));
        }
    }
}
