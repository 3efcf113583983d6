//! How long turns are, how many a round has and how many rounds it takes, from the machine's noise: what reaches a precision in the least
//! time, provisioning included (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
//!
//! Pure. What strays between turns of one round is averaged by more turns, which cost little; what a round's provisioning strays by only by more
//! rounds, each of which is provisioned anew.

use crate::turns;
use stats::MachineNoise;
use stats::interval::rounds_for_half_width;
use stats::repetitions::{Wanted, steps};

/// Lengths of turns, in milliseconds. A shorter one is mostly its own begin and end; a longer one gains nothing.
const TURN_MILLISECONDS: [u32; 6] = [500, 750, 1000, 1500, 2000, 3000];
/// What a scenario works in a round at least: less holds no journal commit (ext4's come every 5 s).
const WORK_SECONDS_MIN: f64 = 6.0;
/// And at most: longer rounds are too few to see how they stray.
const WORK_SECONDS_MAX: f64 = 240.0;
/// So much more time is no reason for a longer turn: noise that lasts may be there though half a minute did not show it.
const HARDLY_MORE: f64 = 1.05;
/// Any seed does: orders are balanced whatever it is.
const SEED: u64 = 1;

/// What turns and rounds cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Scenarios that are up at the same time, and take turns with each other.
    pub up: usize,
    /// Scenarios of a round, in all such groups.
    pub scenarios: usize,
    /// What a trial takes beside its turns: provisioning, load and warm-up.
    pub trial_seconds: f64,
    /// From the end of a turn to the next one's begin.
    pub between_seconds: f64,
    /// By how much a scenario's figure strays from round to round by its provisioning, where that is known.
    pub provisioning_spread: f64,
}

/// What a study says itself, so that it is not chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Said {
    /// Length of a turn.
    pub turn_milliseconds: Option<u32>,
    /// Seconds that a scenario works in a round.
    pub work_seconds: Option<f64>,
}

/// What is best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// Length of a turn.
    pub turn_milliseconds: u32,
    /// Turns of a scenario in a round.
    pub turns: u32,
    /// Rounds until the precision is reached.
    pub rounds: u32,
    /// All of it.
    pub seconds: f64,
}

/// The lengths that reach what is wanted in the least time, or in hardly more with a shorter turn. None: no lengths do.
pub fn choose(noise: &MachineNoise, costs: &Costs, wanted: &Wanted, said: &Said) -> Option<Lengths> {
    let turn_lengths = said.turn_milliseconds.map_or(TURN_MILLISECONDS.to_vec(), |said| vec![said]);
    let numbers = |turn: u32| -> Vec<u32> {
        let of = |work_seconds: f64| (work_seconds * 1000.0 / f64::from(turn)).ceil().max(1.0) as u32;
        let estimated = || steps(of(WORK_SECONDS_MIN), of(WORK_SECONDS_MAX));
        said.work_seconds.map_or_else(estimated, |work_seconds| vec![of(work_seconds)])
    };
    let candidates =
        turn_lengths.into_iter().flat_map(|turn| numbers(turn).into_iter().map(move |turns| (turn, turns)));
    let found: Vec<Lengths> =
        candidates.filter_map(|(turn, turns)| lengths(noise, costs, wanted, turn, turns)).collect();
    let least = found.iter().map(|lengths| lengths.seconds).fold(f64::INFINITY, f64::min);
    let hardly_more = found.into_iter().filter(|lengths| lengths.seconds <= least * HARDLY_MORE);
    hardly_more.min_by(|a, b| {
        (a.turn_milliseconds, a.seconds).partial_cmp(&(b.turn_milliseconds, b.seconds)).expect("times are numbers")
    })
}

/// How many rounds of these turns it takes, and how long.
fn lengths(noise: &MachineNoise, costs: &Costs, wanted: &Wanted, turn: u32, turns: u32) -> Option<Lengths> {
    let seconds = f64::from(turn) / 1000.0;
    let spread = round_spread(noise, costs, seconds, turns);
    let needed = rounds_for_half_width(spread, wanted.half_width.ln_1p(), wanted.confidence);
    let rounds = u32::try_from(needed).ok()?.max(wanted.rounds_min);
    let round = costs.trial_seconds + f64::from(turns) * (seconds + costs.between_seconds);
    let all = f64::from(rounds) * costs.scenarios as f64 * round;
    (rounds <= wanted.rounds_max).then_some(Lengths { turn_milliseconds: turn, turns, rounds, seconds: all })
}

