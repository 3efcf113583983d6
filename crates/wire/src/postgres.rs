//! PostgreSQL's frontend/backend protocol 3.0 (the manual's chapter of that name) over a Unix socket.
//!
//! Parameters go as text, results come as text; only the first column of a row is handed out. In a trial authentication is `trust`, as the
//! socket lies in its own namespace; elsewhere a password may be asked for.

mod scram;

use crate::buffer::{Buffer, wait};
use crate::stream::Stream;
use crate::{Address, Answer, Connection, EachRow, Error, Keep, NamedRow, Param, Prepared, Statement, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SecureRandom as _;
use scram::Scram;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Protocol 3.0, as its start-up packet says it.
const PROTOCOL: i32 = 3 << 16;

/// One connection.
pub struct Postgres {
    stream: Stream,
    input: Buffer,
    output: Vec<u8>,
    prepared: u32,
    /// By all statements of the answer that is being read.
    changed: u64,
    refusal: Option<Error>,
    is_in_transaction: bool,
    keeping: Keeping,
    /// While it logs in: what the server asked for.
    asked: Option<Vec<u8>>,
    is_logged_in: bool,
}

/// What is kept of an answer: the messages with its columns and its last row.
#[derive(Default)]
struct Keeping {
    is_on: bool,
    is_described: bool,
    description: Vec<u8>,
    row: Option<Vec<u8>>,
}

/// Sees a message's kind and body.
type See<'a> = dyn FnMut(u8, &[u8]) -> Result<(), Error> + 'a;

/// Where an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The server is ready for the next statement.
    Ready,
    /// It waits for rows of a COPY.
    Copy,
    /// It asks who we are.
    Asked,
}

impl Postgres {
    /// Connects by the server's socket file (`…/.s.PGSQL.5432`).
    ///
    /// # Errors
    /// When no server listens, or it refuses the user or the database.
    pub fn connect(socket: &Path, user: &str, database: &str) -> Result<Postgres, Error> {
        Postgres::over(Stream::unix(socket)?, user, None, database)
    }

    /// Connects by an address, with a password where there is one, in the clear.
    ///
    /// # Errors
    /// When no server listens, or it refuses the user or the database.
    pub fn connect_to(address: &Address, user: &str, password: Option<&str>, database: &str) -> Result<Self, Error> {
        Postgres::over(Stream::to(address)?, user, password, database)
    }

