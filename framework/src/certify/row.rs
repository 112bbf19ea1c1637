//! The arcs of vertices, as certificates read them.

use crate::base::id::LocalId;
use crate::partition;

/// The arcs that a certificate reads: into each vertex, or out of it where the view has no others.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub(super) all: &'a partition::LocalRows,
}

impl<'a> Rows<'a> {
    /// The neighbours of a local vertex; a ghost has none here.
    #[inline(always)]
    pub fn of(self, v: LocalId) -> Row<'a> {
        Row { targets: self.all.of(v) }
    }

    /// The ends of all arcs, row after row.
    pub fn targets(self) -> &'a [LocalId] {
        self.all.targets()
    }
}

/// The neighbours of one vertex.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(super) targets: &'a [LocalId],
}

impl Row<'_> {
    /// Folds over the neighbours, one after the other: where a term adds a cycle or two.
    #[inline(always)]
    pub fn fold<A>(&self, start: A, mut term: impl FnMut(A, LocalId) -> A) -> A {
        self.targets.iter().fold(start, |value, &u| term(value, u))
    }

    /// Folds over the neighbours in four strands, each from `start`, so that a slow term does not wait for the one before; `join`
    /// puts strands together. The order is fixed: the same row gives the same bits.
    #[inline(always)]
    pub fn fold_in_strands<A: Copy>(
        &self,
        start: A,
        mut term: impl FnMut(A, LocalId) -> A,
        join: impl Fn(A, A) -> A,
    ) -> A {
        let (fours, rest) = self.targets.as_chunks::<4>();
        let mut strands = [start; 4];
        for four in fours {
            for (strand, &u) in strands.iter_mut().zip(four) {
                *strand = term(*strand, u);
            }
        }
        for (strand, &u) in strands.iter_mut().zip(rest) {
            *strand = term(*strand, u);
        }
        join(join(strands[0], strands[1]), join(strands[2], strands[3]))
    }

    /// How many neighbours hold to that.
    #[inline(always)]
    pub fn count(&self, mut holds: impl FnMut(LocalId) -> bool) -> u64 {
        self.fold(0, |count, u| count + u64::from(holds(u)))
    }

    /// How many neighbours.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The first neighbour.
    #[inline(always)]
    pub fn first(&self) -> Option<LocalId> {
        self.targets.first().copied()
    }

    /// Whether a neighbour is `key`, by a number that rises along the row; damaged rows may hide one.
    pub fn has<K: Ord>(&self, key: &K, of: impl Fn(LocalId) -> K) -> bool {
        self.targets.binary_search_by(|&u| of(u).cmp(key)).is_ok()
    }
}
