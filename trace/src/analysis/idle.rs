//! Why a device was idle. Each gap between its events ends with the start of one; the call that launched that event cuts the gap in two.
//!
//! *Host wait*: before the call began, so the host had nothing for the device. *Kernel wait*: from then on, so the device had work but did
//! not begin it (launch latency, other queues, dependencies). *Other*: gaps that end with work whose launch the file does not tell. If
//! several events start at the end of a gap, the earliest call counts. The three add up to the idle time of the breakdown.

use super::figures::ClassIntervals;
use crate::interval::gaps;
use crate::recording::DeviceEvent;

/// Idle time by cause, in ns, and the number of gaps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IdleCauses {
    /// No work was launched.
    pub host_wait_ns: i64,
    /// Work was launched, but had not begun.
    pub kernel_wait_ns: i64,
    /// Not known.
    pub other_ns: i64,
    /// Gaps.
    pub gaps: u64,
}

/// The causes for events that are in order of their starts, of which `merged` is.
pub fn idle_causes(events: &[DeviceEvent], merged: &ClassIntervals) -> IdleCauses {
    let mut causes = IdleCauses::default();
    for gap in gaps(&merged.busy()) {
        causes.gaps += 1;
        let first = events.partition_point(|event| event.start_ns < gap.end);
        let starters = events[first..].iter().take_while(|event| event.start_ns == gap.end);
        match starters.filter_map(DeviceEvent::launch_ns).min() {
            Some(launch) => {
                let host = launch.clamp(gap.start, gap.end) - gap.start;
                causes.host_wait_ns += host;
                causes.kernel_wait_ns += gap.length() - host;
            }
            None => causes.other_ns += gap.length(),
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Class;

    #[test]
    fn a_gap_is_cut_where_the_launch_began() {
        let check = |launches: [Option<i64>; 2], expected: [i64; 3]| {
            let mut events = super::super::figures::tests::events(&[
                (Class::Computation, 0, 10),
                (Class::Computation, 30, 40),
                (Class::Memory, 30, 31),
            ]);
            for (event, launch) in events[1..].iter_mut().zip(launches) {
                event.launch = launch.unwrap_or(event.launch);
            }
            let causes = idle_causes(&events, &ClassIntervals::of(&events));
            assert_eq!([causes.host_wait_ns, causes.kernel_wait_ns, causes.other_ns], expected, "{launches:?}");
            assert_eq!(causes.gaps, 1);
        };
        check([None, None], [0, 0, 20]);
        check([Some(25), None], [15, 5, 0]);
        check([Some(25), Some(12)], [2, 18, 0]);
        check([Some(5), None], [0, 20, 0]);
        check([Some(35), None], [20, 0, 0]);
    }
}
