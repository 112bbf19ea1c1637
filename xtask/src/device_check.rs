//! `cargo xtask device-check`: what only a machine with a GPU can show, from binaries built elsewhere, without network, in under eight
//! minutes. `--prepare` builds them into target/device-check; that folder is all that the machine needs, and on it
//! `target/device-check/xtask device-check` runs.
//!
//! All laws, those of protection too, run on the real device; answers of graphs are compared with those of the cpu device; three graphs are measured against
//! the bars, GB/s against a plain copy on the same device.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::gate::Report;
use crate::workspace::{Workspace, cargo, program};

/// Options of `cargo xtask device-check`.
#[derive(Args)]
pub(crate) struct Options {
    /// Build what the check needs into target/device-check, and run nothing
    #[arg(long)]
    prepare: bool,
    /// Folder of what --prepare built [default: the folder of this program, or target/device-check]
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Folder with the real graphs; road-FLA.txt.xz is taken from it
    #[arg(long, value_name = "DIR", default_value = "../shared/data/graphs")]
    graphs: PathBuf,
    /// Run the laws under compute-sanitizer (memcheck), and measure nothing
    #[arg(long)]
    sanitizer: bool,
    /// Try the check itself on simulated devices (LD_LIBRARY_PATH names their libcuda.so): its figures mean nothing
    #[arg(long, conflicts_with = "sanitizer")]
    simulated: bool,
    /// Scale of the generated graphs
    #[arg(long, value_name = "S", default_value_t = 21)]
    scale: u32,
    /// Trials of each measurement
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: u32,
}

/// What the folder holds.
const HARNESS: &str = "harness";
/// Its name, and the test that it is.
const LAWS: [(&str, &str); 2] = [("laws", "simulated_laws"), ("protection_laws", "simulated_protection")];
const BANDWIDTH: &str = "device_bandwidth";
/// All of the check ends in this time.
const LIMIT: Duration = Duration::from_secs(8 * 60);

/// Runs the command; true when every part passed.
///
/// # Errors
/// When something cannot be built or a binary does not start.
pub(crate) fn run(options: &Options) -> Result<bool> {
    if options.prepare {
        return prepare().map(|()| true);
    }
    let folder = folder(options)?;
    let began = Instant::now();
    let mut report = Report::default();
    let check = Check { folder: &folder, options };
    if options.sanitizer {
        check.laws_under_sanitizer(&mut report);
        return Ok(report.close(|_| false));
    }
    for (name, _) in LAWS {
        report.run(&format!("{name} on the device"), &mut check.laws(name));
    }
    match check.bandwidth() {
        Ok(copies) => {
            for graph in check.graphs(&mut report) {
                let parts = check.measure(&graph, &copies);
                report.say(&format!("{} equals the cpu device", graph.name), parts);
            }
        }
        Err(error) => report.say("bandwidth", Err(error)),
    }
    println!("{:.0} s of {} s", began.elapsed().as_secs_f64(), LIMIT.as_secs());
    if began.elapsed() > LIMIT {
        report.say("in time", Err(anyhow::anyhow!("it took more than {} s", LIMIT.as_secs())));
    }
    Ok(report.close(|_| false))
}

fn folder(options: &Options) -> Result<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_path_buf));
    let beside = own.filter(|folder| folder.join(LAWS[0].0).is_file());
    let folder = options.from.clone().or(beside).unwrap_or_else(|| PathBuf::from("target/device-check"));
    for name in [HARNESS, BANDWIDTH].into_iter().chain(LAWS.map(|(name, _)| name)) {
        if !folder.join(name).is_file() {
            bail!("{}: no `{name}` there; build it with `cargo xtask device-check --prepare`", folder.display());
        }
    }
    Ok(folder)
}

