//! The pages that `surefoot serve` shows: a report that follows its study, several results in one view, an index, a message.
//!
//! Each page carries the version of what it was made from; a small script asks for the version there is now, and loads the
//! page again when that is another one. Without the script a link does it.

use crate::answer::answer;
use crate::chart::escape;
use crate::html::{body, framed, title};
use crate::input::Input;
use crate::number::date;
use crate::side_by_side::side_by_side;
use crate::standing::Standing;
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
    /// What was read, and how the study stood; or why not, in words.
    pub results: Result<(&'a Input, &'a Standing), &'a str>,
}

/// A results file's own page.
#[must_use]
pub fn report(input: &Input, standing: &Standing, has_siblings: bool, source: Source) -> String {
    let more = if has_siblings { " · <a href=\"/\">all results</a>" } else { "" };
    let page = format!("{}{}{}", bar(source, more), progress(input, standing), body(input));
    framed(&title(input), &page, Some(FOLLOW))
}

/// A list of all results.
#[must_use]
pub fn index(all: &[Served], source: Source) -> String {
    let mut page = bar(source, "");
    page.push_str("<header><h1>Results</h1></header>");
    for served in all {
        page.push_str(&card(served));
    }
    page.push_str("<p><a href=\"/all\">The same workloads side by side</a></p>");
    framed("Results – surefoot", &page, Some(FOLLOW))
}

/// All results, and the same workloads side by side.
#[must_use]
pub fn all(all: &[Served], source: Source) -> String {
    let mut page = bar(source, " · <a href=\"/\">all results</a>");
    page.push_str("<header><h1>Results side by side</h1></header>");
    for served in all {
        page.push_str(&card(served));
    }
    let readable: Vec<(&str, &Input)> =
        all.iter().filter_map(|served| Some((served.name, served.results.ok()?.0))).collect();
    page.push_str(&side_by_side(&readable));
    framed("Results side by side – surefoot", &page, Some(FOLLOW))
}

/// Something that went wrong, and what to do.
#[must_use]
pub fn message(what: &str, next: &str, source: Option<Source>) -> String {
    let bar = source.map_or_else(String::new, |source| bar(source, ""));
    let page = format!("{bar}<header><h1>{}</h1><p>{}</p></header>", escape(what), escape(next));
    framed("surefoot", &page, source.map(|_| FOLLOW))
}

/// What the script fills and reads.
fn bar(source: Source, more: &str) -> String {
    let Source { version_path, version } = source;
    format!(
        "<p class=\"note\" id=\"served\" data-ask=\"{}\" data-version=\"{}\"><a href=\"\">Load again</a>{more} \
         <span role=\"status\"></span></p>",
        escape(version_path),
        escape(version)
    )
}

/// What a study under way does, and how far it is; nothing of one at rest, whose page says itself what it lacks.
fn progress(input: &Input, standing: &Standing) -> String {
    let contents = &input.contents;
    if !standing.is_running {
        return String::new();
    }
    let now = standing.under_way(contents).map_or_else(String::new, |trial| {
        let step = trial.steps.last().map_or_else(String::new, |(step, _)| format!(", `{step}` done"));
        format!(
            "<p>Under way: {} in round {}, since {}{}.</p>",
            escape(&trial.scenario),
            trial.round + 1,
            date(trial.started),
            escape(&step)
        )
    });
    let first =
        if standing.finished == 0 { "<p>No trial has finished yet; figures come with the first.</p>" } else { "" };
    format!(
        "<div class=\"flag\"><p><b>This study is {}.</b></p><p>{}.</p>{now}{first}</div>",
        escape(standing.state),
        escape(&standing.words(contents))
    )
}

fn card(served: &Served) -> String {
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
            let said = answer(input).into_iter().find(|line| !line.ends_with(':')).unwrap_or_default();
            let _ = write!(html, "<p><b>{}</b></p>", escape(&said));
        }
    }
    html + "</section>"
}
