//! Runs the attempts of a manifest: methods alternate within a repeat, and a group that is not whole is run again whole.

use super::attempt::{self, Attempt, Phase, Status, Verdict};
use super::collect::{Collected, Standing};
use super::manifest::{self, FrozenMethod, Item, Manifest, now_utc};
use super::plan::Plan;
use super::process::{self, Outcome};
use super::{stdout, traces, verdict};
use crate::durable;
use crate::measured::{self, Profile};
use crate::people::say;
use crate::trace_files::FOLDER_VARIABLE;
use clap::{Args, ValueHint};
use framework::algorithm::Registry;
use framework::base::error::{Error, Result};
use framework::base::format::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use uuid::Uuid;

/// Bytes kept of the end of stderr.
const STDERR_KEPT: usize = 8 * 1024;

/// Options of `experiment run`.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunPlan {
    /// The plan file (docs/experiments.md has one to copy)
    #[arg(value_name = "PLAN.toml", value_hint = ValueHint::FilePath)]
    plan: PathBuf,
    /// The folder for everything that this run writes
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: PathBuf,
    /// Continue in a run folder: run the measurements that are missing
    #[arg(long)]
    resume: bool,
    /// With --resume: also repeat every group of measurements in which an attempt failed
    #[arg(long, requires = "resume")]
    retry_failed: bool,
    /// Check the plan and print the commands, without running them
    #[arg(long)]
    dry_run: bool,
    /// The folder of harness_performance and harness_profiling [default: the folder of this program]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    bin_dir: Option<PathBuf>,
    /// Accept a debug build or a dirty tree; the run is marked as no evidence
    #[arg(long)]
    allow_debug: bool,
}

impl RunPlan {
    /// Runs it.
    ///
    /// # Errors
    /// When the plan, the run folder or the machine is not fit. A failed attempt is no error but exit code 1.
    pub(crate) fn run(&self, registry: &Registry) -> Result<ExitCode> {
        let checked = Plan::read(&self.plan, registry)?;
        let binary = measured::find_binary(checked.plan.profile, self.bin_dir.as_deref())?;
        let fresh = Manifest::freeze(&checked, &binary)?;
        if !fresh.is_evidence {
            let why =
                if fresh.build.build_profile == "release" { "built from a dirty tree" } else { "no release build" };
            if !self.allow_debug {
                return Err(Error::usage(format!(
                    "{} is {why}, so its times are no evidence; commit and build with `cargo build --release --bins`, or \
                     give --allow-debug to run all the same",
                    binary.display()
                )));
            }
            say(&format!("warning: {} is {why}; this run is marked as no evidence", binary.display()));
        }
        let is_there = self.output.join(manifest::FILE).exists();
        if is_there && !self.resume {
            return Err(Error::usage(format!(
                "{} holds a run; give --resume to go on with it, or another --output",
                self.output.display()
            )));
        }
        if self.dry_run {
            self.say_plan(&fresh, &binary);
            return Ok(ExitCode::SUCCESS);
        }
        checked.probe_gpus()?;
        for folder in [attempt::raw(&self.output), attempt::raw(&self.output).join("profiling")] {
            durable::folder(&folder)?;
        }
        let _lock = lock(&self.output)?;
        durable::sweep(&self.output);
        durable::sweep(&attempt::raw(&self.output));
        let (manifest, manifest_sha256) = if is_there {
            let (frozen, sha256) = Manifest::read(&self.output)?;
            refuse_other(&frozen, &fresh, &self.output)?;
            (frozen, sha256)
        } else {
            let sha256 = fresh.write(&self.output)?;
            (fresh, sha256)
        };
        let run = Run {
            folder: fs::canonicalize(&self.output)
                .map_err(|source| Error::Read { path: self.output.clone(), source })?,
            stamp: Stamp::of(&binary)?,
            binary,
            manifest,
            manifest_sha256,
            retry_failed: self.retry_failed,
        };
        run.all()
    }

    fn say_plan(&self, manifest: &Manifest, binary: &Path) {
        say(&format!(
            "plan     {}: {} x ({} x {} + {} to warm up) = {} measured calls of {}",
            manifest.name,
            counted(manifest.planned_items as u64, "item"),
            counted(manifest.methods.len() as u64, "method"),
            counted(manifest.repeats.into(), "repeat"),
            manifest.warmups,
            manifest.planned_calls,
            binary.display(),
        ));
        for item in &manifest.items {
            for method in &manifest.methods {
                say(&format!(
                    "item {:<4} {} {}",
                    item.item,
                    manifest.binary.name,
                    manifest.argv(item, method).join(" ")
                ));
            }
        }
    }
}

