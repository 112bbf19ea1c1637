//! The manifest: the plan expanded and frozen, with what was there when it was. It is never rewritten.

use super::plan::Checked;
use crate::durable;
use crate::facts::{BUILD_FACTS, BuildFacts, gpus, hostname};
use crate::measured::Profile;
use crate::trace_files::FOLDER_VARIABLE;
use framework::base::error::{Error, Result};
use framework::graph::Input;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

/// Its name in a run folder.
pub(crate) const FILE: &str = "manifest.json";

const SCHEMA: &str = "graphalg-manifest";
const SCHEMA_VERSION: u32 = 1;

/// `manifest.json`.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// `graphalg-manifest`.
    pub(crate) schema: String,
    /// 1.
    pub(crate) schema_version: u32,
    /// When it was frozen.
    pub(crate) created_utc: String,
    /// The plan's name.
    pub(crate) name: String,
    /// The plan's profile.
    pub(crate) instrumentation_profile: Profile,
    /// Measured repetitions.
    pub(crate) repeats: u32,
    /// Repetitions before them in each session of an item.
    pub(crate) warmups: u32,
    /// Seconds after which an attempt is killed.
    pub(crate) timeout_s: f64,
    /// False for a debug build or a dirty tree: then nothing that follows is evidence.
    pub(crate) is_evidence: bool,
    /// Hash of the plan file.
    pub(crate) plan_sha256: String,
    /// The measured binary's own word about its build.
    pub(crate) build: BuildFacts,
    /// The measured binary.
    pub(crate) binary: BinaryFacts,
    /// The machine.
    pub(crate) host: HostFacts,
    /// Variables that matter to a run, where set.
    pub(crate) environment: BTreeMap<String, String>,
    /// The graphs.
    pub(crate) datasets: Vec<FrozenDataset>,
    /// The algorithms.
    pub(crate) algorithms: Vec<FrozenAlgorithm>,
    /// The methods, in the order in which they alternate.
    pub(crate) methods: Vec<FrozenMethod>,
    /// Algorithm x dataset.
    pub(crate) items: Vec<Item>,
    /// Their number.
    pub(crate) planned_items: usize,
    /// Methods x repeats: measured calls of an item.
    pub(crate) planned_calls_per_item: usize,
    /// Measured calls of the whole run.
    pub(crate) planned_calls: usize,
}

/// The measured binary.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct BinaryFacts {
    pub(crate) name: String,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// The machine.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostFacts {
    pub(crate) hostname: String,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    pub(crate) mpi: Option<String>,
    pub(crate) cuda_driver: Option<String>,
    pub(crate) gpus: Vec<String>,
}

/// A graph.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrozenDataset {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    pub(crate) directed: Option<bool>,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// An algorithm.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrozenAlgorithm {
    pub(crate) name: String,
    pub(crate) args: Map<String, Value>,
    pub(crate) argv: Vec<String>,
}

/// A method.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrozenMethod {
    pub(crate) name: String,
    pub(crate) ranks: u32,
    pub(crate) threads: Option<u32>,
    pub(crate) protection: Map<String, Value>,
    pub(crate) argv: Vec<String>,
}

/// A work item.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// From 0, algorithms outermost.
    pub(crate) item: usize,
    /// Place of the algorithm.
    pub(crate) algorithm: usize,
    /// Place of the dataset.
    pub(crate) dataset: usize,
    /// What follows the dataset's arguments.
    pub(crate) direction: Option<String>,
}

