//! A result of the HTTP loads in the shape of httperf's or http_load's report, so that scripts written for it go on working.
//!
//! One measured run of each scenario: the one whose requests per second are the median of its runs. A figure that the ledger
//! does not have is `-`. Shapes: httperf 0.9.0, `src/stat/basic.c`; http_load of 2016, `finish` in `http_load.c`.

use crate::document::printable;
use crate::input::{Counting, Error};
use ledger::model::{Contents, RunDetail, RunRow};
use observe::latency::Latency;
use observe::metric::BEFORE_FLUSH;
use serde_json::Value;
use std::fmt::Write;

const WORKLOADS: &[&str] = &["http-load", "http-replay"];

/// httperf takes a sample of the reply rate every five seconds.
const SAMPLE_SECONDS: usize = 5;

/// Whose report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpForm {
    /// httperf.
    Httperf,
    /// http_load.
    HttpLoad,
}

/// The report of every scenario of the HTTP loads, one after the other; `detail_of` gives a run's latencies and series.
///
/// # Errors
/// When the results have no finished run of such a load, or can't be read.
pub fn http(
    contents: &Contents,
    detail_of: impl Fn(i64) -> Result<RunDetail, ledger::Error>,
    form: HttpForm,
) -> Result<String, Error> {
    let counting = Counting::of(contents);
    let mut out = String::new();
    for scenario in contents.scenarios.iter().filter(|scenario| WORKLOADS.contains(&scenario.workload.as_str())) {
        let Some((trial, run)) = counting.median_run(scenario, "requests_per_second") else { continue };
        let done = Done { settings: &scenario.settings["workload"], run, detail: detail_of(run.id)? };
        let _ = writeln!(out, "# {}, round {}, run {}", printable(&scenario.label), trial.round + 1, run.run);
        let wrong = done.wrong().unwrap_or(0.0);
        if form == HttpForm::Httperf && wrong > 0.0 {
            let _ = writeln!(
                out,
                "# {wrong} wrong replies, which are no errors to httperf: they are in the counts, not in rates and times"
            );
        }
        match form {
            HttpForm::Httperf => httperf(&done, &mut out),
            HttpForm::HttpLoad => http_load(&done, &mut out),
        }
        out.push('\n');
    }
    if out.is_empty() { Err(Error::NoRun(WORKLOADS)) } else { Ok(out) }
}

/// A run, and what both forms ask of it. None: not recorded.
struct Done<'a> {
    settings: &'a Value,
    run: &'a RunRow,
    detail: RunDetail,
}

impl Done<'_> {
    fn figure(&self, name: &str) -> Option<f64> {
        self.run.metrics.get(name).copied()
    }

    fn sum(&self, names: &[&str]) -> Option<f64> {
        names.iter().map(|name| self.figure(name)).sum()
    }

    /// In milliseconds, once `of` has taken nanoseconds from the latency.
    fn milliseconds(&self, latency: &str, of: impl Fn(&Latency) -> f64) -> Option<f64> {
        self.detail.latencies.get(latency).map(|latency| of(latency) / 1e6)
    }

    fn mean_ms(&self, latency: &str) -> Option<f64> {
        self.milliseconds(latency, |latency| latency.histogram().mean())
    }

    fn seconds(&self) -> f64 {
        self.run.seconds.max(f64::MIN_POSITIVE)
    }

    /// Bytes by their rate, which is of the time without the flush that ends a turn; that of right answers is of a turn's whole time.
    fn bytes(&self, rate: &str) -> Option<f64> {
        let flush_seconds = self.figure(BEFORE_FLUSH).and_then(|_| self.figure("turn_flush_seconds")).unwrap_or(0.0);
        Some(self.figure(rate)? * (self.seconds() - flush_seconds).max(0.0))
    }

    /// Right answers; in older files, which know no others, whole ones.
    fn right(&self) -> Option<f64> {
        self.figure("requests_per_second").map(|rate| (rate * self.seconds()).round())
    }

    /// Whole answers, whatever their status, size and body.
    fn answers(&self) -> Option<f64> {
        self.figure("answers").or_else(|| self.right())
    }

    /// Answers of a wrong status, size or body.
    fn wrong(&self) -> Option<f64> {
        Some(self.sum(&["errors_wrong_status", "errors_wrong_size"])? + self.figure("errors_wrong_body").unwrap_or(0.0))
    }

    /// The most connections at a time that were allowed.
    fn connections_max(&self) -> Option<f64> {
        self.settings["connections"].as_f64()
    }

    /// No connection or no answer in time: the client's own clock or, which the ledger does not tell apart, the kernel's.
    fn timeouts(&self) -> Option<f64> {
        self.sum(&["errors_connect_timed_out", "errors_read_timed_out"])
    }
}

