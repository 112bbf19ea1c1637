//! Small files as people bring them, each drawn from a public report: what the program makes of it, or how it refuses it, beside the
//! siblings of each case.

mod program;

use program::{command, file, harness};
use serde_json::Value;
use std::fs::File;

/// Cases whose options or formats this version does not have.
const AHEAD: [&str; 2] = ["names", "names_hint"];

fn decoded(base64: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = base64.bytes().filter(|&byte| byte != b'=');
    let bits: Vec<u32> =
        digits.map(|byte| alphabet.iter().position(|&other| other == byte).expect("a digit") as u32).collect();
    bits.chunks(4)
        .flat_map(|four| {
            let number = four.iter().enumerate().fold(0, |number, (place, digit)| number | digit << (18 - 6 * place));
            number.to_be_bytes()[1..four.len()].to_vec()
        })
        .collect()
}

/// The counts that stand in `graph info --json`, and the number of components that cc finds.
struct Found {
    info: Value,
    components: Option<u64>,
    err: String,
}

fn found(path: &str, options: &[&str]) -> Result<Found, (Option<i32>, String)> {
    let output = harness(&[&["graph", "info", path, "--json"], options].concat());
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!err.contains("panicked"), "{path}: {err}");
    if !output.status.success() {
        return Err((output.status.code(), err));
    }
    let without: Vec<&str> = options.iter().copied().filter(|&option| option != "--directed").collect();
    let run = harness(&[&["--algorithm", "cc", "--verify", "--graph", path], &without[..]].concat());
    let (out, run_err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{path}: {run_err}");
    let result = out.lines().find_map(|line| line.strip_prefix("BENCHMARK_RESULT ")).expect("a result");
    let result: Value = serde_json::from_str(result).expect("JSON");
    let info = serde_json::from_slice(&output.stdout).expect("JSON");
    Ok(Found { info, components: result["components"].as_u64(), err: run_err.into_owned() })
}

impl Found {
    /// Edges of the simple undirected graph.
    fn edges(&self) -> u64 {
        let count = |key: &str| self.info[key].as_u64().expect("a count");
        assert!(self.info["directed"] == false || count("duplicate_arcs") == 0, "arcs both ways would count twice");
        let arcs = count("arcs") - count("self_loops");
        if self.info["directed"] == true { arcs } else { arcs / 2 }
    }
}

fn check(name: &str, file_name: &str, bytes: &[u8], options: &[&str], expect: &Value) {
    let path = file(file_name, bytes);
    let path = path.to_str().expect("utf-8");
    let found = match found(path, options) {
        Ok(found) => found,
        Err((code, err)) => {
            assert_eq!(code.map(Value::from), expect.get("exit").cloned(), "{name}: {err}");
            for words in expect["says"].as_array().into_iter().flatten() {
                assert!(err.contains(words.as_str().expect("words")), "{name}: {err} does not say {words}");
            }
            return;
        }
    };
    assert!(expect.get("exit").is_none(), "{name}: not refused, {}", found.info);
    for (key, value) in expect.as_object().expect("an object") {
        let is = match key.as_str() {
            "edges" => found.edges().into(),
            "components" => found.components.into(),
            "warn" => found.err.contains("warning:").into(),
            key => found.info[key].clone(),
        };
        assert_eq!(is, *value, "{name}: {key}; {}{}", found.info, found.err);
    }
    if expect.get("warn").is_none() {
        assert!(!found.err.contains("warning:"), "{name}: {}", found.err);
    }
}

#[test]
fn every_report_case_is_read_or_refused_as_it_should_be() {
    let cases: Value = serde_json::from_str(include_str!("../../tests/data/report_cases.json")).expect("JSON");
    let mut checked = 0;
    for case in cases["cases"].as_array().expect("a list") {
        let name = case["name"].as_str().expect("a name");
        if AHEAD.contains(&name) {
            continue;
        }
        let bytes = match (case["input"].as_str(), case["base64"].as_str()) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (None, base64) => decoded(base64.expect("an input")),
        };
        let options: Vec<&str> = case["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        check(name, case["file"].as_str().expect("a file"), &bytes, &options, &case["expect"]);
        checked += 1;
    }
    assert_eq!(checked, 15);
}

/// A case of this file: the graph by its counts, whether it warns, and words on stderr.
#[track_caller]
fn reads(file_name: &str, bytes: &[u8], options: &[&str], counts: [u64; 3], words: Option<&str>) {
    let path = file(file_name, bytes);
    let found = found(path.to_str().expect("utf-8"), options).unwrap_or_else(|(_, err)| panic!("{err}"));
    let count = |key: &str| found.info[key].as_u64().expect("a count");
    assert_eq!([count("vertices"), count("arcs"), found.components.expect("a count")], counts, "{}", found.err);
    match words {
        Some(words) => assert!(found.err.contains(words), "`{words}` is not in\n{}", found.err),
        None => assert!(!found.err.contains("warning:"), "{}", found.err),
    }
}

