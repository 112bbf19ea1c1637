//! One reader per format, all of the same shape: text or bytes in, a [`Listing`] or an error out, never half a graph.

pub(super) mod binary;
pub(super) mod edge_list;
pub(super) mod gr;
mod header;
pub(super) mod metis;
pub(super) mod mtx;

use super::arcs::Arcs;
use super::build::Kind;

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
