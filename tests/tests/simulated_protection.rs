//! Laws of protection on simulated GPUs: certified and protected runs give the answers of the cpu device in the same supersteps, and
//! nothing is found in a clean one.

use framework::answer::Values;
use framework::base::checksum::split_mix;
use framework::base::error::Error;
use framework::base::probe::Off;
use framework::cuda::{DeviceInfo, Gpus};
use framework::fault_injection::{Model, Range, Strike, Target, struck_trial};
use framework::graph::{Direction, Graph, Input, LoadOptions, load};
use framework::protect::{Certified, CheckpointSet, Checkpoints, Interval, Protection, Weights, fingerprint};
use framework::trial::{Device, Placement, Trial, TrialConfig, protected_trial};
use graphalg_tests::needs::real_graphs;
use graphalg_tests::simulated::{assert_same, devices_for};
use graphalg_tests::{Case, cases, graphs};
use std::cell::Cell;

/// Runs a case on so many ranks, each on a simulated GPU of its own.
fn on_gpus(case: &Case, graph: &Graph, devices: &[DeviceInfo], ranks: usize, protection: &Protection) -> Trial<Off> {
    let gpus = Gpus::new(devices[..ranks.min(devices.len())].to_vec(), case.kernels());
    let place = Placement { device: Device::Accelerators(&gpus), ..Placement::new(ranks, 1) };
    let plan = TrialConfig { place, protection, resumable: None, reload: None };
    let trial = protected_trial(graph, &plan, &|| case.make(), &|_| Off);
    trial.unwrap_or_else(|error| panic!("{case} on {}, {ranks} ranks: {error}", graph.name()))
}

/// All cases on all small graphs, both directions, with their unprotected answer on the cpu device.
fn on_all(ranks: &[usize], law: impl Fn(&Case, &Graph, &Trial<Off>, usize, &str)) {
    for (name, arcs) in graphs::small() {
        for directed in [true, false] {
            for case in cases() {
                let mut algorithm = case.make().expect("the law's own options");
                let graph = Graph::from_pairs(&name, &arcs, directed, algorithm.view()).expect("a small graph");
                if algorithm.prepare(&graph).is_err() {
                    continue;
                }
                let plain = case.run(&graph, 1, 1).expect("a run");
                // PageRank runs a hundred rounds.
                let few = if case.name() == "pagerank" { &ranks[ranks.len() - 1..] } else { ranks };
                for &ranks in few {
                    law(&case, &graph, &plain, ranks, &format!("{case} on {name}, directed {directed}, {ranks} ranks"));
                }
            }
        }
    }
}

#[test]
fn certificates_hold_for_answers_made_on_devices() {
    let Some(devices) = devices_for("certificates_hold_for_answers_made_on_devices") else { return };
    let protection = Protection { certify: true, ..Protection::off() };
    on_all(&[1, 3], |case, graph, plain, ranks, what| {
        let trial = on_gpus(case, graph, &devices, ranks, &protection);
        let detection = trial.detection.expect("a certified run says what it found");
        assert_eq!((detection.refuted, detection.certificate), (None, Certified::Held), "{what}");
        assert!(trial.end.converged && trial.end.is_sound, "{what}");
        assert_same(&plain.answer, &trial.answer, what);
    });
}

/// Protection at some of its settings, by number.
fn setting(number: u64) -> Protection {
    let draw = |what: u64, below: u64| split_mix(number << 8 | what) % below;
    Protection {
        snapshots: [Interval::Measured, Interval::Every(0), Interval::Every(1), Interval::Every(3)]
            [draw(0, 4) as usize],
        budget: [0.0, 0.02, 0.3, 1.0][draw(1, 4) as usize],
        weights: Weights { t: [0.0, 0.3, 0.6, 1.0][draw(2, 4) as usize], ..Weights::default() },
        certify: draw(3, 4) > 0,
        ..Protection::on()
    }
}

