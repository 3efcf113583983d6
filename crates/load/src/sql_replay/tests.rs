//! A log on a database that answers at once: which thread drives which session.

use super::*;
use crate::workload::Error;
use sqllog::{Log, Options};
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;
use wire::{Answer, Connection, EachRow, Keep, NamedRow, Param, Statement};

/// Statements by the thread that sent them.
type Sent = Arc<Mutex<HashMap<ThreadId, u64>>>;

/// Answers at once, and notes who asked. It forgets its prepared statements as PostgreSQL does, and refuses those that it does not know.
#[derive(Default)]
struct Answering {
    sent: Sent,
    prepared: u32,
    known: Vec<Statement>,
    asks_lock: Option<AsksLock>,
}

/// PostgreSQL's advisory lock, of which there is one.
#[derive(Default)]
struct OneLock {
    holder: Option<u32>,
    waiting: Vec<(u32, UnixStream)>,
}

impl OneLock {
    fn give_back(&mut self) {
        let next = self.waiting.pop();
        self.holder = next.as_ref().map(|(session, _)| *session);
        if let Some((_, mut answer)) = next {
            // Who waited may be gone.
            let _ = answer.write_all(&[0]);
        }
    }
}

/// A session that takes it and gives it back.
struct AsksLock {
    session: u32,
    lock: Arc<Mutex<OneLock>>,
    /// What it waits for comes here.
    hear: UnixStream,
    tell: UnixStream,
}

impl AsksLock {
    fn start(&self, sql: &str) -> Option<u64> {
        let mut lock = self.lock.lock().expect("no thread panics with it");
        let takes = sql.contains("advisory_lock") || sql.contains("advisory_xact_lock");
        if takes && lock.holder.is_some() {
            lock.waiting.push((self.session, self.tell.try_clone().expect("a descriptor")));
            return None;
        }
        if takes {
            lock.holder = Some(self.session);
        } else if sql.contains("advisory_unlock") {
            lock.give_back();
        }
        Some(0)
    }
}

impl Drop for AsksLock {
    fn drop(&mut self) {
        let mut lock = self.lock.lock().expect("no thread panics with it");
        if lock.holder == Some(self.session) {
            lock.give_back();
        }
    }
}

impl Answering {
    fn noting(sent: &Sent) -> Answering {
        Answering { sent: sent.clone(), ..Answering::default() }
    }

    fn note(&self) {
        *self.sent.lock().expect("no thread panics with it").entry(std::thread::current().id()).or_default() += 1;
    }
}

impl Connection for Answering {
    fn prepare(&mut self, _sql: &str) -> Result<Statement, wire::Error> {
        unreachable!("a replay prepares with the first execution")
    }

    fn start(&mut self, statement: Statement, _params: &[Param], _row: EachRow) -> Result<Option<u64>, wire::Error> {
        self.note();
        let refused = wire::Error::Refused { code: "26000".into(), message: "it does not exist".into() };
        if self.known.contains(&statement) { Ok(Some(0)) } else { Err(refused) }
    }

    fn start_text(&mut self, sql: &str, _row: EachRow) -> Result<Option<u64>, wire::Error> {
        self.note();
        if sql.contains("ALL") {
            self.known.clear();
        }
        Ok(self.asks_lock.as_ref().map_or(Some(0), |asks| asks.start(sql)))
    }

    fn start_preparing(
        &mut self,
        _sql: &str,
        _params: &[Param],
        _row: EachRow,
    ) -> Result<(Statement, Option<u64>), wire::Error> {
        self.note();
        self.prepared += 1;
        self.known.push(Statement::numbered(self.prepared));
        Ok((Statement::numbered(self.prepared), Some(0)))
    }

    fn keep_row(&mut self, _keep: Keep) {}

    fn kept(&mut self) -> Result<Option<NamedRow>, wire::Error> {
        Ok(None)
    }

    fn is_in_transaction(&self) -> bool {
        false
    }

    fn advance(&mut self, _row: EachRow) -> Result<Option<u64>, wire::Error> {
        if let Some(asks) = &self.asks_lock {
            (&asks.hear).read_exact(&mut [0]).map_err(wire::Error::Lost)?;
        }
        Ok(Some(0))
    }

    fn query(&mut self, _sql: &str) -> Result<Answer, wire::Error> {
        Ok(Answer { rows: vec![vec![Some("2".into())]], changed: 0 })
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.asks_lock.as_ref().map(|asks| asks.hear.as_fd())
    }
}

