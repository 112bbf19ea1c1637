//! One gate: a command that has to succeed, and what became of it. The report at the end of `check` and `test`.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::runner::Tally;

/// What became of a gate.
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// Could not run here; says what it needs.
    NotRun(String),
}

/// A gate with its verdict.
pub(crate) struct Gate {
    name: String,
    outcome: Outcome,
    wall: Duration,
    /// Its failures are counted by a test runner.
    is_counted: bool,
}

/// All gates so far, with the tests that ran inside them.
#[derive(Default)]
pub(crate) struct Report {
    gates: Vec<Gate>,
    tests: Tally,
}

impl Report {
    /// Runs a command with its output shown; a failure is noted and the next gate runs all the same.
    pub(crate) fn run(&mut self, name: &str, command: &mut Command) {
        self.measure(name, false, || match command.status() {
            Ok(status) if status.success() => Outcome::Passed,
            Ok(_) => Outcome::Failed,
            Err(error) => {
                eprintln!("{name}: {error}");
                Outcome::Failed
            }
        });
    }

    /// Runs tests and adds up what their runner says.
    pub(crate) fn run_tests(&mut self, name: &str, run: impl FnOnce() -> anyhow::Result<(bool, Tally)>) {
        let mut tally = Tally::default();
        self.measure(name, true, || match run() {
            Ok((is_content, counted)) => {
                tally = counted;
                if is_content { Outcome::Passed } else { Outcome::Failed }
            }
            Err(error) => {
                eprintln!("{name}: {error:#}");
                Outcome::Failed
            }
        });
        if self.gates.last().is_some_and(|gate| matches!(gate.outcome, Outcome::Failed)) {
            tally.failed = tally.failed.max(1); // the tests did not build, or the runner died
        }
        self.tests.add(tally);
    }

    /// Notes what a part that was run here came to.
    pub(crate) fn say(&mut self, name: &str, outcome: anyhow::Result<()>) {
        self.measure(name, false, || match outcome {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                eprintln!("{error:#}");
                Outcome::Failed
            }
        });
    }

    /// Notes a gate that this machine cannot run.
    pub(crate) fn not_run(&mut self, name: &str, needs: &str) {
        self.gates.push(Gate {
            name: name.into(),
            outcome: Outcome::NotRun(needs.into()),
            wall: Duration::default(),
            is_counted: false,
        });
    }

    fn measure(&mut self, name: &str, is_counted: bool, run: impl FnOnce() -> Outcome) {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let outcome = run();
        self.gates.push(Gate { name: name.into(), outcome, wall: start.elapsed(), is_counted });
    }

    /// What was not run, as `(name, need)`: gates first, then tests.
    pub(crate) fn missed(&self) -> Vec<(String, String)> {
        let gates = self.gates.iter().filter_map(|gate| match &gate.outcome {
            Outcome::NotRun(needs) => Some((gate.name.clone(), needs.clone())),
            _ => None,
        });
        gates.chain(self.tests.missed.iter().cloned()).collect()
    }

    /// Prints the gates, what was not run, and the closing line; true when nothing failed. `must_run` says of a need
    /// whether leaving it unmet is a failure.
    ///
    /// The closing line counts tests; a failed gate that is no failed test (formatting, a build) counts as one failure
    /// so that the line never reads sound when the exit code is not.
    pub(crate) fn close(&self, must_run: impl Fn(&str) -> bool) -> bool {
        println!();
        for gate in &self.gates {
            let verdict = match &gate.outcome {
                Outcome::Passed => "ok",
                Outcome::Failed => "FAILED",
                Outcome::NotRun(_) => "not run",
            };
            println!("{:<32} {verdict:<8} {:>6.1} s", gate.name, gate.wall.as_secs_f64());
        }
        let missed = self.missed();
        let mut refused = 0;
        for (name, needs) in &missed {
            let because = if must_run(needs) { " (a failure: --setup provides it)" } else { "" };
            refused += usize::from(!because.is_empty());
            println!("not run: {name}: needs {needs}{because}");
        }
        let other_gates = self.gates.iter().filter(|gate| !gate.is_counted && matches!(gate.outcome, Outcome::Failed));
        let failed = self.tests.failed + other_gates.count() + refused;
        let skipped = self.tests.ignored + missed.len() - refused;
        println!("{} passed, {failed} failed, {skipped} skipped", self.tests.passed);
        failed == 0
    }
}
