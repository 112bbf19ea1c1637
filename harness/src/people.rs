//! What people read: sentences and short tables on stderr.

use std::error::Error;
use std::io::Write;

/// Writes a line to stderr. If stderr is closed nobody reads it, and the run goes on.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// An error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    line
}
