//! What a message that a client sent is, by its text: the statements in it, and what they do beside transactions.

use script::{Piece, Verb};
use std::borrow::Cow;

/// The statements of a message; one that can't be taken apart is one.
pub fn statements(text: &str, backslash_escapes: bool) -> Vec<Cow<'_, str>> {
    let whole = || vec![Cow::Borrowed(text)];
    if !text.contains(';') {
        return whole();
    }
    let texts = |piece: Piece| match piece {
        Piece::Statement { texts, .. } => texts,
        Piece::Meta { .. } => Vec::new(),
    };
    script::statements(text, backslash_escapes)
        .map_or_else(|_| whole(), |pieces| pieces.into_iter().flat_map(texts).map(Cow::Owned).collect())
}

/// Whether one of PostgreSQL's has a COPY, which moves rows that the log does not have.
pub fn copies(text: &str) -> bool {
    let is_copy = |text: &Cow<str>| script::words(text).next().is_some_and(|word| word == "COPY");
    statements(text, false).iter().any(is_copy)
}

/// Whether an error of PostgreSQL's says that its statement was ended from outside (`postgres.c`): by who cancelled it, or by a time-out that its
/// session has not set itself, but that the server, the role or the database had.
pub fn is_cancelled(error: &str, has_own_timeout: bool) -> bool {
    match error.strip_prefix("canceling statement due to ") {
        Some(why) => why.starts_with("user request") || why.starts_with("statement timeout") && !has_own_timeout,
        None => false,
    }
}

/// Whether one of PostgreSQL's says something of the time-out of statements.
pub fn sets_timeout(text: &str) -> bool {
    text.to_ascii_lowercase().contains("statement_timeout")
}

/// Whether one of PostgreSQL's chooses another encoding than UTF-8 for what its client sends. A replay sends UTF-8: the server's log is in the
/// database's own encoding, whatever the client's (its manual, "Character Set Support").
pub fn chooses_encoding(text: &str) -> bool {
    let chooses = |text: &Cow<str>| {
        let mut words = script::words(text).filter(|word| !["SESSION", "LOCAL"].contains(&word.as_str()));
        words.next().is_some_and(|word| word == "SET")
            && words.next().is_some_and(|word| ["CLIENT_ENCODING", "NAMES"].contains(&word.as_str()))
            && !["UTF8", "UTF-8", "UNICODE", "DEFAULT"].iter().any(|same| text.to_ascii_uppercase().contains(same))
    };
    let all = statements(text, false);
    // In one message with others it stays: those are wanted.
    !all.is_empty() && all.iter().all(chooses)
}

/// Whether one of MySQL's reads a file, of the client's or the server's (both manuals, "LOAD DATA").
pub fn loads_file(text: &str) -> bool {
    let loads = |text: &Cow<str>| {
        let mut words = script::words(text);
        words.next().is_some_and(|word| word == "LOAD")
            && words.next().is_some_and(|word| ["DATA", "XML"].contains(&word.as_str()))
    };
    statements(text, true).iter().any(loads)
}

/// Whether one of MySQL's writes a file of the server's (both manuals, "SELECT ... INTO OUTFILE"): it lies where the log's
/// server had it, off the filesystem under test, and is there already when the next trial comes.
pub fn writes_file(text: &str) -> bool {
    let writes = |text: &Cow<str>| {
        if script::verb(text) != Verb::Read {
            return false;
        }
        let lower = text.to_ascii_lowercase();
        let is_named = |(at, word): (usize, &str)| {
            let (before, name) = (&lower[..at], lower[at + word.len()..].trim_start());
            let is_in_quotes = !before.matches('\'').count().is_multiple_of(2);
            before.trim_end().ends_with("into") && name.starts_with(['\'', '"']) && !is_in_quotes
        };
        ["outfile", "dumpfile"].into_iter().any(|word| lower.match_indices(word).any(is_named))
    };
    statements(text, true).iter().any(writes)
}

