//! Tables that the report is asked for: a metric by the levels of two factors, with published figures beside.

use crate::document::{Content, Node};
use crate::problem::Problem;
use settings::{Kind, Setting};

/// One table of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Whose scenarios.
    pub workload: String,
    /// Which metric of theirs.
    pub metric: String,
    /// The factor whose levels are rows.
    pub rows: String,
    /// The factor whose levels are columns.
    pub columns: String,
    /// Only scenarios with these levels of other factors: factor and the level's label.
    pub only: Vec<(String, String)>,
    /// Figures of others.
    pub published: Option<Published>,
}

/// Figures that somebody else measured elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Who, when, on what machine.
    pub source: String,
    /// Row → column → value in the metric's own unit; rows and columns in the order of the text.
    pub values: Vec<(String, Vec<(String, f64)>)>,
}

/// Keys of a table; all but `where` are required.
pub const TABLE: &[Setting] = &[
    Setting::new("title", Kind::Text, "").help("What stands above it."),
    Setting::new("workload", Kind::Text, "").help("Whose scenarios it shows."),
    Setting::new("metric", Kind::Text, "").help("Which metric of them."),
    Setting::new("rows", Kind::Text, "").help("The factor whose levels are its rows."),
    Setting::new("columns", Kind::Text, "").help("The factor whose levels are its columns."),
    Setting::new("where", Kind::Table, "{}")
        .help("Only scenarios with these levels of other factors: where = { atime = \"noatime\" }."),
];

/// Reads `published = { source = "…", values = { ROW = { COLUMN = number } } }`.
pub fn published(node: &Node, problems: &mut Vec<Problem>) -> Option<Published> {
    let mut wrong = |node: &Node, message: &str| {
        let label = "like { source = \"who, when, where\", values = { \"row\" = { \"column\" = 1.5 } } }";
        problems.push(Problem::new(message, node.span.clone(), label));
        None
    };
    if let Some(entry) = node.entries().iter().find(|entry| !["source", "values"].contains(&entry.key.as_str())) {
        return wrong(&entry.node, &format!("`{}` is not a part of published figures", entry.key));
    }
    let source = node.get("source").map(Node::json);
    let Some(source) = source.as_ref().and_then(|source| source.as_str()).filter(|source| !source.is_empty()) else {
        return wrong(node, "published figures without their `source`");
    };
    let rows = node.get("values").map(Node::entries).unwrap_or_default();
    if rows.is_empty() {
        return wrong(node, "published figures without `values`");
    }
    let mut values = Vec::new();
    for row in rows {
        let mut cells = Vec::new();
        for cell in row.node.entries() {
            match &cell.node.content {
                Content::Scalar(value) if value.is_number() => {
                    cells.push((cell.key.clone(), value.as_f64().unwrap_or(f64::NAN)));
                }
                _ => return wrong(&cell.node, "a published figure that is no number"),
            }
        }
        values.push((row.key.clone(), cells));
    }
    Some(Published { source: source.to_string(), values })
}
