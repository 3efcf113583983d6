//! What workloads had to say of their runs ("12 requests failed: …"), scenario by scenario: alike ones as one, with a count.
//!
//! Every report shows these at the scenario that they are of; the results file has each as it was said.

use crate::input::Input;
use analysis::view::Part;
use std::collections::{BTreeMap, BTreeSet};

/// Shown of a scenario where there is room: on the page and on paper.
pub const OF_SCENARIO_MAX: usize = 12;
/// Shown of a workload on a terminal and in Markdown.
pub const OF_PART_MAX: usize = 6;

/// Notes of a scenario that differ in their figures only.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Whose.
    pub scenario: String,
    /// The one with the largest figure.
    pub text: String,
    /// How many trials said it.
    pub trials: usize,
    /// Of so many.
    pub of: usize,
    /// The largest figure.
    figure: f64,
}

impl Said {
    /// With how many trials said so.
    pub fn words(&self) -> String {
        match (self.trials, self.of) {
            (_, 1) => self.text.clone(),
            (1, of) => format!("{} (in one of {of} trials)", self.text),
            (trials, of) => format!("{} (the largest figure; {trials} of {of} trials said so)", self.text),
        }
    }
}

/// All of a workload's scenarios, the worst first: what most trials said, and of these what has the largest figure.
pub fn of_part(part: &Part, input: &Input) -> Vec<Said> {
    let mut all: Vec<Said> = part.rows.iter().flat_map(|row| of_scenario(&row.label, input)).collect();
    all.sort_by(|a, b| b.trials.cmp(&a.trials).then(b.figure.total_cmp(&a.figure)));
    all
}

fn of_scenario(label: &str, input: &Input) -> Vec<Said> {
    let trials: Vec<_> = input.contents.counted_trials().into_iter().filter(|trial| trial.scenario == label).collect();
    let mut alike: BTreeMap<String, (Said, BTreeSet<i64>)> = BTreeMap::new();
    for trial in &trials {
        for text in &trial.notes {
            let (shape, figure) = shape(text);
            let said = Said { scenario: label.into(), text: text.clone(), trials: 0, of: trials.len(), figure };
            let (worst, said_by) = alike.entry(shape).or_insert_with(|| (said.clone(), BTreeSet::new()));
            said_by.insert(trial.id);
            if figure > worst.figure {
                *worst = said;
            }
        }
    }
    alike.into_values().map(|(said, by)| Said { trials: by.len(), ..said }).collect()
}

/// What a note says without its figures and its example, and its first figure.
fn shape(text: &str) -> (String, f64) {
    let said = text.split(" (first: ").next().unwrap_or(text);
    let (mut shape, mut figures, mut figure) = (String::new(), Vec::new(), String::new());
    for letter in said.chars().chain([' ']) {
        if letter.is_ascii_digit() || letter == '.' && !figure.is_empty() {
            figure.push(letter);
            continue;
        }
        if !figure.is_empty() {
            shape.push('#');
            figures.extend(figure.trim_end_matches('.').parse::<f64>());
            figure.clear();
        }
        shape.push(letter);
    }
    (shape, figures.first().copied().unwrap_or(0.0))
}

/// One line each for little room, and how many more there are.
pub fn lines(part: &Part, input: &Input) -> Vec<String> {
    let all = of_part(part, input);
    let more = all.len().saturating_sub(OF_PART_MAX);
    let said = all.iter().take(OF_PART_MAX).map(|said| format!("note: {}: {}", said.scenario, said.words()));
    let left_out = (more > 0).then(|| format!("note: and {more} more notes; the page has them"));
    said.chain(left_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_differ_in_figures_are_alike() {
        let of = |text: &str| shape(text);
        let (first, most) = of("12 requests failed: the answer is 503 (first: GET /a17)");
        assert_eq!((&*first, most), ("# requests failed: the answer is # ", 12.0));
        assert_eq!(first, of("7 requests failed: the answer is 503 (first: GET /b)").0);
        assert_ne!(first, of("7 requests failed: nothing for 3 s").0);
        assert_eq!(of("at 512.5 requests a second. Ende."), ("at # requests a second. Ende. ".into(), 512.5));
        assert_eq!(of("é"), ("é ".into(), 0.0));
    }
}
