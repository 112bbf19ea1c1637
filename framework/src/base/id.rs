//! Three kinds of number that must never be mixed: a vertex of the whole graph, a vertex of one part, a rank.
//!
//! A [`LocalId`] can be made only inside this crate, from an index that was proved to lie in its part: the inner loops
//! rely on that. `u32` serves both kinds; a graph has at most 2^32 - 2 vertices.

use serde::Serialize;
use std::fmt;

/// A vertex of the whole graph: its place in the dense numbering, 0 to n - 1. Not an original ID, see [`crate::graph::Ids`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[repr(transparent)]
pub struct GlobalId(pub u32);

/// A vertex of one part: owned ones first, then ghosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct LocalId(u32);

/// One worker of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[repr(transparent)]
pub struct Rank(pub u32);

impl LocalId {
    /// The caller has checked `index` against the part it is used with.
    #[inline(always)]
    pub(crate) const fn new(index: u32) -> LocalId {
        LocalId(index)
    }

    /// As an index into a field.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// As a number, to store in a field.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl Rank {
    /// As an index into per-rank lists.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}
