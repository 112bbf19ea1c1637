//! The records on stdout: their schema by snapshot, and the laws of schema v9 on real output.

mod program;

use program::{file, harness, new_folder, profiling};
use serde_json::{Map, Value};

/// Tag and object of every line of stdout.
fn records(arguments: &[&str]) -> Vec<(String, Map<String, Value>)> {
    let output = harness(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).expect("utf-8");
    let split = |line: &str| {
        let (tag, json) = line.split_once(' ').expect("a tag and an object");
        (tag.to_owned(), serde_json::from_str(json).expect("one JSON object"))
    };
    out.lines().map(split).collect()
}

fn snapshot(name: &str, arguments: &[&str]) {
    let output = harness(arguments);
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    for (pattern, to) in [
        (r#""git_commit":("[0-9a-f]{40}"|null)"#, r#""git_commit":"COMMIT""#),
        (r#""git_dirty":(true|false|null)"#, r#""git_dirty":DIRTY"#),
        (r#""source_sha256":("[0-9a-f]{64}"|null)"#, r#""source_sha256":"SHA""#),
        (r#""build_profile":"\w+""#, r#""build_profile":"PROFILE""#),
        (r#""hostnames":\[[^\]]*\]"#, r#""hostnames":[HOSTS]"#),
        (r#""hostname":"[^"]*""#, r#""hostname":"HOST""#),
        (r#""name":"[^"]*","uuid""#, r#""name":"MODEL","uuid""#),
        (r#"_ms":\d+\.\d{4}([,}])"#, r#"_ms":0.0000$1"#),
    ] {
        settings.add_filter(pattern, to);
    }
    settings.bind(|| insta::assert_snapshot!(name, String::from_utf8_lossy(&output.stdout)));
}

#[test]
fn the_schema_of_every_record_is_fixed() {
    let path = file("g.txt", b"# a small graph\n1 2\n2 3\n3 1\n3 4\n5 5\n1 2\n");
    let graph = ["--graph", path.to_str().expect("utf-8"), "--threads", "1"];
    for (name, options) in [
        ("bfs", &["--algorithm", "bfs", "-s", "1"] as &[&str]),
        ("cc", &["--algorithm", "cc", "--verify"]),
        ("kcore", &["--algorithm", "kcore", "-k", "2"]),
        ("all_cores", &["--algorithm", "kcore", "--all-cores"]),
        ("pagerank", &["--algorithm", "pagerank", "--tolerance", "1e-6"]),
        ("two_ranks", &["--algorithm", "cc", "--ranks", "2", "--trials", "2", "--warmup", "1"]),
    ] {
        snapshot(name, &[options, &graph].concat());
    }
}

#[test]
fn metadata_reads_back_without_unknown_fields() {
    let (tag, metadata) = records(&["--algorithm", "cc"]).remove(0);
    assert_eq!(tag, "BENCHMARK_METADATA");
    let read: harness::records::Metadata = serde_json::from_value(Value::Object(metadata.clone())).expect("the schema");
    assert_eq!(serde_json::to_value(&read).expect("json"), Value::Object(metadata));
    assert_eq!((read.schema_version, read.method.as_str()), (9, "single_cpu_baseline"));
}

#[test]
fn every_rank_record_obeys_the_equations_of_schema_v9() {
    for ranks in ["1", "2", "3"] {
        for algorithm in [
            &["--algorithm", "bfs"] as &[&str],
            &["--algorithm", "cc"],
            &["--algorithm", "kcore", "--all-cores"],
            &["--algorithm", "pagerank"],
        ] {
            let records = records(&[algorithm, &["--ranks", ranks, "--trials", "2"]].concat());
            let wanted = if ranks == "1" { "BENCHMARK_TIMING" } else { "BENCHMARK_RANK_TIMING" };
            let results = records.iter().filter(|(tag, _)| tag == "BENCHMARK_RESULT");
            let iterations = results.map(|(_, r)| r["iterations"].as_f64().expect("a number")).fold(0.0, f64::max);
            let timings: Vec<_> = records.iter().filter(|(tag, _)| tag == wanted).collect();
            assert_eq!(timings.len(), 2 * ranks.parse::<usize>().expect("a number"), "{algorithm:?} on {ranks}");
            for (_, timing) in timings {
                obeys(timing, ranks == "1", iterations, None);
            }
        }
    }
}

#[test]
fn protected_records_obey_them_too_and_say_how_updates_were_repeated() {
    for ranks in ["1", "2"] {
        for (algorithm, redundancy) in [
            (&["--algorithm", "bfs"] as &[&str], "idle_lanes"),
            (&["--algorithm", "cc"], "none"),
            (&["--algorithm", "kcore", "-k", "5"], "idle_lanes"),
            (&["--algorithm", "kcore", "--all-cores"], "idle_lanes"),
            (&["--algorithm", "pagerank"], "budget"),
        ] {
            let records = records(&[algorithm, &["--ranks", ranks, "--fault-tolerance", "on"]].concat());
            let of = |wanted: &str| records.iter().find(|(tag, _)| tag == wanted).expect("one").1.clone();
            let detection = of("BENCHMARK_DETECTION");
            let keys: Vec<&str> = detection.keys().map(String::as_str).collect();
            let wanted = [
                "trial",
                "dmr_count",
                "dmr_first_iteration",
                "monotonicity_count",
                "monotonicity_first_iteration",
                "trend_count",
                "trend_first_iteration",
                "certificate",
                "redundancy",
                "covered_critical_pct",
                "recoveries",
                "iterations_redone",
            ];
            assert_eq!(keys, wanted, "{algorithm:?} on {ranks}");
            assert_eq!(detection["redundancy"], redundancy, "{algorithm:?} on {ranks}");
            let covered = detection["covered_critical_pct"].as_f64();
            assert_eq!(covered.is_some(), redundancy != "none", "{algorithm:?} on {ranks}: {covered:?}");
            assert!(covered.is_none_or(|pct| pct > 0.0 && pct <= 100.0), "{algorithm:?} on {ranks}: {covered:?}");
            let wanted = if ranks == "1" { "BENCHMARK_TIMING" } else { "BENCHMARK_RANK_TIMING" };
            let iterations = of("BENCHMARK_RESULT")["iterations"].as_f64().expect("a number");
            for (_, timing) in records.iter().filter(|(tag, _)| tag == wanted) {
                obeys(timing, ranks == "1", iterations, Some(redundancy));
            }
        }
    }
}

#[test]
fn each_option_of_redundancy_changes_the_summary_or_is_named_in_it_for_every_algorithm() {
    let registry = framework::algorithm::Registry::linked().expect("no two plugins have one name");
    let mut named = 0;
    for entry in registry.iter() {
        let own: &[&str] = if entry.name == "kcore" { &["-k", "5"] } else { &[] };
        let guard = |options: &[&str]| {
            let output = harness(&[&["--algorithm", entry.name, "--fault-tolerance", "on"], own, options].concat());
            let err = String::from_utf8(output.stderr).expect("utf-8");
            err.lines().find(|line| line.starts_with("guard ")).unwrap_or_else(|| panic!("{err}")).to_owned()
        };
        let usual = guard(&[]);
        // Of a weight's extremes one must show; on this graph the other may leave the threshold on the degree as it is.
        for (option, values) in
            [("-a", &["0", "1"][..]), ("-b", &["0", "1"]), ("-t", &["0.1", "0.7"]), ("--redundancy-budget", &["1"])]
        {
            let is_named = usual.contains(&format!("{option} ")) || usual.contains(&format!("{option},"));
            let lines: Vec<String> = values.iter().map(|value| guard(&[option, value])).collect();
            let is_without_effect = lines.iter().all(|line| *line == usual);
            assert_eq!(is_without_effect, is_named, "{}, {option}: {lines:?}", entry.name);
            named += usize::from(is_named);
        }
    }
    assert!(named > 0 && named < 4 * registry.iter().count(), "{named} options have no effect");
}

/// `redundancy` is that of a protected run.
fn obeys(timing: &Map<String, Value>, is_single: bool, iterations: f64, redundancy: Option<&str>) {
    let names: Vec<&str> = framework::driver::clock::FIELDS.to_vec();
    let own: Vec<&str> = timing.keys().map(String::as_str).filter(|key| key.ends_with("_ms")).collect();
    assert_eq!(own, names, "the 24 fields in order");
    let ms: Vec<f64> = names.iter().map(|name| timing[*name].as_f64().expect("a number")).collect();
    assert!(ms.iter().all(|value| value.is_finite() && *value >= 0.0), "{timing:?}");
    let field = |number: usize| ms[number - 1];
    let equal = |number: usize, terms: &[usize]| {
        let sum: f64 = terms.iter().map(|&term| field(term)).sum();
        let slack = 0.001 * (terms.len() + 1) as f64;
        assert!((field(number) - sum).abs() <= slack, "field {number} is not the sum of {terms:?}: {timing:?}");
    };
    equal(3, &[4, 6]);
    equal(16, &[12, 13, 15]);
    equal(17, &[1, 11, 14]);
    equal(24, &[17, 18, 19, 20, 21, 22, 23]);
    assert!(field(3) <= field(2) + 0.001 && field(15) <= field(14) + 0.001);
    assert!(field(12) + field(13) <= field(1) + 0.001 * iterations.max(1.0), "{timing:?}");
    let zeros: &[usize] = if is_single { &[12, 13, 15, 16, 19, 20, 22] } else { &[18, 21] };
    let others: &[usize] = if redundancy.is_some() { &[4, 8, 9, 10] } else { &[5, 6, 7, 8, 9, 10, 11, 14] };
    for &number in zeros.iter().chain(others) {
        assert_eq!(field(number), 0.0, "field {number} of {timing:?}");
    }
    if let Some(redundancy) = redundancy {
        assert_eq!(field(5) > 0.0, redundancy != "none", "scoring takes time where something is scored: {timing:?}");
        assert!(field(6) > 0.0 && field(7) > 0.0 && field(14) > 0.0, "{timing:?}");
    }
}

#[test]
fn several_ranks_give_the_maximum_and_mean_of_each_field() {
    let records = records(&["--algorithm", "pagerank", "--ranks", "3"]);
    let ranks: Vec<_> = records.iter().filter(|(tag, _)| tag == "BENCHMARK_RANK_TIMING").collect();
    let (_, whole) = records.iter().find(|(tag, _)| tag == "BENCHMARK_TIMING").expect("one");
    for field in framework::driver::clock::FIELDS {
        let values: Vec<f64> = ranks.iter().map(|(_, rank)| rank[field].as_f64().expect("a number")).collect();
        let name = field.trim_end_matches("_ms");
        let near = |key: String, value: f64| {
            let found = whole[&key].as_f64().expect("a number");
            assert!((found - value).abs() < 0.001, "{key}: {found}, not {value}");
        };
        near(format!("rank_{name}_max_ms"), values.iter().copied().fold(0.0, f64::max));
        near(format!("rank_{name}_mean_ms"), values.iter().sum::<f64>() / 3.0);
    }
}

#[test]
fn performance_and_profiling_agree_on_everything_but_time() {
    for algorithm in [&["--algorithm", "bfs"] as &[&str], &["--algorithm", "pagerank", "--ranks", "2"]] {
        let result = |output: std::process::Output| {
            let out = String::from_utf8(output.stdout).expect("utf-8");
            out.lines().find(|line| line.starts_with("BENCHMARK_RESULT")).expect("a result").to_owned()
        };
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_harness_performance"));
        let performance = result(command.args(algorithm).output().expect("started"));
        assert_eq!(performance, result(profiling(algorithm, &new_folder())), "{algorithm:?}");
        assert_eq!(performance, result(harness(algorithm)), "{algorithm:?}");
    }
}
