//! The pages that `surefoot serve` shows: a report that follows its study, several results in one view, an index, a message.
//!
//! Each page carries the version of what it was made from; a small script asks for the version there is now, and loads the
//! page again when that is another one. Without the script a link does it.

use crate::answer::answer;
use crate::chart::escape;
use crate::document::{Block, Document, Table, framed, head, word_cell, word_head, wrapped_cell};
use crate::fleet::FleetReport;
use crate::full;
use crate::input::Input;
use crate::number::date;
use crate::side_by_side::side_by_side;
use crate::standing::Standing;
use crate::words::round_words;
use std::fmt::Write;

const FOLLOW: &str = include_str!("served/follow.js");

/// Where a page's newer versions come from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The path that tells the version there is now.
    pub version_path: &'a str,
    /// The version that the page is made from.
    pub version: &'a str,
}

/// A results file that is served: its name in paths, made of letters, digits, dots, dashes and underscores, and what it held.
pub struct Served<'a> {
    /// Its name.
    pub name: &'a str,
    /// What was read, and how the study stood; or in words why not, or that it is a fleet.
    pub results: Result<(&'a Input, &'a Standing), &'a str>,
}

/// A fleet whose folder of results is served.
pub struct ServedFleet<'a> {
    /// Its name in paths.
    pub name: &'a str,
    /// How many members are done, in words.
    pub summary: String,
    /// How far each is, in words, from the first on.
    pub members: Vec<String>,
    /// Files that can't be read now, and why.
    pub unreadable: Vec<String>,
    /// The answer so far; or in words why there is none.
    pub answer: Result<FleetReport, String>,
}

/// A results file's own page.
pub fn report(input: &Input, standing: &Standing, has_siblings: bool, source: Source) -> String {
    let mut document = full::document(input, String::new());
    let begin = [bar(source, more(has_siblings))].into_iter().chain(progress(input, standing));
    document.blocks.splice(0..0, begin);
    framed(&document, Some(FOLLOW))
}

/// A fleet that is under way, or done: how far each member is, and the answer so far, or why there is none.
pub fn fleet(fleet: &ServedFleet, has_siblings: bool, source: Source) -> String {
    let columns = [head("member"), word_head("how far")];
    let mut members = Table::new("members", columns);
    for (number, words) in (1..).zip(&fleet.members) {
        members.row([word_cell(&u32::to_string(&number)), wrapped_cell(words)]);
    }
    let broken: Vec<String> = fleet.unreadable.iter().map(|why| format!("Left out for now: {why}.")).collect();
    let broken = (!broken.is_empty()).then_some(Block::List(broken));
    let standing =
        [Block::Heading(2, "How far each member is".into()), Block::Table(members)].into_iter().chain(broken);
    let mut document = match &fleet.answer {
        Ok(report) => report.document(),
        Err(why) => document(
            &format!("{} – surefoot", fleet.name),
            vec![title(fleet.name, ""), Block::Answer(vec![Block::Lead(why.clone())])],
        ),
    };
    if let Some(Block::Title { below, .. }) = document.blocks.first_mut() {
        below.clone_from(&fleet.summary);
    }
    // Title and answer first, what comes of them after who measured it.
    document.blocks.splice(2..2, standing);
    document.blocks.insert(0, bar(source, more(has_siblings)));
    framed(&document, Some(FOLLOW))
}

/// The page of a fleet's merged file.
pub fn merged(report: &FleetReport, has_siblings: bool, source: Source) -> String {
    let mut document = report.document();
    document.blocks.insert(0, bar(source, more(has_siblings)));
    framed(&document, Some(FOLLOW))
}

/// A list of all results.
pub fn index(all: &[Served], source: Source) -> String {
    let mut blocks = vec![bar(source, ""), title("Results", "")];
    blocks.extend(all.iter().map(card));
    blocks.push(Block::Markup("<p><a href=\"/all\">The same workloads side by side</a></p>".into()));
    framed(&document("Results – surefoot", blocks), Some(FOLLOW))
}

/// All results, and the same workloads side by side.
pub fn all(all: &[Served], source: Source) -> String {
    let mut blocks = vec![bar(source, " · <a href=\"/\">all results</a>"), title("Results side by side", "")];
    blocks.extend(all.iter().map(card));
    let readable: Vec<(&str, &Input)> =
        all.iter().filter_map(|served| Some((served.name, served.results.ok()?.0))).collect();
    blocks.extend(side_by_side(&readable));
    framed(&document("Results side by side – surefoot", blocks), Some(FOLLOW))
}

