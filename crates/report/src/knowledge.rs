//! What a report may be told beyond what a results file records: it knows neither servers nor filesystems itself.

use serde_json::{Map, Value};
use settings::configuration::Configuration;

/// A server's settings as files, by its name and what was recorded of it; none where that is not known.
pub type FilesOf = fn(&str, Option<&Map<String, Value>>) -> Option<Vec<Configuration>>;

/// What is known of servers and filesystems beyond what a results file records.
#[derive(Debug, Clone, Copy)]
pub struct Knowledge {
    /// Servers' settings as files.
    pub files: FilesOf,
    /// The commands that read a filesystem back, by its name, of a device at a mount point.
    pub reads_back: fn(&str, &str, &str) -> Vec<String>,
}

impl Default for Knowledge {
    /// Knows nothing.
    fn default() -> Knowledge {
        Knowledge { files: |_, _| None, reads_back: |_, _, _| Vec::new() }
    }
}