fn httperf(done: &Done, out: &mut String) {
    let seconds = done.seconds();
    let rate = |count: Option<f64>| one_digit(count.map(|count| count / seconds));
    let period =
        |count: Option<f64>| one_digit(count.map(|count| if count > 0.0 { 1000.0 * seconds / count } else { 0.0 }));
    let replies = done.answers();
    // Those that were begun, as httperf counts them, and requests that found one.
    let unconnected = done.sum(&["errors_connect_refused", "errors_connect_timed_out"]);
    let connections = add(done.figure("connections_made"), unconnected, 1.0);
    let unsent = add(unconnected, done.sum(&["errors_no_descriptors", "errors_no_ports"]), 1.0);
    let requests = add(done.figure("requests"), unsent, -1.0);
    let [made, asked, answered, at_once] = [connections, requests, replies, done.connections_max()].map(whole);
    let _ = write!(
        out,
        "\nTotal: connections {made} requests {asked} replies {answered} test-duration {seconds:.3} s\n\n\
         Connection rate: {} conn/s ({} ms/conn, <={at_once} concurrent connections)\n",
        rate(connections),
        period(connections)
    );
    let life = |of: fn(&Latency) -> f64| one_digit(done.milliseconds("connection", of));
    let with_reply = done.detail.latencies.get("connection").map(|latency| latency.count() as f64);
    let _ = write!(
        out,
        "Connection time [ms]: min {} avg {} max {} median {} stddev {}\nConnection time [ms]: connect {}\n\
         Connection length [replies/conn]: {}\n\n",
        life(|latency| latency.histogram().min() as f64),
        life(|latency| latency.histogram().mean()),
        life(|latency| latency.histogram().max() as f64),
        life(|latency| latency.histogram().value_at_quantile(0.5) as f64),
        life(|latency| latency.histogram().stdev()),
        one_digit(done.mean_ms("connect")),
        shown(share(replies, with_reply), |value| format!("{value:.3}"))
    );
    let _ =
        write!(out, "Request rate: {} req/s ({} ms/req)\nRequest size [B]: -\n\n", rate(requests), period(requests));
    let [received, content] = ["received_bytes_per_second", "body_bytes_per_second"].map(|rate| done.bytes(rate));
    let status = |class: u8| format!("{class}xx={}", whole(done.figure(&format!("status_{class}xx"))));
    let _ = write!(
        out,
        "{}\nReply time [ms]: response {} transfer {}\nReply size [B]: header - content {} footer - (total {})\n\
         Reply status: {}\n\n",
        reply_rate(done.detail.series.get("requests_per_second")),
        one_digit(done.mean_ms("first byte")),
        one_digit(done.mean_ms("first to last byte")),
        one_digit(share(content, done.right())),
        one_digit(share(received, replies)),
        [1, 2, 3, 4, 5].map(status).join(" ")
    );
    let cpu_seconds = done.figure("client_cpu_microseconds_per_request").zip(done.figure("requests"));
    let cpu_percent = cpu_seconds.map(|(each, requests)| each * requests / 1e6 / seconds * 100.0);
    let _ = write!(
        out,
        "CPU time [s]: user - system - (user -% system -% total {}%)\nNet I/O: - KB/s (-*10^6 bps)\n\n",
        one_digit(cpu_percent)
    );
    errors(done, out);
}

/// Errors by httperf's kinds. Both kinds of missing descriptors are `fd-unavail`; what httperf has no word for is `other`, and
/// a wrong answer is a reply.
fn errors(done: &Done, out: &mut String) {
    let total = add(done.figure("errors"), done.wrong(), -1.0);
    let named = [
        done.figure("errors_connect_refused"),
        done.figure("errors_connection_reset"),
        done.figure("errors_no_descriptors"),
        done.figure("errors_no_ports"),
    ];
    let [refused, reset, descriptors, ports] = named.map(whole);
    let other = add(total, named.into_iter().chain([done.timeouts()]).sum(), -1.0);
    let _ = write!(
        out,
        "Errors: total {} client-timo {} socket-timo 0 connrefused {refused} connreset {reset}\n\
         Errors: fd-unavail {descriptors} addrunavail {ports} ftab-full 0 other {}\n",
        whole(total),
        whole(done.timeouts()),
        whole(other)
    );
}

