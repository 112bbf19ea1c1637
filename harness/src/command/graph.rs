//! `harness graph`: convert, generate and describe graphs.

use super::print;
use crate::people::{say, thousands};
use clap::{Args, Subcommand, ValueHint, value_parser};
use framework::error::Result;
use framework::graph::{Format, Generator, Input, LoadOptions, Recipe, View, load};
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be done with graphs.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum GraphCommand {
    /// Make a synthetic graph; one seed gives one graph on every machine
    Generate(Generate),
}

/// Options of `graph generate`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Generate {
    /// The family
    #[arg(value_enum)]
    family: Generator,
    /// Binary logarithm of the number of vertices
    #[arg(long, value_name = "S", value_parser = value_parser!(u32).range(..=31))]
    scale: u32,
    /// Edges drawn a vertex [default: 16; 1 for a grid]
    #[arg(long, value_name = "E", value_parser = value_parser!(u32).range(1..))]
    edge_factor: Option<u32>,
    /// Another seed, another graph
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The file; its ending tells the format
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
}

impl GraphCommand {
    /// Runs it.
    ///
    /// # Errors
    /// Whatever it reports.
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self {
            GraphCommand::Generate(generate) => generate.run(),
        }
    }
}
