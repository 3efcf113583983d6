//! `log_line_prefix`: which text stands before each message (PostgreSQL's manual, "What to Log").

use super::{Message, session_id};
use crate::Problem;
use crate::time;

/// A prefix as its parts.
#[derive(Debug, Clone)]
pub struct Prefix(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Literal(String),
    /// `%t` and `%m`.
    Time,
    /// `%n`.
    Seconds,
    /// `%p`.
    Process,
    /// `%c`.
    Session,
    /// `%d`.
    Database,
    /// `%e`.
    Code,
    /// `%q`: the prefix of a process without a session ends here.
    Stop,
    /// Any other: it ends where the next literal begins.
    Other,
}

/// Prefixes that are common: Debian's, PostgreSQL's own and its manual's, those of pgBadger's manual, Amazon RDS's, Azure's, pgreplay's.
pub const COMMON: [&str; 13] = [
    "%m [%p] %q%u@%d/%a ",
    "%m [%p] %q%u@%d ",
    "%m [%p] ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: db=%d,user=%u,app=%a,client=%h ",
    "%t [%p]: ",
    "%t:%r:%u@%d:[%p]:",
    "%t-%c-",
    "%m [%c] ",
    "%m %u@%d %p %r ",
    "%m|%u|%d|%c|",
];

impl Prefix {
    /// Reads the server's setting.
    ///
    /// # Errors
    /// When it has an escape that there is not, or does not tell sessions and moments.
    pub fn new(text: &str) -> Result<Prefix, Problem> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            push_literal(&mut parts, &rest[..at]);
            // A width, as in `%-10u`.
            let escape = rest[at + 1..].trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
            let letter = escape.chars().next().ok_or_else(|| Problem::Prefix("it ends in a `%`".into()))?;
            rest = &escape[letter.len_utf8()..];
            parts.push(match letter {
                't' | 'm' => Part::Time,
                'n' => Part::Seconds,
                'p' => Part::Process,
                'c' => Part::Session,
                'd' => Part::Database,
                'e' => Part::Code,
                'q' => Part::Stop,
                '%' => Part::Literal("%".into()),
                'a' | 'b' | 'h' | 'i' | 'l' | 'P' | 'Q' | 'r' | 's' | 'u' | 'v' | 'x' => Part::Other,
                other => return Err(Problem::Prefix(format!("PostgreSQL has no `%{other}`"))),
            });
        }
        push_literal(&mut parts, rest);
        let has = |wanted: &[Part]| parts.iter().any(|part| wanted.contains(part));
        if !has(&[Part::Process, Part::Session]) {
            return Err(Problem::Prefix("without `%p` or `%c` it does not tell sessions apart".into()));
        }
        if !has(&[Part::Time, Part::Seconds]) {
            return Err(Problem::Prefix("without `%m`, `%t` or `%n` it does not say when a statement began".into()));
        }
        Ok(Prefix(parts))
    }

    /// Of the common ones the one that most of these lines have, and of several the first; without one, PostgreSQL's own.
    pub fn guess<'a>(lines: impl Iterator<Item = &'a str>) -> Prefix {
        let lines: Vec<&str> = lines.collect();
        let mut found = (0, COMMON[2]);
        for text in COMMON {
            let prefix = Prefix::new(text).expect("the common ones are right");
            let read = lines.iter().filter(|line| prefix.read(line).is_some()).count();
            if read > found.0 {
                found = (read, text);
            }
        }
        Prefix::new(found.1).expect("the common ones are right")
    }

    /// A line's message, with what this says before it; none: the line does not begin so.
    pub(super) fn read<'a>(&self, line: &'a str) -> Option<Message<'a>> {
        let mut message = Message::default();
        let mut rest = line;
        for (index, part) in self.0.iter().enumerate() {
            // A field ends where the next literal begins. The last one may be a program's name with blanks: it ends before the severity.
            let may_have_blanks = *part == Part::Other && index + 2 == self.0.len();
            let field = |rest: &'a str| -> Option<(&'a str, &'a str)> {
                match self.0.get(index + 1) {
                    Some(Part::Literal(next)) if may_have_blanks => {
                        let length = rest[..severity_at(rest)?].strip_suffix(next.as_str())?.len();
                        Some(rest.split_at(length))
                    }
                    Some(Part::Literal(next)) => rest.find(next.as_str()).map(|at| rest.split_at(at)),
                    Some(_) => Some(rest.split_at(rest.find(' ').unwrap_or(rest.len()))),
                    None => severity_at(rest).map(|at| rest.split_at(at)),
                }
            };
            rest = match part {
                Part::Literal(text) => rest.strip_prefix(text.as_str())?,
                Part::Time => {
                    let (at, after) = time::iso(rest)?;
                    message.at_microseconds = at;
                    after
                }
                Part::Seconds => {
                    let (text, after) = field(rest)?;
                    message.at_microseconds = (text.trim().parse::<f64>().ok()? * 1e6) as i64;
                    after
                }
                Part::Process => {
                    let digits = rest.trim_start_matches(' ');
                    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
                    // A session's own id says more.
                    let process = digits[..length].parse().ok()?;
                    message.key = if message.key == 0 { process } else { message.key };
                    &digits[length..]
                }
                Part::Session => {
                    let (text, after) = field(rest)?;
                    message.key = session_id(text.trim())?;
                    after
                }
                Part::Database => {
                    let (text, after) = field(rest)?;
                    message.database = Some(text.trim()).filter(|name| !name.is_empty() && *name != "[unknown]");
                    after
                }
                Part::Code => {
                    let (text, after) = field(rest)?;
                    message.code = Some(text.trim()).filter(|code| code.len() == 5);
                    after
                }
                Part::Stop => {
                    if let Some((severity, text)) = severity(rest) {
                        return Some(Message { severity, text, ..message });
                    }
                    rest
                }
                Part::Other => field(rest)?.1,
            };
        }
        let (severity, text) = severity(rest)?;
        Some(Message { severity, text, ..message })
    }
}

