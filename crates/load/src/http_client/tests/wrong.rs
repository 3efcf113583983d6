//! What a wrong answer does to figures: it is in none, and above a limit there are none.

use super::*;
use crate::asked::Limit;
use crate::http_client::settings::outcome;
use crate::workload::Outcome;

/// Sends so many requests and makes a run's outcome of what came.
fn outcome_of(client: &Client, requests: usize, limit: Limit) -> Outcome {
    let mut source = Targets { expected: Some(5), ..targets(numbered(requests), client.keep_alive) };
    let (tally, rates) = driven(client, &mut source);
    outcome(tally, rates, limit)
}

fn figure(outcome: &Outcome, name: &str) -> Option<f64> {
    outcome.metrics.iter().find(|measured| measured.metric.name == name).map(|measured| measured.value)
}

fn error(outcome: &Outcome) -> String {
    outcome.asked.judge().expect_err("it may not stand").to_string()
}

const CLOSED: Limit = Limit::Share(0.001);

/// Answers every so-manieth request well, the others with these bytes.
fn one_in(every: usize, otherwise: &'static [u8]) -> Server {
    let count = AtomicUsize::new(0);
    Server::start(move |stream, target| match count.fetch_add(1, Ordering::Relaxed).is_multiple_of(every) {
        true => well(stream, target),
        false => stream.write_all(otherwise).is_ok(),
    })
}

#[test]
fn a_server_that_refuses_fast_has_no_better_figure() {
    for engine in ENGINES {
        let server = one_in(10, b"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nsorry");
        let of = |limit| outcome_of(&client(server.address, 4, true, engine), 1000, limit);
        let open = of(Limit::Open);
        assert_eq!(
            open.latencies.iter().map(|(name, of)| (name.as_str(), of.count())).next_back(),
            Some(("request", 100))
        );
        assert_eq!((figure(&open, "answers"), figure(&open, "body_bytes_mean")), (Some(1000.0), Some(5.0)));
        let rate = figure(&open, "requests_per_second").expect("a rate");
        assert!((rate * open.seconds - 100.0).abs() < 1e-6, "{rate} in {}", open.seconds);
        assert!(open.asked.judge().is_ok(), "beyond a server's capacity errors are what is measured");
        assert_eq!(open.asked.notes(), ["900 of 1000 requests went wrong: wrong status (first: 503)"]);
        assert_eq!(
            error(&of(CLOSED)),
            "900 of 1000 requests went wrong (90.000 %, where `errors_max` allows 0.1 %): 900 × wrong status (first: 503)"
        );
    }
}

#[test]
fn half_an_answer_or_another_body_is_no_answer() {
    let half: [(&'static [u8], &str); 4] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "connection closed before the answer's end"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
            "connection closed before the answer's end",
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nhel", "wrong size (first: 3 bytes instead of 5)"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhowdy",
            "wrong body (first: no \"hello\" in 5 bytes: \"howdy\")",
        ),
    ];
    for engine in ENGINES {
        for (bytes, words) in half {
            let server = Server::start(move |stream, _| {
                let _ = stream.write_all(bytes);
                false
            });
            let text: Arc<[u8]> = b"hello"[..].into();
            let mut source = Targets { expected: Some(5), text: Some(text), ..targets(numbered(20), false) };
            let (tally, rates) = driven(&client(server.address, 2, false, engine), &mut source);
            let outcome = outcome(tally, rates, CLOSED);
            assert!(error(&outcome).contains(words), "{engine:?}: {}", error(&outcome));
            assert_eq!(figure(&outcome, "requests_per_second"), Some(0.0));
        }
    }
}

#[test]
fn one_request_that_is_never_answered_slows_no_other() {
    for engine in ENGINES {
        let count = AtomicUsize::new(0);
        let server = Server::start(move |stream, target| {
            if count.fetch_add(1, Ordering::Relaxed) == 20 {
                std::thread::sleep(Duration::from_secs(4));
                return false;
            }
            well(stream, target)
        });
        let (timeout, window) = (Duration::from_secs(3), Some(Duration::from_millis(200)));
        let client = Client { timeout, window, ..client(server.address, 10, true, engine) };
        let outcome = outcome_of(&client, 100_000, Limit::Open);
        assert!(outcome.seconds < 2.7, "{engine:?}: its time-out is no time of the others: {} s", outcome.seconds);
        assert!(outcome.seconds >= (9.0 * 0.2 + 3.0) / 10.0, "{engine:?}: it is its own: {} s", outcome.seconds);
        assert!(outcome.series.values().all(Vec::is_empty), "{engine:?}: {:?}", outcome.series);
        assert_eq!(outcome.asked.wrong.iter().map(|wrong| wrong.count).sum::<u64>(), 1, "{engine:?}");
        assert!(outcome.latencies["request"].microseconds_at(1.0) >= 3e6, "{engine:?}: it was waited for");
    }
}

