//! The trace files of a profiling attempt: their hashes, and whether they hold what the records say.

use super::attempt::{Attempt, TraceFile};
use super::manifest::FrozenMethod;
use super::verdict::{fields, rank_records};
use crate::durable;
use crate::trace_files::{ACTIVITY, ActivityRow, SUMMARY, Summary, TIMELINE, TIMINGS, TimingRow};
use framework::base::error::{Error, Result};
use framework::driver::clock::FIELDS;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Times have six decimals in traces and four in records.
const SLACK_MS: f64 = 0.001;

/// All rows of an attempt, by rank.
#[derive(Default)]
pub(crate) struct Traces {
    pub(crate) activity: Vec<ActivityRow>,
    pub(crate) timings: Vec<TimingRow>,
}

/// The files that a rank writes.
fn names(rank: u32) -> [String; 4] {
    [ACTIVITY, TIMINGS, SUMMARY, TIMELINE].map(|file| file.name(rank))
}

/// Size and hash of every file in a trace folder, by name.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn inventory(folder: &Path) -> Result<Vec<TraceFile>> {
    let read = |source| Error::Read { path: folder.into(), source };
    let mut files = Vec::new();
    if !folder.exists() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (sha256, bytes) = durable::sha256_of(&entry.path())?;
        files.push(TraceFile { file: entry.file_name().to_string_lossy().into_owned(), bytes, sha256 });
    }
    files.sort();
    Ok(files)
}

/// What differs between the files there and those of the record.
pub(crate) fn differences(recorded: &[TraceFile], found: &[TraceFile]) -> Vec<String> {
    let files: BTreeSet<&str> = recorded.iter().chain(found).map(|file| file.file.as_str()).collect();
    let of = |list: &[TraceFile], name: &str| list.iter().find(|file| file.file == name).cloned();
    files
        .into_iter()
        .filter_map(|name| match (of(recorded, name), of(found, name)) {
            (Some(recorded), Some(found)) if recorded == found => None,
            (Some(recorded), Some(found)) => Some(format!(
                "traces: {name} was changed (SHA-256 {}..., {} bytes; recorded {}..., {} bytes)",
                &found.sha256[..12],
                found.bytes,
                &recorded.sha256[..recorded.sha256.len().min(12)],
                recorded.bytes
            )),
            (Some(_), None) => Some(format!("traces: {name} is gone")),
            (None, _) => Some(format!("traces: {name} was added")),
        })
        .collect()
}

/// Reads the traces of an attempt and holds them against its records; what is wrong comes second.
pub(crate) fn read(folder: &Path, attempt: &Attempt, method: &FrozenMethod) -> (Traces, Vec<String>) {
    let (mut traces, mut wrong) = (Traces::default(), Vec::new());
    let expected: BTreeSet<String> = (0..method.ranks).flat_map(names).collect();
    let found: BTreeSet<String> = inventory(folder).unwrap_or_default().into_iter().map(|file| file.file).collect();
    for name in expected.difference(&found) {
        wrong.push(format!("traces: {name} is missing"));
    }
    for name in found.difference(&expected) {
        wrong.push(format!("traces: {name} belongs to no rank of this attempt"));
    }
    if !wrong.is_empty() {
        return (traces, wrong);
    }
    let iterations =
        attempt.records.result.as_ref().and_then(|result| result.get("iterations")).and_then(Value::as_u64);
    let records = rank_records(&attempt.records, method.ranks);
    for rank in 0..method.ranks {
        let [activity, timings, summary, timeline] = names(rank).map(|name| folder.join(name));
        let mut read = || -> Result<(), String> {
            let rank_rows = rows::<ActivityRow>(&activity)?;
            let timing_rows = rows::<TimingRow>(&timings)?;
            let summary: Summary = json(&summary)?;
            json::<Value>(&timeline)?;
            for row in &rank_rows {
                let identity = [&row.dataset, &row.algorithm, &row.method, &row.instrumentation_profile];
                check_identity(identity, row.rank, rank, attempt)?;
                check_activity(row)?;
            }
            for row in &timing_rows {
                let identity = [&row.dataset, &row.algorithm, &row.method, &row.instrumentation_profile];
                check_identity(identity, row.rank, rank, attempt)?;
            }
            check_summary(&summary, rank, &rank_rows, timing_rows.len())?;
            let accepted = rank_rows.iter().map(|row| row.iteration).collect::<BTreeSet<_>>().len() as u64;
            if iterations != Some(accepted) {
                return Err(format!("{accepted} iterations, but the result has {iterations:?}"));
            }
            let record = records.get(rank as usize).ok_or("there is no timing record of it")?;
            check_sums(&timing_rows, record)?;
            traces.activity.extend(rank_rows);
            traces.timings.extend(timing_rows);
            Ok(())
        };
        if let Err(problem) = read() {
            wrong.push(format!("traces of rank {rank}: {problem}"));
        }
    }
    (traces, wrong)
}

