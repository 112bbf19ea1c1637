//! METIS graphs: a header `n m [fmt [ncon]]`, then line i lists the neighbours of vertex i, from 1; an empty line is a vertex
//! without edges.
//!
//! `fmt` is up to three digits: vertex sizes, vertex weights (`ncon` of them, 1 if absent), edge weights; all are checked to
//! be numbers and ignored. Every edge is listed from both ends, which is checked; m counts edges and binds. A self-loop, which
//! METIS itself forbids, is one edge and may be listed once or twice. Lines that begin with `%` are comments. Blank lines after
//! the last vertex are ignored. If lines are missing at the end although all m edges are there, the missing vertices have no
//! edges (editors strip such lines) and a warning says so; if edges are missing too, the file is refused.
//! Cost: the lines are counted in a first pass, so that pieces know their vertices.
//! Source: Karypis, "METIS: A Software Package for Partitioning Unstructured Graphs", manual 5.1, section 4.1.

use super::super::Ids;
use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::parse_int::{byte, line_end, rest_is_blank, skip_blanks};
use super::super::text::{Fault, Text};
use super::ParsedEdges;
use super::header::{Header, value, vertex};
use crate::base::error::Result;
use std::ops::Range;

const HEADER: &str = "the header `VERTICES EDGES [FORMAT [WEIGHTS]]`, FORMAT up to three digits 0 or 1";

/// What stands on a vertex's line besides its neighbours.
#[derive(Clone, Copy)]
struct Layout {
    vertices: usize,
    /// Numbers before the first neighbour.
    before: usize,
    has_edge_weights: bool,
}

/// Reads a whole graph.
pub(in super::super) fn read(text: &Text<'_>) -> Result<ParsedEdges> {
    let header = Header::find(text, text.start, b'%', HEADER)?;
    let declared = header.count(text, 1, HEADER)?;
    let layout = layout(text, &header)?;
    let lines = text.each_piece(header.next, |piece| Ok((piece.start, count_lines(text.bytes, piece))))?;
    // The first vertex of each piece.
    let mut total = 0;
    let starts: Vec<(usize, usize)> = lines
        .into_iter()
        .map(|(start, count)| {
            let first = total;
            total += count;
            (start, first)
        })
        .collect();
    let parts = text.each_piece(header.next, |piece| {
        let place = starts.partition_point(|&(start, _)| start < piece.start);
        part(text.bytes, piece, starts[place].1, layout)
    })?;
    let (pieces, loops): (Vec<Vec<(u32, u32)>>, Vec<u64>) = parts.into_iter().unzip();
    let entries: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let loops: u64 = loops.iter().sum();
    if entries != 2 * declared && (entries + loops) != 2 * declared {
        let (found, odd) = ((entries + loops) / 2, (entries + loops) % 2);
        let what = if odd == 1 { "and a half edges" } else { "edges" };
        return Err(header.broken(text, declared, found, what));
    }
    let mut warnings = Vec::new();
    if total < layout.vertices {
        warnings.push(format!(
            "{}: lines for {} of {} vertices; all {declared} edges are there, so the last {} vertices have none",
            text.path.display(),
            total,
            layout.vertices,
            layout.vertices - total
        ));
    }
    let arcs = Arcs::dense(Ids::Range { first: 1, len: layout.vertices }, pieces)?;
    Ok(ParsedEdges { warnings, ..ParsedEdges::plain(arcs, Kind::BothWays) })
}

fn layout(text: &Text<'_>, header: &Header<'_>) -> Result<Layout> {
    let vertices = header.vertices(text, 0, HEADER)?;
    let wrong = || text.error(Fault::line(header.at, HEADER));
    let format = header.words.get(2).copied().unwrap_or("0");
    if header.words.len() > 4 || format.len() > 3 || format.bytes().any(|digit| !matches!(digit, b'0' | b'1')) {
        return Err(wrong());
    }
    let digit = |from_right: usize| format.bytes().rev().nth(from_right) == Some(b'1');
    let weights = match header.words.get(3) {
        None => usize::from(digit(1)),
        Some(count) => {
            let count: usize = count.parse().ok().filter(|&count| count <= 1_000).ok_or_else(wrong)?;
            if digit(1) { count } else { 0 }
        }
    };
    Ok(Layout { vertices, before: weights + usize::from(digit(2)), has_edge_weights: digit(0) })
}

/// Lines of a piece that stand for a vertex.
fn count_lines(bytes: &[u8], piece: Range<usize>) -> usize {
    let newlines = bytes[piece.clone()].iter().filter(|&&byte| byte == b'\n').count();
    let unended = usize::from(bytes[piece.end - 1] != b'\n');
    let inner_comments = bytes[piece.clone()].windows(2).filter(|pair| pair == b"\n%").count();
    newlines + unended - inner_comments - usize::from(bytes[piece.start] == b'%')
}

/// The pairs of a piece whose first line stands for vertex `v`, and how many of them are self-loops.
fn part(bytes: &[u8], piece: Range<usize>, mut v: usize, layout: Layout) -> Result<(Vec<(u32, u32)>, u64), Fault> {
    let expected = match (layout.before, layout.has_edge_weights) {
        (0, false) => "neighbours, each a vertex from 1 on",
        (0, true) => "pairs of a neighbour and an edge weight",
        (_, false) => "vertex sizes or weights, then neighbours",
        (_, true) => "vertex sizes or weights, then pairs of a neighbour and an edge weight",
    };
    let mut pairs = Vec::with_capacity(piece.len() / 6);
    let mut loops = 0;
    let mut at = piece.start;
    while at < piece.end {
        let start = at;
        if byte(bytes, at) == b'%' {
            at = line_end(bytes, at);
            continue;
        }
        if v >= layout.vertices {
            at = rest_is_blank(bytes, at).ok_or_else(|| {
                let found = format!("a line for vertex {}", v + 1);
                Fault::found(start, found, format!("the {} vertices that the header declares", layout.vertices))
            })?;
            v += 1;
            continue;
        }
        for _ in 0..layout.before {
            at = value(bytes, skip_blanks(bytes, at)).ok_or_else(|| Fault::line(start, expected))?;
        }
        loop {
            if let Some(next) = rest_is_blank(bytes, at) {
                at = next;
                break;
            }
            let (neighbor, after) = vertex(bytes, start, skip_blanks(bytes, at), layout.vertices, expected)?;
            at = after;
            if layout.has_edge_weights {
                at = value(bytes, skip_blanks(bytes, at)).ok_or_else(|| Fault::line(start, expected))?;
            }
            loops += u64::from(neighbor as usize == v);
            pairs.push((v as u32, neighbor));
        }
        v += 1;
    }
    Ok((pairs, loops))
}
