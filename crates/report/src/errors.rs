//! What is said of a scenario's errors, beside its speed wherever that is shown; what they are is `analysis::errors`.

use crate::flushing::Marked as _;
use crate::number::{count, percent, words};
use crate::words::some_of;
use analysis::errors::Errors;
use analysis::row::Row;
use analysis::view::Part;

/// The head of their column.
pub const HEAD: &str = "errors";

/// In a table's cell: "3.1 %: 120 wrong status, 66 read timed out"; nothing where nothing went wrong.
pub fn cell(row: &Row) -> String {
    met(row).map_or_else(String::new, |errors| format!("{}: {}", percent(errors.share()), kinds(errors)))
}

/// As [`cell`], with the most frequent kind only: "3.1 % wrong status".
pub fn short_cell(row: &Row) -> String {
    let Some(errors) = met(row) else { return String::new() };
    let most = errors.kinds.first().map_or("", |(kind, _)| kind);
    format!("{} {}", percent(errors.share()), words(most))
}

/// Beside a speed in a sentence: "; 3.1 % of what was asked for went wrong (120 wrong status)".
pub fn beside_speed(row: &Row) -> String {
    wrong(row).map_or_else(String::new, |wrong| format!("; {wrong}"))
}

/// "3.1 % of what was asked for went wrong (120 wrong status)"; none where nothing did.
pub fn wrong(row: &Row) -> Option<String> {
    met(row).map(|errors| format!("{} of what was asked for went wrong ({})", percent(errors.share()), kinds(errors)))
}

/// Beside a name in a chart.
pub fn tag(row: &Row) -> String {
    met(row).map_or_else(String::new, |errors| format!(" · {} errors", percent(errors.share())))
}

/// Why a scenario is no choice beside one with fewer.
pub fn risk(row: &Row, part: &Part) -> Option<String> {
    let fewer = part.row(row.has_more_errors_than.as_ref()?)?;
    let other = match met(fewer) {
        Some(errors) => format!("{} with {}", percent(errors.share()), fewer.label),
        None => format!("nothing with {}", fewer.label),
    };
    Some(format!("{}, {other}", wrong(row)?))
}

/// Who else had errors, so that it is not picked, however fast.
pub fn others(part: &Part) -> Option<String> {
    let all = not_picked(part, |row| row.has_more_errors_than.is_some(), cell)?;
    Some(format!("Not picked, as others had fewer errors: {all}."))
}

/// Who is no choice for this reason, each with a word on it; without the one that the answer says more of. None: nobody.
pub fn not_picked(part: &Part, is_out: fn(&Row) -> bool, word: fn(&Row) -> String) -> Option<String> {
    let pick = part.pick()?;
    let said = part.better_but_out(pick).next().map(|(row, _)| &row.label);
    let out = part.measured().filter(|row| is_out(row) && Some(&row.label) != said);
    let out: Vec<String> = out.map(|row| format!("{} ({})", row.marked(), word(row))).collect();
    (!out.is_empty()).then(|| some_of(&out))
}

/// Plain values for machines.
pub fn as_json(errors: &Errors) -> serde_json::Value {
    let kinds: serde_json::Map<String, serde_json::Value> =
        errors.kinds.iter().map(|(kind, count)| (kind.clone(), (*count).into())).collect();
    serde_json::json!({
        "asked": errors.asked, "wrong": errors.wrong, "share": errors.share(), "kinds": kinds,
        "counted_as_answers": errors.is_in_figures,
    })
}

fn met(row: &Row) -> Option<&Errors> {
    row.errors.as_ref().filter(|errors| errors.wrong > 0.0)
}

fn kinds(errors: &Errors) -> String {
    let each = errors.kinds.iter().map(|(kind, number)| format!("{} {}", count(*number as u64), words(kind)));
    let each: Vec<String> = each.collect();
    if each.is_empty() { format!("{} in all", count(errors.wrong as u64)) } else { each.join(", ") }
}
