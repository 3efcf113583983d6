//! The short answer: what to do, the candidates that matter, how sure, what would change it, at most two warnings. Twelve lines at
//! most, whatever the study.
//!
//! The sentences are `advice.rs`; all else that there is to say is `brief.rs` on a terminal and `full.rs` on a page.

use crate::advice::{self, Names};
use crate::document::{
    self, Block, Cell, Column, Columns, Fit, Table, head, interval_head, number_cell, word_cell, word_head,
};
use crate::flushing::Marked as _;
use crate::input::Input;
use crate::number::{Scale, ratio, ratio_with_interval};
use crate::warnings::{failed_trials, warnings};
use crate::{bench, brief, errors, faults, labels, limits, reproduce, safety, screening, tails};
use analysis::advice::{Advice, Against, MoreRounds};
use analysis::row::{Centre, Row};
use analysis::view::{Part, View};
use std::collections::BTreeSet;

/// Lines on a terminal of a hundred columns.
pub const LINES_MAX: usize = 12;
/// Scenarios in the table, or workloads where there are several.
const ROWS_MAX: usize = 6;
/// Warnings that are said; the rest are counted.
const WARNINGS_MAX: usize = 2;
/// A budget of time is so many times what the rounds took so far.
const RESERVE: f64 = 1.2;
/// Letters of why a trial failed.
const FAILURE_LETTERS: usize = 120;
/// Letters of a scenario's name: as many as leave the table its room.
const NAME_LETTERS: [usize; 5] = [36, 28, 25, 22, 16];
/// Rather than names of fewer letters than this …
const NAME_LETTERS_ENOUGH: usize = 25;
/// … so many rows are enough.
const ROWS_ENOUGH: usize = 4;

/// Where the answer's study and files are, as far as whoever shows it knows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'a> {
    /// The study as the command line named it.
    pub study: Option<&'a str>,
    /// The work folder, where it is no usual one.
    pub work: Option<&'a str>,
    /// The results file, as an argument.
    pub results: Option<&'a str>,
    /// The page.
    pub page: Option<&'a str>,
}

/// How much of the table is shown.
#[derive(Debug, Clone, Copy)]
struct Room {
    rows: usize,
    name_letters: usize,
}

/// For a terminal of `width` columns: the table has as many rows as there are lines left, and names as long as there is room for.
pub fn summary(input: &Input, place: &Place, width: usize, colour: bool) -> String {
    let shown = |colour: bool, room: Room| document::terminal(&blocks(input, place, room), width, colour);
    let is_short = |text: &str| text.lines().count() <= LINES_MAX;
    let is_narrow = |text: &str| text.lines().all(|line| line.chars().count() <= width);
    let rooms = || (1..=ROWS_MAX).rev().flat_map(|rows| NAME_LETTERS.map(|name_letters| Room { rows, name_letters }));
    let is_enough = |room: &Room| room.rows >= ROWS_ENOUGH && room.name_letters >= NAME_LETTERS_ENOUGH;
    let (first, then): (Vec<Room>, Vec<Room>) = rooms().partition(is_enough);
    let with_text = |room| (room, shown(false, room));
    let whole = first.into_iter().chain(then).map(with_text).find(|(_, text)| is_short(text) && is_narrow(text));
    // Words without a space, such as a long path, are not broken: then it is as short as it can be, and wider.
    let short = || rooms().map(with_text).filter(|(_, text)| is_short(text));
    let found = whole.or_else(|| short().nth(NAME_LETTERS.len() - 1));
    let least = Room { rows: 1, name_letters: NAME_LETTERS[NAME_LETTERS.len() - 1] };
    shown(colour, found.map_or(least, |(room, _)| room))
}

/// For a page: where its reader finds the rest needs no word.
pub fn on_page(input: &Input) -> Vec<Block> {
    blocks(input, &Place::default(), Room { rows: ROWS_MAX, name_letters: NAME_LETTERS[0] })
}

