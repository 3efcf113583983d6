//! Limits that a study holds its figures against: a maker's rule, or what a service has promised. The answer is then a yes or a no.

use settings::{Kind, Setting};

/// One limit of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// What it is about, in a few words.
    pub title: String,
    /// Whose scenarios.
    pub workload: String,
    /// Which metric of theirs.
    pub metric: String,
    /// What it may be.
    pub bound: Bound,
    /// Who says so, and where.
    pub source: String,
}

/// The side on which a figure must lie, in the metric's own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// It must not be above this.
    AtMost(f64),
    /// It must not be below this.
    AtLeast(f64),
}

/// Positive, as margins are ratios.
const VALUE: Kind = Kind::Number { min: 1e-9, max: f64::MAX };

/// Keys of a limit.
pub const LIMIT: &[Setting] = &[
    Setting::new("title", Kind::Text, "").help("What it is about; without it, the metric's name."),
    Setting::new("workload", Kind::Text, "").help("Whose scenarios it is about."),
    Setting::new("metric", Kind::Text, "").help("Which metric of them."),
    Setting::absent("at_most", VALUE).help("The metric must not be above this, in its own unit."),
    Setting::absent("at_least", VALUE).help("The metric must not be below this, in its own unit."),
    Setting::new("source", Kind::Text, "").help("Who says so, and where."),
];
