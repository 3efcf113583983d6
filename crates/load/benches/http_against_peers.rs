//! Our HTTP load against wrk, ab, h2load, httperf and siege: one worker of nginx, a file of 590 bytes, 25 connections, in
//! rounds of all of them in turn.
//!
//! CPU time is that of the whole process, user and kernel. Goals: with kept connections at most 0.85 of wrk's and 0.9 of ab's
//! and h2load's; with a connection a request at most 0.95 of wrk's and ab's, and 0.4 of httperf's; a list of URLs, here a log, at
//! most 0.25 of siege's; never fewer requests per second; in an open loop the rate within 0.1 %. Missed where the median's
//! interval lies wholly on the wrong side.
//!
//! `cargo bench -p load --bench http_against_peers`; with `-- --only TEXT` the cases with that text. With `--test`, and in
//! `cargo test`, it only shows that all run.

use goals::{Goals, Spread};
use load::http_client::{Client, Engine, Pace, Source, Status, Task, drive};
use load::http_log::{Expected, Hosts, Log, Others};
use load::workload::Error;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Odd, so that the median is a round's.
const ROUNDS: usize = 9;

const CONNECTIONS: usize = 25;

const FILE_BYTES: usize = 590;

/// Rate of the open loop, in requests per second: what one worker does with ease.
const RATE: f64 = 2000.0;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tool {
    Wrk,
    Ab,
    H2load,
    Httperf,
    Siege,
}

struct Case {
    name: &'static str,
    keep_alive: bool,
    /// Whether requests come from a log, else they are one.
    is_log: bool,
    is_open: bool,
    requests: u64,
    /// Our CPU time a request, at most, as a share of what each of these takes.
    cpu_ratios_max: &'static [(Tool, f64)],
}

const CASES: &[Case] = &[
    Case {
        name: "kept connections",
        keep_alive: true,
        is_log: false,
        is_open: false,
        requests: 200_000,
        cpu_ratios_max: &[(Tool::Wrk, 0.85), (Tool::Ab, 0.9), (Tool::H2load, 0.9)],
    },
    Case {
        name: "a connection a request",
        keep_alive: false,
        is_log: false,
        is_open: false,
        requests: 40_000,
        cpu_ratios_max: &[(Tool::Wrk, 0.95), (Tool::Ab, 0.95)],
    },
    Case {
        name: "open loop, a connection a request",
        keep_alive: false,
        is_log: false,
        is_open: true,
        requests: 6_000,
        cpu_ratios_max: &[(Tool::Httperf, 0.4)],
    },
    Case {
        name: "a log, kept connections",
        keep_alive: true,
        is_log: true,
        is_open: false,
        requests: 20_000,
        cpu_ratios_max: &[(Tool::Siege, 0.25)],
    },
];

/// What one side did.
#[derive(Clone, Copy)]
struct Side {
    requests_per_second: f64,
    cpu_microseconds_per_request: f64,
}

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("http_against_peers") else { return ExitCode::SUCCESS };
    let only = goals.after("--only").unwrap_or_default().to_string();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let nginx = Nginx::start(folder.path());
    println!("{CONNECTIONS} connections, a file of {FILE_BYTES} bytes, nginx with one worker on the same machine");
    println!(
        "{:34} {:8} {:>9} {:>9} {:>13} {:>9} {:>9} {:>13}",
        "", "peer", "ours 1/s", "ratio", "96 %", "ours µs", "CPU ratio", "96 %"
    );
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        compare(case, &nginx, folder.path(), &mut goals);
    }
    goals.end()
}

