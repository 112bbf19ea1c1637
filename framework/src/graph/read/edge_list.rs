//! Edge lists: SNAP and KONECT files, GAP `.el` and `.wel`, tables of a spreadsheet, and whatever else has two vertex IDs at the
//! front of each line.
//!
//! Blanks or tabs, or commas, or semicolons part the columns ([`dialect`]); a third column and all after it is ignored; IDs may
//! stand in double quotes; lines that are empty or begin with `#`, `%` or `//` are not edges. A comment that begins `Undirected
//! graph` makes the list undirected, and `Nodes: N Edges: M` in a comment is kept to be compared with the body. IDs are any
//! `i64`. Lines end in a newline, with a carriage return before it or not; the last may lack it. A carriage return elsewhere is
//! refused: it would hide a line.
//!
//! In a bipartite KONECT file the right ID `j` is vertex `left + j`; `left` is the declared number of left vertices, or the largest
//! left ID if that is larger or nothing is declared.
//!
//! [`dialect`]: super::dialect

use super::super::arcs::Arcs;
use super::super::build::Kind;
use super::super::parse_int::{Number, byte, digits, integer, line_end, rest_is_blank, skip_blanks};
use super::super::piece::{Pairs, Piece};
use super::super::text::{Blocks, Fault, Text};
use super::dialect::{Dialect, Konect, Separator, is_comment};
use super::{Counted, DeclaredCounts, ParsedEdges};
use crate::base::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// How the columns of a list are parted, as a byte that the compiler knows: blanks and tabs go together.
const BLANK: u8 = b' ';

fn expected(separator: u8) -> String {
    let between = match separator {
        b',' => "commas",
        b';' => "semicolons",
        _ => "blanks or tabs",
    };
    format!("two vertex IDs (integers) separated by {between}")
}

/// Bytes of a line, to guess how many pairs a piece holds (seen: 11 to 14 in SNAP files); a wrong guess costs a copy.
const LINE_BYTES: usize = 12;

/// Reads a whole list.
pub(in super::super) fn read(text: &Text<'_>) -> Result<ParsedEdges> {
    let dialect = Dialect::of(text.bytes, text.start);
    together(text.each_piece(text.start, |piece| Part::of(text.bytes, piece, &dialect))?, &dialect, text.path)
}

/// Reads a list while it is unpacked; its content begins at `start` in the first block.
pub(in super::super) fn read_blocks(
    blocks: Blocks<'_>,
    path: &Path,
    start: usize,
    dialect: &Dialect,
) -> Result<ParsedEdges> {
    let beyond = dialect.beyond_first();
    let part = |place: usize, block: &[u8]| match place {
        0 => Part::of(block, start.min(block.len())..block.len(), dialect),
        _ => Part::of(block, 0..block.len(), &beyond),
    };
    together(blocks.each_block(path, part)?, dialect, path)
}

fn together(parts: Vec<Part>, dialect: &Dialect, path: &Path) -> Result<ParsedEdges> {
    let (mut is_undirected, mut claims) = (false, DeclaredCounts::default());
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        is_undirected |= part.is_undirected;
        claims = claims.or(part.claims);
        pieces.push(part.pairs.finish());
    }
    let kind = if is_undirected { Kind::Undirected } else { Kind::Directed };
    let mut listing =
        ParsedEdges { arcs: Arcs::occurring(Vec::new()), kind, claims, warnings: Vec::new(), notes: Vec::new() };
    listing.describe(dialect, path);
    if let Some(konect) = dialect.konect.filter(|konect| konect.is_bipartite) {
        pieces = apart(pieces, konect, &mut listing, path)?;
    }
    listing.arcs = Arcs::occurring(pieces);
    Ok(listing)
}

/// The pairs of a bipartite list with the right IDs moved behind the left ones.
fn apart(pieces: Vec<Piece>, konect: Konect, listing: &mut ParsedEdges, path: &Path) -> Result<Vec<Piece>> {
    let Some([left, right]) =
        pieces.par_iter().filter_map(Piece::largest).reduce_with(|a, b| [a[0].max(b[0]), a[1].max(b[1])])
    else {
        return Ok(pieces);
    };
    if let Some(id) = pieces.par_iter().filter_map(Piece::smallest).min().filter(|&id| id < 1) {
        return Err(Error::Format {
            path: path.to_path_buf(),
            problem: format!("the ID {id} in a bipartite KONECT file, whose IDs are 1 or more on either side"),
        });
    }
    let mut by = left;
    if let Some([_, lefts, rights]) = konect.counts {
        for (declared, found, side) in [(lefts, left, "left"), (rights, right, "right")] {
            if declared != found as u64 {
                listing.warnings.push(format!(
                    "{}: the header says {declared} {side} vertices, but the largest {side} ID is {found}",
                    path.display()
                ));
            }
        }
        by = by.max(i64::try_from(lefts).unwrap_or(by));
    }
    listing.notes.push(format!("{}: bipartite; the right ID j is vertex {by} + j", path.display()));
    let moved: Option<Vec<Piece>> = pieces.into_par_iter().map(|piece| piece.with_second_moved(by)).collect();
    moved.ok_or_else(|| Error::Format {
        path: path.to_path_buf(),
        problem: format!("right IDs behind {by} left ones do not fit 64 bits"),
    })
}

