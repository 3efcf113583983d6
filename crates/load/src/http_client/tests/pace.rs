//! When requests are sent: rates, pauses, and what a stall does to latencies.

use super::*;
use crate::asked::Limit;
use crate::http_client::settings::{gently, outcome};

/// Requests without end, by their log 5 ms after each other.
struct Endless(u32);

impl Source for Endless {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        request.extend_from_slice(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        let at = Duration::from_millis(5) * self.0;
        self.0 += 1;
        Ok(Some(Task { at, is_repeatable: true, status: Status::Class(2), ..Task::default() }))
    }
}

#[test]
fn a_rate_of_connections_with_calls_is_httperfs() {
    const THINK: Duration = Duration::from_millis(20);
    for engine in ENGINES {
        for threads in [1, 2] {
            let server = Server::start(well);
            let pace = Pace::PerSecond(40.0);
            let client = Client {
                calls: 3,
                think_time: THINK,
                requests_max: 29,
                pace,
                threads,
                ..client(server.address, 10, true, engine)
            };
            let tally = run(&client, numbered(1000));
            assert_eq!(
                (tally.requests, tally.answers, tally.connections),
                (29, 29, 10),
                "{engine:?}: {:?}",
                tally.first
            );
            // The tenth begins after nine fortieths of a second, makes two calls and thinks once.
            assert!((0.225 + 0.02..20.0).contains(&tally.seconds), "{}", tally.seconds);
            assert!(tally.connection.microseconds_at(0.5) >= 40_000.0, "{}", tally.connection.microseconds_at(0.5));
            // Thinking is no latency.
            assert!(tally.total.microseconds_at(0.5) < 20_000.0, "{}", tally.total.microseconds_at(0.5));
        }
    }
}

#[test]
fn a_think_time_is_kept_and_not_waited_for_at_the_end() {
    for engine in ENGINES {
        for server in [Server::start(well), Server::start(closing)] {
            let thinking = Client { think_time: Duration::from_millis(30), ..client(server.address, 1, true, engine) };
            let tally = run(&thinking, numbered(6));
            assert_eq!((tally.answers, tally.faults()), (6, 0), "{engine:?}: {:?}", tally.first);
            assert!((0.15..20.0).contains(&tally.seconds), "{}", tally.seconds);
        }
        let server = Server::start(well);
        let (began, think_time) = (Instant::now(), Duration::from_secs(100));
        let at_the_end = Client { think_time, ..client(server.address, 4, true, engine) };
        assert_eq!(run(&at_the_end, numbered(4)).answers, 4, "{engine:?}");
        assert!(began.elapsed() < think_time / 2, "{engine:?}: nothing was left to think of");
        for (calls, pace) in [(0, Pace::Closed), (5, Pace::PerSecond(50.0))] {
            let (think_time, window) = (Duration::from_secs(100), Some(Duration::from_millis(200)));
            let client = Client { calls, pace, think_time, window, ..client(server.address, 10, true, engine) };
            let began = Instant::now();
            let tally = run(&client, numbered(1000));
            assert_eq!((tally.answers, tally.requests), (10, 10), "{engine:?}, {pace:?}");
            assert!(began.elapsed() < think_time);
            // A closed loop's rate is one in a pause, however short the run.
            assert_eq!(tally.seconds >= think_time.as_secs_f64(), pace == Pace::Closed, "{}", tally.seconds);
        }
    }
}

#[test]
fn nobody_thinks_before_the_first_run() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let thinking = Client { think_time: Duration::from_secs(60), ..client(address, 5, true, Engine::Auto) };
    let gently = gently(&thinking, 30);
    assert_eq!((gently.think_time, gently.connections, gently.requests_max), (Duration::ZERO, 1, 30));
}

#[test]
fn an_open_loop_sends_what_its_rate_says() {
    for engine in ENGINES {
        let server = Server::start(well);
        for pace in [Pace::PerSecond(400.0), Pace::AsLogged(2.0)] {
            let open =
                Client { pace, window: Some(Duration::from_millis(500)), ..client(server.address, 20, true, engine) };
            let (tally, _) = driven(&open, &mut Endless(0));
            // 400 a second, and one each 5 ms twice as fast, for half a second.
            assert_eq!((tally.requests, tally.answers), (200, 200), "{engine:?}, {pace:?}");
        }
    }
}

