//! One rank's part of the graph: a contiguous range of owned vertices, ghosts for the far ends of their arcs, rows in local
//! numbers, and routes to and from each peer.
//!
//! Owned vertices come first, in global order; ghosts follow from the next multiple of 64 on (so that owned and ghost bits
//! never share a word), in global order too, which groups them by owner. Rows keep *global* order, so a sum over a row is
//! the same on any number of ranks. With one rank the rows are the graph's own, not copies.
//! Cost of a split: one pass over the rank's arcs, 8 bytes a local vertex and 4 an arc.

mod routes;
pub(crate) mod checksum;
mod build;
#[cfg(test)]
mod tests;

pub use build::bounds;
pub use checksum::ArcSums;
pub use routes::Routes;

use crate::base::id::{GlobalId, LocalId, Rank};
use crate::base::memory::{Array, Buf};
use crate::host::Pool;
use crate::host::access::{at, prefetch, row};

/// Rows of one direction in local numbers. There is a row for every local vertex; those of ghosts are empty.
#[derive(Clone, Debug)]
pub struct LocalRows {
    offsets: Array<u64>,
    targets: Array<LocalId>,
}

impl LocalRows {
    /// The neighbours of `v`.
    #[inline(always)]
    pub fn of(&self, v: LocalId) -> &[LocalId] {
        row(&self.targets, *at(&self.offsets, v), self.begin(v, 1))
    }

    /// The neighbour at `place` (from 0) in the row of `v`, or `v` itself if the row is shorter. It does not branch on which, since
    /// that cannot be predicted.
    #[inline(always)]
    pub fn nth_or_self(&self, v: LocalId, place: usize) -> LocalId {
        let (at, end) = (self.begin(v, 0) as usize + place, self.begin(v, 1) as usize);
        // Behind a short row the next row begins, so what is read there is another row's neighbour; at the very end there is none.
        let neighbour = self.targets.get(at).copied().unwrap_or(v);
        std::hint::select_unpredictable(at < end, neighbour, v)
    }

    /// How many neighbours `v` has.
    #[inline(always)]
    pub fn degree(&self, v: LocalId) -> u64 {
        self.begin(v, 1) - *at(&self.offsets, v)
    }

    /// All neighbours, row after row.
    #[inline(always)]
    pub fn targets(&self) -> &[LocalId] {
        &self.targets
    }

    /// Where the row of `v + ahead` begins in [`LocalRows::targets`]; `v + ahead` is at most the number of local vertices.
    #[inline(always)]
    pub(crate) fn begin(&self, v: LocalId, ahead: u32) -> u64 {
        *at(&self.offsets, LocalId::new(v.number() + ahead))
    }

    /// The rows of `first` up to `end`, which is at most the number of local vertices, as one; and its place in [`LocalRows::targets`].
    #[inline(always)]
    pub(crate) fn row_range(&self, first: LocalId, end: LocalId) -> (u64, &[LocalId]) {
        let (from, to) = (self.begin(first, 0), self.begin(end, 0));
        (from, row(&self.targets, from, to))
    }

    /// Prefetches the offsets of `v`.
    #[inline(always)]
    pub(crate) fn prefetch_offsets(&self, v: LocalId) {
        prefetch(&self.offsets, v.index());
    }

    /// Prefetches the beginning of the row of `v`.
    #[inline(always)]
    pub fn prefetch_row(&self, v: LocalId) {
        prefetch(&self.targets, *at(&self.offsets, v) as usize);
    }

    /// Where each row begins, and the end.
    pub(crate) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Asks for a place of a row, chosen by its length, to be prefetched.
    #[inline(always)]
    pub(crate) fn prefetch_place(&self, v: LocalId, place: impl Fn(usize) -> usize) {
        let (begin, end) = (self.begin(v, 0) as usize, self.begin(v, 1) as usize);
        prefetch(&self.targets, begin + place(end - begin));
    }

