//! The forest of a run, oriented: every vertex learns a neighbour that comes before it, all the way to the vertex that names the
//! component.
//!
//! On one rank, the arc from each vertex to a smaller first neighbour makes *twigs* (trees in which numbers fall towards the
//! root), and the edges of hooks join twigs to trees. From the vertex at which a tree's label came in, a breadth-first walk over
//! hooks gives each twig the number of hooks between them, and the vertex at which the walk enters it. The path from there up to the
//! twig's root turns round; all else keeps its direction. So the order of a vertex is (round in which the label came to its tree,
//! hooks, whether off the turned path), and where these are equal both are in one twig: numbers rise along arcs on its
//! turned path and fall elsewhere.
//!
//! On several ranks a vertex may be in trees of several: as a ghost there, owned here. Its order is the smallest that any rank
//! gives it, with the parent that goes with it. That is sound: where a rank's tree got its label at v in round r, another rank
//! gave v an order of an earlier round; and a parent's order can only shrink further.
//! Cost: a look at every root, work for every hook and turned path, and one exchange; vertices off turned paths cost nothing.

use crate::evidence::{ENTRY, FAR, NEAR, ROUND, SEEN};
use crate::program::{LABEL, ROOT};
use framework::certify::{Audit, Row};
use framework::error::Result;
use framework::fault::Values;
use framework::id::{GlobalId, LocalId};
use framework::memory::Buf;
use framework::partition::Part;
use std::collections::VecDeque;

/// The order of all vertices and each one's parent, as far as this rank needs them. Arrays are by local number and touched only where
/// something is to be said; entries are one more than what they stand for.
pub(crate) struct Order<'a> {
    part: &'a Part,
    near: Values<'a, u32>,
    far: Values<'a, u32>,
    /// The root of the twig of a vertex, where it was asked for.
    top: Buf<u32>,
    /// At the root of a twig: its first hook.
    first: Buf<u32>,
    hooks: Vec<Hook>,
    /// At the root of a twig that was reached: its key, on the turned path.
    reached: Buf<u64>,
    /// On a turned path: the vertex before this one, or `BEGIN`.
    turned: Buf<u32>,
    /// Where a peer knows better, and at ghosts: the key of all ranks, and at owned vertices the parent that goes with it.
    better: Buf<u64>,
    parent: Buf<u32>,
    queue: VecDeque<u32>,
}

/// An edge that joins two twigs, and the next ones in the lists of both. Numbers in a list fall.
struct Hook {
    ends: [u32; 2],
    next: [u32; 2],
}

/// In [`Order::turned`]: the label begins here.
const BEGIN: u32 = u32::MAX;
/// The key of a twig that was not reached: it comes last.
const UNREACHED: u64 = u64::MAX - 3;

/// Round and hooks; the lowest bit says that a vertex is off the turned path.
fn key(round: u32, hooks: u32) -> u64 {
    u64::from(round & 0x3fff_ffff) << 33 | u64::from(hooks) << 1
}

/// The first neighbour, if it is smaller.
#[inline(always)]
fn up(part: &Part, v: LocalId) -> Option<LocalId> {
    Some(part.outgoing().nth_or_self(v, 0)).filter(|&first| first < v)
}

/// Orients what this rank kept, and agrees with its peers.
pub(crate) fn orient<'a>(audit: &mut Audit<'a>) -> Result<Order<'a>> {
    let part = audit.part;
    let locals = part.locals();
    let mut order = Order {
        part,
        near: audit.values(NEAR),
        far: audit.values(FAR),
        top: Buf::zeroed(locals),
        first: Buf::zeroed(locals),
        hooks: Vec::new(),
        reached: Buf::zeroed(locals),
        turned: Buf::zeroed(locals),
        better: Buf::zeroed(locals),
        parent: Buf::zeroed(locals),
        queue: VecDeque::new(),
    };
    part.local_vertices().for_each(|v| order.note(v));
    if part.owned() == part.graph_vertices() {
        let label = audit.values(LABEL);
        for v in part.owned_vertices().filter(|&v| label.get(v) == v.number()) {
            // From the root of a twig without hooks there is nowhere to walk, and its twig stays as it is.
            if order.first[v.index()] != 0 || up(part, v).is_some() {
                order.enter(v, BEGIN, key(0, 0));
            }
        }
    } else {
        let [root, seen, entry, round] = [ROOT, SEEN, ENTRY, ROUND].map(|field| audit.values(field));
        for v in part.local_vertices().filter(|&v| root.get(v) == v.number()) {
            let at = if round.get(v) == 0 { part.find(GlobalId(seen.get(v))) } else { part.vertex(entry.get(v)) };
            if let Some(at) = at {
                order.enter(at, BEGIN, key(round.get(v), 0));
            }
        }
    }
    order.walk();
    order.agree(audit)?;
    Ok(order)
}