/// One runner a run folder.
fn lock(run: &Path) -> Result<File> {
    let path = run.join("runner.lock");
    let write = |source| Error::Write { path: path.clone(), source };
    let file = File::create(&path).map_err(write)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Environment(format!(
            "{}: another runner works on this run folder; wait for it, or end it",
            path.display()
        ))),
        Err(TryLockError::Error(source)) => Err(write(source)),
    }
}

fn refuse_other(frozen: &Manifest, fresh: &Manifest, run: &Path) -> Result<()> {
    let mut wrong = frozen.inconsistencies();
    wrong.extend(frozen.differences(fresh));
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Error::Format {
        path: run.join(manifest::FILE),
        problem: format!(
            "the run folder was made for something else, and a manifest is never rewritten; take another --output. {}",
            wrong.join("; ")
        ),
    })
}

/// Tells whether a binary is still the file that was hashed.
#[derive(PartialEq, Eq)]
struct Stamp(u64, u64, i64, i64);

impl Stamp {
    fn of(path: &Path) -> Result<Stamp> {
        let facts = fs::metadata(path).map_err(|source| Error::Read { path: path.into(), source })?;
        Ok(Stamp(facts.ino(), facts.len(), facts.mtime(), facts.mtime_nsec()))
    }
}

struct Run {
    folder: PathBuf,
    binary: PathBuf,
    stamp: Stamp,
    manifest: Manifest,
    manifest_sha256: String,
    retry_failed: bool,
}

impl Run {
    fn all(&self) -> Result<ExitCode> {
        let (attempts, sound) = self.on_file()?;
        let mut sequence = attempts.iter().map(|attempt| attempt.sequence + 1).max().unwrap_or_default();
        let (mut started, mut failed) = (0, 0);
        for item in &self.manifest.items {
            let due: Vec<u32> = (0..self.manifest.repeats)
                .filter(|&repeat| self.is_due(&attempts, &sound, item.item, repeat))
                .collect();
            if due.is_empty() {
                continue;
            }
            let session = Uuid::new_v4();
            let warmups = (0..self.manifest.warmups).map(|repeat| (Phase::Warmup, repeat));
            for (phase, repeat) in warmups.chain(due.into_iter().map(|repeat| (Phase::Measured, repeat))) {
                for (place, method) in self.manifest.methods.iter().enumerate() {
                    let mut attempt = self.attempt(item, place, phase, repeat, session, sequence)?;
                    attempt.write(&self.folder)?;
                    (sequence, started) = (sequence + 1, started + 1);
                    failed += usize::from(attempt.verdict.status == Status::Failed);
                    self.say(&attempt, method);
                }
            }
        }
        // The groups decide, not this call alone: a run that was resumed and is whole has no failures left.
        let (attempts, sound) = self.on_file()?;
        let newest_failed = self.newest(&attempts).filter(|attempt| !sound.contains(&attempt.attempt_id)).count();
        say(&format!(
            "run      {}: {} started, {failed} failed; {} on file",
            self.folder.display(),
            counted(started, "attempt"),
            attempts.len()
        ));
        if newest_failed > 0 {
            say(&format!(
                "FAILED   the newest attempt of {newest_failed} measured calls is not sound; --resume --retry-failed runs their groups again"
            ));
        }
        Ok(if failed + newest_failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    /// The attempts on file, and which of them the collector finds sound.
    fn on_file(&self) -> Result<(Vec<Attempt>, BTreeSet<Uuid>)> {
        let collected = Collected::read(&self.folder)?;
        let (mut attempts, mut sound) = (Vec::new(), BTreeSet::new());
        for judged in collected.judged {
            if judged.standing == Standing::Success {
                sound.insert(judged.id);
            }
            match judged.attempt {
                Some(attempt) => attempts.push(attempt),
                None => {
                    say(&format!("warning: attempt {}: {}; it counts as missing", judged.id, judged.reasons.join("; ")))
                }
            }
        }
        Ok((attempts, sound))
    }

    /// The newest attempt of every measured call.
    fn newest<'a>(&self, attempts: &'a [Attempt]) -> impl Iterator<Item = &'a Attempt> {
        let mut newest = BTreeMap::new();
        for attempt in attempts.iter().filter(|attempt| attempt.phase == Phase::Measured) {
            newest.insert((attempt.item, attempt.repeat, attempt.method_index), attempt);
        }
        newest.into_values()
    }

