//! The 28 real traces against figures of two independent programs, to the nanosecond, and cases from issues of other tools.
//! Without the folder each says that it was not run; cases from reports on this project also stand in `tests/data` and always run.

use graphalg_tests::needs::real_traces;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use trace::analysis::ClassIntervals;
use trace::interval::pieces;
use trace::{Class, Device, Options, Recording, Rules, read};

fn document(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("readable");
    serde_json::from_str(&text).expect("JSON")
}

fn count(device: &Device, class: Class) -> usize {
    device.events.iter().filter(|event| event.class == class).count()
}

/// A device in the form of `expected.json`, without the percentages.
fn figures(device: &Device, recording: &Recording) -> Value {
    let lists = ClassIntervals::of(&device.events);
    let of = lists.figures();
    let mut exclusive: HashMap<String, i64> = HashMap::new();
    pieces([&lists.computation, &lists.communication, &lists.memory], |piece, on| {
        let names: Vec<_> = Class::ALL
            .iter()
            .enumerate()
            .filter(|(bit, _)| on >> bit & 1 == 1)
            .map(|(_, class)| class.name())
            .collect();
        let name = if names.is_empty() { "idle".into() } else { names.join("+") };
        *exclusive.entry(name).or_default() += piece.length();
    });
    let mut streams: Vec<String> =
        device.events.iter().map(|event| recording.stream(event.stream).to_string()).collect();
    streams.sort();
    streams.dedup();
    json!({
        "temporal_breakdown": {
            "kernel_time_ns": of.breakdown.kernel_ns,
            "compute_time_ns": of.breakdown.compute_ns,
            "non_compute_time_ns": of.breakdown.non_compute_ns,
            "idle_time_ns": of.breakdown.idle_ns,
        },
        "overlap_analysis": {
            "comp_time_ns": of.overlap.comp_ns,
            "comm_time_ns": of.overlap.comm_ns,
            "overlap_time_ns": of.overlap.overlap_ns,
            "overlap_ratio_of_union_percent": of.overlap.ratio_of_union_percent(),
            "comm_hidden_by_comp_percent": of.overlap.hidden_percent(),
        },
        "counts": {
            "computation": count(device, Class::Computation),
            "communication": count(device, Class::Communication),
            "memory": count(device, Class::Memory),
            "zero_length": device.events.iter().filter(|event| event.start_ns == event.end_ns).count(),
            "streams": streams.len(),
            "negative_length_dropped": device.dropped_negative,
        },
        "exclusive_ns": exclusive,
    })
}

fn is_close(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * b.abs(),
        (a, b) => a == b,
    }
}

#[test]
fn every_figure_of_every_real_file_is_exact() {
    let Some(folder) = real_traces("real_traces::every_figure_of_every_real_file_is_exact") else { return };
    let expected = document(&folder.join("expected.json"));
    let files = expected["files"].as_object().expect("files");
    assert_eq!(files.len(), 28);
    for (file, expected) in files {
        let options = Options { wants_launches: true, ..Options::default() };
        let recording = read(&folder.join(file), &options).unwrap_or_else(|error| panic!("{file}: {error}"));
        let devices = expected["devices"].as_object().expect("devices");
        assert_eq!(recording.devices.len(), devices.len(), "{file}");
        if !expected["rank"].is_null() {
            assert_eq!(json!(recording.rank), expected["rank"], "{file}");
        }
        assert_eq!(recording.repairs, trace::Repairs::default(), "{file}");
        if devices.is_empty() {
            assert!(recording.warnings.iter().any(|warning| warning.starts_with("no device events")), "{file}");
        }
        for device in &recording.devices {
            let expected = &devices[&device.id.to_string()];
            let found = figures(device, &recording);
            assert_eq!(found["temporal_breakdown"], expected["temporal_breakdown"], "{file} device {}", device.id);
            for (key, value) in expected["overlap_analysis"].as_object().expect("an object") {
                let ours = &found["overlap_analysis"][key];
                assert!(is_close(ours, value), "{file} device {}: {key} {ours} {value}", device.id);
            }
            for (key, value) in found["exclusive_ns"].as_object().expect("an object") {
                assert_eq!(value, &expected["exclusive_ns"][key], "{file} device {}: {key}", device.id);
            }
            let counts = &expected["counts"];
            for key in ["computation", "communication", "memory", "zero_length", "negative_length_dropped"] {
                assert_eq!(found["counts"][key], counts[key], "{file} device {}: {key}", device.id);
            }
            let streams = counts["streams"].as_array().expect("a list").len();
            assert_eq!(found["counts"]["streams"], streams, "{file}");
            let alike = counts["kernels_named_like_a_collective_but_not_nccl"].as_u64().expect("a count");
            let warning = format!("{alike} kernels named like collectives");
            let is_said = recording.warnings.iter().any(|text| text.contains("kernels named like collectives"));
            assert_eq!(is_said, alike > 0, "{file}");
            assert!(alike == 0 || recording.warnings.iter().any(|text| text.contains(&warning)), "{file}");
        }
    }
}

