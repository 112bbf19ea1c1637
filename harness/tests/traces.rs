//! The trace files of the profiling binary: their laws against the records of the same run, their schema by snapshot, and what
//! is refused.

mod program;
mod timeline;

use harness::trace_files::{ACTIVITY, ActivityRow, File, SUMMARY, Summary, TIMELINE, TIMINGS, TimingRow};
use program::{file, new_folder, profiling};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const ALGORITHMS: [&[&str]; 5] = [
    &["--algorithm", "bfs"],
    &["--algorithm", "cc"],
    &["--algorithm", "kcore", "-k", "5"],
    &["--algorithm", "kcore", "--all-cores"],
    &["--algorithm", "pagerank"],
];

/// A run and its traces.
struct Traced {
    folder: PathBuf,
    result: Map<String, Value>,
    /// Of a protected run.
    detection: Option<Map<String, Value>>,
    vertices: u64,
    /// By rank.
    timings: Vec<Map<String, Value>>,
}

fn traced(arguments: &[&str]) -> Traced {
    let folder = new_folder();
    let output = profiling(arguments, &folder);
    let out = String::from_utf8_lossy(&output.stdout);
    let records = |wanted: &str| -> Vec<Map<String, Value>> {
        let split = out.lines().map(|line| line.split_once(' ').expect("a tag and an object"));
        let wanted = split.filter(|(tag, _)| *tag == wanted);
        wanted.map(|(_, json)| serde_json::from_str(json).expect("one JSON object")).collect()
    };
    let metadata = records("BENCHMARK_METADATA").pop().unwrap_or_else(|| panic!("{arguments:?}: {}", err(&output)));
    let mut timings = records("BENCHMARK_RANK_TIMING");
    if timings.is_empty() {
        timings = records("BENCHMARK_TIMING");
    }
    let vertices = metadata["graph"]["vertices"].as_u64().expect("a count");
    let detection = records("BENCHMARK_DETECTION").pop();
    Traced { folder, result: records("BENCHMARK_RESULT").pop().expect("a result"), detection, vertices, timings }
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

impl Traced {
    fn read(&self, file: File, rank: usize) -> String {
        fs::read_to_string(self.folder.join(file.name(rank as u32))).expect("a trace file")
    }

    fn activity(&self, rank: usize) -> Vec<ActivityRow> {
        let text = self.read(ACTIVITY, rank);
        csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| row.expect("the columns")).collect()
    }

    fn stages(&self, rank: usize) -> Vec<TimingRow> {
        let text = self.read(TIMINGS, rank);
        csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| row.expect("the columns")).collect()
    }

    fn summary(&self, rank: usize) -> Summary {
        serde_json::from_str(&self.read(SUMMARY, rank)).expect("the keys")
    }

    fn field(&self, rank: usize, stage: &str) -> f64 {
        self.timings[rank][&format!("{stage}_ms")].as_f64().unwrap_or_else(|| panic!("no field for `{stage}`"))
    }

    fn iterations(&self) -> u64 {
        self.result["iterations"].as_u64().expect("a count")
    }

    /// By iteration, over all ranks.
    fn active(&self) -> Vec<u64> {
        let mut sums = vec![0; self.iterations() as usize];
        let rows = (0..self.timings.len()).flat_map(|rank| self.activity(rank));
        rows.for_each(|row| sums[row.iteration as usize] += row.active_vertices);
        sums
    }
}

