//! Which attempts stand: the full product of the manifest against what lies in `raw/`.

use super::super::attempt::{Attempt, Filed, Phase, Status, read_all};
use super::super::manifest::Manifest;
use super::super::traces::{self, Traces};
use super::super::verdict;
use crate::measured::Profile;
use crate::trace_files::FOLDER_VARIABLE;
use framework::base::error::Result;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use uuid::Uuid;

/// How an attempt stands after everything was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Sound.
    Success,
    /// Did not end well; the runner said so.
    Failed,
    /// Is not what it says it is, or not what the manifest planned.
    Disqualified,
}

impl Standing {
    /// As tables have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Standing::Success => "success",
            Standing::Failed => "failed",
            Standing::Disqualified => "disqualified",
        }
    }
}

/// An attempt and what the collector made of it.
pub(crate) struct Judged {
    /// From its file name.
    pub(crate) id: Uuid,
    /// None when the file is unreadable.
    pub(crate) attempt: Option<Attempt>,
    /// How it stands.
    pub(crate) standing: Standing,
    /// Why it does not.
    pub(crate) reasons: Vec<String>,
    /// Whether it is the one that counts of its measured call.
    pub(crate) selected: bool,
    /// Its traces, empty without.
    pub(crate) traces: Traces,
}

impl Judged {
    fn disqualify(&mut self, reason: impl Into<String>) {
        self.standing = Standing::Disqualified;
        self.reasons.push(reason.into());
    }

    /// Whether it is evidence: selected, measured and sound.
    pub(crate) fn is_measurement(&self) -> bool {
        self.selected && self.standing == Standing::Success
    }
}

/// A run folder, judged.
pub(crate) struct Collected {
    /// Its manifest.
    pub(crate) manifest: Manifest,
    /// Its attempts in the order in which they were started.
    pub(crate) judged: Vec<Judged>,
    /// What is wrong with the run as a whole.
    pub(crate) problems: Vec<String>,
}

impl Collected {
    /// Reads and judges a run folder.
    ///
    /// # Errors
    /// When the manifest or the folder cannot be read.
    pub(crate) fn read(run: &Path) -> Result<Collected> {
        let (manifest, manifest_sha256) = Manifest::read(run)?;
        let mut problems = manifest.inconsistencies();
        let mut judged: Vec<Judged> = read_all(run)?
            .into_iter()
            .map(|Filed { id, attempt }| match attempt {
                Err(problem) => Judged {
                    id,
                    attempt: None,
                    standing: Standing::Disqualified,
                    reasons: vec![problem],
                    selected: false,
                    traces: Traces::default(),
                },
                Ok(attempt) => judge(run, attempt, &manifest, &manifest_sha256),
            })
            .collect();
        if !problems.is_empty() {
            judged.iter_mut().for_each(|judged| judged.disqualify(problems.join("; ")));
        }
        refuse_doubles(&mut judged);
        refuse_other_order(&mut judged);
        refuse_other_parameters(&mut judged);
        select(&mut judged);
        let mut collected = Collected { manifest, judged, problems: Vec::new() };
        problems.extend(collected.missing());
        collected.problems = problems;
        Ok(collected)
    }

    /// The evidence.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (&Judged, &Attempt)> {
        let sound = self.judged.iter().filter(|judged| judged.is_measurement());
        sound.filter_map(|judged| Some((judged, judged.attempt.as_ref()?)))
    }

    /// Planned calls without a sound measurement.
    fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for item in &self.manifest.items {
            for repeat in 0..self.manifest.repeats {
                for (place, method) in self.manifest.methods.iter().enumerate() {
                    let is_it = |attempt: &Attempt| {
                        (attempt.item, attempt.repeat, attempt.method_index) == (item.item, repeat, place)
                    };
                    if !self.measured().any(|(_, attempt)| is_it(attempt)) {
                        missing.push(format!(
                            "item {} repeat {repeat} {} x{}: no sound measurement",
                            item.item, method.name, method.ranks
                        ));
                    }
                }
            }
        }
        missing
    }
}

