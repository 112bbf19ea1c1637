//! What `harness` does besides runs: a module a command. No command imports another.

mod list;
mod graph;
mod trace;
mod inject;
mod resume;
mod experiment;
mod nsys;

use crate::command_line::{BeyondRuns, whole};
use crate::stdout::{print, stdout_failed};
use clap::{Command, FromArgMatches, Subcommand};
use clap_complete::Shell;
use framework::algorithm::Registry;
use framework::base::error::Result;
use std::process::ExitCode;

/// All subcommands.
pub(crate) const BEYOND_RUNS: BeyondRuns = BeyondRuns {
    augment: |command| Subcommands::augment_subcommands(command),
    run: |matches, registry, command| Ok(Subcommands::from_arg_matches(matches)?.run(registry, command)?),
};

/// The subcommands.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Subcommands {
    /// List the algorithms with their options, the devices and the data sets
    List(list::List),
    /// Convert, generate and describe graphs
    #[command(subcommand)]
    Graph(graph::GraphCommand),
    /// Continue a run that was interrupted, from its newest checkpoint that is whole on every rank
    Resume(resume::Resume),
    /// Run a plan of measurements, and turn it into tables and plots that can be trusted
    #[command(subcommand)]
    Experiment(experiment::ExperimentCommand),
    /// Put faults into protected runs, and count how many were found, corrected or missed
    Inject(Box<inject::Inject>),
    /// Watch one run with Nsight Systems, on this node only; its times are never evidence of speed
    Nsys(Box<nsys::Nsys>),
    /// Say where the time of devices went, from traces of many tools: breakdown, overlap and pictures
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Print completions for a shell on stdout
    Completions {
        /// The shell that the completions are for
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page on stdout
    Man,
}

impl Subcommands {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever it reports.
    pub(crate) fn run(self, registry: &Registry, mut command: Command) -> Result<ExitCode> {
        match self {
            Subcommands::List(list) => list.run(registry)?,
            Subcommands::Graph(graph) => return graph.run(),
            Subcommands::Resume(resume) => return resume.run(registry),
            Subcommands::Experiment(experiment) => return experiment.run(registry),
            Subcommands::Inject(inject) => return inject.run(registry),
            Subcommands::Nsys(nsys) => return nsys.run(registry),
            Subcommands::Trace(trace) => return trace.run(),
            Subcommands::Completions { shell } => {
                let mut text = Vec::new();
                clap_complete::generate(shell, &mut command, "harness", &mut text);
                print(&text)?;
            }
            Subcommands::Man => {
                let mut text = Vec::new();
                clap_mangen::Man::new(whole(registry, BEYOND_RUNS)).render(&mut text).map_err(stdout_failed)?;
                print(&text)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
