//! What of a log is sent otherwise than it was.

use crate::sessions::Log;

/// A sentence each.
pub fn of(log: &Log) -> Vec<String> {
    let params = log.sessions.iter().flat_map(|session| &session.steps).flat_map(|step| log.params(step));
    let trimmed = params.flatten().filter(|value| value.ends_with("...")).count();
    let of_trimmed = format!(
        "{trimmed} of the parameters end in `...`: with log_parameter_max_length above 0 the server trims them, and what is sent is shorter than it was; set it to -1."
    );
    (trimmed > 0).then_some(of_trimmed).into_iter().collect()
}
