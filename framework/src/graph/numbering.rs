//! From original IDs to dense vertex numbers, in ascending order of ID.
//!
//! IDs that already are one range cost one pass over the arcs and no memory beyond a bitmap. Otherwise the IDs that occur are
//! marked in a bitmap and a vertex is the rank of its bit (one word, one sum, one popcount), as long as the range holds no
//! more than 64 IDs an arc; sparser IDs are sorted, and found again by a table over their leading bits and a binary search.
//! Both ways give the same numbers for any thread count.

use super::piece::Piece;
use super::{Graph, Ids};
use crate::base::error::{Error, Result};
use crate::base::memory::{Array, Buf};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A bitmap is used up to this many IDs of range an arc: then it takes no more than the arcs themselves.
const RANGE_PER_ARC: u64 = 64;
/// The table over leading bits has at most this many entries (chosen: 4 MiB, inside most last-level caches).
const TABLE_BITS_MAX: u32 = 20;

/// The rule that turns an original ID into a vertex number.
pub(super) enum Numbering {
    /// The pieces hold vertex numbers already.
    Same,
    /// One range of IDs.
    Range { first: i64 },
    /// The rank of the ID's bit among those marked: per 64 IDs their bits, and how many bits are set before them.
    Ranked { first: i64, words: Vec<(u64, u32)> },
    /// The place of the ID in an ascending list.
    Listed { ids: Array<i64>, starts: Vec<u32>, shift: u32 },
}

impl Numbering {
    /// The pairs of a piece from which the rule was made, by vertex number.
    pub(super) fn renumber(&self, piece: Piece) -> Vec<(u32, u32)> {
        match self {
            Numbering::Same => match piece {
                Piece::Narrow(pairs, _) => pairs,
                Piece::Wide(pairs) => pairs.into_iter().map(|(u, v)| (u as u32, v as u32)).collect(),
            },
            Numbering::Range { first } => map(piece, |id| id.wrapping_sub(*first) as u32),
            Numbering::Ranked { first, words } => map(piece, |id| {
                let place = id.wrapping_sub(*first) as u64;
                let (word, rank) = words[(place / 64) as usize];
                rank + (word & ((1 << (place % 64)) - 1)).count_ones()
            }),
            Numbering::Listed { ids, starts, shift } => map(piece, |id| {
                let slot = (id.wrapping_sub(ids[0]) as u64 >> shift) as usize;
                let (start, end) = (starts[slot] as usize, starts[slot + 1] as usize);
                (start + ids[start..end].partition_point(|&other| other < id)) as u32
            }),
        }
    }
}

fn map(piece: Piece, number: impl Fn(i64) -> u32) -> Vec<(u32, u32)> {
    match piece {
        Piece::Narrow(mut pairs, _) => {
            pairs.iter_mut().for_each(|pair| *pair = (number(pair.0.into()), number(pair.1.into())));
            pairs
        }
        Piece::Wide(pairs) => pairs.iter().map(|&(u, v)| (number(u), number(v))).collect(),
    }
}

