//! For pictures, a device's time is cut into equal bins, and each bin tells for how long which classes were on.

use super::figures::ClassIntervals;
use crate::interval::{Interval, pieces};

/// How long what was on in a bin, in ns. The five add up to the bin, except beyond the last work.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bin {
    /// Computation, and no communication.
    pub computation_ns: i64,
    /// Computation and communication.
    pub overlap_ns: i64,
    /// Communication, and no computation.
    pub communication_ns: i64,
    /// Only memory.
    pub memory_ns: i64,
    /// Nothing, between the first start and the last end.
    pub idle_ns: i64,
}

/// `count` bins of equal length over `span`.
pub fn bins(lists: &ClassIntervals, span: Interval, count: usize) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); count.max(1)];
    let count = bins.len() as i128;
    let (start, length) = (i128::from(span.start), i128::from(span.length()).max(1));
    let edge = |bin: i128| (start + bin * length / count) as i64;
    pieces([&lists.computation, &lists.communication, &lists.memory], |piece, on| {
        // The bin with the last edge that is not after the piece.
        let mut bin = ((i128::from(piece.start) - start) * count / length).clamp(0, count - 1);
        while bin + 1 < count && edge(bin + 1) <= piece.start {
            bin += 1;
        }
        let mut from = piece.start.max(span.start);
        while from < piece.end && bin < count {
            let until = if bin + 1 == count { span.end } else { edge(bin + 1) }.min(piece.end);
            let slot = &mut bins[bin as usize];
            let part = match on {
                0b011 | 0b111 => &mut slot.overlap_ns,
                0b001 | 0b101 => &mut slot.computation_ns,
                0b010 | 0b110 => &mut slot.communication_ns,
                0b100 => &mut slot.memory_ns,
                _ => &mut slot.idle_ns,
            };
            *part += (until - from).max(0);
            from = until.max(from);
            bin += 1;
        }
    });
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_add_up_to_the_figures(
            rows in proptest::collection::vec((0_usize..3, 0_i64..5000, 0_i64..400), 1..40),
            count in 1_usize..300,
        ) {
            let rows: Vec<_> = rows.iter().map(|&(c, s, l)| (crate::recording::Class::ALL[c], s, s + l)).collect();
            let lists = ClassIntervals::of(&super::super::figures::tests::events(&rows));
            let figures = lists.figures();
            let bins = bins(&lists, figures.span.expect("work"), count);
            let sum = |of: fn(&Bin) -> i64| bins.iter().map(of).sum::<i64>();
            prop_assert_eq!(sum(|bin| bin.idle_ns), figures.breakdown.idle_ns);
            prop_assert_eq!(sum(|bin| bin.overlap_ns), figures.overlap.overlap_ns);
            prop_assert_eq!(sum(|bin| bin.computation_ns + bin.overlap_ns), figures.breakdown.compute_ns);
            prop_assert_eq!(sum(|bin| bin.communication_ns + bin.memory_ns), figures.breakdown.non_compute_ns);
        }
    }
}
