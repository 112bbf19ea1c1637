//! A run: load the graph, run the trials, say the records on stdout and the short of it on stderr.

pub(crate) mod place;
pub(crate) mod input;
pub(crate) mod checkpoints;

use crate::answer_file;
use crate::device::Chosen;
use crate::facts;
use crate::instrument::Instrument;
use crate::options::without_effect;
use crate::options::{LayoutChoice, Method, RunArgs};
use crate::people::say;
use crate::progress::{RunBar, Watched, is_wanted};
use crate::records::{
    self, DetectionRecord, GraphFacts, Metadata, RankTimingRecord, ResultRecord, SCHEMA_VERSION, TimingRecord,
};
use crate::stdout::stdout_failed;
use checkpoints::Origin;
use clap::ArgMatches;
use clap::parser::ValueSource;
use framework::algorithm::{GraphAlgorithm, Record, Registration};
use framework::base::error::{Error, Result};
use framework::base::format::{bytes, counted, grouped};
use framework::base::id::Rank;
use framework::base::verdict::Verdict;
use framework::graph::{Graph, View};
use framework::protect::{Certified, CheckpointSet, Detection, Interval, Protection, Recovery, snapshot_bytes};
use framework::step::Layout;
use framework::trial::reload::Reload;
use framework::trial::{Placement, RankReport, Trial, TrialConfig, protected_trial};
use input::{load, reader};
use place::place;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs one algorithm as the options say.
///
/// # Errors
/// Whatever stops it; a wrong or unfinished answer is no error but exit code 1.
pub(crate) fn run<I: Instrument>(
    entry: &'static Registration,
    options: &RunArgs,
    matches: &ArgMatches,
    origin: &Origin<'_>,
) -> Result<ExitCode> {
    refuse_foreign_launcher()?;
    let make = || (entry.make)(matches).map_err(|error| Error::usage(error.to_string()));
    let mut algorithm = make()?;
    let protection = options.protection()?;
    let chosen = Chosen::of(&options.device, options.method, entry)?;
    let (place, method) = place(options, &chosen, protection.is_on)?;
    if options.layout == LayoutChoice::Rows && chosen.is_gpu() {
        return Err(Error::usage("--layout rows has no effect on cuda, which builds nothing else; leave it out"));
    }
    if options.layout == LayoutChoice::Rows && algorithm.layout() == Layout::Rows {
        return Err(Error::usage(format!(
            "--layout rows has no effect on {}, which asks for nothing else; leave it out",
            entry.name
        )));
    }
    if options.protection.checkpoint_dir.is_some() && options.warmup + options.trials > 1 {
        return Err(Error::usage("a folder for checkpoints holds one trial; leave --trials and --warmup out"));
    }
    let instrument = &I::open(matches, options.trials)?;
    let answer_form =
        options.output.as_deref().map(|path| answer_file::check(path, options.graph.as_deref())).transpose()?;

    let shows_bar = is_wanted(options.progress);
    let begin = Instant::now();
    let graph = load(options, algorithm.as_ref(), entry.name, shows_bar)?;
    let reading = begin.elapsed();
    algorithm.prepare(&graph)?;

    if protection.is_on || protection.certify {
        guardable(entry.name, algorithm.as_ref(), &protection)?;
    }
    if protection.certify {
        algorithm.enable_certificate_fields();
    }
    let algorithm = algorithm.as_ref();
    let mut protection = fitting(protection, algorithm, &graph);
    let mut resumable = None;
    if let Some(folder) = &options.protection.checkpoint_dir {
        let (checkpoints, found) = checkpoints::open(origin, folder, options.protection.checkpoint_interval, &graph)?;
        (protection.checkpoints, resumable) = (Some(checkpoints), found);
    }
    let reader = reader(options, algorithm)?;
    let read_again = move || {
        say("warning: the graph in memory is damaged; it is read again");
        reader()
    };
    let reload = Reload::from(&read_again);
    let run = Run {
        instrument,
        entry,
        options,
        algorithm,
        graph: &graph,
        chosen: &chosen,
        place,
        method,
        protection: &protection,
        resumable: resumable.as_ref(),
        reload: &reload,
    };
    let mut records = Records { out: std::io::stdout().lock() };
    let metadata = run.metadata();
    records.say("BENCHMARK_METADATA", &metadata)?;
    run.introduce(reading);
    let mut is_sound = true;
    for round in 0..options.warmup + options.trials {
        let done = run.trial(&make, shows_bar);
        chosen.say_notes();
        let done = done?;
        let Some(number) = round.checked_sub(options.warmup) else { continue };
        is_sound &= run.report(number, &done, &mut records)?;
        instrument.keep(&metadata, &done.ranks)?;
        let is_last = number + 1 == options.trials;
        if let (Some(path), Some(form), true, true) = (&options.output, answer_form, is_last, done.end.is_sound) {
            answer_file::write(path, form, &graph, &done.answer)?;
            say(&format!("answer   {} ({} rows)", path.display(), grouped(graph.vertices() as u64)));
        }
    }
    let weights = ["a", "b", "t"].into_iter().filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine));
    let weights: Vec<_> = weights.map(|id| format!("-{id}")).collect();
    if !weights.is_empty() && !protection.is_on {
        say(&format!("note     {} had no effect: the run was not protected", weights.join(", ")));
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Started by an MPI launcher, this program would be as many runs of one rank as there are processes.
fn refuse_foreign_launcher() -> Result<()> {
    for variable in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"] {
        let size = std::env::var(variable).ok().and_then(|size| size.parse::<u32>().ok());
        if let Some(size) = size.filter(|&size| size > 1) {
            return Err(Error::Environment(format!(
                "an MPI launcher started {size} processes ({variable}), but this build has no mpi transport; start one \
                 process and give --ranks {size}"
            )));
        }
    }
    Ok(())
}

