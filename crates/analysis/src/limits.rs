//! Whether figures keep the limits that a study holds them against: a maker's rule, or what a service has promised.

use crate::judge::ROUNDS_FOR_CLAIMS;
use crate::row::{Centre, centre, simultaneous};
use ledger::model::{Contents, LimitRecord};
use observe::metric::{Direction, Metric};

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
    #[must_use]
    pub fn room(&self) -> Option<f64> {
        self.centre.map(|centre| self.room_of(centre.mean))
    }

    /// The same of the end of its interval that is nearer to the limit.
    #[must_use]
    pub fn room_at_least(&self) -> Option<f64> {
        self.centre.map(|centre| self.room_of(if self.limit.is_least { centre.low } else { centre.high }))
    }

    /// The figure of its worst round.
    #[must_use]
    pub fn worst(&self) -> Option<f64> {
        self.centre.map(|centre| if self.limit.is_least { centre.min } else { centre.max })
    }

    fn room_of(&self, value: f64) -> f64 {
        if self.limit.is_least { value / self.limit.value } else { self.limit.value / value }
    }
}

/// Every limit of a study with every scenario of its workload, in the order of the file; `alpha` is the level of this answer.
#[must_use]
pub fn limits(contents: &Contents, alpha: f64) -> Vec<Held> {
    let of_workload = |limit: &LimitRecord| -> Vec<usize> {
        let all = contents.scenarios.iter().enumerate();
        let same = all.filter(|(_, scenario)| scenario.workload == limit.workload && !scenario.control);
        same.map(|(column, _)| column).collect()
    };
    let all = &contents.study.limits;
    let confidence = simultaneous(1.0 - alpha, all.iter().map(|limit| of_workload(limit).len()).sum());
    let of_limit = |limit: &LimitRecord| {
        let rounds = contents.values(&limit.metric);
        let columns = of_workload(limit);
        let primary = columns.first().map_or("", |column| &*contents.scenarios[*column].primary_metric);
        let measured = contents.values(primary);
        let figures = |column: usize| {
            let values: Vec<f64> = rounds.iter().filter_map(|round| round[column]).collect();
            let is_without = |(round, row): &(usize, &Vec<Option<f64>>)| {
                row[column].is_some() && rounds.get(*round).is_none_or(|figures| figures[column].is_none())
            };
            (values, measured.iter().enumerate().filter(is_without).count())
        };
        let columns = columns.into_iter();
        columns.map(|column| held(contents, limit, column, (figures(column), confidence))).collect::<Vec<_>>()
    };
    all.iter().flat_map(of_limit).collect()
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
