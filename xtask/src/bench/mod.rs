//! `cargo xtask bench`: our kernels under criterion; with `--compare`, our engine against others.

mod csr;
mod graph;
mod engine;
mod machine;
mod native;
mod ours;
pub(crate) mod protection;
mod served;
mod table;
mod chart;
mod compare;

use anyhow::{Result, bail};
use clap::Args;

use crate::workspace::{Workspace, cargo};

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only the benchmarks whose names contain one of these
    names: Vec<String>,
    /// Compare our engine with every other that is found on this machine
    #[arg(long, conflicts_with = "names")]
    compare: bool,
    #[command(flatten)]
    comparison: compare::Comparison,
    /// Measure what protection costs without faults, against its bars
    #[arg(long, conflicts_with_all = ["names", "compare"])]
    protection: bool,
    #[command(flatten)]
    pairs: protection::Pairs,
}

/// Runs the command; true when all went well.
///
/// # Errors
/// When there is nothing to measure, or a measured program cannot be run.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let workspace = Workspace::find()?;
    if options.compare {
        return compare::run(&workspace, &options.comparison);
    }
    if options.protection {
        return protection::run(&workspace, &options.pairs);
    }
    if workspace.targets("bench").is_empty() {
        bail!("no package of this workspace has a bench target; add one under benches/, with `harness = false`");
    }
    let mut bench = cargo();
    bench.args(["bench", "--workspace", "--bench", "*"]);
    if !options.names.is_empty() {
        bench.arg("--").arg(options.names.join("|"));
    }
    Ok(bench.status()?.success())
}
