//! `surefoot replay` against a real nginx: what the log asks for is what the server sees, and whatever goes wrong is said.

use crate::harness::{World, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// One worker of nginx, in this test's folder.
struct Nginx {
    child: Child,
    url: String,
}

impl Nginx {
    fn start(world: &World) -> Nginx {
        Nginx::listening(world, "http", "")
    }

    /// With TLS, and a certificate for 127.0.0.1 that it signed itself: `certificate.pem`.
    fn secured(world: &World, settings: &str) -> Nginx {
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
        openssl.args(["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]);
        openssl.args([
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-keyout",
            "key.pem",
            "-out",
            "certificate.pem",
        ]);
        let made = openssl.current_dir(world.path()).output().expect("openssl is installed: `make test` does it");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let here = world.path().display();
        let files = format!("ssl_certificate {here}/certificate.pem; ssl_certificate_key {here}/key.pem; {settings}");
        Nginx::listening(world, "https", &files)
    }

    fn listening(world: &World, scheme: &str, settings: &str) -> Nginx {
        let ssl = if scheme == "https" { " ssl" } else { "" };
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let here = world.path().display();
        std::fs::create_dir_all(world.path().join("site")).expect("a folder");
        let config = format!(
            "daemon off; master_process off; user root; pid {here}/pid; error_log {here}/error.log;\n\
             events {{ worker_connections 2000; }}\n\
             http {{\n  log_format with_host '$host $remote_addr - - [$time_local] \"$request\" $status $body_bytes_sent \
             \"$http_referer\" \"$http_user_agent\"';\n  access_log {here}/access.log with_host;\n\
             client_body_temp_path {here}/t; proxy_temp_path {here}/t; fastcgi_temp_path {here}/t; \
             uwsgi_temp_path {here}/t; scgi_temp_path {here}/t;\n\
             server {{ listen 127.0.0.1:{port}{ssl}; root {here}/site; keepalive_requests 50; {settings} }}\n}}\n"
        );
        let config = world.write("nginx.conf", config);
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(config).stdin(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nginx is installed: `make test` does it");
        wait_until("nginx listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Nginx { child, url: format!("{scheme}://127.0.0.1:{port}") }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("nginx is there");
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Files of 1, 38, 75 … bytes and a log that asks for them, of two hosts.
fn site(world: &World, lines: usize) -> Vec<String> {
    let mut log = Vec::new();
    for number in 0..lines {
        let bytes = 1 + 37 * (number % 20);
        let path = world.path().join(format!("site/file {}.html", number % 20));
        std::fs::create_dir_all(world.path().join("site")).expect("a folder");
        std::fs::write(path, vec![b'x'; bytes]).expect("a file");
        let host = ["a.example:80", "b.example:8080"][number % 2];
        let (method, target, status, bytes) = match number % 50 {
            7 => ("HEAD", format!("/file%20{}.html", number % 20), 200, 0),
            11 => ("GET", "/missing".to_string(), 404, 153),
            13 => ("GET", format!("/file%20{}.html", number % 20), 304, 0),
            _ => ("GET", format!("/file%20{}.html?n={number}", number % 20), 200, bytes),
        };
        let second = number / 10 % 60;
        log.push(format!(
            "{host} 10.0.0.1 - - [21/Nov/2026:10:00:{second:02} +0000] \"{method} {target} HTTP/1.1\" {status} {bytes} \
             \"http://a.example/\" \"agent {number}\""
        ));
    }
    log
}

/// Method, target, host, referer and agent of each line: what a server sees of a request.
fn seen(log: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let host = line.split([' ', ':']).next().unwrap_or_default();
        let quoted: Vec<&str> = line.split('"').collect();
        format!("{host} {} {} {}", quoted[1], quoted[3], quoted[5])
    };
    log.lines().map(of_line).collect()
}

/// As `head` does: it had ended in a panic.
#[test]
fn a_reader_that_goes_ends_it_quietly() {
    let world = World::new();
    world.write("log", "127.0.0.1 - - [21/Nov/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = world.command(&["replay", "log", "http://127.0.0.1:9/"]).stdout(writer).output().expect("it starts");
    assert!(ended.status.code().is_none() && ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn the_server_sees_what_the_log_asks_for() {
    let world = World::new();
    let log = site(&world, 300);
    let mut text = log.join("\n");
    text.push_str("\nwhat is this\n10.0.0.1 - - [21/Nov/2026:10:00:40 +0000] \"POST /form HTTP/1.1\" 200 5\n");
    let path = world.write("wanted.log", &text);
    let path = path.to_str().expect("a name");
    for (connections, keep_alive) in [("1", false), ("1", true), ("25", false), ("25", true)] {
        for engine in ["io_uring", "epoll"] {
            let nginx = Nginx::start(&world);
            let _ = std::fs::write(world.path().join("access.log"), "");
            let mut arguments = vec!["replay", path, &nginx.url, "--connections", connections, "--expect", "size"];
            arguments.extend(["--engine", engine]);
            if keep_alive {
                arguments.push("--keep-alive");
            }
            let said = world.surefoot(&arguments).status(0);
            let said = said.says("1 line without a time like [10/Oct/2000:13:55:36 -0700] (line 301)");
            let said = said.says("300, without 1 that need a body").says("2xx 294, 4xx 6");
            assert!(!said.stdout.contains("errors"), "{}", said.stdout);
            drop(nginx);
            let (mut asked, mut wanted) = (
                seen(&std::fs::read_to_string(world.path().join("access.log")).expect("nginx's log")),
                seen(&log.join("\n")),
            );
            if connections == "25" {
                asked.sort();
                wanted.sort();
            }
            assert_eq!(asked, wanted, "{connections} connections, {engine}");
        }
    }
}

#[test]
fn answers_that_differ_from_the_log_are_errors() {
    let world = World::new();
    let log = site(&world, 100);
    std::fs::remove_file(world.path().join("site/file 3.html")).expect("removed");
    std::fs::write(world.path().join("site/file 4.html"), "other").expect("written");
    let path = world.write("wanted.log", log.join("\n"));
    let path = path.to_str().expect("a name");
    let nginx = Nginx::start(&world);
    let said = world.surefoot(&["replay", path, &nginx.url, "--expect", "size"]).status(3);
    said.says("errors: 5 wrong status (first: 404)")
        .says("5 bytes instead of 149)")
        .says("of 100 requests went wrong. Speed and");
    world.surefoot(&["replay", path, &nginx.url, "--expect", "nothing"]).status(0);
    let expecting =
        |text: &str| world.surefoot(&["replay", path, &nginx.url, "--expect", "nothing", "--expect-text", text]);
    // nginx's own page for the five that are missing has this letter.
    expecting("x").status(3).says("errors: 5 wrong body (first: no \"x\" in 5 bytes: \"other\")");
    expecting("").status(2);
    let json = world.surefoot(&["replay", path, &nginx.url, "--json"]).status(3).json();
    assert_eq!(json["errors"]["errors_wrong_status"], 5);
    assert_eq!((&json["answers"], &json["right_answers"]), (&100.into(), &95.into()));
}

/// As WordPress does, of a log without virtual hosts.
#[test]
fn a_site_that_leads_on_to_its_own_name_is_told_of() {
    let world = World::new();
    site(&world, 20);
    world.write(
        "wanted.log",
        "10.0.0.1 - - [21/Nov/2026:10:00:00 +0000] \"GET /file%201.html HTTP/1.1\" 200 38\n".repeat(5),
    );
    let own_name = "if ($host != shop.example) { return 301 http://shop.example$request_uri; }";
    let nginx = Nginx::listening(&world, "http", own_name);
    let said = world.surefoot(&["replay", "wanted.log", &nginx.url]).status(3);
    said.says("errors: 5 wrong status (first: 301)").says("wants that asked for (`--host NAME`)");
    let said = world.surefoot(&["replay", "wanted.log", &nginx.url, "--host", "shop.example"]).status(0);
    assert!(!said.stdout.contains("--host"), "{}", said.stdout);
}

#[test]
fn no_number_is_a_panic_and_no_log_is_endless() {
    let world = World::new();
    let url = "http://127.0.0.1:9";
    world.write("good.log", site(&world, 3).join("\n"));
    for (option, value) in
        [("--timeout", "1e30"), ("--think-time", "1e30"), ("--speed", "1e-300"), ("--rate", "1e-300")]
    {
        let said = world.surefoot(&["replay", "good.log", url, "--keep-alive", option, value]).status(2);
        said.says("must be from");
    }
    let log = |first: &str, last: &str| {
        let line = |year: &str| format!("h - - [28/Feb/{year}:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1");
        world.write("years.log", format!("{}\n{}\n", line(first), line(last)));
    };
    log("0001", "9999");
    let said = world.surefoot(&["replay", "years.log", url, "--speed", "1"]).status(2);
    said.says("the log goes over 3651694 days").says("look for a line with a wrong time");
    let said = world.surefoot(&["replay", "good.log", url, "--rate", "100"]).status(3);
    said.says("takes: about").says(", by the rate").says("no right answer");
    world.surefoot(&["replay", "/dev/zero", url]).status(2).says("cannot read /dev/zero").says("no regular file");
    nix::unistd::mkfifo(&world.path().join("fifo"), nix::sys::stat::Mode::S_IRWXU).expect("made");
    world.surefoot(&["replay", "fifo", url]).status(2).says("no regular file");
    let said = world.surefoot(&["replay", "good.log", url, "--log-bytes-max", "100B"]).status(2);
    said.says("more bytes of text than `log_bytes_max` allows");
}

#[test]
fn a_log_that_is_none_is_refused() {
    let world = World::new();
    let url = "http://127.0.0.1:9";
    world.surefoot(&["replay", "missing.log", url]).status(2).says("cannot read missing.log");
    world.write("empty.log", "");
    world.surefoot(&["replay", "empty.log", url]).status(2).says("has no request that can be replayed");
    world.write("binary.log", [0_u8, 159, 146, 150, 10, 255, 254, 10]);
    world.surefoot(&["replay", "binary.log", url]).status(2).says("2 lines without a time");
    let mut half = String::new();
    for line in site(&world, 10) {
        let _ = writeln!(half, "{line}\n{}", &line[..40]);
    }
    world.write("half.log", &half);
    let said = world.surefoot(&["replay", "half.log", url]).status(2);
    said.says("50.0 % of the lines of half.log are no requests, 5.0 % are allowed").says("(lines 2, 4, 6, …)");
    world.write("cut.log.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1]);
    world.surefoot(&["replay", "cut.log.gz", url]).status(2).says("cannot read cut.log.gz");
    world.write("good.log", site(&world, 3).join("\n"));
    world.surefoot(&["replay", "good.log", "ftp://x/"]).status(2).says("use http:// or https://");
    let said = world.surefoot(&["replay", "good.log", url, "--map", "c.example=x"]).status(2);
    said.says("`--map c.example=…` has no effect: the log has a.example, b.example");
    world.surefoot(&["replay", "good.log", url, "--map", "a.example=x", "--host", "x"]).status(2).says("--host");
    let said = world.surefoot(&["replay", "good.log", "http://127.0.0.1:9/shop/"]).status(2);
    said.says("`/shop/` has no effect").says("give the server alone");
    world.surefoot(&["replay", "good.log", "http://127.0.0.1:9/"]).status(3).says("connection refused");
    world.surefoot(&["replay", "good.log", url, "--insecure"]).status(2).says("are for https://");
    let said = world.surefoot(&["replay", "good.log", "https://127.0.0.1:9", "--ca-file", "good.log"]).status(2);
    said.says("wrong data in good.log: expected certificates in PEM form, found none");
    world.surefoot(&["replay", "good.log", url]).status(3).says("errors: 3 connection refused");
}

#[test]
fn calls_of_a_connection_are_as_many_as_asked_for() {
    let world = World::new();
    let path = world.write("wanted.log", site(&world, 100).join("\n"));
    let nginx = Nginx::start(&world);
    let replay = |more: &[&str]| {
        let arguments = ["replay", path.to_str().expect("a name"), &nginx.url];
        world.surefoot(&[&arguments[..], more].concat())
    };
    // Answers to HEAD and 404s keep their connections too.
    let json = replay(&["--calls", "5", "--connections", "1", "--json"]).status(0).json();
    assert_eq!((&json["answers"], &json["connections"]), (&100.into(), &20.into()));
    let json = replay(&["--calls", "5", "--rate", "50", "--think-time", "0.01", "--json"]).status(0).json();
    // At the log's end the last ones share what is left.
    assert!(json["answers"] == 100 && (20..=24).contains(&json["connections"].as_u64().expect("a number")), "{json:#}");
    let life = &json["latency_microseconds"]["connection"];
    assert!(life["p50"].as_f64() > Some(40_000.0), "{json:#}");
    replay(&["--think-time", "1"]).status(2).says("between requests of one connection");
}

#[test]
fn a_log_goes_through_tls() {
    let world = World::new();
    let mut log = site(&world, 300);
    // More than a record, and more than the network's buffers.
    std::fs::write(world.path().join("site/large"), vec![b'y'; 3_000_000]).expect("a file");
    let large = r#"a.example:80 h - - [21/Nov/2026:10:00:50 +0000] "GET /large HTTP/1.1" 200 3000000 "-" "m""#;
    log.extend([large.to_string(), large.replace("\"m\"", &format!("\"{}\"", "m".repeat(6000)))]);
    let path = world.write("wanted.log", log.join("\n"));
    for settings in ["ssl_protocols TLSv1.3;", "ssl_protocols TLSv1.2;"] {
        let nginx = Nginx::secured(&world, settings);
        for engine in ["io_uring", "epoll"] {
            for (kept, connections) in [(None, 302), (Some("--keep-alive"), 7)] {
                let arguments =
                    ["replay", path.to_str().expect("a name"), &nginx.url, "--engine", engine, "--expect", "size"];
                let more = ["--connections", "3", "--ca-file", "certificate.pem", "--json"];
                let arguments: Vec<&str> = arguments.into_iter().chain(more).chain(kept).collect();
                let json = world.surefoot(&arguments).status(0).json();
                assert_eq!(json["answers"], 302, "{settings} {engine} {kept:?}: {json:#}");
                // nginx closes after 50 requests.
                let made = json["connections"].as_u64().expect("a number");
                assert!((connections..connections + 3).contains(&made), "{settings} {engine} {kept:?}: {json:#}");
            }
        }
    }
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let world = World::new();
    let path = world.write("wanted.log", site(&world, 20).join("\n"));
    let nginx = Nginx::secured(&world, "");
    let replay = |url: &str, more: &[&str]| {
        let arguments = ["replay", path.to_str().expect("a name"), url];
        world.surefoot(&[&arguments[..], more].concat())
    };
    let said = replay(&nginx.url, &[]).status(3);
    let said = said.says("errors: 20 no TLS with the server (first: invalid peer certificate: UnknownIssuer)");
    said.says("A certificate of one's own is trusted by `--ca-file FILE`");
    replay(&nginx.url, &["--insecure"]).status(0).says("2xx 19, 4xx 1");
    let elsewhere = nginx.url.replace("127.0.0.1", "localhost");
    let said = replay(&elsewhere, &["--ca-file", "certificate.pem"]).status(3);
    said.says("certificate not valid for name \"localhost\"");
    drop(nginx);
    // A server without TLS.
    let nginx = Nginx::start(&world);
    let said = replay(&nginx.url.replace("http:", "https:"), &["--insecure"]).status(3);
    said.says("errors: 20 no TLS with the server");
}

#[test]
fn descriptors_are_counted_before_the_first_connection() {
    let world = World::new();
    let path = world.write("wanted.log", site(&world, 40).join("\n"));
    let nginx = Nginx::start(&world);
    let said = |limit: &str| {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nofile={limit}")).arg(env!("CARGO_BIN_EXE_surefoot")).arg("replay").arg(&path);
        crate::harness::said(&limited.args([&nginx.url, "--connections", "100"]).output().expect("prlimit is there"))
    };
    let text = "connections: 100 of them need 164 descriptors, and this process may have 150: raise `ulimit -n`";
    said("150:150").status(5).says(text);
    // What the hard limit allows is taken.
    said("50:164").status(0);
}

#[test]
fn a_server_killed_in_the_middle_is_counted_to_the_last_request() {
    let world = World::new();
    let path = world.write("wanted.log", site(&world, 1200).join("\n"));
    let nginx = Nginx::start(&world);
    let mut command = world.command(&["replay", path.to_str().expect("a name"), &nginx.url, "--rate", "400", "--json"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("surefoot starts");
    let log = world.path().join("access.log");
    wait_until("nginx has answered some", || std::fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 50));
    nginx.signal(Signal::SIGKILL);
    let said = crate::harness::said(&running.wait_with_output().expect("it ends")).status(3);
    let json = said.json();
    let errors: u64 = json["errors"].as_object().expect("errors").values().filter_map(|count| count.as_u64()).sum();
    assert!(json["errors"]["errors_connect_refused"].as_u64() > Some(0), "{json:#}");
    assert_eq!(json["answers"].as_u64().expect("answers") + errors, 1200, "{json:#}");
}

/// Ctrl-C after an hour had cost all that was measured.
#[test]
fn what_was_measured_before_ctrl_c_is_told() {
    let world = World::new();
    let path = world.write("wanted.log", site(&world, 1200).join("\n"));
    let nginx = Nginx::start(&world);
    // Two minutes, so that it ends by the signal.
    let arguments = ["replay", path.to_str().expect("a name"), &nginx.url, "--rate", "10", "--keep-alive"];
    let broken_off = |more: &[&str]| {
        let log = world.path().join("access.log");
        let lines = || std::fs::read_to_string(&log).map_or(0, |text| text.lines().count());
        let before = lines();
        let mut command = world.command(&[&arguments[..], more].concat());
        let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("surefoot starts");
        wait_until("nginx has answered some", || lines() > before + 5);
        kill(Pid::from_raw(running.id() as i32), Signal::SIGINT).expect("it runs");
        crate::harness::said(&running.wait_with_output().expect("it ends")).status(130)
    };
    broken_off(&[]).says("of 1,200 requests were begun").says("answers a second").says("until then");
    let json = broken_off(&["--json"]).json();
    let right = json["right_answers"].as_u64().expect("a number");
    assert!((1..1200).contains(&right) && json["interrupted"] == true, "{json:#}");
}

#[test]
fn a_stalled_server_shows_in_an_open_loop() {
    let world = World::new();
    let path = world.write("wanted.log", site(&world, 1200).join("\n"));
    let nginx = Nginx::start(&world);
    let arguments = ["replay", path.to_str().expect("a name"), &nginx.url, "--rate", "300", "--keep-alive", "--json"];
    let running = world.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let running = running.expect("surefoot starts");
    let log = world.path().join("access.log");
    wait_until("nginx has answered some", || std::fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 50));
    nginx.signal(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_secs(1));
    nginx.signal(Signal::SIGCONT);
    let json = crate::harness::said(&running.wait_with_output().expect("it ends")).status(0).json();
    let total = &json["latency_microseconds"]["total"];
    // A quarter of the requests were due while it stood still.
    assert!(total["p99"].as_f64() > Some(700_000.0) && total["max"].as_f64() > Some(900_000.0), "{json:#}");
    assert_eq!(json["answers"], 1200);
}
