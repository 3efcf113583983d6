//! A document: what a report says, piece by piece, before it is known on what it will be read.
//!
//! Whoever has something to say makes blocks; a renderer each for a page, paper, a terminal and Markdown (the files below) sets
//! them. In all words what stands between two backquotes is code. Knows no study and no measurement.

mod markdown;
mod page;
mod paper;
mod table;
mod terminal;

pub use markdown::markdown;
pub use page::{PAGE_BEGIN, framed, page};
pub use paper::paper;
pub use table::{
    Cell, Column, Columns, Fit, Table, Tone, head, interval_head, known_cell, no_cell, number_cell, word_cell,
    word_head, wrapped_cell,
};
pub use terminal::{printable, terminal};

use crate::chart::Picture;
use std::collections::BTreeMap;

/// Something to read.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// What a browser's tab says.
    pub name: String,
    /// The program that made it.
    pub author: String,
    /// What stands at the foot of each sheet.
    pub footer: String,
    /// Scenarios by short names, for wide tables on paper, in which their labels would leave no room: label to short name.
    pub short_names: BTreeMap<String, String>,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// One piece.
#[derive(Debug, Clone)]
pub enum Block {
    /// The document's title, with a line above and one below it.
    Title { above: String, title: String, below: String },
    /// A heading: 2 of a chapter, 3 of a part of one.
    Heading(u8, String),
    /// The first sentence of an answer.
    Lead(String),
    /// A few words above what they are about.
    Label(String),
    /// Ordinary text.
    Paragraph(String),
    /// Small text.
    Note(String),
    /// Sentences with points before them.
    List(Vec<String>),
    /// The same in small text.
    Notes(Vec<String>),
    /// Something a reader of the answer must know: what was seen, and more about it.
    Warning(String, Vec<Block>),
    /// A table.
    Table(Table),
    /// Charts.
    Charts(Layout, Vec<Chart>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// Lines as they are: commands, files, logs.
    Code(String),
    /// Blocks that belong together.
    Section(Vec<Block>),
    /// The answer, set off from all else.
    Answer(Vec<Block>),
    /// What a page shows when its summary is clicked on; whether it is open at first.
    Details { summary: String, is_open: bool, blocks: Vec<Block> },
    /// A file inside the document.
    Attachment { file: &'static str, mime: &'static str, description: &'static str, content: String },
    /// What follows begins a sheet.
    NewSheet,
    /// What stands on one medium only.
    Only(Medium, Vec<Block>),
    /// A page's own controls and scripts, as HTML.
    Markup(String),
}

/// On what a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// A browser.
    Page,
    /// Sheets of paper.
    Paper,
    /// A wiki or a pull request.
    Markdown,
}

/// How charts stand on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One below the other.
    Below,
    /// The same, as part of what is around them.
    Inside,
    /// As many beside each other as there is room for.
    Grid,
    /// The same, of small ones.
    Panels,
}

/// A chart and what stands below it.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The drawing.
    pub picture: Picture,
    /// In words; may be empty.
    pub caption: String,
}

impl Block {
    /// Its words, where it is a sentence or more of text.
    fn sentences(&self) -> Option<&str> {
        match self {
            Block::Paragraph(text) | Block::Note(text) => Some(text),
            _ => None,
        }
    }
}

impl Chart {
    /// A drawing with its caption.
    pub fn new(picture: Picture, caption: impl Into<String>) -> Chart {
        Chart { picture, caption: caption.into() }
    }
}

/// A warning as one text.
fn in_one(seen: &str, more: &[Block]) -> String {
    let all = std::iter::once(seen).chain(more.iter().filter_map(Block::sentences));
    all.collect::<Vec<_>>().join(" ").trim().to_string()
}

/// The words of a text, and whether they are code; where a backquote has no partner, none are.
fn segments(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let parts: Vec<&str> = if is_paired { text.split('`').collect() } else { vec![text] };
    parts.into_iter().enumerate().map(|(i, words)| (words, i % 2 == 1))
}