impl Manifest {
    /// Freezes a plan for a binary.
    ///
    /// # Errors
    /// When the binary or a graph cannot be read.
    pub(crate) fn freeze(checked: &Checked, binary: &Path) -> Result<Manifest> {
        let plan = &checked.plan;
        let build = ask_build(binary)?;
        if build.instrumentation_profile != plan.profile.name() {
            return Err(Error::Format {
                path: binary.into(),
                problem: format!(
                    "it records as `{}`, but the plan says `{}`; give --bin-dir the folder of the right binaries",
                    build.instrumentation_profile,
                    plan.profile.name()
                ),
            });
        }
        let (sha256, bytes) = durable::sha256_of(binary)?;
        let mut datasets = Vec::new();
        for (place, input) in checked.inputs.iter().enumerate() {
            let (sha256, bytes) = match input {
                Input::Embedded { bytes, .. } => (durable::sha256(bytes), bytes.len() as u64),
                other => durable::sha256_of(other.path())?,
            };
            datasets.push(FrozenDataset {
                name: input.graph_name(),
                argv: checked.dataset_argv[place].clone(),
                directed: plan.datasets[place].directed,
                sha256,
                bytes,
            });
        }
        let algorithms = plan.algorithms.iter().zip(&checked.algorithm_argv);
        let methods = plan.methods.iter().zip(&checked.method_argv).zip(&checked.method_ranks);
        let mut manifest = Manifest {
            schema: SCHEMA.into(),
            schema_version: SCHEMA_VERSION,
            created_utc: now_utc(),
            name: plan.name.clone(),
            instrumentation_profile: plan.profile,
            repeats: plan.repeats,
            warmups: plan.warmups,
            timeout_s: plan.timeout_s,
            is_evidence: build.build_profile == "release" && build.git_dirty != Some(true),
            plan_sha256: durable::sha256(checked.text.as_bytes()),
            binary: BinaryFacts { name: plan.profile.binary().into(), sha256, bytes },
            build,
            host: host(),
            environment: environment(),
            datasets,
            algorithms: algorithms
                .map(|(algorithm, argv)| FrozenAlgorithm {
                    name: algorithm.name.clone(),
                    args: as_json(&algorithm.args),
                    argv: argv.clone(),
                })
                .collect(),
            methods: methods
                .map(|((method, argv), &ranks)| FrozenMethod {
                    name: method.name.clone(),
                    ranks,
                    threads: method.threads,
                    protection: as_json(&method.protection),
                    argv: argv.clone(),
                })
                .collect(),
            items: Vec::new(),
            planned_items: 0,
            planned_calls_per_item: 0,
            planned_calls: 0,
        };
        manifest.items = product(manifest.algorithms.len(), manifest.datasets.len());
        for item in &mut manifest.items {
            item.direction = checked.direction(item.algorithm, item.dataset).map(str::to_owned);
        }
        manifest.planned_items = manifest.items.len();
        manifest.planned_calls_per_item = manifest.methods.len() * manifest.repeats as usize;
        manifest.planned_calls = manifest.planned_items * manifest.planned_calls_per_item;
        Ok(manifest)
    }

    /// Reads the manifest of a run folder: it, and the hash of its text.
    ///
    /// # Errors
    /// When there is none, or it is damaged.
    pub(crate) fn read(run: &Path) -> Result<(Manifest, String)> {
        let path = run.join(FILE);
        let text = fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| Error::Format {
            path: path.clone(),
            problem: format!("no manifest of this version: {error}; a run folder is made by `harness experiment run`"),
        })?;
        if (manifest.schema.as_str(), manifest.schema_version) != (SCHEMA, SCHEMA_VERSION) {
            return Err(Error::Format {
                path,
                problem: format!(
                    "it is {} version {}; this program reads {SCHEMA} version {SCHEMA_VERSION}",
                    manifest.schema, manifest.schema_version
                ),
            });
        }
        Ok((manifest, durable::sha256(&text)))
    }

    /// Writes it to a new run folder; the hash of its text.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn write(&self, run: &Path) -> Result<String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Environment(error.to_string()))? + "\n";
        durable::write_new(&run.join(FILE), text.as_bytes())?;
        Ok(durable::sha256(text.as_bytes()))
    }

    /// What differs from another manifest, the time of freezing apart.
    pub(crate) fn differences(&self, other: &Manifest) -> Vec<String> {
        let value = |manifest: &Manifest| {
            let mut value = serde_json::to_value(manifest).unwrap_or_default();
            if let Some(map) = value.as_object_mut() {
                map.remove("created_utc");
            }
            value
        };
        let mut found = Vec::new();
        compare("", &value(self), &value(other), &mut found);
        found
    }

    /// What is wrong with the counts and the product, if anything: a manifest that was edited by hand.
    pub(crate) fn inconsistencies(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let expected = product(self.algorithms.len(), self.datasets.len());
        let bare = |item: &Item| (item.item, item.algorithm, item.dataset);
        if self.items.iter().map(bare).ne(expected.iter().map(bare)) {
            wrong.push("manifest: the items are not algorithm x dataset in order".to_owned());
        }
        let per_item = self.methods.len() * self.repeats as usize;
        for (what, planned, counted) in [
            ("planned_items", self.planned_items, expected.len()),
            ("planned_calls_per_item", self.planned_calls_per_item, per_item),
            ("planned_calls", self.planned_calls, expected.len() * per_item),
        ] {
            if planned != counted {
                wrong.push(format!("manifest: {what} is {planned}, but the plan gives {counted}"));
            }
        }
        let is_sound_build = self.build.build_profile == "release" && self.build.git_dirty != Some(true);
        if self.is_evidence && !is_sound_build {
            wrong.push("manifest: is_evidence is true for a debug build or a dirty tree".to_owned());
        }
        wrong
    }

    /// What follows the binary's name for an item and a method.
    pub(crate) fn argv(&self, item: &Item, method: &FrozenMethod) -> Vec<String> {
        let (algorithm, dataset) = (&self.algorithms[item.algorithm], &self.datasets[item.dataset]);
        let mut argv = algorithm.argv.clone();
        argv.extend(dataset.argv.iter().cloned());
        argv.extend(item.direction.clone());
        argv.extend(method.argv.iter().cloned());
        argv.extend(["--trials", "1", "--progress", "off"].map(str::to_owned));
        argv
    }
}

