//! What servers say of their failures: the lines of their messages that they call errors.

/// The first that it calls an error, without what stands before.
pub(crate) fn first(messages: &str) -> Option<String> {
    let error = |line: &str| {
        let marked = ERRORS.iter().find_map(|mark| Some(line.split_once(mark)?.1.trim().to_string()));
        marked.or_else(|| redis_warning(line).map(String::from))
    };
    messages.lines().find_map(error)
}

/// The lines of a server's messages that it calls errors, each from its mark on; without what it says to whoever comes too early.
pub fn all(messages: &str) -> Vec<String> {
    let marked = |line: &str| {
        let marked = ERRORS.iter().find_map(|mark| line.find(mark)).map(|at| line[at..].trim().to_string());
        marked.or_else(|| redis_warning(line).map(String::from))
    };
    let is_news = |line: &String| !TOO_EARLY.iter().any(|words| line.contains(words));
    messages.lines().filter_map(marked).filter(is_news).collect()
}

/// PostgreSQL's, to a client that connects while it starts, recovers or stops.
const TOO_EARLY: &[&str] = &[
    "the database system is starting up",
    "the database system is in recovery mode",
    "the database system is not yet accepting connections",
    "the database system is shutting down",
];

/// How PostgreSQL, MariaDB and GT.M mark errors in their messages. MariaDB has a write that failed as a note ("InnoDB: IO Error: 5 during
/// write of …"), and writes the page again.
const ERRORS: &[&str] = &["ERROR:", "FATAL:", "PANIC:", "[ERROR]", "InnoDB: IO Error", "%GTM-E-", "%GTM-F-"];

/// A line of Redis' messages of its highest level, which stands behind a `#` ("7:M 23 Nov 2026 19:59:13.104 # Short write …"), unless it is one
/// of those that each start and stop has.
fn redis_warning(line: &str) -> Option<&str> {
    let (head, words) = line.split_once(" # ")?;
    let (process, rest) = head.trim_start().split_once(':')?;
    let is_redis = process.parse::<u32>().is_ok() && rest.starts_with(['M', 'C', 'S', 'X']);
    let is_everyday = EVERYDAY.as_flattened().iter().any(|everyday| words.contains(everyday));
    (is_redis && !is_everyday).then(|| words.trim())
}

/// What Redis says on its highest level without a fault.
const EVERYDAY: &[[&str; 4]] = &[
    ["is starting", "just started", "Configuration loaded", "Server initialized"],
    ["overcommit", "Transparent Huge Pages", "TCP backlog", "maximum open files"],
    ["maxclients", "User requested shutdown", "ready to exit", "no config file"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_call_errors_is_told_from_their_everyday_words() {
        let said = "2026-11-23 19:59:13 0 [Note] InnoDB: IO Error: 5 during write of 16384 bytes, for file ./a.ibd(21), returned 0\n\
                    2026-11-23 19:59:13 0 [Note] mariadbd: ready for connections.\n\
                    7:C 23 Nov 2026 19:59:13.104 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo\n\
                    7:M 23 Nov 2026 19:59:13.104 * Ready to accept connections\n\
                    7:M 23 Nov 2026 19:59:13.105 # Error writing to the AOF file: Input/output error\n\
                    2026-11-23 19:59:13.2 UTC [7] FATAL:  the database system is starting up\n\
                    2026-11-23 19:59:13.3 UTC [7] PANIC:  could not fdatasync file \"1\": Input/output error\n";
        let expected = [
            "InnoDB: IO Error: 5 during write of 16384 bytes, for file ./a.ibd(21), returned 0",
            "Error writing to the AOF file: Input/output error",
            "PANIC:  could not fdatasync file \"1\": Input/output error",
        ];
        assert_eq!(all(said), expected);
    }
}
