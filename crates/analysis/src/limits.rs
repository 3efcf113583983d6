//! Whether figures keep the limits that a study holds them against: a maker's rule, or what a service has promised.

use crate::judge::ROUNDS_FOR_CLAIMS;
use crate::row::{Centre, centre, simultaneous};
use ledger::model::{Contents, LimitRecord, Phase};
use observe::metric::{Direction, Metric};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// One limit held against one scenario.
#[derive(Debug, Clone)]
pub struct Held {
    /// The limit.
    pub limit: LimitRecord,
    /// The scenario's label.
    pub label: String,
    /// What is limited.
    pub metric: Metric,
    /// Where the scenario's figures lie, one a round, with an interval that holds for all limits of the study together; none: not measured.
    pub centre: Option<Centre>,
    /// Rounds whose figure was beyond the limit.
    pub broken: usize,
    /// Rounds that were measured and have no figure of this: in some run of them nothing was done.
    pub without: usize,
    /// What is shown.
    pub verdict: Verdict,
}

/// What is shown of a limit. The worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The interval lies beyond the limit.
    Broken,
    /// Nothing was measured: a rule that nobody looked at is not kept.
    Unmeasured,
    /// The interval keeps it, and single rounds did not.
    NotAlways,
    /// The interval holds the limit, a round has no figure, or there are too few rounds to claim anything.
    Open,
    /// The interval and every round keep it.
    Kept,
}

impl Held {
    /// How many times its mean is inside the limit; below 1: beyond it.
    pub fn room(&self) -> Option<f64> {
        self.centre.map(|centre| self.room_of(centre.mean))
    }

    /// The same of the end of its interval that is nearer to the limit.
    pub fn room_at_least(&self) -> Option<f64> {
        self.centre.map(|centre| self.room_of(if self.limit.is_least { centre.low } else { centre.high }))
    }

    /// The figure of its worst round.
    pub fn worst(&self) -> Option<f64> {
        self.centre.map(|centre| if self.limit.is_least { centre.min } else { centre.max })
    }

    fn room_of(&self, value: f64) -> f64 {
        if self.limit.is_least { value / self.limit.value } else { self.limit.value / value }
    }
}

/// Every limit of a study with every scenario of its workload, in the order of the file; `alpha` is the level of this answer.
pub fn limits(contents: &Contents, alpha: f64) -> Vec<Held> {
    let of_workload = |limit: &LimitRecord| -> Vec<usize> {
        let all = contents.scenarios.iter().enumerate();
        let same = all.filter(|(_, scenario)| scenario.workload == limit.workload && !scenario.control);
        same.map(|(column, _)| column).collect()
    };
    let all = &contents.study.limits;
    let confidence = simultaneous(1.0 - alpha, all.iter().map(|limit| of_workload(limit).len()).sum());
    let of_limit = |limit: &LimitRecord| {
        let measured = measured(contents, limit);
        let figures = |column: usize| -> (Vec<f64>, usize) {
            let found = measured.get(&*contents.scenarios[column].label);
            found
                .map_or_else(Default::default, |found| (found.figures.values().copied().collect(), found.without.len()))
        };
        let columns = of_workload(limit).into_iter();
        columns.map(|column| held(contents, limit, column, (figures(column), confidence))).collect::<Vec<_>>()
    };
    all.iter().flat_map(of_limit).collect()
}

/// A scenario's figures of a limited metric, by round.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// As they were measured; of a round's groups the worst.
    pub figures: BTreeMap<u32, f64>,
    /// Rounds in which it was measured and has no figure of this in a trial: in some run nothing was done.
    pub without: BTreeSet<u32>,
}

/// By scenario. Of the figures that claims rest on what a group of scenarios suffered is taken off; a limit is not on that.
pub(crate) fn measured<'a>(contents: &'a Contents, limit: &LimitRecord) -> BTreeMap<&'a str, Measured> {
    let of_workload = contents.scenarios.iter().find(|scenario| scenario.workload == limit.workload);
    let primary = of_workload.map_or("", |scenario| &*scenario.primary_metric);
    let mut all: BTreeMap<&str, Measured> = BTreeMap::new();
    let mut known: HashSet<i64> = HashSet::new();
    for (trial, value) in contents.trial_values(Phase::Main, &limit.metric) {
        known.insert(trial.id);
        let worst = all.entry(&trial.scenario).or_default().figures.entry(trial.round).or_insert(value);
        *worst = if limit.is_least { value.min(*worst) } else { value.max(*worst) };
    }
    let measured = contents.trial_values(Phase::Main, primary).into_iter();
    for (trial, _) in measured.filter(|(trial, _)| !known.contains(&trial.id)) {
        all.entry(&trial.scenario).or_default().without.insert(trial.round);
    }
    for Measured { figures, without } in all.values_mut() {
        figures.retain(|round, _| !without.contains(round));
    }
    all
}

fn held(
    contents: &Contents,
    limit: &LimitRecord,
    column: usize,
    ((values, without), confidence): ((Vec<f64>, usize), f64),
) -> Held {
    let is_beyond = |value: f64| if limit.is_least { value < limit.value } else { value > limit.value };
    let broken = values.iter().filter(|value| is_beyond(**value)).count();
    let centre = centre(values, confidence);
    Held {
        label: contents.scenarios[column].label.clone(),
        metric: contents.metric(&limit.metric, Direction::Neither),
        verdict: verdict(centre, limit, (broken, without)),
        limit: limit.clone(),
        centre,
        broken,
        without,
    }
}

fn verdict(centre: Option<Centre>, limit: &LimitRecord, (broken, without): (usize, usize)) -> Verdict {
    let Some(centre) = centre else { return Verdict::Unmeasured };
    // A time or a rate of 0 was not measured, and has no interval.
    if centre.count < ROUNDS_FOR_CLAIMS || centre.min <= 0.0 {
        return Verdict::Open;
    }
    let (nearest, farthest) = if limit.is_least { (-centre.low, -centre.high) } else { (centre.high, centre.low) };
    let bound = if limit.is_least { -limit.value } else { limit.value };
    match () {
        () if farthest > bound => Verdict::Broken,
        () if nearest > bound => Verdict::Open,
        () if broken > 0 => Verdict::NotAlways,
        // What was not measured in a round was not kept in it.
        () if without > 0 => Verdict::Open,
        () => Verdict::Kept,
    }
}
