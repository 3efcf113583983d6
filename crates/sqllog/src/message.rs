//! What a message that a client sent is, by its text: the statements in it, and what they do beside transactions.

use script::Piece;
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

/// Whether a text has `$1`.
pub fn has_marks(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a stored program of MySQL's has put its variables into it (MySQL's manual, "Stored Program Binary Logging").
pub fn is_of_program(text: &str) -> bool {
    text.contains("NAME_CONST('")
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
}
