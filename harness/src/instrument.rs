//! How much a binary records. The choice is a type, so a program that does not name [`crate::profiling`] holds none of it.

use crate::records::Metadata;
use clap::{ArgMatches, Command};
use framework::base::error::Result;
use framework::base::id::Rank;
use framework::base::probe::{Off, Probe};
use framework::trial::RankReport;

/// An instrumentation profile.
pub trait Instrument: Sync + Sized {
    /// What each rank records into.
    type Probe: Probe;
    /// The profile's name in records.
    const PROFILE: &'static str;

    /// Adds the options that only this profile has.
    fn augment(command: Command) -> Command {
        command
    }

    /// Reads them, before the graph is read, and makes sure that what will be recorded has a place.
    ///
    /// # Errors
    /// When it has none.
    fn open(matches: &ArgMatches, trials: u32) -> Result<Self>;

    /// A probe for one rank.
    fn probe(&self, rank: Rank) -> Self::Probe;

    /// After a measured trial: does with the recordings of its ranks what the profile is for.
    ///
    /// # Errors
    /// When they cannot be written.
    fn keep(&self, run: &Metadata, ranks: &[RankReport<Self::Probe>]) -> Result<()>;
}

/// Records nothing.
#[derive(Clone, Copy, Debug)]
pub struct Performance;

impl Instrument for Performance {
    type Probe = Off;
    const PROFILE: &'static str = "performance";

    fn open(_: &ArgMatches, _: u32) -> Result<Performance> {
        Ok(Performance)
    }

    fn probe(&self, _: Rank) -> Off {
        Off
    }

    fn keep(&self, _: &Metadata, _: &[RankReport<Off>]) -> Result<()> {
        Ok(())
    }
}