/// Runs the rounds of a case and prints its lines.
fn compare(case: &Case, nginx: &Nginx, folder: &Path, goals: &mut Goals) {
    let (rounds, requests) = if goals.is_test() { (1, case.requests / 100) } else { (ROUNDS, case.requests) };
    let log = folder.join("access.log");
    std::fs::write(
        &log,
        list(requests, |number| {
            format!(
                "10.0.0.1 - - [21/Nov/2026:10:00:00 +0000] \"GET /file?{number} HTTP/1.1\" 200 590 \"-\" \"bench\"\n"
            )
        }),
    )
    .expect("a log can be written");
    let urls = folder.join("urls");
    let url = &nginx.url;
    std::fs::write(&urls, list(requests, |number| format!("{url}file?{number}\n"))).expect("a list can be written");
    let mut ours = Vec::new();
    let mut theirs: BTreeMap<Tool, Vec<Side>> = BTreeMap::new();
    for round in 0..rounds {
        // Who goes first changes, so that a drift of the machine hits all.
        if round % 2 == 0 {
            ours.push(our_side(case, requests, nginx, &log));
        }
        for (tool, _) in case.cpu_ratios_max {
            theirs.entry(*tool).or_default().push(their_side(*tool, case, requests, nginx, &urls));
        }
        if round % 2 == 1 {
            ours.push(our_side(case, requests, nginx, &log));
        }
    }
    for (tool, cpu_ratio_max) in case.cpu_ratios_max {
        line(case, tool_name(*tool), &ours, &theirs[tool], *cpu_ratio_max, goals);
    }
    if case.is_open {
        let worst = ours.iter().map(|side| (side.requests_per_second / RATE - 1.0).abs()).fold(0.0, f64::max);
        println!("{:34} asked for {RATE} a second; farthest from it in any round: {:.3} %", case.name, worst * 100.0);
        goals.at_most(&format!("{}: distance from the rate", case.name), worst, 0.001);
    }
}

fn list(requests: u64, one: impl Fn(u64) -> String) -> String {
    (0..requests).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{}", one(number));
        text
    })
}

fn line(case: &Case, peer: &str, ours: &[Side], theirs: &[Side], cpu_ratio_max: f64, goals: &mut Goals) {
    let spread = |values: Vec<f64>| Spread::of(&values);
    let ratios = |of: fn(&Side) -> f64| spread(ours.iter().zip(theirs).map(|(a, b)| of(a) / of(b)).collect());
    let (rate, cpu) = (ratios(|side| side.requests_per_second), ratios(|side| side.cpu_microseconds_per_request));
    let middle = |of: fn(&Side) -> f64| spread(ours.iter().map(of).collect()).median;
    let against = |what: &str| format!("{}: {what} as a share of that of {peer}", case.name);
    // In an open loop the rate is what was asked for.
    if !case.is_open {
        goals.at_least(&against("requests a second"), rate, 1.0);
    }
    let goal = goals.at_most(&against("CPU time"), cpu, cpu_ratio_max);
    println!(
        "{:34} {peer:8} {:9.0} {:9.3} {:>13} {:9.2} {:9.3} {:>13} {}",
        case.name,
        middle(|side| side.requests_per_second),
        rate.median,
        format!("{:.3}–{:.3}", rate.low, rate.high),
        middle(|side| side.cpu_microseconds_per_request),
        cpu.median,
        format!("{:.3}–{:.3}", cpu.low, cpu.high),
        goal
    );
}

/// The same request again and again.
struct Repeated {
    request: Vec<u8>,
    left: u64,
}

impl Source for Repeated {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        request.extend_from_slice(&self.request);
        Ok(Some(Task { status: Status::Class(2), body_bytes: Some(FILE_BYTES as u64), ..Task::default() }))
    }
}

fn our_side(case: &Case, requests: u64, nginx: &Nginx, log: &Path) -> Side {
    let client = Client {
        addresses: vec![nginx.address],
        connections: CONNECTIONS,
        threads: 1,
        keep_alive: case.keep_alive,
        calls: 0,
        think_time: Duration::ZERO,
        requests_max: 0,
        pace: if case.is_open { Pace::PerSecond(RATE) } else { Pace::Closed },
        window: None,
        timeout: Duration::from_secs(10),
        engine: Engine::Auto,
        tls: None,
    };
    let connection = if case.keep_alive { "" } else { "Connection: close\r\n" };
    let request = format!("GET /file HTTP/1.1\r\nHost: {}\r\n{connection}\r\n", nginx.address).into_bytes();
    let log = Log {
        path: log.into(),
        text: None,
        requests_max: 0,
        others: Others::Skipped,
        hosts: Hosts { default: nginx.address.to_string(), is_one: true, map: BTreeMap::new() },
        expected: Expected::Size,
        body_text: None,
        keep_alive: case.keep_alive,
        bytes_max: u64::MAX,
    };
    let mut logged = log.source(client.pace).expect("the log can be read");
    let mut repeated = Repeated { request, left: requests };
    let source: &mut dyn Source = if case.is_log { &mut logged } else { &mut repeated };
    let before = cpu_seconds(UsageWho::RUSAGE_SELF);
    let driven = drive(&client, source, &AtomicBool::new(false), &mut |_, _| {});
    let (tally, _) = driven.expect("our side runs");
    let cpu_seconds = cpu_seconds(UsageWho::RUSAGE_SELF) - before;
    assert_eq!((tally.answers, tally.faults()), (requests, 0), "{:?}", tally.first);
    // An open loop ends when the last answer has come, one interval before the next request would have started.
    let seconds =
        if case.is_open { tally.seconds - tally.total.microseconds_mean() / 1e6 + 1.0 / RATE } else { tally.seconds };
    let requests = requests as f64;
    Side { requests_per_second: requests / seconds, cpu_microseconds_per_request: cpu_seconds / requests * 1e6 }
}

