//! `surefoot list`: what there is; and one of them explained, from the same tables that check a study file.

use crate::cli::ListArgs;
use crate::failure::{Failure, Status};
use crate::source::STUDIES;
use anyhow::anyhow;
use load::workload::Kind;
use serde_json::json;
use settings::Setting;
use std::fmt::Write as _;

/// Metrics of a workload that are named: `sql-bench` has some for each of its operations.
const METRICS_MAX: usize = 80;

/// Tables of a study file that are neither a workload's nor a service's: name, what it is, settings.
fn tables() -> [(&'static str, &'static str, &'static [Setting]); 8] {
    [
        ("study", "the study itself, above all tables", study::TOP),
        ("design", "[design], how often and in which order", study::DESIGN),
        ("cpus", "[cpus], who runs where", study::CPUS),
        ("storage", "[storage], and of [storage.wal]", storage::settings()),
        ("guest", "[guest], for bench = \"guest\"", study::GUEST),
        ("safety", "[safety], what a power cut takes and a failing disk does", study::SAFETY),
        ("limit", "[[limit]], what a figure must keep: a yes or a no; `at_most` or `at_least`", study::LIMIT),
        (
            "table",
            "[[table]], a table of the report; others' figures stand in its `published`, as `surefoot list gtm-filesystems` has them",
            study::TABLE,
        ),
    ]
}

/// Prints the lists, one of them, or one thing.
pub fn run(args: &ListArgs) -> Result<Status, Failure> {
    if args.json {
        if let Some(what) = &args.what {
            let error = anyhow!("`--json` has all lists, and not `{what}` alone");
            return Err(Failure::new(Status::BadStudy, error).hint("leave one of them out"));
        }
        println!("{:#}", all_as_json());
        return Ok(Status::Answered);
    }
    let lists = lists();
    let text = match args.what.as_deref() {
        None => lists.each_ref().map(list).join("\n"),
        Some(what) => {
            let found = lists.iter().find(|(name, _)| *name == what).map(list);
            found.or_else(|| explain(what)).ok_or_else(|| unknown(what))?
        }
    };
    let more = args.what.is_none().then(|| {
        let names = tables().map(|(name, ..)| name).join(", ");
        format!("\n`surefoot list NAME` explains one of them, or the settings of {names}.\n")
    });
    print!("{text}{}", more.unwrap_or_default());
    Ok(Status::Answered)
}

/// What a list has, by name, and what each is.
type Rows = Vec<(&'static str, String)>;

/// The lists by name.
fn lists() -> [(&'static str, Rows); 5] {
    let filesystem = |row: &storage::Filesystem| {
        let presets: Vec<_> = row.presets().iter().map(|preset| preset.name).collect();
        let presets = if presets.is_empty() { String::new() } else { format!("; presets: {}", presets.join(", ")) };
        (row.name, format!("{} (package {}){presets}", row.mkfs, row.package))
    };
    [
        ("studies", STUDIES.iter().map(|(name, text)| (*name, question(text))).collect()),
        ("workloads", workloads::kinds().iter().map(|kind| (kind.name, kind.summary.into())).collect()),
        ("services", services::kinds().iter().map(|kind| (kind.name, kind.summary.into())).collect()),
        ("filesystems", storage::filesystems().iter().map(filesystem).collect()),
        ("devices", storage::DEVICES.iter().map(|(name, help)| (*name, (*help).into())).collect()),
    ]
}

fn list((what, rows): &(&str, Rows)) -> String {
    rows.iter().fold(format!("{what}:\n"), |out, (name, help)| out + &format!("  {name:20} {help}\n"))
}

fn explain(what: &str) -> Option<String> {
    if let Some((name, text)) = STUDIES.iter().find(|(name, _)| *name == what) {
        let more =
            workloads::kind(name).map(|_| format!("\n# Its workload's settings: surefoot list workload.{name}\n"));
        return Some(format!("{text}{}", more.unwrap_or_default()));
    }
    let table_name = what.trim_matches(['[', ']']);
    if let Some((_, of, settings)) = tables().into_iter().find(|(name, ..)| *name == table_name) {
        return Some(format!("settings of {of}:\n{}", table(settings)));
    }
    // Some names are those of a study, too.
    let about = |of: &str, name: &str, [summary, example]: [&str; 2], settings: &[Setting]| {
        format!("{name}: {summary}\n\n{example}\nsettings of [{of}.{name}]:\n{}", table(settings))
    };
    if let Some(kind) = workloads::kind(what.strip_prefix("workload.").unwrap_or(what)) {
        return Some(about("workload", kind.name, [kind.summary, kind.example], kind.settings) + &metrics(kind));
    }
    if let Some(kind) = services::kind(what.strip_prefix("service.").unwrap_or(what)) {
        return Some(about("service", kind.name, [kind.summary, kind.example], kind.settings) + &as_factor(kind.name));
    }
    if let Some((name, help)) = storage::DEVICES.iter().find(|(name, _)| *name == what) {
        return Some(format!("device {name}: {help}\nIts settings are those of [storage]: surefoot list storage\n"));
    }
    let row = storage::filesystems().iter().find(|row| row.name == what)?;
    let check = row.check.as_ref().map_or("none", |check| check.program);
    let mut out = format!("{}: made by {} (Debian package {}), checked by {check}\n", row.name, row.mkfs, row.package);
    let presets = row.presets();
    let width = presets.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    for preset in presets {
        let _ = writeln!(out, "  preset {:width$}  {}", preset.name, preset.help);
    }
    out.push_str("Its settings are those of [storage]: surefoot list storage\n");
    Some(out)
}

/// How a server's own settings are varied, which no list has.
fn as_factor(service: &str) -> String {
    let factor = format!("\"service.{service}.settings.NAME\" = [LEVEL, LEVEL]");
    format!("\neach of its own settings can be a factor, below [factors]:\n  {factor}\n")
}

/// What a workload's runs are measured by with its defaults, for limits and tables; what the answer is about comes first. Of `command` a
/// study names them.
fn metrics(kind: &Kind) -> String {
    let metrics = (kind.read)(&settings::defaults(kind.settings)).metrics();
    let names: Vec<&str> = metrics.iter().take(METRICS_MAX).map(|metric| &*metric.name).collect();
    let more = metrics.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let all = format!("{}{more}", names.join(", "));
    if all.is_empty() {
        all
    } else {
        format!("\nits metrics with these defaults, for [[limit]] and [[table]]:\n  {all}\n")
    }
}

fn table(settings: &[Setting]) -> String {
    let mut out = String::new();
    for Setting { name, kind, default, help } in settings {
        let default = default.map_or("none", |written| if written.is_empty() { "\"\"" } else { written });
        let _ = writeln!(out, "  {name} = {} (default {default})\n      {help}", kind.allowed());
    }
    out
}

/// The `question` line of an embedded study.
fn question(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("question"));
    line.unwrap_or_default().trim_matches(|c| " =\"".contains(c)).to_string()
}

fn all_as_json() -> serde_json::Value {
    let filesystem = |row: &'static storage::Filesystem| {
        let missing: Vec<_> = storage::missing_for(row).into_iter().map(|missing| missing.what).collect();
        json!({ "name": row.name, "mkfs": row.mkfs, "package": row.package, "missing": missing })
    };
    let list = |(list, rows): (&str, Rows)| {
        let said = if list == "studies" { "question" } else { "summary" };
        let entries: Vec<serde_json::Value> = match list {
            "filesystems" => storage::filesystems().iter().map(filesystem).collect(),
            _ => rows.into_iter().map(|(name, words)| json!({ "name": name, said: words })).collect(),
        };
        (list.to_string(), serde_json::Value::from(entries))
    };
    lists().into_iter().map(list).collect::<serde_json::Map<_, _>>().into()
}

fn unknown(what: &str) -> Failure {
    let lists = lists();
    let names = lists.iter().flat_map(|(_, rows)| rows).map(|(name, _)| *name);
    let names = names.chain(lists.iter().map(|(name, _)| *name)).chain(tables().map(|(name, ..)| name));
    let hint = match settings::nearest_name(what, names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`surefoot list` shows everything".into(),
    };
    Failure::new(Status::BadStudy, anyhow!("there is nothing called `{what}`")).hint(hint)
}
