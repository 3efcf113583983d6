//! A comparison, what stats says of it, and the figures of the machine on its two sides.

use crate::telemetry::Figure;
use stats::Verdict;
use stats::slow::SlowMode;

/// One comparison and what is said of it.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Of what with what.
    pub subject: Subject,
    /// First over second, in the metric.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p, corrected within its family.
    pub p: f64,
    /// The verdict on the first; none from too few rounds.
    pub verdict: Option<Verdict>,
    /// Differences below this fraction could not be seen with 80 % power.
    pub visible: f64,
    /// Differences beyond ± this fraction are ruled out (the interval of the equivalence test).
    pub ruled_out: f64,
    /// Rounds it rests on.
    pub rounds: usize,
    /// Whether the exact sign-flip test bears it out.
    pub signs_agree: bool,
    /// How often either side is far slower than its like, where one is more often than the other: the verdict is not by means alone then.
    pub shapes: Option<[SlowMode; 2]>,
    /// What was shown of the tails of its sides and does not go with its verdict.
    pub tail: Option<Tailed>,
    /// Outside the declared family: p is corrected for the false discovery rate only.
    pub exploratory: bool,
    /// The machine's figures on both sides, what changed first; of a real difference only.
    pub with: Vec<Change>,
}

/// A difference of tails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tailed {
    /// Of what.
    pub what: What,
    /// The first side's figure over the second's.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether the first side is the worse.
    pub is_worse: bool,
}

/// What of a distribution is compared, besides its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The time that 99 % of all operations take at most.
    LatencyP99,
    /// The slowest second of a trial.
    WorstSecond,
    /// The rate until all that a run wrote is on the device, of a load whose own rate ends before.
    SyncedRate,
    /// The speed that a hundredth of all turns (or seconds) are below.
    Hundredth,
    /// The speed that a tenth of them are below.
    Tenth,
    /// Their median speed.
    Median,
}

/// What is compared with what.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A scenario with another.
    Scenario {
        /// Which.
        label: String,
        /// With which.
        against: String,
    },
    /// A level of a factor with another, averaged over all else.
    Level {
        /// The factor's dotted path.
        factor: String,
        /// Which level.
        level: String,
        /// With which.
        against: String,
        /// The other factors over which it is averaged, by their short names.
        over: Vec<String>,
        /// Other factors that have one level only where both were measured, and that level.
        within: Vec<(String, String)>,
    },
    /// The A/A control with its twin.
    Control {
        /// The control.
        label: String,
        /// Its twin.
        against: String,
    },
}

impl Subject {
    /// The two sides.
    pub fn names(&self) -> (&str, &str) {
        match self {
            Subject::Scenario { label, against } | Subject::Control { label, against } => (label, against),
            Subject::Level { level, against, .. } => (level, against),
        }
    }

    /// The factor whose levels are the sides; none where they are scenarios.
    pub fn factor(&self) -> Option<&String> {
        if let Subject::Level { factor, .. } = self { Some(factor) } else { None }
    }
}

impl Claim {
    /// Whether it holds a scenario against this one.
    pub fn is_against(&self, label: &str) -> bool {
        matches!(&self.subject, Subject::Scenario { against, .. } if against == label)
    }

    /// Whether it shows a difference that matters.
    pub fn is_shown(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Faster | Verdict::Slower))
    }

    /// The other way round, as far as a tail needs it.
    pub fn ends(&self, is_swapped: bool) -> (f64, f64, f64) {
        if is_swapped { (1.0 / self.ratio, 1.0 / self.high, 1.0 / self.low) } else { (self.ratio, self.low, self.high) }
    }

    /// The two sides.
    pub fn names(&self) -> (&str, &str) {
        self.subject.names()
    }

    /// Whether a side bears this name.
    pub fn names_one(&self, name: &str) -> bool {
        self.names().0 == name || self.names().1 == name
    }
}

/// A figure on both sides of a claim.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which.
    pub figure: &'static Figure,
    /// What it is told for a piece of; none: of a run as a whole.
    pub per: Option<String>,
    /// Its mean on the first side: geometric, arithmetic where a value is 0.
    pub first: f64,
    /// Its mean on the second.
    pub second: f64,
    /// First over second; none where a value is 0 and there is no ratio.
    pub ratio: Option<Ratio>,
}

/// What stats says of a figure.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// First over second.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p, corrected over the figures of this claim.
    pub p: f64,
    /// Whether it changed with the claim's metric.
    pub went: Went,
}

/// Whether a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Went {
    /// It did, and by more than the margin.
    With,
    /// It is the same within the margin.
    Alike,
    /// Can't tell.
    Unclear,
}
