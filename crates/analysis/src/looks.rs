//! How often a study was answered: who adds rounds after an answer looks again, and may be lucky each time.

use ledger::model::{Contents, Phase};

/// As a session's reason to end: nobody was told an answer then.
const INTERRUPTED: &str = "interrupted";

/// Which answer this is: 1, and one more for each session that ended with an answer and after which main rounds were measured.
#[must_use]
pub fn looks(contents: &Contents) -> u32 {
    let begun: Vec<f64> =
        contents.trials.iter().filter(|trial| trial.phase == Phase::Main).map(|trial| trial.started).collect();
    let answered = contents.sessions.iter().filter(|session| {
        let is_answer = session.reason.as_deref().is_some_and(|reason| reason != INTERRUPTED);
        let ended = session.ended.unwrap_or(f64::INFINITY);
        let has_measured = begun.iter().any(|begun| (session.started..=ended).contains(begun));
        is_answer && has_measured && begun.iter().any(|begun| *begun > ended)
    });
    1 + answered.count() as u32
}
