//! The numbers of a report: each workload's scenarios, ranked, with their intervals and what stats claims of them.
//!
//! The terminal, the page, the JSON and the words all read these, so that no two of them can differ. How they are made is
//! `view/make.rs`.

mod make;

use crate::choice::Choice;
use crate::claim::{Claim, Subject};
use crate::confirmation::Confirmation;
use crate::health::Without;
use crate::judge::Judgement;
use crate::limits::Held;
use crate::orders::Orders;
use crate::repetitions::PrecisionCost;
use crate::row::{Centre, Row, centre, simultaneous};
use crate::screening::Progress;
use crate::tails::Tail;
use ledger::model::{Mode, Screened};
use observe::durability::Class;
use observe::metric::Metric;
use observe::safety::Grade;
use stats::{Swing, Verdict};
use std::collections::BTreeMap;

/// All parts of a study.
#[derive(Debug)]
pub struct View {
    /// One a workload, in plan order.
    pub parts: Vec<Part>,
    /// Two-sided confidence.
    pub confidence: f64,
    /// Margin below which a difference is negligible, as a fraction.
    pub margin: f64,
    /// Wanted half-width, as a fraction.
    pub precision: f64,
    /// Trials that failed.
    pub failed_total: usize,
    /// How far the screen is; none where nothing is screened.
    pub screen: Option<Progress>,
    /// What narrower intervals cost, which says how long trials should be; none where that can't be told.
    pub precision_cost: Option<PrecisionCost>,
    /// The study's limits, each with each scenario that it is about.
    pub limits: Vec<Held>,
    failures: BTreeMap<String, String>,
}

/// One workload's question and answer.
#[derive(Debug)]
pub struct Part {
    /// The workload.
    pub workload: String,
    /// Its primary metric.
    pub metric: Metric,
    /// The largest value of that metric.
    pub largest: f64,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Label of the scenario that others are compared with; none where this workload lacks it.
    pub baseline: Option<String>,
    /// Scenarios with values first, the best on top; then those without.
    pub rows: Vec<Row>,
    /// What stats makes of them.
    pub judgement: Judgement,
    /// What was shown of tails and shapes, each a family of its own.
    pub tails: Vec<Tail>,
    /// How balanced the orders were, and what a turn did to the next one.
    pub orders: Orders,
    /// The pick by condition; none where every factor is a choice.
    pub choice: Option<Choice>,
    /// Rounds in which every scenario that has values has one.
    pub rounds_complete: usize,
    /// What the verdicts would be without the disturbed trials; none where no trial was.
    pub without_disturbed: Option<Without>,
    /// Whether scenarios differ in what a power cut may take, so that not all of them may be picked.
    pub durability_differs: bool,
    /// What a power cut was measured to take: the classes that may be picked, where the study names them and any was asked for.
    pub allowed: Option<Vec<Grade>>,
    /// Two-sided confidence.
    pub confidence: f64,
    /// The level of this answer's claims, bounds and best set.
    pub alpha: f64,
    /// What was asked of the scenarios.
    pub mode: Mode,
    /// What a screen showed, and left out; none where nothing was screened.
    pub screened: Option<Screened>,
    /// New rounds that were wanted.
    pub confirmation_rounds: u32,
    /// Whether new rounds, of this workload or another, have closed the choice: no main round is measured any more.
    pub is_closed: bool,
    /// What new rounds measured of the picks: one a condition of the load; empty where there were none.
    pub confirmations: Vec<Confirmation>,
}

