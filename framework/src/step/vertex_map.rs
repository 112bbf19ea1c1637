//! A rule for every vertex, for the vertices on the boundary, or for those that the last exchange changed.

use super::Step;
use crate::base::id::LocalId;
use crate::base::tally::Tally;
use crate::frontier::DirtySet;
use crate::host::access::{Access, Concurrent, Sequential, vertices_of};
use crate::op::{Scalars, VertexOp};
use crate::partition::Part;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl Step<'_> {
    /// Runs the rule once for every owned vertex.
    pub fn for_each<O: VertexOp>(&mut self, op: &O) {
        if self.is_on_device() {
            self.device_each(op, false, false);
        } else {
            self.count_each(op);
        }
    }

    /// Runs the rule once for every owned vertex; how many said true. On a device that costs a look.
    pub fn count_each<O: VertexOp>(&mut self, op: &O) -> u64 {
        if self.is_on_device() {
            return self.device_each(op, false, true);
        }
        if self.is_alone() { self.sweep::<O, Sequential>(op) } else { self.sweep::<O, Concurrent>(op) }
    }

    /// Runs the rule once for every owned vertex and every ghost.
    pub fn for_each_local<O: VertexOp>(&mut self, op: &O) {
        if self.is_on_device() {
            self.device_each(op, true, false);
            return;
        }
        self.for_each(op);
        let part = self.part;
        let view = op.bind(&self.fields.bind());
        for ghost in (part.ghost_base()..part.locals() as u32).map(LocalId::new) {
            op.vertex::<Sequential>(view, part, ghost);
        }
    }

    fn sweep<O: VertexOp, A: Access>(&mut self, op: &O) -> u64 {
        let part = self.part;
        let view = op.bind(&self.fields.bind());
        let chunks = part.chunks();
        let owned = part.owned() as u32;
        let said = AtomicU64::new(0);
        self.pool.chunks(chunks.len() - 1, |_, chunk| {
            let (from, to) = (chunks[chunk], chunks[chunk + 1]);
            let mut true_count = 0;
            if O::FILTERS {
                said.fetch_add(for_each_accepted::<O, A>(op, view, part, from..to), Relaxed);
                return;
            }
            let warm_to = if O::AHEAD > 0 { to.min(owned.saturating_sub(O::AHEAD)).max(from) } else { from };
            for v in from..warm_to {
                op.prefetch(view, part, LocalId::new(v + O::AHEAD));
                true_count += u64::from(op.vertex::<A>(view, part, LocalId::new(v)));
            }
            for v in warm_to..to {
                true_count += u64::from(op.vertex::<A>(view, part, LocalId::new(v)));
            }
            said.fetch_add(true_count, Relaxed);
        });
        said.into_inner()
    }

    /// Runs the rule for every vertex that the last exchange changed: owned ones by peers' offers, ghosts by their owners. They stay
    /// to be asked for until the next exchange.
    pub fn for_changed<O: VertexOp>(&mut self, op: &O) {
        if self.is_on_device() {
            return self.device_changed(op);
        }
        let view = op.bind(&self.fields.bind());
        for &v in self.frontier.activated.iter().chain(&self.frontier.updated_ghosts) {
            op.vertex::<Sequential>(view, self.part, v);
        }
    }

    /// Runs the rule for every owned vertex that a peer has as a ghost, and for every ghost. Those that say true are what
    /// exchange sends, and the next frontier.
    pub fn for_boundary<O: VertexOp>(&mut self, op: &O) -> Tally {
        if self.is_on_device() {
            return self.device_boundary(op);
        }
        let part = self.part;
        self.consume(part.routes().boundary().len() as u64, 0, Scalars::default());
        self.frontier.clear();
        self.frontier.dirty = DirtySet::Frontier;
        let view = op.bind(&self.fields.bind());
        for &v in part.routes().boundary() {
            if op.vertex::<Sequential>(view, part, v) {
                self.frontier.queues[0].0.push(v);
            }
        }
        for ghost in (part.ghost_base()..part.locals() as u32).map(LocalId::new) {
            if op.vertex::<Sequential>(view, part, ghost) {
                self.frontier.offers.push(ghost);
            }
        }
        self.frontier.count = self.frontier.queues[0].0.len() as u64;
        Tally::active(self.frontier.count + self.frontier.offers.len() as u64)
    }
}

/// Vertices that a picky rule gathers before any of them is treated.
const BATCH: usize = 128;
/// How far ahead in a batch `prefetch` runs.
const NEAR: usize = 8;

/// Runs the rule for those of a range that it wants: first a batch of them is gathered, without a branch on what cannot be
/// predicted, then treated while the next ones' memory is on its way.
fn for_each_accepted<O: VertexOp, A: Access>(op: &O, view: O::View<'_>, part: &Part, range: Range<u32>) -> u64 {
    let mut batch = Vec::with_capacity(BATCH + 64);
    let mut said = 0;
    let mut treat = |batch: &mut Vec<LocalId>| {
        batch.iter().take(NEAR).for_each(|&v| op.prefetch(view, part, v));
        for (i, &v) in batch.iter().enumerate() {
            if let Some(&near) = batch.get(i + NEAR) {
                op.prefetch(view, part, near);
            }
            said += u64::from(op.vertex::<A>(view, part, v));
        }
        batch.clear();
    };
    for first in range.clone().step_by(64) {
        let end = range.end.min(first + 64);
        let word =
            (first..end).fold(0u64, |word, v| word | u64::from(op.accepts(view, part, LocalId::new(v))) << (v - first));
        batch.extend(vertices_of(first as usize / 64, word));
        if batch.len() >= BATCH {
            treat(&mut batch);
        }
    }
    treat(&mut batch);
    said
}
