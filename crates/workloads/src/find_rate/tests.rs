//! The search on servers of known capacity, and on a real socket.

use super::*;
use crate::workload_tests::with_context;
use load::workload::{At, Server};
use proptest::prelude::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

fn with(settings: &[(&str, serde_json::Value)]) -> Parameters {
    let mut map = settings::defaults(SETTINGS);
    map.extend(settings.iter().map(|(name, value)| ((*name).to_string(), value.clone())));
    settings::typed(&map)
}

fn parameters(rate_max: f64) -> Parameters {
    with(&[("rate_max", rate_max.into())])
}

fn found(rate_max: f64, capacity: f64, shift: f64) -> (Found, usize) {
    let mut tries = 0;
    let probe = |rate: f64| {
        tries += 1;
        Ok((rate <= capacity).then_some(rate))
    };
    (search(&parameters(rate_max), shift, probe).expect("searched"), tries)
}

proptest! {
    #[test]
    fn the_knee_is_found_to_the_precision(capacity in 50.0..1e6f64, shift in 1.0..2.0f64) {
        let (found, tries) = found(1e7, capacity, shift);
        prop_assert!(found.rate <= capacity && capacity < found.failing);
        prop_assert!(found.failing <= found.rate * 1.05 + 1e-9);
        prop_assert!(tries <= 25);
    }
}

#[test]
fn a_server_that_never_fails_or_always_does_ends_the_search() {
    for shift in [1.0, 1.04] {
        assert_eq!(found(400.0, 1e9, shift).0, Found { rate: 400.0, p99_microseconds: 400.0, failing: 0.0 });
        assert_eq!(found(400.0, 1.0, shift).0, Found { rate: 0.0, p99_microseconds: 0.0, failing: 50.0 });
        assert_eq!(found(50.0, 1e9, shift).0, Found { rate: 50.0, p99_microseconds: 50.0, failing: 0.0 });
    }
    // Between the lowest rate and the first that is tried.
    assert_eq!(found(400.0, 51.0, 1.04).0, Found { rate: 50.0, p99_microseconds: 50.0, failing: 52.0 });
}

/// By fixed steps they were 4,150 and 4,334 a second in all rounds: 4.4 % apart, with no spread.
#[test]
fn servers_that_are_nearly_alike_are_found_nearly_alike() {
    let mean = |capacity: f64| {
        let of_seed = |seed: u64| {
            let parameters = parameters(1e6);
            let shift = parameters.shift(&mut Random::new(seed));
            search(&parameters, shift, |rate| Ok((rate <= capacity).then_some(rate))).expect("searched").rate.ln()
        };
        (0..400).map(of_seed).sum::<f64>() / 400.0
    };
    let apart = mean(4340.0) - mean(4330.0);
    assert!(apart > 0.0 && apart < 0.005, "{apart}");
}

/// Latencies of a rate are put together over runs and scenarios.
#[test]
fn shifted_rates_have_the_names_of_those_that_are_not() {
    // The knee lies in the last octave, which the highest rate cuts off.
    let parameters = with(&[("probe_time", 3.0.into()), ("rate_max", 1000.0.into())]);
    let client = parameters.sending.client(&server(([127, 0, 0, 1], 1).into()), Pace::Closed, None);
    let names = |shift: f64| {
        let mut tries = Tries::of(&client, 8, shift);
        let latency = |rate: f64| if rate <= 950.0 { 0.001 } else { 0.2 };
        let probe = |rate: f64| Ok(tries.add(&parameters, rate, tally(rate as u64, |_| latency(rate))));
        search(&parameters, shift, probe).expect("searched");
        tries.latencies.into_keys().collect::<Vec<String>>()
    };
    let rates = [100, 1000, 200, 400, 50, 800, 872, 911, 951];
    assert_eq!(names(1.0), rates.map(|rate| format!("request at about {rate}/s")));
    assert_eq!(names(1.03), names(1.0));
}

#[test]
fn a_lucky_try_is_not_the_answer() {
    let mut lucky = true;
    let probe = |rate: f64| {
        let holds = rate <= 100.0 || rate <= 200.0 && std::mem::take(&mut lucky);
        Ok(holds.then_some(rate))
    };
    let found = search(&parameters(1e6), 1.0, probe).expect("searched");
    assert!(found.rate <= 100.0 && found.rate > 90.0, "{found:?}");
}

/// As by a stall: the server was said to hold the lowest rate, or half of what it does.
#[test]
fn an_unlucky_try_is_not_the_answer() {
    for unlucky_from in [50.0, 400.0] {
        let mut unlucky = true;
        let probe = |rate: f64| {
            let fails = rate > 1000.0 || rate >= unlucky_from && std::mem::take(&mut unlucky);
            Ok((!fails).then_some(rate))
        };
        let found = search(&parameters(1e6), 1.0, probe).expect("searched");
        assert!(found.rate > 950.0, "{found:?}");
    }
    // The lowest rate is tried before none is said to hold.
    let mut lucky = true;
    let probe = |rate: f64| Ok((rate <= 50.0 || std::mem::take(&mut lucky)).then_some(rate));
    assert_eq!(search(&parameters(1e6), 1.03, probe).expect("searched").rate, 50.0);
}

