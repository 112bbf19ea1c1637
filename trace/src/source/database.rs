//! The readers of all kinds of SQLite databases share this: which tables and columns there are, and a call for each row of a query.

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

    /// Whether one of its tables has a name that begins like this.
    pub(super) fn has_any(&self, prefix: &str) -> bool {
        self.tables.iter().any(|table| table.starts_with(prefix))
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

/// Opens a database and lists its tables.
pub(super) fn open(path: &Path) -> rusqlite::Result<Database> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = Database { connection: Connection::open_with_flags(path, flags)?, tables: HashSet::new() };
    let mut tables = HashSet::new();
    database.each("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')", |row| {
        tables.insert(row.get(0)?);
        Ok(())
    })?;
    database.tables = tables;
    Ok(database)
}
