//! Runs algorithms for absolute times: run-level accumulators only, no tracing code in the program.

use harness::{Performance, Scope};
use std::process::ExitCode;

fn main() -> ExitCode {
    harness::main::<Performance>(Scope::RUNS)
}
