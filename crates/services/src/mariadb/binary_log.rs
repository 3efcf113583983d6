//! Which transactions a binary log holds whole, as a replica would read it: up to the first event that is not. Pure.
//!
//! The format is MariaDB's, "Replication Protocol", "Binlog Event Header": a magic number, then events of a head of 19 bytes
//! (time, type, server, length, position of the next, flags) and a body, with a CRC-32 at its end where the first event says so.

const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
/// Of MySQL's with `binlog_encryption`.
const MAGIC_ENCRYPTED: [u8; 4] = [0xfd, b'b', b'i', b'n'];
const HEAD_BYTES: usize = 19;
const CHECKSUM_BYTES: usize = 4;

/// Types of events.
const FORMAT_DESCRIPTION: u8 = 15;
const COMMIT: u8 = 16;
/// MariaDB's, and MySQL's with and without a name.
const BEGIN: [u8; 3] = [162, 33, 34];
/// Before rows that were changed, in row format; the statement that changed them stands in MariaDB's annotation, or MySQL's
/// (`binlog_rows_query_log_events`, off by default).
const TABLE_MAP: u8 = 19;
const STATEMENTS: [u8; 2] = [160, 29];
/// A transaction of MySQL's and a statement of MariaDB's that are compressed; and what says of MariaDB's that all behind it is encrypted.
const UNREADABLE: [u8; 3] = [40, 165, 164];

/// The bytes of each transaction that was committed, from its first event to its last. None: what its statements said does not stand in it.
pub fn transactions(log: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    if log.starts_with(&MAGIC_ENCRYPTED) {
        return None;
    }
    if !log.starts_with(&MAGIC) {
        return Some(found);
    }
    let (mut at, mut begin, mut has_checksums) = (MAGIC.len(), None, false);
    let (mut has_rows, mut has_statements) = (false, false);
    while let Some((kind, event)) = event(log, at, has_checksums) {
        match kind {
            // Before its own checksum stands which algorithm the others have.
            FORMAT_DESCRIPTION => has_checksums = event.iter().nth_back(CHECKSUM_BYTES) == Some(&1),
            COMMIT if has_rows && !has_statements => return None,
            COMMIT => found.extend(begin.take().map(|begin| &log[begin..at + event.len()])),
            TABLE_MAP => has_rows = true,
            kind if UNREADABLE.contains(&kind) => return None,
            kind if STATEMENTS.contains(&kind) => has_statements = true,
            kind if BEGIN.contains(&kind) => (begin, has_rows, has_statements) = (Some(at), false, false),
            _ => {}
        }
        at += event.len();
    }
    Some(found)
}

/// The event at this place, if it is whole, and its type.
fn event(log: &[u8], at: usize, has_checksums: bool) -> Option<(u8, &[u8])> {
    let head = log.get(at..at + HEAD_BYTES)?;
    let length = u32::from_le_bytes(head[9..13].try_into().expect("four bytes")) as usize;
    let event = log.get(at..at + length.max(HEAD_BYTES))?;
    if has_checksums {
        let (body, checksum) = event.split_last_chunk::<CHECKSUM_BYTES>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return None;
        }
    }
    (length >= HEAD_BYTES).then_some((head[4], event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(log: &mut Vec<u8>, kind: u8, body: &[u8]) {
        let length = (HEAD_BYTES + body.len() + CHECKSUM_BYTES) as u32;
        let mut event = [&[0; 4], &[kind][..], &[1, 0, 0, 0], &length.to_le_bytes(), &[0; 6], body].concat();
        event.extend(crc32fast::hash(&event).to_le_bytes());
        log.extend(event);
    }

    /// Of three transactions, and where each ends.
    fn log() -> (Vec<u8>, [usize; 3]) {
        let mut log = MAGIC.to_vec();
        add(&mut log, FORMAT_DESCRIPTION, &[7, 1]);
        let ends = ["first", "second", "third"].map(|text| {
            add(&mut log, BEGIN[0], &[]);
            add(&mut log, 2, text.as_bytes());
            add(&mut log, COMMIT, &[0; 8]);
            log.len()
        });
        (log, ends)
    }

    fn texts(log: &[u8]) -> Vec<&str> {
        let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        let text = |bytes| ["first", "second", "third"].into_iter().find(|text| has(bytes, text)).expect("one of them");
        transactions(log).expect("statements stand in it").into_iter().map(text).collect()
    }

    #[test]
    fn a_log_cut_off_anywhere_holds_what_ended_before() {
        let (log, ends) = log();
        for length in 0..=log.len() {
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(texts(&log[..length]).len(), whole, "{length} bytes");
        }
        assert_eq!(texts(&log), ["first", "second", "third"]);
    }

    #[test]
    fn a_log_that_goes_on_as_zeros_ends_there() {
        let (mut log, ends) = log();
        log[ends[1] - 1..].fill(0);
        log.resize(1 << 16, 0);
        assert_eq!(texts(&log), ["first"]);
        assert_eq!([transactions(b""), transactions(&[0; 4096])], [Some(vec![]), Some(vec![])]);
    }

    /// MySQL's row format as it is by default would be read as a log that has none of the commits.
    #[test]
    fn rows_without_their_statements_tell_nothing() {
        let log = |events: &[u8]| {
            let mut log = MAGIC.to_vec();
            add(&mut log, FORMAT_DESCRIPTION, &[7, 1]);
            events.iter().for_each(|kind| add(&mut log, *kind, b"first"));
            log
        };
        const WRITE_ROWS: u8 = 30;
        for [begin, statement] in [[34, 29], [162, 160]] {
            let whole = log(&[begin, 2, statement, TABLE_MAP, WRITE_ROWS, COMMIT]);
            assert_eq!(texts(&whole), ["first"]);
            let rows = log(&[begin, 2, TABLE_MAP, WRITE_ROWS, COMMIT]);
            assert_eq!(transactions(&rows), None);
            assert_eq!(transactions(&[whole, rows[MAGIC.len()..].to_vec()].concat()), None);
        }
        for unreadable in [&[33, 40][..], &[162, 165, COMMIT], &[164]] {
            assert_eq!(transactions(&log(unreadable)), None);
        }
        assert_eq!(transactions(&MAGIC_ENCRYPTED), None);
    }
}
