//! What the readers of all forms say, put together: sessions of statements, each text kept once.

use crate::message::Lock;
use crate::reason::{LeftOut, Reason};
use crate::{Form, Options, Problem, message, notes, reason, transactions};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// A log that can be replayed.
#[derive(Debug)]
pub struct Log {
    /// The form that it was read as.
    pub form: Form,
    /// The sessions, by the moment when they began.
    pub sessions: Vec<Session>,
    /// What is not replayed, and why.
    pub left_out: LeftOut,
    /// Lines that were read.
    pub lines: u64,
    /// Lines that are nothing of this form.
    pub bad_lines: u64,
    /// What is sent otherwise than it was, a sentence each.
    pub notes: Vec<String>,
    texts: Vec<Box<str>>,
    /// Of each text, whether it gives up all prepared statements.
    forgets: Vec<bool>,
    /// Of each text, what it does to locks.
    locks: Vec<Option<Lock>>,
    params: Vec<Option<Box<str>>>,
}

impl Log {
    /// Each different text.
    pub fn texts(&self) -> &[Box<str>] {
        &self.texts
    }

    /// A step's parameters; none: NULL.
    pub fn params(&self, step: &Step) -> &[Option<Box<str>>] {
        &self.params[step.params.start as usize..step.params.end as usize]
    }

    /// Whether a session has no prepared statement behind this step.
    pub fn forgets_prepared(&self, step: &Step) -> bool {
        self.forgets[step.text as usize]
    }

    /// What this step does to locks that outlive transactions.
    pub fn lock(&self, step: &Step) -> Option<Lock> {
        self.locks[step.text as usize]
    }

    /// Whether this step may wait until another session gives back such a lock.
    pub fn may_wait_for_lock(&self, step: &Step) -> bool {
        message::may_wait_for_lock(&self.texts[step.text as usize])
    }

    /// Statements that are to be replayed.
    pub fn statements(&self) -> u64 {
        self.sessions.iter().map(|session| session.steps.len() as u64).sum()
    }

    /// The moment when the first session began, and the one when the last ended.
    pub fn span(&self) -> Range<i64> {
        let from = self.sessions.iter().map(Session::from).min().unwrap_or(0);
        from..self.sessions.iter().map(Session::to).max().unwrap_or(from)
    }

    /// The most sessions that were there at a time.
    pub fn concurrency(&self) -> usize {
        let mut ends: Vec<i64> = self.sessions.iter().map(Session::to).collect();
        ends.sort_unstable();
        let (mut ended, mut most) = (0, 0);
        // They are sorted by their beginnings.
        for (begun, session) in self.sessions.iter().enumerate() {
            while ends[ended] < session.from() {
                ended += 1;
            }
            most = most.max(begun + 1 - ended);
        }
        most
    }
}

/// What one connection did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// The databases that it is on one after the other, where the log says it, and how many statements came before each.
    pub databases: Vec<(usize, String)>,
    /// When it connected, in microseconds since 1970; none: before the log's beginning, or the log does not say it.
    pub began: Option<i64>,
    /// When it ended; none: after the log's end, or the log does not say it.
    pub ended: Option<i64>,
    /// Its statements, in their order.
    pub steps: Vec<Step>,
}

impl Session {
    /// The database that a statement of it is sent to. What comes before it chose its first one prepares for that; where the log does not
    /// have its beginning, it may have been on another.
    fn database_of(&self, step: usize) -> Option<&str> {
        let chosen = self.databases.partition_point(|(before, _)| *before <= step);
        let place = if self.began.is_some() { Some(chosen.saturating_sub(1)) } else { chosen.checked_sub(1) };
        self.databases.get(place?).map(|(_, name)| name.as_str())
    }

    /// Its first moment in the log.
    pub fn from(&self) -> i64 {
        self.began.or_else(|| Some(self.steps.first()?.at_microseconds)).unwrap_or_default()
    }

    /// Its last moment in the log.
    pub fn to(&self) -> i64 {
        let last = self.steps.last().map_or(i64::MIN, |step| step.at_microseconds);
        self.ended.unwrap_or(last).max(last).max(self.from())
    }
}

/// A statement of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its place among all statements of the log.
    pub number: u64,
    /// When it began, in microseconds since 1970.
    pub at_microseconds: i64,
    /// Its number among [`Log::texts`].
    pub text: u32,
    pub(crate) params: Range<u32>,
    /// How it was sent.
    pub way: Way,
    /// What came of it.
    pub expects: Expects,
    /// Rows that it gave, or changed, where the log says it.
    pub rows: Option<u64>,
}

/// How a statement was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As text.
    Text,
    /// As text and parameters, for this once.
    Unnamed,
    /// Prepared before, under a name.
    Prepared,
}

