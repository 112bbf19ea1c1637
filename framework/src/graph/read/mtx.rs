//! Matrix Market coordinate files: entry `i j` is the arc from vertex `i` to vertex `j`, counted from 1.
//!
//! `pattern`, `real` and `integer` matrices, `general` (directed) and `symmetric` (undirected). Values are checked to be
//! numbers and then ignored; an entry whose value is 0 is an arc all the same. The matrix must be square, and its number of
//! entries binds. Vertices are 1 to n, with or without entries. Dense (`array`), complex, skew-symmetric and Hermitian
//! matrices are refused. Comments and blank lines are allowed anywhere; before the banner, blank lines are a warning, as is a banner
//! with one `%`.
//! Source: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935, 1996.

use super::super::Ids;
use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::parse_int::{byte, line_end, rest_is_blank, skip_blanks};
use super::super::text::{Fault, Text};
use super::ParsedEdges;
use super::header::{Header, value, vertex};
use crate::base::error::Result;
use std::ops::Range;

const BANNER: &str = "`%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric`";
const SIZES: &str = "the sizes `rows columns entries`, three counts";

/// Reads a whole matrix.
pub(in super::super) fn read(text: &Text<'_>) -> Result<ParsedEdges> {
    let blanks = text.bytes[text.start..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let begin = text.start + blanks;
    let first = line_end(text.bytes, begin);
    let has_one_percent = text.bytes[begin..].starts_with(b"%") && !text.bytes[begin..].starts_with(b"%%");
    let line = [&b"%"[..usize::from(has_one_percent)], &text.bytes[begin..first]].concat();
    let (kind, has_value) = banner(begin, &line).map_err(|fault| text.error(fault))?;
    let odd = [(blanks > 0, "blanks before"), (has_one_percent, "one % instead of two in")];
    let warnings = odd.into_iter().filter(|(is_odd, _)| *is_odd);
    let warnings =
        warnings.map(|(_, what)| format!("{}: {what} the banner `%%MatrixMarket`", text.path.display())).collect();
    let header = Header::find(text, first, b'%', SIZES)?;
    let vertices = header.vertices(text, 0, SIZES)?;
    let columns = header.count(text, 1, SIZES)?;
    let entries = header.count(text, 2, SIZES)?;
    if header.words.len() != 3 {
        return Err(text.error(Fault::line(header.at, SIZES)));
    }
    if columns != vertices as u64 {
        let found = format!("a matrix of {vertices} rows and {columns} columns");
        return Err(text.error(Fault::found(header.at, found, "a square one: row and column i are vertex i")));
    }
    let expected = if has_value { "`row column value`, three numbers" } else { "`row column`, two numbers" };
    let pieces = text.each_piece(header.next, |piece| part(text.bytes, piece, vertices, has_value, expected))?;
    let found = pieces.iter().map(|piece| piece.len() as u64).sum();
    if found != entries {
        return Err(header.broken(text, entries, found, "entries"));
    }
    let arcs = Arcs::dense(Ids::Range { first: 1, len: vertices }, pieces)?;
    Ok(ParsedEdges { warnings, ..ParsedEdges::plain(arcs, kind) })
}

/// What the first line says: the kind of pairs, and whether entries have values.
fn banner(at: usize, line: &[u8]) -> Result<(Kind, bool), Fault> {
    let line = String::from_utf8_lossy(line).to_ascii_lowercase();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
        return Err(Fault::line(at, BANNER));
    };
    let refused = |what: &str| Err(Fault::found(at, format!("a {what} matrix"), BANNER));
    let kind = match symmetry {
        "general" => Kind::Directed,
        "symmetric" => Kind::Undirected,
        "skew-symmetric" | "hermitian" => return refused(symmetry),
        _ => return Err(Fault::line(at, BANNER)),
    };
    let has_value = match field {
        "pattern" => false,
        "real" | "integer" | "double" => true,
        "complex" => return refused(field),
        _ => return Err(Fault::line(at, BANNER)),
    };
    match layout {
        "coordinate" => Ok((kind, has_value)),
        "array" => refused("dense (array)"),
        _ => Err(Fault::line(at, BANNER)),
    }
}

fn part(
    bytes: &[u8],
    piece: Range<usize>,
    vertices: usize,
    has_value: bool,
    expected: &str,
) -> Result<Vec<(u32, u32)>, Fault> {
    let mut pairs = Vec::with_capacity(piece.len() / 16);
    let mut at = piece.start;
    while at < piece.end {
        let start = at;
        if let Some(next) = rest_is_blank(bytes, at) {
            at = next;
            continue;
        }
        at = skip_blanks(bytes, at);
        if byte(bytes, at) == b'%' {
            at = line_end(bytes, at);
            continue;
        }
        let (u, after) = vertex(bytes, start, at, vertices, expected)?;
        let (v, mut after) = vertex(bytes, start, skip_blanks(bytes, after), vertices, expected)?;
        if has_value {
            after = value(bytes, skip_blanks(bytes, after)).ok_or_else(|| Fault::line(start, expected))?;
        }
        at = rest_is_blank(bytes, after).ok_or_else(|| Fault::line(start, expected))?;
        pairs.push((u, v));
    }
    Ok(pairs)
}
