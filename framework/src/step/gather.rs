//! Sums over the arcs into each vertex: one running sum in row order, so equal for any number of threads and ranks.

use super::Step;
use crate::base::id::LocalId;
use crate::base::sum::Sum;
use crate::base::tally::Tally;
use crate::frontier::DirtySet;
use crate::host::CachePadded;
use crate::op::{GatherOp, GatherResult};
use crate::partition::Part;
use crate::step::monitor::{GatherAccumulator, MonitoredTotals, Totals};
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
                self.gather(op, &mut each, &monitor.thresholds());
                each.iter().for_each(|own| monitor.settle(&own.0));
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
                let ahead =
                    &incoming.targets()[(incoming.begin(v, 0) as usize + AHEAD).min(incoming.targets().len())..];
                let row = incoming.of(v);
                let mut sum = 0.0;
                for (i, &u) in row.iter().enumerate() {
                    if let Some(&later) = ahead.get(i) {
                        op.prefetch(view, later);
                    }
                    sum += op.gather(view, u);
                }
                op.settle(view, v, degree, sum)
            });
        });
    }
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
    for first in range.clone().step_by(B::PIECE) {
        let mut own = *accumulator;
        for v in (first..range.end.min(first + B::PIECE as u32)).map(LocalId::new) {
            let degree = part.outgoing().degree(v);
            own.enter(marks, part, v, degree, settle(v, degree));
        }
        own.close();
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
