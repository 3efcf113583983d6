//! `report --format openmetrics`: the means as OpenMetrics 1.0 text, which Prometheus and its like read.
//!
//! A gauge for each metric, `surefoot_NAME`, with the geometric mean over trials (the arithmetic one of what is counted, where a trial
//! has 0); `_low` and `_high` for the ends of its interval; `_trials` for how many there were. Labels are the study, the workload, the
//! scenario and the levels of its factors. Names and labels that the format can't have are changed to such that it can.

use crate::document::printable;
use crate::input::Input;
use crate::number::percent;
use analysis::exported::means;
use observe::metric::{Direction, Metric};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Every scenario's means.
pub fn openmetrics(input: &Input) -> String {
    let (view, study) = (input.view(), &input.contents.study.name);
    let mut families = Families::default();
    let all: Vec<_> = view.parts.iter().map(|part| (part, means(&input.contents, part))).collect();
    // One text a metric, whatever workload it is of.
    let with_zeros = all.iter().flat_map(|(_, found)| found);
    let with_zeros = with_zeros.filter(|(_, rows)| rows.iter().any(|(_, mean)| mean.is_arithmetic));
    let with_zeros: BTreeSet<&str> = with_zeros.map(|(metric, _)| &*metric.name).collect();
    for (part, found) in &all {
        for (metric, rows) in found {
            let help = help(metric, with_zeros.contains(&*metric.name), &percent(view.confidence));
            for (row, mean) in rows {
                let own = [("study", study), ("workload", &part.workload), ("scenario", &row.label)];
                let labels = labels(&own, &row.levels);
                let [low, high] = [mean.ends.map(|ends| ends.0), mean.ends.map(|ends| ends.1)];
                let values = [Some(mean.mean), low, high, Some(mean.count as f64)];
                for ((suffix, help), value) in help.iter().zip(values) {
                    let Some(value) = value else { continue };
                    let (name, lines) = families.of(&metric.name, suffix, help);
                    let _ = writeln!(lines, "{name}{{{labels}}} {value}");
                }
            }
        }
    }
    families.text()
}

/// Lines of one family stand together, whatever workload they are of.
#[derive(Default)]
struct Families {
    /// By metric and suffix: the family's name.
    names: BTreeMap<(String, &'static str), String>,
    /// By name: its help and its lines.
    found: BTreeMap<String, (String, String)>,
}

impl Families {
    /// Metrics whose names come out alike are told apart by underscores.
    fn of(&mut self, metric: &str, suffix: &'static str, help: &str) -> (String, &mut String) {
        let found = &mut self.found;
        let name = self.names.entry((metric.to_string(), suffix)).or_insert_with(|| {
            let mut name = format!("surefoot_{}{suffix}", plain(metric));
            while found.contains_key(&name) {
                name.push('_');
            }
            found.insert(name.clone(), (help.to_string(), String::new()));
            name
        });
        let (_, lines) = self.found.get_mut(name).expect("it has its row");
        (name.clone(), lines)
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (name, (help, lines)) in &self.found {
            let _ = write!(out, "# TYPE {name} gauge\n# HELP {name} {}\n{lines}", escaped(help));
        }
        out.push_str("# EOF\n");
        out
    }
}

/// What each suffix of a metric's name means.
fn help(metric: &Metric, has_zeros: bool, confidence: &str) -> [(&'static str, String); 4] {
    let zeros = if has_zeros { "; the arithmetic one where a trial has 0 or less" } else { "" };
    let better = match metric.direction {
        Direction::More => "; more is better",
        Direction::Less => "; less is better",
        Direction::Neither => "",
    };
    let unit = match metric.unit.as_ref() {
        "" | "1" => String::new(),
        unit => format!(" in {unit}"),
    };
    [
        ("", format!("Geometric mean over trials{unit}{better}{zeros}.")),
        ("_low", format!("Lower end of the mean's {confidence} interval{unit}.")),
        ("_high", format!("Upper end of the mean's {confidence} interval{unit}.")),
        ("_trials", "Finished trials that the mean is of.".into()),
    ]
}

/// A label set without its braces. Factors whose names come out alike are told apart by underscores.
fn labels(own: &[(&str, &String)], levels: &BTreeMap<String, String>) -> String {
    let mut all: BTreeMap<String, &str> = own.iter().map(|(name, value)| ((*name).into(), value.as_str())).collect();
    // Where a study has several workloads, they are a factor of it.
    let is_said = |factor: &str, level: &str| factor == "workload" && own.contains(&("workload", &level.to_string()));
    for (factor, level) in levels.iter().filter(|(factor, level)| !is_said(factor, level)) {
        let mut name = plain(factor);
        // No name begins with a digit, and two underscores are reserved: one may become two below.
        if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            name = format!("factor_{name}");
        }
        while all.contains_key(&name) {
            name.push('_');
        }
        all.insert(name, level);
    }
    all.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

/// Letters, digits and underscores only.
fn plain(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// Other control characters have no escape, and would steer a terminal that shows the text.
fn escaped(text: &str) -> String {
    printable(&text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