/// Now, as RFC 3339 in UTC.
pub(crate) fn now_utc() -> String {
    humantime::format_rfc3339_nanos(SystemTime::now()).to_string()
}

fn product(algorithms: usize, datasets: usize) -> Vec<Item> {
    (0..algorithms * datasets)
        .map(|item| Item { item, algorithm: item / datasets, dataset: item % datasets, direction: None })
        .collect()
}

fn as_json(table: &toml::Table) -> Map<String, Value> {
    match serde_json::to_value(table) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn compare(path: &str, left: &Value, right: &Value, found: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let null = Value::Null;
                compare(&path, left.get(key).unwrap_or(&null), right.get(key).unwrap_or(&null), found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (place, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{path}[{place}]"), left, right, found);
            }
        }
        _ if left == right => {}
        _ => found.push(format!("{path}: {left} there, {right} now")),
    }
}

/// Asks a binary what it was built from.
fn ask_build(binary: &Path) -> Result<BuildFacts> {
    let output = Command::new(binary)
        .arg(BUILD_FACTS)
        .output()
        .map_err(|error| Error::Environment(format!("{}: it does not start: {error}", binary.display())))?;
    serde_json::from_slice(&output.stdout).map_err(|error| Error::Format {
        path: binary.into(),
        problem: format!(
            "`{BUILD_FACTS}` did not say what it was built from ({error}); build both programs from one tree"
        ),
    })
}

/// Variables that change what a run does.
fn matters(name: &str) -> bool {
    const PREFIXES: [&str; 9] =
        ["GRAPHALG_", "CUDA_", "NCCL_", "NVIDIA_", "OMP_", "OMPI_MCA_", "UCX_", "RAYON_", "MALLOC_"];
    const NAMES: [&str; 3] = ["LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES"];
    name != FOLDER_VARIABLE && (NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// The variables of this process that matter, and those that the runner sets.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| matters(name))
        .collect();
    found.entry("CUDA_MODULE_LOADING".into()).or_insert_with(|| "EAGER".into());
    found
}

fn host() -> HostFacts {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let memory = read("/proc/meminfo");
    let kib =
        memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    let driver = read("/proc/driver/nvidia/version");
    HostFacts {
        hostname: hostname(),
        cpu: model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned()),
        cores: framework::host::cores(),
        memory_bytes: kib.unwrap_or_default() * 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        mpi: first_line("mpirun", &["--version"]),
        cuda_driver: driver.lines().next().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")),
        gpus: gpus(),
    }
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned).filter(|line| !line.is_empty())
}
