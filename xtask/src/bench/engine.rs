//! What every engine of a comparison answers: what it offers, and how long it took.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::graph::Graph;

/// Rounds that every PageRank engine is asked for; times are per round.
pub(crate) const ROUNDS: usize = 20;

/// What is measured. The order keeps those on the same file together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(crate) enum Algorithm {
    /// Breadth-first search from given sources
    Bfs,
    /// One round of PageRank
    Pagerank,
    /// Weak components
    Cc,
    /// All core numbers
    Kcore,
    /// Edge-list text to a symmetric graph in memory
    Load,
}

impl Algorithm {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bfs => "bfs",
            Self::Pagerank => "pagerank",
            Self::Cc => "cc",
            Self::Kcore => "kcore",
            Self::Load => "load",
        }
    }

    /// The file that engines read for it: components and cores are about the symmetric graph.
    pub(crate) fn file(self, graph: &Graph) -> &Path {
        match self {
            Self::Bfs | Self::Pagerank => &graph.sg,
            Self::Cc | Self::Kcore => &graph.symmetric,
            Self::Load => &graph.text,
        }
    }
}

/// One thing to measure.
pub(crate) struct Job<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) algorithm: Algorithm,
    pub(crate) threads: usize,
    pub(crate) source: u32,
    /// Repeats inside one process. One more runs before them and is dropped, for every engine.
    pub(crate) trials: usize,
}

/// One measured repeat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Algorithm time; PageRank: per round.
    pub(crate) ms: f64,
    /// Set-up that the engine reports apart from it.
    pub(crate) setup_ms: Option<f64>,
}

/// A program that can be measured.
pub(crate) trait Engine {
    fn name(&self) -> &str;

    fn offers(&self, algorithm: Algorithm, threads: usize) -> bool;

    /// Has an answer to the job checked, once a case; peers are trusted.
    fn verify(&mut self, _job: &Job<'_>) -> Result<()> {
        Ok(())
    }

    /// Loads what is loaded apart from measuring.
    fn prepare(&mut self, _job: &Job<'_>) -> Result<()> {
        Ok(())
    }

    /// Runs a job; the samples are its repeats.
    fn measure(&mut self, job: &Job<'_>) -> Result<Vec<Sample>>;

    /// A process of the engine that outlives `measure`; its cpu time is not foreign load.
    fn process(&self) -> Option<u32> {
        None
    }
}

/// Threads for whatever runtime the child uses. Nothing is ever pinned: an affinity mask would be inherited.
pub(crate) fn with_threads(command: &mut Command, threads: usize) -> &mut Command {
    for variable in ["OMP_NUM_THREADS", "PARLAY_NUM_THREADS", "RAYON_NUM_THREADS"] {
        command.env(variable, threads.to_string());
    }
    command.env_remove("GOMP_CPU_AFFINITY").env_remove("OMP_PROC_BIND")
}

/// The number behind a label (`Trial Time: 0.01`), on every line that has it.
pub(crate) fn numbers_after<'a>(label: &'a str, text: &'a str) -> impl Iterator<Item = Result<f64>> + 'a {
    text.lines().filter_map(move |line| line.split_once(label)).map(move |(_, rest)| {
        let word = rest.split_whitespace().next().unwrap_or_default();
        word.parse().with_context(|| format!("`{label}` is followed by `{word}`, not by a number"))
    })
}

/// The middle value; the mean of the middle two.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn labelled_numbers_are_found() -> Result<()> {
        let text = "Read Time:  0.5\nTrial Time:          0.00016\nTrial Time: 1\n";
        let found: Vec<f64> = numbers_after("Trial Time:", text).collect::<Result<_>>()?;
        assert_eq!(found, [0.00016, 1.0]);
        Ok(())
    }
}
