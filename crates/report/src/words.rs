//! What is said of a value: each kind has its words beside the sentences about it; here are those that sentences share.

use crate::number::{Scale, count, words};
pub use analysis::each_once;
use analysis::judge::short_factor;
use analysis::view::Part;
use ledger::model::{Order, Phase, Trial};
use observe::metric::Metric;

/// A value that has a few words of its own.
pub trait Words {
    /// These.
    fn words(&self) -> String;
}

/// Scenarios named in one sentence; the rest are counted.
pub const NAMES_MAX: usize = 4;

/// A level that says nothing by itself, with its factor: "opcode cache on", "shared buffers 80MB".
pub fn with_factor(factor: &str, level: &str) -> String {
    let is_bare = ["on", "off", "yes", "no", "true", "false", "none"].contains(&level)
        || level.starts_with(|first: char| first.is_ascii_digit());
    if is_bare { format!("{} {level}", short_factor(factor)) } else { level.into() }
}

/// A trial's round, counted from 1; where it is none of the study's own rounds, with what it is for.
pub fn round_words(trial: &Trial) -> String {
    let round = trial.round + 1;
    match trial.phase {
        Phase::Main => round.to_string(),
        Phase::Confirmation => format!("{round}, new"),
        Phase::Screen => format!("{round}, screen"),
    }
}

/// Whether a metric tells how fast something is, by a rate or a time.
pub fn is_speed(metric: &Metric) -> bool {
    observe::metric::is_rate(&metric.unit) || matches!(metric.unit.as_ref(), "s" | "µs")
}

/// Fast or good.
pub fn good(metric: &Metric) -> &'static str {
    if is_speed(metric) { "fast" } else { "good" }
}

/// Faster or better.
pub fn better(metric: &Metric) -> &'static str {
    if is_speed(metric) { "faster" } else { "better" }
}

/// Slower or worse.
pub fn worse(metric: &Metric) -> &'static str {
    if is_speed(metric) { "slower" } else { "worse" }
}

/// Fastest or best.
pub fn best(metric: &Metric) -> &'static str {
    if is_speed(metric) { "fastest" } else { "best" }
}

/// The metric's name without the unit in it, which stands beside the value: "elapsed", "latency p99".
pub fn quantity(part: &Part) -> String {
    quantity_of(&part.metric)
}

/// As [`quantity`], of a metric.
pub fn quantity_of(metric: &Metric) -> String {
    let name = words(&metric.name);
    if name.contains(" per ") {
        return name;
    }
    let is_unit = |word: &&str| matches!(*word, "seconds" | "microseconds" | "bytes");
    let kept: Vec<&str> = name.split(' ').filter(|word| !is_unit(word)).collect();
    if kept.is_empty() { name.clone() } else { kept.join(" ") }
}

/// The metric's name beside values in the units of this scale: without its own unit of time, where they are shown in another one.
pub fn beside(metric: &Metric, scale: &Scale) -> String {
    let name = words(&metric.name);
    let own = match metric.unit.as_ref() {
        "µs" => "microseconds",
        "s" => "seconds",
        _ => return name,
    };
    let kept: Vec<&str> = name.split(' ').filter(|word| *word != own).collect();
    if scale.unit == metric.unit || kept.is_empty() { name } else { kept.join(" ") }
}

/// As a sentence begins.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// "ext4, xfs and btrfs".
pub fn and_list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_string(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// Shares of variation are known to a percent at best.
pub fn percent_whole(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "under 1 %".into() } else { format!("{:.0} %", share * 100.0) }
}

/// Names in one sentence: all, or the first and how many more.
pub fn some_of(names: &[String]) -> String {
    match names.len().saturating_sub(NAMES_MAX) {
        0 => and_list(names),
        more => format!("{} and {more} more", names[..NAMES_MAX].join(", ")),
    }
}

/// So many of them with this between them, and how many more there are.
pub fn first_of(all: &[String], most: usize, between: &str) -> String {
    let more = all.len().saturating_sub(most);
    let named = all[..all.len() - more].join(between);
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// "1 image", "1,229 images".
pub fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{} {what}s", count(number)) }
}

/// "one trial", "12 trials".
pub fn one_or_more(number: usize, what: &str) -> String {
    if number == 1 { format!("one {what}") } else { format!("{number} {what}s") }
}

/// What a trial's figure is of.
pub fn estimand(order: Order) -> &'static str {
    match order {
        Order::Blocks => "a typical run (geometric mean of runs)",
        Order::Turns => "all turns together (work done over time)",
    }
}

/// "ext4, xfs or btrfs".
pub fn or_list<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [init @ .., last] if !init.is_empty() => {
            let init: Vec<&str> = init.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", init.join(", "), last.as_ref())
        }
        _ => and_list(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::metric::Direction;

    /// "latency microseconds p99, ms" had stood below axes.
    #[test]
    fn a_name_does_not_contradict_the_unit_beside_it() {
        let shown = |name: &'static str, unit: &'static str, largest: f64| {
            let metric = Metric::new(name, unit, Direction::Less);
            beside(&metric, &Scale::of(&metric, largest))
        };
        assert_eq!(shown("latency_microseconds_p99", "µs", 45_000.0), "latency p99");
        assert_eq!(shown("latency_microseconds_p99", "µs", 450.0), "latency microseconds p99");
        assert_eq!(shown("elapsed_seconds", "s", 0.002), "elapsed");
        assert_eq!(shown("seconds", "s", 0.002), "seconds");
        assert_eq!(shown("write_bytes", "B", 1e9), "write bytes");
    }
}
