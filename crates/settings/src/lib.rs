//! What a setting is: its name, its unit, what is allowed, its default and its sentence of help.
//!
//! One table of [`Setting`]s a kind (a workload, the storage) is the only place where that kind's parameters are
//! described: the check of a study file, the JSON Schema, `surefoot help` and the reference docs all read it.
//! Pure: no file, clock or process.

pub mod configuration;
pub mod quantity;
mod setting;

pub use setting::{Kind, Setting, Wrong, check_all, check_plain, defaults, nearest_name, typed};