    /// Says who we are to a server that was reached.
    pub(crate) fn over(stream: Stream, user: &str, password: Option<&str>, database: &str) -> Result<Postgres, Error> {
        let mut client = Postgres {
            stream,
            input: Buffer::new(),
            output: Vec::new(),
            prepared: 0,
            changed: 0,
            refusal: None,
            is_in_transaction: false,
            keeping: Keeping::default(),
            asked: None,
            is_logged_in: false,
        };
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for word in ["user", user, "database", database, "application_name", "surefoot", "client_encoding", "UTF8", ""]
        {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        client.output.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
        client.output.extend_from_slice(&body);
        client.send()?;
        let mut scram = Scram::new(nonce());
        while client.finish(&mut |_, _| Ok(()))? == End::Asked {
            let asked = client.asked.take().unwrap_or_default();
            client.prove(&asked, &mut scram, password)?;
        }
        client.is_logged_in = true;
        Ok(client)
    }

    /// Answers what the server asked for (AuthenticationSASL, its Continue and Final; AuthenticationCleartextPassword).
    fn prove(&mut self, asked: &[u8], scram: &mut Scram, password: Option<&str>) -> Result<(), Error> {
        let (kind, rest) = asked.split_first_chunk::<4>().ok_or_else(short)?;
        let said = String::from_utf8_lossy(rest).into_owned();
        let none = || Error::Protocol("it asks for a password, and none is given".into());
        let password = password.ok_or_else(none)?;
        match i32::from_be_bytes(*kind) {
            3 => self.message(b'p', |body| text(body, password)),
            10 if said.split('\0').any(|method| method == scram::METHOD) => {
                let first = scram.first();
                self.message(b'p', |body| {
                    text(body, scram::METHOD);
                    body.extend_from_slice(&(first.len() as i32).to_be_bytes());
                    body.extend_from_slice(first.as_bytes());
                });
            }
            11 => {
                let proof = scram.proof(&said, "", password)?;
                self.message(b'p', |body| body.extend_from_slice(proof.as_bytes()));
            }
            12 if scram.is_known_to(&said) => return Ok(()),
            12 => return Err(Error::Protocol("it does not know the password that it asked for".into())),
            other => {
                let known = "a password in the clear and scram-sha-256 are known here";
                return Err(Error::Protocol(format!("it asks for a log-in of kind {other}; {known}")));
            }
        }
        self.send()
    }

    /// Sends rows in COPY's text format; `rows` writes them piece by piece until it gives false.
    ///
    /// # Errors
    /// When the server refuses the rows or the connection is lost.
    pub fn copy_in(&mut self, sql: &str, mut rows: impl FnMut(&mut Vec<u8>) -> bool) -> Result<(), Error> {
        self.message(b'Q', |body| text(body, sql));
        self.send()?;
        if self.finish(&mut |_, _| Ok(()))? != End::Copy {
            return Err(Error::Protocol("it did not ask for the rows of a COPY".into()));
        }
        let mut more = true;
        while more {
            self.message(b'd', |body| more = rows(body));
            self.send()?;
        }
        self.message(b'c', |_| {});
        self.send()?;
        self.finish(&mut |_, _| Ok(())).map(drop)
    }

    /// Appends a message: its kind, its length, its body.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.output.push(kind);
        let at = self.output.len();
        self.output.extend_from_slice(&[0; 4]);
        body(&mut self.output);
        let length = (self.output.len() - at) as i32;
        self.output[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Parse: a statement under the next name, types as the server finds them.
    fn parse(&mut self, sql: &str) -> Statement {
        self.prepared += 1;
        let number = self.prepared;
        self.message(b'P', |body| {
            text(body, &format!("s{number}"));
            text(body, sql);
            body.extend_from_slice(&0i16.to_be_bytes());
        });
        Statement(number)
    }

    /// Bind: portal "", this statement or the unnamed one, parameters and results as text.
    fn bind(&mut self, statement: Option<Statement>, params: &[Param]) {
        self.message(b'B', |body| {
            body.push(0);
            if let Some(statement) = statement {
                body.push(b's');
                integer(body, i64::from(statement.0));
            }
            body.extend_from_slice(&[0, 0, 0]);
            body.extend_from_slice(&(params.len() as i16).to_be_bytes());
            for param in params {
                parameter(body, param);
            }
            body.extend_from_slice(&0i16.to_be_bytes());
        });
    }

    /// Execute: portal "", all rows, described only when a row is kept. Then Sync.
    fn execute_portal(&mut self) -> Result<Option<u64>, Error> {
        if self.keeping.is_described {
            self.output.extend_from_slice(&[b'D', 0, 0, 0, 6, b'P', 0]);
        }
        self.output.extend_from_slice(&[b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4]);
        self.changed = 0;
        self.send().map(|()| None)
    }

    fn send(&mut self) -> Result<(), Error> {
        let sent = self.stream.write_all(&self.output).map_err(Error::Lost);
        self.output.clear();
        sent
    }

    /// Reads the messages that have come. None: the answer has not ended. The first refusal is its result.
    fn messages(&mut self, see: &mut See) -> Result<Option<End>, Error> {
        while self.input.have(&self.stream, 5)? {
            let head = self.input.bytes();
            let (kind, length) = (head[0], u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize);
            if length < 4 {
                return Err(Error::Protocol(format!("a message of {length} bytes")));
            }
            if !self.input.have(&self.stream, 1 + length)? {
                break;
            }
            let body = &self.input.take(1 + length)[5..];
            let seen = match kind {
                b'Z' => {
                    // `I`dle, in a `T`ransaction, or in one that failed (`E`).
                    self.is_in_transaction = body != b"I";
                    return self.refusal.take().map_or(Ok(Some(End::Ready)), Err);
                }
                b'G' => return Ok(Some(End::Copy)),
                b'E' if is_fatal(body) && self.is_logged_in => return Err(Error::last_words(refusal(body))),
                b'E' if is_fatal(body) => return Err(refusal(body)),
                b'E' => Err(refusal(body)),
                b'R' if body != [0, 0, 0, 0] && !self.is_logged_in => {
                    self.asked = Some(body.to_vec());
                    return Ok(Some(End::Asked));
                }
                b'C' => {
                    self.changed = self.changed.saturating_add(count(body));
                    Ok(())
                }
                _ => see(kind, body),
            };
            if let Err(error) = seen {
                self.refusal.get_or_insert(error);
            }
        }
        Ok(None)
    }

    /// Waits for the end of the answer.
    fn finish(&mut self, see: &mut See) -> Result<End, Error> {
        loop {
            match self.messages(see)? {
                Some(end) => return Ok(end),
                None => wait(self.stream.as_fd())?,
            }
        }
    }
}

impl Connection for Postgres {
    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        let statement = self.parse(sql);
        self.message(b'S', |_| {});
        self.send()?;
        self.finish(&mut |_, _| Ok(()))?;
        Ok(statement)
    }

    fn start(&mut self, statement: Statement, params: &[Param], _row: EachRow) -> Result<Option<u64>, Error> {
        self.bind(Some(statement), params);
        self.execute_portal()
    }

    fn start_unnamed(&mut self, sql: &str, params: &[Param], _row: EachRow) -> Result<Option<u64>, Error> {
        self.message(b'P', |body| {
            text(body, "");
            text(body, sql);
            body.extend_from_slice(&0i16.to_be_bytes());
        });
        self.bind(None, params);
        self.execute_portal()
    }

    fn start_preparing(&mut self, sql: &str, params: &[Param], _row: EachRow) -> Result<Prepared, Error> {
        let statement = self.parse(sql);
        self.bind(Some(statement), params);
        Ok((statement, self.execute_portal()?))
    }

    fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }

