//! Redis, or Valkey, as loads see it.

use crate::sql::{Engine, PLAIN, Place, failed as of_engine, server};
use crate::workload::Error;
use serde_json::{Map, Value};
use wire::redis::Redis;

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "redis",
    power_cuts_of: &["key-value"],
    unmeasured: |service| {
        // A recording of seconds would call the minutes between two snapshots "the last moments".
        (!keeps_log(service)).then_some(
            "without an append-only file Redis loses all since its last snapshot, and its snapshots are minutes apart; set service.redis.settings.appendonly = \"yes\"",
        )
    },
    file_kind: |file| match file {
        log if log.ends_with(".incr.aof") => "append-only file",
        base if base.ends_with(".base.rdb") || base.ends_with(".base.aof") => "rewritten append-only file",
        list if list.ends_with(".manifest") => "list of append-only files",
        snapshot if snapshot.ends_with(".rdb") => "snapshot",
        _ => "other file",
    },
    ..PLAIN
};

/// Whether the service's settings ask for an append-only file.
fn keeps_log(service: &Map<String, Value>) -> bool {
    let settings = service.get("settings").and_then(Value::as_object).into_iter().flatten();
    // As its service writes it, and the server reads it.
    let is_word = |word: &str| word == "on" || word.eq_ignore_ascii_case("yes");
    let is_yes = |value: &Value| *value == Value::Bool(true) || value.as_str().map(str::trim).is_some_and(is_word);
    settings.into_iter().any(|(name, value)| name.eq_ignore_ascii_case("appendonly") && is_yes(value))
}

/// A connection to the trial's server.
///
/// # Errors
/// When none was started, or it does not answer.
pub fn connect(place: &Place) -> Result<Redis, Error> {
    let at = server(place, ENGINE.name)?;
    let mut client = Redis::connect(&at.address()).map_err(failed("be reached"))?;
    if let Some(password) = &at.password {
        client.ask(&["AUTH", password]).map_err(failed("let us in"))?;
    }
    Ok(client)
}

/// A refusal or loss as a workload's error.
pub fn failed(action: &'static str) -> impl FnOnce(wire::Error) -> Error {
    of_engine(ENGINE.name, action)
}

/// Whether it keeps a log of changes.
///
/// # Errors
/// When it does not say.
pub fn has_log(client: &mut Redis) -> Result<bool, Error> {
    let said = client.ask(&["CONFIG", "GET", "appendonly"]).and_then(wire::redis::Reply::texts);
    Ok(said.map_err(failed("say whether it keeps a log"))?.last().is_some_and(|value| value == "yes"))
}

/// What it says of its files, of this name; empty: nothing.
///
/// # Errors
/// When it does not say.
pub fn persistence(client: &mut Redis, name: &str) -> Result<String, Error> {
    let said = client.ask(&["INFO", "persistence"]).and_then(wire::redis::Reply::texts);
    let text = said.map_err(failed("say how its files are"))?.concat();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(value.unwrap_or_default().trim().into())
}

/// Asks for a rewrite of its log, and waits for its end, unless `is_over` meanwhile.
///
/// # Errors
/// When it refuses, or the rewrite fails.
pub fn rewrite_log(client: &mut Redis, is_over: &dyn Fn() -> bool) -> Result<(), Error> {
    let begun = match client.ask(&["BGREWRITEAOF"]).map(drop) {
        // One that it began itself.
        Err(wire::Error::Refused { message, .. }) if message.contains("already in progress") => Ok(()),
        other => other,
    };
    begun.map_err(failed("rewrite its log"))?;
    let is_set = |client: &mut Redis, name: &str| Ok::<bool, Error>(persistence(client, name)? == "1");
    // While a snapshot is made, the rewrite waits.
    while is_set(client, "aof_rewrite_scheduled")? || is_set(client, "aof_rewrite_in_progress")? {
        if is_over() {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    let status = persistence(client, "aof_last_bgrewrite_status")?;
    if status == "ok" {
        return Ok(());
    }
    let refused = wire::Error::Refused { code: "aof_last_bgrewrite_status".into(), message: status };
    Err(failed("rewrite its log")(refused))
}

/// How often a rewrite is looked at.
const LOOK: std::time::Duration = std::time::Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_only_file_is_asked_for_in_any_of_its_words() {
        let keeps = |settings: Value| {
            let service = serde_json::json!({ "settings": settings });
            keeps_log(service.as_object().expect("a table"))
        };
        for word in ["yes", "YES", "on", " yes"] {
            assert!(keeps(serde_json::json!({ "AppendOnly": word })), "{word}");
        }
        assert!(keeps(serde_json::json!({ "appendonly": true })));
        assert!(!keeps(serde_json::json!({ "appendonly": "no" })) && !keeps(serde_json::json!({})));
    }
}
