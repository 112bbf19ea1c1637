//! Where things lie: the workspace as `cargo metadata` tells it, and programs on the search path.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What the commands need to know of the workspace.
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    packages: Vec<Value>,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// When cargo cannot read the manifests.
    pub(crate) fn find() -> Result<Self> {
        let out = cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("cargo does not start; is the Rust toolchain on PATH?")?;
        if !out.status.success() {
            bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&out.stderr));
        }
        let document: Value = serde_json::from_slice(&out.stdout).context("cargo metadata is no JSON")?;
        let folder = |key: &str| document[key].as_str().map(PathBuf::from).with_context(|| format!("no `{key}`"));
        Ok(Self {
            root: folder("workspace_root")?,
            target: folder("target_directory")?,
            packages: document["packages"].as_array().cloned().unwrap_or_default(),
        })
    }

    /// Where `--setup` puts wheels.
    pub(crate) fn setup(&self) -> PathBuf {
        self.target.join("setup")
    }

    /// `(package, target)` for every target of a kind (`bin`, `bench`), this crate's own left out.
    pub(crate) fn targets(&self, kind: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for package in self.packages.iter().filter(|p| p["name"] != "xtask") {
            for target in package["targets"].as_array().into_iter().flatten() {
                if target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind)) {
                    let name = |v: &Value| v["name"].as_str().unwrap_or_default().to_owned();
                    found.push((name(package), name(target)));
                }
            }
        }
        found
    }
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The first program of that name on PATH.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// True when we may use the system's package manager.
pub(crate) fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|l| l.strip_prefix("Uid:")).and_then(|l| l.split_whitespace().nth(1)) == Some("0")
}
