//! What is said where a study asked for the best only, or confirmed it: who was dropped, and what new rounds made of the pick.

use crate::claims::{centre_in_words, claim_sentence, cost_of_default};
use crate::flushing::Marked as _;
use crate::number::{percent, percent_rounded_up, rounded};
use crate::words::{and_list, good};
use crate::{tails, why};
use analysis::claim::Subject;
use analysis::confirmation::Confirmation;
use analysis::row::Row;
use analysis::view::{Part, View};
use ledger::model::Mode;

/// Dropped scenarios that are named; the rest are counted, and the table has all.
const NAMES_MAX: usize = 4;

/// Said behind the pick's figures: whether they are those of new rounds.
pub fn standing(part: &Part) -> String {
    let picks = part.picks();
    if part.confirmations.iter().any(|one| picks.iter().all(|pick| pick.label != one.pick)) {
        return "; not confirmed, as the pick of the new rounds is no choice any more".into();
    }
    let failed = |one: &Confirmation| Some((one.failures_of_pick()?, one.rounds, one.pick.clone()));
    if let Some((failed, rounds, pick)) = part.confirmations.iter().find_map(failed) {
        return format!("; not confirmed, as {pick} failed in {failed} of {} new rounds", failed + rounds);
    }
    let rounds = part.confirmations.iter().map(|confirmation| confirmation.rounds).min();
    let wanted = part.confirmation_rounds as usize;
    // A round in which it failed does not come again.
    let is_over = part.confirmations.iter().all(|one| one.rounds + one.failed_of(&one.pick) >= wanted);
    let is_against = part.confirmations.iter().any(|one| one.speaks_against(part.could_replace(one)).is_some());
    match rounds {
        None if wanted == 0 => String::new(),
        None => "; not confirmed in new rounds yet".into(),
        Some(rounds) if !is_over => format!(", in {rounds} of {wanted} new rounds so far"),
        Some(rounds) if is_against => format!(", in {rounds} new rounds, which speak against it"),
        Some(rounds) if part.confirmations.iter().all(|one| one.is_borne_out(part.could_replace(one))) => {
            format!(", confirmed in {rounds} new rounds")
        }
        Some(rounds) => format!(", in {rounds} new rounds, which leave it open"),
    }
}

/// The figures by which it was picked, of these that were measured: they look better than they are for having been picked.
pub fn selection(
    confirmation: &Confirmation,
    pick: &Row,
    part: &Part,
    (measured, bound, confidence): (&str, f64, f64),
) -> String {
    let Some(centre) = part.centre_of_pick(pick) else { return String::new() };
    let sure = percent(confidence);
    let bound = match bound {
        0.0 => format!("was shown to be the best of {measured} ({sure} confidence)"),
        bound => {
            let bound = percent_rounded_up(bound);
            format!("was at most {bound} behind the best of {measured} ({sure} confidence)")
        }
    };
    format!(
        "It was picked from {} rounds before them, in which it {bound}: {}.",
        confirmation.chosen_in,
        centre_in_words(pick, centre, part, (confidence, part.beside(pick).count()))
    )
}

/// What the new rounds say of the pick against baseline and runner-up.
pub fn confirmed(part: &Part, view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    // Beside the same comparisons over the rounds before them.
    let of_which = if part.mode == Mode::Full { "New rounds: " } else { "" };
    for confirmation in &part.confirmations {
        for claim in &confirmation.claims {
            let Subject::Scenario { against, .. } = &claim.subject else { continue };
            let is_baseline = part.row(against).is_some_and(|row| row.baseline);
            let default = if is_baseline { cost_of_default(claim, part, view.confidence) } else { None };
            let said = default.unwrap_or_else(|| claim_sentence(claim, part, view.margin, view.confidence));
            let all = [Some(said), tails::but(claim, part), why::sentence(claim)];
            lines.push(format!("{of_which}{}", all.into_iter().flatten().collect::<Vec<_>>().join(" ")));
        }
        if part.picks().iter().all(|pick| pick.label != confirmation.pick) {
            continue;
        }
        if let Some(better) = confirmation.speaks_against(part.could_replace(confirmation)) {
            lines.push(format!("The new rounds speak against the pick: in them {better} was shown to be better."));
        } else if let Some(ahead) = confirmation.ahead(part.more_is_better, part.could_replace(confirmation)) {
            lines.push(format!(
                "In the new rounds {ahead} was ahead of {}: the choice between them is open.",
                confirmation.pick
            ));
        }
    }
    lines
}

/// Who was measured no further, and why.
pub fn dropped(part: &Part) -> Option<String> {
    let mut rows: Vec<&Row> = part.rows.iter().filter(|row| row.dropped_after().is_some()).collect();
    rows.sort_by_key(|row| row.dropped_after());
    let said = rows.iter().take(NAMES_MAX).filter_map(|row| {
        let (worse, rounds) = (row.worse.as_ref()?, row.dropped_after()?);
        let than = &worse.than;
        // Nobody can be slower by more than 100 %.
        let behind = match worse.behind_at_least {
            lead if lead >= 1.0 => {
                format!("{than} is at least {} times as {}", rounded(1.0 + lead, 2), good(&part.metric))
            }
            lead => format!("behind {than} by at least {}", percent(lead)),
        };
        let but = if row.is_back { ", which is no choice itself" } else { "" };
        Some(format!("{} after round {rounds} ({behind}{but})", row.marked()))
    });
    let mut names: Vec<String> = said.collect();
    let more = rows.len() - names.len();
    names.extend((more > 0).then(|| format!("{more} more")));
    let candidates = part.rows.iter().filter(|row| !row.control).count();
    let (count, names) = (rows.len(), and_list(&names));
    (count > 0)
        .then(|| format!("Shown to be worse and measured no further, {count} of {candidates} scenarios: {names}."))
}
