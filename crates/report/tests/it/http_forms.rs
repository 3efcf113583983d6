//! `report --format httperf` and `http_load`: their shapes, and what must hold between their lines.

use crate::fixture::{Row, Table, contents};
use expect_test::expect;
use ledger::model::{Contents, RunDetail};
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use report::{HttpForm, http};
use serde_json::json;
use std::time::Duration;

fn made(workload: &'static str) -> Contents {
    let metric = Metric::new("requests_per_second", "1/s", Direction::More);
    let mut contents = contents(&Table { workload, metric, rows: vec![Row::new("ext4", &[400.0, 100.0, 200.0])] });
    contents.scenarios[0].settings = json!({ "workload": { "connections": 25, "rate": 0.0 } });
    for run in &mut contents.runs {
        run.seconds = 12.5;
        let answers = run.metrics["requests_per_second"] * run.seconds;
        let figures = [
            ("requests", answers + 10.0),
            ("errors", 14.0),
            ("connections_made", answers + 1.0),
            ("received_bytes_per_second", 190.0 * answers / run.seconds),
            ("body_bytes_per_second", 100.0 * answers / run.seconds),
            ("client_cpu_microseconds_per_request", 100.0),
            ("errors_connect_refused", 3.0),
            ("errors_connect_timed_out", 1.0),
            ("errors_connection_reset", 2.0),
            ("errors_closed_early", 1.0),
            ("errors_read_timed_out", 2.0),
            ("errors_wrong_status", 4.0),
            ("errors_wrong_size", 1.0),
            ("errors_no_descriptors", 0.0),
            ("errors_no_ports", 0.0),
            ("errors_other", 0.0),
        ];
        run.metrics.extend(figures.map(|(name, value)| (name.into(), value)));
    }
    contents
}

fn latency(microseconds: &[u64]) -> Latency {
    let mut latency = Latency::default();
    microseconds.iter().for_each(|each| latency.record(Duration::from_micros(*each)));
    latency
}

fn detail() -> RunDetail {
    let latencies =
        [("connect", [100, 200, 300]), ("first byte", [1000, 2000, 6000]), ("first to last byte", [1, 2, 3])];
    let mut rates = vec![190.0; 5];
    rates.extend([210.0; 5]);
    // Two seconds more are no sample.
    rates.extend([1.0; 2]);
    RunDetail {
        latencies: latencies.map(|(name, values)| (name.into(), latency(&values))).into(),
        series: [("requests_per_second".into(), rates)].into(),
    }
}

/// With what newer files have besides.
fn with_lives_and_classes() -> (Contents, RunDetail) {
    let (mut contents, mut detail) = (made("http-replay"), detail());
    for run in &mut contents.runs {
        let classes = [
            ("status_1xx", 0.0),
            ("status_2xx", 2496.0),
            ("status_3xx", 0.0),
            ("status_4xx", 0.0),
            ("status_5xx", 4.0),
        ];
        run.metrics.extend(classes.map(|(name, value)| (name.into(), value)));
    }
    detail.latencies.insert("connection".into(), latency(&[1000, 1000, 2000, 3000, 3000]));
    (contents, detail)
}

fn report(contents: &Contents, detail: &RunDetail, form: HttpForm) -> String {
    http(contents, |_| Ok(detail.clone()), form).expect("there are runs")
}

