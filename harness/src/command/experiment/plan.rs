//! The plan of an experiment, as its author writes it (TOML), and the command lines it asks for.
//!
//! Every command line is read by the run parser before anything starts, so a plan that could not run is refused whole.

use crate::command_line::{Stop, parse_run};
use crate::dataset;
use crate::device::Chosen;
use crate::measured::Profile;
use crate::options::{DeviceChoice, Method};
use clap::ValueEnum;
use framework::algorithm::{Registration, Registry};
use framework::base::error::{Error, Result};
use framework::graph::{Input, View};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The plan file.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// What it is called in reports.
    pub(crate) name: String,
    /// Which binary measures.
    pub(crate) profile: Profile,
    /// Measured repetitions of each method.
    pub(crate) repeats: u32,
    /// Repetitions before them, which no table of results holds.
    #[serde(default)]
    pub(crate) warmups: u32,
    /// Seconds after which an attempt is killed.
    pub(crate) timeout_s: f64,
    /// Folder of data sets by name; a relative path starts at the plan's folder.
    pub(crate) dataset_dir: Option<PathBuf>,
    /// The graphs.
    #[serde(rename = "dataset", default)]
    pub(crate) datasets: Vec<PlanDataset>,
    /// The algorithms.
    #[serde(rename = "algorithm", default)]
    pub(crate) algorithms: Vec<PlanAlgorithm>,
    /// The methods, in the order in which they alternate.
    #[serde(rename = "method", default)]
    pub(crate) methods: Vec<PlanMethod>,
}

/// A graph: by name, or a file beside the plan.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanDataset {
    /// The data set inside the program, or one of `dataset_dir`.
    pub(crate) name: Option<String>,
    /// A file; a relative path starts at the plan's folder.
    pub(crate) file: Option<PathBuf>,
    /// How arcs are taken; absent means as the file says.
    pub(crate) directed: Option<bool>,
}

/// An algorithm with its options.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanAlgorithm {
    /// The plugin.
    pub(crate) name: String,
    /// Its options by name: `k = 5` is `-k 5`, `all_cores = true` is `--all-cores`.
    #[serde(default)]
    pub(crate) args: toml::Table,
}

/// A method.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanMethod {
    /// As `--method` has it.
    pub(crate) name: String,
    /// Ranks; absent means 1, or 2 with a multi method.
    pub(crate) ranks: Option<u32>,
    /// As `--device` has it.
    pub(crate) device: Option<String>,
    /// Threads of each rank; absent means cores / ranks.
    pub(crate) threads: Option<u32>,
    /// `a`, `b`, `t` and what else the build has.
    #[serde(default)]
    pub(crate) protection: toml::Table,
}

/// A plan that can run, with the graphs found.
pub(crate) struct Checked {
    /// The plan.
    pub(crate) plan: Plan,
    /// Its text.
    pub(crate) text: String,
    /// By dataset: name and content.
    pub(crate) inputs: Vec<Input>,
    /// By dataset: its part of the command line for an algorithm that goes along arcs as given.
    pub(crate) dataset_argv: Vec<Vec<String>>,
    /// By algorithm.
    pub(crate) algorithm_argv: Vec<Vec<String>>,
    /// By algorithm: whether it takes a direction.
    pub(crate) takes_direction: Vec<bool>,
    /// By method.
    pub(crate) method_argv: Vec<Vec<String>>,
    /// By method: ranks after defaults.
    pub(crate) method_ranks: Vec<u32>,
    /// The GPUs that it asks for: by algorithm and method, what was typed. Whether they work is asked when it runs.
    pub(crate) on_gpus: Vec<GpuWish>,
}

/// A run that asks for GPUs.
pub(crate) struct GpuWish {
    entry: &'static Registration,
    device: DeviceChoice,
    method: Option<Method>,
    ranks: u32,
}

impl Checked {
    /// Makes sure that the GPUs it asks for pass their probe, before anything runs.
    ///
    /// # Errors
    /// An environment error when one does not.
    pub(crate) fn probe_gpus(&self) -> Result<()> {
        for wish in &self.on_gpus {
            Chosen::of(&wish.device, wish.method, wish.entry)?.fit(wish.ranks as usize)?;
        }
        Ok(())
    }
}