fn blocks(input: &Input, place: &Place, room: Room) -> Vec<Block> {
    let view = input.view();
    let parts: Vec<&Part> = view.parts.iter().filter(|part| part.measured().next().is_some()).collect();
    let (lead, table, left_out) = match parts.as_slice() {
        [] => nothing(input, view, room),
        [part] => of_one(part, view, room),
        several => of_several(several, view, room),
    };
    let mut list = Vec::new();
    // What a study asks of its limits is its question; which of its scenarios is fastest stands in the whole report. Where nothing has a
    // figure, the answer is why.
    let (lead, table, left_out) = match limits::lead(view).filter(|_| !parts.is_empty()) {
        Some(lead) => {
            list.extend(limits::how_sure(view));
            list.push(limits::what_would_change_it(view, |rounds| command(input, place, rounds, None)));
            (lead, limits::table(view, "answer", room.rows), view.limits.len().saturating_sub(room.rows))
        }
        None => {
            list.extend(choice(&parts, (input, view), place, room));
            (lead, table, left_out)
        }
    };
    list.extend(bench::load(input));
    let all = warnings(view, &input.contents);
    // That nothing finished is said already.
    let said = failed_trials(view).filter(|_| parts.is_empty());
    let unsaid = all.iter().filter(|warning| Some(*warning) != said.as_ref());
    let grave: Vec<&String> = unsaid.filter_map(|warning| warning.brief.as_ref()).collect();
    list.extend(grave.iter().take(WARNINGS_MAX).map(|warning| format!("Warning: {warning}")));
    let more_grave = grave.len().saturating_sub(WARNINGS_MAX);
    let minor = all.iter().filter(|warning| warning.brief.is_none()).count();
    list.extend(the_rest(place, left_out, [more_grave, minor], parts.is_empty()));
    let table = table.map(Block::Table);
    [Block::Lead(lead)].into_iter().chain(table).chain([Block::List(list)]).collect()
}

/// How sure a choice is, what speaks against it, and what would change it.
fn choice(parts: &[&Part], (input, view): (&Input, &View), place: &Place, room: Room) -> Vec<String> {
    let more = parts.iter().filter_map(|part| part.more_rounds(&input.contents)).max_by_key(|more| more.rounds);
    let mut list = Vec::new();
    list.extend(how_sure(parts, view));
    // Names are without their workload there.
    let of = |part: &Part| if parts.len() > 1 { format!("{}: ", part.workload) } else { String::new() };
    list.extend(parts.iter().find_map(|part| Some(format!("{}{}", of(part), tail(part, room)?))));
    list.extend(parts.iter().filter_map(|part| faults::against_the_pick(part)).next());
    list.extend(advice::what_would_change_it(parts, (more, view.precision_cost.as_ref()), |rounds| {
        command(input, place, rounds, more)
    }));
    list
}

/// Why there is no answer; what is known of power cuts all the same.
fn nothing(input: &Input, view: &View, room: Room) -> (String, Option<Table>, usize) {
    let lead = screening::under_way(view).unwrap_or_else(|| crate::answer::nothing(view));
    let rows = view.parts.iter().flat_map(|part| &part.rows);
    let cut: Vec<&Row> = rows.filter(|row| !row.control && (row.power_cut.is_some() || row.faults.is_some())).collect();
    if cut.is_empty() {
        let failure = input.contents.scenarios.iter().find_map(|scenario| view.failure_of(&scenario.label));
        let why = failure.map(|failure| format!(" One failed with this: {}.", labels::cut(failure, FAILURE_LETTERS)));
        return (lead + &why.unwrap_or_default(), None, 0);
    }
    let labels: Vec<String> = cut.iter().map(|row| row.label.clone()).collect();
    let names = labels::shortened(&labels, room.name_letters);
    let shown: Vec<(&&Row, String)> = cut.iter().zip(names).take(room.rows).collect();
    let table = Columns::of("answer", &shown)
        .words("scenario", |(_, name)| name)
        .words("after a power cut", |(row, _)| row.power_cut.as_ref().map_or_else(String::new, safety::cell))
        .words("on a failing disk", |(row, _)| on_a_failing_disk(row));
    (lead, Some(table.table().without_empty_columns()), cut.len().saturating_sub(room.rows))
}

/// The answer of a study with one workload, and how many scenarios its table leaves out.
fn of_one(part: &Part, view: &View, room: Room) -> (String, Option<Table>, usize) {
    let rows = candidates(part);
    let shown: Vec<&Row> = rows.iter().copied().take(room.rows).collect();
    let names = names(part, &rows, room);
    let left_out = part.measured().filter(|row| !row.control).count().saturating_sub(shown.len());
    (advice::what_to_do(part, view, &names), Some(table(part, &shown, &names, (view, room))), left_out)
}

/// Those that matter, what matters most first: the pick (each condition's), who could be as good, what users have now, who is faster
/// but no choice, then the others by rank.
fn candidates(part: &Part) -> Vec<&Row> {
    let pick = part.pick();
    let picks = part.picks();
    let is_picked = |row: &Row| picks.iter().any(|pick| pick.label == row.label);
    let rivals = rivals(part);
    let mut rows: Vec<&Row> = part.measured().filter(|row| !row.control).collect();
    rows.sort_by_key(|row| {
        let is_faster_but_out = pick.is_some_and(|pick| row.is_out_beside(pick) && Some(&row.label) == fastest(part));
        match () {
            () if is_picked(row) => 0,
            () if row.baseline => 1,
            () if is_faster_but_out => 2,
            () if rivals.contains(&row.label) => 3,
            () => 4,
        }
    });
    rows
}

