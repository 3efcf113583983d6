//! What is said of the figures of the machine that changed with a difference; which those are is `analysis::why`.

use crate::number::{Scale, percent, ratio};
use crate::words::Words;
use analysis::claim::Claim;
use analysis::claim::{Change, Went};
use observe::metric::{Direction, Metric};

/// Ratios from here on, and their inverses, read better as "2.1×" than as "110 % more".
const RATIO_FROM: f64 = 2.0;
/// Below this ratio there is none of it to speak of.
const NEXT_TO_NONE: f64 = 0.005;
/// Changes named in a sentence; a table has all.
const NAMES_MAX: usize = 3;
/// Figures of which it is said that they are alike: what a commit costs.
const SAID_WHEN_ALIKE: [&str; 4] = ["flushes_per_commit", "flushes", "write_bytes", "cpu_seconds"];

/// What there is more or less of, and whether it comes in pieces: "fewer flushes", "less CPU time".
fn noun(figure: &str) -> (&'static str, bool) {
    match figure {
        "flushes_per_commit" => ("flushes per commit", true),
        "flushes" => ("flushes", true),
        "flush_seconds_mean" => ("time of a flush", false),
        "write_bytes" => ("bytes written", true),
        "log_bytes" => ("bytes of the server's log", true),
        "writes" => ("write requests", true),
        "device_busy_share" => ("time with the device busy", false),
        "cpu_seconds" => ("CPU time", false),
        "context_switches" => ("context switches", true),
        "lock_waits" => ("lock waits", true),
        "lock_wait_seconds" => ("time waiting for locks", false),
        "conflicts" => ("deadlocks and lock timeouts", true),
        "merges" => ("merged requests", true),
        "read_bytes" => ("bytes read", true),
        "reads" => ("read requests", true),
        "pressure_io_some_share" => ("time stalled for the disk", false),
        _ => unreachable!("a figure of `analysis::telemetry` without words: {figure}"),
    }
}

impl Words for Change {
    /// "flushes per commit", "bytes written per transaction".
    fn words(&self) -> String {
        let (noun, _) = noun(self.figure.name);
        self.per.as_ref().map_or_else(|| noun.into(), |per| format!("{noun} per {per}"))
    }
}

impl Words for Went {
    fn words(&self) -> String {
        match self {
            Went::With => "changed",
            Went::Alike => "alike",
            Went::Unclear => "can't tell",
        }
        .into()
    }
}

/// Both sides with their unit.
pub fn values(change: &Change) -> [String; 2] {
    let unit = match change.figure.name {
        name if name.ends_with("_bytes") => "B",
        name if name.contains("seconds") => "s",
        _ => "1",
    };
    let metric = Metric::named(change.figure.name.into(), unit.into(), Direction::Neither);
    let scale = Scale::of(&metric, change.first.max(change.second));
    [change.first, change.second].map(|value| scale.with_unit(value))
}

/// "2.1× the flushes per commit", "38 % more bytes written per transaction".
fn phrase(change: &Change, mean: f64) -> String {
    let words = change.words();
    if mean < NEXT_TO_NONE {
        return format!("practically no {words}");
    }
    if mean >= RATIO_FROM || mean <= 1.0 / RATIO_FROM {
        return format!("{} the {words}", ratio(mean));
    }
    let (_, is_counted) = noun(change.figure.name);
    let way = match (mean > 1.0, is_counted) {
        (true, _) => "more",
        (false, true) => "fewer",
        (false, false) => "less",
    };
    format!("{} {way} {words}", percent((mean - 1.0).abs()))
}

/// "With it went 2.1× the flushes per commit, 38 % more bytes written per transaction; CPU time per transaction alike." None where
/// nothing changed with it.
pub fn sentence(claim: &Claim) -> Option<String> {
    let of = |went: Went| {
        claim.with.iter().filter(move |change: &&Change| change.ratio.is_some_and(|ratio| ratio.went == went))
    };
    let changed: Vec<String> =
        of(Went::With).take(NAMES_MAX).filter_map(|change| Some(phrase(change, change.ratio?.mean))).collect();
    let alike: Vec<String> =
        of(Went::Alike).filter(|change| SAID_WHEN_ALIKE.contains(&change.figure.name)).map(Words::words).collect();
    if changed.is_empty() {
        return None;
    }
    let tail = if alike.is_empty() { String::new() } else { format!("; {} alike", alike.join(", ")) };
    Some(format!("With it went {}{tail}.", changed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_words() {
        assert!(analysis::telemetry::FIGURES.iter().all(|figure| !noun(figure.name).0.is_empty()));
    }
}
