//! Scripts' texts to commands: every name, expression and nesting is checked before anything runs.

use crate::Problem;
use crate::expression::{self, Expression, is_name};
use crate::functions::DEFAULT_SEED;
use crate::lexer::{Piece, statements};
use crate::statement::{Part, Statement};
use std::collections::HashMap;

/// A script's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What it is called in messages: its file.
    pub name: String,
    /// What it says.
    pub text: String,
    /// How often it is chosen, beside the others' weights.
    pub weight: u64,
}

/// The scripts of a load and the variables that they share.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// In order of their sources.
    pub scripts: Vec<Script>,
    /// Names of variables, in order of their places.
    pub names: Vec<String>,
}

/// A script, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// As its source has it.
    pub name: String,
    /// How often it is chosen, beside the others' weights.
    pub weight: u64,
    /// What it does, in order.
    pub commands: Vec<(usize, Command)>,
}

/// What a script does; beside it stands its line.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Sends a statement.
    Send(Statement, Option<Kept>),
    /// Sets a variable.
    Set(usize, Expression),
    /// Waits so many seconds: a number or a variable, times a unit.
    Sleep(Expression, f64),
    /// Goes on at another command when this is not true.
    Unless(Expression, usize),
    /// Goes on at another command.
    Jump(usize),
}

/// What becomes of a statement's row: its columns are variables of their names, with this before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Before the names.
    pub prefix: String,
    /// `\gset`: one row and no other number. `\aset`: the last row of any number.
    pub is_one_row: bool,
}

/// Variables that every script has, with those of `Machine::new`.
const BUILT_IN: [&str; 4] = ["client_id", "scale", "random_seed", DEFAULT_SEED];

impl Program {
    /// Reads scripts that share the variables `given`. All problems of all scripts come at once.
    ///
    /// # Errors
    /// When a script can't be run.
    pub fn new(sources: &[Source], given: &[&str], backslash_escapes: bool) -> Result<Program, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut pieces = Vec::new();
        for source in sources {
            match statements(&source.text, backslash_escapes) {
                Ok(found) => pieces.push((source, found)),
                Err((at, what)) => problems.push(problem(source, at, what)),
            }
        }
        let mut names = Names::default();
        for name in BUILT_IN.iter().chain(given) {
            names.place(name);
        }
        for (_, pieces) in &pieces {
            names.note_assigned(pieces);
        }
        let scripts = pieces.iter().map(|(source, pieces)| script(source, pieces, &mut names, &mut problems)).collect();
        if problems.is_empty() { Ok(Program { scripts, names: names.names }) } else { Err(problems) }
    }

    /// The place of a variable.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// All statements of all scripts, in order.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        let all = self.scripts.iter().flat_map(|script| &script.commands);
        all.filter_map(|(_, command)| if let Command::Send(statement, _) = command { Some(statement) } else { None })
    }
}

#[derive(Default)]
struct Names {
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// Whether rows set variables, whose names are the columns', which nobody knows before.
    are_open: bool,
}

impl Names {
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.names.push(name.into());
        self.places.insert(name.into(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn find(&mut self, name: &str) -> Option<usize> {
        if self.are_open { Some(self.place(name)) } else { self.places.get(name).copied() }
    }

    fn note_assigned(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            let Piece::Meta { text, .. } = piece else { continue };
            let mut words = text.split_whitespace();
            match words.next() {
                Some("set") => {
                    words.next().map(|name| self.place(name));
                }
                Some("gset" | "aset") => self.are_open = true,
                _ => {}
            }
        }
    }
}

fn problem(source: &Source, at: usize, what: impl Into<String>) -> Problem {
    let before = &source.text[..at];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Problem {
        file: source.name.clone(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        problem: what.into(),
    }
}

/// An `\if` that has no `\endif` yet.
struct Open {
    at: usize,
    /// Where it goes on when the condition before was not true; none after `\else`.
    unless: Option<usize>,
    /// Jumps to its end.
    ends: Vec<usize>,
}

struct Reader<'r> {
    names: &'r mut Names,
    commands: Vec<(usize, Command)>,
    open: Vec<Open>,
}

fn script(source: &Source, pieces: &[Piece], names: &mut Names, problems: &mut Vec<Problem>) -> Script {
    let mut reader = Reader { names, commands: Vec::new(), open: Vec::new() };
    let mut line = LineOf { text: &source.text, at: 0, line: 1 };
    for piece in pieces {
        let (at, read) = match piece {
            Piece::Statement { at, texts } => {
                let names = &mut *reader.names;
                let statement = Statement::new(texts, &mut |name| names.find(name));
                reader.commands.push((line.of(*at), Command::Send(statement, None)));
                continue;
            }
            Piece::Meta { at, text } => (*at, reader.meta(line.of(*at), text, *at)),
        };
        if let Err((inside, what)) = read {
            problems.push(problem(source, at + 1 + inside, what));
        }
    }
    if let Some(open) = reader.open.first() {
        problems.push(problem(source, open.at, "this `\\if` has no `\\endif`"));
    }
    if reader.commands.is_empty() && problems.is_empty() {
        problems.push(problem(source, 0, "the script asks nothing"));
    }
    Script { name: source.name.clone(), weight: source.weight, commands: reader.commands }
}

/// Lines of places that come in order.
struct LineOf<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl LineOf<'_> {
    fn of(&mut self, at: usize) -> usize {
        self.line += self.text[self.at..at].matches('\n').count();
        self.at = at;
        self.line
    }
}

