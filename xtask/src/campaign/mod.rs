//! `cargo xtask campaign NAME`: long measurements whose summary, seed and command stand in the documentation.

mod strikes;
mod tests;

use anyhow::Result;
use clap::Subcommand;

/// The campaigns.
#[derive(Subcommand)]
pub(crate) enum Campaign {
    /// Strikes on every algorithm, graph and number of ranks: what tiers 1 and 2 catch, and what tier 1 catches alone
    Strikes(strikes::Options),
    /// Protected runs without faults: no alarm, and the unprotected answer
    CleanRuns(tests::CleanRuns),
    /// Checkpointed runs killed at random moments and resumed: an equal answer
    Kills(tests::Kills),
}

/// Runs one; true when nothing happened that must not.
///
/// # Errors
/// When the harness cannot be built or run.
pub(crate) fn run(campaign: &Campaign) -> Result<bool> {
    match campaign {
        Campaign::Strikes(options) => strikes::run(options),
        Campaign::CleanRuns(options) => tests::clean_runs(options),
        Campaign::Kills(options) => tests::kills(options),
    }
}
