//! One reader per format, all of the same shape: text or bytes in, a [`ParsedEdges`] or an error out, never half a graph.

pub(super) mod dialect;
pub(super) mod edge_list;
mod header;
pub(super) mod gr;
pub(super) mod adjacency;
pub(super) mod binary;
pub(super) mod metis;
pub(super) mod mtx;

use super::Graph;
use super::arcs::Arcs;
use super::build::Kind;
use dialect::FirstPair;
use std::path::Path;

/// What a reader found in a file.
pub(super) struct ParsedEdges {
    pub(super) arcs: Arcs,
    pub(super) kind: Kind,
    /// Counts that comments claim; not binding.
    pub(super) claims: DeclaredCounts,
    /// Odd but not wrong.
    pub(super) warnings: Vec<String>,
    /// To be said, but not odd.
    pub(super) notes: Vec<String>,
}

impl ParsedEdges {
    /// What a format without claims gives.
    pub(super) fn plain(arcs: Arcs, kind: Kind) -> ParsedEdges {
        ParsedEdges { arcs, kind, claims: DeclaredCounts::default(), warnings: Vec::new(), notes: Vec::new() }
    }
}

/// Who counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Counted {
    /// A comment, as SNAP has them.
    #[default]
    Snap,
    /// KONECT's second line.
    Konect,
}

/// Counts in comments, and a first line that may be some.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct DeclaredCounts {
    pub(super) vertices: Option<u64>,
    pub(super) edges: Option<u64>,
    pub(super) by: Counted,
    /// The first pair, if nothing else counts the edges.
    pub(super) first: Option<FirstPair>,
}

impl DeclaredCounts {
    /// These, and where they are silent the others.
    pub(super) fn or(self, others: DeclaredCounts) -> DeclaredCounts {
        DeclaredCounts {
            vertices: self.vertices.or(others.vertices),
            edges: self.edges.or(others.edges),
            by: if self.by == Counted::Snap { others.by } else { self.by },
            first: self.first.or(others.first),
        }
    }

    /// A sentence for each claim that the graph does not keep, and for a first line that looks like a claim.
    pub(super) fn check(self, path: &Path, graph: &mut Graph) {
        let listed = graph.facts().listed;
        let found = [
            (self.vertices, graph.vertices() as u64, "Nodes", "vertices"),
            (self.edges, listed, "Edges", "lines with an edge"),
        ];
        for (claim, found, label, what) in found {
            let Some(claim) = claim.filter(|&claim| claim != found) else { continue };
            let says = match self.by {
                Counted::Snap => format!("a comment says {label}: {claim}"),
                Counted::Konect => format!("the header says {label}: {claim}"),
            };
            graph.warn(format!(
                "{}: {says}, but the file has {found} {what}; the file may be incomplete",
                path.display()
            ));
        }
        if let Some(FirstPair { pair: [vertices, edges], line }) = self.first
            && edges > 0
            && listed == edges as u64 + 1
            && counts_vertices(graph, vertices, edges)
        {
            graph.warn(format!(
                "{}:{line}: the first line, {vertices} {edges}, is read as an edge, but it may count the vertices and the {edges} edges \
                 that follow; if so, give --skip-lines {line}",
                path.display()
            ));
        }
    }
}

/// Whether all IDs but that of the second number lie between 0 and the first.
fn counts_vertices(graph: &Graph, vertices: i64, edges: i64) -> bool {
    let ids = graph.ids();
    let last = ids.len() - 1; // there is an edge
    let before_last = if last > 0 { ids.nth(last - 1) } else { 0 };
    ids.nth(0) >= 0 && (ids.nth(last) <= vertices || ids.nth(last) == edges && before_last <= vertices)
}
