//! What databases say differently in SQL.

use super::{Column, ColumnKind};

/// Words of one database; those that [`COMMON`] has too are the standard's, or most databases'.
#[derive(Debug)]
pub struct Dialect {
    /// A whole column that is the primary key and is numbered by the database.
    pub identity: &'static str,
    /// A moment.
    pub timestamp: &'static str,
    /// A whole number of 8 bits, or the next larger one.
    pub tiny: &'static str,
    /// A whole number of 24 bits, or the next larger one.
    pub medium: &'static str,
    /// A fraction of 32 bits.
    pub float: &'static str,
    /// Up to 65,535 bytes.
    pub blob: &'static str,
    /// What follows the columns of a table.
    pub table: &'static str,
    /// The same where texts are compared byte by byte, whatever their script.
    pub table_bytewise: &'static str,
    /// Divides whole numbers and leaves no fraction.
    pub quotient: &'static str,
    /// Whether a table's statement makes its indexes, too, and an index has its name within its table.
    pub indexes_in_tables: bool,
    /// Whether one ALTER TABLE adds or drops several columns.
    pub alters_many_columns: bool,
    /// Whether a backslash in a quoted text takes the next character's meaning away.
    pub backslash_escapes: bool,
    /// What follows a SELECT that takes its rows' locks.
    pub for_update: &'static str,
    /// What follows an INSERT that replaces this column of rows whose key is there.
    pub replacing: fn(key: &str, column: &str) -> String,
}

/// The words of most.
pub const COMMON: Dialect = Dialect {
    identity: "INTEGER PRIMARY KEY",
    timestamp: "TIMESTAMP",
    tiny: "SMALLINT",
    medium: "INTEGER",
    float: "REAL",
    blob: "BLOB",
    table: "",
    table_bytewise: "",
    quotient: "/",
    indexes_in_tables: false,
    alters_many_columns: true,
    backslash_escapes: false,
    for_update: " FOR UPDATE",
    replacing: |key, column| format!("ON CONFLICT ({key}) DO UPDATE SET {column} = excluded.{column}"),
};

impl Dialect {
    /// The statement that makes a table that a load fills.
    pub fn create(&self, name: &str, columns: &[Column]) -> String {
        let column = |(name, kind): &Column| {
            let kind = match kind {
                ColumnKind::Identity => self.identity.to_string(),
                ColumnKind::Key => "INTEGER NOT NULL PRIMARY KEY".into(),
                ColumnKind::Filler(width) => format!("CHAR({width})"),
                ColumnKind::Timestamp => self.timestamp.into(),
                ColumnKind::Integer => "INTEGER DEFAULT 0 NOT NULL".into(),
                ColumnKind::Text(width) => format!("CHAR({width}) DEFAULT '' NOT NULL"),
            };
            format!("{name} {kind}")
        };
        format!("CREATE TABLE {name} ({}){}", columns.iter().map(column).collect::<Vec<_>>().join(", "), self.table)
    }

    /// The statement that removes an index.
    pub fn drop_index(&self, table: &str, index: &str) -> String {
        if self.indexes_in_tables { format!("DROP INDEX {index} ON {table}") } else { format!("DROP INDEX {index}") }
    }
}
