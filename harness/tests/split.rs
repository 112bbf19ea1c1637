//! The performance binary holds no tracing code: neither a symbol nor a string of it, by nm and strings on the release build.
//! The same look at the profiling binary must find some, or it would prove nothing.
//!
//! `cargo xtask test` builds the binaries and names their folder in GRAPHALG_BIN_DIR; without it the test says that it did not run.

use std::io::Write;
use std::path::Path;
use std::process::Command;

const WORDS: [&str; 5] =
    [harness::profiling::MARK, "profiling::recorder", "harness::profiling::", "trace::chrome::Writer", "nvtxRange"];

fn found(binary: &Path) -> Vec<(String, usize)> {
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
    WORDS
        .iter()
        .map(|word| ((*word).to_owned(), strings.matches(word).count() + symbols.matches(word).count()))
        .collect()
}

#[test]
fn the_performance_binary_holds_no_tracing_code_and_the_profiling_binary_does() {
    let Some(folder) = std::env::var_os("GRAPHALG_BIN_DIR") else {
        // To stderr itself, past the capture of a test that counts as passed.
        let line = "\nnot run: the probe split: needs release binaries\n";
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
        return;
    };
    let folder = Path::new(&folder);
    for clean in ["harness", "harness_performance"] {
        let found = found(&folder.join(clean));
        assert!(found.iter().all(|(_, count)| *count == 0), "{clean} holds tracing code: {found:?}");
    }
    let found = found(&folder.join("harness_profiling"));
    assert!(found.iter().any(|(_, count)| *count > 0), "the look finds nothing even where tracing code is");
}