/// What a clean protected run must say.
fn assert_clean(trial: &Trial<Off>, plain: &Trial<Off>, what: &str) {
    let detection = trial.detection.as_ref().expect("a protected run says what it found");
    assert!(detection.evidence.is_clean(), "{what}: {:?}", detection.evidence);
    assert_eq!((detection.recoveries, &detection.refuted), (0, &None), "{what}");
    assert_ne!(detection.certificate, Certified::Failed, "{what}");
    assert!(trial.end.is_sound && trial.end.converged, "{what}");
    assert_eq!(trial.end.iterations, plain.end.iterations, "{what}");
    assert_same(&plain.answer, &trial.answer, what);
}

#[test]
fn clean_protected_runs_raise_no_alarm_and_take_the_same_supersteps() {
    let Some(devices) = devices_for("clean_protected_runs_raise_no_alarm_and_take_the_same_supersteps") else { return };
    let (number, covered, snapshots) = (Cell::new(0u64), Cell::new(0), Cell::new(0));
    on_all(&[1, 2, 3, 4], |case, graph, _, ranks, what| {
        let protection = setting(number.replace(number.get() + 1));
        let what = format!("{what}, {protection:?}");
        // What cc contracts in a part depends on the order of threads; with one thread a rank it is the same.
        let plain = case.run(graph, ranks, 1).expect("a run");
        let trial = on_gpus(case, graph, &devices, ranks, &protection);
        assert_clean(&trial, &plain, &what);
        let detection = trial.detection.expect("asked above");
        covered.set(covered.get() + detection.evidence.covered);
        snapshots.set(snapshots.get() + detection.snapshots);
        assert!(detection.evidence.covered <= detection.evidence.critical, "{what}");
    });
    assert!(covered.get() > 0 && snapshots.get() > 0, "{covered:?} updates done again, {snapshots:?} snapshots");
}

#[test]
fn a_run_goes_on_from_a_checkpoint_of_the_other_device_on_any_number_of_ranks() {
    let test = "a_run_goes_on_from_a_checkpoint_of_the_other_device_on_any_number_of_ranks";
    let Some(devices) = devices_for(test) else { return };
    let long = ("path", (0..30).map(|v| (v, v + 1)).collect::<Vec<_>>());
    let wide = ("random", graphs::random(3, 120, 300));
    for (name, arcs) in [long, wide] {
        for case in cases() {
            let graph = Graph::from_pairs(name, &arcs, true, case.make().expect("options").view()).expect("a graph");
            let plain = case.run(&graph, 1, 1).expect("a run");
            for (from_cuda, ranks) in [(true, 1), (true, 3), (false, 3)] {
                let folder = tempfile::tempdir().expect("a folder");
                let checkpoints = Checkpoints {
                    folder: folder.path().into(),
                    every: 2,
                    run: "this".into(),
                    graph: fingerprint(&graph),
                };
                let writing = Protection {
                    snapshots: Interval::Every(0),
                    checkpoints: Some(checkpoints.clone()),
                    ..Protection::on()
                };
                let whole = if from_cuda {
                    on_gpus(&case, &graph, &devices, ranks, &writing)
                } else {
                    case.run_protected(&graph, (ranks, 1), &writing, None).expect("a run")
                };
                assert_same(&plain.answer, &whole.answer, &format!("{case} on {name}"));
                let (found, refused) = CheckpointSet::find(&checkpoints).expect("a folder");
                assert_eq!(refused, Vec::<String>::new(), "{case} on {name}");
                let Some(found) = found else { continue };
                let off = Protection { checkpoints: None, ..writing.clone() };
                for others in [1, 3, 4] {
                    let gpus = Gpus::new(devices[..others.min(devices.len())].to_vec(), case.kernels());
                    let device = if from_cuda { Device::Cpu } else { Device::Accelerators(&gpus) };
                    for device in [device, Device::Accelerators(&gpus)] {
                        let what = format!("{case} on {name}: {ranks} to {others} ranks, from cuda {from_cuda}");
                        let place = Placement { device, ..Placement::new(others, 1) };
                        let plan = TrialConfig { place, protection: &off, resumable: Some(&found), reload: None };
                        let resumed = protected_trial(&graph, &plan, &|| case.make(), &|_| Off);
                        let resumed = resumed.unwrap_or_else(|error| panic!("{what}: {error}"));
                        let detection = resumed.detection.as_ref().expect("protected");
                        assert!(detection.evidence.is_clean() && detection.recoveries == 0, "{what}: {detection:?}");
                        assert!(resumed.end.is_sound && resumed.end.converged, "{what}");
                        assert_same(&plain.answer, &resumed.answer, &what);
                    }
                }
            }
        }
    }
}

