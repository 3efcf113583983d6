//! Servers that send anything: no answer makes a client panic, wait for ever or take memory for what never comes, and in which
//! pieces an answer comes makes no difference.
//!
//! The corpora are what real servers sent on a connection (`tests/corpus/README.md`), and what was once a finding.

use crate::etcd::{Etcd, Request};
use crate::mysql::Mysql;
use crate::postgres::Postgres;
use crate::redis::{self, Redis};
use crate::stream::Stream;
use crate::{Connection, Error, Keep, Param, Value};
use fuzz::{Random, Target};
use proptest::prelude::*;
use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// All a client writes in one of these sessions fits a socket's buffer, so that nobody has to read it.
const ANSWERS_MAX: usize = 12;

type Connect<C> = fn(UnixStream) -> Result<C, Error>;

fn postgres(stream: UnixStream) -> Result<Postgres, Error> {
    Postgres::over(Stream::Unix(stream), "postgres", None, "postgres")
}

fn mysql(stream: UnixStream) -> Result<Mysql, Error> {
    Mysql::over(Stream::Unix(stream), "root", "", "test")
}

/// What was seen of a session: rows, ends and errors in words.
type Seen = Vec<String>;

fn row_words(value: Value) -> String {
    format!("{value:?} {:?} {:?}", value.integer(), value.text())
}

/// The server has said all there is from the first moment, and closes.
fn session<C: Connection>(connect: Connect<C>, bytes: &[u8]) -> Seen {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(bytes).expect("it fits the socket's buffer");
    theirs.shutdown(Shutdown::Write).expect("it is open");
    let mut client = match connect(ours) {
        Ok(client) => client,
        Err(error) => return vec![error.to_string()],
    };
    let mut seen = Vec::new();
    for _ in 0..ANSWERS_MAX {
        let prepared = client.prepare("SELECT c FROM t WHERE id = $1");
        let mut rows = Vec::new();
        client.keep_row(Keep::Named);
        let answer = match prepared {
            Ok(statement) => client.execute(statement, &[Param::Integer(7)], &mut |value| rows.push(row_words(value))),
            Err(error) => Err(error),
        };
        seen.append(&mut rows);
        seen.push(format!("{answer:?} {:?}", client.kept()));
        let asked = client.query("SELECT 1");
        seen.push(format!("{asked:?}"));
        if matches!(asked, Err(Error::Lost(_))) {
            break;
        }
    }
    seen
}

/// The same bytes after a greeting that is right, in these pieces: what `advance` gives of them.
fn answers<C: Connection>(connect: Connect<C>, greeting: &[u8], pieces: &[&[u8]], is_prepared: bool) -> Seen {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(greeting).expect("it fits the socket's buffer");
    let mut client = connect(ours).expect("the greeting is right");
    let mut statement = None;
    if is_prepared {
        statement = Some(client.prepare("SELECT c FROM t WHERE id = $1").expect("its answer follows the greeting"));
    }
    let (mut seen, mut pieces) = (Vec::new(), pieces.iter());
    for _ in 0..ANSWERS_MAX {
        let begun = match statement {
            Some(statement) => client.start(statement, &[Param::Text("x")], &mut |_| {}),
            None => client.start_text("SELECT 1", &mut |_| {}),
        };
        assert!(matches!(begun, Ok(None)), "{begun:?}");
        let end = loop {
            let mut rows = Vec::new();
            let end = client.advance(&mut |value| rows.push(row_words(value)));
            seen.append(&mut rows);
            match end {
                Ok(None) => match pieces.next() {
                    Some(piece) => theirs.write_all(piece).expect("it fits the socket's buffer"),
                    None => theirs.shutdown(Shutdown::Write).expect("it is open"),
                },
                other => break other,
            }
        };
        seen.push(format!("{end:?}"));
        if matches!(end, Err(Error::Lost(_))) {
            break;
        }
    }
    seen
}