/// What holds for every run.
fn obeys(run: &Traced, case: &str) {
    let ranks = run.timings.len();
    let names: Vec<_> = fs::read_dir(&run.folder).expect("listed").map(|e| e.expect("listed").file_name()).collect();
    assert_eq!(names.len(), 4 * ranks, "{case}: {names:?}");
    for rank in 0..ranks {
        let case = format!("{case}, rank {rank}");
        let (activity, stages, summary) = (run.activity(rank), run.stages(rank), run.summary(rank));
        let whole = Summary {
            schema_version: 9,
            rank: rank as u32,
            completed_iterations: run.iterations(),
            activity_rows: activity.len() as u64,
            timing_rows: stages.len() as u64,
            dropped_activity_records: 0,
            dropped_timing_records: 0,
        };
        assert_eq!(summary, whole, "{case}");
        let iterations: Vec<u64> = activity.iter().map(|row| row.iteration.into()).collect();
        assert_eq!(iterations, (0..run.iterations()).collect::<Vec<_>>(), "{case}: one row an iteration, from 0");
        activity.iter().for_each(|row| counts_fit(row, run.detection.as_ref(), &case));

        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for row in &stages {
            assert!(row.elapsed_ms >= 0.0 && u64::from(row.iteration) < run.iterations(), "{case}: {row:?}");
            *sums.entry(&row.stage).or_default() += row.elapsed_ms;
        }
        let mut wanted = if run.detection.is_some() { GUARDED.to_vec() } else { vec!["graph_update"] };
        wanted.extend(["mpi_sync", "nccl_exchange"].into_iter().filter(|_| ranks > 1));
        wanted.sort_unstable();
        assert_eq!(sums.keys().copied().collect::<Vec<_>>(), wanted, "{case}");
        assert_eq!(stages.len(), wanted.len() * activity.len(), "{case}: a row a stage and iteration");
        // Its part of `score_and_mark_ms` is nothing: marks are made where an update consumes them.
        assert!(sums.get("score_and_mark_convergence_probe").is_none_or(|&sum| sum == 0.0), "{case}: {sums:?}");
        for (stage, sum) in sums.iter().filter(|(stage, _)| **stage != "score_and_mark_convergence_probe") {
            same(*sum, run.field(rank, stage), &format!("{case}: {stage}"));
        }
        for absent in ["nccl_exchange", "mpi_sync"].into_iter().filter(|stage| !sums.contains_key(stage)) {
            assert_eq!(run.field(rank, absent), 0.0, "{case}: {absent}");
        }

        let timeline = timeline::check(&run.read(TIMELINE, rank)).unwrap_or_else(|fault| panic!("{case}: {fault}"));
        assert_eq!(timeline.processes, BTreeMap::from([(rank as u64, format!("rank {rank}"))]), "{case}");
        let lanes: Vec<&str> = timeline.lanes.values().map(String::as_str).collect();
        assert_eq!(lanes, ["compute", "exchange", "check stream", "checker worker"], "{case}");
        let mut spans: BTreeMap<&str, f64> = BTreeMap::new();
        for slice in &timeline.slices {
            *spans.entry(&slice.name).or_default() += slice.nanoseconds() as f64 / 1e6;
        }
        for (name, sum) in &spans {
            same(*sum, run.field(rank, name), &format!("{case}: {name} in the timeline"));
        }
        let is_drawn = |stage: &&&str| sums[**stage] > 0.0 && **stage != "checker_end_to_end";
        assert!(wanted.iter().filter(is_drawn).all(|stage| spans.contains_key(stage)), "{case}: {spans:?}");
        let of_loop = timeline.slices.iter().filter(|slice| wanted.contains(&slice.name.as_str()));
        assert!(of_loop.clone().all(|slice| slice.iteration.is_some_and(|i| i < run.iterations())), "{case}");
    }
}

#[track_caller]
fn same(sum: f64, field: f64, what: &str) {
    assert!((sum - field).abs() <= 0.001, "{what}: the parts sum to {sum} ms, the record says {field}");
}

/// The stages of a protected run, with one rank.
const GUARDED: [&str; 7] = [
    "checker_end_to_end",
    "cpu_validation",
    "d2h_summary",
    "score_and_mark",
    "score_and_mark_convergence_probe",
    "tolerance_gpu_bookkeeping",
    "tolerance_graph_update",
];

fn counts_fit(row: &ActivityRow, detection: Option<&Map<String, Value>>, case: &str) {
    assert_eq!(
        (row.work_vertices, row.launched_threads, row.tail_threads),
        (row.owned_vertices, row.owned_vertices, 0)
    );
    assert!(row.active_vertices <= row.work_vertices, "{case}: {row:?}");
    assert_eq!(row.inactive_valid_threads, row.work_vertices - row.active_vertices, "{case}: {row:?}");
    let idle = 100.0 * row.inactive_valid_threads as f64 / row.work_vertices.max(1) as f64;
    assert!((row.reusable_idle_pct - idle).abs() < 1e-6, "{case}: {row:?}");
    assert!(row.redundant_tasks_assigned <= row.critical_vertices, "{case}: {row:?}");
    assert!(row.critical_vertices <= row.active_vertices, "{case}: {row:?}");
    // Where all vertices are active, the budget is the capacity.
    let redundancy = detection.map_or("none", |detection| detection["redundancy"].as_str().expect("a word"));
    let fits = row.redundant_tasks_assigned <= row.inactive_valid_threads + row.tail_threads;
    assert!(fits || redundancy == "budget", "{case}: {row:?}");
    let nothing = (row.critical_vertices, row.redundant_tasks_assigned) == (0, 0);
    assert!(nothing || redundancy != "none", "{case}: {row:?}");
    assert_eq!(row.instrumentation_profile, "profiling", "{case}");
}

