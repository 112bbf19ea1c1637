//! Sets of time as merged intervals: their length and what two of them share. All results are exact, in integer nanoseconds.
//!
//! A merged list is in order, and its intervals neither overlap nor touch: `[1,5]` `[5,8]` is `[1,8]`. A merge sorts, so it costs
//! n log n; everything else is one sweep over two merged lists. In a sweep at equal times ends come before starts, so intervals
//! that only touch share nothing, and an interval of length zero adds nothing wherever it lies.

/// From `start` to `end`, in ns; `end` is not before `start`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Interval {
    /// When it begins.
    pub start: i64,
    /// When it ends.
    pub end: i64,
}

impl Interval {
    /// How long it is.
    pub fn length(self) -> i64 {
        self.end - self.start
    }
}

/// The merged list of the same time as `intervals`, which may be in any order.
pub fn merged(mut intervals: Vec<Interval>) -> Vec<Interval> {
    if !intervals.is_sorted() {
        intervals.sort_unstable();
    }
    let mut kept = 0;
    for at in 0..intervals.len() {
        let next = intervals[at];
        if kept > 0 && next.start <= intervals[kept - 1].end {
            intervals[kept - 1].end = intervals[kept - 1].end.max(next.end);
        } else {
            intervals[kept] = next;
            kept += 1;
        }
    }
    intervals.truncate(kept);
    intervals
}

/// The union of two merged lists, merged.
pub fn union(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if j == b.len() || i < a.len() && a[i] <= b[j] {
            all.push(a[i]);
            i += 1;
        } else {
            all.push(b[j]);
            j += 1;
        }
    }
    merged(all)
}

/// The length of a merged list.
pub fn length(intervals: &[Interval]) -> i64 {
    intervals.iter().map(|interval| interval.length()).sum()
}

/// How long two merged lists are both on.
pub fn shared(a: &[Interval], b: &[Interval]) -> i64 {
    let (mut i, mut j, mut sum) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        sum += (x.end.min(y.end) - x.start.max(y.start)).max(0);
        if x.end <= y.end {
            i += 1;
        } else {
            j += 1;
        }
    }
    sum
}

/// The time between the first start and the last end of a merged list when it is off.
pub fn gaps(intervals: &[Interval]) -> impl Iterator<Item = Interval> {
    intervals.windows(2).map(|pair| Interval { start: pair[0].end, end: pair[1].start })
}

/// Cuts time where any of `lists` (merged) turns on or off; calls `piece` with each stretch and the set of lists that are on
/// in it (bit `n`: list `n`), in order of time. Stretches in which none is on are given too, between the first start and the
/// last end.
pub fn pieces<const N: usize>(lists: [&[Interval]; N], mut piece: impl FnMut(Interval, u32)) {
    // By list: the next boundary, where an even one is a start.
    let mut next = [0_usize; N];
    let boundary = |list: usize, at: usize| -> Option<i64> {
        let interval = lists[list].get(at / 2)?;
        Some(if at.is_multiple_of(2) { interval.start } else { interval.end })
    };
    let (mut on, mut since) = (0_u32, None::<i64>);
    while let Some(time) = (0..N).filter_map(|list| boundary(list, next[list])).min() {
        if let Some(start) = since.filter(|&start| start < time) {
            piece(Interval { start, end: time }, on);
        }
        for (list, at) in next.iter_mut().enumerate() {
            while boundary(list, *at) == Some(time) {
                on ^= 1 << list;
                *at += 1;
            }
        }
        since = Some(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(pairs: &[(i64, i64)]) -> Vec<Interval> {
        pairs.iter().map(|&(start, end)| Interval { start, end }).collect()
    }

    fn check_merge(pairs: &[(i64, i64)], expected: &[(i64, i64)]) {
        assert_eq!(merged(list(pairs)), list(expected), "{pairs:?}");
    }

    #[test]
    fn overlapping_and_touching_intervals_are_one() {
        check_merge(&[], &[]);
        check_merge(&[(1, 5), (3, 7), (10, 15), (12, 18)], &[(1, 7), (10, 18)]);
        check_merge(&[(5, 8), (1, 5)], &[(1, 8)]);
        check_merge(&[(0, 10), (2, 3), (10, 10), (12, 12)], &[(0, 10), (12, 12)]);
    }

    #[test]
    fn what_two_lists_share_is_exact_at_the_edges() {
        let check = |a: &[(i64, i64)], b: &[(i64, i64)], expected| {
            assert_eq!((shared(&list(a), &list(b)), shared(&list(b), &list(a))), (expected, expected), "{a:?} {b:?}");
        };
        check(&[(1, 5)], &[(5, 8)], 0);
        check(&[(0, 10), (15, 25)], &[(5, 20)], 10);
        check(&[(0, 10)], &[(5, 5)], 0);
        check(&[(0, 40), (45, 80)], &[(10, 50), (55, 70)], 50);
        check(&[], &[(5, 5)], 0);
    }

    #[test]
    fn pieces_tell_which_lists_are_on() {
        let mut seen = Vec::new();
        pieces([&list(&[(0, 4), (6, 8)]), &list(&[(2, 7), (7 + 2, 9), (12, 13)])], |piece, on| {
            seen.push((piece.start, piece.end, on));
        });
        assert_eq!(seen, [(0, 2, 1), (2, 4, 3), (4, 6, 2), (6, 7, 3), (7, 8, 1), (8, 9, 0), (9, 12, 0), (12, 13, 2)]);
    }

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        let interval = (0_i64..60, 0_i64..12).prop_map(|(start, length)| Interval { start, end: start + length });
        proptest::collection::vec(interval, 0..30)
    }

    /// By marking each unit of time.
    fn marks(intervals: &[Interval]) -> Vec<bool> {
        (0..80).map(|t| intervals.iter().any(|interval| interval.start <= t && t < interval.end)).collect()
    }

    proptest! {
        #[test]
        fn lists_agree_with_marking_every_unit(a in intervals(), b in intervals()) {
            let (of_a, of_b) = (marks(&a), marks(&b));
            let (a, b) = (merged(a), merged(b));
            let count = |on: &dyn Fn(usize) -> bool| (0..80).filter(|&t| on(t)).count() as i64;
            prop_assert_eq!(length(&a), count(&|t| of_a[t]));
            prop_assert_eq!(shared(&a, &b), count(&|t| of_a[t] && of_b[t]));
            prop_assert_eq!(length(&union(&a, &b)), count(&|t| of_a[t] || of_b[t]));
            let mut sums = [0; 4];
            pieces([&a, &b], |piece, on| sums[on as usize] += piece.length());
            prop_assert_eq!(sums[3], shared(&a, &b));
            prop_assert_eq!(sums[1] + sums[3], length(&a));
            let all = union(&a, &b);
            prop_assert_eq!(sums[0], gaps(&all).map(Interval::length).sum::<i64>());
        }
    }
}
