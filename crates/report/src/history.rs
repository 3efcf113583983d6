//! Results of one study over time on one machine, and what changed between them.
//!
//! Results of different days have no round in common: each is held against the one before and the first as `unpaired.rs` does,
//! corrected over the scenarios (Holm). A study's own statistics know nothing of this. Text, JSON and page are made in `history/`.

mod json;
mod page;
mod text;

use crate::answer::heading;
use crate::compare::check_benches;
use crate::compare::order::turns;
use crate::compare::power_cuts;
use crate::input::Input;
use crate::number::{date, percent, percent_number_signed, ratio, ratio_ends, ratio_number};
use crate::unpaired;
use crate::words::{estimand, first_of};
use analysis::failures::Failing;
use analysis::judge::ROUNDS_FOR_CLAIMS;
use analysis::row::Row;
use analysis::unpaired::{Change, Level, Sides, is_same_figure, parts, primary, scenarios};
use analysis::view::Part;
use ledger::model::{Host, TrialState};
use stats::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// Changes told in one sentence, and facts that changed meanwhile; more are counted.
const TOLD_MAX: usize = 8;
/// A fact whose value is longer is named without it.
const VALUE_LETTERS_MAX: usize = 60;
/// Facts of trials that say with what a filesystem was made and mounted; a service's have its name and a point before theirs.
const STORAGE_FACTS: &[&str] = &["features", "filesystem_options", "mount_options"];

/// What holds for every history.
const LIMITS: &str = "Each change is one between these sessions: days differ in more than what is recorded, so it shows that something changed, not \
    what did it; `surefoot compare --sessions` holds several sessions a side against each other. A change is marked when each side has at \
    least 4 rounds, chance is ruled out over all scenarios (Holm's correction), and it is not shown to be smaller than the margin: as the \
    claims of one study, and by `surefoot compare`. Intervals are each one's own, not corrected.";

/// Histories of studies, each on one machine.
pub struct History {
    series: Vec<Series>,
}

/// Results of one study on one machine, the oldest first.
struct Series {
    results: Vec<(String, Input)>,
    /// Files of the same study from elsewhere.
    elsewhere: Vec<String>,
}

/// By workload and scenario.
type Changes = BTreeMap<(String, String), Change>;

impl History {
    /// Of results with their names, in any order.
    pub fn of(mut results: Vec<(String, Input)>) -> History {
        results.sort_by(|a, b| a.1.contents.study.created.total_cmp(&b.1.contents.study.created));
        let mut series: Vec<Series> = Vec::new();
        for (name, input) in results {
            match series.iter_mut().find(|series| series.goes_on_with(&input)) {
                Some(series) => series.results.push((name, input)),
                None => series.push(Series { results: vec![(name, input)], elsewhere: Vec::new() }),
            }
        }
        let names: Vec<Vec<String>> =
            series.iter().map(|series| series.results.iter().map(|(name, _)| name.clone()).collect()).collect();
        for i in 0..series.len() {
            let others = (0..names.len()).filter(|j| *j != i && series[i].is_of_study(&series[*j].results[0].1));
            series[i].elsewhere = others.flat_map(|j| names[j].clone()).collect();
        }
        History { series }
    }

    /// Whether there is anything to hold against anything.
    pub fn has_two(&self) -> bool {
        self.series.iter().any(|series| series.results.len() > 1)
    }
}

impl Series {
    fn is_of_study(&self, input: &Input) -> bool {
        let (ours, theirs) = (&self.results[0].1.contents.study, &input.contents.study);
        ours.name == theirs.name && ours.question == theirs.question
    }

    /// Whether a result is of the same study, machine and benches. Nodes of a fleet may be alike, and have names.
    fn goes_on_with(&self, input: &Input) -> bool {
        let first = &self.results[0].1;
        self.is_of_study(input)
            && observe::machine::is_same(&machine(first), &machine(input))
            && self
                .results
                .iter()
                .all(|(_, earlier)| is_of_host(earlier, input) && check_benches(earlier, input).is_ok())
    }

    fn heading(&self) -> String {
        let study = &self.results[0].1.contents.study;
        if study.question.is_empty() { study.name.clone() } else { format!("{}: {}", study.name, study.question) }
    }

    fn when(&self, at: usize) -> String {
        date(self.results[at].1.contents.study.created)
    }

    /// What there is to say, the most important first.
    fn sentences(&self) -> Vec<String> {
        let last = self.results.len() - 1;
        let mut lines: Vec<String> = (1..=last).map(|at| self.step(at)).collect();
        lines.extend(self.creep());
        if !self.elsewhere.is_empty() {
            lines.push(format!("Not compared, as from another machine or bench: {}.", self.elsewhere.join(", ")));
        }
        lines
    }

