//! Facts of this build for the metadata record: commit, whether the tree differs from it, and a hash of all tracked files.
//! Without git they are absent, and the record says null.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

fn git(root: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    let set = |name: &str, value: &str| println!("cargo:rustc-env=GRAPHALG_{name}={value}");
    set("BUILD_PROFILE", &std::env::var("PROFILE").unwrap_or_default());
    let files = git(&root, &["ls-files", "-z"]).unwrap_or_default();
    let names: Vec<&str> = files.split(|&byte| byte == 0).filter_map(|name| std::str::from_utf8(name).ok()).collect();
    let mut sha = Sha256::new();
    let mut hashed = 0;
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let path = root.join(name);
        println!("cargo:rerun-if-changed={}", path.display());
        // A tracked file that was deleted counts by its name alone.
        let content = std::fs::read(&path).unwrap_or_default();
        sha.update((name.len() as u64).to_le_bytes());
        sha.update(name);
        sha.update((content.len() as u64).to_le_bytes());
        sha.update(content);
        hashed += 1;
    }
    let hex: String = sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    set("SOURCE_SHA256", if hashed > 0 { &hex } else { "" });
    set("GIT_COMMIT", &git(&root, &["rev-parse", "HEAD"]).map(text).unwrap_or_default());
    let status = git(&root, &["status", "--porcelain", "--untracked-files=no"]);
    set("GIT_DIRTY", status.map_or("", |status| if status.is_empty() { "false" } else { "true" }));
    if let Some(folder) = git(&root, &["rev-parse", "--absolute-git-dir"]).map(text) {
        for file in ["HEAD", "index"] {
            println!("cargo:rerun-if-changed={folder}/{file}");
        }
    }
}
