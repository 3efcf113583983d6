//! Two results files side by side: two machines, kernels or days.
//!
//! Rounds of different files have nothing in common, so the comparison is unpaired (Welch on logarithms) and cannot
//! cancel what differs between the two sittings. What differs is said first; a guest kernel is not held against another.

use crate::answer::{LIMITS, heading};
use crate::bench::{Bench, note};
use crate::chart::{comparison, escape};
use crate::flushing::NAME_MARK;
use crate::html::page;
use crate::input::{Error, Input};
use crate::number::{date, percent, ratio_precise, words};
use crate::terminal::printable;
use crate::view::{Part, Row, View};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Machine facts shown before the rest is counted.
const FACTS_MAX: usize = 20;

/// The comparison in words and a table.
///
/// # Errors
/// When a scenario ran on different benches: a guest's figures compare with those of the same guest only.
pub fn compare(a: &Input, b: &Input) -> Result<String, Error> {
    check_benches(a, b)?;
    let mut out = String::new();
    for line in preamble(a, b) {
        let _ = writeln!(out, "{}", printable(&line));
    }
    for section in sections(a, b) {
        let _ = writeln!(out, "\n{}", section.heading);
        let widest = section.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        for row in &section.rows {
            let gap = " ".repeat(widest - row.label.chars().count());
            let _ = writeln!(out, "{}{gap}  {} → {}  {}", printable(&row.label), row.a, row.b, row.change);
        }
        for line in &section.left_out {
            let _ = writeln!(out, "{}", printable(line));
        }
    }
    let _ = writeln!(out, "\n{CAUTION}");
    Ok(out)
}

/// The comparison as a page.
///
/// # Errors
/// As [`compare`].
pub fn compare_html(a: &Input, b: &Input) -> Result<String, Error> {
    check_benches(a, b)?;
    let mut body =
        String::from("<header><h1>Two results side by side</h1></header><section class=\"card decision\"><ul>");
    for line in preamble(a, b) {
        let _ = write!(body, "<li>{}</li>", escape(&line));
    }
    body.push_str("</ul></section>");
    let sections = sections(a, b);
    body.push_str(&chart(&sections, a.view().margin));
    for section in sections {
        let _ = write!(
            body,
            "<h2>{}</h2><div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>scenario</th><th>A</th><th>B</th>\
             <th class=\"words\">B against A</th></tr></thead><tbody>",
            escape(&section.heading)
        );
        for row in &section.rows {
            let cells = [&row.a, &row.b].map(|cell| format!("<td>{}</td>", escape(cell))).concat();
            let _ = write!(
                body,
                "<tr><td>{}</td>{cells}<td class=\"words\">{}</td></tr>",
                escape(&row.label),
                escape(&row.change)
            );
        }
        body.push_str("</tbody></table></div>");
        for line in &section.left_out {
            let _ = write!(body, "<p class=\"note\">{}</p>", escape(line));
        }
    }
    let _ = write!(body, "<p class=\"note\">{}</p><p class=\"note\">{}</p>", escape(CAUTION), escape(LIMITS));
    Ok(page("Two results – surefoot", &body))
}

/// Every scenario with its interval on one axis.
fn chart(sections: &[Section], margin: f64) -> String {
    let row = |section: &Section, line: &Line| {
        let Contrast { ratio, low, high, verdict, is_shown } = line.contrast.as_ref()?;
        let better = if section.more_is_better { (*ratio, *low, *high) } else { (1.0 / ratio, 1.0 / high, 1.0 / low) };
        // A workload with one scenario is called as the scenario is.
        let label = if line.label == section.workload {
            format!("{}: {}", section.workload, section.metric)
        } else {
            format!("{}: {}", section.workload, line.label)
        };
        Some(comparison::Row { label, better, verdict: verdict.clone(), is_shown: *is_shown })
    };
    let rows: Vec<comparison::Row> =
        sections.iter().flat_map(|section| section.rows.iter().filter_map(|line| row(section, line))).collect();
    comparison::draw("compared", &rows, margin)
        .map_or_else(String::new, |svg| format!("<figure class=\"card\">{svg}</figure>"))
}

const CAUTION: &str = "The two were measured at different times: whatever differed between them besides what is named above is \
    part of the difference. Only rounds of one study cancel that out.";

/// Scenarios that would stand in one line must have run on the same bench. Where the bench is a factor of both studies, a
/// label names its level, so that like meets like.
pub(crate) fn check_benches(a: &Input, b: &Input) -> Result<(), Error> {
    for (first, second) in pairs(a, b).into_iter().flat_map(|(part, other)| shared(part, other)) {
        let bench = |input: &Input, row: &Row| Bench::of(&input.contents, &input.contents.scenarios[row.index]);
        let (of_a, of_b) = (bench(a, first), bench(b, second));
        if !of_a.is_like(&of_b) {
            let (a, b) = (Box::new(of_a), Box::new(of_b));
            return Err(Error::OtherBench { scenario: first.label.clone(), a, b });
        }
    }
    Ok(())
}

