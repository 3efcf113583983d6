//! One scenario's numbers: where its values lie, what the machine says of it, and how safe it is.

use crate::ceilings::Ceiling;
use crate::claim::Claim;
use crate::errors::Errors;
use crate::flushing::Flushing;
use crate::health::Health;
use crate::parity::is_broken;
use ledger::figure::{self, Zero};
use ledger::model::Worse;
use observe::durability::Class;
use observe::faults::FaultsFound;
use observe::safety::{Grade, Safety};
use stats::slow::SlowMode;
use std::collections::BTreeMap;

/// One scenario of a part.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its place in the plan, which decides its colour and shape.
    pub index: usize,
    /// Label.
    pub label: String,
    /// Factor → level label.
    pub levels: BTreeMap<String, String>,
    /// Whether it is the baseline.
    pub baseline: bool,
    /// Whether it is the A/A control.
    pub control: bool,
    /// What a power cut may take by the settings.
    pub durability: Class,
    /// Whether that is no promise, as what its program flushes is not known.
    pub is_durability_unknown: bool,
    /// What a power cut was measured to take; none: that was not measured.
    pub power_cut: Option<Safety>,
    /// What a failing disk was measured to do to it; none: that was not measured.
    pub faults: Option<FaultsFound>,
    /// The class that it competes in for the pick, by promise and measurement; none: it is never picked.
    pub competes_in: Option<Class>,
    /// The flushes its commits had; none: it does not commit, or nobody counts them.
    pub flushing: Option<Flushing>,
    /// What went wrong of what was asked of it; none: its load's first error ends a run.
    pub errors: Option<Errors>,
    /// Label of the scenario that is picked before it, being as safe and shown to have fewer errors; none: there is none.
    pub has_more_errors_than: Option<String>,
    /// Label of the scenario that is picked before it, being as safe and having failed in fewer rounds; none: there is none.
    pub fails_more_than: Option<String>,
    /// What it used of what its device and CPUs can give; none: its runs have no telemetry.
    pub ceiling: Option<Ceiling>,
    /// A value a round; none: not done, or failed; 0 where a run stalled.
    pub values: Vec<Option<f64>>,
    /// Its runs in which the load stalled; none where it did in none.
    pub stalls: Option<Stalls>,
    /// How many of its runs were far slower than the others; none without runs.
    pub slow: Option<SlowMode>,
    /// Geometric mean and its interval; none without values.
    pub centre: Option<Centre>,
    /// Trials that failed.
    pub failed: usize,
    /// Rounds in which it failed, new ones among them, with those that it had no more trial in for that.
    pub failed_rounds: usize,
    /// Of these, new rounds in which all failed that were measured in them: they say nothing of it beside one that was not.
    pub failed_together: usize,
    /// That it was shown to be worse than another, and how far.
    pub worse: Option<Worse>,
    /// Whether it is a choice again though it was measured no further: who made it fall out is no choice itself, by what was known later.
    pub is_back: bool,
    /// What new rounds measured; none where there were none.
    pub confirmed: Option<Centre>,
    /// How its runs went.
    pub health: Health,
}

/// Runs whose figure was 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// How many.
    pub runs: usize,
    /// Of so many.
    pub of: usize,
    /// Whether more is better, so that 0 is a standstill; a time of 0 is a measurement that went wrong.
    pub more_is_better: bool,
}

/// Where a scenario's values lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centre {
    /// Geometric mean: 0 where the load stalled in a trial.
    pub mean: f64,
    /// Lower end of its interval; the mean itself with a single value, and where the load stalled, which leaves no interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// How many values.
    pub count: usize,
}

impl Centre {
    /// Larger is better; who stalled comes last, where less is better, too.
    pub fn merit(&self, more_is_better: bool) -> f64 {
        match (self.mean > 0.0, more_is_better) {
            (false, _) => f64::NEG_INFINITY,
            (true, true) => self.mean,
            (true, false) => -self.mean,
        }
    }
}

impl Row {
    /// What it is called on a side of a claim: its level of the factor, or its label.
    pub fn name_in(&self, claim: &Claim) -> Option<&str> {
        match claim.subject.factor() {
            Some(factor) => self.levels.get(factor).map(String::as_str),
            None => Some(&self.label),
        }
    }

