//! From arguments to what was typed. Parsing takes two looks: the first finds the algorithm, the second knows its options.
//!
//! Options of other algorithms are known too, so that help shows them and one that would have no effect is refused by name.

use crate::instrument::{Instrument, Performance};
use crate::options::{Chosen, RunArgs};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use framework::algorithm::{Registration, Registry};
use framework::base::error::Error;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// Why the command line ends early.
pub(crate) enum Stop {
    /// Help, version or a usage error, worded by clap.
    Clap(clap::Error),
    /// Anything else.
    Failed(Error),
}

impl Stop {
    /// As an error of a command that reads another command line.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Stop::Failed(error) => error,
            Stop::Clap(error) => Error::usage(error.to_string().trim_start_matches("error: ").trim_end().to_owned()),
        }
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Stop {
        Stop::Clap(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// What a binary can do. Commands beyond runs are reached through function pointers that only [`Scope::EVERYTHING`] names, so a
/// binary that is for runs only does not hold them.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    pub(crate) beyond_runs: Option<BeyondRuns>,
}

/// How the command line reaches subcommands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeyondRuns {
    /// Adds them to a command.
    pub(crate) augment: fn(Command) -> Command,
    /// Runs the one that was given.
    pub(crate) run: fn(&ArgMatches, &Registry, Command) -> Result<ExitCode, Stop>,
}

const ABOUT: &str = "Runs graph algorithms on host threads and many ranks, and says where the time went";

const EXAMPLES: &str = "Examples:
  harness --algorithm kcore -k 5                     the embedded graph, the best device
  harness --algorithm bfs -s index:0 --graph g.txt.gz --output levels.csv
  harness --algorithm pagerank --graph g.mtx --ranks 4 --trials 5 --verify

Exit codes: 0 sound; 1 ran, but the answer or a check failed; 2 bad usage or input; 3 the environment failed";

/// An option of a plugin that was not chosen.
pub(crate) struct Foreign {
    id: String,
    spelled: String,
    owner: &'static str,
}

/// A run as typed: its algorithm, its options, and the matches that hold the algorithm's own.
pub(crate) struct Typed {
    pub(crate) entry: &'static Registration,
    pub(crate) options: RunArgs,
    pub(crate) matches: ArgMatches,
}

/// Reads the arguments of a run without running it.
pub(crate) fn parse_run(registry: &Registry, args: &[OsString]) -> Result<Typed, Stop> {
    let (_, foreign, matches) = matches::<Performance>(Scope { beyond_runs: None }, registry, args)?;
    typed(registry, &foreign, matches)
}

pub(crate) fn matches<I: Instrument>(
    scope: Scope,
    registry: &Registry,
    args: &[OsString],
) -> Result<(Command, Vec<Foreign>, ArgMatches), clap::Error> {
    let named = named_algorithm(args);
    let chosen = named.as_deref().and_then(|name| registry.find(name).ok());
    let (command, foreign) = build::<I>(scope, registry, chosen);
    let matches = command.clone().try_get_matches_from(args)?;
    Ok((command, foreign, matches))
}

pub(crate) fn typed(registry: &Registry, foreign: &[Foreign], matches: ArgMatches) -> Result<Typed, Stop> {
    let options = RunArgs::from_arg_matches(&matches)?;
    let Some(name) = Chosen::from_arg_matches(&matches)?.algorithm else {
        let known: Vec<_> = registry.iter().map(|entry| entry.name).collect();
        return Err(Error::usage(format!(
            "which algorithm? give --algorithm NAME (known: {}), or --help",
            known.join(", ")
        ))
        .into());
    };
    let entry = registry.find(&name)?;
    refuse_foreign(entry, foreign, &matches)?;
    Ok(Typed { entry, options, matches })
}

/// The whole command line of `harness`, for completions and the man page.
pub(crate) fn whole(registry: &Registry, beyond: BeyondRuns) -> Command {
    build::<Performance>(Scope { beyond_runs: Some(beyond) }, registry, None).0
}

/// The value of `--algorithm`, found without knowing any other option.
fn named_algorithm(args: &[OsString]) -> Option<String> {
    let mut args = args.iter().skip(1).take_while(|arg| *arg != OsStr::new("--"));
    while let Some(arg) = args.next() {
        let arg = arg.to_str()?;
        if arg == "--algorithm" {
            return args.next()?.to_str().map(str::to_owned);
        }
        if let Some(name) = arg.strip_prefix("--algorithm=") {
            return Some(name.to_owned());
        }
    }
    None
}

fn build<I: Instrument>(
    scope: Scope,
    registry: &Registry,
    chosen: Option<&'static Registration>,
) -> (Command, Vec<Foreign>) {
    let name = if scope.beyond_runs.is_some() { "harness".to_owned() } else { program_name() };
    let mut command = Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXAMPLES)
        .override_usage(if scope.beyond_runs.is_some() {
            "harness --algorithm NAME [OPTIONS]\n       harness COMMAND"
        } else {
            "--algorithm NAME [OPTIONS]"
        })
        .max_term_width(100)
        .args_override_self(false);
    command = Chosen::augment_args(command);
    let own = RunArgs::augment_args(Command::new("own"));
    let mut foreign = Vec::new();
    for entry in registry.iter() {
        if chosen.is_some_and(|chosen| chosen.name == entry.name) {
            command = (entry.augment)(command);
            continue;
        }
        let options = (entry.augment)(Command::new("options"));
        for option in options.get_arguments() {
            if !is_taken(&command, option) && !is_taken(&own, option) {
                foreign.push(Foreign { id: option.get_id().to_string(), spelled: spelled(option), owner: entry.name });
                command = command.arg(option.clone().required(false));
            }
        }
    }
    command = I::augment(RunArgs::augment_args(command));
    if let Some(beyond) = scope.beyond_runs {
        command = (beyond.augment)(command.args_conflicts_with_subcommands(true))
            .subcommand_required(false)
            .arg_required_else_help(true)
            .subcommand_help_heading("Commands other than a run");
    }
    (command.about(ABOUT), foreign)
}

fn program_name() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    std::path::Path::new(&path).file_name().map_or_else(|| "harness".into(), |name| name.to_string_lossy().into_owned())
}

fn is_taken(command: &Command, option: &Arg) -> bool {
    command.get_arguments().any(|other| {
        other.get_id() == option.get_id()
            || other.get_long().is_some() && other.get_long() == option.get_long()
            || other.get_short().is_some() && other.get_short() == option.get_short()
    })
}

pub(crate) fn spelled(option: &Arg) -> String {
    match (option.get_long(), option.get_short()) {
        (Some(long), Some(short)) => format!("-{short}/--{long}"),
        (Some(long), None) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => option.get_id().to_string(),
    }
}

fn refuse_foreign(entry: &Registration, foreign: &[Foreign], matches: &ArgMatches) -> Result<(), Error> {
    let given = |option: &&Foreign| matches.value_source(&option.id) == Some(ValueSource::CommandLine);
    match foreign.iter().find(given) {
        None => Ok(()),
        Some(option) => Err(Error::usage(format!(
            "{} is an option of {}; it has no effect on {}, so leave it out",
            option.spelled, option.owner, entry.name
        ))),
    }
}
