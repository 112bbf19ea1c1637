//! The answer file: CSV and binary, in ascending original ID, whole or not at all.

mod program;

use program::{check, file};
use std::fs;

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
