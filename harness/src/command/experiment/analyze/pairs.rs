//! Which measurements make a pair, whether they may be compared, and the differences of a pair, explained.

use super::super::attempt::Attempt;
use super::super::collect::Collected;
use super::super::labels::Labels;
use super::super::manifest::FrozenMethod;
use super::super::verdict::{fields, rank_records};
use super::configuration::Configuration;
use super::kinds::{Kind, Role, TOTALS};
use super::statistics::REPEATS_WANTED;
use serde_json::Value;

/// The name of the row with what no part explains.
const UNEXPLAINED: &str = "unexplained";

/// A row of a pair over all its repeats.
pub(crate) struct Metric {
    /// The total that it belongs to.
    pub(super) of: &'static str,
    /// The total itself, or a part of it.
    pub(crate) field: &'static str,
    pub(super) role: Role,
    /// By repeat: baseline and variant in ms.
    pub(super) values: Vec<(f64, f64)>,
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

/// The measurements behind a pair in one repeat.
pub(crate) struct Source {
    pub(super) repeat: u32,
    pub(super) session: String,
    pub(crate) baseline: String,
    pub(crate) variant: String,
}

/// A repeat in which a pair was not computed.
pub(crate) struct Refused {
    pub(super) repeat: u32,
    pub(super) reason: String,
    /// Whether the sides ran on different configurations, which is no fault of the measurements.
    pub(super) is_configuration: bool,
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
    /// What the methods are called, so that no two are called alike.
    pub(crate) labels: [String; 2],
    pub(super) metrics: Vec<Metric>,
    /// Of each computed repeat, in the order of the values.
    pub(crate) sources: Vec<Source>,
    pub(super) refused: Vec<Refused>,
}

/// Every pairing that the manifest's methods make, with what was measured.
pub(crate) fn pairings(collected: &Collected) -> Vec<Pairing> {
    let manifest = &collected.manifest;
    let labels = Labels::of(manifest);
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
                    labels: [base_place, other_place].map(|place| labels.methods[place].clone()),
                    metrics: rows(kind),
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

/// Each total, its parts, and what they leave unexplained.
fn rows(kind: Kind) -> Vec<Metric> {
    let of_total = |(number, of): (usize, &'static str)| {
        let parts = kind.parts_of(number).map(|part| (part.name, part.role));
        let all = std::iter::once((of, Role::Total)).chain(parts).chain([(UNEXPLAINED, Role::Unexplained)]);
        all.map(|(field, role)| Metric { of, field, role, values: Vec::new() }).collect::<Vec<_>>()
    };
    TOTALS.into_iter().flat_map(of_total).collect()
}

/// The values of the rows of [`rows`] for one measurement. Maxima over ranks do not add up, so a total and its parts are those of one rank: the one
/// whose total is the largest, which is the maximum itself.
fn values(kind: Kind, attempt: &Attempt, ranks: u32) -> Option<Vec<f64>> {
    let ranks: Vec<[f64; 24]> =
        rank_records(&attempt.records, ranks).into_iter().map(fields).collect::<Result<_, _>>().ok()?;
    let mut found = Vec::new();
    for (number, _) in TOTALS {
        let slowest = ranks.iter().max_by(|one, other| one[number - 1].total_cmp(&other[number - 1]))?;
        let total = slowest[number - 1];
        let parts: Vec<f64> =
            kind.parts_of(number).map(|part| part.fields.iter().map(|field| slowest[field - 1]).sum::<f64>()).collect();
        let rest = total - parts.iter().sum::<f64>();
        found.push(total);
        found.extend(parts);
        found.push(rest);
    }
    Some(found)
}

impl Pairing {
    fn add(&mut self, repeat: u32, base: &Attempt, other: &Attempt) {
        let mut refuse =
            |reason: String, is_configuration| self.refused.push(Refused { repeat, reason, is_configuration });
        if let Some(reason) = differs(base, other) {
            return refuse(reason, false);
        }
        if let Some(reason) = other_configuration(self.kind, base, other) {
            return refuse(reason, true);
        }
        if !has_equal_answer(base, other) {
            return refuse("the answers are not equal".into(), false);
        }
        let (Some(left), Some(right)) =
            (values(self.kind, base, self.baseline.ranks), values(self.kind, other, self.variant.ranks))
        else {
            return refuse("a side has no whole timing".into(), false);
        };
        for (metric, pair) in self.metrics.iter_mut().zip(left.into_iter().zip(right)) {
            metric.values.push(pair);
        }
        self.sources.push(Source {
            repeat,
            session: base.attempt_session_id.map(|id| id.to_string()).unwrap_or_default(),
            baseline: base.attempt_id.to_string(),
            variant: other.attempt_id.to_string(),
        });
    }

    /// `multi_cpu_baseline x2 vs single_cpu_baseline`.
    pub(crate) fn title(&self) -> String {
        let [baseline, variant] = &self.labels;
        format!("{variant} vs {baseline}")
    }

    /// The row of a total.
    pub(crate) fn total(&self, field: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.role == Role::Total && metric.field == field)
    }

    /// Repeats that were not computed because the measurements contradict each other.
    pub(super) fn faults(&self) -> impl Iterator<Item = &Refused> {
        self.refused.iter().filter(|refused| !refused.is_configuration)
    }

    /// What a reader of the pair must know, in sentences.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        for refused in self.refused.iter().filter(|refused| refused.is_configuration) {
            if !said.contains(&refused.reason) {
                said.push(refused.reason.clone());
            }
        }
        if !self.sources.is_empty() && self.sources.len() < REPEATS_WANTED {
            said.push(format!(
                "fewer than {REPEATS_WANTED} repeats ({}): the intervals say little; raise repeats in the plan",
                self.sources.len()
            ));
        }
        said
    }

    /// Repeats whose measurements contradict each other, in sentences.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.faults().map(|refused| format!("repeat {}: {}", refused.repeat, refused.reason)).collect()
    }
}

/// Why two measurements are no pair at all: another session, other parameters, another graph.
fn differs(base: &Attempt, other: &Attempt) -> Option<String> {
    if base.attempt_session_id.is_none() || base.attempt_session_id != other.attempt_session_id {
        return Some("the two sides are of different sessions".into());
    }
    let (Some(left), Some(right)) = (&base.records.metadata, &other.records.metadata) else {
        return Some("a side has no metadata".into());
    };
    let key = ["parameters", "graph", "dataset", "instrumentation_profile"]
        .into_iter()
        .find(|key| left.get(*key) != right.get(*key))?;
    Some(format!("the two sides have different {key}"))
}

/// Why two measurements are of different configurations.
fn other_configuration(kind: Kind, base: &Attempt, other: &Attempt) -> Option<String> {
    let of = |attempt: &Attempt| attempt.records.metadata.as_ref().map(Configuration::of);
    let what = match (of(base), of(other)) {
        (Some(left), Some(right)) => left.difference(&right, kind.compares_ranks())?,
        _ => "a side does not say what it ran on".into(),
    };
    Some(format!("not computed: the two sides ran on different configurations ({what})"))
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
