//! Settings by which PostgreSQL writes a line for each statement, which can't be measured here.
//!
//! A trial's messages go to a small filesystem in memory: its writes cost next to nothing, and nothing at all once it is full.

use crate::effect::same;

/// What is wrong with such a setting.
pub fn problem(name: &str, value: &str) -> Option<String> {
    let is_of_each = match &*name.to_ascii_lowercase() {
        "log_statement" => ["all", "mod"].iter().any(|word| word.eq_ignore_ascii_case(value)),
        "log_min_duration_statement" => same(value, "0", 1.0),
        "log_duration" => same(value, "on", 1.0),
        _ => false,
    };
    is_of_each.then(|| {
        format!(
            "settings.{name}: a trial's messages go to memory, so that what a line for each statement costs is not \
             measured: leave it out"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL's manual, "Error Reporting and Logging".
    #[test]
    fn a_line_for_each_statement_is_not_measured() {
        for (name, value) in [("log_statement", "ALL"), ("Log_Min_Duration_Statement", "0ms"), ("log_duration", "true")]
        {
            assert!(problem(name, value).expect(name).contains("messages go to memory"), "{name}");
        }
        for (name, value) in [
            ("log_statement", "ddl"),
            ("log_min_duration_statement", "1s"),
            ("log_min_duration_statement", "-1"),
            ("log_duration", "off"),
            ("log_checkpoints", "on"),
        ] {
            assert_eq!(problem(name, value), None, "{name} = {value}");
        }
    }
}
