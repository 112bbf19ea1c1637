//! The collected tables. The order of columns here is the schema; `docs/schemas.md` explains each.

use super::super::attempt::Attempt;
use super::super::manifest::Manifest;
use super::super::verdict::{fields, rank_records};
use super::judge::{Collected, Judged};
use crate::csv_table::Table;
use framework::driver::clock::FIELDS;
use serde_json::{Map, Value};

/// The columns with which every table starts, so that each row can be read alone.
const LEAD: [&str; 23] = [
    "schema_version",
    "record",
    "attempt_id",
    "attempt_session_id",
    "item",
    "phase",
    "repeat",
    "algorithm",
    "dataset",
    "method",
    "instrumentation_profile",
    "ranks",
    "source",
    "k",
    "damping",
    "tolerance",
    "a",
    "b",
    "t",
    "vertices",
    "arcs",
    "hostname",
    "visible_devices",
];

const OBSERVED: [&str; 21] = [
    "threads",
    "transport",
    "devices",
    "uuids",
    "drivers",
    "git_commit",
    "build_profile",
    "process_wall_ms",
    "iterations",
    "converged",
    "verified",
    "result_hash",
    "check_sums",
    "result",
    "dmr_count",
    "dmr_first_iteration",
    "monotonicity_count",
    "monotonicity_first_iteration",
    "trend_count",
    "trend_first_iteration",
    "certificate",
];

const DETECTED: [&str; 4] = ["redundancy", "covered_critical_pct", "recoveries", "iterations_redone"];

const ACTIVITY: [&str; 11] = [
    "rank",
    "iteration",
    "work_vertices",
    "owned_vertices",
    "active_vertices",
    "launched_threads",
    "tail_threads",
    "inactive_valid_threads",
    "reusable_idle_pct",
    "critical_vertices",
    "redundant_tasks_assigned",
];

/// Every table with its file name.
pub(crate) fn all(collected: &Collected) -> Vec<(&'static str, Table)> {
    let manifest = &collected.manifest;
    let attempts = || collected.judged.iter().filter_map(|judged| Some((judged, judged.attempt.as_ref()?)));
    let observed = |record: &'static str| {
        move |(judged, attempt): (&Judged, &Attempt)| observation(record, judged, attempt, manifest)
    };

    let mut attempt_rows = vec![[observation_header(), texts(&["selected", "reasons"])].concat()];
    for judged in &collected.judged {
        let mut row = match &judged.attempt {
            Some(attempt) => observation("attempt", judged, attempt, manifest),
            None => unreadable(judged),
        };
        row.extend([judged.selected.to_string(), judged.reasons.join("; ")]);
        attempt_rows.push(row);
    }

    let header = || vec![observation_header()];
    let observations =
        header().into_iter().chain(attempts().filter(|(judged, _)| judged.selected).map(observed("observation")));
    let measurements = header().into_iter().chain(collected.measured().map(observed("measurement")));

    let mut rank_timings = vec![[texts(&LEAD), texts(&["rank"]), texts(&FIELDS)].concat()];
    let mut activity = vec![[texts(&LEAD), texts(&ACTIVITY)].concat()];
    let mut timings = vec![[texts(&LEAD), texts(&["rank", "iteration", "stage", "elapsed_ms"])].concat()];
    for (judged, attempt) in collected.measured() {
        let Some(method) = manifest.methods.get(attempt.method_index) else { continue };
        for (rank, record) in rank_records(&attempt.records, method.ranks).into_iter().enumerate() {
            let Ok(values) = fields(record) else { continue };
            let mut row = lead("rank_timing", judged, attempt, manifest);
            row.push(rank.to_string());
            row.extend(values.iter().map(|value| format!("{value:.4}")));
            rank_timings.push(row);
        }
        for read in &judged.traces.activity {
            let mut row = lead("iteration_activity", judged, attempt, manifest);
            let counts = [read.work_vertices, read.owned_vertices, read.active_vertices];
            row.extend([read.rank.to_string(), read.iteration.to_string()]);
            row.extend(counts.map(|count| count.to_string()));
            let threads = [read.launched_threads, read.tail_threads, read.inactive_valid_threads];
            row.extend(threads.map(|count| count.to_string()));
            row.push(format!("{:.6}", read.reusable_idle_pct));
            row.extend([read.critical_vertices, read.redundant_tasks_assigned].map(|count| count.to_string()));
            activity.push(row);
        }
        for read in &judged.traces.timings {
            let mut row = lead("iteration_timing", judged, attempt, manifest);
            row.extend([
                read.rank.to_string(),
                read.iteration.to_string(),
                read.stage.clone(),
                format!("{:.6}", read.elapsed_ms),
            ]);
            timings.push(row);
        }
    }
    vec![
        ("observations.csv", observations.collect()),
        ("attempts.csv", attempt_rows),
        ("successful_measurements.csv", measurements.collect()),
        ("rank_timings.csv", rank_timings),
        ("iteration_activity.csv", activity),
        ("iteration_timings.csv", timings),
    ]
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn observation_header() -> Vec<String> {
    let mut header = [texts(&LEAD), texts(&OBSERVED), texts(&DETECTED)].concat();
    for field in FIELDS {
        let name = field.trim_end_matches("_ms");
        header.extend([format!("{name}_max_ms"), format!("{name}_mean_ms")]);
    }
    header.push("status".into());
    header
}

