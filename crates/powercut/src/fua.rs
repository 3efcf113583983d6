//! Which flushes were asked for by single writes only (FUA), told from what the block layer said of a loop device.
//!
//! A loop device knows no FUA, so the kernel makes two of such a write: the write, and after it a flush of everything
//! (block/blk-flush.c). Taken for what it looks like, that flush makes more durable than the filesystem asked for. The tracepoints
//! `block_bio_queue`, `block_rq_issue` and `block_rq_complete` say what was asked for: as far as they leave no doubt, a flush that
//! served FUA writes alone is written down as one of these writes. In doubt it stays a flush of everything. Pure.
//!
//! A flush is in doubt while anything that wants to be preceded by a flush, or is nothing but one, is on its way: from its
//! `block_bio_queue` to the issue of its own write, or to its end.

use crate::block_trace::{COMPLETED, ISSUED, QUEUED, SECTOR_BYTES, Sectors, parse};
use crate::write_log::{Error, Event, Operation, Reader, Request};
use std::collections::{HashMap, HashSet};

/// The events of the block layer to be recorded.
pub const EVENTS: &[&str] = &[QUEUED, ISSUED, COMPLETED];

/// A trace dates by microseconds, cut off, and a flush comes to the disk after it was issued; never a second after.
const BEFORE_NANOSECONDS_MAX: u64 = 1_000_000_000;
const AFTER_NANOSECONDS_MAX: u64 = 1_000;

/// Of what is nothing but a flush.
const EMPTY: Sectors = (0, 0);

/// A line of a trace that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// A request of a filesystem's.
    Queued {
        sectors: Sectors,
        is_preflush: bool,
        is_fua: bool,
    },
    WriteIssued(Sectors),
    /// Of no sectors: what was nothing but a flush.
    WriteDone(Sectors),
    /// When, in nanoseconds.
    FlushIssued(u64),
}

/// A flush of the block layer's, and the FUA writes that it served alone; none: it was one of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Flush {
    at_nanoseconds: u64,
    only: Vec<Sectors>,
}

/// The lines to be added to a log: [`Event::Only`] for each write of each flush of the measured part that served such alone. `trace` is
/// the text of tracefs' `trace`, of this device alone, by the clock `mono`, from before [`Event::Begin`] on. None: the flushes of
/// log and trace are not the same ones.
///
/// # Errors
/// When the log is damaged.
pub fn find(log: &[u8], trace: &str) -> Result<Option<Vec<Event<'static>>>, Error> {
    let flushes = flushes(trace.lines().filter_map(seen));
    let mut is_measured = false;
    // The last write of some sectors, and the writes that are done.
    let (mut writes, mut done) = (HashMap::<Sectors, Request>::new(), HashSet::new());
    let mut next = None;
    let mut found = Vec::new();
    for event in Reader::new(log)? {
        match event? {
            Event::Begin { .. } => is_measured = true,
            Event::Submitted { request, operation: Operation::Write { offset, data }, .. } => {
                let sectors = (offset / SECTOR_BYTES, data.len() as u64 / SECTOR_BYTES);
                writes.insert(sectors, request);
            }
            Event::Done { request, .. } => _ = done.insert(request),
            Event::Submitted { request, at_nanoseconds, operation: Operation::Flush } if is_measured => {
                let place = next.unwrap_or_else(|| first(&flushes, at_nanoseconds));
                let Some(flush) = flushes.get(place).filter(|flush| is_of(flush, at_nanoseconds)) else {
                    return Ok(None);
                };
                next = Some(place + 1);
                let of_write = |sectors| writes.get(sectors).copied().filter(|write| done.contains(write));
                let all: Option<Vec<Request>> = flush.only.iter().map(of_write).collect();
                found.extend(all.into_iter().flatten().map(|write| Event::Only { flush: request, write }));
            }
            Event::Submitted { .. } | Event::Only { .. } => {}
        }
    }
    Ok(Some(found))
}

/// The last flush that was issued before this moment.
fn first(flushes: &[Flush], at_nanoseconds: u64) -> usize {
    flushes.partition_point(|flush| flush.at_nanoseconds <= at_nanoseconds + AFTER_NANOSECONDS_MAX).saturating_sub(1)
}

fn is_of(flush: &Flush, at_nanoseconds: u64) -> bool {
    let issued = flush.at_nanoseconds;
    issued <= at_nanoseconds + AFTER_NANOSECONDS_MAX && at_nanoseconds < issued + BEFORE_NANOSECONDS_MAX
}

