//! Edge lists: SNAP files, GAP `.el` and `.wel`, and whatever else has two vertex IDs at the front of each line.
//!
//! Blanks or tabs separate; a third column and all after it is ignored; lines that are empty or begin with `#` or `%` are not
//! edges. A comment that begins `Undirected graph` makes the list undirected, and `Nodes: N Edges: M` in a comment is kept to
//! be compared with the body. IDs are any `i64`. Lines end in a newline, with a carriage return before it or not; the
//! last may lack it. A carriage return elsewhere is refused: it would hide a line.

use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::digits::{Number, byte, digits, integer, line_end, rest_is_blank, skip_blanks};
use super::super::text::{Blocks, Fault, Pairs, Text};
use super::{Claims, Listing};
use crate::base::error::Result;
use std::ops::Range;
use std::path::Path;

const EXPECTED: &str = "two vertex IDs (integers) separated by blanks or tabs";
/// Bytes of a line, to guess how many pairs a piece holds (seen: 11 to 14 in SNAP files); a wrong guess costs a copy.
const LINE_BYTES: usize = 12;

/// Reads a whole list.
pub(in super::super) fn read(text: &Text<'_>) -> Result<Listing> {
    Ok(together(text.each_piece(0, |piece| Part::of(text.bytes, piece))?))
}

/// Reads a list while it is unpacked.
pub(in super::super) fn read_blocks(blocks: Blocks<'_>, path: &Path) -> Result<Listing> {
    Ok(together(blocks.each_block(path, |block| Part::of(block, 0..block.len()))?))
}

fn together(parts: Vec<Part>) -> Listing {
    let mut kind = Kind::Directed;
    let mut claims = Claims::default();
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        if part.is_undirected {
            kind = Kind::Undirected;
        }
        claims = claims.or(part.claims);
        pieces.push(part.pairs.finish());
    }
    Listing { arcs: Arcs::occurring(pieces), kind, claims, warnings: Vec::new() }
}

/// What one piece of the list holds.
#[derive(Default)]
pub(in super::super) struct Part {
    pub(in super::super) pairs: Pairs,
    pub(in super::super) is_undirected: bool,
    pub(in super::super) claims: Claims,
}

impl Part {
    /// What the lines of one piece say.
    pub(in super::super) fn of(bytes: &[u8], piece: Range<usize>) -> Result<Part, Fault> {
        let mut part = Part { pairs: Pairs::with_capacity(piece.len() / LINE_BYTES), ..Part::default() };
        part.read(bytes, piece)?;
        Ok(part)
    }

    fn read(&mut self, bytes: &[u8], piece: Range<usize>) -> Result<(), Fault> {
        let mut at = piece.start;
        while at < piece.end {
            at = match plain_line(bytes, at) {
                Some((u, v, next)) => {
                    self.pairs.push(u as i64, v as i64);
                    next
                }
                None => self.other_line(bytes, at)?,
            };
        }
        Ok(())
    }

    /// Any line, by the whole grammar. Returns where the next begins.
    #[inline(never)]
    fn other_line(&mut self, bytes: &[u8], start: usize) -> Result<usize, Fault> {
        if let Some(next) = rest_is_blank(bytes, start) {
            return Ok(next);
        }
        let at = skip_blanks(bytes, start);
        if matches!(byte(bytes, at), b'#' | b'%') {
            let end = line_end(bytes, at);
            self.comment(&bytes[at..end]);
            return whole_line(bytes, at, end);
        }
        let (u, at) = id(bytes, start, at)?;
        if !matches!(byte(bytes, at), b' ' | b'\t') {
            return Err(Fault::line(start, EXPECTED));
        }
        let (v, at) = id(bytes, start, skip_blanks(bytes, at))?;
        let next = match byte(bytes, at) {
            b'\n' => (at + 1).min(bytes.len()),
            b' ' | b'\t' | b'\r' => whole_line(bytes, at, line_end(bytes, at))?,
            _ => return Err(Fault::line(start, EXPECTED)),
        };
        self.pairs.push(u, v);
        Ok(next)
    }

    fn comment(&mut self, line: &[u8]) {
        let words = String::from_utf8_lossy(&line[..line.len().min(200)]);
        let words = words.trim_start_matches(['#', '%', ' ', '\t']);
        self.is_undirected |= words.get(..16).is_some_and(|start| start.eq_ignore_ascii_case("Undirected graph"));
        if words.starts_with("Nodes:") {
            let count = |label: &str| {
                let rest = words.split_once(label)?.1.trim_start();
                rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
            };
            self.claims = self.claims.or(Claims { vertices: count("Nodes:"), edges: count("Edges:") });
        }
    }
}

/// A line of two short IDs without signs, at its front, with one blank or tab between.
#[inline(always)]
fn plain_line(bytes: &[u8], start: usize) -> Option<(u64, u64, usize)> {
    let (u, at) = digits(bytes, start);
    if at == start || at - start > 18 || !matches!(byte(bytes, at), b' ' | b'\t') {
        return None;
    }
    let from = at + 1;
    let (v, at) = digits(bytes, from);
    if at == from || at - from > 18 {
        return None;
    }
    match byte(bytes, at) {
        b'\n' => Some((u, v, at + 1)),
        b'\r' if byte(bytes, at + 1) == b'\n' => Some((u, v, at + 2)),
        b' ' | b'\t' => Some((u, v, whole_line(bytes, at, line_end(bytes, at)).ok()?)),
        _ => None,
    }
}

/// The end of a line whose rest is ignored, unless the rest hides another line.
fn whole_line(bytes: &[u8], at: usize, end: usize) -> Result<usize, Fault> {
    let rest = &bytes[at..end];
    let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    if rest.contains(&b'\r') {
        return Err(Fault::found(at, "a carriage return inside the line", "lines that end in LF or CR LF"));
    }
    Ok(end)
}

/// The vertex ID at `at` on the line that begins at `start`.
fn id(bytes: &[u8], start: usize, at: usize) -> Result<(i64, usize), Fault> {
    match integer(bytes, at) {
        Number::Value(id, end) => Ok((id, end)),
        Number::Absent => Err(Fault::line(start, EXPECTED)),
        Number::TooLarge(text) => {
            Err(Fault::found(start, format!("the ID {text}"), format!("IDs from {} to {}", i64::MIN, i64::MAX)))
        }
    }
}