/// Builds the binaries in release and copies them to one folder.
fn prepare() -> Result<()> {
    let workspace = Workspace::find()?;
    let folder = workspace.target.join("device-check");
    std::fs::create_dir_all(&folder)?;
    let build = |arguments: &[&str]| -> Result<Vec<PathBuf>> {
        let output = cargo()
            .args(arguments)
            .args(["--release", "--message-format", "json-render-diagnostics"])
            .stderr(Stdio::inherit())
            .output()
            .context("cargo does not start")?;
        if !output.status.success() {
            bail!("`cargo {}` failed; its message is above", arguments.join(" "));
        }
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let made = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(made.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect())
    };
    let keep = |made: Vec<PathBuf>, name: &str| -> Result<()> {
        let from = made.last().with_context(|| format!("cargo names no executable for {name}"))?;
        std::fs::copy(from, folder.join(name)).with_context(|| format!("{} cannot be copied", from.display()))?;
        Ok(())
    };
    keep(build(&["build", "-p", "graphalg-harness", "--bin", "harness"])?, HARNESS)?;
    keep(build(&["build", "-p", "graphalg-tests", "--bin", BANDWIDTH])?, BANDWIDTH)?;
    for (name, test) in LAWS {
        keep(build(&["test", "-p", "graphalg-tests", "--test", test, "--no-run"])?, name)?;
    }
    keep(build(&["build", "-p", "xtask"])?, "xtask")?;
    println!("{} holds all that a machine with a GPU needs: run `xtask device-check` there", folder.display());
    Ok(())
}

struct Check<'a> {
    folder: &'a Path,
    options: &'a Options,
}

/// A graph to measure.
struct Graph {
    name: String,
    path: PathBuf,
}