fn check<C: Connection>(connect: Connect<C>, [greeting, prepared]: [&[u8]; 2], bytes: &[u8], random: &mut Random) {
    session(connect, bytes);
    for (before, is_prepared) in [(greeting.to_vec(), false), ([greeting, prepared].concat(), true)] {
        let at_once = answers(connect, &before, &[bytes], is_prepared);
        let in_pieces = answers(connect, &before, &random.pieces(bytes), is_prepared);
        assert_eq!(at_once, in_pieces, "it depends on the pieces");
    }
}

/// AuthenticationOk and ReadyForQuery; ParseComplete and ReadyForQuery.
const POSTGRES: [&[u8]; 2] = [b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", b"1\0\0\0\x04Z\0\0\0\x05I"];

/// A greeting of version 10 and OK; a prepared statement without columns and with a parameter, its definition and EOF.
const MYSQL: [&[u8]; 2] = [
    b"\x02\0\0\0\x0a\0\x07\0\0\x02\0\0\0\x02\0\0\0",
    b"\x0c\0\0\x01\0\x01\0\0\0\0\0\x01\0\0\0\0\x01\0\0\x02\0\x05\0\0\x03\xfe\0\0\x02\0",
];

#[test]
fn postgres_answers() {
    let target = Target::new("hostile::postgres_answers", FOLDER, "tests/corpus/postgres");
    fuzz::run(&target, |bytes, random| check(postgres, POSTGRES, bytes, random));
}

#[test]
fn mysql_answers() {
    let target = Target::new("hostile::mysql_answers", FOLDER, "tests/corpus/mysql");
    fuzz::run(&target, |bytes, random| check(mysql, MYSQL, bytes, random));
}

/// What is seen of a Redis server that sends this, in these pieces, and closes.
fn replies(pieces: &[&[u8]]) -> Seen {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let (mut client, mut seen, mut pieces) = (Redis::over(Stream::Unix(ours)), Vec::new(), pieces.iter());
    loop {
        match client.reply() {
            Ok(Some(reply)) => {
                seen.push(format!("{:?} {:?}", reply.values().collect::<Vec<_>>(), reply.texts()));
                seen.push(format!("{:?}", reply.integer()));
            }
            Ok(None) => match pieces.next() {
                Some(piece) => theirs.write_all(piece).expect("it fits the socket's buffer"),
                None => theirs.shutdown(Shutdown::Write).expect("it is open"),
            },
            Err(error) => {
                seen.push(error.to_string());
                return seen;
            }
        }
    }
}

#[test]
fn redis_replies() {
    let target = Target::new("hostile::redis_replies", FOLDER, "tests/corpus/redis");
    fuzz::run(&target, |bytes, random| {
        assert_eq!(replies(&[bytes]), replies(&random.pieces(bytes)), "it depends on the pieces");
    });
}

/// What is seen of an etcd server that answers a range with this, in these pieces, and closes.
fn ranges(pieces: &[&[u8]]) -> Seen {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let (mut client, mut seen, mut pieces) = (Etcd::over(Stream::Unix(ours)), Vec::new(), pieces.iter());
    client.request(&Request::Range(b"a", b"b", 0)).expect("it is small");
    loop {
        match client.answer(&mut |key, value| seen.push(format!("{key:?} {value:?}"))) {
            Ok(Some(count)) => {
                seen.push(format!("{count} keys"));
                return seen;
            }
            Ok(None) => match pieces.next() {
                Some(piece) => theirs.write_all(piece).expect("it fits the socket's buffer"),
                None => theirs.shutdown(Shutdown::Write).expect("it is open"),
            },
            Err(error) => {
                seen.push(error.to_string());
                return seen;
            }
        }
    }
}

#[test]
fn etcd_answers() {
    let target = Target::new("hostile::etcd_answers", FOLDER, "tests/corpus/etcd");
    fuzz::run(&target, |bytes, random| {
        assert_eq!(ranges(&[bytes]), ranges(&random.pieces(bytes)), "it depends on the pieces");
    });
}

/// Recorded of etcd 3.4.23.
#[test]
fn a_recorded_range_and_a_refusal_are_read() {
    let recorded = |name: &str| std::fs::read(format!("tests/corpus/etcd/{name}")).expect("it is there");
    let seen = ranges(&[&recorded("range")]);
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen[3].starts_with(&format!("{:?}", b"user/3")) && seen[4] == "4 keys", "{seen:?}");
    assert_eq!(ranges(&[&recorded("refused")]), ["the database says: etcdserver: key is not provided (gRPC 3)"]);
}

