//! `surefoot serve RESULTS…`: the pages of results files, live, for browsers of this machine only.
//!
//! Driven by a fixed number of threads, each with one connection at a time. A browser is a program that any web page may make
//! ask us something: see `request.rs` for who is refused. Nothing is written, and no path leads to a file that was not named.

mod answer;
mod fleet;
mod ledgers;
mod request;

use crate::cli::ServeArgs;
use crate::failure::{Failure, Status};
use crate::verbs::report::unreadable;
use crate::verbs::status::results_in;
use anyhow::{Context as _, anyhow};
use ledgers::Ledger;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Connections at a time. A browser opens six to a host, some of them ahead of need.
const CONNECTIONS_MAX: usize = 32;
/// A request of a browser has a few hundred bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// From accepting a connection to the end of its request.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);
/// For taking an answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// What a client still says after its request is let in for so long, as closing before would take the answer from it.
const LINGER_TIME_MAX: Duration = Duration::from_secs(1);

/// Serves until it is killed.
pub fn run(args: &ServeArgs) -> Result<Status, Failure> {
    for path in args.results.iter().filter(|path| !path.is_dir()) {
        ledger::Reader::open_untouched(path).map_err(|error| unreadable(error.into()))?;
    }
    args.results.iter().filter(|path| path.is_dir()).try_for_each(|folder| require_fleet(folder))?;
    let ledgers = ledgers::named(&args.results);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
        .with_context(|| format!("cannot listen on 127.0.0.1:{}", args.port))
        .map_err(|error| Failure::new(Status::Fault, error).hint("another --port, or none to have one chosen"))?;
    let port = listener.local_addr()?.port();
    println!("http://127.0.0.1:{port}/");
    eprintln!("for browsers of this machine only; Ctrl-C ends it");
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS_MAX {
            scope.spawn(|| accept_for_ever(&listener, port, &ledgers));
        }
    });
    Ok(Status::Answered)
}

/// A folder is a fleet's, also where no member has shown anything yet; that of other results would be shown as a fleet without members.
fn require_fleet(folder: &Path) -> Result<(), Failure> {
    let members = |path: &PathBuf| ledger::Reader::open_untouched(path).and_then(|reader| reader.members()).ok();
    let files = results_in(folder).unwrap_or_default();
    let known: Vec<bool> = files.iter().filter_map(members).map(|found| !found.is_empty()).collect();
    if known.is_empty() || known.contains(&true) {
        return Ok(());
    }
    let error = anyhow!("the folder {} holds results, and none of a fleet's members", folder.display());
    Err(Failure::new(Status::BadStudy, error).hint(format!("name the files: {}", folder.join("*.surefoot").display())))
}

fn accept_for_ever(listener: &TcpListener, port: u16, ledgers: &[Ledger]) {
    loop {
        let Ok((mut stream, _)) = listener.accept() else {
            // Out of descriptors, say; the next one may have more luck.
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        // A client that went away, or a page that could not be made, is no reason to stop.
        let _ = catch_unwind(AssertUnwindSafe(|| converse(&mut stream, port, ledgers)));
    }
}

/// One request, one answer.
fn converse(stream: &mut TcpStream, port: u16, ledgers: &[Ledger]) -> io::Result<()> {
    let head = read_head(stream, Instant::now() + REQUEST_TIME_MAX)?;
    let bytes = match request::parse(&head, port) {
        Ok(request) => answer::answer(&request, ledgers).bytes(request.is_head),
        Err(refusal) => answer::refused(refusal).bytes(false),
    };
    write_all(stream, &bytes, Instant::now() + ANSWER_TIME_MAX)?;
    stream.shutdown(Shutdown::Write)?;
    let deadline = Instant::now() + LINGER_TIME_MAX;
    let mut rest = [0; 4096];
    while read_until(stream, &mut rest, deadline)? > 0 {}
    Ok(())
}

/// Up to the empty line, or as much of it as is allowed.
fn read_head(stream: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while head.len() < HEAD_BYTES_MAX {
        let count = read_until(stream, &mut piece, deadline)?;
        head.extend_from_slice(&piece[..count]);
        if count == 0 || head.windows(4).any(|four| four == b"\r\n\r\n") {
            break;
        }
    }
    Ok(head)
}

fn read_until(stream: &mut TcpStream, piece: &mut [u8], deadline: Instant) -> io::Result<usize> {
    stream.set_read_timeout(Some(left(deadline)?))?;
    stream.read(piece)
}

fn write_all(stream: &mut TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        bytes = &bytes[stream.write(bytes)?..];
    }
    Ok(())
}

/// A timeout for one call, so that many small steps can't take longer than the whole may.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}