/// What came of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expects {
    /// An answer.
    Answer,
    /// An error, with its code where the log has that.
    Failure(Option<Box<str>>),
    /// The log does not say it.
    Unknown,
}

/// What a reader knows of a statement.
pub struct Statement<'a> {
    /// When it began.
    pub at_microseconds: i64,
    /// Its text.
    pub text: &'a str,
    /// How it was sent.
    pub way: Way,
    /// What came of it, as far as it is known now.
    pub expects: Expects,
    /// Whether it is over.
    pub is_over: bool,
    /// Rows.
    pub rows: Option<u64>,
}

/// A session that has not ended.
#[derive(Default)]
struct Open {
    session: Session,
    /// Whether the last statement is over: what comes then is of another one.
    is_over: bool,
    /// Whether the last statement was left out, with what is said of it.
    is_left_out: bool,
    /// Whether the last message was that statement's: parameters that come now are its own.
    awaits_parameters: bool,
    /// Whether it has set a time-out for its statements.
    has_own_timeout: bool,
    /// Whether statements of it come after the last that is wanted.
    is_cut: bool,
    /// An error whose statement has not come yet.
    failure: Option<Failure>,
    /// Names under which the protocol prepared statements.
    names: HashSet<Box<str>>,
}

/// An error.
struct Failure {
    at: i64,
    code: Option<Box<str>>,
    /// Whether its statement was ended from outside.
    is_cancelled: bool,
}

/// What readers fill.
#[derive(Default)]
pub struct Sessions {
    form: Form,
    options: Options,
    statements: u64,
    texts: HashMap<Box<str>, u32>,
    params: Vec<Option<Box<str>>>,
    left_out: LeftOut,
    /// By what identifies a session in the log, until it ends.
    open: HashMap<u64, Open>,
    ended: Vec<Session>,
    /// Lines that were read.
    pub lines: u64,
    /// Whether the statements of stored programs stand beside their calls.
    pub has_programs: bool,
    /// Whether a slow log has begins, ends and settings that took no time, and so all of its sessions' statements.
    pub has_quick: bool,
    bad_lines: u64,
    first_bad: u64,
}

impl Sessions {
    pub fn new(form: Form, options: &Options) -> Sessions {
        Sessions { form, options: options.clone(), ..Sessions::default() }
    }

    /// The line that was read last is nothing of this form.
    pub fn bad_line(&mut self) {
        if self.bad_lines == 0 {
            self.first_bad = self.lines;
        }
        self.bad_lines += 1;
    }

    /// A client connects. Who had the same number before is gone.
    pub fn begin(&mut self, key: u64, at: i64) {
        let is_known =
            self.open.get(&key).is_some_and(|open| open.session.steps.is_empty() && open.session.began.is_some());
        if !is_known {
            self.end(key, None);
            self.open.entry(key).or_default().session.began = Some(at);
        }
    }

    /// It is on this database from now on.
    pub fn database(&mut self, key: u64, name: &str) {
        let session = &mut self.open.entry(key).or_default().session;
        let is_known = session.databases.last().is_some_and(|(_, last)| last == name);
        if !is_known && !name.is_empty() {
            session.databases.push((session.steps.len(), name.into()));
        }
    }

    /// It sends a statement.
    pub fn statement(&mut self, key: u64, statement: Statement<'_>) {
        let most = self.options.statements_max;
        let is_copy = self.form.is_postgres() && message::copies(statement.text);
        let reason = if is_copy {
            Some(Reason::Copy)
        } else if statement.text.contains(char::REPLACEMENT_CHARACTER) {
            Some(Reason::NotUtf8)
        } else if self.form.is_postgres() && message::chooses_encoding(statement.text) {
            Some(Reason::Encoding)
        } else if !self.form.is_postgres() && message::is_of_program(statement.text) {
            Some(Reason::StoredProgram)
        } else if !self.form.is_postgres() && message::loads_file(statement.text) {
            Some(Reason::LoadData)
        } else if !self.form.is_postgres() && message::writes_file(statement.text) {
            Some(Reason::IntoFile)
        } else if message::ends_others(statement.text, self.form.is_postgres()) {
            Some(Reason::EndsOthers)
        } else {
            (most > 0 && self.statements >= most).then_some(Reason::AfterLimit)
        };
        let open = self.open.entry(key).or_default();
        open.is_left_out = reason.is_some();
        open.is_cut |= reason == Some(Reason::AfterLimit);
        open.has_own_timeout |= self.form.is_postgres() && message::sets_timeout(statement.text);
        open.awaits_parameters = true;
        open.is_over = statement.is_over;
        if let Some(reason) = reason {
            return self.leave_out(reason);
        }
        self.statements += 1;
        let next = self.texts.len() as u32;
        let text = match self.texts.get(statement.text) {
            Some(known) => *known,
            None => *self.texts.entry(statement.text.into()).or_insert(next),
        };
        let params = self.params.len() as u32;
        // Of one session, none begins before the one that it follows, whatever a coarse clock says.
        let before = open.session.steps.last().map_or(i64::MIN, |step| step.at_microseconds);
        let Statement { at_microseconds, way, expects, rows, .. } = statement;
        let (number, at_microseconds) = (self.statements, at_microseconds.max(before));
        open.session.steps.push(Step { number, at_microseconds, text, params: params..params, way, expects, rows });
    }

