//! The log of a recording disk: every request with its payload, when it came and when its completion was given.
//!
//! Little-endian. The file begins with [`MAGIC`] and the disk's size in bytes (u64). A record is a head of five u64 — kind,
//! request, nanoseconds of `CLOCK_MONOTONIC` (of [`Event::Only`], the write), offset, length — and, of a write, its `length` bytes. Records stand in the order in
//! which the disk did them: a write's bytes are readable from its own record on, and only its [`Event::Done`] promises that the
//! host was told. A log that ends within a record was cut there, and what stands before holds.

use std::io::{self, Write};

/// The first bytes of a log.
pub const MAGIC: [u8; 8] = *b"sflog001";

/// Bytes of a record before its payload.
const HEAD_BYTES: usize = 40;

/// A request by its number, counted from 0 in the order of arrival.
pub type Request = u64;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// These bytes from this offset on.
    Write {
        /// In bytes.
        offset: u64,
        /// What is written.
        data: &'a [u8],
    },
    /// All writes that had been completed before are to be made durable.
    Flush,
    /// Zeros, to be read from then on (WRITE ZEROES).
    Zero {
        /// In bytes.
        offset: u64,
        /// In bytes.
        length: u64,
    },
    /// The content is needed no more; read as zeros here.
    Discard {
        /// In bytes.
        offset: u64,
        /// In bytes.
        length: u64,
    },
}

/// A line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A request came.
    Submitted {
        /// Its number.
        request: Request,
        /// When.
        at_nanoseconds: u64,
        /// What it asks for.
        operation: Operation<'a>,
    },
    /// The host is told, right after this, that a request is done.
    Done {
        /// Its number.
        request: Request,
        /// When.
        at_nanoseconds: u64,
    },
    /// The measured part begins here: what was written before counts as durable.
    Begin {
        /// When.
        at_nanoseconds: u64,
    },
    /// A flush anywhere in the log was asked for only to make this write durable (FUA): it promises nothing of others. Several such
    /// lines of a flush add up. Known only when all is over.
    Only {
        /// The flush.
        flush: Request,
        /// The write.
        write: Request,
    },
}

impl Operation<'_> {
    /// Where it begins, and how many bytes it changes: none, of a flush.
    pub fn place(&self) -> (u64, u64) {
        match *self {
            Operation::Flush => (0, 0),
            Operation::Write { offset, data } => (offset, data.len() as u64),
            Operation::Zero { offset, length } | Operation::Discard { offset, length } => (offset, length),
        }
    }
}

impl Event<'_> {
    /// When it came; 0, of [`Event::Only`], which is known when all is over.
    pub fn at_nanoseconds(&self) -> u64 {
        match *self {
            Event::Submitted { at_nanoseconds: at, .. }
            | Event::Done { at_nanoseconds: at, .. }
            | Event::Begin { at_nanoseconds: at } => at,
            Event::Only { .. } => 0,
        }
    }

    /// The flush, of [`Event::Only`].
    pub fn only_of(&self) -> Option<Request> {
        if let Event::Only { flush, .. } = self { Some(*flush) } else { None }
    }
}

const WRITE: u64 = 1;
const FLUSH: u64 = 2;
const ZERO: u64 = 3;
const DISCARD: u64 = 4;
const DONE: u64 = 5;
const BEGIN: u64 = 6;
const ONLY: u64 = 7;

/// Writes a log.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Begins a log of a disk of so many bytes.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn new(mut out: W, disk_bytes: u64) -> io::Result<Writer<W>> {
        out.write_all(&MAGIC)?;
        out.write_all(&disk_bytes.to_le_bytes())?;
        Ok(Writer { out })
    }

    /// Goes on with a log, at whose end `out` is.
    pub fn at_end(out: W) -> Writer<W> {
        Writer { out }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it can't be written, as on a full disk.
    pub fn add(&mut self, event: &Event) -> io::Result<()> {
        let (head, data): ([u64; 5], &[u8]) = match *event {
            Event::Submitted { request, at_nanoseconds: at, operation } => match operation {
                Operation::Write { offset, data } => ([WRITE, request, at, offset, data.len() as u64], data),
                Operation::Flush => ([FLUSH, request, at, 0, 0], &[]),
                Operation::Zero { offset, length } => ([ZERO, request, at, offset, length], &[]),
                Operation::Discard { offset, length } => ([DISCARD, request, at, offset, length], &[]),
            },
            Event::Done { request, at_nanoseconds: at } => ([DONE, request, at, 0, 0], &[]),
            Event::Begin { at_nanoseconds: at } => ([BEGIN, 0, at, 0, 0], &[]),
            Event::Only { flush, write } => ([ONLY, flush, write, 0, 0], &[]),
        };
        let mut bytes = [0; HEAD_BYTES];
        for (place, number) in bytes.chunks_exact_mut(8).zip(head) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        self.out.write_all(&bytes)?;
        self.out.write_all(data)
    }

    /// Passes on what is buffered.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A log that is read.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// Size of the disk.
    pub disk_bytes: u64,
    /// What is still to be read.
    rest: &'a [u8],
}

