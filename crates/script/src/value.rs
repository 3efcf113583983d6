//! Values of variables, and how pgbench makes one type of another.

use std::fmt::{self, Display};

/// What a variable holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// Of a comparison.
    Boolean(bool),
    /// 64 bits.
    Integer(i64),
    /// 64 bits.
    Double(f64),
    /// As it came from a row or the study; an expression reads it as what it looks like.
    Text(Box<str>),
}

impl Value {
    /// A text as an expression reads it.
    ///
    /// # Errors
    /// When it looks like no number, boolean or NULL.
    pub fn read(text: &str) -> Result<Value, String> {
        let word = text.trim().to_ascii_lowercase();
        if let Some(boolean) = boolean(&word) {
            return Ok(Value::Boolean(boolean));
        }
        if word == "null" {
            return Ok(Value::Null);
        }
        if let Ok(integer) = word.parse() {
            return Ok(Value::Integer(integer));
        }
        // Rust reads `inf` and `nan`, too, which are no numbers to calculate with.
        let looks_like_number = word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        let double = if looks_like_number { word.parse().ok().filter(|double: &f64| double.is_finite()) } else { None };
        double.map(Value::Double).ok_or_else(|| format!("`{text}` is no number, boolean or NULL"))
    }

    /// A text becomes what it looks like; every other value stays.
    pub(crate) fn plain(&self) -> Result<Value, String> {
        match self {
            Value::Text(text) => Value::read(text),
            other => Ok(other.clone()),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// For `\if`: NULL and zeros are false.
    pub(crate) fn truth(&self) -> Result<bool, String> {
        Ok(match self.plain()? {
            Value::Null => false,
            Value::Boolean(boolean) => boolean,
            Value::Integer(integer) => integer != 0,
            Value::Double(double) => double != 0.0,
            Value::Text(_) => unreachable!("`plain` gives none"),
        })
    }

    pub(crate) fn boolean(&self) -> Result<bool, String> {
        match self {
            Value::Boolean(boolean) => Ok(*boolean),
            other => Err(other.unfit("a boolean")),
        }
    }

    /// Rounded to the nearest, halves to the even one.
    pub(crate) fn integer(&self) -> Result<i64, String> {
        match self {
            Value::Integer(integer) => Ok(*integer),
            Value::Double(double) => {
                let rounded = double.round_ties_even();
                // 2^63 is a float, 2^63 - 1 is none.
                let fits = rounded >= i64::MIN as f64 && rounded < i64::MAX as f64;
                if fits { Ok(rounded as i64) } else { Err(format!("{double} does not fit into an integer of 64 bits")) }
            }
            other => Err(other.unfit("a number")),
        }
    }

    pub(crate) fn double(&self) -> Result<f64, String> {
        match self {
            Value::Integer(integer) => Ok(*integer as f64),
            Value::Double(double) => Ok(*double),
            other => Err(other.unfit("a number")),
        }
    }

    fn unfit(&self, expected: &str) -> String {
        let kind = match self {
            Value::Null => return format!("{expected} is expected, and NULL found"),
            Value::Boolean(_) => "boolean",
            Value::Integer(_) => "integer",
            Value::Double(_) => "double",
            Value::Text(_) => "text",
        };
        format!("{expected} is expected, and the {kind} {self} found")
    }
}

/// A boolean's words, as PostgreSQL's input has them: each may be cut short.
fn boolean(word: &str) -> Option<bool> {
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(word);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) {
        return Some(true);
    }
    (begins("false", 1) || begins("no", 1) || begins("off", 2)).then_some(false)
}

/// As it stands in a statement that is sent as text.
impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Boolean(boolean) => write!(f, "{boolean}"),
            Value::Integer(integer) => write!(f, "{integer}"),
            // With its point, so that the database sees a double, too.
            Value::Double(double) => write!(f, "{double:?}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_what_they_look_like() {
        let read = |text: &str| Value::read(text);
        assert_eq!(read("17"), Ok(Value::Integer(17)));
        assert_eq!(read("-9223372036854775808"), Ok(Value::Integer(i64::MIN)));
        assert_eq!(read("1.5e3"), Ok(Value::Double(1500.0)));
        assert_eq!([read("t"), read("YES"), read("on")], [(); 3].map(|()| Ok(Value::Boolean(true))));
        assert_eq!([read("f"), read("No"), read("off")], [(); 3].map(|()| Ok(Value::Boolean(false))));
        assert_eq!(read("Null"), Ok(Value::Null));
        for none in ["", "o", "abc", "inf", "nan", "1x", "12:30"] {
            assert!(read(none).is_err(), "{none}");
        }
    }

    #[test]
    fn doubles_are_rounded_to_integers_that_hold_them() {
        assert_eq!(Value::Double(2.5).integer(), Ok(2));
        assert_eq!(Value::Double(3.5).integer(), Ok(4));
        assert_eq!(Value::Double(i64::MIN as f64).integer(), Ok(i64::MIN));
        assert!(Value::Double(-(i64::MIN as f64)).integer().is_err());
        assert!(Value::Double(f64::NAN).integer().is_err());
    }
}
