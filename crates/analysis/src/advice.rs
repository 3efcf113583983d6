//! What to do about one workload, in values: who may be chosen, how far each is from the first, and what more rounds would settle.
//!
//! `report` makes the short answer of these. What is picked among equals is `Part::pick`; here is whether it may be called a pick.

use crate::claim::{Claim, Subject};
use crate::confirmation::Confirmation;
use crate::elapsed;
use crate::judge::ROUNDS_FOR_CLAIMS;
use crate::row::Row;
use crate::view::Part;
use ledger::model::{Contents, Mode, Phase, Trial, TrialState};
use stats::Verdict;
use stats::interval::{rounds_for_half_width, t_quantile};
use std::collections::BTreeSet;

/// From a bound of this fraction on nothing is decided: the best may be a quarter better than what is chosen.
pub const BOUND_MAX: f64 = 0.25;

/// What the data say about whom to choose.
#[derive(Debug, Clone, PartialEq)]
pub enum Advice {
    /// Nothing has a value.
    Unmeasured,
    /// There are values, and nobody may be picked.
    NoneAllowed,
    /// There is one scenario.
    Alone,
    /// The factors are conditions of the load: there is nothing to choose.
    Given,
    /// Fewer rounds than a claim needs.
    Direction {
        /// How many.
        rounds: usize,
    },
    /// One that competes with what is picked has fewer than two rounds in common with it.
    HardlyMet {
        /// Its label.
        rival: String,
        /// What is picked, of those it competes with.
        pick: String,
        /// How many rounds both have.
        rounds: usize,
    },
    /// New rounds, which chose nothing, show another to be better than what was picked before them.
    SpokenAgainst {
        /// What was picked.
        pick: String,
        /// Who is better.
        better: String,
    },
    /// The best may be far better than the first: at most by this fraction.
    Open {
        /// How far.
        bound: f64,
    },
    /// Others can't be ruled out as the best.
    Among {
        /// Their labels, the best first.
        rivals: Vec<String>,
        /// So far at most is the first behind the best.
        bound: f64,
    },
    /// Shown to be the best.
    Best,
}

/// A scenario against the first one: in the rounds that both have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Against {
    /// Its figure over the first one's.
    pub ratio: f64,
    /// Lower end of the interval of this pair alone.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Half-widths that are worth more rounds where the wanted precision takes too long: as fractions.
const HALF_WIDTHS: [f64; 3] = [0.05, 0.1, 0.2];
/// More seconds than this are too long.
const SECONDS_MAX: f64 = 3600.0;

/// What more rounds would tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoreRounds {
    /// In all.
    pub rounds: usize,
    /// Intervals that are narrowed to ± this fraction; none: a first verdict.
    pub half_width: Option<f64>,
    /// Seconds that those still to be measured take, at the pace so far; none where no trial has ended.
    pub seconds: Option<f64>,
}

impl Part {
    /// What to do.
    pub fn advice(&self) -> Advice {
        if self.measured().next().is_none() {
            return Advice::Unmeasured;
        }
        if self.choice.as_ref().is_some_and(|choice| choice.is_empty) {
            return Advice::Given;
        }
        let Some(pick) = self.pick() else { return Advice::NoneAllowed };
        if !self.has_choice() {
            return Advice::Alone;
        }
        let rounds = self.rounds_compared();
        if rounds < ROUNDS_FOR_CLAIMS {
            return Advice::Direction { rounds };
        }
        if let Some(hardly_met) = self.hardly_met() {
            return hardly_met;
        }
        if let Some(spoken_against) = self.spoken_against() {
            return spoken_against;
        }
        let rivals = self.rivals(pick);
        // Without a bound it stands alone: all others were shown to be worse, or are no choice.
        let bound = self.bound(pick).unwrap_or(0.0);
        match (rivals.is_empty(), bound > BOUND_MAX) {
            // Each was shown to be worse than another, over other rounds: nothing is shown.
            (true, _) if self.goes_in_circles() => Advice::Open { bound },
            (true, _) => Advice::Best,
            (false, true) => Advice::Open { bound },
            (false, false) => Advice::Among { rivals, bound },
        }
    }

    /// That something which could be picked was hardly measured beside what is: nothing is known of how far apart they are.
    fn hardly_met(&self) -> Option<Advice> {
        let safest = self.safest()?;
        let is_choice = |row: &&Row| row.is_choice_in(safest) && !row.fell_out();
        let of_pick = |pick: &Row| {
            let others = self.beside(pick).filter(|row| row.label != pick.label).filter(is_choice);
            let (rounds, rival) = others.map(|row| (row.rounds_beside(pick), row)).min_by_key(|(rounds, _)| *rounds)?;
            (rounds < 2).then(|| Advice::HardlyMet { rival: rival.label.clone(), pick: pick.label.clone(), rounds })
        };
        self.picks().into_iter().find_map(of_pick)
    }

