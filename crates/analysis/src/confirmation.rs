//! What new rounds measured of pick, runner-up and baseline. They chose nothing, so their figures are free of the luck by which a
//! pick looks better in the rounds that chose it than it is.

use crate::claim::{Claim, Subject};
use crate::each_once;
use crate::failures::failed_rounds;
use crate::judge::{claim, rules};
use crate::looks::Answer;
use crate::parity::ACCIDENTS;
use crate::row::{Centre, centre};
use ledger::model::{Contents, Phase};
use stats::{Cell, Held, Observations, Verdict};
use std::collections::BTreeMap;

/// Pick, runner-up and baseline in new rounds.
#[derive(Debug, Clone)]
pub struct Confirmation {
    /// The label that the main rounds picked.
    pub pick: String,
    /// Main rounds that it was picked from.
    pub chosen_in: u32,
    /// New rounds in which the pick has a value.
    pub rounds: usize,
    /// Label → new rounds in which it failed, with those that it had no more trial in for that; of those that failed in any.
    pub failed: BTreeMap<String, usize>,
    /// Label → its values in the new rounds.
    pub centres: BTreeMap<String, Centre>,
    /// The pick against the baseline, then against the runner-up.
    pub claims: Vec<Claim>,
}

impl Confirmation {
    /// Whether the pick is shown to be better than each of the others here that is a choice, or as good within the margin: to have been ahead is
    /// no proof.
    pub fn is_borne_out(&self, is_choice: impl Fn(&str) -> bool) -> bool {
        let is_shown =
            |claim: &Claim| matches!(claim.verdict, Some(Verdict::Faster | Verdict::Negligible | Verdict::Equivalent));
        let is_beaten = |label: &String| self.claims.iter().any(|claim| is_shown(claim) && claim.is_against(label));
        // Who has no value here does not run any more.
        let mut others = self.centres.keys().filter(|label| **label != self.pick && is_choice(label)).peekable();
        others.peek().is_some() && others.all(is_beaten)
    }

    /// Another one that is a choice and is shown to be better here.
    pub fn speaks_against(&self, is_choice: impl Fn(&str) -> bool) -> Option<&str> {
        let slower = self.claims.iter().filter(|claim| claim.verdict == Some(Verdict::Slower));
        slower.map(|claim| claim.names().1).find(|label| is_choice(label))
    }

    /// New rounds in which a scenario failed.
    pub fn failed_of(&self, label: &str) -> usize {
        self.failed.get(label).copied().unwrap_or(0)
    }

    /// In how many of them each failed that was measured here.
    fn failed_together(&self) -> usize {
        let has_none = self.centres.keys().any(|label| self.failed_of(label) == 0);
        self.failed.values().copied().min().filter(|_| !has_none).unwrap_or(0)
    }

    /// The same, for one of them; 0 for any other.
    pub fn failed_with(&self, label: &str) -> usize {
        self.failed_of(label).min(self.failed_together())
    }

    /// In how many the pick did, where that is no accident.
    pub fn failures_of_pick(&self) -> Option<usize> {
        Some(self.failed_of(&self.pick)).filter(|failed| *failed > ACCIDENTS)
    }

    /// Another one that is a choice and did better than the pick here.
    pub fn ahead(&self, more_is_better: bool, is_choice: impl Fn(&str) -> bool) -> Option<&str> {
        let pick = self.centres.get(&self.pick)?.merit(more_is_better);
        let mut others = self.centres.iter().filter(|(label, _)| is_choice(label));
        others.find(|(_, centre)| centre.merit(more_is_better) > pick).map(|(label, _)| label.as_str())
    }
}

/// The new rounds of a workload, one a condition of the load; empty where there are none, or none yet.
pub fn confirmations(contents: &Contents, workload: &str, primary: &str, more_is_better: bool) -> Vec<Confirmation> {
    let settings = &contents.study.analysis;
    let rounds = contents.values_in(Phase::Confirmation, primary);
    let column = |label: &String| contents.scenarios.iter().position(|scenario| scenario.label == *label);
    let failed = failed_rounds(contents, Phase::Confirmation);
    let mut found = Vec::new();
    let (mut contrasts, mut asked) = (Vec::new(), 0);
    for finalists in contents.finalists().filter(|finalists| finalists.workload == workload) {
        let others = finalists.baseline.iter().chain(&finalists.runner_up);
        let labels = each_once([&finalists.pick].into_iter().chain(others));
        let values = |label: &&String| -> Vec<Option<f64>> { rounds.iter().map(|row| row[column(label)?]).collect() };
        let values: Vec<Vec<Option<f64>>> = labels.iter().map(values).collect();
        let observations = observations(&labels, &values, more_is_better);
        asked += labels.len() - 1;
        for other in 1..labels.len() {
            let differences = observations.differences(&observations.pair(0, other));
            if let Some(contrast) = stats::contrast(&differences, settings.confidence) {
                let subject = Subject::Scenario { label: labels[0].clone(), against: labels[other].clone() };
                contrasts.push((found.len(), subject, contrast));
            }
        }
        let centres = labels.iter().zip(&values).filter_map(|(label, values)| {
            Some(((*label).clone(), centre(values.iter().copied().flatten().collect(), settings.confidence)?))
        });
        found.push(Confirmation {
            pick: finalists.pick.clone(),
            chosen_in: finalists.round + 1,
            rounds: values[0].iter().flatten().count(),
            failed: labels.iter().filter_map(|label| Some(((*label).clone(), *failed.get(*label)?))).collect(),
            centres: centres.collect(),
            claims: Vec::new(),
        });
    }
    let held = held(contents, asked, more_is_better);
    // What a stall leaves undecided stays a member of the family: it must not make the others look surer.
    let mut p: Vec<f64> = contrasts.iter().map(|(_, _, contrast)| contrast.p).collect();
    p.resize(asked, 1.0);
    let adjusted = stats::holm(&p);
    for ((place, subject, contrast), p) in contrasts.into_iter().zip(adjusted) {
        found[place].claims.push(claim(subject, &contrast, p, &held));
    }
    // A pick that fails in all of them was measured, too.
    found.retain(|confirmation| confirmation.rounds > 0 || confirmation.failures_of_pick().is_some());
    found
}

/// New rounds are answers of their own: the first has half of the level, as the main rounds' first answer has the other half, and whoever adds new
/// rounds looks again.
fn held(contents: &Contents, family: usize, more_is_better: bool) -> Held {
    let rules = rules(&contents.study.analysis, Answer::of(contents, Phase::Confirmation));
    Held { alpha: rules.alpha(), family, margin: rules.margin, more_is_better }
}

fn observations(labels: &[&String], values: &[Vec<Option<f64>>], more_is_better: bool) -> Observations {
    let cell =
        |label: &&String| Cell { label: (*label).clone(), levels: BTreeMap::new(), control: false, baseline: false };
    let rounds = values.first().map_or(0, Vec::len);
    Observations {
        cells: labels.iter().map(cell).collect(),
        rounds: (0..rounds).map(|round| values.iter().map(|of_cell| of_cell[round]).collect()).collect(),
        more_is_better,
    }
}
