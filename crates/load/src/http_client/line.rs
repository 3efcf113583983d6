//! A connection and its request: what the system tells of it, and what that means for the request.

use super::Task;
use super::network::{Event, Step};
use super::tally::{Fault, Tally};
use http::answer::{self, Answer};
use http::search::Search;
use std::time::{Duration, Instant};

/// A connection and its request.
pub struct Line {
    pub state: State,
    pub address: usize,
    pub task: Task,
    pub reader: answer::Reader,
    pub search: Search,
    /// How the body begins, where it is searched.
    pub head: Vec<u8>,
    /// Requests that were answered on this connection.
    pub answered: u64,
    /// After so many it is closed.
    pub calls: u64,
    /// A connection, or an answer, that takes longer is an error.
    timeout: Duration,
    /// Calls that its session has still to make, where the schedule starts sessions, on whatever connection.
    pub calls_left: u64,
    /// Whether its session waits for the answer to its first call.
    pub is_first_call: bool,
    pub is_connected: bool,
    /// When the open loop wants it to have started; else when it did.
    pub intended: Instant,
    /// When connecting began.
    pub opened: Instant,
    /// When connecting began, then when the request was sent.
    pub since: Instant,
    pub first_byte: Option<Instant>,
    /// Bytes of the answer so far.
    pub received: u64,
    pub is_resent: bool,
    /// When its last request ended, answered or not, and the pause after it.
    pub ended: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// A request is under way.
    Asked,
    /// An answer came, or something went wrong: to be looked at.
    Told,
    /// A connection without a request.
    Open,
    /// The same, for its think time.
    Thinking,
}

/// What happened to a line's request.
pub enum Happened {
    Answered {
        answer: Answer,
        is_right: bool,
    },
    /// The answer came in part.
    More,
    /// The kept connection had been closed before the request reached it.
    Stale,
    Failed(Fault, String),
    /// The connection was closed between two requests.
    Gone,
}

/// So much of a body is shown that is not what it must be.
const HEAD_BYTES_MAX: usize = 200;

impl Line {
    /// Without a connection; each will make so many calls, 0: any number.
    pub fn new(calls: u64, timeout: Duration, now: Instant) -> Line {
        Line {
            state: State::Closed,
            address: 0,
            task: Task::default(),
            reader: answer::Reader::default(),
            search: Search::default(),
            head: Vec::new(),
            answered: 0,
            calls: if calls == 0 { u64::MAX } else { calls },
            timeout,
            calls_left: 0,
            is_first_call: false,
            is_connected: false,
            intended: now,
            opened: now,
            since: now,
            first_byte: None,
            received: 0,
            is_resent: false,
            ended: now,
        }
    }

    /// What a request had waited for that took too long by now; none: it has not.
    pub fn times_out(&mut self, now: Instant) -> Option<Happened> {
        let since = self.first_byte.unwrap_or(self.since);
        if now.saturating_duration_since(since) <= self.timeout {
            return None;
        }
        (self.state, self.ended) = (State::Told, now);
        let seconds = self.timeout.as_secs_f64();
        let (fault, why) = match (self.is_connected, self.first_byte) {
            (false, _) => (Fault::ConnectTimedOut, format!("no connection in {seconds} s")),
            (true, None) => (Fault::TimedOut, format!("nothing for {seconds} s after the request")),
            (true, Some(_)) => {
                let bytes = self.received;
                let late = format!("no end of the answer {seconds} s after its first byte, with {bytes} bytes so far");
                (Fault::TimedOut, late)
            }
        };
        Some(Happened::Failed(fault, why))
    }

    /// Takes an event; gives what it means for the request.
    pub fn see(&mut self, event: Event, now: Instant, tally: &mut Tally) -> Option<Happened> {
        if self.state != State::Asked {
            // Bytes that nobody asked for, an end or a reset: the connection is of no more use.
            return (!matches!(event, Event::Connected)).then_some(Happened::Gone);
        }
        // What comes too late is so whether or not anybody has looked for time-outs since.
        if let Some(late) = self.times_out(now) {
            return Some(late);
        }
        let happened = match event {
            Event::Connected => {
                tally.connections += 1;
                tally.connect.record(now - self.since);
                (self.is_connected, self.since) = (true, now);
                return None;
            }
            Event::Received(bytes) => self.receive(bytes, now, tally),
            Event::Ended if self.is_stale() => Happened::Stale,
            Event::Ended => match self.reader.end() {
                Ok(answer) => self.answered(answer, now, tally),
                Err(_) => Happened::Failed(Fault::ClosedEarly, "the server closed the connection".into()),
            },
            Event::Failed(Step::Send | Step::Receive, error)
                if self.is_stale() && Fault::of(Step::Receive, &error) == Fault::Reset =>
            {
                Happened::Stale
            }
            Event::Failed(step, error) => Happened::Failed(Fault::of(step, &error), error.to_string()),
        };
        if !matches!(happened, Happened::More) {
            (self.state, self.ended) = (State::Told, now);
        }
        Some(happened)
    }

