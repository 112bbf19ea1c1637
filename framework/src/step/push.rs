//! Selecting vertices by a key, and pushing along the arcs of the frontier.

use super::Step;
use super::visit::{AHEAD, pieces, prefetch_row_of};
use crate::base::id::LocalId;
use crate::base::tally::Tally;
use crate::frontier::DirtySet;
use crate::host::access::{Access, Concurrent, Sequential, append_where, sort_out};
use crate::host::{CachePadded, Pool};
use crate::op::{EdgeOp, SelectOp, VertexOp};
use crate::partition::Part;
use std::hint::select_unpredictable;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Frontiers with at most this many arcs are pushed by one thread (all cores of kron-16, two threads: 7.4 ms at 4,096, 6.5 at 8,192,
/// 4.9 at 16,384; kron-20: 102, 102, 106).
const ALONE_ARCS: u64 = 16_384;
/// Candidates up to this number are selected by one thread: their keys are in its cache.
const FEW: usize = 32_768;
/// From this many arcs a thread and vertex of the frontier, every thread goes through all rows and takes the part of each that leads
/// to its own stretch of the vertices: no atomics, and fields stay in its cache (all cores, two threads: kron-20 168 to 106 ms,
/// urand-20 230 to 128).
const SPLIT_DEGREE: u64 = 3;
/// From this many arcs on several threads deal the arcs of short rows to blocks of destinations before the rule is applied: each block
/// by one thread, without atomics, and its fields within L2 (k = 16 of kron-20, two threads: 25.6 to 21.3 ms).
const DEAL_ARCS: u64 = 1 << 17;
/// Destinations of a block.
const BLOCK: usize = 1 << 16;
/// Frontiers below this size are asked for their arcs by one thread.
const COUNT_ALONE: u64 = 10_000;

impl Step<'_> {
    /// Applies the rule to every arc out of the frontier; the vertices that join are the next frontier.
    pub fn push<O: EdgeOp>(&mut self, op: &O) -> Tally {
        if self.is_on_device() {
            return self.device_push(op);
        }
        self.frontier.apply_exchange(self.part);
        self.consume(self.frontier.count, self.frontier.arcs, op.scalars());
        self.frontier.make_queue(self.part);
        let (part, frontier) = (self.part, &mut self.frontier);
        let view = op.bind(&self.fields.bind());
        let alone = self.pool.threads() == 1 || frontier.arcs <= ALONE_ARCS;
        let split_arcs = SPLIT_DEGREE * self.pool.threads() as u64 * frontier.count;
        if !alone && part.ghosts() == 0 && frontier.arcs >= split_arcs {
            push_split(op, view, part, self.pool, &frontier.queues, &mut frontier.next_queues);
        } else if !alone && frontier.arcs >= DEAL_ARCS && part.locals() > BLOCK {
            let queues = &frontier.queues;
            let blocks = part.locals().div_ceil(BLOCK);
            deal(part, self.pool, queues, &mut frontier.destination_bins, blocks, |u| op.leave(view, u));
            let destination_bins = &frontier.destination_bins;
            self.pool.chunks_with(&mut frontier.next_queues, blocks, |out, block| {
                for hand in destination_bins {
                    append_where(&hand.0[block], out, |v| arc::<O, Sequential>(op, view, part, v));
                }
            });
        } else if alone {
            let out = &mut frontier.next_queues[0].0;
            frontier.queues.iter().for_each(|queue| push_rows::<O, Sequential>(op, view, part, &queue.0, out));
        } else {
            let pieces = pieces(&frontier.queues);
            let next = CachePadded(AtomicUsize::new(0));
            self.pool.run_with(&mut frontier.next_queues, |out, _| {
                while let Some(piece) = pieces.get(next.0.fetch_add(1, Relaxed)) {
                    push_rows::<O, Concurrent>(op, view, part, piece, out);
                }
            });
        }
        frontier.swap_queues(part);
        self.count_arcs();
        self.frontier.dirty = DirtySet::Frontier;
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
        let sort_out = |queue: &mut Vec<LocalId>, list: &mut Vec<LocalId>| {
            let mut low = u32::MAX;
            sort_out(list, queue, |v| {
                let key = op.key(view, v);
                let is_above = key > bound;
                low = low.min(select_unpredictable(is_above, key, u32::MAX));
                (key == bound, is_above)
            });
            let low = if list.is_empty() { Tally::NONE } else { low.into() };
            // Relaxed: read after the region.
            least.fetch_min(low, Relaxed);
        };
        if candidates.iter().map(Vec::len).sum::<usize>() <= FEW {
            candidates.iter_mut().for_each(|list| sort_out(&mut self.frontier.queues[0].0, list));
        } else {
            self.pool.chunks_over(&mut self.frontier.queues, candidates, |queue, _, list| sort_out(queue, list));
        }
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
    pub fn filter_changed<O: VertexOp>(&mut self, op: &O) {
        if self.is_on_device() {
            return self.device_filter_changed(op);
        }
        let view = op.bind(&self.fields.bind());
        for v in std::mem::take(&mut self.frontier.activated) {
            if op.vertex::<Sequential>(view, self.part, v) {
                self.frontier.add(self.part, v);
            }
        }
    }

    fn count_arcs(&mut self) {
        let (part, frontier) = (self.part, &mut self.frontier);
        let of = |list: &[LocalId]| list.iter().map(|&v| part.outgoing().degree(v)).sum::<u64>();
        frontier.arcs = if frontier.count < COUNT_ALONE {
            frontier.queues.iter().map(|queue| of(&queue.0)).sum()
        } else {
            let (pieces, arcs) = (pieces(&frontier.queues), AtomicU64::new(0));
            // Relaxed: read after the region.
            self.pool.chunks(pieces.len(), |_, piece| {
                arcs.fetch_add(of(pieces[piece]), Relaxed);
            });
            arcs.into_inner()
        };
    }
}

/// One arc to `v`.
#[inline(always)]
fn arc<O: EdgeOp, A: Access>(op: &O, view: O::View<'_>, part: &Part, v: LocalId) -> bool {
    if part.is_ghost(v) { op.offer::<A>(view, v) } else { op.edge::<A>(view, v) }
}

/// Pushes along whole rows. A function of its own, not inlined, so that the rule is known not to change under it.
#[inline(never)]
fn push_rows<O: EdgeOp, A: Access>(op: &O, view: O::View<'_>, part: &Part, list: &[LocalId], out: &mut Vec<LocalId>) {
    for (i, &u) in list.iter().enumerate() {
        prefetch_row_of(part, list, i);
        op.leave(view, u);
        let row = part.outgoing().of(u);
        if part.ghosts() == 0 {
            append_where(row, out, |v| op.edge::<A>(view, v));
        } else {
            append_where(row, out, |v| arc::<O, A>(op, view, part, v));
        }
    }
}

/// Every thread goes over the whole frontier and takes, of each row, the destinations in its own stretch of the vertices: rows are
/// sorted, so they stand together.
fn push_split<O: EdgeOp>(
    op: &O,
    view: O::View<'_>,
    part: &Part,
    pool: &Pool,
    queues: &[CachePadded<Vec<LocalId>>],
    next_queues: &mut [CachePadded<Vec<LocalId>>],
) {
    let (chunks, threads) = (part.chunks(), pool.threads());
    let bound = |thread: usize| RangeSplit::new(chunks[(chunks.len() - 1) * thread / threads], part.owned());
    pool.run_with(next_queues, |out, thread| {
        let row_range = [bound(thread), bound(thread + 1)];
        queues.iter().for_each(|queue| push_stretch(op, view, part, &queue.0, row_range, out));
    });
}

/// Pushes along what rows have between two bounds.
#[inline(never)]
fn push_stretch<O: EdgeOp>(
    op: &O,
    view: O::View<'_>,
    part: &Part,
    list: &[LocalId],
    [from, to]: [RangeSplit; 2],
    out: &mut Vec<LocalId>,
) {
    for (i, &u) in list.iter().enumerate() {
        if let Some(&far) = list.get(i + 2 * AHEAD) {
            part.outgoing().prefetch_offsets(far);
        }
        if let Some(&near) = list.get(i + AHEAD) {
            part.outgoing().prefetch_place(near, |degree| from.guess(degree));
            part.outgoing().prefetch_place(near, |degree| to.guess(degree));
        }
        if (from.vertex..to.vertex).contains(&u.number()) {
            op.leave(view, u);
        }
        let row = part.outgoing().of(u);
        append_where(&row[from.place(row)..to.place(row)], out, |v| op.edge::<Sequential>(view, v));
    }
}

/// A vertex at which every row is cut.
#[derive(Clone, Copy)]
struct RangeSplit {
    vertex: u32,
    /// Its share of all vertices, of 2^32: about where a row has it.
    share: u64,
}

impl RangeSplit {
    /// How far from the guess a place usually is.
    const NEAR: usize = 16;

    fn new(vertex: u32, vertices: usize) -> RangeSplit {
        RangeSplit { vertex, share: (u64::from(vertex) << 32) / vertices.max(1) as u64 }
    }

    fn guess(&self, degree: usize) -> usize {
        ((degree as u64 * self.share) >> 32) as usize
    }

    /// How many of a sorted row are below it.
    #[inline(always)]
    fn place(&self, row: &[LocalId]) -> usize {
        let guess = self.guess(row.len());
        let (low, high) = (guess.saturating_sub(Self::NEAR), row.len().min(guess + Self::NEAR));
        let below = |v: &LocalId| v.number() < self.vertex;
        if (low == 0 || below(&row[low - 1])) && (high == row.len() || !below(&row[high])) {
            low + row[low..high].partition_point(below)
        } else {
            row.partition_point(below)
        }
    }
}

/// Deals the destinations of all arcs out of the frontier to blocks: each thread has a hand with a stack for each block.
fn deal(
    part: &Part,
    pool: &Pool,
    queues: &[CachePadded<Vec<LocalId>>],
    hands: &mut Vec<CachePadded<Vec<Vec<LocalId>>>>,
    blocks: usize,
    leave: impl Fn(LocalId) + Sync,
) {
    hands.resize_with(pool.threads(), CachePadded::default);
    for hand in hands.iter_mut() {
        hand.0.resize_with(blocks, Vec::new);
        hand.0.iter_mut().for_each(Vec::clear);
    }
    let pieces = pieces(queues);
    let next = CachePadded(AtomicUsize::new(0));
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
