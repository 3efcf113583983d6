//! What a run of a replay came to, as figures, errors and notes.

use load::asked::{Asked, Limit};
use load::sql_replay::{Fault, Pace, Tally};
use load::workload::Outcome;
use observe::metric::{Direction, Metric};
use sqllog::{Log, Reason};
use std::collections::BTreeMap;

/// The first one is the answer of a replay as fast as can be.
const METRICS: &[Metric] = &[
    Metric::new("statements_per_second", "1/s", Direction::More),
    Metric::new("statements", "1", Direction::Neither),
    Metric::new("sessions", "1", Direction::Neither),
    Metric::new("refused_as_logged", "1", Direction::Neither),
    Metric::new("refused_otherwise", "1", Direction::Neither),
    Metric::new("answered_where_the_log_has_an_error", "1", Direction::Neither),
    Metric::new("answers_with_known_rows", "1", Direction::Neither),
    Metric::new("answers_with_other_rows", "1", Direction::Less),
    Metric::new("late_statements", "1", Direction::Less),
    Metric::new("elapsed_seconds", "s", Direction::Less),
    Metric::new(MEAN, "µs", Direction::Less),
    Metric::new("latency_microseconds_p50", "µs", Direction::Less),
    Metric::new("latency_microseconds_p95", "µs", Direction::Less),
    Metric::new("latency_microseconds_p99", "µs", Direction::Less),
    Metric::new("latency_microseconds_p99_9", "µs", Direction::Less),
    Metric::new("latency_microseconds_max", "µs", Direction::Less),
];

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
    let latency = &tally.latency;
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
        latency.microseconds_mean(),
        latency.microseconds_at(0.50),
        latency.microseconds_at(0.95),
        latency.microseconds_at(0.99),
        latency.microseconds_at(0.999),
        latency.microseconds_at(1.0),
    ];
    let asked = Asked {
        what: "statements".into(),
        total: tally.asked(),
        wrong: Fault::wrong(&tally.faults, &tally.first),
        limit: Limit::of(pace != Pace::Closed, errors_max),
    };
    Outcome {
        seconds: tally.seconds,
        metrics: METRICS.iter().zip(values).map(|(metric, value)| metric.at(value)).collect(),
        notes: notes(log, &tally),
        latencies: BTreeMap::from([("statement".to_string(), tally.latency)]),
        series: BTreeMap::from([("statements_per_second".to_string(), tally.rates)]),
        ..Outcome::of(asked)
    }
}

/// What a reader must know to believe the figures.
fn notes(log: &Log, tally: &Tally) -> Vec<String> {
    let left_out: Vec<String> = log
        .left_out
        .iter()
        .filter(|(reason, _)| **reason != Reason::AfterLimit)
        .map(|(reason, count)| format!("{count} {}", reason.words()))
        .collect();
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        notes.push(format!("Statements of the log that are not replayed: {}.", left_out.join("; ")));
    }
    if log.bad_lines > 0 {
        notes.push(format!(
            "{} of {} lines of the log could not be read: their statements are missing.",
            log.bad_lines, log.lines
        ));
    }
    notes.extend(log.notes.iter().cloned());
    if tally.rows_differ > 0 {
        notes.push("Some answers have another number of rows than in the log: the data, or the order of sessions, are not quite as they were.".into());
    }
    if tally.answered_now > 0 || tally.refused_otherwise > 0 {
        notes.push("Some statements that the log has as errors were answered, or met other errors.".into());
    }
    notes
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
