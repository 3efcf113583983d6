//! MySQL's client/server protocol, as MariaDB and MySQL speak it (MariaDB's knowledge base, "Client/server protocol"), over
//! a Unix socket.
//!
//! Plain text for set-up, the binary protocol for prepared statements; only the first column of a row is handed out. The
//! user has no password: the socket lies in a trial's own namespace.

mod packet;
mod scramble;

use crate::buffer::{Buffer, wait};
use crate::stream::Stream;
use crate::{Address, Answer, Connection, EachRow, Error, Keep, NamedRow, Param, Statement, Value};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// LONG_PASSWORD, FOUND_ROWS (an update that changes nothing of a row counts it all the same, as in PostgreSQL),
/// CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS (as clients had it whose log is replayed), MULTI_RESULTS
/// (a CALL may give several answers), PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x2 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x1_0000 | 0x2_0000 | 0x8_0000;

/// Of the status behind an answer (SERVER_MORE_RESULTS_EXISTS): another follows.
const MORE_RESULTS: u16 = 0x8;

/// The method that is tried first.
const NATIVE: &str = "mysql_native_password";

/// utf8mb4_general_ci.
const COLLATION: u8 = 45;

/// A table's and an answer's limit ("InnoDB limitations" and "Limits on table column count": 4,096), and room for others'.
const COLUMNS_MAX: u64 = 0xffff;

/// SERVER_STATUS_IN_TRANS.
const IN_TRANSACTION: u16 = 1;

/// MySQL's last words on a connection that was idle for too long (its server error reference, ER_CLIENT_INTERACTION_TIMEOUT, from 8.0.24 on).
/// MariaDB has another error with this number, behind which the connection goes on.
const IDLE_FOR_TOO_LONG: u16 = 4031;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// Column types that come as fixed-width integers, with their width in bytes: TINY, SHORT, LONG, LONGLONG, INT24, YEAR.
const INTEGERS: &[(u8, usize)] = &[(1, 1), (2, 2), (3, 4), (8, 8), (9, 4), (13, 2)];
const TINY: u8 = 1;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const VAR_STRING: u8 = 253;

/// UNSIGNED_FLAG, in the first byte of a column's flags.
const UNSIGNED: u8 = 0x20;

/// One connection.
pub struct Mysql {
    stream: Stream,
    input: Buffer,
    output: Vec<u8>,
    sequence: u8,
    /// By statement, in order of preparing: the server's id, and the types of the parameters that it was told last.
    prepared: Vec<(u32, Vec<u8>)>,
    is_mariadb: bool,
    phase: Phase,
    /// Whether the answer's rows are binary, as those of prepared statements are.
    binary: bool,
    /// Flags of the server's last OK or EOF.
    status: u16,
    keeping: Keeping,
}

/// What is kept of an answer: its columns, each with name and type, and its last row.
#[derive(Default)]
struct Keeping {
    is_on: bool,
    columns: Vec<(String, ColumnType)>,
    row: Option<Vec<u8>>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy)]
struct ColumnType {
    kind: u8,
    is_unsigned: bool,
}

/// What is known of a row before its values: how many, and the type of the first.
#[derive(Debug, Clone, Copy)]
struct RowHead {
    columns: u64,
    first: ColumnType,
}

/// Sees a row's packet.
type SeeRow<'a> = dyn FnMut(&[u8], RowHead) -> Result<(), Error> + 'a;

/// How far an answer has come.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// OK, an error, or the number of columns.
    Head,
    /// Definitions of columns and their EOF.
    Definitions {
        columns: u64,
        /// Packets that are still to come, the EOF among them.
        left: u64,
        /// Type of the first column; none: its definition is next.
        first: Option<ColumnType>,
    },
    /// Rows and their EOF.
    Rows(RowHead),
}

impl Mysql {
    /// Connects by the server's socket file; an empty `database` chooses none.
    ///
    /// # Errors
    /// When no server listens, or it refuses the user or the database.
    pub fn connect(socket: &Path, user: &str, database: &str) -> Result<Mysql, Error> {
        Mysql::over(Stream::unix(socket)?, user, "", database)
    }