    fn keep_row(&mut self, keep: Keep) {
        self.keeping = Keeping { is_on: true, is_described: keep == Keep::Named, ..Keeping::default() };
    }

    fn kept(&mut self) -> Result<Option<NamedRow>, Error> {
        let Keeping { description, row, .. } = std::mem::take(&mut self.keeping);
        let Some(row) = row else { return Ok(None) };
        let values = columns(&row)?;
        let names = if description.is_empty() { vec![String::new(); values.len()] } else { names(&description)? };
        Ok(Some(names.into_iter().zip(values).collect()))
    }

    fn start_text(&mut self, sql: &str, _row: EachRow) -> Result<Option<u64>, Error> {
        self.message(b'Q', |body| text(body, sql));
        self.changed = 0;
        self.send().map(|()| None)
    }

    fn advance(&mut self, row: EachRow) -> Result<Option<u64>, Error> {
        // Lent to the reader, so that it can be filled while messages are read.
        let mut keeping = std::mem::take(&mut self.keeping);
        let end = self.messages(&mut |kind, body| {
            match kind {
                b'D' => {
                    row(first_column(body)?);
                    if keeping.is_on {
                        keeping.row = Some(body.to_vec());
                    }
                }
                b'T' if keeping.is_on => keeping.description = body.to_vec(),
                _ => {}
            }
            Ok(())
        });
        self.keeping = keeping;
        Ok(end?.map(|_| self.changed))
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.start_text(sql, &mut |_| {})?;
        let mut rows = Vec::new();
        self.finish(&mut |kind, body| {
            if kind == b'D' {
                rows.push(columns(body)?);
            }
            Ok(())
        })?;
        Ok(Answer { rows, changed: self.changed })
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.message(b'X', |_| {});
        let _ = self.send();
    }
}

/// Enough that nobody guesses it; no secret, and no part of a measurement.
fn nonce() -> String {
    let mut bytes = [0; 18];
    // Without random numbers the server's own nonce still makes each log-in another one.
    let _ = ring::rand::SystemRandom::new().fill(&mut bytes);
    STANDARD.encode(bytes)
}

fn text(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(text.as_bytes());
    body.push(0);
}

fn integer(body: &mut Vec<u8>, value: i64) {
    let _ = write!(body, "{value}");
}

