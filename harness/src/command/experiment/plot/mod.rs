//! Plots and the report of a performance run.

mod panel;
mod stages;
mod pairs;
mod idle;
mod latency;
mod report;

use super::analyze::{self, pairings, performance_run};
use super::collect;
use super::equivalence;
use crate::drawing::svg::files;
use crate::durable;
use crate::measured::Profile;
use crate::people::say;
use clap::{Args, ValueHint};
use framework::base::error::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `experiment plot`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Plot {
    /// Run folder of a performance run
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    run: PathBuf,
    /// Profiling run of the same plan and build, for idle vertices by iteration and detection latency
    #[arg(long, value_name = "RUN", value_hint = ValueHint::DirPath)]
    profiling: Option<PathBuf>,
}

impl Plot {
    /// Runs it.
    ///
    /// # Errors
    /// For a profiling run as RUN, for runs that do not belong together, or when the disk refuses.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let collected = performance_run(&self.run, "plot")?;
        let pairings = pairings(&collected);
        let mut charts = vec![stages::chart(&collected)];
        charts.extend(pairs::speedup(&collected, &pairings));
        charts.extend(pairs::overhead(&collected, &pairings));
        if let Some(profiling) = &self.profiling {
            let other = collect::collect(profiling)?;
            if other.manifest.instrumentation_profile != Profile::Profiling {
                return Err(Error::usage(format!(
                    "{}: it is no profiling run, so it has no activity",
                    profiling.display()
                )));
            }
            let differences = equivalence::compare(&collected, &other)?;
            if let Some(first) = differences.first() {
                return Err(Error::usage(format!(
                    "{} does not show what {} measured: {first}",
                    profiling.display(),
                    self.run.display()
                )));
            }
            charts.extend(idle::chart(&other));
            charts.extend(latency::chart(&other));
        }
        let folder = self.run.join("plots");
        durable::folder(&folder)?;
        durable::sweep(&folder);
        remove_earlier(&folder)?;
        for chart in &charts {
            chart.write(&folder)?;
        }
        let summary = analyze::summary_table(&pairings);
        let page = report::html(&collected, &pairings, &summary, &charts);
        durable::replace(&folder.join(REPORT), page.as_bytes())?;
        let names: Vec<_> = charts.iter().map(|chart| chart.name).collect();
        say(&format!("plots    {}: {} and report.html", folder.display(), names.join(", ")));
        if self.profiling.is_none() {
            say(
                "note     no plots of idle vertices and detection latency: give --profiling RUN for activity and verdicts by iteration",
            );
        }
        if !collected.manifest.is_evidence {
            say("warning: this run is marked as no evidence (debug build or dirty tree)");
        }
        Ok(if collected.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// All that a plot may leave, so that a later one, perhaps without some of them, leaves none of an earlier one.
const PICTURES: [&str; 5] = [stages::NAME, pairs::SPEEDUP, pairs::OVERHEAD, idle::NAME, latency::NAME];
const REPORT: &str = "report.html";

/// Takes away what an earlier plot drew. Other files stay.
fn remove_earlier(folder: &Path) -> Result<()> {
    let names = PICTURES.iter().flat_map(|name| files(name)).chain([REPORT.to_owned()]);
    for path in names.map(|name| folder.join(name)) {
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Write { path, source }),
        }
    }
    Ok(())
}
