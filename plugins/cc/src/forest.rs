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
//! Cost: a pass over the vertices, one over the hooks, and one exchange.

use crate::evidence::{ENTRY, FAR, NEAR, ROUND, SEEN};
use crate::program::{LABEL, ROOT};
use framework::certify::Audit;
use framework::error::Result;
use framework::fault::Values;
use framework::id::{GlobalId, LocalId};
use framework::partition::Part;
use std::collections::VecDeque;

/// No vertex.
const NONE: u32 = u32::MAX;

/// A parent and an order for every local vertex.
pub(crate) struct Order {
    /// By local number; none where a label begins, or where evidence is missing.
    parent: Vec<u32>,
    /// Where keys are equal, numbers decide: see [`Order::precedes`].
    key: Vec<u64>,
}

impl Order {
    /// The neighbour that vouches for `v`.
    #[inline(always)]
    pub(crate) fn parent(&self, part: &Part, v: LocalId) -> Option<LocalId> {
        self.parent.get(v.index()).and_then(|&parent| part.vertex(parent))
    }

    /// Whether `u` comes before `v`: a total order of the vertices of all ranks, whatever the evidence was.
    #[inline(always)]
    pub(crate) fn precedes(&self, part: &Part, u: LocalId, v: LocalId) -> bool {
        let (first, second) = (self.key[u.index()], self.key[v.index()]);
        if first != second {
            return first < second;
        }
        let (u, v) = (part.global(u), part.global(v));
        if first & 1 == 0 { u > v } else { u < v }
    }
}

/// Round, hooks, and whether the vertex is off the turned path.
fn key(round: u32, hooks: u32) -> u64 {
    u64::from(round & 0x7fff_ffff) << 33 | u64::from(hooks) << 1
}

/// Orients what this rank kept, and agrees with its peers.
pub(crate) fn orient(audit: &mut Audit<'_>) -> Result<Order> {
    let part = audit.part;
    let mut walk = Walk::new(audit);
    if part.owned() == part.graph_vertices() {
        let label = audit.values(LABEL);
        for v in part.owned_vertices().filter(|&v| label.get(v) == v.number()) {
            walk.enter(v, NONE, key(0, 0));
        }
    } else {
        let [root, seen, entry, round] = [ROOT, SEEN, ENTRY, ROUND].map(|field| audit.values(field));
        for v in part.local_vertices().filter(|&v| root.get(v) == v.number()) {
            let at = if round.get(v) == 0 { part.find(GlobalId(seen.get(v))) } else { part.vertex(entry.get(v)) };
            if let Some(at) = at {
                walk.enter(at, NONE, key(round.get(v), 0));
            }
        }
    }
    walk.run();
    let mut order = walk.order();
    let told = |ghost: LocalId| {
        let parent = order.parent(part, ghost).map_or(u64::MAX, |parent| part.global(parent).0.into());
        [order.key[ghost.index()], parent]
    };
    let mut offers = Vec::new();
    audit.talk.to_owners(told, |v, [key, parent]| {
        offers.extend(
            u32::try_from(parent).ok().and_then(|parent| part.find(GlobalId(parent))).map(|parent| (v, key, parent)),
        );
    })?;
    for (v, key, parent) in offers {
        if key < order.key[v.index()] {
            (order.key[v.index()], order.parent[v.index()]) = (key, parent.number());
        }
    }
    audit.talk.copy_words_to_ghosts(&mut order.key)?;
    Ok(order)
}

/// The walk over the twigs of one rank.
struct Walk<'a> {
    part: &'a Part,
    near: Values<'a, u32>,
    far: Values<'a, u32>,
    /// The root of the twig of each vertex.
    top: Vec<u32>,
    /// At the root of a twig: its first hook; then by hook and end: the next of the same twig. Hooks are counted from 1.
    first: Vec<u32>,
    hooks: Vec<Hook>,
    /// At the root of a twig that was reached: its key, on the turned path.
    reached: Vec<u64>,
    /// One more than the vertex before this one on the turned path; 1 + NONE where that begins in nothing; 0 off the path.
    turned: Vec<u64>,
    queue: VecDeque<u32>,
}

