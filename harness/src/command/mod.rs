//! What `harness` does besides runs.

mod graph;
mod list;
pub(crate) mod resume;
pub(crate) mod run;
mod trace;

use crate::cli::Stop;
use crate::experiment::{ExperimentCommand, nsys::Nsys};
use crate::inject::Inject;
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use clap_complete::Shell;
use framework::algorithm::Registry;
use framework::base::error::{Error, Result};
use std::io::{self, Write};
use std::process::ExitCode;

/// How the command line reaches subcommands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeyondRuns {
    /// Adds them to a command.
    pub(crate) augment: fn(Command) -> Command,
    /// Runs the one that was given.
    pub(crate) run: fn(&ArgMatches, &Registry, Command) -> Result<ExitCode, Stop>,
}

/// All subcommands.
pub(crate) const BEYOND_RUNS: BeyondRuns = BeyondRuns {
    augment: |command| Subcommands::augment_subcommands(command),
    run: |matches, registry, command| Ok(Subcommands::from_arg_matches(matches)?.run(registry, command)?),
};

/// The subcommands.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Subcommands {
    /// Algorithms with their options, devices and data sets
    List,
    /// Convert, generate and describe graphs
    #[command(subcommand)]
    Graph(graph::GraphCommand),
    /// Go on with a run that was broken off, from its newest checkpoint that is whole on every rank
    Resume(resume::Resume),
    /// Run a plan of measurements, and turn it into tables and plots that can be trusted
    #[command(subcommand)]
    Experiment(ExperimentCommand),
    /// Put faults into protected runs, and count what becomes of them
    Inject(Box<Inject>),
    /// Watch one run with Nsight Systems (this node only; never evidence of speed)
    Nsys(Box<Nsys>),
    /// Say where the time of devices went, from traces of many tools: breakdown, overlap, pictures
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Completions for a shell, on stdout
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// The manual page, on stdout
    Man,
}

impl Subcommands {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever it reports.
    pub(crate) fn run(self, registry: &Registry, mut command: Command) -> Result<ExitCode> {
        match self {
            Subcommands::List => list::run(registry)?,
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
                clap_mangen::Man::new(crate::cli::whole(registry)).render(&mut text).map_err(stdout_failed)?;
                print(&text)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes to stdout.
///
/// # Errors
/// When stdout is closed or its disk full.
pub(crate) fn print(text: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush()).map_err(stdout_failed)
}

pub(crate) fn stdout_failed(source: io::Error) -> Error {
    Error::Write { path: "stdout".into(), source }
}