    /// Connects by an address; an empty password is none.
    ///
    /// # Errors
    /// When no server listens, or it refuses the user or the database.
    pub fn connect_to(address: &Address, user: &str, password: &str, database: &str) -> Result<Mysql, Error> {
        Mysql::over(Stream::to(address)?, user, password, database)
    }

    /// Says who we are to a server that was reached.
    pub(crate) fn over(stream: Stream, user: &str, password: &str, database: &str) -> Result<Mysql, Error> {
        let (input, output) = (Buffer::new(), Vec::new());
        let (prepared, keeping) = (Vec::new(), Keeping::default());
        let mut client = Mysql {
            stream,
            input,
            output,
            sequence: 0,
            prepared,
            is_mariadb: false,
            phase: Phase::Head,
            binary: false,
            status: 0,
            keeping,
        };
        let greeting = client.next_packet()?;
        match greeting.first() {
            Some(10) => {}
            Some(0xff) => return Err(refusal(greeting)),
            _ => return Err(Error::Protocol("its greeting is not of version 10".into())),
        }
        let version = greeting[1..].split(|byte| *byte == 0).next().unwrap_or_default();
        let is_mariadb = String::from_utf8_lossy(version).contains("MariaDB");
        let proof = scramble::answer(NATIVE, password, &scramble_of(greeting)).unwrap_or_default();
        client.is_mariadb = is_mariadb;
        let no_database = if database.is_empty() { 0x8 } else { 0 };
        client.begin();
        client.output.extend_from_slice(&(CAPABILITIES & !no_database).to_le_bytes());
        client.output.extend_from_slice(&(packet::JOINED_BYTES_MAX as u32).to_le_bytes());
        client.output.push(COLLATION);
        client.output.extend_from_slice(&[0; 23]);
        zero_ended(&mut client.output, user);
        client.output.push(proof.len() as u8);
        client.output.extend_from_slice(&proof);
        if !database.is_empty() {
            zero_ended(&mut client.output, database);
        }
        zero_ended(&mut client.output, NATIVE);
        client.end()?;
        loop {
            let body = client.next_packet()?;
            match body.first() {
                Some(0) => return Ok(client),
                Some(0xff) => return Err(refusal(body)),
                // It wants another method: its name, and another scramble.
                Some(0xfe) => {
                    let mut words = body[1..].splitn(2, |byte| *byte == 0);
                    let method = String::from_utf8_lossy(words.next().unwrap_or_default()).into_owned();
                    let salt = words.next().unwrap_or_default();
                    let unknown =
                        || Error::Protocol(format!("it asks for a log-in by `{method}`, which is not known here"));
                    let proof = scramble::answer(&method, password, salt.strip_suffix(&[0]).unwrap_or(salt));
                    let proof = proof.ok_or_else(unknown)?;
                    client.begin();
                    client.output.extend_from_slice(&proof);
                    client.end()?;
                }
                // Of caching_sha2_password: it does not know this user yet, and wants the password itself.
                Some(1) if body.get(1) == Some(&4) => {
                    let hint = "log in once by another client, or use a user with mysql_native_password";
                    return Err(Error::Protocol(format!("it wants the password itself, which needs TLS: {hint}")));
                }
                _ => {}
            }
        }
    }

    /// Starts a packet that answers.
    fn begin(&mut self) {
        self.output.clear();
        self.output.extend_from_slice(&[0; packet::HEAD_BYTES]);
    }

    /// Starts a packet that asks.
    fn command(&mut self, command: u8) {
        self.sequence = 0;
        self.begin();
        self.output.push(command);
    }

    /// Fills in length and number, and sends.
    fn end(&mut self) -> Result<(), Error> {
        self.phase = Phase::Head;
        packet::send(&mut self.stream, &mut self.output, self.sequence)
    }

    /// Waits for the next packet.
    fn next_packet(&mut self) -> Result<&[u8], Error> {
        loop {
            match packet::next(&mut self.input, &self.stream)? {
                Some((length, sequence)) => {
                    self.sequence = sequence.wrapping_add(1);
                    return Ok(self.input.take(length));
                }
                None => wait(self.stream.as_fd())?,
            }
        }
    }

