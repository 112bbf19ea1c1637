//! Plots and the report of a performance run.

mod idle;
mod latency;
mod pairs;
mod report;
mod stages;

use super::analyze::{self, pairings, performance_run};
use super::collect;
use super::equivalence;
use super::manifest::{FrozenMethod, Manifest};
use crate::drawing::svg::{self, Anchor, Canvas};
use crate::durable;
use crate::measured::Profile;
use crate::people::say;
use clap::{Args, ValueHint};
use framework::error::{Error, Result};
use std::path::PathBuf;
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
        charts.extend(pairs::overhead(&pairings));
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
        for chart in &charts {
            chart.write(&folder)?;
        }
        let summary = analyze::summary_table(&pairings);
        let page = report::html(&collected, &pairings, &summary, &charts);
        durable::replace(&folder.join("report.html"), page.as_bytes())?;
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

/// `kcore k = 5`.
fn item_title(manifest: &Manifest, algorithm: usize) -> String {
    let algorithm = &manifest.algorithms[algorithm];
    let args: Vec<_> =
        algorithm.args.iter().map(|(key, value)| format!("{key} = {}", value.to_string().trim_matches('"'))).collect();
    if args.is_empty() { algorithm.name.clone() } else { format!("{} ({})", algorithm.name, args.join(", ")) }
}

/// `multi_cpu_baseline ×2`.
fn method_title(method: &FrozenMethod) -> String {
    if method.ranks > 1 { format!("{} \u{d7}{}", method.name, method.ranks) } else { method.name.clone() }
}

/// Where a panel's curves go.
struct Area {
    left: f64,
    width: f64,
    bottom: f64,
    height: f64,
}

/// A panel in the left or right half, below `y`; 312 high in all.
fn panel(canvas: &mut Canvas, column: usize, y: f64, title: &str) -> Area {
    let left = 24.0 + column as f64 * 590.0;
    canvas.text("ink", 14.0, (left, y + 14.0), Anchor::Start, &svg::shortened(title, 62));
    let area = Area { left: left + 50.0, width: 510.0, bottom: y + 250.0, height: 214.0 };
    canvas.line("axis", (area.left, area.bottom), (area.left + area.width, area.bottom));
    area
}
