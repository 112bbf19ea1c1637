//! DIMACS graphs: `c` comments, one `p` line, then the edges.
//!
//! `p sp n m` (`.gr`): m lines `a u v w`, each an arc from `u` to `v`; the weight must be a number and is ignored. `p edge n m` or
//! `p col n m` (`.col`): m lines `e u v`, each an undirected edge; lines `n VERTEX COLOUR` are ignored. Vertices are 1 to n, with or
//! without arcs; m binds. Other problems (`p max`, `p tw`, ...) are refused by name.
//! Sources: 9th DIMACS Implementation Challenge, "Shortest Paths", core problem families, 2006; 2nd Challenge, "Clique and Coloring
//! Problems, Graph Format", 1993.

use super::super::Ids;
use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::parse_int::{byte, line_end, rest_is_blank, skip_blanks};
use super::super::text::{Fault, Text};
use super::ParsedEdges;
use super::header::{Header, value, vertex};
use crate::base::error::Result;
use std::ops::Range;

const HEADER: &str = "`p sp|edge|col VERTICES EDGES` before the first edge";

/// What the lines of one kind of problem look like.
#[derive(Clone, Copy)]
struct Lines {
    /// The letter before an edge, and one before a line to ignore.
    edge: u8,
    other: u8,
    has_weight: bool,
    expected: &'static str,
}

const SHORTEST_PATH: Lines =
    Lines { edge: b'a', other: b'c', has_weight: true, expected: "`a FROM TO WEIGHT` or `c COMMENT`" };
const COLORING: Lines =
    Lines { edge: b'e', other: b'n', has_weight: false, expected: "`e FROM TO`, `n VERTEX COLOUR` or `c COMMENT`" };

/// Reads a whole graph.
pub(in super::super) fn read(text: &Text<'_>) -> Result<ParsedEdges> {
    let header = Header::find(text, text.start, b'c', HEADER)?;
    let (lines, kind) = match header.words[..] {
        ["p", "sp", _, _] => (SHORTEST_PATH, Kind::Directed),
        ["p", "edge" | "col" | "edges", _, _] => (COLORING, Kind::Undirected),
        ["p", other, ..] if !matches!(other, "sp" | "edge" | "col" | "edges") => {
            let found = format!("a DIMACS problem of another kind, `p {other}`");
            return Err(text.error(Fault::found(header.at, found, HEADER)));
        }
        _ => return Err(text.error(Fault::line(header.at, HEADER))),
    };
    let vertices = header.vertices(text, 2, HEADER)?;
    let declared = header.count(text, 3, HEADER)?;
    let pieces = text.each_piece(header.next, |piece| part(text.bytes, piece, vertices, lines))?;
    let found = pieces.iter().map(|piece| piece.len() as u64).sum();
    if found != declared {
        return Err(header.broken(text, declared, found, if kind == Kind::Directed { "arcs" } else { "edges" }));
    }
    let arcs = Arcs::dense(Ids::Range { first: 1, len: vertices }, pieces)?;
    Ok(ParsedEdges::plain(arcs, kind))
}

fn part(bytes: &[u8], piece: Range<usize>, vertices: usize, lines: Lines) -> Result<Vec<(u32, u32)>, Fault> {
    let mut pairs = Vec::with_capacity(piece.len() / 20);
    let mut at = piece.start;
    while at < piece.end {
        let start = at;
        let wrong = || Fault::line(start, lines.expected);
        match (byte(bytes, at), byte(bytes, at + 1)) {
            (letter, b' ' | b'\t') if letter == lines.edge => {
                let (u, after) = vertex(bytes, start, skip_blanks(bytes, at + 1), vertices, lines.expected)?;
                let (v, mut after) = vertex(bytes, start, skip_blanks(bytes, after), vertices, lines.expected)?;
                if lines.has_weight {
                    after = value(bytes, skip_blanks(bytes, after)).ok_or_else(wrong)?;
                }
                at = rest_is_blank(bytes, after).ok_or_else(wrong)?;
                pairs.push((u, v));
            }
            (b'c', b' ' | b'\t' | b'\n' | b'\r') => at = line_end(bytes, at),
            (letter, b' ' | b'\t') if letter == lines.other => at = line_end(bytes, at),
            _ => at = rest_is_blank(bytes, at).ok_or_else(wrong)?,
        }
    }
    Ok(pairs)
}