fn parameter(body: &mut Vec<u8>, param: &Param) {
    let at = body.len();
    body.extend_from_slice(&[0; 4]);
    match param {
        Param::Null => return body[at..].copy_from_slice(&(-1i32).to_be_bytes()),
        Param::Boolean(value) => drop(write!(body, "{value}")),
        Param::Integer(value) => integer(body, *value),
        Param::Double(value) => drop(write!(body, "{value:?}")),
        Param::Text(text) => body.extend_from_slice(text.as_bytes()),
    }
    let length = (body.len() - at - 4) as i32;
    body[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// DataRow: number of columns, then length (-1: NULL) and bytes of each.
fn first_column(body: &[u8]) -> Result<Value<'_>, Error> {
    if body.len() >= 2 && body[..2] == [0, 0] {
        return Ok(Value::Null);
    }
    let (value, _) = column(body.get(2..).unwrap_or_default())?;
    Ok(value.map_or(Value::Null, Value::Text))
}

fn columns(body: &[u8]) -> Result<Vec<Option<String>>, Error> {
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(short)?;
    let mut columns = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (value, after) = column(rest)?;
        columns.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
        rest = after;
    }
    Ok(columns)
}

/// RowDescription: number of columns, then of each its name and 18 bytes of table, type and format.
fn names(body: &[u8]) -> Result<Vec<String>, Error> {
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(short)?;
    let mut names = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(short)?;
        names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = rest.get(end + 1 + 18..).ok_or_else(short)?;
    }
    Ok(names)
}

/// A column, none when it is NULL, and what follows it.
type Column<'a> = (Option<&'a [u8]>, &'a [u8]);

fn column(bytes: &[u8]) -> Result<Column<'_>, Error> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { return Ok((None, rest)) };
    let (value, rest) = rest.split_at_checked(length).ok_or_else(short)?;
    Ok((Some(value), rest))
}

fn short() -> Error {
    Error::Protocol("a row is cut off".into())
}

/// CommandComplete: `UPDATE 1`, `INSERT 0 1`, `SELECT 100`.
fn count(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let digits = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Field `V`, the severity as a word that is never translated, or `S` of poolers, which have no other: after these the server closes the connection.
fn is_fatal(body: &[u8]) -> bool {
    let fatal: [&[u8]; 4] = [b"VFATAL", b"VPANIC", b"SFATAL", b"SPANIC"];
    body.split(|byte| *byte == 0).any(|field| fatal.contains(&field))
}

/// ErrorResponse: fields of a letter and a text, `C` the SQLSTATE and `M` the message.
fn refusal(body: &[u8]) -> Error {
    let field = |letter: u8| {
        let found = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&letter));
        found.map(|field| String::from_utf8_lossy(&field[1..]).into_owned()).unwrap_or_default()
    };
    let detail = field(b'D');
    let message = if detail.is_empty() { field(b'M') } else { format!("{}: {detail}", field(b'M')) };
    Error::Refused { code: field(b'C'), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_where_it_lies() {
        let row = [&[0, 2][..], &3i32.to_be_bytes(), b"abc", &(-1i32).to_be_bytes()].concat();
        assert_eq!(first_column(&row).expect("a row"), Value::Text(b"abc"));
        assert_eq!(columns(&row).expect("a row"), [Some("abc".to_string()), None]);
        assert!(first_column(&row[..7]).is_err() && columns(&row[..10]).is_err());
    }

    #[test]
    fn a_refusal_carries_code_and_words() {
        let Error::Refused { code, message } = refusal(b"SERROR\0C40P01\0Mdeadlock detected\0\0") else {
            panic!("a refusal")
        };
        assert_eq!((code.as_str(), message.as_str()), ("40P01", "deadlock detected"));
        assert_eq!(refusal(b"C40001\0Mx\0\0").conflict(), Some(crate::Conflict::Serialization));
        assert_eq!((count(b"INSERT 0 17\0"), count(b"BEGIN\0")), (17, 0));
    }

    #[test]
    fn what_the_statements_of_a_message_change_is_added_up() {
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        let message = |kind: u8, body: &[u8]| [&[kind][..], &(body.len() as i32 + 4).to_be_bytes(), body].concat();
        let greeting = message(b'R', &[0; 4]);
        let done = ["BEGIN\0", "UPDATE 1\0", "COMMIT\0"].map(|tag| message(b'C', tag.as_bytes())).concat();
        let ready = message(b'Z', b"I");
        theirs.write_all(&[greeting, ready.clone(), done, ready].concat()).expect("it fits the socket's buffer");
        let mut client = Postgres::over(Stream::Unix(ours), "postgres", None, "postgres").expect("it is let in");
        assert_eq!(client.query("BEGIN; UPDATE t SET a = 1; COMMIT").expect("an answer").changed, 1);
    }
}
