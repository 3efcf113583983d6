//! `surefoot list`: what there is; and one of them explained, from the same tables that check a study file.

use crate::cli::ListArgs;
use crate::failure::{Failure, Status};
use crate::source::STUDIES;
use anyhow::anyhow;
use serde_json::json;
use settings::Setting;
use std::fmt::Write as _;

/// Tables of a study file that are neither a workload's nor a service's: name, what it is, settings.
fn tables() -> [(&'static str, &'static str, &'static [Setting]); 6] {
    [
        ("study", "the study itself, above all tables", study::TOP),
        ("design", "[design], how often and in which order", study::DESIGN),
        ("cpus", "[cpus], who runs where", study::CPUS),
        ("storage", "[storage], and of [storage.wal]", storage::settings()),
        ("guest", "[guest], for bench = \"guest\"", study::GUEST),
        ("safety", "[safety], what a power cut takes and a failing disk does", study::SAFETY),
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
    let text = match args.what.as_deref() {
        None => ["studies", "workloads", "services", "filesystems", "devices"]
            .map(|name| list(name).unwrap_or_default())
            .join("\n"),
        Some(what) => list(what).or_else(|| explain(what)).ok_or_else(|| unknown(what))?,
    };
    let more = args.what.is_none().then(|| {
        let names = tables().map(|(name, ..)| name).join(", ");
        format!("\n`surefoot list NAME` explains one of them, or the settings of {names}.\n")
    });
    print!("{text}{}", more.unwrap_or_default());
    Ok(Status::Answered)
}

fn list(what: &str) -> Option<String> {
    let rows: Vec<(String, String)> = match what {
        "studies" => STUDIES.iter().map(|(name, text)| ((*name).into(), question(text))).collect(),
        "workloads" => workloads::kinds().iter().map(|kind| (kind.name.into(), kind.summary.into())).collect(),
        "services" => services::kinds().iter().map(|kind| (kind.name.into(), kind.summary.into())).collect(),
        "filesystems" => storage::filesystems()
            .iter()
            .map(|row| {
                let presets: Vec<_> = row.presets().iter().map(|preset| preset.name).collect();
                let presets =
                    if presets.is_empty() { String::new() } else { format!("; presets: {}", presets.join(", ")) };
                (row.name.into(), format!("{} (package {}){presets}", row.mkfs, row.package))
            })
            .collect(),
        "devices" => storage::DEVICES.iter().map(|(name, help)| ((*name).into(), (*help).into())).collect(),
        _ => return None,
    };
    let mut out = format!("{what}:\n");
    for (name, help) in rows {
        let _ = writeln!(out, "  {name:20} {help}");
    }
    Some(out)
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
        Some(format!("{name}: {summary}\n\n{example}\nsettings of [{of}.{name}]:\n{}", table(settings)))
    };
    if let Some(kind) = workloads::kind(what.strip_prefix("workload.").unwrap_or(what)) {
        return about("workload", kind.name, [kind.summary, kind.example], kind.settings);
    }
    if let Some(kind) = services::kind(what.strip_prefix("service.").unwrap_or(what)) {
        return about("service", kind.name, [kind.summary, kind.example], kind.settings);
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

fn table(settings: &[Setting]) -> String {
    let mut out = String::new();
    for setting in settings {
        let default = setting.default.map_or("none", |written| if written.is_empty() { "\"\"" } else { written });
        let _ = writeln!(
            out,
            "  {} = {} (default {default})\n      {}",
            setting.name,
            setting.kind.allowed(),
            setting.help
        );
    }
    out
}

/// The `question` line of an embedded study.
fn question(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("question"));
    line.unwrap_or_default().trim_matches(|c| " =\"".contains(c)).to_string()
}

fn all_as_json() -> serde_json::Value {
    let studies: Vec<_> =
        STUDIES.iter().map(|(name, text)| json!({ "name": name, "question": question(text) })).collect();
    let workloads: Vec<_> =
        workloads::kinds().iter().map(|kind| json!({ "name": kind.name, "summary": kind.summary })).collect();
    let filesystems: Vec<_> = storage::filesystems()
        .iter()
        .map(|row| json!({ "name": row.name, "mkfs": row.mkfs, "package": row.package, "missing": storage::missing_for(row).iter().map(|m| &m.what).collect::<Vec<_>>() }))
        .collect();
    let devices: Vec<_> =
        storage::DEVICES.iter().map(|(name, help)| json!({ "name": name, "summary": help })).collect();
    let services: Vec<_> =
        services::kinds().iter().map(|kind| json!({ "name": kind.name, "summary": kind.summary })).collect();
    json!({ "studies": studies, "workloads": workloads, "services": services, "filesystems": filesystems, "devices": devices })
}

fn unknown(what: &str) -> Failure {
    let names = STUDIES
        .iter()
        .map(|(name, _)| *name)
        .chain(workloads::kinds().iter().map(|kind| kind.name))
        .chain(services::kinds().iter().map(|kind| kind.name))
        .chain(storage::filesystems().iter().map(|row| row.name))
        .chain(storage::DEVICES.iter().map(|(name, _)| *name))
        .chain(["studies", "workloads", "services", "filesystems", "devices"])
        .chain(tables().map(|(name, ..)| name));
    let hint = match settings::nearest_name(what, names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`surefoot list` shows everything".into(),
    };
    Failure::new(Status::BadStudy, anyhow!("there is nothing called `{what}`")).hint(hint)
}