impl Part {
    /// Scenarios with values, the best first.
    pub fn measured(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.centre.is_some())
    }

    /// Whether each round does another part of the work, so that a difference between rounds says nothing of the machine.
    pub fn goes_in_parts(&self) -> bool {
        self.measured().any(|row| row.health.goes_in_parts)
    }

    /// A scenario's comparison with the baseline.
    pub fn claim_of(&self, scenario: &str) -> Option<&Claim> {
        let versus = &self.judgement.versus;
        versus.iter().find(|claim| matches!(&claim.subject, Subject::Scenario { label, .. } if label == scenario))
    }

    /// The best scenario of the safest class that competes; the control is another's double and no choice. Where factors are
    /// conditions, what is picked under those of the baseline. None where nothing was measured, or nothing may be picked.
    pub fn pick(&self) -> Option<&Row> {
        if let Some(choice) = &self.choice {
            let baseline = self.rows.iter().find(|row| row.baseline);
            let level = |factor: &String| baseline.and_then(|row| row.levels.get(factor));
            let levels: Vec<Option<&String>> = choice.conditions.iter().map(level).collect();
            let of_baseline = choice.picks.iter().find(|pick| pick.levels.iter().map(Some).eq(levels.iter().copied()));
            let pick = of_baseline.or(choice.picks.first())?;
            return self.row(&pick.label);
        }
        let safest = self.safest()?;
        if let Some(confirmation) = self.confirmations.first() {
            let confirmed = self.row(&confirmation.pick);
            // Power cuts are measured last: what they made less safe than others is no choice for having been confirmed.
            if confirmed.is_none_or(|row| !row.is_behind() && row.competes_in == Some(safest)) {
                return confirmed.filter(|row| row.stalls.is_none());
            }
        }
        let is_choice = |row: &&Row| !row.control && row.is_choice_in(safest) && !row.fell_out();
        // A mean over fewer rounds than another's is no rank beside it: pairs over the rounds of both are.
        let by_pairs = self.judgement.pick.as_ref().and_then(|label| self.row(label)).filter(is_choice);
        by_pairs.or_else(|| self.measured().find(is_choice))
    }

    /// What is picked, the best first: one under each condition where factors are conditions.
    pub fn picks(&self) -> Vec<&Row> {
        let only = self.pick();
        let is_picked = |row: &&Row| match &self.choice {
            Some(choice) => choice.picks.iter().any(|pick| pick.label == row.label),
            None => only.is_some_and(|pick| pick.label == row.label),
        };
        self.measured().filter(is_picked).collect()
    }

    /// Where the values of a pick lie, with an interval that holds although they are why it was picked: one of those of all that it was picked
    /// from, which hold together.
    pub fn centre_of_pick(&self, pick: &Row) -> Option<Centre> {
        centre(
            pick.values.iter().copied().flatten().collect(),
            simultaneous(self.confidence, self.beside(pick).count()),
        )
    }

    /// How far a scenario is at most behind the best of those that it competes with, under its own conditions of the load, as a fraction; none where
    /// that is not known.
    pub fn regret_of(&self, row: &Row) -> Option<f64> {
        let regrets = self.choice.as_ref().map_or(&self.judgement.regrets, |choice| &choice.regrets);
        regrets.get(&row.label).copied()
    }

    /// Labels that can't be ruled out as the best; where there are conditions, of each.
    pub fn best_set(&self) -> Vec<String> {
        match &self.choice {
            Some(choice) if choice.is_empty => Vec::new(),
            Some(choice) => choice.picks.iter().flat_map(|pick| pick.best_set.clone()).collect(),
            None => self.judgement.best_set.clone(),
        }
    }

    /// The safest class that a measured scenario competes in.
    pub fn safest(&self) -> Option<Class> {
        self.measured().filter(|row| !row.control).filter_map(|row| row.competes_in).min()
    }

    /// What could be picked in this one's place if neither power cuts nor errors mattered, the best first: all under the same conditions.
    pub fn beside<'a>(&'a self, pick: &'a Row) -> impl Iterator<Item = &'a Row> {
        let conditions = self.choice.as_ref().map_or(&[][..], |choice| &choice.conditions);
        let is_alike =
            move |row: &&Row| conditions.iter().all(|factor| row.levels.get(factor) == pick.levels.get(factor));
        self.measured().filter(move |row| !row.control && is_alike(row))
    }

    /// A scenario by its label.
    pub fn row(&self, label: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == label)
    }

    /// Of the scenarios on a claim's two sides, how many do not flush, and how many there are.
    pub fn without_flushes(&self, claim: &Claim) -> [(usize, usize); 2] {
        sides(claim, &self.rows).map(|rows| (rows.iter().filter(|row| row.does_not_flush()).count(), rows.len()))
    }

    /// How many rounds the comparisons rest on. Mode "tune" declares those with the baseline only, which may have been given up early: the choice
    /// among the others may rest on more.
    pub fn rounds_compared(&self) -> usize {
        let declared = self.judgement.claims.iter().map(|claim| claim.rounds).max().unwrap_or(self.rounds_complete);
        declared.max(self.rounds_of_picks().unwrap_or(0))
    }

    /// How many rounds the choice rests on: the fewest that a pick has in common with one that could be picked in its place.
    pub fn rounds_of_choice(&self) -> usize {
        self.rounds_of_picks().unwrap_or_else(|| self.rounds_compared())
    }

    /// The same; none where nothing may be picked.
    fn rounds_of_picks(&self) -> Option<usize> {
        let safest = self.safest();
        let is_choice = |row: &&Row| safest.is_some_and(|safest| row.is_choice_in(safest)) && !row.fell_out();
        let of_pick = |pick: &Row| {
            let others = self.beside(pick).filter(|row| row.label != pick.label).filter(is_choice);
            let shared = others.map(|row| row.rounds_beside(pick)).min();
            shared.unwrap_or_else(|| pick.values.iter().flatten().count())
        };
        self.picks().into_iter().map(of_pick).min()
    }

    /// Whether a factor's swing is shown: by the declared comparison of the two levels, with Holm's correction and at this answer's level. Where
    /// the family has none, as p is corrected over the levels of one factor only, by Bonferroni over the factors.
    pub fn shows(&self, swing: &Swing) -> bool {
        let is_it = |claim: &&Claim| match &claim.subject {
            Subject::Level { factor, .. } => {
                *factor == swing.factor && claim.names_one(&swing.high) && claim.names_one(&swing.low)
            }
            Subject::Scenario { .. } | Subject::Control { .. } => false,
        };
        match self.judgement.claims.iter().find(is_it) {
            Some(claim) => claim.verdict.is_some_and(Verdict::is_claim),
            None => swing.contrast.p * (self.judgement.swings.len() as f64) < self.alpha,
        }
    }

    /// Whether there is anything to compare.
    pub fn has_choice(&self) -> bool {
        self.measured().filter(|row| !row.control).nth(1).is_some()
    }
}

/// The scenarios with values on a claim's two sides.
pub fn sides<'a>(claim: &Claim, rows: &'a [Row]) -> [Vec<&'a Row>; 2] {
    let (a, b) = claim.names();
    [a, b].map(|side| {
        let measured = rows.iter().filter(|row| row.centre.is_some() && (!row.control || row.label == side));
        measured.filter(|row| row.name_in(claim) == Some(side)).collect()
    })
}

impl View {
    /// Whether a scenario's commits were acknowledged without flushes.
    pub fn does_not_flush(&self, label: &str) -> bool {
        let mut rows = self.parts.iter().flat_map(|part| &part.rows);
        rows.any(|row| row.label == label && row.does_not_flush())
    }

    /// Why a scenario's trials failed, in a few words.
    pub fn failure_of(&self, label: &str) -> Option<&str> {
        self.failures.get(label).map(String::as_str)
    }
}
