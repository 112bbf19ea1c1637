//! `harness inject`: strikes, one a run, and what became of each.
//!
//! Every strike is drawn from a seed of its own and put into a protected run in this process (`framework::fault_injection`); the run's
//! answer is compared with that of clean runs. A watchdog counts a run that does not end; its threads are left behind. The
//! number of a superstep, not the clock, decides when snapshots are taken, and the checker is waited for before each superstep, so that a
//! strike repeated by its seed ends alike.

mod record;
mod campaign;
mod summary;
mod outcomes;
mod delays;
mod watch;

use crate::command_line::{Stop, Typed, parse_run};
use crate::device::Chosen;
use crate::durable;
use crate::options::DeviceChoice;
use crate::people::say;
use crate::run::input::{load, reader};
use crate::run::place::place;
use crate::stdout::print;
use campaign::{Campaign, Clean};
use clap::parser::ValueSource;
use clap::{Args, ValueHint};
use framework::algorithm::Registry;
use framework::base::error::{Error, Result};
use framework::base::id::Rank;
use framework::fault_injection::{Model, Range, Strike, Target};
use framework::protect::{Interval, Recovery};
use record::Row;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use summary::Summary;
use watch::Watch;

const AFTER_HELP: &str = "A strike is one fault in one protected run: a value, message or arc changes behind the program's
back, as a particle or a worn part would change it. The answer is compared with that of runs
without a fault, so every strike ends in one of four ways:
  masked                   right answer, nothing noticed
  detected and recovered   noticed, and the answer is right all the same
  detected, not recovered  noticed; the run says so and ends with exit code 1
  silent                   wrong answer, exit code 0: this must never happen

Models, what a strike does:
  bit1, bitflip  one bit of a value flips          zero          a value becomes 0
  bit2           two bits of a value flip          stale         the update of a value is lost
  random         a value becomes any other one     warp32, warp  32 neighbouring values change
  drop           a message is lost                 duplicate     an older message arrives again
  corrupt        bytes of a message change         message       the last three together

Targets, what it hits:
  field          a value of a vertex, at rest or as an update leaves it
  frontier       the list of active vertices
  ghost          a copy of a peer's vertex, or a message to it (from 2 ranks on)
  summary        numbers left for the checker      checker       the checker's own result
  graph          arcs, after they were loaded      answer        the answer, after its certificate

Pairs that make no sense are left out (a summary is no message). Options of the algorithm and of the run follow `--`.

Examples:
  harness inject --algorithm kcore --ranks 2 --strikes 1000 --output strikes -- -k 5
  harness inject --algorithm kcore --ranks 2 --repeat 1234567 -- -k 5
                 (that row of strikes.csv again, by its seed)
  harness inject --algorithm bfs --strikes 200 -- --certify off
                 (what tier 1 catches alone)

stdout gets one line, INJECT_SUMMARY {...}. The folder gets strikes.csv (a row a strike), summary.json, and the plots outcomes and delays.

Exit codes: 0 no strike was silent, no run panicked or hung, no clean run raised an alarm; 1 one did; 2 bad usage or input; 3 the \
environment failed";

/// Supersteps between snapshots.
const SNAPSHOTS: u32 = 4;
/// So many strikes in a row that find nothing to hit: there is nothing.
const CHANCES: u32 = 200;