/// So many sessions of one statement each, one after the other, in PostgreSQL's own form.
fn one_after_the_other(sessions: usize) -> Log {
    let line = |number: usize| {
        let (minute, second) = (number / 60, number % 60);
        format!("2026-11-24 01:{minute:02}:{second:02}.000 UTC [{}] joe@shop LOG:  statement: SELECT 1\n", number + 100)
    };
    let text: String = (0..sessions).map(line).collect();
    sqllog::read(&text, &Options::default()).expect("it is a log")
}

#[test]
fn no_thread_has_all_of_a_log_that_comes_one_session_after_the_other() {
    const SESSIONS: usize = 48;
    let log = one_after_the_other(SESSIONS);
    assert_eq!((log.sessions.len(), log.concurrency()), (SESSIONS, 1));
    for threads in [1, 2, 4] {
        for runs in [1, 4] {
            let (sent, interrupted) = (Sent::default(), AtomicBool::new(false));
            let connect = || Ok::<Box<dyn Connection>, Error>(Box::new(Answering::noting(&sent)));
            let means = Means { connect: &connect, pace: Pace::Closed, threads, interrupted: &interrupted };
            let mut replay = Replay::new(&log, runs);
            for _ in 0..runs {
                let tally = replay.run(&log, &means, &mut |_, _| {}).expect("it runs").expect("there is a part");
                assert_eq!((tally.right, tally.sessions), ((SESSIONS / runs) as u64, (SESSIONS / runs) as u64));
            }
            let sent = sent.lock().expect("no thread panics with it");
            let expected = (SESSIONS / threads / runs) as u64;
            assert_eq!(sent.values().copied().collect::<Vec<_>>(), vec![expected; threads * runs], "{threads} threads");
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_no_fault_of_a_thread() {
    let log = one_after_the_other(6);
    let interrupted = AtomicBool::new(false);
    let refused = |number| wire::Error::Connect("/run/server".into(), std::io::Error::from_raw_os_error(number));
    for (number, fault) in [(libc::ECONNREFUSED, Fault::Lost), (libc::EMFILE, Fault::NoDescriptors)] {
        let connect = || Err::<Box<dyn Connection>, _>(crate::sql::failed("postgres", "be reached")(refused(number)));
        let means = Means { connect: &connect, pace: Pace::Closed, threads: 2, interrupted: &interrupted };
        let tally = Replay::new(&log, 1).run(&log, &means, &mut |_, _| {}).expect("it runs").expect("a part");
        assert_eq!((tally.asked(), tally.faults[fault as usize]), (6, 6), "{:?}", tally.first);
    }
}

#[test]
fn what_came_before_an_interruption_is_kept_by_who_asks_for_it() {
    let log = one_after_the_other(48);
    let (interrupted, made) = (AtomicBool::new(false), AtomicU32::new(0));
    let connect = || {
        // As a user does while the third session connects.
        interrupted.store(made.fetch_add(1, Ordering::Relaxed) >= 2, Ordering::Relaxed);
        Ok::<Box<dyn Connection>, Error>(Box::new(Answering::default()))
    };
    let means = Means { connect: &connect, pace: Pace::Closed, threads: 1, interrupted: &interrupted };
    let kept = Replay::new(&log, 1).run_until(&log, &means, &mut |_, _| {}).expect("it runs").expect("a part");
    assert!((2..=3).contains(&kept.right) && kept.faults.iter().sum::<u64>() == 0, "{kept:?}");
    let ended = Replay::new(&log, 1).run(&log, &means, &mut |_, _| {});
    assert!(matches!(ended, Err(Error::Interrupted)), "a trial has no figure of it");
}

/// As a pool leaves a connection to its next user.
#[test]
fn what_the_server_forgot_is_prepared_anew() {
    let asked =
        ["execute a: SELECT 1", "execute a: SELECT 1", "statement: SELECT 2; DISCARD ALL", "execute a: SELECT 1"];
    let line =
        |(second, asked): (usize, &&str)| format!("2026-11-24 01:00:{second:02}.000 UTC [7] joe@shop LOG:  {asked}\n");
    let text: String = asked.iter().enumerate().map(line).collect();
    let (log, interrupted) = (sqllog::read(&text, &Options::default()).expect("it is a log"), AtomicBool::new(false));
    let connect = || Ok::<Box<dyn Connection>, Error>(Box::new(Answering::default()));
    let means = Means { connect: &connect, pace: Pace::Closed, threads: 1, interrupted: &interrupted };
    let tally = Replay::new(&log, 1).run(&log, &means, &mut |_, _| {}).expect("it runs").expect("a part");
    assert_eq!((tally.right, tally.asked()), (4, 4), "{:?}", tally.first);
}

/// Others would wait for it, and the run would not end. With a lock that it keeps, all of the session would be one run's.
#[test]
fn a_session_pauses_at_a_runs_end_unless_it_soon_gives_back_a_lock() {
    // A dump without a snapshot: whoever writes meanwhile waits for its end, however far that is.
    let dump = ["LOCK TABLES a READ", "SELECT 2", "SELECT 3", "SELECT 4", "UNLOCK TABLES", "SELECT 6"];
    let line = |(second, asked): (usize, &&str)| {
        let minute = if second > 3 { 59 } else { 0 };
        format!("2026-11-24T01:{minute:02}:{second:02}.000000Z\t    7 Query\t{asked}\n")
    };
    let text: String = dump.iter().enumerate().map(line).collect();
    assert_eq!(rights_of_two_runs(&text), [5, 1], "{text}");
    // As `mysqldump --lock-all-tables` leaves its lock to the connection's end.
    let text = text.replace("LOCK TABLES a READ", "FLUSH TABLES WITH READ LOCK").replace("UNLOCK TABLES", "SELECT 5");
    assert_eq!(rights_of_two_runs(&text), [6, 0], "{text}");
    let (lock, other_lock) = ("SELECT pg_advisory_lock(1)", "SELECT pg_advisory_lock(2)");
    let (unlock, other_unlock) = ("SELECT pg_advisory_unlock(1)", "SELECT pg_advisory_unlock(2)");
    for (behind_the_end, minutes_between, expected) in [
        ([unlock, "SELECT 5"], 0, [4, 2]),
        (["SELECT 4", unlock], 0, [5, 1]),
        (["SELECT 4", unlock], 59, [3, 3]),
        (["SELECT 4", "SELECT 5"], 0, [3, 3]),
        ([other_lock, other_unlock], 0, [3, 3]),
    ] {
        let [fourth, fifth] = behind_the_end;
        let asked = [lock, "SELECT 2", "SELECT 3", fourth, fifth, "SELECT 6"];
        let line = |(second, asked): (usize, &&str)| {
            let minute = if second > 3 { minutes_between } else { 0 };
            format!("2026-11-24 01:{minute:02}:{second:02}.000 UTC [7] joe@shop LOG:  statement: {asked}\n")
        };
        let text: String = asked.iter().enumerate().map(line).collect();
        assert_eq!(rights_of_two_runs(&text), expected, "{behind_the_end:?}, {minutes_between} minutes");
    }
}

/// Right answers of each run of a log, by sessions that take and give back one lock.
fn rights_with_one_lock(
    asked: &[(u32, &str, &str)],
    runs: usize,
    pace: Pace,
    threads: usize,
    hangs: &AtomicBool,
) -> Vec<u64> {
    let line = |(session, at, asked): &(u32, &str, &str)| {
        format!("2026-11-24 01:{at}.000 UTC [{session}] joe@shop LOG:  statement: {asked}\n")
    };
    let text: String = asked.iter().map(line).collect();
    let log = sqllog::read(&text, &Options::default()).expect("it is a log");
    let (lock, sessions) = (Arc::<Mutex<OneLock>>::default(), AtomicU32::new(0));
    let connect = || {
        let (hear, tell) = UnixStream::pair().expect("sockets");
        let session = sessions.fetch_add(1, Ordering::Relaxed);
        let asks_lock = Some(AsksLock { session, lock: lock.clone(), hear, tell });
        Ok::<Box<dyn Connection>, Error>(Box::new(Answering { asks_lock, ..Answering::default() }))
    };
    let means = Means { connect: &connect, pace, threads, interrupted: hangs };
    let mut replay = Replay::new(&log, runs);
    let mut run = || replay.run(&log, &means, &mut |_, _| {}).expect("it ends").expect("a part").right;
    (0..runs).map(|_| run()).collect()
}

/// Set when a test's replay has not come to its end by itself.
fn hangs() -> &'static AtomicBool {
    let hangs: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(60));
        hangs.store(true, Ordering::Relaxed);
    });
    hangs
}