/// A value as a cell: null is empty, text is bare, the rest is JSON.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn lead(record: &str, judged: &Judged, attempt: &Attempt, manifest: &Manifest) -> Vec<String> {
    let empty = Map::new();
    let metadata = attempt.records.metadata.as_ref().unwrap_or(&empty);
    let of = |object: &str, key: &str| cell(metadata.get(object).and_then(|object| object.get(key)));
    let ranks = manifest.methods.get(attempt.method_index).map(|method| method.ranks.to_string());
    let session = attempt.attempt_session_id.map(|id| id.to_string());
    vec![
        crate::records::SCHEMA_VERSION.to_string(),
        record.to_owned(),
        judged.id.to_string(),
        session.unwrap_or_default(),
        attempt.item.to_string(),
        attempt.phase.name().to_owned(),
        attempt.repeat.to_string(),
        attempt.algorithm.clone(),
        attempt.dataset.clone(),
        attempt.method.clone(),
        attempt.instrumentation_profile.clone(),
        ranks.unwrap_or_default(),
        of("parameters", "source"),
        of("parameters", "k"),
        of("parameters", "damping"),
        of("parameters", "tolerance"),
        of("protection", "a"),
        of("protection", "b"),
        of("protection", "t"),
        of("graph", "vertices"),
        of("graph", "arcs"),
        distinct(metadata.get("hostnames"), None),
        attempt.environment.get("CUDA_VISIBLE_DEVICES").cloned().unwrap_or_default(),
    ]
}

/// The different texts of a list, or of a key of its objects, in the order in which they come.
fn distinct(list: Option<&Value>, key: Option<&str>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for value in list.and_then(Value::as_array).into_iter().flatten() {
        let text = cell(match key {
            Some(key) => value.get(key),
            None => Some(value),
        });
        if !text.is_empty() && !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.join(";")
}

fn observation(record: &str, judged: &Judged, attempt: &Attempt, manifest: &Manifest) -> Vec<String> {
    let mut row = lead(record, judged, attempt, manifest);
    let empty = Map::new();
    let metadata = attempt.records.metadata.as_ref().unwrap_or(&empty);
    let result = attempt.records.result.as_ref().unwrap_or(&empty);
    let detection = attempt.records.detection.as_ref().unwrap_or(&empty);
    let common = ["trial", "algorithm", "iterations", "converged", "result_hash", "check_sums", "verified"];
    let own: Map<String, Value> = result
        .iter()
        .filter(|(key, _)| !common.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for name in OBSERVED {
        row.push(match name {
            "devices" => distinct(metadata.get("devices"), Some("name")),
            "uuids" => distinct(metadata.get("devices"), Some("uuid")),
            "drivers" => distinct(metadata.get("devices"), Some("driver")),
            "threads" | "transport" | "git_commit" | "build_profile" => cell(metadata.get(name)),
            "process_wall_ms" => format!("{:.4}", attempt.process_wall_ms),
            "iterations" | "converged" | "verified" | "result_hash" | "check_sums" => cell(result.get(name)),
            "result" if own.is_empty() => String::new(),
            "result" => Value::Object(own.clone()).to_string(),
            _ => cell(detection.get(name)),
        });
    }
    row.extend(DETECTED.map(|name| cell(detection.get(name))));
    let timing = attempt.records.timing.as_ref().unwrap_or(&empty);
    for field in FIELDS {
        let name = field.trim_end_matches("_ms");
        for kind in ["max", "mean"] {
            // Of one rank maximum, mean and value are the same.
            let value = timing.get(&format!("rank_{name}_{kind}_ms")).or_else(|| timing.get(field));
            row.push(value.and_then(Value::as_f64).map(|ms| format!("{ms:.4}")).unwrap_or_default());
        }
    }
    row.push(judged.standing.name().to_owned());
    row
}

fn unreadable(judged: &Judged) -> Vec<String> {
    let mut row = vec![String::new(); observation_header().len()];
    row[0] = crate::records::SCHEMA_VERSION.to_string();
    row[1] = "attempt".into();
    row[2] = judged.id.to_string();
    if let Some(status) = row.last_mut() {
        *status = judged.standing.name().to_owned();
    }
    row
}