    /// From one result to the next: what changed in the figures, and what else did.
    fn step(&self, at: usize) -> String {
        let ((_, before), (_, now)) = (&self.results[at - 1], &self.results[at]);
        let changes = changes(before, now);
        let shown = changes.iter().filter(|(_, change)| change.is_shown());
        let shown = shown.map(|(scenario, change)| self.told(at, scenario, change));
        let told: Vec<String> = broken(before, now).into_iter().chain(shown).collect();
        let what = if !told.is_empty() {
            first_of(&told, TOLD_MAX, ", ")
        } else if !changes.values().any(|change| change.verdict.is_some()) {
            format!("no change could be shown, as no scenario has {ROUNDS_FOR_CLAIMS} rounds in both")
        } else {
            format!("no change larger than {} could be shown", percent(now.view().margin))
        };
        let else_changed = meanwhile(before, now);
        let meanwhile = if else_changed.is_empty() {
            "nothing that is recorded".into()
        } else {
            first_of(&else_changed, TOLD_MAX, ", ")
        };
        format!("Between {} and {} {what}; meanwhile: {meanwhile}.", self.when(at - 1), self.when(at))
    }

    /// What changed in steps too small to be seen one by one.
    fn creep(&self) -> Option<String> {
        let last = self.results.len() - 1;
        if last < 2 {
            return None;
        }
        let steps = (1..=last).flat_map(|at| changes(&self.results[at - 1].1, &self.results[at].1));
        let shown = steps.filter(|(_, change)| change.is_shown());
        // A step up excuses no creep down behind it.
        let way = |scenario: &(String, String), change: &Change| (scenario.clone(), change.ratio > 1.0);
        let seen: BTreeSet<((String, String), bool)> =
            shown.map(|(scenario, change)| way(&scenario, &change)).collect();
        let all = changes(&self.results[0].1, &self.results[last].1);
        let crept = all.iter().filter(|(scenario, change)| change.is_shown() && !seen.contains(&way(scenario, change)));
        let told: Vec<String> = crept.map(|(scenario, change)| self.told(last, scenario, change)).collect();
        let span = format!("From {} to {}", self.when(0), self.when(last));
        (!told.is_empty())
            .then(|| format!("{span}, in steps too small to be shown one by one, {}.", first_of(&told, TOLD_MAX, ", ")))
    }

    /// "xfs · 512MB became 12 % slower (95 % interval 8.1–16 %)", in the result at this place, whose confidence the change was held to.
    fn told(&self, at: usize, (workload, label): &(String, String), change: &Change) -> String {
        let view = self.results[at].1.view();
        let metric = view.parts.iter().find(|part| part.workload == *workload).map(|part| &part.metric);
        let unit = metric.map_or("", |metric| metric.unit.as_ref());
        let of = if view.parts.len() > 1 { format!("{workload}: ") } else { String::new() };
        let (sure, ends) = (percent(view.confidence), ends(change));
        let size = percent((change.ratio - 1.0).abs());
        let word = |up: &str, down: &str| if change.ratio > 1.0 { up.to_string() } else { down.to_string() };
        let what = match unit {
            _ if is_large(change) => format!("came to {} of what it was", ratio(change.ratio)),
            "s" | "µs" => format!("came to take {size} {} time", word("more", "less")),
            unit if observe::metric::is_rate(unit) => format!("became {size} {}", word("faster", "slower")),
            _ => format!("became {size} {}", word("higher", "lower")),
        };
        format!("{of}{label} {what} ({sure} interval {ends})")
    }

    /// Each workload of any result with its metric, and the labels of its scenarios.
    fn workloads(&self) -> Vec<Workload<'_>> {
        let mut found: Vec<Workload> = Vec::new();
        for part in self.results.iter().flat_map(|(_, input)| &input.view().parts) {
            let known = found.iter().position(|known| is_same_figure(known.part, part)).unwrap_or_else(|| {
                found.push(Workload { part, labels: Vec::new() });
                found.len() - 1
            });
            for row in part.measured().filter(|row| !row.control) {
                if !found[known].labels.contains(&row.label.as_str()) {
                    found[known].labels.push(&row.label);
                }
            }
        }
        found
    }

    /// What changed to each result, from the one before and from the first: of all scenarios at once, as they are one family.
    fn changes(&self) -> Vec<[Changes; 2]> {
        let to = |at: usize, earlier: Option<usize>| {
            earlier.map_or_else(Changes::new, |earlier| changes(&self.results[earlier].1, &self.results[at].1))
        };
        (0..self.results.len()).map(|at| [to(at, at.checked_sub(1)), to(at, (at > 0).then_some(0))]).collect()
    }

    /// A scenario in each result.
    fn rows(&self, workload: &Workload, label: &str) -> Vec<Option<&Row>> {
        self.results.iter().map(|(_, input)| row_of(input, workload.part, label)).collect()
    }
}