    /// A statement that the protocol prepared has this name.
    pub fn named(&mut self, key: u64, name: &str) {
        let names = &mut self.open.entry(key).or_default().names;
        if !names.contains(name) {
            names.insert(name.into());
        }
    }

    /// It sends a statement that may be a DEALLOCATE of such a name. That is left out: in a replay these statements have other names.
    pub fn statement_or_deallocate(&mut self, key: u64, statement: Statement<'_>) {
        let open = self.open.entry(key).or_default();
        if message::deallocated(statement.text).is_none_or(|name| !open.names.remove(name)) {
            return self.statement(key, statement);
        }
        (open.is_left_out, open.is_over) = (true, statement.is_over);
        self.leave_out(Reason::Command);
    }

    /// It said something else, which may have parameters of its own.
    pub fn other(&mut self, key: u64) {
        if let Some(open) = self.open.get_mut(&key) {
            open.awaits_parameters = false;
        }
    }

    /// Its last statement has these parameters.
    pub fn parameters(&mut self, key: u64, params: impl Iterator<Item = Option<String>>) {
        let Some(open) = self.open.get_mut(&key).filter(|open| open.awaits_parameters && !open.is_left_out) else {
            return;
        };
        open.awaits_parameters = false;
        let Some(step) = open.session.steps.last_mut().filter(|step| step.params.is_empty()) else { return };
        let params: Vec<Option<String>> = params.collect();
        if params.iter().flatten().any(|value| value.contains(char::REPLACEMENT_CHARACTER)) {
            open.session.steps.pop();
            open.is_left_out = true;
            return self.leave_out(Reason::NotUtf8);
        }
        let from = self.params.len() as u32;
        self.params.extend(params.into_iter().map(|value| value.map(String::into_boxed_str)));
        step.params = from..self.params.len() as u32;
    }

    /// Its last statement is over.
    pub fn over(&mut self, key: u64) {
        self.open.entry(key).or_default().is_over = true;
    }

    /// It met an error, with these words; its statement may follow.
    pub fn failing(&mut self, key: u64, at: i64, code: Option<&str>, words: &str) {
        self.failed(key, None);
        let open = self.open.entry(key).or_default();
        let is_cancelled = message::is_cancelled(words, open.has_own_timeout);
        open.failure = Some(Failure { at, code: code.map(Box::from), is_cancelled });
    }

    /// The statement of its last error, if it has one: the one that it sent last, or one that was not logged when it began. One that
    /// was cancelled is not replayed: nobody would end it here.
    pub fn failed(&mut self, key: u64, text: Option<&str>) {
        let open = self.open.entry(key).or_default();
        let Some(Failure { at, code, is_cancelled }) = open.failure.take() else { return };
        let is_last = |step: &Step| text.is_none_or(|text| self.texts.get(text) == Some(&step.text));
        let is_left_out = open.is_left_out;
        if !open.is_over
            && let Some(last) = open.session.steps.last_mut().filter(|step| !is_left_out && is_last(step))
        {
            open.is_over = true;
            if is_cancelled {
                open.session.steps.pop();
                open.is_left_out = true;
                return self.leave_out(Reason::Cancelled);
            }
            last.expects = Expects::Failure(code);
            return;
        }
        let Some(text) = text.filter(|_| open.is_over || !is_left_out) else { return };
        if is_cancelled {
            return self.leave_out(Reason::Cancelled);
        }
        let expects = Expects::Failure(code);
        let statement = Statement { at_microseconds: at, text, way: Way::Text, expects, is_over: true, rows: None };
        self.statement(key, statement);
    }

    /// Something of it is not replayed.
    pub fn leave_out(&mut self, reason: Reason) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    /// It ends.
    pub fn end(&mut self, key: u64, at: Option<i64>) {
        self.failed(key, None);
        let Some(Open { mut session, is_cut, .. }) = self.open.remove(&key) else { return };
        // What it did later is not replayed, and its last transaction may be half of one.
        session.ended = at.filter(|_| !is_cut);
        self.ended.push(session);
    }

