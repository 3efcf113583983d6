//! What the block layer says of a device, a line a request: the text of tracefs' `trace` and `trace_pipe` (Documentation/trace/ftrace.rst,
//! include/trace/events/block.h). Pure.

/// Bytes of a sector, whatever the device's blocks are.
pub const SECTOR_BYTES: u64 = 512;

/// A range of sectors: the first, and how many.
pub type Sectors = (u64, u64);

/// A filesystem asks for something.
pub const QUEUED: &str = "block_bio_queue";
/// The driver is given it, or a part or several of them together.
pub const ISSUED: &str = "block_rq_issue";
/// The driver has done it.
pub const COMPLETED: &str = "block_rq_complete";

/// A line of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// One of the above.
    pub(crate) event: &'static str,
    /// By the clock of the trace, cut off to microseconds.
    pub(crate) at_nanoseconds: u64,
    /// A flush is to come before it.
    pub(crate) is_preflush: bool,
    /// By its letter: `R`ead, `W`rite, `D`iscard, `F`lush.
    pub(crate) operation: u8,
    /// It is to be durable by itself (FUA).
    pub(crate) is_fua: bool,
    pub(crate) sectors: Sectors,
}

/// A line: `comm-pid [cpu] flags seconds.microseconds: event: major,minor rwbs … sector + sectors …`; none for all others.
pub(crate) fn parse(line: &str) -> Option<Line> {
    let (event, at) = [QUEUED, ISSUED, COMPLETED].into_iter().find_map(|event| Some((event, line.find(event)?)))?;
    let (head, rest) = (line[..at].strip_suffix(": ")?, line[at + event.len()..].strip_prefix(": ")?);
    let at_nanoseconds = nanoseconds(head.rsplit(' ').next()?)?;
    let mut words = rest.split(' ');
    let flags = words.nth(1)?;
    let mut before = "";
    let start = words.by_ref().find_map(|word| {
        let last = std::mem::replace(&mut before, word);
        (word == "+").then_some(last)
    })?;
    let sectors = (start.parse().ok()?, words.next()?.parse().ok()?);
    // As blk_fill_rwbs has it (kernel/trace/blktrace.c): F for a flush before, the operation, F for FUA.
    let after_flush = flags.strip_prefix('F');
    let (&operation, rest) = after_flush.unwrap_or(flags).as_bytes().split_first()?;
    let (is_preflush, is_fua) = (after_flush.is_some(), rest.first() == Some(&b'F'));
    Some(Line { event, at_nanoseconds, is_preflush, operation, is_fua, sectors })
}

/// `1234.567890`
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, micro) = text.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + micro.parse::<u64>().ok()? * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_all_others_passed_over() {
        let line = |event: &str, rest: &str| {
            parse(&format!("   jbd2/loop0-8-11613   [001] ..s1. 64804.010004: {event}: 7,0 {rest}"))
        };
        let queued = Line {
            event: QUEUED,
            at_nanoseconds: 64_804_010_004_000,
            is_preflush: true,
            operation: b'W',
            is_fua: true,
            sectors: (32820, 2),
        };
        assert_eq!(line(QUEUED, "FWFSM 32820 + 2 [jbd2/loop0-8]"), Some(queued));
        let issued = Line { event: ISSUED, is_preflush: false, is_fua: false, ..queued };
        assert_eq!(line(ISSUED, "WSM 1024 () 32820 + 2 be,0,3 [a + b]"), Some(issued));
        let read = Line { event: COMPLETED, operation: b'R', ..issued };
        assert_eq!(line(COMPLETED, "RA () 32820 + 2 be,0,3 [0]"), Some(read));
        assert_eq!(line("block_rq_merge", "WSM 1024 () 32820 + 2 be,0,3 [a]"), None);
        for other in ["", "# tracer: nop", "CPU:1 [LOST 40 EVENTS]", "x 1.2: block_bio_queue: 7,0 W", "block_bio_queue"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