/// A word of a meta-command and the byte where it begins.
pub fn word(text: &str, from: usize) -> (usize, &str) {
    let start = from + text[from..].find(|c: char| !c.is_whitespace()).unwrap_or(text.len() - from);
    let end = start + text[start..].find(char::is_whitespace).unwrap_or(text.len() - start);
    (start, &text[start..end])
}

const KNOWN: &str = "\\set, \\sleep, \\if, \\elif, \\else, \\endif, \\gset and \\aset";

impl Reader<'_> {
    /// A meta-command; places of problems count from behind its backslash.
    fn meta(&mut self, line: usize, text: &str, at: usize) -> Result<(), expression::Wrong> {
        let (start, name) = word(text, 0);
        let rest = start + name.len();
        if start > 0 {
            return Err((0, format!("a command is expected behind the backslash: {KNOWN}")));
        }
        match name {
            "set" => self.set(line, text, rest),
            "sleep" => self.sleep(line, text, rest),
            "gset" | "aset" => self.keep(text, rest, name == "gset"),
            "if" => {
                let condition = self.expression(text, rest)?;
                self.open.push(Open { at, unless: Some(self.commands.len()), ends: Vec::new() });
                self.commands.push((line, Command::Unless(condition, 0)));
                Ok(())
            }
            "elif" => {
                let condition = self.expression(text, rest)?;
                self.next_branch(line, name)?;
                let here = self.commands.len();
                self.open.last_mut().expect("`next_branch` found it").unless = Some(here);
                self.commands.push((line, Command::Unless(condition, 0)));
                Ok(())
            }
            "else" => {
                end(text, rest)?;
                self.next_branch(line, name)
            }
            "endif" => {
                end(text, rest)?;
                let open =
                    self.open.pop().ok_or_else(|| (0, "there is no `\\if` before this `\\endif`".to_string()))?;
                let here = self.commands.len();
                open.unless.into_iter().chain(open.ends).for_each(|command| self.lead(command, here));
                Ok(())
            }
            "shell" | "setshell" => {
                let wrong = "runs a program on this machine amid the load; a script here may not";
                Err((0, format!("`\\{name}` {wrong}. There are {KNOWN}")))
            }
            "startpipeline" | "syncpipeline" | "endpipeline" => {
                Err((0, format!("pipelines are not sent here: take `\\{name}` out. There are {KNOWN}")))
            }
            _ => Err((0, format!("there is no command `\\{name}`; there are {KNOWN}"))),
        }
    }

    /// Sets where a jump leads.
    fn lead(&mut self, command: usize, to: usize) {
        match &mut self.commands[command].1 {
            Command::Unless(_, target) | Command::Jump(target) => *target = to,
            _ => unreachable!("only jumps are led"),
        }
    }

    /// Ends the branch before `\elif` or `\else`.
    fn next_branch(&mut self, line: usize, name: &str) -> Result<(), expression::Wrong> {
        let here = self.commands.len();
        let open = self.open.last_mut().ok_or_else(|| (0, format!("there is no `\\if` before this `\\{name}`")))?;
        let unless = open.unless.take().ok_or_else(|| (0, format!("`\\{name}` comes after `\\else`")))?;
        open.ends.push(here);
        self.commands.push((line, Command::Jump(0)));
        self.lead(unless, here + 1);
        Ok(())
    }

    fn expression(&mut self, text: &str, from: usize) -> Result<Expression, expression::Wrong> {
        let names = &mut *self.names;
        let read = expression::parse(&text[from..], &mut |name| names.find(name));
        read.map_err(|(at, what)| (from + at, what))
    }

    fn set(&mut self, line: usize, text: &str, from: usize) -> Result<(), expression::Wrong> {
        let (start, name) = word(text, from);
        if !is_name(name) {
            let wrong = "a variable's name has letters, digits and `_`, and begins with no digit: not";
            return Err((start, format!("{wrong} `{name}`")));
        }
        let value = self.expression(text, start + name.len())?;
        let place = self.names.place(name);
        self.commands.push((line, Command::Set(place, value)));
        Ok(())
    }

    fn sleep(&mut self, line: usize, text: &str, from: usize) -> Result<(), expression::Wrong> {
        let (start, mut time) = word(text, from);
        let after = start + time.len();
        let (unit_start, mut unit) = word(text, after);
        end(text, unit_start + unit.len())?;
        // `2ms` is one word.
        if unit.is_empty() && !time.starts_with(':') {
            let digits = time.find(|c: char| !c.is_ascii_digit()).unwrap_or(time.len());
            (time, unit) = time.split_at(digits);
        }
        let seconds = match unit {
            "" | "s" => 1.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            other => return Err((unit_start, format!("`{other}` is no unit of time; there are us, ms and s"))),
        };
        let is_number = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && !time.starts_with(':') {
            return Err((start, format!("`\\sleep` takes a whole number or a variable, not `{time}`")));
        }
        let time = self.expression(time, 0).map_err(|(at, what)| (start + at, what))?;
        self.commands.push((line, Command::Sleep(time, seconds)));
        Ok(())
    }

    fn keep(&mut self, text: &str, from: usize, is_one_row: bool) -> Result<(), expression::Wrong> {
        let (start, prefix) = word(text, from);
        end(text, start + prefix.len())?;
        let Some((_, Command::Send(statement, kept))) = self.commands.last_mut() else {
            return Err((0, "a statement is expected before it".into()));
        };
        if kept.is_some() {
            return Err((0, "the statement before it has one already".into()));
        }
        if statement.verbs.len() > 1 {
            return Err((0, "the message before it has several statements; end them by `;`".into()));
        }
        *kept = Some(Kept { prefix: prefix.into(), is_one_row });
        Ok(())
    }
}

