//! What some tests need and a machine may lack. Such a test says `not run: NAME: needs WHAT` and returns; `cargo xtask test`
//! takes it out of the passes and lists it.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Says that a test was not run. Past the runner's capture, so that it is seen when the test counts as passed.
pub fn not_run(test: &str, needs: &str) {
    // One write, so that lines of tests that run side by side stay whole. A closed stderr has nobody to tell.
    let line = format!("\nnot run: {test}: needs {needs}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// The folder of real graphs: `GRAPHALG_TEST_GRAPHS`, or `../shared/data/graphs` beside the checkout. Without it says that `test` was
/// not run.
///
/// # Panics
/// When the variable names a folder without the graphs: what was asked for must not be passed over.
pub fn real_graphs(test: &str) -> Option<PathBuf> {
    shared_data(test, "GRAPHALG_TEST_GRAPHS", "graphs")
}

/// The folder of real traces: `GRAPHALG_TEST_TRACES`, or `../shared/data/traces` beside the checkout. Without it says that `test` was
/// not run.
///
/// # Panics
/// When the variable names a folder without the traces.
pub fn real_traces(test: &str) -> Option<PathBuf> {
    shared_data(test, "GRAPHALG_TEST_TRACES", "traces")
}

fn shared_data(test: &str, variable: &str, what: &str) -> Option<PathBuf> {
    let is_whole = |folder: &PathBuf| folder.join("expected.json").is_file();
    if let Some(named) = std::env::var_os(variable).map(PathBuf::from) {
        assert!(is_whole(&named), "{variable}={}: no expected.json there", named.display());
        return Some(named);
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(what);
    let found = Some(beside).filter(is_whole);
    if found.is_none() {
        not_run(test, &format!("../shared/data (the real {what})"));
    }
    found
}