/// Why a file is no log.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// It does not begin like one.
    #[error("not a write log: it does not begin with {:?}", String::from_utf8_lossy(&MAGIC))]
    Magic,
    /// A record says what no record can.
    #[error("the write log is damaged at byte {0} from its end: there is no record of kind {1}")]
    Kind(usize, u64),
    /// A write beyond the disk's end.
    #[error("the write log is damaged: {length} bytes at {offset} do not fit on a disk of {disk_bytes} bytes")]
    Range {
        /// In bytes.
        offset: u64,
        /// In bytes.
        length: u64,
        /// Size of the disk.
        disk_bytes: u64,
    },
    /// More units than can be counted.
    #[error(
        "the write log is of a disk of {disk_bytes} bytes: in units of {unit_bytes} bytes that is beyond 2^32 units"
    )]
    Large {
        /// Size of the disk.
        disk_bytes: u64,
        /// Size of a unit.
        unit_bytes: u32,
    },
}

impl<'a> Reader<'a> {
    /// Of the bytes of a log's file.
    ///
    /// # Errors
    /// When they are something else.
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Error> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(Error::Magic)?;
        let (size, rest) = rest.split_first_chunk().ok_or(Error::Magic)?;
        Ok(Reader { disk_bytes: u64::from_le_bytes(*size), rest })
    }

    fn event(&mut self) -> Result<Option<Event<'a>>, Error> {
        let Some((head, rest)) = self.rest.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let number = |index: usize| {
            u64::from_le_bytes(head[index * 8..(index + 1) * 8].try_into().expect("eight bytes of a head"))
        };
        let (kind, request, at_nanoseconds, offset, length) = (number(0), number(1), number(2), number(3), number(4));
        if offset.checked_add(length).is_none_or(|end| end > self.disk_bytes) {
            return Err(Error::Range { offset, length, disk_bytes: self.disk_bytes });
        }
        let payload = if kind == WRITE { length as usize } else { 0 };
        let Some((data, rest)) = rest.split_at_checked(payload) else { return Ok(None) };
        let submitted = |operation| Event::Submitted { request, at_nanoseconds, operation };
        let event = match kind {
            WRITE => submitted(Operation::Write { offset, data }),
            FLUSH => submitted(Operation::Flush),
            ZERO => submitted(Operation::Zero { offset, length }),
            DISCARD => submitted(Operation::Discard { offset, length }),
            DONE => Event::Done { request, at_nanoseconds },
            BEGIN => Event::Begin { at_nanoseconds },
            ONLY => Event::Only { flush: request, write: at_nanoseconds },
            other => return Err(Error::Kind(self.rest.len(), other)),
        };
        self.rest = rest;
        Ok(Some(event))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Event<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let event = self.event().transpose();
        if matches!(event, Some(Err(_))) {
            self.rest = &[];
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVENTS: [Event; 7] = [
        Event::Submitted {
            request: 0,
            at_nanoseconds: 7,
            operation: Operation::Write { offset: 512, data: &[3; 1024] },
        },
        Event::Done { request: 0, at_nanoseconds: 8 },
        Event::Begin { at_nanoseconds: 9 },
        Event::Submitted { request: 1, at_nanoseconds: 10, operation: Operation::Flush },
        Event::Submitted { request: 2, at_nanoseconds: 11, operation: Operation::Zero { offset: 0, length: 4096 } },
        Event::Submitted { request: 3, at_nanoseconds: 12, operation: Operation::Discard { offset: 0, length: 512 } },
        Event::Only { flush: 1, write: 0 },
    ];

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, 4096).expect("memory");
        EVENTS.iter().for_each(|event| writer.add(event).expect("memory"));
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written();
        let reader = Reader::new(&bytes).expect("a log");
        assert_eq!(reader.disk_bytes, 4096);
        assert_eq!(reader.collect::<Result<Vec<_>, _>>().expect("whole"), EVENTS);
    }

    #[test]
    fn damage_is_said() {
        assert_eq!(Reader::new(b"sflog002").err(), Some(Error::Magic));
        let mut bytes = written();
        bytes[16] = 99;
        assert!(matches!(Reader::new(&bytes).expect("a log").next(), Some(Err(Error::Kind(_, 99)))));
        let mut bytes = written();
        bytes[16 + 25] = 0xff;
        let mut reader = Reader::new(&bytes).expect("a log");
        assert!(matches!(reader.next(), Some(Err(Error::Range { .. }))));
        assert_eq!(reader.next(), None);
    }

    proptest! {
        #[test]
        fn a_log_that_was_cut_anywhere_is_read_to_there(cut in 16usize..1400) {
            let bytes = written();
            let bytes = &bytes[..cut.min(bytes.len())];
            let read: Vec<_> = Reader::new(bytes).expect("a log").collect::<Result<_, _>>().expect("no damage");
            prop_assert_eq!(&read[..], &EVENTS[..read.len()]);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let whole: Vec<u8> = MAGIC.iter().copied().chain(bytes).collect();
            if let Ok(reader) = Reader::new(&whole) {
                prop_assert!(reader.count() < 400);
            }
        }
    }
}