/// A job's lock, for which the next job waits: it is given back half a minute behind the end of a run in which that one wants it.
#[test]
fn a_session_goes_on_for_a_lock_that_another_waits_for() {
    let asked = |wanted| {
        [
            (7, "00:00", "SELECT pg_advisory_lock(1)"),
            (7, "00:01", "SELECT 2"),
            (8, "00:02", wanted),
            (7, "59:00", "SELECT 4"),
            (7, "59:01", "SELECT 5"),
            (7, "59:30", "SELECT pg_advisory_unlock(1)"),
            (8, "59:31", "SELECT 7"),
        ]
    };
    let hangs = hangs();
    // A lock of a transaction waits for one of a session, and is none that outlives it.
    for wanted in ["SELECT pg_advisory_lock(1)", "SELECT pg_advisory_xact_lock(1)"] {
        assert_eq!(rights_with_one_lock(&asked(wanted), 2, Pace::Closed, 1, hangs), [6, 1], "{wanted}");
    }
    // On two threads either may be the first to have it, and who has it last may go on, too.
    let rights = rights_with_one_lock(&asked("SELECT pg_advisory_lock(1)"), 2, Pace::Closed, 2, hangs);
    assert!(rights[0] >= 4 && rights[0] + rights[1] == 7, "{rights:?}");
}