/// Refuses protection that the plugin has nothing for.
fn guardable(name: &str, algorithm: &dyn GraphAlgorithm, protection: &Protection) -> Result<()> {
    match algorithm.protection() {
        None => Err(Error::usage(format!(
            "{name} has no rules for finding faults, so its runs can be neither protected nor certified"
        ))),
        Some(rules) if !protection.is_on && !rules.certifies() => {
            Err(Error::usage(format!("{name} has no certificate; leave --certify out")))
        }
        Some(_) => Ok(()),
    }
}

/// Says what snapshots cost; without room for them the start is the only older state.
fn fitting(protection: Protection, algorithm: &dyn GraphAlgorithm, graph: &Graph) -> Protection {
    if !protection.is_on || protection.snapshots == Interval::Every(0) {
        return protection;
    }
    let need = snapshot_bytes(&algorithm.fields(), graph.vertices());
    let room = facts::available_memory();
    say(&format!("snapshots {} at most (two of every field; ghosts come on top)", bytes(need)));
    if room.is_some_and(|room| need > room) {
        say(&format!(
            "warning: {} are free, so no snapshots are taken: a corrupt run starts over",
            bytes(room.unwrap_or_default())
        ));
        return Protection { snapshots: Interval::Every(0), ..protection };
    }
    protection
}

struct Run<'a, I> {
    instrument: &'a I,
    entry: &'static Registration,
    options: &'a RunArgs,
    algorithm: &'a dyn GraphAlgorithm,
    graph: &'a Graph,
    chosen: &'a Chosen,
    place: Placement<'a>,
    method: Method,
    protection: &'a Protection,
    resumable: Option<&'a CheckpointSet>,
    reload: &'a Reload<'a>,
}

