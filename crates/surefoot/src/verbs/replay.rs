//! `surefoot replay`: one's own access log, or a database server's (`sql.rs`), against one's own running server, without a study.

mod sql;

use crate::cli::replay::{Expect, HttpEngine, ReplayArgs};
use crate::failure::{Failure, Status};
use crate::{interrupt, live};
use anyhow::anyhow;
use http::url::{Scheme, Url};
use indicatif::{ProgressBar, ProgressStyle};
use load::duration;
use load::http_client::tls::{SYSTEM_AUTHORITIES, Trust};
use load::http_client::{Client, Engine, Fault, Pace, Tally, Tls, drive_until};
use load::http_log::{Expected, Hosts, Log, NAMES_MAX, Others, Survey, disordered, endless, refuse, takes};
use load::workload::Error;
use observe::latency::Latency;
use report::number::{count, figure, percent, span};
use serde_json::{Value, json};
use settings::quantity::format_bytes;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What holds where nothing is said, as the help of the options has it.
const CONNECTIONS: u32 = 25;
const TIMEOUT_SECONDS: f64 = 30.0;

/// So long each of a name's several addresses is tried.
const REACH: Duration = Duration::from_secs(3);

/// Looks at the log, sends it, says what came of it.
pub fn run(args: &ReplayArgs) -> Result<Status, Failure> {
    interrupt::catch();
    if sql::is_target(&args.url) {
        return sql::run(args);
    }
    let url = Url::parse(&args.url).map_err(|why| bad(anyhow!("{}: {why}", sql::without_password(&args.url))))?;
    if url.target != "/" {
        let (url, path) = (&args.url, &url.target);
        let error = anyhow!("{url}: a log has whole paths, which are asked for as they are: `{path}` has no effect");
        return Err(bad(error).hint("give the server alone, like http://127.0.0.1:8080"));
    }
    let of_databases = [
        (args.form.is_some(), "--form"),
        (args.log_line_prefix.is_some(), "--log-line-prefix"),
        (args.database.is_some(), "--database"),
    ];
    if let Some((_, option)) = of_databases.iter().find(|(is_given, _)| *is_given) {
        return Err(bad(anyhow!("`{option}` is for a database's log, and {} is no database", args.url)));
    }
    let log = log(args, &url)?;
    let survey = log.survey().map_err(bad)?;
    if let Some(why) = refuse(&args.log, &survey, args.bad_lines_max / 100.0) {
        let hint = "each line must be a request in Common or Combined Log Format or JSON; see `--bad-lines-max`";
        return Err(bad(anyhow!(why)).hint(hint));
    }
    let client = client(args, &url)?;
    let unfit = endless(&survey, client.pace, args.calls).or_else(|| disordered(&survey, client.pace));
    // Of a log that is sent in part, the other part may have the host.
    let unfit = unfit.or_else(|| mapped_in_vain(&log.hosts, &survey).filter(|_| args.requests.is_none()));
    if let Some(why) = unfit {
        return Err(bad(anyhow!(why)));
    }
    let takes = takes(&survey, client.pace, args.calls).map(|takes| span(takes.as_secs_f64()));
    if !args.json {
        interrupt::printing(|| {
            print_survey(args, &survey, takes.as_deref());
            of_handshakes(&url, &log.hosts, &survey).iter().for_each(|note| println!("note: {note}"));
        });
    }
    let of = takes.map_or(String::new(), |takes| format!(", of about {takes}"));
    let bar = ProgressBar::new(survey.requests);
    bar.set_style(ProgressStyle::with_template("{bar:30} {msg}").expect("a template"));
    let mut done = 0.0;
    let mut source = log.source(client.pace)?;
    let driven = drive_until(&client, &mut source, &interrupt::INTERRUPTED, &mut |second, rate| {
        done += rate;
        bar.set_position(done as u64);
        bar.set_message(format!("{} right answers, {}/s, after {}{of}", figure(done), figure(rate), span(second)));
    });
    bar.finish_and_clear();
    let (tally, rates) = driven.map_err(driven_failure)?;
    let is_broken_off = interrupt::INTERRUPTED.load(Ordering::Relaxed);
    interrupt::printing(|| match args.json {
        true => println!("{:#}", with_end(as_json(&survey, &tally, &rates), is_broken_off)),
        false => print(&tally, is_broken_off.then_some(survey.requests)),
    });
    Ok(status(tally.faults() > 0, is_broken_off))
}

