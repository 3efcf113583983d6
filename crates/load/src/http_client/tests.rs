//! The load against a server that misbehaves on demand, by both kinds of calls.

use super::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

#[cfg(target_os = "linux")]
mod forbidden;
mod pace;
mod wrong;

const ENGINES: [Engine; 2] = [Engine::Uring, Engine::Epoll];

/// What a server does with a request; whether the connection is to be used again.
type Answers = dyn Fn(&mut TcpStream, &str) -> bool + Send + Sync;

/// A server in this process: a thread a connection; keeps the targets that it was asked for.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

/// A free port that is listened at until the listener goes.
fn listening() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

impl Server {
    fn start(answers: impl Fn(&mut TcpStream, &str) -> bool + Send + Sync + 'static) -> Server {
        let (listener, address) = listening();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answers, kept): (Arc<Answers>, _) = (Arc::new(answers), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, answers, asked) = (stream.expect("a connection"), answers.clone(), kept.clone());
                std::thread::spawn(move || serve(stream, &*answers, &asked));
            }
        });
        Server { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no thread panics with it").clone()
    }
}

fn serve(mut stream: TcpStream, answers: &Answers, asked: &Mutex<Vec<String>>) {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    loop {
        while let Some(end) = text.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&text[..end]).into_owned();
            text.drain(..end + 4);
            let target = head.split(' ').nth(1).unwrap_or_default().to_string();
            asked.lock().expect("no thread panics with it").push(target.clone());
            if !answers(&mut stream, &target) {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(count) => text.extend_from_slice(&piece[..count]),
        }
    }
}

fn well(stream: &mut TcpStream, _: &str) -> bool {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_ok()
}

/// Says nothing of closing, and closes.
fn closing(stream: &mut TcpStream, target: &str) -> bool {
    well(stream, target);
    false
}

/// Requests for these targets.
struct Targets {
    targets: std::vec::IntoIter<String>,
    keep_alive: bool,
    expected: Option<u64>,
    text: Option<Arc<[u8]>>,
}

impl Source for Targets {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        let Some(target) = self.targets.next() else { return Ok(None) };
        let (target, keep_alive) = (target.as_bytes(), self.keep_alive);
        let plain = http::request::Request {
            method: b"GET",
            target,
            host: b"h",
            referer: b"",
            agent: b"",
            keep_alive,
            body: None,
        };
        plain.write(request);
        let (body_bytes, body_text) = (self.expected, self.text.clone());
        Ok(Some(Task { is_repeatable: true, status: Status::Class(2), body_bytes, body_text, ..Task::default() }))
    }
}

fn client(address: SocketAddr, connections: usize, keep_alive: bool, engine: Engine) -> Client {
    Client {
        addresses: vec![address],
        connections,
        threads: 1,
        keep_alive,
        calls: 0,
        think_time: Duration::ZERO,
        pace: Pace::Closed,
        requests_max: 0,
        window: None,
        timeout: Duration::from_secs(20),
        engine,
        tls: None,
    }
}

fn targets(targets: Vec<String>, keep_alive: bool) -> Targets {
    Targets { targets: targets.into_iter(), keep_alive, expected: None, text: None }
}

/// What these requests came to, and the answers of each whole second.
fn driven(client: &Client, source: &mut dyn Source) -> (Tally, Vec<f64>) {
    drive(client, source, &AtomicBool::new(false), &mut |_, _| {}).expect("driven")
}

fn run(client: &Client, wanted: Vec<String>) -> Tally {
    driven(client, &mut targets(wanted, client.keep_alive)).0
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("/{number}")).collect()
}

#[test]
fn every_request_is_sent_once() {
    for engine in ENGINES {
        for (keep_alive, connections, threads) in [(true, 1, 1), (false, 1, 1), (true, 25, 1), (false, 25, 2)] {
            let server = Server::start(well);
            let client = Client { threads, ..client(server.address, connections, keep_alive, engine) };
            let tally = run(&client, numbered(500));
            assert_eq!((tally.requests, tally.answers, tally.faults()), (500, 500, 0), "{:?}", tally.first);
            assert_eq!((tally.classes[1], tally.body_bytes, tally.total.count()), (500, 2500, 500));
            let expected = if keep_alive { connections } else { 500 };
            assert_eq!(tally.connections, expected as u64, "{engine:?}");
            let mut asked = server.asked();
            if connections > 1 {
                asked.sort_by_key(|target| target[1..].parse::<u32>().expect("a number"));
            }
            assert_eq!(asked, numbered(500), "{engine:?}, {connections} connections");
        }
    }
}

