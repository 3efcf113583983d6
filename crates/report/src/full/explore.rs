//! The section "Explore": the controls, and all figures as JSON beside the script `explore.js` that draws them.
//!
//! What makes a page large is capped here: values, second-by-second lines; the page says what was left out. Quantiles of Student's t
//! come along, so that the script's intervals are those of the rest of the page.

use super::pictures::{SECONDS_MIN, rate_of};
use crate::chart::latency;
use crate::flushing::{DAGGER_NOTE, MARK};
use crate::input::{Input, Line};
use crate::marks;
use crate::number::{Scale, rounded};
use crate::words::beside;
use analysis::levels::{Factor, factors};
use analysis::marks::{Kind, Marks};
use analysis::means::is_own;
use analysis::row::Row;
use analysis::view::{Part, View};
use observe::metric::{Direction, Metric};
use serde_json::{Map, Value, json};
use stats::interval::{RESOLUTION, t_quantile};
use std::collections::BTreeMap;

const SCRIPT: &str = include_str!("explore.js");
/// Native elements, each with its label and the views it belongs to; the script fills in what there is to choose, and the result.
const FORM: &str = include_str!("explore.html");
/// Values of metrics on the page, a trial and metric each; primary metrics come first, then the workloads' own.
const VALUES_MAX: usize = 60_000;
/// Letters for the lines of each workload's own rate, and for those of all else recorded second by second.
const OWN_LETTERS_MAX: usize = 140_000;
const OTHER_LETTERS_MAX: usize = 150_000;
/// Points a line, of series that explain, and at least.
const OWN_POINTS: usize = 120;
const OTHER_POINTS: usize = 60;
const POINTS_MIN: usize = 20;
/// Rounds with quantiles of their own; more rounds take the last, which is a little larger than theirs.
const ROUNDS_MAX: usize = 60;
/// Cells of a heat map up to which each number has quantiles of its own; more take those of up to twice as many, a little larger than theirs.
const CELLS_MAX: usize = 80;
/// Digits of the lines' values, twelve bits in two letters.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const STEPS: f64 = 4095.0;
/// A value that is not there.
const NO_VALUE: &str = "..";

/// The section as HTML; empty without scenarios.
pub fn section(input: &Input, view: &View) -> String {
    if view.parts.iter().all(|part| part.measured().next().is_none()) {
        return String::new();
    }
    let (metrics, left_out) = metrics(input, view);
    // `<` is all that could end the element.
    let data = data(input, view, metrics).to_string().replace('<', "\\u003c");
    let more = if left_out == 1 { "1 more metric has".into() } else { format!("{left_out} more metrics have") };
    let more = format!(
        "<p class=\"note\">{more} no room here: tables above have the means, and <code>surefoot report --csv</code> has all.</p>"
    );
    let more = if left_out > 0 { more.as_str() } else { "" };
    let form: String = FORM.lines().map(str::trim_start).collect();
    format!(
        "<section id=\"explore\"><h2>Explore</h2>\
         <noscript><p class=\"note\">Choosing metrics and factors needs JavaScript. All else on this page does without.</p></noscript>\
         {more}{form}<script type=\"application/json\" id=\"explore-data\">{data}</script><script>{SCRIPT}</script></section>"
    )
}