/// Whether a text has `$1`.
pub fn has_marks(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a stored program of MySQL's has put its variables into it (MySQL's manual, "Stored Program Binary Logging").
pub fn is_of_program(text: &str) -> bool {
    text.contains("NAME_CONST('")
}

/// In capitals, without the blank that may stand between a function's name and its parenthesis.
fn upper(text: &str) -> String {
    text.to_ascii_uppercase().replace(" (", "(")
}

/// Whether it ends the server, or a session that it names by a number: in a replay that is another one's (both manuals, "KILL", "SHUTDOWN", "Server
/// Signaling Functions").
pub fn ends_others(text: &str, is_postgres: bool) -> bool {
    let ends = |text: &Cow<str>| {
        script::words(text).next().is_some_and(|word| ["KILL", "SHUTDOWN", "RESTART"].contains(&word.as_str()))
    };
    if !is_postgres {
        return statements(text, true).iter().any(ends);
    }
    // Blanks may stand before the parenthesis.
    let lower = text.to_ascii_lowercase();
    ["pg_terminate_backend", "pg_cancel_backend"].iter().any(|name| lower.contains(name))
}

/// Whether one of PostgreSQL's gives up all prepared statements (its manual, DISCARD and DEALLOCATE).
pub fn forgets_all(text: &str) -> bool {
    let forgets = |text: &Cow<str>| {
        let mut words = script::words(text);
        let first = words.next().unwrap_or_default();
        let mut rest = words.skip_while(|word| first == "DEALLOCATE" && word == "PREPARE");
        ["DISCARD", "DEALLOCATE"].contains(&first.as_str()) && rest.next().is_some_and(|word| word == "ALL")
    };
    statements(text, false).iter().any(forgets)
}

/// What a message does to locks that outlive transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Takes one.
    Takes,
    /// Takes those of tables, or of all: all are given back together.
    TakesTables,
    /// Gives one back.
    GivesBack,
    /// Gives all back.
    GivesAllBack,
}

/// By words alone (both manuals, "Locking Functions", "Advisory Lock Functions", "LOCK TABLES"). Who takes a lock only where it is free waits for
/// nobody, but others wait for it. One that is given back in the same message is none.
pub fn lock(text: &str, is_postgres: bool) -> Option<Lock> {
    let (mut words, upper) = (script::words(text), upper(text));
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let has = |words: &[&str]| words.iter().any(|word| upper.contains(word));
    let locks_tables = !is_postgres
        && (first == "LOCK" && second.starts_with("TABLE")
            || first == "FLUSH" && has(&["WITH READ LOCK", "FOR EXPORT"]));
    let (takes, gives_back, gives_all_back) = if is_postgres {
        (
            has(&[
                "PG_ADVISORY_LOCK(",
                "PG_ADVISORY_LOCK_SHARED(",
                "PG_TRY_ADVISORY_LOCK(",
                "PG_TRY_ADVISORY_LOCK_SHARED(",
            ]),
            has(&["PG_ADVISORY_UNLOCK(", "PG_ADVISORY_UNLOCK_SHARED("]),
            has(&["PG_ADVISORY_UNLOCK_ALL("]) || forgets_all(text),
        )
    } else {
        (
            locks_tables || has(&["GET_LOCK("]),
            has(&["RELEASE_LOCK("]),
            first == "UNLOCK" || has(&["RELEASE_ALL_LOCKS("]),
        )
    };
    match (takes, gives_back, gives_all_back) {
        (_, _, true) => Some(Lock::GivesAllBack),
        (true, false, false) if locks_tables => Some(Lock::TakesTables),
        (true, false, false) => Some(Lock::Takes),
        (false, true, false) => Some(Lock::GivesBack),
        _ => None,
    }
}

/// Whether it may wait until another session gives back a lock that outlives transactions, also where it keeps none itself: PostgreSQL's lock of a
/// transaction waits for those of sessions, and one that is given back in the same message was waited for.
pub fn may_wait_for_lock(text: &str) -> bool {
    let upper = upper(text);
    ["ADVISORY_LOCK", "ADVISORY_XACT_LOCK", "GET_LOCK("].iter().any(|word| upper.contains(word))
}