impl<I: Instrument> Run<'_, I> {
    fn metadata(&self) -> Metadata {
        let facts = self.graph.facts();
        let ranks = self.place.ranks;
        Metadata {
            schema_version: SCHEMA_VERSION,
            product_version: env!("CARGO_PKG_VERSION").into(),
            git_commit: facts::git_commit(),
            git_dirty: facts::git_dirty(),
            source_sha256: facts::source_sha256(),
            build_profile: facts::build_profile().into(),
            instrumentation_profile: I::PROFILE.into(),
            algorithm: self.entry.name.into(),
            method: self.method.name().into(),
            parameters: self.parameters(),
            protection: self.protection_record(),
            dataset: self.graph.name().into(),
            graph: GraphFacts {
                vertices: self.graph.vertices() as u64,
                arcs: facts.arcs,
                duplicate_arcs: facts.duplicate_arcs,
                self_loops: facts.self_loops,
                directed: facts.directed,
            },
            ranks,
            threads: self.place.threads,
            transport: "local".into(),
            hostnames: vec![facts::hostname(); ranks],
            devices: (0..ranks).map(|rank| self.chosen.record(Rank(rank as u32), self.place.threads)).collect(),
            trials: self.options.trials,
            warmup: self.options.warmup,
        }
    }

    /// The algorithm's options, and those that changed what was read of the graph's file.
    fn parameters(&self) -> Record {
        let mut parameters = self.algorithm.parameters();
        if self.options.reading.trust_file {
            parameters.insert("trust_file".into(), true.into());
        }
        if self.options.reading.skip_lines > 0 {
            parameters.insert("skip_lines".into(), self.options.reading.skip_lines.into());
        }
        parameters
    }

    fn protection_record(&self) -> records::Protection {
        let &Protection { is_on, weights, budget, certify, recovery, snapshots, .. } = self.protection;
        records::Protection {
            enabled: is_on,
            a: weights.a,
            b: weights.b,
            t: weights.t,
            certify: (is_on || certify).then_some(certify),
            recovery: is_on.then(|| if recovery == Recovery::Off { "off" } else { "rollback" }.into()),
            snapshot_interval: match snapshots {
                Interval::Every(every) if is_on => Some(every),
                _ => None,
            },
            redundancy_budget: is_on.then_some(budget),
        }
    }

    fn trial(
        &self,
        make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
        shows_bar: bool,
    ) -> Result<Trial<I::Probe>> {
        let plan = TrialConfig {
            place: self.place,
            protection: self.protection,
            resumable: self.resumable,
            reload: Some(self.reload),
        };
        if !shows_bar {
            return protected_trial(self.graph, &plan, make, &|rank| self.instrument.probe(rank));
        }
        let bar = RunBar::start();
        let probe = |rank| bar.watch(self.instrument.probe(rank), rank == Rank(0));
        let watched: Trial<Watched<I::Probe>> = protected_trial(self.graph, &plan, make, &probe)?;
        let ranks = watched.ranks.into_iter();
        let ranks =
            ranks.map(|RankReport { timing, probe, costs }| RankReport { timing, probe: probe.inner, costs }).collect();
        Ok(Trial { end: watched.end, answer: watched.answer, ranks, detection: watched.detection })
    }

    /// Says what will run.
    fn introduce(&self, reading: Duration) {
        let facts = self.graph.facts();
        let direction = match (facts.directed, self.algorithm.view()) {
            (true, View::AsGiven { .. }) => "directed",
            (true, _) => "directed, used in both directions",
            (false, _) => "undirected",
        };
        say(&format!(
            "graph    {}: {} vertices, {} arcs, {direction}; read in {:.1} ms",
            self.graph.name(),
            grouped(self.graph.vertices() as u64),
            grouped(facts.arcs),
            reading.as_secs_f64() * 1e3,
        ));
        self.chosen.say_passed_over(self.options.verbose);
        say(&format!(
            "run      {} on {}, {} x {}, {}",
            self.entry.name,
            self.chosen.label(self.place.ranks),
            counted(self.place.ranks as u64, "rank"),
            counted(self.place.threads as u64, "thread"),
            self.method.name(),
        ));
    }

    /// Says the records of a trial; whether its answer is sound.
    fn report(&self, number: u32, done: &Trial<I::Probe>, records: &mut Records) -> Result<bool> {
        let again = self.reload.latest();
        let graph = again.as_deref().unwrap_or(self.graph);
        let verdict = self.options.verify.then(|| self.algorithm.verify(graph, &done.answer));
        let own = self.algorithm.result(graph, &done.answer, &done.end.last);
        let sentence = self.algorithm.sentence(graph, &own);
        records.say(
            "BENCHMARK_RESULT",
            &ResultRecord {
                trial: number,
                algorithm: self.entry.name.into(),
                iterations: done.end.iterations,
                converged: done.end.converged,
                result_hash: done.answer.hash(),
                check_sums: done.answer.check_sums(graph),
                verified: verdict.as_ref().map(Verdict::is_sound),
                own,
            },
        )?;
        if let Some(detection) = &done.detection {
            records.say("BENCHMARK_DETECTION", &DetectionRecord::new(number, detection))?;
        }
        let timings: Vec<_> = done.ranks.iter().map(|rank| rank.timing).collect();
        records.say("BENCHMARK_TIMING", &TimingRecord { trial: number, ranks: timings.clone() })?;
        if timings.len() > 1 {
            for (rank, timing) in timings.into_iter().enumerate() {
                let hostname = facts::hostname();
                let device = self.chosen.record(Rank(rank as u32), self.place.threads).kind;
                let record = RankTimingRecord { trial: number, rank: rank as u32, hostname, device, timing };
                records.say("BENCHMARK_RANK_TIMING", &record)?;
            }
        }
        if number == 0 {
            say(&format!("result   {sentence}"));
            self.costs(&done.ranks);
            say("trial    supersteps   main loop ms   set-up ms   end to end ms");
        }
        let slowest = |of: fn(&framework::driver::clock::Timing) -> Duration| {
            done.ranks.iter().map(|rank| of(&rank.timing)).max().unwrap_or_default().as_secs_f64() * 1e3
        };
        say(&format!(
            "{number:<8} {:>10}   {:>12.3}   {:>9.3}   {:>13.3}",
            done.end.iterations,
            slowest(|timing| timing.main_loop),
            slowest(|timing| timing.setup),
            slowest(|timing| timing.whole),
        ));
        if let Some(detection) = &done.detection {
            self.protected(number, detection);
        }
        if !done.end.is_sound {
            say(&format!(
                "FAILED   trial {number}: its state is corrupt and no try is left; the answer is not to be used"
            ));
            return Ok(false);
        }
        if !done.end.converged {
            say(&format!(
                "FAILED   trial {number} did not converge within {}",
                counted(done.end.iterations.into(), "superstep")
            ));
        }
        match verdict {
            Some(Verdict::Sound) => say(&format!("verified trial {number} equals the plain serial computation")),
            Some(Verdict::Corrupt(finding)) => {
                say(&format!("FAILED   trial {number}: {finding}"));
                return Ok(false);
            }
            None => {}
        }
        Ok(done.end.converged)
    }

    /// Says what protection found.
    fn protected(&self, number: u32, detection: &Detection) {
        for (index, finding) in &detection.evidence.findings {
            say(&format!("ALARM    trial {number}, superstep {index}: {finding}"));
        }
        if let Some(finding) = &detection.refuted {
            say(&format!("REFUTED  trial {number}: {finding}"));
        }
        if detection.recoveries > 0 {
            say(&format!(
                "restored trial {number}: {}, {} redone",
                counted(detection.recoveries.into(), "time"),
                counted(detection.iterations_redone, "superstep")
            ));
        }
        if number == 0 {
            let certificate = match detection.certificate {
                Certified::Held => "the certificate holds",
                Certified::Failed => "the certificate fails",
                Certified::NotRun => "no certificate",
            };
            let mut line = certificate.to_owned();
            if let (Certified::Held, Some(bound)) = (detection.certificate, detection.bound) {
                line += &format!(": the ranks are within {bound:.2e} of the true ones, in L1");
            }
            if self.protection.is_on {
                let (critical, covered) = (detection.evidence.critical, detection.evidence.covered);
                let idle = without_effect(detection.redundancy);
                line += &if idle.is_empty() {
                    format!("; {} of {} critical updates done again", grouped(covered), grouped(critical))
                } else {
                    let (idle, name) = (idle.join(", "), self.entry.name);
                    format!("; redundancy: none, nothing is scored ({idle} have no effect on {name})")
                };
                line += &format!(", {}", counted(detection.snapshots, "snapshot"));
            }
            if self.protection.is_on {
                line += &format!("; waited {} for a full queue of the checker", counted(detection.queue_waits, "time"));
            }
            say(&format!("guard    {line}"));
        }
    }

    fn costs(&self, ranks: &[RankReport<I::Probe>]) {
        let sum = |of: fn(&framework::trial::Costs) -> u64| ranks.iter().map(|rank| of(&rank.costs)).sum::<u64>();
        let rows = self.graph.bytes() as u64;
        let mut line =
            format!("memory   graph {}, fields {}", bytes(rows + sum(|c| c.part_bytes)), bytes(sum(|c| c.field_bytes)));
        if sum(|c| c.layout_bytes) > 0 {
            line += &format!(", tiles {}", bytes(sum(|c| c.layout_bytes)));
        }
        say(&line);
        if self.place.ranks > 1 {
            let mut line = format!(
                "ghosts   {} in all; exchange sent {} in {} messages",
                grouped(sum(|c| c.ghosts)),
                bytes(sum(|c| c.exchange_bytes)),
                grouped(sum(|c| c.exchange_messages)),
            );
            if let Some(carrier) = ranks.iter().find_map(|rank| rank.costs.carrier) {
                line += &format!(", {carrier}");
            }
            say(&line);
        }
    }
}

/// Stdout, which gets records and nothing else.
struct Records {
    out: std::io::StdoutLock<'static>,
}

impl Records {
    fn say(&mut self, tag: &str, record: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string(record).map_err(|error| stdout_failed(error.into()))?;
        writeln!(self.out, "{tag} {json}").and_then(|()| self.out.flush()).map_err(stdout_failed)
    }
}