/// Whether it was broken off, beside what came of it until then.
fn with_end(mut figures: Value, is_broken_off: bool) -> Value {
    figures["interrupted"] = is_broken_off.into();
    figures
}

/// How it ends, with a word where it was broken off.
fn status(has_faults: bool, is_broken_off: bool) -> Status {
    if is_broken_off {
        live::tell("interrupted: the figures are of what was answered until then");
        return Status::Interrupted;
    }
    if has_faults { Status::Holes } else { Status::Answered }
}

/// Why a load ended early.
fn driven_failure(error: Error) -> Failure {
    match error {
        parameter @ Error::Parameter { .. } => Failure::new(Status::Missing, parameter),
        other => Failure::new(Status::Fault, other),
    }
}

fn bad(error: impl Into<anyhow::Error>) -> Failure {
    Failure::new(Status::BadStudy, error)
}

fn log(args: &ReplayArgs, url: &Url) -> Result<Log, Failure> {
    let pair = |text: &String| {
        let pair = text.split_once('=').map(|(from, to)| (from.to_string(), to.to_string()));
        pair.ok_or_else(|| bad(anyhow!("`--map {text}` is not like LOGGED=HOST")))
    };
    let others = match &args.body {
        None => Others::Skipped,
        Some(path) => {
            let read = std::fs::read(path).map_err(|error| bad(anyhow!(error).context(path.display().to_string())));
            Others::WithBody(read?)
        }
    };
    Ok(Log {
        path: args.log.clone(),
        text: None,
        requests_max: args.requests.unwrap_or(0),
        others,
        hosts: Hosts {
            default: args.host.clone().unwrap_or_else(|| url.authority()),
            is_one: args.host.is_some(),
            map: args.map.iter().map(pair).collect::<Result<_, _>>()?,
        },
        expected: match args.expect {
            Some(Expect::Nothing) => Expected::Nothing,
            Some(Expect::Status) | None => Expected::Status,
            Some(Expect::Size) => Expected::Size,
        },
        body_text: args.expect_text.as_ref().map(|text| text.as_bytes().into()),
        keep_alive: args.keep_alive || args.calls > 1,
        bytes_max: args.log_bytes_max,
    })
}

/// A `--map` of a host that the log does not have; none: each has an effect, or the log has too many hosts to know.
fn mapped_in_vain(hosts: &Hosts, survey: &Survey) -> Option<String> {
    const SHOWN: usize = 5;
    let is_unknown = |host: &&String| survey.hosts.len() < NAMES_MAX && !survey.hosts.contains_key(*host);
    let host = hosts.map.keys().find(is_unknown)?;
    let named: Vec<String> = survey.hosts.keys().take(SHOWN).map(|host| host.escape_debug().to_string()).collect();
    let has = match named.join(", ") {
        none if none.is_empty() => "no virtual hosts (`--host` asks for another one)".into(),
        few => format!("{few}{}, without ports", if survey.hosts.len() > SHOWN { ", …" } else { "" }),
    };
    Some(format!("`--map {host}=…` has no effect: the log has {has}"))
}

fn client(args: &ReplayArgs, url: &Url) -> Result<Client, Failure> {
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let address = found.ok().and_then(|addresses| reachable(&addresses.collect::<Vec<_>>()));
    let unknown = || bad(anyhow!("{} has no address", url.host)).hint("give an address, like http://127.0.0.1:8080");
    let client = Client {
        addresses: vec![address.ok_or_else(unknown)?],
        connections: args.connections.unwrap_or(CONNECTIONS) as usize,
        threads: usize::from(args.threads),
        keep_alive: args.keep_alive || args.calls > 1,
        calls: args.calls,
        think_time: duration::of_seconds(args.think_time.unwrap_or(0.0)),
        requests_max: 0,
        pace: match (args.speed, args.rate) {
            (Some(speed), _) => Pace::AsLogged(speed),
            (None, Some(rate)) => Pace::PerSecond(rate),
            (None, None) => Pace::Closed,
        },
        window: None,
        timeout: duration::of_seconds(args.timeout.unwrap_or(TIMEOUT_SECONDS)),
        engine: match args.engine {
            Some(HttpEngine::Auto) | None => Engine::Auto,
            Some(HttpEngine::Uring) => Engine::Uring,
            Some(HttpEngine::Epoll) => Engine::Epoll,
        },
        tls: tls(args, url)?,
    };
    client.problem().map_or(Ok(client), |problem| Err(bad(anyhow!(problem))))
}

