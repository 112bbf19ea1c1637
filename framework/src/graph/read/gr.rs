//! DIMACS shortest-path graphs (`.gr`): `c` comments, one `p sp n m`, and m lines `a u v w`, each an arc from `u` to `v`.
//!
//! Vertices are 1 to n, with or without arcs; the weight must be a number and is ignored; m binds.
//! Source: 9th DIMACS Implementation Challenge, "Shortest Paths", core problem families, 2006.

use super::super::Ids;
use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::digits::{byte, line_end, rest_is_blank, skip_blanks};
use super::super::text::{Fault, Text};
use super::header::{Header, value, vertex};
use super::{Claims, Listing};
use crate::base::error::Result;
use std::ops::Range;

const HEADER: &str = "`p sp VERTICES ARCS` before the first arc";
const EXPECTED: &str = "`a FROM TO WEIGHT` or `c COMMENT`";

/// Reads a whole graph.
pub(in super::super) fn read(text: &Text<'_>) -> Result<Listing> {
    let header = Header::find(text, 0, b'c', HEADER)?;
    if header.words.len() != 4 || header.words[..2] != ["p", "sp"] {
        return Err(text.error(Fault::line(header.at, HEADER)));
    }
    let vertices = header.vertices(text, 2, HEADER)?;
    let declared = header.count(text, 3, HEADER)?;
    let pieces = text.each_piece(header.next, |piece| part(text.bytes, piece, vertices))?;
    let found = pieces.iter().map(|piece| piece.len() as u64).sum();
    if found != declared {
        return Err(header.broken(text, declared, found, "arcs"));
    }
    let arcs = Arcs::dense(Ids::Range { first: 1, len: vertices }, pieces)?;
    Ok(Listing { arcs, kind: Kind::Directed, claims: Claims::default(), warnings: Vec::new() })
}

fn part(bytes: &[u8], piece: Range<usize>, vertices: usize) -> Result<Vec<(u32, u32)>, Fault> {
    let mut pairs = Vec::with_capacity(piece.len() / 20);
    let mut at = piece.start;
    while at < piece.end {
        let start = at;
        match (byte(bytes, at), byte(bytes, at + 1)) {
            (b'a', b' ' | b'\t') => {
                let (u, after) = vertex(bytes, start, skip_blanks(bytes, at + 1), vertices, EXPECTED)?;
                let (v, after) = vertex(bytes, start, skip_blanks(bytes, after), vertices, EXPECTED)?;
                let after = value(bytes, skip_blanks(bytes, after)).ok_or_else(|| Fault::line(start, EXPECTED))?;
                at = rest_is_blank(bytes, after).ok_or_else(|| Fault::line(start, EXPECTED))?;
                pairs.push((u, v));
            }
            (b'c', b' ' | b'\t' | b'\n' | b'\r') => at = line_end(bytes, at),
            _ => at = rest_is_blank(bytes, at).ok_or_else(|| Fault::line(start, EXPECTED))?,
        }
    }
    Ok(pairs)
}