#[track_caller]
fn refuses(file_name: &str, bytes: &[u8], options: &[&str], words: &str) {
    let path = file(file_name, bytes);
    let (code, err) = found(path.to_str().expect("utf-8"), options).err().expect("refused");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains(words), "`{words}` is not in\n{err}");
}

#[test]
fn konect_headers_say_what_the_columns_are() {
    // The largest left ID where nothing is declared; 1-1, 2-1: one component of 2 + 1.
    reads("out.x", b"% bip unweighted\n1 1\n2 1\n", &[], [3, 4, 1], Some("note     "));
    reads("out.x", b"% bip unweighted\n1 1\n2 1\n", &[], [3, 4, 1], Some("the right ID j is vertex 2 + j"));
    // Four left vertices are declared, of which two have edges.
    reads(
        "out.x",
        b"% bip weighted\n% 2 4 1\n1 1 5\n2 1 7\n",
        &[],
        [3, 4, 1],
        Some("says 4 left vertices, but the largest left ID is 2"),
    );
    reads("out.x", b"% bip weighted\n% 2 4 1\n1 1 5\n2 1 7\n", &[], [3, 4, 1], Some("the right ID j is vertex 4 + j"));
    reads("out.x", b"% sym unweighted\n% 2 3 3\n1 2\n2 3\n", &[], [3, 4, 1], None);
    reads(
        "out.x",
        b"% sym unweighted\n% 3 3 3\n1 2\n2 3\n",
        &[],
        [3, 4, 1],
        Some("the header says Edges: 3, but the file has 2"),
    );
    reads(
        "out.x",
        b"% asym weighted\r\n% 2 5 5\r\n1\t2\t1\t9\r\n2\t3\t1\t9\r\n",
        &[],
        [3, 2, 1],
        Some("says Nodes: 5, but the file has 3"),
    );
    reads("out.x", b"\xef\xbb\xbf% bip positive\n3 1\n1 2\n", &[], [4, 4, 2], Some("vertex 3 + j"));
    refuses("out.x", b"% bip unweighted\n0 1\n", &[], "the ID 0 in a bipartite KONECT file");
    let large: String = (1..300_000).map(|i| format!("{i} {}\n", i % 7 + 1)).collect();
    let large = format!("% bip unweighted\n{large}");
    reads("out.x", large.as_bytes(), &[], [300_006, 599_998, 7], Some("vertex 299999 + j"));
}

#[test]
fn a_first_line_that_counts_is_an_edge_with_a_warning_or_skipped() {
    reads("g.txt", b"# c\n3 2\n1 2\n2 3\n", &["--undirected"], [3, 4, 1], Some("give --skip-lines 2"));
    reads("g.txt", b"# c\n3 2\n1 2\n2 3\n", &["--skip-lines", "2"], [3, 2, 1], None);
    reads("g.csv", b"3,2\n1,2\n2,3\n", &[], [3, 3, 1], Some("the first line, 3 2, is read as an edge"));
    // Two more edges than it says, IDs above it, or a comment that counts the edges: no counts.
    reads("g.txt", b"3 2\n1 2\n2 3\n1 3\n", &[], [3, 4, 1], None);
    reads("g.txt", b"3 2\n1 2\n2 30\n", &[], [4, 3, 1], None);
    reads("g.txt", b"# Nodes: 3 Edges: 3\n3 2\n1 2\n2 3\n", &[], [3, 3, 1], None);
    reads("g.txt", b"junk\nmore junk\n1 2\n2 3\n", &["--skip-lines", "2"], [3, 2, 1], None);
    reads(
        "g.mtx",
        b"junk\n%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
        &["--skip-lines", "1"],
        [2, 1, 1],
        None,
    );
    refuses("g.txt", b"1 2\n2 x\n", &["--skip-lines", "1"], "g.txt:2: found");
    refuses("g.txt", b"1 2\n", &["--skip-lines", "3"], "--skip-lines 3: ");
    refuses("g.sg", &[0; 25], &["--skip-lines", "1"], "--skip-lines has no effect on");
}

