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

    /// The folder and the root file of every crate: its library, or the program where there is none.
    pub(crate) fn libraries(&self) -> Vec<(PathBuf, PathBuf)> {
        let root = |package: &Value| {
            let targets = package["targets"].as_array()?;
            let of_kind =
                |kind: &str| targets.iter().find(|t| t["kind"].as_array().is_some_and(|k| k.iter().any(|k| k == kind)));
            let source = of_kind("lib").or_else(|| of_kind("bin"))?["src_path"].as_str()?;
            Some((Path::new(package["manifest_path"].as_str()?).parent()?.to_owned(), PathBuf::from(source)))
        };
        self.packages.iter().filter_map(root).collect()
    }

    /// The folder of every crate, from the root on, and those of the crates of this workspace that it depends on.
    pub(crate) fn dependencies(&self) -> Vec<(String, Vec<String>)> {
        let folder = |path: &Value| {
            let path = Path::new(path.as_str()?);
            Some(path.strip_prefix(&self.root).ok()?.to_str()?.to_owned())
        };
        let own = |package: &Value| folder(&package["manifest_path"])?.strip_suffix("/Cargo.toml").map(str::to_owned);
        let others = |package: &Value| -> Vec<String> {
            package["dependencies"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|other| folder(&other["path"]))
                .collect()
        };
        self.packages.iter().filter_map(|package| Some((own(package)?, others(package)))).collect()
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
