//! `harness trace` on a large synthetic trace: are the figures right, and is it as fast and as small as promised?

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use super::measured::{self, Measured};
use super::synthetic::{self, Truth};
use crate::workspace::{Workspace, cargo};

/// Device events of the full form: a file of 1.06 GB.
const FULL: u64 = 1_000_000;
/// Of the short form.
const SHORT: u64 = 30_000;
/// Bars of contract/trace-analysis.md.
const CPU_S: f64 = 2.0;
const PEAK_MIB: f64 = 150.0;
const MB_PER_S: f64 = 600.0;
/// Runs of ours; the figures are medians.
const RUNS: usize = 5;

/// Options of the campaign.
#[derive(Args)]
pub(crate) struct Options {
    /// A small file, for tests: figures and memory are judged, speed is only told
    #[arg(long)]
    short: bool,
    /// Leave HTA out, also when Python has it (it takes minutes and 5 GB)
    #[arg(long)]
    no_hta: bool,
    /// Python to look for HTA in
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Seed of the synthetic trace
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the file for other programs
    #[arg(long)]
    keep: bool,
}

/// Runs it; true when every bar was met.
///
/// # Errors
/// When the harness cannot be built or run, or the disk is full.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let workspace = Workspace::find()?;
    let built = cargo().args(["build", "--release", "-q", "-p", "graphalg-harness", "--bin", "harness"]).status()?;
    if !built.success() {
        bail!("the harness does not build; see above");
    }
    let folder = workspace.target.join("campaign");
    fs::create_dir_all(&folder)?;
    let path = folder.join(if options.short { "trace-short.json" } else { "trace-1gb.json" });
    let events = if options.short { SHORT } else { FULL };
    let out = BufWriter::with_capacity(1 << 20, File::create(&path).with_context(|| path.display().to_string())?);
    let truth = synthetic::write(out, events, options.seed)?;
    let verdict = measure(&workspace.target.join("release/harness"), &path, &truth, options);
    if !options.keep {
        fs::remove_file(&path)?;
    }
    verdict
}

fn measure(harness: &Path, path: &Path, truth: &Truth, options: &Options) -> Result<bool> {
    let bytes = fs::metadata(path)?.len();
    println!(
        "{:.3} GB, {} events, {} of them of a device, seed {}",
        bytes as f64 / 1e9,
        truth.events,
        truth.device_events,
        options.seed
    );
    let mut is_met = true;
    println!("| program | wall, s | CPU, s | MB/s | peak RSS, MiB |\n|---|---:|---:|---:|---:|");
    for command in ["breakdown", "overlap", "summary"] {
        let mut runs = Vec::new();
        for _ in 0..if options.short { 1 } else { RUNS } {
            let mut program = Command::new(harness);
            program.args(["trace", command, "--format", "json"]).arg(path);
            runs.push(measured::run(&mut program)?);
        }
        runs.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
        let median = &runs[runs.len() / 2];
        let peak = runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0);
        row(&format!("harness trace {command}"), median, peak, bytes);
        is_met &= check(&median.stdout, command, truth);
        // A summary keeps launches, too; the bars are for the two analyses.
        if command != "summary" {
            is_met &= bar("peak RSS, MiB", peak as f64 / f64::from(1 << 20), PEAK_MIB);
            if !options.short {
                is_met &= bar("CPU, s", median.cpu_s, CPU_S);
                is_met &= bar("s a GB", median.cpu_s / (bytes as f64 / 1e9), 1000.0 / MB_PER_S);
            }
        }
    }
    if !options.no_hta && !options.short {
        hta(&options.python, path, bytes, truth)?;
    }
    Ok(is_met)
}

fn row(name: &str, run: &Measured, peak: u64, bytes: u64) {
    println!(
        "| {name} | {:.2} | {:.2} | {:.0} | {:.0} |",
        run.wall_s,
        run.cpu_s,
        bytes as f64 / 1e6 / run.cpu_s.max(0.01),
        peak as f64 / f64::from(1 << 20)
    );
}

fn bar(what: &str, value: f64, most: f64) -> bool {
    if value > most {
        eprintln!("MISSED: {what}: {value:.2}, the bar is {most:.2}");
    }
    value <= most
}

/// Whether the figures are those with which the file was made.
fn check(stdout: &[u8], command: &str, truth: &Truth) -> bool {
    let document: Value = serde_json::from_slice(stdout).unwrap_or_default();
    let device = &document["files"][0]["devices"][0];
    let (times, overlap, events) = (&device["temporal_breakdown"], &device["overlap_analysis"], &device["events"]);
    let ns = |value: &Value| (value.as_f64().unwrap_or(f64::NAN) * 1000.0).round();
    let count = |name: &str| events[name].as_u64().unwrap_or(0);
    let mut wants = vec![(
        "device events",
        (count("computation") + count("communication") + count("memory")) as f64,
        truth.device_events as f64,
    )];
    if command != "overlap" {
        let parts = ["compute_time_us", "non_compute_time_us", "idle_time_us"].map(|part| ns(&times[part]));
        wants.push(("kernel time", ns(&times["kernel_time_us"]), truth.kernel_ns as f64));
        wants.push(("compute time", parts[0], truth.comp_ns as f64));
        wants.push(("sum of the parts", parts.iter().sum(), truth.kernel_ns as f64));
    }
    if command != "breakdown" {
        wants.push(("communication", ns(&overlap["comm_time_us"]), truth.comm_ns as f64));
    }
    let wrong: Vec<_> = wants.iter().filter(|(_, found, expected)| found != expected).collect();
    for (what, found, expected) in &wrong {
        eprintln!("WRONG: {command}: {what}: {found}, made with {expected}");
    }
    wrong.is_empty()
}

const HTA: &str = "import sys, json, logging
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
print(json.dumps(json.loads(analysis.get_temporal_breakdown(visualize=False).to_json(orient='records'))))
print(json.dumps(json.loads(analysis.get_comm_comp_overlap(visualize=False).to_json(orient='records'))))";

/// The same file with HTA, if this Python has it.
fn hta(python: &Path, path: &Path, bytes: u64, truth: &Truth) -> Result<()> {
    let has = Command::new(python).args(["-c", "import hta"]).stderr(std::process::Stdio::null()).status();
    if !has.is_ok_and(|status| status.success()) {
        println!(
            "not run: HTA: needs HolisticTraceAnalysis in {} (pip install HolisticTraceAnalysis pandas==2.3.3)",
            python.display()
        );
        return Ok(());
    }
    let run = measured::run(Command::new(python).args(["-c", HTA]).arg(path))?;
    row("HTA, both analyses", &run, run.peak_bytes, bytes);
    println!("HTA says: {}", String::from_utf8_lossy(&run.stdout).trim().replace('\n', "; "));
    println!("made with: kernel {} ns, compute {} ns", truth.kernel_ns, truth.comp_ns);
    Ok(())
}
