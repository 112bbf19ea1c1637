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
    let has_graphs = |folder: &PathBuf| folder.join("expected.json").is_file();
    if let Some(named) = std::env::var_os("GRAPHALG_TEST_GRAPHS").map(PathBuf::from) {
        assert!(has_graphs(&named), "GRAPHALG_TEST_GRAPHS={}: no expected.json there", named.display());
        return Some(named);
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/graphs");
    let found = Some(beside).filter(has_graphs);
    if found.is_none() {
        not_run(test, "../shared/data (the real graphs)");
    }
    found
}
