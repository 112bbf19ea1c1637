//! The command line of graphalg. Binaries only choose how much is recorded; everything else is here.
//!
//! Machine output goes to stdout or to files, everything for people to stderr. Exit codes: 0 sound; 1 ran, but the answer or a
//! check failed; 2 bad usage or input; 3 the environment failed.

mod answer_file;
mod cli;
mod command;
mod dataset;
mod device;
mod experiment;
mod facts;
mod inject;
mod instrument;
mod options;
mod people;
pub mod profiling;
mod progress;
mod protection;
mod reading;
pub mod records;
pub mod trace_files;
mod whole_file;

pub use instrument::{Instrument, Performance};

use framework::error::{Class, Error};
use plugin_bfs as _;
use plugin_cc as _;
use plugin_kcore as _;
use plugin_pagerank as _;
use std::process::ExitCode;

/// What a binary can do. Commands beyond runs are reached through function pointers that only [`Scope::EVERYTHING`] names, so a
/// binary that is for runs only does not hold them.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    beyond_runs: Option<command::BeyondRuns>,
}

impl Scope {
    /// Runs and all subcommands.
    pub const EVERYTHING: Scope = Scope { beyond_runs: Some(command::BEYOND_RUNS) };
    /// Runs only.
    pub const RUNS: Scope = Scope { beyond_runs: None };
}

/// Runs the command line of this process.
pub fn main<I: Instrument>(scope: Scope) -> ExitCode {
    match cli::run::<I>(scope, std::env::args_os()) {
        Ok(code) => code,
        Err(cli::Stop::Clap(error)) => {
            // Help and version go to stdout with exit 0, usage errors to stderr with exit 2. A closed pipe is no failure.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
        Err(cli::Stop::Failed(error)) => {
            people::say(&format!("error: {}", people::with_causes(&error)));
            exit_code(&error)
        }
    }
}

fn exit_code(error: &Error) -> ExitCode {
    ExitCode::from(match error.class() {
        Class::Answer => 1,
        Class::Usage => 2,
        Class::Environment => 3,
    })
}
