//! What power cuts were measured to take: speed against safety, a table of the scenarios, and what was found.

use super::open_details;
use super::tables::promise;
use crate::chart::{pareto, ranking};
use crate::document::{Block, Chart, Columns, Layout, head, number_cell};
use crate::flushing::Marked as _;
use crate::number::{count, percent, percent_at_most, rounded, seconds};
use crate::safety::{explored, is_censored};
use analysis::row::Row;
use analysis::view::{Part, View};
use observe::safety::{Finding, Grade, Safety};

/// Findings shown of a scenario, the worst first.
const FINDINGS_MAX: usize = 8;

const ABOUT: &str = "A load that commits, or one that replaces files, was recorded on a disk of its own, write by write. Then the power \
    was cut, by showing that disk as a cut may leave it at each of its moments to the real recovery of filesystem and database; what \
    had been acknowledged had to be there. Moments are those just before each completed flush, and the end.";

const EXPECTED: &str = "The worst is searched for, so how many images are bad says nothing of how likely one is. The expected loss, and the \
    share of bad cuts with its bound, are of random cuts alone: power fails at any moment of the load, and each block holds what the \
    disk's drive had on its medium then. On a disk that has no drive's times, or whose cache lies, a coin decides for each block \
    whether it holds what was last written or what was durable. The mean is over random cuts after which all came up. Where a loss is \
    as long as the recording could show, it may be longer (\"or more\"), and a mean would be of the recording's length.";

/// The section; empty where nothing of the kind was measured.
pub fn section(view: &View) -> Option<Block> {
    let mut blocks = Vec::new();
    for (i, part) in view.parts.iter().enumerate() {
        let rows = part.rows.iter().filter(|row| !row.control);
        let measured: Vec<(&Row, &Safety)> = rows.filter_map(|row| Some((row, row.power_cut.as_ref()?))).collect();
        if measured.is_empty() {
            continue;
        }
        if view.parts.len() > 1 {
            blocks.push(Block::Heading(3, part.workload.clone()));
        }
        blocks.extend(picture(i, part, view));
        blocks.push(scenarios(i, &measured));
        blocks.extend(findings(i, &measured));
        blocks.push(notes(&measured));
    }
    if blocks.is_empty() {
        return None;
    }
    let class = |grade: &Grade| format!("{}, {}", grade.letter(), grade.words());
    let classes: Vec<String> = Grade::ALL.iter().map(class).collect();
    let about = [
        Block::Heading(2, "After a power cut".into()),
        Block::Note(ABOUT.into()),
        Block::Note(format!("The class is the worst of all images: {}.", classes.join("; "))),
        Block::Note(EXPECTED.into()),
    ];
    Some(Block::Section(about.into_iter().chain(blocks).collect()))
}

fn picture(i: usize, part: &Part, view: &View) -> Option<Block> {
    let picture = pareto::draw(&format!("pareto-{i}"), part)?;
    let drawn = match pareto::count(part) {
        all if all > ranking::ROWS_MAX => format!(" The best {} of {all} scenarios are drawn.", ranking::ROWS_MAX),
        _ => String::new(),
    };
    let caption = format!(
        "Speed with its {} interval, by what a power cut took. A filled mark is beaten by no other scenario in both; a hollow \
         one is, as another is at least as fast and as safe.{drawn}",
        percent(view.confidence)
    );
    Some(Block::Charts(Layout::Below, vec![Chart::new(picture, caption)]))
}