fn tool_name(tool: Tool) -> &'static str {
    match tool {
        Tool::Wrk => "wrk",
        Tool::Ab => "ab",
        Tool::H2load => "h2load",
        Tool::Httperf => "httperf",
        Tool::Siege => "siege",
    }
}

fn their_side(tool: Tool, case: &Case, requests: u64, nginx: &Nginx, urls: &Path) -> Side {
    let mut command = Command::new(tool_name(tool));
    let (connections, count) = (CONNECTIONS.to_string(), requests.to_string());
    let url = format!("{}file", nginx.url);
    match tool {
        Tool::Wrk => {
            command.args(["-t1", &format!("-c{CONNECTIONS}"), "-d2s", &url]);
            if !case.keep_alive {
                command.args(["-H", "Connection: close"]);
            }
        }
        Tool::Ab => {
            command.args(["-q", "-c", &connections, "-n", &count]).args(case.keep_alive.then_some("-k")).arg(&url);
        }
        Tool::H2load => {
            command.args(["--h1", "-t1", "-c", &connections, "-n", &count, &url]);
        }
        Tool::Httperf => {
            let port = nginx.address.port().to_string();
            // With --hog it takes the server's own port one day, and talks to itself for ever.
            command.args(["--timeout", "5", "--server", "127.0.0.1", "--port", &port, "--uri", "/file"]);
            command.args(["--num-conns", &count, "--rate", &RATE.to_string()]);
        }
        Tool::Siege => {
            let each = (requests / CONNECTIONS as u64).max(1).to_string();
            command.args(["-q", "-b", "-c", &connections, "-r", &each, "-f"]).arg(urls);
        }
    }
    let (before, started) = (cpu_seconds(UsageWho::RUSAGE_CHILDREN), Instant::now());
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}: see BENCH_PACKAGES", tool_name(tool)));
    let seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = cpu_seconds(UsageWho::RUSAGE_CHILDREN) - before;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {text}{}", tool_name(tool), String::from_utf8_lossy(&output.stderr));
    // wrk goes by time, the others by count.
    let done = if tool == Tool::Wrk { word_before(&text, "requests in") } else { requests as f64 };
    let rate = match tool {
        Tool::Wrk => word_after(&text, "Requests/sec:"),
        Tool::Ab => word_after(&text, "Requests per second:"),
        _ => done / seconds,
    };
    Side { requests_per_second: rate, cpu_microseconds_per_request: cpu_seconds / done * 1e6 }
}

fn word_after(text: &str, label: &str) -> f64 {
    let word = text.split(label).nth(1).and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number after {label} in {text}"))
}

fn word_before(text: &str, label: &str) -> f64 {
    let word = text.split(label).next().and_then(|before| before.split_whitespace().last());
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number before {label} in {text}"))
}

fn cpu_seconds(who: UsageWho) -> f64 {
    let usage = getrusage(who).expect("every Unix counts this");
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
}

struct Nginx {
    child: Child,
    address: SocketAddr,
    url: String,
}

impl Nginx {
    fn start(folder: &Path) -> Nginx {
        std::fs::write(folder.join("file"), vec![b'x'; FILE_BYTES]).expect("a file can be written");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.expect("a free port");
        let here = folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {here}/temporary;"))
            .join(" ");
        let config = format!(
            "daemon off; master_process off; user root; pid {here}/pid; error_log {here}/error.log;\n\
             events {{ worker_connections 2000; }}\n\
             http {{ access_log off; {temporary} keepalive_requests 1000000000;\n\
             server {{ listen {address} backlog=4096; root {here}; }} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config).expect("a file can be written");
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(folder.join("nginx.conf")).stdin(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nginx is installed: see BENCH_PACKAGES");
        while TcpStream::connect(address).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Nginx { child, address, url: format!("http://{address}/") }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
