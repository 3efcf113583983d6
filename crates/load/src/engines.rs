//! Databases that a load can be put on: a row each, in a file of its own. Nobody else compares a string with a name of theirs.

pub mod etcd;
pub mod gtm;
pub mod lmdb;
pub mod mariadb;
pub mod postgres;
pub mod redis;
pub mod sqlite;

use crate::sql::Engine;
use serde::de::{Deserialize, Deserializer, Error as _};

/// Every engine there is, in the order of lists.
static ENGINES: [&Engine; 7] =
    [&lmdb::ENGINE, &sqlite::ENGINE, &gtm::ENGINE, &postgres::ENGINE, &mariadb::ENGINE, &redis::ENGINE, &etcd::ENGINE];

/// Names of all.
pub const NAMES: &[&str] = &names::<{ count(false) }>(false);

/// Names of those that take SQL.
pub const SQL_NAMES: &[&str] = &names::<{ count(true) }>(true);

const fn is_in(engine: &Engine, sql_only: bool) -> bool {
    !sql_only || engine.sql.is_some()
}

const fn count(sql_only: bool) -> usize {
    let (mut index, mut count) = (0, 0);
    while index < ENGINES.len() {
        count += is_in(ENGINES[index], sql_only) as usize;
        index += 1;
    }
    count
}

const fn names<const COUNT: usize>(sql_only: bool) -> [&'static str; COUNT] {
    let (mut index, mut count, mut names) = (0, 0, [""; COUNT]);
    while index < ENGINES.len() {
        if is_in(ENGINES[index], sql_only) {
            names[count] = ENGINES[index].name;
            count += 1;
        }
        index += 1;
    }
    names
}

/// Every engine there is, in the order of lists.
pub fn all() -> &'static [&'static Engine] {
    &ENGINES
}

/// The engine of this name.
pub fn named(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().find(|engine| engine.name == name).copied()
}

impl<'de> Deserialize<'de> for &'static Engine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        named(&name).ok_or_else(|| D::Error::custom(format!("there is no engine `{name}`")))
    }
}
