//! `harness inject`: strikes, one a run, and what became of each.
//!
//! Every strike is drawn from a seed of its own and put into a protected run in this process (`framework::strike`); the run's
//! answer is compared with that of clean runs. A watchdog counts a run that does not end; its threads are left behind. The
//! number of a superstep, not the clock, decides when snapshots are taken, and the checker is waited for before each superstep, so that a
//! strike repeated by its seed ends alike.

mod campaign;
mod plot;
mod record;
mod summary;

use crate::cli::parse_run;
use crate::command::run::{load, place, reader};
use crate::device::{Chosen, DeviceChoice};
use crate::experiment::durable;
use crate::people::say;
use campaign::{Campaign, Clean};
use clap::{Args, ValueHint};
use framework::algorithm::Registry;
use framework::error::{Error, Result};
use framework::protect::{Interval, Recovery};
use framework::run::{Device, Place};
use framework::strike::{Model, Range, Strike, Target};
use record::{Outcome, Row};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use summary::Summary;

const AFTER_HELP: &str = "Models: bit1 (alias bitflip), bit2, random, zero, stale, warp32 (alias warp), drop, duplicate, corrupt (alias of \
the last three: message).
Targets: field, frontier, ghost, summary, checker, graph, answer. Pairs that make no sense are left out.

Example:
  harness inject --algorithm kcore --ranks 2 --strikes 1000 --seed 7 --output strikes -- -k 5

Exit codes: 0 no strike was silent, no run panicked or hung, no clean run raised an alarm; 1 one did; 2 bad usage; 3 the environment failed";

/// Supersteps between snapshots.
const SNAPSHOTS: u32 = 4;

/// Options of `inject`.
#[derive(Args, Clone, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Inject {
    /// The algorithm
    #[arg(long, value_name = "NAME")]
    algorithm: String,
    /// Graph file [default: the graph inside the program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    graph: Option<PathBuf>,
    /// Ranks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: u32,
    /// Threads of each rank
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,
    /// Strikes, one a run
    #[arg(long, value_name = "N", default_value_t = 1000)]
    strikes: u32,
    /// Seed from which all are drawn
    #[arg(long, value_name = "SEED", default_value_t = 7)]
    seed: u64,
    /// Models, by name
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "bit1,bit2,random,zero,stale,warp32,message"
    )]
    model: Vec<String>,
    /// Targets, by name
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "field,frontier,ghost,summary,checker,graph,answer"
    )]
    target: Vec<String>,
    /// Runs without a strike, in which nothing may be found
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    clean_runs: u32,
    /// Folder for strikes.csv, summary.json and the plot
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
    /// Repeat the one strike of strikes.csv that has this seed
    #[arg(long, value_name = "SEED", conflicts_with_all = ["strikes", "seed"])]
    repeat: Option<u64>,
    /// Say each strike as it ends
    #[arg(long)]
    watch: bool,
    /// Seconds after which a run counts as hung
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    /// Options of the algorithm and of a run, its protection among them
    #[arg(last = true, value_name = "OPTIONS")]
    args: Vec<String>,
}

impl Inject {
    /// Runs it.
    ///
    /// # Errors
    /// For bad options, a graph that cannot be read, or a clean run that fails.
    pub(crate) fn run(&self, registry: &Registry) -> Result<ExitCode> {
        let models = named("model", &self.model, &models())?;
        let targets = named("target", &self.target, &targets())?;
        let typed = parse_run(registry, &self.run_line()).map_err(crate::cli::Stop::into_error)?;
        let make = {
            let (entry, matches) = (typed.entry, typed.matches.clone());
            move || (entry.make)(&matches).map_err(|error| Error::usage(error.to_string()))
        };
        let algorithm = make()?;
        let mut protection = typed.options.protection.resolve(typed.options.method)?;
        if !protection.is_on {
            return Err(Error::usage("--fault-tolerance off leaves nothing to strike at; leave it out"));
        }
        if algorithm.protection().is_none() {
            return Err(Error::usage(format!(
                "{} says nothing about faults, so it cannot be guarded",
                typed.entry.name
            )));
        }
        if protection.snapshots == Interval::Measured {
            protection.snapshots = Interval::Every(SNAPSHOTS);
        }
        if !matches!(typed.options.device, DeviceChoice::Auto | DeviceChoice::Cpu) {
            return Err(Error::usage("strikes are on the cpu device only; leave --device out"));
        }
        let chosen = Chosen::of(&DeviceChoice::Cpu, typed.options.method, typed.entry)?;
        let (place, _) = place(&typed.options, &chosen, true)?;
        let place = Place { ranks: place.ranks, threads: place.threads, layouts: place.layouts, device: Device::Cpu };
        let ranks = place.ranks;
        let fits = |&(model, target): &(Model, Target)| model.fits(target, ranks);
        let pairs: Vec<_> =
            targets.iter().flat_map(|&target| models.iter().map(move |&model| (model, target))).filter(fits).collect();
        if pairs.is_empty() {
            let hint = if ranks == 1 { "; ghosts need --ranks of at least 2" } else { "" };
            return Err(Error::usage(format!("none of these models hits any of these targets{hint}")));
        }
        if let Some(folder) = &self.output {
            durable::folder(folder)?;
        }
        let graph = load(&typed.options, algorithm.as_ref(), typed.entry.name, false)?;
        let loader = reader(&typed.options, algorithm.as_ref())?;
        let is_quiet = protection.recovery == Recovery::Off;
        let campaign = Campaign::new(
            typed.entry.name,
            Arc::new(graph),
            place,
            protection,
            Arc::new(make),
            Arc::new(loader),
            self.timeout.into(),
        )?;
        let clean = campaign.clean(self.clean_runs)?;
        let range = Range { pairs, ranks, iterations: clean.iterations };
        say(&format!(
            "inject   {} on {}, {ranks} ranks: {} clean runs of {} supersteps, {} false alarms{}",
            campaign.algorithm,
            campaign.graph.name(),
            clean.runs,
            clean.iterations,
            clean.false_alarms,
            if is_quiet { "; recovery is off" } else { "" },
        ));
        let rows = self.strike_all(&campaign, &clean, &range)?;
        self.report(&rows, &clean)
    }

