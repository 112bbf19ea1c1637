//! From arguments to what they ask for: the top of the crate.

use crate::command;
use crate::command_line::{Scope, Stop, Typed, matches, typed};
use crate::facts;
use crate::instrument::Instrument;
use crate::run;
use crate::run::checkpoints::Origin;
use framework::algorithm::Registry;
use std::ffi::OsString;
use std::process::ExitCode;

impl Scope {
    /// Runs and all subcommands.
    pub const EVERYTHING: Scope = Scope { beyond_runs: Some(command::BEYOND_RUNS) };
    /// Runs only.
    pub const RUNS: Scope = Scope { beyond_runs: None };
}

/// Runs the command line `args`.
pub(crate) fn run<I: Instrument>(scope: Scope, args: impl IntoIterator<Item = OsString>) -> Result<ExitCode, Stop> {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.len() == 2 && args[1] == facts::BUILD_FACTS {
        facts::print_build(I::PROFILE)?;
        return Ok(ExitCode::SUCCESS);
    }
    let registry = Registry::linked()?;
    let (command, foreign, matches) = matches::<I>(scope, &registry, &args)?;
    if let (Some(beyond), Some(_)) = (scope.beyond_runs, matches.subcommand_name()) {
        return (beyond.run)(&matches, &registry, command);
    }
    let Typed { entry, options, matches } = typed(&registry, &foreign, matches)?;
    Ok(run::run::<I>(entry, &options, &matches, &Origin::New(&args[1..]))?)
}
