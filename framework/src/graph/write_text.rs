//! Graphs as text: SNAP and GAP edge lists, Matrix Market.
//!
//! Edge lists (`.txt`, `.el`) have one `FROM TO` a line in ascending order, original IDs, an undirected edge once with the smaller ID
//! first. A `.txt` begins with comments that say name, kind and counts, so that it reads back as it was; a `.el` has none,
//! because GAP's own reader knows no comments. Matrix Market (`.mtx`) is `pattern`, vertices renumbered 1 to n, the lower
//! triangle if undirected. What a format cannot hold (vertices without edges, original IDs, the direction) is a warning.
//! Lines are made in parallel, stretches of rows at a time, and written in order: the same bytes for any thread count.

use super::{Csr, Graph, Ids};
use crate::base::id::GlobalId;
use rayon::prelude::*;
use std::io::{self, Write};
use std::ops::Range;

/// Arcs of a stretch of rows (chosen: about 1 MB of text).
const STRETCH: u64 = 1 << 16;

/// A text format that graphs can be written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextFormat {
    /// An edge list with comments.
    Snap,
    /// An edge list without.
    Gap,
    /// Matrix Market.
    Mtx,
}

/// Writes the graph, numbered in ascending ID, in the view it has; returns warnings, each a sentence.
pub(super) fn write_text(graph: &Graph, format: TextFormat, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let is_undirected = graph.is_symmetric();
    let rows = graph.outgoing();
    let loops = count_loops(rows);
    let lines = if is_undirected { (rows.arcs() as u64 - loops) / 2 + loops } else { rows.arcs() as u64 };
    let vertices = graph.vertices();
    match format {
        TextFormat::Snap => {
            let kind = if is_undirected { "Undirected" } else { "Directed" };
            writeln!(out, "# {kind} graph: {}", graph.name().replace(['\n', '\r'], " "))?;
            writeln!(out, "# Nodes: {vertices} Edges: {lines}")?;
        }
        TextFormat::Gap if is_undirected => {
            warnings.push("a .el file does not say that its edges are undirected; read it with --undirected".into());
        }
        TextFormat::Gap => {}
        TextFormat::Mtx => {
            let symmetry = if is_undirected { "symmetric" } else { "general" };
            writeln!(out, "%%MatrixMarket matrix coordinate pattern {symmetry}")?;
            writeln!(out, "{vertices} {vertices} {lines}")?;
            if vertices > 0 && !matches!(graph.ids(), Ids::Range { first: 1, .. }) {
                warnings
                    .push(format!("a .mtx file has no IDs: vertices are renumbered 1 to {vertices}, in ascending ID"));
            }
        }
    }
    if format != TextFormat::Mtx {
        let lonely = count_lonely(graph);
        if lonely > 0 {
            warnings
                .push(format!("{lonely} vertices without edges are lost: an edge list names only the ends of edges"));
        }
    }
    let stretches = stretches(rows);
    for some in stretches.chunks(4 * rayon::current_num_threads()) {
        let texts: Vec<Vec<u8>> =
            some.par_iter().map(|row_range| text_of(graph, format, is_undirected, row_range.clone())).collect();
        for text in texts {
            out.write_all(&text)?;
        }
    }
    Ok(warnings)
}

fn text_of(graph: &Graph, format: TextFormat, is_undirected: bool, row_range: Range<u32>) -> Vec<u8> {
    let mut text = Vec::with_capacity(1 << 20);
    let ids = graph.ids();
    for u in row_range {
        for &v in graph.outgoing().row(u) {
            let (left, right) = match format {
                TextFormat::Mtx if is_undirected && v > u => continue,
                TextFormat::Mtx => (i64::from(u) + 1, i64::from(v) + 1),
                _ if is_undirected && v < u => continue,
                _ => (ids.original(GlobalId(u)), ids.original(GlobalId(v))),
            };
            push_number(&mut text, left);
            text.push(b' ');
            push_number(&mut text, right);
            text.push(b'\n');
        }
    }
    text
}

/// Stretches of rows of about equally many arcs.
fn stretches(rows: &Csr) -> Vec<Range<u32>> {
    let mut all = Vec::new();
    let mut first = 0;
    while first < rows.vertices() {
        let goal = rows.offsets()[first] + STRETCH;
        let end = rows.offsets().partition_point(|&offset| offset <= goal).clamp(first + 2, rows.vertices() + 1) - 1;
        all.push(first as u32..end as u32);
        first = end;
    }
    all
}

fn count_loops(rows: &Csr) -> u64 {
    (0..rows.vertices() as u32).into_par_iter().filter(|v| rows.row(*v).binary_search(v).is_ok()).count() as u64
}

/// Vertices that no arc names.
fn count_lonely(graph: &Graph) -> usize {
    let rows = graph.outgoing();
    if let Some(incoming) = graph.incoming() {
        return (0..rows.vertices() as u32)
            .into_par_iter()
            .filter(|&v| rows.degree(v) + incoming.degree(v) == 0)
            .count();
    }
    let mut named = vec![false; rows.vertices()];
    rows.targets().iter().for_each(|&v| named[v as usize] = true);
    (0..rows.vertices() as u32).filter(|&v| rows.degree(v) == 0 && !named[v as usize]).count()
}

fn push_number(text: &mut Vec<u8>, number: i64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        text.push(b'-');
    }
    text.extend_from_slice(&digits[start..]);
}