    /// A kept connection without a byte of this answer: the server had closed it before it saw the request (RFC 9112, 9.3.1).
    fn is_stale(&self) -> bool {
        self.answered > 0 && self.task.is_repeatable && !self.is_resent && self.first_byte.is_none()
    }

    fn receive(&mut self, bytes: &[u8], now: Instant, tally: &mut Tally) -> Happened {
        tally.received_bytes += bytes.len() as u64;
        self.received += bytes.len() as u64;
        self.first_byte.get_or_insert(now);
        let fed = match &self.task.body_text {
            None => self.reader.feed(bytes, &mut |_| {}),
            Some(text) => self.reader.feed(bytes, &mut |piece| {
                let room = HEAD_BYTES_MAX - self.head.len();
                self.head.extend_from_slice(&piece[..piece.len().min(room)]);
                self.search.feed(piece, text);
            }),
        };
        match fed {
            Ok(None) => Happened::More,
            Ok(Some(answer)) => self.answered(answer, now, tally),
            Err(malformed) => Happened::Failed(Fault::Malformed, malformed.to_string()),
        }
    }

    /// How the body begins, in words.
    fn beginning(&self) -> String {
        if self.head.is_empty() { String::new() } else { format!(": {:?}", String::from_utf8_lossy(&self.head)) }
    }

    /// Counts a whole answer: by its status whatever it is, and in all other figures only when it is right.
    fn answered(&mut self, answer: Answer, now: Instant, tally: &mut Tally) -> Happened {
        let first_byte = self.first_byte.unwrap_or(now);
        self.answered += 1;
        tally.answers += 1;
        tally.sessions += u64::from(std::mem::take(&mut self.is_first_call));
        tally.classes[usize::from(answer.status / 100 - 1).min(4)] += 1;
        let fault = self.fault(&answer);
        match fault {
            Some(fault) => tally.fault(fault, || self.why(fault, &answer)),
            None => {
                tally.right += 1;
                tally.body_bytes += answer.body_bytes;
                tally.times(first_byte - self.since, now - first_byte, now - self.intended);
            }
        }
        Happened::Answered { answer, is_right: fault.is_none() }
    }

    /// What of an answer is not as it must be: its status, its size or its body.
    fn fault(&self, answer: &Answer) -> Option<Fault> {
        let Task { status, body_bytes, body_text, .. } = &self.task;
        if !status.allows(answer.status) {
            Some(Fault::WrongStatus)
        } else if body_bytes.is_some_and(|expected| expected != answer.body_bytes) {
            Some(Fault::WrongSize)
        } else {
            (body_text.is_some() && !self.search.is_found()).then_some(Fault::WrongBody)
        }
    }

    /// The same in words, for the first of its kind.
    fn why(&self, fault: Fault, answer: &Answer) -> String {
        let (found, beginning) = (answer.body_bytes, self.beginning());
        match fault {
            Fault::WrongSize => format!("{found} bytes instead of {}", self.task.body_bytes.unwrap_or_default()),
            Fault::WrongBody => {
                let text = self.task.body_text.as_deref().unwrap_or_default();
                format!("no {:?} in {found} bytes{beginning}", String::from_utf8_lossy(text))
            }
            _ => format!("{}{beginning}", answer.status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_time_out_is_no_answer() {
        const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let (asked, timeout) = (Instant::now(), Duration::from_millis(20));
        let after = |milliseconds: u64, is_connected: bool| {
            let mut line = Line::new(0, timeout, asked);
            (line.state, line.is_connected) = (State::Asked, is_connected);
            let event = if is_connected { Event::Received(ANSWER) } else { Event::Connected };
            let mut tally = Tally::default();
            let happened = line.see(event, asked + Duration::from_millis(milliseconds), &mut tally);
            let fault = match happened {
                Some(Happened::Failed(fault, _)) => Some(fault),
                _ => None,
            };
            (fault, tally.right, tally.connections)
        };
        assert_eq!((after(20, true), after(20, false)), ((None, 1, 0), (None, 0, 1)));
        assert_eq!(after(21, true), (Some(Fault::TimedOut), 0, 0));
        assert_eq!(after(21, false), (Some(Fault::ConnectTimedOut), 0, 0));
    }
}
