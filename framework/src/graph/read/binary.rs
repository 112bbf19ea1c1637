//! Binary graphs of other programs, little-endian.
//!
//! - GAP `.sg`: one byte "directed", `i64` arcs, `i64` vertices, `i64` offsets (n + 1), `i32` targets; a directed graph has offsets
//!   and targets of the transpose after them, which are checked for size and bounds and then made anew. Vertices are 0 to n - 1.
//!   `.wsg` has an `i32` weight after each target.
//! - Galois `.gr`: `u64` version (1 or 2), bytes of an edge's data, vertices, arcs; `u64` ends of the rows (n); targets, `u32` in
//!   version 1 (and 4 bytes more if their number is odd) or `u64` in version 2; then the edges' data, which are ignored.
//! - PASGAL and GBBS `.bin`: `u64` vertices, arcs, bytes of the file; `u64` offsets (n + 1), `u32` targets.
//! - Graph500: two ends an edge, 16 bytes as `i64` or 12 bytes as the reference code packs them (`packed_edge`): the low 32 bits
//!   of both ends, then 16 high bits of each. Vertices are 0 to the largest that occurs; the file tells no number of vertices.
//!
//! The size of the file must be exactly what its numbers ask for.
//! Sources: Beamer, Asanovic, Patterson, "The GAP Benchmark Suite", 2015; Galois, `libgalois/src/FileGraph.cpp`; PASGAL, `graph.h`;
//! Graph500 reference code, `generator/graph_generator.h`.

use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::progress::LoadStage;
use super::super::text::Text;
use super::super::{Graph, Ids};
use super::ParsedEdges;
use crate::base::error::Result;
use rayon::prelude::*;
use std::ops::Range;

/// Arcs of a piece, about.
const PIECE: usize = 1 << 18;

/// Reads a GAP serialized graph whose targets, with their weights, take `stride` bytes each.
pub(in super::super) fn read_sg(text: &Text<'_>, stride: usize) -> Result<ParsedEdges> {
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
    let half = 8 * (u128::from(vertices) + 1) + stride as u128 * u128::from(arcs);
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
        has_first: true,
        targets: &bytes[start + 8 * (vertices + 1)..start + half],
        stride,
        width: 4,
    };
    let pieces = rows(17).pairs(vertices).map_err(|problem| text.problem(problem))?;
    if flag == 1 {
        rows(17 + half).pairs(vertices).map_err(|problem| text.problem(format!("incoming arcs: {problem}")))?;
    }
    text.progress.tell(LoadStage::Read, bytes.len() as u64, bytes.len() as u64);
    let kind = if flag == 1 { Kind::Directed } else { Kind::BothWays };
    let arcs = Arcs::dense(Ids::Range { first: 0, len: vertices }, pieces)?;
    Ok(ParsedEdges::plain(arcs, kind))
}

/// The first numbers of a Galois file: version, bytes of an edge's data, vertices, arcs.
fn galois_numbers(bytes: &[u8]) -> Option<[u64; 4]> {
    let mut numbers = [0; 4];
    for (number, eight) in numbers.iter_mut().zip(bytes.get(..32)?.chunks_exact(8)) {
        *number = u64::from_le_bytes(eight.try_into().ok()?);
    }
    Some(numbers)
}

/// Whether these are the first bytes of a Galois file: no text has so many zeroes.
pub(in super::super) fn is_galois(bytes: &[u8]) -> bool {
    let known =
        |numbers: [u64; 4]| matches!(numbers[0], 1 | 2) && numbers[1] <= 64 && numbers[2] <= Graph::VERTICES_MAX as u64;
    galois_numbers(bytes).is_some_and(known)
}

