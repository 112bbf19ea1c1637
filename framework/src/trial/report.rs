//! What a trial yields: how it ended, the answer, and what each rank says of its run.

use crate::answer::Answer;
use crate::driver::LoopResult;
use crate::driver::clock::Timing;
use crate::protect::Detection;

/// What one trial yields.
#[derive(Debug)]
pub struct Trial<P> {
    /// How it ended, as agreed by all ranks.
    pub end: LoopResult,
    /// The answer of all ranks.
    pub answer: Answer,
    /// By rank.
    pub ranks: Vec<RankReport<P>>,
    /// What protection says, if the run was protected or its answer certified.
    pub detection: Option<Detection>,
}

/// What one rank says of its run.
#[derive(Debug)]
pub struct RankReport<P> {
    /// The accumulators.
    pub timing: Timing,
    /// What was seen.
    pub probe: P,
    /// Bytes and costs.
    pub costs: Costs,
}

/// What a rank's run cost beside time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Costs {
    /// Vertices owned.
    pub owned: u64,
    /// Ghosts held.
    pub ghosts: u64,
    /// Bytes of fields.
    pub field_bytes: u64,
    /// Bytes of rows that the partition added to the graph's own.
    pub part_bytes: u64,
    /// Bytes of layouts beyond the rows.
    pub layout_bytes: u64,
    /// Payload bytes sent in the superstep loop.
    pub exchange_bytes: u64,
    /// Messages sent in the superstep loop.
    pub exchange_messages: u64,
    /// How ghosts travelled, where ranks have devices.
    pub carrier: Option<&'static str>,
}
