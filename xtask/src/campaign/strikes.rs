//! `cargo xtask campaign strikes`: `harness inject` over algorithms, graphs and ranks, with all three tiers and with tier 1 alone; one
//! page of all (`table.md`), ready for the documentation. Every row stays in the folder of its cell.
//!
//! A cell is whole when its `summary.json` is there, so a campaign that was killed goes on with `--resume`: with the same build,
//! seed and counts only.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::strikes_page::{Page, short};
use crate::bench::protection as cost;
use crate::workspace::{Workspace, cargo};

/// Options of `cargo xtask campaign strikes`.
#[derive(Args)]
pub(crate) struct Options {
    /// Strikes of each algorithm, graph and number of ranks
    #[arg(long, default_value_t = 400)]
    strikes: u32,
    /// The same for tier 1 alone, at each budget; 0 leaves it out
    #[arg(long, default_value_t = 150)]
    alone: u32,
    /// Runs without a strike of each
    #[arg(long, default_value_t = 50)]
    clean_runs: u32,
    /// Seed of the first; the next ones follow
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Interleaved measurements of what tier 1 costs at each budget; 0 leaves them out
    #[arg(long, default_value_t = 5)]
    costs: usize,
    /// Scale of the graph on which costs are measured (edge factor 16)
    #[arg(long, default_value_t = 20)]
    cost_scale: u32,
    /// Folder for what each leaves [default: campaign/strikes in the target folder]
    #[arg(long)]
    output: Option<PathBuf>,
    /// A harness that is built already
    #[arg(long)]
    harness: Option<PathBuf>,
    /// Go on with a campaign that was broken off: same build, seed and counts
    #[arg(long)]
    resume: bool,
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
/// Tier 1 alone, by budget.
const BUDGETS: [&str; 2] = ["0.02", "1"];
/// What a campaign was started with, beside its cells.
const RECORD: &str = "campaign.json";

/// Runs the command.
///
/// # Errors
/// When the harness cannot be built or run, or a folder of another campaign is in the way.
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
    open(&folder, &record(&harness, options)?, options.resume)?;
    let mut graphs = vec![("cit-HepPh".to_owned(), None)];
    for (name, args) in GENERATED {
        let path = folder.join(format!("{name}.gcsr"));
        let made = Command::new(&harness).args(["graph", "generate", name]).args(args).arg("-o").arg(&path).output()?;
        ensure!(made.status.success(), "{name} could not be generated:\n{}", String::from_utf8_lossy(&made.stderr));
        graphs.push((format!("{name}-{}", args[1]), Some(path)));
    }
    let started = Instant::now();
    let mut page = Page::default();
    let mut is_sound = true;
    let mut seed = options.seed;
    let alone = |budget: &str| ["--certify", "off", "--redundancy-budget", budget].map(str::to_owned).to_vec();
    let mut settings = vec![("all-tiers".to_owned(), Vec::new(), options.strikes)];
    settings.extend(BUDGETS.map(|budget| (format!("tier-1-alone-{budget}"), alone(budget), options.alone)));
    for (setting, more, strikes) in &settings {
        if *strikes == 0 {
            continue;
        }
        for (algorithm, args) in ALGORITHMS {
            for (graph, path) in &graphs {
                for ranks in RANKS {
                    let cell = Cell { harness: &harness, algorithm, args, graph: path.as_deref(), ranks, more };
                    let name = format!("{}-{graph}-{ranks}", cell.title().replace([' ', '-'], ""));
                    let out = folder.join(setting).join(name);
                    let summary = cell.run(*strikes, options.clean_runs, seed, &out)?;
                    seed += 1;
                    eprintln!(
                        "{:>6.0} s  {setting}: {} on {graph}, {ranks} ranks: {}",
                        started.elapsed().as_secs_f64(),
                        cell.title(),
                        short(&summary)
                    );
                    let rows = rows(&out)?;
                    let is_clean = page.add(setting, &cell.title(), &summary, &rows, &cell.repeat())?;
                    // Tier 1 alone is measured, not judged; but alarms, panics and hangs are never right.
                    is_sound &= is_clean;
                }
            }
        }
    }
    if options.costs > 0 && options.alone > 0 {
        costs(&harness, &workspace, options, &mut page)?;
    }
    let command = format!(
        "cargo xtask campaign strikes --strikes {} --alone {} --clean-runs {} --seed {}",
        options.strikes, options.alone, options.clean_runs, options.seed
    );
    let text = page.markdown(&command, &build_of(&harness)?);
    fs::write(folder.join("table.md"), &text)?;
    println!("{text}");
    eprintln!("{:.0} s; rows in {}", started.elapsed().as_secs_f64(), folder.display());
    Ok(is_sound)
}

/// What tells this campaign from others.
fn record(harness: &Path, options: &Options) -> Result<Value> {
    let bytes = fs::read(harness).with_context(|| format!("{}: cannot be read", harness.display()))?;
    let mut hash = DefaultHasher::new();
    hash.write(&bytes);
    Ok(json!({
        "harness": format!("{:016x}", hash.finish()),
        "strikes": options.strikes,
        "alone": options.alone,
        "clean_runs": options.clean_runs,
        "seed": options.seed,
    }))
}

