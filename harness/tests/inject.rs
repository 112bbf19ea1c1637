//! Strikes from the command line: none is silent, a row repeats by its seed, and what is written is what is said.

mod program;

use program::harness;
use std::collections::BTreeMap;
use std::path::Path;

fn pairs() -> std::path::PathBuf {
    // Two dense spots, a long path between them, and a pair apart.
    let mut text = String::new();
    for u in 0..12 {
        for v in 0..u {
            text += &format!("{u} {v}\n{} {}\n", u + 100, v + 100);
        }
    }
    (11..100).for_each(|v| text += &format!("{v} {}\n", v + 1));
    text += "200 201\n";
    program::file("spots.txt", text.as_bytes())
}

/// The summary and what was said.
#[track_caller]
fn inject(arguments: &[&str], code: i32) -> (serde_json::Value, String) {
    let output = harness(&[&["inject"], arguments].concat());
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{err}");
    let line = out.strip_prefix("INJECT_SUMMARY ").unwrap_or("null");
    (serde_json::from_str(line.trim_end()).expect("JSON"), err.into_owned())
}

fn rows(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join("strikes.csv")).expect("strikes.csv");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

#[test]
fn no_strike_on_any_algorithm_is_silent_and_no_clean_run_raises_an_alarm() {
    let graph = pairs();
    let graph = graph.to_str().expect("UTF-8");
    for (algorithm, options) in [
        ("bfs", &[][..]),
        ("cc", &[]),
        ("kcore", &["-k", "3"]),
        ("kcore", &["--all-cores"]),
        ("pagerank", &["--tolerance", "1e-6"]),
    ] {
        for ranks in ["1", "3"] {
            let fixed = [
                "--algorithm",
                algorithm,
                "--graph",
                graph,
                "--ranks",
                ranks,
                "--strikes",
                "120",
                "--",
                "--undirected",
            ];
            // cc and kcore take both directions anyway.
            let (summary, said) = inject(&[&fixed[..], options].concat(), 0);
            assert_eq!(summary["strikes"], 120, "{said}");
            for none in ["silent", "panics", "timeouts", "false_alarms"] {
                assert_eq!(summary[none], 0, "{algorithm} on {ranks} ranks: {said}");
            }
            assert!(summary["detected_recovered"].as_u64() > Some(10), "{algorithm} on {ranks} ranks: {said}");
        }
    }
}

#[test]
fn a_row_repeats_by_its_seed_and_the_folder_holds_what_was_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = pairs();
    let base = ["--algorithm", "bfs", "--graph", graph.to_str().expect("UTF-8"), "--ranks", "2"];
    let out = folder.path().to_str().expect("UTF-8");
    let (summary, _) = inject(&[&base[..], &["--strikes", "40", "--seed", "5", "--output", out]].concat(), 0);
    let first = rows(folder.path());
    assert_eq!(first.len(), 40);
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("summary.json")).expect("read")).expect("JSON");
    assert_eq!(written, summary);
    assert!(folder.path().join("outcomes.svg").is_file() && folder.path().join("outcomes.png").is_file());
    let sum: u64 = summary["by"].as_array().expect("groups").iter().map(|group| group["n"].as_u64().expect("n")).sum();
    assert_eq!(sum, 40);
    for row in first.iter().filter(|row| row["outcome"] != "masked").take(6) {
        inject(&[&base[..], &["--repeat", &row["seed"], "--output", out]].concat(), 0);
        let again = rows(folder.path());
        assert_eq!(again.len(), 1);
        for same in [
            "model",
            "target",
            "rank",
            "vertex",
            "field",
            "iteration",
            "bit",
            "outcome",
            "tier",
            "verdict_iteration",
            "iterations_redone",
        ] {
            assert_eq!(again[0][same], row[same], "{same} of {row:?}");
        }
    }
}

#[test]
fn without_the_certificate_something_may_be_silent_and_says_so() {
    // A membership is flipped after the last check of tier 1: only the certificate would see it.
    let graph = pairs();
    let arguments =
        ["--algorithm", "kcore", "--graph", graph.to_str().expect("UTF-8"), "--target", "answer", "--model", "bit1"];
    let (summary, said) =
        inject(&[&arguments[..], &["--strikes", "20", "--", "-k", "3", "--certify", "off"]].concat(), 1);
    // Any number but 0 is membership, so flips of high bits of a member change nothing.
    assert!(summary["silent"].as_u64() > Some(0), "{said}");
    assert!(said.contains("SILENT") && said.contains("FAILED"), "{said}");
    let (summary, said) = inject(&[&arguments[..], &["--strikes", "20", "--", "-k", "3"]].concat(), 0);
    assert_eq!(summary["detected_recovered"], 20, "{said}");
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let (_, said) = inject(&["--algorithm", "bfs", "--model", "bit3"], 2);
    assert!(said.contains("no model is called `bit3` (known: bit1, bit2"), "{said}");
    let (_, said) = inject(&["--algorithm", "bfs", "--target", "disk"], 2);
    assert!(said.contains("no target is called `disk`"), "{said}");
    let (_, said) = inject(&["--algorithm", "bfs", "--target", "ghost", "--model", "drop"], 2);
    assert!(said.contains("ghosts need --ranks of at least 2"), "{said}");
    let (_, said) = inject(&["--algorithm", "kcore", "--", "--fault-tolerance", "off", "-k", "2"], 2);
    assert!(said.contains("leaves nothing to strike at"), "{said}");
}