    /// Arcs in the rows.
    pub fn arcs(&self) -> u64 {
        self.targets.len() as u64
    }
}

/// One rank's part.
#[derive(Debug)]
pub struct Part {
    rank: Rank,
    first: u32,
    owned: u32,
    ghost_base: u32,
    ghosts: Vec<GlobalId>,
    graph_vertices: usize,
    graph_arcs: u64,
    outgoing: LocalRows,
    incoming: Option<LocalRows>,
    chunks: Vec<u32>,
    incoming_chunks: Vec<u32>,
    routes: Routes,
    arc_sums: Option<ArcSums>,
}

impl Part {
    /// The rank that owns it.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// How many vertices it owns.
    pub fn owned(&self) -> usize {
        self.owned as usize
    }

    /// How many ghosts it has.
    pub fn ghosts(&self) -> usize {
        self.ghosts.len()
    }

    /// The length of a field: owned, padding, ghosts.
    pub fn locals(&self) -> usize {
        self.ghost_base as usize + self.ghosts.len()
    }

    /// Vertices of the whole graph.
    pub fn graph_vertices(&self) -> usize {
        self.graph_vertices
    }

    /// Arcs of the whole graph, in the view of the algorithm.
    pub fn graph_arcs(&self) -> u64 {
        self.graph_arcs
    }

    /// Whether `v` belongs to a peer.
    #[inline(always)]
    pub fn is_ghost(&self, v: LocalId) -> bool {
        v.number() >= self.ghost_base
    }

    /// The owned vertices.
    pub fn owned_vertices(&self) -> impl Iterator<Item = LocalId> + use<> {
        (0..self.owned).map(LocalId::new)
    }

    /// The owned vertices followed by the ghosts.
    pub fn local_vertices(&self) -> impl Iterator<Item = LocalId> + use<> {
        let ghosts = self.ghost_base..self.ghost_base + self.ghosts.len() as u32;
        (0..self.owned).chain(ghosts).map(LocalId::new)
    }

    /// The global number of a local vertex.
    #[inline(always)]
    pub fn global(&self, v: LocalId) -> GlobalId {
        if self.is_ghost(v) {
            self.ghosts[(v.number() - self.ghost_base) as usize]
        } else {
            GlobalId(self.first + v.number())
        }
    }

    /// The local number of a vertex, if this rank owns it.
    pub fn local(&self, v: GlobalId) -> Option<LocalId> {
        v.0.checked_sub(self.first).filter(|&local| local < self.owned).map(LocalId::new)
    }

    /// The local number of a vertex, owned or ghost, if this rank has it.
    pub fn find(&self, v: GlobalId) -> Option<LocalId> {
        let ghost = || self.ghosts.binary_search(&v).ok().map(|place| LocalId::new(self.ghost_base + place as u32));
        self.local(v).or_else(ghost)
    }

    /// The ghosts.
    pub fn ghost_vertices(&self) -> impl Iterator<Item = LocalId> + use<> {
        (self.ghost_base..self.ghost_base + self.ghosts.len() as u32).map(LocalId::new)
    }

    /// A number read from a field as a local vertex; `None` if it is none, so that a corrupt value cannot lead out of the part.
    #[inline(always)]
    pub fn vertex(&self, number: u32) -> Option<LocalId> {
        ((number as usize) < self.locals()).then(|| LocalId::new(number))
    }

    /// Arcs out of each vertex.
    #[inline(always)]
    pub fn outgoing(&self) -> &LocalRows {
        &self.outgoing
    }

    /// Arcs into each vertex.
    ///
    /// # Panics
    /// If the algorithm's view did not ask for them: a mistake in the plugin.
    #[inline(always)]
    pub fn incoming(&self) -> &LocalRows {
        self.incoming.as_ref().expect("the view asks for incoming arcs")
    }

    /// Arcs into each vertex, where they are not the same rows as those out of it.
    pub(crate) fn incoming_apart(&self) -> Option<&LocalRows> {
        self.incoming.as_ref().filter(|incoming| !std::ptr::eq(incoming.targets(), self.outgoing.targets()))
    }