impl Plan {
    /// Reads and checks the plan at `path`.
    ///
    /// # Errors
    /// When it is no plan, or asks for what this build does not have.
    pub(crate) fn read(path: &Path, registry: &Registry) -> Result<Checked> {
        let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.into(), source })?;
        let plan: Plan = toml::from_str(&text).map_err(|error| wrong(path, error.to_string().trim_end()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        plan.check(text, folder, registry).map_err(|error| match error {
            Error::Usage(problem) => wrong(path, &problem),
            other => other,
        })
    }

    fn check(self, text: String, folder: &Path, registry: &Registry) -> Result<Checked> {
        if self.repeats == 0 {
            return Err(Error::usage("repeats is 0; give at least 1 (5 or more for an interval)"));
        }
        if !(self.timeout_s.is_finite() && self.timeout_s > 0.0) {
            return Err(Error::usage("timeout_s is no time; give seconds above 0"));
        }
        for (what, count) in
            [("dataset", self.datasets.len()), ("algorithm", self.algorithms.len()), ("method", self.methods.len())]
        {
            if count == 0 {
                return Err(Error::usage(format!("it has no [[{what}]]; add at least one")));
            }
        }
        let mut checked = Checked {
            text,
            inputs: Vec::new(),
            dataset_argv: Vec::new(),
            algorithm_argv: Vec::new(),
            takes_direction: Vec::new(),
            method_argv: Vec::new(),
            method_ranks: Vec::new(),
            on_gpus: Vec::new(),
            plan: self,
        };
        checked.find_datasets(folder)?;
        checked.spell_methods()?;
        checked.spell_algorithms(registry)?;
        Ok(checked)
    }
}

impl Checked {
    fn find_datasets(&mut self, folder: &Path) -> Result<()> {
        let mut names = BTreeSet::new();
        for (place, dataset) in self.plan.datasets.iter().enumerate() {
            let (input, argv) = match (&dataset.name, &dataset.file) {
                (Some(name), None) if name == dataset::EMBEDDED => {
                    (dataset::find(name, None)?, vec!["--dataset".to_owned(), name.clone()])
                }
                (Some(name), None) => {
                    let own = self.plan.dataset_dir.as_ref().map(|own| folder.join(own));
                    let input = dataset::find(name, own.as_deref()).map_err(|error| match error {
                        Error::Usage(problem) => {
                            let mended = problem.replace("--dataset-dir names", "dataset_dir = \"...\" names");
                            Error::usage(format!("dataset {place}: {}", mended.replace("--graph", "file = \"...\"")))
                        }
                        other => other,
                    })?;
                    // The file itself: what lies in the folder later does not matter.
                    let argv = path_argv(place, input.path())?;
                    (input, argv)
                }
                (None, Some(file)) => {
                    let path = folder.join(file);
                    let argv = path_argv(place, &path)?;
                    (Input::Path(PathBuf::from(&argv[1])), argv)
                }
                _ => return Err(Error::usage(format!("dataset {place}: give exactly one of name and file"))),
            };
            if !names.insert(input.graph_name()) {
                return Err(Error::usage(format!(
                    "two data sets are called `{}`; give the files different names",
                    input.graph_name()
                )));
            }
            self.inputs.push(input);
            self.dataset_argv.push(argv);
        }
        Ok(())
    }

    fn spell_methods(&mut self) -> Result<()> {
        let mut seen = BTreeSet::new();
        for method in &self.plan.methods {
            let name = &method.name;
            let Ok(parsed) = Method::from_str(name, false) else {
                let known: Vec<_> = Method::value_variants().iter().map(|method| method.name()).collect();
                return Err(Error::usage(format!(
                    "method `{name}`: this build does not have it (it has {})",
                    known.join(", ")
                )));
            };
            let is_multi = parsed.name().starts_with("multi_");
            let ranks = method.ranks.unwrap_or(if is_multi { 2 } else { 1 });
            if (ranks > 1) != is_multi {
                return Err(Error::usage(format!(
                    "method `{name}` and ranks = {ranks} contradict each other: single means one rank, multi two or more"
                )));
            }
            let mut argv = vec!["--method".to_owned(), name.clone(), "--ranks".to_owned(), ranks.to_string()];
            if let Some(device) = &method.device {
                device
                    .parse::<DeviceChoice>()
                    .map_err(|problem| Error::usage(format!("method `{name}`: {problem}")))?;
                argv.extend(["--device".to_owned(), device.clone()]);
            }
            if let Some(threads) = method.threads {
                argv.extend(["--threads".to_owned(), threads.to_string()]);
            }
            argv.extend(
                spelled(&method.protection).map_err(|problem| Error::usage(format!("method `{name}`: {problem}")))?,
            );
            if !seen.insert(argv.clone()) {
                return Err(Error::usage(format!("method `{name}` with {ranks} ranks stands twice; take one out")));
            }
            self.method_argv.push(argv);
            self.method_ranks.push(ranks);
        }
        Ok(())
    }