    fn strike_all(&self, campaign: &Campaign, clean: &Clean, range: &Range) -> Result<Vec<Row>> {
        let seeds: Vec<u64> = match self.repeat {
            Some(seed) => vec![seed],
            None => (0..self.strikes).map(|number| campaign::seed_of(self.seed, number)).collect(),
        };
        let mut rows = Vec::with_capacity(seeds.len());
        for (number, seed) in seeds.into_iter().enumerate() {
            let Some(strike) = Strike::draw(seed, range) else { continue };
            let row = campaign.strike(number as u32, strike, clean)?;
            if self.watch || self.repeat.is_some() || row.outcome == Outcome::Silent {
                say(&row.sentence());
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn report(&self, rows: &[Row], clean: &Clean) -> Result<ExitCode> {
        let summary = Summary::of(rows, clean);
        if let Some(folder) = &self.output {
            durable::replace(&folder.join("strikes.csv"), &record::table(rows)?)?;
            let json = serde_json::to_vec_pretty(&summary).map_err(|error| Error::Environment(error.to_string()))?;
            durable::replace(&folder.join("summary.json"), &json)?;
            plot::chart(rows).write(folder)?;
            say(&format!("written  {}: strikes.csv, summary.json, outcomes.svg", folder.display()));
        }
        let line = serde_json::to_string(&summary).map_err(|error| Error::Environment(error.to_string()))?;
        crate::command::print(format!("INJECT_SUMMARY {line}\n").as_bytes())?;
        say(&summary.sentence());
        Ok(if summary.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    /// The command line of the run that is struck.
    fn run_line(&self) -> Vec<OsString> {
        let mut line: Vec<OsString> = ["harness", "--algorithm", &self.algorithm].map(OsString::from).into();
        if let Some(graph) = &self.graph {
            line.extend(["--graph".into(), graph.clone().into()]);
        }
        line.extend(["--ranks".into(), self.ranks.to_string().into()]);
        line.extend(["--threads".into(), self.threads.to_string().into()]);
        let is_given =
            |option: &str| self.args.iter().any(|arg| arg == option || arg.starts_with(&format!("{option}=")));
        if !is_given("--fault-tolerance") && !is_given("--method") {
            line.extend(["--fault-tolerance", "on"].map(OsString::from));
        }
        line.extend(self.args.iter().map(OsString::from));
        line
    }
}

/// Names of models; aliases stand for one or several.
fn models() -> Vec<(&'static str, Vec<Model>)> {
    let mut names: Vec<_> = Model::ALL.iter().map(|&(name, model)| (name, vec![model])).collect();
    names.extend([
        ("bitflip", vec![Model::Bit1]),
        ("warp", vec![Model::Warp32]),
        ("message", vec![Model::Drop, Model::Duplicate, Model::Corrupt]),
    ]);
    names
}

fn targets() -> Vec<(&'static str, Vec<Target>)> {
    Target::ALL.iter().map(|&(name, target)| (name, vec![target])).collect()
}

/// What a list of names means, each once.
fn named<T: Copy + Ord>(what: &str, names: &[String], known: &[(&'static str, Vec<T>)]) -> Result<Vec<T>> {
    let mut meant = Vec::new();
    for name in names {
        let Some((_, items)) = known.iter().find(|(known, _)| known == name) else {
            let all: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            return Err(Error::usage(format!("no {what} is called `{name}` (known: {})", all.join(", "))));
        };
        meant.extend(items);
    }
    meant.sort_unstable();
    meant.dedup();
    Ok(meant)
}
