//! What the full test needs beyond a Rust toolchain: how it is found, how it is installed, who needs it.
//!
//! A new need of a test is one more line in [`TABLE`]. Only as root is the system's package manager called; anyone else
//! is told the command.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{is_root, program};

/// One need.
pub(crate) struct Requirement {
    /// As tests name it in `not run: TEST: needs NAME`.
    pub(crate) name: &'static str,
    /// Programs that must be on PATH.
    programs: &'static [&'static str],
    /// The system package that brings it.
    package: &'static str,
    /// Who needs it, for people.
    needed_by: &'static str,
}

/// Everything that `cargo xtask test --setup` installs.
pub(crate) const TABLE: &[Requirement] = &[Requirement {
    name: "binutils",
    programs: &["nm", "strings", "objcopy"],
    package: "binutils",
    needed_by: "the test that the performance binary holds no tracing code",
}];

impl Requirement {
    fn is_met(&self) -> bool {
        self.programs.iter().all(|name| program(name).is_some())
    }

    /// True when a need as a test words it (`binutils`, `nm (binutils)`) is this one.
    fn covers(&self, need: &str) -> bool {
        let mut words = need.split(|c: char| !c.is_alphanumeric() && c != '-');
        words.any(|word| word == self.name || self.programs.contains(&word))
    }
}

/// True when `--setup` answers for this need.
pub(crate) fn is_provided(need: &str) -> bool {
    TABLE.iter().any(|requirement| requirement.covers(need))
}

/// Installs what is missing.
///
/// # Errors
/// When something is missing and cannot be installed: says by which command.
pub(crate) fn install_missing() -> Result<()> {
    let missing: Vec<&Requirement> = TABLE.iter().filter(|requirement| !requirement.is_met()).collect();
    if missing.is_empty() {
        eprintln!("setup: {} is here", TABLE.iter().map(|r| r.name).collect::<Vec<_>>().join(", "));
        return Ok(());
    }
    for requirement in &missing {
        eprintln!("setup: {} is missing; needed by {}", requirement.name, requirement.needed_by);
    }
    let packages: Vec<&str> = missing.iter().map(|requirement| requirement.package).collect();
    let by_hand = format!("apt-get update && apt-get install -y --no-install-recommends {}", packages.join(" "));
    if !is_root() || program("apt-get").is_none() {
        bail!("install what is missing, then run again; on Debian or Ubuntu, as root:\n    {by_hand}");
    }
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages.as_slice()].concat())?;
    match missing.iter().find(|requirement| !requirement.is_met()) {
        Some(still) => bail!("{} is still missing after\n    {by_hand}", still.name),
        None => Ok(()),
    }
}

fn apt(arguments: &[&str]) -> Result<()> {
    let status = Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status();
    if !status.context("apt-get does not start")?.success() {
        bail!("`apt-get {}` failed; its message is above", arguments.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_recognised_by_package_or_program() {
        assert!(is_provided("binutils"));
        assert!(is_provided("nm (binutils)"));
        assert!(!is_provided("a GPU"));
        assert!(!is_provided("nmap"));
    }
}
