//! The performance binary holds no tracing code, and no binary that is for runs only holds fault injection: neither a symbol nor a
//! string of it, by nm and strings on the release build. The same look at a binary that has it must find some, or it would
//! prove nothing.
//!
//! `cargo xtask test` builds the binaries and names their folder in GRAPHALG_BIN_DIR; without it the test says that it did not run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const TRACING: [&str; 5] = [
    harness::profiling::MARK,
    "profiling::recorder",
    "harness::profiling::",
    "trace::chrome::Writer",
    "nvtxDomainRange",
];
const STRIKES: [&str; 4] =
    ["framework::fault_injection::", "InjectingTransport", "harness::command::inject::", "INJECT_SUMMARY"];

fn found(binary: &Path, words: &[&str]) -> Vec<(String, usize)> {
    let stripped = tempfile::NamedTempFile::new().expect("a temporary file");
    let tool = |name: &str, arguments: &[&std::ffi::OsStr]| {
        let output = Command::new(name).args(arguments).output().unwrap_or_else(|e| panic!("{name}, of binutils: {e}"));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Debug information names things that no code uses.
    tool("objcopy", &["--strip-debug".as_ref(), binary.as_os_str(), stripped.path().as_os_str()]);
    let strings = tool("strings", &["-a".as_ref(), stripped.path().as_os_str()]);
    let symbols = tool("nm", &["-C".as_ref(), stripped.path().as_os_str()]);
    words
        .iter()
        .map(|word| ((*word).to_owned(), strings.matches(word).count() + symbols.matches(word).count()))
        .collect()
}

/// The release binaries; without them says that `test` was not run.
fn binaries(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("GRAPHALG_BIN_DIR").map(PathBuf::from);
    if folder.is_none() {
        // To stderr itself, past the capture of a test that counts as passed.
        let line = format!("\nnot run: {test}: needs release binaries\n");
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    }
    folder
}

/// None of the words is in the clean binaries, some are in the other.
#[track_caller]
fn check(folder: &Path, words: &[&str], clean: &[&str], other: &str) {
    for name in clean {
        let found = found(&folder.join(name), words);
        assert!(found.iter().all(|(_, count)| *count == 0), "{name} holds {found:?}");
    }
    let found = found(&folder.join(other), words);
    assert!(found.iter().any(|(_, count)| *count > 0), "the look finds nothing even in {other}");
}

#[test]
fn the_performance_binary_holds_no_tracing_code_and_the_profiling_binary_does() {
    if let Some(folder) = binaries("the probe split") {
        check(&folder, &TRACING, &["harness", "harness_performance"], "harness_profiling");
    }
}

#[test]
fn binaries_for_runs_hold_no_fault_injection_and_the_whole_harness_does() {
    if let Some(folder) = binaries("the strike split") {
        check(&folder, &STRIKES, &["harness_performance", "harness_profiling"], "harness");
    }
}
