//! `cargo xtask test [--setup]`: `check`, and every test this machine can run, against release binaries where a test
//! needs them (their folder is `GRAPHALG_BIN_DIR`). Ends with what was not run and why, and the counts.

use std::collections::BTreeSet;

use anyhow::Result;
use clap::Args;

use crate::gate::Report;
use crate::workspace::{Workspace, cargo};
use crate::{campaign, check, requirement};

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// Install what the full test needs; what that provides and is still not run is a failure
    #[arg(long)]
    setup: bool,
}

/// Runs the command; true when nothing failed.
///
/// # Errors
/// When a need cannot be installed, or cargo cannot be asked.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let workspace = Workspace::find()?;
    if options.setup {
        requirement::install_missing(&workspace.setup())?;
    }
    let mut report = Report::default();
    check::before_tests(&mut report)?;
    // By package, as `cargo run` selects it: other members' features would make it another build.
    let packages: BTreeSet<String> = workspace.targets("bin").into_iter().map(|(package, _)| package).collect();
    if packages.is_empty() {
        report.not_run("release binaries", "a binary in the workspace");
    } else {
        let mut build = cargo();
        build.args(["build", "--release", "--bins"]);
        packages.iter().for_each(|package| _ = build.args(["-p", package]));
        report.run("release binaries", &mut build);
    }
    let mut libraries = requirement::library_folders(&workspace.setup());
    libraries.extend(std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths));
    let libraries = std::env::join_paths(libraries)?;
    check::tests(&mut report, |command| {
        command.env("LD_LIBRARY_PATH", &libraries);
        command.env("GRAPHALG_BIN_DIR", workspace.target.join("release"));
    });
    campaign::short(&mut report);
    check::after_tests(&mut report);
    Ok(report.close(|need| options.setup && requirement::is_provided(need)))
}
