//! One setting: how it is called, what it may be, and what it is when nobody says.

use crate::quantity::{parse_bytes, parse_percent, parse_seconds};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What values a setting takes, as written in a study file, and what they become once checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// `"4GiB"` → integer number of bytes.
    Bytes {
        /// Smallest, bytes.
        min: u64,
        /// Largest, bytes.
        max: u64,
    },
    /// `"30s"` → seconds, a float.
    Seconds {
        /// Smallest, seconds.
        min: f64,
        /// Largest, seconds.
        max: f64,
    },
    /// `"2%"` → fraction, a float (0.02).
    Percent {
        /// Smallest, as a fraction.
        min: f64,
        /// Largest, as a fraction.
        max: f64,
    },
    /// An integer.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A float.
    Number {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// Any text.
    Text,
    /// A list of whole numbers of 0 or more: CPUs.
    IntegerList,
    /// A list of texts.
    TextList,
    /// A table of texts, numbers or booleans whose keys are free.
    Table,
    /// A text, a number or a boolean: one value of such a table.
    Scalar,
}

/// A setting of a kind: the one definition behind check, help, JSON Schema and reference docs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Name inside its table, `snake_case`.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Default as a study file would write it, texts without their quotes: `4GiB`, `6`, `[]`; none: absent.
    pub default: Option<&'static str>,
    /// One or two sentences: what it does, and what it does to the answer.
    pub help: &'static str,
}

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("expected {expected}, found {found}")]
pub struct Wrong {
    /// What is allowed, in words.
    pub expected: String,
    /// What stood there.
    pub found: String,
    /// The nearest allowed word, for choices.
    pub nearest: Option<String>,
}

impl Setting {
    /// One with a default, written as in a study file.
    pub const fn new(name: &'static str, kind: Kind, default: &'static str) -> Setting {
        Setting { name, kind, default: Some(default), help: "" }
    }

    /// One that is absent when nobody says.
    pub const fn absent(name: &'static str, kind: Kind) -> Setting {
        Setting { name, kind, default: None, help: "" }
    }

    /// What [`Setting::help`] says.
    pub const fn help(self, help: &'static str) -> Setting {
        Setting { help, ..self }
    }

    /// Checks a value as written in a study file and turns it into its plain form (see [`Kind`]).
    ///
    /// # Errors
    /// [`Wrong`] when the value has the wrong type, no unit, the wrong unit, or is out of range.
    pub fn check(&self, value: &Value) -> Result<Value, Wrong> {
        let wrong = || Wrong { expected: self.kind.allowed(), found: shown(value), nearest: self.kind.nearest(value) };
        self.kind.convert(value).ok_or_else(wrong)
    }

    /// Whether a value in plain form is one that [`Setting::check`] gives, or the absence of one where there is no default.
    pub fn admits(&self, plain: &Value) -> bool {
        let is_within = |min: f64, max: f64| plain.as_f64().is_some_and(|value| (min..=max).contains(&value));
        let is_it = match self.kind {
            Kind::Seconds { min, max } | Kind::Percent { min, max } => is_within(min, max),
            Kind::Bytes { min, max } => plain.as_u64().is_some_and(|value| (min..=max).contains(&value)),
            kind => kind.convert(plain).is_some(),
        };
        is_it || plain.is_null() && self.default.is_none()
    }

    /// The default in its plain form, `Null` when there is none.
    ///
    /// # Panics
    /// When the table's own default does not pass its own check: a mistake in the table.
    pub fn default_value(&self) -> Value {
        let Some(written) = self.default_written() else { return Value::Null };
        self.check(&written).expect("a default in the table passes its own check")
    }

    /// The default as a study file would write it: `"4GiB"`, `6`, `true`.
    ///
    /// # Panics
    /// When the table's own default is not a value of its kind: a mistake in the table.
    pub fn default_written(&self) -> Option<Value> {
        let text = self.default?;
        Some(match self.kind {
            Kind::Integer { .. }
            | Kind::Number { .. }
            | Kind::Boolean
            | Kind::IntegerList
            | Kind::TextList
            | Kind::Table
            | Kind::Scalar => serde_json::from_str(text).expect("a default in the table is valid JSON"),
            Kind::Bytes { .. } | Kind::Seconds { .. } | Kind::Percent { .. } | Kind::Choice(_) | Kind::Text => {
                Value::from(text)
            }
        })
    }
}

impl Kind {
    /// What is allowed, in words, for messages and help.
    pub fn allowed(&self) -> String {
        use crate::quantity::{format_bytes, format_percent, format_seconds};
        match *self {
            Kind::Bytes { min, max: u64::MAX } => {
                format!("a size of {} or more, with its unit, like \"4GiB\"", format_bytes(min))
            }
            Kind::Bytes { min, max } => {
                format!("a size from {} to {}, like \"4GiB\"", format_bytes(min), format_bytes(max))
            }
            Kind::Seconds { min, max } if max >= 1e9 => {
                format!(
                    "a time of {} or more, in us, ms, s, min or h, like \"30s\" or \"1h 30min\"",
                    format_seconds(min)
                )
            }
            Kind::Seconds { min, max } => {
                let (min, max) = (format_seconds(min), format_seconds(max));
                format!("a time from {min} to {max}, in us, ms, s, min or h, like \"30s\" or \"1h 30min\"")
            }
            Kind::Percent { min, max } => {
                let (min, max) = (format_percent(min), format_percent(max));
                format!("a share from {min} to {max}, like \"{max}\"")
            }
            Kind::Integer { min, max: i64::MAX } => format!("a whole number of {min} or more"),
            Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Number { min, max } if max == f64::MAX => format!("a number of {min} or more"),
            Kind::Number { min, max } => format!("a number from {min} to {max}"),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Boolean => "true or false".into(),
            Kind::Text => "a text in quotes".into(),
            Kind::IntegerList => "a list of whole numbers, like [0, 1]".into(),
            Kind::TextList => "a list of texts, like [\"-O\", \"^has_journal\"]".into(),
            Kind::Table => "a table of names and values".into(),
            Kind::Scalar => "a text in quotes, a number, or true or false".into(),
        }
    }

