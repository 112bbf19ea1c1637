//! Where spans and counts go. The driver is generic over it, and [`Off`] is zero-sized, so a program that never names another
//! probe holds no tracing code at all.

use std::time::Duration;

/// A stage of a superstep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// The algorithm's operators.
    GraphUpdate,
    /// Ghost exchange.
    Exchange,
    /// Agreement on the tally.
    Agree,
}

/// What one superstep worked on, for one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Activity {
    /// Owned vertices.
    pub owned: u64,
    /// Vertices in the frontier that the update consumed.
    pub active: u64,
}

/// Receives what happens in a run of one rank.
pub trait Probe: Send {
    /// A stage of superstep `iteration` ended; times count from the start of the main loop.
    fn span(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration);
    /// Superstep `iteration` begins with this much to do.
    fn activity(&mut self, iteration: u32, activity: Activity);
}

/// Sees nothing and costs nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Off;

impl Probe for Off {
    #[inline(always)]
    fn span(&mut self, _: Stage, _: u32, _: Duration, _: Duration) {}
    #[inline(always)]
    fn activity(&mut self, _: u32, _: Activity) {}
}
