//! What the suite's tables are made of, types, keys and indexes, and how a database says that.

use load::sql::Dialect;

/// What a column holds. Where a database has no such type, the next larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Tiny,
    Small,
    Medium,
    Integer,
    Float,
    Double,
    Char(u32),
    Varchar(u32),
    /// Up to 65,535 bytes.
    Blob,
}

/// A column: its name, what it holds, and whether it may be NULL.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    pub name: &'a str,
    pub kind: Type,
    pub may_be_null: bool,
}

/// A column that is not NULL.
pub const fn column(name: &str, kind: Type) -> Column<'_> {
    Column { name, kind, may_be_null: false }
}

/// A column that may be NULL.
pub const fn optional(name: &str, kind: Type) -> Column<'_> {
    Column { name, kind, may_be_null: true }
}

/// A key over columns, which are written with commas.
#[derive(Debug, Clone, Copy)]
pub enum Key<'a> {
    Primary(&'a str),
    Unique(&'a str),
    Index(&'a str),
}

/// Statements that make a table with its keys: some databases make them together, others one index after the other.
pub fn create(dialect: &Dialect, table: &str, columns: &[Column], keys: &[Key]) -> Vec<String> {
    let part = |column: &Column| {
        let null = if column.may_be_null { "" } else { " NOT NULL" };
        format!("{} {}{null}", column.name, column.kind.words(dialect))
    };
    let mut parts: Vec<String> = columns.iter().map(part).collect();
    let mut indexes = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        match key {
            Key::Primary(columns) => parts.push(format!("PRIMARY KEY ({columns})")),
            Key::Unique(columns) => parts.push(format!("UNIQUE ({columns})")),
            Key::Index(columns) if dialect.indexes_in_tables => {
                parts.push(format!("INDEX {table}_{number} ({columns})"));
            }
            Key::Index(columns) => {
                indexes.push(format!("CREATE INDEX {table}_{number} ON {table} ({columns})"));
            }
        }
    }
    [vec![format!("CREATE TABLE {table} ({})", parts.join(", "))], indexes].concat()
}

impl Type {
    fn words(self, dialect: &Dialect) -> String {
        match self {
            Type::Tiny => dialect.tiny.into(),
            Type::Small => "SMALLINT".into(),
            Type::Medium => dialect.medium.into(),
            Type::Integer => "INTEGER".into(),
            Type::Float => dialect.float.into(),
            Type::Double => "DOUBLE PRECISION".into(),
            Type::Char(width) => format!("CHAR({width})"),
            Type::Varchar(width) => format!("VARCHAR({width})"),
            Type::Blob => dialect.blob.into(),
        }
    }
}