fn data(input: &Input, view: &View, metrics: Vec<Value>) -> Value {
    let contents = &input.contents;
    let rounds = contents.trials.iter().map(|trial| trial.round as usize + 1).max().unwrap_or(0);
    let parts: Vec<(&Part, Vec<Factor>)> = view.parts.iter().map(|part| (part, factors(part))).collect();
    // One without a value has nothing to be drawn, nor its metric a name.
    let measured = parts.iter().filter(|(part, _)| part.measured().next().is_some());
    // What a screen left out is of no workload.
    let mut scenarios = vec![json!({}); contents.scenarios.len()];
    for (part, factors) in &parts {
        for row in &part.rows {
            scenarios[row.index] = scenario(row, part, factors, view);
        }
    }
    let workload = |(part, factors): &(&Part, Vec<Factor>)| {
        let factor = |found: &Factor| json!({ "path": found.path, "name": found.name, "levels": found.short, "labels": found.levels, "ordered": found.is_ordered });
        json!({
            "name": part.workload,
            "primary": part.metric.name,
            "factors": factors.iter().map(factor).collect::<Vec<_>>(),
        })
    };
    let is_marked = view.parts.iter().flat_map(|part| &part.rows).any(Row::does_not_flush);
    let freedoms = 1..rounds.min(ROUNDS_MAX);
    let quantiles = |probability: f64| -> Vec<f64> {
        freedoms.clone().map(|freedom| rounded(t_quantile(probability, freedom), 8)).collect()
    };
    // As stats has it for the best set (F8): one-sided, Bonferroni's for all other cells.
    let alpha = view.parts.first().map_or(1.0 - view.confidence, |part| part.alpha);
    let best = |cells: usize| json!([cells, quantiles(1.0 - alpha / (cells as f64 - 1.0))]);
    let (some, all) = (2..=scenarios.len().min(CELLS_MAX), scenarios.len());
    let many = std::iter::successors(Some(2 * CELLS_MAX), |cells| Some(2 * cells)).take_while(|cells| *cells < 2 * all);
    json!({
        "study": contents.study.name,
        "confidence": view.confidence,
        "t": quantiles(0.5 + view.confidence / 2.0),
        "resolution": rounded(RESOLUTION, 8),
        "best": some.chain(many).map(best).collect::<Vec<_>>(),
        "mark": if is_marked { MARK } else { "" },
        "daggerNote": if is_marked { DAGGER_NOTE } else { "" },
        "sample": sampled(input),
        "workloads": measured.map(workload).collect::<Vec<_>>(),
        "scenarios": scenarios,
        "metrics": metrics,
        "tails": latency::tails(f64::INFINITY),
        "latencies": latencies(input),
        "letters": String::from_utf8_lossy(LETTERS),
        "series": series(input, view),
        "signs": Kind::ALL.map(marks::legend),
    })
}

fn scenario(row: &Row, part: &Part, factors: &[Factor], view: &View) -> Value {
    let level = |factor: &Factor| {
        let own = row.levels.get(&factor.path);
        factor.levels.iter().position(|level| Some(level) == own).map_or(Value::Null, |place| json!(place))
    };
    json!({
        "label": row.label,
        "workload": part.workload,
        "levels": factors.iter().map(level).collect::<Vec<_>>(),
        "control": row.control,
        "doesNotFlush": row.does_not_flush(),
        "failed": row.failed,
        "failure": view.failure_of(&row.label),
    })
}

/// Said where not every run's detail was read.
fn sampled(input: &Input) -> Vec<String> {
    let (read, all) = (input.details.runs_read, input.details.runs_all);
    if read < all { vec![format!("From {read} of {all} runs, spread evenly.")] } else { Vec::new() }
}

/// Every metric that varies: what it is, and a value a scenario and round; and how many there is no room for.
fn metrics(input: &Input, view: &View) -> (Vec<Value>, usize) {
    let contents = &input.contents;
    let is_one_of_many = |name: &str| is_of_one_processor(name) || name.starts_with("operation_");
    let mut names: Vec<&String> = contents.metrics.keys().filter(|name| !is_one_of_many(name)).collect();
    let is_primary = |name: &str| view.parts.iter().any(|part| part.metric.name == name);
    names.sort_by_key(|name| (!is_primary(name), !is_own(name)));
    let (mut found, mut count, mut left_out) = (Vec::new(), 0, 0);
    for name in names {
        let rounds = contents.values(name);
        let all = || rounds.iter().flatten().flatten().copied();
        let varies = all().any(|value| all().next() != Some(value));
        count += all().count();
        if !is_primary(name) && (!varies || count > VALUES_MAX) {
            left_out += usize::from(varies);
            continue;
        }
        let metric = &contents.metrics[name];
        let largest = all().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let scale = Scale::of(metric, largest);
        // The primary metric's figures are the rest of the page's, digit by digit; others have a digit more than is shown.
        let shown = |value: f64| match scale.apply(value) {
            value if is_primary(name) => value,
            value => rounded(value, if is_own(name) { 5 } else { 4 }),
        };
        let of_scenario = |index: usize| -> Vec<Option<f64>> {
            let values: Vec<Option<f64>> = rounds.iter().map(|round| round[index].map(shown)).collect();
            if values.iter().all(Option::is_none) { Vec::new() } else { values }
        };
        found.push(json!({
            "name": name,
            "words": beside(metric, &scale),
            "unit": scale.unit,
            "better": metric.direction,
            "claimed": is_primary(name),
            "values": (0..contents.scenarios.len()).map(of_scenario).collect::<Vec<_>>(),
        }));
    }
    (found, left_out)
}

