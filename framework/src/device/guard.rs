//! How the operators of a protected run are guarded on a device, and the summary they leave.

use crate::base::error::Result;
use std::time::Duration;

/// How the operators of a run are guarded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardTerms {
    /// The slot of the set-once field, and its initial value.
    pub(crate) once: Option<(usize, u64)>,
    /// How updates of a frontier are done again, if they can be.
    pub(crate) replicas: Option<Replicas>,
    /// Whether those of gathers are.
    pub(crate) repeats_gathers: bool,
    /// Share of a superstep's arcs that what is done again may read.
    pub(crate) budget: f64,
    /// Whether to measure the copy of the summary.
    pub(crate) is_timed: bool,
}

/// Which updates are done again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replicas {
    /// Whether one reads the arcs into a vertex, not those out of it.
    pub(crate) over_incoming: bool,
    /// Whether degrees count arcs in and out.
    pub(crate) both: bool,
}

/// The degrees at which an active vertex is critical: from `low` up to, not including, `gap`, and from `high` on. By default none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CriticalDegrees {
    pub(crate) low: u64,
    pub(crate) gap: u64,
    pub(crate) high: u64,
}

impl Default for CriticalDegrees {
    fn default() -> CriticalDegrees {
        CriticalDegrees { low: 0, gap: 0, high: u64::MAX }
    }
}

impl CriticalDegrees {
    /// Without a branch.
    #[inline(always)]
    pub(crate) fn has(self, degree: u64) -> bool {
        (degree.wrapping_sub(self.low) < self.gap - self.low) | (degree >= self.high)
    }

    pub(crate) fn has_all(self) -> bool {
        self.high == 0 || self.low == 0 && self.gap >= self.high
    }

    pub(crate) fn has_none(self) -> bool {
        self == CriticalDegrees::default()
    }
}

/// What makes vertices critical in a gather; the terms of the score `a * structure + b * change >= t`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GatherMarks {
    /// The least sound value.
    pub(crate) floor: f64,
    /// No smaller move makes any vertex critical.
    pub(crate) cutoff: f64,
    /// The move that counts as a change of 1; infinite where moves do not count.
    pub(crate) whole: f64,
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) t: f64,
    /// `ln(1 + max degree)`.
    pub(crate) log_most: f64,
    /// From this degree on vertices are critical without any change.
    pub(crate) always_from: u64,
    /// Whether degrees count arcs in and out.
    pub(crate) both: bool,
}

/// Words of a summary.
pub(crate) const SUMMARY_WORDS: usize = 19;

/// What the guarded operators of a superstep added up, exchange included.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Summary {
    pub(crate) words: [u64; SUMMARY_WORDS],
    /// Whether what was consumed is what had joined.
    pub(crate) is_whole: bool,
    /// The time of its copy; zero where nobody wants to know.
    pub(crate) copy: Duration,
}

/// Places of a summary's words.
pub(crate) mod word {
    pub(crate) const VISITED: usize = 0;
    pub(crate) const JOINED: usize = 1;
    pub(crate) const ENTERED: usize = 2;
    pub(crate) const WOKEN: usize = 3;
    pub(crate) const CONSUMED: usize = 4;
    pub(crate) const STRAYS: usize = 5;
    pub(crate) const CRITICAL: usize = 6;
    pub(crate) const ASSIGNED: usize = 7;
    pub(crate) const ASSIGNED_ARCS: usize = 8;
    pub(crate) const DIFFERING: usize = 9;
    pub(crate) const FIRST_DIFFERING: usize = 10;
    pub(crate) const SET_TWICE: usize = 11;
    pub(crate) const FIRST_TWICE: usize = 12;
    pub(crate) const BELOW: usize = 13;
    pub(crate) const LARGEST: usize = 14;
    pub(crate) const MASS: usize = 15;
}

/// Guards its operators.
pub(crate) trait Guarded {
    /// From here on operators are guarded.
    fn guard(&mut self, terms: GuardTerms) -> Result<()>;

    /// A superstep begins: its summary is cleared.
    fn begin_superstep(&mut self, index: u32) -> Result<()>;

    /// The time that marking took since this was last asked.
    fn take_marking(&mut self) -> Duration;

    /// Waits for the summary of the superstep, exchange included, and closes its sums.
    fn summary(&mut self) -> Result<Summary>;
}
