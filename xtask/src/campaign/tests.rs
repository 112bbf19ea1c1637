//! `cargo xtask campaign clean-runs | kills`: tests of the suite in their long form, from release builds.

use anyhow::Result;
use clap::Args;

use crate::workspace::cargo;

/// Options of `cargo xtask campaign clean-runs`.
#[derive(Args)]
pub(crate) struct CleanRuns {
    /// Runs, each of its own algorithm, graph, ranks, threads and seed
    #[arg(long, default_value_t = 3000)]
    runs: u32,
}

/// Options of `cargo xtask campaign kills`.
#[derive(Args)]
pub(crate) struct Kills {
    /// Kills of each algorithm, at moments drawn over the time that a run takes alone
    #[arg(long, default_value_t = 100)]
    kills: u32,
}

/// Protected runs without faults: no alarm, no other answer.
///
/// # Errors
/// When cargo does not start.
pub(crate) fn clean_runs(options: &CleanRuns) -> Result<bool> {
    run("graphalg-tests", "protection", "GRAPHALG_CLEAN_RUNS", options.runs)
}

/// Runs killed and resumed: equal answers.
///
/// # Errors
/// When cargo does not start.
pub(crate) fn kills(options: &Kills) -> Result<bool> {
    run("graphalg-harness", "kills", "GRAPHALG_KILLS", options.kills)
}

fn run(package: &str, test: &str, variable: &str, count: u32) -> Result<bool> {
    let mut command = cargo();
    command.args(["test", "--release", "-p", package, "--test", test]).env(variable, count.to_string());
    Ok(command.status()?.success())
}
