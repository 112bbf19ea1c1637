//! The four files of a rank.

use super::recorder::{Recorder, Superstep};
use super::{stage, timeline};
use crate::records::{Metadata, SCHEMA_VERSION};
use crate::trace_files::{ACTIVITY, ActivityRow, SUMMARY, Summary, TIMELINE, TIMINGS, TimingRow};
use crate::whole_file;
use framework::base::error::Result;
use framework::base::probe::Stage;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Writes them. The summary comes last: where it is, the others are whole.
///
/// # Errors
/// When one cannot be written.
pub(super) fn write(folder: &Path, run: &Metadata, rank: u32, is_multi: bool, recorder: &Recorder) -> Result<()> {
    let activity = activity_rows(run, rank, recorder);
    let timings = timing_rows(run, rank, is_multi, recorder);
    let (dropped_activity_records, dropped_timing_records) = recorder.dropped();
    let summary = Summary {
        schema_version: SCHEMA_VERSION,
        rank,
        completed_iterations: recorder.completed(),
        activity_rows: activity.len() as u64,
        timing_rows: timings.len() as u64,
        dropped_activity_records,
        dropped_timing_records,
    };
    whole_file::write(&folder.join(ACTIVITY.name(rank)), |out| csv(out, &activity))?;
    whole_file::write(&folder.join(TIMINGS.name(rank)), |out| csv(out, &timings))?;
    whole_file::write(&folder.join(TIMELINE.name(rank)), |out| timeline::write(out, run, rank, is_multi, recorder))?;
    whole_file::write(&folder.join(SUMMARY.name(rank)), |out| {
        serde_json::to_writer_pretty(&mut *out, &summary)?;
        writeln!(out)
    })
}

fn csv<R: Serialize>(out: impl Write, rows: &[R]) -> io::Result<()> {
    let mut writer = ::csv::Writer::from_writer(out);
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    writer.flush()
}

/// Threads of a block on a GPU, as kernels/machine.cuh has it.
const BLOCK: u64 = 256;

fn activity_rows(run: &Metadata, rank: u32, recorder: &Recorder) -> Vec<ActivityRow> {
    // On a GPU vertices are dealt to whole blocks of threads.
    let is_gpu = run.devices.get(rank as usize).is_some_and(|device| device.kind != "cpu");
    let launched = |work: u64| if is_gpu { work.next_multiple_of(BLOCK) } else { work };
    let row = |(superstep, _): (Superstep, _)| {
        let (owned, active) = (superstep.activity.owned, superstep.activity.active);
        let inactive = owned - active;
        ActivityRow {
            dataset: run.dataset.clone(),
            algorithm: run.algorithm.clone(),
            method: run.method.clone(),
            instrumentation_profile: run.instrumentation_profile.clone(),
            rank,
            iteration: superstep.iteration,
            work_vertices: owned,
            owned_vertices: owned,
            active_vertices: active,
            launched_threads: launched(owned),
            tail_threads: launched(owned) - owned,
            inactive_valid_threads: inactive,
            reusable_idle_pct: 100.0 * inactive as f64 / owned.max(1) as f64,
            critical_vertices: superstep.activity.critical,
            redundant_tasks_assigned: superstep.activity.assigned,
        }
    };
    recorder.supersteps(&[]).map(row).collect()
}

/// The stages of the loop, without and with protection.
const PLAIN: [Stage; 3] = [Stage::GraphUpdate, Stage::Exchange, Stage::Agree];
const GUARDED: [Stage; 8] = [
    Stage::ToleranceUpdate,
    Stage::ScoreAndMark,
    Stage::Bookkeeping,
    Stage::Validation,
    Stage::Verdict,
    Stage::Exchange,
    Stage::Agree,
    Stage::SummaryCopy,
];
/// A stage that there is never: marks are made where an update consumes them.
const NEVER: &str = "score_and_mark_convergence_probe";

fn timing_rows(run: &Metadata, rank: u32, is_multi: bool, recorder: &Recorder) -> Vec<TimingRow> {
    let mut rows = Vec::new();
    let is_guarded = run.protection.enabled;
    for (superstep, stages) in recorder.supersteps(if is_guarded { &GUARDED } else { &PLAIN }) {
        let named = stages.into_iter().filter_map(|(stage, took)| Some((stage::name(stage, is_multi)?, took)));
        let mut named: Vec<_> = named.collect();
        if is_guarded {
            named.insert(named.len() - 1, (NEVER, Duration::ZERO));
        }
        for (stage, took) in named {
            rows.push(TimingRow {
                dataset: run.dataset.clone(),
                algorithm: run.algorithm.clone(),
                method: run.method.clone(),
                instrumentation_profile: run.instrumentation_profile.clone(),
                rank,
                iteration: superstep.iteration,
                stage: stage.into(),
                elapsed_ms: took.as_nanos() as f64 / 1e6,
            });
        }
    }
    rows
}