    /// The global numbers of the ghosts, in their order.
    pub(crate) fn ghost_globals(&self) -> &[GlobalId] {
        &self.ghosts
    }

    /// The global number of the first owned vertex.
    pub(crate) fn global_base(&self) -> u32 {
        self.first
    }

    pub(crate) fn has_incoming(&self) -> bool {
        self.incoming.is_some()
    }

    /// Sums the arcs as they are now, just loaded, so that certificates can tell whether they still are what they were. One pass
    /// over the arcs.
    pub fn record_arc_sums(&mut self, pool: &Pool) -> ArcSums {
        let sums = ArcSums::of(self, pool);
        self.arc_sums = Some(sums);
        sums
    }

    /// Whether the arcs were summed when they were loaded and are not what they were. One pass over the arcs.
    pub(crate) fn is_damaged(&self, pool: &Pool) -> bool {
        self.arc_sums.is_some_and(|loaded| ArcSums::of(self, pool) != loaded)
    }

    /// Whether its rows are the graph's own, not copies.
    pub(crate) fn is_whole_graph(&self) -> bool {
        self.routes.ranks() == 1
    }

    /// Lets `change` change the ends of arcs in a copy that is this part's own, and says at which place: whose row that is, and its
    /// direction. For fault injection: the ends must stay local vertices.
    pub(crate) fn inject_into_targets(
        &mut self,
        incoming: bool,
        change: impl FnOnce(&mut [LocalId]) -> Option<usize>,
    ) -> Option<(LocalId, &'static str)> {
        let is_both =
            self.incoming.as_ref().is_some_and(|rows| rows.targets.as_ptr() == self.outgoing.targets.as_ptr());
        let rows = if incoming && self.incoming.is_some() { self.incoming.as_ref()? } else { &self.outgoing };
        let mut targets = Buf::copied(&rows.targets);
        let place = change(&mut targets)? as u64;
        let v = LocalId::new(rows.offsets.partition_point(|&offset| offset <= place) as u32 - 1);
        let changed = LocalRows { offsets: rows.offsets.clone(), targets: Array::from(targets) };
        match (&mut self.incoming, is_both) {
            (incoming @ Some(_), true) => (self.outgoing, *incoming) = (changed.clone(), Some(changed)),
            (Some(rows), false) if incoming => *rows = changed,
            _ => self.outgoing = changed,
        }
        Some((
            v,
            if is_both {
                "arcs"
            } else if incoming {
                "arcs in"
            } else {
                "arcs out"
            },
        ))
    }

    /// The sums of the arcs when they were loaded, if they were made.
    pub fn arc_sums(&self) -> Option<ArcSums> {
        self.arc_sums
    }

    /// Routes to and from the peers.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Bounds of fixed stretches of owned vertices, each a multiple of 64, balanced by arcs out (plus two a vertex).
    pub(crate) fn chunks(&self) -> &[u32] {
        &self.chunks
    }

    /// The same, balanced by arcs in.
    pub(crate) fn incoming_chunks(&self) -> &[u32] {
        &self.incoming_chunks
    }

    /// Which bits of a word of vertices are owned ones.
    #[inline(always)]
    pub(crate) fn owned_in_word(&self, word: usize) -> u64 {
        let left = self.owned().saturating_sub(64 * word);
        if left >= 64 { !0 } else { !(!0 << left) }
    }

    pub(crate) fn ghost_base(&self) -> u32 {
        self.ghost_base
    }

    /// Bytes of the rows that this part added to the graph's own: none with one rank.
    pub fn bytes(&self) -> usize {
        if self.routes.ranks() == 1 {
            return 0;
        }
        let rows = |rows: &LocalRows| rows.offsets.len() * 8 + rows.targets.len() * 4;
        rows(&self.outgoing) + self.incoming.as_ref().map_or(0, rows) + self.ghosts.len() * 4
    }
}
