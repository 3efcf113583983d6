//! One connection and the transaction it is in: a step at a time, so that one thread can wait for many.

use super::mix::Transaction;
use super::statement::{self, Class, PARAMS_MAX, Seen, Sql};
use super::{Parameters, RowsLike, table_name};
use crate::sql::{Database, Place, failed};
use crate::workload::Error;
use std::os::fd::BorrowedFd;
use wire::{Conflict, Connection, Param, Statement};

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The database has not answered yet.
    Waiting,
    /// Acknowledged.
    Committed,
    /// It met another: rolled back, to be tried again with the same ids.
    Conflict(Conflict),
}

/// Statements that were executed, failed ones and those of retried transactions included, as sysbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statements {
    /// SELECT.
    pub reads: u64,
    /// INSERT, UPDATE, DELETE.
    pub writes: u64,
    /// BEGIN, COMMIT, ROLLBACK.
    pub others: u64,
    /// Updates and deletes that found no row.
    pub missed: u64,
}

/// A connection with its prepared statements.
pub struct Client {
    connection: Box<dyn Connection>,
    engine: &'static str,
    rows: RowsLike,
    steps: Vec<Sql>,
    /// By table, then by step; empty when statements are sent as text.
    prepared: Vec<Vec<Statement>>,
    rollback: Option<Statement>,
    begin: &'static str,
    may_miss: bool,
    /// The transaction under way.
    pub transaction: Transaction,
    at: usize,
    is_sent: bool,
    open: bool,
    /// Why it is being rolled back.
    conflict: Option<Conflict>,
    seen: Seen,
    text: String,
    /// What it executed so far.
    pub statements: Statements,
    /// Rows that its acknowledged transactions added, minus those that they deleted.
    pub rows_added: i64,
    pending: i64,
}

impl Client {
    /// Connects and prepares.
    pub fn connect(database: &dyn Database, place: &Place, parameters: &Parameters) -> Result<Client, Error> {
        let connection = database.connect(place)?;
        let steps = statement::of(parameters.mix, parameters.in_transaction && parameters.mix.is_transaction());
        let mut client = Client::with(connection, database.name(), parameters.rows_like, steps);
        client.begin = database.begin();
        client.may_miss = database.misses_replaced_rows() && parameters.threads > 1;
        if parameters.prepared {
            client.prepare(parameters.tables).map_err(failed(database.name(), "prepare its statements"))?;
        }
        Ok(client)
    }

    /// On a connection, with nothing prepared.
    pub fn with(connection: Box<dyn Connection>, engine: &'static str, rows: RowsLike, steps: Vec<Sql>) -> Client {
        Client {
            connection,
            engine,
            rows,
            steps,
            prepared: Vec::new(),
            rollback: None,
            begin: "BEGIN",
            may_miss: false,
            transaction: Transaction::default(),
            at: 0,
            is_sent: false,
            open: false,
            conflict: None,
            seen: Seen::default(),
            text: String::new(),
            statements: Statements::default(),
            rows_added: 0,
            pending: 0,
        }
    }

    fn prepare(&mut self, tables: u32) -> Result<(), wire::Error> {
        for table in 1..=tables {
            let mut known: Vec<(Sql, Statement)> = Vec::new();
            for sql in self.steps.clone() {
                if !known.iter().any(|(earlier, _)| *earlier == sql) {
                    let text = self.spelled(sql, table);
                    known.push((sql, self.connection.prepare(&text)?));
                }
            }
            let of_step = |sql: &Sql| known.iter().find(|(earlier, _)| earlier == sql).expect("it was just prepared").1;
            self.prepared.push(self.steps.iter().map(of_step).collect());
        }
        self.rollback = Some(self.connection.prepare("ROLLBACK")?);
        Ok(())
    }

    fn spelled(&self, sql: Sql, table: u32) -> String {
        let other = if sql == Sql::Begin { self.begin } else { "COMMIT" };
        sql.text(&table_name(table)).unwrap_or_else(|| other.into())
    }