#[test]
fn a_kept_connection_that_the_server_closed_is_no_error() {
    for engine in ENGINES {
        let server = Server::start(closing);
        let tally = run(&client(server.address, 4, true, engine), numbered(200));
        assert_eq!((tally.answers, tally.faults()), (200, 0), "{engine:?}: {:?}", tally.first);
        assert_eq!(tally.connections, 200);
        // Sent again or not, what the server saw it saw once.
        assert_eq!(server.asked().len(), 200);
    }
}

fn misbehave(stream: &mut TcpStream, target: &str) -> bool {
    let _ = match target {
        "/reset" => {
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let set = nix::sys::socket::setsockopt(&*stream, nix::sys::socket::sockopt::Linger, &linger);
            return set.is_err();
        }
        "/early" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello").is_ok(),
        "/never" => {
            std::thread::sleep(Duration::from_secs(3));
            false
        }
        "/bytewise" => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".iter().all(|byte| {
            std::thread::sleep(Duration::from_millis(2));
            stream.write_all(&[*byte]).is_ok()
        }),
        "/not-http" => stream.write_all(b"220 mail.example ESMTP\r\n").is_ok(),
        "/status" => stream.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello").is_ok(),
        "/size" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!").is_ok(),
        "/two-lengths" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n").is_ok()
        }
        "/chunked" => {
            let text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
            return stream.write_all(text).is_ok();
        }
        "/huge-head" => {
            // 10 MB of headers.
            let header = format!("X-Filler: {}\r\n", "x".repeat(1000));
            stream.write_all(b"HTTP/1.1 200 OK\r\n").is_ok()
                && (0..10_000).all(|_| stream.write_all(header.as_bytes()).is_ok())
        }
        "/endless-head" => (0..5000).all(|_| stream.write_all(&[b'x'; 2000]).is_ok()),
        "/excess" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, who are you?").is_ok(),
        "/until-closed" => stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nhello").is_ok(),
        _ => return well(stream, target),
    };
    false
}

/// So have those of other loads, by the same macro.
#[test]
fn faults_have_their_places() {
    assert!(Fault::all().into_iter().enumerate().all(|(place, fault)| fault as usize == place));
}

#[test]
fn whatever_a_server_does_is_counted_by_kind() {
    let one = |engine: Engine, keep_alive: bool, target: &str| {
        let server = Server::start(misbehave);
        let client = Client { timeout: Duration::from_secs(1), ..client(server.address, 1, keep_alive, engine) };
        let wanted = vec!["/well".to_string(), target.into(), "/well".into()];
        let (tally, _) = driven(&client, &mut Targets { expected: Some(5), ..targets(wanted, keep_alive) });
        let faults: Vec<Fault> = Fault::all().into_iter().filter(|fault| tally.faults[*fault as usize] > 0).collect();
        assert!(tally.faults() <= 1 && tally.answers >= 2, "{target}: {:?}", tally.first);
        // A wrong answer is one.
        let unanswered = [("/never", 1), ("/early", 1), ("/status", 0), ("/well", 0)];
        assert!(unanswered.iter().all(|known| known.0 != target || known.1 == tally.unanswered()), "{target}");
        faults
    };
    for engine in ENGINES {
        for keep_alive in [true, false] {
            let is = |target: &str, fault: &[Fault]| {
                assert_eq!(one(engine, keep_alive, target), fault, "{target}, {engine:?}, {keep_alive}");
            };
            is("/early", &[Fault::ClosedEarly]);
            is("/never", &[Fault::TimedOut]);
            is("/bytewise", &[]);
            is("/not-http", &[Fault::Malformed]);
            is("/status", &[Fault::WrongStatus]);
            is("/size", &[Fault::WrongSize]);
            is("/two-lengths", &[Fault::Malformed]);
            is("/chunked", &[]);
            is("/endless-head", &[Fault::Malformed]);
            is("/huge-head", &[Fault::Malformed]);
            is("/excess", &[Fault::Malformed]);
            is("/until-closed", &[]);
            // On a kept connection it is the server's right to close between requests: the request is sent again, once.
            is("/reset", &[Fault::Reset]);
        }
    }
}