#[test]
fn a_stall_is_in_the_latencies_of_all_that_it_held_up() {
    for engine in ENGINES {
        let asked = AtomicUsize::new(0);
        let stall: Mutex<Option<Instant>> = Mutex::new(None);
        let server = Server::start(move |stream, target| {
            // From the hundredth request on, nobody is answered for a second.
            if asked.fetch_add(1, Ordering::Relaxed) >= 100 {
                let until = *stall
                    .lock()
                    .expect("no thread panics with it")
                    .get_or_insert_with(|| Instant::now() + Duration::from_secs(1));
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
            }
            well(stream, target)
        });
        let open = Client { pace: Pace::PerSecond(200.0), ..client(server.address, 4, true, engine) };
        let tally = run(&open, numbered(400));
        assert_eq!(tally.answers, 400);
        // 200 of 400 were due in that second; four connections would show the stall in four requests only.
        assert!(tally.total.microseconds_at(0.99) > 800_000.0, "{}", tally.total.microseconds_at(0.99));
        assert!(tally.total.microseconds_at(0.70) > 200_000.0, "{}", tally.total.microseconds_at(0.70));
        assert!(tally.late > 100, "{}", tally.late);
    }
}

/// By turns of a second, a page of 200 ms was said to fall behind at each rate, and to be slower than one of 20 ms.
#[test]
fn a_slow_page_that_keeps_up_reaches_its_rate() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let pace = Pace::PerSecond(100.0);
    let second = Client { pace, window: Some(Duration::from_secs(1)), ..client(address, 50, true, Engine::Auto) };
    // Each answer takes so many milliseconds by itself, and what has piled up before it so many for each request.
    let rate = |client: &Client, requests: u64, milliseconds: u64, piled_up: u64| {
        let mut tally = Tally { requests, right: requests, ..Tally::default() };
        let calls = client.calls.max(1);
        for number in 0..requests {
            let begins = number / calls * 10 + number % calls * (milliseconds + client.think_time.as_millis() as u64);
            let latency = milliseconds + piled_up * number;
            tally.total.record(Duration::from_millis(latency));
            tally.seconds = tally.seconds.max((begins + latency) as f64 / 1e3);
        }
        tally.schedule = client.schedule(requests);
        let measured = outcome(tally, Vec::new(), Limit::Open).metrics;
        measured.iter().find(|one| one.metric.name == "requests_per_second").expect("a rate").value
    };
    let is = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.01, "{found}, not {expected}");
    for milliseconds in [20, 200] {
        is(rate(&second, 100, milliseconds, 0), 100.0);
        // The last one waits for 990 ms that have piled up, after 990 ms.
        is(rate(&second, 100, milliseconds, 10), 100.0 / 1.98);
    }
    is(rate(&Client { window: None, ..second.clone() }, 50, 200, 0), 100.0);
    // One alone is all that there was in its time.
    is(rate(&Client { window: None, pace: Pace::PerSecond(0.01), ..second.clone() }, 1, 200, 0), 5.0);
    let sessions = Client { calls: 5, think_time: Duration::from_millis(500), ..second.clone() };
    is(rate(&sessions, 500, 20, 0), 500.0);
    // A closed loop is as fast as it is.
    is(rate(&Client { pace: Pace::Closed, ..second }, 100, 200, 0), 100.0 / 1.19);
}

