//! Inputs of a few lines, each with a trap that caught another program: the right answers, or the error, on one to three ranks.

use framework::answer::{Answer, Values};
use framework::base::error::{Error, Result};
use framework::graph::{Direction, Format, Graph, Input, LoadOptions, View, load};
use graphalg_tests::Case;
use graphalg_tests::golden::TOLERANCE;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const RANKS: std::ops::RangeInclusive<usize> = 1..=3;

/// One case and its input as a file.
struct Tiny<'a> {
    case: &'a Value,
    folder: &'a Path,
}

impl Tiny<'_> {
    fn name(&self) -> &str {
        self.case["name"].as_str().expect("a name")
    }

    fn load(&self, view: View) -> Result<Graph> {
        self.load_text(self.case["input"].as_str().expect("text"), view)
    }

    fn load_text(&self, text: &str, view: View) -> Result<Graph> {
        let path = self.folder.join(self.name());
        std::fs::write(&path, text).expect("written");
        let format = match self.case["format"].as_str() {
            Some("mtx") => Format::Mtx,
            Some("metis") => Format::Metis,
            Some("dimacs-gr") => Format::Gr,
            Some("edgelist") => Format::EdgeList,
            other => panic!("{}: no format is called {other:?}", self.name()),
        };
        let is_said_elsewhere = format == Format::EdgeList && self.case["directed"] == false;
        let direction = if is_said_elsewhere { Direction::Undirected } else { Direction::Auto };
        load(&Input::Path(path), &LoadOptions { format, direction, view, ..LoadOptions::default() })
    }

    /// The answer by original ID, and the keys of the result record, on each number of ranks.
    fn run(&self, algorithm: &str, options: &[&str], check: impl Fn(BTreeMap<i64, f64>, &Value, &str)) {
        let case = Case::new(algorithm, options);
        let mut made = case.make().expect("options");
        let graph = self.load(made.view()).unwrap_or_else(|error| panic!("{error}"));
        made.prepare(&graph).unwrap_or_else(|error| panic!("{}: {error}", self.name()));
        for ranks in RANKS {
            let what = format!("{case} on {}, {ranks} ranks", self.name());
            let trial = case.run(&graph, ranks, 1).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(trial.end.converged, "{what}");
            let record = Value::Object(made.result(&graph, &trial.answer, &trial.end.last));
            check(graph.ids().iter().zip(numbers(&trial.answer)).collect(), &record, &what);
        }
    }

    fn refused(&self, error: &Error, parts: &[&str]) {
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{}: `{text}` does not say {parts:?}", self.name());
        assert_eq!(error.class(), framework::base::error::Class::Usage, "{}: {text}", self.name());
    }
}

/// All values as numbers; none is -1.
fn numbers(answer: &Answer) -> Vec<f64> {
    match &answer.values {
        Values::Count(values) => values.iter().map(|&v| if v == u32::MAX { -1.0 } else { v.into() }).collect(),
        Values::Vertex(values) => values.iter().map(|&v| v as f64).collect(),
        Values::Flag(values) => values.iter().map(|&v| v.into()).collect(),
        Values::Real(values) => values.clone(),
    }
}

fn map(value: &Value) -> BTreeMap<i64, f64> {
    let map = value.as_object().into_iter().flatten();
    map.map(|(id, value)| (id.parse().expect("an ID"), value.as_f64().expect("a number"))).collect()
}

fn check_graph(tiny: &Tiny<'_>) {
    let expect = &tiny.case["expect"];
    let graph = tiny.load(View::AsGiven { incoming: true }).unwrap_or_else(|error| panic!("{error}"));
    let vertices: Vec<i64> = serde_json::from_value(expect["vertices"].clone()).expect("IDs");
    assert_eq!(graph.ids().iter().collect::<Vec<_>>(), vertices, "{}", tiny.name());
    assert_eq!(graph.facts().directed, tiny.case["directed"], "{}", tiny.name());
    if let Some(loops) = expect.get("self_loops") {
        assert_eq!(graph.facts().self_loops, *loops, "{}", tiny.name());
        let simple = tiny.load(View::Simple).expect("loaded before");
        assert_eq!(simple.outgoing().arcs() as u64 / 2, expect["undirected_edges_simple"], "{}", tiny.name());
        let (arcs, loops) = (graph.facts().arcs, graph.facts().self_loops);
        let distinct = if graph.facts().directed { arcs } else { (arcs - loops) / 2 + loops };
        assert_eq!(distinct, expect["arcs_distinct"], "{}", tiny.name());
    }
}