    /// All that was read.
    pub fn finish(mut self) -> Result<Log, Problem> {
        if self.bad_lines as f64 > self.options.bad_lines_max * self.lines as f64 {
            let (bad, lines, first) = (self.bad_lines, self.lines, self.first_bad);
            return Err(Problem::BadLines { bad, lines, first, form: self.form.name() });
        }
        let mut keys: Vec<u64> = self.open.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.end(key, None);
        }
        let mut texts: Vec<(Box<str>, u32)> = self.texts.into_iter().collect();
        texts.sort_unstable_by_key(|(_, number)| *number);
        let mut texts: Vec<Box<str>> = texts.into_iter().map(|(text, _)| text).collect();
        let backslash_escapes = !self.form.is_postgres();
        let for_all: Vec<bool> = texts.iter().map(|text| transactions::is_for_all(text, backslash_escapes)).collect();
        let (sessions, wanted) = (self.ended, self.options.database.as_deref());
        let mut sessions = of_database(self.form, sessions, &for_all, wanted, &mut self.left_out)?;
        transactions::leave_out_halves(&mut sessions, &texts, backslash_escapes, &mut self.left_out);
        // Where the log has slow ones alone, a commit's BEGIN was too quick for it.
        let has_all = self.form == Form::General || self.has_quick;
        let switched = if has_all { transactions::switch_autocommit_off(&mut sessions, &mut texts) } else { 0 };
        leave_out_unknown(&mut sessions, &texts, &mut self.left_out);
        sessions.retain(|session| !session.steps.is_empty());
        sessions.sort_by_key(Session::from);
        if sessions.is_empty() {
            return Err(Problem::Empty(reason::empty(self.form, &self.left_out)));
        }
        let forgets = texts.iter().map(|text| message::forgets_all(text)).collect();
        let locks = texts.iter().map(|text| message::lock(text, self.form.is_postgres())).collect();
        let (left_out, params, lines) = (self.left_out, self.params, self.lines);
        let (form, bad_lines, notes) = (self.form, self.bad_lines, Vec::new());
        let mut log = Log { form, sessions, left_out, lines, bad_lines, notes, texts, forgets, locks, params };
        log.notes = notes::of(&log, self.has_programs, switched);
        Ok(log)
    }
}

/// What sessions did on the one database that is wanted, or is there, and of these sessions what is for all databases.
fn of_database(
    form: Form,
    mut sessions: Vec<Session>,
    for_all: &[bool],
    wanted: Option<&str>,
    left_out: &mut LeftOut,
) -> Result<Vec<Session>, Problem> {
    let worked_on = |session: &Session| -> Vec<String> {
        let ends = session.databases.iter().skip(1).map(|(before, _)| *before).chain([session.steps.len()]);
        let used = session.databases.iter().zip(ends).filter(|((before, _), end)| before < end);
        used.map(|((_, name), _)| name.clone()).collect()
    };
    let names: BTreeSet<String> = sessions.iter().flat_map(worked_on).collect();
    let all = || names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match wanted {
        None if names.len() > 1 => return Err(Problem::Databases(all())),
        Some(wanted) if !names.is_empty() && !names.contains(wanted) => {
            return Err(Problem::NoDatabase { wanted: wanted.into(), found: all() });
        }
        _ => {}
    }
    let wanted = wanted.or(names.first().map(String::as_str));
    let is_wanted = |session: &Session, step: usize| match session.database_of(step) {
        Some(database) => wanted == Some(database),
        // It chose none; or it did before the log's beginning, and only the slow log says it again.
        None => names.is_empty() || session.began.is_none() && form != Form::Slow,
    };
    let mut others = 0;
    for session in &mut sessions {
        let mut own: Vec<bool> = (0..session.steps.len()).map(|step| is_wanted(session, step)).collect();
        if own.contains(&true) {
            own.iter_mut().zip(&session.steps).for_each(|(own, step)| *own |= for_all[step.text as usize]);
        }
        others += own.iter().filter(|is_own| !**is_own).count() as u64;
        let mut own = own.into_iter();
        session.steps.retain(|_| own.next() == Some(true));
        session.databases =
            wanted.filter(|_| !session.databases.is_empty()).map(|name| (0, name.into())).into_iter().collect();
    }
    if others > 0 {
        *left_out.entry(Reason::OtherDatabase).or_default() += others;
    }
    Ok(sessions)
}

/// Leaves out statements that have marks of parameters, and no parameters.
fn leave_out_unknown(sessions: &mut [Session], texts: &[Box<str>], left_out: &mut LeftOut) {
    let marks: Vec<bool> = texts.iter().map(|text| message::has_marks(text)).collect();
    for session in sessions {
        let before = session.steps.len();
        session.steps.retain(|step| {
            let is_failed_text = step.way == Way::Text && matches!(step.expects, Expects::Failure(_));
            let may_have = step.way != Way::Text || is_failed_text;
            !(may_have && step.params.is_empty() && marks[step.text as usize])
        });
        let count = (before - session.steps.len()) as u64;
        if count > 0 {
            *left_out.entry(Reason::ParametersUnknown).or_default() += count;
        }
    }
}