#[test]
fn tables_have_commas_semicolons_quotes_and_names_of_columns() {
    reads("g.csv", b"src;dst;weight\r\n\"0\";\"1\";\"3,5\"\r\n1;2;x\r\n", &[], [3, 2, 1], None);
    reads("g.tsv", b"from\tto\n-5\t4\n", &[], [2, 1, 1], None);
    reads("g.csv", b"\xef\xbb\xbf\"Source\",\"Target\"\n1, 2\n 3 ,1\n", &[], [3, 2, 1], None);
    reads("g.csv", b"left,right\n1,2\n", &[], [2, 1, 1], Some("the line `left right` is taken for names of columns"));
    reads("g.csv", b"source,target\n", &[], [0, 0, 0], None);
    refuses(
        "g.csv",
        b"1,2\n2 3\n",
        &[],
        "g.csv:2: found `2 3`; expected two vertex IDs (integers) separated by commas",
    );
    refuses("g.csv", b"source,target\nsource,target\n1,2\n", &[], "g.csv:1: found");
    refuses("g.csv", b"1,2\n\"2,3\n", &[], "g.csv:2: found");
    refuses("g.csv", b"ada,grace\ngrace,alan\n", &[], "g.csv:1: found `ada,grace`");
}

#[test]
fn dimacs_and_matrix_market_headers_are_each_read_or_named() {
    reads("g.txt", b"c x\np col 4 2\nn 1 3\ne 1 2\ne 3 2\n", &[], [4, 4, 2], None);
    reads("g.col", b"p edge 3 1\ne 1 2\n", &[], [3, 2, 2], None);
    refuses("g.col", b"p edge 3 2\ne 1 2\n", &[], "g.col:1: found 1 edges after this header");
    refuses("g.max", b"p max 4 1\nn 1 s\na 1 2 5\n", &[], "a DIMACS problem of another kind, `p max`");
    refuses("g.gr", b"c x\np tw 3 1\n1 2\n", &[], "`p tw`");
    for (banner, words) in [
        ("array real general", "a dense (array) matrix"),
        ("coordinate complex general", "a complex matrix"),
        ("coordinate complex hermitian", "a hermitian matrix"),
        ("coordinate real skew-symmetric", "a skew-symmetric matrix"),
    ] {
        let text = format!("%%MatrixMarket matrix {banner}\n1 1 0\n");
        refuses("g.mtx", text.as_bytes(), &[], words);
    }
    reads("g.mtx", b"%%matrixmarket MATRIX Coordinate Integer Symmetric\n2 2 1\n2 1 7\n", &[], [2, 2, 1], None);
    reads("g.mtx", b"\xef\xbb\xbf%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n", &[], [2, 1, 1], None);
    reads(
        "g.mtx",
        b"%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n",
        &[],
        [2, 1, 1],
        Some("one % instead of two"),
    );
    refuses("g.graph", b"3 1 2\n2\n1\n\n", &[], "g.graph:1: found");
}

#[test]
fn metis_is_read_from_standard_input_by_name_and_by_content() {
    let text = b"% c\n4 3\n2\n1 3 4\n2\n2\n";
    let path = file("g.graph", text);
    let piped = |options: &[&str], path: &std::path::Path| {
        let mut command = command(&[&["graph", "info", "-", "--json"], options].concat());
        let output = command.stdin(File::open(path).expect("a file")).output().expect("started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let info: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (info["vertices"].as_u64(), info["arcs"].as_u64(), info["directed"].as_bool())
    };
    for options in [&[][..], &["--format", "metis"]] {
        assert_eq!(piped(options, &path), (Some(4), Some(6), Some(false)), "{options:?}");
    }
    // Where an edge list would have the same counts, only the name helps.
    let ring = file("ring.graph", b"3 3\n2 3\n1 3\n1 2\n");
    assert_eq!(piped(&["--format", "metis"], &ring), (Some(3), Some(6), Some(false)));
    assert_eq!(piped(&[], &ring).2, Some(true));
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, text).expect("in memory");
    let packed = file("x", &packer.finish().expect("in memory"));
    assert_eq!(piped(&[], &packed), (Some(4), Some(6), Some(false)));
}