    /// Readable when [`Client::advance`] has something to do; none: it never waits.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.connection.descriptor()
    }

    /// Goes on with the transaction until it ends or has to wait.
    ///
    /// # Errors
    /// When the database fails, or answers wrongly.
    pub fn advance(&mut self) -> Result<Progress, Error> {
        loop {
            if self.conflict.is_none() && self.at == self.steps.len() {
                self.at = 0;
                self.rows_added += std::mem::take(&mut self.pending);
                return Ok(Progress::Committed);
            }
            let came = if self.is_sent { self.more() } else { self.send() };
            self.is_sent = true;
            match came {
                Ok(None) => return Ok(Progress::Waiting),
                Ok(Some(changed)) => {
                    self.is_sent = false;
                    if let Some(conflict) = self.conflict.take() {
                        return Ok(Progress::Conflict(conflict));
                    }
                    self.done(changed)?;
                }
                Err(error) => {
                    self.is_sent = false;
                    if let Some(conflict) = self.refused(error)? {
                        return Ok(Progress::Conflict(conflict));
                    }
                }
            }
        }
    }

    fn send(&mut self) -> Result<Option<u64>, wire::Error> {
        if self.conflict.is_some() {
            self.statements.others += 1;
            return match self.rollback {
                Some(statement) => self.connection.start(statement, &[], &mut |_| {}),
                None => self.connection.start_text("ROLLBACK", &mut |_| {}),
            };
        }
        let sql = self.steps[self.at];
        match sql.class() {
            Class::Read => self.statements.reads += 1,
            Class::Write => self.statements.writes += 1,
            Class::Other => self.statements.others += 1,
        }
        let mut params = [Param::Integer(0); PARAMS_MAX];
        let count = sql.params(&self.transaction, self.nth(), &mut params);
        let (texts, rows) = (sql.gives_texts(), self.rows);
        (self.seen.rows, self.seen.integer, self.seen.strange) = (0, None, None);
        let seen = &mut self.seen;
        let row = &mut |value: wire::Value| seen.look(value, texts, rows);
        if let Some(statements) = self.prepared.get(self.transaction.table as usize - 1) {
            return self.connection.start(statements[self.at], &params[..count], row);
        }
        let other = if sql == Sql::Begin { self.begin } else { "COMMIT" };
        let text = sql.text(&table_name(self.transaction.table)).unwrap_or_else(|| other.into());
        statement::spell(&text, &params[..count], &mut self.text);
        self.connection.start_text(&self.text, row)
    }

    fn more(&mut self) -> Result<Option<u64>, wire::Error> {
        let texts = self.conflict.is_none() && self.steps[self.at].gives_texts();
        let (seen, rows) = (&mut self.seen, self.rows);
        self.connection.advance(&mut |value| seen.look(value, texts, rows))
    }

    /// Which of the point selects this step is.
    fn nth(&self) -> usize {
        self.at.saturating_sub(usize::from(self.steps[0] == Sql::Begin))
    }

    /// A statement has its answer.
    fn done(&mut self, changed: u64) -> Result<(), Error> {
        let sql = self.steps[self.at];
        sql.judge(&self.transaction, self.nth(), &self.seen, changed, self.may_miss)?;
        match sql {
            Sql::Begin => self.open = true,
            Sql::Commit => self.open = false,
            Sql::InsertNew => self.pending += 1,
            Sql::DeleteAny => self.pending -= i64::from(changed == 1),
            _ => {}
        }
        self.statements.missed += u64::from(sql.class() == Class::Write && changed == 0);
        self.at += 1;
        Ok(())
    }

    /// A statement was refused: a conflict that is over, or, none, one that is to be rolled back first.
    fn refused(&mut self, error: wire::Error) -> Result<Option<Conflict>, Error> {
        let Some(conflict) = error.conflict().filter(|_| self.conflict.is_none()) else {
            return Err(failed(self.engine, "run a transaction")(error));
        };
        (self.at, self.pending) = (0, 0);
        if !std::mem::take(&mut self.open) {
            return Ok(Some(conflict));
        }
        self.conflict = Some(conflict);
        Ok(None)
    }
}