fn rows<T: for<'a> Deserialize<'a>>(path: &PathBuf) -> Result<Vec<T>, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut reader = csv::Reader::from_path(path).map_err(|error| format!("{name}: {error}"))?;
    reader.deserialize().collect::<Result<_, _>>().map_err(|error| format!("{name}: {error}"))
}

fn json<T: for<'a> Deserialize<'a>>(path: &PathBuf) -> Result<T, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("{name}: {error}"))
}

fn check_identity(identity: [&String; 4], found: u32, rank: u32, attempt: &Attempt) -> Result<(), String> {
    let expected = [&attempt.dataset, &attempt.algorithm, &attempt.method, &attempt.instrumentation_profile];
    if identity != expected || found != rank {
        return Err(format!("a row is of {identity:?} rank {found}, not of {expected:?} rank {rank}"));
    }
    Ok(())
}

fn check_activity(row: &ActivityRow) -> Result<(), String> {
    let at = row.iteration;
    if row.active_vertices > row.work_vertices || row.inactive_valid_threads != row.work_vertices - row.active_vertices
    {
        return Err(format!("iteration {at}: inactive_valid_threads is not work_vertices - active_vertices"));
    }
    let idle =
        if row.work_vertices == 0 { 0.0 } else { row.inactive_valid_threads as f64 / row.work_vertices as f64 * 100.0 };
    let said = row.reusable_idle_pct;
    if (said - idle).abs() > 0.001 {
        return Err(format!("iteration {at}: reusable_idle_pct is {said}, but the counts give {idle:.4}"));
    }
    // Where every vertex is active nothing is idle, and the arcs that the budget allows are the capacity (`redundancy: budget`).
    let is_by_budget = row.work_vertices > 0 && row.active_vertices == row.work_vertices;
    let idle = if is_by_budget { u64::MAX } else { row.inactive_valid_threads + row.tail_threads };
    if row.redundant_tasks_assigned > row.critical_vertices || row.redundant_tasks_assigned > idle {
        return Err(format!("iteration {at}: more redundant tasks than critical vertices or idle threads"));
    }
    Ok(())
}

/// Rows against the summary: as many as it counted, one for each completed iteration, none dropped.
fn check_summary(summary: &Summary, rank: u32, activity: &[ActivityRow], timings: usize) -> Result<(), String> {
    let version = crate::records::SCHEMA_VERSION;
    for (what, found, expected) in [
        ("schema_version", u64::from(summary.schema_version), u64::from(version)),
        ("rank", u64::from(summary.rank), u64::from(rank)),
        ("completed_iterations", summary.completed_iterations, activity.len() as u64),
        ("activity_rows", summary.activity_rows, activity.len() as u64),
        ("timing_rows", summary.timing_rows, timings as u64),
    ] {
        if found != expected {
            return Err(format!("the summary's {what} is {found}, but it should be {expected}"));
        }
    }
    for (what, dropped) in [
        ("dropped_activity_records", summary.dropped_activity_records),
        ("dropped_timing_records", summary.dropped_timing_records),
    ] {
        if dropped != 0 {
            return Err(format!("{what} is {dropped}: dropped records are never padded"));
        }
    }
    Ok(())
}

/// The field into which a stage accumulates.
fn field_of(stage: &str) -> Option<&'static str> {
    Some(match stage {
        "graph_update" => "graph_update_ms",
        "tolerance_graph_update" => "tolerance_graph_update_ms",
        "score_and_mark" | "score_and_mark_convergence_probe" => "score_and_mark_ms",
        "tolerance_gpu_bookkeeping" => "tolerance_gpu_bookkeeping_ms",
        "d2h_summary" => "d2h_summary_ms",
        "cpu_validation" => "cpu_validation_ms",
        "checker_end_to_end" => "checker_end_to_end_ms",
        "nccl_exchange" => "nccl_exchange_ms",
        "mpi_sync" => "mpi_sync_ms",
        _ => return None,
    })
}

/// A rank's column sums are its record's fields.
fn check_sums(rows: &[TimingRow], record: &Map<String, Value>) -> Result<(), String> {
    let expected = fields(record)?;
    let mut sums = [0.0; 24];
    let mut touched = BTreeSet::new();
    for row in rows {
        let field = field_of(&row.stage).ok_or_else(|| format!("`{}` is no stage", row.stage))?;
        let place = FIELDS.iter().position(|name| *name == field).unwrap_or_default();
        let ms = row.elapsed_ms;
        if !ms.is_finite() || ms < 0.0 {
            return Err(format!("elapsed_ms {ms} is no time"));
        }
        sums[place] += ms;
        touched.insert(place);
    }
    for place in (3..13).filter(|place| FIELDS[*place] != "cpu_check_drain_ms") {
        if (sums[place] - expected[place]).abs() > SLACK_MS && (touched.contains(&place) || expected[place] != 0.0) {
            return Err(format!(
                "the sum of {} is {:.6}, but the record has {:.4}",
                FIELDS[place], sums[place], expected[place]
            ));
        }
    }
    Ok(())
}
