//! How a scenario is marked whose commits reach the device without flushes; which those are is `analysis::flushing`.

use crate::number::figure;
use crate::words::Words;
use analysis::claim::Claim;
use analysis::flushing::Flushing;
use analysis::row::{Row, Stalls};
use analysis::view::Part;

/// How a scenario is marked whose commits reach the device without flushes.
pub const MARK: &str = "does not flush";

/// The mark after a name.
pub const NAME_MARK: &str = " (does not flush)";
/// The mark where there is no room for words, and what stands below it then.
pub const DAGGER: &str = "†";
/// Below a picture or table with daggers.
pub const DAGGER_NOTE: &str =
    "† does not flush: practically no flush reached the device for the commits of at least one of its scenarios.";

impl Words for Flushing {
    fn words(&self) -> String {
        let whole = |count: f64| if count < 1e4 { format!("{count:.0}") } else { figure(count) };
        let flushes = match self.flushes.round() {
            0.0 => "no flush".into(),
            1.0 => "1 flush".into(),
            _ => format!("{} flushes", whole(self.flushes)),
        };
        self.commits
            .map_or_else(|| "no flush for any commit".into(), |all| format!("{flushes} for {} commits", figure(all)))
    }
}

impl Words for Stalls {
    /// "stalled in 1 of 12 runs".
    fn words(&self) -> String {
        let what = if self.more_is_better { "stalled" } else { "measured 0" };
        format!("{what} in {} of {} runs", self.runs, self.of)
    }
}

/// A name that warns of what its speed hides.
pub trait Marked {
    /// Its label wherever its speed is shown.
    fn marked(&self) -> String;
}

impl Marked for Row {
    fn marked(&self) -> String {
        let flushes = if self.does_not_flush() { NAME_MARK } else { "" };
        let stalls = self.stalls.map_or_else(String::new, |stalls| format!(" ({})", stalls.words()));
        format!("{}{flushes}{stalls}", self.label)
    }
}

/// What is said after the names of a claim's two sides: that it does not flush, or some of its scenarios do not.
pub fn marks(part: &Part, claim: &Claim) -> [String; 2] {
    let shares = part.without_flushes(claim);
    let differ = shares[0].0 * shares[1].1 != shares[1].0 * shares[0].1;
    shares.map(|(without, all)| match without {
        0 => String::new(),
        _ if without == all => NAME_MARK.into(),
        // Where both sides are alike in it, the scenarios say it.
        _ if differ => format!(" ({MARK} in part)"),
        _ => String::new(),
    })
}