/// Who could be as good as the pick.
fn rivals(part: &Part) -> Vec<String> {
    match part.advice() {
        Advice::Among { rivals, .. } => rivals,
        Advice::SpokenAgainst { better, .. } => vec![better],
        _ => Vec::new(),
    }
}

fn fastest(part: &Part) -> Option<&String> {
    part.measured().find(|row| !row.control).map(|row| &row.label)
}

/// Short names of all; those of the table's rows are as long as there is room for them alone, where none then looks like another.
fn names(part: &Part, rows: &[&Row], room: Room) -> Names {
    let short = |rows: &[&Row]| -> Names {
        let marked: Vec<String> = rows.iter().map(|row| brief::short_label(part, &row.marked()).to_string()).collect();
        let short = labels::shortened_with_marks(&marked, room.name_letters);
        rows.iter().zip(short).map(|(row, short)| (row.label.clone(), short)).collect()
    };
    let all = short(rows);
    let mut longer = all.clone();
    longer.extend(short(&rows[..rows.len().min(room.rows)]));
    let different = |names: &Names| names.values().collect::<BTreeSet<_>>().len();
    if different(&longer) == different(&all) { longer } else { all }
}

fn table(part: &Part, rows: &[&Row], names: &Names, (view, room): (&View, Room)) -> Table {
    let scale = Scale::of_part(part);
    let first = rows.first().copied().filter(|_| part.choice.is_none() && part.has_choice());
    let is_narrow = room.name_letters == NAME_LETTERS[NAME_LETTERS.len() - 1];
    let interval_fit = if is_narrow { Fit::Optional(0) } else { Fit::Whole };
    let mut shown = rows.to_vec();
    if first.is_none() {
        shown.sort_by_key(|row| row.index);
    }
    let rivals = rivals(part);
    let name = |row: &Row| {
        let baseline = if row.baseline && part.has_choice() { " (baseline)" } else { "" };
        format!("{}{baseline}", names[&row.label])
    };
    let figure = |row: &Row, centre: Centre| number_cell(&brief::mean(row, centre, part), centre.mean);
    let mean = |row: &Row| row.centre.map_or_else(Cell::default, |centre| figure(row, centre));
    let interval = |centre: Centre| match centre.count {
        1 => "one trial".into(),
        _ => scale.interval(&centre).unwrap_or_default(),
    };
    let ratio = |row: &Row, first: &Row| {
        if first.label == row.label {
            return Some("1".into());
        }
        let is_open = rivals.contains(&row.label) && !part.is_decided(row, first);
        part.against(row, first).map(|against| ratio_words(against, is_open))
    };
    let table = Columns::of("answer", &shown)
        .column(Column { fit: Fit::Labels, ..word_head(&crate::words::quantity(part)) }, |row| word_cell(&name(row)))
        .column(head(&format!("mean{}", scale.after_name())), |row| mean(row))
        // The ratio has an interval, too: where the shortest names leave no room, this one goes.
        .column(Column { fit: interval_fit, ..interval_head(view.confidence) }, |row| Cell {
            text: row.centre.map_or_else(String::new, interval),
            ..Cell::default()
        })
        .words(errors::HEAD, |row| errors::short_cell(row))
        .shown("against the first", |row| first.and_then(|first| ratio(row, first)).unwrap_or_default())
        .words("after a power cut", |row| after_a_power_cut(row))
        .words("on a failing disk", |row| on_a_failing_disk(row));
    table.table().without_empty_columns()
}

/// In few words, where it was measured.
fn on_a_failing_disk(row: &Row) -> String {
    row.faults.as_ref().map_or_else(String::new, faults::cell)
}

/// In few words: the class that was measured, or what the settings promise.
fn after_a_power_cut(row: &Row) -> String {
    match &row.power_cut {
        Some(found) => safety::short_cell(found),
        None => brief::power_cut(row),
    }
}

/// The interval is that of one comparison. Where it has no 1 in it, and the pair is open when all are held together, that is said.
fn ratio_words(against: Against, is_open: bool) -> String {
    let Against { ratio: mean, low, high } = against;
    // One round has no interval.
    if low == high {
        return ratio(mean);
    }
    let open = if is_open && !(low..=high).contains(&1.0) { ", open" } else { "" };
    ratio_with_interval(mean, low, high) + open
}