fn end(text: &str, from: usize) -> Result<(), expression::Wrong> {
    let (start, left) = word(text, from);
    if left.is_empty() { Ok(()) } else { Err((start, format!("`{left}` does not belong here"))) }
}

impl Statement {
    /// Its text for messages: variables by their names.
    pub fn shown(&self) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(_, name) => format!(":{name}"),
        };
        self.parts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let source = Source { name: "s.sql".into(), text: text.into(), weight: 1 };
        Program::new(&[source], &[], false).expect_err(text).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn problems_are_said_by_line_and_column() {
        let known = "there are \\set, \\sleep, \\if, \\elif, \\else, \\endif, \\gset and \\aset";
        assert_eq!(problems("\\sett a 1"), [format!("s.sql:1:2: there is no command `\\sett`; {known}")]);
        assert_eq!(problems("SELECT 1;\n  \\set a rnd(1)\n\\set b :c")[1], "s.sql:3:8: nothing sets the variable `c`");
        assert!(problems("\\set a rnd(1)")[0].starts_with("s.sql:1:8: there is no function `rnd`; there are abs, "));
        assert_eq!(problems("\\if 1\nSELECT 1;"), ["s.sql:1:1: this `\\if` has no `\\endif`"]);
        assert_eq!(problems("SELECT 1;\n\\endif"), ["s.sql:2:2: there is no `\\if` before this `\\endif`"]);
        assert_eq!(
            problems("\\if 1\n\\else\n\\elif 2\nSELECT 1;\n\\endif"),
            ["s.sql:3:2: `\\elif` comes after `\\else`"]
        );
        assert_eq!(problems("\\gset"), ["s.sql:1:2: a statement is expected before it"]);
        assert_eq!(problems("\\sleep 5 min"), ["s.sql:1:10: `min` is no unit of time; there are us, ms and s"]);
        assert_eq!(
            problems("\\set 1a 2"),
            ["s.sql:1:6: a variable's name has letters, digits and `_`, and begins with no digit: not `1a`"]
        );
        assert!(problems("\\shell ls")[0].contains("runs a program on this machine"));
        assert_eq!(problems("-- nothing\n"), ["s.sql:1:1: the script asks nothing"]);
        assert_eq!(problems("SELECT 'é', 'a;"), ["s.sql:1:13: this quote has no end"]);
    }
}
