//! How a disk fails: the table of faults, and how often one strikes. What strikes which request is `injector.rs`, what came of it `verdict.rs`; who acts by it
//! is the disk's process ([`crate::device`]).

pub mod injector;
pub mod verdict;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A fault of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A write ends with an I/O error, and nothing of it is there.
    WriteError,
    /// A flush ends with an I/O error; what was written before can be read.
    FlushError,
    /// A read ends with an I/O error: a sector that can't be read.
    ReadError,
    /// A write ends with "no space", as on a thin volume that is full.
    Full,
    /// A write is acknowledged and never done.
    LostWrite,
    /// A write is acknowledged and done in another place.
    MisdirectedWrite,
    /// Of a write that is acknowledged only the first part is done.
    TornWrite,
    /// One bit of what is read is wrong, this time.
    ReadBit,
    /// A sector of what is read is wrong, this time.
    ReadSector,
    /// A block of 4096 bytes of what is read is wrong, this time.
    ReadBlock,
    /// One bit of what was written changes where it lies.
    RottenBit,
    /// A sector of what was written changes where it lies.
    RottenSector,
    /// A block of 4096 bytes of what was written changes where it lies.
    RottenBlock,
    /// No more is written: each write ends with an I/O error, and reads go on.
    ReadOnly,
    /// A write, read or flush is answered late.
    Stall,
    /// Every answer is a little late.
    Slow,
    /// No answer comes any more, until the disk is taken away.
    Hang,
    /// Nothing fails: a test of the measurement.
    Nothing,
}

/// The requests that a fault can strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// Bytes or zeros that are to be kept.
    Write,
    /// What was written is to be made durable.
    Flush,
    /// Bytes are asked for.
    Read,
}

/// How often a fault strikes, from its first request on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Times {
    /// So many requests of its kind, one after the other.
    Times(u32),
    /// Every one until the disk is mended.
    Always,
}

/// A row of the table.
#[derive(Debug)]
pub struct FaultKind {
    /// Which.
    pub fault: Fault,
    /// Its name in studies.
    pub name: &'static str,
    /// The requests that it strikes.
    pub strikes: &'static [RequestKind],
    /// How often, where nobody says.
    pub times: Times,
    /// Whether the host is told by an error, or has to wait; else it has no way to know but by what it reads.
    pub is_told: bool,
    /// What it is.
    pub help: &'static str,
}

use Fault::*;
use RequestKind::{Flush, Read, Write};

const fn row(
    fault: Fault,
    name: &'static str,
    strikes: &'static [RequestKind],
    times: Times,
    is_told: bool,
    help: &'static str,
) -> FaultKind {
    FaultKind { fault, name, strikes, times, is_told, help }
}

const ONCE: Times = Times::Times(1);

/// Every fault, in the order of lists.
pub static FAULTS: &[FaultKind] = &[
    row(WriteError, "write-error", &[Write], ONCE, true, "a write ends with an I/O error"),
    row(FlushError, "flush-error", &[Flush], ONCE, true, "a flush ends with an I/O error"),
    row(ReadError, "read-error", &[Read], ONCE, true, "a read ends with an I/O error"),
    row(Full, "full", &[Write], Times::Always, true, "writes end with \"no space\", as on a thin volume that is full"),
    row(LostWrite, "lost-write", &[Write], ONCE, false, "a write is acknowledged and never done"),
    row(MisdirectedWrite, "misdirected-write", &[Write], ONCE, false, "a write is acknowledged and done elsewhere"),
    row(TornWrite, "torn-write", &[Write], ONCE, false, "only the first part of a write is done"),
    row(ReadBit, "read-bit", &[Read], ONCE, false, "one bit of what is read is wrong, once"),
    row(ReadSector, "read-sector", &[Read], ONCE, false, "512 bytes of what is read are wrong, once"),
    row(ReadBlock, "read-block", &[Read], ONCE, false, "4096 bytes of what is read are wrong, once"),
    row(RottenBit, "rotten-bit", &[Write], ONCE, false, "one bit of what was written changes on the disk"),
    row(RottenSector, "rotten-sector", &[Write], ONCE, false, "512 bytes of what was written change on the disk"),
    row(RottenBlock, "rotten-block", &[Write], ONCE, false, "4096 bytes of what was written change on the disk"),
    row(ReadOnly, "read-only", &[Write], Times::Always, true, "from then on nothing is written: I/O errors"),
    row(Stall, "stall", &[Write, Flush, Read], ONCE, true, "an answer comes late"),
    row(Slow, "slow", &[Write, Flush, Read], Times::Always, true, "from then on each answer is a little late"),
    row(Hang, "hang", &[Write, Flush, Read], Times::Always, true, "no answer comes any more"),
    row(Nothing, "none", &[Write, Flush, Read], ONCE, false, "nothing fails, and nothing may be found"),
];

impl Fault {
    /// Its row in the table.
    ///
    /// # Panics
    /// Never: each has one, which a test holds.
    pub fn kind(self) -> &'static FaultKind {
        FAULTS.iter().find(|row| row.fault == self).expect("each fault has a row")
    }
}

