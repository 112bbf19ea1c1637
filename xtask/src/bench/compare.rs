//! `cargo xtask bench --compare`: our engine and every other one found here, on the same files, threads and stopping rule.
//!
//! One round runs each engine once, in rotating order, so that spells of the machine meet all of them; a round's time is
//! the median of its repeats, and a ratio compares two engines within a round. BFS takes another source each round, the
//! same for all. Samples during which other processes used the machine are taken again, a few times, then marked.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::engine::{Algorithm, Engine, Job, median};
use super::graph::{Graph, Store};
use super::machine::{self, FOREIGN_MAX, Watch};
use super::native::{Gapbs, Gbbs};
use super::ours::Harness;
use super::served::Served;
use super::table::{Measurement, Results};
use super::{chart, table};
use crate::workspace::Workspace;

/// Options of `cargo xtask bench --compare`.
#[derive(Args)]
#[command(next_help_heading = "With --compare")]
pub(crate) struct Comparison {
    /// Graphs: kron-S, urand-S (16 edges a vertex), road-FLA, cnr-2000, cit-HepPh
    #[arg(long, value_delimiter = ',', default_value = "kron-20,urand-20,road-FLA,cnr-2000,cit-HepPh")]
    graphs: Vec<String>,
    /// What to measure
    #[arg(long, value_enum, value_delimiter = ',', default_value = "bfs,pagerank,cc,kcore,load")]
    algorithms: Vec<Algorithm>,
    /// Thread counts, the same for every engine
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Interleaved rounds; the figures are medians over them
    #[arg(long, default_value_t = 7)]
    trials: usize,
    /// Repeats inside one process and round, one more being dropped before them
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Only these peers (words of their names, such as gapbs,gbbs)
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Measure the peers alone
    #[arg(long)]
    without_ours: bool,
    /// Folder of the real graphs [default: GRAPHALG_TEST_GRAPHS, else ../shared/data/graphs beside the checkout]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Seconds to spend, in all, on waiting for a quiet machine and on taking disturbed samples again
    #[arg(long, default_value_t = 600)]
    patience: u64,
}

/// Runs the comparison; true when every answer of ours was verified and everything could be measured.
///
/// # Errors
/// When an engine fails, a graph cannot be made, or our binary is missing.
pub(crate) fn run(workspace: &Workspace, options: &Comparison) -> Result<bool> {
    ensure!(options.trials > 0 && options.repeats > 0, "--trials and --repeats must be at least 1");
    let most = options.threads.iter().copied().max().context("--threads names no count")?;
    ensure!(options.threads.iter().all(|&threads| threads > 0), "--threads must be at least 1");
    let ours = if options.without_ours { None } else { Some(Harness::build(workspace)?) };
    let folder = workspace.target.join("bench");
    let beside = workspace.root.join("../shared/data/graphs");
    let store = Store {
        folder: folder.join("graphs"),
        data: options.data.clone().or_else(|| named_folder("GRAPHALG_TEST_GRAPHS")).unwrap_or(beside),
        gapbs: named_folder("GAPBS_DIR"),
        harness: workspace.target.join("release/harness"),
    };
    let mut engines = engines(workspace, options, ours)?;
    let mut results = Results::new(machine::describe(), machine::barrier_ns(most)?);
    println!("{}", results.heading());
    let mut patience = Patience { left: Duration::from_secs(options.patience) };
    let algorithms: BTreeSet<Algorithm> = options.algorithms.iter().copied().collect();
    for name in &options.graphs {
        let graph = store.graph(name)?;
        for &threads in &options.threads {
            for &algorithm in &algorithms {
                compare(&mut engines, options, (&graph, algorithm, threads), &mut patience, &mut results)?;
                results.write_csv(&folder.join("compare.csv"))?; // a long run that is cut short keeps what it has
            }
        }
    }
    results.barrier_after_ns = Some(machine::barrier_ns(most)?);
    println!("\n{}\n{}", results.heading(), table::ratios(&results));
    println!("{}", table::speedups(&results));
    chart::write(&results, &folder.join("compare.svg"))?;
    println!("written: compare.csv, compare.svg in {}", folder.display());
    Ok(true)
}

