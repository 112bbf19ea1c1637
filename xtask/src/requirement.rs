//! What the full test needs beyond a Rust toolchain: how it is found, how it is installed, who needs it.
//!
//! A new need of a test is one more line in [`TABLE`]. Only as root is the system's package manager called; anyone else
//! is told the command. Wheels go under target/setup, for everyone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{is_root, program};

/// One need.
pub(crate) struct Requirement {
    /// As tests name it in `not run: TEST: needs NAME`.
    pub(crate) name: &'static str,
    /// What it is.
    source: Source,
    /// Who needs it, for people.
    needed_by: &'static str,
}

/// Where a need comes from.
#[derive(Clone, Copy)]
enum Source {
    /// Programs that must be on PATH, and the system package that brings them.
    Programs(&'static [&'static str], &'static str),
    /// A wheel with a library, which lies in this folder of it; tests find it by LD_LIBRARY_PATH.
    Wheel {
        /// With its version.
        package: &'static str,
        /// The library.
        library: &'static str,
    },
}

/// Everything that `cargo xtask test --setup` installs.
pub(crate) const TABLE: &[Requirement] = &[
    Requirement {
        name: "binutils",
        source: Source::Programs(&["nm", "strings", "objcopy"], "binutils"),
        needed_by: "the test that the performance binary holds no tracing code",
    },
    Requirement {
        name: "g++",
        source: Source::Programs(&["g++"], "g++"),
        needed_by: "the simulated CUDA driver, on which the cuda device is tested without a GPU",
    },
    Requirement {
        name: "nvrtc",
        source: Source::Wheel {
            package: "nvidia-cuda-nvrtc-cu12==12.9.86",
            library: "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        },
        needed_by: "the test that every kernel compiles for every architecture",
    },
];

impl Requirement {
    fn is_met(&self, setup: &Path) -> bool {
        match self.source {
            Source::Programs(programs, _) => programs.iter().all(|name| program(name).is_some()),
            Source::Wheel { library, .. } => self.wheel(setup).join(library).is_file(),
        }
    }

    fn wheel(&self, setup: &Path) -> PathBuf {
        setup.join(self.name)
    }

    /// True when a need as a test words it (`binutils`, `nm (binutils)`) is this one.
    fn covers(&self, need: &str) -> bool {
        let mut words = need.split(|c: char| !c.is_alphanumeric() && !"-+".contains(c));
        let is_program = |word| matches!(self.source, Source::Programs(programs, _) if programs.contains(&word));
        words.any(|word| word == self.name || is_program(word))
    }
}

/// The folders of libraries that wheels under `setup` have brought, for LD_LIBRARY_PATH.
pub(crate) fn library_folders(setup: &Path) -> Vec<PathBuf> {
    let folder = |requirement: &Requirement| match requirement.source {
        Source::Wheel { library, .. } if requirement.is_met(setup) => {
            requirement.wheel(setup).join(library).parent().map(Path::to_path_buf)
        }
        _ => None,
    };
    TABLE.iter().filter_map(folder).collect()
}

/// True when `--setup` answers for this need.
pub(crate) fn is_provided(need: &str) -> bool {
    TABLE.iter().any(|requirement| requirement.covers(need))
}

/// Installs what is missing.
///
/// # Errors
/// When something is missing and cannot be installed: says by which command.
pub(crate) fn install_missing(setup: &Path) -> Result<()> {
    let missing: Vec<&Requirement> = TABLE.iter().filter(|requirement| !requirement.is_met(setup)).collect();
    if missing.is_empty() {
        eprintln!("setup: {} is here", TABLE.iter().map(|r| r.name).collect::<Vec<_>>().join(", "));
        return Ok(());
    }
    for requirement in &missing {
        eprintln!("setup: {} is missing; needed by {}", requirement.name, requirement.needed_by);
    }
    for requirement in &missing {
        if let Source::Wheel { package, .. } = requirement.source {
            pip(package, &requirement.wheel(setup))?;
        }
    }
    let package = |requirement: &&Requirement| match requirement.source {
        Source::Programs(_, package) => Some(package),
        Source::Wheel { .. } => None,
    };
    let packages: Vec<&str> = missing.iter().filter_map(package).collect();
    let by_hand = format!("apt-get update && apt-get install -y --no-install-recommends {}", packages.join(" "));
    if packages.is_empty() {
        return still_missing(&missing, setup, "pip install");
    }
    if !is_root() || program("apt-get").is_none() {
        bail!("install what is missing, then run again; on Debian or Ubuntu, as root:\n    {by_hand}");
    }
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages.as_slice()].concat())?;
    still_missing(&missing, setup, &by_hand)
}

fn still_missing(missing: &[&Requirement], setup: &Path, command: &str) -> Result<()> {
    match missing.iter().find(|requirement| !requirement.is_met(setup)) {
        Some(still) => bail!("{} is still missing after\n    {command}", still.name),
        None => Ok(()),
    }
}

/// Puts a wheel into a folder of its own. NVIDIA's wheels carry a second build of each library, as large as the first, that nothing
/// here loads: it goes.
fn pip(package: &str, folder: &Path) -> Result<()> {
    let by_hand = format!("python3 -m pip install --no-deps --target {} {package}", folder.display());
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]).arg(folder).arg(package);
    let status =
        command.status().with_context(|| format!("python3 does not start; install it, then\n    {by_hand}"))?;
    if !status.success() {
        bail!("pip failed, its message is above; try\n    {by_hand}");
    }
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next)?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name.to_string_lossy().contains(".alt.so")) {
                std::fs::remove_file(path)?;
            }
        }
    }
    Ok(())
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
        assert!(is_provided("a C++ compiler (g++) on x86-64"));
        assert!(is_provided("nvrtc 12.9 (the wheel)"));
        assert!(!is_provided("a GPU"));
        assert!(!is_provided("nmap"));
    }
}