    /// Reads past definitions and their EOF.
    fn skip_definitions(&mut self, count: u16) -> Result<(), Error> {
        let packets = if count > 0 { u32::from(count) + 1 } else { 0 };
        (0..packets).try_for_each(|_| self.next_packet().map(drop))
    }

    /// Reads the packets that have come. None: the answer has not ended.
    fn packets(&mut self, row: &mut SeeRow) -> Result<Option<u64>, Error> {
        while let Some((length, _)) = packet::next(&mut self.input, &self.stream)? {
            let body = self.input.take(length);
            match (self.phase, body.first()) {
                // Changed rows, the last number of an identity, status.
                (Phase::Head, Some(0)) => {
                    let (changed, rest) = length_encoded(&body[1..])?;
                    self.status = status(length_encoded(rest)?.1);
                    if self.status & MORE_RESULTS == 0 {
                        return Ok(Some(changed));
                    }
                }
                (Phase::Head | Phase::Rows(_), Some(0xff)) => {
                    let is_last = code(body) == IDLE_FOR_TOO_LONG && !self.is_mariadb;
                    return Err(if is_last { Error::last_words(refusal(body)) } else { refusal(body) });
                }
                (Phase::Head, _) => {
                    // Of several answers to one call the last is kept.
                    self.keeping = Keeping { is_on: self.keeping.is_on, ..Keeping::default() };
                    let columns = columns(body)?;
                    self.phase = Phase::Definitions { columns, left: columns + 1, first: None };
                }
                (Phase::Definitions { columns, left, first }, _) => {
                    if self.keeping.is_on && left > 1 {
                        self.keeping.columns.push((column_name(body)?, column_type(body)?));
                    }
                    let first = first.map_or_else(|| column_type(body), Ok)?;
                    self.phase = if left == 1 {
                        Phase::Rows(RowHead { columns, first })
                    } else {
                        Phase::Definitions { columns, left: left - 1, first: Some(first) }
                    };
                }
                // Warnings, status.
                (Phase::Rows(_), Some(0xfe)) if length < 9 => {
                    self.status = status(body.get(3..).unwrap_or_default());
                    if self.status & MORE_RESULTS == 0 {
                        return Ok(Some(0));
                    }
                    self.phase = Phase::Head;
                }
                (Phase::Rows(head), _) => {
                    if self.keeping.is_on {
                        self.keeping.row = Some(body.to_vec());
                    }
                    row(body, head)?;
                }
            }
        }
        Ok(None)
    }
}

