//! The report's end: raw values, failures, machine, study file, and how to do it again by hand.

use super::details;
use super::tables::raw;
use crate::bench::{self, Bench, benches};
use crate::document::{Block, Columns, Medium, head, number_cell};
use crate::flushing::Marked as _;
use crate::in_force::{self, InForce};
use crate::input::{Counting, Input};
use crate::number::{date, figure, span, words};
use crate::reproduce::{command_of, commands_of};
use crate::words::{Words as _, estimand, round_words};
use analysis::row::Row;
use analysis::view::View;
use ledger::model::StudyRecord;
use std::collections::BTreeMap;

/// Rows of raw values on the page; more belong into a file.
const RAW_ROWS_MAX: usize = 500;
/// Failures told in full.
const FAILURES_MAX: usize = 30;
/// Scenarios whose commands are listed.
const COMMANDS_MAX: usize = 64;

/// All but what failed.
pub fn how_it_was_made(input: &Input, view: &View) -> Vec<Block> {
    let raw = [Block::Heading(2, "Raw values and how they were made".into()), raw_values(input, view)];
    let mut blocks = vec![
        Block::Only(Medium::Page, raw.into()),
        Block::Only(Medium::Paper, vec![Block::Heading(2, "How it was made".into())]),
        machine(input),
    ];
    blocks.extend(in_force(input));
    blocks.extend([study(input), by_hand(input)]);
    blocks
}

/// The machine in one line.
pub fn machine_line(input: &Input) -> String {
    let Some(session) = input.contents.sessions.last() else { return "no machine facts are recorded".into() };
    // Names as `observe::machine` records them; what is not there is left out.
    let fact = |name: &str| session.machine.get(name);
    let gibibytes = |bytes: &String| {
        bytes.parse::<f64>().ok().map(|bytes| format!("{} GiB memory", figure(bytes / 1_073_741_824.0)))
    };
    let found = [
        fact("cpu_model").cloned(),
        fact("cpus").map(|count| format!("{count} CPUs")),
        fact("hypervisor").filter(|kind| *kind != "none").map(|_| "virtual".to_string()),
        fact("memory_bytes").and_then(gibibytes),
        fact("kernel").map(|release| format!("{} {release}", fact("kernel_name").map_or("Linux", String::as_str))),
        fact("device_model").or(fact("device")).cloned(),
        Some(benches(&input.contents)).filter(|found| found.iter().any(Bench::is_guest)).map(|found| ran(&found)),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    if found.is_empty() { "machine facts are listed below".into() } else { found.join(" · ") }
}

/// Said of a study with guests only.
fn ran(benches: &[Bench]) -> String {
    format!("trials ran {}", bench::list(benches))
}

/// What failed, and how.
pub fn failures(input: &Input) -> Option<Block> {
    let failed = Counting::of(&input.contents).failed;
    if failed.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Heading(2, "Failed trials".into())];
    for trial in failed.iter().take(FAILURES_MAX) {
        let failure = trial.failure.clone().unwrap_or_default();
        let seen = format!("{}, round {}: failed in step `{}`", trial.scenario, round_words(trial), failure.step);
        let mut more = vec![Block::Paragraph(failure.causes.join(": "))];
        more.extend((!failure.log.is_empty()).then_some(Block::Code(failure.log)));
        blocks.push(Block::Warning(seen, more));
    }
    let more = failed.len().saturating_sub(FAILURES_MAX);
    blocks.extend((more > 0).then(|| Block::Note(format!("{more} more failures are in the results file."))));
    Some(Block::Section(blocks))
}

fn raw_values(input: &Input, view: &View) -> Block {
    let counting = Counting::of(&input.contents);
    let mut shown = Vec::new();
    for part in &view.parts {
        let rows: BTreeMap<&str, &Row> = part.rows.iter().map(|row| (row.label.as_str(), row)).collect();
        for (id, runs) in &counting.runs {
            let trial = counting.trials[id];
            let Some(row) = rows.get(trial.scenario.as_str()) else { continue };
            let room = RAW_ROWS_MAX.saturating_sub(shown.len());
            shown.extend(runs.iter().take(room).map(|run| (&*part.metric.name, *row, trial, run)));
        }
    }
    let mut table = Columns::of("raw", &shown)
        .words("scenario", |(_, row, ..)| row.marked())
        .column(head("round"), |(_, _, trial, _)| number_cell(&round_words(trial), f64::from(trial.round + 1)))
        .numbers("position", |(_, _, trial, _)| trial.position as usize + 1)
        .numbers("run", |(.., run)| run.run as usize + 1)
        .words("metric", |(metric, ..)| words(metric))
        .figures("value", |(metric, .., run)| run.metrics.get(*metric).copied(), raw)
        .figures("window, s", |(.., run)| run.seconds, raw)
        .words("started", |(.., run)| date(run.started))
        .table();
    table.filter = "Filter the raw values";
    let (shown, total) = (shown.len(), counting.runs.values().map(Vec::len).sum::<usize>());
    let some = if total > shown { format!(" The first {shown} of {total} runs are shown.") } else { String::new() };
    let note = format!("Primary metrics only.{some} `surefoot report --csv` has every metric of every run.");
    details(format!("Raw values of {total} runs"), [Block::Note(note), Block::Table(table)])
}

