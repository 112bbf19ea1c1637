//! Which measurements make a pair, whether their answers are equal, and the tables of differences.

use super::super::attempt::Attempt;
use super::super::collect::Collected;
use super::super::manifest::FrozenMethod;
use super::REPEATS_WANTED;
use super::statistics::{Interval, summary};
use serde_json::Value;

/// What the two sides of a pair differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Fault tolerant against baseline, several ranks.
    MultiProtection,
    /// Several ranks against one, both baseline.
    Scaling,
    /// Fault tolerant against baseline, one rank.
    SingleProtection,
}

/// How a field takes part in a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// What the pair is about.
    Total,
    /// A part that explains it.
    Explains,
    /// Differs between the methods, but is not the cost of what they differ in.
    Change,
}

impl Kind {
    /// As tables have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::MultiProtection => "multi_protection",
            Kind::Scaling => "scaling",
            Kind::SingleProtection => "single_protection",
        }
    }

    fn of(baseline: &FrozenMethod, variant: &FrozenMethod) -> Option<Kind> {
        let (base, other) = (parts(&baseline.name)?, parts(&variant.name)?);
        let is_same_device = base.1 == other.1;
        match (base, other) {
            _ if !is_same_device => None,
            (("multi", _, "baseline"), ("multi", _, "fault_tolerant")) if baseline.ranks == variant.ranks => {
                Some(Kind::MultiProtection)
            }
            (("single", _, "baseline"), ("multi", _, "baseline")) => Some(Kind::Scaling),
            (("single", _, "baseline"), ("single", _, "fault_tolerant")) => Some(Kind::SingleProtection),
            _ => None,
        }
    }

    fn fields(self) -> &'static [(&'static str, Role)] {
        use Role::{Change, Explains, Total};
        match self {
            Kind::MultiProtection => &[
                ("algorithm_e2e_ms", Total),
                ("algorithm_total_ms", Total),
                ("score_and_mark_ms", Explains),
                ("graph_kernel_ms", Explains),
                ("d2h_summary_ms", Explains),
                ("cpu_validation_ms", Explains),
                ("cpu_check_drain_ms", Explains),
                ("postcheck_total_ms", Explains),
                ("nccl_exchange_ms", Change),
                ("mpi_sync_ms", Change),
            ],
            Kind::Scaling => &[
                ("algorithm_e2e_ms", Total),
                ("algorithm_total_ms", Total),
                ("graph_kernel_ms", Explains),
                ("nccl_exchange_ms", Explains),
                ("mpi_sync_ms", Explains),
                ("distributed_setup_ms", Explains),
                ("final_result_gather_ms", Explains),
            ],
            Kind::SingleProtection => &[
                ("algorithm_e2e_ms", Total),
                ("algorithm_total_ms", Total),
                ("graph_kernel_ms", Explains),
                ("score_and_mark_ms", Explains),
                ("d2h_summary_ms", Explains),
                ("cpu_check_drain_ms", Explains),
                ("postcheck_total_ms", Explains),
            ],
        }
    }
}

/// Ranks, device and protection of a method's name.
fn parts(name: &str) -> Option<(&str, &str, &str)> {
    let (ranks, rest) = name.split_once('_')?;
    let (device, protection) = rest.split_once('_')?;
    Some((ranks, device, protection))
}

/// A field of a pair over all its repeats.
pub(crate) struct Metric {
    pub(crate) field: &'static str,
    role: Role,
    /// By repeat: baseline and variant in ms.
    values: Vec<(f64, f64)>,
}

impl Metric {
    /// Differences in ms.
    pub(crate) fn absolute(&self) -> Vec<f64> {
        self.values.iter().map(|(base, other)| other - base).collect()
    }

    /// Differences in percent of the baseline, where it is not 0.
    pub(crate) fn relative_pct(&self) -> Vec<f64> {
        let there = self.values.iter().filter(|(base, _)| *base > 0.0);
        there.map(|(base, other)| (other - base) / base * 100.0).collect()
    }

    /// Baseline / variant, where that is a number.
    pub(crate) fn speedup(&self) -> Vec<f64> {
        let there = self.values.iter().filter(|(_, other)| *other > 0.0);
        there.map(|(base, other)| base / other).collect()
    }
}

/// Two methods on one item, over the repeats in which both were measured.
pub(crate) struct Pairing {
    pub(crate) kind: Kind,
    pub(crate) item: usize,
    pub(crate) algorithm: String,
    pub(crate) parameters: String,
    pub(crate) dataset: String,
    pub(crate) baseline: FrozenMethod,
    pub(crate) variant: FrozenMethod,
    pub(crate) metrics: Vec<Metric>,
    /// Of each pair, in the order of the values: repeat, session, and the two attempts.
    pub(crate) sources: Vec<(u32, String, String, String)>,
    /// Repeats whose two sides may not be compared, and why.
    pub(crate) refused: Vec<String>,
}