/// A workload over all results.
struct Workload<'a> {
    /// As the first result that has it saw it.
    part: &'a Part,
    labels: Vec<&'a str>,
}

impl Workload<'_> {
    fn heading(&self) -> String {
        heading(self.part)
    }

    fn key(&self, label: &str) -> (String, String) {
        (self.part.workload.clone(), label.to_string())
    }
}

fn is_large(change: &Change) -> bool {
    !(0.8..1.25).contains(&change.ratio)
}

/// The interval as it follows the change in words: without signs where those are in the words.
fn ends(change: &Change) -> String {
    if is_large(change) {
        return ratio_ends((change.low, change.high), ratio_number).join("–");
    }
    let unsigned = |end: f64| percent_number_signed((end - 1.0).abs()).trim_start_matches('+').to_string();
    let (near, far) = if change.ratio > 1.0 { (change.low, change.high) } else { (change.high, change.low) };
    format!("{}–{} %", unsigned(near), unsigned(far))
}

/// For a table's cell.
fn words(change: &Change) -> String {
    let mark = match change.verdict {
        Some(Verdict::Faster) => " better",
        Some(Verdict::Slower) => " worse",
        _ => "",
    };
    format!("{}{mark}", unpaired::figures(change))
}

fn row_of<'a>(input: &'a Input, part: &Part, label: &str) -> Option<&'a Row> {
    let part = input.view().parts.iter().find(|other| is_same_figure(part, other))?;
    part.row(label).filter(|row| row.centre.is_some())
}

/// All scenarios that both results measured, the later by the earlier: one family.
fn changes(before: &Input, now: &Input) -> Changes {
    let both = parts(before.view(), now.view()).into_iter();
    let both = both.flat_map(|(part, other)| scenarios(part, other).into_iter().map(move |rows| (part, rows)));
    let asked =
        both.map(|(part, (row, later))| ((part.workload.clone(), row.label.clone()), primary((part, row, later))));
    let (keys, sides): (Vec<_>, Vec<Sides>) = asked.unzip();
    let level = Level::of([&before.contents, &now.contents]).expect("two studies");
    let found = level.changes(&sides.iter().collect::<Vec<_>>(), stats::holm);
    keys.into_iter().zip(found).filter_map(|(key, change)| Some((key, change?))).collect()
}

/// What worked before and does not any more, or not as often, which no ratio says: it fails, or stands still.
fn broken(before: &Input, now: &Input) -> Vec<String> {
    let failing = Failing::of([&before.contents, &now.contents]);
    let is_several = now.view().parts.len() > 1;
    let has_stalled = |row: &Row| row.values.iter().flatten().any(|value| *value <= 0.0);
    let phrase = |part: &Part, row: &Row, later: Option<&Row>| {
        let Failing { failed: [_, failed], rounds: [_, rounds] } = failing[&row.label];
        let what = match later {
            None if failed > 0 => "failed in all its trials".into(),
            Some(_) if failing[&row.label].is_worse() => format!("failed in {failed} of {rounds} rounds"),
            Some(later) if part.more_is_better && has_stalled(later) && !has_stalled(row) => {
                "stalled (a trial's figure is 0)".into()
            }
            _ => return None,
        };
        let of = if is_several { format!("{}: ", part.workload) } else { String::new() };
        Some(format!("{of}{} {what}", row.label))
    };
    let of_part = |(part, other): (&Part, &Part)| -> Vec<String> {
        let rows = part.measured().filter(|row| !row.control);
        rows.filter_map(|row| phrase(part, row, other.measured().find(|later| later.label == row.label))).collect()
    };
    parts(before.view(), now.view()).into_iter().flat_map(of_part).collect()
}

/// Whether two results may be of one machine by the names that a fleet's members have of theirs; others have none. A node that is installed anew,
/// or boots from an image, has another id than before.
fn is_of_host(one: &Input, other: &Input) -> bool {
    host(one).zip(host(other)).is_none_or(|(one, other)| one.name == other.name)
}

