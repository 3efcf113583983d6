//! How long trials took together.

use ledger::model::{Contents, Phase};
use std::collections::BTreeMap;

/// Seconds in which any of these was under way, from its start to its end. Those that take turns are so at the same time, which counts once.
pub fn seconds_up(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut seconds, mut until) = (0.0, f64::NEG_INFINITY);
    for (started, ended) in spans {
        seconds += (ended - started.max(until)).max(0.0);
        until = until.max(ended);
    }
    seconds
}

/// What a main round of all scenarios takes, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundSeconds {
    /// From the first trial's begin to the last one's end.
    pub all: f64,
    /// Of this, from the begin of a trial's first measured run to the end of its last; none where no trial has such runs.
    pub measured: Option<f64>,
}

/// A main round, from the lengths of the trials that ended. None: no trial has.
pub fn of_a_round(contents: &Contents) -> Option<RoundSeconds> {
    let of_main = contents.counted_trials().into_iter().filter(|trial| trial.phase == Phase::Main);
    let mut spans: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    let mut trials: BTreeMap<u32, usize> = BTreeMap::new();
    for (trial, ended) in of_main.filter_map(|trial| Some((trial, trial.ended?))) {
        spans.insert(trial.id, (trial.started, ended));
        *trials.entry(trial.round).or_default() += 1;
    }
    // Groups share scenarios, which have a trial in each.
    let most = trials.into_values().max()?;
    let of_round = contents.studied().count().max(most) as f64;
    let mut measured: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for run in contents.runs.iter().filter(|run| !run.warm_up && spans.contains_key(&run.trial)) {
        let (started, ended) = (run.started, run.started + run.seconds);
        let of_trial = measured.entry(run.trial).or_insert((started, ended));
        *of_trial = (of_trial.0.min(started), of_trial.1.max(ended));
    }
    let each = |spans: BTreeMap<i64, (f64, f64)>| {
        let count = spans.len() as f64;
        seconds_up(spans.into_values().collect()) / count * of_round
    };
    Some(RoundSeconds { measured: (!measured.is_empty()).then(|| each(measured)), all: each(spans) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight trials that took turns for six minutes had been 48 minutes "of trials".
    #[test]
    fn trials_that_take_turns_take_their_time_once() {
        assert_eq!(seconds_up(vec![(10.0, 20.0), (0.0, 5.0), (0.1, 5.0), (12.0, 14.0), (19.0, 25.0)]), 20.0);
        assert_eq!(seconds_up(Vec::new()).to_bits(), 0.0_f64.to_bits());
        // A clock that was put back.
        assert_eq!(seconds_up(vec![(9.0, 3.0)]), 0.0);
    }
}
