//! The report as one HTML file: opens offline, asks the network for nothing, reads on phone and desktop, light and dark.
//!
//! The page is readable without its scripts: one adds hover, sort and filter, the other is the section to explore in
//! (`html/explore.rs`). Every text that comes from the study or the machine goes through [`escape`], or into the script as JSON.

mod appendix;
mod explained;
mod explore;
mod health;
mod pictures;
mod power_cuts;
pub(crate) mod tables;

pub(crate) use tables::is_own;

pub use appendix::machine_line;

use crate::answer;
use crate::chart::escape;
use crate::input::{Error, Input};
use crate::number::date;
use crate::view::{Part, View};
use crate::warnings::{Warning, warnings};
use std::fmt::Write;
use std::path::Path;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Writes the page to a file.
///
/// # Errors
/// When the file can't be written.
pub fn write_html(input: &Input, path: &Path) -> Result<(), Error> {
    std::fs::write(path, html(input)).map_err(|source| Error::Write { path: path.into(), source })
}

/// The whole page.
#[must_use]
pub fn html(input: &Input) -> String {
    page(&title(input), &body(input))
}

/// Its title.
pub(crate) fn title(input: &Input) -> String {
    format!("{} – surefoot", input.contents.study.name)
}

/// What stands on it.
pub(crate) fn body(input: &Input) -> String {
    let explore = explore::section(input, input.view());
    header(input) + &answer_and_warnings(input) + &measured(input, &explore) + &appendix::all(input, input.view())
}

/// What comes first, on the page and on paper: the answer, and what stands against it.
#[must_use]
pub fn answer_and_warnings(input: &Input) -> String {
    let view = input.view();
    warnings(view, &input.contents).iter().fold(decision(input, view), |html, warning| html + &flag(warning))
}

/// The rest of what goes on paper, too: all but what a script draws, and the raw values, for which paper has other columns.
#[must_use]
pub fn rest_for_paper(input: &Input) -> String {
    let mut body = measured(input, "");
    body.push_str(&appendix::failures(input));
    body.push_str("<h2>How it was made</h2>");
    body.push_str(&appendix::machine(input));
    body.push_str(&appendix::in_force(input));
    body.push_str(&appendix::study(input));
    body.push_str(&appendix::by_hand(input));
    body
}

/// What was measured, part by part, with the section to explore where there is one.
fn measured(input: &Input, explore: &str) -> String {
    let view = input.view();
    let mut body = String::new();
    for (i, part) in view.parts.iter().enumerate() {
        body.push_str(&part_section(i, part, view, input));
    }
    body.push_str(&tables::pivots(input));
    body.push_str(explore);
    body.push_str(&pictures::explanations(input, view));
    body.push_str(&power_cuts::section(view));
    body.push_str(&tables::durability(input));
    body.push_str(&pictures::trust(input, view));
    body.push_str(&health::table(input, view));
    body
}

/// A page around a body.
#[must_use]
pub fn page(title: &str, body: &str) -> String {
    framed(title, body, None)
}

/// A page around a body; with a script that may ask the server it came from.
pub(crate) fn framed(title: &str, body: &str, asking: Option<&str>) -> String {
    let connect = asking.map_or("", |_| ";connect-src 'self'");
    let asking = asking.map_or_else(String::new, |script| format!("<script>{script}</script>"));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';\
         script-src 'unsafe-inline';img-src data:{connect}\"><link rel=\"icon\" href=\"data:,\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>{body}</main>\
         <div id=\"tip\" role=\"status\" hidden></div><script>{SCRIPT}</script>{asking}</body></html>\n",
        escape(title)
    )
}

fn header(input: &Input) -> String {
    let study = &input.contents.study;
    let machine = appendix::machine_line(input);
    format!(
        "<header><p>surefoot study <b>{}</b> · {}</p><h1>{}</h1><p>{}</p></header>",
        escape(&study.name),
        date(study.created),
        escape(if study.question.is_empty() { &study.name } else { &study.question }),
        escape(&machine)
    )
}

/// The box at the top: the answer in words.
fn decision(input: &Input, view: &View) -> String {
    let mut lines = answer::answer(input).into_iter();
    let pick = lines.next().unwrap_or_default();
    let limits = lines.next_back().unwrap_or_default();
    let mut html = format!(
        "<section class=\"card decision\" aria-label=\"The answer\"><p class=\"pick\">{}</p><ul>",
        escape(&pick)
    );
    for line in lines {
        let _ = write!(html, "<li>{}</li>", escape(&line));
    }
    html.push_str("</ul>");
    for (i, part) in view.parts.iter().enumerate() {
        html.push_str(&pictures::importance(i, part).unwrap_or_default());
    }
    let _ = write!(html, "<p class=\"note\">{}</p></section>", escape(&limits));
    html
}

fn flag(warning: &Warning) -> String {
    format!(
        "<div class=\"flag\"><p><b>{}.</b></p><p>{}</p><p class=\"note\">{}</p></div>",
        escape(&warning.seen()),
        warning.effect(),
        escape(warning.remedy())
    )
}

/// One workload: claims, ranking, table.
fn part_section(i: usize, part: &Part, view: &View, input: &Input) -> String {
    let mut html = format!("<section><h2>{}</h2>", escape(&answer::heading(part)));
    html.push_str("<div class=\"grid\">");
    for picture in [pictures::ranking(i, part, view), pictures::forest(i, part, view)].into_iter().flatten() {
        html.push_str(&picture);
    }
    html.push_str("</div>");
    html.push_str(&pictures::interplay(i, part, view));
    html.push_str(&tables::claims(i, part, view));
    html.push_str(&explained::what_changed(i, part, view));
    html.push_str(&tables::scenarios(i, part, view));
    html.push_str(&tables::notes(i, part, input));
    html.push_str(&explained::ceilings(i, part, input));
    html.push_str(&tables::metrics(i, part, input));
    html.push_str("</section>");
    html
}
