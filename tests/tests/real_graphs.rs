//! The twelve real graphs against the answers of at least three independent programs each, on several ranks and threads.
//! Without the folder each says that it was not run.

use flate2::read::GzDecoder;
use framework::answer::Values;
use graphalg_tests::golden::{Run, TOLERANCE, Views, check_counts, from_expected};
use graphalg_tests::needs::real_graphs;
use serde_json::Value;
use std::path::Path;

/// Ranks and threads a rank.
const PLACES: &[(usize, usize)] = &[(1, 1), (1, 2), (3, 1)];
/// For graphs of a million edges and more.
const PLACES_FOR_LARGE: &[(usize, usize)] = &[(1, 2), (2, 1)];

macro_rules! real_graphs {
    ($($test:ident: $name:literal at $places:ident,)*) => {$(
        #[test]
        fn $test() {
            if let Some(folder) = real_graphs(concat!("real_graphs::", stringify!($test))) {
                check(&folder, $name, $places);
            }
        }
    )*};
}

real_graphs! {
    karate: "karate" at PLACES,
    polblogs: "polblogs" at PLACES,
    email_eu_core: "email-Eu-core" at PLACES,
    ca_grqc: "ca-GrQc" at PLACES,
    facebook_combined: "facebook_combined" at PLACES,
    wiki_vote: "wiki-Vote" at PLACES,
    p2p_gnutella31: "p2p-Gnutella31" at PLACES,
    email_enron: "email-Enron" at PLACES,
    cit_hepph: "cit-HepPh" at PLACES,
    road_ny: "road-NY" at PLACES,
    cnr_2000: "cnr-2000" at PLACES_FOR_LARGE,
    road_fla: "road-FLA" at PLACES_FOR_LARGE,
}

fn expected(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("expected.json")).expect("readable");
    serde_json::from_str(&text).expect("JSON")
}

fn check(folder: &Path, name: &str, places: &[(usize, usize)]) {
    let expected = expected(folder);
    let entry = &expected["graphs"][name];
    let mut graphs = Views::load(&folder.join(entry["file"].as_str().expect("a file")), entry["directed"] == true);
    check_counts(&mut graphs, entry);
    for (algorithm, golden) in from_expected(name, entry) {
        for run in &golden.runs {
            // One threshold is one more run of the same code: all places for one of them.
            let is_more = algorithm == "kcore" && run.options[0] == "-k" && run.options[1] != "5";
            run.check(algorithm, &mut graphs, if is_more { &places[..1] } else { places });
        }
    }
    let answers = folder.join(format!("{name}.answers.csv.gz"));
    if answers.is_file() {
        check_answers(&answers, &mut graphs, entry);
    }
}

/// Every vertex, against the file `NAME.answers.csv.gz`.
fn check_answers(path: &Path, graphs: &mut Views, entry: &Value) {
    let file = std::fs::File::open(path).expect("readable");
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    let header = reader.headers().expect("a header").clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("rows");
    let column = |name: &str| {
        let place = header.iter().position(|column| column == name).expect("a column");
        rows.iter().map(|row| row[place].to_owned()).collect::<Vec<String>>()
    };
    let ids: Vec<i64> = column("id").iter().map(|id| id.parse().expect("an ID")).collect();
    assert_eq!(graphs.given().ids().iter().collect::<Vec<_>>(), ids);

    let first = entry["first_id_in_file"].to_string();
    let mut answer = |algorithm: &str, options: &[&str], undirected: bool| {
        let run = Run {
            options: options.iter().map(ToString::to_string).collect(),
            undirected,
            result: serde_json::Map::new(),
            sha256_lines: None,
            histogram: None,
            total: None,
            close: None,
        };
        run.check(algorithm, graphs, &[(2, 1)]).values
    };
    let directed = entry["directed"] == true;
    let levels = |name: &str| {
        let level = |text: &String| if text == "-1" { u32::MAX } else { text.parse().expect("a level") };
        Values::Count(column(name).iter().map(level).collect())
    };
    if directed {
        assert_eq!(answer("bfs", &["--source", &first], false), levels("bfs_directed_from_first"));
    }
    assert_eq!(answer("bfs", &["--source", &first], true), levels("bfs_undirected_from_first"));
    let labels = column("cc_min_id").iter().map(|id| id.parse().expect("an ID")).collect();
    assert_eq!(answer("cc", &[], false), Values::Vertex(labels));
    let cores = column("core").iter().map(|core| core.parse().expect("a number")).collect();
    assert_eq!(answer("kcore", &["--all-cores"], false), Values::Count(cores));

    let right: Vec<f64> = column("pagerank").iter().map(|rank| rank.parse().expect("a number")).collect();
    let Values::Real(ranks) = answer("pagerank", &[], false) else { panic!("ranks are real") };
    let distance: f64 = ranks.iter().zip(&right).map(|(a, b)| (a - b).abs()).sum();
    assert!(distance <= TOLERANCE, "{distance:e} in L1");
}

#[test]
fn every_graph_of_the_folder_has_a_test() {
    let Some(folder) = real_graphs("real_graphs::every_graph_of_the_folder_has_a_test") else { return };
    let expected = expected(&folder);
    let graphs = expected["graphs"].as_object().expect("a map");
    let source = include_str!("real_graphs.rs");
    for name in graphs.keys() {
        assert!(source.contains(&format!(": \"{name}\" at ")), "{name} has no test here");
    }
}
