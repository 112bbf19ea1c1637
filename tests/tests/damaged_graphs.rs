//! Damage to the arcs in memory is found, and mended from the graph or from where it came.

use framework::answer::{Answer, Values};
use framework::base::error::{Class, Error, Result};
use framework::base::id::Rank;
use framework::base::probe::Off;
use framework::fault_injection::{Model, Strike, Target, struck_trial};
use framework::graph::{Generator, Graph, Recipe, View};
use framework::protect::{Certified, Interval, Protection, Recovery};
use framework::trial::reload::{Loader, Reload};
use framework::trial::{Placement, Trial, TrialConfig, protected_trial};
use graphalg_tests::{Case, cases};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const MODELS: [Model; 5] = [Model::Bit1, Model::Bit2, Model::Random, Model::Zero, Model::Warp32];
/// Strikes of each model.
const SEEDS: u64 = 8;

fn protection() -> Protection {
    Protection { snapshots: Interval::Every(4), ..Protection::on() }
}

/// Directed where an algorithm has use for it, so that both directions are struck.
fn made(case: &Case, seed: u64) -> Result<Graph> {
    let view = case.make()?.view();
    let kron = Recipe { generator: Generator::Kron, scale: 8, edge_factor: 6, seed }.graph(View::Symmetric)?;
    let rows = (0..kron.vertices() as u32).map(|v| (v, kron.outgoing().row(v)));
    let some = |v: u32, u: u32| (v ^ u).is_multiple_of(3) || v < u;
    let arcs: Vec<_> =
        rows.flat_map(|(v, row)| row.iter().map(move |&u| (v, u))).filter(|&(v, u)| some(v, u)).collect();
    let arcs: Vec<(i64, i64)> = arcs.into_iter().map(|(v, u)| (v.into(), u.into())).collect();
    Graph::from_pairs("kron-8", &arcs, true, view)
}

fn strike(model: Model, ranks: u64, seed: u64) -> Strike {
    Strike { seed, model, target: Target::Graph, rank: Rank((seed % ranks) as u32), iteration: 0 }
}

fn struck(case: &Case, graph: &Graph, loader: Option<&Loader<'_>>, ranks: usize, strike: Strike) -> Result<Trial<Off>> {
    let reload = loader.map(Reload::from).unwrap_or_default();
    let protection = protection();
    let plan = TrialConfig {
        place: Placement::new(ranks, 1),
        protection: &protection,
        resumable: None,
        reload: Some(&reload),
    };
    let (trial, hit) = struck_trial(graph, &plan, &|| case.make(), strike);
    assert!(hit.is_some(), "{case}: nothing was struck by {strike:?}");
    trial
}

fn is_equal(found: &Answer, right: &Answer) -> bool {
    match (&found.values, &right.values) {
        // The bound of two answers at the default tolerance and damping: 2 t d / (1 - d).
        (Values::Real(found), Values::Real(right)) => {
            found.iter().zip(right).map(|(a, b)| (a - b).abs()).sum::<f64>() <= 2e-9 * 0.85 / 0.15
        }
        _ => found.hash() == right.hash(),
    }
}

#[test]
fn struck_arcs_are_mended_for_every_algorithm_on_one_rank_and_three() {
    for case in cases() {
        let graph = made(&case, 5).expect("a graph");
        for ranks in [1, 3] {
            let right = case.run(&graph, ranks, 1).expect("a clean run").answer;
            let loads = AtomicUsize::new(0);
            let loader = || {
                loads.fetch_add(1, Relaxed);
                made(&case, 5)
            };
            let (mut recovered, mut certified) = (0, 0);
            for (number, model) in (0..SEEDS).flat_map(|seed| MODELS.map(|model| (seed, model))) {
                let strike = strike(model, ranks as u64, number);
                let trial = struck(&case, &graph, Some(&loader), ranks, strike)
                    .unwrap_or_else(|error| panic!("{case}, {ranks} ranks, {strike:?}: {error}"));
                assert!(trial.end.is_sound && trial.end.converged, "{case}, {ranks} ranks, {strike:?}: not recovered");
                assert!(is_equal(&trial.answer, &right), "{case}, {ranks} ranks, {strike:?}: a wrong answer");
                let detection = trial.detection.expect("a protected run");
                assert_eq!(detection.certificate, Certified::Held);
                recovered += usize::from(detection.recoveries > 0);
                certified += usize::from(detection.refuted.is_some());
            }
            assert!(recovered > 0, "{case}, {ranks} ranks: no strike was found");
            assert_eq!(recovered, certified, "{case}, {ranks} ranks: damage is a finding");
            // On one rank the rows are the graph's own; on several they are copies, and the graph is whole.
            let expected = if ranks == 1 { recovered } else { 0 };
            assert_eq!(loads.into_inner(), expected, "{case}, {ranks} ranks");
        }
    }
}

