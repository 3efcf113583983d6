//! The thread that answers the kernel: one read a request, one write an answer, and in between the answer's due time.
//!
//! Whatever ends it closes the connection, and all I/O on the disk fails then; nothing waits for an answer that never comes.

use super::fuse::{self, Ask, Buffer, Connection, Received};
use super::images::Images;
use super::recorder::Recorder;
use super::{Log, now_nanoseconds};
use crate::fault::RequestKind;
use crate::fault::injector::{Action, Asked, Damage, Injector};
use crate::timing::{Model, Work};
use crate::timing_fidelity::Timestamps;
use crate::write_log::{Operation, Request};
use nix::errno::Errno;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A timer is late by about this much on a quiet machine: the rest is waited for awake.
const AWAKE_NANOSECONDS: u64 = 50_000;

/// How often what hangs is looked at whether the disk was mended.
const MENDED_LOOK_NANOSECONDS: u64 = 5_000_000;

/// What the disk holds.
pub(super) enum Content {
    /// It is written to, and that is written down.
    Recording(Recorder),
    /// It shows what a power cut may have left, and fails as it is told.
    Exploring(Box<Images<Log>>, Injector),
    /// All I/O fails.
    Failing,
}

/// The content, shared with whoever gives orders.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Content>>);

impl Shared {
    pub(super) fn new(content: Content) -> Shared {
        Shared(Arc::new(Mutex::new(content)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Content> {
        // A thread that panicked has ended the connection, and the content matters no more.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that was taken and not answered yet.
#[derive(Clone, Copy)]
struct Pending {
    unique: u64,
    /// When it came.
    at_nanoseconds: u64,
    /// Its number in the log; none: it is not in there.
    request: Option<Request>,
    reply: Reply,
}

#[derive(Clone, Copy)]
enum Reply {
    Read { offset: u64, bytes: usize, damage: Option<Damage> },
    Written(u32),
    Done,
}

/// A request whose answer a fault holds back.
struct Held {
    until_nanoseconds: u64,
    /// Whether it ends with an error, then or as soon as the disk is mended.
    is_refused: bool,
    pending: Pending,
}

/// Requests that wait for their due time.
struct Delays {
    model: Model,
    waiting: Vec<Pending>,
    /// Places in `waiting` that are free.
    free: Vec<usize>,
}

/// Serves one disk.
pub(super) struct Server {
    connection: Connection,
    content: Shared,
    disk_bytes: u64,
    delays: Option<Delays>,
    held: Vec<Held>,
    /// Where a read is put together.
    scratch: Vec<u8>,
}

impl Server {
    /// Without a model all is answered at once.
    pub(super) fn new(connection: Connection, content: Shared, disk_bytes: u64, model: Option<Model>) -> Server {
        let delays = model.map(|model| Delays { model, waiting: Vec::new(), free: Vec::new() });
        Server { connection, content, disk_bytes, delays, held: Vec::new(), scratch: vec![0; fuse::TRANSFER_BYTES_MAX] }
    }

    /// Answers until the filesystem is gone.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut buffer = Buffer::new();
        loop {
            let (held, due) = (self.answer_what_was_held(), self.answer_what_is_due());
            let due = held.into_iter().chain(due).min();
            self.connection.block(due.is_none())?;
            match (self.connection.receive(&mut buffer)?, due) {
                (Received::Message(bytes), _) => self.take(buffer.message(bytes)),
                (Received::Nothing, Some(due)) => self.wait_until(due)?,
                (Received::Nothing, None) => {}
                (Received::Gone, _) => return Ok(()),
            }
        }
    }

    /// Sleeps to a little before it, or not at all.
    fn wait_until(&self, due_nanoseconds: u64) -> io::Result<()> {
        let left = due_nanoseconds.saturating_sub(now_nanoseconds());
        if left > AWAKE_NANOSECONDS {
            return self.connection.wait(Duration::from_nanos(left - AWAKE_NANOSECONDS));
        }
        std::hint::spin_loop();
        Ok(())
    }

    /// When the next of them is to be looked at.
    fn answer_what_was_held(&mut self) -> Option<u64> {
        if self.held.is_empty() {
            return None;
        }
        let now = now_nanoseconds();
        let mut content = self.content.lock();
        let mut is_mended = !matches!(&*content, Content::Exploring(_, injector) if !injector.is_mended);
        for held in std::mem::take(&mut self.held) {
            let is_due = held.until_nanoseconds <= now;
            if held.is_refused && (is_due || is_mended) {
                // The disk was taken away with it, and is put in again.
                self.connection.refuse(held.pending.unique, Errno::EIO);
                if let Content::Exploring(_, injector) = &mut *content {
                    injector.is_mended = true;
                }
                is_mended = true;
            } else if is_due {
                finish(&self.connection, &mut content, held.pending, &mut self.scratch);
            } else {
                self.held.push(held);
            }
        }
        let next = |held: &Held| match held.is_refused {
            true => held.until_nanoseconds.min(now + MENDED_LOOK_NANOSECONDS),
            false => held.until_nanoseconds,
        };
        self.held.iter().map(next).min()
    }

    /// When the next answer is due.
    fn answer_what_is_due(&mut self) -> Option<u64> {
        let delays = self.delays.as_mut()?;
        loop {
            let now = now_nanoseconds();
            let due = delays.model.next_due(now)?;
            let Some(ticket) = delays.model.take_done(now) else { return Some(due) };
            delays.free.push(ticket);
            let mut content = self.content.lock();
            let pending = delays.waiting[ticket];
            finish(&self.connection, &mut content, pending, &mut self.scratch);
            if let Content::Recording(recorder) = &mut *content {
                let timestamps = Timestamps { came: pending.at_nanoseconds, due, answered: now_nanoseconds() };
                recorder.timing_fidelity.add(timestamps);
            }
        }
    }

    fn take(&mut self, message: &[u8]) {
        let Some(call) = fuse::parse(message) else {
            return eprintln!("powercut: a message of {} bytes of the kernel's is too short", message.len());
        };
        let (unique, disk_bytes) = (call.unique, self.disk_bytes);
        let answer = |body: &[u8]| self.connection.answer(unique, body);
        match call.ask {
            Ask::Read { offset, bytes } => {
                let bytes = u64::from(bytes).min(disk_bytes.saturating_sub(offset));
                let bytes = (bytes as usize).min(fuse::TRANSFER_BYTES_MAX);
                self.read(unique, offset, bytes);
            }
            Ask::Do(operation) if self.fits(operation) => self.submit(unique, operation),
            Ask::Do(_) => self.connection.refuse(unique, Errno::ENOSPC),
            Ask::Init(flags) => answer(&fuse::initial(flags)),
            Ask::LookUp { is_file: true } => answer(&fuse::entry(disk_bytes)),
            Ask::LookUp { is_file: false } => self.connection.refuse(unique, Errno::ENOENT),
            Ask::Attributes { is_file } => answer(&fuse::attributes(is_file, disk_bytes)),
            Ask::Open => answer(&fuse::opened()),
            Ask::Statistics => answer(&fuse::statistics(disk_bytes)),
            Ask::Agree => answer(&[]),
            Ask::Silence => {}
            Ask::Unknown => self.connection.refuse(unique, Errno::ENOSYS),
        }
    }

    fn fits(&self, operation: Operation) -> bool {
        let (offset, length) = operation.place();
        offset.checked_add(length).is_some_and(|end| end <= self.disk_bytes)
    }

    fn read(&mut self, unique: u64, offset: u64, bytes: usize) {
        let at_nanoseconds = now_nanoseconds();
        let reply = Reply::Read { offset, bytes, damage: None };
        let mut pending = Pending { unique, at_nanoseconds, request: None, reply };
        let mut content = self.content.lock();
        let action = match (&mut self.delays, &mut *content) {
            (Some(delays), Content::Recording(_)) => {
                return delays.add(pending, Work::Read { offset, bytes: bytes as u64 });
            }
            (_, Content::Exploring(_, injector)) => {
                let asked = Asked { kind: RequestKind::Read, offset, length: bytes as u64 };
                injector.decide(asked, &[], self.disk_bytes)
            }
            _ => Action::Pass,
        };
        if let Action::Damage(damage) = action {
            pending.reply = Reply::Read { offset, bytes, damage: Some(damage) };
        }
        match (held(action, pending), refusal(action)) {
            (Some(held), _) => self.held.push(held),
            (None, Some(error)) => self.connection.refuse(unique, error),
            (None, None) => finish(&self.connection, &mut content, pending, &mut self.scratch),
        }
    }

    fn submit(&mut self, unique: u64, operation: Operation) {
        let at = now_nanoseconds();
        let reply = match operation {
            Operation::Write { data, .. } => Reply::Written(data.len() as u32),
            _ => Reply::Done,
        };
        let mut content = self.content.lock();
        let (request, action) = match &mut *content {
            Content::Recording(recorder) => (Some(recorder.submit(at, operation)), Action::Pass),
            Content::Exploring(images, injector) => {
                let action = asked(&operation)
                    .map_or(Action::Pass, |(asked, data)| injector.decide(asked, data, self.disk_bytes));
                apply(images, operation, action);
                (None, action)
            }
            Content::Failing => (None, Action::Pass),
        };
        let pending = Pending { unique, at_nanoseconds: at, request, reply };
        match (held(action, pending), refusal(action), &mut self.delays) {
            (Some(held), _, _) => self.held.push(held),
            (None, Some(error), _) => self.connection.refuse(unique, error),
            (None, None, Some(delays)) if request.is_some() => delays.add(pending, Work::of(&operation)),
            _ => finish(&self.connection, &mut content, pending, &mut self.scratch),
        }
    }
}

/// What a fault needs to know of a request, and what it writes; none: no fault strikes it. What is not needed any more may stay.
fn asked<'a>(operation: &Operation<'a>) -> Option<(Asked, &'a [u8])> {
    match *operation {
        Operation::Write { offset, data } => {
            Some((Asked { kind: RequestKind::Write, offset, length: data.len() as u64 }, data))
        }
        Operation::Zero { offset, length } => Some((Asked { kind: RequestKind::Write, offset, length }, &[])),
        Operation::Flush => Some((Asked { kind: RequestKind::Flush, offset: 0, length: 0 }, &[])),
        Operation::Discard { .. } => None,
    }
}

/// Does what is left of a request. Power does not fail here, so a flush does nothing.
fn apply(images: &mut Images<Log>, operation: Operation, action: Action) {
    let (offset, length) = operation.place();
    let (to, length) = match action {
        _ if operation == Operation::Flush => return,
        Action::Refuse | Action::Full | Action::Pretend | Action::Never(_) => return,
        Action::Move(to) => (to, length),
        Action::Keep(bytes) => (offset, bytes.min(length)),
        Action::Pass | Action::Damage(_) | Action::Late(_) => (offset, length),
    };
    match operation {
        Operation::Write { data, .. } => images.write(to, &data[..length as usize]),
        _ => images.clear(to, length),
    }
    if let Action::Damage(damage) = action {
        let mut bytes = vec![0; length as usize];
        images.read(to, &mut bytes);
        damage.apply(&mut bytes);
        images.write(to, &bytes);
    }
}

/// A request whose answer is held back, if it is.
fn held(action: Action, pending: Pending) -> Option<Held> {
    let (nanoseconds, is_refused) = match action {
        Action::Late(nanoseconds) => (nanoseconds, false),
        Action::Never(nanoseconds) => (nanoseconds, true),
        _ => return None,
    };
    Some(Held { until_nanoseconds: pending.at_nanoseconds.saturating_add(nanoseconds), is_refused, pending })
}

fn refusal(action: Action) -> Option<Errno> {
    match action {
        Action::Refuse => Some(Errno::EIO),
        Action::Full => Some(Errno::ENOSPC),
        _ => None,
    }
}

impl Delays {
    fn add(&mut self, pending: Pending, work: Work) {
        let ticket = self.free.pop().unwrap_or(self.waiting.len());
        if ticket == self.waiting.len() {
            self.waiting.push(pending);
        } else {
            self.waiting[ticket] = pending;
        }
        self.model.submit(pending.at_nanoseconds, ticket, work);
    }
}

/// Tells the kernel, after the log was told.
fn finish(connection: &Connection, content: &mut Content, pending: Pending, scratch: &mut [u8]) {
    if let (Content::Recording(recorder), Some(request)) = (&mut *content, pending.request) {
        recorder.done(now_nanoseconds(), request);
    }
    if matches!(content, Content::Failing) {
        return connection.refuse(pending.unique, Errno::EIO);
    }
    match pending.reply {
        Reply::Read { offset, bytes, damage } => match content {
            Content::Recording(recorder) => connection.answer(pending.unique, recorder.read(offset, bytes)),
            Content::Exploring(images, _) => {
                images.read(offset, &mut scratch[..bytes]);
                if let Some(damage) = damage {
                    damage.apply(&mut scratch[..bytes]);
                }
                connection.answer(pending.unique, &scratch[..bytes]);
            }
            Content::Failing => unreachable!("it was refused"),
        },
        Reply::Written(bytes) => connection.answer(pending.unique, &fuse::written(bytes)),
        Reply::Done => connection.answer(pending.unique, &[]),
    }
}
