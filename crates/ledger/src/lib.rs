//! The results file: append-only, SQLite, one file a study. The only crate that knows its schema.

pub mod model;