#[test]
fn without_a_loader_or_with_another_graph_the_run_ends_in_an_error_that_says_so() {
    for (options, other, says) in
        [(["-k", "3"], None, "no way to load it again"), (["-k", "3"], Some(6), "does not give the same arcs")]
    {
        let case = Case::new("kcore", &options);
        let graph = made(&case, 5).expect("a graph");
        let right = case.run(&graph, 1, 1).expect("a clean run").answer;
        let loader = || made(&case, other.unwrap_or_default());
        let mut refused = 0;
        for number in 0..SEEDS {
            let loader: Option<&Loader<'_>> = other.is_some().then_some(&loader);
            match struck(&case, &graph, loader, 1, strike(Model::Random, 1, number)) {
                Ok(trial) => assert!(trial.end.is_sound && is_equal(&trial.answer, &right)),
                Err(error) => {
                    assert_eq!(error.class(), Class::Answer, "{error}");
                    assert!(error.to_string().contains(says), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 0);
    }
}

#[test]
fn an_error_of_the_loader_is_the_error_of_the_run() {
    let case = Case::new("kcore", &["--all-cores"]);
    let graph = made(&case, 5).expect("a graph");
    let loader = || Err(Error::usage("the file is gone"));
    let failed =
        (0..SEEDS).filter_map(|seed| struck(&case, &graph, Some(&loader), 1, strike(Model::Warp32, 1, seed)).err());
    let failed: Vec<_> = failed.map(|error| error.to_string()).collect();
    assert!(!failed.is_empty() && failed.iter().all(|error| error == "the file is gone"), "{failed:?}");
}

#[test]
fn with_recovery_off_struck_arcs_end_the_run_without_an_answer() {
    let case = Case::new("cc", &[""; 0]);
    let graph = made(&case, 5).expect("a graph");
    let protection = Protection { recovery: Recovery::Off, ..protection() };
    let plan = TrialConfig { place: Placement::new(1, 1), protection: &protection, resumable: None, reload: None };
    let sound = (0..SEEDS).map(|seed| {
        let (trial, _) = struck_trial(&graph, &plan, &|| case.make(), strike(Model::Random, 1, seed));
        trial.expect("a run").end.is_sound
    });
    assert!(sound.filter(|&is_sound| !is_sound).count() > 0);
}

/// What damages the graph between trials is not taken for the graph: the first cut of a part says what its arcs sum to.
#[test]
fn a_later_trial_on_other_arcs_loads_the_graph_again() {
    let case = Case::new("kcore", &["--all-cores"]);
    let (graph, other) = (made(&case, 5).expect("a graph"), made(&case, 6).expect("a graph"));
    let right = case.run(&graph, 1, 1).expect("a clean run").answer;
    let loader = || made(&case, 5);
    let reload = Reload::from(&loader);
    let protection = protection();
    for ranks in [1, 2] {
        let plan = TrialConfig {
            place: Placement::new(ranks, 1),
            protection: &protection,
            resumable: None,
            reload: Some(&reload),
        };
        for graph in [&graph, &other] {
            let trial = protected_trial(graph, &plan, &|| case.make(), &|_| Off).expect("a run");
            assert!(trial.end.is_sound && is_equal(&trial.answer, &right));
        }
        assert!(reload.latest().is_some());
    }
}
