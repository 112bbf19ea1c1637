//! Real graphs that travel with the source, against the answers in `tests/golden`. Every file there is run; a new algorithm
//! needs nothing but its files.

use framework::algorithm::Registry;
use graphalg_tests::golden::{COUNTS, Golden, Views, check_counts, from_expected};
use graphalg_tests::needs::real_graphs;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const GRAPHS: [&str; 4] = ["karate", "polblogs", "email-Eu-core", "cit-HepPh"];
const PLACES: &[(usize, usize)] = &[(1, 1), (1, 2), (2, 2), (3, 1)];

fn tests() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn graph_file(name: &str) -> PathBuf {
    let in_harness = tests().join("../harness/data").join(name);
    if in_harness.is_file() { in_harness } else { tests().join("data").join(name) }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All golden files: algorithm, graph, content.
fn all() -> Vec<(String, String, Golden)> {
    let list = |folder: &Path| -> BTreeSet<PathBuf> {
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
    };
    let stem = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let folders = list(&tests().join("golden")).into_iter().filter(|path| path.is_dir());
    folders
        .flat_map(|folder| list(&folder).into_iter().map(move |file| (folder.clone(), file)))
        .map(|(folder, file)| {
            let golden =
                serde_json::from_str(&read(&file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            (stem(&folder), stem(&file), golden)
        })
        .collect()
}

fn check(graph: &str) {
    let mut graphs: Option<Views> = None;
    for (algorithm, name, golden) in all() {
        if name == graph {
            let graphs = graphs.get_or_insert_with(|| Views::load(&graph_file(&golden.graph), golden.directed));
            golden.runs.iter().for_each(|run| drop(run.check(&algorithm, graphs, PLACES)));
        }
    }
    let counts: Value = serde_json::from_str(&read(&tests().join("golden/graphs.json"))).expect("JSON");
    check_counts(graphs.as_mut().expect("golden files for this graph"), &counts[graph]);
}

#[test]
fn karate_has_the_answers_that_others_found() {
    check("karate");
}

#[test]
fn polblogs_has_the_answers_that_others_found() {
    check("polblogs");
}

#[test]
fn email_eu_core_has_the_answers_that_others_found() {
    check("email-Eu-core");
}

#[test]
fn cit_hepph_has_the_answers_that_others_found() {
    check("cit-HepPh");
}

#[test]
fn every_algorithm_has_golden_answers_and_every_file_is_run() {
    let registry = Registry::linked().expect("no two plugins have one name");
    let registered: BTreeSet<String> = registry.iter().map(|entry| entry.name.to_owned()).collect();
    let files = all();
    assert_eq!(registered, files.iter().map(|(algorithm, ..)| algorithm.clone()).collect());
    for (algorithm, graph, _) in &files {
        assert!(GRAPHS.contains(&graph.as_str()), "golden/{algorithm}/{graph}.json: no test runs this graph");
    }
}

/// With `GRAPHALG_BLESS=1` it writes the files anew from the folder of real graphs.
#[test]
fn the_golden_files_say_what_the_folder_of_real_graphs_says() {
    let Some(folder) = real_graphs("the_golden_files_say_what_the_folder_of_real_graphs_says") else { return };
    let expected: Value = serde_json::from_str(&read(&folder.join("expected.json"))).expect("JSON");
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut counts = Map::new();
    for name in GRAPHS {
        let entry = &expected["graphs"][name];
        for (algorithm, golden) in from_expected(name, entry) {
            let text = serde_json::to_string_pretty(&golden).expect("JSON");
            files.insert(tests().join(format!("golden/{algorithm}/{name}.json")), text + "\n");
        }
        let keys = COUNTS.iter().filter(|key| entry.get(**key).is_some());
        counts.insert(name.into(), keys.map(|&key| (key.to_owned(), entry[key].clone())).collect());
    }
    let text = serde_json::to_string_pretty(&json!(counts)).expect("JSON");
    files.insert(tests().join("golden/graphs.json"), text + "\n");
    for (path, text) in files {
        if std::env::var_os("GRAPHALG_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, text).expect("written");
        } else {
            assert_eq!(read(&path), text, "{}", path.display());
        }
    }
}