/// The name that a DEALLOCATE gives up.
pub fn deallocated(text: &str) -> Option<&str> {
    let mut words = text.trim_end_matches(|c: char| c.is_whitespace() || c == ';').split_whitespace();
    words.next().filter(|word| word.eq_ignore_ascii_case("deallocate"))?;
    let name = words.find(|word| !word.eq_ignore_ascii_case("prepare"))?;
    Some(name.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_up_prepared_statements_is_told_by_its_words() {
        for (text, forgets, name) in [
            ("DISCARD ALL", true, None),
            ("discard all;", true, None),
            ("SELECT 1; /* pool */ DEALLOCATE PREPARE ALL", true, None),
            ("DEALLOCATE ALL", true, Some("ALL")),
            ("DISCARD PLANS", false, None),
            ("SELECT 'DISCARD ALL'", false, None),
            ("DEALLOCATE a12", false, Some("a12")),
            ("deallocate prepare \"S_1\";", false, Some("S_1")),
        ] {
            assert_eq!((forgets_all(text), deallocated(text)), (forgets, name), "{text}");
        }
    }

    #[test]
    fn what_ends_others_is_told_by_its_words() {
        for (text, is_postgres, expected) in [
            ("KILL 12", false, true),
            ("/* admin */ kill query 12;", false, true),
            ("shutdown", false, true),
            ("SELECT 1; SHUTDOWN", false, true),
            ("SELECT 'KILL 12'", false, false),
            ("UPDATE t SET kill = 1", false, false),
            ("SELECT pg_catalog.PG_TERMINATE_BACKEND(12)", true, true),
            ("SELECT pg_terminate_backend (pid) FROM pg_stat_activity WHERE datname = 'shop'", true, true),
            ("SELECT pg_backend_pid()", true, false),
        ] {
            assert_eq!(ends_others(text, is_postgres), expected, "{text}");
        }
    }

    #[test]
    fn what_may_wait_for_a_lock_need_not_keep_one() {
        for (text, expected) in [
            ("SELECT pg_advisory_lock_shared(7)", true),
            ("select pg_advisory_xact_lock(7)", true),
            ("SELECT GET_LOCK('a', -1); SELECT RELEASE_LOCK('a')", true),
            ("SELECT pg_advisory_unlock(7)", false),
            ("DO RELEASE_LOCK('a')", false),
        ] {
            assert_eq!(may_wait_for_lock(text), expected, "{text}");
        }
    }

    #[test]
    fn locks_that_outlive_transactions_are_told_by_their_words() {
        for (text, is_postgres, expected) in [
            ("SELECT pg_advisory_lock(7)", true, Some(Lock::Takes)),
            ("SELECT pg_try_advisory_lock (7)", true, Some(Lock::Takes)),
            ("SELECT pg_try_advisory_lock_shared(7)", true, Some(Lock::Takes)),
            ("SELECT pg_advisory_xact_lock(7)", true, None),
            ("SELECT pg_try_advisory_xact_lock(7)", true, None),
            ("LOCK TABLE t", true, None),
            ("select pg_advisory_unlock(7)", true, Some(Lock::GivesBack)),
            ("DISCARD ALL", true, Some(Lock::GivesAllBack)),
            ("SELECT GET_LOCK('a', 10)", false, Some(Lock::Takes)),
            ("LOCK TABLES t WRITE", false, Some(Lock::TakesTables)),
            ("FLUSH TABLES WITH READ LOCK", false, Some(Lock::TakesTables)),
            ("FLUSH TABLES", false, None),
            ("SELECT GET_LOCK('a', 10); SELECT RELEASE_LOCK('a')", false, None),
            ("DO RELEASE_LOCK('a')", false, Some(Lock::GivesBack)),
            ("UNLOCK TABLES", false, Some(Lock::GivesAllBack)),
        ] {
            assert_eq!(lock(text, is_postgres), expected, "{text}");
        }
    }
}