    /// The number of rounds after which it was measured no further.
    pub fn dropped_after(&self) -> Option<u32> {
        self.worse.as_ref().filter(|worse| !worse.stays).map(|worse| worse.round + 1)
    }

    /// Whether it is no choice for its speed: it was measured no further, being worse than one that may be picked.
    pub fn fell_out(&self) -> bool {
        self.dropped_after().is_some() && !self.is_back
    }

    /// Whether its commits were acknowledged without flushes.
    pub fn does_not_flush(&self) -> bool {
        self.flushing.as_ref().is_some_and(|flushing| flushing.is_missing)
    }

    /// Whether its settings promise what its device did not get.
    pub fn breaks_promise(&self) -> bool {
        self.durability == Class::KeepsAcknowledged && self.does_not_flush()
    }

    /// Whether its figure is a lower bound: the load generator was full.
    pub fn is_lower_bound(&self) -> bool {
        self.ceiling.as_ref().is_some_and(Ceiling::is_lower_bound)
    }

    /// Whether it is among those to pick from: in this class, which is the safest, neither with more errors nor with more failures than
    /// others of it, and without a stall.
    pub fn is_choice_in(&self, safest: Class) -> bool {
        self.competes_in == Some(safest) && !self.is_behind() && self.stalls.is_none()
    }

    /// Whether another that is as safe had fewer errors, or failed less often.
    pub fn is_behind(&self) -> bool {
        self.has_more_errors_than.is_some() || self.fails_more_than.is_some()
    }

    /// Rounds in which it failed, as they are held against those of others.
    pub fn failed_by_itself(&self) -> usize {
        self.failed_rounds.saturating_sub(self.failed_together)
    }

    /// The share of what was asked of it that went wrong.
    pub fn error_share(&self) -> f64 {
        self.errors.as_ref().map_or(0.0, Errors::share)
    }

    /// Main rounds in which both have a value.
    pub fn rounds_beside(&self, other: &Row) -> usize {
        self.values.iter().zip(&other.values).filter(|(own, others)| own.is_some() && others.is_some()).count()
    }

    /// Whether it is no choice beside this one, however fast.
    pub fn is_out_beside(&self, pick: &Row) -> bool {
        self.competes_in.is_none() || self.competes_in > pick.competes_in || self.is_behind()
    }

    /// Whether its picture carries a sign of warning: it may lose more than the last moments, or was seen to.
    pub fn is_unsafe(&self) -> bool {
        let was_seen = self.power_cut.as_ref().is_some_and(|found| found.held_to() >= Grade::D);
        self.safety() >= Class::MayCorrupt || self.does_not_flush() || was_seen
    }

    /// What a power cut may take: by the settings, or worse where the flushes are missing.
    pub fn safety(&self) -> Class {
        self.flushing.as_ref().map_or(self.durability, |flushing| flushing.safety(self.durability))
    }

    /// Whether it was measured to keep less than its settings promise.
    pub fn was_broken(&self) -> bool {
        self.power_cut.as_ref().is_some_and(|found| is_broken(self.promised(found), found.grade))
    }

    /// Whether nothing was damaged where nobody promises that: what was recorded says nothing for its settings.
    pub fn hides_damage(&self) -> bool {
        self.power_cut.as_ref().is_some_and(|found| found.hides_damage(self.durability))
    }

    /// What the settings promise a load that asks for no more than the measured one did, on the disk that it was measured on.
    pub fn promised(&self, found: &Safety) -> Class {
        found.promised(self.durability)
    }
}

/// The confidence of each of so many intervals that hold together with this one (Bonferroni): so does that of the one that is picked.
pub fn simultaneous(confidence: f64, count: usize) -> f64 {
    1.0 - (1.0 - confidence) / count.max(1) as f64
}

/// Where values lie; none without values.
pub fn centre(mut values: Vec<f64>, confidence: f64) -> Option<Centre> {
    values.sort_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
    let mean = figure::mean(&values, Zero::Stall);
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let interval = stats::contrast(&logarithms, confidence);
    let (low, high) = interval.map_or((mean, mean), |interval| (interval.low.exp(), interval.high.exp()));
    Some(Centre { mean, low, high, median, min, max, count: values.len() })
}