/// Strikes a case and place.
const STRIKES: u64 = 40;

#[test]
fn strikes_on_the_memory_of_devices_are_never_silent() {
    let Some(devices) = devices_for("strikes_on_the_memory_of_devices_are_never_silent") else { return };
    // Two dense spots, a path between them, and a pair apart.
    let spot = |base: i64| (0..12).flat_map(move |u| (0..u).map(move |v| (base + u, base + v)));
    let mut arcs: Vec<(i64, i64)> = spot(0).chain(spot(60)).collect();
    arcs.extend((11..60).map(|v| (v, v + 1)));
    arcs.push((100, 101));
    let mut found = 0;
    for case in [
        Case::new("bfs", &[""; 0]),
        Case::new("cc", &[""; 0]),
        Case::new("kcore", &["-k", "3"]),
        Case::new("kcore", &["--all-cores"]),
        Case::new("pagerank", &["--tolerance", "1e-6"]),
    ] {
        let graph = Graph::from_pairs("spots", &arcs, false, case.make().expect("options").view()).expect("a graph");
        for ranks in [1, 3] {
            let gpus = Gpus::new(devices[..ranks.min(devices.len())].to_vec(), case.kernels());
            let place = Placement { device: Device::Accelerators(&gpus), ..Placement::new(ranks, 1) };
            let protection = Protection { snapshots: Interval::Every(4), budget: 1.0, ..Protection::on() };
            let plan = TrialConfig { place, protection: &protection, resumable: None, reload: None };
            let make = || case.make();
            let clean = protected_trial(&graph, &plan, &make, &|_| Off).expect("a clean run");
            let targets = Target::ALL.iter().flat_map(|&(_, target)| Model::ALL.map(|(_, model)| (model, target)));
            let pairs = targets.filter(|&(model, target)| model.fits(target, ranks)).collect();
            let range = Range { pairs, ranks, iterations: clean.end.iterations };
            for seed in 0..STRIKES {
                let strike = Strike::draw(split_mix(seed), &range).expect("there are pairs");
                let what = format!("{case}, {ranks} ranks: {strike:?}");
                let (trial, _) = struck_trial(&graph, &plan, &make, strike);
                let trial = match trial {
                    Ok(trial) => trial,
                    Err(error @ (Error::Panicked { .. } | Error::Device { .. })) => panic!("{what}: {error}"),
                    Err(_) => continue,
                };
                let detection = trial.detection.as_ref().expect("protected");
                found += u32::from(!detection.evidence.is_clean() || detection.recoveries > 0);
                if trial.end.is_sound && trial.end.converged {
                    match (&trial.answer.values, &clean.answer.values) {
                        (Values::Real(a), Values::Real(b)) => {
                            let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
                            assert!(distance <= 2.0 * 1e-6 * 0.85 / 0.15, "{what}: silent, {distance:e} apart");
                        }
                        _ => assert_eq!(trial.answer.hash(), clean.answer.hash(), "{what}: silent"),
                    }
                }
            }
        }
    }
    assert!(found > 60, "strikes find something to hit: {found}");
}

