//! The laws once more on generated graphs of 131,072 vertices: large enough for layouts and strategies that a part uses only when
//! they pay (tiles of arcs, queues of all threads, hundreds of chunks), where no file is needed.

use framework::graph::{Generator, Graph, Recipe, View};
use framework::trial::{Layouts, Placement};
use graphalg_tests::{Case, cases};

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

#[test]
fn tiles_take_memory_apart_and_change_no_bit() {
    let case = Case::new("pagerank", &[] as &[&str]);
    let view = case.make().expect("options").view();
    let graph = Recipe { generator: Generator::Kron, scale: 17, edge_factor: 8, seed: 6 }.graph(view).expect("a graph");
    let tiled = case.run_at(&graph, Placement::new(1, 2)).expect("tiles");
    let plain = case.run_at(&graph, Placement { layouts: Layouts::RowsOnly, ..Placement::new(1, 2) }).expect("rows");
    assert_eq!(tiled.answer.hash(), plain.answer.hash());
    assert_eq!(plain.ranks[0].costs.layout_bytes, 0);
    let arcs = graph.outgoing().arcs() as u64;
    assert!((4 * arcs..5 * arcs).contains(&tiled.ranks[0].costs.layout_bytes), "{:?}", tiled.ranks[0].costs);
}

#[test]
fn a_symmetric_graph_takes_at_most_4_and_a_half_bytes_an_arc_and_8_a_vertex() {
    for (generator, edge_factor) in [(Generator::Kron, 16), (Generator::Uniform, 2), (Generator::Grid, 1)] {
        let recipe = Recipe { generator, scale: 17, edge_factor, seed: 7 };
        let graph = recipe.graph(View::AsGiven { incoming: true }).expect("a graph");
        let most = 9 * graph.outgoing().arcs() / 2 + 8 * graph.vertices() + 8;
        assert!(graph.bytes() <= most, "{}: {} bytes, at most {most}", graph.name(), graph.bytes());
        // IDs that are not one range cost 8 bytes a vertex more.
        let pairs: Vec<(i64, i64)> = (0..1000).map(|v| (v * 7, (v + 1) * 7)).collect();
        let sparse = Graph::from_pairs("sparse", &pairs, false, View::Symmetric).expect("a graph");
        assert!(sparse.bytes() <= 9 * 2000 / 2 + 16 * 1001 + 8, "{}", sparse.bytes());
        // And each algorithm its declared fields, nothing else.
        for case in cases() {
            let fields = case.make().expect("options").fields();
            let bytes: usize = fields.iter().map(|field| field.kind.bytes()).sum();
            let graph = recipe.graph(case.make().expect("options").view()).expect("a graph");
            let costs = case.run(&graph, 1, 1).expect("a run").ranks[0].costs;
            assert_eq!(costs.field_bytes, (bytes * graph.vertices()) as u64, "{case}");
            assert_eq!(costs.part_bytes, 0, "{case}");
        }
    }
}
