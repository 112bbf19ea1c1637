//! How much a binary records. The choice is a type, so a program that does not name [`crate::profiling`] holds none of it.

use framework::error::Result;
use framework::id::Rank;
use framework::probe::{Off, Probe};
use framework::run::RankReport;

/// An instrumentation profile.
pub trait Instrument: Sync {
    /// What each rank records into.
    type Probe: Probe;
    /// The profile's name in records.
    const PROFILE: &'static str;

    /// A probe for one rank.
    fn probe(&self, rank: Rank) -> Self::Probe;

    /// After a trial: does with the recordings what the profile is for.
    ///
    /// # Errors
    /// When they cannot be written.
    fn keep(&self, trial: u32, ranks: &[RankReport<Self::Probe>]) -> Result<()>;
}

/// Records nothing.
#[derive(Clone, Copy, Debug)]
pub struct Performance;

impl Instrument for Performance {
    type Probe = Off;
    const PROFILE: &'static str = "performance";

    fn probe(&self, _: Rank) -> Off {
        Off
    }

    fn keep(&self, _: u32, _: &[RankReport<Off>]) -> Result<()> {
        Ok(())
    }
}