/// Reads a Galois graph.
pub(in super::super) fn read_galois(text: &Text<'_>) -> Result<ParsedEdges> {
    let bytes = text.bytes;
    let Some([version @ (1 | 2), data, vertices, arcs]) = galois_numbers(bytes).filter(|_| is_galois(bytes)) else {
        return Err(
            text.problem("no Galois graph: it must begin with its version, 1 or 2, and three counts; check --format")
        );
    };
    let width = 4 * version;
    let before = 32 + 8 * u128::from(vertices);
    let targets = u128::from(width) * u128::from(arcs);
    let padded = targets.next_multiple_of(8);
    let needed = before + padded + u128::from(data) * u128::from(arcs);
    // Without data some writers leave the padding out.
    if bytes.len() as u128 != needed && (data > 0 || bytes.len() as u128 != before + targets) {
        return Err(text.problem(format!(
            "{} bytes, but {vertices} vertices and {arcs} arcs take {needed}; the file is truncated or no Galois graph",
            bytes.len()
        )));
    }
    let (before, targets) = (before as usize, targets as usize); // at most the file's size
    let rows = Rows {
        offsets: &bytes[32..before],
        has_first: false,
        targets: &bytes[before..before + targets],
        stride: width as usize,
        width: width as usize,
    };
    rows.graph(text, vertices as usize)
}

/// Reads a binary graph of PASGAL or GBBS.
pub(in super::super) fn read_gbbs(text: &Text<'_>) -> Result<ParsedEdges> {
    let bytes = text.bytes;
    let number = |place: usize| {
        let eight = bytes.get(8 * place..8 * place + 8)?;
        Some(u64::from_le_bytes(eight.try_into().ok()?))
    };
    let (Some(vertices), Some(arcs), Some(size)) = (number(0), number(1), number(2)) else {
        return Err(text.problem("no PASGAL or GBBS graph: it must begin with three counts of 8 bytes; check --format"));
    };
    if vertices > Graph::VERTICES_MAX as u64 {
        return Err(text.problem(format!("{vertices} vertices; a graph has at most {}", Graph::VERTICES_MAX)));
    }
    let before = 24 + 8 * (u128::from(vertices) + 1);
    let needed = before + 4 * u128::from(arcs);
    if bytes.len() as u128 != needed || u128::from(size) != needed {
        return Err(text.problem(format!(
            "{} bytes, and {size} by its header, but {vertices} vertices and {arcs} arcs take {needed}; the file is truncated or no \
             PASGAL or GBBS graph",
            bytes.len()
        )));
    }
    let before = before as usize; // at most the file's size
    let rows = Rows { offsets: &bytes[24..before], has_first: true, targets: &bytes[before..], stride: 4, width: 4 };
    rows.graph(text, vertices as usize)
}

/// Unaligned rows.
struct Rows<'a> {
    offsets: &'a [u8],
    /// Whether the offsets begin with the 0 before the first row.
    has_first: bool,
    targets: &'a [u8],
    /// Bytes from one target to the next.
    stride: usize,
    /// Bytes of a target.
    width: usize,
}

impl Rows<'_> {
    /// As a directed graph.
    fn graph(&self, text: &Text<'_>, vertices: usize) -> Result<ParsedEdges> {
        let pieces = self.pairs(vertices).map_err(|problem| text.problem(problem))?;
        text.progress.tell(LoadStage::Read, text.bytes.len() as u64, text.bytes.len() as u64);
        Ok(ParsedEdges::plain(Arcs::dense(Ids::Range { first: 0, len: vertices }, pieces)?, Kind::Directed))
    }

    fn offset(&self, v: usize) -> u64 {
        let Some(place) = v.checked_sub(usize::from(!self.has_first)) else { return 0 };
        u64::from_le_bytes(self.offsets[8 * place..8 * place + 8].try_into().expect("eight bytes"))
    }

    fn pairs(&self, vertices: usize) -> Result<Vec<Vec<(u32, u32)>>, String> {
        let arcs = (self.targets.len() / self.stride) as u64;
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
                    let [start, end] = [u, u + 1].map(|v| self.stride * self.offset(v) as usize);
                    for target in self.targets[start..end].chunks_exact(self.stride) {
                        let v = match self.width {
                            8 => i64::from_le_bytes(target[..8].try_into().expect("eight bytes")),
                            _ => i32::from_le_bytes(target[..4].try_into().expect("four bytes")).into(),
                        };
                        if v < 0 || v as usize >= vertices {
                            return Err(format!("vertex {u} lists {v}, which is no vertex: there are {vertices}"));
                        }
                        pairs.push((u as u32, v as u32));
                    }
                }
                Ok(pairs)
            })
            .collect();
        parts.into_iter().collect()
    }
}

