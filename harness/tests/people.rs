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
