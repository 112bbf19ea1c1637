//! `cargo xtask campaign strikes`: `harness inject` over algorithms, graphs and ranks; one table of all.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::workspace::{Workspace, cargo};

/// Options of `cargo xtask campaign strikes`.
#[derive(Args)]
pub(crate) struct Options {
    /// Strikes of each algorithm, graph and number of ranks
    #[arg(long, default_value_t = 350)]
    strikes: u32,
    /// The same for tier 1 alone, at each budget; 0 leaves it out
    #[arg(long, default_value_t = 120)]
    alone: u32,
    /// Runs without a strike of each
    #[arg(long, default_value_t = 100)]
    clean_runs: u32,
    /// Seed of the first; the next ones follow
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Folder for what each leaves [default: campaign/strikes in the target folder]
    #[arg(long)]
    output: Option<PathBuf>,
    /// A harness that is built already
    #[arg(long)]
    harness: Option<PathBuf>,
}

const ALGORITHMS: [(&str, &[&str]); 5] = [
    ("bfs", &[]),
    ("cc", &[]),
    ("kcore", &["-k", "3"]),
    ("kcore", &["--all-cores"]),
    ("pagerank", &["--tolerance", "1e-8"]),
];
/// Beside the graph inside the program.
const GENERATED: [(&str, &[&str]); 2] =
    [("kron", &["--scale", "12", "--edge-factor", "8", "--seed", "1"]), ("grid", &["--scale", "11", "--seed", "1"])];
const RANKS: [u32; 2] = [1, 3];
/// Settings: name, options, whether all that changes the answer must be caught.
const SETTINGS: [(&str, &[&str], bool); 3] = [
    ("tiers 1 and 2", &[], true),
    ("tier 1 alone, budget 0.02", &["--certify", "off"], false),
    ("tier 1 alone, budget 1", &["--certify", "off", "--redundancy-budget", "1"], false),
];

/// Runs the command.
///
/// # Errors
/// When the harness cannot be built or run.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let workspace = Workspace::find()?;
    let harness = match &options.harness {
        Some(harness) => harness.clone(),
        None => {
            let built = cargo().args(["build", "--release", "-p", "graphalg-harness", "--bin", "harness"]).status()?;
            if !built.success() {
                bail!("harness does not build");
            }
            workspace.target.join("release/harness")
        }
    };
    let folder = options.output.clone().unwrap_or_else(|| workspace.target.join("campaign/strikes"));
    fs::create_dir_all(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    let mut graphs = vec![("cit-HepPh".to_owned(), None)];
    for (name, args) in GENERATED {
        let path = folder.join(format!("{name}.gcsr"));
        let made = Command::new(&harness).args(["graph", "generate", name]).args(args).arg("-o").arg(&path).status()?;
        if !made.success() {
            bail!("{name} could not be generated");
        }
        graphs.push((name.to_owned(), Some(path)));
    }
    let mut tables = String::new();
    let mut is_sound = true;
    let mut seed = options.seed;
    for (setting, more, must_catch) in SETTINGS {
        let strikes = if must_catch { options.strikes } else { options.alone };
        if strikes == 0 {
            continue;
        }
        let mut all = Table::default();
        for (algorithm, args) in ALGORITHMS {
            for (graph, path) in &graphs {
                for ranks in RANKS {
                    let cell = Cell { harness: &harness, algorithm, args, graph: path.as_deref(), ranks, more };
                    let name = format!("{}-{graph}-{ranks}", cell.title().replace([' ', '-'], ""));
                    let out = folder.join(setting.replace([' ', ','], "-")).join(name);
                    let summary = cell.run(strikes, options.clean_runs, seed, &out)?;
                    seed += 1;
                    let line = format!("{} on {graph}, {ranks} ranks", cell.title());
                    is_sound &= all.add(&cell.title(), &summary) || !must_catch;
                    eprintln!("{setting}: {line}: {}", short(&summary));
                }
            }
        }
        let _ = writeln!(tables, "### {setting}\n\n{}", all.markdown());
    }
    fs::write(folder.join("table.md"), &tables)?;
    println!("{tables}");
    Ok(is_sound)
}

struct Cell<'a> {
    harness: &'a Path,
    algorithm: &'a str,
    args: &'a [&'a str],
    graph: Option<&'a Path>,
    ranks: u32,
    more: &'a [&'a str],
}

impl Cell<'_> {
    fn title(&self) -> String {
        match (self.algorithm, self.args) {
            ("kcore", args) => format!("kcore {}", args.join(" ")),
            (name, _) => name.to_owned(),
        }
    }

    /// The summary; a silent strike or a false alarm is in it, not an error.
    fn run(&self, strikes: u32, clean_runs: u32, seed: u64, out: &Path) -> Result<Value> {
        let mut command = Command::new(self.harness);
        command.args(["inject", "--algorithm", self.algorithm]);
        if let Some(graph) = self.graph {
            command.arg("--graph").arg(graph);
        }
        let numbers = [("--ranks", self.ranks), ("--strikes", strikes), ("--clean-runs", clean_runs)];
        numbers.iter().for_each(|(option, value)| _ = command.args([*option, &value.to_string()]));
        command.args(["--seed", &seed.to_string()]).arg("--output").arg(out).arg("--").args(self.args).args(self.more);
        let output = command.stdin(Stdio::null()).output().context("harness does not start")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("INJECT_SUMMARY "));
        let Some(line) = line else {
            bail!("harness inject failed:\n{}", String::from_utf8_lossy(&output.stderr));
        };
        Ok(serde_json::from_str(line)?)
    }
}