#[test]
fn a_body_without_its_text_is_counted() {
    for engine in ENGINES {
        let server = Server::start(misbehave);
        let faults = |target: &str, text: &str| {
            let mut source = Targets { text: Some(text.as_bytes().into()), ..targets(vec![target.into(); 2], true) };
            let (tally, _) = driven(&client(server.address, 1, true, engine), &mut source);
            assert_eq!(
                (tally.answers, tally.faults()),
                (2, tally.faults[Fault::WrongBody as usize]),
                "{:?}",
                tally.first
            );
            tally.faults()
        };
        assert_eq!(["hello", "ell", "hallo", "hello!"].map(|text| faults("/well", text)), [0, 0, 2, 2], "{engine:?}");
        assert_eq!(["hello", "lo", "he\r"].map(|text| faults("/bytewise", text)), [0, 0, 2], "{engine:?}");
        assert_eq!(["llo", "el"].map(|text| faults("/chunked", text)), [0, 0], "{engine:?}");
    }
}

#[test]
fn nobody_listening_is_counted_and_ends() {
    for engine in ENGINES {
        let (_, address) = listening();
        let tally = run(&client(address, 5, true, engine), numbered(50));
        assert_eq!((tally.answers, tally.faults[Fault::ConnectRefused as usize]), (0, 50), "{:?}", tally.first);
    }
}

#[test]
fn a_connection_that_is_not_taken_times_out() {
    for engine in ENGINES {
        let (listener, address) = listening();
        // Nobody takes connections: the queue of those that wait is soon full.
        nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(0).expect("a length")).expect("listening");
        let _full: Vec<_> = (0..2).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(50))).collect();
        let client = Client { timeout: Duration::from_millis(300), ..client(address, 3, false, engine) };
        let tally = run(&client, numbered(9));
        assert_eq!((tally.answers, tally.faults()), (0, 9), "{:?}", tally.first);
        assert!(tally.faults[Fault::ConnectTimedOut as usize] > 0, "{engine:?}: {:?}", tally.first);
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_counted_and_ends() {
    // It answers what ends like a request's head, and a handshake does not.
    let silent = Server::start(well);
    let (refusing, refusing_address) = listening();
    std::thread::spawn(move || {
        for stream in refusing.incoming() {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    for engine in ENGINES {
        for (address, fault) in [(silent.address, Fault::ConnectTimedOut), (refusing_address, Fault::Tls)] {
            let tls = Some(Tls::new("127.0.0.1", tls::Trust::Anyone).expect("an address is a name"));
            let client = Client { tls, timeout: Duration::from_millis(200), ..client(address, 2, true, engine) };
            let tally = run(&client, numbered(6));
            assert_eq!((tally.answers, tally.faults[fault as usize]), (0, 6), "{engine:?}: {:?}", tally.first);
        }
    }
}

#[test]
fn large_bodies_come_whole() {
    const BYTES: usize = 3 << 20;
    for engine in ENGINES {
        let server = Server::start(|stream, _| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
            stream.write_all(head.as_bytes()).is_ok() && stream.write_all(&vec![b'x'; BYTES]).is_ok()
        });
        for (keep_alive, connections) in [(true, 40), (false, 3)] {
            let tally = run(&client(server.address, connections, keep_alive, engine), numbered(60));
            assert_eq!((tally.answers, tally.faults()), (60, 0), "{engine:?}: {:?}", tally.first);
            assert_eq!(tally.body_bytes, 60 * BYTES as u64);
        }
    }
}

#[test]
fn a_connection_ends_after_its_calls() {
    for engine in ENGINES {
        let server = Server::start(well);
        for (calls, keep_alive, connections) in [(4, true, 3), (1, true, 10), (1, false, 10), (0, true, 1)] {
            let client = Client { calls, ..client(server.address, 1, keep_alive, engine) };
            let tally = run(&client, numbered(10));
            assert_eq!((tally.answers, tally.faults()), (10, 0), "{engine:?}: {:?}", tally.first);
            assert_eq!(
                (tally.connections, tally.connection.count()),
                (connections, connections),
                "{engine:?}, {calls}"
            );
        }
    }
}

#[test]
fn what_has_no_effect_is_refused() {
    let plain = client(([127, 0, 0, 1], 1).into(), 1, true, Engine::Auto);
    let thinking = Client { think_time: Duration::from_secs(1), ..plain.clone() };
    assert_eq!(plain.problem(), None);
    assert_eq!(thinking.problem(), None);
    assert_eq!(Client { calls: 2, pace: Pace::PerSecond(1.0), ..thinking.clone() }.problem(), None);
    assert!(Client { calls: 2, keep_alive: false, ..plain }.problem().is_some());
    assert!(Client { calls: 1, ..thinking.clone() }.problem().is_some());
    assert!(Client { keep_alive: false, ..thinking.clone() }.problem().is_some());
    assert!(Client { pace: Pace::PerSecond(1.0), ..thinking.clone() }.problem().is_some());
    assert!(Client { calls: 2, pace: Pace::AsLogged(1.0), ..thinking }.problem().is_some());
}

#[test]
fn a_loop_that_is_interrupted_ends() {
    let server = Server::start(well);
    let stop = AtomicBool::new(true);
    let mut source = targets(numbered(1_000_000), true);
    let ended = drive(&client(server.address, 2, true, Engine::Auto), &mut source, &stop, &mut |_, _| {});
    assert!(matches!(ended, Err(Error::Interrupted)));
}

/// As a user does while one of the requests is drawn.
struct Stopping<'a> {
    targets: Targets,
    left: usize,
    stop: &'a AtomicBool,
}

impl Source for Stopping<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        self.left = self.left.saturating_sub(1);
        self.stop.store(self.left == 0, Ordering::Relaxed);
        self.targets.next(request)
    }
}

