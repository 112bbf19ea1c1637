//! All measurements of a comparison, and the tables made of them.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::engine::{Algorithm, median};
use super::machine::FOREIGN_MAX;

/// One engine in one round of one case.
pub(crate) struct Measurement {
    pub(crate) engine: String,
    pub(crate) graph: String,
    pub(crate) vertices: usize,
    pub(crate) arcs: usize,
    pub(crate) algorithm: Algorithm,
    pub(crate) threads: usize,
    pub(crate) round: usize,
    /// Median of the round's repeats; PageRank: per round of the algorithm.
    pub(crate) ms: f64,
    pub(crate) setup_ms: Option<f64>,
    /// Share of the machine that other processes used meanwhile.
    pub(crate) foreign: f64,
}

/// Everything measured so far.
pub(crate) struct Results {
    machine: String,
    barrier_ns: f64,
    pub(crate) barrier_after_ns: Option<f64>,
    all: Vec<Measurement>,
}

/// One case: graph, algorithm, threads.
type Case = (String, Algorithm, usize);

/// One engine against ours in one case.
pub(crate) struct Ratio {
    pub(crate) case: Case,
    pub(crate) peer: String,
    ours: Option<(f64, Option<f64>)>,
    peer_ms: f64,
    /// Median, least and largest ratio ours / peer over the rounds.
    pub(crate) ratio: Option<(f64, f64, f64)>,
    disturbed: usize,
    samples: usize,
}

impl Results {
    pub(crate) fn new(machine: String, barrier_ns: f64) -> Self {
        Self { machine, barrier_ns, barrier_after_ns: None, all: Vec::new() }
    }

    pub(crate) fn push(&mut self, measurement: Measurement) {
        self.all.push(measurement);
    }

    /// The machine line that belongs above every table.
    pub(crate) fn heading(&self) -> String {
        let after = self.barrier_after_ns.map_or_else(String::new, |ns| format!(" before, {ns:.0} ns after"));
        format!("{}; thread barrier {:.0} ns{after}", self.machine, self.barrier_ns)
    }

    /// Cases in the order of measurement.
    fn cases(&self) -> Vec<Case> {
        let mut cases: Vec<Case> = Vec::new();
        for m in &self.all {
            let case = (m.graph.clone(), m.algorithm, m.threads);
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        cases
    }

    fn of<'a>(&'a self, case: &'a Case, engine: &'a str) -> impl Iterator<Item = &'a Measurement> {
        let is_case = move |m: &&Measurement| (&m.graph, m.algorithm, m.threads) == (&case.0, case.1, case.2);
        self.all.iter().filter(is_case).filter(move |m| m.engine == engine)
    }

    fn engines(&self) -> Vec<&str> {
        let mut engines: Vec<&str> = Vec::new();
        for m in &self.all {
            if !engines.contains(&m.engine.as_str()) {
                engines.push(&m.engine);
            }
        }
        engines
    }

    /// Every peer in every case.
    pub(crate) fn ratios(&self) -> Vec<Ratio> {
        let engines = self.engines();
        let mut ratios = Vec::new();
        for case in self.cases() {
            let ours: Vec<&Measurement> = self.of(&case, "ours").collect();
            for peer in engines.iter().copied().filter(|&engine| engine != "ours") {
                let theirs: Vec<&Measurement> = self.of(&case, peer).collect();
                let Some(peer_ms) = median(theirs.iter().map(|m| m.ms)) else { continue };
                let pairs = ours.iter().filter_map(|o| Some(o.ms / theirs.iter().find(|t| t.round == o.round)?.ms));
                let pairs: Vec<f64> = pairs.collect();
                let least = pairs.iter().copied().fold(f64::INFINITY, f64::min);
                let largest = pairs.iter().copied().fold(0.0, f64::max);
                let setup_ms = median(ours.iter().filter_map(|m| m.setup_ms));
                ratios.push(Ratio {
                    peer: peer.into(),
                    ours: median(ours.iter().map(|m| m.ms)).map(|ms| (ms, setup_ms)),
                    peer_ms,
                    ratio: median(pairs).map(|middle| (middle, least, largest)),
                    disturbed: ours.iter().chain(&theirs).filter(|m| m.foreign > FOREIGN_MAX).count(),
                    samples: ours.len() + theirs.len(),
                    case: case.clone(),
                });
            }
        }
        ratios
    }

    /// Writes every measurement.
    pub(crate) fn write_csv(&self, path: &Path) -> Result<()> {
        let mut text = String::from("engine,graph,vertices,arcs,algorithm,threads,round,ms,setup_ms,foreign_share\n");
        for m in &self.all {
            let setup = m.setup_ms.map_or_else(String::new, |ms| format!("{ms:.4}"));
            let (algorithm, threads) = (m.algorithm.name(), m.threads);
            let _ = writeln!(
                text,
                "{},{},{},{},{algorithm},{threads},{},{:.4},{setup},{:.3}",
                m.engine, m.graph, m.vertices, m.arcs, m.round, m.ms, m.foreign
            );
        }
        std::fs::write(path, text).with_context(|| path.display().to_string())
    }
}

