//! Settings as an administrator puts them in place: a file, and what is done by hand around it.

/// A file to include, the way to it, and how to see that it took effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Where it goes, as Debian has it.
    pub path: String,
    /// What is done or known before it is there: shell commands, and sentences behind `#`.
    pub before: Vec<String>,
    /// What stands in it.
    pub text: String,
    /// What is done once it is there and before the server starts with it, likewise.
    pub after: Vec<String>,
    /// Shell commands that check it, or read its settings back.
    pub checks: Vec<String>,
}

impl Configuration {
    /// Whether there is something to be put in place.
    pub fn is_needed(&self) -> bool {
        !self.text.is_empty() || !self.before.is_empty()
    }
}

/// How a server was set up when it was measured, beside its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// The version that it told; empty: it told none.
    pub version: String,
    /// The folder of its data.
    pub data: String,
    /// The folder of its log, where that had a volume of its own.
    pub log: Option<String>,
}
