//! SQLite databases: which kind one is, and the parts of reading that kinds share.

use super::{Options, ascend_db, nsys};
use crate::error::{Error, Result};
use crate::recording::Recording;
use rusqlite::{Connection, OpenFlags};
use std::collections::HashSet;
use std::path::Path;

/// A database that is open, with the tables it has. Tables that would be empty are often absent.
pub(super) struct Database {
    connection: Connection,
    tables: HashSet<String>,
}

impl Database {
    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// Whether a table has a column.
    pub(super) fn has_column(&self, table: &str, column: &str) -> rusqlite::Result<bool> {
        let mut statement = self.connection.prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2")?;
        statement.exists([table, column])
    }

    /// The column if the table has it, else NULL.
    pub(super) fn column(&self, table: &str, column: &str) -> rusqlite::Result<String> {
        Ok(if self.has_column(table, column)? { format!("\"{column}\"") } else { "NULL".into() })
    }

    /// Calls `row` with each row that `query` finds.
    pub(super) fn each(
        &self,
        query: &str,
        mut row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(found) = rows.next()? {
            row(found)?;
        }
        Ok(())
    }
}

/// Reads a database.
pub(super) fn read(path: &Path, options: &Options) -> Result<Recording> {
    let failed = |source| Error::Database { path: path.into(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    let mut database = Database { connection, tables: HashSet::new() };
    let mut tables = HashSet::new();
    let named = database.each("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')", |row| {
        tables.insert(row.get(0)?);
        Ok(())
    });
    named.map_err(failed)?;
    database.tables = tables;
    let is_nsys = database.tables.iter().any(|table| table.starts_with("CUPTI_ACTIVITY_KIND_"))
        || database.has("META_DATA_EXPORT");
    let is_ascend = ["TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "CANN_API", "RANK_DEVICE_MAP"]
        .iter()
        .any(|table| database.has(table));
    let mut recording = Recording::default();
    if is_nsys {
        nsys::read(&database, options, &mut recording).map_err(failed)?;
    } else if is_ascend {
        ascend_db::read(&database, options, &mut recording).map_err(failed)?;
    } else {
        let found = "it is an SQLite database without tables of Nsight Systems or Ascend".into();
        return Err(Error::Unknown { path: path.into(), found });
    }
    Ok(recording)
}
