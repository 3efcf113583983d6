//! How the three databases say what the suite asks: types, keys, indexes, changes of tables. All that differs is here.

/// Whose SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    MariaDb,
    Sqlite,
}

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
    /// Up to 65,535 bytes; text in PostgreSQL, which would send bytes in hexadecimal digits.
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

impl Dialect {
    /// Of a database by its name.
    pub fn of(engine: &str) -> Dialect {
        match engine {
            "postgres" => Dialect::Postgres,
            "mariadb" => Dialect::MariaDb,
            _ => Dialect::Sqlite,
        }
    }

    /// Statements that make a table with its keys: MariaDB makes them together, the others one index after the other.
    pub fn create(self, table: &str, columns: &[Column], keys: &[Key]) -> Vec<String> {
        let mut parts: Vec<String> = columns
            .iter()
            .map(|column| {
                let null = if column.may_be_null { "" } else { " NOT NULL" };
                format!("{} {}{null}", column.name, self.type_of(column.kind))
            })
            .collect();
        let mut indexes = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            match key {
                Key::Primary(columns) => parts.push(format!("PRIMARY KEY ({columns})")),
                Key::Unique(columns) => parts.push(format!("UNIQUE ({columns})")),
                Key::Index(columns) if self == Dialect::MariaDb => {
                    parts.push(format!("INDEX {table}_{number} ({columns})"));
                }
                Key::Index(columns) => {
                    indexes.push(format!("CREATE INDEX {table}_{number} ON {table} ({columns})"));
                }
            }
        }
        let mut all = vec![format!("CREATE TABLE {table} ({})", parts.join(", "))];
        all.append(&mut indexes);
        all
    }

    /// The statement that removes an index.
    pub fn drop_index(self, table: &str, index: &str) -> String {
        match self {
            Dialect::MariaDb => format!("DROP INDEX {index} ON {table}"),
            Dialect::Postgres | Dialect::Sqlite => format!("DROP INDEX {index}"),
        }
    }

    /// Whether one ALTER TABLE adds or drops several columns.
    pub fn alters_many_columns(self) -> bool {
        self != Dialect::Sqlite
    }

    /// A quotient of whole numbers, without its fraction.
    pub fn quotient(self, dividend: &str, divisor: u64) -> String {
        match self {
            Dialect::MariaDb => format!("{dividend} DIV {divisor}"),
            Dialect::Postgres | Dialect::Sqlite => format!("{dividend} / {divisor}"),
        }
    }

    fn type_of(self, kind: Type) -> String {
        let is_mariadb = self == Dialect::MariaDb;
        match kind {
            Type::Tiny if is_mariadb => "TINYINT".into(),
            Type::Tiny | Type::Small => "SMALLINT".into(),
            Type::Medium if is_mariadb => "MEDIUMINT".into(),
            Type::Medium | Type::Integer => "INTEGER".into(),
            Type::Float if is_mariadb => "FLOAT".into(),
            Type::Float => "REAL".into(),
            Type::Double => "DOUBLE PRECISION".into(),
            Type::Char(width) => format!("CHAR({width})"),
            Type::Varchar(width) => format!("VARCHAR({width})"),
            Type::Blob if self == Dialect::Postgres => "TEXT".into(),
            Type::Blob => "BLOB".into(),
        }
    }
}
