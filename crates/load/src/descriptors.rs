//! Room for the connections, made before the first one, so that the limit is never hit.

use crate::workload::Error;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Descriptors that this process needs beside its connections.
const OTHERS: rlim_t = 64;

/// How many connections there are at a time.
pub struct Connections {
    /// The setting that says so.
    pub setting: &'static str,
    /// What they are, behind their number.
    pub words: &'static str,
    /// So many at any rate.
    pub least: usize,
    /// So many when the server is slow; the limit allows as many of them as it may.
    pub most: usize,
}

/// Raises this process's limit to what its connections need.
pub fn make_room(connections: &Connections) -> Result<(), Error> {
    let refused = |source: nix::errno::Errno| Error::engine("the load", "have more descriptors", source);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(refused)?;
    let wanted = wanted(connections, soft, hard)?;
    if soft < wanted {
        setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_err(refused)?;
    }
    Ok(())
}

/// The limit that is needed, where these are the one there is and the highest that there may be.
fn wanted(connections: &Connections, soft: rlim_t, hard: rlim_t) -> Result<rlim_t, Error> {
    let Connections { setting, words, least, most } = *connections;
    let [needed, wished] = [least, most].map(|count| count as rlim_t + OTHERS);
    if needed > hard {
        return Err(Error::Parameter {
            setting,
            problem: format!(
                "{least} {words} need {needed} descriptors, and this process may have {hard}: raise `ulimit -n`, or take fewer"
            ),
        });
    }
    Ok(wished.clamp(needed, hard).max(soft))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_what_is_needed_and_no_further_than_it_may() {
        let limit = |least, most, soft, hard| {
            let found = wanted(&Connections { setting: "connections", words: "of them", least, most }, soft, hard);
            found.map_err(|error| error.to_string())
        };
        assert_eq!(limit(1500, 1500, 1024, 1 << 20), Ok(1564));
        assert_eq!(limit(100, 100, 1024, 4096), Ok(1024), "it is never lowered");
        assert_eq!(limit(100, 9000, 1024, 4096), Ok(4096), "as many of those that may come as can be");
        assert!(limit(5000, 5000, 1024, 4096).is_err_and(|said| said.contains("5000 of them need 5064 descriptors")));
    }
}