impl Connection for Mysql {
    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        let (text, marks) = question_marks(sql);
        self.command(PREPARE);
        self.output.extend_from_slice(text.as_bytes());
        self.end()?;
        let body = self.next_packet()?;
        if body.first() == Some(&0xff) {
            return Err(refusal(body));
        }
        let fixed: [u8; 9] = *body.first_chunk().ok_or_else(short)?;
        let id = u32::from_le_bytes([fixed[1], fixed[2], fixed[3], fixed[4]]);
        let (columns, params) = (u16::from_le_bytes([fixed[5], fixed[6]]), u16::from_le_bytes([fixed[7], fixed[8]]));
        self.skip_definitions(params)?;
        self.skip_definitions(columns)?;
        // It would ignore the values that it takes for too many.
        if usize::from(params) != marks {
            return Err(Error::Protocol(format!(
                "it counts {params} parameters in a statement that is sent with {marks}: one in quotes or a comment is none, and a `?` is one"
            )));
        }
        self.prepared.push((id, Vec::new()));
        Ok(Statement(self.prepared.len() as u32 - 1))
    }

    fn start(&mut self, statement: Statement, params: &[Param], _row: EachRow) -> Result<Option<u64>, Error> {
        let id = self.prepared[statement.0 as usize].0;
        self.command(EXECUTE);
        self.output.extend_from_slice(&id.to_le_bytes());
        // No cursor, one iteration.
        self.output.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !params.is_empty() {
            let nulls = self.output.len();
            self.output.resize(nulls + params.len().div_ceil(8), 0);
            for (index, _) in params.iter().enumerate().filter(|(_, param)| **param == Param::Null) {
                self.output[nulls + index / 8] |= 1 << (index % 8);
            }
            let types = &mut self.prepared[statement.0 as usize].1;
            let are_known = types.iter().copied().eq(params.iter().map(parameter_type));
            self.output.push(u8::from(!are_known));
            if !are_known {
                *types = params.iter().map(parameter_type).collect();
                types.iter().for_each(|kind| self.output.extend_from_slice(&[*kind, 0]));
            }
            params.iter().for_each(|param| parameter(&mut self.output, param));
        }
        self.binary = true;
        self.end().map(|()| None)
    }

    fn is_in_transaction(&self) -> bool {
        self.status & IN_TRANSACTION != 0
    }

    fn keep_row(&mut self, _keep: Keep) {
        self.keeping = Keeping { is_on: true, ..Keeping::default() };
    }

    fn kept(&mut self) -> Result<Option<NamedRow>, Error> {
        let Keeping { columns, row, .. } = std::mem::take(&mut self.keeping);
        let Some(row) = row else { return Ok(None) };
        let values = if self.binary { binary_columns(&row, &columns)? } else { text_columns(&row)? };
        Ok(Some(columns.into_iter().map(|column| column.0).zip(values).collect()))
    }

    fn start_text(&mut self, sql: &str, _row: EachRow) -> Result<Option<u64>, Error> {
        self.command(QUERY);
        self.output.extend_from_slice(sql.as_bytes());
        self.binary = false;
        self.end().map(|()| None)
    }

    fn advance(&mut self, row: EachRow) -> Result<Option<u64>, Error> {
        let binary = self.binary;
        self.packets(&mut |body, head| {
            row(if binary { binary_first(body, head)? } else { text_first(body)? });
            Ok(())
        })
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.start_text(sql, &mut |_| {})?;
        let mut rows = Vec::new();
        loop {
            let changed = self.packets(&mut |body, _| {
                rows.push(text_columns(body)?);
                Ok(())
            })?;
            match changed {
                Some(changed) => return Ok(Answer { rows, changed }),
                None => wait(self.stream.as_fd())?,
            }
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}

/// Without its word the server would log a client that went missing.
impl Drop for Mysql {
    fn drop(&mut self) {
        self.command(QUIT);
        let _ = self.end();
    }
}

/// The number of an answer's columns.
fn columns(body: &[u8]) -> Result<u64, Error> {
    match length_encoded(body)?.0 {
        columns @ 0..=COLUMNS_MAX => Ok(columns),
        more => Err(Error::Protocol(format!("an answer of {more} columns"))),
    }
}

/// Of a column's definition: six texts, then a length of 12, collation (2), width (4), type, flags (2).
fn column_type(body: &[u8]) -> Result<ColumnType, Error> {
    let mut rest = body;
    for _ in 0..6 {
        rest = text(rest)?.1;
    }
    let (kind, flags) = rest.get(7).zip(rest.get(8)).ok_or_else(short)?;
    Ok(ColumnType { kind: *kind, is_unsigned: flags & UNSIGNED != 0 })
}

fn text_first(body: &[u8]) -> Result<Value<'_>, Error> {
    if body.first() == Some(&0xfb) { Ok(Value::Null) } else { Ok(Value::Text(text(body)?.0)) }
}

/// The 20 bytes of a greeting that a proof is made with: 8 behind the version's text and the connection's number, 12 more behind 19 bytes of
/// capabilities and such.
fn scramble_of(greeting: &[u8]) -> Vec<u8> {
    let version = greeting.iter().skip(1).position(|byte| *byte == 0).map_or(greeting.len(), |end| end + 2);
    let bytes = |from: usize, count: usize| greeting.get(version + from..version + from + count).unwrap_or_default();
    [bytes(4, 8), bytes(31, 12)].concat()
}

