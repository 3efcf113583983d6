//! A document as one HTML file: opens offline, asks the network for nothing, reads on phone and desktop, light and dark.
//!
//! It is readable without its script, which adds hover, sort and filter. Every text goes through [`escape`]; only [`Block::Markup`]
//! is put in as it is.

use super::table::{Cell, Column, Row, Table, Tone};
use super::{Block, Chart, Document, Layout, Medium, segments};
use crate::chart::{escape, verbatim};
use crate::number::rounded;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How each page begins, those of the first release too: by it they are known.
pub const PAGE_BEGIN: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
     <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
     <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';\
     script-src 'unsafe-inline';img-src data:";

/// The page.
pub fn page(document: &Document) -> String {
    framed(document, None)
}

/// The page; with a script that may ask the server it came from.
pub fn framed(document: &Document, asking: Option<&str>) -> String {
    let connect = asking.map_or("", |_| ";connect-src 'self'");
    let asking = asking.map_or_else(String::new, |script| format!("<script>{script}</script>"));
    format!(
        "{PAGE_BEGIN}{connect}\"><link rel=\"icon\" href=\"data:,\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>{}</main>\
         <div id=\"tip\" role=\"status\" hidden></div><script>{SCRIPT}</script>{asking}</body></html>\n",
        escape(&document.name),
        all(&document.blocks)
    )
}

fn all(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Title { above, title, below } => header(above, title, below),
        Block::Heading(level, text) => format!("<h{level}>{}</h{level}>", words(text)),
        Block::Lead(text) => format!("<p class=\"pick\">{}</p>", words(text)),
        Block::Label(text) => format!("<p><b>{}</b></p>", words(text)),
        Block::Paragraph(text) => format!("<p>{}</p>", words(text)),
        Block::Note(text) => format!("<p class=\"note\">{}</p>", words(text)),
        Block::List(items) => format!("<ul>{}</ul>", list(items)),
        Block::Notes(items) => format!("<ul class=\"note\">{}</ul>", list(items)),
        Block::Warning(seen, more) if more.is_empty() => {
            format!("<div class=\"flag\"><p><b>{}</b></p></div>", words(seen))
        }
        // A line each: several of them would keep the pictures off the first screen.
        Block::Warning(seen, more) => {
            format!("<details class=\"flag\"><summary>{}</summary>{}</details>", words(seen), all(more))
        }
        Block::Table(found) => table(found),
        Block::Charts(layout, charts) => figures(*layout, charts),
        Block::Facts(facts) => {
            let fact = |(name, value): &(String, String)| format!("<dt>{}</dt><dd>{}</dd>", words(name), words(value));
            format!("<dl>{}</dl>", facts.iter().map(fact).collect::<String>())
        }
        // It scrolls sideways, also by keyboard.
        Block::Code(text) => format!("<pre tabindex=\"0\">{}</pre>", verbatim(text)),
        Block::Section(blocks) => format!("<section>{}</section>", all(blocks)),
        Block::Answer(blocks) => {
            format!("<section class=\"card decision\" aria-label=\"The answer\">{}</section>", all(blocks))
        }
        Block::Details { summary, is_open, blocks } => {
            let open = if *is_open { " open" } else { "" };
            format!("<details{open}><summary>{}</summary>{}</details>", words(summary), all(blocks))
        }
        Block::Only(Medium::Page, blocks) => all(blocks),
        Block::Markup(html) => html.clone(),
        Block::Attachment { .. } | Block::NewSheet | Block::Only(..) => String::new(),
    }
}

fn header(above: &str, title: &str, below: &str) -> String {
    let line = |text: &str| if text.is_empty() { String::new() } else { format!("<p>{}</p>", words(text)) };
    format!("<header>{}<h1>{}</h1>{}</header>", line(above), words(title), line(below))
}

/// Text with its code.
fn words(text: &str) -> String {
    let piece = |(words, is_code)| if is_code { format!("<code>{}</code>", verbatim(words)) } else { escape(words) };
    segments(text).map(piece).collect()
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("<li>{}</li>", words(item))).collect()
}

fn figures(layout: Layout, charts: &[Chart]) -> String {
    let class = if layout == Layout::Inside { "" } else { " class=\"card\"" };
    let figure = |chart: &Chart| {
        let caption = match chart.caption.trim() {
            "" => String::new(),
            caption => format!("<figcaption>{}</figcaption>", words(caption)),
        };
        format!("<figure{class}>{}{caption}</figure>", chart.picture.svg)
    };
    let figures: String = charts.iter().map(figure).collect();
    match layout {
        Layout::Grid => format!("<div class=\"grid\">{figures}</div>"),
        Layout::Panels => format!("<div class=\"panels\">{figures}</div>"),
        Layout::Below | Layout::Inside => figures,
    }
}

/// Scrolls sideways in its own box, and is sorted by its heads.
fn table(table: &Table) -> String {
    let id = escape(&table.id);
    let filter = match table.filter {
        "" => String::new(),
        label => format!(
            "<input class=\"filter\" type=\"search\" data-table=\"{id}\" aria-label=\"{}\" placeholder=\"Filter\" hidden>",
            escape(label)
        ),
    };
    let head = |column: &Column| {
        let class = if column.is_words { "words" } else { "metric" };
        match words(&column.head) {
            nothing if nothing.is_empty() => format!("<td class=\"{class}\"></td>"),
            said => format!("<th scope=\"col\" class=\"{class}\">{said}</th>"),
        }
    };
    let mut html = format!("{filter}<div class=\"scroll\"><table class=\"sortable\" id=\"{id}\"><thead><tr>");
    table.columns.iter().for_each(|column| html.push_str(&head(column)));
    html.push_str("</tr></thead><tbody>");
    table.rows.iter().for_each(|row| push_row(&mut html, row));
    html + "</tbody></table></div>"
}

fn push_row(html: &mut String, row: &Row) {
    let class = if row.tone == Tone::Plain { String::new() } else { format!(" class=\"{}\"", class_of(row.tone)) };
    let _ = write!(html, "<tr{class}>");
    row.cells.iter().for_each(|cell| push_cell(html, cell));
    html.push_str("</tr>");
}

fn class_of(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Baseline => "base",
        Tone::Published => "other",
        Tone::Faster => "faster",
        Tone::Slower => "slower",
    }
}

fn push_cell(html: &mut String, cell: &Cell) {
    let classes =
        [if cell.is_words { "words" } else { "" }, if cell.is_wrapped { "wrap" } else { "" }, class_of(cell.tone)];
    let classes: Vec<&str> = classes.into_iter().filter(|class| !class.is_empty()).collect();
    let class = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
    // A figure that is shown whole sorts by itself.
    let value = cell.value.filter(|value| cell.text != value.to_string());
    let value = value.map_or_else(String::new, |value| format!(" data-v=\"{}\"", rounded(value, 9)));
    let hint = if cell.hint.is_empty() { String::new() } else { format!(" title=\"{}\"", escape(&cell.hint)) };
    let _ = write!(html, "<td{class}{value}{hint}>{}</td>", words(&cell.text));
}