/// Options of `inject`.
#[derive(Args, Clone, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Inject {
    /// The algorithm to run; `harness list` shows all of them
    #[arg(long, value_name = "NAME")]
    algorithm: String,
    /// Read the graph from this file [default: the graph inside the program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    graph: Option<PathBuf>,
    /// Number of ranks of each run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: u32,
    /// Number of threads of each rank
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,
    /// The device whose memory is struck: cpu, cuda, or cuda:0,1
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceChoice,
    /// How many strikes to make, one in each run; strikes that find nothing to hit do not count
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    strikes: u32,
    /// The seed from which all strikes are drawn
    #[arg(long, value_name = "SEED", default_value_t = 7)]
    seed: u64,
    /// What strikes do: models from the list below, separated by commas
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "bit1,bit2,random,zero,stale,warp32,message"
    )]
    model: Vec<String>,
    /// What strikes hit: targets from the list below, separated by commas
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "field,frontier,ghost,summary,checker,graph,answer"
    )]
    target: Vec<String>,
    /// How many runs without a strike come first; a finding in one of them is a false alarm
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    clean_runs: u32,
    /// A new or empty folder for the table, the summary and the plots
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
    /// Repeat the one strike that has this seed in strikes.csv; give the same algorithm, graph and ranks
    #[arg(long, value_name = "SEED", conflicts_with_all = ["strikes", "seed", "model", "target", "watch"])]
    repeat: Option<u64>,
    /// Show how strikes end while the campaign goes on: a live view on a terminal, else a line every few seconds
    #[arg(long)]
    watch: bool,
    /// Seconds after which a run counts as hung
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    /// Options of the algorithm and of the run, its protection among them
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
        let typed = parse_run(registry, &self.run_line()).map_err(Stop::into_error)?;
        refuse_idle(&typed)?;
        let make = {
            let (entry, matches) = (typed.entry, typed.matches.clone());
            move || (entry.make)(&matches).map_err(|error| Error::usage(error.to_string()))
        };
        let algorithm = make()?;
        let mut protection = typed.options.protection()?;
        if !protection.is_on {
            return Err(Error::usage(
                "strikes are on protected runs: --fault-tolerance off, or a baseline method, leaves nothing to strike at; \
                 leave it out (a single tier is switched off by --certify off or --recovery off)",
            ));
        }
        if algorithm.protection().is_none() {
            return Err(Error::usage(format!(
                "{} has no rules for finding faults, so its runs cannot be protected",
                typed.entry.name
            )));
        }
        if protection.snapshots == Interval::Measured {
            protection.snapshots = Interval::Every(SNAPSHOTS);
        }
        // A run that hangs is left behind with its threads, which use the devices for as long as the process lives.
        let chosen: &'static Chosen =
            Box::leak(Box::new(Chosen::of(&typed.options.device, typed.options.method, typed.entry)?));
        let (place, _) = place(&typed.options, chosen, true)?;
        let ranks = place.ranks;
        let wanted = wanted(&models, &targets, ranks)?;
        if let Some(folder) = &self.output {
            new_folder(folder)?;
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
        // All pairs, whatever is wanted: so a seed alone says which strike it is.
        let range = Range { pairs: pairs(ranks), ranks, iterations: clean.iterations };
        say(&format!(
            "inject   {} on {}, {ranks} ranks on {}{}: {} clean runs of {} supersteps, {} false alarms{}",
            campaign.algorithm,
            campaign.graph.name(),
            chosen.label(ranks),
            if self.repeat.is_some() { String::new() } else { format!(", seed {}", self.seed) },
            clean.runs,
            clean.iterations,
            clean.false_alarms,
            if is_quiet { "; recovery is off" } else { "" },
        ));
        let rows = match self.repeat {
            Some(seed) => self.repeat(&campaign, &clean, &range, seed)?,
            None => self.strike_all(&campaign, &clean, &range, &wanted)?,
        };
        let device = chosen.record(Rank(0), place.threads).kind;
        self.report(&rows, &clean, device)
    }

    fn repeat(&self, campaign: &Campaign, clean: &Clean, range: &Range, seed: u64) -> Result<Vec<Row>> {
        let Some(strike) = Strike::draw(seed, range) else { return Ok(Vec::new()) };
        let (row, is_put_in) = campaign.strike(0, strike, clean)?;
        say(&row.sentence());
        if !is_put_in {
            return Err(Error::usage(format!(
                "seed {seed} finds nothing to hit here; algorithm, graph, ranks and options must be those of the campaign"
            )));
        }
        Ok(vec![row])
    }

    /// Draws until so many strikes of the pairs that are wanted have hit something.
    fn strike_all(
        &self,
        campaign: &Campaign,
        clean: &Clean,
        range: &Range,
        wanted: &[(Model, Target)],
    ) -> Result<Vec<Row>> {
        let mut watch = Watch::new(self.watch, self.strikes);
        let mut rows = Vec::with_capacity(self.strikes as usize);
        let (mut number, mut in_vain) = (0, 0);
        while rows.len() < self.strikes as usize {
            let seed = campaign::seed_of(self.seed, number);
            number += 1;
            let Some(strike) = Strike::draw(seed, range) else { break };
            if !wanted.contains(&(strike.model, strike.target)) {
                continue;
            }
            let (row, is_put_in) = campaign.strike(rows.len() as u32, strike, clean)?;
            if is_put_in {
                watch.tell(&row);
                rows.push(row);
                in_vain = 0;
                continue;
            }
            in_vain += 1;
            if in_vain == CHANCES {
                return Err(Error::usage(format!(
                    "{CHANCES} strikes in a row found nothing to hit: {} on this graph and {} ranks has no {}; choose other targets",
                    campaign.algorithm,
                    range.ranks,
                    self.target.join(" or ")
                )));
            }
        }
        Ok(rows)
    }

    fn report(&self, rows: &[Row], clean: &Clean, device: String) -> Result<ExitCode> {
        let summary = Summary { device, ..Summary::of(rows, clean) };
        if let Some(folder) = &self.output {
            durable::replace(&folder.join("strikes.csv"), &record::table(rows)?)?;
            outcomes::chart(rows).write(folder)?;
            delays::chart(rows).write(folder)?;
            // Last: a folder that has it is whole.
            let json = serde_json::to_vec_pretty(&summary).map_err(|error| Error::Environment(error.to_string()))?;
            durable::replace(&folder.join("summary.json"), &json)?;
            say(&format!(
                "written  {}: strikes.csv, summary.json, and the plots outcomes and delays",
                folder.display()
            ));
        }
        let line = serde_json::to_string(&summary).map_err(|error| Error::Environment(error.to_string()))?;
        print(format!("INJECT_SUMMARY {line}\n").as_bytes())?;
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
        if !is_given("--device") && !is_given("--method") {
            line.extend(["--device".into(), self.device.to_string().into()]);
        }
        if !is_given("--fault-tolerance") && !is_given("--method") {
            line.extend(["--fault-tolerance", "on"].map(OsString::from));
        }
        line.extend(self.args.iter().map(OsString::from));
        line
    }
}