/// The machine at each session.
fn machine(input: &Input) -> Block {
    let mut blocks = vec![Block::Paragraph(format!("Trials ran {}.", bench::list(&benches(&input.contents))))];
    for (i, session) in input.contents.sessions.iter().enumerate() {
        let lasted = session.ended.map_or_else(|| "not ended".into(), |ended| span(ended - session.started));
        let reason = session.reason.as_deref().map(|reason| format!(", ended: {reason}")).unwrap_or_default();
        let heading = format!("Session {} on {}: {lasted}{reason}", i + 1, date(session.started));
        let facts = session.machine.iter().map(|(name, value)| (words(name), value.clone())).collect();
        blocks.extend([Block::Heading(3, heading), Block::Facts(facts)]);
    }
    details("Machine", blocks)
}

/// What trials read back, and all settings, those that nobody named marked.
fn in_force(input: &Input) -> [Block; 2] {
    let named = input.contents.study.named.as_deref();
    let note = match named {
        Some(_) => "Bytes, seconds and fractions as plain numbers. Not named by the study: a default of this version.",
        None => {
            "Bytes, seconds and fractions as plain numbers. This results file is of a surefoot that did not record which of them are \
             defaults: those that the study file below does not name."
        }
    };
    let origin = |path: &str| named.map(|named| if in_force::is_named(path, named) { "study" } else { "default" });
    let facts = values("read-back", "fact", &in_force::facts(&input.contents), |_| None);
    let settings = values("settings", "setting", &in_force::settings(&input.contents), origin);
    [
        details("Versions, mount options and servers' settings", [Block::Note(READ_BACK_NOTE.into()), facts]),
        details("Settings in force", [Block::Note(note.into()), settings]),
    ]
}

/// Said above what trials read back.
const READ_BACK_NOTE: &str = "As trials read them back; programs that make filesystems stand below Machine. What filesystems tell of \
    their blocks, too, is in the results file: `surefoot report --json`.";

fn values(id: &str, what: &str, all: &[InForce], origin: impl Fn(&str) -> Option<&'static str>) -> Block {
    let has_origin = all.first().is_some_and(|first| origin(&first.what).is_some());
    let table = Columns::of(id, all)
        .words(what, |known| &known.what)
        .wrapped("value", |known| if known.value.is_empty() { "(empty)" } else { &known.value })
        .wrapped("in scenarios", |known| &known.scenarios)
        .when(has_origin, |table| table.words("from", |known| origin(&known.what).unwrap_or_default()));
    Block::Table(table.table())
}

/// The study file.
fn study(input: &Input) -> Block {
    let study = &input.contents.study;
    // No figure hangs on them, but an answer does.
    let is_asked_later = !study.limits.is_empty() || study.analysis.safety_classes.is_some();
    let later =
        if is_asked_later { " Limits and the classes that may be picked are those of the last session." } else { "" };
    let note = format!(
        "SHA-256 {} · seed {} · surefoot {}. Margin, family and rules were fixed before the first trial.{later} A trial's figure is of {}.",
        study.hash,
        study.seed,
        study.surefoot_version,
        estimand(study.analysis.order)
    );
    let overrides = format!("Changed on the command line: `{}`", study.overrides.join(" "));
    let overrides = (!study.overrides.is_empty()).then_some(Block::Paragraph(overrides));
    let blocks = [Block::Note(note)].into_iter().chain(overrides).chain([Block::Code(study.text.clone())]);
    details("Study file", blocks)
}

/// What makes turns as long again, where the machine's noise chose how long they are: it is another one elsewhere.
fn as_long_turns(study: &StudyRecord) -> String {
    let Some(chosen) = &study.turns else { return String::new() };
    format!(
        " With `--set design.turn={}ms` turns are as long as this machine's noise asked for.",
        chosen.turn_milliseconds
    )
}

/// How to do it again.
fn by_hand(input: &Input) -> Block {
    let study = &input.contents.study;
    let mut blocks = vec![Block::Paragraph(format!(
        "The whole study, with surefoot {}; a study in `STUDY.toml` is the study file above, saved under that name. Where there are \
         several commands, they came one after the other. With `--seed {}` orders and data are the same, too.{}",
        study.surefoot_version,
        study.seed,
        as_long_turns(study)
    ))];
    for asked in study.all_asked() {
        blocks.push(Block::Code(command_of(&asked)));
        let left_out = asked.left_out.iter();
        blocks.extend(
            left_out.map(|(scenario, missing)| Block::Note(format!("Left out on this machine: {scenario}: {missing}"))),
        );
    }
    blocks.push(Block::Paragraph("One scenario's storage by hand, as recorded:".into()));
    let mut alike: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
    for scenario in input.contents.scenarios.iter().take(COMMANDS_MAX) {
        if let Some(commands) = commands_of(&input.contents, &scenario.label) {
            let bench = Bench::of(&input.contents, scenario);
            let place = bench.is_guest().then(|| format!("# They ran {}.", bench.words()));
            let lines = place.into_iter().chain(commands.iter().cloned()).collect();
            alike.entry(lines).or_default().push(&scenario.label);
        }
    }
    for (commands, labels) in alike {
        blocks.extend([Block::Heading(3, labels.join(", ")), Block::Code(commands.join("\n"))]);
    }
    details("How to do it again", blocks)
}
