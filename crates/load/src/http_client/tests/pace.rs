//! When requests are sent: rates, pauses, and what a stall does to latencies.

use super::*;

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
            assert!((0.225 + 0.02..2.0).contains(&tally.seconds), "{}", tally.seconds);
            assert!(tally.connection.microseconds_at(0.5) >= 40_000.0, "{}", tally.connection.microseconds_at(0.5));
            // Thinking is no latency.
            assert!(tally.total.microseconds_at(0.5) < 20_000.0, "{}", tally.total.microseconds_at(0.5));
        }
    }
}

#[test]
fn a_think_time_is_kept_and_not_waited_for_at_the_end() {
    let closing = |stream: &mut TcpStream, target: &str| {
        well(stream, target);
        false
    };
    for engine in ENGINES {
        for server in [Server::start(well), Server::start(closing)] {
            let thinking = Client { think_time: Duration::from_millis(30), ..client(server.address, 1, true, engine) };
            let tally = run(&thinking, numbered(6));
            assert_eq!((tally.answers, tally.faults()), (6, 0), "{engine:?}: {:?}", tally.first);
            assert!((0.15..2.0).contains(&tally.seconds), "{}", tally.seconds);
        }
        let server = Server::start(well);
        for (calls, pace) in [(0, Pace::Closed), (5, Pace::PerSecond(50.0))] {
            let (think_time, window) = (Duration::from_secs(100), Some(Duration::from_millis(200)));
            let client = Client { calls, pace, think_time, window, ..client(server.address, 10, true, engine) };
            let tally = run(&client, numbered(1000));
            assert_eq!((tally.answers, tally.requests), (10, 10), "{engine:?}, {pace:?}");
            assert!(tally.seconds < 5.0, "{}", tally.seconds);
        }
    }
}

#[test]
fn an_open_loop_sends_what_its_rate_says() {
    for engine in ENGINES {
        let server = Server::start(well);
        for pace in [Pace::PerSecond(400.0), Pace::AsLogged(2.0)] {
            let open =
                Client { pace, window: Some(Duration::from_millis(500)), ..client(server.address, 20, true, engine) };
            struct Forever(u32);
            impl Source for Forever {
                fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
                    request.extend_from_slice(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
                    self.0 += 1;
                    Ok(Some(Task { at: Duration::from_millis(5) * (self.0 - 1), ..Task::default() }))
                }
            }
            let (tally, _) = drive(&open, &mut Forever(0), &AtomicBool::new(false), &mut |_, _| {}).expect("driven");
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
