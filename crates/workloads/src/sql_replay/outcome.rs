//! What a run of a replay came to, as figures, errors and notes.

use load::asked::{Asked, Limit};
use load::sql_replay::{Fault, Pace, Tally};
use load::workload::{Outcome, figures, mean_and};
use observe::metric::Metric;
use sqllog::{Log, Reason};
use std::collections::BTreeMap;

/// The first one is the answer of a replay as fast as can be.
const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "statements_per_second";
    Neither "1": "statements", "sessions", "refused_as_logged", "refused_otherwise",
        "answered_where_the_log_has_an_error", "answers_with_known_rows";
    Less "1": "answers_with_other_rows", "late_statements";
    Less "s": "elapsed_seconds";
    Less "µs": MEAN, "latency_microseconds_p50", "latency_microseconds_p95", "latency_microseconds_p99",
        "latency_microseconds_p99_9", "latency_microseconds_max";
};

/// All, the primary one first: as logged, the rate is the log's own, and the time of a statement is the answer.
pub fn metrics(pace: Pace) -> Vec<Metric> {
    let mut own = METRICS.to_vec();
    if pace != Pace::Closed {
        let mean = own.iter().position(|metric| metric.name == MEAN).unwrap_or_default();
        own[..=mean].rotate_right(1);
    }
    own.into_iter().chain(load::asked::METRICS).chain(Fault::metrics()).collect()
}

const MEAN: &str = "latency_microseconds_mean";

/// Of one run.
pub fn of(log: &Log, tally: Tally, pace: Pace, errors_max: f64) -> Outcome {
    let values = [
        tally.right as f64 / tally.seconds,
        tally.right as f64,
        tally.sessions as f64,
        tally.refused_as_logged as f64,
        tally.refused_otherwise as f64,
        tally.answered_now as f64,
        tally.rows_known as f64,
        tally.rows_differ as f64,
        tally.late as f64,
        tally.seconds,
    ];
    let values = values.into_iter().chain(mean_and(&[0.50, 0.95, 0.99, 0.999, 1.0], &tally.latency));
    let asked = Asked {
        what: "statements".into(),
        total: tally.asked(),
        wrong: tally.wrong(),
        limit: Limit::of(pace != Pace::Closed, errors_max),
    };
    Outcome {
        seconds: tally.seconds,
        metrics: figures(METRICS, values),
        notes: notes(log, &tally),
        latencies: BTreeMap::from([("statement".to_string(), tally.latency)]),
        series: BTreeMap::from([("statements_per_second".to_string(), tally.rates)]),
        ..Outcome::of(asked)
    }
}

/// What a reader must know to believe the figures.
fn notes(log: &Log, tally: &Tally) -> Vec<String> {
    let left_out = log.left_out.iter().filter(|(reason, _)| **reason != Reason::AfterLimit);
    let left_out: Vec<String> = left_out.map(|(reason, count)| format!("{count} {}", reason.words())).collect();
    let (left_out, bad, all) = (left_out.join("; "), log.bad_lines, log.lines);
    let missing = load::sentences! {
        !left_out.is_empty() => "Statements of the log that are not replayed: {left_out}.";
        bad > 0 => "{bad} of {all} lines of the log could not be read: their statements are missing.";
    };
    let differing = load::sentences! {
        tally.rows_differ > 0 =>
            "Some answers have another number of rows than in the log: the data, or the order of sessions, are not \
             quite as they were.";
        tally.answered_now > 0 || tally.refused_otherwise > 0 =>
            "Some statements that the log has as errors were answered, or met other errors.";
    };
    [missing, log.notes.clone(), differing].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_log_says_of_itself_is_a_note_of_the_run() {
        let text = "2026-11-26 10:00:00.000 UTC [7] LOG:  execute s: SELECT $1\n\
                    2026-11-26 10:00:00.000 UTC [7] DETAIL:  parameters: $1 = 'abc...'\n";
        let log = sqllog::read(text, &sqllog::Options::default()).expect("a log");
        assert_eq!((notes(&log, &Tally::default()), log.notes.len()), (log.notes.clone(), 1));
    }
}