/// Text of any bytes, or NULL.
fn values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..400)), 0..40)
}

fn postgres_rows(rows: &[Option<Vec<u8>>]) -> Vec<u8> {
    let message = |kind: u8, body: &[u8]| [&[kind][..], &(body.len() as i32 + 4).to_be_bytes(), body].concat();
    let mut out = message(b'T', b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
    for row in rows {
        let value = row.as_deref();
        let length = value.map_or(-1, |value| value.len() as i32).to_be_bytes();
        out.extend(message(b'D', &[&[0, 1], &length[..], value.unwrap_or_default()].concat()));
    }
    out.extend(message(b'C', format!("SELECT {}\0", rows.len()).as_bytes()));
    out.extend(message(b'Z', b"I"));
    out
}

fn mysql_rows(rows: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut sequence = 0;
    let mut packet = |body: &[u8]| {
        sequence += 1;
        [&(body.len() as u32).to_le_bytes()[..3], &[sequence], body].concat()
    };
    let mut out = packet(&[1]);
    out.extend(packet(b"\x03def\0\0\0\x01c\0\x0c\x2d\0\0\x04\0\0\xfd\0\0\0\0\0"));
    out.extend(packet(b"\xfe\0\0\x02\0"));
    for row in rows {
        let body = match row {
            None => vec![0xfb],
            Some(text) if text.len() <= 250 => [&[text.len() as u8], &text[..]].concat(),
            Some(text) => [&[0xfc], &(text.len() as u16).to_le_bytes()[..], &text[..]].concat(),
        };
        out.extend(packet(&body));
    }
    out.extend(packet(b"\xfe\0\0\x02\0"));
    out
}

fn expected(rows: &[Option<Vec<u8>>], changed: usize) -> Seen {
    let value = |row: &Option<Vec<u8>>| row_words(row.as_deref().map_or(Value::Null, Value::Text));
    let mut seen: Seen = rows.iter().map(value).collect();
    seen.push(format!("Ok(Some({changed}))"));
    seen
}

/// What a client that has logged in is told when it asks; the server closes behind these bytes.
fn told<C: Connection>(connect: Connect<C>, greeting: &[u8], bytes: &[u8]) -> Error {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(&[greeting, bytes].concat()).expect("it fits the socket's buffer");
    let mut client = connect(ours).expect("the greeting is right");
    client.query("SELECT 1").expect_err("it is refused")
}

/// A parameter in quotes is a text to the server: it would compare with that, and ignore the value.
#[test]
fn a_mysql_statement_of_other_parameters_than_are_sent_is_refused() {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let without = b"\x0c\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0";
    theirs.write_all(&[MYSQL[0], without].concat()).expect("it fits the socket's buffer");
    let mut client = mysql(ours).expect("the greeting is right");
    let refused = client.prepare("SELECT c FROM t WHERE name = '$1'").expect_err("it has none");
    assert!(refused.to_string().contains("it counts 0 parameters in a statement that is sent with 1"), "{refused}");
}

#[test]
fn a_refusal_that_ends_the_connection_is_a_loss_whatever_its_code() {
    let of_pooler = |body: &str| {
        let message =
            [&b"E"[..], &(body.len() as i32 + 4).to_be_bytes()[..], body.as_bytes(), b"Z\0\0\0\x05I"].concat();
        told(postgres, POSTGRES[0], &message)
    };
    let of_postgres =
        |severity: &str, code: &str| of_pooler(&format!("S{severity}\0V{severity}\0C{code}\0Mno longer\0\0"));
    for code in ["25P03", "25P04", "57P01", "57P05", "XX000"] {
        for severity in ["FATAL", "PANIC"] {
            let error = of_postgres(severity, code);
            assert!(error.is_lost(), "{severity} {code}: {error:?}");
            let words = std::error::Error::source(&error).map(ToString::to_string);
            assert_eq!(words, Some(format!("the database says: no longer ({code})")));
        }
    }
    assert!(of_pooler("SFATAL\0C08P01\0Mserver conn crashed?\0\0").is_lost());
    // 08001 is what a foreign table says whose own server is not there.
    for code in ["25P02", "08001", "08P01"] {
        assert!(!of_postgres("ERROR", code).is_lost(), "{code}: the connection goes on");
    }
    // 4031 is one thing of MySQL's and another of MariaDB's.
    let of_mysql = |version: &str, number: u16| {
        let packet = |sequence: u8, body: &[u8]| [&[body.len() as u8, 0, 0, sequence][..], body].concat();
        let hello = [packet(0, format!("\x0a{version}\0").as_bytes()), packet(2, &[0; 7])].concat();
        let refusal = [&[0xff][..], &number.to_le_bytes(), b"#HY000no longer"].concat();
        told(mysql, &hello, &packet(1, &refusal)).is_lost()
    };
    let [of_mysql_8, of_mariadb] =
        ["8.0.36", "5.5.5-10.11.6-MariaDB"].map(|version| move |number| of_mysql(version, number));
    assert_eq!([4031, 1927, 1064].map(of_mysql_8), [true, true, false]);
    assert_eq!([4031, 1927, 1064].map(of_mariadb), [false, true, false]);
}

proptest! {
    #[test]
    fn what_a_redis_server_sends_is_what_is_seen(rows in values(), numbers in prop::collection::vec(any::<i64>(), 0..9), seed in any::<u64>()) {
        let mut bytes = format!("*{}\r\n", rows.len() + 1).into_bytes();
        for row in &rows {
            match row {
                None => bytes.extend(b"$-1\r\n"),
                Some(text) => bytes.extend([format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()),
            }
        }
        bytes.extend(format!("*{}\r\n", numbers.len()).bytes());
        bytes.extend(numbers.iter().flat_map(|number| format!(":{number}\r\n").into_bytes()));
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let (mut client, mut seen) = (Redis::over(Stream::Unix(ours)), Vec::new());
        for piece in Random::new(seed).pieces(&bytes) {
            prop_assert!(seen.is_empty(), "it is whole before its end");
            theirs.write_all(piece).expect("it fits the socket's buffer");
            seen.extend(client.reply().expect("it is right").iter().flat_map(|reply| reply.values().map(|value| format!("{value:?}"))));
        }
        let mut all = vec![redis::Value::Array(rows.len() + 1)];
        all.extend(rows.iter().map(|row| row.as_deref().map_or(redis::Value::Nil, redis::Value::Text)));
        all.push(redis::Value::Array(numbers.len()));
        all.extend(numbers.into_iter().map(redis::Value::Integer));
        prop_assert_eq!(seen, all.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>());
    }

    #[test]
    fn what_a_postgres_server_sends_is_what_is_seen(rows in values(), seed in any::<u64>()) {
        let bytes = postgres_rows(&rows);
        let seen = answers(postgres, POSTGRES[0], &Random::new(seed).pieces(&bytes), false);
        prop_assert_eq!(&seen[..seen.len() - 1], expected(&rows, rows.len()));
    }

    #[test]
    fn what_a_mysql_server_sends_is_what_is_seen(rows in values(), seed in any::<u64>()) {
        let bytes = mysql_rows(&rows);
        let seen = answers(mysql, MYSQL[0], &Random::new(seed).pieces(&bytes), false);
        prop_assert_eq!(&seen[..seen.len() - 1], expected(&rows, 0));
    }
}
