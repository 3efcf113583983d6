//! What is wrong with a study file, where, and what is allowed.

use serde_json::Value;
use settings::Wrong;
use std::ops::Range;

/// Where something stands in the text, in bytes; none: the command line gave it, or it is not there.
pub type Span = Option<Range<usize>>;

/// One problem of a study file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes of the text; none when it came from the command line or concerns the whole file.
    pub span: Span,
    /// What is allowed; stands under the place.
    pub label: String,
    /// What to do next: the nearest name.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem at a place.
    pub(crate) fn new(message: impl Into<String>, span: Span, label: impl Into<String>) -> Problem {
        Problem { message: message.into(), span, label: label.into(), hint: None }
    }

    /// The same with a hint.
    pub(crate) fn hint(mut self, hint: Option<String>) -> Problem {
        self.hint = hint;
        self
    }

    /// A value that its setting does not take.
    pub(crate) fn wrong_value(path: &str, wrong: &Wrong, span: Span) -> Problem {
        let hint = wrong.nearest.as_ref().map(|name| format!("did you mean `{name}`?"));
        Problem::new(format!("`{path}` can't be {}", wrong.found), span, format!("expected {}", wrong.expected))
            .hint(hint)
    }

    /// A key that nobody knows.
    pub(crate) fn unknown_key(key: &str, of: &str, known: &[&str], span: Span) -> Problem {
        let hint = settings::nearest_name(key, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
        let label = format!("settings of {of}: {}", known.join(", "));
        Problem::new(format!("`{key}` is not a setting of {of}"), span, label).hint(hint)
    }

    /// A level that a factor does not have.
    pub(crate) fn unknown_level(factor: &str, level: &Value, known: &[&str], span: Span) -> Problem {
        let nearest = settings::nearest_name(level.as_str().unwrap_or_default(), known.iter().copied());
        let as_number = known.iter().find(|name| level.is_f64() && name.parse::<f64>().ok() == level.as_f64());
        let hint = match as_number {
            Some(name) => Some(format!("a name with a point has quotes: \"{name}\"")),
            None => nearest.map(|name| format!("did you mean `{name}`?")),
        };
        Problem::new(format!("{level} is not a level of `{factor}`"), span, format!("its levels: {}", known.join(", ")))
            .hint(hint)
    }
}

/// Line and column of a byte offset, both from 1; the column counts characters.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// 1000000 → 1,000,000.
pub(crate) fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([grouped(1), grouped(1000), grouped(1_000_000_000)], ["1", "1,000", "1,000,000,000"]);
    }

    #[test]
    fn positions_count_characters_from_one() {
        let text = "é = 1\nb = 2";
        assert_eq!(
            [position(text, 0), position(text, 3), position(text, 7), position(text, 99)],
            [(1, 1), (1, 3), (2, 1), (2, 6)]
        );
    }
}