/// What each flush was for.
fn flushes(trace: impl Iterator<Item = Seen>) -> Vec<Flush> {
    let mut all: Vec<Flush> = Vec::new();
    // What wants a flush before it and was not issued, or is nothing else and not done.
    let mut before: Vec<Sectors> = Vec::new();
    // FUA writes on their way, and those that are done and wait for their flush.
    let (mut fua, mut waiting): (Vec<Sectors>, Vec<Sectors>) = (Vec::new(), Vec::new());
    for seen in trace {
        match seen {
            Seen::Queued { sectors, is_preflush, is_fua } => {
                if is_preflush {
                    before.push(sectors);
                }
                if is_fua {
                    fua.push(sectors);
                }
                // The last line of one that writes the first sectors looks as that of an empty one: it has none left there.
                if (is_preflush || is_fua) && sectors.0 == EMPTY.0 && sectors != EMPTY {
                    before.push(EMPTY);
                }
            }
            Seen::WriteIssued(sectors) => remove(&mut before, sectors).map_or((), drop),
            Seen::WriteDone(EMPTY) => remove(&mut before, EMPTY).map_or((), drop),
            Seen::WriteDone(sectors) => waiting.extend(remove(&mut fua, sectors)),
            Seen::FlushIssued(at_nanoseconds) => {
                let only = std::mem::take(&mut waiting);
                all.push(Flush { at_nanoseconds, only: if before.is_empty() { only } else { Vec::new() } });
            }
        }
    }
    all
}

fn remove(of: &mut Vec<Sectors>, sectors: Sectors) -> Option<Sectors> {
    let place = of.iter().position(|other| *other == sectors)?;
    Some(of.swap_remove(place))
}

fn seen(line: &str) -> Option<Seen> {
    let line = parse(line)?;
    let (sectors, at_nanoseconds) = (line.sectors, line.at_nanoseconds);
    match (line.event, line.operation) {
        (QUEUED, b'W') => Some(Seen::Queued { sectors, is_preflush: line.is_preflush, is_fua: line.is_fua }),
        (ISSUED, b'W') => Some(Seen::WriteIssued(sectors)),
        (COMPLETED, b'W') => Some(Seen::WriteDone(sectors)),
        // The block layer's own; one of a filesystem's is a write of nothing that a flush is to come before.
        (ISSUED, b'F') => Some(Seen::FlushIssued(at_nanoseconds)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_log::Writer;

    /// As ext4's journal commits (a write with a flush before it and FUA), and then `fdatasync` of what is in place already.
    const TRACE: &str = "\
# tracer: nop
    jbd2/loop0-8-11613   [001] ..... 64804.009890: block_bio_queue: 7,0 WSM 32812 + 2 [jbd2/loop0-8]
    jbd2/loop0-8-11613   [001] ..... 64804.009894: block_rq_issue: 7,0 WSM 4096 () 32812 + 8 be,0,3 [jbd2/loop0-8]
     ksoftirqd/1-22      [001] ..s.. 64804.009994: block_rq_complete: 7,0 WSM () 32812 + 8 be,0,3 [0]
    jbd2/loop0-8-11613   [001] ..... 64804.010004: block_bio_queue: 7,0 FWFSM 32820 + 2 [jbd2/loop0-8]
    kworker/1:0H-21467   [001] ..... 64804.010009: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/1:0H]
     ksoftirqd/1-22      [001] ..s.. 64804.012050: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
    kworker/1:0H-21467   [001] ..... 64804.012059: block_rq_issue: 7,0 WSM 1024 () 32820 + 2 be,0,3 [kworker/1:0H]
     ksoftirqd/1-22      [001] ..s.. 64804.012153: block_rq_complete: 7,0 WSM () 32820 + 2 be,0,3 [0]
    kworker/1:0H-21467   [001] ..... 64804.012157: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/1:0H]
     ksoftirqd/1-22      [001] ..s.. 64804.012251: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
     ksoftirqd/1-22      [001] d.s1. 64804.012251: block_rq_complete: 7,0 WSM () 32820 + 0 be,0,3 [0]
      opt cgu.05-11619   [001] ..... 64804.025162: block_bio_queue: 7,0 WS 19466 + 8 [opt cgu.05]
      opt cgu.05-11619   [001] ..... 64804.025170: block_rq_issue: 7,0 WS 4096 () 19466 + 8 be,0,4 [opt cgu.05]
     ksoftirqd/1-22      [001] ..s.. 64804.025320: block_rq_complete: 7,0 WS () 19466 + 8 be,0,4 [0]
      opt cgu.05-11619   [001] ..... 64804.025330: block_bio_queue: 7,0 FWS 0 + 0 [opt cgu.05]
    kworker/1:0H-21467   [001] ..... 64804.025338: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/1:0H]
     ksoftirqd/1-22      [001] ..s.. 64804.028071: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
     ksoftirqd/1-22      [001] d.s1. 64804.028072: block_rq_complete: 7,0 WS () 0 + 0 be,0,4 [0]
