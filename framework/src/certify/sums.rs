//! Sums that show when arcs or an answer are not what they were.

use crate::answer::split_mix;
use crate::device::host::{Line, Pool};
use crate::field::Kind;
use crate::id::{GlobalId, LocalId};
use crate::partition::{Part, Rows};

/// The sums of a part's arcs, made when it was loaded.
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
        let rows = rows(part);
        let sum = over_owned(part.incoming_chunks(), pool, |v| row(v, rows.of(v)));
        ArcSums { rows: sum, degrees: degrees(part, pool) }
    }
}

/// The arcs that certificates read.
pub(super) fn rows(part: &Part) -> &Rows {
    if part.has_incoming() { part.incoming() } else { part.outgoing() }
}

/// The term of one row: changes when a target does, or when an arc moves to another row. The order in a row does not count.
#[inline(always)]
pub(super) fn row(v: LocalId, row: &[LocalId]) -> u64 {
    let targets: u64 = row.iter().map(|target| u64::from(target.number()) + 1).sum();
    targets.wrapping_mul(weight(v.number()))
}

/// The sum of out-degrees.
pub(super) fn degrees(part: &Part, pool: &Pool) -> u64 {
    let outgoing = part.outgoing();
    over_owned(part.chunks(), pool, |v| outgoing.degree(v).wrapping_mul(weight(v.number())))
}

fn over_owned(chunks: &[u32], pool: &Pool, term: impl Fn(LocalId) -> u64 + Sync) -> u64 {
    let mut each: Vec<Line<u64>> = (0..pool.threads()).map(|_| Line(0)).collect();
    pool.chunks_with(&mut each, chunks.len() - 1, |sum, chunk| {
        let vertices = (chunks[chunk]..chunks[chunk + 1]).map(LocalId::new);
        *sum = vertices.fold(*sum, |sum, v| sum.wrapping_add(term(v)));
    });
    each.iter().fold(0, |total, sum| total.wrapping_add(sum.0))
}

/// The term of one value of an answer.
#[inline(always)]
pub(super) fn value(v: GlobalId, bits: u64) -> u64 {
    bits.wrapping_mul(weight(v.0))
}

/// Odd, so that it loses no bit of a factor.
#[inline(always)]
fn weight(number: u32) -> u64 {
    split_mix(number.into()) | 1
}

/// The sum of a gathered answer: raw little-endian values of all vertices in dense order. It equals the sum that the certificate
/// judged, or the answer was changed in between.
pub fn answer_sum(raw: &[u8], kind: Kind) -> u64 {
    let terms = raw.chunks_exact(kind.bytes()).enumerate().map(|(v, bytes)| {
        let bits = bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        value(GlobalId(v as u32), bits)
    });
    terms.fold(0, u64::wrapping_add)
}
