//! The programs that commands start in order to measure or watch them: what they are called, where they lie, how a shell spells them.

use framework::base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// How much the measured binary records.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Profile {
    /// `harness_performance`.
    Performance,
    /// `harness_profiling`.
    Profiling,
}

impl Profile {
    /// As records have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Profile::Performance => "performance",
            Profile::Profiling => "profiling",
        }
    }

    /// The binary that records so much.
    pub(crate) fn binary(self) -> &'static str {
        match self {
            Profile::Performance => "harness_performance",
            Profile::Profiling => "harness_profiling",
        }
    }
}

/// The folder of the measured binaries: the one given, or this program's own.
pub(crate) fn find_binary(profile: Profile, bin_dir: Option<&Path>) -> Result<PathBuf> {
    let folder = match bin_dir {
        Some(folder) => folder.to_path_buf(),
        None => std::env::current_exe()
            .ok()
            .and_then(|path| path.parent().map(Path::to_path_buf))
            .ok_or_else(|| Error::Environment("the folder of this program is unknown; give --bin-dir".into()))?,
    };
    let path = folder.join(profile.binary());
    if !path.is_file() {
        return Err(Error::Environment(format!(
            "{} is not there; build it with `cargo build --release --bins`, or name its folder with --bin-dir",
            path.display()
        )));
    }
    fs::canonicalize(&path).map_err(|source| Error::Read { path, source })
}

/// A word as a shell takes it.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