#[test]
fn every_case_from_issues_of_other_tools_comes_out() {
    let Some(folder) = real_traces("real_traces::every_case_from_issues_of_other_tools_comes_out") else { return };
    let cases = document(&folder.join("issue_cases.json"));
    let scratch = tempfile::tempdir().expect("a folder");
    for case in cases["cases"].as_array().expect("cases") {
        let id = case["id"].as_str().expect("an id");
        let events: Vec<Value> = case["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| {
                json!({"ph": "X", "pid": row[0], "tid": row[1], "cat": row[2], "name": row[3], "ts": row[4], "dur": row[5],
                       "args": {"device": row[0], "stream": row[1]}})
            })
            .collect();
        let path = scratch.path().join(format!("{id}.json"));
        std::fs::write(&path, json!({"traceEvents": events}).to_string()).expect("written");
        let recording = read(&path, &Options::default()).unwrap_or_else(|error| panic!("{id}: {error}"));
        let mut checked = 0;
        for device in &recording.devices {
            let want = match &case["per_device"] {
                Value::Null => &case["want"],
                devices => &devices[&device.id.to_string()],
            };
            let found = figures(device, &recording);
            let (breakdown, overlap) = (&found["temporal_breakdown"], &found["overlap_analysis"]);
            for (key, ours) in [
                ("kernel", &breakdown["kernel_time_ns"]),
                ("compute", &breakdown["compute_time_ns"]),
                ("non_compute", &breakdown["non_compute_time_ns"]),
                ("idle", &breakdown["idle_time_ns"]),
                ("comp", &overlap["comp_time_ns"]),
                ("comm", &overlap["comm_time_ns"]),
                ("overlap", &overlap["overlap_time_ns"]),
            ] {
                if let Some(us) = want[key].as_f64() {
                    assert_eq!(ours.as_i64().expect("a time"), (us * 1000.0).round() as i64, "{id} {key}");
                    checked += 1;
                }
            }
            if want.get("union_pct").is_some() {
                assert!(is_close(&overlap["overlap_ratio_of_union_percent"], &want["union_pct"]), "{id}");
                assert!(is_close(&overlap["comm_hidden_by_comp_percent"], &want["hidden_pct"]), "{id}");
            }
        }
        assert!(checked >= 7, "{id}: {checked}");
        let says = |word: &str| recording.warnings.iter().any(|warning| warning.contains(word));
        assert_eq!(says("cover several later events"), id == "overflowing_duration_same_stream", "{id}");
        assert_eq!(says("times were lost"), id == "zero_time_stamps", "{id}: {:?}", recording.warnings);
    }
}

/// Each case as its own file, read with its options, in the forms that a list of events has.
fn check_reports(cases: &Value) {
    assert_eq!(cases["schema"], "trace-report-cases/1");
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("trace.json");
    for case in cases["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let arguments: Vec<&str> = case["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let patterns: Vec<String> = match arguments[..] {
            [] => vec![],
            ["--communication-pattern", pattern] => vec![pattern.to_owned()],
            _ => panic!("{name}: {arguments:?}: teach this test what they mean"),
        };
        let options = Options { rules: Rules::with_patterns(&patterns).expect("patterns"), ..Options::default() };
        let mark = if case["bom"] == true { "\u{feff}" } else { "" };
        for document in [json!({"traceEvents": case["events"]}), case["events"].clone()] {
            std::fs::write(&path, format!("{mark}{document}")).expect("written");
            let recording = read(&path, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
            let wanted = case["want"].as_object().expect("devices");
            assert_eq!(recording.devices.len(), wanted.len(), "{name}: {:?}", recording.warnings);
            for device in &recording.devices {
                let found = figures(device, &recording);
                let (breakdown, overlap) = (&found["temporal_breakdown"], &found["overlap_analysis"]);
                for (key, us) in wanted[&device.id.to_string()].as_object().expect("figures") {
                    let ours = match key.as_str() {
                        "kernel" => &breakdown["kernel_time_ns"],
                        "compute" => &breakdown["compute_time_ns"],
                        "non_compute" => &breakdown["non_compute_time_ns"],
                        "idle" => &breakdown["idle_time_ns"],
                        "comm" => &overlap["comm_time_ns"],
                        "overlap" => &overlap["overlap_time_ns"],
                        other => panic!("{name}: {other}: teach this test what it means"),
                    };
                    let us = us.as_f64().expect("a time");
                    assert_eq!(ours.as_i64().expect("a time"), (us * 1000.0).round() as i64, "{name}: {key}");
                }
            }
            let warns = recording.warnings.iter().any(|warning| warning.contains("--communication-pattern"));
            assert_eq!(warns, case["warn"] == true, "{name}: {:?}", recording.warnings);
            assert_eq!(recording.warnings.len(), usize::from(warns), "{name}: {:?}", recording.warnings);
        }
    }
}

#[test]
fn every_case_from_reports_comes_out() {
    check_reports(&document(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/trace_report_cases.json")));
    let Some(folder) = real_traces("real_traces::every_case_from_reports_comes_out (the shared copy)") else { return };
    let shared = folder.join("report_cases.json");
    if shared.is_file() {
        check_reports(&document(&shared));
    } else {
        let test = "real_traces::every_case_from_reports_comes_out (the shared copy)";
        graphalg_tests::needs::not_run(test, "report_cases.json in the folder of real traces");
    }
}
