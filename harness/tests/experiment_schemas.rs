//! The schemas of experiments by snapshot: manifest, attempt, every table; and their help.

mod campaign;

use campaign::{Campaign, read};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// Keys with the kinds of their values, in order; of a list its first element.
fn shape(text: &mut String, depth: usize, value: &Value) {
    let mut entry = |key: &str, value: &Value| {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "text",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        };
        writeln!(text, "{:depth$}{key}: {kind}", "", depth = depth * 2).expect("written");
        shape(text, depth + 1, value);
    };
    match value {
        // The records on stdout, and variables of this machine, have schemas of their own.
        Value::Object(map) => {
            map.iter().filter(|(key, _)| *key != "environment").for_each(|(key, value)| match key.as_str() {
                "metadata" | "result" | "timing" => entry(key, &Value::Bool(true)),
                "mpi" | "cuda_driver" | "gpus" => entry(key, &Value::Null),
                _ => entry(key, value),
            })
        }
        Value::Array(list) => {
            if let Some(first @ Value::Object(_)) = list.first() {
                entry("[0]", first);
            }
        }
        _ => {}
    }
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn manifest_attempt_and_tables_have_a_fixed_schema() {
    let profiling = Campaign::new("profiling", 1);
    profiling.run(&[], 0);
    for (name, path) in
        [("manifest", profiling.run.join("manifest.json")), ("attempt", profiling.attempts()[2].clone())]
    {
        let mut text = String::new();
        shape(&mut text, 0, &read(&path));
        snapshot(&format!("experiment_{name}"), &text);
    }
    profiling.experiment("collect", &[], 0);
    let performance = Campaign::new("performance", 1);
    performance.run(&[], 0);
    performance.experiment("analyze", &[], 0);
    let other = profiling.run.to_str().expect("utf-8");
    performance.experiment("plot", &["--profiling", other], 0);
    let mut text = String::new();
    for (campaign, folder) in [(&profiling, "collected"), (&performance, "analysis"), (&performance, "plots")] {
        let mut files: Vec<_> = fs::read_dir(campaign.run.join(folder))
            .expect("listed")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "csv"))
            .collect();
        files.sort();
        for path in files {
            let table = fs::read_to_string(&path).expect("read");
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            writeln!(text, "{folder}/{name}\n  {}", table.lines().next().expect("a header")).expect("written");
        }
    }
    snapshot("experiment_tables", &text);
}

#[test]
fn help_says_what_each_command_does() {
    let mut text = String::new();
    for arguments in [
        &["experiment", "--help"] as &[&str],
        &["experiment", "run", "--help"],
        &["experiment", "plot", "--help"],
        &["experiment", "check-equivalence", "--help"],
        &["experiment", "slurm", "--help"],
        &["nsys", "--help"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_harness")).args(arguments).env("COLUMNS", "100").output();
        let output = output.expect("started");
        assert!(output.status.success());
        writeln!(text, "$ harness {}\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stdout))
            .expect("written");
    }
    snapshot("experiment_help", &text);
}
