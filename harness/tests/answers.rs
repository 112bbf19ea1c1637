//! The answer file: CSV and binary, in ascending original ID, whole or not at all.

mod program;

use program::{check, file};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

fn answer(options: &[&str], ending: &str) -> Vec<u8> {
    let graph = file("g.txt", b"10 -2\n-2 7\n7 10\n10 20\n99 99\n");
    let output = graph.with_extension(ending);
    let paths = ["--graph", graph.to_str().expect("utf-8"), "--output", output.to_str().expect("utf-8")];
    check(&[options, &paths].concat(), 0, "answer ");
    fs::read(output).expect("the answer")
}

fn csv(options: &[&str]) -> String {
    String::from_utf8(answer(options, "csv")).expect("utf-8")
}

#[test]
fn csv_has_a_header_and_one_row_a_vertex_in_ascending_id() {
    assert_eq!(csv(&["--algorithm", "bfs", "-s", "10"]), "vertex,level\n-2,1\n7,2\n10,0\n20,1\n99,-1\n");
    assert_eq!(csv(&["--algorithm", "cc"]), "vertex,component\n-2,-2\n7,-2\n10,-2\n20,-2\n99,99\n");
    assert_eq!(csv(&["--algorithm", "kcore", "-k", "2"]), "vertex,core\n-2,1\n7,1\n10,1\n20,0\n99,0\n");
    assert_eq!(csv(&["--algorithm", "kcore", "--all-cores"]), "vertex,core\n-2,2\n7,2\n10,2\n20,1\n99,0\n");
}

#[test]
fn ranks_read_back_to_the_same_number() {
    let text = csv(&["--algorithm", "pagerank"]);
    let binary = answer(&["--algorithm", "pagerank"], "bin");
    assert_eq!(&binary[..8], b"GALGANS1");
    let ids = binary[24..24 + 40].chunks(8).map(|id| i64::from_le_bytes(id.try_into().expect("8 bytes")));
    assert_eq!(ids.collect::<Vec<_>>(), [-2, 7, 10, 20, 99]);
    let values = binary[64..].chunks(8).map(|value| f64::from_le_bytes(value.try_into().expect("8 bytes")));
    let rows = text.lines().skip(1).map(|row| row.split_once(',').expect("two columns").1.parse::<f64>().expect("f64"));
    assert_eq!(values.collect::<Vec<_>>(), rows.collect::<Vec<_>>());
}

#[test]
fn an_answer_file_is_replaced_whole_and_nothing_else_is_left() {
    let graph = file("g.txt", b"1 2\n");
    let folder = graph.parent().expect("a folder");
    let output = folder.join("answer.csv");
    fs::write(&output, "old").expect("written");
    let paths = ["--graph", graph.to_str().expect("utf-8"), "--output", output.to_str().expect("utf-8")];
    check(&[&["--algorithm", "cc"] as &[&str], &paths].concat(), 0, "(2 rows)");
    assert_eq!(fs::read_to_string(&output).expect("the answer"), "vertex,component\n1,1\n2,1\n");
    assert_eq!(fs::read_dir(folder).expect("listed").count(), 2);
}

/// What is in a folder, by name and content.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("listed").map(|entry| entry.expect("an entry"));
    let read = |entry: fs::DirEntry| {
        let content = fs::read(entry.path()).unwrap_or_default();
        (entry.file_name().to_string_lossy().into_owned(), content)
    };
    let mut found: Vec<_> = entries.map(read).collect();
    found.sort();
    found
}

#[test]
fn an_output_that_cannot_be_written_ends_before_the_graph_is_read_and_changes_nothing() {
    // The graph is not there: whatever is said of the output was found first.
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("utf-8").to_owned();
    fs::create_dir(folder.path().join("folder.csv")).expect("made");
    fs::write(folder.path().join("file"), "").expect("written");
    assert!(Command::new("mkfifo").arg(at("pipe.csv")).status().expect("started").success());
    symlink(folder.path().join("gone/answer.csv"), folder.path().join("dangling.csv")).expect("linked");
    let before = folder.path().read_dir().expect("listed").count();
    for (output, code, words) in [
        ("folder.csv", 2, "is a folder; name a file in it"),
        ("pipe.csv", 2, "is no regular file; name another one"),
        ("answer.xlsx", 2, "end it in .csv or .bin"),
        ("no/such/folder.csv", 3, "cannot write it"),
        ("file/answer.csv", 3, "cannot write it"),
    ] {
        check(&["--algorithm", "cc", "--graph", &at("absent.txt"), "--output", &at(output)], code, words);
        assert_eq!(folder.path().read_dir().expect("listed").count(), before, "{output}");
    }
    // An output that is the graph itself, under its own name or another.
    fs::write(folder.path().join("graph.csv"), "1 2\n").expect("written");
    symlink(folder.path().join("graph.csv"), folder.path().join("link.csv")).expect("linked");
    for output in ["graph.csv", "link.csv"] {
        let arguments = ["--algorithm", "cc", "--graph", &at("graph.csv"), "--output", &at(output)];
        check(&arguments, 2, "is the graph, which the answer would replace");
    }
    assert_eq!(fs::read(folder.path().join("graph.csv")).expect("read"), b"1 2\n");
}

#[test]
fn a_run_that_fails_keeps_the_file_that_was_there_and_leaves_no_half_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("utf-8").to_owned();
    fs::write(folder.path().join("bad.txt"), "1 2\n3 four\n").expect("written");
    fs::write(folder.path().join("good.txt"), "1 2\n2 3\n3 1\n").expect("written");
    fs::write(folder.path().join("old.csv"), "old").expect("written");
    let before = content(folder.path());
    let output = ["--output", &at("old.csv")];
    let check = |arguments: &[&str], code: i32| {
        check(&[arguments, &output].concat(), code, "");
        assert_eq!(content(folder.path()), before, "{arguments:?}");
    };
    check(&["--algorithm", "cc", "--graph", &at("absent.txt")], 2);
    check(&["--algorithm", "cc", "--graph", &at("bad.txt")], 2);
    check(&["--algorithm", "bfs", "-s", "99", "--graph", &at("good.txt")], 2);
    // A link to a file stays a link, and the file it names gets the answer.
    symlink(folder.path().join("old.csv"), folder.path().join("link.csv")).expect("linked");
    program::check(&["--algorithm", "cc", "--graph", &at("good.txt"), "--output", &at("link.csv")], 0, "(3 rows)");
    assert!(fs::symlink_metadata(folder.path().join("link.csv")).expect("there").is_symlink());
    assert!(fs::read_to_string(folder.path().join("old.csv")).expect("read").starts_with("vertex,component\n"));
}
