//! Whether a server's setting took effect: the asked value beside the one in force, units and words made equal.

use observe::durability::Durability;
use std::collections::BTreeMap;

/// What is in effect.
#[derive(Debug, Default)]
pub struct Effects {
    /// Version and settings that are not the server's defaults.
    pub facts: BTreeMap<String, String>,
    /// What was asked and did not take effect, with the reason.
    pub ineffective: Vec<String>,
    /// What a power cut takes by the values in force, of a server whose data may have other ones than it was told.
    pub durability: Option<Durability>,
}

impl Effects {
    /// Puts a setting of a server right that runs otherwise than it was told: the value that it took, where it is known, and its words,
    /// where the study asked for the setting and did not get it.
    pub fn mend(&mut self, fact: String, value: Option<&str>, missed: Option<String>) {
        self.facts.extend(value.map(|value| (fact, value.to_string())));
        self.ineffective.extend(missed.filter(|missed| !self.ineffective.contains(missed)));
    }

    /// These and those.
    pub fn and(mut self, other: Effects) -> Effects {
        self.facts.extend(other.facts);
        self.ineffective.extend(other.ineffective);
        self.durability = self.durability.or(other.durability);
        self
    }
}

/// Bytes in a unit as PostgreSQL and MariaDB write them, without regard to case.
const BYTES: &[(&str, f64)] = &[
    ("b", 1.0),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
    ("t", 1_099_511_627_776.0),
    ("tb", 1_099_511_627_776.0),
];

/// Seconds in a unit of PostgreSQL.
const SECONDS: &[(&str, f64)] = &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86400.0)];

/// Whether two ways of writing a value mean the same. A bare number takes the unit `default_unit`.
pub fn same(asked: &str, found: &str, default_unit: f64) -> bool {
    if asked.eq_ignore_ascii_case(found) || (truth(asked).is_some() && truth(asked) == truth(found)) {
        return true;
    }
    let numbers = number(asked, default_unit).zip(number(found, default_unit));
    numbers.is_some_and(|(asked, found)| (asked - found).abs() <= asked.abs() * 1e-9)
}

/// Bytes or seconds of a unit that a server names beside a bare number (`8kB`, `ms`); 1 when it names none.
pub fn unit(text: &str) -> f64 {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let count: f64 = text[..digits].parse().unwrap_or(1.0);
    known(&text[digits..]).map_or(1.0, |unit| unit * count)
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn number(text: &str, default_unit: f64) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+".contains(c))).unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim();
    if unit.is_empty() { Some(value * default_unit) } else { Some(value * known(unit)?) }
}

fn known(unit: &str) -> Option<f64> {
    let unit = unit.trim().to_ascii_lowercase();
    BYTES.iter().chain(SECONDS).find(|known| known.0 == unit).map(|known| known.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_words_are_made_equal() {
        assert!(same("1GB", "1024MB", 1.0) && same("0.5GB", "512MB", 1.0) && same("16384", "128MB", unit("8kB")));
        assert!(same("yes", "on", 1.0) && same("1", "ON", 1.0) && same("O_DIRECT", "o_direct", 1.0));
        assert!(same("5min", "300s", 1.0) && same("134217728", "128M", 1.0) && same("300", "5min", unit("s")));
        assert!(
            !same("100M", "134217728", 1.0)
                && !same("off", "on", 1.0)
                && !same("local", "on", 1.0)
                && !same("2", "1", 1.0)
        );
    }
}
