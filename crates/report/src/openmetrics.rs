//! `report --format openmetrics`: the means as OpenMetrics 1.0 text, which Prometheus and its like read.
//!
//! A gauge for the metric that the answer is about, `surefoot_NAME`, with the geometric mean over trials; `_low` and `_high`
//! for the ends of its interval; `_trials` for how many there were. Labels are the study, the workload, the scenario and the
//! levels of its factors. Names and labels that the format can't have are changed to such that it can.

use crate::input::Input;
use crate::number::percent;
use analysis::view::Part;
use observe::metric::Direction;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

/// Every scenario's mean.
#[must_use]
pub fn openmetrics(input: &Input) -> String {
    let (view, study) = (input.view(), &input.contents.study.name);
    // Lines of one family stand together, whatever workload they are of.
    let mut families: BTreeMap<String, (String, String)> = BTreeMap::new();
    for part in &view.parts {
        let help = help(part, &percent(view.confidence));
        for row in part.measured() {
            let centre = row.centre.expect("it is measured");
            let own = [("study", study), ("workload", &part.workload), ("scenario", &row.label)];
            let labels = labels(&own, &row.levels);
            let values = [centre.mean, centre.low, centre.high, centre.count as f64];
            // The interval of one value is not known.
            let known = help
                .iter()
                .zip(values)
                .filter(|((suffix, _), _)| centre.count > 1 || !["_low", "_high"].contains(suffix));
            for ((suffix, text), value) in known {
                let name = format!("surefoot_{}{suffix}", plain(&part.metric.name));
                let (_, lines) = families.entry(name.clone()).or_insert_with(|| (text.clone(), String::new()));
                let _ = writeln!(lines, "{name}{{{labels}}} {value}");
            }
        }
    }
    let mut out = String::new();
    for (name, (help, lines)) in families {
        let _ = write!(out, "# TYPE {name} gauge\n# HELP {name} {}\n{lines}", escaped(&help));
    }
    out.push_str("# EOF\n");
    out
}

/// What each suffix of a metric's name means.
fn help(part: &Part, confidence: &str) -> [(&'static str, String); 4] {
    let better = match part.metric.direction {
        Direction::More => "; more is better",
        Direction::Less => "; less is better",
        Direction::Neither => "",
    };
    let unit = match part.metric.unit.as_ref() {
        "" | "1" => String::new(),
        unit => format!(" in {unit}"),
    };
    [
        ("", format!("Geometric mean over trials{unit}{better}.")),
        ("_low", format!("Lower end of the mean's {confidence} interval{unit}.")),
        ("_high", format!("Upper end of the mean's {confidence} interval{unit}.")),
        ("_trials", "Finished trials that the mean is of.".into()),
    ]
}

/// A label set without its braces. Factors whose names come out alike are told apart by underscores.
fn labels(own: &[(&str, &String)], levels: &BTreeMap<String, String>) -> String {
    let mut all: BTreeMap<String, &str> = own.iter().map(|(name, value)| ((*name).into(), value.as_str())).collect();
    // Where a study has several workloads, they are a factor of it.
    let is_said = |factor: &str, level: &str| own.iter().any(|(name, value)| *name == factor && *value == level);
    for (factor, level) in levels.iter().filter(|(factor, level)| !is_said(factor, level)) {
        let mut name = plain(factor);
        // No name begins with a digit, and two underscores are reserved: one may become two below.
        if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            name = format!("factor_{name}");
        }
        loop {
            match all.entry(name.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(level);
                    break;
                }
                Entry::Occupied(_) => name.push('_'),
            }
        }
    }
    all.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

/// Letters, digits and underscores only.
fn plain(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
