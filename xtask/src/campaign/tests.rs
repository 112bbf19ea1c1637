//! `cargo xtask campaign clean-runs | kills`: tests of the suite in their long form, from release builds.

use std::ffi::OsString;
use std::fs;

use anyhow::{Result, bail};
use clap::Args;

use crate::workspace::{Workspace, cargo};

/// Options of `cargo xtask campaign clean-runs`.
#[derive(Args)]
pub(crate) struct CleanRuns {
    /// Runs, each of its own algorithm, graph, ranks, threads and seed
    #[arg(long, default_value_t = 3200)]
    runs: u32,
    /// Go on with a campaign that was broken off (same build)
    #[arg(long)]
    resume: bool,
}

/// Options of `cargo xtask campaign kills`.
#[derive(Args)]
pub(crate) struct Kills {
    /// Kills of each algorithm, at moments drawn over the time that a run takes alone
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// One algorithm: bfs, cc, kcore, all cores or pagerank
    #[arg(long)]
    algorithm: Option<String>,
}

/// Protected runs without faults: no alarm, no other answer.
///
/// # Errors
/// When cargo does not start.
pub(crate) fn clean_runs(options: &CleanRuns) -> Result<bool> {
    let folder = Workspace::find()?.target.join("campaign");
    fs::create_dir_all(&folder)?;
    let progress = folder.join("clean-runs.json");
    match (options.resume, progress.is_file()) {
        (true, false) => bail!("{}: no campaign to go on with; leave --resume out", progress.display()),
        (false, true) => fs::remove_file(&progress)?,
        _ => {}
    }
    let runs = options.runs.to_string();
    let variables = [("GRAPHALG_CLEAN_RUNS", runs.into()), ("GRAPHALG_CLEAN_RUNS_PROGRESS", progress.into())];
    run("graphalg-tests", "protection", &variables)
}

/// Runs killed and resumed: equal answers.
///
/// # Errors
/// When cargo does not start.
pub(crate) fn kills(options: &Kills) -> Result<bool> {
    let mut variables = vec![("GRAPHALG_KILLS", options.kills.to_string().into())];
    variables.extend(options.algorithm.as_ref().map(|name| ("GRAPHALG_KILLS_OF", name.into())));
    run("graphalg-harness", "kills", &variables)
}

fn run(package: &str, test: &str, variables: &[(&str, OsString)]) -> Result<bool> {
    let mut command = cargo();
    command.args(["test", "--release", "-p", package, "--test", test]).envs(variables.iter().cloned());
    Ok(command.status()?.success())
}
