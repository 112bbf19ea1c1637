//! Where spans and counts go. The driver is generic over it, and [`Off`] is zero-sized, so a program that never names another
//! probe holds no tracing code at all.

use crate::base::id::Rank;
use std::time::Duration;

/// A stage of a rank's run. Stages of one rank do not overlap, but for those of its checker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// Threads, partition, fields and `init`, before the loop.
    Setup,
    /// The first ghost exchange, before the loop.
    InitialExchange,
    /// The algorithm's operators, in the loop of an unprotected run.
    GraphUpdate,
    /// Scoring and marking critical vertices, in the loop.
    ScoreAndMark,
    /// The algorithm's operators with redundant updates and comparison, in the loop of a protected run.
    ToleranceUpdate,
    /// What protection does beside: checksums, snapshots, summaries; in the loop.
    Bookkeeping,
    /// Ghost exchange, in the loop.
    Exchange,
    /// Agreement on the tally, in the loop.
    Agree,
    /// Waiting for the checker, after the loop.
    Drain,
    /// The batched post-check, certificate included, after the drain.
    PostCheck,
    /// The answer from the device, or from all ranks, after the loop.
    FinalResult,
    /// The checker works on a summary. Only where the probe records.
    Validation,
    /// A summary is copied from the device, on a stream of its own. Only where the probe records.
    SummaryCopy,
    /// From the end of a superstep to the verdict on its summary, waiting in a batch included; these overlap. Only where the probe records.
    Verdict,
}

impl Stage {
    /// Whether it belongs to the superstep loop.
    pub fn is_in_loop(self) -> bool {
        use Stage::{Agree, Bookkeeping, Exchange, GraphUpdate, ScoreAndMark, ToleranceUpdate};
        matches!(self, GraphUpdate | ScoreAndMark | ToleranceUpdate | Bookkeeping | Exchange | Agree)
    }

    /// Whether the checker's thread does it, beside the loop.
    pub fn is_of_checker(self) -> bool {
        matches!(self, Stage::Validation | Stage::Verdict | Stage::SummaryCopy)
    }
}

/// What one superstep worked on, for one rank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Activity {
    /// Owned vertices.
    pub owned: u64,
    /// Owned vertices in the frontier that the update consumed; all of them where it worked in place, without a frontier.
    pub active: u64,
    /// Of these, marked critical.
    pub critical: u64,
    /// Redundant updates done.
    pub assigned: u64,
}

/// Receives what happens in a run of one rank.
pub trait Probe: Send {
    /// A stage begins now on this thread, of a run on one rank or several. Each has its [`Probe::end`] on the same thread unless an error ends the
    /// run, and those that lie inside it end before it.
    #[inline(always)]
    fn begin(&mut self, _: Stage, _is_multi: bool) {}
    /// The stage that began last and is not over ends now.
    #[inline(always)]
    fn end(&mut self) {}
    /// A stage ended, in the loop one of superstep `iteration` (0 outside). Times count from the start of the trial, the same
    /// moment on all ranks of a process; their difference is just what the run-level accumulator grew by.
    fn span(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration);
    /// Superstep `iteration` begins. One that is redone begins again.
    fn superstep(&mut self, iteration: u32);
    /// The superstep that began last is over, its agreement and what the guard made of it included.
    #[inline(always)]
    fn superstep_ends(&mut self) {}
    /// The update of superstep `iteration` is over and worked on this.
    fn activity(&mut self, iteration: u32, activity: Activity);
    /// Whether it wants the spans of the checker, which cost readings of the clock.
    const WANTS_CHECKER: bool = false;
    /// How ranges are told as they happen where the probe itself is not at hand; None where nobody listens.
    const RANGES: Option<&'static RangeHooks> = None;
    /// A span of the checker for the `row`-th superstep that began, from 0. Told after the loop.
    #[inline(always)]
    fn checked(&mut self, _row: u64, _stage: Stage, _iteration: u32, _begin: Duration, _end: Duration) {}
}

/// Who is told of ranges as they begin and end, on the thread that does the work: the checker's own, or a rank's inside an operator.
#[derive(Clone, Copy, Debug)]
pub struct RangeHooks {
    /// This thread is the checker of a rank.
    pub checker: fn(Rank),
    /// A stage begins on this thread.
    pub begin: fn(Stage),
    /// The stage that began last on this thread ends.
    pub end: fn(),
}

/// A stage that goes on until this is dropped.
pub(crate) struct OpenRange(Option<&'static RangeHooks>);

impl OpenRange {
    /// Begins.
    pub(crate) fn begin(hooks: Option<&'static RangeHooks>, stage: Stage) -> OpenRange {
        if let Some(hooks) = hooks {
            (hooks.begin)(stage);
        }
        OpenRange(hooks)
    }
}

impl Drop for OpenRange {
    fn drop(&mut self) {
        if let Some(hooks) = self.0 {
            (hooks.end)();
        }
    }
}

/// Sees nothing and costs nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Off;

impl Probe for Off {
    #[inline(always)]
    fn span(&mut self, _: Stage, _: u32, _: Duration, _: Duration) {}
    #[inline(always)]
    fn superstep(&mut self, _: u32) {}
    #[inline(always)]
    fn activity(&mut self, _: u32, _: Activity) {}
}
