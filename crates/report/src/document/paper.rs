//! A document as `surefoot-pdf` reads it: JSON, whose shape is that program's, with charts and attachments as files beside it.
//!
//! What a sheet has no room for is made to fit here: wide tables and high charts come in pieces, and labels in wide tables as the
//! document's short names.

use super::table::{NO_VALUE, Row, Table};
use super::{Block, Chart, Document, Medium};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Columns that fit beside each other on a page, the first one's words included.
const COLUMNS_MAX: usize = 8;
/// A table of up to so many columns has room for labels.
const LABELS_UP_TO: usize = 4;
/// Charts that stand beside each other.
const CHARTS_BESIDE: u8 = 2;
/// A chart that can be cut comes in pieces that are about as high as this times their width: at half a page's width a page holds
/// two of them above each other, so that little of a page stays empty below.
const PIECE_MAX: f64 = 1.4;
/// Said above a table that goes on without some rows.
const ROWS_LEFT_OUT: &str = "Scenarios that have none of these figures are left out.";

/// The document, and the files that it names.
pub fn paper(document: &Document) -> String {
    let mut sheets =
        Sheets { short_names: &document.short_names, files: BTreeMap::new(), blocks: Vec::new(), beside: Vec::new() };
    sheets.all(&document.blocks);
    sheets.flush_charts();
    let (above, title, below) = title_of(&document.blocks);
    let description = json!({
        "title": title, "author": document.author, "above": above, "below": below, "footer": document.footer,
        "blocks": sheets.blocks,
    });
    json!({ "description": description, "files": sheets.files }).to_string()
}

fn title_of(blocks: &[Block]) -> (&str, &str, &str) {
    for block in blocks {
        if let Block::Title { above, title, below } = block {
            return (above, title, below);
        }
    }
    ("", "", "")
}

/// What has been set so far.
struct Sheets<'a> {
    short_names: &'a BTreeMap<String, String>,
    files: BTreeMap<String, String>,
    blocks: Vec<Value>,
    /// Charts that will stand beside each other.
    beside: Vec<Value>,
}

