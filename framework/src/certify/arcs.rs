//! Sums that show when a part's arcs are no longer those that were loaded.

use crate::answer::split_mix;
use crate::device::host::{Line, Pool};
use crate::fault::Verdict;
use crate::id::LocalId;
use crate::partition::{Part, Rows};

/// The sums of a part's arcs. They are additive over vertices, modulo 2^64, each row with a weight of its own: one changed target or
/// bound always shows; several escape with a chance of about 2^-64. The order within a row does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArcSums {
    /// Of the rows that certificates read.
    pub(super) rows: u64,
    /// Of the number of arcs out of each owned vertex.
    pub(super) degrees: u64,
}

impl ArcSums {
    /// Reads every arc once.
    pub fn of(part: &Part, pool: &Pool) -> ArcSums {
        let (rows, outgoing, chunks) = (rows(part), part.outgoing(), part.incoming_chunks());
        let mut each: Vec<Line<[u64; 2]>> = (0..pool.threads()).map(|_| Line([0; 2])).collect();
        pool.chunks_with(&mut each, chunks.len() - 1, |sums, chunk| {
            for v in (chunks[chunk]..chunks[chunk + 1]).map(LocalId::new) {
                sums[0] = sums[0].wrapping_add(row(v, rows.of(v)));
                sums[1] = sums[1].wrapping_add(degree(v, outgoing.degree(v)));
            }
        });
        let sum = |of: usize| each.iter().fold(0u64, |sum, own| sum.wrapping_add(own.0[of]));
        ArcSums { rows: sum(0), degrees: sum(1) }
    }

    /// Sound if `read` are the same.
    pub(super) fn compare(self, read: ArcSums) -> Verdict {
        let rule = |what: &str, found: u64, right: u64| {
            Verdict::require(found == right, format!("{what} are those that were loaded"), None, || {
                format!("their sum is {found:016x}, it was {right:016x}")
            })
        };
        rule("arcs", read.rows, self.rows).and(rule("degrees", read.degrees, self.degrees))
    }
}

/// The arcs that certificates read.
pub(super) fn rows(part: &Part) -> &Rows {
    if part.has_incoming() { part.incoming() } else { part.outgoing() }
}

/// The term of one row.
#[inline(always)]
pub(super) fn row(v: LocalId, row: &[LocalId]) -> u64 {
    let targets: u64 = row.iter().map(|target| u64::from(target.number()) + 1).sum();
    targets.wrapping_mul(weight(v))
}

/// The term of one out-degree.
#[inline(always)]
pub(super) fn degree(v: LocalId, degree: u64) -> u64 {
    degree.wrapping_mul(weight(v))
}

/// Odd, so that it loses no bit of a factor.
#[inline(always)]
fn weight(v: LocalId) -> u64 {
    split_mix(v.number().into()) | 1
}
