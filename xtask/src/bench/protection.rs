//! `cargo xtask bench --protection`: what protection costs without faults, as interleaved pairs of one baseline and one protected run.
//!
//! Each repeat starts both programs anew, in turn first, with one unreported trial each; a pair compares the medians of their trials.
//! Tier 1 and snapshots: `main_loop_ms + cpu_check_drain_ms` of the protected run over `main_loop_ms` of the baseline. The
//! certificate is shown apart, and the whole by `algorithm_total_ms`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use super::machine;
use crate::workspace::{Workspace, cargo};

/// Algorithms, with their bars in percent: median, and worst if there is one.
const ALGORITHMS: [(&str, &[&str], f64, Option<f64>); 4] = [
    ("pagerank", &["--algorithm", "pagerank"], 3.0, Some(10.0)),
    ("bfs", &["--algorithm", "bfs"], 10.0, None),
    ("cc", &["--algorithm", "cc"], 10.0, None),
    ("kcore -k 16", &["--algorithm", "kcore", "-k", "16"], 10.0, None),
];

/// Options of `--protection`.
#[derive(Args)]
pub(crate) struct Pairs {
    /// Pairs of each algorithm and graph
    #[arg(long, default_value_t = 9, requires = "protection")]
    pairs: usize,
    /// Reported trials of each program
    #[arg(long, default_value_t = 5, requires = "protection")]
    pair_trials: usize,
    /// Scale of the synthetic graphs (edge factor 16)
    #[arg(long, default_value_t = 20, requires = "protection")]
    scale: u32,
    /// Further options of the protected runs
    #[arg(long, allow_hyphen_values = true, requires = "protection")]
    protected: Vec<String>,
}

/// Measures, prints the table; true when every bar is met on an undisturbed machine.
///
/// # Errors
/// When the harness does not build or run.
pub(crate) fn run(workspace: &Workspace, options: &Pairs) -> Result<bool> {
    let status = cargo().args(["build", "--release", "-p", "graphalg-harness", "--bin", "harness"]).status()?;
    ensure!(status.success(), "`harness` does not build; its errors are above");
    let harness = workspace.target.join("release/harness");
    let folder = workspace.target.join("bench/graphs");
    std::fs::create_dir_all(&folder)?;
    println!("{}", machine::describe());
    println!(
        "protected against baseline, {} interleaved pairs of {} trials; overhead in %",
        options.pairs, options.pair_trials
    );
    println!(
        "| algorithm | graph | baseline ms | main + drain: median | worst | bar | certificate ms | whole: median |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    let mut is_met = true;
    for kind in ["kron", "uniform"] {
        let graph = graph(&harness, &folder, kind, options.scale)?;
        for (name, argv, median_bar, worst_bar) in ALGORITHMS {
            let (mut loops, mut wholes, mut base, mut proofs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for pair in 0..options.pairs {
                let one = |is_protected: bool| {
                    let protected = is_protected.then_some(options.protected.as_slice());
                    measure(&harness, &graph, argv, protected, options.pair_trials)
                };
                let (plain, guarded) = if pair % 2 == 0 {
                    let plain = one(false)?;
                    (plain, one(true)?)
                } else {
                    let guarded = one(true)?;
                    (one(false)?, guarded)
                };
                loops.push(100.0 * ((guarded.main_loop + guarded.drain) / plain.main_loop - 1.0));
                wholes.push(100.0 * (guarded.total / plain.total - 1.0));
                base.push(plain.main_loop);
                proofs.push(guarded.postcheck);
            }
            let worst = loops.iter().copied().fold(f64::MIN, f64::max);
            let median_of_loops = median(&mut loops);
            is_met &= median_of_loops <= median_bar && worst_bar.is_none_or(|bar| worst <= bar);
            let mut bar = format!("{median_bar}");
            if let Some(worst) = worst_bar {
                let _ = write!(bar, ", worst {worst}");
            }
            println!(
                "| {name} | {kind}-{} | {:.2} | {median_of_loops:+.1} | {worst:+.1} | {bar} | {:.2} | {:+.1} |",
                options.scale,
                median(&mut base),
                median(&mut proofs),
                median(&mut wholes),
            );
        }
    }
    Ok(is_met)
}

/// Medians of one program's trials, in ms.
pub(crate) struct Sample {
    pub(crate) main_loop: f64,
    pub(crate) drain: f64,
    postcheck: f64,
    total: f64,
    /// Of the critical updates, the share done again.
    pub(crate) covered_pct: f64,
}

/// A synthetic graph of edge factor 16, made if it is not there yet.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn graph(harness: &Path, folder: &Path, kind: &str, scale: u32) -> Result<PathBuf> {
    let path = folder.join(format!("{kind}-{scale}.gcsr"));
    if !path.is_file() {
        let scale = scale.to_string();
        let mut command = Command::new(harness);
        command.args(["graph", "generate", kind, "--scale", &scale, "--edge-factor", "16", "--seed", "1", "-o"]);
        let out = command.arg(&path).output()?;
        ensure!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
    Ok(path)
}

/// One program's trials after one that does not count; `protected` are the options of protection beside `--fault-tolerance on`.
///
/// # Errors
/// When it fails or says nothing.
pub(crate) fn measure(
    harness: &Path,
    graph: &Path,
    argv: &[&str],
    protected: Option<&[String]>,
    trials: usize,
) -> Result<Sample> {
    let mut command = Command::new(harness);
    command.args(argv).arg("--graph").arg(graph).arg("--undirected").args(["--warmup", "1", "--progress", "off"]);
    command.args(["--trials", &trials.to_string()]);
    if let Some(more) = protected {
        command.args(["--fault-tolerance", "on"]).args(more);
    }
    let out = command.output().with_context(|| harness.display().to_string())?;
    let records = String::from_utf8_lossy(&out.stdout);
    if !out.status.success() {
        bail!("{command:?} failed ({}):\n{}", out.status, String::from_utf8_lossy(&out.stderr));
    }
    let tagged = |tag: &str| -> Vec<Value> {
        records.lines().filter_map(|line| serde_json::from_str(line.strip_prefix(tag)?).ok()).collect()
    };
    let timings = tagged("BENCHMARK_TIMING ");
    ensure!(!timings.is_empty(), "no BENCHMARK_TIMING in\n{records}");
    let of = |key: &str| median(&mut timings.iter().filter_map(|timing| timing[key].as_f64()).collect::<Vec<_>>());
    let covered =
        tagged("BENCHMARK_DETECTION ").first().and_then(|detection| detection["covered_critical_pct"].as_f64());
    Ok(Sample {
        main_loop: of("main_loop_ms"),
        drain: of("cpu_check_drain_ms"),
        postcheck: of("postcheck_total_ms"),
        total: of("algorithm_total_ms"),
        covered_pct: covered.unwrap_or(0.0),
    })
}

/// The middle one, or the mean of the two middle ones; NaN of none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => values[len / 2],
        len => (values[len / 2 - 1] + values[len / 2]) / 2.0,
    }
}
