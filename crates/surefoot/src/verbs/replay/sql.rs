//! `surefoot replay LOG postgres://…`: a database server's own log against a running server.

use super::{bad, driven_failure, latency, print_errors, print_table, status, with_end};
use crate::cli::replay::ReplayArgs;
use crate::failure::{Failure, Status};
use crate::interrupt;
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use load::engines;
use load::sql::{Engine, Remote, failed};
use load::sql_replay::{Fault, Means, Pace, Replay, Tally, note_of_programs};
use load::workload::Error;
use report::number::{count, figure, percent, span};
use serde_json::{Value, json};
use sqllog::{Form, Log, Options};
use std::sync::atomic::Ordering;
use wire::{Address, Connection, percent_decoded};

/// Without what stands there: it may be the begin of a password.
const NO_PORT: &str = "what follows the host's `:` is no port; in a password, write `/` as %2F and `?` as %3F";

/// Where a database server is, and who asks.
#[derive(Debug)]
struct Target {
    engine: &'static Engine,
    address: Address,
    user: String,
    password: Option<String>,
    database: String,
}

/// Whether a URL is a database server's.
pub fn is_target(url: &str) -> bool {
    scheme(url).is_some()
}

/// The engine that such a URL is of, and what follows its scheme.
fn scheme(url: &str) -> Option<(&'static Engine, &'static Remote, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let mut remotes = engines::all().iter().filter_map(|engine| Some((*engine, engine.sql.as_ref()?.remote.as_ref()?)));
    let (engine, remote) = remotes.find(|(_, remote)| remote.schemes.contains(&scheme))?;
    Some((engine, remote, rest))
}

impl Target {
    /// `SCHEME://USER:PASSWORD@HOST:PORT/DATABASE`; of a socket, with the engine's own option in the place of a host.
    fn parse(url: &str) -> Result<Target, String> {
        let (engine, remote, rest) = scheme(url).ok_or("no database server's address")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = who.split_once(':').map_or((who, None), |(user, password)| (user, Some(password)));
        let (host, mut port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| NO_PORT)?),
            _ => (place, remote.port),
        };
        let (option, example) = remote.socket_option;
        // MariaDB's option names the file itself.
        let has_port = (remote.socket)("", 1) != (remote.socket)("", 2);
        let mut socket = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((name, value)) if name == option && value.starts_with(['/', '%']) => socket = Some(value),
                Some(("port", value)) if has_port => port = value.parse().map_err(|_| NO_PORT)?,
                // `sslmode=require` among them.
                _ => {
                    let only = format!("only `{option}={example}` has one, and nothing goes through TLS");
                    return Err(format!("`{}` would have no effect: {only}", shown(pair)));
                }
            }
        }
        let address = match socket {
            Some(value) => Address::Socket((remote.socket)(&percent_decoded(value), port)),
            None if host.is_empty() => {
                return Err(format!("it names no host; a server's socket is named by ?{option}={example}"));
            }
            None => Address::Host(host.trim_start_matches('[').trim_end_matches(']').into(), port),
        };
        let user = if user.is_empty() { remote.user.into() } else { percent_decoded(user) };
        let database = if database.is_empty() { user.clone() } else { percent_decoded(database) };
        Ok(Target { engine, address, user, password: password.map(percent_decoded), database })
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Error> {
        let Target { engine, address, user, database, .. } = self;
        let Some(remote) = &engine.facts().remote else { unreachable!("its URL was that of a server") };
        let password = self.password.clone().or_else(|| std::env::var(remote.password_variable).ok());
        (remote.connect)(address, user, password.as_deref(), database).map_err(failed(engine.name, "be reached"))
    }
}

/// Reads the log, sends it, says what came of it.
pub fn run(args: &ReplayArgs) -> Result<Status, Failure> {
    let target = Target::parse(&args.url).map_err(|why| bad(anyhow!("{}: {why}", without_password(&args.url))))?;
    refuse_others(args)?;
    let mut log = read(args)?;
    let (form, own) = (log.form.name(), target.engine.facts().logs);
    if !own.contains(&form) {
        let (path, engine) = (args.log.display(), target.engine.name);
        return Err(bad(anyhow!("{path} has the form `{form}`, and {engine} writes {}", own.join(", "))));
    }
    if !args.json {
        interrupt::printing(|| print_log(args, &log, &target.database));
    }
    // One that cannot be reached is said before anything is sent.
    let missing = |error: Error| Failure::new(Status::Missing, error);
    let mut first = target.connect().map_err(missing)?;
    let of_programs = note_of_programs(&log, &mut *first).map_err(failed(target.engine.name, "list its triggers"));
    drop(first);
    if let Some(note) = of_programs.map_err(missing)? {
        if !args.json {
            interrupt::printing(|| println!("note: {note}"));
        }
        log.notes.push(note);
    }
    let bar = ProgressBar::new(log.statements());
    bar.set_style(ProgressStyle::with_template("{bar:30} {msg}").expect("a template"));
    let mut done = 0.0;
    let (pace, threads) = (args.speed.map_or(Pace::Closed, Pace::AsLogged), usize::from(args.threads));
    let means = Means { connect: &|| target.connect(), pace, threads, interrupted: &interrupt::INTERRUPTED };
    let driven = Replay::new(&log, 1).run_until(&log, &means, &mut |second, rate| {
        done += rate;
        bar.set_position(done as u64);
        bar.set_message(format!("{} statements, {}/s, after {}", figure(done), figure(rate), span(second)));
    });
    bar.finish_and_clear();
    let tally = driven.map_err(driven_failure)?.unwrap_or_default();
    let is_broken_off = interrupt::INTERRUPTED.load(Ordering::Relaxed);
    interrupt::printing(|| match args.json {
        true => println!("{:#}", with_end(as_json(&log, &tally), is_broken_off)),
        false => print(&tally, is_broken_off.then_some(log.statements())),
    });
    Ok(status(tally.faults.iter().any(|count| *count > 0), is_broken_off))
}