/// One attempt by itself.
fn judge(run: &Path, attempt: Attempt, manifest: &Manifest, manifest_sha256: &str) -> Judged {
    let mut tampered = Vec::new();
    if !attempt.is_sealed() {
        tampered.push("record: it was changed after it was written (the seal does not match)".to_owned());
    }
    if attempt.manifest_sha256 != manifest_sha256 {
        tampered.push("manifest: it is not the one this attempt was made for".to_owned());
    }
    if attempt.attempt_session_id.is_none() {
        tampered.push("identity: it has no session".to_owned());
    }
    tampered.extend(identity(&attempt, manifest));
    let mut traces = Traces::default();
    let mut wrong = verdict::reasons(&attempt, manifest);
    if let (Profile::Profiling, Some(method)) =
        (manifest.instrumentation_profile, manifest.methods.get(attempt.method_index))
    {
        let folder = Attempt::trace_folder(run, attempt.attempt_id);
        match traces::inventory(&folder) {
            Ok(found) => tampered.extend(traces::differences(&attempt.traces, &found)),
            Err(error) => tampered.push(format!("traces: {error}")),
        }
        let (read, problems) = traces::read(&folder, &attempt, method);
        traces = read;
        wrong.extend(problems);
    }
    let was_sound = attempt.verdict.status == Status::Success;
    let standing = match (tampered.is_empty(), wrong.is_empty(), was_sound) {
        (true, true, true) => Standing::Success,
        (true, _, false) => Standing::Failed,
        _ => Standing::Disqualified,
    };
    if was_sound && !wrong.is_empty() {
        tampered.push("verdict: the runner found it sound, which it is not".to_owned());
    }
    if !was_sound && wrong.is_empty() {
        wrong.clone_from(&attempt.verdict.reasons);
    }
    tampered.extend(wrong);
    if standing != Standing::Success {
        traces = Traces::default();
    }
    Judged { id: attempt.attempt_id, attempt: Some(attempt), standing, reasons: tampered, selected: false, traces }
}

/// Identity and command line against the manifest's product.
fn identity(attempt: &Attempt, manifest: &Manifest) -> Vec<String> {
    let mut wrong = Vec::new();
    let (Some(item), Some(method)) = (manifest.items.get(attempt.item), manifest.methods.get(attempt.method_index))
    else {
        return vec!["identity: the manifest has no such item or method".to_owned()];
    };
    let (Some(algorithm), Some(dataset)) =
        (manifest.algorithms.get(item.algorithm), manifest.datasets.get(item.dataset))
    else {
        return vec!["identity: the manifest's item names no algorithm or dataset".to_owned()];
    };
    for (what, found, planned) in [
        ("method", attempt.method.as_str(), method.name.as_str()),
        ("algorithm", attempt.algorithm.as_str(), algorithm.name.as_str()),
        ("dataset", attempt.dataset.as_str(), dataset.name.as_str()),
        ("profile", attempt.instrumentation_profile.as_str(), manifest.instrumentation_profile.name()),
    ] {
        if found != planned {
            wrong.push(format!("identity: the {what} is {found}, but the manifest has {planned}"));
        }
    }
    let repeats = if attempt.phase == Phase::Warmup { manifest.warmups } else { manifest.repeats };
    if attempt.repeat >= repeats {
        wrong.push(format!("identity: {} repeat {} of {repeats}", attempt.phase.name(), attempt.repeat));
    }
    let program = attempt.argv.first().and_then(|path| Path::new(path).file_name()).unwrap_or_default();
    if program != manifest.binary.name.as_str() || attempt.argv.get(1..) != Some(manifest.argv(item, method).as_slice())
    {
        wrong.push("argv: it is not the manifest's command".to_owned());
    }
    let mut environment = attempt.environment.clone();
    if manifest.instrumentation_profile == Profile::Profiling {
        let folder = environment.remove(FOLDER_VARIABLE).unwrap_or_default();
        let expected = Attempt::trace_folder(Path::new(""), attempt.attempt_id);
        if !Path::new(&folder).ends_with(&expected) {
            wrong.push(format!("environment: {FOLDER_VARIABLE} is not raw/profiling/{}", attempt.attempt_id));
        }
    }
    if environment != manifest.environment {
        wrong.push("environment: it is not the manifest's".to_owned());
    }
    let longest = attempt.records.timing.as_ref().and_then(|timing| {
        timing.get("algorithm_e2e_ms").or_else(|| timing.get("rank_algorithm_e2e_max_ms")).and_then(Value::as_f64)
    });
    if longest.is_some_and(|ms| ms > attempt.process_wall_ms) || !attempt.process_wall_ms.is_finite() {
        wrong.push("process_wall_ms: the algorithm took longer than its process".to_owned());
    }
    wrong
}

