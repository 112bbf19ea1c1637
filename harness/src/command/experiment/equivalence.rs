//! Whether a profiling run shows what a performance run measured: the same answers, iterations and detections from one build.

use super::collect::{self, Collected};
use super::manifest::Manifest;
use crate::measured::Profile;
use crate::people::say;
use clap::{Args, ValueHint};
use framework::base::error::{Error, Result};
use framework::base::format::counted;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `experiment check-equivalence`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckEquivalence {
    /// Run folder of the performance run
    #[arg(value_name = "PERF", value_hint = ValueHint::DirPath)]
    performance: PathBuf,
    /// Run folder of the profiling run
    #[arg(value_name = "PROF", value_hint = ValueHint::DirPath)]
    profiling: PathBuf,
}

impl CheckEquivalence {
    /// Runs it.
    ///
    /// # Errors
    /// When the runs cannot be compared. A difference is no error but exit code 1.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let (performance, profiling) = (collect::collect(&self.performance)?, collect::collect(&self.profiling)?);
        for (collected, path, profile) in
            [(&performance, &self.performance, Profile::Performance), (&profiling, &self.profiling, Profile::Profiling)]
        {
            if collected.manifest.instrumentation_profile != profile {
                return Err(Error::usage(format!("{}: it is no {} run", path.display(), profile.name())));
            }
        }
        let differences = compare(&performance, &profiling)?;
        differences.iter().for_each(|difference| say(&format!("FAILED   {difference}")));
        if !differences.is_empty() {
            return Ok(ExitCode::from(1));
        }
        let calls = performance.manifest.items.len() * performance.manifest.methods.len();
        say(&format!("equal    {}: answers, iterations and detections agree", counted(calls as u64, "configuration")));
        Ok(ExitCode::SUCCESS)
    }
}

/// What differs between two runs of one plan and build.
///
/// # Errors
/// When they are of different builds or plans, or one lacks a sound measurement.
pub(crate) fn compare(performance: &Collected, profiling: &Collected) -> Result<Vec<String>> {
    let (left, right) = (&performance.manifest, &profiling.manifest);
    let incomparable = incomparable(left, right);
    if !incomparable.is_empty() {
        return Err(Error::usage(format!("the runs cannot be compared: {}", incomparable.join("; "))));
    }
    let mut differences = Vec::new();
    for item in &left.items {
        for (place, method) in left.methods.iter().enumerate() {
            let name = format!(
                "{} on {} by {} x{}",
                left.algorithms[item.algorithm].name, left.datasets[item.dataset].name, method.name, method.ranks
            );
            let (one, other) = (said(performance, item.item, place), said(profiling, item.item, place));
            if one.is_empty() || other.is_empty() {
                return Err(Error::usage(format!(
                    "the runs cannot be compared: {name} has no sound measurement in both"
                )));
            }
            for (place, what) in ["result_hash", "iterations", "detection"].into_iter().enumerate() {
                let values = |side: &BTreeSet<[String; 3]>| -> BTreeSet<String> {
                    side.iter().map(|said| said[place].clone()).collect()
                };
                let (one, other) = (values(&one), values(&other));
                if one != other || one.len() > 1 {
                    differences.push(format!("{name}: {what} is {one:?} measured and {other:?} profiled"));
                }
            }
        }
    }
    Ok(differences)
}

fn incomparable(left: &Manifest, right: &Manifest) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    let (one, other) = (&left.build, &right.build);
    for (what, one, other) in [
        ("product_version", one.product_version.clone(), other.product_version.clone()),
        ("git_commit", text(&one.git_commit), text(&other.git_commit)),
        ("git_dirty", format!("{:?}", one.git_dirty), format!("{:?}", other.git_dirty)),
        ("source_sha256", text(&one.source_sha256), text(&other.source_sha256)),
        ("build_profile", one.build_profile.clone(), other.build_profile.clone()),
        ("features", one.features.join(","), other.features.join(",")),
    ] {
        if one != other {
            wrong.push(format!("{what} is {one} there and {other} here"));
        }
    }
    if (&left.algorithms, &left.methods, &left.items) != (&right.algorithms, &right.methods, &right.items) {
        wrong.push("the plans have different algorithms or methods".into());
    }
    let graphs = |manifest: &Manifest| -> Vec<_> {
        manifest
            .datasets
            .iter()
            .map(|dataset| (dataset.name.clone(), dataset.sha256.clone(), dataset.directed))
            .collect()
    };
    if graphs(left) != graphs(right) {
        wrong.push("the graphs are different".into());
    }
    wrong
}

/// What the sound measurements of a configuration said: hash, iterations, and detections without the trial.
fn said(collected: &Collected, item: usize, method: usize) -> BTreeSet<[String; 3]> {
    let of = |record: &Option<Map<String, Value>>, key: &str| {
        record.as_ref().and_then(|record| record.get(key)).cloned().unwrap_or_default().to_string()
    };
    collected
        .measured()
        .filter(|(_, attempt)| (attempt.item, attempt.method_index) == (item, method))
        .map(|(_, attempt)| {
            let mut detection = attempt.records.detection.clone().unwrap_or_default();
            detection.remove("trial");
            let result = &attempt.records.result;
            [of(result, "result_hash"), of(result, "iterations"), Value::Object(detection).to_string()]
        })
        .collect()
}
