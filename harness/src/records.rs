//! The machine-readable lines of a run: a tag, a space, one JSON object with its keys in fixed order.
//!
//! This file is the output schema (version 9). A change bumps the version, `docs/schemas.md` and the snapshots.

use framework::algorithm::Record;
use framework::driver::clock::{FIELDS, Timing};
use framework::protect::{Certified, Detection};
use serde::ser::{Error as _, SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of these records.
pub const SCHEMA_VERSION: u32 = 9;

/// `BENCHMARK_METADATA`: what was run, by what, where. Once.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// 9.
    pub schema_version: u32,
    /// The version of graphalg.
    pub product_version: String,
    /// The commit it was built from.
    pub git_commit: Option<String>,
    /// Whether tracked files differed from it.
    pub git_dirty: Option<bool>,
    /// Hash of all tracked files at build.
    pub source_sha256: Option<String>,
    /// `release` or `debug`.
    pub build_profile: String,
    /// `performance` or `profiling`.
    pub instrumentation_profile: String,
    /// The algorithm.
    pub algorithm: String,
    /// Ranks, device and protection in one word.
    pub method: String,
    /// The algorithm's options after defaults.
    pub parameters: Record,
    /// How it was protected.
    pub protection: Protection,
    /// The graph's name.
    pub dataset: String,
    /// The graph's size.
    pub graph: GraphFacts,
    /// Ranks.
    pub ranks: usize,
    /// Threads of each rank.
    pub threads: usize,
    /// How ranks reach each other.
    pub transport: String,
    /// By rank.
    pub hostnames: Vec<String>,
    /// By rank.
    pub devices: Vec<Device>,
    /// Measured repetitions.
    pub trials: u32,
    /// Repetitions before them.
    pub warmup: u32,
}

/// How a run is protected. While protection is off, all but the weights is null, and `certify` too unless it is on.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Protection {
    /// Whether at all.
    pub enabled: bool,
    /// Weight of structure.
    pub a: f64,
    /// Weight of change.
    pub b: f64,
    /// Threshold of critical vertices.
    pub t: f64,
    /// Whether the answer is certified.
    pub certify: Option<bool>,
    /// What follows a finding.
    pub recovery: Option<String>,
    /// Supersteps between snapshots, 0 for none; null when the measured cost decides.
    pub snapshot_interval: Option<u32>,
    /// Share of a round's arcs that replicas may cost.
    pub redundancy_budget: Option<f64>,
}

/// The size of the graph as given.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct GraphFacts {
    /// Vertices.
    pub vertices: u64,
    /// Distinct arcs; an undirected edge is two, a self-loop one.
    pub arcs: u64,
    /// Arcs listed again.
    pub duplicate_arcs: u64,
    /// Distinct self-loops.
    pub self_loops: u64,
    /// Whether arcs have a direction.
    pub directed: bool,
}

/// The device of a rank.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The rank.
    pub rank: u32,
    /// `cpu`, `cuda` or `simulated`.
    pub kind: String,
    /// The model.
    pub name: String,
    /// The device's own ID.
    pub uuid: Option<String>,
    /// The driver's version.
    pub driver: Option<String>,
    /// Threads or multiprocessors in use.
    pub cores: usize,
}

/// `BENCHMARK_RESULT`: the answer in short, once a trial. The algorithm's own keys follow these.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct ResultRecord {
    /// From 0.
    pub trial: u32,
    /// The algorithm.
    pub algorithm: String,
    /// Accepted supersteps.
    pub iterations: u32,
    /// Whether the algorithm was done before its limit.
    pub converged: bool,
    /// SHA-256 of the values.
    pub result_hash: String,
    /// Eight signed sums of real values; null for others.
    pub check_sums: Option<[f64; 8]>,
    /// What the serial check said; null when it was not asked.
    pub verified: Option<bool>,
    /// The algorithm's own keys.
    #[serde(flatten)]
    pub own: Record,
}

