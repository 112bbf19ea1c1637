//! The arcs again as a grid of tiles, 65,536 sources by 16,384 destinations, each arc two small numbers in 4 bytes.
//!
//! A pull over tiles gathers from sources that fit in L2 and adds into destinations that fit in L1, where a pull over rows
//! gathers from anywhere. Inside a row of tiles the arcs of a vertex keep the order of its row, so the sums are the same bit for
//! bit. A tile is sorted by source, then destination (by destination first, hubs make chains of dependent additions: 46 against
//! 17 ms a round on kron-20). Cost: 4 bytes an arc and about three rounds of set-up, so tiles are built only for runs of many.
//! Sources: Zhu, Han, Chen, "GridGraph", ATC 2015; Zhang et al., "Making Caches Work for Graph Analytics", Big Data 2017.
#![allow(unsafe_code)] // one scatter into disjoint stretches

use super::Step;
use super::gather::settle_all;
use crate::base::id::LocalId;
use crate::base::memory::Buf;
use crate::host::{CachePadded, Pool};
use crate::op::GatherOp;
use crate::partition::Part;
use crate::step::monitor::GatherAccumulator;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A layout of the arcs that an algorithm can ask for beyond the sorted rows. It is built in set-up, only where it pays back within
/// the run, and its bytes are reported apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Sorted rows only.
    Rows,
    /// Tiles for pulls that will be repeated about this many times.
    Tiles {
        /// Pulls expected.
        pulls: u32,
    },
}

const SOURCE_BITS: u32 = 16;
const DESTINATION_BITS: u32 = 14;
const DESTINATIONS: usize = 1 << DESTINATION_BITS;
/// Below this many vertices the gathered values fit in L2 as they are.
const VERTICES_MIN: usize = 1 << 17;
/// Pulls after which tiles have paid for themselves (measured: 6).
const PULLS_MIN: u32 = 8;

/// The grid of one part.
pub struct Tiles {
    rows: usize,
    columns: usize,
    /// Where tile `row * columns + column` begins in `arcs`.
    bounds: Vec<u64>,
    /// Source within its column in the upper 16 bits, destination within its row in the lower.
    arcs: Buf<u32>,
}

/// A buffer that threads fill at places of their own.
struct Scatter(*mut u32, usize);
// SAFETY: see `put`.
unsafe impl Sync for Scatter {}

impl Scatter {
    /// # Safety
    /// No two calls may have the same place, and it must be inside the buffer.
    #[inline(always)]
    unsafe fn put(&self, place: u64, value: u32) {
        debug_assert!((place as usize) < self.1);
        // SAFETY: by the caller's promise.
        unsafe { self.0.add(place as usize).write(value) };
    }
}

impl Tiles {
    /// Tiles of the part, if the algorithm asks for them and they pay. A part with ghosts has none: it does not hold the arcs
    /// out of its ghosts.
    pub(crate) fn if_worth(part: &Part, pool: &Pool, layout: Layout) -> Option<Tiles> {
        let Layout::Tiles { pulls } = layout else { return None };
        (pulls >= PULLS_MIN && part.owned() >= VERTICES_MIN && part.ghosts() == 0).then(|| Tiles::build(part, pool))
    }

    fn build(part: &Part, pool: &Pool) -> Tiles {
        let n = part.owned();
        let (rows, columns) = (n.div_ceil(DESTINATIONS), n.div_ceil(1 << SOURCE_BITS));
        let outgoing = part.outgoing();
        let sources = |column: usize| (column << SOURCE_BITS) as u32..((column + 1) << SOURCE_BITS).min(n) as u32;
        let counts: Vec<AtomicU64> = (0..rows * columns).map(|_| AtomicU64::new(0)).collect();
        pool.chunks(columns, |_, column| {
            let mut count = vec![0u64; rows];
            for u in sources(column).map(LocalId::new) {
                outgoing.of(u).iter().for_each(|v| count[v.index() >> DESTINATION_BITS] += 1);
            }
            for (row, &count) in count.iter().enumerate() {
                counts[row * columns + column].store(count, Relaxed);
            }
        });
        let mut bounds = Vec::with_capacity(rows * columns + 1);
        let mut end = 0;
        bounds.push(0);
        for count in counts {
            end += count.into_inner();
            bounds.push(end);
        }
        let mut arcs = Buf::<u32>::zeroed(end as usize);
        let scatter = Scatter(arcs.as_mut_ptr(), arcs.len());
        pool.chunks(columns, |_, column| {
            let mut places: Vec<u64> = (0..rows).map(|row| bounds[row * columns + column]).collect();
            let sources = sources(column);
            let first = sources.start;
            for u in sources.map(LocalId::new) {
                for v in outgoing.of(u) {
                    let place = &mut places[v.index() >> DESTINATION_BITS];
                    let arc = (u.number() - first) << 16 | (v.number() & (DESTINATIONS as u32 - 1));
                    // SAFETY: one thread fills the tiles of a column; each tile's places run through the stretch that was
                    // counted for it.
                    unsafe { scatter.put(*place, arc) };
                    *place += 1;
                }
            }
        });
        Tiles { rows, columns, bounds, arcs }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.arcs.len() * 4 + self.bounds.len() * 8
    }
}

impl Step<'_> {
    pub(super) fn pull_tiles<O: GatherOp, B: GatherAccumulator>(
        &mut self,
        op: &O,
        tiles: &Tiles,
        each: &mut [CachePadded<B>],
        marks: &B::Marks<'_>,
    ) {
        let part = self.part;
        let view = op.bind(&self.fields.bind());
        self.pool.chunks_with(each, tiles.rows, |accumulator, row| {
            let mut sums = [0.0f64; DESTINATIONS];
            for column in 0..tiles.columns {
                let first = (column << SOURCE_BITS) as u32;
                let tile = row * tiles.columns + column;
                for &arc in &tiles.arcs[tiles.bounds[tile] as usize..tiles.bounds[tile + 1] as usize] {
                    sums[arc as usize & (DESTINATIONS - 1)] += op.gather(view, LocalId::new(first + (arc >> 16)));
                }
            }
            let first = row << DESTINATION_BITS;
            let destinations = first as u32..(first + DESTINATIONS).min(part.owned()) as u32;
            settle_all(accumulator, marks, part, destinations, |v, degree| {
                op.settle(view, v, degree, sums[v.index() & (DESTINATIONS - 1)])
            });
        });
    }
}