#[test]
fn binary_graphs_of_other_programs_are_told_by_content_name_and_size() {
    let longs = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let words = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    // Graph500: edges 0-1 and 1-2, wide and packed; three wide edges are as long as four packed ones.
    let wide = longs(&[0, 1, 1, 2]);
    let packed = words(&[0, 1, 0, 1, 2, 0]);
    reads("g.graph500", &wide, &[], [3, 2, 1], None);
    reads("g.g500", &packed, &[], [3, 2, 1], None);
    reads("g.g500", &[&wide[..], &longs(&[2, 0])].concat(), &["--format", "graph500"], [3, 3, 1], None);
    refuses("g.g500", &[&wide[..], &longs(&[2, 0])].concat(), &[], "--format graph500 or --format graph500-packed");
    refuses("g.g500", &wide[..31], &[], "the file is truncated");
    refuses("g.g500", &wide, &["--format", "graph500-packed"], "not a multiple of 12");
    refuses("g.g500", &longs(&[0, u64::MAX]), &[], "ends at vertex -1");
    reads("g.g500", b"", &[], [0, 0, 0], None);
    // Galois, both versions, with data and without the padding.
    let head = |version: u64, data: u64| longs(&[version, data, 3, 3, 1, 3, 3]);
    let galois = [&head(1, 0)[..], &words(&[1, 0, 2, 0])].concat();
    reads("g.gr", &galois, &[], [3, 3, 1], None);
    reads("g.gr", &galois, &["--format", "gr"], [3, 3, 1], None);
    reads("g.bin.txt", &galois[..galois.len() - 4], &[], [3, 3, 1], None);
    reads("g.gr", &[&head(1, 4)[..], &words(&[1, 0, 2, 0, 7, 7, 7])].concat(), &[], [3, 3, 1], None);
    reads("g.gr", &[&head(2, 0)[..], &longs(&[1, 0, 2])].concat(), &[], [3, 3, 1], None);
    refuses("g.gr", &galois[..galois.len() - 8], &[], "the file is truncated");
    refuses("g.gr", &[&head(2, 0)[..], &longs(&[1, 0, 3])].concat(), &[], "vertex 1 lists 3, which is no vertex");
    // PASGAL and GBBS.
    let gbbs = [&longs(&[3, 3, 68, 0, 1, 3, 3])[..], &words(&[1, 0, 2])].concat();
    reads("g.bin", &gbbs, &[], [3, 3, 1], None);
    refuses("g.bin", &gbbs[..60], &[], "the file is truncated");
    // GAP with weights.
    let wsg = [&[0][..], &longs(&[2, 2, 0, 1, 2]), &words(&[1, 50, 0, 50])].concat();
    reads("g.wsg", &wsg, &[], [2, 2, 1], None);
}

#[test]
fn adjacency_graphs_bind_their_counts() {
    reads("g.adj", b"WeightedAdjacencyGraph\n3\n2\n0\n1\n1\n2\n0\n5\n0.5\n", &[], [3, 2, 2], None);
    reads("g.txt", b"AdjacencyGraph\n2 1\n0 1 1\n", &[], [2, 1, 1], None);
    reads("g.adj", b"AdjacencyGraph\n0\n0\n", &[], [0, 0, 0], None);
    refuses("g.adj", b"AdjacencyGraph\n2\n2\n0\n1\n1\n", &[], "the file may be truncated");
    refuses("g.adj", b"AdjacencyGraph\n2\n1\n0\n1\n1\n1\n", &[], "the counts may be wrong");
    refuses("g.adj", b"AdjacencyGraph\n2\n1\n0\n1\n2\n", &[], "target 0 is no vertex");
    refuses("g.adj", b"AdjacencyGraph\n2\n1\n0\n2\n1\n", &[], "the offset after vertex 0 is 2");
    refuses("g.adj", b"AdjacencyGraph\n2\n1\n0\n1\nx\n", &[], "g.adj:6: found `x`");
    refuses("g.adj", b"AdjacencyHypergraph\n2\n", &["--format", "adjacency"], "g.adj:1: found");
    refuses("g.adj", b"AdjacencyGraph\n99999999999\n1\n", &[], "a graph has at most");
}

#[test]
fn bytes_after_a_packed_file_are_a_warning_and_inputs_with_budgets_say_the_same() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, b"2 1\n1 2\n").expect("in memory");
    let bytes = [packer.finish().expect("in memory"), b"trailer".to_vec()].concat();
    reads("g.txt.gz", &bytes, &[], [2, 2, 1], Some("7 bytes after the end of the packed content"));
    let path = file("g.txt.gz", &bytes);
    let convert = |path: &std::path::Path, words: &str| {
        let out = path.with_file_name("out.gcsr");
        let options = ["--memory", "32M", "--skip-lines", "0"];
        let output = harness(
            &[&["graph", "convert", path.to_str().expect("utf-8"), out.to_str().expect("utf-8")], &options[..]]
                .concat(),
        );
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && err.contains(words), "{err}");
    };
    convert(&path, "warning: ");
    convert(&file("g.csv", b"a,b\n1,2\n"), "the line `a b` is taken for names of columns");
    convert(&file("g.txt", b"3 2\n1 2\n2 3\n"), "give --skip-lines 1");
    convert(&file("out.x", b"% bip unweighted\n1 1\n"), "the right ID j is vertex 1 + j");
}
