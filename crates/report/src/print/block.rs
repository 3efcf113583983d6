//! What stands on paper, piece by piece: the shape of `document.json` that `typeset` reads.

use serde::Serialize;

/// One piece.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Block {
    /// A numbered heading; 1 is a chapter's.
    Heading { level: u8, text: String },
    /// The first sentence of the answer.
    Lead { text: String },
    /// Ordinary text; what stands between two backquotes is code, here and in all other words.
    Paragraph { text: String },
    /// Small text.
    Note { text: String },
    /// Sentences with points before them.
    List { items: Vec<String> },
    /// Something a reader of the answer must know.
    Warning { title: String, text: String },
    /// A table, which goes on over pages.
    Table { caption: String, columns: Vec<Head>, rows: Vec<Vec<String>> },
    /// Names and values.
    Facts { rows: Vec<(String, String)> },
    /// Charts, so many beside each other.
    Pictures { columns: u8, charts: Vec<Chart> },
    /// Lines to type.
    Code { text: String },
    /// A file inside the document.
    Attachment { file: String, description: String, mime: String, text: String },
    /// What follows begins a page.
    NewPage,
}

/// A column's head.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Head {
    /// Its words.
    pub head: String,
    /// Whether it is set right, as numbers are.
    pub right: bool,
}

/// A chart, or a piece of one that is higher than a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chart {
    /// Name of its SVG.
    pub file: String,
    /// What a screen reader says.
    pub alt: String,
    /// What stands below it.
    pub caption: String,
    /// Width in the chart's own units.
    pub width: f64,
    /// Height of the whole chart in its own units.
    pub height: f64,
    /// What of it is shown, one stretch below the other, from and to in its own units.
    pub stretches: Vec<(f64, f64)>,
}