#[test]
fn httperf() {
    let (contents, detail) = with_lives_and_classes();
    expect![[r#"
        # ext4, round 3, run 0
        # 5 wrong replies, which are no errors to httperf: they are in the counts, not in rates and times

        Total: connections 2505 requests 2506 replies 2500 test-duration 12.500 s

        Connection rate: 200.4 conn/s (5.0 ms/conn, <=25 concurrent connections)
        Connection time [ms]: min 1.0 avg 2.0 max 3.0 median 2.0 stddev 0.9
        Connection time [ms]: connect 0.2
        Connection length [replies/conn]: 500.000

        Request rate: 200.5 req/s (5.0 ms/req)
        Request size [B]: -

        Reply rate [replies/s]: min 190.0 avg 200.0 max 210.0 stddev 14.1 (2 samples)
        Reply time [ms]: response 3.0 transfer 0.0
        Reply size [B]: header - content 100.0 footer - (total 190.0)
        Reply status: 1xx=0 2xx=2496 3xx=0 4xx=0 5xx=4

        CPU time [s]: user - system - (user -% system -% total 2.0%)
        Net I/O: - KB/s (-*10^6 bps)

        Errors: total 9 client-timo 3 socket-timo 0 connrefused 3 connreset 2
        Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 1

    "#]]
    .assert_eq(&report(&contents, &detail, HttpForm::Httperf));
}

#[test]
fn httperf_without_what_is_not_recorded() {
    expect![[r#"
        # ext4, round 3, run 0
        # 5 wrong replies, which are no errors to httperf: they are in the counts, not in rates and times

        Total: connections 2505 requests 2506 replies 2500 test-duration 12.500 s

        Connection rate: 200.4 conn/s (5.0 ms/conn, <=25 concurrent connections)
        Connection time [ms]: min - avg - max - median - stddev -
        Connection time [ms]: connect -
        Connection length [replies/conn]: -

        Request rate: 200.5 req/s (5.0 ms/req)
        Request size [B]: -

        Reply rate [replies/s]: min - avg - max - stddev - (- samples)
        Reply time [ms]: response - transfer -
        Reply size [B]: header - content 100.0 footer - (total 190.0)
        Reply status: 1xx=- 2xx=- 3xx=- 4xx=- 5xx=-

        CPU time [s]: user - system - (user -% system -% total 2.0%)
        Net I/O: - KB/s (-*10^6 bps)

        Errors: total 9 client-timo 3 socket-timo 0 connrefused 3 connreset 2
        Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 1

    "#]]
    .assert_eq(&report(&made("http-load"), &RunDetail::default(), HttpForm::Httperf));
}

#[test]
fn http_load() {
    let (contents, detail) = with_lives_and_classes();
    expect![[r#"
        # ext4, round 3, run 0
        2500 fetches, 25 max parallel, 250000 bytes, in 12.5 seconds
        100 mean bytes/connection
        200 fetches/sec, 20000 bytes/sec
        msecs/connect: 0.19997 mean, 0.30003 max, 0.09997 min
        msecs/first-response: 2.99972 mean, 6.00064 max, 0.99994 min
        3 timeouts
        1 bad byte counts
        HTTP response codes:
          code 2xx -- 2496
          code 5xx -- 4

    "#]]
    .assert_eq(&report(&contents, &detail, HttpForm::HttpLoad));
}

/// Turns of 10 s with a flush of 2.5 s: bodies of 100 bytes were told to have 125.
#[test]
fn the_flush_that_ends_a_turn_brings_no_bytes() {
    let (plain, detail) = with_lives_and_classes();
    let mut charged = plain.clone();
    for run in &mut charged.runs {
        let answers = run.metrics["requests_per_second"] * run.seconds;
        let figures = [
            ("before_flush", answers / 10.0),
            ("turn_flush_seconds", 2.5),
            ("received_bytes_per_second", 190.0 * answers / 10.0),
            ("body_bytes_per_second", 100.0 * answers / 10.0),
        ];
        run.metrics.extend(figures.map(|(name, value)| (name.into(), value)));
    }
    for form in [HttpForm::HttpLoad, HttpForm::Httperf] {
        assert_eq!(report(&charged, &detail, form), report(&plain, &detail, form));
    }
}

#[test]
fn http_load_of_an_open_loop_without_answers() {
    let mut contents = made("http-load");
    contents.scenarios[0].settings = json!({ "workload": { "connections": 25, "rate": 100.0 } });
    for run in &mut contents.runs {
        run.metrics = [("requests_per_second", 0.0), ("requests", 1250.0)].map(|(n, v)| (n.into(), v)).into();
    }
    expect![[r#"
        # ext4, round 2, run 0
        0 fetches, - max parallel, - bytes, in 12.5 seconds
        - mean bytes/connection
        0 fetches/sec, - bytes/sec
        HTTP response codes:

    "#]]
    .assert_eq(&report(&contents, &RunDetail::default(), HttpForm::HttpLoad));
}

#[test]
fn httperfs_errors_add_up() {
    let (contents, detail) = with_lives_and_classes();
    let text = report(&contents, &detail, HttpForm::Httperf);
    let errors = text.lines().filter_map(|line| line.strip_prefix("Errors: "));
    let counts: Vec<u64> = errors.flat_map(str::split_whitespace).filter_map(|word| word.parse().ok()).collect();
    assert_eq!(counts.len(), 9);
    assert_eq!(counts[0], counts[1..].iter().sum::<u64>());
}

#[test]
fn results_without_such_a_run_say_so() {
    let error = http(&made("tree"), |_| Ok(detail()), HttpForm::Httperf).expect_err("no load");
    assert_eq!(
        error.to_string(),
        "there is no finished run of the workload `http-load` or `http-replay` in these results"
    );
}
