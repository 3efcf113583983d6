//! From the page's own HTML to blocks, so that paper shows what the page does: nothing is written twice, and what is added to the
//! page is on paper, too.
//!
//! Reads the elements that `html.rs` writes; others are passed through as the text in them.

use super::block::{Block, Chart, Head};
use crate::chart::CUTS;
use html5gum::{StartTag, Token, Tokenizer};
use std::collections::BTreeMap;

/// Columns that fit beside each other on a page, the first one's words included.
const COLUMNS_MAX: usize = 8;
/// A table of up to so many columns has room for labels.
const LABELS_UP_TO: usize = 4;
/// A chart that can be cut comes in pieces that are about as high as this times their width: at half a page's width a page holds
/// two of them above each other, so that little of a page stays empty below.
const PIECE_MAX: f64 = 1.4;
/// In a table's cell: not known.
const NO_VALUE: &str = "–";
/// Said above a table that goes on without some rows.
const ROWS_LEFT_OUT: &str = "Scenarios that have none of these figures are left out.";

/// Scenarios by short names, for tables in which their labels would leave no room: label to short name.
pub type ShortNames = BTreeMap<String, String>;

/// Blocks of a part of the page; its charts are put among the files.
#[must_use]
pub fn blocks(html: &str, short: &ShortNames, files: &mut BTreeMap<String, Vec<u8>>) -> Vec<Block> {
    let (html, charts) = cut_out_charts(html, files);
    let mut reader = Reader { charts, short: short.clone(), ..Reader::default() };
    for token in Tokenizer::new(&*html) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.open(&tag),
            Token::EndTag(tag) => reader.close(&text_of(&tag.name)),
            Token::String(text) => reader.text.push_str(&text_of(&text)),
            _ => {}
        }
    }
    reader.flush_charts();
    reader.blocks
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A chart and where it may be cut.
type Cuttable = (Chart, Vec<f64>);

/// A tokenizer of HTML would change the case of SVG's names: charts are taken out as they are, and an `img` left in their place.
fn cut_out_charts(html: &str, files: &mut BTreeMap<String, Vec<u8>>) -> (String, Vec<Cuttable>) {
    const END: &str = "</svg>";
    let (mut rest, mut kept, mut charts) = (html, String::new(), Vec::new());
    while let Some((before, from)) = rest.find("<svg").map(|at| rest.split_at(at)) {
        let Some(end) = from.find(END) else { break };
        let (svg, after) = from.split_at(end + END.len());
        let file = format!("chart-{:03}.svg", files.len());
        kept.push_str(before);
        kept.push_str("<img>");
        charts.push((chart(&file, svg), cuts(svg)));
        files.insert(file, svg.as_bytes().to_vec());
        rest = after;
    }
    kept.push_str(rest);
    (kept, charts)
}

fn chart(file: &str, svg: &str) -> Chart {
    let between = |start: &str, end: &str| {
        let from = svg.find(start)? + start.len();
        Some(&svg[from..from + svg[from..].find(end)?])
    };
    let sizes: Vec<f64> =
        between("viewBox=\"0 0 ", "\"").unwrap_or_default().split(' ').filter_map(|size| size.parse().ok()).collect();
    let title = between("<title", "</title>").and_then(|title| title.split_once('>')).map_or("", |(_, text)| text);
    let alt = text_only(title);
    let (width, height) = (sizes.first().copied().unwrap_or(1.0), sizes.get(1).copied().unwrap_or(1.0));
    Chart { file: file.into(), alt, caption: String::new(), width, height, stretches: vec![(0.0, height)] }
}

/// The text of a piece of mark-up.
fn text_only(html: &str) -> String {
    Tokenizer::new(html)
        .filter_map(|Ok(token)| match token {
            Token::String(text) => Some(text_of(&text)),
            _ => None,
        })
        .collect()
}

/// Where the reading stands.
#[derive(Default)]
struct Reader {
    short: ShortNames,
    blocks: Vec<Block>,
    text: String,
    is_note: bool,
    is_lead: bool,
    items: Vec<String>,
    /// Title and text of a warning.
    warning: Option<(String, String)>,
    table: Option<Vec<Vec<Cell>>>,
    is_right: bool,
    facts: Vec<(String, String)>,
    charts: Vec<Cuttable>,
    /// Charts of the page taken so far.
    taken: usize,
    /// The chart of the figure that is open.
    figure: Option<Cuttable>,
    /// Charts that stand beside each other.
    beside: Vec<Chart>,
    title: String,
}

