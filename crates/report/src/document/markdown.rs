//! A document as Markdown, for a wiki or a pull request: its words and its tables.
//!
//! The dialect is GitHub's, for its tables. Nothing that a study or a server said can become mark-up.

use super::table::{Column, Table};
use super::{Block, Medium, in_one, printable, segments};

/// The blocks that are words or tables.
pub fn markdown(blocks: &[Block]) -> String {
    let pieces: Vec<String> = blocks.iter().filter_map(block).collect();
    pieces.join("\n\n") + "\n"
}

fn block(block: &Block) -> Option<String> {
    Some(match block {
        Block::Title { title, below, .. } if below.is_empty() => format!("# {}", plain(title)),
        Block::Title { title, below, .. } => format!("# {}\n\n{}", plain(title), plain(below)),
        Block::Heading(level, text) => format!("{} {}", "#".repeat((*level).into()), plain(text)),
        Block::Lead(text) | Block::Label(text) => format!("**{}**", plain(text)),
        Block::Paragraph(text) | Block::Note(text) => plain(text),
        Block::List(items) | Block::Notes(items) => {
            items.iter().map(|item| format!("- {}", plain(item))).collect::<Vec<_>>().join("\n")
        }
        Block::Warning(seen, more) => format!("> **Warning:** {}", plain(&in_one(seen, more))),
        Block::Table(found) => table(found),
        Block::Only(Medium::Markdown, blocks) => blocks.iter().filter_map(self::block).collect::<Vec<_>>().join("\n\n"),
        // All else takes a page.
        _ => return None,
    })
}

/// A head, a line that says which columns are set right, the rows.
fn table(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = &String>| {
        let cells: Vec<String> = cells.map(|cell| plain(cell).replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule = |column: &Column| if column.is_words { "---" } else { "--:" };
    let rules: Vec<&str> = table.columns.iter().map(rule).collect();
    let rows = table.rows.iter().map(|row| line(&mut row.cells.iter().map(|cell| &cell.text)));
    let heads = line(&mut table.columns.iter().map(|column| &column.head));
    [heads, format!("| {} |", rules.join(" | "))].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

/// Text that shows as it is. Code needs nothing; a backquote without a partner is a letter.
fn plain(text: &str) -> String {
    let text = printable(text);
    let piece = |(words, is_code): (&str, bool)| if is_code { format!("`{words}`") } else { escaped(words) };
    segments(&text).map(piece).collect()
}

/// An underscore inside a word is no mark-up.
fn escaped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_word = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|letter| letter.is_alphanumeric());
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let is_mark = match letter {
            '_' => !(is_word(at.checked_sub(1)) && is_word(Some(at + 1))),
            _ => "\\*[]<>&~#`".contains(*letter),
        };
        if is_mark {
            out.push('\\');
        }
        out.push(*letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&plain(text));
    }

    #[test]
    fn nothing_becomes_markup() {
        check("transactions_per_second, _at_ *once*", expect![r"transactions_per_second, \_at\_ \*once\*"]);
        check("<b>[x](y) & ~z~ #1 \\", expect![r"\<b\>\[x\](y) \& \~z\~ \#1 \\"]);
        check("a\n# b", expect!["a\u{fffd}\\# b"]);
        check("`a_*b*`: c_", expect![r"`a_*b*`: c\_"]);
        check("one ` only", expect![r"one \` only"]);
    }
}
