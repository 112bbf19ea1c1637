//! A stand-in for NVIDIA's NVTX library that writes down its calls, and what they come to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of the stand-in, under the name that is looked for first.
pub(crate) fn stand_in() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder").keep();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ranges/stand_in.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-pthread", "-o"]).arg(folder.join("libnvtx3interop.so.1")).arg(source);
        assert!(cc.status().expect("cc starts").success());
        folder
    })
}

/// A range that ended: how deep it lay, its name, and the name of the range around it.
pub(crate) type Range = (usize, String, String);

/// The ranges of each thread, in the order in which they ended, and the names of threads. Fails where pushes and pops do not pair.
#[track_caller]
pub(crate) fn ended(log: &str) -> (BTreeMap<u32, Vec<Range>>, BTreeMap<u32, String>) {
    let (mut ended, mut names, mut open) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::<u32, Vec<String>>::new());
    let mut domains = Vec::new();
    for line in log.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let thread: u32 = words[1].parse().expect("a thread");
        let stack = open.entry(thread).or_default();
        match words[0] {
            "domain" => domains.push(words[2].to_owned()),
            "name" => drop(names.insert(thread, words[2].to_owned())),
            "push" => {
                assert_eq!(words[2], "graphalg", "{line}");
                stack.push(words[3].to_owned());
            }
            "pop" => {
                let name = stack.pop().unwrap_or_else(|| panic!("a pop without a push on thread {thread}:\n{log}"));
                let around = stack.last().cloned().unwrap_or_default();
                ended.entry(thread).or_insert_with(Vec::new).push((stack.len(), name, around));
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(domains, ["graphalg"], "one domain");
    assert!(open.values().all(Vec::is_empty), "ranges that do not end: {open:?}");
    (ended, names)
}