/// Options that say how HTTP is asked.
fn refuse_others(args: &ReplayArgs) -> Result<(), Failure> {
    let given = [
        (args.connections.is_some(), "--connections"),
        (args.timeout.is_some(), "--timeout"),
        (args.expect.is_some(), "--expect"),
        (args.engine.is_some(), "--engine"),
        (args.keep_alive, "--keep-alive"),
        (args.calls > 0, "--calls"),
        (args.think_time.is_some(), "--think-time"),
        (args.rate.is_some(), "--rate"),
        (args.host.is_some(), "--host"),
        (!args.map.is_empty(), "--map"),
        (args.body.is_some(), "--body"),
        (args.expect_text.is_some(), "--expect-text"),
        (args.ca_file.is_some(), "--ca-file"),
        (args.insecure, "--insecure"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, name)) => {
            Err(bad(anyhow!("`{name}` is for http:// and https://, and {} is not", without_password(&args.url))))
        }
        None => Ok(()),
    }
}

/// A server's address for a message, which others may read in a log.
pub(super) fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + "://".len()));
    let (who, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    let who = match who.split_once(':') {
        Some((user, _)) => format!("{user}:…@"),
        None if who.is_empty() => String::new(),
        None => format!("{who}@"),
    };
    let Some((place, query)) = place.split_once('?') else { return format!("{scheme}{who}{place}") };
    let options: Vec<String> = query.split('&').map(shown).collect();
    format!("{scheme}{who}{place}?{}", options.join("&"))
}

/// An option of an address for a message: PostgreSQL's own programs take a password there.
fn shown(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) if name.ends_with("password") => format!("{name}=…"),
        _ => pair.into(),
    }
}

fn read(args: &ReplayArgs) -> Result<Log, Failure> {
    let refused = |why: &dyn std::fmt::Display| bad(anyhow!("{}: {why}", args.log.display()));
    let text = http::reader::whole_text(&args.log, args.log_bytes_max).map_err(|error| refused(&error))?;
    let options = Options {
        form: args.form.as_deref().and_then(Form::named),
        line_prefix: args.log_line_prefix.clone(),
        database: args.database.clone(),
        statements_max: args.requests.unwrap_or(0),
        bad_lines_max: args.bad_lines_max / 100.0,
    };
    sqllog::read(&text, &options).map_err(|problem| refused(&problem))
}

fn print_log(args: &ReplayArgs, log: &Log, database: &str) {
    let span_seconds = log.span().end.saturating_sub(log.span().start) as f64 / 1e6;
    println!("{}: {} lines, `{}`, over {}", args.log.display(), count(log.lines), log.form.name(), span(span_seconds));
    let (statements, sessions) = (count(log.statements()), count(log.sessions.len() as u64));
    println!("statements: {statements} in {sessions} sessions, at most {} at a time", count(log.concurrency() as u64));
    println!("sent to: the database `{database}`, in which what they change is changed again");
    for (reason, number) in &log.left_out {
        println!("left out: {} {}", count(*number), reason.words());
    }
    if log.bad_lines > 0 {
        println!("left out: {} lines that are nothing of this form", count(log.bad_lines));
    }
    log.notes.iter().for_each(|note| println!("note: {note}"));
    if let Some(speed) = args.speed {
        println!("takes: about {}, by the log's own times", span(span_seconds / speed));
    }
}

