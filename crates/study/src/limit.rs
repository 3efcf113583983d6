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
    Setting {
        name: "title",
        kind: Kind::Text,
        default: Some(""),
        help: "What it is about; without it, the metric's name.",
    },
    Setting { name: "workload", kind: Kind::Text, default: Some(""), help: "Whose scenarios it is about." },
    Setting { name: "metric", kind: Kind::Text, default: Some(""), help: "Which metric of them." },
    Setting {
        name: "at_most",
        kind: VALUE,
        default: None,
        help: "The metric must not be above this, in its own unit.",
    },
    Setting {
        name: "at_least",
        kind: VALUE,
        default: None,
        help: "The metric must not be below this, in its own unit.",
    },
    Setting { name: "source", kind: Kind::Text, default: Some(""), help: "Who says so, and where." },
];