fn scenarios(i: usize, measured: &[(&Row, &Safety)]) -> Block {
    let but = |row: &Row| match (row.was_broken(), row.hides_damage()) {
        (true, _) => ": that is not what was measured",
        (_, true) => ": what was recorded did not contain it",
        _ => "",
    };
    // Where a loss may be longer than was recorded, a mean says nothing.
    let expected = |value: Option<f64>, found: &Safety| value.filter(|_| !is_censored(found));
    let two_digits = |commits: f64| rounded(commits, 2).to_string();
    let table = Columns::of(format!("power-cuts-{i}"), measured)
        .baseline(|(row, _)| row.baseline)
        .words("scenario", |(row, _)| row.marked())
        .words("class", |(_, found)| format!("{} · {}", found.grade.letter(), found.grade.words()))
        .column(head("worst loss, acknowledged commits"), |(_, found)| {
            let worst = format!("{} of {}", count(found.worst_lost_commits), count(found.acknowledged));
            number_cell(&worst, found.worst_lost_commits as f64)
        })
        .column(head("worst loss, time"), |(_, found)| {
            let or_more = if is_censored(found) { " or more" } else { "" };
            number_cell(&format!("{}{or_more}", seconds(found.worst_lost_seconds)), found.worst_lost_seconds)
        })
        .figures("expected loss, commits", |(_, found)| expected(found.expected_lost_commits, found), two_digits)
        .figures("expected loss, time", |(_, found)| expected(found.expected_lost_seconds, found), seconds)
        .counts("random cuts", |(_, found)| found.random_cuts)
        .counts("bad of these", |(_, found)| found.random_cuts_bad)
        .figures("bad, at most (95 %)", |(_, found)| found.bad_share_at_most(), percent_at_most)
        .counts("images searched", |(_, found)| found.images)
        .wrapped("looked at", |(_, found)| format!("{}, at {} moments", explored(found), count(found.points)))
        .counts("unmountable", |(_, found)| found.unmountable)
        .counts("damaged", |(_, found)| found.damaged)
        .counts("wrong without a word", |(_, found)| found.silent)
        .wrapped("by settings", |(row, _)| format!("{}{}", promise(row), but(row)))
        .wrapped("control group", |(_, found)| control(found));
    open_details("Losses", [Block::Table(table.table())])
}

/// What images drawn at random, and bad ones run again, say of the search.
fn control(found: &Safety) -> String {
    let drawn = match (found.audited, found.audited_new) {
        (0, _) => "none drawn".into(),
        (audited, 0) => format!("{} drawn at random, nothing new", count(audited)),
        (audited, new) => format!("{} drawn at random, {} NOT FOUND before", count(audited), count(new)),
    };
    match found.unsteady {
        0 => drawn,
        unsteady => format!("{drawn}; {} bad ones came out otherwise when run again", count(unsteady)),
    }
}

/// Faults that were seen, each with the name of an image that has it.
fn findings(i: usize, measured: &[(&Row, &Safety)]) -> Option<Block> {
    let shown = measured
        .iter()
        .flat_map(|(row, found)| found.findings.iter().take(FINDINGS_MAX).map(move |finding| (row, finding)));
    let shown: Vec<(&&Row, &Finding)> = shown.collect();
    if shown.is_empty() {
        return None;
    }
    let left_out = measured.iter().map(|(_, found)| found.findings.len()).sum::<usize>() - shown.len();
    let table = Columns::of(format!("findings-{i}"), &shown)
        .words("scenario", |(row, _)| row.marked())
        .wrapped("what was seen", |(_, finding)| &finding.what)
        .counts("images", |(_, finding)| finding.images)
        .wrapped("one of them", |(_, finding)| &finding.example)
        .wrapped("which lacks", |(_, finding)| &finding.lacks)
        .wrapped("the filesystem's checker", |(_, finding)| &finding.checked);
    let more = if left_out > 0 { format!(" {left_out} more are in `report --json`.") } else { String::new() };
    let note = format!(
        "`surefoot powercut STUDY --scenario SCENARIO --replay NAME` mounts the image of that name once more, where its log is still \
         kept.{more}"
    );
    Some(open_details("What was found", [Block::Note(note), Block::Table(table.table())]))
}

/// Under what disks it was, and what else a reader should know.
fn notes(measured: &[(&Row, &Safety)]) -> Block {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for (row, found) in measured {
        for note in [format!("disk: {}", found.disk)].into_iter().chain(found.notes.iter().cloned()) {
            match said.iter_mut().find(|known| known.0 == note) {
                Some((_, names)) => names.push(row.marked()),
                None => said.push((note, vec![row.marked()])),
            }
        }
    }
    let items = said.iter().map(|(note, names)| {
        let whose = if names.len() == measured.len() { String::new() } else { format!("{}: ", names.join(", ")) };
        format!("{whose}{note}")
    });
    Block::Notes(items.collect())
}
