//! Transactions that a log cuts in half: it begins amid them, or ends.

use crate::message::statements;
use crate::reason::{LeftOut, Reason};
use crate::sessions::{Expects, Session, Step, Way};
use script::Verb;

/// What a statement's text does to transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Begins,
    Ends,
    Neither,
}

fn does(text: &str, backslash_escapes: bool) -> Does {
    if backslash_escapes && let Some(is_on) = sets_autocommit(text) {
        return if is_on { Does::Ends } else { Does::Begins };
    }
    if makes_program(text) {
        return Does::Neither;
    }
    // Of several statements in one message, the last word counts.
    let verbs: Vec<Verb> = statements(text, backslash_escapes).iter().map(|text| script::verb(text)).collect();
    let does = |verb: &Verb| match verb {
        Verb::Begin => Some(Does::Begins),
        Verb::Commit | Verb::Rollback => Some(Does::Ends),
        _ => None,
    };
    verbs.iter().rev().find_map(does).unwrap_or(Does::Neither)
}

/// Whether a session does it whichever database it is on: begin and end of a transaction, and what it sets for itself.
pub fn is_for_all(text: &str, backslash_escapes: bool) -> bool {
    does(text, backslash_escapes) != Does::Neither || script::words(text).next().is_some_and(|word| word == "SET")
}

/// Without it a transaction begins by itself (MariaDB's and MySQL's manuals, `autocommit`).
fn sets_autocommit(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let (scope, value) = text.trim_start().strip_prefix("set")?.split_once("autocommit")?;
    if !["", "session", "local", "@@", "@@session.", "@@local."].contains(&scope.trim()) {
        return None;
    }
    let value = value.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == '=');
    match value.trim_end_matches(|c: char| c.is_whitespace() || c == ';') {
        "0" | "off" | "false" => Some(false),
        "1" | "on" | "true" => Some(true),
        _ => None,
    }
}

/// The BEGIN and END of a stored program are no transaction's.
fn makes_program(text: &str) -> bool {
    let is_program = |word: &str| ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE"].contains(&word);
    script::words(text).next().is_some_and(|word| word == "CREATE")
        && text.split(|c: char| !c.is_alphanumeric()).any(|word| is_program(&word.to_ascii_uppercase()))
}

/// Leaves them out. A session whose beginning the log has does not begin amid one; one that the log saw end did not end amid one: what it had
/// not committed was rolled back, and will be.
pub fn leave_out_halves(sessions: &mut [Session], texts: &[Box<str>], backslash_escapes: bool, left_out: &mut LeftOut) {
    let does: Vec<Does> = texts.iter().map(|text| does(text, backslash_escapes)).collect();
    let mut count = 0;
    for session in sessions {
        let of = |step: usize, session: &Session| does[session.steps[step].text as usize];
        if session.ended.is_none() {
            let last = (0..session.steps.len()).rev().find(|step| of(*step, session) != Does::Neither);
            if let Some(last) = last.filter(|last| of(*last, session) == Does::Begins) {
                count += session.steps.len() - last;
                session.steps.truncate(last);
            }
        }
        if session.began.is_none() {
            let first = (0..session.steps.len()).find(|step| of(*step, session) != Does::Neither);
            if let Some(first) = first.filter(|first| of(*first, session) == Does::Ends) {
                count += first + 1;
                session.steps.drain(..=first);
            }
        }
    }
    if count > 0 {
        *left_out.entry(Reason::CutTransaction).or_default() += count as u64;
    }
}

/// So many commits of what nothing has begun: a single one may be a program's habit.
const UNBEGUN_MIN: usize = 2;

/// Gives sessions their `SET autocommit=0` back that had it before the log's beginning, as those of a pool: without it each of their statements would
/// be a transaction of its own. Gives how many there are.
pub fn switch_autocommit_off(sessions: &mut [Session], texts: &mut Vec<Box<str>>) -> usize {
    const OFF: &str = "SET autocommit=0";
    let sets: Vec<bool> = texts.iter().map(|text| sets_autocommit(text).is_some()).collect();
    let does: Vec<(Does, Verb)> = texts.iter().map(|text| (does(text, true), script::verb(text))).collect();
    let is_off = |session: &&mut Session| {
        let texts = session.steps.iter().map(|step| step.text as usize).take_while(|text| !sets[*text]);
        session.began.is_none() && commits_unbegun(texts.map(|text| does[text]))
    };
    let off: Vec<&mut Session> = sessions.iter_mut().filter(is_off).collect();
    let text = texts.iter().position(|text| **text == *OFF).unwrap_or(texts.len());
    if !off.is_empty() && text == texts.len() {
        texts.push(OFF.into());
    }
    let count = off.len();
    for session in off {
        let Step { number, at_microseconds, .. } = session.steps[0];
        let (text, params, way, expects, rows) = (text as u32, 0..0, Way::Text, Expects::Unknown, None);
        session.steps.insert(0, Step { number, at_microseconds, text, params, way, expects, rows });
    }
    count
}

/// Whether changes are committed, again and again, that no statement has begun a transaction for.
fn commits_unbegun(statements: impl Iterator<Item = (Does, Verb)>) -> bool {
    let (mut has_written, mut commits) = (false, 0);
    for (does, verb) in statements {
        match (does, verb) {
            (Does::Begins, _) | (_, Verb::Begin) => return false,
            (Does::Ends, verb) => {
                commits += usize::from(has_written && verb == Verb::Commit);
                has_written = false;
            }
            (Does::Neither, verb) => has_written |= verb == Verb::Write,
        }
    }
    commits >= UNBEGUN_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_message_counts() {
        for (text, expected) in [
            ("BEGIN", Does::Begins),
            ("begin; update t set a = 1", Does::Begins),
            ("BEGIN; UPDATE t SET a = ';'; COMMIT", Does::Ends),
            ("COMMIT; BEGIN", Does::Begins),
            ("SELECT 'COMMIT; ROLLBACK'", Does::Neither),
            ("ROLLBACK TO s", Does::Neither),
        ] {
            assert_eq!(does(text, false), expected, "{text}");
        }
        for (text, expected) in [
            ("SET autocommit=0", Does::Begins),
            ("set session autocommit = ON;", Does::Ends),
            ("SET @@session.autocommit := off", Does::Begins),
            ("SET GLOBAL autocommit = 0", Does::Neither),
            ("SET names utf8", Does::Neither),
            ("CREATE DEFINER=`a`@`b` PROCEDURE p() BEGIN UPDATE t SET a = 1; END", Does::Neither),
        ] {
            assert_eq!(does(text, true), expected, "{text}");
        }
    }
}
