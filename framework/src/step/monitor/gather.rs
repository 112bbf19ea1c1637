//! What a gather adds up over all vertices, by thread.
//!
//! A vertex costs a protected gather a few additions and comparisons that nothing branches on: a misprediction a vertex alone is
//! a quarter of a round of PageRank.

use super::score::CriticalThresholds;
use crate::base::id::LocalId;
use crate::base::sum::Sum;
use crate::op::GatherResult;
use crate::partition::Part;
use std::hint::select_unpredictable;

/// Takes in what vertices settled on.
pub(crate) trait GatherAccumulator: Copy + Default + Send {
    /// What makes a vertex critical.
    type Marks<'m>: Sync;
    /// Vertices between two calls of `close`, at most: sums of so many round little (contract: rho).
    const PIECE: usize = 4096;
    /// `v`, with `degree` arcs out of it, settled.
    fn enter(&mut self, marks: &Self::Marks<'_>, part: &Part, v: LocalId, degree: u64, settled: GatherResult);
    fn close(&mut self) {}
}

/// What every gather adds up.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) residual: Sum,
    pub(crate) carry: Sum,
}

impl GatherAccumulator for Totals {
    type Marks<'m> = ();
    #[inline(always)]
    fn enter(&mut self, (): &(), _: &Part, _: LocalId, _: u64, settled: GatherResult) {
        self.residual.add(settled.moved);
        // Which vertices carry cannot be predicted, and a zero changes nothing.
        self.carry.add(select_unpredictable(settled.carry.is_some(), settled.carry.unwrap_or(0.0), 0.0));
    }
}

/// What a gather of a protected run adds up.
#[derive(Clone, Copy)]
pub(crate) struct MonitoredTotals {
    pub(crate) totals: Totals,
    piece: f64,
    /// The sum of all values.
    pub(crate) mass: f64,
    /// The least value.
    pub(crate) low: f64,
    /// The largest move.
    pub(crate) largest: f64,
    /// Vertices that are critical by their move.
    pub(crate) raised: u64,
}

impl Default for MonitoredTotals {
    fn default() -> MonitoredTotals {
        let totals = Totals::default();
        MonitoredTotals { totals, piece: 0.0, mass: 0.0, low: f64::INFINITY, largest: 0.0, raised: 0 }
    }
}

impl GatherAccumulator for MonitoredTotals {
    type Marks<'m> = CriticalThresholds<'m>;
    #[inline(always)]
    fn enter(
        &mut self,
        thresholds: &CriticalThresholds<'_>,
        part: &Part,
        v: LocalId,
        degree: u64,
        settled: GatherResult,
    ) {
        let GatherResult { value, moved, .. } = settled;
        self.totals.enter(&(), part, v, degree, settled);
        self.piece += value;
        self.low = if value < self.low { value } else { self.low };
        self.largest = if moved > self.largest { moved } else { self.largest };
        self.raised += u64::from(thresholds.is_raised(part, v, degree, moved));
    }
    #[inline(always)]
    fn close(&mut self) {
        self.mass += self.piece;
        self.piece = 0.0;
    }
}
