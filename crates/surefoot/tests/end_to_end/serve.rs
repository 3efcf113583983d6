//! `surefoot serve` as a browser meets it, and as those do who should not: the real process, real sockets, Chromium.

use crate::harness::{World, small_study, wait_until};
use ledger::model::{AnalysisSettings, Place, Scenario, StudyRecord, TrialState};
use observe::durability::Durability;
use observe::metric::{Direction, Metric};
use observe::record::Run;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

const SPEED: Metric = Metric::new("transactions_per_second", "1/s", Direction::More);

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub fn start(world: &World, files: &[&str]) -> Server {
        let mut child = world.command(&[&["serve"], files].concat());
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("surefoot starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says where it is");
        let port = line.trim().trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        Server { port: port.unwrap_or_else(|| panic!("no port in {line:?}")), child }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        stream
    }

    /// Sends this and gives all that comes back.
    fn say(&self, text: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    pub fn get(&self, path: &str) -> String {
        self.say(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A ledger of two filesystems, without a trial.
fn begun(path: &Path, name: &str) -> ledger::Writer {
    let study = StudyRecord {
        name: name.into(),
        question: format!("Which filesystem suits {name}?"),
        hash: "0".into(),
        seed: 1,
        balanced_orders: true,
        surefoot_version: "0".into(),
        created: 1_795_219_440.0,
        baseline: "ext4".into(),
        analysis: AnalysisSettings {
            confidence: 0.95,
            margin: 0.03,
            precision: 0.03,
            rounds_min: 6,
            rounds_max: 20,
            ..AnalysisSettings::default()
        },
        ..StudyRecord::default()
    };
    let scenario = |filesystem: &str| Scenario {
        label: filesystem.into(),
        levels: BTreeMap::from([("storage.filesystem".into(), filesystem.into())]),
        workload: "oltp".into(),
        primary_metric: SPEED.name.to_string(),
        control: false,
        baseline: filesystem == "ext4",
        durability: Durability::full(),
        settings: serde_json::json!({}),
    };
    let mut writer = ledger::Writer::create_or_open(path).expect("a new ledger");
    writer.set_study(&study, &["ext4", "xfs"].map(scenario), None).expect("written");
    writer.begin_session(&BTreeMap::from([("kernel".into(), "6.1".into())]), 1_795_219_440.0).expect("written");
    writer
}

fn add_round(writer: &mut ledger::Writer, round: u32) {
    for (position, (filesystem, speed)) in [("ext4", 100.0), ("xfs", 150.0)].into_iter().enumerate() {
        let started = 1_795_219_450.0 + f64::from(round) * 60.0;
        let id = writer.begin_trial(filesystem, Place::main(round, position as u32), 1, started).expect("written");
        let metrics = vec![SPEED.at(speed + f64::from(round))];
        let (latencies, series) = (BTreeMap::new(), BTreeMap::new());
        let run = Run { run: 0, warm_up: false, started, seconds: 9.0, metrics, latencies, series };
        writer.run(id, &run).expect("written");
        writer.finish_trials(&[(id, TrialState::Finished, None)], started + 10.0).expect("written");
    }
}

/// A ledger of a study that is done.
fn done(path: &Path, name: &str) {
    let mut writer = begun(path, name);
    for round in 0..6 {
        add_round(&mut writer, round);
    }
    writer.end_session("the wanted precision is reached", 1_795_219_999.0).expect("written");
}

fn bytes_and_time(path: &Path) -> (Vec<u8>, SystemTime) {
    let changed = path.metadata().and_then(|metadata| metadata.modified()).expect("a time");
    (std::fs::read(path).expect("readable"), changed)
}

#[track_caller]
fn check(answer: &str, status: &str, says: &[&str]) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "no {status}: {answer}");
    for text in says {
        assert!(answer.contains(text), "no {text:?} in {answer}");
    }
}

#[test]
fn pages_are_served_to_own_names_only_and_the_ledger_stays_as_it_is() {
    let world = World::new();
    let path = world.path().join("mail.surefoot");
    done(&path, "mail");
    let before = bytes_and_time(&path);
    let server = Server::start(&world, &["mail.surefoot"]);
    check(&server.get("/"), "302", &["Location: /mail\r\n"]);
    let headers = ["Cache-Control: no-store", "X-Content-Type-Options: nosniff", "frame-ancestors 'none'"];
    check(&server.get("/mail"), "200", &[&headers[..], &["connect-src 'self'", "Pick xfs", "6 trials"]].concat());
    check(&server.get("/mail/version?x"), "200", &["application/json", "{\"version\":\""]);
    let own = format!("Host: localhost:{}\r\n", server.port);
    let head = server.say(&format!("HEAD /mail HTTP/1.1\r\n{own}\r\n"));
    check(&head, "200", &["Content-Length: "]);
    assert!(head.ends_with("\r\n\r\n"), "a HEAD has no body: {head}");
    let rebound = server.say(&format!("GET /mail HTTP/1.1\r\nHost: evil.example:{}\r\n\r\n", server.port));
    check(&rebound, "421", &["own names only"]);
    assert!(!rebound.contains("xfs"), "{rebound}");
    check(&server.say("GET /mail HTTP/1.1\r\n\r\n"), "421", &[]);
    check(
        &server.say(&format!("GET /mail HTTP/1.1\r\n{own}Sec-Fetch-Site: cross-site\r\n\r\n")),
        "403",
        &["another site"],
    );
    let body = "x".repeat(100_000);
    check(
        &server.say(&format!("POST /mail HTTP/1.1\r\n{own}Content-Length: 9\r\n\r\n123456789")),
        "405",
        &["Allow: GET, HEAD"],
    );
    check(&server.say(&format!("GET /mail HTTP/1.1\r\n{own}X: {body}")), "400", &[]);
    for path in [
        "/../../etc/passwd",
        "/mail/../mail.surefoot",
        "/mail.surefoot",
        "/mail/",
        "/%2e%2e/etc/passwd",
        "//mail",
        "/mail/version/x",
    ] {
        check(&server.get(path), "404", &[]);
    }
    assert!(TcpStream::connect(("::1", server.port)).is_err(), "it listens on 127.0.0.1 alone");
    assert_eq!(bytes_and_time(&path), before);
    let left: Vec<_> = world.path().read_dir().expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["mail.surefoot"]);
}