/// A try of 3 s at this rate, with these seconds for each answer after its request.
fn tally(rate: u64, latency: impl Fn(f64) -> f64) -> Tally {
    let schedule = Some(http_client::Schedule { due_seconds: 3.0, calls: 1, pauses_seconds: 0.0 });
    let (requests, right) = (rate * 3, rate * 3);
    let mut tally = Tally { requests, right, seconds: 3.0, cpu_seconds: 2.9, schedule, ..Tally::default() };
    for at in (0..rate * 3).map(|number| number as f64 / rate as f64) {
        tally.total.record(Duration::from_secs_f64(latency(at)));
        tally.seconds = tally.seconds.max(at + latency(at));
    }
    tally
}

#[test]
fn a_rate_holds_where_answers_keep_up_with_requests() {
    let parameters = with(&[("latency_max", 1.0.into()), ("probe_time", 3.0.into())]);
    let objection = |rate: u64, tally: &Tally| parameters.objection(rate as f64, tally, &Asked::all_right());
    // A server that answers 10,000 a second: what has piled up in 3 s takes it less than a second.
    let behind = |rate: u64| tally(rate, |at| 0.001 + (rate as f64 / 10_000.0 - 1.0) * at);
    let why = objection(12_000, &behind(12_000)).unwrap_or_default();
    assert!(why.starts_with("answers came at 100") && why.ends_with(" a second"), "{why}");
    assert_eq!(objection(10_300, &behind(10_300)), None);
    // Slow is not behind.
    assert_eq!(objection(10_000, &tally(10_000, |_| 0.9)), None);
    assert_eq!(objection(10, &tally(10, |_| 0.9)), None);
    let why = objection(100, &tally(100, |_| 1.2)).unwrap_or_default();
    assert!(why.starts_with("99th percentile 1"), "{why}");
}

#[test]
fn a_load_that_was_full_where_a_rate_failed_says_so() {
    let parameters = with(&[("latency_max", 0.01.into()), ("probe_time", 3.0.into())]);
    let client = |threads| Client {
        threads,
        ..parameters.sending.client(&server(([127, 0, 0, 1], 1).into()), Pace::Closed, None)
    };
    for (threads, cpus, says) in [(1, 8, true), (2, 8, false), (2, 1, true)] {
        let mut tries = Tries::of(&client(threads), cpus, 1.0);
        assert!(tries.add(&parameters, 50.0, tally(50, |_| 0.001)).is_some());
        assert!(tries.notes().is_empty());
        for rate in [400, 300, 200, 100] {
            assert!(tries.add(&parameters, rate as f64, tally(rate, |_| 0.02)).is_none());
        }
        assert_eq!(tries.generator_busy_share() >= cpu::FULL, says);
        let notes = tries.notes();
        assert!(notes[NOTES_MAX - 1].starts_with("at 100 requests a second: "), "the lowest are kept: {notes:?}");
        assert_eq!(notes.len(), NOTES_MAX + usize::from(says));
        assert!(!says || notes[NOTES_MAX].contains("96 % busy"), "{notes:?}");
    }
}

#[test]
fn a_rate_that_holds_when_it_is_tried_again_leaves_no_reason() {
    let parameters = with(&[("latency_max", 0.01.into()), ("probe_time", 3.0.into())]);
    let client = parameters.sending.client(&server(([127, 0, 0, 1], 1).into()), Pace::Closed, None);
    let mut tries = Tries::of(&client, 8, 1.0);
    assert!(tries.add(&parameters, 100.0, tally(100, |_| 0.02)).is_none());
    assert!(tries.add(&parameters, 100.0, tally(100, |_| 0.001)).is_some());
    assert_eq!((tries.notes(), tries.generator_busy_share()), (Vec::new(), 0.0));
    assert_eq!(tries.answers, 600, "work is that of each try, whether its rate held or not");
}

fn server(address: SocketAddr) -> sending::Server {
    let folder = tempfile::tempdir().expect("a folder");
    with_context(folder.path(), |context| {
        context.server = Some(Server { at: At::Network { address, is_secure: false }, password: None });
        sending::server(context).expect("it is known")
    })
}

/// Answers one request after the other, each after so long or longer.
fn slow_server(each: Duration, body: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (reader, mut writer) = (BufReader::new(&connection), &connection);
            for _ in reader.lines().map_while(Result::ok).filter(String::is_empty) {
                std::thread::sleep(each);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                if writer.write_all(&[head.as_bytes(), &body].concat()).is_err() {
                    break;
                }
            }
        }
    });
    address
}

#[test]
fn no_rate_is_found_that_a_server_cannot_sustain() {
    let settings: [(&str, serde_json::Value); 6] = [
        ("connections", 1.into()),
        ("rate_min", 20.into()),
        ("rate_max", 400.into()),
        ("latency_max", 10.0.into()),
        ("probe_time", 0.3.into()),
        ("precision", 0.1.into()),
    ];
    let parameters = with(&settings);
    let address = slow_server(Duration::from_millis(10), vec![b'x'; 590]);
    let folder = tempfile::tempdir().expect("a folder");
    let run = with_context(folder.path(), |context| {
        context.server = Some(Server { at: At::Network { address, is_secure: false }, password: None });
        Box::new(parameters).open().expect("it opens").run(context)
    });
    match run {
        // 100 a second, two precisions and a request of a try's 30; what piles up in a try would be within the limit at 400, too.
        Ok(outcome) => assert!(outcome.metrics[0].value < 125.0, "{:?}", outcome.metrics),
        // On a machine that stalls.
        Err(error) => assert!(error.to_string().contains("no rate holds"), "{error}"),
    }
}