    fn convert(&self, value: &Value) -> Option<Value> {
        match *self {
            Kind::Bytes { min, max } => {
                parse_bytes(value.as_str()?).filter(|b| (min..=max).contains(b)).map(Value::from)
            }
            Kind::Seconds { min, max } => {
                parse_seconds(value.as_str()?).filter(|s| (min..=max).contains(s)).map(Value::from)
            }
            Kind::Percent { min, max } => {
                parse_percent(value.as_str()?).filter(|s| (min..=max).contains(s)).map(Value::from)
            }
            Kind::Integer { min, max } => value.as_i64().filter(|n| (min..=max).contains(n)).map(Value::from),
            Kind::Number { min, max } => value.as_f64().filter(|n| (min..=max).contains(n)).map(Value::from),
            Kind::Choice(words) => value.as_str().filter(|word| words.contains(word)).map(Value::from),
            Kind::Boolean => value.as_bool().map(Value::from),
            Kind::Text => value.as_str().map(Value::from),
            Kind::IntegerList => value.as_array().filter(|list| list.iter().all(Value::is_u64)).map(|_| value.clone()),
            Kind::TextList => value.as_array().filter(|list| list.iter().all(Value::is_string)).map(|_| value.clone()),
            Kind::Table => value.as_object()?.values().all(is_scalar).then(|| value.clone()),
            Kind::Scalar => is_scalar(value).then(|| value.clone()),
        }
    }

    fn nearest(&self, value: &Value) -> Option<String> {
        let (Kind::Choice(words), Some(found)) = (self, value.as_str()) else { return None };
        nearest_name(found, words.iter().copied()).map(str::to_string)
    }
}

/// The name most like `found`, when one is like enough to be what was meant: one slip of the finger away (a letter too few,
/// too many, wrong, or two exchanged), or above 0.8 by Jaro and Winkler.
///
/// ```
/// assert_eq!(settings::nearest_name("xsf", ["ext4", "xfs"].into_iter()), Some("xfs"));
/// assert_eq!(settings::nearest_name("zebra", ["ext4", "xfs"].into_iter()), None);
/// ```
pub fn nearest_name<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| {
        let slip = found.chars().count() > 1 && strsim::osa_distance(found, name) <= 1;
        strsim::jaro_winkler(found, name) + f64::from(u8::from(slip))
    };
    names
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Checks a whole table against its settings and fills in defaults.
///
/// # Errors
/// Every problem at once, each with the key it belongs to. An unknown key's `expected` lists the known ones.
pub fn check_all(settings: &[Setting], table: &Map<String, Value>) -> Result<Map<String, Value>, Vec<(String, Wrong)>> {
    let mut problems = Vec::new();
    let mut checked = defaults(settings);
    for (name, value) in table {
        let Some(setting) = settings.iter().find(|setting| setting.name == name) else {
            let known = settings.iter().map(|setting| setting.name);
            problems.push((
                name.clone(),
                Wrong {
                    expected: format!("one of {}", known.clone().collect::<Vec<_>>().join(", ")),
                    found: format!("`{name}`"),
                    nearest: nearest_name(name, known).map(str::to_string),
                },
            ));
            continue;
        };
        match setting.check(value) {
            Ok(value) => {
                checked.insert(name.clone(), value);
            }
            Err(wrong) => problems.push((name.clone(), wrong)),
        }
    }
    if problems.is_empty() { Ok(checked) } else { Err(problems) }
}

/// Every setting at its default, in plain form; settings without one are `Null`.
pub fn defaults(settings: &[Setting]) -> Map<String, Value> {
    settings.iter().map(|setting| (setting.name.to_string(), setting.default_value())).collect()
}

/// A checked table in plain form as a kind's own struct.
///
/// # Panics
/// When the table of settings lets through what the struct can't hold: a fault of the kind's.
pub fn typed<T: DeserializeOwned>(checked: &Map<String, Value>) -> T {
    serde_json::from_value(Value::Object(checked.clone())).expect("the table of settings checked every field")
}

/// Checks a table that came from elsewhere in plain form: all settings must be there, and no others.
///
/// # Errors
/// The first name that is missing, unknown or has no value that it may have.
pub fn check_plain(settings: &[Setting], table: &Map<String, Value>) -> Result<(), String> {
    if let Some(unknown) = table.keys().find(|name| !settings.iter().any(|setting| setting.name == *name)) {
        return Err(unknown.clone());
    }
    let is_wrong = |setting: &&Setting| !table.get(setting.name).is_some_and(|value| setting.admits(value));
    settings.iter().find(is_wrong).map_or(Ok(()), |setting| Err(setting.name.into()))
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
        Value::Null => "nothing".into(),
        other => other.to_string(),
    }
}