/// Every pairing that the manifest's methods make, with what was measured.
pub(crate) fn pairings(collected: &Collected) -> Vec<Pairing> {
    let manifest = &collected.manifest;
    let mut found = Vec::new();
    for item in &manifest.items {
        for (base_place, baseline) in manifest.methods.iter().enumerate() {
            for (other_place, variant) in manifest.methods.iter().enumerate() {
                let Some(kind) = Kind::of(baseline, variant) else { continue };
                let mut pairing = Pairing {
                    kind,
                    item: item.item,
                    algorithm: manifest.algorithms[item.algorithm].name.clone(),
                    parameters: Value::Object(manifest.algorithms[item.algorithm].args.clone()).to_string(),
                    dataset: manifest.datasets[item.dataset].name.clone(),
                    baseline: baseline.clone(),
                    variant: variant.clone(),
                    metrics: kind
                        .fields()
                        .iter()
                        .map(|&(field, role)| Metric { field, role, values: Vec::new() })
                        .collect(),
                    sources: Vec::new(),
                    refused: Vec::new(),
                };
                for repeat in 0..manifest.repeats {
                    let of = |place: usize| {
                        collected.measured().map(|(_, attempt)| attempt).find(|attempt| {
                            (attempt.item, attempt.repeat, attempt.method_index) == (item.item, repeat, place)
                        })
                    };
                    let (Some(base), Some(other)) = (of(base_place), of(other_place)) else { continue };
                    pairing.add(repeat, base, other);
                }
                found.push(pairing);
            }
        }
    }
    found
}

/// The slowest rank's time of a field.
pub(crate) fn rank_max(attempt: &Attempt, field: &str) -> Option<f64> {
    let timing = attempt.records.timing.as_ref()?;
    let name = field.trim_end_matches("_ms");
    timing.get(&format!("rank_{name}_max_ms")).or_else(|| timing.get(field))?.as_f64()
}

impl Pairing {
    fn add(&mut self, repeat: u32, base: &Attempt, other: &Attempt) {
        if let Some(reason) = differs(base, other) {
            self.refused.push(format!("repeat {repeat}: {reason}"));
            return;
        }
        for metric in &mut self.metrics {
            let ms = |attempt| rank_max(attempt, metric.field).unwrap_or(f64::NAN);
            metric.values.push((ms(base), ms(other)));
        }
        let session = base.attempt_session_id.map(|id| id.to_string()).unwrap_or_default();
        self.sources.push((repeat, session, base.attempt_id.to_string(), other.attempt_id.to_string()));
    }

    /// `multi_cpu_baseline x2 vs single_cpu_baseline`.
    pub(crate) fn title(&self) -> String {
        let of = |method: &FrozenMethod| {
            if method.ranks > 1 { format!("{} x{}", method.name, method.ranks) } else { method.name.clone() }
        };
        format!("{} vs {}", of(&self.variant), of(&self.baseline))
    }

    /// The metric of a field.
    pub(crate) fn metric(&self, field: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.field == field)
    }
}

/// Why two measurements may not be compared: another session, parameters, device, or another answer.
fn differs(base: &Attempt, other: &Attempt) -> Option<String> {
    if base.attempt_session_id.is_none() || base.attempt_session_id != other.attempt_session_id {
        return Some("the two sides are of different sessions".into());
    }
    let (Some(left), Some(right)) = (&base.records.metadata, &other.records.metadata) else {
        return Some("a side has no metadata".into());
    };
    for key in ["parameters", "graph", "dataset", "instrumentation_profile"] {
        if left.get(key) != right.get(key) {
            return Some(format!("the two sides have different {key}"));
        }
    }
    let device = |metadata: &serde_json::Map<String, Value>| {
        let first = metadata.get("devices")?.get(0)?;
        Some((first.get("kind")?.clone(), first.get("name")?.clone(), first.get("driver").cloned()))
    };
    if device(left) != device(right) {
        return Some("the two sides ran on different devices".into());
    }
    (!has_equal_answer(base, other)).then(|| "the answers are not equal".into())
}

/// Equal hashes, or eight sums that all agree within the bound of two PageRank answers.
pub(crate) fn has_equal_answer(left: &Attempt, right: &Attempt) -> bool {
    let (Some(one), Some(other)) = (&left.records.result, &right.records.result) else { return false };
    if one.get("result_hash").is_some_and(Value::is_string) && one.get("result_hash") == other.get("result_hash") {
        return true;
    }
    let sums = |result: &serde_json::Map<String, Value>| -> Option<Vec<f64>> {
        result.get("check_sums")?.as_array()?.iter().map(Value::as_f64).collect()
    };
    let parameter = |name: &str| left.records.metadata.as_ref()?.get("parameters")?.get(name)?.as_f64();
    let (Some(one), Some(other), Some(tolerance), Some(damping)) =
        (sums(one), sums(other), parameter("tolerance"), parameter("damping"))
    else {
        return false;
    };
    let bound = 2.0 * tolerance * damping / (1.0 - damping);
    one.len() == 8 && other.len() == 8 && one.iter().zip(&other).all(|(one, other)| (one - other).abs() <= bound)
}

