//! Two results files side by side, or several sessions a side: machines, kernels or days.
//!
//! Rounds of different files have nothing in common, so the comparison is unpaired and cannot cancel what differs between the
//! two sittings: the claim is of these two sessions. Of several sessions a side, taken in turns, each is one value, so that the interval
//! holds how days differ. What differs is said first; a guest kernel is not held against another. Primary metrics are one family, as
//! in `history.rs`; every other metric that has a direction is looked at, too, and called exploratory. Text, page and JSON are
//! made in `compare/`.

mod differences;
mod gate;
mod json;
pub(crate) mod order;
mod page;
pub(crate) mod power_cuts;
mod text;

pub use gate::Gate;

use crate::bench::Bench;
use crate::flushing::NAME_MARK;
use crate::input::{Error, Input};
use crate::number::{Scale, date, percent};
use crate::unpaired;
use crate::words::{Words as _, quantity_of};
use analysis::failures::Failing;
use analysis::judge::ROUNDS_FOR_CLAIMS;
use analysis::row::Row;
use analysis::unpaired::{Change, Level, Sides, parts, primary, scenarios};
use analysis::view::Part;
use differences::{EQUAL_FACTS, SAME_STUDY, alone, many_studies, preamble, two_measures, unlike_sessions};
use ledger::figure::{self, Zero};
use ledger::model::TrialState;
use observe::metric::{Direction, Metric};
use stats::{Counted, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// Two results, held against each other.
pub struct Comparison {
    /// What differs between the two files, and what does not.
    preamble: Vec<String>,
    workloads: Vec<Workload>,
    level: Level,
    /// Sessions a side.
    sessions: usize,
    /// Why its sessions are not of two sides, or these of two measures, so that no gate can stand on it.
    mixed: Option<String>,
    /// What the second side was to measure as the first did, and has no figure of: workload and scenario.
    unmeasured: BTreeSet<(String, String)>,
    /// What a power cut takes more from in the second, a sentence each.
    less_safe: Vec<String>,
}

/// What both measured of a workload.
struct Workload {
    name: String,
    /// The primary metric first, the others by name; in each, scenarios in the order of the first result.
    lines: Vec<Line>,
    /// Scenarios that only one of them measured, each with what is said of it.
    left_out: Vec<(String, String)>,
    /// Scenarios that the first measured and whose trials all failed in the second: in so many sessions.
    failed: BTreeMap<String, usize>,
    /// How often each of both failed.
    failing: BTreeMap<String, Failing>,
    /// What was asked of each that counts errors, and how much of it went wrong: in both by turns, a round or a session each.
    errors: BTreeMap<String, Vec<[Counted; 2]>>,
}

/// One metric of one scenario in both.
struct Line {
    metric: Metric,
    is_primary: bool,
    label: String,
    scale: Scale,
    sides: Sides,
    /// Whether commits were acknowledged without flushes, in each.
    does_not_flush: [bool; 2],
    /// None: nothing tells chance.
    change: Option<Change>,
}

impl Comparison {
    /// Of the second result with the first.
    ///
    /// # Errors
    /// When a scenario ran on different benches: a guest's figures compare with those of the same guest only.
    pub fn of(a: &Input, b: &Input) -> Result<Comparison, Error> {
        check_benches(a, b)?;
        let level = Level::of([&a.contents, &b.contents]).expect("two studies");
        let sides: [&[&Input]; 2] = [&[a], &[b]];
        let changed = power_cuts::changed(sides);
        let mut said = preamble(a, b);
        said.extend(changed.iter().map(power_cuts::Changed::line));
        said.extend(power_cuts::promised_otherwise(sides, &changed));
        said.extend(alone(sides));
        said.extend(order::unlike_turns(&[a, b]));
        let unmeasured = gate::unmeasured(&[[a, b]]);
        Ok(Comparison {
            mixed: two_measures(a, b),
            unmeasured,
            less_safe: power_cuts::less_safe(sides, &changed),
            ..Comparison::judged(said, workloads(a, b), (level, 1))
        })
    }

    /// Of the second side's sessions with the first's, which took turns: the first of either, then the second, and so on.
    ///
    /// # Errors
    /// As [`Comparison::of`], for any two of them.
    ///
    /// # Panics
    /// Without a session.
    pub fn of_sessions(pairs: &[[Input; 2]]) -> Result<Comparison, Error> {
        let [first, _] = &pairs[0];
        pairs.iter().flatten().try_for_each(|input| check_benches(first, input))?;
        let all: Vec<&Input> = pairs.iter().flatten().collect();
        check_apart(&all)?;
        let level = Level::of(all.iter().map(|input| &input.contents)).expect("a session");
        let mut found: Vec<Workload> = Vec::new();
        for mut session in pairs.iter().flat_map(|[a, b]| workloads(a, b)) {
            session.become_session();
            match found.iter_mut().find(|known| known.name == session.name) {
                Some(known) => known.add_session(session),
                None => found.push(session),
            }
        }
        for workload in &mut found {
            workload.name_missing(pairs.len());
            // What the first session lacks came behind all others.
            workload.lines.sort_by(|a, b| (!a.is_primary, &a.metric.name).cmp(&(!b.is_primary, &b.metric.name)));
        }
        let [a, b] = pairs.last().expect("a session");
        let mut said = preamble(a, b);
        let of_sides = [0, 1].map(|side| pairs.iter().map(|pair| &pair[side]).collect::<Vec<_>>());
        let both = of_sides.each_ref().map(Vec::as_slice);
        let changed = power_cuts::changed(both);
        said.extend(changed.iter().map(power_cuts::Changed::line));
        said.extend(power_cuts::promised_otherwise(both, &changed));
        said.extend(alone(both));
        said.extend(order::unlike_turns(&all));
        said.extend(order::always_first(pairs));
        let of_side = |(name, side): (&'static str, usize)| {
            pairs[1..].iter().flat_map(move |pair| unlike_sessions(name, &pairs[0][side], &pair[side]))
        };
        let sides = [("A", 0), ("B", 1)];
        let of_many: Vec<String> = sides.into_iter().filter_map(|side| many_studies(side, pairs)).collect();
        let unlike: Vec<String> = of_many.iter().cloned().chain(sides.into_iter().flat_map(of_side)).collect();
        if !unlike.is_empty() {
            said.retain(|line| line != SAME_STUDY && line != EQUAL_FACTS);
        }
        said.extend(unlike);
        let out_of_turn = order::out_of_turn(pairs);
        said.extend(out_of_turn.clone());
        let dates = |side: usize| pairs.iter().map(|pair| date(pair[side].contents.study.created)).collect::<Vec<_>>();
        said.push(format!("Sessions of A: {}; of B: {}.", dates(0).join(", "), dates(1).join(", ")));
        let mixed = out_of_turn.or_else(|| of_many.into_iter().next()).or_else(|| two_measures(a, b));
        let unmeasured = gate::unmeasured(&pairs.iter().map(<[Input; 2]>::each_ref).collect::<Vec<_>>());
        let less_safe = power_cuts::less_safe(both, &changed);
        Ok(Comparison { mixed, unmeasured, less_safe, ..Comparison::judged(said, found, (level, pairs.len())) })
    }

    fn judged(preamble: Vec<String>, mut workloads: Vec<Workload>, (level, sessions): (Level, usize)) -> Comparison {
        let families = [(true, stats::holm as fn(&[f64]) -> Vec<f64>), (false, stats::benjamini_hochberg)];
        for (is_primary, correct) in families {
            let is_asked = |line: &&mut Line| line.is_primary == is_primary && line.sides.have_logarithms();
            let asked = workloads.iter_mut().flat_map(|workload| &mut workload.lines).filter(is_asked);
            let asked: Vec<&mut Line> = asked.collect();
            let changes = level.changes(&asked.iter().map(|line| &line.sides).collect::<Vec<_>>(), correct);
            asked.into_iter().zip(changes).for_each(|(line, change)| line.change = change);
        }
        let (unmeasured, less_safe) = (BTreeSet::new(), Vec::new());
        Comparison { preamble, workloads, level, sessions, mixed: None, unmeasured, less_safe }
    }

    /// Why no gate can stand on it: the sessions were named out of turn, or are of several studies, or figures are of two measures.
    pub fn mixed(&self) -> Option<&str> {
        self.mixed.as_deref()
    }

    /// What is shown to be worse, and was measured so by at least this fraction, or does not work any more, or keeps less: none where no primary
    /// figure has a verdict.
    pub fn worse_by(&self, fraction: f64) -> Option<Vec<String>> {
        let counting = self.workloads.iter().map(|workload| workload.errors.len()).sum::<usize>();
        // Of equal sides none has more errors in more than alpha of comparisons (Bonferroni).
        let level = self.level.alpha / counting.max(1) as f64;
        let broken = self.workloads.iter().flat_map(|workload| workload.broken(self.sessions, level));
        let broken: Vec<String> = broken.chain(self.less_safe.iter().cloned()).collect();
        let lines = self.workloads.iter().flat_map(|workload| workload.lines.iter().map(move |line| (workload, line)));
        let judged = lines.filter(|(_, line)| line.is_primary);
        let judged = judged.filter_map(|(workload, line)| Some((workload, line, line.change?, line.change?.verdict?)));
        let all: Vec<(&Workload, &Line, Change, Verdict)> = judged.collect();
        let worse = |(workload, line, change, verdict): &(&Workload, &Line, Change, Verdict)| {
            // As a part of what it was: less speed, or more time.
            let by = if line.sides.more_is_better { 1.0 - change.ratio } else { change.ratio - 1.0 };
            let said =
                || format!("{}: {} is {} worse: {}", workload.name, line.label, percent(by), unpaired::figures(change));
            // Whoever asks for less than the margin is told of what the margin calls negligible.
            let is_shown = matches!(verdict, Verdict::Slower | Verdict::Negligible) && !change.is_better;
            (is_shown && by >= fraction).then(said)
        };
        let is_judged = !all.is_empty() || !broken.is_empty();
        is_judged.then(|| broken.into_iter().chain(all.iter().filter_map(worse)).collect())
    }

    /// What holds for all of it.
    fn cautions(&self) -> [String; 2] {
        let sure = percent(self.level.confidence);
        [
            match self.sessions {
                1 => "The difference is one between these two sessions, not between kernels, machines or settings: whatever else differed \
                      between the two days is part of it. Several sessions a side, taken in turns, can tell: \
                      `surefoot compare --sessions A1 B1 A2 B2 …`."
                    .into(),
                sessions => format!(
                    "Each of the {sessions} sessions a side is one value, so that intervals hold how sessions differ; \
                     a verdict takes {ROUNDS_FOR_CLAIMS} a side."
                ),
            },
            format!(
                "Better and worse: chance is ruled out over all scenarios' primary metrics together (Holm's correction), and the difference \
                 is not shown to be smaller than {}. Other metrics are exploratory: corrected for the false discovery rate only \
                 (Benjamini and Hochberg). Intervals ({sure}) are each one's own, not corrected.",
                percent(self.level.margin)
            ),
        ]
    }
}

impl Line {
    /// Makes each side's rounds one value, that of a session.
    fn become_session(&mut self) {
        let means = [&self.sides.earlier, &self.sides.later].map(|values| vec![self.mean(values)]);
        let [earlier, later] = means;
        self.sides = Sides { earlier, later, are_sessions: true, ..self.sides };
    }

    /// Adds a session a side.
    fn add_session(&mut self, session: Line) {
        self.sides.earlier.extend(session.sides.earlier);
        self.sides.later.extend(session.sides.later);
        (0..2).for_each(|side| self.does_not_flush[side] |= session.does_not_flush[side]);
    }

    /// Its means in both, marked where commits had no flushes.
    fn means(&self) -> [String; 2] {
        let means = [&self.sides.earlier, &self.sides.later].map(|values| self.scale.with_unit(self.mean(values)));
        let mark = |at: usize| if self.does_not_flush[at] { NAME_MARK } else { "" };
        [0, 1].map(|at| format!("{}{}", means[at], mark(at)))
    }

    /// As the report's own: of the primary metric 0 where a trial stalled.
    fn mean(&self, values: &[f64]) -> f64 {
        figure::mean(values, if self.is_primary { Zero::Stall } else { Zero::Count })
    }

    /// Whether a difference was shown that matters.
    fn is_shown(&self) -> bool {
        self.change.is_some_and(|change| change.is_shown())
    }

    /// What is said of the two, or why nothing is.
    fn verdict(&self, level: &Level) -> String {
        match self.change {
            Some(Change { verdict: None, .. }) if self.sides.are_sessions => {
                format!("fewer than {ROUNDS_FOR_CLAIMS} sessions a side")
            }
            Some(change) => unpaired::words(&change, level.margin),
            None if !self.sides.have_logarithms() && self.is_primary => {
                "not judged: it stalled, a trial's figure is 0".into()
            }
            None if !self.sides.have_logarithms() => "not judged: a value is 0".into(),
            None => "too few trials to say".into(),
        }
    }

    /// "ext4", "ext4: latency p99"; where the workload has one scenario, the metric alone.
    fn name(&self, workload: &Workload) -> String {
        let metric = quantity_of(&self.metric);
        match (self.is_primary, self.label == workload.name) {
            (_, true) => metric,
            (true, false) => self.label.clone(),
            (false, false) => format!("{}: {metric}", self.label),
        }
    }
}

impl Workload {
    /// Makes each side's rounds one value, that of a session.
    fn become_session(&mut self) {
        self.lines.iter_mut().for_each(Line::become_session);
        self.errors.values_mut().for_each(|blocks| *blocks = vec![gate::sum(blocks)]);
    }

    /// Adds a session a side: what it did not measure is judged by the others.
    fn add_session(&mut self, session: Workload) {
        for (label, count) in session.failed {
            *self.failed.entry(label).or_default() += count;
        }
        for (label, found) in session.failing {
            let sum = self.failing.entry(label).or_default();
            *sum = sum.and(found);
        }
        for (label, blocks) in session.errors {
            self.errors.entry(label).or_default().extend(blocks);
        }
        for line in session.lines {
            let is_same = |known: &&mut Line| known.label == line.label && known.metric.name == line.metric.name;
            match self.lines.iter_mut().find(is_same) {
                Some(known) => known.add_session(line),
                None => self.lines.push(line),
            }
        }
    }

    /// Says which scenarios lack one of so many sessions.
    fn name_missing(&mut self, sessions: usize) {
        for Line { label, sides, .. } in self.lines.iter().filter(|line| line.is_primary) {
            let count = sides.earlier.len();
            if count < sessions {
                self.left_out.retain(|(scenario, _)| scenario != label);
                self.left_out.push((label.clone(), format!("In {count} of {sessions} sessions only: {label}")));
            }
        }
    }
}

fn workloads(a: &Input, b: &Input) -> Vec<Workload> {
    let tables = tables(a, b);
    let failed = [a, b].map(failed);
    let failing = Failing::of([&a.contents, &b.contents]);
    parts(a.view(), b.view()).into_iter().map(|pair| workload(pair, &tables, (&failed, &failing))).collect()
}

/// Scenarios with failed trials.
fn failed(input: &Input) -> BTreeSet<String> {
    let trials = input.contents.counted_trials();
    trials.iter().filter(|trial| trial.state == TrialState::Failed).map(|trial| trial.scenario.clone()).collect()
}

/// A metric that has a direction, with its values in both by round and scenario.
type Table<'a> = (&'a Metric, [Vec<Vec<Option<f64>>>; 2]);

