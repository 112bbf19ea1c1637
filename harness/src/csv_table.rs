//! Tables as CSV.

use framework::base::error::{Error, Result};

/// A table: its header, then its rows.
pub(crate) type Table = Vec<Vec<String>>;

/// A table as RFC 4180 has it.
///
/// # Errors
/// When a row has another number of columns than the header, which no table here has.
pub(crate) fn text(table: &Table) -> Result<Vec<u8>> {
    let failed = |error: String| Error::Environment(format!("a table could not be written: {error}"));
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for row in table {
        writer.write_record(row).map_err(|error| failed(error.to_string()))?;
    }
    writer.into_inner().map_err(|error| failed(error.to_string()))
}
