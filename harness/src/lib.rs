//! The command line of graphalg. Binaries only choose how much is recorded; everything else is here.
//!
//! The modules below stand in the order of the floors they build, lowest first: a module imports only from those above it in the
//! list. At the bottom, output and files; then what options mean; then records, facts and recording; then a run; on top the commands,
//! which share what lies below them and never import each other.
//!
//! Machine output goes to stdout or to files, everything for people to stderr. Exit codes: 0 sound; 1 ran, but the answer or a
//! check failed; 2 bad usage or input; 3 the environment failed.

mod people;
mod stdout;
mod whole_file;
mod durable;
mod csv_table;
mod drawing;
mod options;
pub mod records;
pub mod trace_files;
mod facts;
mod measured;
mod dataset;
mod answer_file;
mod instrument;
pub mod profiling;
mod device;
mod progress;
mod command_line;
mod run;
mod command;
mod cli;

pub use command_line::Scope;
pub use instrument::{Instrument, Performance};

use framework::base::error::{Class, Error};
use plugin_bfs as _;
use plugin_cc as _;
use plugin_kcore as _;
use plugin_pagerank as _;
use std::process::ExitCode;

/// Runs the command line of this process.
pub fn main<I: Instrument>(scope: Scope) -> ExitCode {
    match cli::run::<I>(scope, std::env::args_os()) {
        Ok(code) => code,
        Err(command_line::Stop::Clap(error)) => {
            // Help and version go to stdout with exit 0, usage errors to stderr with exit 2. A closed pipe is no failure.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
        Err(command_line::Stop::Failed(error)) => {
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