fn reply_rate(series: Option<&Vec<f64>>) -> String {
    let Some(series) = series else { return "Reply rate [replies/s]: min - avg - max - stddev - (- samples)".into() };
    let samples = series.chunks_exact(SAMPLE_SECONDS).map(|sample| sample.iter().sum::<f64>() / SAMPLE_SECONDS as f64);
    let samples: Vec<f64> = samples.collect();
    if samples.is_empty() {
        return "Reply rate [replies/s]: min - avg - max - stddev - (0 samples)".into();
    }
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    format!(
        "Reply rate [replies/s]: min {:.1} avg {mean:.1} max {:.1} stddev {:.1} ({count} samples)",
        samples.iter().copied().fold(f64::INFINITY, f64::min),
        samples.iter().copied().fold(0.0, f64::max),
        variance.sqrt()
    )
}

/// A fetch is a right answer; http_load's bytes are those of bodies.
fn http_load(done: &Done, out: &mut String) {
    let (seconds, fetches) = (done.seconds(), done.right());
    let bytes = done.bytes("body_bytes_per_second");
    // In an open loop the server decides how many there are at a time; what it came to is not recorded.
    let is_open = ["rate", "speed"].iter().any(|name| done.settings[*name].as_f64().is_some_and(|rate| rate > 0.0));
    let parallel = done.connections_max().filter(|_| !is_open).zip(done.figure("requests")).map(|(a, b)| a.min(b));
    let _ = write!(
        out,
        "{} fetches, {} max parallel, {} bytes, in {} seconds\n{} mean bytes/connection\n{} fetches/sec, {} bytes/sec\n",
        whole(fetches),
        whole(parallel),
        whole(bytes),
        six_digits(seconds),
        shown(share(bytes, fetches), six_digits),
        shown(fetches.map(|fetches| fetches / seconds), six_digits),
        shown(bytes.map(|bytes| bytes / seconds), six_digits)
    );
    for (name, latency) in [("msecs/connect", "connect"), ("msecs/first-response", "first byte")] {
        let Some(latency) = done.detail.latencies.get(latency).filter(|latency| latency.count() > 0) else { continue };
        let histogram = latency.histogram();
        let [mean, max, min] = [histogram.mean(), histogram.max() as f64, histogram.min() as f64]
            .map(|nanoseconds| six_digits(nanoseconds / 1e6));
        let _ = writeln!(out, "{name}: {mean} mean, {max} max, {min} min");
    }
    for (words, count) in [("timeouts", done.timeouts()), ("bad byte counts", done.figure("errors_wrong_size"))] {
        if let Some(count) = count.filter(|count| *count > 0.0) {
            let _ = writeln!(out, "{count} {words}");
        }
    }
    out.push_str("HTTP response codes:\n");
    // Only classes of codes are recorded.
    for class in 1..=5 {
        if let Some(count) = done.figure(&format!("status_{class}xx")).filter(|count| *count > 0.0) {
            let _ = writeln!(out, "  code {class}xx -- {count}");
        }
    }
}

fn add(a: Option<f64>, b: Option<f64>, sign: f64) -> Option<f64> {
    Some(a? + sign * b?)
}

/// 0 of nothing, as both tools say.
fn share(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    part.zip(whole).map(|(part, whole)| if whole > 0.0 { part / whole } else { 0.0 })
}

fn shown(value: Option<f64>, format: impl Fn(f64) -> String) -> String {
    value.map_or("-".into(), format)
}

fn whole(value: Option<f64>) -> String {
    shown(value, |value| format!("{value:.0}"))
}

fn one_digit(value: Option<f64>) -> String {
    shown(value, |value| format!("{value:.1}"))
}

/// C's `%g` but for its exponents.
fn six_digits(value: f64) -> String {
    let before_point = if value.abs() >= 1.0 { value.abs().log10() as usize + 1 } else { 1 };
    let text = format!("{value:.*}", 6usize.saturating_sub(before_point));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}
