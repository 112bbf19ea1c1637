//! `cargo xtask check`: formatting, lints, fast tests, documentation, licences. At most five minutes with warm caches.

use anyhow::Result;

use crate::gate::Report;
use crate::workspace::{Workspace, cargo, program};
use crate::{floors, runner};

/// Feature sets that are linted, tested and documented, each by name.
const FEATURE_SETS: [(&str, &[&str]); 1] = [("default", &[])];

/// Runs the command; true when every gate passed.
///
/// # Errors
/// When cargo cannot be asked.
pub(crate) fn run() -> Result<bool> {
    let mut report = Report::default();
    before_tests(&mut report)?;
    tests(&mut report, |_| {});
    after_tests(&mut report);
    Ok(report.close(|_| false))
}

/// Formatting, floors and lints: what is cheap to see comes first.
///
/// # Errors
/// When cargo cannot be asked.
pub(crate) fn before_tests(report: &mut Report) -> Result<()> {
    report.run("fmt", cargo().args(["fmt", "--all", "--check"]));
    let workspace = Workspace::find()?;
    report.say("floors", floors::check(&workspace));
    for (set, features) in FEATURE_SETS {
        let mut clippy = cargo();
        clippy.args(["clippy", "--workspace", "--all-targets"]).args(features).args(["--", "-D", "warnings"]);
        report.run(&format!("clippy ({set})"), &mut clippy);
    }
    Ok(())
}

/// Tests and doctests; `prepare` may add to the environment, and makes tests say what they could not run.
pub(crate) fn tests(report: &mut Report, prepare: impl Fn(&mut std::process::Command)) {
    for (set, features) in FEATURE_SETS {
        let mut command = runner::tests(features, true);
        prepare(&mut command);
        report.run_tests(&format!("tests ({set})"), || runner::count(command));
        report.run_tests(&format!("doctests ({set})"), || runner::count(runner::doctests(features)));
    }
}

/// Documentation with broken links denied; licences and bans.
pub(crate) fn after_tests(report: &mut Report) {
    let mut doc = cargo();
    doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    report.run("doc", &mut doc);
    if program("cargo-deny").is_some() {
        report.run("deny", cargo().args(["deny", "check", "licenses", "bans"]));
    } else {
        report.not_run("deny", "cargo-deny (cargo install cargo-deny)");
    }
}
