//! `graph convert --reorder`: another numbering of the vertices, seen in no answer.

mod program;

use program::{check, file, harness};
use std::fs;
use std::path::{Path, PathBuf};

/// Two hubs, a ring of equals, a lonely loop and sparse IDs.
const EDGES: &[u8] = b"# Undirected graph: g\n900 5\n900 6\n900 7\n900 -40\n8 5\n8 6\n8 7\n8 70000000000\n\
    100 101\n101 102\n102 103\n103 104\n104 100\n33 33\n";

fn text(path: &Path) -> &str {
    path.to_str().expect("utf-8")
}

fn converted(order: &str) -> (PathBuf, PathBuf) {
    let plain = file("g.txt", EDGES);
    let other = plain.with_extension("gcsr");
    let output = harness(&["graph", "convert", text(&plain), text(&other), "--reorder", order]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (plain, other)
}

/// The answer file and the result record; without the supersteps, which on several ranks depend on where the graph is cut.
fn answer(graph: &Path, options: &[&str], ending: &str) -> (Vec<u8>, String) {
    let path = graph.with_file_name(format!("answer.{ending}"));
    let output = harness(&[&["--graph", text(graph), "--output", text(&path), "--verify"], options].concat());
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{options:?}: {err}");
    let result = out.lines().find(|line| line.starts_with("BENCHMARK_RESULT")).expect("a result");
    let (_, record) = result.split_once(' ').expect("a tag and a record");
    let mut record: serde_json::Map<String, serde_json::Value> = serde_json::from_str(record).expect("an object");
    record.remove("iterations").expect("supersteps");
    (fs::read(path).expect("written"), serde_json::to_string(&record).expect("JSON"))
}

#[test]
fn a_reordered_graph_gives_the_same_answer_files_and_records() {
    for order in ["degree", "hub", "rcm"] {
        let (plain, other) = converted(order);
        for options in [
            &["--algorithm", "bfs"][..],
            &["--algorithm", "bfs", "-s", "index:1", "--ranks", "2"],
            &["--algorithm", "bfs", "-s", "random:7"],
            &["--algorithm", "bfs", "-s", "-40"],
            &["--algorithm", "cc"],
            &["--algorithm", "cc", "--ranks", "3"],
            &["--algorithm", "kcore", "-k", "2", "--ranks", "2"],
            &["--algorithm", "kcore", "--all-cores"],
        ] {
            for ending in ["csv", "bin"] {
                assert_eq!(answer(&plain, options, ending), answer(&other, options, ending), "{order} {options:?}");
            }
        }
    }
}

#[test]
fn ties_go_to_the_smaller_original_id() {
    // The hubs 8 and 900 tie in degree; the members of the ring tie in rank.
    let (_, other) = converted("rcm");
    assert!(answer(&other, &["--algorithm", "bfs"], "csv").1.contains("\"source\":8,"));
    let ring = file("ring.txt", b"# Undirected graph: ring\n3 9\n9 1\n1 7\n7 5\n5 3\n");
    let stored = ring.with_extension("gcsr");
    check(&["graph", "convert", text(&ring), text(&stored), "--reorder", "rcm"], 0, "wrote");
    let top = answer(&stored, &["--algorithm", "pagerank"], "csv").1;
    assert!(top.contains("\"top\":[[1,0.2],[3,0.2],[5,0.2],[7,0.2],[9,0.2]]"), "{top}");
}

#[test]
fn info_and_other_formats_speak_in_original_ids() {
    let (plain, other) = converted("degree");
    let output = harness(&["graph", "info", text(&other), "--json", "--verify"]);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a JSON object");
    assert_eq!((&info["id_min"], &info["id_max"]), (&(-40).into(), &70_000_000_000i64.into()));
    assert_eq!((&info["reordered"], &info["ids_contiguous"]), (&true.into(), &false.into()));
    let written = |from: &Path, name: &str| {
        let path = from.with_file_name(name);
        check(&["graph", "convert", text(from), text(&path)], 0, "wrote");
        fs::read_to_string(path).expect("written")
    };
    assert_eq!(written(&other, "one.txt"), written(&plain, "two.txt"));
}

#[test]
fn only_a_gcsr_file_takes_an_order() {
    let plain = file("g.txt", EDGES);
    let to = |name: &str, order: &str, words: &str| {
        let path = plain.with_file_name(name);
        check(&["graph", "convert", text(&plain), text(&path), "--reorder", order], 2, words);
        assert!(!path.exists());
    };
    to("x.txt", "hub", "a text lists original IDs and cannot hold an order of vertices; write a .gcsr file");
    to("x.gcsr", "random", "[possible values: degree, hub, rcm]");
}
