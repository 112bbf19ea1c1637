//! The collector: believes nothing, compares everything with the manifest, and writes tables that can always be rebuilt.

mod judge;
mod tables;

pub(crate) use judge::{Collected, Standing};

use crate::csv_table;
use crate::durable;
use crate::people::say;
use framework::base::error::Result;
use framework::base::format::counted;
use std::path::Path;
use std::process::ExitCode;

/// Collects a run folder into memory and into `collected/`.
///
/// # Errors
/// When the manifest is no manifest, or the disk refuses.
pub(crate) fn collect(run: &Path) -> Result<Collected> {
    let collected = Collected::read(run)?;
    let folder = run.join("collected");
    durable::folder(&folder)?;
    durable::sweep(&folder);
    for (name, rows) in tables::all(&collected) {
        durable::replace(&folder.join(name), &csv_table::text(&rows)?)?;
    }
    Ok(collected)
}

/// `experiment collect`.
///
/// # Errors
/// As [`collect`]. Attempts that are not sound are no error but exit code 1.
pub(crate) fn run(run: &Path) -> Result<ExitCode> {
    let collected = collect(run)?;
    let count = |standing| collected.judged.iter().filter(|judged| judged.standing == standing).count();
    say(&format!(
        "collect  {}: {}: {} sound, {} failed, {} disqualified; {} of {} planned calls measured",
        run.display(),
        counted(collected.judged.len() as u64, "attempt"),
        count(Standing::Success),
        count(Standing::Failed),
        count(Standing::Disqualified),
        collected.measured().count(),
        collected.manifest.planned_calls,
    ));
    for judged in collected.judged.iter().filter(|judged| !judged.reasons.is_empty()) {
        let word = if judged.standing == Standing::Failed { "failed" } else { "disqualified" };
        say(&format!("{word} {}: {}", judged.id, judged.reasons.join("; ")));
    }
    collected.problems.iter().for_each(|problem| say(&format!("FAILED   {problem}")));
    if !collected.manifest.is_evidence {
        say("warning: this run is marked as no evidence (debug build or dirty tree)");
    }
    let is_whole = collected.problems.is_empty() && collected.measured().count() == collected.manifest.planned_calls;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
