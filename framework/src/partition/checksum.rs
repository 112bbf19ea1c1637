//! Sums that show when a part's arcs are no longer those that were loaded.

use crate::base::id::LocalId;
use crate::base::verdict::Verdict;
use crate::host::{CachePadded, Pool};
use crate::partition::{LocalRows, Part};

/// The sum of a part's arcs and degrees, modulo 2^64. Each target is mixed with its place in the rows and squared, which is one-to-one
/// in the target and not linear: one changed target always shows, and so do equal changes at several places, but for a
/// chance of about 2^-32 at worst. Degrees count with an odd factor of their row's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArcSums {
    /// The arcs that certificates read.
    pub(crate) read: u64,
    /// Those of the other direction, where a part has them apart.
    others: u64,
}

impl ArcSums {
    /// Reads every arc once.
    pub fn of(part: &Part, pool: &Pool) -> ArcSums {
        let rows = rows(part);
        let mut each: Vec<CachePadded<u64>> = (0..pool.threads()).map(|_| CachePadded(0)).collect();
        let chunks = part.incoming_chunks();
        pool.chunks_with(&mut each, chunks.len() - 1, |sum, chunk| {
            let (first, end) = (LocalId::new(chunks[chunk]), LocalId::new(chunks[chunk + 1]));
            let bounds = (first.number()..end.number()).map(LocalId::new);
            let bounds = bounds.map(|v| bounds_of(v, rows.degree(v), part.outgoing().degree(v)));
            *sum = bounds.fold(*sum, u64::wrapping_add).wrapping_add(targets(rows.row_range(first, end)));
        });
        let read = std::mem::take(&mut each).iter().fold(0u64, |sum, own| sum.wrapping_add(own.0));
        let mut each: Vec<CachePadded<u64>> = (0..pool.threads()).map(|_| CachePadded(0)).collect();
        if part.incoming_apart().is_some() {
            let chunks = part.chunks();
            pool.chunks_with(&mut each, chunks.len() - 1, |sum, chunk| {
                let (first, end) = (LocalId::new(chunks[chunk]), LocalId::new(chunks[chunk + 1]));
                *sum = sum.wrapping_add(targets(part.outgoing().row_range(first, end)));
            });
        }
        ArcSums { read, others: each.iter().fold(0u64, |sum, own| sum.wrapping_add(own.0)) }
    }

    /// Sound if what a certificate read has the same sum.
    pub(crate) fn compare(self, read: u64) -> Verdict {
        Verdict::require(read == self.read, ArcSums::RULE, None, || {
            format!("their sum is {read:016x}, it was {:016x}", self.read)
        })
    }

    /// What the sum is there for.
    pub(crate) const RULE: &'static str = "arcs and degrees are those that were loaded";
}

/// The arcs that certificates read.
pub(crate) fn rows(part: &Part) -> &LocalRows {
    if part.has_incoming() { part.incoming() } else { part.outgoing() }
}

/// Odd, without structure: 2^64 divided by the golden ratio, and its upper half.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const ODD_HALF: u32 = 0x9e37_79b9;

/// The terms of some targets in a row, the first of which has that place in the rows. Two numbers a target, no branch, no chain: as
/// fast as they come from memory.
#[inline(always)]
pub(crate) fn targets((place, targets): (u64, &[LocalId])) -> u64 {
    let mut key = (place as u32).wrapping_mul(ODD_HALF);
    let mut sums = [0u64; 8];
    let (eights, rest) = targets.as_chunks::<8>();
    for eight in eights {
        for (lane, (sum, &u)) in sums.iter_mut().zip(eight).enumerate() {
            *sum = sum.wrapping_add(target(u, key.wrapping_add((lane as u32).wrapping_mul(ODD_HALF))));
        }
        key = key.wrapping_add(ODD_HALF.wrapping_mul(8));
    }
    for (lane, (sum, &u)) in sums.iter_mut().zip(rest).enumerate() {
        *sum = sum.wrapping_add(target(u, key.wrapping_add((lane as u32).wrapping_mul(ODD_HALF))));
    }
    sums.iter().fold(0, |sum, own| sum.wrapping_add(*own))
}

#[inline(always)]
fn target(u: LocalId, key: u32) -> u64 {
    let mixed = u64::from(u.number() ^ key);
    mixed * mixed
}

/// The term of a row's length, and of how many arcs lead out.
#[inline(always)]
pub(crate) fn bounds_of(v: LocalId, arcs: u64, outgoing: u64) -> u64 {
    let factor = u64::from(v.number()).wrapping_mul(ODD) | 1;
    let counts = arcs.wrapping_mul(ODD.rotate_left(16) | 1);
    counts.wrapping_add(outgoing.wrapping_mul(ODD.rotate_left(32) | 1)).wrapping_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(numbers: &[u32]) -> u64 {
        let row: Vec<LocalId> = numbers.iter().map(|&number| LocalId::new(number)).collect();
        targets((0, &row))
    }

    proptest! {
        #[test]
        fn the_terms_of_a_row_do_not_depend_on_how_it_is_cut(
            numbers in prop::collection::vec(any::<u32>(), 0..70),
            cut in 0usize..70,
        ) {
            let row: Vec<LocalId> = numbers.iter().map(|&number| LocalId::new(number)).collect();
            let (first, rest) = row.split_at(cut.min(row.len()));
            let parts = targets((0, first)).wrapping_add(targets((first.len() as u64, rest)));
            prop_assert_eq!(targets((0, &row)), parts);
        }

        #[test]
        fn changed_and_exchanged_targets_show(
            mut numbers in prop::collection::vec(0u32..1 << 20, 2..200),
            (one, other, count, bit) in (0usize..200, 0usize..200, 1usize..33, 0u32..32),
        ) {
            let whole = sum(&numbers);
            let (one, other) = (one % numbers.len(), other % numbers.len());
            let kept = numbers.clone();
            numbers[one] ^= 1 << bit;
            prop_assert_ne!(sum(&numbers), whole);
            numbers.clone_from(&kept);
            numbers.iter_mut().skip(one).take(count).for_each(|number| *number ^= 1 << bit);
            prop_assert_ne!(sum(&numbers), whole);
            numbers.clone_from(&kept);
            numbers.swap(one, other);
            prop_assert_eq!(sum(&numbers) == whole, kept[one] == kept[other]);
        }
    }
}
