//! What can go wrong, in words a user can act on, and the class that decides the exit code.

use crate::base::id::Rank;
use std::path::PathBuf;

/// Shorthand used throughout the framework and the plugins.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the framework or of a plugin.
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
    /// The file cannot be written.
    #[error("{path}: cannot write it; check the folder, its permissions and the free space")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A line of a text format is wrong.
    #[error("{path}:{line}: found {found}; expected {expected}")]
    Line {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
    /// A file as a whole is wrong: truncated, damaged, of another format, or its counts disagree.
    #[error("{path}: {problem}")]
    Format {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// What is wrong and how to mend it.
        problem: String,
    },
    /// An option or a value is wrong.
    #[error("{0}")]
    Usage(String),
    /// A peer stopped, so this rank cannot go on.
    #[error("{rank} stopped before the run was over: {reason}")]
    PeerLost {
        /// The rank that stopped first.
        rank: Rank,
        /// Why, as far as is known.
        reason: String,
    },
    /// A plugin panicked; the text is the panic's message.
    #[error("the algorithm panicked on {rank}: {message}")]
    Panicked {
        /// Where.
        rank: Rank,
        /// What it said.
        message: String,
    },
    /// The answer is wrong or was changed.
    #[error("{0}")]
    Answer(String),
    /// A device failed, or cannot do what the run needs.
    #[error("{device}: {problem}; {mend}")]
    Device {
        /// Which, with its name.
        device: String,
        /// What it cannot do, and the driver's word for it.
        problem: String,
        /// What can be done.
        mend: String,
    },
    /// The machine refused something the run needs.
    #[error("{0}")]
    Environment(String),
}

/// Decides the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Ran, but the answer or a check failed: exit 1.
    Answer,
    /// Bad usage or bad input: exit 2.
    Usage,
    /// The environment failed: exit 3.
    Environment,
}

impl Error {
    /// The class of this error.
    pub fn class(&self) -> Class {
        match self {
            Error::Read { .. } | Error::Line { .. } | Error::Format { .. } | Error::Usage(_) => Class::Usage,
            Error::Write { .. } | Error::Device { .. } | Error::Environment(_) => Class::Environment,
            Error::PeerLost { .. } | Error::Panicked { .. } | Error::Answer(_) => Class::Answer,
        }
    }

    /// A usage error.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::Usage(message.into())
    }
}
