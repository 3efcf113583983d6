//! The page's end: raw values, failures, machine, study file, and how to do it again by hand.

use super::tables::{Table, head, number_cell, raw, word_cell, word_head, wrapped_cell};
use crate::bench::{self, Bench, benches};
use crate::chart::{escape, verbatim};
use crate::in_force::{self, InForce};
use crate::input::{Counting, Input};
use crate::number::{date, figure, span, words};
use crate::reproduce::{command_of, commands_of};
use crate::view::{Row, View};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of raw values on the page; more belong into a file.
const RAW_ROWS_MAX: usize = 500;
/// Failures told in full.
const FAILURES_MAX: usize = 30;
/// Scenarios whose commands are listed.
const COMMANDS_MAX: usize = 64;

/// All of it.
#[must_use]
pub fn all(input: &Input, view: &View) -> String {
    let mut html = failures(input);
    html.push_str("<section><h2>Raw values and how they were made</h2>");
    html.push_str(&raw_values(input, view));
    html.push_str(&machine(input));
    html.push_str(&in_force(input));
    html.push_str(&study(input));
    html.push_str(&by_hand(input));
    html.push_str("</section>");
    html
}

/// The machine in one line.
#[must_use]
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
#[must_use]
pub fn failures(input: &Input) -> String {
    let counting = Counting::of(&input.contents);
    if counting.failed.is_empty() {
        return String::new();
    }
    let mut html = String::from("<section><h2>Failed trials</h2>");
    for trial in counting.failed.iter().take(FAILURES_MAX) {
        let failure = trial.failure.clone().unwrap_or_default();
        let log = if failure.log.is_empty() { String::new() } else { format!("<pre>{}</pre>", verbatim(&failure.log)) };
        let _ = write!(
            html,
            "<div class=\"flag\"><p><b>{}, round {}</b>: failed in step <code>{}</code></p><p>{}</p>{log}</div>",
            escape(&trial.scenario),
            trial.round + 1,
            escape(&failure.step),
            escape(&failure.causes.join(": "))
        );
    }
    if counting.failed.len() > FAILURES_MAX {
        let _ = write!(
            html,
            "<p class=\"note\">{} more failures are in the results file.</p>",
            counting.failed.len() - FAILURES_MAX
        );
    }
    html + "</section>"
}

fn raw_values(input: &Input, view: &View) -> String {
    let counting = Counting::of(&input.contents);
    let heads = [
        word_head("scenario"),
        head("round"),
        head("position"),
        head("run"),
        word_head("metric"),
        head("value"),
        head("window, s"),
        word_head("started"),
    ];
    let mut table = Table::new("raw", &heads);
    let mut shown = 0;
    let total: usize = counting.runs.values().map(Vec::len).sum();
    for part in &view.parts {
        let primary = part.metric.name.as_ref();
        let rows: BTreeMap<&str, &Row> = part.rows.iter().map(|row| (row.label.as_str(), row)).collect();
        for (id, runs) in &counting.runs {
            let trial = counting.trials[id];
            let Some(row) = rows.get(trial.scenario.as_str()) else { continue };
            for run in runs.iter().take(RAW_ROWS_MAX.saturating_sub(shown)) {
                let value = run.metrics.get(primary).copied().unwrap_or(f64::NAN);
                shown += 1;
                table.row(
                    "",
                    &[
                        word_cell(&row.marked()),
                        number_cell(&(trial.round + 1).to_string(), f64::from(trial.round + 1)),
                        number_cell(&(trial.position + 1).to_string(), f64::from(trial.position + 1)),
                        number_cell(&(run.run + 1).to_string(), f64::from(run.run + 1)),
                        word_cell(&words(primary)),
                        number_cell(&raw(value), value),
                        number_cell(&raw(run.seconds), run.seconds),
                        word_cell(&date(run.started)),
                    ],
                );
            }
        }
    }
    let some = if total > shown { format!(" The first {shown} of {total} runs are shown.") } else { String::new() };
    format!(
        "<details><summary>Raw values of {total} runs</summary><p class=\"note\">Primary metrics only.{some} <code>surefoot report --csv</code> has every metric of every run.</p>\
         <input class=\"filter\" type=\"search\" data-table=\"raw\" aria-label=\"Filter the raw values\" placeholder=\"Filter\" hidden>{}</details>",
        table.finish()
    )
}

