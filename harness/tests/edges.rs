//! Input at the edges: what users get wrong, and what looks wrong but is not. Each case asserts exit code and words.

mod program;

use program::{check, file, harness};

#[test]
fn an_unknown_algorithm_gets_the_nearest_spelling() {
    check(
        &["--algorithm", "kcor", "-k", "5"],
        2,
        "no algorithm is called `kcor`; did you mean `kcore`? (known: bfs, cc,",
    );
    check(&["--algorithm", "zzzzzzzzz"], 2, "no algorithm is called `zzzzzzzzz` (known: bfs, cc, kcore, pagerank)");
    check(&["--graph", "x.txt"], 2, "which algorithm? give --algorithm NAME (known: bfs, cc, kcore, pagerank)");
}

#[test]
fn k_is_at_least_one_and_one_of_the_two_ways_is_chosen() {
    check(&["--algorithm", "kcore", "-k", "0"], 2, "invalid value '0' for '--k <K>'");
    check(&["--algorithm", "kcore"], 2, "<--k <K>|--all-cores>");
    check(&["--algorithm", "kcore", "-k", "5", "--all-cores"], 2, "cannot be used with");
}

#[test]
fn an_absent_source_names_what_could_be_meant() {
    check(
        &["--algorithm", "bfs", "-s", "0"],
        2,
        "source 0 is not in the graph `cit-HepPh`: the smallest ID is 1001 (index:0)",
    );
    check(&["--algorithm", "bfs", "-s", "0"], 2, "max-degree");
    check(&["--algorithm", "bfs", "-s", "index:34546"], 2, "the largest index is 34545");
    check(&["--algorithm", "bfs", "-s", "first"], 2, "a source is an original ID");
    check(
        &["--algorithm", "bfs", "-s", "index:0"],
        0,
        "source 1001 reaches 20,507 of 34,546 vertices, the farthest at level 31",
    );
}

#[test]
fn an_option_without_effect_is_refused_by_name() {
    check(&["--algorithm", "cc", "-s", "5"], 2, "-s/--source is an option of bfs; it has no effect on cc");
    check(
        &["--algorithm", "bfs", "--damping", "0.5"],
        2,
        "--damping is an option of pagerank; it has no effect on bfs",
    );
    check(&["--algorithm", "cc", "--layout", "rows"], 2, "--layout rows has no effect on cc");
    check(&["--algorithm", "pagerank", "--layout", "rows"], 0, "of 34,546 vertices");
    check(&["--algorithm", "cc", "--directed"], 2, "--directed has no effect on cc");
    check(&["--algorithm", "kcore", "-k", "2", "--directed"], 2, "--directed has no effect on kcore");
    check(&["--algorithm", "cc", "-n", "--output", "x.csv"], 2, "cannot be used with");
    check(&["--algorithm", "cc", "--dataset-dir", "."], 2, "--dataset <NAME>");
}

#[test]
fn weights_are_taken_without_protection_and_said_to_have_no_effect() {
    check(&["--algorithm", "cc", "-a", "0.25", "-t", "1"], 0, "-a, -t had no effect: the run was not protected");
    check(&["--algorithm", "cc", "-a", "1.5"], 2, "a number from 0 to 1");
    check(&["--algorithm", "cc", "-a", "0", "-b", "0"], 2, "-a and -b are both 0");
}

#[test]
fn numbers_that_are_none_are_refused() {
    for damping in ["NaN", "1", "-0.1", "inf", "x"] {
        check(&["--algorithm", "pagerank", "--damping", damping], 2, "damping");
    }
    for tolerance in ["0", "NaN", "-1", "inf"] {
        check(&["--algorithm", "pagerank", "--tolerance", tolerance], 2, "the tolerance is a number above 0");
    }
    check(&["--algorithm", "cc", "--ranks", "0"], 2, "invalid value '0' for '--ranks <N>'");
    check(&["--algorithm", "cc", "--threads", "0"], 2, "invalid value '0' for '--threads <N>'");
    check(&["--algorithm", "cc", "--trials", "0"], 2, "invalid value '0' for '--trials <N>'");
}

#[test]
fn a_method_and_ranks_that_disagree_are_both_named() {
    let words = "--method single_cpu_baseline and --ranks 2 contradict each other";
    check(&["--algorithm", "cc", "--method", "single_cpu_baseline", "--ranks", "2"], 2, words);
    check(&["--algorithm", "cc", "--method", "multi_cpu_baseline", "--ranks", "1"], 2, "contradict each other");
    check(&["--algorithm", "cc", "--method", "multi_cpu_baseline"], 0, "2 ranks x 1 thread");
    check(&["--algorithm", "cc", "--method", "single_tpu_baseline"], 2, "single_cpu_baseline");
}