impl Sheets<'_> {
    fn all(&mut self, blocks: &[Block]) {
        blocks.iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(level, text) => {
                self.push(json!({"kind": "heading", "level": level - 1, "text": flat(text)}))
            }
            Block::Lead(text) => self.push(json!({"kind": "lead", "text": flat(text)})),
            Block::Label(text) | Block::Paragraph(text) => self.push(json!({"kind": "paragraph", "text": flat(text)})),
            Block::Note(text) => self.push(json!({"kind": "note", "text": flat(text)})),
            Block::List(items) | Block::Notes(items) => self.list(items),
            Block::Warning(seen, more) => self.warning(seen, more),
            Block::Table(table) => self.table(table),
            Block::Charts(_, charts) => charts.iter().for_each(|chart| self.chart(chart)),
            Block::Facts(facts) => self.push(json!({"kind": "facts", "rows": facts})),
            Block::Code(text) => self.push(json!({"kind": "code", "text": text.trim_end()})),
            Block::Section(blocks) | Block::Answer(blocks) | Block::Only(Medium::Paper, blocks) => self.all(blocks),
            Block::Details { summary, blocks, .. } => {
                self.push(json!({"kind": "heading", "level": 2, "text": flat(summary)}));
                self.all(blocks);
            }
            Block::Attachment { file, mime, description, content } => {
                self.files.insert((*file).into(), content.clone());
                let text = format!("`{file}` is attached: {}.", description.to_lowercase());
                self.push(json!({
                    "kind": "attachment", "file": file, "description": description, "mime": mime, "text": text,
                }));
            }
            Block::NewSheet => self.push(json!({"kind": "newpage"})),
            Block::Title { .. } | Block::Only(..) | Block::Markup(_) => {}
        }
    }

    /// After the charts before it.
    fn push(&mut self, block: Value) {
        self.flush_charts();
        self.blocks.push(block);
    }

    fn flush_charts(&mut self) {
        if !self.beside.is_empty() {
            let charts = std::mem::take(&mut self.beside);
            self.blocks.push(json!({"kind": "pictures", "columns": CHARTS_BESIDE, "charts": charts}));
        }
    }

    fn list(&mut self, items: &[String]) {
        if !items.is_empty() {
            let items: Vec<String> = items.iter().map(|item| flat(item)).collect();
            self.push(json!({"kind": "list", "items": items}));
        }
    }

    /// What is no sentence, as a log, stands below it.
    fn warning(&mut self, seen: &str, more: &[Block]) {
        let (sentences, others): (Vec<&Block>, Vec<&Block>) =
            more.iter().partition(|block| block.sentences().is_some());
        let text: Vec<&str> = sentences.into_iter().filter_map(Block::sentences).collect();
        self.push(json!({"kind": "warning", "title": flat(seen), "text": flat(&text.join(" "))}));
        others.into_iter().for_each(|block| self.block(block));
    }

    /// Wide tables come in pieces of about as many columns, each with the first one.
    fn table(&mut self, table: &Table) {
        let others: Vec<usize> = (1..table.columns.len()).collect();
        let pieces = others.len().div_ceil(COLUMNS_MAX - 1).max(1);
        for (piece, some) in others.chunks(others.len().div_ceil(pieces).max(1)).enumerate() {
            let columns: Vec<usize> = std::iter::once(0).chain(some.iter().copied()).collect();
            let head = |column: &usize| {
                let column = &table.columns[*column];
                json!({"head": flat(&column.head), "right": !column.is_words})
            };
            let cells = |row: &Row| -> Vec<String> {
                let mut cells: Vec<String> = columns.iter().map(|column| flat(&row.cells[*column].text)).collect();
                if table.columns.len() > LABELS_UP_TO {
                    cells[0] = self.shortened(&cells[0]);
                }
                cells
            };
            // Where a table goes on, a row of dashes says nothing new.
            let has_figures = |row: &&Row| piece == 0 || some.iter().any(|column| row.cells[*column].text != NO_VALUE);
            let rows: Vec<Vec<String>> = table.rows.iter().filter(has_figures).map(cells).collect();
            let caption = if rows.len() < table.rows.len() { ROWS_LEFT_OUT } else { "" };
            let columns: Vec<Value> = columns.iter().map(head).collect();
            self.push(json!({"kind": "table", "caption": caption, "columns": columns, "rows": rows}));
        }
    }

    /// A label, or two that are held against each other, with what is said after it, by its short name.
    fn shortened(&self, cell: &str) -> String {
        let is_end = |rest: &str| rest.is_empty() || [";", " (", " in "].iter().any(|begin| rest.starts_with(*begin));
        let of_one = |side: &str| {
            let all = self.short_names.iter();
            let known = all.filter_map(|(label, short)| Some((side.strip_prefix(label.as_str())?, short)));
            let longest = known.filter(|&(rest, _)| is_end(rest)).min_by_key(|(rest, _)| rest.len());
            longest.map(|(rest, short)| format!("{short}{rest}"))
        };
        // A side by its number and the other by its name would be two kinds of things.
        let sides: Option<Vec<String>> = cell.split(" vs ").map(of_one).collect();
        sides.map_or_else(|| cell.into(), |sides| sides.join(" vs "))
    }

    /// A chart beside those before it; the caption stands below its last piece.
    fn chart(&mut self, chart: &Chart) {
        let picture = &chart.picture;
        let file = format!("chart-{:03}.svg", self.files.len());
        let pieces = pieces(picture.width, picture.height, &picture.cuts);
        for (piece, stretches) in pieces.iter().enumerate() {
            let is_last = piece + 1 == pieces.len();
            self.beside.push(json!({
                "file": file, "alt": picture.title, "caption": if is_last { flat(&chart.caption) } else { String::new() },
                "width": picture.width, "height": picture.height, "stretches": stretches,
            }));
        }
        self.files.insert(file, picture.svg.clone());
    }
}