impl Order<'_> {
    /// Whether a neighbour that comes before `v` vouches for it.
    #[inline(always)]
    pub(crate) fn vouches(&self, v: LocalId, row: &Row<'_>) -> bool {
        if self.turned[v.index()] | self.parent[v.index()] == 0 {
            // Off the path: the arc to a smaller first neighbour of the same twig, whose key is at most this one's.
            return row.first().is_some_and(|first| first < v);
        }
        let parent = match self.parent[v.index()] {
            0 => self.turned[v.index()],
            better => better,
        };
        let parent = parent.checked_sub(1).and_then(|parent| self.part.vertex(parent));
        parent.is_some_and(|parent| row.contains(parent) && self.precedes(parent, v))
    }

    /// A total order of the vertices of all ranks, whatever the evidence was: by key, then by number.
    fn precedes(&self, u: LocalId, v: LocalId) -> bool {
        let (first, second) = (self.key(u), self.key(v));
        if first != second {
            return first < second;
        }
        let (u, v) = (self.part.global(u), self.part.global(v));
        if first & 1 == 0 { u > v } else { u < v }
    }

    fn key(&self, v: LocalId) -> u64 {
        match self.better[v.index()] {
            0 => self.own_key(v),
            better => better - 1,
        }
    }

    /// The key that this rank gives.
    fn own_key(&self, v: LocalId) -> u64 {
        let reached = self.reached[self.find_top(v).index()].checked_sub(1).unwrap_or(UNREACHED);
        if self.turned[v.index()] == 0 { reached | 1 } else { reached }
    }

    /// The root of the twig.
    fn find_top(&self, mut v: LocalId) -> LocalId {
        loop {
            if let Some(top) = self.top[v.index()].checked_sub(1).and_then(|top| self.part.vertex(top)) {
                return top;
            }
            let Some(next) = up(self.part, v) else { return v };
            v = next;
        }
    }

    /// As [`Order::find_top`], and the whole way remembers it.
    fn learn_top(&mut self, v: LocalId) -> LocalId {
        let top = self.find_top(v);
        let mut at = v;
        while self.top[at.index()] == 0 {
            self.top[at.index()] = top.number() + 1;
            let Some(next) = up(self.part, at) else { break };
            at = next;
        }
        top
    }

    /// Notes the hook of a root at both twigs that it joins.
    #[inline(always)]
    fn note(&mut self, v: LocalId) {
        let (near, far) = (self.near.get(v), self.far.get(v));
        if near != far && up(self.part, v).is_none() {
            self.note_hook(near, far);
        }
    }

    fn note_hook(&mut self, near: u32, far: u32) {
        let (Some(near), Some(far)) = (self.part.vertex(near), self.part.vertex(far)) else { return };
        let tops = [near, far].map(|end| self.learn_top(end));
        if tops[0] == tops[1] {
            return; // no hook of a sound run
        }
        let number = self.hooks.len() as u32 + 1;
        let next = tops.map(|top| std::mem::replace(&mut self.first[top.index()], number));
        self.hooks.push(Hook { ends: [near.number(), far.number()], next });
    }

    /// The walk reaches a twig at `at`, coming from `from`; nothing if it was there before.
    fn enter(&mut self, at: LocalId, from: u32, key: u64) {
        let top = self.learn_top(at);
        if self.reached[top.index()] != 0 {
            return;
        }
        self.reached[top.index()] = key + 1;
        if self.first[top.index()] != 0 {
            self.queue.push_back(top.number());
        }
        let (mut at, mut from) = (at, if from == BEGIN { BEGIN } else { from + 1 });
        loop {
            self.turned[at.index()] = from;
            let Some(next) = up(self.part, at) else { break };
            (at, from) = (next, at.number() + 1);
        }
    }

    fn walk(&mut self) {
        while let Some(top) = self.queue.pop_front().and_then(|top| self.part.vertex(top)) {
            let key = self.reached[top.index()] - 1;
            let mut number = self.first[top.index()];
            while let Some(hook) = (number as usize).checked_sub(1).and_then(|place| self.hooks.get(place)) {
                let ([near, far], next) = (hook.ends, hook.next);
                let (Some(near), Some(far)) = (self.part.vertex(near), self.part.vertex(far)) else { break };
                let is_near = self.find_top(near) == top;
                let (this, other) = if is_near { (near, far) } else { (far, near) };
                number = if is_near { next[0] } else { next[1] };
                self.enter(other, this.number(), key + 2);
            }
        }
    }

    /// The smallest key of all ranks, with its parent.
    fn agree(&mut self, audit: &mut Audit<'_>) -> Result<()> {
        let part = self.part;
        let told = |ghost: LocalId| {
            let parent = self.turned[ghost.index()].checked_sub(1).and_then(|parent| part.vertex(parent));
            [self.own_key(ghost), parent.map_or(u64::MAX, |parent| part.global(parent).0.into())]
        };
        let mut offers = Vec::new();
        audit.talk.to_owners(told, |v, [key, parent]| {
            let parent = u32::try_from(parent).ok().and_then(|parent| part.find(GlobalId(parent)));
            offers.extend(parent.map(|parent| (v, key, parent)));
        })?;
        for (v, key, parent) in offers {
            if key < self.key(v) {
                self.better[v.index()] = key + 1;
                self.parent[v.index()] = parent.number() + 1;
            }
        }
        let mut keys = Vec::new();
        audit.talk.words_to_ghosts(|v| self.key(v), |ghost, key| keys.push((ghost, key)))?;
        for (ghost, key) in keys {
            self.better[ghost.index()] = key.saturating_add(1);
        }
        Ok(())
    }
}
