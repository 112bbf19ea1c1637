//! What the tests share: making an algorithm from its options as the command line does, graphs that laws run on, and runs.

pub mod golden;
pub mod graphs;
pub mod needs;
pub mod simulated;

use framework::algorithm::{GraphAlgorithm, Registration, Registry};
use framework::base::error::{Error, Result};
use framework::base::id::Rank;
use framework::base::probe::{Off, Probe};
use framework::base::verdict::Verdict;
use framework::device::Kernels;
use framework::graph::Graph;
use framework::protect::{CheckpointSet, Protection};
use framework::step::Step;
use framework::trial::{CertificateResult, judge};
use framework::trial::{Placement, Trial, TrialConfig, protected_trial, trial};
use plugin_bfs as _;
use plugin_cc as _;
use plugin_kcore as _;
use plugin_pagerank as _;

/// Every algorithm with every set of options that the laws run it with. A new plugin is found by itself; options that it needs
/// are added here.
pub fn cases() -> Vec<Case> {
    let registry = Registry::linked().expect("no two plugins have one name");
    registry
        .iter()
        .flat_map(|entry| {
            let variants: &[&[&str]] = match entry.name {
                "bfs" => &[&[], &["--source", "index:0"]],
                "kcore" => &[&["-k", "1"], &["-k", "3"], &["--all-cores"]],
                "pagerank" => &[&[], &["--damping", "0"]],
                _ => &[&[]],
            };
            variants.iter().map(move |options| Case::of(entry, options))
        })
        .collect()
}

/// One algorithm with options.
#[derive(Clone)]
pub struct Case {
    entry: &'static Registration,
    options: Vec<String>,
}

impl Case {
    /// The algorithm with options of the caller's.
    ///
    /// # Panics
    /// If no plugin has that name.
    pub fn new(name: &str, options: &[impl AsRef<str>]) -> Case {
        let registry = Registry::linked().expect("no two plugins have one name");
        Case::of(registry.find(name).expect("a registered algorithm"), options)
    }

    fn of(entry: &'static Registration, options: &[impl AsRef<str>]) -> Case {
        Case { entry, options: options.iter().map(|option| option.as_ref().to_owned()).collect() }
    }

    /// The kernels of the algorithm.
    ///
    /// # Panics
    /// If the plugin brings none.
    pub fn kernels(&self) -> Kernels {
        self.entry.kernels.unwrap_or_else(|| panic!("{} brings kernels", self.entry.name))
    }

    /// The algorithm's name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The algorithm, made as the command line makes it.
    ///
    /// # Errors
    /// When the options are wrong.
    pub fn make(&self) -> Result<Box<dyn GraphAlgorithm>> {
        let command = (self.entry.augment)(clap::Command::new("test").no_binary_name(true));
        let made = command.try_get_matches_from(&self.options).and_then(|matches| (self.entry.make)(&matches));
        made.map_err(|error| Error::usage(error.to_string()))
    }

    /// One trial.
    ///
    /// # Errors
    /// Whatever the run reports.
    pub fn run(&self, graph: &Graph, ranks: usize, threads: usize) -> Result<Trial<Off>> {
        self.run_at(graph, Placement::new(ranks, threads))
    }

    /// One trial there, with a probe on each rank.
    ///
    /// # Errors
    /// Whatever the run reports.
    pub fn run_probed<P: Probe>(
        &self,
        graph: &Graph,
        place: Placement<'_>,
        probe: &(dyn Fn(Rank) -> P + Sync),
    ) -> Result<Trial<P>> {
        trial(graph, place, &|| self.make(), probe)
    }

    /// Runs it, lets `tamper` change the state of each rank so many times, and judges each; whether all ranks' certificates hold.
    ///
    /// # Errors
    /// Whatever the run reports.
    ///
    /// # Panics
    /// If the plugin has no certificate.
    pub fn judge(
        &self,
        graph: &Graph,
        place: (usize, usize),
        attempts: usize,
        tamper: &(dyn Fn(&mut Step<'_>, usize) + Sync),
    ) -> Result<Vec<Verdict>> {
        let judged = judge(graph, Placement::new(place.0, place.1), &|| self.make(), attempts, tamper)?;
        let one = |judged: CertificateResult| judged.certificate.expect("every plugin has a certificate").verdict;
        let all = |ranks: Vec<CertificateResult>| ranks.into_iter().map(one).fold(Verdict::Sound, Verdict::and);
        Ok(judged.into_iter().map(all).collect())
    }

    /// One protected trial; `resumable` is what a broken-off run left.
    ///
    /// # Errors
    /// Whatever the run reports.
    pub fn run_protected(
        &self,
        graph: &Graph,
        (ranks, threads): (usize, usize),
        protection: &Protection,
        resumable: Option<&CheckpointSet>,
    ) -> Result<Trial<Off>> {
        let plan = TrialConfig { place: Placement::new(ranks, threads), protection, resumable, reload: None };
        protected_trial(graph, &plan, &|| self.make(), &|_| Off)
    }

    /// One trial at a place of the caller's.
    ///
    /// # Errors
    /// Whatever the run reports.
    pub fn run_at(&self, graph: &Graph, place: Placement<'_>) -> Result<Trial<Off>> {
        trial(graph, place, &|| self.make(), &|_| Off)
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.entry.name, self.options.join(" "))
    }
}