/// Reads Graph500 edges of the one size that the file's allows.
pub(in super::super) fn read_graph500_by_size(text: &Text<'_>) -> Result<ParsedEdges> {
    let fits = |edge: usize| text.bytes.len().is_multiple_of(edge);
    match (fits(WIDE), fits(PACKED)) {
        (true, true) if !text.bytes.is_empty() => Err(text.problem(format!(
            "{} bytes are edges of {WIDE} bytes or packed ones of {PACKED}; say which by --format graph500 or --format graph500-packed",
            text.bytes.len()
        ))),
        (false, true) => read_graph500_packed(text),
        _ => read_graph500(text),
    }
}

/// Bytes of an edge of two 64-bit numbers, and of a packed one.
const WIDE: usize = 16;
const PACKED: usize = 12;

/// Reads Graph500 edges of two 64-bit numbers.
pub(in super::super) fn read_graph500(text: &Text<'_>) -> Result<ParsedEdges> {
    edges::<WIDE>(text, |edge| [0, 8].map(|at| u64::from_le_bytes(edge[at..at + 8].try_into().expect("eight bytes"))))
}

/// Reads packed Graph500 edges.
pub(in super::super) fn read_graph500_packed(text: &Text<'_>) -> Result<ParsedEdges> {
    edges::<PACKED>(text, |edge| {
        let word = |at: usize| u32::from_le_bytes(edge[at..at + 4].try_into().expect("four bytes"));
        let high = word(8);
        [u64::from(high & 0xffff) << 32 | u64::from(word(0)), u64::from(high >> 16) << 32 | u64::from(word(4))]
    })
}

/// Edges of `EDGE` bytes each.
fn edges<const EDGE: usize>(text: &Text<'_>, ends: impl Fn(&[u8]) -> [u64; 2] + Sync) -> Result<ParsedEdges> {
    if !text.bytes.len().is_multiple_of(EDGE) {
        return Err(text.problem(format!(
            "{} bytes are not a multiple of {EDGE}, the size of an edge; the file is truncated or no Graph500 file, or \
             --format is the other of graph500 ({WIDE} bytes) and graph500-packed ({PACKED})",
            text.bytes.len()
        )));
    }
    let edge = |(place, edge): (usize, &[u8])| {
        let ends = ends(edge);
        match ends.iter().find(|&&end| end >= Graph::VERTICES_MAX as u64) {
            None => Ok((ends[0] as u32, ends[1] as u32)),
            Some(&end) => Err(format!(
                "edge {place} (byte {}) ends at vertex {}; vertices run from 0 to {}",
                place * EDGE,
                end as i64,
                Graph::VERTICES_MAX - 1
            )),
        }
    };
    let parts = text.bytes.par_chunks(EDGE * PIECE).enumerate().map(|(piece, bytes)| {
        bytes.chunks_exact(EDGE).enumerate().map(|(place, bytes)| edge((piece * PIECE + place, bytes))).collect()
    });
    let parts: Vec<Result<Vec<(u32, u32)>, String>> = parts.collect();
    let pieces = parts.into_iter().collect::<Result<Vec<_>, String>>().map_err(|problem| text.problem(problem))?;
    text.progress.tell(LoadStage::Read, text.bytes.len() as u64, text.bytes.len() as u64);
    let largest = pieces.par_iter().flat_map_iter(|piece| piece.iter().map(|&(u, v)| u.max(v)).max()).max();
    let arcs = Arcs::dense(Ids::Range { first: 0, len: largest.map_or(0, |v| v as usize + 1) }, pieces)?;
    Ok(ParsedEdges::plain(arcs, Kind::Directed))
}
