//! Stdout, which is for machines: records and documents, nothing for people.

use framework::base::error::{Error, Result};
use std::io::{self, Write};

/// Writes to stdout.
///
/// # Errors
/// When stdout is closed or its disk full.
pub(crate) fn print(text: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush()).map_err(stdout_failed)
}

/// The error of a write to stdout.
pub(crate) fn stdout_failed(source: io::Error) -> Error {
    Error::Write { path: "stdout".into(), source }
}
