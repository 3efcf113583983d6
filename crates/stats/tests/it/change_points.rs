//! Change points against another program's, and how constructed runs and studies are classed.

use crate::noise::Noise;
use crate::vectors::numbers;
use serde_json::Value;
use stats::change_points::change_points;
use stats::drift::{Step, drift, steps};
use stats::{Course, course};

const TOLERANCE: f64 = 0.03;

/// Of `ruptures`, on the same figures (`make vectors`).
#[test]
fn change_points_are_those_of_ruptures() {
    let made: Value = serde_json::from_str(include_str!("../vectors/change_points.json")).expect("JSON");
    let all = made["series"].as_array().expect("a list");
    assert_eq!(all.len(), 6);
    for series in all {
        let found: Vec<f64> = change_points(&numbers(&series["values"])).iter().map(|at| *at as f64).collect();
        assert_eq!(found, numbers(&series["changes"]), "seed {}", series["seed"]);
    }
}

/// Seconds of a run: a level by second, and autocorrelated noise (an AR(1) process) with this spread.
fn run(seed: u64, seconds: usize, spread: f64, hanging: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = Noise(seed);
    let mut noise = random.normal();
    let fresh = (1.0 - hanging * hanging).sqrt();
    let value = |second| {
        noise = hanging * noise + fresh * random.normal();
        1000.0 * level(second) * (1.0 + spread * noise)
    };
    (0..seconds).map(value).collect()
}

fn unsteady_share(seconds: usize, spread: f64, hanging: f64) -> f64 {
    let is_unsteady = |seed: &u64| !course(&run(*seed, seconds, spread, hanging, |_| 1.0), TOLERANCE).is_steady();
    (1..=1000).filter(is_unsteady).count() as f64 / 1000.0
}

#[test]
fn noise_of_a_steady_run_is_taken_for_a_change_in_less_than_five_percent() {
    for (seconds, spread, hanging) in
        [(20, 0.05, 0.0), (30, 0.10, 0.5), (60, 0.05, 0.7), (120, 0.10, 0.8), (300, 0.05, 0.8), (900, 0.10, 0.8)]
    {
        let share = unsteady_share(seconds, spread, hanging);
        assert!(share < 0.05, "{seconds} s, spread {spread}, hanging {hanging}: {share}");
    }
}

/// How many of 200 seeds are classed so.
fn share(make: impl Fn(u64) -> Vec<f64>, wanted: impl Fn(Course) -> bool) -> f64 {
    (1..=200).filter(|seed| wanted(course(&make(*seed), TOLERANCE))).count() as f64 / 200.0
}

#[test]
fn a_cold_start_is_a_warm_up() {
    let make = |seed| run(seed, 60, 0.03, 0.3, |second| if second < 15 { 0.7 } else { 1.0 });
    let wanted = |course| matches!(course, Course::WarmUp { seconds } if (12.0..=18.0).contains(&seconds));
    let found = share(make, wanted);
    assert!(found > 0.95, "{found}");
    // By an exponential, as caches fill: no edge, and its length is a matter of taste.
    let found = share(
        |seed| run(seed, 120, 0.02, 0.3, |second| 1.0 - 0.5 * (-(second as f64) / 10.0).exp()),
        |course| matches!(course, Course::WarmUp { seconds } if (10.0..=60.0).contains(&seconds)),
    );
    assert!(found > 0.95, "{found}");
}

#[test]
fn throttling_is_a_slowdown() {
    for from in [20, 60, 100] {
        let found = share(
            |seed| run(seed, 120, 0.03, 0.3, |second| if second < from { 1.0 } else { 0.8 }),
            |course| matches!(course, Course::Slowdown { from: found, by } if (found - from as f64).abs() <= 5.0 && (0.15..0.25).contains(&by)),
        );
        assert!(found > 0.95, "from {from}: {found}");
    }
}