#[test]
fn the_slowest_answer_of_a_closed_loop_takes_no_time_of_the_others() {
    const CONNECTIONS: usize = 8;
    const QUIET: Duration = Duration::from_secs(1);
    for engine in ENGINES {
        for threads in [1, 2] {
            let (asked, last) = (AtomicUsize::new(0), Mutex::new(Instant::now()));
            let server = Server::start(move |stream, target| {
                *last.lock().expect("no thread panics with it") = Instant::now();
                if asked.fetch_add(1, Ordering::Relaxed) == 0 {
                    // Until nobody else has asked for a while.
                    let quiet_for = || last.lock().expect("no thread panics with it").elapsed();
                    while quiet_for() < QUIET {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
                well(stream, target)
            });
            let window = Some(Duration::from_millis(200));
            let client = Client { window, threads, ..client(server.address, CONNECTIONS, true, engine) };
            let began = Instant::now();
            let (tally, _) = driven(&client, &mut Endless(0));
            let elapsed = began.elapsed().as_secs_f64();
            assert_eq!((tally.right, tally.faults()), (tally.requests, 0), "{engine:?}: all count");
            let least = (CONNECTIONS as f64 * 0.2 + 0.8) / CONNECTIONS as f64;
            assert!((least..elapsed - 0.25).contains(&tally.seconds), "{engine:?}: {} of {elapsed} s", tally.seconds);
        }
    }
}

#[test]
fn a_session_that_the_server_cuts_short_makes_its_calls_all_the_same() {
    let says_so = |stream: &mut TcpStream, target: &str| {
        let is_last = target.ends_with(['1', '3', '5', '7', '9']);
        let word = if is_last { "close" } else { "keep-alive" };
        let text = format!("HTTP/1.1 200 OK\r\nConnection: {word}\r\nContent-Length: 5\r\n\r\nhello");
        stream.write_all(text.as_bytes()).is_ok() && !is_last
    };
    for engine in ENGINES {
        for think_time in [Duration::ZERO, Duration::from_millis(30)] {
            for (server, is_silent) in [(Server::start(says_so), false), (Server::start(closing), true)] {
                let client = Client {
                    calls: 5,
                    think_time,
                    requests_max: 20,
                    pace: Pace::PerSecond(50.0),
                    ..client(server.address, 10, true, engine)
                };
                let tally = run(&client, numbered(1000));
                assert_eq!(
                    (tally.answers, tally.faults(), tally.sessions),
                    (20, 0, 4),
                    "{engine:?}: {:?}",
                    tally.first
                );
                assert_eq!(server.asked().len(), 20, "{engine:?}");
                let connections = if is_silent { 20..=20 } else { 8..=20 };
                assert!(connections.contains(&tally.connections), "{engine:?}: {}", tally.connections);
                let reached = outcome(tally, Vec::new(), Limit::Open).metrics;
                assert!(reached.iter().any(|measured| measured.metric.name == "sessions_per_second"));
            }
        }
    }
}

#[test]
fn a_thread_without_a_free_connection_takes_no_request_from_the_others() {
    for (engine, pace) in ENGINES.into_iter().flat_map(|one| [(one, Pace::PerSecond(200.0)), (one, Pace::Closed)]) {
        let count = Arc::new(AtomicUsize::new(0));
        let server = Server::start(move |stream, target| {
            // The first one waits until all others have been asked; if one of them waits behind it, for ever.
            if count.fetch_add(1, Ordering::SeqCst) == 0 {
                let began = Instant::now();
                while count.load(Ordering::SeqCst) < 20 && began.elapsed() < Duration::from_secs(15) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                if count.load(Ordering::SeqCst) < 20 {
                    return false;
                }
            }
            well(stream, target)
        });
        let client = Client { pace, threads: 2, ..client(server.address, 2, true, engine) };
        let tally = run(&client, numbered(20));
        assert_eq!((tally.answers, tally.faults()), (20, 0), "{engine:?}, {pace:?}: {:?}", tally.first);
    }
}

#[test]
fn a_result_says_which_calls_the_load_was_driven_by() {
    for (engine, uring_threads) in [(Engine::Uring, 2), (Engine::Epoll, 0)] {
        let server = Server::start(well);
        let client = Client { threads: 2, ..client(server.address, 4, true, engine) };
        let tally = run(&client, numbered(20));
        assert_eq!((tally.uring_threads, tally.polled_threads), (uring_threads, 2 - uring_threads));
        assert_eq!(tally.engine_note(), None, "it was asked for");
        let metrics = outcome(tally, Vec::new(), Limit::Open).metrics;
        let said = metrics.iter().find(|measured| measured.metric.name == "client_io_uring_threads");
        assert_eq!(said.map(|measured| measured.value), Some(uring_threads as f64));
    }
    let why = Some("Operation not permitted".to_string());
    let mixed = Tally { uring_threads: 1, polled_threads: 1, without_uring: why, ..Tally::default() };
    let note = mixed.engine_note().expect("it was not asked for");
    let begin = "1 of 2 threads of the load used epoll, as io_uring could not be used (Operation not permitted): ";
    assert!(note.starts_with(begin), "{note}");
    let all = Tally { uring_threads: 0, ..mixed }.engine_note().expect("it was not asked for");
    assert!(all.starts_with("The load used epoll, as "), "{all}");
}
