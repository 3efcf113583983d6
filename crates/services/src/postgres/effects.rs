//! What is in effect of what was asked of PostgreSQL, by its own view of its settings.

use crate::effect::{self, Effects};
use crate::service::Error;
use std::collections::BTreeMap;
use wire::Connection as _;
use wire::postgres::Postgres as Client;

/// Asks what is in effect.
pub fn ask(client: &mut Client, asked: &BTreeMap<String, String>) -> Result<Effects, Error> {
    let ask = |client: &mut Client, sql: &str| {
        let failed = |source| Error::Asked { server: "postgres", action: "say its settings".into(), source };
        client.query(sql).map(|answer| answer.rows).map_err(failed)
    };
    let column = |row: &[Option<String>], index: usize| row.get(index).cloned().flatten().unwrap_or_default();
    let mut facts = BTreeMap::new();
    let changed = "SELECT name, current_setting(name) FROM pg_settings WHERE setting IS DISTINCT FROM boot_val \
                   AND source IN ('configuration file', 'command line', 'override') \
                   AND name NOT IN ('listen_addresses', 'port', 'hba_file')";
    let version = ask(client, "SHOW server_version")?;
    facts.insert("postgres.version".into(), version.first().map(|row| column(row, 0)).unwrap_or_default());
    facts.extend(ask(client, changed)?.iter().map(|row| (format!("postgres.{}", column(row, 0)), column(row, 1))));
    let mut ineffective = Vec::new();
    for (name, value) in asked {
        let name_quoted = name.replace('\'', "''");
        let sql = format!(
            "SELECT current_setting(name), coalesce(unit, '') FROM pg_settings WHERE lower(name) = lower('{name_quoted}')"
        );
        let rows = ask(client, &sql)?;
        // A name of an extension that is not loaded is in effect for nobody.
        let Some(row) = rows.first() else {
            ineffective.push(format!("postgres has no setting {name}: it was asked to be {value}"));
            continue;
        };
        let (found, unit) = (column(row, 0), column(row, 1));
        if !effect::same(value, &found, effect::unit(&unit)) {
            ineffective.push(format!("postgres runs with {name} = {found}, where {value} was asked"));
        }
        facts.insert(format!("postgres.{name}"), found);
    }
    Ok(Effects { facts, ineffective })
}
