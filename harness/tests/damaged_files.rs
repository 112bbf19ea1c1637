//! A `.gcsr` file with one bit changed, cut short or with something after it is refused by every command that reads it: exit 2,
//! the damage named, no answer. Without its checksums it is read only where nothing is proved about the answer.

mod program;

use program::{check, command, file, harness};
use std::path::{Path, PathBuf};

/// Flips for each way of running; every flip is a process.
const FLIPS: usize = 120;

fn text(path: &Path) -> &str {
    path.to_str().expect("utf-8")
}

/// A directed graph with IDs, as `.gcsr`; reordered, or in the order of its IDs.
fn stored(order: Option<&str>) -> (PathBuf, Vec<u8>) {
    let arcs: String = (0..700u64).map(|i| format!("{} {}\n", i * i % 211 * 3, i * 31 % 197 * 3)).collect();
    let plain = file("g.txt", arcs.as_bytes());
    let path = plain.with_extension("gcsr");
    let mut options = vec!["graph", "convert", text(&plain), text(&path)];
    options.extend(order.iter().flat_map(|order| ["--reorder", order]));
    assert!(harness(&options).status.success());
    let bytes = std::fs::read(&path).expect("written");
    (path, bytes)
}

/// A place in the file: mostly in a section, sometimes in the first page or between sections.
fn place(bytes: &[u8], number: usize) -> (usize, u8) {
    let mut random = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    random = (random ^ random >> 31).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let bit = 1 << (random % 8);
    let random = (random >> 8) as usize;
    let used: Vec<usize> = (4096..bytes.len()).filter(|&at| bytes[at] != 0).collect();
    match number % 4 {
        0 => (random % 800, bit),
        1 => (random % bytes.len(), bit),
        _ => (used[random % used.len()], bit),
    }
}

fn refused(path: &Path, bytes: &[u8], what: &str, options: &[&str]) {
    std::fs::write(path, bytes).expect("written");
    let output = harness(&[&["--graph", text(path)], options].concat());
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{what}, {options:?}: {err}");
    assert!(output.stdout.is_empty() && err.contains("g.gcsr: "), "{what}: {err}");
}

#[test]
fn a_flipped_bit_is_refused_with_protection_with_a_certificate_and_without_both() {
    for (path, whole) in [stored(None), stored(Some("hub"))] {
        for options in [
            &["--algorithm", "kcore", "--all-cores", "--fault-tolerance", "on"][..],
            &["--algorithm", "bfs", "--certify", "on", "--ranks", "2"],
            &["--algorithm", "cc"],
        ] {
            let mut bytes = whole.clone();
            for number in 0..FLIPS / 2 {
                let (at, bit) = place(&whole, number);
                bytes[at] ^= bit;
                refused(&path, &bytes, &format!("byte {at} changed by {bit:#x}"), options);
                bytes[at] ^= bit;
            }
            std::fs::write(&path, &bytes).expect("written");
            check(&[&["--graph", text(&path)], options].concat(), 0, "result");
        }
    }
}

#[test]
fn a_file_cut_short_or_with_something_after_it_is_refused() {
    let (path, whole) = stored(None);
    let protected = ["--algorithm", "cc", "--fault-tolerance", "on"];
    for cut in (0..=whole.len()).step_by(4096).filter(|&cut| cut != whole.len()) {
        refused(&path, &whole[..cut], &format!("cut at {cut}"), &protected);
    }
    refused(&path, &[&whole[..], b"\0"].concat(), "a byte after it", &protected[..2]);
}

#[test]
fn other_commands_refuse_it_too() {
    let (path, mut bytes) = stored(None);
    let folder = path.parent().expect("a folder");
    let checkpoints = folder.join("checkpoints");
    let arguments = ["--algorithm", "cc", "--graph", text(&path), "--fault-tolerance", "on", "--checkpoint-dir"];
    check(&[&arguments[..], &[text(&checkpoints)]].concat(), 0, "result");
    let (at, bit) = place(&bytes, 2);
    bytes[at] ^= bit;
    std::fs::write(&path, &bytes).expect("written");
    let words = "does not match its checksum; the file is damaged, convert it again from its source";
    check(&["resume", text(&checkpoints)], 2, words);
    check(&["inject", "--algorithm", "cc", "--graph", text(&path), "--strikes", "1"], 2, words);
    check(&["graph", "info", text(&path)], 2, words);
    check(&["graph", "info", text(&path), "--verify"], 2, words);
    check(&["graph", "convert", text(&path), text(&folder.join("other.txt"))], 2, words);
    let piped =
        command(&["--algorithm", "cc", "--graph", "-"]).stdin(std::fs::File::open(&path).expect("a file")).output();
    let piped = piped.expect("started");
    assert_eq!(piped.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&piped.stderr).contains(words));
}

#[test]
fn a_file_can_be_trusted_but_not_with_a_proof() {
    let (path, mut bytes) = stored(None);
    let graph = ["--algorithm", "cc", "--graph", text(&path), "--trust-file"];
    let with = |options: &[&str], words: &str| check(&[&graph[..], options].concat(), 2, words);
    with(&["--certify", "on"], "--trust-file and --certify on contradict each other");
    with(&["--fault-tolerance", "on"], "--trust-file and --fault-tolerance on contradict each other");
    with(&["--method", "single_cpu_fault_tolerant"], "--trust-file and --method single_cpu_fault_tolerant contradict");
    check(
        &["inject", "--algorithm", "cc", "--graph", text(&path), "--strikes", "1", "--", "--trust-file"],
        2,
        "--trust-file and --fault-tolerance on contradict each other",
    );
    check(&["graph", "info", text(&path), "--trust-file", "--verify"], 2, "cannot be used with");
    let plain = path.with_extension("txt");
    check(&["--algorithm", "cc", "--graph", text(&plain), "--trust-file"], 2, "--trust-file has no effect on");

    // The page's end before the last section, the checksums: nothing reads it but the check.
    let checksums = bytes.len() / 4096 * 4096;
    bytes[checksums - 1] ^= 1;
    std::fs::write(&path, &bytes).expect("written");
    let output = harness(&graph);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains(r#""parameters":{"trust_file":true}"#));
    check(&graph[..4], 2, "between sections is not 0");
}
