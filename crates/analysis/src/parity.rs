//! Which scenarios may win: by what their settings promise, the flushes that were counted, what power cuts were measured to take, how
//! much of what was asked of them went wrong, and in how many rounds they failed.
//!
//! The one place that says so. The conductor asks it, too.

use crate::errors::Errors;
use crate::flushing::Flushing;
use ledger::model::{Contents, Scenario};
use observe::durability::Class;
use observe::safety::{Grade, Safety};

/// What a scenario is held to, the same for all of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule<'a> {
    /// What it promises, less where the measurement says less.
    Promise,
    /// Its measured class alone, which has to be one of these. Where damage is to be expected and was not recorded, damage has to be
    /// allowed, too.
    Classes(&'a [Grade]),
}

impl Rule<'_> {
    /// The rule for a workload: its measured classes where the study names some, and what a power cut takes was asked of any of its scenarios,
    /// on any machine: that it could not be measured makes no promise a class.
    pub fn of<'a>(contents: &'a Contents, workload: &str) -> Rule<'a> {
        let mut scenarios = contents.scenarios.iter().filter(|scenario| scenario.workload == workload);
        let was_asked = |scenario: &Scenario| contents.safety.iter().any(|one| one.scenario == scenario.label);
        match &contents.study.analysis.safety_classes {
            Some(classes) if scenarios.any(was_asked) => Rule::Classes(classes),
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
    pub fn competes_in(
        &self,
        promised: Class,
        flushing: Option<&Flushing>,
        measured: Option<&Safety>,
    ) -> Option<Class> {
        if let Rule::Classes(classes) = self {
            let is_allowed = |found: &&Safety| {
                classes.contains(&found.held_to()) && (!found.hides_damage(promised) || classes.contains(&Grade::E))
            };
            // All that the study allows are equal, whatever they promise.
            return measured.filter(is_allowed).map(|_| Class::KeepsAcknowledged);
        }
        let promised = flushing.map_or(promised, |flushing| flushing.safety(promised));
        match measured.map(|measured| measured.grade) {
            Some(Grade::E | Grade::F) => None,
            Some(Grade::C | Grade::D) => Some(promised.max(Class::LosesRecent)),
            Some(Grade::A | Grade::B) | None => Some(promised),
        }
    }
}

/// What comes before speed where scenarios are compared: what a power cut may take, then how much went wrong, then how often it failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The class that it competes in.
    pub class: Class,
    /// What went wrong of what was asked of it.
    pub errors: Errors,
    /// Rounds in which it failed.
    pub failed: usize,
}

impl Standing {
    /// Whether it may make another fall out by its speed, which is for good: it is no less safe, no larger share went wrong so far, by
    /// chance or not, and it failed no more often.
    pub fn may_beat(&self, other: &Standing) -> bool {
        self.class <= other.class && self.errors.share() <= other.errors.share() && self.failed <= other.failed
    }
}

/// So many rounds more may have failed by an accident of surefoot's, of the machine's or of a full disk's.
pub const ACCIDENTS: usize = 1;

/// Why a scenario is no choice beside an equally safe one, which is named by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// A larger share of what was asked of it went wrong, which is shown.
    Errors(usize),
    /// It failed in more rounds, and by more than one.
    Failed(usize),
}

/// Which of these are behind another, all of one class and measured under the same conditions; none: it is not, or does not compete.
/// Of equals none is ruled out by its errors in more than `alpha` of studies (Bonferroni over the others).
pub fn behind(competing: &[Option<&Standing>], alpha: f64) -> Vec<Option<Behind>> {
    let all = || competing.iter().enumerate().filter_map(|(place, standing)| Some((place, (*standing)?)));
    let level = alpha / all().count().saturating_sub(1).max(1) as f64;
    let has_more = |one: &Standing, other: &Standing| {
        one.errors.share() > other.errors.share() && stats::shares::is_larger(&one.errors.beside(&other.errors), level)
    };
    // Who had the smallest share is behind nobody, so that not all are out.
    let by_errors = |one: &Standing| {
        let fewer = all().filter(|(_, other)| has_more(one, other));
        let least = fewer.min_by(|a, b| a.1.errors.share().total_cmp(&b.1.errors.share()));
        least.map(|(place, _)| Behind::Errors(place))
    };
    let mut found: Vec<Option<Behind>> = competing.iter().map(|standing| standing.and_then(&by_errors)).collect();
    let left = all().filter(|(place, _)| found[*place].is_none());
    let fewest = left.min_by_key(|(_, standing)| standing.failed);
    if let Some((fewest, least)) = fewest {
        for (place, _) in all().filter(|(_, standing)| standing.failed > least.failed + ACCIDENTS) {
            found[place].get_or_insert(Behind::Failed(fewest));
        }
    }
    found
}