/// The table of ratios, in Markdown. A figure with `*` was disturbed in more than a third of its samples.
pub(crate) fn ratios(results: &Results) -> String {
    let mut text = String::from(
        "| graph | algorithm | threads | ours, ms | set-up, ms | peer | peer, ms | ours / peer | least to largest |\n\
         |---|---|---:|---:|---:|---|---:|---:|---|\n",
    );
    let mut is_marked = false;
    for row in results.ratios() {
        let (graph, algorithm, threads) = &row.case;
        let mark = if 3 * row.disturbed > row.samples { "*" } else { "" };
        is_marked |= !mark.is_empty();
        let ours = row.ours.map_or("-".into(), |(ms, _)| digits(ms));
        let setup = row.ours.and_then(|(_, setup)| setup).map_or("-".into(), digits);
        let ratio = row.ratio.map_or("-".into(), |(middle, ..)| format!("{middle:.2}{mark}"));
        let span = row.ratio.map_or("-".into(), |(_, least, largest)| format!("{least:.2} to {largest:.2}"));
        let peer_ms = digits(row.peer_ms) + if row.ours.is_none() { mark } else { "" };
        let name = algorithm.name();
        let _ = writeln!(
            text,
            "| {graph} | {name} | {threads} | {ours} | {setup} | {} | {peer_ms} | {ratio} | {span} |",
            row.peer
        );
    }
    if is_marked {
        let percent = FOREIGN_MAX * 100.0;
        let _ = writeln!(
            text,
            "\n`*`: other processes used over {percent:.0} % of the machine in over a third of the samples"
        );
    }
    text
}

/// How much each engine gains from the fewest to the most threads, in Markdown; empty with one thread count.
pub(crate) fn speedups(results: &Results) -> String {
    let cases = results.cases();
    let threads = || cases.iter().map(|case| case.2);
    let (Some(few), Some(many)) = (threads().min(), threads().max()) else { return String::new() };
    if few == many {
        return String::new();
    }
    let mut text = format!("| graph | algorithm | engine | speed-up, {few} to {many} threads |\n|---|---|---|---:|\n");
    for case in cases.iter().filter(|case| case.2 == many) {
        let before: Case = (case.0.clone(), case.1, few);
        for engine in results.engines() {
            let time = |case: &Case| median(results.of(case, engine).map(|m| m.ms));
            if let (Some(slow), Some(fast)) = (time(&before), time(case)) {
                let _ = writeln!(text, "| {} | {} | {engine} | {:.2} |", case.0, case.1.name(), slow / fast);
            }
        }
    }
    text
}

/// Three significant digits or so.
fn digits(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{ms:.3}"),
        ms if ms < 100.0 => format!("{ms:.2}"),
        ms => format!("{ms:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(engine: &str, round: usize, threads: usize, ms: f64) -> Measurement {
        let (graph, algorithm) = ("g".into(), Algorithm::Bfs);
        let engine = engine.into();
        Measurement { engine, graph, vertices: 1, arcs: 1, algorithm, threads, round, ms, setup_ms: None, foreign: 0.0 }
    }

    #[test]
    fn a_ratio_compares_within_a_round() {
        let mut results = Results::new("machine".into(), 70.0);
        for (round, (ours, peer)) in [(1.0, 2.0), (30.0, 40.0), (5.0, 5.0)].into_iter().enumerate() {
            results.push(measured("ours", round, 1, ours));
            results.push(measured("peer", round, 1, peer));
        }
        let ratios = results.ratios();
        assert_eq!(ratios.len(), 1);
        assert_eq!(ratios[0].ratio, Some((0.75, 0.5, 1.0)));
        assert!(super::ratios(&results).contains("| g | bfs | 1 | 5.00 | - | peer | 5.00 | 0.75 | 0.50 to 1.00 |"));
    }

    #[test]
    fn speed_up_is_between_the_fewest_and_the_most_threads() {
        let mut results = Results::new("machine".into(), 70.0);
        results.push(measured("ours", 0, 1, 9.0));
        assert_eq!(speedups(&results), "");
        results.push(measured("ours", 0, 2, 6.0));
        assert!(speedups(&results).contains("| g | bfs | ours | 1.50 |"));
    }
}
