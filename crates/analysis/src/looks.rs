//! How often a study was answered: who adds rounds after an answer looks again, and may be lucky each time.

use crate::judge::ROUNDS_FOR_CLAIMS;
use ledger::model::{Contents, Phase, Trial};
use std::collections::BTreeSet;

/// As a session's reason to end: its answer claims something where there were rounds enough.
const INTERRUPTED: &str = "interrupted";

/// Which answer this is: 1, and one more for each answer that was told before the last main trial began. Two answers over the same trials are
/// one.
pub fn looks(contents: &Contents) -> u32 {
    let main: Vec<&Trial> = contents.trials.iter().filter(|trial| trial.phase == Phase::Main).collect();
    let begun_by = |moment: f64| main.iter().filter(|trial| trial.started <= moment).count();
    let rounds_by = |moment: f64| {
        let ended = main.iter().filter(|trial| trial.ended.is_some_and(|ended| ended <= moment));
        ended.map(|trial| trial.round).collect::<BTreeSet<_>>().len()
    };
    let answered = contents.sessions.iter().filter_map(|session| {
        let (reason, ended) = (session.reason.as_deref()?, session.ended?);
        let is_answer = reason != INTERRUPTED || rounds_by(ended) >= ROUNDS_FOR_CLAIMS;
        let begun = begun_by(ended);
        (is_answer && (1..main.len()).contains(&begun)).then_some(begun)
    });
    1 + answered.collect::<BTreeSet<_>>().len() as u32
}