/// Of a name's several addresses the first that takes a connection, as a server on `localhost` may listen on 127.0.0.1 and not on ::1; where
/// none does, the first.
fn reachable(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let listens = |address: &&SocketAddr| TcpStream::connect_timeout(address, REACH).is_ok();
    let found = if addresses.len() > 1 { addresses.iter().find(listens) } else { None };
    found.or(addresses.first()).copied()
}

fn tls(args: &ReplayArgs, url: &Url) -> Result<Option<Tls>, Failure> {
    if url.scheme == Scheme::Http {
        let has_no_effect = args.insecure || args.ca_file.is_some();
        return match has_no_effect {
            true => Err(bad(anyhow!("`--ca-file` and `--insecure` are for https://, and {} is not", args.url))),
            false => Ok(None),
        };
    }
    let authorities = args.ca_file.as_deref().unwrap_or(Path::new(SYSTEM_AUTHORITIES));
    let trust = if args.insecure { Trust::Anyone } else { Trust::Authorities(authorities) };
    let hint = "the package `ca-certificates` has the system's; see also `--ca-file` and `--insecure`";
    Tls::new(&url.host, trust).map(Some).map_err(|error| bad(error).hint(hint))
}

fn print_survey(args: &ReplayArgs, survey: &Survey, takes: Option<&str>) {
    let mut methods: Vec<(&String, &u64)> = survey.methods.iter().collect();
    methods.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let methods: Vec<String> =
        methods.iter().take(6).map(|(method, requests)| format!("{} {method}", count(**requests))).collect();
    println!("{}: {} lines, over {}", args.log.display(), count(survey.lines), span(survey.span.as_secs_f64()));
    let left_out = survey.methods.values().sum::<u64>() - survey.requests;
    let without = if left_out > 0 { format!(", without {} that need a body", count(left_out)) } else { String::new() };
    println!("requests: {}{without} (in the log: {})", count(survey.requests), methods.join(", "));
    if !survey.hosts.is_empty() {
        println!("virtual hosts: {}", count(survey.hosts.len() as u64));
    }
    for words in survey.rejects.words() {
        println!("left out: {words}");
    }
    if let Some(takes) = takes {
        let by = if args.speed.is_some() { "the log's own times" } else { "the rate" };
        println!("takes: about {takes}, by {by}");
    }
}

/// A word where hosts are asked for by other names than the handshake has, which is one for all connections: each takes requests of all hosts.
fn of_handshakes(url: &Url, hosts: &Hosts, survey: &Survey) -> Option<String> {
    let asked: Vec<&str> = match hosts.is_one {
        true => vec![hosts.default.as_str()],
        false => survey.hosts.keys().map(|host| hosts.map.get(host).unwrap_or(host).as_str()).collect(),
    };
    let is_other = |host: &&str| {
        let port = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        !port.map_or(*host, |(name, _)| name).eq_ignore_ascii_case(&url.host)
    };
    let others = asked.into_iter().filter(is_other).count() as u64;
    if url.scheme == Scheme::Http || others == 0 {
        return None;
    }
    let named = if url.host.parse::<IpAddr>().is_ok() { "no host" } else { url.host.as_str() };
    Some(format!(
        "TLS names {named} on every connection (SNI), where a browser names the host that it asks for, and {} asked for here have another name: a \
         server may choose another certificate, or answer 421",
        count(others)
    ))
}