/// No two attempts may be the same call of a session, nor have the same place in the order.
fn refuse_doubles(judged: &mut [Judged]) {
    let mut calls: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, judged) in judged.iter().enumerate() {
        let Some(attempt) = &judged.attempt else { continue };
        let call = (attempt.attempt_session_id, attempt.phase, attempt.item, attempt.repeat, attempt.method_index);
        calls.entry(call).or_default().push(index);
        places.entry(attempt.sequence).or_default().push(index);
    }
    for doubles in calls.into_values().chain(places.into_values()).filter(|same| same.len() > 1) {
        let ids: Vec<_> = doubles.iter().map(|&index| judged[index].id.to_string()).collect();
        for index in doubles {
            judged[index].disqualify(format!("identity: {} are the same call", ids.join(" and ")));
        }
    }
}

/// Within a repeat of a session the methods come in the manifest's order, one after the other.
fn refuse_other_order(judged: &mut [Judged]) {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, judged) in judged.iter().enumerate() {
        if let Some(attempt) = &judged.attempt {
            let group = (attempt.attempt_session_id, attempt.phase, attempt.item, attempt.repeat);
            groups.entry(group).or_default().push(index);
        }
    }
    for group in groups.into_values() {
        let places: Vec<(u64, usize)> = group
            .iter()
            .filter_map(|&index| judged[index].attempt.as_ref())
            .map(|attempt| (attempt.sequence, attempt.method_index))
            .collect();
        let start = |(sequence, method): &(u64, usize)| sequence.checked_sub(*method as u64);
        let is_in_order = places.iter().all(|place| start(place).is_some() && start(place) == start(&places[0]));
        if !is_in_order {
            group.into_iter().for_each(|index| {
                judged[index].disqualify("order: the methods of this repeat did not alternate as planned")
            });
        }
    }
}

/// All attempts of an item say the same parameters and the same graph.
fn refuse_other_parameters(judged: &mut [Judged]) {
    let said = |attempt: &Attempt| {
        let metadata = attempt.records.metadata.clone().unwrap_or_default();
        let of = |key: &str| metadata.get(key).cloned().unwrap_or_default();
        Map::from_iter([("parameters".to_owned(), of("parameters")), ("graph".to_owned(), of("graph"))])
    };
    let mut first: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
    for judged in judged.iter_mut().filter(|judged| judged.standing == Standing::Success) {
        let Some((item, said)) = judged.attempt.as_ref().map(|attempt| (attempt.item, said(attempt))) else { continue };
        let expected = first.entry(item).or_insert_with(|| said.clone());
        if *expected != said {
            judged.disqualify("metadata: parameters or graph differ from the item's first attempt");
        }
    }
}

/// Of each measured repeat the attempts of its newest session count; old ones are not mixed in.
fn select(judged: &mut [Judged]) {
    let mut newest: BTreeMap<(usize, u32), Option<Uuid>> = BTreeMap::new();
    let is_measured =
        |judged: &&mut Judged| judged.attempt.as_ref().is_some_and(|attempt| attempt.phase == Phase::Measured);
    // They are in the order in which they were started, so the last session wins.
    for judged in judged.iter_mut().filter(is_measured) {
        if let Some(attempt) = &judged.attempt {
            newest.insert((attempt.item, attempt.repeat), attempt.attempt_session_id);
        }
    }
    for judged in judged.iter_mut().filter(is_measured) {
        if let Some(attempt) = &judged.attempt {
            judged.selected = newest.get(&(attempt.item, attempt.repeat)) == Some(&attempt.attempt_session_id);
        }
    }
}
