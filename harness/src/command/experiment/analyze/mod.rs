//! The analysis: pairs of performance measurements that differ in one thing, and what that one thing costs.

mod statistics;
mod configuration;
mod kinds;
mod pairs;
mod tables;

pub(crate) use kinds::Kind;
pub(crate) use pairs::{Pairing, pairings};
pub(crate) use statistics::{Interval, summary};
pub(crate) use tables::summary_table;

use super::collect::{self, Collected};
use crate::csv_table;
use crate::durable;
use crate::measured::Profile;
use crate::people::say;
use framework::base::error::{Error, Result};
use std::path::Path;
use std::process::ExitCode;

/// Collects a run that may be analysed.
///
/// # Errors
/// For a profiling run: its times are not of the program but of the program and its recording.
pub(crate) fn performance_run(run: &Path, what: &str) -> Result<Collected> {
    let collected = collect::collect(run)?;
    if collected.manifest.instrumentation_profile == Profile::Profiling {
        return Err(Error::usage(format!(
            "{}: {what} takes performance runs only: recording every superstep disturbs the times it records, so the \
             times of a profiling run are no evidence of speed; run the plan with profile = \"performance\"",
            run.display()
        )));
    }
    Ok(collected)
}

/// `experiment analyze`.
///
/// # Errors
/// For a profiling run, or when the disk refuses.
pub(crate) fn run(run: &Path) -> Result<ExitCode> {
    let collected = performance_run(run, "analyze")?;
    let pairings = pairings(&collected);
    let folder = run.join("analysis");
    durable::folder(&folder)?;
    durable::sweep(&folder);
    durable::replace(&folder.join("pairs.csv"), &csv_table::text(&tables::table(&pairings))?)?;
    durable::replace(&folder.join("summary.csv"), &csv_table::text(&summary_table(&pairings))?)?;
    for line in tables::sentences(&pairings) {
        say(&line);
    }
    if pairings.is_empty() {
        say("note     the plan has no two methods that make a pair (multi with single, fault tolerant with baseline)");
    }
    if !collected.manifest.is_evidence {
        say("warning: this run is marked as no evidence (debug build or dirty tree)");
    }
    let refused = pairings.iter().map(|pairing| pairing.faults().count()).sum::<usize>();
    let missing = collected.problems.len();
    if refused + missing > 0 {
        say(&format!("FAILED   {refused} pairs refused, {missing} planned calls without a sound measurement"));
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}
