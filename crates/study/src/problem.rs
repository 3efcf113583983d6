//! What is wrong with a study file, where, and what is allowed.

use settings::Wrong;
use std::ops::Range;

/// One problem of a study file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes of the text; none when it came from the command line or concerns the whole file.
    pub span: Option<Range<usize>>,
    /// What is allowed; stands under the place.
    pub label: String,
    /// What to do next: the nearest name.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem at a place.
    pub(crate) fn new(message: impl Into<String>, span: Option<Range<usize>>, label: impl Into<String>) -> Problem {
        Problem { message: message.into(), span, label: label.into(), hint: None }
    }

    /// The same with a hint.
    pub(crate) fn hint(mut self, hint: Option<String>) -> Problem {
        self.hint = hint;
        self
    }

    /// A value that its setting does not take.
    pub(crate) fn wrong_value(path: &str, wrong: &Wrong, span: Option<Range<usize>>) -> Problem {
        let hint = wrong.nearest.as_ref().map(|name| format!("did you mean `{name}`?"));
        Problem::new(format!("`{path}` can't be {}", wrong.found), span, format!("expected {}", wrong.expected)).hint(hint)
    }

    /// A key that nobody knows.
    pub(crate) fn unknown_key(key: &str, of: &str, known: &[&str], span: Option<Range<usize>>) -> Problem {
        let hint = settings::nearest_name(key, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
        Problem::new(format!("`{key}` is not a setting of {of}"), span, format!("settings of {of}: {}", known.join(", "))).hint(hint)
    }
}

/// Line and column of a byte offset, both from 1; the column counts characters.
#[must_use]
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
