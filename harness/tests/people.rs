//! What people see: help, the list, completions and the manual page.

mod program;

use program::harness;

fn out(arguments: &[&str]) -> String {
    let output = harness(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("utf-8")
}

#[test]
fn help_groups_options_and_shows_each_plugin_under_its_own_heading() {
    insta::assert_snapshot!("help", out(&["--help"]));
    insta::assert_snapshot!("help_short", out(&["-h"]));
    insta::assert_snapshot!("help_convert", out(&["graph", "convert", "--help"]));
}

#[test]
fn completions_and_the_manual_page_know_the_options() {
    for shell in ["bash", "zsh", "fish"] {
        let text = out(&["completions", shell]);
        assert!(text.contains("all-cores") && text.contains("completions"), "{shell}");
    }
    let page = out(&["man"]);
    assert!(page.starts_with(".") && page.contains("damping"), "{page}");
}

#[test]
fn without_arguments_the_help_is_shown_as_an_error() {
    let output = harness(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--algorithm"));
}

#[test]
fn the_list_has_the_data_sets_of_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ring.txt"), "1 2\n").expect("written");
    std::fs::write(folder.path().join(".hidden"), "").expect("written");
    let text = out(&["list", "--dataset-dir", folder.path().to_str().expect("utf-8")]);
    assert!(text.contains("  ring  ") && text.contains("cit-HepPh") && !text.contains("hidden"), "{text}");
    let output = harness(&["list", "--dataset-dir", "/no/such/folder"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_protected_run_says_what_is_proved_and_how_often_it_waited() {
    let pagerank = ["--algorithm", "pagerank", "--device", "cpu", "--fault-tolerance", "on"];
    let said = String::from_utf8_lossy(&harness(&pagerank).stderr).into_owned();
    let (_, bound) = said.split_once("the certificate holds: the ranks are within ").expect("the bound");
    let (bound, rest) = bound.split_once(' ').expect("a number");
    // ||x - Gx|| is at most d * tolerance + rho: (0.85 * 1e-10 + 2 rho) / 0.15, rho being below 1e-11 here.
    let bound: f64 = bound.parse().expect("a number");
    assert!(bound > 0.0 && bound < 7e-10 && rest.starts_with("of the true ones, in L1"), "{said}");
    assert!(said.contains("waited 0 times for a full queue of the checker"), "{said}");
    let cc = ["--algorithm", "cc", "--device", "cpu", "--fault-tolerance", "on", "--redundancy-budget", "1"];
    let said = String::from_utf8_lossy(&harness(&cc).stderr).into_owned();
    assert!(said.contains("(-a, -b, -t, --redundancy-budget have no effect on cc)"), "{said}");
    assert!(!said.contains("passed over"), "without --verbose nothing is said of devices that are not there: {said}");
}
