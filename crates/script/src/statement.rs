//! A statement with its variables: as text with values in it, or prepared with parameters.

use crate::expression::{begins_name, name_length};

/// What a statement does to transactions, and whether it reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT, END, PREPARE TRANSACTION.
    Commit,
    /// ROLLBACK, ABORT; not to a savepoint.
    Rollback,
    /// SELECT, VALUES, SHOW, TABLE.
    Read,
    /// INSERT, UPDATE, DELETE and others that change rows.
    Write,
    /// Anything else.
    Other,
}

/// A part of a statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text as it stands.
    Text(String),
    /// A variable, by its place, and the name it has there.
    Variable(usize, String),
}

/// A statement of a script, or several that go in one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its text, in which variables stand.
    pub parts: Vec<Part>,
    /// One for each of its statements.
    pub verbs: Vec<Verb>,
}

impl Statement {
    /// Reads the variables of these statements; `find` knows them by name.
    pub fn new(texts: &[String], find: &mut dyn FnMut(&str) -> Option<usize>) -> Statement {
        let verbs = texts.iter().map(|text| verb(text)).collect();
        let text = texts.join(";");
        let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
        while let Some(found) = text[at..].find(':') {
            let colon = at + found;
            let rest = &text[colon + 1..];
            if rest.starts_with(':') {
                // A cast.
                at = colon + 2;
                continue;
            }
            let length = if rest.starts_with(begins_name) { name_length(rest) } else { 0 };
            at = colon + 1 + length;
            if let Some(place) = Some(&rest[..length]).filter(|name| !name.is_empty()).and_then(&mut *find) {
                parts.push(Part::Text(text[from..colon].to_string()));
                parts.push(Part::Variable(place, rest[..length].to_string()));
                from = at;
            }
        }
        parts.push(Part::Text(text[from..].to_string()));
        parts.retain(|part| *part != Part::Text(String::new()));
        Statement { parts, verbs }
    }

    /// Its text with `$1`, `$2` … for its variables, each time another.
    pub fn prepared(&self) -> String {
        let (mut text, mut number) = (String::new(), 0);
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(..) => {
                    number += 1;
                    text.push('$');
                    text.push_str(&number.to_string());
                }
            }
        }
        text
    }

    /// Whether a transaction is open after it.
    pub fn leaves_open(&self, is_open: bool) -> bool {
        self.verbs.iter().fold(is_open, |is_open, verb| match verb {
            Verb::Begin => true,
            Verb::Commit | Verb::Rollback => false,
            _ => is_open,
        })
    }

    /// The places of its variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(place, _) => Some(*place),
            Part::Text(_) => None,
        })
    }
}

/// A statement's first words without blanks and comments, in capitals.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
            if let Some(comment) = rest.strip_prefix("--") {
                rest = comment.split_once('\n').map_or("", |(_, after)| after);
            } else if let Some(comment) = rest.strip_prefix("/*") {
                rest = comment.split_once("*/").map_or("", |(_, after)| after);
            } else {
                break;
            }
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest[..end].to_ascii_uppercase();
        rest = &rest[end..];
        (!word.is_empty()).then_some(word)
    })
}

/// What a statement does, by its first words.
pub fn verb(text: &str) -> Verb {
    let mut words = words(text);
    let first = words.next().unwrap_or_default();
    let rest: Vec<String> = words.take(4).collect();
    let second = rest.first().map_or("", String::as_str);
    match first.as_str() {
        "BEGIN" => Verb::Begin,
        "START" if second == "TRANSACTION" => Verb::Begin,
        // A prepared transaction that is committed later ends none of this connection's.
        "COMMIT" | "ROLLBACK" if second == "PREPARED" => Verb::Other,
        "COMMIT" | "END" => Verb::Commit,
        "PREPARE" if second == "TRANSACTION" => Verb::Commit,
        "ROLLBACK" if rest.iter().take(2).any(|word| word == "TO") => Verb::Other,
        "ROLLBACK" | "ABORT" => Verb::Rollback,
        "SELECT" | "VALUES" | "SHOW" | "TABLE" => Verb::Read,
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "REPLACE" | "TRUNCATE" | "COPY" => Verb::Write,
        "WITH" if ["INSERT", "UPDATE", "DELETE", "MERGE"].iter().any(|word| has_word(text, word)) => Verb::Write,
        "WITH" => Verb::Read,
        _ => Verb::Other,
    }
}

fn has_word(text: &str, wanted: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_parameters() {
        let mut find = |name: &str| ["aid", "delta"].iter().position(|known| *known == name);
        let texts =
            ["UPDATE t SET b = b + :delta::int, c = '12:30', d = a[1:n] WHERE aid = :aid OR aid = :aid".to_string()];
        let statement = Statement::new(&texts, &mut find);
        assert_eq!(
            statement.prepared(),
            "UPDATE t SET b = b + $1::int, c = '12:30', d = a[1:n] WHERE aid = $2 OR aid = $3"
        );
        assert_eq!(statement.variables().collect::<Vec<_>>(), [1, 0, 0]);
    }

    #[test]
    fn verbs_are_told_by_their_words() {
        for (text, expected) in [
            ("begin", Verb::Begin),
            ("BEGIN IMMEDIATE", Verb::Begin),
            ("START TRANSACTION READ ONLY", Verb::Begin),
            ("/* a */ -- b\n COMMIT", Verb::Commit),
            ("END", Verb::Commit),
            ("PREPARE TRANSACTION 'x'", Verb::Commit),
            ("PREPARE q AS SELECT 1", Verb::Other),
            ("COMMIT PREPARED 'x'", Verb::Other),
            ("ROLLBACK", Verb::Rollback),
            ("ROLLBACK WORK", Verb::Rollback),
            ("ROLLBACK TO SAVEPOINT s", Verb::Other),
            ("ROLLBACK WORK TO s", Verb::Other),
            ("(SELECT 1) UNION (SELECT 2)", Verb::Read),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Verb::Read),
            ("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", Verb::Write),
            ("INSERT INTO t VALUES (1)", Verb::Write),
            ("CREATE TABLE t ()", Verb::Other),
        ] {
            assert_eq!(verb(text), expected, "{text}");
        }
    }
}