/// What differs between the two files: study, version, machine.
fn preamble(a: &Input, b: &Input) -> Vec<String> {
    let (first, second) = (&a.contents.study, &b.contents.study);
    let mut lines = vec![
        format!("A: {}, {}", first.name, date(first.created)),
        format!("B: {}, {}", second.name, date(second.created)),
    ];
    if first.hash == second.hash {
        lines.push("Both ran the same study (equal hash).".into());
    } else {
        lines.push("The studies differ: scenarios of the same name may have been set up differently.".into());
    }
    if first.surefoot_version != second.surefoot_version {
        lines.push(format!("surefoot {} → {}", first.surefoot_version, second.surefoot_version));
    }
    // Those that are compared are alike; the files may hold others.
    lines.extend([("A", a), ("B", b)].iter().filter_map(|(name, input)| Some(format!("{name}: {}", note(input)?))));
    let facts = differing_facts(a, b);
    if facts.is_empty() {
        lines.push("The recorded machine facts are equal.".into());
    }
    let more = facts.len().saturating_sub(FACTS_MAX);
    lines.extend(facts.into_iter().take(FACTS_MAX));
    if more > 0 {
        lines.push(format!("{more} more machine facts differ."));
    }
    lines
}

fn differing_facts(a: &Input, b: &Input) -> Vec<String> {
    let machine =
        |input: &Input| input.contents.sessions.last().map(|session| session.machine.clone()).unwrap_or_default();
    let (first, second) = (machine(a), machine(b));
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let shown = |value: Option<&String>| value.map_or("–".to_string(), Clone::clone);
    let differ = names.into_iter().filter(|name| first.get(*name) != second.get(*name));
    differ.map(|name| format!("{name}: {} → {}", shown(first.get(name)), shown(second.get(name)))).collect()
}

struct Section {
    heading: String,
    workload: String,
    metric: String,
    more_is_better: bool,
    rows: Vec<Line>,
    left_out: Vec<String>,
}

struct Line {
    label: String,
    a: String,
    b: String,
    change: String,
    /// None: too few trials.
    contrast: Option<Contrast>,
}

/// The second mean by the first, with its interval and what that says.
struct Contrast {
    ratio: f64,
    low: f64,
    high: f64,
    verdict: String,
    is_shown: bool,
}

/// Workloads that both files measured in the same metric.
fn pairs<'a>(a: &'a Input, b: &'a Input) -> Vec<(&'a Part, &'a Part)> {
    let same = |part: &&Part, other: &Part| part.workload == other.workload && part.metric.name == other.metric.name;
    let of_a = a.view().parts.iter();
    of_a.filter_map(|part| b.view().parts.iter().find(|other| same(other, part)).map(|other| (part, other))).collect()
}

/// Scenarios that both measured.
fn shared<'a>(a: &'a Part, b: &'a Part) -> Vec<(&'a Row, &'a Row)> {
    let other = |row: &Row| b.measured().find(|other| other.label == row.label);
    a.measured().filter_map(|row| Some((row, other(row)?))).collect()
}

fn sections(a: &Input, b: &Input) -> Vec<Section> {
    pairs(a, b).into_iter().map(|(part, other)| section(part, other, a.view())).collect()
}

fn section(a: &Part, b: &Part, view: &View) -> Section {
    let rows = shared(a, b).into_iter().map(|(row, other)| line(row, other, a, view)).collect();
    let only = |which: &str, these: &Part, others: &Part| -> Vec<String> {
        let missing = |row: &&Row| !others.measured().any(|other| other.label == row.label);
        these.measured().filter(missing).map(|row| format!("Only in {which}: {}", row.label)).collect()
    };
    Section {
        heading: heading(a),
        workload: a.workload.clone(),
        metric: words(&a.metric.name),
        more_is_better: a.more_is_better,
        rows,
        left_out: [only("A", a, b), only("B", b, a)].concat(),
    }
}

fn line(first: &Row, second: &Row, part: &Part, view: &View) -> Line {
    let mean = |row: &Row| {
        let mark = if row.does_not_flush() { NAME_MARK } else { "" };
        row.centre.map_or_else(String::new, |centre| format!("{}{mark}", part.scale.with_unit(centre.mean)))
    };
    let contrast = contrast(first, second, part, view);
    let change = contrast.as_ref().map_or_else(
        || "too few trials to say".into(),
        |Contrast { ratio, low, high, verdict, .. }| {
            format!("{} [{}, {}]  {verdict}", ratio_precise(*ratio), ratio_precise(*low), ratio_precise(*high))
        },
    );
    Line { label: first.label.clone(), a: mean(first), b: mean(second), change, contrast }
}

fn contrast(first: &Row, second: &Row, part: &Part, view: &View) -> Option<Contrast> {
    let logarithms = |row: &Row| row.values.iter().flatten().map(|value| value.ln()).collect::<Vec<f64>>();
    let contrast = stats::welch(&logarithms(second), &logarithms(first), view.confidence)?;
    let (ratio, low, high) = (contrast.difference.exp(), contrast.low.exp(), contrast.high.exp());
    let inside = low > 1.0 / (1.0 + view.margin) && high < 1.0 + view.margin;
    let better = (ratio > 1.0) == part.more_is_better;
    let is_shown = (low > 1.0 || high < 1.0) && !inside;
    let verdict = match (is_shown, inside) {
        (_, true) => format!("the same within {}", percent(view.margin)),
        (true, false) => if better { "better" } else { "worse" }.into(),
        (false, false) => "can't tell".into(),
    };
    Some(Contrast { ratio, low, high, verdict, is_shown })
}