/// What the algorithm's frontier must come to.
fn frontier_fits(run: &Traced, case: &str) {
    let (active, n) = (run.active(), run.vertices);
    let count = |key: &str| run.result[key].as_u64().expect("a count");
    let sum: u64 = active.iter().sum();
    match run.result["algorithm"].as_str().expect("a name") {
        "bfs" => {
            assert_eq!(sum, count("reached"), "{case}: every reached vertex is in one frontier");
            assert_eq!(active.first(), Some(&u64::from(n > 0)), "{case}: the source alone");
        }
        "kcore" if run.result.contains_key("k") => assert_eq!(sum, n - count("core_vertices"), "{case}: the removed"),
        "kcore" => assert_eq!(sum, n, "{case}: all are removed in the end"),
        "pagerank" => assert!(active.iter().all(|&active| active == n), "{case}: {active:?}"),
        "cc" => {
            let in_place = active.len().min(4);
            assert!(active[..in_place].iter().all(|&active| active == n), "{case}: {active:?}");
            assert!(run.timings.len() > 1 || active.len() == in_place, "{case}: {active:?}");
            assert!(active.iter().all(|&active| active <= n), "{case}: {active:?}");
        }
        other => panic!("{case}: what does the frontier of {other} come to?"),
    }
}

#[test]
fn traces_add_up_to_the_records_for_every_algorithm_on_one_to_four_ranks() {
    let blogs = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/polblogs.graph");
    let empty = file("empty.txt", b"");
    let few = file("few.txt", b"1 2\n2 3\n7 8\n9 9\n");
    let (empty, few) = (empty.to_str().expect("utf-8"), few.to_str().expect("utf-8"));
    for (graph, most) in [(None, 2), (Some(blogs), 4), (Some(few), 4), (Some(empty), 3)] {
        for algorithm in ALGORITHMS {
            for ranks in (1..=most).map(|ranks: u32| ranks.to_string()) {
                let graph = graph.map_or(vec![], |graph| vec!["--graph", graph]);
                let arguments = [algorithm, &["--ranks", &ranks], &graph].concat();
                let run = traced(&arguments);
                let case = arguments.join(" ");
                obeys(&run, &case);
                frontier_fits(&run, &case);
            }
        }
    }
}

#[test]
fn traces_of_protected_runs_add_up_to_the_records_too() {
    let few = file("few.txt", b"1 2\n2 3\n7 8\n9 9\n");
    let few = few.to_str().expect("utf-8");
    for graph in [None, Some(few)] {
        for algorithm in ALGORITHMS {
            for (ranks, budget) in [("1", "0.02"), ("1", "1"), ("2", "0.3")] {
                let graph = graph.map_or(vec![], |graph| vec!["--graph", graph]);
                let protection = ["--fault-tolerance", "on", "--redundancy-budget", budget, "--ranks", ranks];
                let arguments = [algorithm, &protection, &graph].concat();
                let run = traced(&arguments);
                let case = arguments.join(" ");
                obeys(&run, &case);
                frontier_fits(&run, &case);
                let detection = run.detection.as_ref().expect("a protected run");
                let is_scored = detection["redundancy"] != "none";
                let (mut critical, mut assigned) = (0, 0);
                for rank in 0..run.timings.len() {
                    let stages = run.stages(rank);
                    let took = |iteration: u32, stage: &str| {
                        let row = stages.iter().find(|row| row.iteration == iteration && row.stage == stage);
                        row.unwrap_or_else(|| panic!("{case}: {stage} of {iteration}")).elapsed_ms
                    };
                    for row in run.activity(rank) {
                        critical += row.critical_vertices;
                        assigned += row.redundant_tasks_assigned;
                        let scored = took(row.iteration, "score_and_mark") > 0.0;
                        assert!(scored == is_scored || row.active_vertices == 0, "{case}: {row:?}");
                        let latency = took(row.iteration, "checker_end_to_end");
                        assert!(latency >= took(row.iteration, "cpu_validation"), "{case}: {row:?}, {latency} ms");
                    }
                }
                let covered = (critical > 0).then(|| 100.0 * assigned as f64 / critical as f64);
                assert_eq!(detection["covered_critical_pct"].as_f64(), covered, "{case}");
            }
        }
    }
}

#[test]
fn a_run_that_does_not_converge_leaves_a_whole_trace() {
    let run = traced(&["--algorithm", "pagerank", "--max-iterations", "3", "--ranks", "2"]);
    assert_eq!((run.iterations(), &run.result["converged"]), (3, &Value::Bool(false)));
    obeys(&run, "three rounds");
}

#[test]
fn active_counts_do_not_depend_on_threads_and_their_sums_not_on_ranks_where_rounds_are_the_same() {
    for algorithm in ["bfs", "pagerank"] {
        let active =
            |threads, ranks| traced(&["--algorithm", algorithm, "--threads", threads, "--ranks", ranks]).active();
        let one = active("1", "1");
        assert_eq!(one, active("3", "1"), "{algorithm}");
        assert_eq!(one, active("2", "3"), "{algorithm}");
    }
    let active = |threads| traced(&["--algorithm", "kcore", "--all-cores", "--threads", threads]).active();
    assert_eq!(active("1"), active("3"));
}

