//! Runs algorithms and records what happened in each superstep. Recording disturbs the run: its times are no evidence of speed.

use harness::Scope;
use harness::profiling::Profiling;
use std::process::ExitCode;

fn main() -> ExitCode {
    harness::main::<Profiling>(Scope::RUNS)
}
