//! An attempt: one command that was started, and everything known about it. One file in `raw/` each, never changed.

use super::stdout::Records;
use crate::durable;
use framework::base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use uuid::Uuid;

const SCHEMA: &str = "graphalg-attempt";
const SCHEMA_VERSION: u32 = 1;

/// `raw/<attempt_id>.json`.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attempt {
    /// `graphalg-attempt`.
    pub(crate) schema: String,
    /// 1.
    pub(crate) schema_version: u32,
    /// Names the attempt, its file and its trace folder.
    pub(crate) attempt_id: Uuid,
    /// Shared by all that one call of the runner started for one item.
    pub(crate) attempt_session_id: Option<Uuid>,
    /// Attempts of the run folder, in the order in which they were started, from 0.
    pub(crate) sequence: u64,
    /// Hash of the manifest it belongs to.
    pub(crate) manifest_sha256: String,
    /// The work item.
    pub(crate) item: usize,
    /// Place of the method in the manifest.
    pub(crate) method_index: usize,
    /// Its name.
    pub(crate) method: String,
    /// The algorithm.
    pub(crate) algorithm: String,
    /// The graph.
    pub(crate) dataset: String,
    /// `performance` or `profiling`.
    pub(crate) instrumentation_profile: String,
    /// What the attempt is for.
    pub(crate) phase: Phase,
    /// From 0, by phase.
    pub(crate) repeat: u32,
    /// The command.
    pub(crate) argv: Vec<String>,
    /// Its variables that matter.
    pub(crate) environment: BTreeMap<String, String>,
    /// When it was started.
    pub(crate) started_utc: String,
    /// When it had ended.
    pub(crate) ended_utc: String,
    /// Its exit status; null when a signal ended it.
    pub(crate) exit_status: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Whether it ran past the manifest's time and was killed.
    pub(crate) timed_out: bool,
    /// From before the start to after the end, seen from outside.
    pub(crate) process_wall_ms: f64,
    /// Everything it said on stdout.
    pub(crate) stdout: String,
    /// The end of what it said on stderr.
    pub(crate) stderr_end: String,
    /// What stdout says, parsed.
    pub(crate) records: Records,
    /// Its trace files.
    pub(crate) traces: Vec<TraceFile>,
    /// What the runner made of it.
    pub(crate) verdict: Verdict,
    /// Hash of this record with an empty seal: an edit by hand shows.
    pub(crate) seal: String,
}

/// What an attempt is for.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// To warm up; never evidence.
    Warmup,
    /// To measure.
    Measured,
}

impl Phase {
    /// As tables have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Warmup => "warmup",
            Phase::Measured => "measured",
        }
    }
}

/// A trace file in the attempt's folder.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceFile {
    pub(crate) file: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Whether an attempt is sound.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdict {
    pub(crate) status: Status,
    pub(crate) reasons: Vec<String>,
}

/// The short of a verdict. Only the collector disqualifies.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Ran and is what the manifest asked for.
    Success,
    /// Did not end well, or did not say what it should.
    Failed,
}

impl Attempt {
    /// The names of the schema.
    pub(crate) fn schema() -> (String, u32) {
        (SCHEMA.into(), SCHEMA_VERSION)
    }

    fn computed_seal(&self) -> Result<String> {
        let open = Attempt { seal: String::new(), ..self.clone() };
        let text = serde_json::to_string(&open).map_err(|error| Error::Environment(error.to_string()))?;
        Ok(durable::sha256(text.as_bytes()))
    }

    /// Seals it and writes it to its run folder.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn write(&mut self, run: &Path) -> Result<()> {
        self.seal = self.computed_seal()?;
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Environment(error.to_string()))? + "\n";
        durable::write_new(&raw(run).join(format!("{}.json", self.attempt_id)), text.as_bytes())
    }

    /// Whether nothing was changed since it was sealed.
    pub(crate) fn is_sealed(&self) -> bool {
        self.computed_seal().is_ok_and(|seal| seal == self.seal)
    }

    /// Where its traces are.
    pub(crate) fn trace_folder(run: &Path, id: Uuid) -> PathBuf {
        raw(run).join("profiling").join(id.to_string())
    }
}

/// The folder of attempts.
pub(crate) fn raw(run: &Path) -> PathBuf {
    run.join("raw")
}

/// A file of `raw/` that bears the name of an attempt.
pub(crate) struct Filed {
    /// From its name.
    pub(crate) id: Uuid,
    /// Its content, or why it has none.
    pub(crate) attempt: Result<Attempt, String>,
}

/// All attempts of a run folder, by the order in which they were started; unreadable ones last.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn read_all(run: &Path) -> Result<Vec<Filed>> {
    let folder = raw(run);
    let read = |source| Error::Read { path: folder.clone(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let Some(id) = Uuid::parse_str(&stem).ok().filter(|_| is_json) else { continue };
        found.push(Filed { id, attempt: read_one(&path, id) });
    }
    found.sort_by_key(|filed| (filed.attempt.as_ref().map_or(u64::MAX, |attempt| attempt.sequence), filed.id));
    Ok(found)
}

fn read_one(path: &Path, id: Uuid) -> Result<Attempt, String> {
    let text = fs::read(path).map_err(|error| format!("raw: the file cannot be read: {error}"))?;
    let attempt: Attempt =
        serde_json::from_slice(&text).map_err(|error| format!("raw: the file is no attempt record: {error}"))?;
    if (attempt.schema.as_str(), attempt.schema_version) != (SCHEMA, SCHEMA_VERSION) {
        return Err(format!("raw: the file is {} version {}", attempt.schema, attempt.schema_version));
    }
    if attempt.attempt_id != id {
        return Err(format!("raw: the file holds attempt {}", attempt.attempt_id));
    }
    Ok(attempt)
}