/// Ours first, then whatever peers are here; says on stderr which are not, and how to add them.
fn engines(workspace: &Workspace, options: &Comparison, ours: Option<Harness>) -> Result<Vec<Box<dyn Engine>>> {
    let wanted = |name: &str| {
        let plain = |text: &str| text.to_lowercase().replace([' ', '-'], "");
        options.peers.is_empty() || options.peers.iter().any(|peer| plain(name).contains(&plain(peer)))
    };
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    engines.extend(ours.map(|harness| Box::new(harness) as Box<dyn Engine>));
    let absent = |name: &str, how: &str| eprintln!("without {name}: {how}");
    if wanted("GAPBS") {
        match named_folder("GAPBS_DIR") {
            Some(folder) => engines.push(Box::new(Gapbs { folder })),
            None => absent("GAPBS", "set GAPBS_DIR to the folder of its built programs"),
        }
    }
    if wanted("GBBS") {
        match named_folder("GBBS_DIR") {
            Some(folder) => engines.push(Box::new(Gbbs::find(&folder)?)),
            None => absent("GBBS", "set GBBS_DIR to a folder with its built KCore"),
        }
    }
    if wanted("graph crate") {
        engines.push(Box::new(Served::graph_crate(workspace)?));
    }
    if wanted("NetworKit") {
        match Served::networkit(workspace) {
            Some(peer) => engines.push(Box::new(peer)),
            None => absent("NetworKit", "put a python3 that can import networkit and numpy first on PATH"),
        }
    }
    if wanted("igraph") {
        match Served::igraph(workspace) {
            Some(peer) => engines.push(Box::new(peer)),
            None => absent("igraph", "put a python3 that can import igraph and numpy first on PATH"),
        }
    }
    ensure!(!engines.is_empty(), "no engine to measure: --peers leaves none");
    Ok(engines)
}

fn named_folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

type Case<'a> = (&'a Graph, Algorithm, usize);

/// All rounds of one graph, algorithm and thread count.
fn compare(
    engines: &mut [Box<dyn Engine>],
    options: &Comparison,
    case: Case<'_>,
    patience: &mut Patience,
    results: &mut Results,
) -> Result<()> {
    let (graph, algorithm, threads) = case;
    let mut able: Vec<&mut Box<dyn Engine>> = engines.iter_mut().filter(|e| e.offers(algorithm, threads)).collect();
    if able.is_empty() {
        return Ok(());
    }
    if algorithm == Algorithm::Bfs && graph.sources.is_empty() {
        eprintln!("bfs on {}: left out, no vertex reaches a tenth of the graph", graph.name);
        return Ok(());
    }
    eprintln!("{} on {}, {threads} threads", algorithm.name(), graph.name);
    for round in 0..options.trials {
        let first = round % able.len();
        for turn in 0..able.len() {
            let at = (first + turn) % able.len();
            let engine = &mut *able[at];
            let source = graph.sources.get(round % graph.sources.len().max(1)).copied().unwrap_or(0);
            let job = Job { graph, algorithm, threads, source, trials: options.repeats };
            if round == 0 && Some(&threads) == options.threads.first() {
                engine.verify(&job).with_context(|| engine.name().to_owned())?;
            }
            let (ms, setup_ms, foreign) = settled(engine.as_mut(), &job, patience)
                .with_context(|| format!("{}, {} on {}", engine.name(), algorithm.name(), graph.name))?;
            results.push(Measurement {
                engine: engine.name().to_owned(),
                graph: graph.name.clone(),
                vertices: graph.vertices,
                arcs: graph.arcs,
                algorithm,
                threads,
                round,
                ms,
                setup_ms,
                foreign,
            });
        }
    }
    Ok(())
}

/// What is left of the time to spend on a quiet machine.
struct Patience {
    left: Duration,
}

impl Patience {
    fn spend(&mut self, since: Instant) {
        self.left = self.left.saturating_sub(since.elapsed());
    }

    /// Waits until others leave the machine alone for a moment.
    fn wait_for_quiet(&mut self) {
        const MOMENT: Duration = Duration::from_millis(200); // 40 ticks of two cores: one foreign tick is below the limit
        while !self.left.is_zero() {
            let start = Instant::now();
            let watch = Watch::start(None);
            std::thread::sleep(MOMENT);
            if watch.foreign(None) <= FOREIGN_MAX {
                return;
            }
            self.spend(start);
        }
    }
}

/// Measures until other processes left the machine alone, or patience is at its end; the quietest try counts.
fn settled(engine: &mut dyn Engine, job: &Job<'_>, patience: &mut Patience) -> Result<(f64, Option<f64>, f64)> {
    let mut best: Option<(f64, Option<f64>, f64)> = None;
    loop {
        engine.prepare(job)?;
        patience.wait_for_quiet();
        let start = Instant::now();
        let watch = Watch::start(engine.process());
        let samples = engine.measure(job)?;
        let foreign = watch.foreign(engine.process());
        if best.is_none_or(|(_, _, least)| foreign < least) {
            let ms = median(samples.iter().map(|sample| sample.ms)).context("no repeat was reported")?;
            best = Some((ms, median(samples.iter().filter_map(|sample| sample.setup_ms)), foreign));
        }
        if foreign <= FOREIGN_MAX || patience.left.is_zero() {
            return best.context("nothing was measured");
        }
        patience.spend(start);
    }
}