/// The machine at each session.
#[must_use]
pub fn machine(input: &Input) -> String {
    let mut html = format!(
        "<details><summary>Machine</summary><p>Trials ran {}.</p>",
        escape(&bench::list(&benches(&input.contents)))
    );
    for (i, session) in input.contents.sessions.iter().enumerate() {
        let lasted = session.ended.map_or_else(|| "not ended".into(), |ended| span(ended - session.started));
        let reason = session.reason.as_deref().map(|reason| format!(", ended: {reason}")).unwrap_or_default();
        let _ = write!(
            html,
            "<h3>Session {} on {}: {}{}</h3><dl>",
            i + 1,
            date(session.started),
            escape(&lasted),
            escape(&reason)
        );
        for (name, value) in &session.machine {
            let _ = write!(html, "<dt>{}</dt><dd>{}</dd>", escape(&words(name)), escape(value));
        }
        html.push_str("</dl>");
    }
    html + "</details>"
}

/// What trials read back, and all settings, those that nobody named marked.
#[must_use]
pub fn in_force(input: &Input) -> String {
    let mut html = String::from(
        "<details><summary>Versions, mount options and servers' settings</summary><p class=\"note\">As trials read them back; programs \
         that make filesystems stand below Machine. What filesystems tell of their blocks, too, is in the results file: \
         <code>surefoot report --json</code>.</p>",
    );
    html.push_str(&values("read-back", "fact", &in_force::facts(&input.contents), |_| None));
    html.push_str("</details><details><summary>Settings in force</summary>");
    let named = input.contents.study.named.as_deref();
    html.push_str(match named {
        Some(_) => "<p class=\"note\">Bytes, seconds and fractions as plain numbers. Not named by the study: a default of this version.</p>",
        None => {
            "<p class=\"note\">Bytes, seconds and fractions as plain numbers. This results file is of a surefoot that did not record \
             which of them are defaults: those that the study file below does not name.</p>"
        }
    });
    let origin = |path: &str| named.map(|named| if in_force::is_named(path, named) { "study" } else { "default" });
    html.push_str(&values("settings", "setting", &in_force::settings(&input.contents), origin));
    html + "</details>"
}

fn values(id: &str, what: &str, all: &[InForce], origin: impl Fn(&str) -> Option<&'static str>) -> String {
    let mut heads = vec![word_head(what), word_head("value"), word_head("in scenarios")];
    heads.extend(all.first().and_then(|first| origin(&first.what)).map(|_| word_head("from")));
    let mut table = Table::new(id, &heads);
    for known in all {
        let value = if known.value.is_empty() { "(empty)" } else { &known.value };
        let mut cells = vec![word_cell(&known.what), wrapped_cell(value), wrapped_cell(&known.scenarios)];
        cells.extend(origin(&known.what).map(word_cell));
        table.row("", &cells);
    }
    table.finish()
}

/// The study file.
#[must_use]
pub fn study(input: &Input) -> String {
    let study = &input.contents.study;
    let overrides = if study.overrides.is_empty() {
        String::new()
    } else {
        format!("<p>Changed on the command line: <code>{}</code></p>", escape(&study.overrides.join(" ")))
    };
    format!(
        "<details><summary>Study file</summary><p class=\"note\">SHA-256 {} · seed {} · surefoot {}. Margin, family and rules were fixed before the first trial.</p>{overrides}<pre>{}</pre></details>",
        escape(&study.hash),
        study.seed,
        escape(&study.surefoot_version),
        verbatim(&study.text)
    )
}

/// How to do it again.
#[must_use]
pub fn by_hand(input: &Input) -> String {
    let study = &input.contents.study;
    let mut html = format!(
        "<details><summary>How to do it again</summary><p>The whole study, with surefoot {}; a study in <code>STUDY.toml</code> is the \
         study file above, saved under that name. Where there are several commands, they came one after the other.</p>",
        escape(&study.surefoot_version)
    );
    for asked in study.all_asked() {
        let _ = write!(html, "<pre>{}</pre>", verbatim(&command_of(&asked)));
        for (scenario, missing) in &asked.left_out {
            let _ = write!(
                html,
                "<p class=\"note\">Left out on this machine: {}: {}</p>",
                escape(scenario),
                escape(missing)
            );
        }
    }
    html.push_str("<p>One scenario's storage by hand, as recorded:</p>");
    let mut alike: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
    for scenario in input.contents.scenarios.iter().take(COMMANDS_MAX) {
        if let Some(commands) = commands_of(&input.contents, &scenario.label) {
            let bench = Bench::of(&input.contents, scenario);
            let place = bench.is_guest().then(|| format!("# They ran {bench}."));
            let lines = place.into_iter().chain(commands.iter().cloned()).collect();
            alike.entry(lines).or_default().push(&scenario.label);
        }
    }
    for (commands, labels) in alike {
        let _ = write!(html, "<h3>{}</h3><pre>{}</pre>", escape(&labels.join(", ")), verbatim(&commands.join("\n")));
    }
    html + "</details>"
}