fn status(bytes: &[u8]) -> u16 {
    bytes.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// Of a column's definition: catalogue, schema, table, original table, name.
fn column_name(body: &[u8]) -> Result<String, Error> {
    let mut rest = body;
    for _ in 0..4 {
        rest = text(rest)?.1;
    }
    Ok(String::from_utf8_lossy(text(rest)?.0).into_owned())
}

fn parameter_type(param: &Param) -> u8 {
    match param {
        Param::Null => NULL,
        Param::Boolean(_) => TINY,
        Param::Integer(_) => LONGLONG,
        Param::Double(_) => DOUBLE,
        Param::Text(_) => VAR_STRING,
    }
}

fn parameter(out: &mut Vec<u8>, param: &Param) {
    match param {
        Param::Null => {}
        Param::Boolean(value) => out.push(u8::from(*value)),
        Param::Integer(value) => out.extend_from_slice(&value.to_le_bytes()),
        Param::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
        Param::Text(value) => length_encode(out, value.as_bytes()),
    }
}

/// `$1` is `?` here; each parameter stands once and in order. Without a number behind it a `$` is the statement's own, as in a JSON path. Gives
/// how many there are, too.
fn question_marks(sql: &str) -> (String, usize) {
    let mut parts = sql.split('$');
    let (mut out, mut count) = (parts.next().unwrap_or_default().to_string(), 0);
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_mark = rest.len() < part.len();
        out.push(if is_mark { '?' } else { '$' });
        out.push_str(rest);
        count += usize::from(is_mark);
    }
    (out, count)
}