/// A fault and how often it strikes: `flush-error`, `write-error:3`, `full:always`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Failure {
    /// Which.
    pub fault: Fault,
    /// How often.
    pub times: Times,
}

impl Failure {
    /// Nothing fails: whatever is found then is a fault of the measurement.
    pub const NONE: Failure = Failure { fault: Fault::Nothing, times: ONCE };
}

/// A name that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is no such fault.
    #[error("there is no fault `{0}`: a disk can have {known}", known = names().join(", "))]
    Fault(String),
    /// No number of times.
    #[error("`{0}` is no number of times: `write-error:3` strikes three writes, `write-error:always` all from then on")]
    Times(String),
    /// No case of one.
    #[error("`{0}` names no case: `write-error@17/restart` is the 17th write, after which the server is restarted")]
    Case(String),
}

/// Names of all faults.
pub fn names() -> Vec<&'static str> {
    FAULTS.iter().map(|row| row.name).collect()
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let row = self.fault.kind();
        out.write_str(row.name)?;
        match self.times {
            times if times == row.times => Ok(()),
            Times::Times(times) => write!(out, ":{times}"),
            Times::Always => out.write_str(":always"),
        }
    }
}

impl FromStr for Failure {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Failure, NameError> {
        let (name, times) = text.split_once(':').map_or((text, None), |(name, times)| (name, Some(times)));
        let row = FAULTS.iter().find(|row| row.name == name).ok_or_else(|| NameError::Fault(name.into()))?;
        let times = match times {
            None => row.times,
            Some("always") => Times::Always,
            Some(times) => {
                let count = times.parse().ok().filter(|count| *count > 0);
                Times::Times(count.ok_or_else(|| NameError::Times(times.into()))?)
            }
        };
        Ok(Failure { fault: row.fault, times })
    }
}

impl TryFrom<String> for Failure {
    type Error = NameError;

    fn try_from(text: String) -> Result<Failure, NameError> {
        text.parse()
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> String {
        failure.to_string()
    }
}

/// What is done after a fault has struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Continuation {
    /// The load goes on.
    GoOn,
    /// The kernel forgets what it has read of the disk and need not write; then the load goes on.
    DropCaches,
    /// The server is stopped and started; then the load goes on.
    Restart,
    /// The server is stopped, the disk mended and mounted again, the server started; then the load goes on.
    Remount,
}

impl Continuation {
    /// All, in the order of lists.
    pub const ALL: [Continuation; 4] =
        [Continuation::GoOn, Continuation::DropCaches, Continuation::Restart, Continuation::Remount];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        ["go-on", "drop-caches", "restart", "remount"][self as usize]
    }
}

/// One fault, one request that it strikes first, one way on. Its text names it: `write-error@17/restart`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Case {
    /// What strikes.
    pub failure: Failure,
    /// The first request that it strikes, counted from 1 among those that it can strike since the load began.
    pub nth: u64,
    /// And then.
    pub continuation: Continuation,
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}@{}/{}", self.failure, self.nth, self.continuation.name())
    }
}

impl FromStr for Case {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Case, NameError> {
        let wrong = || NameError::Case(text.into());
        let (failure, rest) = text.split_once('@').ok_or_else(wrong)?;
        let (nth, continuation) = rest.split_once('/').ok_or_else(wrong)?;
        let nth = nth.parse().ok().filter(|nth| *nth > 0).ok_or_else(wrong)?;
        let known = Continuation::ALL.into_iter().find(|known| known.name() == continuation);
        Ok(Case { failure: failure.parse()?, nth, continuation: known.ok_or_else(wrong)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failures() -> impl Strategy<Value = Failure> {
        let times = prop_oneof![(1u32..100).prop_map(Times::Times), Just(Times::Always)];
        (0..FAULTS.len(), times).prop_map(|(row, times)| Failure { fault: FAULTS[row].fault, times })
    }

    #[test]
    fn the_table_has_each_fault_by_the_name_that_files_have() {
        for row in FAULTS {
            assert!(std::ptr::eq(row.fault.kind(), row), "{row:?}");
            assert!(!row.strikes.is_empty());
        }
    }

    #[test]
    fn a_name_that_is_none_is_said() {
        let said = |text: &str| text.parse::<Failure>().expect_err("none").to_string();
        assert!(said("rust").starts_with("there is no fault `rust`: a disk can have write-error, flush-error,"));
        assert!(said("full:0").starts_with("`0` is no number of times"));
        assert!("write-error@0/restart".parse::<Case>().is_err());
        assert!("write-error@1/repair".parse::<Case>().is_err());
    }

    proptest! {
        #[test]
        fn names_lead_back(failure in failures(), nth in 1u64..1 << 40, which in 0usize..4) {
            prop_assert_eq!(failure.to_string().parse(), Ok(failure));
            let continuation = Continuation::ALL[which];
            let case = Case { failure, nth, continuation };
            prop_assert_eq!(case.to_string().parse(), Ok(case));
        }
    }
}
