//! Stragglers: in each step the slowest device, and how often it is the same one.
//!
//! The time of a step on a device is that from the first start to the last end of the step's events there. Steps that only one device has
//! are not compared. If several devices are equally slow, none of them is the slowest.

use std::collections::BTreeMap;

/// One step over all devices that have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepSpread {
    /// The step's number.
    pub step: i64,
    /// The least time, in ns, and the place of its device among those compared.
    pub fastest: (i64, usize),
    /// The largest time, in ns, and the place of its device; none if several devices took as long.
    pub slowest: (i64, Option<usize>),
    /// Devices that have the step.
    pub devices: usize,
}

/// What [`stragglers`] found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stragglers {
    /// By number.
    pub steps: Vec<StepSpread>,
    /// Of each device in the order given: in how many of these steps it is the slowest, and how many it has.
    pub counts: Vec<(u64, u64)>,
}

/// Compares devices step by step. Each device gives its steps and their times in ns, in any order.
pub fn stragglers(devices: &[Vec<(i64, i64)>]) -> Stragglers {
    let mut by_step: BTreeMap<i64, Vec<(i64, usize)>> = BTreeMap::new();
    for (place, steps) in devices.iter().enumerate() {
        for &(step, time_ns) in steps {
            by_step.entry(step).or_default().push((time_ns, place));
        }
    }
    let mut found = Stragglers { steps: Vec::new(), counts: vec![(0, 0); devices.len()] };
    for (step, times) in by_step {
        let (Some(&fastest), Some(&(longest, last)), 2..) = (times.iter().min(), times.iter().max(), times.len())
        else {
            continue;
        };
        let is_alone = times.iter().filter(|(time, _)| *time == longest).count() == 1;
        let slowest = (longest, is_alone.then_some(last));
        for (_, place) in &times {
            found.counts[*place].1 += 1;
        }
        if let Some(place) = slowest.1 {
            found.counts[place].0 += 1;
        }
        found.steps.push(StepSpread { step, fastest, slowest, devices: times.len() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_device_of_each_step_is_counted() {
        let found = stragglers(&[vec![(1, 10), (2, 30), (9, 5)], vec![(2, 20), (1, 12)], vec![(1, 12), (2, 7)]]);
        assert_eq!(
            found.steps,
            [
                StepSpread { step: 1, fastest: (10, 0), slowest: (12, None), devices: 3 },
                StepSpread { step: 2, fastest: (7, 2), slowest: (30, Some(0)), devices: 3 },
            ]
        );
        assert_eq!(found.counts, [(1, 2), (0, 2), (0, 2)]);
    }

    #[test]
    fn one_device_alone_is_compared_with_nothing() {
        assert_eq!(stragglers(&[]), Stragglers::default());
        assert_eq!(stragglers(&[vec![(1, 5)], vec![(2, 5)]]), Stragglers { steps: vec![], counts: vec![(0, 0); 2] });
    }
}
