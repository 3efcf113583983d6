//! What a report may be told beyond what a results file records: it knows neither servers, filesystems nor workloads itself.

use analysis::conditions::IsChoice;
use serde_json::{Map, Value};
use settings::configuration::{Configuration, Setup};

/// A server's settings as files, by its name, what was recorded of them and how it was measured; or why there are none, in words.
pub type FilesOf = fn(&str, Option<&Map<String, Value>>, &Setup) -> Result<Vec<Configuration>, String>;

/// What is known of servers, filesystems and workloads beyond what a results file records.
#[derive(Debug, Clone, Copy)]
pub struct Knowledge {
    /// Servers' settings as files.
    pub files: FilesOf,
    /// The commands that read a filesystem back, by its name, of a device at a mount point.
    pub reads_back: fn(&str, &str, &str) -> Vec<String>,
    /// Whether a workload's setting is a choice.
    pub is_choice: IsChoice,
}

impl Default for Knowledge {
    /// Knows nothing.
    fn default() -> Knowledge {
        Knowledge {
            files: |_, _, _| Err("nothing is known of it".into()),
            reads_back: |_, _, _| Vec::new(),
            is_choice: |_, _| false,
        }
    }
}
