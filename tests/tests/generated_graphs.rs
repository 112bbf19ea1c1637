//! The laws once more on generated graphs of 131,072 vertices: large enough for layouts and strategies that a part uses only when
//! they pay (tiles of arcs, queues of all threads, hundreds of chunks), where no file is needed.

use framework::graph::{Generator, Recipe};
use graphalg_tests::cases;

const PLACES: [(usize, usize); 4] = [(1, 1), (1, 2), (2, 1), (3, 2)];

fn check(generator: Generator, edge_factor: u32) {
    let recipe = Recipe { generator, scale: 17, edge_factor, seed: 5 };
    for case in cases() {
        let mut algorithm = case.make().expect("the law's own options");
        let graph = recipe.graph(algorithm.view()).expect("a graph");
        algorithm.prepare(&graph).expect("there are vertices");
        let mut hashes = Vec::new();
        for (ranks, threads) in PLACES {
            let what = format!("{case} on {}, {ranks}x{threads}", graph.name());
            let trial = case.run(&graph, ranks, threads).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(trial.end.converged, "{what}");
            if hashes.is_empty() {
                let verdict = algorithm.verify(&graph, &trial.answer);
                assert!(verdict.is_sound(), "{what}: {verdict:?}");
            }
            hashes.push(trial.answer.hash());
            assert_eq!(hashes.last(), hashes.first(), "{what}");
        }
    }
}

#[test]
fn a_kronecker_graph_has_one_sound_answer_everywhere() {
    check(Generator::Kron, 8);
}

#[test]
fn a_uniform_graph_has_one_sound_answer_everywhere() {
    check(Generator::Uniform, 4);
}

#[test]
fn a_grid_has_one_sound_answer_everywhere() {
    check(Generator::Grid, 1);
}