/// A log's end is no session's end: what is held there is given back later, and who waits there has it later.
#[test]
fn a_lock_that_the_log_does_not_see_given_back_keeps_nobody_waiting() {
    let asked = [
        (7, "00:00", "SELECT pg_advisory_lock(1)"),
        (8, "00:02", "SELECT pg_advisory_lock(1)"),
        (8, "00:03", "SELECT 3"),
        (7, "00:04", "SELECT 4"),
    ];
    let hangs = hangs();
    for (asked, runs, expected) in [(&asked[..3], 1, vec![3]), (&asked[..], 2, vec![3, 1])] {
        assert_eq!(rights_with_one_lock(asked, runs, Pace::AsLogged(1000.0), 1, hangs), expected);
    }
}

/// A pool connects before it is asked for anything.
#[test]
fn a_session_that_is_idle_at_first_keeps_no_other_from_its_run() {
    let lines = [
        (7, "00:00", "connection received: host=[local]"),
        (8, "00:01", "connection received: host=[local]"),
        (8, "00:02", "statement: SELECT 1"),
        (8, "00:03", "statement: SELECT 2"),
        (7, "59:00", "statement: SELECT 3"),
        (8, "59:01", "statement: SELECT 4"),
    ];
    let line = |(session, at, said): &(u32, &str, &str)| {
        format!("2026-11-24 01:{at}.000 UTC [{session}] joe@shop LOG:  {said}\n")
    };
    let text: String = lines.iter().map(line).collect();
    let log = sqllog::read(&text, &Options::default()).expect("it is a log");
    let interrupted = AtomicBool::new(false);
    let connect = || Ok::<Box<dyn Connection>, Error>(Box::new(Answering::default()));
    for pace in [Pace::Closed, Pace::AsLogged(100_000.0)] {
        let means = Means { connect: &connect, pace, threads: 1, interrupted: &interrupted };
        let mut replay = Replay::new(&log, 2);
        let mut run = || replay.run(&log, &means, &mut |_, _| {}).expect("it runs").expect("a part");
        let (first, second) = (run(), run());
        assert_eq!((first.right, first.sessions, second.right, second.sessions), (2, 2, 2, 0), "{pace:?}");
    }
}

/// How many statements are answered right in the two halves of a log.
fn rights_of_two_runs(text: &str) -> [u64; 2] {
    let log = sqllog::read(text, &Options::default()).expect("it is a log");
    let (sent, interrupted) = (Sent::default(), AtomicBool::new(false));
    let connect = || Ok::<Box<dyn Connection>, Error>(Box::new(Answering::noting(&sent)));
    let means = Means { connect: &connect, pace: Pace::Closed, threads: 1, interrupted: &interrupted };
    let mut replay = Replay::new(&log, 2);
    let mut run = || replay.run(&log, &means, &mut |_, _| {}).expect("it runs").expect("a part").right;
    [run(), run()]
}

/// MariaDB 10.11's general log of one UPDATE of two rows, by a client that knows nothing of the trigger.
#[test]
fn a_log_with_the_statements_of_triggers_is_told_where_the_database_has_some() {
    let general = "261128  7:03:02\t    29 Connect\troot@localhost on shop using Socket\n\
                   \t\t    29 Query\tupdate o set n=n+1\n\
                   \t\t    29 Query\tupdate cnt set n=n+1\n\
                   \t\t    29 Query\tupdate cnt set n=n+1\n";
    let general = sqllog::read(general, &Options::default()).expect("it is a log");
    let note = note_of_programs(&general, &mut Answering::default()).expect("it answers").expect("it has two");
    assert!(note.contains("(2)") && note.contains("done twice") && note.contains("slow log"), "{note}");
    let other = one_after_the_other(1);
    assert_eq!(note_of_programs(&other, &mut Answering::default()).expect("it answers"), None);
}
