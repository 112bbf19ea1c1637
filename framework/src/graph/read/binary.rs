//! Binary graphs of two benchmarks, little-endian.
//!
//! - GAP `.sg`: one byte "directed", `i64` arcs, `i64` vertices, `i64` offsets (n + 1), `i32` targets; a directed graph has offsets
//!   and targets of the transpose after them, which are checked for size and bounds and then made anew. Vertices are 0 to n - 1.
//! - Graph500: 12 bytes an edge, as the reference code packs them (`packed_edge`): the low 32 bits of both ends, then 16 high
//!   bits of each. Vertices are 0 to the largest that occurs; the file tells no number of vertices.
//!
//! The size of the file must be exactly what its numbers ask for.
//! Sources: Beamer, Asanovic, Patterson, "The GAP Benchmark Suite", 2015; Graph500 reference code, `generator/graph_generator.h`.

use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::text::{LoadStage, Text};
use super::super::{Graph, Ids};
use super::{Claims, Listing};
use crate::base::error::Result;
use rayon::prelude::*;
use std::ops::Range;

/// Arcs of a piece, about.
const PIECE: usize = 1 << 18;

/// Reads a GAP serialized graph.
pub(in super::super) fn read_sg(text: &Text<'_>) -> Result<Listing> {
    let bytes = text.bytes;
    let number = |at: usize| -> Option<u64> {
        let eight = bytes.get(at..at.checked_add(8)?)?;
        u64::try_from(i64::from_le_bytes(eight.try_into().ok()?)).ok()
    };
    let (Some(&flag @ (0 | 1)), Some(arcs), Some(vertices)) = (bytes.first(), number(1), number(9)) else {
        return Err(text.problem(
            "no GAP serialized graph: it must begin with a byte 0 or 1 and two counts of 8 bytes; check --format",
        ));
    };
    if vertices > Graph::VERTICES_MAX as u64 {
        return Err(text.problem(format!("{vertices} vertices; a graph has at most {}", Graph::VERTICES_MAX)));
    }
    let half = 8 * (u128::from(vertices) + 1) + 4 * u128::from(arcs);
    let needed = 17 + half * if flag == 1 { 2 } else { 1 };
    if bytes.len() as u128 != needed {
        return Err(text.problem(format!(
            "{} bytes, but {vertices} vertices and {arcs} arcs take {needed}; the file is truncated or no GAP serialized graph",
            bytes.len()
        )));
    }
    let (vertices, half) = (vertices as usize, half as usize); // both at most the file's size
    let rows = |start: usize| Rows {
        offsets: &bytes[start..start + 8 * (vertices + 1)],
        targets: &bytes[start + 8 * (vertices + 1)..start + half],
    };
    let pieces = rows(17).pairs(vertices).map_err(|problem| text.problem(problem))?;
    if flag == 1 {
        rows(17 + half).pairs(vertices).map_err(|problem| text.problem(format!("incoming arcs: {problem}")))?;
    }
    text.progress.tell(LoadStage::Read, bytes.len() as u64, bytes.len() as u64);
    let kind = if flag == 1 { Kind::Directed } else { Kind::BothWays };
    let arcs = Arcs::dense(Ids::Range { first: 0, len: vertices }, pieces)?;
    Ok(Listing { arcs, kind, claims: Claims::default(), warnings: Vec::new() })
}

/// Unaligned rows.
struct Rows<'a> {
    offsets: &'a [u8],
    targets: &'a [u8],
}

impl Rows<'_> {
    fn offset(&self, v: usize) -> u64 {
        u64::from_le_bytes(self.offsets[8 * v..8 * v + 8].try_into().expect("eight bytes"))
    }

    fn pairs(&self, vertices: usize) -> Result<Vec<Vec<(u32, u32)>>, String> {
        let arcs = self.targets.len() as u64 / 4;
        if self.offset(0) != 0 || self.offset(vertices) != arcs {
            return Err(format!(
                "the offsets run from {} to {}; they must run from 0 to {arcs}",
                self.offset(0),
                self.offset(vertices)
            ));
        }
        if let Some(v) = (0..vertices).into_par_iter().position_first(|v| self.offset(v) > self.offset(v + 1)) {
            return Err(format!("the offset after vertex {v} is smaller than the one before it"));
        }
        let mut stretches: Vec<Range<usize>> = Vec::new();
        let mut first = 0;
        for v in 0..vertices {
            if v + 1 == vertices || self.offset(v + 1) - self.offset(first) >= PIECE as u64 {
                stretches.push(first..v + 1);
                first = v + 1;
            }
        }
        let parts: Vec<Result<Vec<(u32, u32)>, String>> = stretches
            .into_par_iter()
            .map(|row_range| {
                let arcs = self.offset(row_range.end) - self.offset(row_range.start);
                let mut pairs = Vec::with_capacity(arcs as usize);
                for u in row_range {
                    let row = &self.targets[4 * self.offset(u) as usize..4 * self.offset(u + 1) as usize];
                    for four in row.chunks_exact(4) {
                        let v = u32::from_le_bytes(four.try_into().expect("four bytes"));
                        if v as usize >= vertices {
                            return Err(format!(
                                "vertex {u} lists {}, which is no vertex: there are {vertices}",
                                v as i32
                            ));
                        }
                        pairs.push((u as u32, v));
                    }
                }
                Ok(pairs)
            })
            .collect();
        parts.into_iter().collect()
    }
}

/// Bytes of a packed edge.
const EDGE: usize = 12;

/// Reads packed Graph500 edges.
pub(in super::super) fn read_graph500(text: &Text<'_>) -> Result<Listing> {
    if !text.bytes.len().is_multiple_of(EDGE) {
        return Err(text.problem(format!(
            "{} bytes are not a multiple of {EDGE}, the size of a packed edge; the file is truncated or no Graph500 file",
            text.bytes.len()
        )));
    }
    let parts: Vec<Result<Vec<(u32, u32)>, String>> = text
        .bytes
        .par_chunks(EDGE * PIECE)
        .enumerate()
        .map(|(piece, bytes)| {
            let edges = bytes.chunks_exact(EDGE).enumerate();
            edges.map(|(place, edge)| packed(edge, piece * PIECE + place)).collect()
        })
        .collect();
    let pieces = parts.into_iter().collect::<Result<Vec<_>, String>>().map_err(|problem| text.problem(problem))?;
    text.progress.tell(LoadStage::Read, text.bytes.len() as u64, text.bytes.len() as u64);
    let largest = pieces.par_iter().flat_map_iter(|piece| piece.iter().map(|&(u, v)| u.max(v)).max()).max();
    let arcs = Arcs::dense(Ids::Range { first: 0, len: largest.map_or(0, |v| v as usize + 1) }, pieces)?;
    Ok(Listing { arcs, kind: Kind::Directed, claims: Claims::default(), warnings: Vec::new() })
}

fn packed(edge: &[u8], place: usize) -> Result<(u32, u32), String> {
    let word = |at: usize| u32::from_le_bytes(edge[at..at + 4].try_into().expect("four bytes"));
    let high = word(8);
    let ends = [u64::from(high & 0xffff) << 32 | u64::from(word(0)), u64::from(high >> 16) << 32 | u64::from(word(4))];
    match ends.iter().find(|&&end| end >= Graph::VERTICES_MAX as u64) {
        None => Ok((ends[0] as u32, ends[1] as u32)),
        Some(end) => Err(format!(
            "edge {place} (byte {}) ends at vertex {end}; vertices run from 0 to {}",
            place * EDGE,
            Graph::VERTICES_MAX - 1
        )),
    }
}