/// Something that went wrong, and what to do.
pub fn message(what: &str, next: &str, source: Option<Source>) -> String {
    let blocks = source.map(|source| bar(source, "")).into_iter().chain([title(what, next)]);
    framed(&document("surefoot", blocks.collect()), source.map(|_| FOLLOW))
}

fn document(name: &str, blocks: Vec<Block>) -> Document {
    Document { name: name.into(), blocks, ..Document::default() }
}

fn title(title: &str, below: &str) -> Block {
    Block::Title { above: String::new(), title: title.into(), below: below.into() }
}

/// A way to the list, where there is one.
fn more(has_siblings: bool) -> &'static str {
    if has_siblings { " · <a href=\"/\">all results</a>" } else { "" }
}

/// What the script fills and reads.
fn bar(source: Source, more: &str) -> Block {
    let Source { version_path, version } = source;
    Block::Markup(format!(
        "<p class=\"note\" id=\"served\" data-ask=\"{}\" data-version=\"{}\"><a href=\"\">Load again</a>{more} \
         <span role=\"status\"></span></p>",
        escape(version_path),
        escape(version)
    ))
}

/// What a study under way does, and how far it is; nothing of one at rest, whose page says itself what it lacks.
fn progress(input: &Input, standing: &Standing) -> Option<Block> {
    let contents = &input.contents;
    if !standing.is_running {
        return None;
    }
    let now = standing.under_way(contents).map(|trial| {
        let step = trial.steps.last().map_or_else(String::new, |(step, _)| format!(", `{step}` done"));
        let (scenario, round, started) = (&trial.scenario, round_words(trial), date(trial.started));
        Block::Paragraph(format!("Under way: {scenario} in round {round}, since {started}{step}."))
    });
    let first = "No trial has finished yet; figures come with the first.";
    let first = (standing.finished == 0).then(|| Block::Paragraph(first.into()));
    let words = Block::Paragraph(format!("{}.", standing.words(contents)));
    let more = [words].into_iter().chain(now).chain(first).collect();
    Some(Block::Warning(format!("This study is {}.", standing.state), more))
}

/// The first sentence of an answer; of several workloads that of each, behind its heading.
fn in_short(lines: &[String]) -> Vec<String> {
    let is_heading = |line: &String| line.ends_with(':');
    let first = lines.first().filter(|line| !is_heading(line)).cloned();
    let others = lines.windows(2).filter(|pair| is_heading(&pair[0])).map(|pair| pair.join(" "));
    first.into_iter().chain(others).collect()
}

/// A result in a list, with a link to its own page.
fn card(served: &Served) -> Block {
    let mut html = format!("<section class=\"card\"><h3><a href=\"/{0}\">{0}</a></h3>", escape(served.name));
    match served.results {
        Err(why) => {
            let _ = write!(html, "<p>{}</p>", escape(why));
        }
        Ok((input, standing)) => {
            let study = &input.contents.study;
            let question = if study.question.is_empty() { &study.name } else { &study.question };
            let _ = write!(
                html,
                "<p>{}</p><p class=\"note\">{}, {} · {} · {}</p>",
                escape(question),
                escape(&study.name),
                date(study.created),
                escape(standing.state),
                escape(&standing.words(&input.contents))
            );
            for said in in_short(&answer(input)) {
                let _ = write!(html, "<p><b>{}</b></p>", escape(&said));
            }
        }
    }
    Block::Markup(html + "</section>")
}

#[cfg(test)]
mod tests {
    use super::in_short;

    #[test]
    fn the_list_has_the_answer_of_each_workload() {
        let shown = |lines: &[&str]| in_short(&lines.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(shown(&["Pick xfs.", "It is the best."]), ["Pick xfs."]);
        let two = ["oltp (more is better):", "Pick xfs.", "It is the best.", "tree:", "No winner yet."];
        assert_eq!(shown(&two), ["oltp (more is better): Pick xfs.", "tree: No winner yet."]);
        assert_eq!(shown(&[&["Yes: the limit is kept."][..], &two].concat()).len(), 3);
        assert_eq!(shown(&[]), [""; 0]);
    }
}