/// `of` are the requests of the log, where it was broken off.
fn print(tally: &Tally, of: Option<u64>) {
    let wrong = tally.faults();
    match tally.right {
        0 if wrong > 0 => println!("\nno right answer in {}", span(tally.seconds)),
        0 => println!("\nno answer in {}", span(tally.seconds)),
        right => {
            let per_second = |number: u64| number as f64 / tally.seconds;
            let (rate, bytes) = (figure(per_second(right)), format_bytes(per_second(tally.received_bytes) as u64));
            let what = if wrong > 0 { "right answers" } else { "answers" };
            println!("\n{rate} {what} a second: {} in {}, {bytes}/s", count(right), span(tally.seconds));
            print_latencies(tally);
        }
    }
    if tally.answers > 0 {
        let classes = tally.classes.iter().enumerate().filter(|(_, answers)| **answers > 0);
        let classes: Vec<String> = classes.map(|(at, answers)| format!("{}xx {}", at + 1, count(*answers))).collect();
        println!("status: {}", classes.join(", "));
    }
    if let Some(of) = of {
        let under_way = tally.requests.saturating_sub(tally.right + wrong);
        let (begun, of, under_way) = (count(tally.requests), count(of), count(under_way));
        println!("broken off: {begun} of {of} requests were begun; {under_way} were under way, and are in no figure");
    }
    println!("connections: {}", count(tally.connections));
    if tally.resent > 0 {
        println!("sent again: {} (the server had closed the kept connection)", count(tally.resent));
    }
    if tally.late > 0 {
        println!("behind schedule: {} requests started more than 1 ms late", count(tally.late));
    }
    println!("load generator: {:.2} of a core", tally.cpu_seconds / tally.seconds);
    for fault in Fault::all() {
        print_errors(tally.faults[fault as usize], fault.words(), tally.first[fault as usize].as_deref());
        if fault == Fault::WrongStatus && leads_elsewhere(tally.first[fault as usize].as_deref()) {
            println!(
                "A site that leads on to its own name wants that asked for (`--host NAME`); one to HTTPS, an https:// URL."
            );
        }
        if fault == Fault::Tls && tally.faults[fault as usize] > 0 {
            println!("{}", of_trust(tally.first[fault as usize].as_deref().unwrap_or_default()));
        }
    }
    if wrong > 0 {
        let share = percent(wrong as f64 / tally.requests.max(1) as f64);
        println!(
            "{share} of {} requests went wrong. Speed and latencies are of right answers alone; a time-out is in `whole` with what was waited.",
            count(tally.requests)
        );
    }
}

/// Whether the first wrong status was a redirect: such as WordPress answers to each request for another host than its own.
fn leads_elsewhere(first: Option<&str>) -> bool {
    first.is_some_and(|status| status.starts_with('3'))
}

/// What to do where there was no TLS with the server, by the words of the first that went wrong.
fn of_trust(first: &str) -> &'static str {
    if first.contains("InvalidContentType") {
        "The server speaks no TLS there: an http:// URL asks it without."
    } else if first.contains("CaUsedAsEndEntity") {
        "The server's certificate is an authority's, as `openssl req -x509` makes them, and `--ca-file` trusts what such a one signs, not itself: \
         make it with `-addext basicConstraints=critical,CA:FALSE`, or take any certificate by `--insecure`."
    } else {
        "A certificate of one's own is trusted by `--ca-file FILE`, any by `--insecure`."
    }
}

/// How often something went wrong, and how it did first.
fn print_errors(number: u64, what: &str, first: Option<&str>) {
    if number > 0 {
        println!("errors: {} {what} (first: {})", count(number), first.unwrap_or_default());
    }
}

fn print_latencies(tally: &Tally) {
    print_table(&[
        ("connect", &tally.connect),
        ("connection's life", &tally.connection),
        ("first byte", &tally.response),
        ("first to last byte", &tally.transfer),
        ("whole", &tally.total),
    ]);
}

fn print_table(rows: &[(&str, &Latency)]) {
    println!("{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}", "milliseconds", "mean", "p50", "p95", "p99", "max");
    for (name, latency) in rows {
        let at = |q: f64| format!("{:.3}", latency.microseconds_at(q) / 1000.0);
        let mean = format!("{:.3}", latency.microseconds_mean() / 1000.0);
        println!("{name:<20}{mean:>10}{:>10}{:>10}{:>10}{:>10}", at(0.5), at(0.95), at(0.99), at(1.0));
    }
}

/// What there was none of is null: 0 would be the fastest of all.
fn latency(latency: &Latency) -> Value {
    let known = |microseconds: f64| (latency.count() > 0).then_some(microseconds);
    let at = |quantile: f64| known(latency.microseconds_at(quantile));
    json!({ "mean": known(latency.microseconds_mean()), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1.0) })
}

