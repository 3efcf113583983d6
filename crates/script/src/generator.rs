//! Data by rule: tables and, column by column, the expression that gives each row's value.
//!
//! ```text
//! \table pgbench_accounts 100000 * :scale
//! \column aid :row
//! \column bid (:row - 1) / 100000 + 1
//! \column filler letters(84)
//! ```
//! Expressions are those of scripts; `:row` counts from 1.

use crate::evaluate::evaluate;
use crate::expression::{self, Expression, is_name};
use crate::functions::DEFAULT_SEED;
use crate::parse::{Source, word};
use crate::value::Value;
use crate::{Failure, Problem};
use random::Random;

/// A table that is filled.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name, as the schema has it.
    pub name: String,
    /// Names of the columns, each with the place of its rule.
    pub fields: Vec<Field>,
    rows: Expression,
    line: usize,
    file: String,
}

/// A column that is filled.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    value: Expression,
    line: usize,
}

/// The variables that every rule has.
const ROW: usize = 0;
const SEED: usize = 1;
const BUILT_IN: [&str; 2] = ["row", DEFAULT_SEED];

/// Reads the rules of a text, whose variables are `given`. All problems come at once.
///
/// # Errors
/// When it is none.
pub fn generators(source: &Source, given: &[&str]) -> Result<Vec<Table>, Vec<Problem>> {
    let (mut tables, mut problems): (Vec<Table>, Vec<Problem>) = (Vec::new(), Vec::new());
    for (number, line) in source.text.lines().enumerate() {
        let text = line.trim();
        if text.is_empty() || text.starts_with("--") {
            continue;
        }
        if let Err((at, problem)) = rule(text, number + 1, source, given, &mut tables) {
            let indent = line.len() - line.trim_start().len();
            let column = line[..indent + at].chars().count() + 1;
            problems.push(Problem { file: source.name.clone(), line: number + 1, column, problem });
        }
    }
    let empty = tables.iter().filter(|table| table.fields.is_empty());
    problems.extend(empty.map(|table| {
        let problem = format!("the table `{}` has no `\\column`", table.name);
        Problem { file: source.name.clone(), line: table.line, column: 1, problem }
    }));
    if problems.is_empty() { Ok(tables) } else { Err(problems) }
}

fn rule(
    text: &str,
    line: usize,
    source: &Source,
    given: &[&str],
    tables: &mut Vec<Table>,
) -> Result<(), expression::Wrong> {
    let (command, from) = ["\\table", "\\column"]
        .into_iter()
        .find_map(|word| Some((word, text.strip_prefix(word).filter(|rest| rest.starts_with(' '))?)))
        .map(|(word, rest)| (word, text.len() - rest.len()))
        .ok_or_else(|| (0, "a line is `\\table NAME ROWS`, `\\column NAME VALUE` or a comment".to_string()))?;
    let (start, name) = word(text, from);
    if !name.split('.').all(is_name) {
        return Err((start, format!("a name has letters, digits and `_`: not `{name}`")));
    }
    let from = start + name.len();
    let mut find = |name: &str| BUILT_IN.iter().chain(given).position(|known| *known == name);
    let value = expression::parse(&text[from..], &mut find).map_err(|(at, what)| (from + at, what))?;
    if command == "\\table" {
        let (name, file) = (name.into(), source.name.clone());
        tables.push(Table { name, fields: Vec::new(), rows: value, line, file });
        return Ok(());
    }
    let table = tables.last_mut().ok_or_else(|| (0, "there is no `\\table` before this `\\column`".to_string()))?;
    if table.fields.iter().any(|field| field.name == name) {
        return Err((start, format!("the table `{}` has this column already", table.name)));
    }
    table.fields.push(Field { name: name.into(), value, line });
    Ok(())
}

impl Table {
    /// How many rows it has, with these values of the given variables.
    ///
    /// # Errors
    /// When that is no number of 0 or more.
    pub fn rows(&self, given: &[Value]) -> Result<u64, Failure> {
        let mut variables = vec![Value::Integer(0); BUILT_IN.len()];
        variables.extend_from_slice(given);
        let counted = evaluate(&self.rows, &|place| variables.get(place), &mut Random::new(0));
        let counted = counted.and_then(|value| value.integer());
        counted
            .and_then(|rows| u64::try_from(rows).map_err(|_| format!("a table has 0 rows or more, not {rows}")))
            .map_err(|problem| Failure { file: self.file.clone(), line: self.line, problem })
    }

