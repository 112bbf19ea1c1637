//! Which vertices travel between two ranks, and in which order, so that messages carry places instead of names.

use crate::base::id::{LocalId, Rank};

/// Routes of one rank. `peers` counts the rank itself, which has empty routes.
#[derive(Debug, Default)]
pub struct Routes {
    /// For each peer: my owned vertices that it has as ghosts, in the order of its ghosts.
    pub(super) copied: Vec<Vec<LocalId>>,
    /// The ghosts of peer `p` are `ghost_starts[p]..ghost_starts[p + 1]`, counted from the first ghost.
    pub(super) ghost_starts: Vec<u32>,
    /// Owned vertices that any peer has as ghosts, ascending.
    pub(super) boundary: Vec<LocalId>,
    /// Where the copies of `boundary[i]` begin.
    pub(super) copy_starts: Vec<u32>,
    /// The peer, and the place in `copied[peer]`.
    pub(super) copies: Vec<(Rank, u32)>,
}

impl Routes {
    pub(super) fn new(copied: Vec<Vec<LocalId>>, ghost_starts: Vec<u32>) -> Routes {
        let mut copies: Vec<(LocalId, Rank, u32)> = Vec::with_capacity(copied.iter().map(Vec::len).sum());
        for (peer, list) in copied.iter().enumerate() {
            copies.extend(list.iter().enumerate().map(|(place, &v)| (v, Rank(peer as u32), place as u32)));
        }
        copies.sort_unstable();
        let mut boundary: Vec<LocalId> = copies.iter().map(|&(v, ..)| v).collect();
        boundary.dedup();
        let mut copy_starts = Vec::with_capacity(boundary.len() + 1);
        let mut at = 0;
        for &v in &boundary {
            copy_starts.push(at as u32);
            at += copies[at..].iter().take_while(|&&(other, ..)| other == v).count();
        }
        copy_starts.push(copies.len() as u32);
        let copies = copies.into_iter().map(|(_, peer, place)| (peer, place)).collect();
        Routes { copied, ghost_starts, boundary, copy_starts, copies }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.copied.len()
    }

    /// My owned vertices that `peer` has as ghosts, in the order of its ghosts.
    pub fn copied_to(&self, peer: usize) -> &[LocalId] {
        &self.copied[peer]
    }

    /// The places of `peer`'s vertices among my ghosts.
    pub fn ghosts_of(&self, peer: usize) -> std::ops::Range<u32> {
        self.ghost_starts[peer]..self.ghost_starts[peer + 1]
    }

    /// Whose ghost number `place` is, and its place among that peer's.
    pub fn owner_of(&self, place: u32) -> (Rank, u32) {
        let peer = self.ghost_starts.partition_point(|&start| start <= place) - 1;
        (Rank(peer as u32), place - self.ghost_starts[peer])
    }

    /// Owned vertices that any peer has as ghosts, ascending.
    pub fn boundary(&self) -> &[LocalId] {
        &self.boundary
    }

    /// Where copies of `boundary()[place]` live: peers and places.
    pub fn copies_at(&self, place: usize) -> &[(Rank, u32)] {
        &self.copies[self.copy_starts[place] as usize..self.copy_starts[place + 1] as usize]
    }

    /// Where copies of the owned vertex `v` live: peers and places.
    pub fn copies_of(&self, v: LocalId) -> &[(Rank, u32)] {
        match self.boundary.binary_search(&v) {
            Ok(place) => self.copies_at(place),
            Err(_) => &[],
        }
    }
}
