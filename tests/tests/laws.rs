//! Laws over all plugins, ranks 1 to 4, threads and small graphs. A new plugin is judged by them unchanged.

use framework::algorithm::GraphAlgorithm;
use framework::answer::Values;
use framework::base::verdict::Verdict;
use framework::graph::Graph;
use graphalg_tests::{Case, cases, graphs};

const PLACES: [(usize, usize); 8] = [(1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (3, 1), (4, 1), (4, 2)];

fn on_all(mut law: impl FnMut(&Case, &dyn GraphAlgorithm, &Graph, &str)) {
    for (name, arcs) in graphs::small() {
        for directed in [true, false] {
            for case in cases() {
                let mut algorithm = case.make().expect("the law's own options");
                let graph = Graph::from_pairs(&name, &arcs, directed, algorithm.view()).expect("a small graph");
                match algorithm.prepare(&graph) {
                    Ok(()) => {
                        law(&case, algorithm.as_ref(), &graph, &format!("{case} on {name}, directed: {directed}"))
                    }
                    Err(error) => assert_eq!(graph.vertices(), 0, "{case} on {name}: {error}"),
                }
            }
        }
    }
}

#[test]
fn the_answer_equals_the_plain_serial_one_on_any_ranks_and_threads() {
    on_all(|case, algorithm, graph, what| {
        for (ranks, threads) in PLACES {
            let trial = case.run(graph, ranks, threads).unwrap_or_else(|e| panic!("{what}, {ranks}x{threads}: {e}"));
            assert!(trial.end.converged, "{what}, {ranks}x{threads}");
            match algorithm.verify(graph, &trial.answer) {
                Verdict::Sound => {}
                Verdict::Corrupt(finding) => panic!("{what}, {ranks}x{threads}: {finding}"),
            }
        }
    });
}

#[test]
fn the_hash_is_the_same_on_any_ranks_and_threads() {
    on_all(|case, _, graph, what| {
        let hashes: Vec<String> =
            PLACES.iter().map(|&(ranks, threads)| case.run(graph, ranks, threads).expect(what).answer.hash()).collect();
        assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{what}: {hashes:?}");
    });
}

#[test]
fn more_ranks_than_vertices_is_no_trouble() {
    for case in cases() {
        let view = case.make().expect("options").view();
        let graph = Graph::from_pairs("tiny", &[(1, 2), (2, 3)], true, view).expect("a small graph");
        let one = case.run(&graph, 1, 1).expect("one rank").answer.hash();
        assert_eq!(case.run(&graph, 9, 1).expect("nine ranks").answer.hash(), one, "{case}");
    }
}

#[test]
fn a_wrong_answer_does_not_pass_verification() {
    on_all(|case, algorithm, graph, what| {
        let mut answer = case.run(graph, 1, 1).expect(what).answer;
        for v in 0..graph.vertices().min(5) {
            let whole = answer.clone();
            match &mut answer.values {
                Values::Count(values) => values[v] ^= 1,
                Values::Vertex(values) => values[v] ^= 1,
                Values::Flag(values) => values[v] ^= 1,
                Values::Real(values) => values[v] += 1e-6,
            }
            assert!(!algorithm.verify(graph, &answer).is_sound(), "{what}: vertex {v} was changed");
            answer = whole;
        }
    });
}

#[test]
fn a_run_of_several_ranks_says_what_it_sent() {
    let case = Case::new("cc", &[""; 0]);
    let view = case.make().expect("options").view();
    let graph = Graph::from_pairs("path", &[(1, 2), (2, 3), (3, 4)], true, view).expect("a small graph");
    let alone = case.run(&graph, 1, 1).expect("one rank");
    assert_eq!((alone.ranks[0].costs.exchange_bytes, alone.ranks[0].costs.ghosts), (0, 0));
    let both = case.run(&graph, 2, 1).expect("two ranks");
    assert!(both.ranks.iter().all(|rank| rank.costs.exchange_bytes > 0 && rank.costs.ghosts == 1));
}