fn push_literal(parts: &mut Vec<Part>, text: &str) {
    if !text.is_empty() {
        parts.push(Part::Literal(text.into()));
    }
}

/// What a message is (`elog.c` and the manual's "Message Severity Levels").
const SEVERITIES: &[[&str; 9]] = &[
    ["LOG", "ERROR", "DETAIL", "STATEMENT", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO"],
    ["HINT", "CONTEXT", "QUERY", "LOCATION", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5"],
];

/// `LOG:  text`.
fn severity(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(":  ")?;
    SEVERITIES.as_flattened().contains(&word).then_some((word, rest))
}

/// Where the severity begins.
fn severity_at(text: &str) -> Option<usize> {
    let end = text.find(":  ")?;
    let word = text[..end].rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
    SEVERITIES.as_flattened().contains(&word).then_some(end - word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prefix: &str, line: &str, key: u64, database: Option<&str>) {
        let read = Prefix::new(prefix).expect("a prefix");
        let message = read.read(line).unwrap_or_else(|| panic!("{prefix} reads {line}"));
        assert_eq!((message.key, message.database), (key, database), "{line}");
        assert_eq!((message.severity, message.text), ("LOG", "statement: SELECT 1"), "{line}");
        assert_eq!(message.at_microseconds / 1_000_000, 1_795_482_123, "{line}");
    }

    #[test]
    fn prefixes_are_read() {
        let lines = [
            (COMMON[1], "2026-11-24 01:02:03.456 UTC [12] joe@shop LOG:  statement: SELECT 1", 12, Some("shop")),
            (COMMON[1], "2026-11-24 01:02:03.456 UTC [12] LOG:  statement: SELECT 1", 12, None),
            (COMMON[2], "2026-11-24 01:02:03.456 UTC [12] LOG:  statement: SELECT 1", 12, None),
            (
                COMMON[3],
                "2026-11-24 01:02:03 UTC [12]: [7-1] user=joe,db=shop,app=my app,client=::1 LOG:  statement: SELECT 1",
                12,
                Some("shop"),
            ),
            (
                COMMON[8],
                "2026-11-24 01:02:03 UTC:10.0.0.1(5):joe@shop:[12]:LOG:  statement: SELECT 1",
                12,
                Some("shop"),
            ),
            (
                COMMON[12],
                "2026-11-24 01:02:03.456 UTC|joe|shop|6a23.1f|LOG:  statement: SELECT 1",
                0x6a23_0000_001f,
                Some("shop"),
            ),
            (COMMON[10], "2026-11-24 01:02:03.456 UTC [6a23.1f] LOG:  statement: SELECT 1", 0x6a23_0000_001f, None),
            (
                COMMON[0],
                "2026-11-24 01:02:03.456 UTC [12] joe@shop/PostgreSQL JDBC Driver LOG:  statement: SELECT 1",
                12,
                Some("shop"),
            ),
            (
                COMMON[5],
                "2026-11-24 01:02:03 UTC [12]: user=joe,db=shop,app=my app,client=::1 LOG:  statement: SELECT 1",
                12,
                Some("shop"),
            ),
            (
                COMMON[6],
                "2026-11-24 01:02:03 UTC [12]: db=shop,user=joe,app=,client= LOG:  statement: SELECT 1",
                12,
                Some("shop"),
            ),
            (COMMON[9], "2026-11-24 01:02:03 UTC-6a23.1f-LOG:  statement: SELECT 1", 0x6a23_0000_001f, None),
            ("%n|%5p|%-6d|%e|", "1795482123.456|   12|shop  |00000|LOG:  statement: SELECT 1", 12, Some("shop")),
        ];
        for (prefix, line, key, database) in lines {
            check(prefix, line, key, database);
            let prefix_guessed = Prefix::guess([line].into_iter());
            let guessed =
                prefix_guessed.read(line).is_some_and(|message| (message.key, message.database) == (key, database));
            assert!(guessed || !COMMON.contains(&prefix), "{line}");
        }
    }

    /// The first lines have no session, and fit several.
    #[test]
    fn the_prefix_that_most_lines_have_is_guessed() {
        let line = |session: &str| format!("2026-11-24 01:02:03.456 UTC [12] {session}LOG:  statement: SELECT 1");
        for (session, database) in [("joe@shop ", "shop"), ("joe@shop/my app ", "shop")] {
            let lines = [line(""), line(session), line(session)];
            let prefix = Prefix::guess(lines.iter().map(String::as_str));
            let head = prefix.read(&lines[1]).map(|message| message.database);
            assert_eq!(head, Some(Some(database)), "{session}");
        }
    }

    #[test]
    fn a_log_in_another_language_is_no_panic() {
        let lines = [
            "2026-11-24 01:02:03.456 MSK [12] ОТМЕТКА:  оператор: SELECT 1",
            "2026-11-24 01:02:03.456 MSK [12] joe@é:  x",
        ];
        for line in lines {
            for prefix in COMMON.into_iter().chain(["%m [%p] %a"]) {
                assert_eq!(Prefix::new(prefix).expect("a prefix").read(line), None, "{prefix}");
            }
        }
    }

    #[test]
    fn a_prefix_that_says_too_little_is_refused() {
        for (prefix, said) in [("%m ", "%p"), ("[%p] ", "%m"), ("%m %p %y", "%y"), ("%m %p %", "`%`")] {
            assert!(Prefix::new(prefix).expect_err(prefix).to_string().contains(said), "{prefix}");
        }
    }
}