/// `BENCHMARK_DETECTION`: what protection found, once a trial of a run that is protected or certified.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct DetectionRecord {
    /// From 0.
    pub trial: u32,
    /// Repeated updates that differ.
    pub dmr_count: u64,
    /// The first superstep with one.
    pub dmr_first_iteration: Option<u32>,
    /// Values that moved the wrong way or were set twice.
    pub monotonicity_count: u64,
    /// The first superstep with one.
    pub monotonicity_first_iteration: Option<u32>,
    /// Books of frontiers, messages or sums that do not add up.
    pub trend_count: u64,
    /// The first superstep with one.
    pub trend_first_iteration: Option<u32>,
    /// `held`, `failed` or `not_run`.
    pub certificate: String,
    /// `idle_lanes` where updates are repeated in place of those of inactive vertices, `budget` where all vertices are active and
    /// the budget alone is the limit, `none` where none can be repeated.
    pub redundancy: String,
    /// 100 * repeated / critical; null where nothing was critical.
    pub covered_critical_pct: Option<f64>,
    /// Times that an older state was restored.
    pub recoveries: u32,
    /// Supersteps done again.
    pub iterations_redone: u64,
}

impl DetectionRecord {
    /// Of a trial.
    pub fn new(trial: u32, detection: &Detection) -> DetectionRecord {
        let evidence = &detection.evidence;
        DetectionRecord {
            trial,
            dmr_count: evidence.dmr.count,
            dmr_first_iteration: evidence.dmr.first,
            monotonicity_count: evidence.monotonicity.count,
            monotonicity_first_iteration: evidence.monotonicity.first,
            trend_count: evidence.trend.count,
            trend_first_iteration: evidence.trend.first,
            certificate: match detection.certificate {
                Certified::Held => "held",
                Certified::Failed => "failed",
                Certified::NotRun => "not_run",
            }
            .into(),
            redundancy: detection.redundancy.name().into(),
            covered_critical_pct: (evidence.critical > 0)
                .then(|| 100.0 * evidence.covered as f64 / evidence.critical as f64),
            recoveries: detection.recoveries,
            iterations_redone: detection.iterations_redone,
        }
    }
}

/// `BENCHMARK_TIMING`: the timing of a trial. Of one rank its fields; of several the maximum and mean of each.
#[derive(Clone, Debug)]
pub struct TimingRecord {
    /// From 0.
    pub trial: u32,
    /// By rank.
    pub ranks: Vec<Timing>,
}

/// `BENCHMARK_RANK_TIMING`: the timing of one of several ranks.
#[derive(Clone, Debug)]
pub struct RankTimingRecord {
    /// From 0.
    pub trial: u32,
    /// The rank.
    pub rank: u32,
    /// Its machine.
    pub hostname: String,
    /// Its device's kind.
    pub device: String,
    /// Its fields.
    pub timing: Timing,
}

/// Milliseconds with four decimals.
struct Milliseconds(f64);

impl Serialize for Milliseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(format!("{:.4}", self.0)).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl Serialize for TimingRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ranks: Vec<[f64; 24]> = self.ranks.iter().map(Timing::milliseconds).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("trial", &self.trial)?;
        for (place, field) in FIELDS.iter().enumerate() {
            let values = ranks.iter().map(|rank| rank[place]);
            if let [only] = ranks.as_slice() {
                map.serialize_entry(field, &Milliseconds(only[place]))?;
                continue;
            }
            let name = field.trim_end_matches("_ms");
            let mean = values.clone().sum::<f64>() / ranks.len() as f64;
            map.serialize_entry(&format!("rank_{name}_max_ms"), &Milliseconds(values.fold(0.0, f64::max)))?;
            map.serialize_entry(&format!("rank_{name}_mean_ms"), &Milliseconds(mean))?;
        }
        map.end()
    }
}

impl Serialize for RankTimingRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("trial", &self.trial)?;
        map.serialize_entry("rank", &self.rank)?;
        map.serialize_entry("hostname", &self.hostname)?;
        map.serialize_entry("device", &self.device)?;
        for (field, value) in FIELDS.iter().zip(self.timing.milliseconds()) {
            map.serialize_entry(field, &Milliseconds(value))?;
        }
        map.end()
    }
}