/// By how much the difference of two scenarios strays from round to round, with so many turns of this length.
pub fn round_spread(noise: &MachineNoise, costs: &Costs, turn_seconds: f64, turns: u32) -> f64 {
    let order = turns::order(&vec![turns; costs.up], SEED);
    let follow = stats::Turns { seconds: turn_seconds, seconds_between: costs.between_seconds };
    (noise.contrast_variance(&order, &follow) + 2.0 * costs.provisioning_spread.powi(2)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it was measured on a shared virtual machine (docs/statistics.md).
    const NOISE: MachineNoise = MachineNoise { white: 0.09, lasting: 0.165, correlation_seconds: 20.0 };
    const COSTS: Costs =
        Costs { up: 2, scenarios: 2, trial_seconds: 4.0, between_seconds: 0.05, provisioning_spread: 0.0 };
    const WANTED: Wanted = Wanted { half_width: 0.03, confidence: 0.95, rounds_min: 6, rounds_max: 1000 };

    fn chosen(costs: &Costs, wanted: &Wanted, said: Said) -> Lengths {
        choose(&NOISE, costs, wanted, &said).expect("it can be reached")
    }

    /// Every length and number by itself: nothing is faster.
    #[test]
    fn nothing_that_was_left_out_is_much_faster() {
        let best = chosen(&COSTS, &WANTED, Said::default());
        let all = (5..=30).flat_map(|tenth| (2..200).map(move |turns| (tenth * 100, turns)));
        let fits = |(turn, turns): &(u32, u32)| {
            (WORK_SECONDS_MIN..=WORK_SECONDS_MAX).contains(&(f64::from(turn * turns) / 1000.0))
        };
        let found = all.filter(fits).filter_map(|(turn, turns)| lengths(&NOISE, &COSTS, &WANTED, turn, turns));
        let least = found.map(|lengths| lengths.seconds).fold(f64::INFINITY, f64::min);
        assert!(best.seconds <= least * 1.1, "{best:?}, {least}");
    }

    #[test]
    fn a_finer_precision_takes_longer() {
        let seconds = |half_width| chosen(&COSTS, &Wanted { half_width, ..WANTED }, Said::default()).seconds;
        assert!(seconds(0.05) < seconds(0.03) && seconds(0.03) < seconds(0.02) && seconds(0.02) < seconds(0.01));
    }

    #[test]
    fn dear_provisioning_makes_rounds_longer_and_a_spread_of_it_makes_them_more() {
        let cheap = chosen(&COSTS, &WANTED, Said::default());
        let dear = chosen(&Costs { trial_seconds: 200.0, ..COSTS }, &WANTED, Said::default());
        assert!(dear.turns * dear.turn_milliseconds >= cheap.turns * cheap.turn_milliseconds, "{cheap:?} {dear:?}");
        assert!(dear.rounds <= cheap.rounds, "{cheap:?} {dear:?}");
        let strays = chosen(&Costs { provisioning_spread: 0.05, ..COSTS }, &WANTED, Said::default());
        assert!(strays.rounds > 2 * cheap.rounds, "{cheap:?} {strays:?}");
    }

    #[test]
    fn slow_switches_make_turns_longer() {
        let fast = chosen(&Costs { between_seconds: 0.0, ..COSTS }, &WANTED, Said::default());
        let slow = chosen(&Costs { between_seconds: 3.0, ..COSTS }, &WANTED, Said::default());
        assert!(fast.turn_milliseconds == 500 && slow.turn_milliseconds > 1000, "{fast:?} {slow:?}");
    }

    #[test]
    fn what_the_study_says_stays() {
        let said = Said { turn_milliseconds: Some(700), work_seconds: Some(20.0) };
        let found = chosen(&COSTS, &WANTED, said);
        assert_eq!((found.turn_milliseconds, found.turns), (700, 29));
        assert!(found.rounds >= WANTED.rounds_min);
        let hopeless = Wanted { half_width: 0.001, rounds_max: 7, ..WANTED };
        assert_eq!(choose(&NOISE, &COSTS, &hopeless, &said), None);
    }

    #[test]
    fn a_still_machine_needs_the_least_rounds_and_turns() {
        let still = MachineNoise { white: 1e-4, lasting: 0.0, correlation_seconds: 1.0 };
        let found = choose(&still, &COSTS, &WANTED, &Said::default()).expect("it can be reached");
        assert_eq!(found.rounds, 6);
        assert!(
            (f64::from(found.turns * found.turn_milliseconds) / 1000.0 - WORK_SECONDS_MIN).abs() < 0.5,
            "{found:?}"
        );
    }

    /// Two dozen scenarios are farther from each other in time, so that more noise is left between them.
    #[test]
    fn more_scenarios_stray_more() {
        let spread = |up| round_spread(&NOISE, &Costs { up, ..COSTS }, 1.0, 24);
        assert!(spread(2) < spread(4) && spread(4) < spread(24) && spread(24) < 2.0 * spread(2));
    }
}
