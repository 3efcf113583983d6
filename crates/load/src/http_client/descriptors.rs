//! Room for the connections, made before the first one, so that the limit is never hit.

use crate::workload::Error;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Descriptors that this process needs beside its connections.
const OTHERS: rlim_t = 64;

/// Raises this process's limit to what so many connections need.
pub fn make_room(connections: usize) -> Result<(), Error> {
    let refused = |source: nix::errno::Errno| Error::Engine {
        engine: "the load".into(),
        action: "have more descriptors".into(),
        source: source.into(),
    };
    let needed = connections as rlim_t + OTHERS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(refused)?;
    if needed > hard {
        return Err(Error::Parameter {
            setting: "connections",
            problem: format!(
                "{connections} of them need {needed} descriptors, and this process may have {hard}: raise `ulimit -n`, or take fewer"
            ),
        });
    }
    if soft < needed {
        setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(refused)?;
    }
    Ok(())
}