/// PostgreSQL after a checkpoint: each page is written whole once, then less and less, until the next one.
#[test]
fn checkpoints_are_a_cycle() {
    for (seconds, period) in [(120, 20), (300, 60), (900, 180)] {
        let saw_tooth = |second: usize| 0.5 + 0.5 * (second % period) as f64 / period as f64;
        let found = share(
            |seed| run(seed, seconds, 0.03, 0.3, saw_tooth),
            |course| matches!(course, Course::Cyclic { period: found } if (found - period as f64).abs() <= period as f64 * 0.15),
        );
        assert!(found > 0.95, "{seconds} s, period {period}: {found}");
    }
}

#[test]
fn what_never_settles_has_no_steady_state() {
    let levels = [1.0, 0.7, 1.2, 0.9, 1.4];
    let make = |seed| run(seed, 200, 0.03, 0.3, |second| levels[second / 40]);
    let found = share(make, |course| course == Course::Unsteady);
    assert!(found > 0.95, "{found}");
    let stalled = |seed| run(seed, 120, 0.03, 0.3, |second| if (30..45).contains(&second) { 0.3 } else { 1.0 });
    let found = share(stalled, |course| course == Course::Unsteady);
    assert!(found > 0.95, "{found}");
}

#[test]
fn a_few_seconds_say_nothing() {
    assert_eq!(
        course(&run(1, 19, 0.03, 0.0, |second| if second < 9 { 0.1 } else { 1.0 }), TOLERANCE),
        Course::TooShort
    );
}

fn rounds(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = Noise(seed);
    (0..count).map(|round| level(round).ln() + 0.01 * random.normal()).collect()
}

#[test]
fn a_step_between_rounds_is_found() {
    let make = |seed| steps(&rounds(seed, 12, |round| if round < 6 { 1.0 } else { 0.96 }));
    let is_found = |found: &[Step]| matches!(found, [Step { round: 5..=7, change }] if (-0.06..-0.02).contains(change));
    let found = (1..=200).filter(|seed| is_found(&make(*seed))).count();
    assert!(found > 150, "{found}");
    let throttled = steps(&rounds(7, 12, |round| if (4..8).contains(&round) { 0.8 } else { 1.0 }));
    assert_eq!(throttled.iter().map(|step| step.round).collect::<Vec<_>>(), [4, 8]);
    // Each of two million places went through all rounds.
    let long = steps(&rounds(3, 2000, |round| if round < 1200 { 1.0 } else { 0.9 }));
    assert!(long.iter().any(|step| step.round == 1200), "{long:?}");
}

#[test]
fn equal_rounds_have_no_step_and_a_slope_is_drift() {
    for count in [6, 8, 12, 20, 40] {
        let false_alarms = (1..=1000).filter(|seed| !steps(&rounds(*seed, count, |_| 1.0)).is_empty()).count();
        assert!(false_alarms < 20, "{count} rounds: {false_alarms} of 1000");
    }
    let slopes = (1..=200).filter(|seed| !steps(&rounds(*seed, 20, |round| 1.0 - 0.01 * round as f64)).is_empty());
    assert!(slopes.count() < 20);
    assert!(steps(&[]).is_empty() && steps(&[0.0; 5]).is_empty() && steps(&[0.0; 9]).is_empty());
}

/// Six rounds that stray by 1 % have a line of 2 % or more in every eleventh study.
#[test]
fn rounds_that_stray_do_not_drift_and_a_slope_does() {
    for count in [6, 12] {
        let is_shown = |seed: &u64| drift(&rounds(*seed, count, |_| 1.0)).is_some_and(|drift| drift.is_shown());
        let false_alarms = (1..=1000).filter(is_shown).count();
        assert!(false_alarms < 80, "{count} rounds: {false_alarms} of 1000");
        let slopes = (1..=200).filter_map(|seed| drift(&rounds(seed, count, |round| 0.98_f64.powi(round as i32))));
        assert!(slopes.filter(|drift| drift.is_shown() && drift.change < 0.0).count() > 180, "{count} rounds");
    }
    assert_eq!(drift(&[0.0; 6]).map(|drift| (drift.change, drift.p)), Some((0.0, 1.0)));
    assert!(drift(&[0.0, 0.1, 0.2]).is_some_and(|drift| drift.is_shown()) && drift(&[0.0, 0.1]).is_none());
}
