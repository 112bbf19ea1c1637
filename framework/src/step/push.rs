//! Selecting vertices by a key, and pushing along the arcs of the frontier.

use super::visit::{ALONE_ARCS, pieces};
use super::{News, Step};
use crate::algorithm::Tally;
use crate::device::host::Line;
use crate::device::host::access::{Access, Alone, Shared};
use crate::id::LocalId;
use crate::op::{EdgeOp, SelectOp, VertexOp};
use crate::partition::Part;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Frontiers above this size are not asked for their arcs: they are worth all threads anyway.
const COUNT_ARCS_BELOW: u64 = 100_000;

impl Step<'_> {
    /// Applies the rule to every arc out of the frontier; the vertices that join are the next frontier.
    pub fn push<O: EdgeOp>(&mut self, op: &O) -> Tally {
        self.frontier.absorb(self.part);
        self.consume(self.frontier.count);
        self.frontier.become_queue(self.part);
        let (part, frontier) = (self.part, &mut self.frontier);
        let view = op.bind(&self.fields.bind());
        if self.pool.threads() == 1 || frontier.arcs <= ALONE_ARCS {
            let out = &mut frontier.outs[0].0;
            for &u in frontier.queues.iter().flat_map(|queue| &queue.0) {
                spread::<O, Alone>(op, view, part, u, out);
            }
        } else {
            let pieces = pieces(&frontier.queues);
            let next = Line(AtomicUsize::new(0));
            self.pool.run_with(&mut frontier.outs, |out, _| {
                while let Some(piece) = pieces.get(next.0.fetch_add(1, Relaxed)) {
                    for &u in *piece {
                        spread::<O, Shared>(op, view, part, u, out);
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

    /// Of the vertices that peers' offers woke, those for which the rule says true join the frontier, the others do not.
    pub fn sift<O: VertexOp>(&mut self, op: &O) {
        let view = op.bind(&self.fields.bind());
        for v in std::mem::take(&mut self.frontier.woken) {
            if op.vertex::<Alone>(view, self.part, v) {
                self.frontier.add(self.part, v);
            }
        }
    }

    /// Whether this rank's frontier is empty.
    pub fn is_idle(&self) -> bool {
        self.frontier.count == 0
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

#[inline(always)]
fn spread<O: EdgeOp, A: Access>(op: &O, view: O::View<'_>, part: &Part, u: LocalId, out: &mut Vec<LocalId>) {
    op.leave(view, u);
    for &v in part.outgoing().of(u) {
        let joins = if part.is_ghost(v) { op.offer::<A>(view, u, v) } else { op.edge::<A>(view, u, v) };
        if joins {
            out.push(v);
        }
    }
}
