//! Settings as a file that an administrator puts in place.

/// A file to include, and how to see that it took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Where it goes, as Debian has it.
    pub path: String,
    /// What stands in it.
    pub text: String,
    /// Shell commands that check it, or read its settings back.
    pub checks: Vec<String>,
}