#[test]
fn a_warm_up_leaves_no_trace() {
    let run = traced(&["--algorithm", "bfs", "--warmup", "2"]);
    obeys(&run, "warm-ups");
}

#[test]
fn the_schema_of_every_file_is_fixed() {
    let graph = file("a,\"b\".txt", b"1 2\n2 3\n3 1\n3 4\n");
    let graph = ["--graph", graph.to_str().expect("utf-8"), "--threads", "1"];
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"(?m),\d+\.\d{6}$", ",0.000000");
    settings.add_filter(r#""(ts|dur)":\d+\.\d{3}\b"#, r#""$1":0.000"#);
    settings.add_filter(r#"recorder \d+\.\d+\.\d+""#, r#"recorder VERSION""#);
    settings.bind(|| {
        for (name, ranks, rank) in [("one_rank", "1", 0), ("rank_1_of_2", "2", 1)] {
            let run = traced(&[&["--algorithm", "kcore", "-k", "2", "--ranks", ranks] as &[&str], &graph].concat());
            let files = [ACTIVITY, TIMINGS, SUMMARY, TIMELINE];
            let all: String =
                files.map(|file| format!("== {}\n{}", file.name(rank), run.read(file, rank as usize))).concat();
            insta::assert_snapshot!(format!("traces_{name}"), all);
        }
    });
}

#[track_caller]
fn refused(output: &Output, words: &str) {
    let err = err(output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains(words), "`{words}` is not in\n{err}");
    assert!(output.stdout.is_empty(), "no record before the run: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn without_a_folder_the_profiling_binary_refuses_to_run() {
    let words =
        "a profiling run needs a folder for its traces; give --trace-dir DIR or set GRAPHALG_PROFILE_OUTPUT_DIR";
    refused(&profiling(&["--algorithm", "cc"], Path::new("")), words);
}

#[test]
fn a_folder_that_holds_anything_is_refused_and_left_as_it_is() {
    let folder = traced(&["--algorithm", "cc", "--ranks", "2"]).folder;
    let listed = || {
        let mut names: Vec<_> = fs::read_dir(&folder).expect("listed").map(|e| e.expect("one").file_name()).collect();
        names.sort();
        names
    };
    let before = listed();
    refused(&profiling(&["--algorithm", "cc"], &folder), "a trace folder must be new or empty, and this one holds `");
    assert_eq!(listed(), before);
    refused(&profiling(&["--algorithm", "cc"], &folder.join(SUMMARY.name(0))), "is no folder");
}

/// A limit on file size stands for a full disk: the write fails in the same place, and no privilege is needed.
#[cfg(unix)]
#[test]
fn traces_that_cannot_be_written_are_exit_3_and_leave_no_half_file() {
    let folder = new_folder();
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$@\"";
    let output = std::process::Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_harness_profiling"), "--algorithm", "pagerank", "--trace-dir"])
        .arg(&folder)
        .output()
        .expect("sh starts");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let words =
        "iteration_activity.rank0000.csv: cannot write it; check the folder, its permissions and the free space";
    assert!(err(&output).contains(words), "{}", err(&output));
    assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 0);
}

#[test]
fn several_trials_do_not_share_a_folder() {
    let folder = new_folder();
    refused(&profiling(&["--algorithm", "cc", "--trials", "2"], &folder), "--trials 2: a trace folder holds one trial");
    assert!(!folder.exists());
}

#[test]
fn the_option_goes_before_the_variable_and_only_the_profiling_binary_has_it() {
    let (chosen, variable) = (new_folder(), new_folder());
    let option = ["--algorithm", "cc", "--trace-dir", chosen.to_str().expect("utf-8")];
    let output = profiling(&option, &variable);
    assert!(output.status.success(), "{}", err(&output));
    assert!(chosen.join(TIMELINE.name(0)).exists() && !variable.exists());
    assert!(err(&output).contains(&format!("traces   {}", chosen.display())), "{}", err(&output));
    let help = |program: &str| {
        let output = std::process::Command::new(program).arg("--help").output().expect("started");
        String::from_utf8(output.stdout).expect("utf-8")
    };
    assert!(help(env!("CARGO_BIN_EXE_harness_profiling")).contains("--trace-dir <DIR>"));
    for program in [env!("CARGO_BIN_EXE_harness"), env!("CARGO_BIN_EXE_harness_performance")] {
        assert!(!help(program).contains("trace-dir"), "{program}");
        let output = std::process::Command::new(program).args(option).output().expect("started");
        refused(&output, "unexpected argument '--trace-dir'");
    }
}
