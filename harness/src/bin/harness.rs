//! Runs algorithms, and everything around runs.

use harness::{Performance, Scope};
use std::process::ExitCode;

fn main() -> ExitCode {
    harness::main::<Performance>(Scope::EVERYTHING)
}
