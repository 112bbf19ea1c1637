//! Facts of this build and this machine.

use crate::records::Device;
use framework::id::Rank;
use std::fs;

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