#[test]
fn a_time_out_counts_as_the_time_that_was_waited() {
    for engine in ENGINES {
        // Each third request is never answered.
        let count = AtomicUsize::new(0);
        let server = Server::start(move |stream, target| {
            if count.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
                std::thread::sleep(Duration::from_secs(2));
                return false;
            }
            well(stream, target)
        });
        let timeout = Duration::from_millis(300);
        let client = Client { timeout, pace: Pace::PerSecond(60.0), ..client(server.address, 30, false, engine) };
        let outcome = outcome_of(&client, 30, Limit::Open);
        let waited = &outcome.latencies["request"];
        assert_eq!((waited.count(), outcome.latencies["first byte"].count()), (30, 20), "{engine:?}");
        assert!(waited.microseconds_at(0.7) >= 300e3, "{engine:?}: {} µs", waited.microseconds_at(0.7));
        assert!(figure(&outcome, "request_microseconds_mean") >= Some(100e3));
        assert_eq!(
            outcome.asked.notes(),
            ["10 of 30 requests went wrong: no answer in time (first: nothing for 0.3 s after the request)"]
        );
    }
}

/// Its rate was that of the time in which it was there, as if it had kept up.
#[test]
fn a_server_that_goes_amid_a_load_at_a_rate_does_not_reach_it() {
    for engine in ENGINES {
        let count = AtomicUsize::new(0);
        let server =
            Server::start(move |stream, target| count.fetch_add(1, Ordering::Relaxed) < 5 && well(stream, target));
        let client = Client { pace: Pace::PerSecond(50.0), ..client(server.address, 4, false, engine) };
        let outcome = outcome_of(&client, 20, Limit::Open);
        assert_eq!(outcome.asked.wrong.iter().map(|wrong| wrong.count).sum::<u64>(), 15, "{engine:?}");
        // The last of twenty is due after 19 fiftieths of a second.
        assert!(outcome.seconds >= 0.38, "{engine:?}: {}", outcome.seconds);
        assert!(figure(&outcome, "requests_per_second") <= Some(5.0 / 0.38), "{engine:?}");
    }
}

#[test]
fn what_a_slow_answer_was_waited_for_is_said() {
    for engine in ENGINES {
        let server = Server::start(|stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
            // A drip that ends when the load goes.
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
            false
        });
        let client = Client { timeout: Duration::from_millis(300), ..client(server.address, 1, true, engine) };
        let tally = run(&client, numbered(1));
        let said = tally.first[Fault::TimedOut as usize].clone().expect("a time-out");
        assert!(said.starts_with("no end of the answer 0.3 s after its first byte, with "), "{said}");
        let bytes = said.split(' ').rev().nth(3).and_then(|bytes| bytes.parse::<u64>().ok());
        assert!(bytes > Some(42), "{said}");
    }
}

/// More bytes than two sockets' buffers hold.
const LARGE: usize = 16 << 20;

/// Three requests of so many bytes.
struct Large(u32);

impl Source for Large {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        self.0 += 1;
        request.extend_from_slice(b"POST / HTTP/1.1\r\nHost: h\r\n\r\n");
        request.resize(LARGE, b'x');
        Ok((self.0 <= 3).then(Task::default))
    }
}

/// nginx answers a POST to a file as soon as it has its head, keeps the connection, and reads the body after that.
#[test]
fn an_answer_before_the_end_of_its_request_takes_no_other_request_with_it() {
    for engine in ENGINES {
        let (listener, address) = listening();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                std::thread::spawn(move || {
                    let mut piece = [0; 4096];
                    while let Ok(count @ 1..) = stream.read(&mut piece) {
                        well(&mut stream, "/");
                        std::thread::sleep(Duration::from_millis(100));
                        let rest = (LARGE - count) as u64;
                        let read = std::io::copy(&mut (&stream).take(rest), &mut std::io::sink());
                        if read.ok() != Some(rest) {
                            return;
                        }
                    }
                });
            }
        });
        let (tally, _) = driven(&client(address, 1, true, engine), &mut Large(0));
        assert_eq!((tally.requests, tally.right, tally.faults()), (3, 3, 0), "{engine:?}: {:?}", tally.first);
    }
}

#[test]
fn no_right_answer_is_no_figure_in_any_loop() {
    for engine in ENGINES {
        let (_, address) = listening();
        for limit in [CLOSED, Limit::Open, Limit::Share(1.0)] {
            let outcome = outcome_of(&client(address, 2, true, engine), 20, limit);
            let said = error(&outcome);
            assert!(
                said.starts_with("20 of 20 requests went wrong, so that there is no figure: 20 × connection refused"),
                "{said}"
            );
            assert_eq!(figure(&outcome, "request_microseconds_mean"), None, "no answer is not a fast one");
        }
    }
}

#[test]
fn a_rate_that_is_hardly_one_sends_what_is_due() {
    for engine in ENGINES {
        let server = Server::start(well);
        for pace in [Pace::PerSecond(1e-300), Pace::AsLogged(1e-300)] {
            let window = Some(Duration::from_millis(100));
            let client = Client { pace, window, think_time: Duration::ZERO, ..client(server.address, 1, true, engine) };
            let expected = if matches!(pace, Pace::AsLogged(_)) { 5 } else { 1 };
            assert_eq!(run(&client, numbered(5)).answers, expected, "{engine:?}, {pace:?}");
        }
    }
}