/// `cpu_17_user_share`: a figure for each processor of a large machine would fill the page.
fn is_of_one_processor(name: &str) -> bool {
    name.strip_prefix("cpu_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// By operation and scenario: microseconds at the tails, as far as enough operations lie beyond.
fn latencies(input: &Input) -> Value {
    let mut operations: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for (index, scenario) in input.contents.scenarios.iter().enumerate().filter(|(_, scenario)| !scenario.control) {
        for (operation, latency) in input.details.latencies.get(&scenario.label).into_iter().flatten() {
            if latency.count() > 0 {
                let curve: Vec<f64> = latency::quantiles(latency).iter().map(|(_, value)| *value).collect();
                operations.entry(operation).or_default().insert(index.to_string(), json!(curve));
            }
        }
    }
    json!(operations)
}

/// What was recorded second by second: the workloads' own rates first, each with as many lines as have room.
fn series(input: &Input, view: &View) -> Vec<Value> {
    let details = &input.details;
    let mut names: Vec<&String> = details.series.values().flat_map(BTreeMap::keys).collect();
    names.sort();
    names.dedup();
    names.retain(|name| !is_of_one_processor(name));
    let rates: Vec<String> = view.parts.iter().filter_map(|part| rate_of(part, input)).collect();
    let (own, other): (Vec<&String>, Vec<&String>) = names.into_iter().partition(|name| rates.contains(name));
    let budgets = [(own, OWN_LETTERS_MAX, OWN_POINTS), (other, OTHER_LETTERS_MAX, OTHER_POINTS)];
    let of_budget = |(names, letters, points): (Vec<&String>, usize, usize)| {
        let room = letters / names.len().max(1);
        names.into_iter().filter_map(|name| one_series(name, input, room, points)).collect::<Vec<_>>()
    };
    budgets.into_iter().flat_map(of_budget).collect()
}

/// `None` where no line has room or two seconds, or nothing varies.
fn one_series(name: &str, input: &Input, letters_max: usize, points: usize) -> Option<Value> {
    let scenarios = &input.contents.scenarios;
    let measured = |label: &str| input.details.series.get(label).and_then(|series| series.get(name));
    let warm_ups = |label: &str| input.details.warm_ups.get(label).and_then(|series| series.get(name));
    let lines = |label: &str| -> Vec<&Line> { measured(label).into_iter().flatten().collect() };
    let with_lines =
        scenarios.iter().filter(|scenario| !scenario.control && !lines(&scenario.label).is_empty()).count();
    let most = scenarios.iter().map(|scenario| lines(&scenario.label).len()).max()?;
    let longest = scenarios.iter().flat_map(|scenario| lines(&scenario.label)).map(Line::seconds).max()?;
    // A run and its warm-up are two lines of two letters a point. Where there is no room for one of each scenario, it is coarser.
    let room = letters_max / (4 * with_lines.max(1));
    let points = if room < points { room.min(longest).max(POINTS_MIN) & !1 } else { points };
    let keep = (room / points.min(longest.max(1))).min(most);
    let values = || scenarios.iter().flat_map(|scenario| lines(&scenario.label)).flat_map(|line| &line.points);
    let low = values().map(|point| point.1).fold(0.0, f64::min);
    let high = values().map(|point| point.1).fold(low, f64::max);
    if keep == 0 || high <= low || longest < SECONDS_MIN {
        return None;
    }
    let step = most.div_ceil(keep);
    let mut found = Map::new();
    for (index, scenario) in scenarios.iter().enumerate().filter(|(_, scenario)| !scenario.control) {
        let lines = lines(&scenario.label);
        let kept: Vec<&Line> = lines.iter().step_by(step).copied().collect();
        let before = warm_ups(&scenario.label).into_iter().flatten();
        let before = before.filter(|line| kept.iter().any(|measured| measured.round == line.round));
        let before = before.map(|line| {
            json!([line.round, -(line.seconds() as i64), line.seconds(), letters(line, points, (low, high))])
        });
        let measured = kept.iter().map(|line| {
            let marks = (line.marks != Marks::default()).then(|| Kind::ALL.map(|kind| line.marks.at(kind)));
            json!([line.round, 0, line.seconds(), letters(line, points, (low, high)), marks])
        });
        let encoded: Vec<Value> = before.chain(measured).collect();
        if !encoded.is_empty() {
            found.insert(index.to_string(), json!(encoded));
        }
    }
    let metric = input.contents.metrics.get(name).cloned();
    let metric = metric.unwrap_or_else(|| Metric::named(name.into(), unit_of(name).into(), Direction::Neither));
    let scale = Scale::of(&metric, high);
    let drawn = most.div_ceil(step);
    let sample = (drawn < most).then(|| format!("Lines of {drawn} of {most} runs a scenario, spread evenly."));
    Some(json!({
        "name": name, "words": beside(&metric, &scale), "unit": scale.unit,
        "low": scale.apply(low), "high": scale.apply(high), "sample": sample, "lines": found,
    }))
}

/// Of a series that is no metric of the same name: the end of its name tells.
fn unit_of(name: &str) -> &'static str {
    match name.rsplit('_').next() {
        Some("bytes") => "B",
        Some("seconds") => "s",
        Some("second") => "1/s",
        _ => "1",
    }
}

/// A line as two letters a point; longer ones as the lowest and the highest of each stretch, in the order they came.
fn letters(line: &Line, points: usize, (low, high): (f64, f64)) -> String {
    let seconds = line.seconds();
    let mut slots: Vec<Option<f64>> = vec![None; seconds.min(points)];
    if seconds <= points {
        for (second, value) in &line.points {
            slots[*second as usize] = Some(*value);
        }
    } else {
        let stretches = points / 2;
        for (stretch, pair) in slots.chunks_exact_mut(2).enumerate() {
            let inside = |second: f64| second as usize * stretches / seconds == stretch;
            let found = || line.points.iter().filter(|(second, _)| inside(*second));
            let lowest = found().min_by(|a, b| a.1.total_cmp(&b.1));
            let highest = found().max_by(|a, b| a.1.total_cmp(&b.1));
            if let (Some(lowest), Some(highest)) = (lowest, highest) {
                let in_order = if lowest.0 <= highest.0 { [lowest, highest] } else { [highest, lowest] };
                pair.copy_from_slice(&in_order.map(|point| Some(point.1)));
            }
        }
    }
    let mut letters = String::with_capacity(slots.len() * 2);
    for slot in slots {
        let Some(value) = slot else {
            letters.push_str(NO_VALUE);
            continue;
        };
        let step = ((value - low) / (high - low) * STEPS).round().clamp(0.0, STEPS) as usize;
        letters.extend([LETTERS[step / 64], LETTERS[step % 64]].map(char::from));
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[f64]) -> Line {
        let points = values.iter().enumerate().map(|(second, value)| (second as f64, *value)).collect();
        Line { round: 0, points, marks: Default::default() }
    }

    #[test]
    fn a_line_keeps_its_values_and_a_long_one_its_dips() {
        assert_eq!(letters(&line(&[0.0, 4095.0, 64.0, 1.0]), 10, (0.0, 4095.0)), "AA__BAAB");
        let mut long = vec![2000.0; 1_000];
        long[333] = 0.0;
        let text = letters(&line(&long), 20, (0.0, 4095.0));
        assert_eq!(text.len(), 40);
        assert!(text.contains("AA"), "{text}");
        let mut with_hole = line(&[5.0, 5.0, 5.0]);
        with_hole.points.remove(1);
        assert_eq!(letters(&with_hole, 10, (0.0, 4095.0)), "AF..AF");
    }
}
