//! Facts of this build and this machine.

use crate::records::Device;
use crate::stdout::print;
use framework::base::error::{Error, Result};
use framework::base::id::Rank;
use serde::{Deserialize, Serialize};
use std::fs;

/// The one argument that makes a binary say what it was built from, as one [`BuildFacts`] line on stdout.
pub(crate) const BUILD_FACTS: &str = "--build-facts";

/// What a binary was built from.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuildFacts {
    /// The version of graphalg.
    pub(crate) product_version: String,
    /// The commit.
    pub(crate) git_commit: Option<String>,
    /// Whether tracked files differed from it.
    pub(crate) git_dirty: Option<bool>,
    /// Hash of all tracked files.
    pub(crate) source_sha256: Option<String>,
    /// `release` or `debug`.
    pub(crate) build_profile: String,
    /// Cargo features, sorted.
    pub(crate) features: Vec<String>,
    /// `performance` or `profiling`.
    pub(crate) instrumentation_profile: String,
}

/// Says what this binary was built from.
///
/// # Errors
/// When stdout is closed.
pub(crate) fn print_build(profile: &str) -> Result<()> {
    let facts = BuildFacts {
        product_version: env!("CARGO_PKG_VERSION").into(),
        git_commit: git_commit(),
        git_dirty: git_dirty(),
        source_sha256: source_sha256(),
        build_profile: build_profile().into(),
        features: Vec::new(), // this package has none
        instrumentation_profile: profile.into(),
    };
    let line = serde_json::to_string(&facts).map_err(|error| Error::Environment(error.to_string()))?;
    print(format!("{line}\n").as_bytes())
}

fn given(value: &'static str) -> Option<&'static str> {
    (!value.is_empty()).then_some(value)
}

/// The commit the program was built from.
pub(crate) fn git_commit() -> Option<String> {
    given(env!("GRAPHALG_GIT_COMMIT")).map(str::to_owned)
}

/// Whether tracked files differed from it.
pub(crate) fn git_dirty() -> Option<bool> {
    given(env!("GRAPHALG_GIT_DIRTY")).map(|dirty| dirty == "true")
}

/// Hash of all tracked files.
pub(crate) fn source_sha256() -> Option<String> {
    given(env!("GRAPHALG_SOURCE_SHA256")).map(str::to_owned)
}

/// `release` or `debug`.
pub(crate) fn build_profile() -> &'static str {
    env!("GRAPHALG_BUILD_PROFILE")
}

/// The name of this machine.
pub(crate) fn hostname() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "unknown".into() } else { name.trim().into() }
}

/// Bytes that the system could give to programs, where it says.
pub(crate) fn available_memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

/// The cpu device of a rank with so many threads.
pub(crate) fn cpu(rank: Rank, threads: usize) -> Device {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(':'));
    Device {
        rank: rank.0,
        kind: "cpu".into(),
        name: model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned()),
        uuid: None,
        driver: None,
        cores: threads,
    }
}

/// The GPUs that the driver lists.
pub(crate) fn gpus() -> Vec<String> {
    let Ok(folders) = fs::read_dir("/proc/driver/nvidia/gpus") else { return Vec::new() };
    let mut found: Vec<String> = folders
        .flatten()
        .map(|folder| {
            let text = fs::read_to_string(folder.path().join("information")).unwrap_or_default();
            let of =
                |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim().to_owned();
            format!("{} {}", of("Model:"), of("GPU UUID:"))
        })
        .collect();
    found.sort();
    found
}
