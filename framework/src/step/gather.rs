//! Sums over the arcs into each vertex: one running sum in row order, so equal for any number of threads and ranks.

use super::Step;
use crate::base::id::LocalId;
use crate::base::sum::Sum;
use crate::base::tally::Tally;
use crate::field::Column;
use crate::frontier::DirtySet;
use crate::host::CachePadded;
use crate::op::{GatherOp, GatherResult};
use crate::partition::{LocalRows, Part};
use crate::step::monitor::{GatherAccumulator, MonitoredTotals, Moves, OperatorMonitor, Totals};
use std::ops::Range;

/// How many arcs ahead a gathered value is asked for (kron-20: 5 to 10 % of a plain pull).
const AHEAD: usize = 64;

impl Step<'_> {
    /// Gathers into every owned vertex and settles it. `active` counts all of them.
    pub fn pull<O: GatherOp>(&mut self, op: &O) -> Tally {
        if self.is_on_device() {
            return self.device_pull(op);
        }
        let threads = self.pool.threads();
        let (residual, carry) = match self.monitor.take() {
            None => {
                let mut each: Vec<CachePadded<Totals>> = (0..threads).map(|_| CachePadded::default()).collect();
                self.gather(op, &mut each, &());
                sums(each.iter().map(|own| &own.0))
            }
            Some(mut monitor) => {
                let mut each: Vec<CachePadded<MonitoredTotals>> =
                    (0..threads).map(|_| CachePadded::default()).collect();
                self.gather(op, &mut each, &monitor.thresholds(self.part));
                monitor.settle(each.iter().map(|own| &own.0));
                monitor.choose_gathered(self.part, self.index);
                self.repeat_rows(op, &mut monitor);
                self.monitor = Some(monitor);
                sums(each.iter().map(|own| &own.0.totals))
            }
        };
        self.frontier.dirty = DirtySet::All;
        Tally { active: self.part.owned() as u64, residual, carry, ..Tally::default() }
    }

    fn gather<O: GatherOp, B: GatherAccumulator>(&mut self, op: &O, each: &mut [CachePadded<B>], marks: &B::Marks<'_>) {
        match self.tiles.take() {
            Some(tiles) => {
                self.pull_tiles(op, &tiles, each, marks);
                self.tiles = Some(tiles);
            }
            None => self.pull_rows(op, each, marks),
        }
    }

    fn pull_rows<O: GatherOp, B: GatherAccumulator>(
        &mut self,
        op: &O,
        each: &mut [CachePadded<B>],
        marks: &B::Marks<'_>,
    ) {
        let part = self.part;
        let view = op.bind(&self.fields.bind());
        let incoming = part.incoming();
        let chunks = part.incoming_chunks();
        self.pool.chunks_with(each, chunks.len() - 1, |accumulator, chunk| {
            settle_all(accumulator, marks, part, chunks[chunk]..chunks[chunk + 1], |v, degree| {
                op.settle(view, v, degree, row_sum(op, view, incoming, v))
            });
        });
    }

    /// Sums the rows of chosen vertices again and settles them again, which must put the bits that are there: what a row brings is
    /// frozen, and every layout adds in the order of the row. Where it does not, the first ones stay.
    fn repeat_rows<O: GatherOp>(&mut self, op: &O, monitor: &mut OperatorMonitor) {
        let (part, pool) = (self.part, self.pool);
        let bind = self.fields.bind();
        let view = op.bind(&bind);
        let columns: Vec<&Column> = bind.order().into_iter().map(|slot| bind.column(slot)).collect();
        monitor.repeat_each(pool, part.incoming(), |chosen, differs| {
            let mut before = Vec::with_capacity(columns.len());
            for &v in chosen {
                before.clear();
                before.extend(columns.iter().map(|column| column.bits(v)));
                op.settle(view, v, part.outgoing().degree(v), row_sum(op, view, part.incoming(), v));
                let mut is_same = true;
                for (column, &before) in
                    columns.iter().zip(&before).filter(|(column, before)| column.bits(v) != **before)
                {
                    is_same = false;
                    column.set_bits(v, before);
                }
                if !is_same {
                    differs(v);
                }
            }
        });
    }
}

/// What the arcs into `v` bring, added up in the order of its row.
#[inline(always)]
fn row_sum<O: GatherOp>(op: &O, view: O::View<'_>, incoming: &LocalRows, v: LocalId) -> f64 {
    let ahead = &incoming.targets()[(incoming.begin(v, 0) as usize + AHEAD).min(incoming.targets().len())..];
    let mut sum = 0.0;
    for (i, &u) in incoming.of(v).iter().enumerate() {
        if let Some(&later) = ahead.get(i) {
            op.prefetch(view, later);
        }
        sum += op.gather(view, u);
    }
    sum
}

/// Settles the vertices of a range, in pieces short enough for plain sums. The book is copied, so that it can stay in registers.
#[inline(always)]
pub(super) fn settle_all<B: GatherAccumulator>(
    accumulator: &mut B,
    marks: &B::Marks<'_>,
    part: &Part,
    range: Range<u32>,
    settle: impl Fn(LocalId, u64) -> GatherResult,
) {
    let mut moves = B::Moves::none();
    for first in range.clone().step_by(B::PIECE) {
        let piece = first..range.end.min(first + B::PIECE as u32);
        let mut own = *accumulator;
        for (place, v) in piece.clone().map(LocalId::new).enumerate() {
            let settled = settle(v, part.outgoing().degree(v));
            moves.put(place, settled.moved);
            own.enter(settled);
        }
        own.close(marks, part, piece, &moves);
        *accumulator = own;
    }
}

fn sums<'b>(all: impl Iterator<Item = &'b Totals>) -> (Sum, Sum) {
    all.fold((Sum::default(), Sum::default()), |(mut residual, mut carry), own| {
        residual.merge(own.residual);
        carry.merge(own.carry);
        (residual, carry)
    })
}