/// Prepares the folder: a new campaign takes the place of an older one, a resumed one must be the same.
fn open(folder: &Path, record: &Value, is_resumed: bool) -> Result<()> {
    let path = folder.join(RECORD);
    let before: Option<Value> = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if is_resumed {
        let Some(before) = before else { bail!("{}: no campaign to go on with; leave --resume out", folder.display()) };
        ensure!(
            before == *record,
            "the campaign in {} was another: it had {before}, this has {record}",
            folder.display()
        );
        return Ok(());
    }
    if folder.exists() {
        let is_empty = fs::read_dir(folder)?.next().is_none();
        ensure!(
            before.is_some() || is_empty,
            "{}: holds something that is no campaign of strikes; name another folder",
            folder.display()
        );
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    fs::write(&path, serde_json::to_vec_pretty(record)?)?;
    Ok(())
}

/// Commit and profile of a harness, in its own words.
fn build_of(harness: &Path) -> Result<String> {
    let out = Command::new(harness).args(["--algorithm", "bfs", "--progress", "off"]).output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("BENCHMARK_METADATA ")).unwrap_or("{}");
    let said: Value = serde_json::from_str(line)?;
    let commit = said["git_commit"].as_str().unwrap_or("an unknown commit");
    let dirty = if said["git_dirty"] == true { " with changes" } else { "" };
    Ok(format!(
        "{} build of {}{dirty}",
        said["build_profile"].as_str().unwrap_or("some"),
        commit.get(..10).unwrap_or(commit)
    ))
}

/// What tier 1 and snapshots cost without faults: baseline and each budget in turn.
fn costs(harness: &Path, workspace: &Workspace, options: &Options, page: &mut Page) -> Result<()> {
    let folder = workspace.target.join("bench/graphs");
    fs::create_dir_all(&folder)?;
    let graph = cost::graph(harness, &folder, "kron", options.cost_scale)?;
    for (algorithm, args) in ALGORITHMS {
        let argv = [&["--algorithm", algorithm], args].concat();
        let protected =
            BUDGETS.map(|budget| ["--fault-tolerance", "on", "--certify", "off", "--redundancy-budget", budget]);
        let mut more = [Vec::new(), Vec::new()];
        let mut covered = [0.0; 2];
        for turn in 0..options.costs {
            eprintln!("cost: {algorithm} {}: {} of {}", args.join(" "), turn + 1, options.costs);
            let plain = cost::measure(harness, &graph, &argv, &[], 3)?;
            for (place, protected) in protected.iter().enumerate() {
                let guarded = cost::measure(harness, &graph, &argv, protected, 3)?;
                more[place].push(100.0 * ((guarded.main_loop + guarded.drain) / plain.main_loop - 1.0));
                covered[place] = guarded.covered_pct;
            }
        }
        for (place, budget) in BUDGETS.iter().enumerate() {
            let cell = Cell { harness, algorithm, args, graph: None, ranks: 1, more: &[] };
            let setting = format!("tier-1-alone-{budget}");
            page.cost(&setting, &cell.title(), cost::median(&mut more[place]), covered[place]);
        }
    }
    page.cost_graph = format!("kron-{}", options.cost_scale);
    Ok(())
}

/// The rows of a cell.
fn rows(folder: &Path) -> Result<Vec<csv::StringRecord>> {
    let path = folder.join("strikes.csv");
    let mut reader = csv::Reader::from_path(&path).with_context(|| path.display().to_string())?;
    reader.records().collect::<Result<_, _>>().with_context(|| path.display().to_string())
}

struct Cell<'a> {
    harness: &'a Path,
    algorithm: &'a str,
    args: &'a [&'a str],
    graph: Option<&'a Path>,
    ranks: u32,
    more: &'a [String],
}

impl Cell<'_> {
    fn title(&self) -> String {
        match (self.algorithm, self.args) {
            ("kcore", args) => format!("kcore {}", args.join(" ")),
            (name, _) => name.to_owned(),
        }
    }

    /// How one row of it is repeated.
    fn repeat(&self) -> String {
        let graph = self.graph.and_then(Path::file_name).map(|name| format!(" --graph {}", name.display()));
        let options = [&self.args.join(" "), &self.more.join(" ")].map(|text| text.trim().to_owned());
        let options = options.join(" ");
        let options = if options.trim().is_empty() { String::new() } else { format!(" -- {}", options.trim()) };
        format!(
            "harness inject --algorithm {}{} --ranks {} --repeat SEED{options}",
            self.algorithm,
            graph.unwrap_or_default(),
            self.ranks
        )
    }

    /// The summary, of this run or of an earlier one that was whole; a silent strike or a false alarm is in it, not an error.
    fn run(&self, strikes: u32, clean_runs: u32, seed: u64, out: &Path) -> Result<Value> {
        if let Ok(text) = fs::read(out.join("summary.json")) {
            return Ok(serde_json::from_slice(&text)?);
        }
        if out.exists() {
            fs::remove_dir_all(out)?;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_goes_on_only_where_it_is_the_same_and_clears_only_its_own_folder() {
        let folder = std::env::temp_dir().join(format!("graphalg-strikes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let (one, other) = (json!({"seed": 7}), json!({"seed": 8}));
        assert!(open(&folder, &one, true).is_err(), "nothing to go on with");
        open(&folder, &one, false).expect("a new folder");
        fs::write(folder.join("row"), "").expect("written");
        open(&folder, &one, true).expect("the same campaign");
        assert!(folder.join("row").exists());
        assert!(open(&folder, &other, true).is_err(), "another seed");
        open(&folder, &other, false).expect("its own folder is cleared");
        assert!(!folder.join("row").exists());
        fs::write(folder.join("row"), "").expect("written");
        fs::remove_file(folder.join(RECORD)).expect("removed");
        assert!(open(&folder, &one, false).is_err(), "a stranger's folder stays");
        assert!(folder.join("row").exists());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
