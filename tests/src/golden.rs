//! Answers that others computed, in one shape for any algorithm: the options of a run, the keys of its result record, a digest
//! of all values, and numbers that must be close. `tests/golden/ALGORITHM/GRAPH.json` holds one [`Golden`]: a new algorithm brings
//! such files and no code. The answers of the folder of real graphs are turned into the same shape by [`from_expected`].

use crate::Case;
use framework::algorithm::Record;
use framework::answer::{Answer, Values};
use framework::base::id::GlobalId;
use framework::graph::{Direction, Format, Graph, Input, LoadOptions, View, load};
use framework::trial::Trial;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The right answers of one algorithm on one graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// Who computed them.
    pub origin: String,
    /// The graph's file.
    pub graph: String,
    /// Whether the file's pairs are arcs.
    pub directed: bool,
    /// Runs and what comes out.
    pub runs: Vec<Run>,
}

/// One run and what comes out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// As on the command line.
    pub options: Vec<String>,
    /// Whether each pair is taken in both directions.
    pub undirected: bool,
    /// Keys of the result record and their values.
    pub result: Record,
    /// SHA-256 of the text with a line `ID,value` for every vertex, ascending; no value is -1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_lines: Option<String>,
    /// How many vertices have the value 0, 1, 2 and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Vec<u64>>,
    /// The sum of all values that are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// For real values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Close>,
}

/// What holds of real values, each up to [`TOLERANCE`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// Supersteps; one more or less is right too, since the last change may fall on either side of the tolerance.
    pub iterations: u32,
    /// The largest values and their IDs, in order.
    pub top: Vec<(i64, f64)>,
    /// The sum.
    pub sum: f64,
    /// The sum of value times `i mod 97 + 1`, `i` counting IDs upwards.
    pub check_sum: f64,
}

/// How far real values may be off: two runs with the default tolerance of 1e-10 differ by less than 1.2e-9 in all.
pub const TOLERANCE: f64 = 1e-9;

/// A graph file in every view that was asked for.
pub struct Views {
    given: Graph,
    others: BTreeMap<String, Graph>,
}

impl Views {
    /// Loads a file, its pairs taken as arcs or as edges.
    ///
    /// # Panics
    /// When it is no graph.
    pub fn load(path: &Path, directed: bool) -> Views {
        let direction = if directed { Direction::Directed } else { Direction::Undirected };
        let options = LoadOptions {
            format: Format::Auto,
            direction,
            view: View::AsGiven { incoming: true },
            ..LoadOptions::default()
        };
        let given = load(&Input::Path(path.to_path_buf()), &options).unwrap_or_else(|error| panic!("{error}"));
        Views { given, others: BTreeMap::new() }
    }

    /// As the file has it.
    pub fn given(&self) -> &Graph {
        &self.given
    }

    /// In the view that an algorithm wants, or in both directions.
    ///
    /// # Panics
    /// Never: the graph as given has all that other views need.
    pub fn get(&mut self, wanted: View, undirected: bool) -> &Graph {
        let view = match wanted {
            View::AsGiven { .. } if !undirected => return &self.given,
            View::AsGiven { .. } => View::Symmetric,
            other => other,
        };
        let made = || self.given.with_view(view).expect("the graph as given has all that other views need");
        self.others.entry(format!("{view:?}")).or_insert_with(made)
    }
}

impl Run {
    /// Runs it at every place (ranks, threads) and compares; the answer, which has one hash at all places.
    ///
    /// # Panics
    /// When anything differs.
    pub fn check(&self, algorithm: &str, graphs: &mut Views, places: &[(usize, usize)]) -> Answer {
        let case = Case::new(algorithm, &self.options);
        let view = case.make().unwrap_or_else(|error| panic!("{error}")).view();
        let graph = graphs.get(view, self.undirected);
        let mut first: Option<(String, Answer)> = None;
        for &(ranks, threads) in places {
            let what = format!(
                "{case} on {}, {}, {ranks} ranks of {threads} threads",
                graph.name(),
                if self.undirected { "undirected" } else { "as given" }
            );
            let trial = case.run(graph, ranks, threads).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(trial.end.converged, "{what}: not converged");
            let hash = trial.answer.hash();
            match &first {
                Some((right, _)) => {
                    assert_eq!(hash, *right, "{what}: the hash differs from the one at {:?}", places[0])
                }
                None => {
                    self.compare(&case, graph, &trial, &what);
                    first = Some((hash, trial.answer));
                }
            }
        }
        first.expect("at least one place").1
    }