struct Hook {
    ends: [u32; 2],
    next: [u32; 2],
}

const UNREACHED: u64 = u64::MAX;

impl<'a> Walk<'a> {
    fn new(audit: &Audit<'a>) -> Walk<'a> {
        let part = audit.part;
        let locals = part.locals();
        let mut walk = Walk {
            part,
            near: audit.values(NEAR),
            far: audit.values(FAR),
            top: (0..locals as u32).collect(),
            first: vec![0; locals],
            hooks: Vec::new(),
            reached: vec![UNREACHED; locals],
            turned: vec![0; locals],
            queue: VecDeque::new(),
        };
        for v in part.owned_vertices() {
            if let Some(up) = walk.up(v) {
                walk.top[v.index()] = walk.top[up.index()];
            }
        }
        for v in part.local_vertices() {
            walk.note(v);
        }
        walk
    }

    /// The first neighbour, if it is smaller.
    fn up(&self, v: LocalId) -> Option<LocalId> {
        Some(self.part.outgoing().nth_or_self(v, 0)).filter(|&first| first < v)
    }

    /// Notes the hook of a twig's root at both twigs that it joins.
    fn note(&mut self, v: LocalId) {
        let (near, far) = (self.near.get(v), self.far.get(v));
        if near == far || self.top[v.index()] != v.number() {
            return;
        }
        let (Some(near), Some(far)) = (self.part.vertex(near), self.part.vertex(far)) else { return };
        if self.top[near.index()] == self.top[far.index()] {
            return; // no hook of a sound run
        }
        let mut hook = Hook { ends: [near.number(), far.number()], next: [0; 2] };
        let number = self.hooks.len() as u32 + 1;
        for (end, next) in [near, far].into_iter().zip(&mut hook.next) {
            let first = &mut self.first[self.top[end.index()] as usize];
            (*next, *first) = (*first, number);
        }
        self.hooks.push(hook);
    }

    /// The walk reaches a twig at `at`, coming from `from`; nothing if it was there before.
    fn enter(&mut self, at: LocalId, from: u32, key: u64) {
        let top = self.top[at.index()];
        if self.reached[top as usize] != UNREACHED {
            return;
        }
        self.reached[top as usize] = key;
        self.queue.push_back(top);
        let (mut at, mut from) = (at, from);
        loop {
            self.turned[at.index()] = u64::from(from) + 1;
            let Some(up) = self.up(at) else { break };
            (at, from) = (up, at.number());
        }
    }

    fn run(&mut self) {
        while let Some(top) = self.queue.pop_front() {
            let key = self.reached[top as usize];
            let mut number = self.first[top as usize];
            while let Some(hook) = (number as usize).checked_sub(1).and_then(|place| self.hooks.get(place)) {
                let ([near, far], next) = (hook.ends, hook.next);
                let is_near = self.top[near as usize] == top;
                let (this, other) = if is_near { (near, far) } else { (far, near) };
                number = if is_near { next[0] } else { next[1] }; // hooks of a list have falling numbers
                if let Some(other) = self.part.vertex(other) {
                    self.enter(other, this, key + 2);
                }
            }
        }
    }

    fn order(self) -> Order {
        let mut order = Order { parent: vec![NONE; self.part.locals()], key: vec![UNREACHED; self.part.locals()] };
        for v in self.part.local_vertices() {
            let reached = self.reached[self.top[v.index()] as usize];
            let (parent, key) = match self.turned[v.index()].checked_sub(1) {
                _ if reached == UNREACHED => (NONE, UNREACHED),
                Some(from) => (from as u32, reached),
                None => (self.up(v).map_or(NONE, LocalId::number), reached | 1),
            };
            (order.parent[v.index()], order.key[v.index()]) = (parent, key);
        }
        order
    }
}
