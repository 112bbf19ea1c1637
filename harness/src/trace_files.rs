//! The trace files of a rank: their names, rows and columns.
//!
//! This file is their schema, part of version 9. A change bumps the version, `docs/schemas.md` and the snapshots. Each column's
//! formula stands in `docs/schemas.md`.

use serde::{Deserialize, Serialize, Serializer};

/// Tells the profiling binary where its traces go, unless `--trace-dir` does.
pub const FOLDER_VARIABLE: &str = "GRAPHALG_PROFILE_OUTPUT_DIR";

/// `iteration_activity.rankNNNN.csv`: rows of [`ActivityRow`].
pub const ACTIVITY: File = File { stem: "iteration_activity", ending: "csv" };
/// `iteration_timings.rankNNNN.csv`: rows of [`TimingRow`].
pub const TIMINGS: File = File { stem: "iteration_timings", ending: "csv" };
/// `trace_summary.rankNNNN.json`: a [`Summary`].
pub const SUMMARY: File = File { stem: "trace_summary", ending: "json" };
/// `timeline.rankNNNN.json`: a Chrome trace.
pub const TIMELINE: File = File { stem: "timeline", ending: "json" };

/// One of the four files that each rank has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct File {
    stem: &'static str,
    ending: &'static str,
}

impl File {
    /// Its name for this rank.
    pub fn name(self, rank: u32) -> String {
        format!("{}.rank{rank:04}.{}", self.stem, self.ending)
    }
}

/// What one superstep of one rank worked on.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ActivityRow {
    /// The graph's name.
    pub dataset: String,
    /// The algorithm.
    pub algorithm: String,
    /// Ranks, device and protection in one word.
    pub method: String,
    /// `profiling`.
    pub instrumentation_profile: String,
    /// The rank.
    pub rank: u32,
    /// The superstep, from 0. One that was redone has a row for each time.
    pub iteration: u32,
    /// Vertices that the update could have worked on: the owned ones.
    pub work_vertices: u64,
    /// Vertices the rank owns, ghosts not counted.
    pub owned_vertices: u64,
    /// Of these, in the frontier that the update consumed.
    pub active_vertices: u64,
    /// Threads launched; on the cpu device one a vertex.
    pub launched_threads: u64,
    /// Threads launched beyond the vertices; on the cpu device 0.
    pub tail_threads: u64,
    /// `work_vertices` - `active_vertices`.
    pub inactive_valid_threads: u64,
    /// 100 * `inactive_valid_threads` / `work_vertices`; 0 for a rank without vertices.
    #[serde(serialize_with = "six_decimals")]
    pub reusable_idle_pct: f64,
    /// Vertices marked critical.
    pub critical_vertices: u64,
    /// Redundant updates assigned.
    pub redundant_tasks_assigned: u64,
}

/// How long one stage of one superstep of one rank took.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TimingRow {
    /// The graph's name.
    pub dataset: String,
    /// The algorithm.
    pub algorithm: String,
    /// Ranks, device and protection in one word.
    pub method: String,
    /// `profiling`.
    pub instrumentation_profile: String,
    /// The rank.
    pub rank: u32,
    /// The superstep, from 0. One that was redone has rows for each time.
    pub iteration: u32,
    /// The timing field that it is part of, without `_ms`.
    pub stage: String,
    /// What that field grew by in this superstep, in ms.
    #[serde(serialize_with = "six_decimals")]
    pub elapsed_ms: f64,
}

/// Whether a rank's trace is whole.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// 9.
    pub schema_version: u32,
    /// The rank.
    pub rank: u32,
    /// Supersteps completed, redone ones each time.
    pub completed_iterations: u64,
    /// Rows in the activity file. Whole: equal to `completed_iterations`.
    pub activity_rows: u64,
    /// Rows in the timings file.
    pub timing_rows: u64,
    /// Activity rows that were not kept. Whole: 0.
    pub dropped_activity_records: u64,
    /// Spans that were not kept. Whole: 0.
    pub dropped_timing_records: u64,
}

fn six_decimals<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:.6}"))
}
