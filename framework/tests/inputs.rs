//! Inputs with known contents: the hand-made cases of `tests/data/tiny_cases.json`, and the real graphs where they are at hand.

#![allow(clippy::print_stdout)] // a skipped test says so

use framework::graph::{Direction, Format, Graph, Input, LoadOptions, View, load};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn options(format: Format, direction: Direction, view: View) -> LoadOptions {
    LoadOptions { format, direction, view, ..LoadOptions::default() }
}

/// Distinct arcs (edges if undirected), self-loops, and edges of the simple graph, counted from the rows.
fn counts(input: &Input, format: Format, direction: Direction) -> (Graph, [u64; 3]) {
    let given = load(input, &options(format, direction, View::AsGiven { incoming: true })).expect("a graph");
    let simple = load(input, &options(format, direction, View::Simple)).expect("a graph");
    let loops = (0..given.vertices() as u32).filter(|v| given.outgoing().row(*v).contains(v)).count() as u64;
    let rows = given.outgoing().arcs() as u64;
    assert_eq!(given.facts(), simple.facts(), "facts do not depend on the view");
    assert_eq!(given.facts().arcs, rows);
    assert_eq!(given.facts().self_loops, loops);
    let arcs = if given.facts().directed { rows } else { (rows - loops) / 2 + loops };
    let edges = simple.outgoing().arcs() as u64 / 2;
    (given, [arcs, loops, edges])
}

#[test]
fn tiny_cases_give_the_graph_or_the_error_they_ask_for() {
    let cases: Value = serde_json::from_str(include_str!("../../tests/data/tiny_cases.json")).expect("JSON");
    let folder = tempfile::tempdir().expect("a folder");
    for case in cases["cases"].as_array().expect("a list") {
        let name = case["name"].as_str().expect("a name");
        let path = folder.path().join(name);
        std::fs::write(&path, case["input"].as_str().expect("text")).expect("written");
        let format = match case["format"].as_str() {
            Some("mtx") => Format::Mtx,
            Some("metis") => Format::Metis,
            Some("dimacs-gr") => Format::Gr,
            _ => Format::EdgeList,
        };
        let direction = match (format, case["directed"].as_bool()) {
            (Format::EdgeList, Some(false)) => Direction::Undirected,
            _ => Direction::Auto,
        };
        let input = Input::Path(path.clone());
        let expect = &case["expect"];
        let refused = |line: u64| {
            let error = load(&input, &options(format, direction, View::Symmetric)).expect_err(name).to_string();
            assert!(error.contains(&format!("{name}:{line}: ")), "{name}: {error}");
        };
        match name {
            "ids_over_32_bits" => refused(2), // 2^64 - 1 is no i64
            "edge_not_number" => refused(2),
            "mtx_zero_index" => refused(3),
            "bfs_source_missing" => {} // not an input's fault
            "empty_file" => assert_eq!(counts(&input, format, direction).0.vertices(), 0),
            _ => {
                let (graph, found) = counts(&input, format, direction);
                let vertices: Vec<i64> = serde_json::from_value(expect["vertices"].clone()).expect("IDs");
                assert_eq!(graph.ids().iter().collect::<Vec<_>>(), vertices, "{name}");
                let keys = ["arcs_distinct", "self_loops", "undirected_edges_simple"];
                assert_eq!(found.to_vec(), keys.map(|key| expect[key].as_u64().expect("a count")), "{name}");
                assert_eq!(Value::from(graph.facts().directed), case["directed"], "{name}");
            }
        }
    }
}

#[test]
fn a_claim_in_a_comment_that_the_body_does_not_keep_is_a_warning_with_both_numbers() {
    let input = Input::Embedded { name: "claims", bytes: b"# Nodes: 5 Edges: 2\n0 1\n1 2\n", file_name: "claims.txt" };
    let graph = load(&input, &LoadOptions::default()).expect("a graph");
    assert_eq!(
        graph.warnings(),
        ["claims.txt: a comment says Nodes: 5, but the file has 3 vertices; the file may be incomplete"]
    );
}

