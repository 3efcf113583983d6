//! A script's text to its statements and meta-commands, by psql's rules, which are pgbench's.
//!
//! A statement ends at a `;` outside of quotes, comments, parentheses and the blocks of a program that it makes, at a meta-command, or at
//! the text's end; `\;` puts a second statement into the same message. A meta-command begins with a backslash and ends with its line; a backslash at the line's end goes on.

/// A statement or a meta-command, and the byte where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A statement, or several that go in one message.
    Statement {
        /// Where it begins.
        at: usize,
        /// The statements' texts, without the `;` that ends them. More than one were held together by `\;`.
        texts: Vec<String>,
    },
    /// A meta-command.
    Meta {
        /// Where its backslash is.
        at: usize,
        /// What follows the backslash. Line ends that a backslash took away are blanks, so that places stay.
        text: String,
    },
}

/// What does not end: at this byte.
pub type Unended = (usize, &'static str);

/// Takes a script apart. `backslash_escapes`: in quotes a backslash takes the next character's meaning away (MySQL's family).
///
/// # Errors
/// When a quote or a comment does not end.
pub fn statements(text: &str, backslash_escapes: bool) -> Result<Vec<Piece>, Unended> {
    let mut lexer = Lexer { text, at: 0, backslash_escapes, pieces: Vec::new(), begun: Begun::default() };
    lexer.run()?;
    Ok(lexer.pieces)
}

/// The statement under way.
#[derive(Default)]
struct Begun {
    at: Option<usize>,
    /// Statements before a `\;`.
    texts: Vec<String>,
    /// Where the text that is not taken yet begins.
    from: usize,
    depth: usize,
    /// Its words outside of parentheses, so far.
    words: usize,
    creates: bool,
    /// Whether it makes a program, which may have blocks.
    is_program: bool,
    /// Blocks that have begun and not ended.
    blocks: usize,
    /// Whether the last word was END.
    has_ended: bool,
}

/// A program's kind is among so many words: `CREATE OR REPLACE DEFINER = root@localhost AGGREGATE FUNCTION`.
const WORDS_TO_KIND: usize = 8;

impl Begun {
    /// Takes a word, or a sign, outside of parentheses: psql's rule for functions and procedures (`psqlscan.l`), and the
    /// same for the triggers and events of SQLite and MariaDB, whose `END IF` and its like end no block.
    fn take(&mut self, word: &str, after: &str) {
        let has_ended = std::mem::take(&mut self.has_ended);
        if !word.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return;
        }
        self.words += 1;
        match word.to_ascii_uppercase().as_str() {
            "CREATE" if self.words == 1 => self.creates = true,
            "FUNCTION" | "PROCEDURE" | "TRIGGER" | "EVENT" if self.creates && self.words <= WORDS_TO_KIND => {
                self.is_program = true;
            }
            "BEGIN" if self.is_program => self.blocks += 1,
            "CASE" if self.blocks > 0 && !has_ended => self.blocks += 1,
            "END" if self.blocks > 0 => {
                let next = after.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                let is_other = ["IF", "LOOP", "WHILE", "REPEAT"].iter().any(|word| word.eq_ignore_ascii_case(next));
                self.has_ended = true;
                self.blocks -= usize::from(!is_other);
            }
            _ => {}
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    backslash_escapes: bool,
    pieces: Vec<Piece>,
    begun: Begun,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), Unended> {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let first = rest.chars().next().expect("it is not at the end");
            let token = token(rest, self.backslash_escapes).map_err(|what| (self.at, what))?;
            match first {
                '\\' if rest[1..].starts_with(';') => self.join(),
                '\\' => self.meta(),
                ';' if self.begun.depth == 0 && self.begun.blocks == 0 => {
                    self.end_statement();
                    self.at += 1;
                    self.begun.from = self.at;
                }
                _ => {
                    let is_void = first.is_whitespace() || rest.starts_with("--");
                    match self.begun.at {
                        // Blanks and comments before a statement are no part of it.
                        None if is_void => self.begun.from = self.at + token,
                        None => self.begun.at = Some(self.at),
                        Some(_) => {}
                    }
                    match first {
                        '(' => self.begun.depth += 1,
                        ')' => self.begun.depth = self.begun.depth.saturating_sub(1),
                        _ if is_void || self.begun.depth > 0 => {}
                        _ => self.begun.take(&rest[..token], &rest[token..]),
                    }
                    self.at += token;
                }
            }
        }
        self.end_statement();
        Ok(())
    }

    /// `\;`: the message goes on with another statement.
    fn join(&mut self) {
        self.begun.at.get_or_insert(self.at);
        let text = self.text[self.begun.from..self.at].trim().to_string();
        self.begun.texts.push(text);
        self.at += 2;
        self.begun.from = self.at;
    }

    fn end_statement(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        let Some(at) = begun.at else { return };
        let mut texts = begun.texts;
        texts.push(self.text[begun.from..self.at].trim().to_string());
        texts.retain(|text| !text.is_empty());
        if !texts.is_empty() {
            self.pieces.push(Piece::Statement { at, texts });
        }
    }

    fn meta(&mut self) {
        self.end_statement();
        let (at, mut text) = (self.at, String::new());
        let mut rest = &self.text[at + 1..];
        loop {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let is_last = rest.len() == line.len();
            rest = after;
            match line.trim_end_matches('\r').strip_suffix('\\').filter(|_| !is_last) {
                Some(begun) => {
                    text.push_str(begun);
                    // As many blanks as bytes were taken away.
                    text.push_str(&" ".repeat(line.len() - begun.len() + 1));
                }
                None => {
                    text.push_str(line);
                    break;
                }
            }
        }
        self.at = self.text.len() - rest.len();
        self.begun.from = self.at;
        self.pieces.push(Piece::Meta { at, text });
    }
}

