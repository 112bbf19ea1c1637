//! What edges join: trees of vertices that are found again, from edges of the graph only, in memory of the certificate's own.
//!
//! Every vertex begins under its first neighbour, if that is smaller; no memory says so. Then the edges by which the run hooked trees
//! join them (union-find): an edge counts only if the graph has it. Pointers lead to smaller numbers always, so they end, whatever
//! threads do at once and whatever the run kept.
//!
//! On one rank, a vertex on top of a tree must be the one that its label names. On several, a tree (a rank's own; its vertices have one
//! label, as edges do) has round 0 if the named vertex is in it. Any other has the round in which the label came, at a vertex that it
//! shares with a peer, and some rank must have that vertex in a tree of an earlier round. *Complete*, for any rounds: among trees
//! that are not joined to the vertex they name, one of the smallest round would share a vertex with a tree of a smaller one, which is
//! joined to it and so joins this one; and a tree of round 0 is. *Sound.* When a label came in round r at a vertex, the peer that
//! sent it had it in an earlier one.
//! Cost: a walk for each vertex without a smaller first neighbour, and one exchange; others cost nothing.
//! Source: Jayanti, Tarjan, "Concurrent Disjoint Set Union", Distributed Computing 2021 (here linked by number).

use crate::evidence::{ENTRY, FAR, NEAR, ROUND};
use crate::fields::{LABEL, ROOT};
use framework::base::error::Result;
use framework::base::id::{GlobalId, LocalId};
use framework::base::memory::Buf;
use framework::certify::{Audit, Row, Rows};
use framework::partition::Part;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The trees of one rank.
pub(crate) struct Trees<'a> {
    part: &'a Part,
    rows: Rows<'a>,
    /// One more than a smaller vertex of the same tree; 0: as [`up`] says.
    above: Buf<AtomicU32>,
}

/// The first neighbour if it is smaller, else the vertex itself.
#[inline(always)]
pub(crate) fn up(row: Row<'_>, v: LocalId) -> LocalId {
    row.first().filter(|&first| first < v).unwrap_or(v)
}

/// No round: what the vertex is joined to is not known.
const UNKNOWN: u64 = u64::MAX;

impl<'a> Trees<'a> {
    /// Joined by the edges kept at `firsts`, those vertices that [`up`] leaves where they are.
    pub(crate) fn of(audit: &Audit<'a>, firsts: &[Vec<LocalId>]) -> Trees<'a> {
        let (part, rows) = (audit.part, audit.rows());
        let trees = Trees { part, rows, above: Buf::zeroed(part.locals()) };
        let [near, far] = [NEAR, FAR].map(|field| audit.values(field));
        audit.each(firsts, |v| {
            if let (Some(near), Some(far)) = (part.vertex(near.get(v)), part.vertex(far.get(v)))
                && trees.has_edge(near, far)
            {
                trees.join(near, far);
            }
            true
        });
        trees
    }

    /// Whether an edge joins the two; the rows of ghosts are with their owners.
    fn has_edge(&self, near: LocalId, far: LocalId) -> bool {
        // Rows are in the order of global numbers.
        let has = |row: Row<'_>, v: LocalId| row.has(&self.part.global(v), |u| self.part.global(u));
        has(self.rows.of(near), far) || has(self.rows.of(far), near)
    }

    fn above(&self, v: LocalId) -> LocalId {
        let above = self.above[v.index()].load(Relaxed).checked_sub(1).and_then(|above| self.part.vertex(above));
        above.filter(|&above| above < v).unwrap_or_else(|| up(self.rows.of(v), v))
    }

    /// The top of the tree of `v`. On the way every second vertex moves up by two.
    fn top(&self, mut v: LocalId) -> LocalId {
        loop {
            let above = self.above(v);
            if above == v {
                return v;
            }
            let next = self.above(above);
            // Relaxed, and whatever another thread puts there: it is above `v` in its tree too.
            if next < above {
                self.above[v.index()].store(next.number() + 1, Relaxed);
            }
            v = next;
        }
    }

    /// Puts the larger top under the smaller.
    fn join(&self, u: LocalId, v: LocalId) {
        loop {
            let (u, v) = (self.top(u), self.top(v));
            let (high, low) = (u.max(v), u.min(v));
            // Relaxed: only one thread moves a top, and the link is all that is agreed on.
            let link = || self.above[high.index()].compare_exchange(0, low.number() + 1, Relaxed, Relaxed);
            if high == low || link().is_ok() {
                return;
            }
        }
    }

    /// The first vertex on top of a tree that is not shown to be joined to the one that its label names. Collective.
    pub(crate) fn unjoined(&self, audit: &mut Audit<'a>, firsts: &[Vec<LocalId>]) -> Result<Option<LocalId>> {
        let part = self.part;
        let [label, root, entry, round] = [LABEL, ROOT, ENTRY, ROUND].map(|field| audit.values(field));
        // The round that a tree claims, and where its label came.
        let claim = |top: LocalId| {
            if part.find(GlobalId(label.get(top))).is_some_and(|named| self.top(named) == top) {
                return (0, None);
            }
            let at = part.vertex(root.get(top)).filter(|_| part.ghosts() > 0);
            let came = at.and_then(|at| Some((u64::from(round.get(at)), part.vertex(entry.get(at))?)));
            let came = came.filter(|&(round, entry)| round > 0 && self.top(entry) == top);
            came.map_or((UNKNOWN, None), |(round, entry)| (round, Some(entry)))
        };
        // Of the vertices shared with peers: the smallest round that any rank claims for the tree that it has them in.
        let mut earliest =
            Buf::<u64>::zeroed(if part.ghosts() > 0 || !audit.collectives.is_alone() { part.locals() } else { 0 });
        let mut heard = Vec::new();
        audit.collectives.to_owners(|ghost| [claim(self.top(ghost)).0, 0], |v, [theirs, _]| heard.push((v, theirs)))?;
        for (v, theirs) in heard {
            let known = earliest[v.index()].checked_sub(1).unwrap_or(UNKNOWN).min(theirs);
            earliest[v.index()] = known.saturating_add(1);
        }
        let of_owned = |v: LocalId| {
            let known = earliest[v.index()].checked_sub(1).unwrap_or(UNKNOWN);
            known.min(claim(self.top(v)).0)
        };
        let mut told = Vec::new();
        audit.collectives.words_to_ghosts(of_owned, |ghost, theirs| told.push((ghost, theirs)))?;
        for (ghost, theirs) in told {
            earliest[ghost.index()] = theirs.saturating_add(1);
        }
        Ok(audit.each(firsts, |v| {
            if self.top(v) != v {
                return true;
            }
            let (round, came) = claim(v);
            let before = came.and_then(|entry| earliest[entry.index()].checked_sub(1)).unwrap_or(UNKNOWN);
            round == 0 || round != UNKNOWN && before < round
        }))
    }
}