struct Cell {
    text: String,
    right: bool,
}

impl Reader {
    fn open(&mut self, tag: &StartTag<()>) {
        let name = text_of(&tag.name);
        let class = tag.attributes.get(&b"class"[..]).map(|value| text_of(value)).unwrap_or_default();
        let is = |word: &str| class.split(' ').any(|other| other == word);
        match name.as_str() {
            "p" | "li" | "figcaption" | "dt" | "dd" | "h1" | "h2" | "h3" | "summary" | "pre" | "section" | "label" => {
                self.text.clear();
                (self.is_note, self.is_lead) = (is("note"), is("pick"));
            }
            "code" if self.table.is_none() => self.text.push('`'),
            "div" if is("flag") => self.warning = Some(Default::default()),
            "table" => self.table = Some(Vec::new()),
            "tr" => self.table.iter_mut().for_each(|rows| rows.push(Vec::new())),
            "td" | "th" => {
                self.text.clear();
                self.is_right = !is("words");
            }
            "img" => {
                self.figure = self.charts.get(self.taken).cloned();
                self.taken += 1;
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "h1" | "h2" => self.heading(1),
            "h3" | "summary" => self.heading(2),
            "p" => self.paragraph(),
            "b" if self.warning.is_some() => {
                let title = self.take();
                self.warning.iter_mut().for_each(|warning| warning.0.clone_from(&title));
            }
            "li" => {
                let item = self.take();
                self.items.push(item);
            }
            "ul" if !self.items.is_empty() => {
                let items = std::mem::take(&mut self.items);
                self.push(Block::List { items });
            }
            "code" if self.table.is_none() => self.text.push('`'),
            "div" => {
                if let Some((title, text)) = self.warning.take() {
                    self.push(Block::Warning { title, text });
                }
            }
            "td" | "th" => {
                let cell = Cell { text: self.take(), right: self.is_right };
                let row = self.table.iter_mut().filter_map(|rows| rows.last_mut()).next();
                row.into_iter().for_each(|row| row.push(Cell { text: cell.text.clone(), right: cell.right }));
            }
            "table" => self.table_ends(),
            "pre" => {
                let text = std::mem::take(&mut self.text);
                self.push(Block::Code { text: text.trim_end().into() });
            }
            "dt" => {
                let name = self.take();
                self.facts.push((name, String::new()));
            }
            "dd" => {
                let value = self.take();
                self.facts.last_mut().into_iter().for_each(|fact| fact.1.clone_from(&value));
            }
            "dl" => {
                let rows = std::mem::take(&mut self.facts);
                self.push(Block::Facts { rows });
            }
            "figcaption" => {
                let caption = self.take();
                self.figure.iter_mut().for_each(|(chart, _)| chart.caption.clone_from(&caption));
            }
            "figure" => {
                let figure = self.figure.take();
                self.beside.extend(figure.into_iter().flat_map(|(chart, cuts)| pieces(&chart, &cuts)));
            }
            _ => {}
        }
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// After the charts before it.
    fn push(&mut self, block: Block) {
        self.flush_charts();
        self.blocks.push(block);
    }

    fn flush_charts(&mut self) {
        if !self.beside.is_empty() {
            self.blocks.push(Block::Pictures { columns: 2, charts: std::mem::take(&mut self.beside) });
        }
    }

    fn heading(&mut self, level: u8) {
        let text = self.take();
        self.title.clone_from(&text);
        self.push(Block::Heading { level, text });
    }

    fn paragraph(&mut self) {
        let text = self.take();
        if let Some((_, words)) = &mut self.warning {
            *words = format!("{words} {text}").trim().into();
        } else if self.is_lead {
            self.push(Block::Lead { text });
        } else if !text.is_empty() {
            self.push(if self.is_note { Block::Note { text } } else { Block::Paragraph { text } });
        }
    }

    /// Wide tables come in pieces of about as many columns, each with the first one.
    fn table_ends(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        let Some((heads, rows)) = rows.split_first() else { return };
        let numbers: Vec<usize> = (1..heads.len()).collect();
        let pieces = numbers.len().div_ceil(COLUMNS_MAX - 1).max(1);
        for (piece, some) in numbers.chunks(numbers.len().div_ceil(pieces).max(1)).enumerate() {
            let columns: Vec<usize> = std::iter::once(0).chain(some.iter().copied()).collect();
            let head = |column: &usize| Head { head: heads[*column].text.clone(), right: heads[*column].right };
            let cells = |row: &Vec<Cell>| -> Vec<String> {
                let text = |column: &usize| row.get(*column).map_or_else(String::new, |cell| cell.text.clone());
                let mut cells: Vec<String> = columns.iter().map(text).collect();
                if heads.len() > LABELS_UP_TO {
                    cells[0] = self.shortened(&cells[0]);
                }
                cells
            };
            // Where a table goes on, a row of dashes says nothing new.
            let has_figures = |row: &&Vec<Cell>| {
                piece == 0 || some.iter().any(|column| row.get(*column).is_some_and(|cell| cell.text != NO_VALUE))
            };
            let kept: Vec<Vec<String>> = rows.iter().filter(has_figures).map(cells).collect();
            let caption = if kept.len() < rows.len() { ROWS_LEFT_OUT.into() } else { String::new() };
            let columns = columns.iter().map(head).collect();
            self.push(Block::Table { caption, columns, rows: kept });
        }
    }
}

impl Reader {
    /// A label with what is said after it, by its short name.
    fn shortened(&self, cell: &str) -> String {
        let labels = self.short.iter().filter(|(label, _)| cell.starts_with(label.as_str()));
        match labels.max_by_key(|(label, _)| label.len()) {
            Some((label, short)) => format!("{short}{}", &cell[label.len()..]),
            None => cell.into(),
        }
    }
}

/// Where a chart may be cut, from the top down.
fn cuts(svg: &str) -> Vec<f64> {
    let found = svg.split_once(&format!("{CUTS}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    found.map_or_else(Vec::new, |(cuts, _)| cuts.split(' ').filter_map(|cut| cut.parse().ok()).collect())
}

/// A chart in pieces of about the same height, each with what is above the first cut (a legend) and below the last (the axis); the
/// caption stands below the last piece.
fn pieces(chart: &Chart, cuts: &[f64]) -> Vec<Chart> {
    let (Some(first), Some(last)) = (cuts.first(), cuts.last()) else { return vec![chart.clone()] };
    let count = (chart.height / (chart.width * PIECE_MAX)).ceil();
    if count <= 1.0 {
        return vec![chart.clone()];
    }
    let nearest = |part: usize| {
        let wanted = first + (last - first) * part as f64 / count;
        cuts.iter().copied().min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs())).unwrap_or(wanted)
    };
    let mut ends: Vec<f64> = (1..=count as usize).map(nearest).filter(|end| end > first).collect();
    ends.dedup();
    let begins = std::iter::once(*first).chain(ends.iter().copied());
    let stretches = |(begin, end): (f64, &f64)| vec![(0.0, *first), (begin, *end), (*last, chart.height)];
    let mut pieces: Vec<Chart> = begins
        .zip(&ends)
        .map(|found| Chart { stretches: stretches(found), caption: String::new(), ..chart.clone() })
        .collect();
    pieces.last_mut().into_iter().for_each(|piece| piece.caption.clone_from(&chart.caption));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str) -> Vec<Block> {
        blocks(html, &ShortNames::new(), &mut BTreeMap::new())
    }

    #[test]
    fn words_become_what_they_are() {
        let html = "<section><h2>A &amp; B</h2><p class=\"pick\">Pick.</p><ul><li>one <code>--x</code></li><li>two</li></ul>\
            <p class=\"note\">small</p><p>plain</p><pre>a\n  b\n</pre><dl><dt>k</dt><dd>v</dd></dl></section>";
        let text = |text: &str| text.to_string();
        assert_eq!(
            read(html),
            [
                Block::Heading { level: 1, text: text("A & B") },
                Block::Lead { text: text("Pick.") },
                Block::List { items: vec![text("one `--x`"), text("two")] },
                Block::Note { text: text("small") },
                Block::Paragraph { text: text("plain") },
                Block::Code { text: text("a\n  b") },
                Block::Facts { rows: vec![(text("k"), text("v"))] },
            ]
        );
    }

    #[test]
    fn a_warning_keeps_its_title_apart() {
        let html = "<div class=\"flag\"><p><b>Seen.</b></p><p>Effect.</p><p class=\"note\">Remedy.</p></div>";
        assert_eq!(read(html), [Block::Warning { title: "Seen.".into(), text: "Effect. Remedy.".into() }]);
    }

    #[test]
    fn a_wide_table_comes_in_pieces_with_its_first_column() {
        let cells = |row: usize| (1..10).map(|n| format!("<td>{row}.{n}</td>")).collect::<String>();
        let heads: String = (1..10).map(|n| format!("<th>h{n}</th>")).collect();
        let html = format!(
            "<table><thead><tr><th class=\"words\">s</th>{heads}</tr></thead><tbody><tr><td class=\"words\">a · b (baseline)</td>{}</tr></tbody></table>",
            cells(1)
        );
        let short = [("a", "S1"), ("a · b", "S2")].map(|(label, name)| (label.to_string(), name.to_string()));
        let found = blocks(&html, &short.into(), &mut BTreeMap::new());
        let of = |block: &Block| match block {
            Block::Table { columns, rows, .. } => {
                (columns.len(), columns[0].right, rows[0][0].clone(), rows[0][1].clone())
            }
            other => panic!("{other:?}"),
        };
        let found: Vec<_> = found.iter().map(of).collect();
        assert_eq!(
            found,
            [(6, false, "S2 (baseline)".into(), "1.1".into()), (5, false, "S2 (baseline)".into(), "1.6".into())]
        );
    }

    #[test]
    fn where_a_table_goes_on_rows_of_dashes_are_left_out_and_that_is_said() {
        let cells = |figure: &str| format!("<td>{figure}</td>").repeat(4);
        let row =
            |name: &str, first: &str, last: &str| format!("<tr><td>{name}</td>{}{}</tr>", cells(first), cells(last));
        let heads: String = (0..9).map(|n| format!("<th>h{n}</th>")).collect();
        let html = format!("<table><tr>{heads}</tr>{}{}</table>", row("a", "–", "–"), row("b", "1", "2"));
        let of = |block: &Block| match block {
            Block::Table { caption, rows, .. } => (caption.clone(), rows.iter().map(|row| row[0].clone()).collect()),
            other => panic!("{other:?}"),
        };
        let found: Vec<(String, Vec<String>)> = read(&html).iter().map(of).collect();
        let rows = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
        assert_eq!(found, [(String::new(), rows(&["a", "b"])), (ROWS_LEFT_OUT.into(), rows(&["b"]))]);
    }

    #[test]
    fn charts_stand_beside_each_other_and_high_ones_come_in_pieces() {
        let figure = |height: u32, cuts: &str| {
            format!(
                "<figure><svg viewBox=\"0 0 380 {height}\" fooBar=\"1\"{cuts}><title id=\"t\">a &lt; b</title></svg>\
                 <figcaption>of <b>it</b></figcaption></figure>"
            )
        };
        let mut files = BTreeMap::new();
        let found = blocks(
            &format!("{}{}<p>end</p>", figure(200, ""), figure(1250, &format!(" {CUTS}=\"8 400 500 710 1210\""))),
            &ShortNames::new(),
            &mut files,
        );
        let Block::Pictures { columns: 2, charts } = &found[0] else { panic!("{found:?}") };
        let pieces: Vec<(&[(f64, f64)], &str)> =
            charts.iter().map(|chart| (&chart.stretches[..], chart.caption.as_str())).collect();
        // Each with what is above the first cut and below the last, none higher than the others by more than the cuts allow.
        let expected: [(&[(f64, f64)], &str); 4] = [
            (&[(0.0, 200.0)], "of it"),
            (&[(0.0, 8.0), (8.0, 400.0), (1210.0, 1250.0)], ""),
            (&[(0.0, 8.0), (400.0, 710.0), (1210.0, 1250.0)], ""),
            (&[(0.0, 8.0), (710.0, 1210.0), (1210.0, 1250.0)], "of it"),
        ];
        assert_eq!(pieces, expected);
        assert_eq!((charts[0].alt.as_str(), files.len()), ("a < b", 2));
        assert!(String::from_utf8_lossy(&files["chart-000.svg"]).contains("fooBar"));
        assert_eq!(found[1], Block::Paragraph { text: "end".into() });
    }
}