/// Bytes of the token at a text's start: a quote or comment as a whole, anything else by a word or a character.
fn token(text: &str, backslash_escapes: bool) -> Result<usize, &'static str> {
    let first = text.chars().next().expect("it is not empty");
    let quote = |from: usize, mark: char, escapes: bool| {
        quoted(&text[from..], mark, escapes).map(|end| from + end).ok_or("this quote has no end")
    };
    match first {
        '\'' | '"' => quote(1, first, backslash_escapes),
        '`' => quote(1, first, false),
        'E' | 'e' if text[1..].starts_with('\'') => quote(2, '\'', true),
        '-' if text.starts_with("--") => Ok(text.find('\n').unwrap_or(text.len())),
        '/' if text.starts_with("/*") => comment(text).ok_or("this comment has no end"),
        '$' => match dollar_tag(text) {
            Some(tag) => {
                let end = text[tag.len()..].find(tag).map(|inner| inner + 2 * tag.len());
                end.ok_or("this dollar quote has no end")
            }
            None => Ok(1),
        },
        c if c.is_alphanumeric() || c == '_' => {
            Ok(text.find(|c: char| !c.is_alphanumeric() && !"_$".contains(c)).unwrap_or(text.len()))
        }
        c => Ok(c.len_utf8()),
    }
}

/// Bytes up to and with the quote that ends it; a doubled quote is one inside.
fn quoted(text: &str, quote: char, backslash_escapes: bool) -> Option<usize> {
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' && backslash_escapes {
            characters.next();
        } else if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + quote.len_utf8());
        }
    }
    None
}

/// Bytes of a comment, in which others may lie.
fn comment(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    None
}

/// `$$` or `$tag$` at a text's start.
fn dollar_tag(text: &str) -> Option<&str> {
    let inner = text[1..].find('$')?;
    let tag = &text[1..=inner];
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_') && !tag.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| &text[..inner + 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let shown = |piece: Piece| match piece {
            Piece::Statement { at, texts } => format!("{at} {}", texts.join(" \\; ")),
            Piece::Meta { at, text } => format!("{at} \\{text}"),
        };
        statements(text, false).expect("it ends").into_iter().map(shown).collect()
    }

    #[test]
    fn statements_end_where_psql_ends_them() {
        assert_eq!(shown("SELECT 1;SELECT 2"), ["0 SELECT 1", "9 SELECT 2"]);
        assert_eq!(shown("-- a; b\n \nSELECT ';' -- c;\n, \";\";"), ["10 SELECT ';' -- c;\n, \";\""]);
        assert_eq!(shown("SELECT $$;$$, $a$;$$;$a$, a$b;"), ["0 SELECT $$;$$, $a$;$$;$a$, a$b"]);
        assert_eq!(
            shown("SELECT E'\\';', 'it''s;' /* ; /* ; */ ; */;"),
            ["0 SELECT E'\\';', 'it''s;' /* ; /* ; */ ; */"]
        );
        assert_eq!(shown("CREATE RULE r AS DO (a; b); SELECT 1"), ["0 CREATE RULE r AS DO (a; b)", "28 SELECT 1"]);
        assert_eq!(shown(";;  ;"), [""; 0]);
        assert_eq!(shown("BEGIN\\; SELECT 1\\;COMMIT;"), ["0 BEGIN \\; SELECT 1 \\; COMMIT"]);
    }

    /// As the manuals of PostgreSQL 15 ("CREATE FUNCTION"), SQLite and MariaDB have them; a table's columns make no program.
    #[test]
    fn a_program_ends_with_its_last_block() {
        for program in [
            "CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT a; END",
            "create or replace procedure p() begin atomic select case when true then 1 end; end",
            "CREATE TEMP TRIGGER t UPDATE ON a BEGIN INSERT INTO w VALUES (1); SELECT CASE 1 WHEN 1 THEN 2 END; END",
            "CREATE DEFINER = root@localhost PROCEDURE p() BEGIN BEGIN SELECT 2; END; IF a THEN SELECT 1; END IF; END",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN CASE a WHEN 1 THEN SELECT 1; END CASE; SELECT 2; END",
            "CREATE TABLE t (function int, begin int)",
        ] {
            let expected = [format!("0 {program}"), format!("{} SELECT 3", program.len() + 2)];
            assert_eq!(shown(&format!("{program}; SELECT 3;")), expected);
        }
        assert_eq!(shown("BEGIN; SELECT 1; END;"), ["0 BEGIN", "7 SELECT 1", "17 END"]);
    }

    #[test]
    fn meta_commands_end_with_their_line() {
        assert_eq!(shown("\\set a 1\nSELECT :a;\n  \\sleep 1 ms"), ["0 \\set a 1", "9 SELECT :a", "22 \\sleep 1 ms"]);
        assert_eq!(shown("\\set a \\\n 1 + \\\n 2\nSELECT 1"), ["0 \\set a    1 +    2", "19 SELECT 1"]);
        assert_eq!(shown("SELECT 1 AS one \\gset p_\nSELECT 2"), ["0 SELECT 1 AS one", "16 \\gset p_", "25 SELECT 2"]);
    }

    #[test]
    fn what_does_not_end_is_said_where_it_begins() {
        assert_eq!(statements("SELECT 'a;", false), Err((7, "this quote has no end")));
        assert_eq!(statements("SELECT 1 /* a", false), Err((9, "this comment has no end")));
        assert_eq!(statements("SELECT $x$ a $y$", false), Err((7, "this dollar quote has no end")));
        assert_eq!(statements("SELECT 'it\\'s; one';", true).map(|all| all.len()), Ok(1));
    }
}