#[test]
fn what_came_before_an_interruption_is_kept_by_who_asks_for_it() {
    let server = Server::start(well);
    let stop = AtomicBool::new(false);
    let mut source = Stopping { targets: targets(numbered(1_000_000), true), left: 10, stop: &stop };
    let driven = drive_until(&client(server.address, 1, true, Engine::Auto), &mut source, &stop, &mut |_, _| {});
    let (tally, _) = driven.expect("nothing failed");
    // One is drawn ahead, and one may be under way.
    assert!((8..=10).contains(&tally.right) && tally.requests <= 10, "{} of {}", tally.right, tally.requests);
    assert_eq!(tally.faults(), 0, "what was under way is no fault");
}

/// Needs root: a network of its own, with eleven ports to connect from.
#[test]
fn no_ports_left_is_counted_as_that() {
    assert!(nix::unistd::geteuid().is_root(), "this test makes a network namespace: run it as root");
    std::thread::spawn(|| {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("a network of one's own");
        raise_loopback();
        let slow = |stream: &mut TcpStream, target: &str| {
            std::thread::sleep(Duration::from_millis(100));
            well(stream, target)
        };
        // They take ports of that range, too.
        let servers = ENGINES.map(|engine| (engine, Server::start(slow)));
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40010").expect("set");
        for (engine, server) in servers {
            let tally = run(&client(server.address, 25, true, engine), numbered(100));
            assert!(tally.faults[Fault::NoPorts as usize] > 0, "{engine:?}: {:?}", tally.first);
            assert_eq!(tally.answers + tally.faults(), 100);
        }
    })
    .join()
    .expect("no panic");
}

fn raise_loopback() {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    // SAFETY: zeros are a valid `ifreq`, and the ioctl reads one.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let raised = libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCSIFFLAGS, &request);
        assert_eq!(raised, 0, "{}", std::io::Error::last_os_error());
    }
}
