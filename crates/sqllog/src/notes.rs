//! What of a log is sent otherwise than it was.

use crate::sessions::Log;

/// A sentence each; `has_programs`: the log has the statements of stored programs beside their calls; `switched`: sessions that are told first that
/// their transactions begin by themselves.
pub fn of(log: &Log, has_programs: bool, switched: usize) -> Vec<String> {
    let steps = || log.sessions.iter().flat_map(|session| &session.steps);
    let params = steps().flat_map(|step| log.params(step)).flatten();
    let trimmed = params.filter(|value| value.ends_with("...")).count();
    let of_trimmed = format!(
        "{trimmed} of the parameters end in `...`: with log_parameter_max_length above 0 the server trims them, and what is sent is shorter than it was; set it to -1."
    );
    let calls = |text: &str| script::words(text).next().is_some_and(|word| word == "CALL");
    let has_calls = has_programs && steps().any(|step| calls(&log.texts()[step.text as usize]));
    let of_calls = "MySQL logs the statements of stored programs beside their call: they are done twice.".to_string();
    let of_switched = format!(
        "{switched} of the sessions commit what they have not begun, and the log does not have their own beginning: each has `SET autocommit=0` first, as it must have had before."
    );
    let all =
        [(trimmed > 0).then_some(of_trimmed), has_calls.then_some(of_calls), (switched > 0).then_some(of_switched)];
    all.into_iter().flatten().collect()
}
