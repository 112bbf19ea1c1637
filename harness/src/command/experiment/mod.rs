//! Experiments: from a plan to tables and plots that can be trusted.
//!
//! `run` freezes a plan into a manifest and files every command it starts; `collect` believes none of it and rebuilds tables from
//! what is there; `analyze` and `plot` take the collector's rows only. Nothing in a run folder is ever rewritten but what can be
//! rebuilt.

mod plan;
mod manifest;
mod stdout;
mod attempt;
mod verdict;
mod traces;
mod labels;
mod collect;
mod process;
mod runner;
mod equivalence;
mod analyze;
mod plot;
mod slurm;

use clap::{Args, Subcommand, ValueHint};
use framework::algorithm::Registry;
use framework::base::error::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be done with experiments.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum ExperimentCommand {
    /// Run a plan, or those of its measurements that are still missing
    Run(runner::RunPlan),
    /// Check everything that was measured, and write the tables
    Collect(RunFolder),
    /// Compare methods in pairs, and say what each costs or gains (performance runs only)
    Analyze(RunFolder),
    /// Draw a performance run as SVG and PNG with the numbers beside them, and write one HTML report
    Plot(plot::Plot),
    /// Check that a profiling run has the answers, iterations and detections of a performance run
    CheckEquivalence(equivalence::CheckEquivalence),
    /// Write sbatch scripts that call the same commands
    Slurm(slurm::Slurm),
}

/// A run folder.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunFolder {
    /// The run folder that `experiment run` made
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    run: PathBuf,
}

impl ExperimentCommand {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever it reports.
    pub(crate) fn run(&self, registry: &Registry) -> Result<ExitCode> {
        match self {
            ExperimentCommand::Run(options) => options.run(registry),
            ExperimentCommand::Collect(folder) => collect::run(&folder.run),
            ExperimentCommand::Analyze(folder) => analyze::run(&folder.run),
            ExperimentCommand::Plot(options) => options.run(),
            ExperimentCommand::CheckEquivalence(options) => options.run(),
            ExperimentCommand::Slurm(options) => options.run(registry),
        }
    }
}
