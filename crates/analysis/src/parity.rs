//! Which scenarios may win: by what their settings promise, the flushes that were counted, what power cuts were measured to take, and
//! how much of what was asked of them went wrong.
//!
//! The one place that says so. The conductor asks it, too.

use crate::flushing::Flushing;
use ledger::model::{Contents, Scenario};
use observe::durability::Class;
use observe::safety::{Grade, Safety};

/// What a scenario is held to, the same for all of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule<'a> {
    /// What it promises, less where the measurement says less.
    Promise,
    /// Its measured class alone, which has to be one of these.
    Classes(&'a [Grade]),
}

impl Rule<'_> {
    /// The rule for a workload: its measured classes where the study names some, and any was measured.
    #[must_use]
    pub fn of<'a>(contents: &'a Contents, workload: &str) -> Rule<'a> {
        let mut scenarios = contents.scenarios.iter().filter(|scenario| scenario.workload == workload);
        let is_measured = |scenario: &Scenario| contents.safety_of(scenario).is_some_and(|of| of.safety.is_some());
        match &contents.study.analysis.safety_classes {
            Some(classes) if scenarios.any(is_measured) => Rule::Classes(classes),
            _ => Rule::Promise,
        }
    }

    /// The class that a scenario competes in: of those that have one, the best are picked from; who has none is never picked.
    ///
    /// ```
    /// use analysis::parity::Rule;
    /// use observe::durability::Class;
    /// assert_eq!(Rule::Promise.competes_in(Class::LosesRecent, None, None), Some(Class::LosesRecent));
    /// ```
    #[must_use]
    pub fn competes_in(
        &self,
        promised: Class,
        flushing: Option<&Flushing>,
        measured: Option<&Safety>,
    ) -> Option<Class> {
        let promised = flushing.map_or(promised, |flushing| flushing.safety(promised));
        match (self, measured.map(|measured| measured.grade)) {
            // All that the study allows are equal, whatever they promise.
            (Rule::Classes(classes), measured) => {
                measured.filter(|grade| classes.contains(grade)).map(|_| Class::KeepsAcknowledged)
            }
            (Rule::Promise, Some(Grade::E | Grade::F)) => None,
            (Rule::Promise, Some(Grade::C | Grade::D)) => Some(promised.max(Class::LosesRecent)),
            (Rule::Promise, Some(Grade::A | Grade::B) | None) => Some(promised),
        }
    }
}

/// What comes before speed where scenarios are compared: what a power cut may take, then how much went wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The class that it competes in.
    pub class: Class,
    /// The share of what was asked of it that went wrong.
    pub errors: f64,
}

impl Standing {
    /// Whether it may beat another by its speed: it is no less safe, and no larger share went wrong.
    #[must_use]
    pub fn may_beat(&self, other: &Standing) -> bool {
        self.class <= other.class && self.errors <= other.errors
    }
}

/// The smallest share of errors among those of this class: whoever had more of them is not picked.
#[must_use]
pub fn fewest_errors(standings: impl Iterator<Item = Standing>, class: Class) -> Option<f64> {
    standings.filter(|standing| standing.class == class).map(|standing| standing.errors).min_by(f64::total_cmp)
}

/// Whether a scenario was measured to keep less than its settings promise.
#[must_use]
pub fn is_broken(promised: Class, measured: Grade) -> bool {
    match promised {
        Class::KeepsAcknowledged => measured > Grade::A,
        Class::LosesRecent => measured >= Grade::E,
        Class::MayCorrupt | Class::LosesAll => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Class; 4] = [Class::KeepsAcknowledged, Class::LosesRecent, Class::MayCorrupt, Class::LosesAll];

    fn measured(grade: Grade) -> Safety {
        let plain = serde_json::json!({
            "grade": grade, "disk": "", "tried": 9, "acknowledged": 9, "points": 3, "images": 40, "is_complete": true,
            "recoveries": 4, "worst_lost_commits": 0, "worst_lost_seconds": 0.0, "unmountable": 0,
            "damaged": 0, "silent": 0, "audited": 0, "audited_new": 0, "unsteady": 0, "writes": 9, "flushes": 3,
            "findings": [], "notes": [], "seconds": 1.0,
        });
        serde_json::from_value(plain).expect("a whole Safety")
    }

    #[test]
    fn damage_is_never_picked_and_loss_is_no_safer_than_it_was_measured() {
        for promised in ALL {
            let class = |grade: Grade| Rule::Promise.competes_in(promised, None, Some(&measured(grade)));
            assert_eq!([Grade::A, Grade::B].map(class), [Some(promised); 2], "a measurement is no promise");
            assert_eq!([Grade::C, Grade::D].map(class), [Some(promised.max(Class::LosesRecent)); 2]);
            assert_eq!([Grade::E, Grade::F].map(class), [None; 2]);
            assert_eq!(Rule::Promise.competes_in(promised, None, None), Some(promised));
        }
    }

    #[test]
    fn a_study_that_names_classes_asks_for_nothing_else() {
        let rule = Rule::Classes(&[Grade::A, Grade::D]);
        for promised in ALL {
            let class = |grade: Grade| rule.competes_in(promised, None, Some(&measured(grade)));
            assert_eq!([Grade::A, Grade::D].map(class), [Some(Class::KeepsAcknowledged); 2]);
            assert_eq!([Grade::B, Grade::C, Grade::E, Grade::F].map(class), [None; 4]);
            assert_eq!(rule.competes_in(promised, None, None), None, "what was not measured has no class");
        }
    }

    #[test]
    fn missing_flushes_count_as_before() {
        let flushing = Flushing { flushes: 0.0, commits: Some(1e4), is_missing: true };
        let class =
            |grade: Grade| Rule::Promise.competes_in(Class::KeepsAcknowledged, Some(&flushing), Some(&measured(grade)));
        assert_eq!([Grade::A, Grade::C].map(class), [Some(Class::LosesRecent); 2]);
    }

    #[test]
    fn more_errors_never_beat_fewer_however_safe_or_fast() {
        let of = |class, errors| Standing { class, errors };
        let (safe, unsafe_one) = (Class::KeepsAcknowledged, Class::LosesAll);
        assert!(of(safe, 0.0).may_beat(&of(safe, 0.0)) && of(safe, 0.0).may_beat(&of(unsafe_one, 0.1)));
        assert!(!of(safe, 1e-9).may_beat(&of(safe, 0.0)) && !of(safe, 0.1).may_beat(&of(unsafe_one, 0.0)));
        let all = [of(safe, 0.2), of(safe, 0.1), of(unsafe_one, 0.0)];
        assert_eq!(fewest_errors(all.into_iter(), safe), Some(0.1), "safety comes first");
    }

    #[test]
    fn a_promise_is_broken_by_less_than_it_says() {
        let broken = |promised| Grade::ALL.iter().filter(|grade| is_broken(promised, **grade)).count();
        assert_eq!(ALL.map(broken), [5, 2, 0, 0]);
    }
}
