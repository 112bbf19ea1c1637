//! Clean protected runs: the same answers as unprotected ones, and never an alarm. The campaign runs more of them:
//! `cargo xtask campaign clean-runs`.

use framework::answer::split_mix;
use framework::graph::Graph;
use framework::protect::{Certified, Interval, Protection, Weights};
use graphalg_tests::{Case, cases, graphs};
use std::collections::BTreeSet;
use std::io::Write;

/// Runs of the short form.
const RUNS: u64 = 300;
/// Names the number of runs of the long one.
const VARIABLE: &str = "GRAPHALG_CLEAN_RUNS";

/// One clean run, made from its number.
struct Tuple {
    case: Case,
    graph: String,
    arcs: Vec<(i64, i64)>,
    directed: bool,
    ranks: usize,
    threads: usize,
    protection: Protection,
}

fn tuple(number: u64, small: &[(String, Vec<(i64, i64)>)]) -> Tuple {
    let draw = |what: u64, below: u64| split_mix(number << 8 | what) % below;
    let cases = cases();
    let case = cases[(number % cases.len() as u64) as usize].clone();
    let (graph, arcs) = if draw(0, 3) == 0 {
        small[draw(1, small.len() as u64) as usize].clone()
    } else {
        let (vertices, degree) = (20 + draw(2, 3000), 1 + draw(3, 12));
        (format!("random {vertices} x {degree}"), graphs::random(number, vertices, vertices * degree / 2))
    };
    let protection = Protection {
        snapshots: [Interval::Measured, Interval::Every(0), Interval::Every(1), Interval::Every(3)]
            [draw(4, 4) as usize],
        budget: [0.0, 0.02, 0.3, 1.0][draw(5, 4) as usize],
        weights: Weights { t: [0.0, 0.3, 0.6, 1.0][draw(6, 4) as usize], ..Weights::default() },
        certify: draw(7, 4) > 0,
        ..Protection::on()
    };
    let (ranks, threads) = (1 + draw(8, 4) as usize, 1 + draw(9, 2) as usize);
    Tuple { case, graph, arcs, directed: draw(10, 2) == 0, ranks, threads, protection }
}

#[test]
fn clean_runs_raise_no_alarm_and_give_the_unprotected_answer() {
    let runs = std::env::var(VARIABLE).ok().map_or(RUNS, |runs| runs.parse().expect("a number of runs"));
    let small = graphs::small();
    let (mut distinct, mut done, mut covered, mut snapshots) = (BTreeSet::new(), 0u64, 0, 0);
    for number in 0..runs {
        let Tuple { case, graph: name, arcs, directed, ranks, threads, protection } = tuple(number, &small);
        let mut algorithm = case.make().expect("the law's own options");
        let graph = Graph::from_pairs(&name, &arcs, directed, algorithm.view()).expect("a small graph");
        if algorithm.prepare(&graph).is_err() {
            assert_eq!(graph.vertices(), 0, "{case} on {name}");
            continue;
        }
        let what = format!("run {number}: {case} on {name}, directed {directed}, {ranks}x{threads}, {protection:?}");
        let plain = case.run(&graph, ranks, threads).unwrap_or_else(|error| panic!("{what}: {error}"));
        let guarded = case.run_protected(&graph, (ranks, threads), &protection, None);
        let guarded = guarded.unwrap_or_else(|error| panic!("{what}: {error}"));
        let detection = guarded.detection.expect("a protected run says what it found");
        assert!(detection.evidence.is_clean(), "{what}: {:?}", detection.evidence);
        assert_eq!(detection.recoveries, 0, "{what}"); // waits for the checker are the machine's affair
        assert_eq!(detection.refuted, None, "{what}");
        let proved = if protection.certify { Certified::Held } else { Certified::NotRun };
        assert_eq!(detection.certificate, proved, "{what}");
        assert!(guarded.end.is_sound && guarded.end.converged, "{what}");
        assert_eq!(guarded.end.iterations, plain.end.iterations, "{what}");
        assert_eq!(guarded.answer, plain.answer, "{what}");
        distinct.insert((case.to_string(), name, directed, ranks, threads, number));
        done += 1;
        covered += detection.evidence.covered;
        snapshots += detection.snapshots;
    }
    assert!(covered > 0 && snapshots > 0, "the runs do what they are to be free of alarms with");
    let line = format!(
        "\nclean runs: {done} ({} distinct), 0 alarms, {covered} updates done again, {snapshots} snapshots\n",
        distinct.len()
    );
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
}