/// Text on one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What of a chart is shown in each piece, from and to. Each has what is above the first cut (a legend) and below the last (the
/// axis); they are of about the same height.
fn pieces(width: f64, height: f64, cuts: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let whole = || vec![vec![(0.0, height)]];
    let (Some(first), Some(last)) = (cuts.first(), cuts.last()) else { return whole() };
    let count = (height / (width * PIECE_MAX)).ceil();
    if count <= 1.0 {
        return whole();
    }
    let nearest = |part: usize| {
        let wanted = first + (last - first) * part as f64 / count;
        cuts.iter().copied().min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs())).unwrap_or(wanted)
    };
    let mut ends: Vec<f64> = (1..=count as usize).map(nearest).filter(|end| end > first).collect();
    ends.dedup();
    let begins = std::iter::once(*first).chain(ends.iter().copied());
    begins.zip(&ends).map(|(begin, end)| vec![(0.0, *first), (begin, *end), (*last, height)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Picture;
    use crate::document::{Layout, head, no_cell, number_cell, word_cell, word_head};

    fn set(blocks: Vec<Block>) -> Value {
        let short_names = [("a", "S1"), ("a · b", "S2")].map(|(label, name)| (label.to_string(), name.to_string()));
        let document = Document { blocks, short_names: short_names.into(), ..Document::default() };
        serde_json::from_str(&paper(&document)).expect("it is JSON")
    }

    #[test]
    fn a_warning_keeps_its_title_apart_and_a_log_below() {
        let more = vec![Block::Paragraph("Effect.".into()), Block::Code("log\n".into()), Block::Note("Remedy.".into())];
        let found = set(vec![Block::Warning("Seen.".into(), more)]);
        assert_eq!(
            found["description"]["blocks"],
            json!([{"kind": "warning", "title": "Seen.", "text": "Effect. Remedy."}, {"kind": "code", "text": "log"}])
        );
    }

    #[test]
    fn a_wide_table_comes_in_pieces_with_its_first_column() {
        let columns = (1..10).map(|n| head(&format!("h{n}")));
        let mut table = Table::new("t", std::iter::once(word_head("s")).chain(columns));
        let cells = (1..10).map(|n| number_cell(&format!("1.{n}"), f64::from(n)));
        table.row(std::iter::once(word_cell("a · b (baseline)")).chain(cells));
        let found = set(vec![Block::Table(table)]);
        let of = |block: &Value| {
            let columns = block["columns"].as_array().expect("columns");
            (columns.len(), columns[0]["right"].clone(), block["rows"][0][0].clone(), block["rows"][0][1].clone())
        };
        let found: Vec<_> = found["description"]["blocks"].as_array().expect("blocks").iter().map(of).collect();
        let name = json!("S2 (baseline)");
        assert_eq!(found, [(6, json!(false), name.clone(), json!("1.1")), (5, json!(false), name, json!("1.6"))]);
    }

    #[test]
    fn both_sides_of_a_comparison_are_called_by_their_numbers() {
        let names = [("a", "S1"), ("a · b", "S2"), ("a (control)", "S3")];
        let names: BTreeMap<String, String> = names.map(|(label, name)| (label.into(), name.into())).into();
        let sheets = Sheets { short_names: &names, files: BTreeMap::new(), blocks: Vec::new(), beside: Vec::new() };
        assert_eq!(
            sheets.shortened("a · b vs a (filesystem); one trial was disturbed"),
            "S2 vs S1 (filesystem); one trial was disturbed"
        );
        assert_eq!(sheets.shortened("a (baseline)"), "S1 (baseline)");
        assert_eq!(sheets.shortened("a (control) vs a in the new rounds"), "S3 vs S1 in the new rounds");
        for other in ["a vs c", "a · c", "ab", ""] {
            assert_eq!(sheets.shortened(other), other);
        }
    }

    #[test]
    fn where_a_table_goes_on_rows_of_dashes_are_left_out_and_that_is_said() {
        let mut table = Table::new("t", (0..9).map(|n| head(&format!("h{n}"))));
        let mut row = |name: &str, are_known: [bool; 2]| {
            let cells = are_known
                .into_iter()
                .flat_map(|is_known| (0..4).map(move |_| if is_known { number_cell("1", 1.0) } else { no_cell() }));
            table.row(std::iter::once(word_cell(name)).chain(cells));
        };
        row("x", [false, false]);
        row("y", [true, true]);
        let found = set(vec![Block::Table(table)]);
        let of = |block: &Value| {
            let rows = block["rows"].as_array().expect("rows").iter().map(|row| row[0].clone());
            (block["caption"].clone(), rows.collect::<Vec<_>>())
        };
        let found: Vec<_> = found["description"]["blocks"].as_array().expect("blocks").iter().map(of).collect();
        assert_eq!(found, [(json!(""), vec![json!("x"), json!("y")]), (json!(ROWS_LEFT_OUT), vec![json!("y")])]);
    }

    #[test]
    fn charts_stand_beside_each_other_and_high_ones_come_in_pieces() {
        let chart = |height: f64, cuts: &[f64]| {
            let picture =
                Picture { svg: "<svg/>".into(), title: "a < b".into(), width: 380.0, height, cuts: cuts.into() };
            Chart::new(picture, "of it")
        };
        let found = set(vec![
            Block::Charts(Layout::Grid, vec![chart(200.0, &[])]),
            Block::Charts(Layout::Grid, vec![chart(1250.0, &[8.0, 400.0, 500.0, 710.0, 1210.0])]),
            Block::Paragraph("end".into()),
        ]);
        let pictures = &found["description"]["blocks"][0];
        let of = |chart: &Value| (chart["stretches"].clone(), chart["caption"].clone());
        let pieces: Vec<_> = pictures["charts"].as_array().expect("charts").iter().map(of).collect();
        // Each with what is above the first cut and below the last, none higher than the others by more than the cuts allow.
        let expected = [
            (json!([[0.0, 200.0]]), json!("of it")),
            (json!([[0.0, 8.0], [8.0, 400.0], [1210.0, 1250.0]]), json!("")),
            (json!([[0.0, 8.0], [400.0, 710.0], [1210.0, 1250.0]]), json!("")),
            (json!([[0.0, 8.0], [710.0, 1210.0], [1210.0, 1250.0]]), json!("of it")),
        ];
        assert_eq!(pieces, expected);
        assert_eq!((&pictures["columns"], &pictures["charts"][0]["alt"]), (&json!(2), &json!("a < b")));
        assert_eq!(found["files"], json!({"chart-000.svg": "<svg/>", "chart-001.svg": "<svg/>"}));
        assert_eq!(found["description"]["blocks"][1], json!({"kind": "paragraph", "text": "end"}));
    }
}