/// Of all that both know, each gathered once for all workloads.
fn tables<'a>(a: &Input, b: &'a Input) -> Vec<Table<'a>> {
    let is_wanted = |metric: &&Metric| {
        metric.direction != Direction::Neither && a.contents.metrics.contains_key(metric.name.as_ref())
    };
    let values = |metric: &Metric| [a, b].map(|input| input.contents.values(&metric.name));
    b.contents.metrics.values().filter(is_wanted).map(|metric| (metric, values(metric))).collect()
}

/// `failed` are the scenarios with failed trials in each.
fn workload(
    pair: (&Part, &Part),
    tables: &[Table],
    (failed, failing): (&[BTreeSet<String>; 2], &BTreeMap<String, Failing>),
) -> Workload {
    let (part, other) = pair;
    let only = |side: usize, these: &Part, others: &Part| -> Vec<(String, String)> {
        let missing = |row: &&Row| !row.control && !others.measured().any(|other| other.label == row.label);
        let said = |row: &Row| (row.label.clone(), alone_in(side, &row.label, failed[1 - side].contains(&row.label)));
        these.measured().filter(missing).map(said).collect()
    };
    let rows = scenarios(part, other);
    let of_primary = |(row, later): &(&Row, &Row)| {
        let sides = primary((part, row, later));
        line(&part.metric, true, (row, later), sides, Some(Scale::of_part(part)))
    };
    let mut lines: Vec<Line> = rows.iter().map(of_primary).collect();
    let others = tables.iter().filter(|(metric, _)| metric.name != part.metric.name);
    lines.extend(others.flat_map(|table| exploratory(table, &rows)));
    let has_failed = |row: &&Row| {
        let has_none = !other.measured().any(|other| other.label == row.label);
        !row.control && has_none && failed[1].contains(&row.label)
    };
    let failed: BTreeMap<String, usize> =
        part.measured().filter(has_failed).map(|row| (row.label.clone(), 1)).collect();
    let labels = rows.iter().map(|(row, _)| &row.label).chain(failed.keys());
    let failing = labels.filter_map(|label| Some((label.clone(), *failing.get(label)?))).collect();
    let errors = |(row, later): &(&Row, &Row)| {
        Some((row.label.clone(), gate::blocks(row.errors.as_ref()?, later.errors.as_ref()?)))
    };
    let errors = rows.iter().filter_map(errors).collect();
    let left_out = [only(0, part, other), only(1, other, part)].concat();
    Workload { name: part.workload.clone(), lines, left_out, failed, failing, errors }
}

