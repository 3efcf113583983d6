//! What is said of scenarios that failed in some rounds: why one is no choice, and that the pick is one of them.

use crate::errors;
use crate::words::some_of;
use analysis::row::Row;
use analysis::view::Part;

/// "4 of 10 rounds".
pub fn rounds(row: &Row) -> String {
    let new = row.confirmed.map_or(0, |centre| centre.count);
    format!("{} of {} rounds", row.failed_rounds, row.failed_rounds + row.values.iter().flatten().count() + new)
}

/// Why a scenario is no choice beside one that failed less often.
pub fn risk(row: &Row, part: &Part) -> Option<String> {
    let other = part.row(row.fails_more_than.as_ref()?)?;
    let fewer = if other.failed_rounds == 0 { "none".into() } else { other.failed_rounds.to_string() };
    Some(format!("it failed in {}, and {} in {fewer}", rounds(row), other.label))
}

/// Who else failed more often, so that it is not picked, however fast.
pub fn others(part: &Part) -> Option<String> {
    let all = errors::not_picked(part, |row| row.fails_more_than.is_some(), rounds)?;
    Some(format!("Not picked, as others failed in fewer rounds: {all}."))
}

/// That what is picked failed, too. `name` is what a scenario is called.
pub fn of_picks(part: &Part, name: impl Fn(&Row) -> String) -> Option<String> {
    let picks = part.picks();
    let failed: Vec<&&Row> = picks.iter().filter(|row| row.failed_rounds > 0).collect();
    let said = failed.iter().map(|row| format!("{} failed in {}", name(row), rounds(row)));
    let said: Vec<String> = said.collect();
    let is_beaten = |pick: &&&Row| {
        part.beside(pick).any(|row| !row.is_out_beside(pick) && row.failed_by_itself() < pick.failed_by_itself())
    };
    let seldom = match part.has_choice() {
        true if failed.iter().any(is_beaten) => ", and others in one less, which may be an accident",
        true if failed.iter().any(|pick| pick.failed_together > 0) => {
            ", in the new ones as all did that were measured in them"
        }
        true => ", and no other that could be picked in fewer",
        false => "",
    };
    (!said.is_empty()).then(|| format!("{}{seldom}.", some_of(&said)))
}

/// Behind "the scenarios measured", where some are left out for their failures.
pub fn seldom(part: &Part) -> &'static str {
    if part.measured().any(|row| row.fails_more_than.is_some()) { " that failed no more often" } else { "" }
}