fn number(summary: &Value, key: &str) -> u64 {
    summary[key].as_u64().unwrap_or_default()
}

fn short(summary: &Value) -> String {
    let of = |key| number(summary, key);
    format!(
        "{} strikes, {} masked, {} recovered, {} not recovered, {} silent, {} panics, {} timeouts, {} false alarms in {}",
        of("strikes"),
        of("masked"),
        of("detected_recovered"),
        of("detected_unrecovered"),
        of("silent"),
        of("panics"),
        of("timeouts"),
        of("false_alarms"),
        of("clean_runs")
    )
}

const COLUMNS: [&str; 9] = [
    "strikes",
    "masked",
    "detected_recovered",
    "detected_unrecovered",
    "silent",
    "panics",
    "timeouts",
    "clean_runs",
    "false_alarms",
];

/// Sums by algorithm, and by target and tier.
#[derive(Default)]
struct Table {
    algorithms: BTreeMap<String, [u64; 9]>,
    targets: BTreeMap<(String, u64), [u64; 5]>,
}

impl Table {
    /// Whether nothing happened that must not.
    fn add(&mut self, title: &str, summary: &Value) -> bool {
        let sums = self.algorithms.entry(title.to_owned()).or_default();
        sums.iter_mut().zip(COLUMNS).for_each(|(sum, key)| *sum += number(summary, key));
        for group in summary["by"].as_array().into_iter().flatten() {
            let target = group["target"].as_str().unwrap_or_default().to_owned();
            let sums = self.targets.entry((target, number(group, "tier"))).or_default();
            let keys = ["n", "masked", "detected_recovered", "detected_unrecovered", "silent"];
            sums.iter_mut().zip(keys).for_each(|(sum, key)| *sum += number(group, key));
        }
        ["silent", "panics", "timeouts", "false_alarms"].iter().all(|key| number(summary, key) == 0)
    }

    fn markdown(&self) -> String {
        let mut text = String::from(
            "| algorithm | strikes | masked | recovered | not recovered | silent | silent, 95 % | panics | timeouts | clean runs | false alarms |\n\
             |---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|\n",
        );
        let mut total = [0; 9];
        let row = |text: &mut String, name: &str, sums: &[u64; 9]| {
            let [strikes, masked, recovered, lost, silent, panics, timeouts, clean, alarms] = sums;
            let (low, high) = wilson(*silent, *strikes);
            let _ = writeln!(
                text,
                "| {name} | {strikes} | {masked} | {recovered} | {lost} | {silent} | {:.3} to {:.3} % | {panics} | {timeouts} | {clean} | {alarms} |",
                low * 100.0,
                high * 100.0
            );
        };
        for (name, sums) in &self.algorithms {
            row(&mut text, name, sums);
            total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        row(&mut text, "all", &total);
        text.push_str("\n| target | found first by | strikes | masked | recovered | not recovered | silent |\n|---|---|---:|---:|---:|---:|---:|\n");
        for ((target, tier), [n, masked, recovered, lost, silent]) in &self.targets {
            let tier = if *tier == 0 { "nobody".to_owned() } else { format!("tier {tier}") };
            let _ = writeln!(text, "| {target} | {tier} | {n} | {masked} | {recovered} | {lost} | {silent} |");
        }
        text
    }
}

/// The 95 % interval of a share (Wilson 1927).
fn wilson(hits: u64, n: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return (0.0, 1.0);
    }
    let (count, share) = (n as f64, hits as f64 / n as f64);
    let (middle, whole) = (share + Z * Z / (2.0 * count), 1.0 + Z * Z / count);
    let spread = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    (((middle - spread) / whole).max(0.0), ((middle + spread) / whole).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_by_algorithm_and_by_target_and_tier() {
        let summary = serde_json::json!({
            "strikes": 10, "masked": 4, "detected_recovered": 5, "detected_unrecovered": 1, "silent": 0, "panics": 0,
            "timeouts": 0, "false_alarms": 0, "clean_runs": 3,
            "by": [{"target": "field", "tier": 1, "n": 10, "masked": 4, "detected_recovered": 5, "detected_unrecovered": 1, "silent": 0}],
        });
        let mut table = Table::default();
        assert!(table.add("bfs", &summary) && table.add("bfs", &summary));
        let text = table.markdown();
        assert!(text.contains("| bfs | 20 | 8 | 10 | 2 | 0 |") && text.contains("| field | tier 1 | 20 |"), "{text}");
    }
}
