//! Sums over the arcs into each vertex: one running sum in row order, so equal for any number of threads and ranks.

use super::Step;
use crate::base::id::LocalId;
use crate::base::sum::Sum;
use crate::base::tally::Tally;
use crate::frontier::News;
use crate::host::Line;
use crate::op::{GatherOp, Settled};
use crate::partition::Part;
use crate::step::monitor::{Book, Totals, WatchedBook};
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
        let (residual, carry) = match self.watch.take() {
            None => {
                let mut each: Vec<Line<Totals>> = (0..threads).map(|_| Line::default()).collect();
                self.gather(op, &mut each, &());
                sums(each.iter().map(|own| &own.0))
            }
            Some(mut watch) => {
                let mut each: Vec<Line<WatchedBook>> = (0..threads).map(|_| Line::default()).collect();
                self.gather(op, &mut each, &watch.needed());
                each.iter().for_each(|own| watch.settle(&own.0));
                self.watch = Some(watch);
                sums(each.iter().map(|own| &own.0.totals))
            }
        };
        self.frontier.news = News::All;
        Tally { active: self.part.owned() as u64, residual, carry, ..Tally::default() }
    }

    fn gather<O: GatherOp, B: Book>(&mut self, op: &O, each: &mut [Line<B>], marks: &B::Marks<'_>) {
        match self.tiles.take() {
            Some(tiles) => {
                self.pull_tiles(op, &tiles, each, marks);
                self.tiles = Some(tiles);
            }
            None => self.pull_rows(op, each, marks),
        }
    }

    fn pull_rows<O: GatherOp, B: Book>(&mut self, op: &O, each: &mut [Line<B>], marks: &B::Marks<'_>) {
        let part = self.part;
        let view = op.bind(&self.fields.bind());
        let incoming = part.incoming();
        let chunks = part.incoming_chunks();
        self.pool.chunks_with(each, chunks.len() - 1, |book, chunk| {
            settle_all(book, marks, part, chunks[chunk]..chunks[chunk + 1], |v, degree| {
                let ahead =
                    &incoming.targets()[(incoming.begin(v, 0) as usize + AHEAD).min(incoming.targets().len())..];
                let row = incoming.of(v);
                let mut sum = 0.0;
                for (i, &u) in row.iter().enumerate() {
                    if let Some(&later) = ahead.get(i) {
                        op.warm(view, later);
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
pub(super) fn settle_all<B: Book>(
    book: &mut B,
    marks: &B::Marks<'_>,
    part: &Part,
    range: Range<u32>,
    settle: impl Fn(LocalId, u64) -> Settled,
) {
    for first in range.clone().step_by(B::PIECE) {
        let mut own = *book;
        for v in (first..range.end.min(first + B::PIECE as u32)).map(LocalId::new) {
            let degree = part.outgoing().degree(v);
            own.enter(marks, part, v, degree, settle(v, degree));
        }
        own.close();
        *book = own;
    }
}

fn sums<'b>(all: impl Iterator<Item = &'b Totals>) -> (Sum, Sum) {
    all.fold((Sum::default(), Sum::default()), |(mut residual, mut carry), own| {
        residual.merge(own.residual);
        carry.merge(own.carry);
        (residual, carry)
    })
}