fn check_answers(tiny: &Tiny<'_>) {
    let expect = &tiny.case["expect"];
    let is = |right: BTreeMap<i64, f64>| {
        move |found: BTreeMap<i64, f64>, _: &Value, what: &str| assert_eq!(found, right, "{what}")
    };
    let labels = map(&expect["cc_min_id"]);
    tiny.run("cc", &[], |found, record, what| {
        assert_eq!(found, labels, "{what}");
        assert_eq!(record["components"], expect["components"], "{what}");
    });
    let cores = map(&expect["core"]);
    tiny.run("kcore", &["--all-cores"], is(cores.clone()));
    for k in 1..=cores.values().fold(0.0, |a: f64, &b| a.max(b)) as u32 + 1 {
        let member = cores.iter().map(|(&id, &core)| (id, f64::from(u8::from(core >= k.into())))).collect();
        tiny.run("kcore", &["-k", &k.to_string()], is(member));
    }
    let ranks = map(&expect["pagerank"]);
    tiny.run("pagerank", &[], |found, record, what| {
        assert!(found.keys().eq(ranks.keys()), "{what}");
        for (id, rank) in &found {
            assert!((rank - ranks[id]).abs() <= TOLERANCE, "{what}: {id} has {rank}, {} is right", ranks[id]);
        }
        let sum = record["sum"].as_f64().expect("a sum");
        assert!((sum - if found.is_empty() { 0.0 } else { 1.0 }).abs() <= TOLERANCE, "{what}: the sum is {sum}");
    });
    if let Some(source) = expect.get("bfs_source") {
        tiny.run("bfs", &["--source", &source.to_string()], is(map(&expect["bfs_levels"])));
    } else {
        tiny.run("bfs", &[], is(BTreeMap::new()));
    }
}

#[test]
fn every_tiny_case_has_its_answers_or_its_error() {
    let cases: Value = serde_json::from_str(include_str!("../data/tiny_cases.json")).expect("JSON");
    let folder = tempfile::tempdir().expect("a folder");
    let given = View::AsGiven { incoming: true };
    for case in cases["cases"].as_array().expect("a list") {
        let tiny = Tiny { case, folder: folder.path() };
        match tiny.name() {
            "mtx_zero_index" => tiny.refused(&tiny.load(given).expect_err("index 0"), &["mtx_zero_index:3:", "0"]),
            "edge_not_number" => tiny.refused(&tiny.load(given).expect_err("no number"), &["edge_not_number:2:", "x"]),
            // IDs are i64 here: what is above 2^63 - 1 is refused, what is below is not.
            "ids_over_32_bits" => {
                tiny.refused(
                    &tiny.load(given).expect_err("too large"),
                    &["ids_over_32_bits:2:", "18446744073709551615"],
                );
                let largest =
                    case["input"].as_str().expect("text").replace("18446744073709551615", "9223372036854775807");
                let graph = tiny.load_text(&largest, given).expect("IDs below 2^63");
                assert_eq!(graph.ids().iter().collect::<Vec<_>>(), [1 << 32, (1 << 32) + 1, i64::MAX]);
            }
            "bfs_source_missing" => {
                let graph = tiny.load(given).expect("the graph is right");
                for ranks in RANKS {
                    let error = Case::new("bfs", &["--source", "99"]).run(&graph, ranks, 1).expect_err("no vertex 99");
                    tiny.refused(&error, &["source 99 is not in the graph"]);
                }
            }
            name => {
                assert!(case["expect"].is_object(), "{name} wants an error that this test does not know");
                check_graph(&tiny);
                check_answers(&tiny);
            }
        }
    }
}