    fn compare<P>(&self, case: &Case, graph: &Graph, trial: &Trial<P>, what: &str) {
        let mut algorithm = case.make().expect("made before");
        algorithm.prepare(graph).expect("prepared before");
        let verdict = algorithm.verify(graph, &trial.answer);
        assert!(verdict.is_sound(), "{what}: the serial check says {verdict:?}");
        let record = algorithm.result(graph, &trial.answer, &trial.end.last);
        for (key, right) in &self.result {
            assert_eq!(record.get(key), Some(right), "{what}: `{key}` in {record:?}");
        }
        if let Some(right) = &self.sha256_lines {
            assert_eq!(sha256_lines(graph, &trial.answer), *right, "{what}: the values, line by line");
        }
        if let Some(right) = &self.histogram {
            assert_eq!(histogram(&trial.answer), *right, "{what}: vertices by value");
        }
        if let Some(right) = self.total {
            let total: u64 = counts(&trial.answer).map(u64::from).sum();
            assert_eq!(total, right, "{what}: the sum of all values");
        }
        if let Some(close) = &self.close {
            close.compare(&record, &trial.answer, trial.end.iterations, what);
        }
    }
}

impl Close {
    fn compare(&self, record: &Record, answer: &Answer, iterations: u32, what: &str) {
        let Values::Real(values) = &answer.values else { panic!("{what}: the values are not real") };
        assert!(
            iterations.abs_diff(self.iterations) <= 1,
            "{what}: {iterations} rounds, {} are right",
            self.iterations
        );
        let near = |name: &str, found: f64, right: f64, tolerance: f64| {
            // `<=` is false for NaN, which must not pass.
            assert!((found - right).abs() <= tolerance, "{what}: {name} is {found}, {right} is right");
        };
        near("the sum", values.iter().sum(), self.sum, TOLERANCE);
        let weighted = values.iter().enumerate().map(|(i, value)| value * (i % 97 + 1) as f64).sum();
        near("the check sum", weighted, self.check_sum, 97.0 * TOLERANCE);
        let top: Vec<(i64, f64)> = serde_json::from_value(record["top"].clone()).expect("a list of pairs");
        assert_eq!(top.len(), self.top.len(), "{what}: the largest values");
        for (found, right) in top.iter().zip(&self.top) {
            assert_eq!(found.0, right.0, "{what}: the order of the largest values, {top:?}");
            near(&format!("the value of {}", found.0), found.1, right.1, TOLERANCE);
        }
    }
}

fn counts(answer: &Answer) -> impl Iterator<Item = u32> {
    let Values::Count(values) = &answer.values else { panic!("`{}` is no count", answer.column) };
    values.iter().copied().filter(|&value| value != u32::MAX)
}

fn histogram(answer: &Answer) -> Vec<u64> {
    let mut histogram = vec![0; counts(answer).max().map_or(0, |most| most as usize + 1)];
    counts(answer).for_each(|value| histogram[value as usize] += 1);
    histogram
}