    /// That new rounds show another to be better: bounds of the rounds that chose the pick flatter it.
    fn spoken_against(&self) -> Option<Advice> {
        let picks = self.picks();
        let is_picked = |one: &&Confirmation| picks.iter().any(|pick| pick.label == one.pick);
        self.confirmations.iter().filter(is_picked).find_map(|one| {
            let better = one.speaks_against(self.could_replace(one))?;
            Some(Advice::SpokenAgainst { pick: one.pick.clone(), better: better.into() })
        })
    }

    /// Whether a scenario could be picked in place of this pick: the baseline is measured anew, too, where it can't. Nor can who stalled.
    pub fn could_replace<'a>(&'a self, confirmation: &'a Confirmation) -> impl Fn(&str) -> bool + 'a {
        let pick = self.row(&confirmation.pick);
        let could = |row: &Row, pick: &Row| !row.is_out_beside(pick) && row.stalls.is_none();
        move |label: &str| self.row(label).zip(pick).is_none_or(|(row, pick)| could(row, pick))
    }

    /// Whether nobody is left that may be the best, although several were compared.
    fn goes_in_circles(&self) -> bool {
        match &self.choice {
            Some(choice) => choice.picks.iter().any(|pick| pick.best_set.is_empty()),
            None => self.judgement.pick.is_some() && self.judgement.best_set.is_empty(),
        }
    }

    /// Those that could be as good as what is picked, under its condition where there are conditions; the best first.
    fn rivals(&self, pick: &Row) -> Vec<String> {
        let is_rival = |label: &String| match &self.choice {
            Some(choice) => choice.picks.iter().any(|pick| pick.label != *label && pick.best_set.contains(label)),
            None => pick.label != *label && self.judgement.best_set.contains(label),
        };
        self.measured().filter(|row| !row.control && is_rival(&row.label)).map(|row| row.label.clone()).collect()
    }

    /// How far what is picked is behind the best, at most; the widest of all conditions.
    fn bound(&self, pick: &Row) -> Option<f64> {
        match &self.choice {
            Some(choice) => choice.picks.iter().filter_map(|pick| pick.regret).reduce(f64::max),
            None => self.judgement.regrets.get(&pick.label).copied(),
        }
    }