";

    /// What the disk had of it: requests by their numbers, at these microseconds after 64804 seconds.
    fn log(flushes_at: &[(Request, u64)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, 1 << 30).expect("memory");
        let mut add = |event: Event| writer.add(&event).expect("memory");
        let at = |microseconds: u64| 64_804_000_000_000 + microseconds * 1000 + 700;
        add(Event::Begin { at_nanoseconds: at(1) });
        let (data, commit) = ([1; 4096], [2; 1024]);
        let writes = [(0, 9895, 32812, &data[..]), (2, 12060, 32820, &commit), (4, 25171, 19466, &data)];
        let mut all: Vec<(u64, Request, Operation)> =
            flushes_at.iter().map(|(request, micro)| (*micro, *request, Operation::Flush)).collect();
        all.extend(
            writes.map(|(request, micro, sector, data)| {
                (micro, request, Operation::Write { offset: sector * 512, data })
            }),
        );
        all.sort_by_key(|(micro, ..)| *micro);
        for (micro, request, operation) in all {
            add(Event::Submitted { request, at_nanoseconds: at(micro), operation });
            add(Event::Done { request, at_nanoseconds: at(micro + 10) });
        }
        bytes
    }

    #[test]
    fn the_flush_after_a_journals_commit_is_of_that_write_alone() {
        let found = find(&log(&[(1, 10012), (3, 12160), (5, 25340)]), TRACE).expect("a log");
        assert_eq!(found, Some(vec![Event::Only { flush: 3, write: 2 }]));
    }

    #[test]
    fn a_log_that_begins_in_the_middle_of_a_trace_is_found_in_it() {
        let found = find(&log(&[(3, 12160), (5, 25340)]), TRACE).expect("a log");
        assert_eq!(found, Some(vec![Event::Only { flush: 3, write: 2 }]));
    }

    #[test]
    fn flushes_that_do_not_match_are_left_as_they_are() {
        for flushes in [&[(1, 10012), (3, 12160), (5, 25340), (6, 25400)][..], &[(1, 9000)], &[(1, 2_000_000)]] {
            assert_eq!(find(&log(flushes), TRACE), Ok(None), "{flushes:?}");
        }
        assert_eq!(find(&log(&[]), ""), Ok(Some(Vec::new())));
    }

    fn only(seen: &[Seen]) -> Vec<Vec<Sectors>> {
        flushes(seen.iter().copied()).into_iter().map(|flush| flush.only).collect()
    }

    #[test]
    fn a_flush_that_may_be_anothers_too_is_one_of_everything() {
        let flush = Seen::FlushIssued(0);
        let fua = |sector| Seen::Queued { sectors: (sector, 2), is_preflush: false, is_fua: true };
        let preflush = |sectors| Seen::Queued { sectors, is_preflush: true, is_fua: false };
        let issued = |sector| Seen::WriteIssued((sector, 2));
        let done = |sector| Seen::WriteDone((sector, 2));
        assert_eq!(only(&[fua(8), issued(8), done(8), flush]), [vec![(8, 2)]]);
        assert_eq!(only(&[fua(8), fua(10), done(8), done(10), flush]), [vec![(8, 2), (10, 2)]], "both at once");
        assert_eq!(
            only(&[fua(8), done(8), preflush((20, 2)), flush, issued(20)]),
            [vec![]],
            "another wants one before it"
        );
        assert_eq!(
            only(&[preflush(EMPTY), fua(8), done(8), flush, Seen::WriteDone(EMPTY), fua(8), done(8), flush]),
            [vec![], vec![(8, 2)]],
            "an empty one is on its way, and then is done"
        );
        assert_eq!(only(&[flush]), [vec![]], "nobody knows what for");
        let of_first = Seen::Queued { sectors: (0, 8), is_preflush: false, is_fua: true };
        let written =
            [of_first, preflush(EMPTY), Seen::WriteDone((0, 8)), flush, Seen::WriteDone(EMPTY), fua(8), done(8), flush];
        assert_eq!(
            only(&written),
            [vec![], vec![]],
            "the end of what wrote the first sectors looks like the empty one's"
        );
        let again = [preflush((20, 2)), flush, issued(20), fua(8), done(8), flush];
        assert_eq!(only(&again), [vec![], vec![(8, 2)]], "the other one had its own");
    }
}