/// Whether a scenario was measured to keep less than its settings promise.
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
    use ledger::model::Phase;
    use stats::Counted;

    const ALL: [Class; 4] = [Class::KeepsAcknowledged, Class::LosesRecent, Class::MayCorrupt, Class::LosesAll];

    fn measured(grade: Grade) -> Safety {
        let plain = serde_json::json!({
            "grade": grade, "disk": "", "tried": 9, "acknowledged": 9, "points": 3, "images": 40, "is_complete": true,
            "recoveries": 4, "worst_lost_commits": 0, "worst_lost_seconds": 0.0, "unmountable": 0,
            "damaged": u64::from(grade >= Grade::E), "silent": 0, "audited": 0, "audited_new": 0, "unsteady": 0, "writes": 9, "flushes": 3,
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
            let credit = (promised < Class::MayCorrupt).then_some(Class::KeepsAcknowledged);
            assert_eq!([Grade::A, Grade::D].map(class), [credit; 2], "{promised:?}");
            assert_eq!([Grade::B, Grade::C, Grade::E, Grade::F].map(class), [None; 4]);
            assert_eq!(rule.competes_in(promised, None, None), None, "what was not measured has no class");
        }
    }

    /// PostgreSQL with `fsync = off` on btrfs is C in a recording of seconds, as is what keeps its promise to lose the last second.
    #[test]
    fn who_was_merely_not_caught_is_allowed_where_damage_is() {
        let (few, damage, equal) = (
            Rule::Classes(&[Grade::A, Grade::C]),
            Rule::Classes(&[Grade::A, Grade::C, Grade::E]),
            Class::KeepsAcknowledged,
        );
        for grade in [Grade::A, Grade::C] {
            assert_eq!(few.competes_in(Class::MayCorrupt, None, Some(&measured(grade))), None);
            assert_eq!(damage.competes_in(Class::MayCorrupt, None, Some(&measured(grade))), Some(equal));
            // Without barriers on a disk that needs none.
            let by_settings = Some(Class::KeepsAcknowledged);
            let on_another = Safety { by_settings, ..measured(grade) };
            assert_eq!(few.competes_in(Class::MayCorrupt, None, Some(&on_another)), Some(equal));
        }
    }

    #[test]
    fn a_loss_that_only_the_recording_ended_is_not_known_to_be_recent() {
        let censored = Safety { is_censored: Some(true), ..measured(Grade::C) };
        let class = |classes: &[Grade]| Rule::Classes(classes).competes_in(Class::LosesRecent, None, Some(&censored));
        assert_eq!(class(&[Grade::A, Grade::B, Grade::C]), None);
        assert_eq!(class(&[Grade::C, Grade::D]), Some(Class::KeepsAcknowledged));
        assert_eq!(Rule::Promise.competes_in(Class::LosesRecent, None, Some(&censored)), Some(Class::LosesRecent));
    }

    #[test]
    fn missing_flushes_count_as_before() {
        let flushing = Flushing { flushes: 0.0, commits: Some(1e4), is_missing: true };
        let class =
            |grade: Grade| Rule::Promise.competes_in(Class::KeepsAcknowledged, Some(&flushing), Some(&measured(grade)));
        assert_eq!([Grade::A, Grade::C].map(class), [Some(Class::LosesRecent); 2]);
    }

    /// Six rounds with 1,000 requests each.
    fn errors(wrong: [f64; 6]) -> Errors {
        let rounds = (0..).zip(wrong).map(|(round, wrong)| ((Phase::Main, round), Counted { asked: 1000.0, wrong }));
        Errors { asked: 6000.0, wrong: wrong.iter().sum(), rounds: rounds.collect(), ..Errors::default() }
    }

    fn standing(class: Class, wrong: [f64; 6], failed: usize) -> Standing {
        Standing { class, errors: errors(wrong), failed }
    }

    #[test]
    fn more_errors_or_failures_make_nobody_fall_out_who_has_fewer() {
        let (safe, unsafe_one) = (Class::KeepsAcknowledged, Class::LosesAll);
        let of = |class, wrong, failed| standing(class, [wrong; 6], failed);
        assert!(of(safe, 0.0, 0).may_beat(&of(safe, 0.0, 0)) && of(safe, 0.0, 0).may_beat(&of(unsafe_one, 1.0, 0)));
        assert!(!of(safe, 1.0, 0).may_beat(&of(safe, 0.0, 0)) && !of(safe, 1.0, 0).may_beat(&of(unsafe_one, 0.0, 0)));
        assert!(!of(safe, 0.0, 1).may_beat(&of(safe, 0.0, 0)) && of(safe, 0.0, 1).may_beat(&of(safe, 0.0, 1)));
    }

    #[test]
    fn an_accident_rules_nobody_out_and_a_shown_difference_does() {
        let safe = Class::KeepsAcknowledged;
        let found = |all: &[Standing]| behind(&all.iter().map(Some).collect::<Vec<_>>(), 0.025);
        let few = [[2.0, 1.0, 3.0, 2.0, 2.0, 2.0], [1.0, 2.0, 2.0, 1.0, 2.0, 1.0], [2.0, 2.0, 1.0, 3.0, 1.0, 2.0]];
        assert_eq!(found(&few.map(|wrong| standing(safe, wrong, 0))), [None; 3], "12, 9 and 11 errors of 6,000");
        let many = standing(safe, [31.0, 29.0, 35.0, 28.0, 33.0, 30.0], 0);
        assert_eq!(
            found(&[standing(safe, [0.0; 6], 0), many.clone(), standing(safe, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0], 0)]),
            [None, Some(Behind::Errors(0)), None]
        );
        // Who is out by its errors does not set how many failures are allowed.
        assert_eq!(
            found(&[many, standing(safe, few[0], 3), standing(safe, few[1], 1), standing(safe, few[2], 2)]),
            [Some(Behind::Errors(2)), Some(Behind::Failed(2)), None, None]
        );
        assert_eq!(behind(&[None, Some(&standing(safe, [0.0; 6], 3))], 0.025), [None, None]);
    }

    #[test]
    fn a_promise_is_broken_by_less_than_it_says() {
        let broken = |promised| Grade::ALL.iter().filter(|grade| is_broken(promised, **grade)).count();
        assert_eq!(ALL.map(broken), [5, 2, 0, 0]);
    }
}
