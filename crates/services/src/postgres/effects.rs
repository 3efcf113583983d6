//! What is in effect of what was asked of PostgreSQL, by its own view of its settings.

use crate::effect::{self, Effects};
use crate::service::Error;
use std::collections::BTreeMap;
use wire::Connection as _;
use wire::postgres::Postgres as Client;

/// Settings that promise less, as this session has them. A database or a role may have values of its own (ALTER DATABASE … SET), and the data
/// a file with settings (ALTER SYSTEM): a dump makes them, and no file that surefoot writes stands above them.
const WEAKENED: &str = "SELECT name FROM pg_settings \
     WHERE setting = 'off' AND name IN ('fsync', 'full_page_writes', 'synchronous_commit')";

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
            "SELECT current_setting(name), coalesce(unit, ''), coalesce(boot_val, '') FROM pg_settings WHERE lower(name) = lower('{name_quoted}')"
        );
        let rows = ask(client, &sql)?;
        // A name of an extension that is not loaded is in effect for nobody.
        let Some(row) = rows.first() else {
            ineffective.push(format!("postgres has no setting {name}: it was asked to be {value}"));
            continue;
        };
        let (found, unit) = (column(row, 0), column(row, 1));
        if !is_in_effect(name, value, (found.as_str(), unit.as_str()), &column(row, 2)) {
            ineffective.push(format!("postgres runs with {name} = {found}, where {value} was asked"));
        }
        facts.insert(format!("postgres.{name}"), found);
    }
    let weakened: Vec<String> = ask(client, WEAKENED)?.iter().map(|row| column(row, 0)).collect();
    let durability = super::durability(|name| weakened.iter().any(|weakened| weakened == name));
    Ok(Effects { facts, ineffective, durability: Some(durability) })
}

/// Whether a setting that the server shows as `found`, in this unit where it has no other, is what was asked; `default` is its own.
fn is_in_effect(name: &str, asked: &str, (found, unit): (&str, &str), default: &str) -> bool {
    // It sizes some buffers by others, and shows the size.
    let is_left_to_it = asked == default && ["-1", "0"].contains(&asked);
    // Of two words for one method it shows the first (its source, `wal_compression_options`).
    let is_compressed = name.eq_ignore_ascii_case("wal_compression") && found == "pglz";
    is_left_to_it || is_compressed && effect::same(asked, "on", 1.0) || effect::same(asked, found, effect::unit(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL 15 shows them.
    #[test]
    fn what_the_server_says_in_other_words_is_in_effect() {
        for asked in ["on", "true", "1", "pglz"] {
            assert!(is_in_effect("wal_compression", asked, ("pglz", ""), "off"), "{asked}");
        }
        assert!(is_in_effect("wal_buffers", "-1", ("4MB", "8kB"), "-1"));
        assert!(is_in_effect("shared_buffers", "16384", ("128MB", "8kB"), "16384"));
        for (name, asked, found, default) in [
            ("wal_compression", "lz4", "pglz", "off"),
            ("wal_compression", "off", "pglz", "off"),
            ("wal_compression", "on", "off", "off"),
            ("default_toast_compression", "on", "pglz", "pglz"),
            ("wal_buffers", "16MB", "4MB", "-1"),
            ("data_checksums", "off", "on", "off"),
        ] {
            assert!(!is_in_effect(name, asked, (found, ""), default), "{name} = {asked}");
        }
    }
}