fn zero_ended(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn length_encode(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        length @ 0..=250 => out.push(length as u8),
        length @ 251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        length @ 0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        length => {
            out.push(0xfe);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

/// An integer by its first byte's word, and what follows.
fn length_encoded(bytes: &[u8]) -> Result<(u64, &[u8]), Error> {
    let (first, rest) = bytes.split_first().ok_or_else(short)?;
    let width = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        small => return Ok((u64::from(*small), rest)),
    };
    let (value, rest) = rest.split_at_checked(width).ok_or_else(short)?;
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(value);
    Ok((u64::from_le_bytes(wide), rest))
}

fn text(bytes: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let (length, rest) = length_encoded(bytes)?;
    rest.split_at_checked(usize::try_from(length).map_err(|_| short())?).ok_or_else(short)
}

fn text_columns(mut body: &[u8]) -> Result<Vec<Option<String>>, Error> {
    let mut columns = Vec::new();
    while !body.is_empty() {
        if body[0] == 0xfb {
            columns.push(None);
            body = &body[1..];
        } else {
            let (value, rest) = text(body)?;
            columns.push(Some(String::from_utf8_lossy(value).into_owned()));
            body = rest;
        }
    }
    Ok(columns)
}

/// A binary row is a 0, a bitmap of NULLs that begins at its third bit, and the values: bitmap and values.
fn binary_row(body: &[u8], columns: usize) -> Result<(&[u8], &[u8]), Error> {
    let bytes = (columns + 2).div_ceil(8);
    body.get(1..).and_then(|body| body.split_at_checked(bytes)).ok_or_else(short)
}

fn binary_first(body: &[u8], head: RowHead) -> Result<Value<'_>, Error> {
    let (nulls, rest) = binary_row(body, usize::try_from(head.columns).map_err(|_| short())?)?;
    if nulls.first().is_some_and(|nulls| nulls & 0b100 != 0) {
        return Ok(Value::Null);
    }
    Ok(match head.first.kind {
        FLOAT => Value::Double(f64::from(f32::from_le_bytes(fixed(rest)?.0))),
        DOUBLE => Value::Double(f64::from_le_bytes(fixed(rest)?.0)),
        _ => binary_value(rest, head.first)?.0,
    })
}

/// A value that is neither NULL nor a fraction, and what follows it. An unsigned one of 64 bits is the integer of the same bits.
fn binary_value(bytes: &[u8], column: ColumnType) -> Result<(Value<'_>, &[u8]), Error> {
    let Some((_, width)) = INTEGERS.iter().find(|known| known.0 == column.kind) else {
        let (value, rest) = text(bytes)?;
        return Ok((Value::Text(value), rest));
    };
    let (bytes, rest) = bytes.split_at_checked(*width).ok_or_else(short)?;
    let is_negative = !column.is_unsigned && bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut wide = [if is_negative { 0xff } else { 0 }; 8];
    wide[..*width].copy_from_slice(bytes);
    Ok((Value::Integer(i64::from_le_bytes(wide)), rest))
}

/// All values of a binary row, as text.
fn binary_columns(body: &[u8], columns: &[(String, ColumnType)]) -> Result<Vec<Option<String>>, Error> {
    let (nulls, mut rest) = binary_row(body, columns.len())?;
    let mut values = Vec::new();
    for (index, (_, column)) in columns.iter().enumerate() {
        if nulls[(index + 2) / 8] & 1 << ((index + 2) % 8) != 0 {
            values.push(None);
            continue;
        }
        let (value, after) = match column.kind {
            FLOAT => fixed(rest).map(|(bytes, after)| (format!("{:?}", f32::from_le_bytes(bytes)), after))?,
            DOUBLE => fixed(rest).map(|(bytes, after)| (format!("{:?}", f64::from_le_bytes(bytes)), after))?,
            DATE | DATETIME | TIMESTAMP => moment(rest)?,
            TIME => duration(rest)?,
            _ => {
                let (value, after) = binary_value(rest, *column)?;
                let text = match value {
                    Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    Value::Integer(integer) if column.is_unsigned => integer.cast_unsigned().to_string(),
                    Value::Integer(integer) => integer.to_string(),
                    Value::Null | Value::Double(_) => unreachable!("the bitmap and the type say so"),
                };
                (text, after)
            }
        };
        values.push(Some(value));
        rest = after;
    }
    Ok(values)
}

fn fixed<const WIDTH: usize>(bytes: &[u8]) -> Result<([u8; WIDTH], &[u8]), Error> {
    bytes.split_first_chunk::<WIDTH>().map(|(value, rest)| (*value, rest)).ok_or_else(short)
}

/// A length, then the bytes; zeros at the end are left out.
fn padded(bytes: &[u8]) -> Result<([u8; 12], usize, &[u8]), Error> {
    let (length, rest) = bytes.split_first().ok_or_else(short)?;
    let (value, rest) = rest.split_at_checked(usize::from(*length)).ok_or_else(short)?;
    let mut all = [0; 12];
    all.get_mut(..value.len()).ok_or_else(short)?.copy_from_slice(value);
    Ok((all, value.len(), rest))
}

/// Year (2), month, day, hour, minute, second, microseconds (4), as a text.
fn moment(bytes: &[u8]) -> Result<(String, &[u8]), Error> {
    let (all, length, rest) = padded(bytes)?;
    let [y0, y1, month, day, hour, minute, second, m0, m1, m2, m3, _] = all;
    let mut text = format!("{:04}-{month:02}-{day:02}", u16::from_le_bytes([y0, y1]));
    if length > 4 {
        text.push_str(&format!(" {hour:02}:{minute:02}:{second:02}"));
    }
    if length > 7 {
        text.push_str(&format!(".{:06}", u32::from_le_bytes([m0, m1, m2, m3])));
    }
    Ok((text, rest))
}

/// Sign, days (4), hour, minute, second, microseconds (4), as a text.
fn duration(bytes: &[u8]) -> Result<(String, &[u8]), Error> {
    let (all, length, rest) = padded(bytes)?;
    let [is_negative, d0, d1, d2, d3, hour, minute, second, m0, m1, m2, m3] = all;
    let hours = u64::from(u32::from_le_bytes([d0, d1, d2, d3])) * 24 + u64::from(hour);
    let sign = if is_negative == 0 { "" } else { "-" };
    let mut text = format!("{sign}{hours:02}:{minute:02}:{second:02}");
    if length > 8 {
        text.push_str(&format!(".{:06}", u32::from_le_bytes([m0, m1, m2, m3])));
    }
    Ok((text, rest))
}

fn short() -> Error {
    Error::Protocol("a packet is cut off".into())
}

/// The number of a refusal.
fn code(refusal: &[u8]) -> u16 {
    refusal.get(1..3).map_or(0, |code| u16::from_le_bytes([code[0], code[1]]))
}

/// 0xff, number (2), `#` and SQLSTATE (6), words.
fn refusal(body: &[u8]) -> Error {
    let words = body.get(3..).unwrap_or_default();
    let words = if words.first() == Some(&b'#') { words.get(6..).unwrap_or_default() } else { words };
    Error::Refused { code: code(body).to_string(), message: String::from_utf8_lossy(words).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_go_there_and_back() {
        for length in [0, 1, 250, 251, 65_535, 65_536, 0xff_ffff, 0x100_0000] {
            let mut out = Vec::new();
            length_encode(&mut out, &vec![7; length]);
            let (value, rest) = text(&out).expect("whole");
            assert_eq!((value.len(), rest.len()), (length, 0));
            assert!(length == 0 || text(&out[..out.len() - 1]).is_err());
        }
    }

    #[test]
    fn values_by_type() {
        let signed = |kind| ColumnType { kind, is_unsigned: false };
        let one = |kind| RowHead { columns: 1, first: signed(kind) };
        assert_eq!(binary_first(&[0, 0, 0xfe, 0xff, 0xff, 0xff], one(3)).expect("LONG"), Value::Integer(-2));
        assert_eq!(binary_first(&[0, 0, 3, b'1', b'2', b'3'], one(246)).expect("DECIMAL").integer(), Some(123));
        assert_eq!(binary_first(&[0, 4], one(3)).expect("NULL"), Value::Null);
        let price = [&[0, 0][..], &19.99_f64.to_le_bytes()].concat();
        assert_eq!(binary_first(&price, one(DOUBLE)).expect("DOUBLE"), Value::Double(19.99));
        let tiny = RowHead { first: ColumnType { kind: TINY, is_unsigned: true }, ..one(TINY) };
        assert_eq!(binary_first(&[0, 0, 200], tiny).expect("TINYINT UNSIGNED"), Value::Integer(200));
        // Seven columns have a bitmap of two bytes; the last six of these are NULL.
        let seven = RowHead { columns: 7, ..one(VAR_STRING) };
        assert_eq!(binary_first(&[0, 0b1111_1000, 1, 2, b'a', b'b'], seven).expect("VARCHAR"), Value::Text(b"ab"));
        let all = [
            &[0, 0b1000, 4, 0xea, 0x07, 11, 23][..],
            &[7, 0xea, 0x07, 1, 2, 3, 4, 5],
            &[8, 1, 1, 0, 0, 0, 2, 3, 4],
            &1.5_f64.to_le_bytes(),
            &[2, b'a', b'b'],
        ];
        let kinds = [DATE, LONGLONG, DATETIME, TIME, DOUBLE, VAR_STRING].map(|kind| (String::new(), signed(kind)));
        let texts = ["2026-11-23", "NULL", "2026-01-02 03:04:05", "-26:03:04", "1.5", "ab"];
        let found = binary_columns(&all.concat(), &kinds).expect("whole");
        assert_eq!(found.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect::<Vec<_>>(), texts);
        let unsigned = [LONGLONG, FLOAT].map(|kind| (String::new(), ColumnType { kind, is_unsigned: true }));
        let largest = [&[0, 0][..], &u64::MAX.to_le_bytes(), &0.1_f32.to_le_bytes()].concat();
        let found = binary_columns(&largest, &unsigned).expect("whole");
        assert_eq!(found, [Some(u64::MAX.to_string()), Some("0.1".to_string())]);
        assert_eq!(question_marks("a = $1 AND b = $12"), ("a = ? AND b = ?".into(), 2));
        assert_eq!(
            question_marks("JSON_VALUE(doc, '$.price') = $1 OR '$' = c"),
            ("JSON_VALUE(doc, '$.price') = ? OR '$' = c".into(), 1)
        );
        assert_eq!(refusal(b"\xff\xbd\x04#40001Deadlock found").conflict(), Some(crate::Conflict::Deadlock));
        assert_eq!(refusal(b"\xff\xf4\x0d#HY000NOWAIT is set").conflict(), Some(crate::Conflict::LockTimeout));
    }
}