    /// What fills it, by a seed and the table's number: two tables draw nothing alike.
    pub fn generator(&self, given: &[Value], seed: u64, number: u64) -> Generator<'_> {
        let mut variables = vec![Value::Integer(0), Value::Integer(seed as i64)];
        variables.extend_from_slice(given);
        debug_assert_eq!(SEED + 1, BUILT_IN.len());
        Generator { table: self, variables, random: Random::of_stream(seed, number) }
    }
}

/// Gives a table's rows one after the other.
pub struct Generator<'t> {
    table: &'t Table,
    variables: Vec<Value>,
    random: Random,
}

impl Generator<'_> {
    /// The values of the row of this number, from 1.
    ///
    /// # Errors
    /// When an expression can't be evaluated.
    pub fn row(&mut self, number: u64, mut each: impl FnMut(Value)) -> Result<(), Failure> {
        self.variables[ROW] = Value::Integer(number as i64);
        for field in &self.table.fields {
            let variables = &self.variables;
            let value = evaluate(&field.value, &|place| variables.get(place), &mut self.random);
            each(value.map_err(|problem| Failure { file: self.table.file.clone(), line: field.line, problem })?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { name: "t.data".into(), text: text.into(), weight: 1 }
    }

    #[test]
    fn tables_are_filled_by_their_rules() {
        let text = "-- a table\n\\table t 2 * :scale\n\\column id :row\n  \\column b (:row - 1) / 2\n\\column c 'x'\n\\column d letters(3)\n";
        let tables = generators(&source(text), &["scale"]).expect("right");
        let given = [Value::Integer(2)];
        assert_eq!(tables[0].rows(&given), Ok(4));
        let rows = |seed: u64| {
            let mut generator = tables[0].generator(&given, seed, 0);
            let mut row = |number: u64| {
                let mut cells = Vec::new();
                generator.row(number, |value| cells.push(value.to_string())).expect("right");
                cells.join(",")
            };
            (1..=4).map(&mut row).collect::<Vec<_>>()
        };
        assert_eq!(rows(9), rows(9), "the same by the same seed");
        assert_ne!(rows(9), rows(10));
        let of_table = |number: u64| {
            let mut cells = Vec::new();
            tables[0].generator(&given, 9, number).row(1, |value| cells.push(value)).expect("right");
            cells
        };
        assert_ne!(of_table(0), of_table(1), "tables draw nothing alike");
        assert!(rows(9)[2].starts_with("3,1,x,"), "{:?}", rows(9));
    }

    #[test]
    fn what_is_no_rule_is_said_by_line_and_column() {
        let problem = |text: &str| {
            let all: Vec<String> =
                generators(&source(text), &[]).expect_err(text).iter().map(Problem::to_string).collect();
            all.join("\n")
        };
        assert_eq!(problem("\\column a 1"), "t.data:1:1: there is no `\\table` before this `\\column`");
        assert_eq!(problem("\\table t 1"), "t.data:1:1: the table `t` has no `\\column`");
        assert_eq!(
            problem("\\table t 1\n \\column a :b"),
            "t.data:2:12: nothing sets the variable `b`\nt.data:1:1: the table `t` has no `\\column`"
        );
        assert_eq!(problem("table t"), "t.data:1:1: a line is `\\table NAME ROWS`, `\\column NAME VALUE` or a comment");
        assert_eq!(
            problem("\\table t 1\n\\column a 1\n\\column a 2"),
            "t.data:3:9: the table `t` has this column already"
        );
        let negative = generators(&source("\\table t 1 - 2\n\\column a 1"), &[]).expect("right");
        assert_eq!(
            negative[0].rows(&[]).expect_err("negative").to_string(),
            "t.data:1: a table has 0 rows or more, not -1"
        );
    }
}
