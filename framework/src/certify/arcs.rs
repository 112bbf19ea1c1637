//! Sums that show when a part's arcs are no longer those that were loaded.

use crate::device::host::{Line, Pool};
use crate::fault::Verdict;
use crate::id::LocalId;
use crate::partition::{Part, Rows};

/// The sum of a part's arcs and degrees. It is additive over arcs, modulo 2^64, each row with a factor of its own, and one-to-one
/// in each target: one changed target or bound always shows; several escape with a chance of about 2^-32 at worst. Targets
/// are squared, so opposite changes of one bit at several places do not cancel. The order within a row does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArcSums {
    pub(super) arcs: u64,
}

impl ArcSums {
    /// Reads every arc once.
    pub fn of(part: &Part, pool: &Pool) -> ArcSums {
        let (rows, outgoing, chunks) = (rows(part), part.outgoing(), part.incoming_chunks());
        let mut each: Vec<Line<u64>> = (0..pool.threads()).map(|_| Line(0)).collect();
        pool.chunks_with(&mut each, chunks.len() - 1, |sum, chunk| {
            for v in (chunks[chunk]..chunks[chunk + 1]).map(LocalId::new) {
                let targets = rows.of(v).iter().fold(0u64, |targets, &u| targets.wrapping_add(target(u)));
                *sum = sum.wrapping_add(row(v, targets, (rows.of(v).len(), outgoing.degree(v))));
            }
        });
        ArcSums { arcs: each.iter().fold(0, |sum, own| sum.wrapping_add(own.0)) }
    }

    /// Sound if `read` is the same.
    pub(super) fn compare(self, read: ArcSums) -> Verdict {
        Verdict::require(read == self, "arcs and degrees are those that were loaded", None, || {
            format!("their sum is {:016x}, it was {:016x}", read.arcs, self.arcs)
        })
    }
}

/// The arcs that certificates read.
pub(super) fn rows(part: &Part) -> &Rows {
    if part.has_incoming() { part.incoming() } else { part.outgoing() }
}

/// Odd, without structure: 2^64 divided by the golden ratio.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The term of one target: its square, which fits and is no other target's.
#[inline(always)]
pub(super) fn target(u: LocalId) -> u64 {
    u64::from(u.number()) * u64::from(u.number())
}

/// The term of one row: the sum of its targets' terms, how many there are, and how many arcs lead out, times an odd factor of its own.
#[inline(always)]
pub(super) fn row(v: LocalId, targets: u64, (arcs, outgoing): (usize, u64)) -> u64 {
    let factor = u64::from(v.number()).wrapping_mul(ODD) | 1;
    let counts = (arcs as u64).wrapping_mul(ODD.rotate_left(16) | 1);
    targets.wrapping_add(counts).wrapping_add(outgoing.wrapping_mul(ODD.rotate_left(32) | 1)).wrapping_mul(factor)
}
