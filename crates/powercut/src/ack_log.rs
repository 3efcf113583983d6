//! What the load was told: each commit with the moment it was tried and the moment its acknowledgement came.
//!
//! Kept outside the disk under test. A line is `stream number tried acknowledged`, the two moments in nanoseconds of
//! `CLOCK_MONOTONIC`, the clock of the disk's own log; `-` for an acknowledgement that never came.

use std::io::{self, Write};

/// A commit that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Which of the load's connections, from 0.
    pub stream: u32,
    /// Counted from 1 within the stream; a stream tries one after the other.
    pub number: u64,
    /// When it was tried.
    pub tried_nanoseconds: u64,
    /// When the load saw that it had been done; none: it never did.
    pub acknowledged_nanoseconds: Option<u64>,
}

/// A line that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line} of the list of commits is not `stream number tried acknowledged`: {text:?}")]
pub struct Error {
    /// Counted from 1.
    pub line: usize,
    /// What stands there.
    pub text: String,
}

impl Attempt {
    /// Adds its line.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let acknowledged = self.acknowledged_nanoseconds.map_or_else(|| "-".into(), |at| at.to_string());
        writeln!(out, "{} {} {} {acknowledged}", self.stream, self.number, self.tried_nanoseconds)
    }
}

/// When the last of them was acknowledged; 0: none was.
pub fn last_acknowledged_nanoseconds(attempts: &[Attempt]) -> u64 {
    attempts.iter().filter_map(|attempt| attempt.acknowledged_nanoseconds).max().unwrap_or(0)
}

/// Reads a whole list. A last line without its end was cut off and is left out.
///
/// # Errors
/// At the first line that is none.
pub fn read(text: &str) -> Result<Vec<Attempt>, Error> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let read = |(line, text)| parse(text).ok_or_else(|| Error { line, text: text.into() });
    (1..).zip(whole.lines()).map(read).collect()
}

fn parse(line: &str) -> Option<Attempt> {
    let mut words = line.split(' ');
    let mut word = || words.next();
    let attempt = Attempt {
        stream: word()?.parse().ok()?,
        number: word()?.parse().ok()?,
        tried_nanoseconds: word()?.parse().ok()?,
        acknowledged_nanoseconds: match word()? {
            "-" => None,
            at => Some(at.parse().ok()?),
        },
    };
    words.next().is_none().then_some(attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_cut_off_is_left_out_and_a_wrong_one_said() {
        assert_eq!(read("0 1 5 9\n0 2 1").expect("one whole line").len(), 1);
        assert_eq!(read("0 1 5 9\n0 x 5 -\n").expect_err("no number").line, 2);
        assert_eq!(read("").expect("nothing"), []);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(all in proptest::collection::vec((any::<u32>(), any::<u64>(), any::<u64>(), any::<Option<u64>>()), 0..9)) {
            let all: Vec<Attempt> = all.into_iter().map(|(stream, number, tried_nanoseconds, acknowledged_nanoseconds)| {
                Attempt { stream, number, tried_nanoseconds, acknowledged_nanoseconds }
            }).collect();
            let mut text = Vec::new();
            all.iter().for_each(|attempt| attempt.write(&mut text).expect("memory"));
            prop_assert_eq!(read(&String::from_utf8(text).expect("text")).expect("whole"), all);
        }
    }
}