fn identity(pairing: &Pairing) -> Vec<String> {
    vec![
        pairing.kind.name().into(),
        pairing.item.to_string(),
        pairing.algorithm.clone(),
        pairing.parameters.clone(),
        pairing.dataset.clone(),
        pairing.baseline.name.clone(),
        pairing.baseline.ranks.to_string(),
        pairing.variant.name.clone(),
        pairing.variant.ranks.to_string(),
        Value::Object(pairing.variant.protection.clone()).to_string(),
    ]
}

const IDENTITY: [&str; 10] = [
    "pair",
    "item",
    "algorithm",
    "parameters",
    "dataset",
    "baseline_method",
    "baseline_ranks",
    "variant_method",
    "variant_ranks",
    "variant_protection",
];

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Total => "total",
        Role::Explains => "explains",
        Role::Change => "change",
    }
}

fn header(rest: &[&str]) -> Vec<String> {
    IDENTITY.iter().chain(rest).map(|name| (*name).to_owned()).collect()
}

/// `pairs.csv`: a row a pair, repeat and field.
pub(crate) fn table(pairings: &[Pairing]) -> Vec<Vec<String>> {
    let mut rows = vec![header(&[
        "repeat",
        "attempt_session_id",
        "baseline_attempt_id",
        "variant_attempt_id",
        "field",
        "role",
        "baseline_ms",
        "variant_ms",
        "difference_ms",
        "difference_pct",
        "speedup",
    ])];
    for pairing in pairings {
        for (place, (repeat, session, base_id, other_id)) in pairing.sources.iter().enumerate() {
            for metric in &pairing.metrics {
                let (base, other) = metric.values[place];
                let mut row = identity(pairing);
                row.extend([repeat.to_string(), session.clone(), base_id.clone(), other_id.clone()]);
                row.extend([metric.field.to_owned(), role_name(metric.role).to_owned()]);
                row.extend([base, other, other - base].map(|ms| format!("{ms:.4}")));
                row.push(if base > 0.0 { format!("{:.4}", (other - base) / base * 100.0) } else { String::new() });
                row.push(if base > 0.0 && other > 0.0 { format!("{:.4}", base / other) } else { String::new() });
                rows.push(row);
            }
        }
    }
    rows
}

/// `summary.csv`: a row a pair, field and measure.
pub(crate) fn summary_table(pairings: &[Pairing]) -> Vec<Vec<String>> {
    let mut rows =
        vec![header(&["field", "role", "measure", "pairs", "median", "min", "max", "ci95_low", "ci95_high"])];
    for pairing in pairings {
        for metric in &pairing.metrics {
            let mut measures = vec![("difference_ms", metric.absolute()), ("difference_pct", metric.relative_pct())];
            if pairing.kind == Kind::Scaling && metric.role == Role::Total {
                measures.push(("speedup", metric.speedup()));
            }
            for (measure, values) in measures {
                let Some(Interval { count, median, min, max, low, high }) = summary(&values) else { continue };
                let mut row = identity(pairing);
                row.extend([metric.field, role_name(metric.role), measure].map(str::to_owned));
                row.push(count.to_string());
                row.extend([median, min, max, low, high].map(|value| format!("{value:.4}")));
                rows.push(row);
            }
        }
    }
    rows
}

/// The short of it for people.
pub(crate) fn sentences(pairings: &[Pairing]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_few = false;
    for pairing in pairings {
        lines.push(format!("{} {} {}: {}", pairing.algorithm, pairing.parameters, pairing.dataset, pairing.title()));
        for field in ["algorithm_e2e_ms", "algorithm_total_ms"] {
            let Some(metric) = pairing.metric(field) else { continue };
            let (values, unit) = match pairing.kind {
                Kind::Scaling => (metric.speedup(), "x"),
                _ => (metric.relative_pct(), " %"),
            };
            let Some(short) = summary(&values) else { continue };
            is_few |= short.count < REPEATS_WANTED;
            let what = if pairing.kind == Kind::Scaling { "speed-up" } else { "increment" };
            lines.push(format!(
                "  {field:<20} {what} {:.3}{unit} (95 % {:.3} to {:.3}; {:.3} to {:.3} in {} pairs)",
                short.median, short.low, short.high, short.min, short.max, short.count
            ));
        }
        lines.extend(pairing.refused.iter().map(|reason| format!("  REFUSED {reason}")));
    }
    if is_few {
        lines.push(format!(
            "warning: fewer than {REPEATS_WANTED} repeats: the intervals say little; raise repeats in the plan"
        ));
    }
    lines
}