/// A scenario of which one side alone has a figure: the other one lacks it, or it failed there.
fn alone_in(side: usize, label: &str, has_failed: bool) -> String {
    let names = ["A", "B"];
    match has_failed {
        true => format!("No figure in {}, where its trials failed: {label}", names[1 - side]),
        false => format!("Only in {}: {label}", names[side]),
    }
}

/// A metric that is not primary, of the scenarios that have it in both.
fn exploratory((metric, [of_a, of_b]): &Table, rows: &[(&Row, &Row)]) -> Vec<Line> {
    let column = |rounds: &[Vec<Option<f64>>], row: &Row| -> Vec<f64> {
        rounds.iter().filter_map(|round| round[row.index]).filter(|value| value.is_finite()).collect()
    };
    let lines = rows.iter().filter_map(|(row, later)| {
        let sides = Sides {
            earlier: column(of_a, row),
            later: column(of_b, later),
            more_is_better: metric.direction == Direction::More,
            are_sessions: false,
        };
        let is_there = !sides.earlier.is_empty() && !sides.later.is_empty();
        is_there.then(|| line(metric, false, (row, later), sides, None))
    });
    lines.collect()
}

fn line(metric: &Metric, is_primary: bool, rows: (&Row, &Row), sides: Sides, scale: Option<Scale>) -> Line {
    let largest = sides.earlier.iter().chain(&sides.later).copied().fold(0.0, f64::max);
    Line {
        metric: metric.clone(),
        is_primary,
        label: rows.0.label.clone(),
        scale: scale.unwrap_or_else(|| Scale::of(metric, largest)),
        sides,
        does_not_flush: [rows.0, rows.1].map(Row::does_not_flush),
        change: None,
    }
}

/// Scenarios that would stand in one line must have run on the same bench. Where the bench is a factor of both studies, a
/// label names its level, so that like meets like.
pub(crate) fn check_benches(a: &Input, b: &Input) -> Result<(), Error> {
    for (first, second) in parts(a.view(), b.view()).into_iter().flat_map(|(part, other)| scenarios(part, other)) {
        let bench = |input: &Input, row: &Row| Bench::of(&input.contents, &input.contents.scenarios[row.index]);
        let (of_a, of_b) = (bench(a, first), bench(b, second));
        if !of_a.is_like(&of_b) {
            return Err(Error::OtherBench { scenario: first.label.clone(), a: of_a.words(), b: of_b.words() });
        }
    }
    Ok(())
}

/// A session counts once.
fn check_apart(all: &[&Input]) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    let mut studies = all.iter().map(|input| &input.contents.study);
    let again = studies.find(|study| !known.insert((study.created.to_bits(), study.seed)));
    again.map_or(Ok(()), |study| Err(Error::SessionTwice(date(study.created))))
}
