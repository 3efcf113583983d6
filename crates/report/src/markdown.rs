//! `report --markdown`: the answer, its warnings and its tables, for a wiki or a pull request.
//!
//! The dialect is GitHub's, for its tables. Words are those of the terminal's report; nothing that a study or a server said
//! can become mark-up.

use crate::answer;
use crate::flushing::DAGGER_NOTE;
use crate::input::Input;
use crate::notes;
use crate::pivot::{self, pivots};
use crate::table::{self, Column};
use crate::terminal::printable;
use crate::warnings::warnings;
use std::fmt::Write;

/// The whole report.
#[must_use]
pub fn markdown(input: &Input) -> String {
    let (view, contents) = (input.view(), &input.contents);
    let study = &contents.study;
    let mut out = format!("# {}\n\n", plain(&study.name));
    if !study.question.is_empty() {
        let _ = writeln!(out, "{}\n", plain(&study.question));
    }
    let headings: Vec<String> = view.parts.iter().map(|part| format!("{}:", answer::heading(part))).collect();
    for (i, line) in answer::answer(input).iter().enumerate() {
        let text = plain(line);
        let _ = match (i, headings.contains(line)) {
            (0, _) => writeln!(out, "**{text}**\n"),
            (_, true) => writeln!(out, "\n**{text}**\n"),
            (_, false) => writeln!(out, "- {text}"),
        };
    }
    for warning in warnings(view, contents) {
        let text = format!("{}. {} {}", warning.seen(), warning.effect(), warning.remedy());
        let _ = writeln!(out, "\n> **Warning:** {}", plain(text.trim()));
    }
    for part in view.parts.iter().filter(|part| !part.rows.is_empty()) {
        let _ = writeln!(out, "\n## {}\n", plain(&answer::heading(part)));
        out.push_str(&rows(&table::of_part(part, view)));
        let said = notes::lines(part, input);
        if !said.is_empty() {
            out.push('\n');
        }
        for line in said {
            let _ = writeln!(out, "- {}", plain(&line));
        }
    }
    for pivot in pivots(contents, view) {
        let _ = writeln!(out, "\n## {}\n", plain(&pivot.title));
        out.push_str(&rows(&table::of_pivot(&pivot)));
        let _ = writeln!(out, "\n{}", plain(pivot::NOTE));
        if pivot.is_marked() {
            let _ = writeln!(out, "\n{}", plain(DAGGER_NOTE));
        }
        if !pivot.source.is_empty() {
            let _ = writeln!(out, "\nPublished: {}", plain(pivot.source));
        }
    }
    let hash: String = study.hash.chars().take(HASH_LETTERS).collect();
    let _ = writeln!(
        out,
        "\nMade by surefoot {} from the study {hash}, seed {}.",
        plain(&study.surefoot_version),
        study.seed
    );
    out
}

/// Enough to tell studies apart.
const HASH_LETTERS: usize = 12;

/// A table: a head, a line that says which columns are set right, the rows.
fn rows(columns: &[Column]) -> String {
    let line = |cells: &mut dyn Iterator<Item = &String>| {
        let cells: Vec<String> = cells.map(|cell| plain(cell).replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = line(&mut columns.iter().map(|column| &column.head));
    let rules: Vec<&str> = columns.iter().map(|column| if column.right { "--:" } else { "---" }).collect();
    let _ = writeln!(out, "| {} |", rules.join(" | "));
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        out.push_str(&line(&mut columns.iter().map(|column| &column.cells[row])));
    }
    out
}

/// Text that shows as it is. What stands between two backquotes is code and needs nothing; an odd one is a letter.
fn plain(text: &str) -> String {
    let text = printable(text);
    let segments: Vec<&str> = text.split('`').collect();
    if segments.len().is_multiple_of(2) {
        return segments.iter().map(|segment| escaped(segment)).collect::<Vec<_>>().join("\\`");
    }
    let code = |(i, segment): (usize, &&str)| if i % 2 == 1 { (*segment).to_string() } else { escaped(segment) };
    segments.iter().enumerate().map(code).collect::<Vec<_>>().join("`")
}

/// An underscore inside a word is no mark-up.
fn escaped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_word = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|letter| letter.is_alphanumeric());
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let is_mark = match letter {
            '_' => !(is_word(at.checked_sub(1)) && is_word(Some(at + 1))),
            _ => "\\*[]<>&~#".contains(*letter),
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