/// `of` are the statements of the log, where it was broken off.
fn print(tally: &Tally, of: Option<u64>) {
    if tally.right == 0 {
        println!("\nno answer in {}", span(tally.seconds));
    } else {
        let rate = figure(tally.right as f64 / tally.seconds);
        println!("\n{rate} statements a second: {} in {}", count(tally.right), span(tally.seconds));
        print_table(&[("statement", &tally.latency)]);
    }
    if let Some(of) = of {
        println!("broken off: {} of {} statements came to an end", count(tally.asked()), count(of));
    }
    println!("sessions: {}", count(tally.sessions));
    let also = [
        (tally.refused_as_logged, "refused, as in the log"),
        (tally.refused_otherwise, "refused for another reason than in the log"),
        (tally.answered_now, "answered, and refused in the log"),
        (tally.late, "began more than 1 ms late"),
        (tally.rows_differ, "have another number of rows than in the log"),
    ];
    for (number, words) in also.into_iter().filter(|(number, _)| *number > 0) {
        println!("of these: {} {words}", count(number));
    }
    for fault in Fault::all() {
        print_errors(tally.faults[fault as usize], fault.words(), tally.first[fault as usize].as_deref());
    }
    let wrong: u64 = tally.faults.iter().sum();
    if wrong > 0 {
        let share = percent(wrong as f64 / tally.asked() as f64);
        println!("{share} of {} statements went wrong; they are in no figure above.", count(tally.asked()));
    }
}

fn as_json(log: &Log, tally: &Tally) -> Value {
    let errors: serde_json::Map<String, Value> =
        Fault::all().into_iter().map(|fault| (fault.name().into(), tally.faults[fault as usize].into())).collect();
    let left_out: serde_json::Map<String, Value> =
        log.left_out.iter().map(|(reason, number)| (reason.words().into(), (*number).into())).collect();
    json!({
        "form": log.form.name(), "lines": log.lines, "statements": tally.asked(), "answers": tally.right, "left_out": left_out, "notes": log.notes,
        "seconds": tally.seconds, "answers_per_second": tally.right as f64 / tally.seconds, "sessions": tally.sessions,
        "refused_as_logged": tally.refused_as_logged, "refused_otherwise": tally.refused_otherwise,
        "answered_where_the_log_has_an_error": tally.answered_now, "answers_with_known_rows": tally.rows_known,
        "answers_with_other_rows": tally.rows_differ, "late": tally.late, "errors": errors,
        "latency_microseconds": latency(&tally.latency),
        "answers_each_second": tally.rates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_password() {
        for (url, said) in [
            ("postgres://joe:p@ss/w:ord@db/shop?sslmode=require", "postgres://joe:…@db/shop?sslmode=require"),
            ("mysql://joe@db/shop", "mysql://joe@db/shop"),
            ("postgres:///shop", "postgres:///shop"),
            ("postgres://joe:se/cr?et@db/shop", "postgres://joe:…@db/shop"),
            ("postgres://db/shop?user=joe&password=secret", "postgres://db/shop?user=joe&password=…"),
            ("http://joe:secret@db:80/", "http://joe:…@db:80/"),
        ] {
            assert_eq!(without_password(url), said);
        }
        // Up to `/` or `?` it is read as a host with its port.
        for url in
            ["postgres://joe:secret/x@db/shop", "postgres://joe:secret?x@db/shop", "mysql://db/shop?password=secret"]
        {
            let why = Target::parse(url).expect_err(url);
            assert!(!why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn addresses_are_read() {
        let host = |host: &str, port| Address::Host(host.into(), port);
        for (url, address, user, password, database) in [
            ("postgres://joe:p%40ss@db:5433/shop", host("db", 5433), "joe", Some("p@ss"), "shop"),
            ("postgresql://[::1]/shop", host("::1", 5432), "postgres", None, "shop"),
            (
                "postgres://joe@/shop?host=/run/postgresql",
                Address::Socket("/run/postgresql/.s.PGSQL.5432".into()),
                "joe",
                None,
                "shop",
            ),
            (
                "postgres://joe@/shop?host=/run/postgresql&port=5433",
                Address::Socket("/run/postgresql/.s.PGSQL.5433".into()),
                "joe",
                None,
                "shop",
            ),
            ("mysql://root@/shop?socket=/run/m.sock", Address::Socket("/run/m.sock".into()), "root", None, "shop"),
            ("mariadb://joe@db/", host("db", 3306), "joe", None, "joe"),
        ] {
            let target = Target::parse(url).unwrap_or_else(|why| panic!("{url}: {why}"));
            assert_eq!((target.address, target.user.as_str()), (address, user), "{url}");
            assert_eq!((target.password.as_deref(), target.database.as_str()), (password, database), "{url}");
        }
        for (url, said) in [
            ("postgres:///shop", "no host"),
            ("postgres://a@b/c?sslmode=require", "`sslmode=require` would have no effect"),
            ("postgres://a@/c?host=db.example.org", "no effect"),
            ("mysql://a:x@b:1z/c", "no port"),
            ("postgres://a@/c?host=/run&port=x", "no port"),
            ("mysql://a@/c?socket=/run/m.sock&port=3307", "`port=3307` would have no effect"),
            ("http://a", "no database"),
        ] {
            assert!(Target::parse(url).expect_err(url).contains(said), "{url}");
        }
    }
}