#[test]
fn ids_far_apart_in_any_spelling_are_numbered_in_their_order() {
    for text in [
        &b"4000000000 5\n77 4000000000\n"[..],
        b"4000000000 5\n77 4000000000\n-9000000000000000000 77\n",
        b"9000000000000000000 -5\n77 9000000000000000000 w\n",
        b"8589934592 8589934593\n8589934594 8589934592\n",
    ] {
        let input = Input::Embedded { name: "far", bytes: text, file_name: "far" };
        let graph = load(&input, &LoadOptions::default()).expect("a graph");
        let words: Vec<i64> =
            std::str::from_utf8(text).expect("text").split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let mut ids = words.clone();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(graph.ids().iter().collect::<Vec<_>>(), ids);
        for pair in words.chunks(2) {
            let [u, v] = [pair[0], pair[1]].map(|id| graph.ids().find(id).expect("a vertex"));
            assert!(graph.outgoing().row(u.0).contains(&v.0), "{pair:?}");
        }
    }
}

/// Long enough for several pieces of a plain text and several blocks of a packed one: names of columns stand in the first only.
#[test]
fn a_large_table_plain_or_packed_is_the_graph_of_the_same_pairs_with_blanks() {
    let pairs: Vec<(u32, u32)> = (0..700_000).map(|i| (i % 100_003, i * 7 % 99_991)).collect();
    let write = |names: &str, between: &str| {
        let lines: String = pairs.iter().map(|(u, v)| format!("{u}{between}{v}\n")).collect();
        names.to_owned() + &lines
    };
    let read = |bytes: &[u8]| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("g.csv");
        std::fs::write(&path, bytes).expect("written");
        load(&Input::Path(path), &LoadOptions::default()).expect("a graph")
    };
    let plain = read(write("", " ").as_bytes());
    for (names, between) in [("source,target\n", ","), ("# c\n\"left\";\"right\"\n", ";"), ("\u{feff}from\tto\n", "\t")]
    {
        let text = write(names, between);
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, text.as_bytes()).expect("in memory");
        for bytes in [text.into_bytes(), packer.finish().expect("in memory")] {
            let graph = read(&bytes);
            assert_eq!(graph.facts(), plain.facts(), "{names}");
            assert_eq!(graph.outgoing().targets()[..], plain.outgoing().targets()[..], "{names}");
        }
    }
}

/// The folder of real graphs, given by `GRAPHALG_TEST_GRAPHS` or found beside the checkout.
fn real_graphs() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|up| up.join("shared/data/graphs"));
    let named = std::env::var_os("GRAPHALG_TEST_GRAPHS").map(PathBuf::from);
    named.into_iter().chain(beside()).find(|folder| folder.join("expected.json").is_file())
}

#[test]
fn real_graphs_have_the_counts_that_others_found() {
    let Some(folder) = real_graphs() else {
        println!("not run: inputs::real_graphs: needs ../shared/data (the real graphs; or GRAPHALG_TEST_GRAPHS)");
        return;
    };
    let text = std::fs::read_to_string(folder.join("expected.json")).expect("readable");
    let expected: Value = serde_json::from_str(&text).expect("JSON");
    let graphs = expected["graphs"]
        .as_array()
        .cloned()
        .unwrap_or_else(|| expected["graphs"].as_object().expect("a list or a map").values().cloned().collect());
    assert!(!graphs.is_empty());
    for graph in &graphs {
        let file = graph["file"].as_str().expect("a file");
        let input = Input::Path(folder.join(file));
        // One file calls itself directed in its comment but lists each edge both ways.
        let direction = if file == "ca-GrQc.txt" { Direction::Undirected } else { Direction::Auto };
        let (found, numbers) = counts(&input, Format::Auto, direction);
        let keys = ["arcs_distinct", "self_loops", "undirected_edges_simple"];
        let mut wanted = keys.map(|key| graph[key].as_u64().expect("a count"));
        if !found.facts().directed {
            wanted[0] = graph["arcs_symmetrised"].as_u64().map_or(wanted[0], |arcs| (arcs - wanted[1]) / 2 + wanted[1]);
        }
        assert_eq!(numbers, wanted, "{file}");
        assert_eq!(found.vertices() as u64, graph["vertices"].as_u64().expect("a count"), "{file}");
        assert_eq!(Value::from(found.facts().directed), graph["directed"], "{file}");
        assert_eq!(Some(found.ids().original(framework::base::id::GlobalId(0))), graph["min_id"].as_i64(), "{file}");
        assert!(found.warnings().is_empty(), "{file}: {:?}", found.warnings());
        println!("{file}: {} vertices, {:?}", found.vertices(), numbers);
    }
}