impl ParsedEdges {
    /// What the first lines say of the whole.
    pub(in super::super) fn describe(&mut self, dialect: &Dialect, path: &Path) {
        if let Some(konect) = dialect.konect {
            self.kind = konect.kind;
            if let Some([edges, vertices, _]) = konect.counts {
                let vertices = (!konect.is_bipartite).then_some(vertices);
                self.claims = DeclaredCounts { vertices, edges: Some(edges), by: Counted::Konect, first: None };
            }
        }
        if self.claims.edges.is_none() {
            self.claims.first = dialect.first;
        }
        if let Some(names) = &dialect.odd_names {
            self.warnings.push(format!("{}: the line `{names}` is taken for names of columns", path.display()));
        }
    }
}

/// What one piece of the list holds.
#[derive(Default)]
pub(in super::super) struct Part {
    pub(in super::super) pairs: Pairs,
    pub(in super::super) is_undirected: bool,
    pub(in super::super) claims: DeclaredCounts,
}

impl Part {
    /// What the lines of one piece say.
    pub(in super::super) fn of(bytes: &[u8], piece: Range<usize>, dialect: &Dialect) -> Result<Part, Fault> {
        let mut part = Part { pairs: Pairs::with_capacity(piece.len() / LINE_BYTES), ..Part::default() };
        match dialect.separator {
            Separator::Blank => part.read::<BLANK>(bytes, piece, dialect.names_at)?,
            Separator::Comma => part.read::<b','>(bytes, piece, dialect.names_at)?,
            Separator::Semicolon => part.read::<b';'>(bytes, piece, dialect.names_at)?,
        }
        Ok(part)
    }

    fn read<const SEPARATOR: u8>(
        &mut self,
        bytes: &[u8],
        piece: Range<usize>,
        names_at: Option<usize>,
    ) -> Result<(), Fault> {
        let mut at = piece.start;
        while at < piece.end {
            at = match plain_line::<SEPARATOR>(bytes, at) {
                Some((u, v, next)) => {
                    self.pairs.push(u as i64, v as i64);
                    next
                }
                None if names_at == Some(at) => line_end(bytes, at),
                None => self.other_line::<SEPARATOR>(bytes, at)?,
            };
        }
        Ok(())
    }

    /// Any line, by the whole grammar. Returns where the next begins.
    #[inline(never)]
    fn other_line<const SEPARATOR: u8>(&mut self, bytes: &[u8], start: usize) -> Result<usize, Fault> {
        if let Some(next) = rest_is_blank(bytes, start) {
            return Ok(next);
        }
        let at = skip_blanks(bytes, start);
        if is_comment(bytes, at) {
            let end = line_end(bytes, at);
            self.comment(&bytes[at..end]);
            return whole_line(bytes, at, end);
        }
        let wrong = || Fault::line(start, expected(SEPARATOR));
        let (u, at) = id::<SEPARATOR>(bytes, start, at)?;
        let mut next = skip_blanks(bytes, at);
        if SEPARATOR == BLANK && next == at || SEPARATOR != BLANK && byte(bytes, next) != SEPARATOR {
            return Err(wrong());
        }
        if SEPARATOR != BLANK {
            next = skip_blanks(bytes, next + 1);
        }
        let (v, at) = id::<SEPARATOR>(bytes, start, next)?;
        let next = match byte(bytes, at) {
            b'\n' => (at + 1).min(bytes.len()),
            b' ' | b'\t' | b'\r' => whole_line(bytes, at, line_end(bytes, at))?,
            other if other == SEPARATOR => whole_line(bytes, at, line_end(bytes, at))?,
            _ => return Err(wrong()),
        };
        self.pairs.push(u, v);
        Ok(next)
    }

    fn comment(&mut self, line: &[u8]) {
        let words = String::from_utf8_lossy(&line[..line.len().min(200)]);
        let words = words.trim_start_matches(['#', '%', '/', ' ', '\t']);
        self.is_undirected |= words.get(..16).is_some_and(|start| start.eq_ignore_ascii_case("Undirected graph"));
        if words.starts_with("Nodes:") {
            let count = |label: &str| {
                let rest = words.split_once(label)?.1.trim_start();
                rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
            };
            self.claims = self.claims.or(DeclaredCounts {
                vertices: count("Nodes:"),
                edges: count("Edges:"),
                ..DeclaredCounts::default()
            });
        }
    }
}

/// A line of two short IDs without signs, at its front, with one separator between.
#[inline(always)]
fn plain_line<const SEPARATOR: u8>(bytes: &[u8], start: usize) -> Option<(u64, u64, usize)> {
    let is_between = |byte: u8| byte == SEPARATOR || SEPARATOR == BLANK && byte == b'\t';
    let (u, at) = digits(bytes, start);
    if at == start || at - start > 18 || !is_between(byte(bytes, at)) {
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
        other if is_between(other) => Some((u, v, whole_line(bytes, at, line_end(bytes, at)).ok()?)),
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

/// The vertex ID at `at`, in quotes or not, on the line that begins at `start`.
fn id<const SEPARATOR: u8>(bytes: &[u8], start: usize, at: usize) -> Result<(i64, usize), Fault> {
    let quote = usize::from(byte(bytes, at) == b'"');
    match integer(bytes, at + quote) {
        Number::Value(id, end) if quote == 0 || byte(bytes, end) == b'"' => Ok((id, end + quote)),
        Number::Value(..) | Number::Absent => Err(Fault::line(start, expected(SEPARATOR))),
        Number::TooLarge(text) => {
            Err(Fault::found(start, format!("the ID {text}"), format!("IDs from {} to {}", i64::MIN, i64::MAX)))
        }
    }
}
