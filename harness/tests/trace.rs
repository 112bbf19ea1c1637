//! `harness trace` as people and programs see it: tables, documents, pictures, errors; and our own timelines through it.

mod program;

use program::{command, harness, new_folder, profiling};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use trace::document::Document;

/// Two ranks; example 2.3 of the page in each of two steps, the second rank slower, with launches, a copy and a lost kernel.
fn ranks(folder: &Path) {
    for rank in 0..2 {
        let mut events = Vec::new();
        for step in 0..2 {
            let (at, slow) = (1000 + step * 200, rank * 7);
            events.push(json!({"ph": "X", "cat": "user_annotation", "name": format!("ProfilerStep#{}", step + 3), "pid": 9, "tid": 9,
                               "ts": at - 10, "dur": 150}));
            let rows = [
                ("kernel", "MatMul<float>(a, b)", 7, 0, 40 + slow, None),
                ("kernel", "Conv2D", 7, 45 + slow, 35, None),
                ("kernel", "ncclDevKernel_AllReduce(x)", 20, 10, 40, Some("allreduce")),
                ("kernel", "ncclDevKernel_SendRecv(x)", 20, 55, 15, None),
                ("gpu_memcpy", "Memcpy HtoD", 21, 100, 5, None),
            ];
            for (place, (cat, name, stream, start, dur, collective)) in rows.into_iter().enumerate() {
                let correlation = step * 10 + place as i64;
                let mut args = json!({"device": rank, "stream": stream, "correlation": correlation});
                if let Some(collective) = collective {
                    args["Collective name"] = collective.into();
                }
                events.push(json!({"ph": "X", "cat": cat, "name": name, "pid": rank, "tid": stream, "ts": at + start, "dur": dur,
                                   "args": args}));
                events.push(json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
                                   "ts": at + start - 6, "dur": 2, "args": {"correlation": correlation}}));
            }
        }
        events.push(json!({"ph": "X", "cat": "kernel", "name": "lost", "pid": rank, "tid": 7, "ts": 0, "dur": 0,
                           "args": {"device": rank, "stream": 7}}));
        let document = json!({"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 2}});
        fs::write(folder.join(format!("rank{rank}.json")), document.to_string()).expect("written");
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(&[&["trace"], arguments].concat()).current_dir(folder).output().expect("harness starts")
}

fn out(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("utf-8")
}

fn scratch() -> PathBuf {
    let folder = tempfile::tempdir().expect("a folder").keep();
    ranks(&folder);
    folder
}

#[test]
fn tables_fit_a_terminal_of_100_columns() {
    let folder = scratch();
    let tables = [
        out(&folder, &["breakdown", "rank0.json", "rank1.json"]),
        out(&folder, &["breakdown", "--by", "step", "rank0.json"]),
        out(&folder, &["overlap", "rank0.json", "rank1.json"]),
        out(&folder, &["summary", "rank0.json", "rank1.json"]),
    ];
    let text = tables.join("----\n");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!("trace_tables", text);
    let text = fs::read_to_string(folder.join("rank1.json")).expect("read");
    let mut slow: Value = serde_json::from_str(&text).expect("JSON");
    for event in slow["traceEvents"].as_array_mut().expect("a list") {
        if event["cat"] == "gpu_memcpy" && event["ts"].as_i64() > Some(1200) {
            event["dur"] = 26.into();
        }
    }
    fs::write(folder.join("slow.json"), slow.to_string()).expect("written");
    let by_step = out(&folder, &["summary", "--by", "step", "--top", "1", "rank0.json", "slow.json"]);
    assert!(by_step.lines().all(|line| line.chars().count() <= 100), "{by_step}");
    insta::assert_snapshot!(
        "trace_stragglers",
        &by_step[by_step.find("Steps compared").expect("the table of steps")..]
    );
    let alone = out(&folder, &["summary", "--by", "step", "rank0.json"]);
    assert!(!alone.contains("Steps compared") && !alone.contains("straggler"), "{alone}");
    let output = run(&folder, &["breakdown", "--window", "4..", "rank0.json"]);
    insta::assert_snapshot!("trace_window", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn documents_keep_their_schema_and_read_back() {
    let folder = scratch();
    for (name, arguments) in [
        ("trace_breakdown_json", &["breakdown", "--by", "step", "--format", "json", "rank0.json"][..]),
        ("trace_overlap_json", &["overlap", "--format", "json", "rank0.json"]),
        ("trace_summary_json", &["summary", "--format", "json", "rank0.json", "rank1.json"]),
    ] {
        let text = out(&folder, arguments);
        let document: Document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(serde_json::to_string_pretty(&document).expect("JSON") + "\n", text);
        insta::assert_snapshot!(name, text);
    }
    let tables = [
        out(&folder, &["breakdown", "--format", "csv", "rank0.json", "rank1.json"]),
        out(&folder, &["overlap", "--format", "csv", "--by", "step", "rank0.json"]),
        out(&folder, &["summary", "--format", "csv", "rank1.json"]),
    ];
    insta::assert_snapshot!("trace_csv", tables.join("----\n"));
}

#[test]
fn pictures_are_whole_and_open_offline() {
    let folder = scratch();
    for name in ["r.html", "r.svg", "r.png"] {
        out(&folder, &["plot", "rank0.json", "rank1.json", "-o", name]);
    }
    let page = fs::read_to_string(folder.join("r.html")).expect("a page");
    assert_eq!(page.matches("<svg").count(), 4);
    for words in [
        "allreduce",
        "host wait",
        "rank 1, device 1",
        "MatMul&lt;float&gt;(a, b)",
        "times were lost",
        "Slowest device by step",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // Every picture and every table has a sentence on how to read it.
    assert_eq!(page.matches("<figure>").count(), page.matches("<figcaption>").count());
    assert_eq!(page.matches("<table>").count(), page.matches("<p>").count());
    let links = page.replace("http://www.w3.org/2000/svg", "");
    assert!(
        !links.contains("http:") && !links.contains("https:") && !links.contains("<script"),
        "a page that needs a network"
    );
    assert!(fs::read_to_string(folder.join("r.svg")).expect("a picture").trim_end().ends_with("</svg>"));
    assert!(fs::read(folder.join("r.png")).expect("a picture").starts_with(b"\x89PNG"));
    let output = run(&folder, &["plot", "rank0.json", "-o", "r.pdf"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn damaged_and_unknown_files_are_exit_2_and_a_file_without_devices_is_not() {
    let folder = scratch();
    let whole = fs::read(folder.join("rank0.json")).expect("read");
    fs::write(folder.join("cut.json"), &whole[..whole.len() / 2]).expect("written");
    fs::write(folder.join("other.json"), "{\"a\": 1}").expect("written");
    fs::write(folder.join("idle.json"), "{\"traceEvents\": []}").expect("written");
    for (arguments, words) in [
        (&["breakdown", "cut.json"][..], "cut off"),
        (&["breakdown", "other.json"], "without `traceEvents`"),
        (&["breakdown", "absent.json"], "cannot read it"),
        (&["breakdown", "--communication-pattern", "(", "rank0.json"], "no regular expression"),
        (&["breakdown", "--window", "5..3", "rank0.json"], "comes after"),
        (&["breakdown", "--window", "9..12", "rank0.json"], "the steps of rank0.json are 3..4"),
        (&["summary", "--window", "5..", "rank0.json", "rank1.json"], "the steps of rank0.json and 1 more are 3..4"),
        (&["plot", "--window", "..2", "rank0.json", "-o", "w.svg"], "--window ..2 matches no step"),
        (&["overlap", "--window", "7", "idle.json"], "idle.json: no steps"),
        (&["plot", "rank0.json", "-o", "absent/r.svg"], "cannot write it"),
    ] {
        let output = run(&folder, arguments);
        let err = String::from_utf8_lossy(&output.stderr);
        let expected = if words == "cannot write it" { 3 } else { 2 };
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {err}");
        assert!(err.contains(words) && output.stdout.is_empty(), "{arguments:?}: {err}");
    }
    assert!(!folder.join("w.svg").exists());
    let output = run(&folder, &["breakdown", "--window", "3", "rank0.json", "idle.json"]);
    assert_eq!(output.status.code(), Some(0), "a step of one file is enough");
    let output = run(&folder, &["breakdown", "--recover", "cut.json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("ends early"));
    let document: Value =
        serde_json::from_str(&out(&folder, &["summary", "--format", "json", "idle.json"])).expect("JSON");
    assert_eq!(document["files"][0]["devices"], json!([]));
    assert!(document["files"][0]["warnings"][0].as_str().is_some_and(|text| text.starts_with("no device events")));
    let output = run(&folder, &["plot", "idle.json", "-o", "idle.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_exposed_exchange_of_a_graph_run_is_two_commands_away() {
    let folder = new_folder();
    let run =
        profiling(&["--algorithm", "pagerank", "--ranks", "2", "--threads", "1", "--max-iterations", "5"], &folder);
    let made: Vec<PathBuf> = (0..2).map(|rank| folder.join(format!("timeline.rank{rank:04}.json"))).collect();
    assert!(made.iter().all(|path| path.is_file()), "{}", String::from_utf8_lossy(&run.stderr));
    let files: Vec<&str> = made.iter().map(|path| path.to_str().expect("utf-8")).collect();
    let output = harness(&[&["trace", "summary", "--by", "step", "--format", "json"], &files[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for (rank, file) in document["files"].as_array().expect("files").iter().enumerate() {
        assert_eq!(file["rank"], rank);
        let device = &file["devices"][0];
        let names: Vec<_> = device["collectives"]
            .as_array()
            .expect("collectives")
            .iter()
            .map(|of| of["name"].as_str().expect("a name"))
            .collect();
        for name in ["nccl_exchange", "mpi_sync", "initial_ghost_exchange"] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(device["overlap_analysis"]["comm_time_us"].as_f64().expect("a time") > 0.0);
        let steps: Vec<_> =
            device["steps"].as_array().expect("steps").iter().map(|step| step["step"].as_i64()).collect();
        assert_eq!(steps, (0..5).map(Some).collect::<Vec<_>>());
    }
    assert!(document["comparison"][0]["max"]["rank"].is_u64());
}

#[test]
fn known_collectives_are_warned_of_and_counted_on_request() {
    let folder = scratch();
    let kernel = |name: &str, stream: u32, ts: u32| {
        json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": 100,
               "args": {"device": 0, "stream": stream}})
    };
    let events = json!([kernel("gemm", 7, 0), kernel("nvshmemi_barrier_on_stream_kernel", 20, 50)]);
    fs::write(folder.join("nvshmem.json"), events.to_string()).expect("written");
    let figures = |arguments: &[&str]| -> (Value, String) {
        let output = run(&folder, &[&["overlap", "--format", "csv", "nvshmem.json"], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let row = String::from_utf8_lossy(&output.stdout).lines().nth(1).expect("a row").to_owned();
        (
            row.split(',').skip(4).take(3).collect::<Vec<_>>().into(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (plain, warning) = figures(&[]);
    assert_eq!(plain, json!(["150", "0", "0"]));
    assert!(warning.contains("--communication-pattern auto"), "{warning}");
    assert_eq!(figures(&["--communication-pattern", "auto"]), (json!(["100", "100", "50"]), String::new()));
    assert_eq!(figures(&["--communication-pattern", "^nvshmem"]), (json!(["100", "100", "50"]), String::new()));
}

#[test]
fn a_file_of_metas_accelerators_names_its_option() {
    let folder = scratch();
    let event = json!({"ph": "X", "cat": "mtia_ccp_events", "name": "fc", "pid": 0, "tid": 1, "ts": 0, "dur": 5,
                       "args": {"device": 0, "stream": 1}});
    fs::write(folder.join("mtia.json"), json!([event]).to_string()).expect("written");
    let output = run(&folder, &["breakdown", "mtia.json"]);
    assert_eq!(output.status.code(), Some(0));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("1 of category mtia_ccp_events") && err.contains("--mtia"), "{err}");
    assert!(out(&folder, &["breakdown", "--mtia", "--format", "csv", "mtia.json"]).contains("5,5,0,0"));
}
