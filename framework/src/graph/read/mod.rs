//! One reader per format, all of the same shape: text or bytes in, a [`Listing`] or an error out, never half a graph.

pub(super) mod binary;
pub(super) mod edge_list;
pub(super) mod gr;
mod header;
pub(super) mod metis;
pub(super) mod mtx;

use super::Graph;
use super::arcs::Arcs;
use super::build::Kind;
use std::path::Path;

/// What a reader found in a file.
pub(super) struct Listing {
    pub(super) arcs: Arcs,
    pub(super) kind: Kind,
    /// Counts that comments claim; not binding.
    pub(super) claims: Claims,
    /// Odd but not wrong.
    pub(super) warnings: Vec<String>,
}

/// Counts in comments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Claims {
    pub(super) vertices: Option<u64>,
    pub(super) edges: Option<u64>,
}

impl Claims {
    /// These, and where they are silent the others.
    pub(super) fn or(self, others: Claims) -> Claims {
        Claims { vertices: self.vertices.or(others.vertices), edges: self.edges.or(others.edges) }
    }

    /// A sentence for each claim that the graph does not keep.
    pub(super) fn check(self, path: &Path, graph: &mut Graph) {
        let found = [
            (self.vertices, graph.vertices() as u64, "Nodes", "vertices"),
            (self.edges, graph.facts().listed, "Edges", "lines with an edge"),
        ];
        for (claim, found, label, what) in found {
            if let Some(claim) = claim.filter(|&claim| claim != found) {
                graph.warn(format!(
                    "{}: a comment says {label}: {claim}, but the file has {found} {what}; the file may be incomplete",
                    path.display()
                ));
            }
        }
    }
}