/// The IDs that occur in `pieces`, and the rule that numbers them.
pub(super) fn number_occurring(pieces: &[Piece]) -> Result<(Ids, Numbering)> {
    let arcs: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let fits = |span: u64| span / RANGE_PER_ARC <= arcs.max(1 << 10);
    // A bound that costs nothing serves small IDs; only others need the exact range.
    let bound = pieces.iter().try_fold(0, |all, piece| Some(all | piece.bits()?));
    if let Some(bound) = bound.filter(|&bound| fits(bound.into())) {
        return by_bitmap(pieces, 0, bound.into());
    }
    let extremes = pieces.par_iter().filter_map(extremes).reduce_with(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let Some((first, last)) = extremes else {
        return Ok((Ids::Range { first: 0, len: 0 }, Numbering::Same));
    };
    let span = last.wrapping_sub(first) as u64; // the range holds span + 1 IDs
    if fits(span) { by_bitmap(pieces, first, span) } else { by_list(pieces) }
}

fn extremes(piece: &Piece) -> Option<(i64, i64)> {
    match piece {
        Piece::Narrow(pairs, _) => {
            let (first, last) =
                pairs.iter().fold((u32::MAX, 0), |(low, high), &(u, v)| (low.min(u).min(v), high.max(u).max(v)));
            (!pairs.is_empty()).then_some((first.into(), last.into()))
        }
        Piece::Wide(pairs) => {
            let (first, last) =
                pairs.iter().fold((i64::MAX, i64::MIN), |(low, high), &(u, v)| (low.min(u).min(v), high.max(u).max(v)));
            (!pairs.is_empty()).then_some((first, last))
        }
    }
}

fn by_bitmap(pieces: &[Piece], first: i64, span: u64) -> Result<(Ids, Numbering)> {
    let words = Buf::<AtomicU64>::zeroed((span / 64) as usize + 1);
    // Relaxed: bits are only ever set, and the loop's end orders them before the reads below.
    let mark = |id: i64| {
        let place = id.wrapping_sub(first) as u64;
        let (word, bit) = (&words[(place / 64) as usize], 1 << (place % 64));
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    };
    pieces.par_iter().for_each(|piece| match piece {
        Piece::Narrow(pairs, _) => pairs.iter().for_each(|&(u, v)| {
            mark(u.into());
            mark(v.into());
        }),
        Piece::Wide(pairs) => pairs.iter().for_each(|&(u, v)| {
            mark(u);
            mark(v);
        }),
    });
    let count: u64 = words.par_iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum();
    let vertices = checked_vertices(count)?;
    let word = |place: usize| words[place].load(Relaxed);
    let (Some(low), Some(high)) =
        ((0..words.len()).find(|&place| word(place) != 0), (0..words.len()).rfind(|&place| word(place) != 0))
    else {
        return Ok((Ids::Range { first: 0, len: 0 }, Numbering::Same));
    };
    let smallest = low as u64 * 64 + u64::from(word(low).trailing_zeros());
    let largest = high as u64 * 64 + 63 - u64::from(word(high).leading_zeros());
    if count == largest - smallest + 1 {
        let first = first.wrapping_add(smallest as i64);
        let ids = Ids::Range { first, len: vertices };
        return Ok((ids, if first == 0 { Numbering::Same } else { Numbering::Range { first } }));
    }
    let mut ids = Buf::<i64>::zeroed(vertices);
    let mut ranked = Vec::with_capacity(words.len());
    let mut rank = 0u32;
    for (place, word) in words.iter().enumerate() {
        let mut rest = word.load(Relaxed);
        ranked.push((rest, rank));
        while rest != 0 {
            ids[rank as usize] = first.wrapping_add(place as i64 * 64 + i64::from(rest.trailing_zeros()));
            rank += 1;
            rest &= rest - 1;
        }
    }
    Ok((Ids::Listed(Array::from(ids)), Numbering::Ranked { first, words: ranked }))
}

fn by_list(pieces: &[Piece]) -> Result<(Ids, Numbering)> {
    let parts: Vec<Vec<i64>> = pieces
        .par_iter()
        .map(|piece| {
            let mut part: Vec<i64> = match piece {
                Piece::Narrow(pairs, _) => pairs.iter().flat_map(|&(u, v)| [i64::from(u), i64::from(v)]).collect(),
                Piece::Wide(pairs) => pairs.iter().flat_map(|&(u, v)| [u, v]).collect(),
            };
            part.sort_unstable();
            part.dedup();
            part.shrink_to_fit();
            part
        })
        .collect();
    let mut all = parts.concat();
    drop(parts);
    all.par_sort_unstable();
    all.dedup();
    number_listed(all)
}

/// Numbers a list of IDs, ascending and each once.
pub(super) fn number_listed(all: Vec<i64>) -> Result<(Ids, Numbering)> {
    let (Some(&first), Some(&last)) = (all.first(), all.last()) else {
        return Ok((Ids::Range { first: 0, len: 0 }, Numbering::Same));
    };
    if last.wrapping_sub(first) as u64 == all.len() as u64 - 1 {
        return Ok((Ids::Range { first, len: checked_vertices(all.len() as u64)? }, Numbering::Range { first }));
    }
    checked_vertices(all.len() as u64)?;
    let ids = Array::from(Buf::copied(&all));
    drop(all);
    let span = ids[ids.len() - 1].wrapping_sub(ids[0]) as u64;
    let bits = ids.len().ilog2().min(TABLE_BITS_MAX);
    let shift = (64 - span.leading_zeros()).saturating_sub(bits);
    let slots = (span >> shift) as usize + 1;
    let mut starts = Vec::with_capacity(slots + 1);
    for (place, &id) in ids.iter().enumerate() {
        let slot = (id.wrapping_sub(ids[0]) as u64 >> shift) as usize;
        while starts.len() <= slot {
            starts.push(place as u32);
        }
    }
    starts.resize(slots + 1, ids.len() as u32);
    Ok((Ids::ascending(ids.clone()), Numbering::Listed { ids, starts, shift }))
}

/// `count` as a number of vertices, if a graph may have so many.
pub(super) fn checked_vertices(count: u64) -> Result<usize> {
    if count > Graph::VERTICES_MAX as u64 {
        return Err(Error::usage(format!(
            "the input has {count} vertices; a graph has at most {} (vertex numbers are 32-bit), so split it or leave vertices out",
            Graph::VERTICES_MAX
        )));
    }
    Ok(count as usize)
}
