//! A few of the studies of `benches/tune.rs`, by seed.

use crate::tuned::{Run, drawn, recorded, repeat};

const ALL_ROUNDS: Run = Run { rounds_max: 16, may_stop: false, whole: false };

/// 24 scenarios, 3 % noise: the published case. Each of 200 studies is decided by its seed alone.
#[test]
fn the_true_best_is_kept_and_the_rest_need_not_be_measured() {
    for (spread, least) in [(0.03, 0.3), (0.10, 0.6)] {
        let found = repeat(200, ALL_ROUNDS, &|random| drawn(24, spread, 0.03, random));
        assert!(found.best_kept >= 0.99 && found.saved >= least, "{spread}: {found:?}");
        assert!(
            found.bound_held >= 0.95 && found.behind < 0.01 && found.trials < found.trials_full,
            "{spread}: {found:?}"
        );
    }
}

/// Nobody is the best of equals: who is picked was lucky, and new rounds show it.
#[test]
fn equals_are_kept_and_new_rounds_do_not_flatter() {
    let found = repeat(100, ALL_ROUNDS, &|random| drawn(24, 0.0, 0.03, random));
    assert!(found.best_kept >= 0.95 && found.saved < 0.05, "{found:?}");
    assert!(found.flattered > 0.01 && found.flattered_confirmed.abs() < 0.005, "{found:?}");
}

#[test]
fn of_recorded_studies_too() {
    for (name, truth) in recorded() {
        let found = repeat(20, ALL_ROUNDS, &|_| truth.clone());
        assert!(found.best_kept >= 0.95, "{name}: {found:?}");
    }
}