#[test]
fn a_run_that_does_not_converge_is_exit_1_with_its_records() {
    let output = harness(&["--algorithm", "pagerank", "--max-iterations", "3", "--verify"]);
    assert_eq!(output.status.code(), Some(1));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains(r#""iterations":3,"converged":false"#) && out.contains(r#""verified":false"#), "{out}");
    assert!(err.contains("trial 0 did not converge within 3 supersteps"), "{err}");
}

#[test]
fn bad_files_are_exit_2_with_their_line_and_reason() {
    let cases: [(&str, &[u8], &str); 9] = [
        ("bad-line.txt", b"1 2\n2 3\n3 4\n4 5\n5 6\n6 seven\n7 8\n8 9\n9 10\n10 11\n", "bad-line.txt:6: found"),
        ("one-column.txt", b"1 2\n3\n", "one-column.txt:2: found"),
        ("huge.txt", b"1 2\n9223372036854775808 3\n", "huge.txt:2: found"),
        ("short.mtx", b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n", "short.mtx"),
        ("zero.mtx", b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n0 1\n1 2\n", "zero.mtx:3: found"),
        ("outside.mtx", b"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 4\n", "outside.mtx:3: found"),
        ("count.gr", b"p sp 3 2\na 1 2 1\n", "count.gr"),
        ("short.metis", b"3 2\n2\n1\n", "short.metis"),
        ("not.gcsr", b"this is no graph", "not.gcsr"),
    ];
    for (name, content, words) in cases {
        let path = file(name, content);
        check(&["--algorithm", "cc", "--graph", path.to_str().expect("utf-8")], 2, words);
    }
}

#[test]
fn a_packed_file_cut_short_is_refused_not_shortened() {
    let whole = include_bytes!("../data/cit-HepPh.txt.gz");
    for keep in [whole.len() / 2, whole.len() - 1, whole.len() - 8, 11] {
        let path = file("cut.txt.gz", &whole[..keep]);
        check(&["--algorithm", "cc", "--graph", path.to_str().expect("utf-8")], 2, "cut.txt.gz: ");
    }
    // An xz stream of "1 2\n2 3\n", whole and cut.
    let xz = include_bytes!("data/path.txt.xz");
    let path = file("path.txt.xz", xz);
    check(&["--algorithm", "cc", "--graph", path.to_str().expect("utf-8")], 0, "1 component; the largest has 3 of 3");
    let path = file("cut.txt.xz", &xz[..xz.len() - 12]);
    check(&["--algorithm", "cc", "--graph", path.to_str().expect("utf-8")], 2, "cut.txt.xz: ");
}

#[test]
fn files_that_cannot_be_read_or_written_say_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().to_str().expect("utf-8");
    check(&["--algorithm", "cc", "--graph", name], 2, "cannot read it; check that it is a file");
    check(&["--algorithm", "cc", "--graph", &format!("{name}/absent.txt")], 2, "absent.txt: cannot read it");
    check(&["--algorithm", "cc", "--output", &format!("{name}/no/such.csv")], 3, "such.csv: cannot write it");
    check(&["--algorithm", "cc", "--output", &format!("{name}/answer.txt")], 2, "end it in .csv or .bin");
    check(
        &["--algorithm", "cc", "--dataset", "cit-HepPhh"],
        2,
        "no data set is called `cit-HepPhh` (known: cit-HepPh)",
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = file("secret.txt", b"1 2\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("changed");
        // Root may read anything, so there the file is simply read.
        let code = if std::fs::read(&path).is_ok() { 0 } else { 2 };
        check(&["--algorithm", "cc", "--graph", path.to_str().expect("utf-8")], code, "secret");
    }
}

#[test]
fn what_looks_odd_but_is_sound_runs() {
    let run = |name: &str, content: &[u8], options: &[&str], words: &str| {
        let path = file(name, content);
        let graph = ["--graph", path.to_str().expect("utf-8")];
        check(&[options, &graph].concat(), 0, words);
    };
    let cc = ["--algorithm", "cc"];
    run("negative.txt", b"-5 -4\n-4 7\n", &cc, "1 component; the largest has 3 of 3");
    run("wide.txt", b"4294967296 4294967297\n9223372036854775807 4294967296\n", &cc, "largest has 3 of 3");
    run("counts.txt", b"# Nodes: 5 Edges: 2\n0 1\n1 2\n", &cc, "Nodes: 5");
    for algorithm in ["bfs", "cc", "pagerank"] {
        run("empty.txt", b"", &["--algorithm", algorithm, "--verify"], "0 vertices, 0 arcs");
    }
    run("empty.txt", b"# only a comment\n", &["--algorithm", "kcore", "-k", "2"], "the 2-core has 0 of 0 vertices");
    run("empty.txt", b"", &["--algorithm", "kcore", "--all-cores"], "0 of 0 vertices");
    run("few.txt", b"1 2\n2 3\n", &["--algorithm", "bfs", "--ranks", "7", "--verify"], "7 ranks");
    check(
        &["--algorithm", "bfs", "-s", "5", "--graph", file("empty.txt", b"").to_str().expect("utf-8")],
        2,
        "no vertices",
    );
}

#[test]
fn an_mpi_launcher_is_noticed() {
    let output = program::command(&["--algorithm", "cc"]).env("OMPI_COMM_WORLD_SIZE", "4").output().expect("started");
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started 4 processes"));
}