fn host(input: &Input) -> Option<&Host> {
    input.contents.members.first().map(|member| &member.host)
}

fn machine(input: &Input) -> BTreeMap<String, String> {
    input.contents.sessions.last().map(|session| session.machine.clone()).unwrap_or_default()
}

/// What else changed between two results, as far as it is recorded: versions first, then the rest by name.
fn meanwhile(before: &Input, now: &Input) -> Vec<String> {
    let mut changed: Vec<(String, String, String)> = Vec::new();
    let mut hold = |a: &BTreeMap<String, String>, b: &BTreeMap<String, String>| {
        for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
            let value = |facts: &BTreeMap<String, String>| facts.get(name).cloned().unwrap_or("none".into());
            let one = (name.clone(), value(a), value(b));
            if one.1 != one.2 && !changed.contains(&one) {
                changed.push(one);
            }
        }
    };
    let known = |facts: BTreeMap<String, String>| -> BTreeMap<String, String> {
        observe::machine::identity(&facts).into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    };
    hold(&known(machine(before)), &known(machine(now)));
    let (of_before, of_now) = (facts_by_scenario(before), facts_by_scenario(now));
    for (scenario, facts) in &of_before {
        if let Some(others) = of_now.get(scenario) {
            hold(facts, others);
        }
    }
    let is_version = |name: &str| name == "kernel" || name.starts_with("mkfs.") || name.ends_with(".version");
    changed.sort_by_key(|(name, ..)| !is_version(name));
    // Speed may be bought with it.
    let mut phrases = power_cuts::meanwhile(before, now);
    phrases.extend(changed.iter().map(|(name, a, b)| phrase(name, a, b)));
    // Without turns on one side figures are of another measure, which is said below.
    if let Some((was, is)) = turns(before).zip(turns(now)).filter(|(was, is)| was != is) {
        phrases.push(phrase("rounds:", &was, &is));
    }
    // Installed anew, or another machine of that name.
    let id = |input| host(input).map(|host| &host.id).filter(|id| !id.is_empty());
    if let Some((was, is)) = id(before).zip(id(now)).filter(|(was, is)| was != is) {
        phrases.push(phrase("machine id", was, is));
    }
    let (first, second) = (&before.contents.study, &now.contents.study);
    if first.surefoot_version != second.surefoot_version {
        phrases.push(phrase("surefoot", &first.surefoot_version, &second.surefoot_version));
    }
    // By the room that there was: no part of the study, and another measure all the same.
    let [was, is] = [first, second].map(|study| estimand(study.analysis.order));
    if was != is {
        phrases.insert(0, format!("what a figure is of: {was} → {is}"));
    }
    if first.hash != second.hash {
        phrases.insert(0, study_change(before, now));
    }
    phrases
}

/// What a scenario's last finished trial read back of its services and its filesystem.
fn facts_by_scenario(input: &Input) -> BTreeMap<&str, BTreeMap<String, String>> {
    let finished = input.contents.trials.iter().filter(|trial| trial.state == TrialState::Finished);
    let wanted = |name: &String| name.contains('.') || STORAGE_FACTS.contains(&name.as_str());
    let facts = finished.map(|trial| {
        let facts = trial.facts.iter().filter(|(name, _)| wanted(name));
        (trial.scenario.as_str(), facts.map(|(name, value)| (name.clone(), value.clone())).collect())
    });
    facts.collect()
}

fn phrase(name: &str, before: &str, now: &str) -> String {
    let name = name.strip_suffix(".version").unwrap_or(name);
    if before.chars().count().max(now.chars().count()) > VALUE_LETTERS_MAX {
        return format!("{name} changed");
    }
    format!("{name} {before} → {now}")
}

/// How two study files of one name differ.
fn study_change(before: &Input, now: &Input) -> String {
    let labels =
        |input: &Input| input.contents.scenarios.iter().map(|scenario| scenario.label.clone()).collect::<BTreeSet<_>>();
    let (first, second) = (&before.contents.study, &now.contents.study);
    let mut what = Vec::new();
    if first.text != second.text {
        what.push("its text".to_string());
    }
    if first.overrides != second.overrides {
        let list = |overrides: &[String]| if overrides.is_empty() { "none".into() } else { overrides.join(" ") };
        what.push(format!("`--set` {} → {}", list(&first.overrides), list(&second.overrides)));
    }
    if labels(before) != labels(now) {
        what.push("its scenarios".into());
    }
    if what.is_empty() { "the study's hash".into() } else { format!("the study itself ({})", what.join(", ")) }
}