/// The digest of a line `ID,value` for every vertex.
fn sha256_lines(graph: &Graph, answer: &Answer) -> String {
    let whole: Vec<i64> = match &answer.values {
        Values::Count(values) => values.iter().map(|&v| if v == u32::MAX { -1 } else { v.into() }).collect(),
        Values::Vertex(values) => values.clone(),
        Values::Flag(values) => values.iter().map(|&v| v.into()).collect(),
        Values::Real(_) => panic!("real values have no one text"),
    };
    let mut sha = Sha256::new();
    for (id, value) in graph.ids().iter().zip(whole) {
        sha.update(format!("{id},{value}\n"));
    }
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The keys of an entry of `expected.json` that [`check_counts`] looks at, beside `file` and `directed`.
pub const COUNTS: [&str; 9] = [
    "vertices",
    "lines",
    "self_loops",
    "arcs_distinct",
    "arcs_symmetrised",
    "undirected_edges_simple",
    "isolated_after_loop_removal",
    "min_id",
    "max_id",
];

/// Compares what can be counted in a graph with its entry.
///
/// # Panics
/// When anything differs.
pub fn check_counts(graphs: &mut Views, entry: &Value) {
    let given = graphs.given();
    let (facts, ids, last) = (given.facts(), given.ids(), given.vertices() as u32 - 1);
    let arcs = if facts.directed { "arcs_distinct" } else { "arcs_symmetrised" };
    assert_eq!(given.vertices() as u64, entry["vertices"]);
    assert_eq!(facts.listed, entry["lines"]);
    assert_eq!(facts.self_loops, entry["self_loops"]);
    assert_eq!(facts.arcs, entry[arcs]);
    assert_eq!(given.outgoing().arcs() as u64, facts.arcs);
    assert_eq!(ids.original(GlobalId(0)), entry["min_id"]);
    assert_eq!(ids.original(GlobalId(last)), entry["max_id"]);
    let simple = graphs.get(View::Simple, false).outgoing();
    assert_eq!(simple.arcs() as u64 / 2, entry["undirected_edges_simple"]);
    let isolated = (0..=last).filter(|&v| simple.degree(v) == 0).count() as u64;
    assert_eq!(isolated, entry["isolated_after_loop_removal"]);
}

/// The entry of one graph in `expected.json`, by algorithm.
///
/// # Panics
/// When the entry is not of the schema `graph-expected/1`.
pub fn from_expected(name: &str, entry: &Value) -> BTreeMap<&'static str, Golden> {
    let directed = entry["directed"].as_bool().expect("whether the graph is directed");
    let golden = |algorithm: &str, runs: Vec<Run>| {
        let by: Vec<&str> =
            entry["checked_by"][algorithm].as_array().expect("programs").iter().flat_map(Value::as_str).collect();
        Golden {
            origin: format!("`{name}` in expected.json (graph-expected/1), on which agree: {}", by.join(", ")),
            graph: entry["file"].as_str().expect("a file").to_owned(),
            directed,
            runs,
        }
    };
    let of = |map: &'static str| entry[map].as_object().unwrap_or_else(|| panic!("{name} has `{map}`"));
    let bfs = of("bfs").iter().map(|(source, right)| bfs_run(source, directed, right)).collect();
    let pagerank = of("pagerank").iter().map(|(way, right)| pagerank_run(way == "undirected", right)).collect();
    BTreeMap::from([
        ("bfs", golden("bfs", bfs)),
        ("cc", golden("cc", vec![cc_run(&entry["cc"])])),
        ("kcore", golden("kcore", kcore_runs(&entry["kcore"]))),
        ("pagerank", golden("pagerank", pagerank)),
    ])
}

fn run(options: &[&str], undirected: bool, result: Value) -> Run {
    let Value::Object(result) = result else { panic!("a result is a map") };
    let options = options.iter().map(ToString::to_string).collect();
    Run { options, undirected, result, sha256_lines: None, histogram: None, total: None, close: None }
}

fn text(value: &Value) -> Option<String> {
    Some(value.as_str().expect("a digest").to_owned())
}

/// The three sources are named in three ways. (`max_degree` of a directed graph is the one of largest out-degree even where its
/// arcs are then taken in both directions.)
fn bfs_run(source: &str, directed: bool, right: &Value) -> Run {
    let id = right["source"].to_string();
    let (named, way) = source.rsplit_once('_').expect("which source, and which way");
    let option = match named {
        "min_id" => "index:0",
        "max_degree" if directed == (way == "directed") => "max-degree",
        _ => &id,
    };
    let result = json!({
        "source": right["source"],
        "reached": right["reached"],
        "max_level": right["max_level"],
    });
    Run {
        sha256_lines: text(&right["sha256_levels"]),
        histogram: serde_json::from_value(right["level_counts"].clone()).expect("counts or null"),
        total: right["sum_levels"].as_u64(),
        ..run(&["--source", option], way == "undirected", result)
    }
}

fn cc_run(right: &Value) -> Run {
    let result = json!({ "components": right["components"], "largest_component": right["largest"] });
    Run { sha256_lines: text(&right["sha256_min_id_labels"]), ..run(&[], false, result) }
}

fn kcore_runs(right: &Value) -> Vec<Run> {
    let result = json!({ "max_core": right["max_core"], "max_core_vertices": right["size_of_max_core"] });
    let all = Run {
        sha256_lines: text(&right["sha256_core_numbers"]),
        total: right["sum_core"].as_u64(),
        ..run(&["--all-cores"], false, result)
    };
    let sizes = right["size_k"].as_object().expect("a map").iter().map(|(k, size)| {
        let mut result = json!({ "core_vertices": size });
        if k == "5" {
            result["core_edges"] = right["edges_in_5core"].clone();
        }
        run(&["-k", k], false, result)
    });
    std::iter::once(all).chain(sizes).collect()
}

fn pagerank_run(undirected: bool, right: &Value) -> Run {
    let close = Close {
        iterations: right["iterations_to_L1_1e-10"].as_u64().expect("rounds") as u32,
        top: serde_json::from_value(right["top10"].clone()).expect("pairs"),
        sum: right["sum"].as_f64().expect("a sum"),
        check_sum: right["check_sum_id_rank"].as_f64().expect("a sum"),
    };
    Run { close: Some(close), ..run(&[], undirected, json!({})) }
}
