//! NVTX ranges of the profiling binary, counted by a stand-in library that `cc` compiles here.

mod program;
mod ranges;

use ranges::{Range, ended, stand_in};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Spans of a rank's timeline by name, of one superstep and outside.
fn spans(folder: &Path, rank: u32) -> BTreeMap<String, usize> {
    let text = fs::read_to_string(folder.join(format!("timeline.rank{rank:04}.json"))).expect("read");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut found = BTreeMap::new();
    for event in document["traceEvents"].as_array().expect("a list").iter().filter(|event| event["ph"] == "X") {
        *found.entry(event["name"].as_str().expect("a name").to_owned()).or_default() += 1;
    }
    found
}

/// Runs and checks: ranges pair, each iteration has its own with its stages inside, the checker has its thread.
#[track_caller]
fn check(algorithm: &[&str], ranks: u32, is_protected: bool, more: &[&str]) {
    let traces = program::new_folder();
    let log = tempfile::NamedTempFile::new().expect("a temporary file");
    let ranks_text = ranks.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness_profiling"));
    command.args(["--device", "cpu", "--threads", "1", "--ranks", &ranks_text]).args(algorithm).args(more);
    if is_protected {
        command.args(["--fault-tolerance", "on", "--snapshot-interval", "2"]);
    }
    command.env("GRAPHALG_PROFILE_OUTPUT_DIR", &traces).env("NVTX_LOG", log.path()).env("LD_LIBRARY_PATH", stand_in());
    let output = command.output().expect("started");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{algorithm:?}: {err}");
    assert!(!err.contains("no NVTX ranges"), "{err}");
    let out = String::from_utf8_lossy(&output.stdout);
    let result = out.lines().find_map(|line| line.strip_prefix("BENCHMARK_RESULT ")).expect("a result");
    let result: serde_json::Value = serde_json::from_str(result).expect("JSON");
    let iterations = result["iterations"].as_u64().expect("a number") as usize;

    let (ended, names) = ended(&fs::read_to_string(log.path()).expect("read"));
    let is_iteration = |name: &str| name.starts_with("iteration ");
    let workers: Vec<&Vec<Range>> =
        ended.values().filter(|own| own.iter().any(|(_, name, _)| is_iteration(name))).collect();
    assert_eq!(workers.len(), ranks as usize, "{algorithm:?}: each rank is a thread");
    let update = if is_protected { "tolerance_graph_update" } else { "graph_update" };
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for own in workers {
        let of_loop: Vec<&str> =
            own.iter().map(|(_, name, _)| name.as_str()).filter(|name| is_iteration(name)).collect();
        let expected: Vec<String> = (0..iterations).map(|number| format!("iteration {number}")).collect();
        assert_eq!(of_loop, expected, "{algorithm:?}");
        for iteration in &expected {
            let inside: Vec<&str> =
                own.iter().filter(|(_, _, around)| around == iteration).map(|(_, name, _)| name.as_str()).collect();
            assert_eq!(inside.iter().filter(|name| **name == update).count(), 1, "{iteration}: {inside:?}");
            if ranks > 1 {
                assert!(inside.contains(&"nccl_exchange") && inside.contains(&"mpi_sync"), "{iteration}: {inside:?}");
            }
            if is_protected {
                assert!(inside.contains(&"tolerance_gpu_bookkeeping"), "{iteration}: {inside:?}");
            }
        }
        own.iter().for_each(|(_, name, _)| *counted.entry(name).or_default() += 1);
    }
    let checkers: Vec<&Vec<Range>> =
        ended.iter().filter(|(thread, _)| names.contains_key(thread)).map(|(_, own)| own).collect();
    let mut expected_names: Vec<String> = (0..ranks).map(|rank| format!("checker of rank {rank}")).collect();
    if !is_protected {
        expected_names.clear();
    }
    let mut found_names: Vec<String> = names.values().cloned().collect();
    found_names.sort();
    assert_eq!(found_names, expected_names, "{algorithm:?}");
    for own in checkers {
        assert!(own.iter().all(|(depth, name, _)| (*depth, name.as_str()) == (0, "cpu_validation")), "{own:?}");
        *counted.entry("cpu_validation").or_default() += own.len();
    }
    // Ranges and spans are told by the same calls.
    let mut spanned: BTreeMap<String, usize> = BTreeMap::new();
    for rank in 0..ranks {
        spans(&traces, rank).into_iter().for_each(|(name, count)| *spanned.entry(name).or_default() += count);
    }
    for name in [
        "tolerance_gpu_bookkeeping",
        "nccl_exchange",
        "mpi_sync",
        "cpu_check_drain",
        "postcheck_total",
        "cpu_validation",
    ] {
        let (ranges, spans) = (counted.get(name).copied().unwrap_or(0), spanned.get(name).copied().unwrap_or(0));
        assert_eq!(ranges, spans, "{algorithm:?} x{ranks}: ranges and spans of {name}");
    }
    let strangers: Vec<_> =
        counted.keys().filter(|name| !is_iteration(name) && !spanned.contains_key(**name)).collect();
    assert!(strangers.is_empty(), "ranges are called as spans are: {strangers:?}");
}

#[test]
fn pushes_and_pops_pair_in_every_run_and_iterations_hold_their_stages() {
    let algorithms: [&[&str]; 5] = [
        &["--algorithm", "bfs", "--source", "index:0"],
        &["--algorithm", "cc"],
        &["--algorithm", "kcore", "-k", "5"],
        &["--algorithm", "kcore", "--all-cores"],
        &["--algorithm", "pagerank", "--tolerance", "1e-4"],
    ];
    for algorithm in algorithms {
        for ranks in [1, 2] {
            for is_protected in [false, true] {
                check(algorithm, ranks, is_protected, &[]);
            }
        }
        check(algorithm, 2, false, &["--certify", "on"]);
        check(algorithm, 2, true, &["--recovery", "off", "--progress", "on"]);
    }
}

#[test]
fn a_run_that_fails_leaves_no_range_open_and_one_without_a_library_says_so_once() {
    let log = tempfile::NamedTempFile::new().expect("a temporary file");
    let profiling = |arguments: &[&str], libraries: Option<&Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness_profiling"));
        command.args(arguments).env("GRAPHALG_PROFILE_OUTPUT_DIR", program::new_folder()).env("NVTX_LOG", log.path());
        command.env_remove("LD_LIBRARY_PATH").envs(libraries.map(|folder| ("LD_LIBRARY_PATH", folder)));
        let output = command.output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let unfinished = ["--algorithm", "pagerank", "--max-iterations", "3", "--device", "cpu"];
    for protection in ["off", "on"] {
        fs::write(log.path(), "").expect("emptied");
        let (code, err) = profiling(&[&unfinished[..], &["--fault-tolerance", protection]].concat(), Some(stand_in()));
        assert_eq!(code, Some(1), "{err}");
        ended(&fs::read_to_string(log.path()).expect("read"));
    }
    let (code, err) = profiling(&["--algorithm", "cc", "--device", "cpu", "--warmup", "1"], None);
    assert_eq!((code, err.matches("no NVTX ranges").count()), (Some(0), 1), "{err}");
}
