//! What a gather adds up over all vertices, by thread.
//!
//! A vertex costs a protected gather a few additions and comparisons that nothing branches on: a misprediction a vertex alone is
//! a quarter of a round of PageRank. Vertices are scored a piece at a time, right after the piece has settled, from moves that still lie
//! in the first cache: so that what scoring takes can be measured, on every so many pieces.

use super::score::CriticalThresholds;
use crate::base::id::LocalId;
use crate::base::sum::Sum;
use crate::op::GatherResult;
use crate::partition::Part;
use std::hint::select_unpredictable;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Takes in what vertices settled on.
pub(crate) trait GatherAccumulator: Copy + Default + Send {
    /// What makes a vertex critical.
    type Marks<'m>: Sync;
    /// What is kept of each vertex of a piece until it is closed.
    type Moves: Moves;
    /// Vertices between two calls of `close`, at most.
    const PIECE: usize;
    /// A vertex settled.
    fn enter(&mut self, settled: GatherResult);
    /// So did all of a piece, which moved so far.
    fn close(&mut self, _: &Self::Marks<'_>, _: &Part, _: Range<u32>, _: &Self::Moves) {}
}

/// How far the vertices of a piece moved.
pub(crate) trait Moves {
    fn none() -> Self;
    fn put(&mut self, place: usize, moved: f64);
}

impl Moves for () {
    #[inline(always)]
    fn none() {}
    #[inline(always)]
    fn put(&mut self, _: usize, _: f64) {}
}

impl Moves for [f64; SCORED] {
    #[inline(always)]
    fn none() -> Self {
        [0.0; SCORED]
    }
    #[inline(always)]
    fn put(&mut self, place: usize, moved: f64) {
        self[place] = moved;
    }
}

/// What every gather adds up.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) residual: Sum,
    pub(crate) carry: Sum,
}

impl GatherAccumulator for Totals {
    type Marks<'m> = ();
    type Moves = ();
    const PIECE: usize = 4096;
    #[inline(always)]
    fn enter(&mut self, settled: GatherResult) {
        self.residual.add(settled.moved);
        // Which vertices carry cannot be predicted, and a zero changes nothing.
        self.carry.add(select_unpredictable(settled.carry.is_some(), settled.carry.unwrap_or(0.0), 0.0));
    }
}

/// Vertices scored at once: their moves take 4 KB.
const SCORED: usize = 512;
/// So many pieces make up a block of the sum of all values: 4,096 vertices, as the contract's rho assumes.
const IN_BLOCK: u32 = 8;
/// Of so many pieces the first is timed: two looks at the clock, about 50 ns, for 4,096 vertices.
const TIMED: u32 = 8;

/// What a gather of a protected run adds up.
#[derive(Clone, Copy)]
pub(crate) struct MonitoredTotals {
    pub(crate) totals: Totals,
    block: f64,
    mass: f64,
    /// The least value.
    pub(crate) low: f64,
    /// The largest move.
    pub(crate) largest: f64,
    /// Critical vertices.
    pub(crate) critical: u64,
    pieces: u32,
    scored: u64,
    timed: u64,
    timed_took: Duration,
}

impl Default for MonitoredTotals {
    fn default() -> MonitoredTotals {
        MonitoredTotals {
            totals: Totals::default(),
            block: 0.0,
            mass: 0.0,
            low: f64::INFINITY,
            largest: 0.0,
            critical: 0,
            pieces: 0,
            scored: 0,
            timed: 0,
            timed_took: Duration::ZERO,
        }
    }
}

impl MonitoredTotals {
    /// The sum of all values.
    pub(crate) fn mass(&self) -> f64 {
        self.mass + self.block
    }

    /// What scoring took this thread, by the pieces that were timed.
    pub(crate) fn scoring(&self) -> Duration {
        self.timed_took.mul_f64(self.scored as f64 / self.timed.max(1) as f64)
    }
}

impl GatherAccumulator for MonitoredTotals {
    type Marks<'m> = CriticalThresholds<'m>;
    type Moves = [f64; SCORED];
    const PIECE: usize = SCORED;
    #[inline(always)]
    fn enter(&mut self, settled: GatherResult) {
        let GatherResult { value, moved, .. } = settled;
        self.totals.enter(settled);
        self.block += value;
        self.low = if value < self.low { value } else { self.low };
        self.largest = if moved > self.largest { moved } else { self.largest };
    }
    /// Pieces begin at multiples of 64, so each word of marks is put by one thread, once.
    #[inline(always)]
    fn close(&mut self, thresholds: &CriticalThresholds<'_>, part: &Part, piece: Range<u32>, moves: &[f64; SCORED]) {
        let begin = self.pieces.is_multiple_of(TIMED).then(Instant::now);
        for (first, moves) in piece.clone().step_by(64).zip(moves.chunks(64)) {
            let vertices = (first..piece.end.min(first + 64)).map(LocalId::new);
            let word = vertices.zip(moves).fold(0u64, |word, (v, &moved)| {
                let is_critical = thresholds.is_critical(part, v, part.outgoing().degree(v), moved);
                word | u64::from(is_critical) << (v.number() - first)
            });
            thresholds.marks.words()[first as usize / 64].store(word, Relaxed);
            self.critical += u64::from(word.count_ones());
        }
        let vertices = u64::from(piece.end - piece.start);
        if let Some(begin) = begin {
            self.timed_took += begin.elapsed();
            self.timed += vertices;
        }
        self.scored += vertices;
        self.pieces += 1;
        if self.pieces.is_multiple_of(IN_BLOCK) {
            self.mass += self.block;
            self.block = 0.0;
        }
    }
}