#[test]
fn slow_and_broken_clients_stop_nobody() {
    let world = World::new();
    done(&world.path().join("mail.surefoot"), "mail");
    let server = Server::start(&world, &["mail.surefoot"]);
    // Some hold a thread each, some more wait for one; some go in the middle of an answer.
    let mut slow: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /mail HTTP/1.1\r\nHost: ").expect("it listens");
    }
    check(&server.get("/mail"), "200", &["Pick xfs"]);
    for _ in 0..40 {
        let mut stream = server.connect();
        stream
            .write_all(format!("GET /mail HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.port).as_bytes())
            .expect("sent");
    }
    slow.extend((0..40).map(|_| server.connect()));
    check(&server.get("/mail"), "200", &["Pick xfs"]);
    // Nobody is waited for without end: the server hangs up.
    let mut rest = Vec::new();
    let ended = slow[0].read_to_end(&mut rest);
    assert!(ended.is_ok() && rest.is_empty(), "{ended:?} {rest:?}");
}

#[test]
fn several_files_stand_in_one_view() {
    let world = World::new();
    done(&world.path().join("mail.surefoot"), "mail");
    done(&world.path().join("web <b>.surefoot"), "web");
    drop(begun(&world.path().join("new.surefoot"), "new"));
    let server = Server::start(&world, &["mail.surefoot", "web <b>.surefoot", "new.surefoot"]);
    let index = server.get("/");
    check(
        &index,
        "200",
        &["href=\"/mail\"", "href=\"/web--b-\"", "Which filesystem suits web?", "Pick xfs", "12 trials finished"],
    );
    check(&index, "200", &["cut off; the command that began it goes on", " 0ms of trials", "href=\"/all\""]);
    check(
        &server.get("/all"),
        "200",
        &["id=\"side-oltp-transactions-per-second\"", "data-ask=\"/all/version\"", ">152"],
    );
    check(&server.get("/web--b-"), "200", &["all results"]);
    check(&server.get("/web"), "404", &[]);
}

#[test]
fn a_ledger_that_goes_breaks_or_comes_back_is_said() {
    let world = World::new();
    let path = world.path().join("mail.surefoot");
    done(&path, "mail");
    let whole = std::fs::read(&path).expect("readable");
    let server = Server::start(&world, &["mail.surefoot"]);
    let version = server.get("/mail/version");
    check(&server.get("/mail"), "200", &["Pick xfs"]);
    std::fs::remove_file(&path).expect("removed");
    check(&server.get("/mail"), "503", &["cannot open the results file mail.surefoot", "looks again by itself"]);
    assert_ne!(server.get("/mail/version"), version);
    for broken in
        [&whole[..whole.len() / 2], &b""[..], b"something else, long enough to be looked at".repeat(40).as_slice()]
    {
        std::fs::write(&path, broken).expect("written");
        check(&server.get("/mail"), "503", &["mail.surefoot"]);
        check(&server.get("/all"), "200", &["mail.surefoot"]);
    }
    std::fs::write(&path, &whole).expect("written");
    check(&server.get("/mail"), "200", &["Pick xfs"]);
    drop(server);
    world.surefoot(&["serve", "gone.surefoot"]).status(2).says("gone.surefoot");
    world.surefoot(&["serve", "."]).status(2).says("none of a fleet's members").says("name the files: ./*.surefoot");
}

#[test]
fn the_page_follows_a_study_that_runs() {
    let world = World::new();
    // Long enough for several looks, of which each has the whole page made.
    world.write("small.toml", small_study(&["ext4", "ext2"], 2).replace("300ms", "1s"));
    let mut run = world.start(&["run", "small.toml"]);
    let path = world.path().join("small.surefoot");
    wait_until("a trial is under way", || {
        let known =
            path.is_file().then(|| ledger::Reader::open(&path).and_then(|reader| reader.contents()).ok()).flatten();
        known.is_some_and(|contents| !contents.trials.is_empty())
    });
    let server = Server::start(&world, &["small.surefoot"]);
    let first = server.get("/small");
    let mut versions = std::collections::BTreeSet::new();
    wait_until("the study is done", || {
        versions.insert(server.get("/small/version"));
        check(&server.get("/small"), "200", &[]);
        run.try_wait().expect("it is our child").is_some()
    });
    assert!(run.wait().expect("it ended").success(), "the run was not disturbed");
    let last = server.get("/small");
    assert!(first.contains("This study is running") && first.contains("Under way: "), "{first}");
    assert!(!last.contains("This study is running") && last.contains("was ahead"), "{last}");
    assert!(versions.len() > 4, "each record is a new version: {versions:#?}");
    drop(server);
    // SQLite leaves its log, empty, where the run and a reader leave in the same moment.
    let log = world.path().join("small.surefoot-wal").metadata().map_or(0, |log| log.len());
    assert_eq!(log, 0, "the ledger is whole in its file");
}

#[test]
fn a_browser_loads_the_page_again_when_there_is_more() {
    let world = World::new();
    let path = world.path().join("mail.surefoot");
    let mut writer = begun(&path, "mail");
    add_round(&mut writer, 0);
    let server = Server::start(&world, &["mail.surefoot"]);
    check(&server.get("/mail"), "200", &["This study is running", ", 2 trials finished"]);
    let asked = connections(server.port);
    let ended = AtomicBool::new(false);
    let opened = std::thread::scope(|scope| {
        scope.spawn(|| {
            // More and more until the page was loaded and asked several times; then no more, or it would never stop to load.
            let goes_on = || !ended.load(Ordering::Relaxed) && connections(server.port) < asked + 8;
            for round in (1..).take_while(|_| goes_on()) {
                add_round(&mut writer, round);
                // More often than a browser asks, and no more: the server reads all of them each time.
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let opened = browse(&format!("http://127.0.0.1:{}/mail", server.port));
        ended.store(true, Ordering::Relaxed);
        opened
    });
    let Some((dom, console)) = opened else { return };
    assert_eq!(console, "");
    assert!(dom.contains("data-ready=\"1\""), "the page's own script did not reach its end");
    assert!(dom.contains("follows by itself, last at "), "it was not loaded again: {dom}");
    assert!(!dom.contains(", 2 trials finished"), "it shows what was there first");
}

/// Connections to a port, those that ended within the last minute too (proc_net_tcp of the kernel's documentation).
fn connections(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("/proc");
    let is_ours = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let (local, state) = (words.next().unwrap_or_default(), words.nth(1));
        local.ends_with(&format!(":{port:04X}")) && state != Some("0A")
    };
    table.lines().filter(is_ours).count()
}

/// The page after a while, and what the browser's console says; `None`, aloud, without a browser. In CI that is a failure.
fn browse(url: &str) -> Option<(String, String)> {
    let profile = tempfile::tempdir().expect("a folder");
    let output = Command::new("timeout")
        .args(["300", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=300000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .output();
    let output = output.expect("coreutils are there");
    if output.status.code() == Some(127) {
        assert!(std::env::var_os("CI").is_none(), "no Chromium in CI: install the package chromium");
        eprintln!("SKIPPED: no Chromium found (package chromium), so the page was not opened");
        return None;
    }
    let console = String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("CONSOLE")).collect();
    Some((String::from_utf8_lossy(&output.stdout).into_owned(), console))
}
