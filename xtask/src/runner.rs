//! Runs the test runner (`cargo nextest` when installed, else `cargo test`) and counts what it reports.
//!
//! A test that cannot run on this machine prints one line `not run: NAME: needs WHAT` and returns. The runners call
//! that a pass; we take it out of the passes and list it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::workspace::cargo;

/// Tests by outcome.
#[derive(Default, Debug, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Left out by the runner: tests that their author marked as ignored.
    pub(crate) ignored: usize,
    /// Tests that said they could not run: `(name, need)`.
    pub(crate) missed: BTreeSet<(String, String)>,
}

impl Tally {
    /// Adds another run's counts.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.missed.extend(other.missed);
    }

    /// Takes in one line of a runner's output.
    fn read(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some((name, needs)) = line.strip_prefix("not run: ").and_then(|rest| rest.split_once(": needs ")) {
            self.missed.insert((name.trim().to_owned(), needs.trim().to_owned()));
        } else if let Some(counts) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) {
            self.count(counts.1, ';');
        } else if line.starts_with("Summary [") {
            // "Summary [   0.1s] 12 tests run: 11 passed (1 slow), 1 failed, 2 skipped"; "12/20 tests run" when cut short
            let counts = line.split_once(" run: ").map_or("", |(_, counts)| counts);
            self.count(counts, ',');
        }
    }

    fn count(&mut self, counts: &str, between: char) {
        for part in counts.split(between) {
            let mut words = part.split_whitespace();
            let (Some(Ok(n)), Some(what)) = (words.next().map(str::parse::<usize>), words.next()) else { continue };
            match what {
                "passed" => self.passed += n,
                "failed" | "exec" | "timed" => self.failed += n,
                "ignored" | "skipped" => self.ignored += n,
                _ => {}
            }
        }
    }
}

/// Which runner works here.
pub(crate) fn has_nextest() -> bool {
    let probe = cargo().args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

/// A command that runs all tests but the doctests. `show` makes passing tests' output visible, so that tests which
/// could not run are counted.
pub(crate) fn tests(features: &[&str], show: bool) -> Command {
    let mut command = cargo();
    if has_nextest() {
        command.args(["nextest", "run", "--workspace", "--no-tests", "pass", "--no-fail-fast"]).args(features);
        if show {
            command.args(["--success-output", "immediate"]);
        }
    } else {
        command.args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]).args(features);
        if show {
            command.args(["--", "--show-output"]);
        }
    }
    command.env("INSTA_UPDATE", "no");
    command
}

/// A command that runs the doctests.
pub(crate) fn doctests(features: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["test", "--workspace", "--doc", "--no-fail-fast"]).args(features).env("INSTA_UPDATE", "no");
    command
}

/// Runs tests; their output passes through, except that of tests which passed. True when the runner is content.
///
/// # Errors
/// When the runner does not start.
pub(crate) fn count(mut command: Command) -> Result<(bool, Tally)> {
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.context("the test runner does not start")?;
    let stdout = child.stdout.take().context("stdout was asked for")?;
    let stderr = child.stderr.take().context("stderr was asked for")?;
    let (mut tally, from_stdout) = std::thread::scope(|scope| {
        let other = scope.spawn(|| follow(BufReader::new(stdout)));
        (follow(BufReader::new(stderr)), other.join().unwrap_or_default())
    });
    tally.add(from_stdout);
    tally.passed = tally.passed.saturating_sub(tally.missed.len());
    Ok((child.wait()?.success(), tally))
}

/// Reads one stream to its end; shows it without the output of passing tests (nextest puts that between a line `PASS`
/// and the next status line, indented by four).
fn follow(stream: impl BufRead) -> Tally {
    let mut tally = Tally::default();
    let mut quiet = false;
    for line in stream.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        tally.read(&line);
        let status = line.trim_start();
        let is_own = line.starts_with("    ") && !starts_a_status(status) || status.starts_with("std");
        quiet = match status.split_whitespace().next() {
            Some("PASS") => true,
            _ if starts_a_status(status) => false,
            _ => quiet,
        };
        if !(quiet && (is_own || status.is_empty())) {
            eprintln!("{line}");
        }
    }
    tally
}

fn starts_a_status(line: &str) -> bool {
    const STATUS: [&str; 11] =
        ["PASS", "FAIL", "SLOW", "LEAK", "SIGABRT", "SIGSEGV", "TIMEOUT", "Summary", "────", "Starting", "TERMINATING"];
    STATUS.iter().any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], passed: usize, failed: usize, ignored: usize, missed: &[(&str, &str)]) {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        let missed = missed.iter().map(|(name, needs)| ((*name).to_owned(), (*needs).to_owned())).collect();
        assert_eq!(tally, Tally { passed, failed, ignored, missed });
    }

    #[test]
    fn the_runners_own_totals_are_read() {
        check(&["     Summary [   0.004s] 12 tests run: 12 passed, 0 skipped"], 12, 0, 0, &[]);
        check(&["Summary [ 1.2s] 5/9 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 4 skipped"], 3, 2, 4, &[]);
        let libtest = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        check(&[libtest, "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured"], 4, 2, 1, &[]);
    }

    #[test]
    fn a_test_that_could_not_run_is_listed_once() {
        let line = "    not run: the_probe_leaves_no_trace: needs nm";
        check(&[line, line, "nothing to do with it"], 0, 0, 0, &[("the_probe_leaves_no_trace", "nm")]);
    }
}
