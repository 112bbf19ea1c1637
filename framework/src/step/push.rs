//! Selecting vertices by a key, and pushing along the arcs of the frontier.

use super::visit::pieces;
use super::{News, Step};
use crate::algorithm::Tally;
use crate::device::host::access::{Access, Alone, Shared, append_where};
use crate::device::host::{Line, Pool};
use crate::id::LocalId;
use crate::op::{EdgeOp, SelectOp, VertexOp};
use crate::partition::Part;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Frontiers with at most this many arcs are pushed by one thread (cit-HepPh, all cores: 5.9 to 3.8 ms against 4,096).
const ALONE_ARCS: u64 = 8192;
/// From this many arcs on several threads deal them to blocks of destinations before the rule is applied: each block by one thread,
/// without atomics, and its fields within L2 (all cores of kron-20 189 to 181 ms, of urand-20 236 to 212, two threads; one
/// thread is faster without: 236 to 200).
const DEAL_ARCS: u64 = 1 << 17;
/// Destinations of a block.
const BLOCK: usize = 1 << 16;
/// Frontiers above this size are not asked for their arcs: they are worth all threads anyway.
const COUNT_ARCS_BELOW: u64 = 100_000;

impl Step<'_> {
    /// Applies the rule to every arc out of the frontier; the vertices that join are the next frontier.
    pub fn push<O: EdgeOp>(&mut self, op: &O) -> Tally {
        if self.is_on_device() {
            return self.device_push(op);
        }
        self.frontier.absorb(self.part);
        self.consume(self.frontier.count);
        self.frontier.become_queue(self.part);
        let (part, frontier) = (self.part, &mut self.frontier);
        let view = op.bind(&self.fields.bind());
        let alone = self.pool.threads() == 1 || frontier.arcs <= ALONE_ARCS;
        if !alone && frontier.arcs >= DEAL_ARCS && part.locals() > BLOCK {
            let queues = &frontier.queues;
            let blocks = part.locals().div_ceil(BLOCK);
            deal(part, self.pool, queues, &mut frontier.dealt, blocks, |u| op.leave(view, u));
            let dealt = &frontier.dealt;
            self.pool.chunks_with(&mut frontier.outs, blocks, |out, block| {
                for hand in dealt {
                    append_where(&hand.0[block], out, |v| arc::<O, Alone>(op, view, part, v));
                }
            });
        } else if alone {
            let out = &mut frontier.outs[0].0;
            for &u in frontier.queues.iter().flat_map(|queue| &queue.0) {
                op.leave(view, u);
                append_where(part.outgoing().of(u), out, |v| arc::<O, Alone>(op, view, part, v));
            }
        } else {
            let pieces = pieces(&frontier.queues);
            let next = Line(AtomicUsize::new(0));
            self.pool.run_with(&mut frontier.outs, |out, _| {
                while let Some(piece) = pieces.get(next.0.fetch_add(1, Relaxed)) {
                    for &u in *piece {
                        op.leave(view, u);
                        append_where(part.outgoing().of(u), out, |v| arc::<O, Shared>(op, view, part, v));
                    }
                }
            });
        }
        frontier.take_outs(part);
        self.count_arcs();
        self.frontier.news = News::Frontier;
        Tally { active: self.frontier.count, arcs: self.frontier.arcs, ..Tally::default() }
    }

    /// Of the vertices not selected before, those whose key is `bound` become the frontier; those below it are dropped unseen.
    /// `active` counts the selected, `least` is the smallest key among the rest.
    pub fn select<O: SelectOp>(&mut self, op: &O, bound: u32) -> Tally {
        if self.is_on_device() {
            return self.device_select(op, bound);
        }
        let part = self.part;
        let view = op.bind(&self.fields.bind());
        self.frontier.clear();
        let chunks = part.chunks();
        let candidates = self.frontier.candidates.get_or_insert_with(|| {
            chunks.windows(2).map(|bounds| (bounds[0]..bounds[1]).map(LocalId::new).collect()).collect()
        });
        let least = AtomicU64::new(Tally::NONE);
        self.pool.chunks_over(&mut self.frontier.queues, candidates, |queue, _, list| {
            let mut low = Tally::NONE;
            list.retain(|&v| {
                let key = op.key(view, v);
                if key == bound {
                    queue.push(v);
                }
                if key > bound {
                    low = low.min(key.into());
                }
                key > bound
            });
            // Relaxed: read after the region.
            least.fetch_min(low, Relaxed);
        });
        self.frontier.count = self.frontier.queues.iter().map(|queue| queue.0.len() as u64).sum();
        self.count_arcs();
        Tally { active: self.frontier.count, arcs: self.frontier.arcs, least: least.into_inner(), ..Tally::default() }
    }

    /// [`Step::select`], then [`Step::push`] of what was selected: the tallies of both. On a device one look at both.
    pub fn select_then_push<S: SelectOp, O: EdgeOp>(&mut self, op: &S, bound: u32, then: &O) -> (Tally, Tally) {
        if self.is_on_device() {
            return self.device_select_then_push(op, bound, then);
        }
        let chosen = self.select(op, bound);
        (chosen, self.push(then))
    }

    /// Of the vertices that peers' offers woke, those for which the rule says true join the frontier, the others do not.
    pub fn sift<O: VertexOp>(&mut self, op: &O) {
        if self.is_on_device() {
            return self.device_sift(op);
        }
        let view = op.bind(&self.fields.bind());
        for v in std::mem::take(&mut self.frontier.woken) {
            if op.vertex::<Alone>(view, self.part, v) {
                self.frontier.add(self.part, v);
            }
        }
    }

    fn count_arcs(&mut self) {
        let (part, frontier) = (self.part, &mut self.frontier);
        frontier.arcs = if frontier.count < COUNT_ARCS_BELOW {
            frontier.queues.iter().flat_map(|queue| &queue.0).map(|&v| part.outgoing().degree(v)).sum()
        } else {
            part.outgoing().arcs()
        };
    }
}

/// One arc to `v`.
#[inline(always)]
fn arc<O: EdgeOp, A: Access>(op: &O, view: O::View<'_>, part: &Part, v: LocalId) -> bool {
    if part.is_ghost(v) { op.offer::<A>(view, v) } else { op.edge::<A>(view, v) }
}

/// Deals the destinations of all arcs out of the frontier to blocks: each thread has a hand with a stack for each block.
fn deal(
    part: &Part,
    pool: &Pool,
    queues: &[Line<Vec<LocalId>>],
    hands: &mut Vec<Line<Vec<Vec<LocalId>>>>,
    blocks: usize,
    leave: impl Fn(LocalId) + Sync,
) {
    hands.resize_with(pool.threads(), Line::default);
    for hand in hands.iter_mut() {
        hand.0.resize_with(blocks, Vec::new);
        hand.0.iter_mut().for_each(Vec::clear);
    }
    let pieces = pieces(queues);
    let next = Line(AtomicUsize::new(0));
    pool.run_with(hands, |hand, _| {
        while let Some(piece) = pieces.get(next.0.fetch_add(1, Relaxed)) {
            for &u in *piece {
                leave(u);
                for &v in part.outgoing().of(u) {
                    hand[v.index() / BLOCK].push(v);
                }
            }
        }
    });
}