impl Check<'_> {
    fn program(&self, name: &str) -> Command {
        Command::new(self.folder.join(name))
    }

    fn laws(&self, name: &str) -> Command {
        let mut laws = self.program(name);
        if !self.options.simulated {
            laws.env("GRAPHALG_LAWS_ON", "cuda");
        }
        laws
    }

    fn laws_under_sanitizer(&self, report: &mut Report) {
        if program("compute-sanitizer").is_none() {
            report.not_run("laws under compute-sanitizer", "compute-sanitizer (of the CUDA toolkit) on PATH");
            return;
        }
        for (name, _) in LAWS {
            let mut command = Command::new("compute-sanitizer");
            command.args(["--tool", "memcheck", "--error-exitcode", "1"]).arg(self.folder.join(name));
            command.args(["--test-threads", "1"]).env("GRAPHALG_LAWS_ON", "cuda");
            report.run(&format!("{name} under compute-sanitizer"), &mut command);
        }
    }

    /// Bytes a second of plain copies.
    fn bandwidth(&self) -> Result<Value> {
        let mut program = self.program(BANDWIDTH);
        if self.options.simulated {
            program.arg("16777216");
        }
        let output = program.stderr(Stdio::inherit()).output().context("device_bandwidth does not start")?;
        if !output.status.success() {
            bail!("the bandwidth cannot be measured; the message is above");
        }
        let copies: Value = serde_json::from_slice(&output.stdout).context("device_bandwidth prints JSON")?;
        let rate = |key: &str| gigabytes(copies[key].as_f64().unwrap_or(0.0));
        println!(
            "{} ({}): copy kernel {} GB/s, pinned up {} GB/s, pinned down {} GB/s, upload of a graph {} GB/s ({:.0} % of pinned up; the bar \
             is 80)",
            copies["device"].as_str().unwrap_or_default(),
            copies["kind"].as_str().unwrap_or_default(),
            rate("device_copy"),
            rate("pinned_up"),
            rate("pinned_down"),
            rate("upload"),
            percent(&copies["upload"], &copies["pinned_up"]),
        );
        Ok(copies)
    }

    /// The graphs: two generated, one real.
    fn graphs(&self, report: &mut Report) -> Vec<Graph> {
        let scale = self.options.scale.to_string();
        let mut graphs = Vec::new();
        for (kind, name, factor) in [("kron", "kron", "48"), ("uniform", "urand", "16")] {
            let path = self.folder.join(format!("{name}-{scale}.gcsr"));
            let name = format!("{name}-{scale}");
            if !path.is_file() {
                let mut generate = self.program(HARNESS);
                generate.args([
                    "graph",
                    "generate",
                    kind,
                    "--scale",
                    &scale,
                    "--edge-factor",
                    factor,
                    "--seed",
                    "1",
                    "-o",
                ]);
                report.run(&format!("generate {name}"), generate.arg(&path));
            }
            graphs.push(Graph { name, path });
        }
        let road = self.options.graphs.join("road-FLA.txt.xz");
        if road.is_file() {
            graphs.push(Graph { name: "road-FLA".into(), path: road });
        } else {
            report.not_run("road-FLA", &format!("{} (--graphs DIR names its folder)", road.display()));
        }
        graphs
    }

    /// Runs all algorithms on a graph, on the device and once on the cpu; prints the figures.
    fn measure(&self, graph: &Graph, copies: &Value) -> Result<()> {
        for algorithm in [&["bfs"][..], &["pagerank", "--tolerance", "1e-6"], &["cc"], &["kcore", "--all-cores"]] {
            let name = algorithm[0];
            let trials = self.options.trials.to_string();
            let gpu = self.records(graph, algorithm, &["--device", "cuda:0", "--warmup", "1", "--trials", &trials])?;
            let cpu = self.records(graph, algorithm, &["--device", "cpu", "--trials", "1"])?;
            let hash = |records: &Records| records.results[0]["result_hash"].clone();
            let sums = |records: &Records| records.results[0]["check_sums"].clone();
            if name == "pagerank" {
                let bound = 2.0 * 1e-6 * 0.85 / 0.15;
                let pairs = sums(&gpu)
                    .as_array()
                    .cloned()
                    .unwrap_or_default()
                    .into_iter()
                    .zip(sums(&cpu).as_array().cloned().unwrap_or_default());
                let apart = pairs.map(|(a, b)| (a.as_f64().unwrap_or(f64::NAN) - b.as_f64().unwrap_or(f64::NAN)).abs());
                if !apart.clone().all(|apart| apart <= bound) || apart.count() != 8 {
                    bail!("pagerank on {}: check sums differ by more than {bound:e}", graph.name);
                }
            } else if hash(&gpu) != hash(&cpu) {
                bail!("{name} on {}: the device says {}, the cpu {}", graph.name, hash(&gpu), hash(&cpu));
            }
            let devices = copies["devices"].as_u64().unwrap_or(1).to_string();
            if devices != "1" {
                let all = ["--device", "cuda", "--ranks", &devices, "--warmup", "1", "--trials", &trials];
                let all = self.records(graph, algorithm, &all)?;
                if name != "pagerank" && hash(&all) != hash(&gpu) {
                    bail!("{name} on {}: {devices} devices say {}, one says {}", graph.name, hash(&all), hash(&gpu));
                }
                let loops = all.timings.iter().filter_map(|timing| timing["rank_main_loop_max_ms"].as_f64());
                println!(
                    "{:<10} {name:<9} on {devices} devices, main loop {:>9.3} ms",
                    graph.name,
                    middle(loops.collect())
                );
            }
            if name == "bfs" {
                self.sources(graph)?;
            }
            self.figures(graph, name, &gpu, copies);
        }
        Ok(())
    }

    /// BFS from several sources, each a run of its own; those that reach little say nothing of a traversal's speed.
    fn sources(&self, graph: &Graph) -> Result<()> {
        let mut rates = Vec::new();
        for seed in 1..=2 * self.options.trials {
            if rates.len() == self.options.trials as usize {
                break;
            }
            let source = format!("random:{seed}");
            let run = self.records(
                graph,
                &["bfs", "-s", &source],
                &["--device", "cuda:0", "--warmup", "1", "--trials", "1"],
            )?;
            let number = |record: &Value, key: &str| record[key].as_f64().unwrap_or(f64::NAN);
            let facts = &run.metadata["graph"];
            let reached = number(&run.results[0]["result"], "reached").max(number(&run.results[0], "reached"));
            if reached * 3.0 >= number(facts, "vertices") {
                let main: Vec<f64> = run.timings.iter().map(|timing| number(timing, "main_loop_ms")).collect();
                rates.push(number(facts, "arcs") / middle(main) / 1e6);
            }
        }
        println!(
            "{:<10} bfs from {} sources that reach a third of the vertices: median {:.1} GTEPS, counting the graph's arcs (the bar for kron is 150)",
            graph.name,
            rates.len(),
            middle(rates)
        );
        Ok(())
    }

    fn figures(&self, graph: &Graph, algorithm: &str, gpu: &Records, copies: &Value) {
        let median = |field: &str| middle(gpu.timings.iter().filter_map(|timing| timing[field].as_f64()).collect());
        let (kernel, main, setup) = (median("gpu_compute_ms"), median("main_loop_ms"), median("single_gpu_setup_ms"));
        let rounds = gpu.results[0]["iterations"].as_f64().unwrap_or(f64::NAN);
        let (arcs, vertices) = (
            gpu.metadata["graph"]["arcs"].as_f64().unwrap_or(0.0),
            gpu.metadata["graph"]["vertices"].as_f64().unwrap_or(0.0),
        );
        let mut line = format!(
            "{:<10} {algorithm:<9} {rounds:>5.0} supersteps, main loop {main:>9.3} ms, device {kernel:>9.3} ms, set-up {setup:>8.1} ms",
            graph.name
        );
        match algorithm {
            "bfs" => {
                line += &format!(", {:.1} GTEPS, {:.1} us a level", arcs / main / 1e6, main * 1e3 / rounds);
            }
            "pagerank" => {
                // Each round reads a target and a share for each arc, and two offsets, a share and a degree for each vertex, and writes a rank.
                let bytes = arcs * 12.0 + vertices * 40.0;
                let rate = bytes * rounds / (kernel / 1e3);
                line += &format!(
                    ", {} GB/s, {:.0} % of a copy (the bar is 60)",
                    gigabytes(rate),
                    100.0 * rate / copies["device_copy"].as_f64().unwrap_or(f64::NAN)
                );
            }
            _ => {}
        }
        println!("{line}");
    }

    fn records(&self, graph: &Graph, algorithm: &[&str], options: &[&str]) -> Result<Records> {
        let mut command = self.program(HARNESS);
        command
            .arg("--algorithm")
            .args(algorithm)
            .arg("--graph")
            .arg(&graph.path)
            .args(options)
            .args(["--progress", "off"]);
        let output = command.output().context("harness does not start")?;
        if !output.status.success() {
            bail!("{} on {}: {}", algorithm[0], graph.name, String::from_utf8_lossy(&output.stderr));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let all = |tag: &str| -> Vec<Value> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(tag).and_then(|rest| rest.strip_prefix(' ')));
            lines.filter_map(|json| serde_json::from_str(json).ok()).collect()
        };
        let metadata = all("BENCHMARK_METADATA").into_iter().next().context("harness says what it ran")?;
        let records = Records { metadata, results: all("BENCHMARK_RESULT"), timings: all("BENCHMARK_TIMING") };
        if records.results.is_empty() {
            bail!("{} on {}: no result", algorithm[0], graph.name);
        }
        Ok(records)
    }
}

struct Records {
    metadata: Value,
    results: Vec<Value>,
    timings: Vec<Value>,
}

/// The median.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn gigabytes(rate: f64) -> String {
    format!("{:.1}", rate / 1e9)
}

fn percent(part: &Value, whole: &Value) -> f64 {
    100.0 * part.as_f64().unwrap_or(f64::NAN) / whole.as_f64().unwrap_or(f64::NAN)
}