/// The answer of a study with several workloads: a row each, with what was measured where nothing is to choose.
fn of_several(parts: &[&Part], view: &View, room: Room) -> (String, Option<Table>, usize) {
    let is_choice = parts.iter().any(|part| part.has_choice());
    let figure = |part: &Part| match is_choice {
        true => advice::in_a_cell(part, &names(part, &candidates(part), room)),
        false => crate::words::quantity(part),
    };
    let measured = |part: &Part| part.pick()?.centre;
    let interval = |part: &Part| measured(part).filter(|centre| !is_choice && centre.count > 1);
    let with_unit = |part: &Part| Some(Scale::of_part(part).with_unit(measured(part)?.mean));
    let between = |part: &Part| interval(part).and_then(|centre| Scale::of_part(part).interval(&centre));
    let shown = &parts[..room.rows.min(parts.len())];
    let what = Column { fit: Fit::Labels, ..word_head(if is_choice { "use" } else { "figure" }) };
    let table = Columns::of("answer", shown)
        .words("workload", |part| &part.workload)
        .column(what, |part| word_cell(&figure(part)))
        .column(head("measured"), |part| word_cell(&with_unit(part).unwrap_or_default()))
        .column(interval_head(view.confidence), |part| word_cell(&between(part).unwrap_or_default()))
        .words("after a power cut", |part| part.pick().map_or_else(String::new, after_a_power_cut));
    let lead = if is_choice {
        format!("Each of the {} workloads has an answer of its own.", parts.len())
    } else {
        format!("Nothing to choose: each of the {} workloads has one scenario.", parts.len())
    };
    (lead, Some(table.table().without_empty_columns()), parts.len() - shown.len())
}

/// What speaks against the pick although its mean does not.
fn tail(part: &Part, room: Room) -> Option<String> {
    let names = names(part, &candidates(part), room);
    let name = |row: &Row| names.get(&row.label).cloned().unwrap_or_else(|| row.marked());
    tails::against_the_pick(part, tails::called(part, name))
}

/// Of several workloads what is least sure.
fn how_sure(parts: &[&Part], view: &View) -> Option<String> {
    let doubt = |part: &&&Part| match part.advice() {
        Advice::Direction { .. } | Advice::HardlyMet { .. } | Advice::SpokenAgainst { .. } => 3,
        Advice::Open { .. } => 2,
        Advice::Among { .. } => 1,
        Advice::Best if advice::is_sole(part) => -1,
        _ => 0,
    };
    let said = advice::how_sure(parts.iter().max_by_key(doubt)?, view)?;
    Some(match parts.len() {
        1 => said,
        _ => said.replacen("How sure:", "How sure, at least:", 1),
    })
}

/// The command that measures so many rounds.
fn command(input: &Input, place: &Place, rounds: usize, more: Option<MoreRounds>) -> String {
    let study = &input.contents.study;
    let asked = study.all_asked().pop().unwrap_or_default();
    let is_own = |change: &String| change.starts_with("design.rounds_") || change.starts_with("design.time_budget=");
    let is_changed = !asked.only.is_empty() || !asked.left_out.is_empty() || !asked.overrides.iter().all(is_own);
    // Where the pairing with a client lies, nobody has recorded.
    let is_changed = is_changed || bench::load(input).is_some();
    // A budget would end it sooner. What `init` writes has one in a comment.
    let mut said = study.text.lines().filter_map(|line| line.split('#').next());
    let has_budget = said.any(|line| line.contains("time_budget"))
        || asked.overrides.iter().any(|change| change.contains("time_budget"));
    let seconds = more.and_then(|more| more.seconds).filter(|_| has_budget).map(|seconds| seconds * RESERVE);
    let time = seconds.map_or_else(String::new, |seconds| match seconds {
        ..7200.0 => format!(" --time {:.0}min", (seconds / 60.0).ceil()),
        _ => format!(" --time {:.0}h", (seconds / 3600.0).ceil()),
    });
    let options = format!("--rounds {rounds}{time}");
    let name = place.study.map(String::from).or(asked.built_in);
    match name.filter(|_| !is_changed) {
        Some(name) => {
            let usual = format!("{}.surefoot", study.name);
            let results = place.results.filter(|results| *results != usual);
            // Without them it would go on elsewhere, perhaps on another disk.
            let option = |name: &str, value: Option<&str>| {
                value.map_or_else(String::new, |value| format!(" --{name} {}", reproduce::quoted(value)))
            };
            let places = option("work", place.work) + &option("results", results);
            format!("`surefoot run {} {options}{places}`", reproduce::quoted(&name))
        }
        None => format!("the same command with `{options}`"),
    }
}

/// What is not said here, and where it stands.
fn the_rest(place: &Place, left_out: usize, [more_grave, minor]: [usize; 2], is_empty: bool) -> Option<String> {
    let results = reproduce::quoted(place.results?);
    let counted = [(left_out, "more row"), (more_grave, "more warning"), (minor, "minor warning")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let what: Vec<String> =
        counted.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" })).collect();
    let what = if what.is_empty() { "More".into() } else { format!("{} and more", what.join(", ")) };
    let page = place.page.map_or_else(String::new, |page| format!(", {page}"));
    let apply = if is_empty { "" } else { ", `--apply SCENARIO`" };
    Some(format!("{what}: `surefoot report {results} --full`{apply}{page}"))
}
