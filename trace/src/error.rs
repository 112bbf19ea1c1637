//! What can go wrong with a trace file, in words a user can act on.

use std::path::PathBuf;

/// Shorthand used throughout this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of files that are read, for messages.
const KINDS: &str = "Chrome traces (PyTorch, Ascend trace_view.json, harness_profiling), rocprofv3 JSON, and \
                     SQLite exports of Nsight Systems and Ascend; JSON also packed with gzip";

/// An error of reading a trace.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{path}: cannot read it; check that it is a file and that you may read it")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is packed, and the packing is damaged.
    #[error(
        "{path}: the gzip data is damaged or cut off; copy the file again, or pass --recover to use what can be unpacked"
    )]
    Packing {
        /// The file.
        path: PathBuf,
        /// What unpacking said.
        #[source]
        source: std::io::Error,
    },
    /// The text is no JSON.
    #[error(
        "{path}: damaged at byte {offset} of the {text}: {what}; \
         record it again, mend the place, or pass --recover to leave damaged events out"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// `file` or `unpacked text`.
        text: &'static str,
        /// The first byte that does not fit, from 0.
        offset: u64,
        /// What stands there and what should.
        what: String,
    },
    /// The file is of no kind that is read.
    #[error("{path}: {found}; harness trace reads {}", KINDS)]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// A database cannot be read.
    #[error("{path}: the database cannot be read; export or copy it again")]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// A pattern is no regular expression.
    #[error("`{pattern}` is no regular expression; see docs.rs/regex for what is one")]
    Pattern {
        /// As given.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: regex::Error,
    },
}