/// Options of a run that mean nothing for a strike.
const IDLE: [(&str, &str); 8] = [
    ("trials", "every strike is one trial"),
    ("warmup", "nothing is measured"),
    ("verify", "answers are compared with those of clean runs"),
    ("output", "no answer is written; for the rows give --output before `--`"),
    ("no_output", "no answer is written anyway"),
    ("progress", "give --watch before `--`"),
    ("checkpoint_dir", "no run is resumed"),
    ("checkpoint_interval", "no run is resumed"),
];

fn refuse_idle(typed: &Typed) -> Result<()> {
    let is_given = |id: &str| typed.matches.value_source(id) == Some(ValueSource::CommandLine);
    match IDLE.iter().find(|(id, _)| is_given(id)) {
        Some((id, why)) => {
            Err(Error::usage(format!("--{} has no effect on strikes ({why}); leave it out", id.replace('_', "-"))))
        }
        None => Ok(()),
    }
}

/// All models and targets that fit each other.
fn pairs(ranks: usize) -> Vec<(Model, Target)> {
    let all = Target::ALL.iter().flat_map(|&(_, target)| Model::ALL.iter().map(move |&(_, model)| (model, target)));
    all.filter(|&(model, target)| model.fits(target, ranks)).collect()
}

/// Those of them that were asked for. Says which names come to nothing.
fn wanted(models: &[Model], targets: &[Target], ranks: usize) -> Result<Vec<(Model, Target)>> {
    let wanted: Vec<_> =
        pairs(ranks).into_iter().filter(|(model, target)| models.contains(model) && targets.contains(target)).collect();
    let hint = if ranks == 1 { "ghosts and messages need --ranks of at least 2" } else { "see --help" };
    if wanted.is_empty() {
        return Err(Error::usage(format!("none of these models hits any of these targets; {hint}")));
    }
    let idle_models = models.iter().filter(|model| wanted.iter().all(|(one, _)| one != *model)).map(|one| one.name());
    let idle_targets =
        targets.iter().filter(|target| wanted.iter().all(|(_, one)| one != *target)).map(|one| one.name());
    let idle: Vec<_> = idle_models.chain(idle_targets).collect();
    if !idle.is_empty() {
        say(&format!("left out {} ({hint})", idle.join(", ")));
    }
    Ok(wanted)
}

/// Makes a folder that must be new or empty: rows of two campaigns do not mix.
fn new_folder(folder: &Path) -> Result<()> {
    durable::folder(folder)?;
    let read = |source| Error::Read { path: folder.into(), source };
    match std::fs::read_dir(folder).map_err(read)?.next() {
        None => Ok(()),
        Some(first) => Err(Error::usage(format!(
            "{}: the folder for strikes must be new or empty, and this one holds `{}`; name another one",
            folder.display(),
            first.map_err(read)?.file_name().display()
        ))),
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
