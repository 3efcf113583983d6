//! How a scenario is marked whose commits reach the device without flushes; which those are is `ledger::flushing`.

use crate::number::figure;
pub use ledger::flushing::Flushing;

/// How a scenario is marked whose commits reach the device without flushes.
pub const MARK: &str = "does not flush";

/// The mark after a name.
pub const NAME_MARK: &str = " (does not flush)";
/// The mark where there is no room for words, and what stands below it then.
pub const DAGGER: &str = "†";
/// Below a picture or table with daggers.
pub const DAGGER_NOTE: &str =
    "† does not flush: practically no flush reached the device for the commits of at least one of its scenarios.";

/// Said of the flushes of a scenario.
pub trait Words {
    /// "3 flushes for 10,000 commits".
    fn words(&self) -> String;
}

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