    /// A scenario against another; none where they share no round, or one of them stalled.
    pub fn against(&self, row: &Row, first: &Row) -> Option<Against> {
        let differences = differences(row, first);
        if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
            return None;
        }
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        let (low, high) = stats::contrast(&differences, self.confidence)
            .map_or((mean, mean), |contrast| (contrast.low, contrast.high));
        Some(Against { ratio: mean.exp(), low: low.exp(), high: high.exp() })
    }

    /// Who ranks before a pick, is no choice, and is better in the rounds that both have, with its figure over the pick's: of a machine that drifts
    /// the rounds of one alone say nothing.
    pub fn better_but_out<'a>(&'a self, pick: &'a Row) -> impl Iterator<Item = (&'a Row, f64)> {
        let before = self.beside(pick).take_while(move |row| row.label != pick.label);
        before.filter(move |row| row.is_out_beside(pick)).filter_map(move |row| {
            let ratio = self.against(row, pick)?.ratio;
            let is_better = if self.more_is_better { ratio > 1.0 } else { ratio < 1.0 };
            is_better.then_some((row, ratio))
        })
    }

    /// Whether a scenario is shown to be behind another by less than the margin, if at all: by a test at this answer's level, which so many
    /// such tests share.
    pub fn is_near(&self, row: &Row, first: &Row, (margin, among): (f64, usize)) -> bool {
        let level = self.alpha / among.max(1) as f64;
        stats::contrast(&differences(row, first), self.confidence).is_some_and(|contrast| {
            let (low, high) = contrast.interval(1.0 - 2.0 * level);
            let behind_at_most = if self.more_is_better { -low } else { high };
            behind_at_most < margin.ln_1p()
        })
    }

    /// Whether the comparison of these two by themselves has a verdict; where the family has averages over others only, there is none.
    pub fn is_decided(&self, one: &Row, other: &Row) -> bool {
        let all = self.judgement.claims.iter().chain(&self.judgement.versus);
        let of_pair = all.filter(|claim| is_of_pair(claim, one, other)).find_map(|claim| claim.verdict);
        of_pair.is_some_and(|verdict| verdict != Verdict::Inconclusive)
    }

    /// A true difference of this size, a fraction, would have been found in 8 of 10 such studies: of what is still open, the largest. Claims on
    /// averages over other factors see smaller ones than a choice of scenarios does, and those of mode "tune" are about the baseline: then of what
    /// is picked and its rivals.
    pub fn visible(&self) -> Option<f64> {
        let is_average = |claim: &Claim| matches!(&claim.subject, Subject::Level { over, .. } if !over.is_empty());
        if self.mode == Mode::Tune || self.judgement.claims.iter().any(is_average) {
            return self.visible_of_choice();
        }
        // What was given up too early for a verdict is not open: more rounds tell nothing of it.
        let is_open = |claim: &&Claim| claim.verdict.is_some_and(|verdict| !verdict.is_claim());
        let open = self.judgement.claims.iter().filter(is_open);
        open.map(|claim| claim.visible).filter(|visible| visible.is_finite()).reduce(f64::max)
    }

    /// As [`Part::visible`], of what is picked and each of its rivals: pairs at the level of the bounds.
    fn visible_of_choice(&self) -> Option<f64> {
        let (picks, safest) = (self.picks(), self.safest()?);
        let is_choice = |row: &&Row| !row.control && row.is_choice_in(safest) && !row.fell_out();
        let pairs = self.measured().filter(is_choice).count().saturating_sub(picks.len()).max(1);
        let of_pick = |pick: &Row| {
            let rivals = self.rivals(pick);
            let visible = |rival: &Row| {
                let contrast = stats::contrast(&differences(rival, pick), self.confidence)?;
                // Bounds are one-sided, and this level is of both sides.
                Some(contrast.minimum_detectable_effect((2.0 * self.alpha / pairs as f64).min(1.0)))
            };
            let others = self.beside(pick).filter(|row| row.label != pick.label && rivals.contains(&row.label));
            others.filter_map(visible).filter(|visible| visible.is_finite()).reduce(f64::max)
        };
        picks.into_iter().filter_map(of_pick).reduce(f64::max)
    }

    /// What more rounds would tell: the wanted precision, or the narrowest intervals that take no more than an hour. None where it is
    /// reached, or no number of rounds is known, or new rounds closed the choice: then no main round is measured any more.
    pub fn more_rounds(&self, contents: &Contents) -> Option<MoreRounds> {
        if self.is_closed {
            return None;
        }
        let (done, settings) = (self.rounds_compared(), &contents.study.analysis);
        let each = elapsed::of_a_round(contents).map(|round| round.all);
        let lost = self.rounds_lost(contents, done);
        let more = |rounds: usize, half_width: Option<f64>| {
            let more = rounds.checked_sub(done).filter(|more| *more > 0)?;
            let seconds = each.map(|seconds| seconds * more as f64);
            Some(MoreRounds { rounds: rounds + lost, half_width, seconds })
        };
        if done < ROUNDS_FOR_CLAIMS {
            // Before any claim nothing is known of the spread.
            return more((settings.rounds_min as usize).max(ROUNDS_FOR_CLAIMS), None);
        }
        let now = self.judgement.half_width_max.filter(|half_width| *half_width > settings.precision)?;
        let needed = self.judgement.rounds_needed?;
        // The spread that takes so many rounds. Of few rounds intervals are wider than by the root of their number alone.
        let (wanted, confidence) = (settings.precision.ln_1p(), settings.confidence);
        let spread = wanted * (needed as f64).sqrt() / t_quantile(0.5 + confidence / 2.0, needed - 1);
        let rounds =
            |half_width: f64| more(rounds_for_half_width(spread, half_width.ln_1p(), confidence), Some(half_width));
        let is_of_use = |half_width: &f64| *half_width > settings.precision && *half_width < now;
        let coarser = HALF_WIDTHS.into_iter().filter(is_of_use).filter_map(rounds);
        let mut all: Vec<MoreRounds> = more(needed, Some(settings.precision)).into_iter().chain(coarser).collect();
        let soon = all.iter().position(|more| more.seconds.is_none_or(|seconds| seconds <= SECONDS_MAX));
        match soon {
            Some(first) => Some(all.swap_remove(first)),
            None => all.pop(),
        }
    }

    /// Rounds that were measured, and that comparisons lack as a trial in them failed: a number of rounds has them in it.
    fn rounds_lost(&self, contents: &Contents, compared: usize) -> usize {
        let has_failed = |trial: &&Trial| trial.phase == Phase::Main && trial.state == TrialState::Failed;
        let trials = contents.counted_trials().into_iter().filter(has_failed);
        let own = trials.filter(|trial| self.row(&trial.scenario).is_some());
        let rounds: BTreeSet<u32> = own.map(|trial| trial.round).collect();
        let measured = self.rows.iter().map(|row| row.values.len()).max().unwrap_or(0);
        rounds.len().min(measured.saturating_sub(compared))
    }
}

/// Differences of logarithms, in the rounds that both have.
fn differences(row: &Row, first: &Row) -> Vec<f64> {
    let pairs = row.values.iter().zip(&first.values).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    pairs.map(|(a, b)| a.ln() - b.ln()).collect()
}

/// Whether a claim is of these two scenarios, and no average over others.
fn is_of_pair(claim: &Claim, one: &Row, other: &Row) -> bool {
    match &claim.subject {
        Subject::Scenario { .. } => claim.names_one(&one.label) && claim.names_one(&other.label),
        Subject::Level { factor, over, .. } => {
            let [of_one, of_other] = [one, other].map(|row| row.levels.get(factor));
            let is_named = |level: Option<&String>| level.is_some_and(|level| claim.names_one(level));
            let is_alike = |(path, level): (&String, &String)| path == factor || other.levels.get(path) == Some(level);
            let all_alike = one.levels.len() == other.levels.len() && one.levels.iter().all(is_alike);
            over.is_empty() && of_one != of_other && is_named(of_one) && is_named(of_other) && all_alike
        }
        Subject::Control { .. } => false,
    }
}