fn as_json(survey: &Survey, tally: &Tally, rates: &[f64]) -> Value {
    let errors = Fault::all().into_iter().filter(|fault| tally.faults[*fault as usize] > 0);
    let errors: serde_json::Map<String, Value> =
        errors.map(|fault| (fault.name().into(), tally.faults[fault as usize].into())).collect();
    json!({
        "lines": survey.lines, "lines_rejected": survey.rejects.count(), "requests": tally.requests,
        "answers": tally.answers, "right_answers": tally.right, "seconds": tally.seconds,
        "right_answers_per_second": tally.right as f64 / tally.seconds,
        "answers_by_class": tally.classes, "errors": errors, "connections": tally.connections, "resent": tally.resent,
        "late": tally.late, "received_bytes": tally.received_bytes, "body_bytes": tally.body_bytes,
        "client_cpu_seconds": tally.cpu_seconds,
        "latency_microseconds": {
            "connect": latency(&tally.connect), "connection": latency(&tally.connection), "response": latency(&tally.response),
            "transfer": latency(&tally.transfer), "total": latency(&tally.total),
        },
        "right_answers_each_second": rates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_name_stands_for_the_address_on_which_its_server_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let open = listener.local_addr().expect("an address");
        // Port 9 as the other tests of `replay` have it: nobody listens there.
        let closed = SocketAddr::from(([127, 0, 0, 1], 9));
        assert_eq!(reachable(&[closed, open]), Some(open));
        assert_eq!(reachable(&[open, closed]), Some(open));
        assert_eq!(reachable(&[closed, closed]), Some(closed));
        assert_eq!((reachable(&[closed]), reachable(&[])), (Some(closed), None));
    }

    /// Answers of another host's certificate, or a 421, were told as the server's fault without a word.
    #[test]
    fn hosts_that_the_handshake_does_not_name_are_noted() {
        let survey = |hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| (host.to_string(), 1)).collect();
            Survey { hosts, ..Survey::default() }
        };
        let said = |url: &str, one: Option<&str>, hosts: &[&str]| {
            let url = Url::parse(url).expect("a URL");
            let default = one.map_or_else(|| url.authority(), String::from);
            let map = [("old.example".to_string(), "a.example".to_string())].into();
            of_handshakes(&url, &Hosts { default, is_one: one.is_some(), map }, &survey(hosts))
        };
        let two: &[&str] = &["a.example", "b.example"];
        let of_one = said("https://a.example", None, two).expect("one has another name");
        assert!(of_one.starts_with("TLS names a.example on every connection") && of_one.contains("and 1 asked"));
        assert!(said("https://127.0.0.1:8443", None, two).is_some_and(|said| said.contains("no host")));
        assert!(said("https://127.0.0.1", Some("shop.example"), &[]).is_some());
        let alike: [(&str, Option<&str>, &[&str]); 4] = [
            ("http://127.0.0.1", None, two),
            ("https://A.example:8443", None, &["a.example", "old.example"]),
            ("https://a.example", Some("a.example:443"), two),
            ("https://127.0.0.1", None, &[]),
        ];
        for (url, one, hosts) in alike {
            assert_eq!(said(url, one, hosts), None, "{url} {one:?} {hosts:?}");
        }
    }

    /// Requests for a misspelt host went to the server as they were logged, and nobody said so.
    #[test]
    fn a_host_that_the_log_does_not_have_is_not_mapped() {
        let said = |mapped: &[&str], logged: &[&str]| {
            let map = mapped.iter().map(|host| (host.to_string(), "staging".into())).collect();
            let hosts = logged.iter().map(|host| (host.to_string(), 1)).collect();
            let of = Hosts { default: "h".into(), is_one: false, map };
            mapped_in_vain(&of, &Survey { hosts, ..Survey::default() })
        };
        assert_eq!((said(&[], &[]), said(&["a.example"], &["a.example", "b.example"])), (None, None));
        let port = said(&["a.example", "a.example:80"], &["a.example", "b.example"]).expect("no log has ports");
        assert_eq!(port, "`--map a.example:80=…` has no effect: the log has a.example, b.example, without ports");
        assert!(said(&["a.example"], &["b", "c", "d", "e", "f", "g"]).is_some_and(|said| said.contains("e, f, …")));
        assert!(said(&["a.example"], &[]).is_some_and(|said| said.contains("no virtual hosts (`--host`")));
        let many: Vec<String> = (0..NAMES_MAX).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(said(&["a.example"], &many), None);
    }

    /// The words are rustls': of an `openssl req -x509` without more, of a port without TLS, and of a certificate of one's own.
    #[test]
    fn what_to_do_without_tls_is_what_helps() {
        let authority = of_trust("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))");
        assert!(
            authority.contains("basicConstraints=critical,CA:FALSE"),
            "`--ca-file` was named, which had been given"
        );
        let plain = of_trust("received corrupt message of type InvalidContentType");
        assert!(plain.contains("http://") && !plain.contains("certificate"), "{plain}");
        assert!(of_trust("invalid peer certificate: UnknownIssuer").contains("`--ca-file FILE`"));
    }

    #[test]
    fn no_answer_has_no_latency() {
        let mut answers = Latency::default();
        assert_eq!(latency(&answers), json!({ "mean": null, "p50": null, "p95": null, "p99": null, "max": null }));
        answers.record(Duration::from_millis(2));
        assert!(latency(&answers)["p99"].as_f64() > Some(1999.0));
    }
}
