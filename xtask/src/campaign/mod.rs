//! `cargo xtask campaign NAME`: long measurements with a seed, a bar and a summary, which stand in the documentation. `cargo xtask test`
//! runs each in a short form of at most a minute: traces here, the others as tests of the workspace.

mod measured;
mod strikes_page;
mod strikes;
mod synthetic;
mod trace;
mod tests;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::gate::Report;

/// Options of `cargo xtask campaign`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    campaign: Campaign,
}

#[derive(Subcommand)]
enum Campaign {
    /// `harness trace` on a synthetic trace of 1.06 GB: figures, time, memory, beside HTA when Python has it
    #[command(name = "trace-1gb")]
    Trace(trace::Options),
    /// Strikes on every algorithm, graph and number of ranks: what tiers 1 and 2 catch, and what tier 1 catches alone
    Strikes(strikes::Options),
    /// Protected runs without faults: no alarm, and the unprotected answer
    CleanRuns(tests::CleanRuns),
    /// Checkpointed runs killed at random moments and resumed: an equal answer
    Kills(tests::Kills),
}

/// Runs the command; true when every bar was met and nothing happened that must not.
///
/// # Errors
/// When something that is needed cannot be built or run.
pub(crate) fn run(options: &Options) -> Result<bool> {
    match &options.campaign {
        Campaign::Trace(options) => trace::run(options),
        Campaign::Strikes(options) => strikes::run(options),
        Campaign::CleanRuns(options) => tests::clean_runs(options),
        Campaign::Kills(options) => tests::kills(options),
    }
}

/// Every campaign in its short form, as gates.
pub(crate) fn short(report: &mut Report) {
    let this = std::env::current_exe().unwrap_or_else(|_| "xtask".into());
    report
        .run("campaign trace-1gb (short)", std::process::Command::new(this).args(["campaign", "trace-1gb", "--short"]));
}