#[test]
fn a_struck_member_of_a_frontier_is_found_where_it_is_consumed() {
    let Some(devices) = devices_for("a_struck_member_of_a_frontier_is_found_where_it_is_consumed") else { return };
    let arcs = graphs::random(5, 600, 900);
    let case = Case::new("bfs", &["--source", "index:0"]);
    let graph = Graph::from_pairs("random", &arcs, false, case.make().expect("options").view()).expect("a graph");
    for ranks in [1, 2] {
        let gpus = Gpus::new(devices[..ranks.min(devices.len())].to_vec(), case.kernels());
        let place = Placement { device: Device::Accelerators(&gpus), ..Placement::new(ranks, 1) };
        // Nothing is proved and nothing done again: what is found is found by the books of the frontier.
        let protection = Protection { certify: false, budget: 0.0, snapshots: Interval::Every(2), ..Protection::on() };
        let plan = TrialConfig { place, protection: &protection, resumable: None, reload: None };
        let make = || case.make();
        let clean = protected_trial(&graph, &plan, &make, &|_| Off).expect("a clean run");
        let range =
            Range { pairs: vec![(Model::Random, Target::Frontier)], ranks, iterations: clean.end.iterations - 2 };
        let mut members = 0;
        for seed in 0..24 {
            let strike = Strike::draw(split_mix(seed), &range).expect("a pair");
            let (trial, hit) = struck_trial(&graph, &plan, &make, strike);
            let trial = trial.unwrap_or_else(|error| panic!("{strike:?}: {error}"));
            let Some(hit) = hit.filter(|hit| hit.field == "frontier") else { continue };
            members += 1;
            let detection = trial.detection.expect("protected");
            assert!(
                detection.evidence.trend.first.is_some_and(|first| first <= hit.iteration),
                "{strike:?}: {detection:?}"
            );
            assert_eq!(trial.answer.hash(), clean.answer.hash(), "{strike:?}, {hit:?}");
        }
        assert!(members > 4, "members are hit: {members}");
    }
}

#[test]
fn a_real_graph_is_protected_on_one_to_four_devices() {
    let test = "a_real_graph_is_protected_on_one_to_four_devices";
    let (Some(devices), Some(folder)) = (devices_for(test), real_graphs(test)) else { return };
    let cases: [(&str, &[&str], &[usize]); 5] = [
        ("bfs", &[], &[1, 2, 3, 4]),
        ("cc", &[], &[1, 2, 3, 4]),
        ("kcore", &["-k", "5"], &[1, 2, 3, 4]),
        ("kcore", &["--all-cores"], &[1]),
        ("pagerank", &["--tolerance", "1e-3"], &[1, 3]),
    ];
    for (name, options, counts) in cases {
        let case = Case::new(name, options);
        let mut algorithm = case.make().expect("options");
        let load_options = LoadOptions { direction: Direction::Auto, view: algorithm.view(), ..LoadOptions::default() };
        let graph = load(&Input::Path(folder.join("cit-HepPh.txt.gz")), &load_options).expect("a real graph");
        algorithm.prepare(&graph).expect("a source");
        for &ranks in counts {
            let what = format!("{case} on cit-HepPh, {ranks} ranks");
            let plain = case.run(&graph, ranks, 1).expect("the cpu device");
            let protection = Protection { snapshots: Interval::Every(3), ..Protection::on() };
            let trial = on_gpus(&case, &graph, &devices, ranks, &protection);
            let detection = trial.detection.as_ref().expect("protected");
            assert!(detection.evidence.is_clean(), "{what}: {:?}", detection.evidence);
            assert_eq!((detection.recoveries, detection.certificate), (0, Certified::Held), "{what}");
            assert_eq!(trial.end.iterations, plain.end.iterations, "{what}");
            match (&trial.answer.values, &plain.answer.values) {
                (Values::Real(a), Values::Real(b)) => {
                    let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
                    assert!(distance <= 2.0 * 1e-3 * 0.85 / 0.15, "{what}: {distance:e} apart");
                }
                _ => assert_eq!(trial.answer.hash(), plain.answer.hash(), "{what}"),
            }
            // Where updates can be repeated, some were, within the budget: a few hundredths of what is critical.
            let can_repeat = name != "cc";
            assert_eq!(detection.evidence.covered > 0, can_repeat, "{what}: {:?}", detection.evidence);
            assert!(
                detection.evidence.covered * 4 < detection.evidence.critical.max(1),
                "{what}: {:?}",
                detection.evidence
            );
        }
    }
}