    /// Spells the algorithms and lets the run parser read every combination with a method.
    fn spell_algorithms(&mut self, registry: &Registry) -> Result<()> {
        for (place, algorithm) in self.plan.algorithms.iter().enumerate() {
            let in_words = |problem: String| Error::usage(format!("algorithm `{}`: {problem}", algorithm.name));
            registry.find(&algorithm.name)?;
            let own = spelled(&algorithm.args).map_err(in_words)?;
            let argv: Vec<String> = ["--algorithm".to_owned(), algorithm.name.clone()].into_iter().chain(own).collect();
            if self.algorithm_argv.contains(&argv) {
                return Err(in_words(format!("number {place} stands twice; take one out")));
            }
            let mut takes_direction = false;
            for (method, &ranks) in self.method_argv.iter().zip(&self.method_ranks) {
                let line: Vec<OsString> = ["run"]
                    .into_iter()
                    .chain(argv.iter().chain(method).map(String::as_str))
                    .map(OsString::from)
                    .collect();
                let typed = parse_run(registry, &line).map_err(|stop| match stop {
                    Stop::Failed(error) => in_words(error.to_string()),
                    Stop::Clap(error) => in_words(format!(
                        "{} ({})",
                        error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: "),
                        line[1..].join(std::ffi::OsStr::new(" ")).to_string_lossy()
                    )),
                })?;
                let (device, method) = (typed.options.device.clone(), typed.options.method);
                if matches!(device, DeviceChoice::Cuda(_)) || method.is_some_and(Method::is_gpu) {
                    self.on_gpus.push(GpuWish { entry: typed.entry, device, method, ranks });
                }
                let made = (typed.entry.make)(&typed.matches).map_err(|error| in_words(error.to_string()))?;
                takes_direction = matches!(made.view(), View::AsGiven { .. });
            }
            self.algorithm_argv.push(argv);
            self.takes_direction.push(takes_direction);
        }
        Ok(())
    }

    /// What follows the binary's name for an algorithm, a dataset and a method.
    pub(crate) fn direction(&self, algorithm: usize, dataset: usize) -> Option<&'static str> {
        match self.plan.datasets[dataset].directed {
            Some(false) => Some("--undirected"),
            Some(true) if self.takes_direction[algorithm] => Some("--directed"),
            _ => None,
        }
    }
}

/// A graph file on a command line that may be run from any folder.
fn path_argv(place: usize, path: &Path) -> Result<Vec<String>> {
    let path = fs::canonicalize(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let spelled = path
        .to_str()
        .ok_or_else(|| Error::usage(format!("dataset {place}: the path {} is no UTF-8 text", path.display())))?;
    Ok(vec!["--graph".to_owned(), spelled.to_owned()])
}

/// Options from a table: `k = 5` is `-k 5`, `all_cores = true` is `--all-cores`, `false` is nothing.
fn spelled(table: &toml::Table) -> Result<Vec<String>, String> {
    let mut argv = Vec::new();
    for (key, value) in table {
        let option = if key.chars().count() == 1 { format!("-{key}") } else { format!("--{}", key.replace('_', "-")) };
        match value {
            toml::Value::Boolean(false) => {}
            toml::Value::Boolean(true) => argv.push(option),
            toml::Value::String(text) => argv.extend([option, text.clone()]),
            toml::Value::Integer(number) => argv.extend([option, number.to_string()]),
            toml::Value::Float(number) => argv.extend([option, number.to_string()]),
            _ => return Err(format!("`{key}` is neither text, number nor true or false")),
        }
    }
    Ok(argv)
}

fn wrong(path: &Path, problem: &str) -> Error {
    Error::Format { path: path.into(), problem: format!("the plan cannot run: {problem}") }
}
