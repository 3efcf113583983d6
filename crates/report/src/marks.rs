//! What is said of the moments of a run that its chart marks; which those are is `analysis::marks`.

use crate::words::Words;
use analysis::marks::{Kind, Marks};

/// The sign in words' place: its shape is that of the chart's.
pub fn sign(kind: Kind) -> char {
    match kind {
        Kind::LevelChange => '◆',
        Kind::LongFlush => '▲',
    }
}

/// What the legend says.
pub fn legend(kind: Kind) -> &'static str {
    match kind {
        Kind::LevelChange => "on a dashed line: from there on the run had another level (change point)",
        Kind::LongFlush => {
            "on the axis: flushes took at least 50 ms of that second, and three times as long as in the run's median \
             second (at most 20 a run are marked)"
        }
    }
}

/// Before the moments.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::LevelChange => "another level from",
        Kind::LongFlush => "long flushes at",
    }
}

impl Words for Marks {
    /// "another level from 12 s; long flushes at 3 s, 40 s"; empty without any.
    fn words(&self) -> String {
        let said = Kind::ALL.into_iter().filter(|kind| !self.at(*kind).is_empty()).map(|kind| {
            let moments: Vec<String> = self.at(kind).iter().map(|second| format!("{second} s")).collect();
            format!("{} {}", name(kind), moments.join(", "))
        });
        said.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_said_by_kind() {
        let marks = Marks { level_changes: vec![40], long_flushes: vec![9, 33] };
        assert_eq!(marks.words(), "another level from 40 s; long flushes at 9 s, 33 s");
    }
}
