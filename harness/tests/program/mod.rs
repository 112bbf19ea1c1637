//! Running the binaries of this package.
#![allow(dead_code)] // each test file uses a part

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The `harness` binary with arguments, and without variables that would change what it does.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args(arguments).env_remove("OMPI_COMM_WORLD_SIZE").env_remove("PMI_SIZE").env("COLUMNS", "100");
    command
}

/// Runs `harness`.
pub(crate) fn harness(arguments: &[&str]) -> Output {
    command(arguments).output().expect("harness starts")
}

/// Runs `harness_profiling` with its traces in this folder.
pub(crate) fn profiling(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness_profiling"));
    command.args(arguments).env("GRAPHALG_PROFILE_OUTPUT_DIR", folder);
    command.output().expect("harness_profiling starts")
}

/// A name for a folder that is not there yet.
pub(crate) fn new_folder() -> PathBuf {
    tempfile::tempdir().expect("a temporary folder").keep().join("traces")
}

/// Runs `harness` and checks its exit code and that stderr has the words; nothing but records may be on stdout.
#[track_caller]
pub(crate) fn check(arguments: &[&str], code: i32, words: &str) {
    let output = harness(arguments);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{err}");
    assert!(err.contains(words), "{arguments:?}: `{words}` is not in\n{err}");
    assert!(out.lines().all(|line| line.starts_with("BENCHMARK_")), "{arguments:?}: stdout holds\n{out}");
    assert!(!err.contains("panicked"), "{arguments:?}\n{err}");
}

/// A file with this name and content, in a folder of its own that lives as long as the test process.
pub(crate) fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = tempfile::tempdir().expect("a temporary folder").keep().join(name);
    std::fs::write(&path, content).expect("written");
    path
}