    /// Whether a measured repeat has to be run (again): a method is missing, sessions are missing or mixed, or, when asked, one is not sound.
    fn is_due(&self, attempts: &[Attempt], sound: &BTreeSet<Uuid>, item: usize, repeat: u32) -> bool {
        let of_group: Vec<&Attempt> =
            self.newest(attempts).filter(|attempt| (attempt.item, attempt.repeat) == (item, repeat)).collect();
        let session = of_group.first().and_then(|attempt| attempt.attempt_session_id);
        of_group.len() != self.manifest.methods.len()
            || session.is_none()
            || of_group.iter().any(|attempt| {
                attempt.attempt_session_id != session
                    || !attempt.is_sealed()
                    || attempt.manifest_sha256 != self.manifest_sha256
                    || self.retry_failed && !sound.contains(&attempt.attempt_id)
            })
    }

    fn attempt(
        &self,
        item: &Item,
        method_index: usize,
        phase: Phase,
        repeat: u32,
        session: Uuid,
        sequence: u64,
    ) -> Result<Attempt> {
        if Stamp::of(&self.binary)? != self.stamp {
            return Err(Error::Environment(format!(
                "{} was changed while the run went on; build the manifest's commit again, or start another run folder",
                self.binary.display()
            )));
        }
        let method = &self.manifest.methods[method_index];
        let id = Uuid::new_v4();
        let mut argv = vec![self.binary.to_string_lossy().into_owned()];
        argv.extend(self.manifest.argv(item, method));
        let mut environment = self.manifest.environment.clone();
        let is_traced = self.manifest.instrumentation_profile == Profile::Profiling;
        let trace_folder = Attempt::trace_folder(&self.folder, id);
        if is_traced {
            durable::folder(&trace_folder)?;
            environment.insert(FOLDER_VARIABLE.into(), trace_folder.to_string_lossy().into_owned());
        }
        let started_utc = now_utc();
        let timeout = Duration::from_secs_f64(self.manifest.timeout_s);
        let outcome = process::run(&argv, &environment, timeout, &attempt::raw(&self.folder))?;
        let Outcome { exit_status, signal, timed_out, wall, stdout: out, stderr } = outcome;
        let out = String::from_utf8_lossy(&out).into_owned();
        let (schema, schema_version) = Attempt::schema();
        let mut attempt = Attempt {
            schema,
            schema_version,
            attempt_id: id,
            attempt_session_id: Some(session),
            sequence,
            manifest_sha256: self.manifest_sha256.clone(),
            item: item.item,
            method_index,
            method: method.name.clone(),
            algorithm: self.manifest.algorithms[item.algorithm].name.clone(),
            dataset: self.manifest.datasets[item.dataset].name.clone(),
            instrumentation_profile: self.manifest.instrumentation_profile.name().into(),
            phase,
            repeat,
            argv,
            environment,
            started_utc,
            ended_utc: now_utc(),
            exit_status,
            signal,
            timed_out,
            process_wall_ms: (wall.as_secs_f64() * 1e7).round() / 1e4,
            records: stdout::parse(&out).0,
            stdout: out,
            stderr_end: stdout::end_of(&stderr, STDERR_KEPT),
            traces: Vec::new(),
            verdict: Verdict { status: Status::Success, reasons: Vec::new() },
            seal: String::new(),
        };
        let mut reasons = verdict::reasons(&attempt, &self.manifest);
        if is_traced {
            attempt.traces = traces::inventory(&trace_folder)?;
            reasons.extend(traces::read(&trace_folder, &attempt, method).1);
        }
        let status = if reasons.is_empty() { Status::Success } else { Status::Failed };
        attempt.verdict = Verdict { status, reasons };
        Ok(attempt)
    }

    fn say(&self, attempt: &Attempt, method: &FrozenMethod) {
        let what = format!(
            "{} {} {} x{} {} {}",
            attempt.algorithm,
            attempt.dataset,
            attempt.method,
            method.ranks,
            attempt.phase.name(),
            attempt.repeat
        );
        match attempt.verdict.status {
            Status::Success => say(&format!("ok       {what}: {:.1} ms", attempt.process_wall_ms)),
            Status::Failed => say(&format!("FAILED   {what}: {}", attempt.verdict.reasons.join("; "))),
        }
    }
}
