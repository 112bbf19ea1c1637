//! Adjacency graphs in text, as Ligra, GBBS and PASGAL have them: the word `AdjacencyGraph`, then n, m, n offsets and m targets, one
//! a line or several; after `WeightedAdjacencyGraph` m weights more, which are ignored. Vertices are 0 to n - 1, each target is an
//! arc, and the counts bind.
//! Source: Shun, Blelloch, "Ligra: A Lightweight Graph Processing Framework for Shared Memory", PPoPP 2013, and its code's README.

use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::parse_int::{Number, integer, rest_is_blank, skip_blanks};
use super::super::text::{Fault, Text};
use super::super::{Graph, Ids};
use super::ParsedEdges;
use super::header::{Header, value};
use crate::base::error::Result;
use rayon::prelude::*;
use std::ops::Range;

const HEADER: &str = "the word AdjacencyGraph or WeightedAdjacencyGraph alone on the first line";
const EXPECTED: &str = "counts, offsets and targets: whole numbers from 0 on";
/// What stands for a number that is not whole, which only a weight may be.
const NOT_WHOLE: u64 = u64::MAX;
/// Arcs of a piece, about.
const PIECE: usize = 1 << 18;

/// Reads a whole graph.
pub(in super::super) fn read(text: &Text<'_>) -> Result<ParsedEdges> {
    let header = Header::find(text, text.start, b'#', HEADER)?;
    let weights_per_arc = match header.words[..] {
        ["AdjacencyGraph"] => 0u128,
        ["WeightedAdjacencyGraph"] => 1,
        _ => return Err(text.error(Fault::line(header.at, HEADER))),
    };
    let numbers = text.each_piece(header.next, |piece| part(text.bytes, piece))?.concat();
    let &[vertices, arcs, ref rest @ ..] = &numbers[..] else {
        return Err(text.problem("two counts, of vertices and arcs, must follow the first line"));
    };
    if vertices > Graph::VERTICES_MAX as u64 {
        return Err(text.problem(format!("{vertices} vertices; a graph has at most {}", Graph::VERTICES_MAX)));
    }
    let wanted = u128::from(vertices) + (1 + weights_per_arc) * u128::from(arcs);
    if rest.len() as u128 != wanted {
        let hint = if (rest.len() as u128) < wanted { "the file may be truncated" } else { "the counts may be wrong" };
        return Err(text.problem(format!(
            "{} numbers after the counts, but {vertices} vertices and {arcs} arcs take {wanted}; {hint}",
            rest.len()
        )));
    }
    let (offsets, rest) = rest.split_at(vertices as usize);
    let targets = &rest[..arcs as usize];
    let end = |v: usize| offsets.get(v + 1).copied().unwrap_or(arcs);
    if let Some(&first) = offsets.first().filter(|&&first| first != 0) {
        return Err(text.problem(format!("the first offset is {first}; it must be 0")));
    }
    if vertices == 0 && arcs > 0 {
        return Err(text.problem(format!("{arcs} arcs without a vertex")));
    }
    if let Some(v) = (0..offsets.len()).find(|&v| end(v) < offsets[v] || end(v) > arcs) {
        return Err(text.problem(format!(
            "the offset after vertex {v} is {}; it must lie between {} and {arcs}",
            end(v),
            offsets[v]
        )));
    }
    if let Some(place) = targets.par_iter().position_first(|&target| target >= vertices) {
        return Err(
            text.problem(format!("target {place} is no vertex: they run from 0 to {}", vertices.saturating_sub(1)))
        );
    }
    // Each stretch of targets finds its first row by search.
    let pieces = targets.par_chunks(PIECE).enumerate().map(|(piece, targets)| {
        let first = (piece * PIECE) as u64;
        let mut v = offsets.partition_point(|&offset| offset <= first) - 1;
        let pairs = targets.iter().enumerate().map(|(place, &target)| {
            while end(v) <= first + place as u64 {
                v += 1;
            }
            (v as u32, target as u32)
        });
        pairs.collect()
    });
    let arcs = Arcs::dense(Ids::Range { first: 0, len: vertices as usize }, pieces.collect())?;
    Ok(ParsedEdges::plain(arcs, Kind::Directed))
}

/// The numbers of a piece.
fn part(bytes: &[u8], piece: Range<usize>) -> Result<Vec<u64>, Fault> {
    let mut numbers = Vec::with_capacity(piece.len() / 6);
    let (mut at, mut line) = (piece.start, piece.start);
    while at < piece.end {
        if let Some(next) = rest_is_blank(bytes, at) {
            (at, line) = (next, next);
            continue;
        }
        at = skip_blanks(bytes, at);
        let end = value(bytes, at).ok_or_else(|| Fault::line(line, EXPECTED))?;
        numbers.push(match integer(bytes, at) {
            Number::Value(number, after) if after == end && number >= 0 => number as u64,
            _ => NOT_WHOLE,
        });
        at = end;
    }
    Ok(numbers)
}
