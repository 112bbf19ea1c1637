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
    for plot in ["outcomes", "delays"] {
        for form in ["svg", "png", "dark.svg", "dark.png", "csv"] {
            assert!(folder.path().join(format!("{plot}.{form}")).is_file(), "{plot}.{form}");
        }
    }
    assert!(first.iter().all(|row| !row["field"].is_empty()), "every strike hit something");
    let sum: u64 = summary["by"].as_array().expect("groups").iter().map(|group| group["n"].as_u64().expect("n")).sum();
    assert_eq!(sum, 40);
    let seeds = |rows: &[BTreeMap<String, String>]| rows.iter().map(|row| row["seed"].clone()).collect::<Vec<_>>();
    // A seed says which strike it is, whatever the campaign asked for.
    let other = tempfile::tempdir().expect("a folder");
    let few = ["--strikes", "9", "--seed", "5", "--model", "zero", "--output", other.path().to_str().expect("UTF-8")];
    inject(&[&base[..], &few].concat(), 0);
    let few = rows(other.path());
    assert!(few.iter().all(|row| row["model"] == "zero"), "{few:?}");
    assert_ne!(seeds(&few), seeds(&first[..9]));
    for row in few.iter().take(3).chain(first.iter().filter(|row| row["outcome"] != "masked").take(6)) {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().to_str().expect("UTF-8");
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
    let full = tempfile::tempdir().expect("a folder");
    std::fs::write(full.path().join("strikes.csv"), "").expect("written");
    let full = full.path().to_str().expect("UTF-8");
    let refused = |arguments: &[&str], words: &str| {
        let (_, said) = inject(arguments, 2);
        assert!(said.contains(words), "{arguments:?}: `{words}` is not in {said}");
    };
    let bfs = |more: &[&'static str]| [&["--algorithm", "bfs"], more].concat();
    refused(&bfs(&["--model", "bit3"]), "no model is called `bit3` (known: bit1, bit2");
    refused(&bfs(&["--target", "disk"]), "no target is called `disk` (known: field");
    refused(&bfs(&["--model", ""]), "no model is called ``");
    refused(&bfs(&["--target", "ghost", "--model", "drop"]), "need --ranks of at least 2");
    refused(&bfs(&["--target", "ghost"]), "need --ranks of at least 2");
    refused(&bfs(&["--ranks", "2", "--target", "summary", "--model", "drop"]), "none of these models hits any");
    refused(&bfs(&["--strikes", "0"]), "invalid value '0' for '--strikes <N>'");
    refused(&bfs(&["--ranks", "0"]), "invalid value '0' for '--ranks <N>'");
    refused(&bfs(&["--repeat", "5", "--strikes", "9"]), "cannot be used with");
    refused(&bfs(&["--repeat", "5", "--model", "bit1"]), "cannot be used with");
    refused(&bfs(&["--", "--ranks", "2"]), "cannot be used multiple times");
    refused(&bfs(&["--", "--trials", "2"]), "--trials has no effect on strikes");
    refused(&bfs(&["--", "--output", "levels.csv"]), "--output has no effect on strikes");
    refused(&bfs(&["--", "--checkpoint-dir", "folder"]), "--checkpoint-dir has no effect on strikes");
    refused(&bfs(&["--", "-k", "3"]), "-k");
    refused(&bfs(&["--", "--fault-tolerance", "off"]), "leaves nothing to strike at");
    refused(&bfs(&["--", "--method", "single_cpu_baseline"]), "leaves nothing to strike at");
    refused(&bfs(&["--graph", "absent.txt"]), "absent.txt");
    refused(&["--algorithm", "dfs"], "did you mean `bfs`");
    refused(&["--algorithm", "kcore"], "required");
    refused(&["--algorithm", "bfs", "--output", full], "must be new or empty, and this one holds `strikes.csv`");
    // It hooks in place: on one rank there never is a list of active vertices.
    let graph = pairs();
    let base = ["--algorithm", "cc", "--graph", graph.to_str().expect("UTF-8")];
    let (summary, said) = inject(&[&base[..], &["--strikes", "5", "--target", "field,ghost"]].concat(), 0);
    assert_eq!(summary["strikes"], 5, "{said}");
    assert!(said.contains("left out drop, duplicate, corrupt, ghost (ghosts and messages need --ranks"), "{said}");
}

#[test]
fn watching_without_a_terminal_says_a_line_with_outcomes_and_delays() {
    let graph = pairs();
    let base = ["--algorithm", "bfs", "--graph", graph.to_str().expect("UTF-8"), "--strikes", "60"];
    let (summary, said) = inject(&[&base[..], &["--watch"]].concat(), 0);
    let last = said.lines().rfind(|line| line.starts_with("watch ")).unwrap_or_else(|| panic!("{said}"));
    assert!(last.contains("60 of 60 strikes") && last.contains("supersteps to a verdict: 0: "), "{last}");
    assert!(last.contains(&format!("{} masked", summary["masked"])), "{last}");
    assert!(said.chars().all(|c| c != '\u{1b}'), "no codes of a terminal");
    let (_, said) = inject(&base, 0);
    assert!(!said.contains("watch ") && said.contains("seed 7"), "{said}");
}

#[test]
fn the_help_is_for_people_who_never_struck_anything() {
    let output = harness(&["inject", "--help"]);
    assert!(output.status.success());
    insta::assert_snapshot!("help_inject", String::from_utf8(output.stdout).expect("UTF-8"));
}
