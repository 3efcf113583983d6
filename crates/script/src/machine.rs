//! A connection's way through its scripts: which statement is next, with which values.

use crate::Failure;
use crate::evaluate::evaluate;
use crate::functions::DEFAULT_SEED;
use crate::parse::{Command, Kept, Program, Script};
use crate::statement::{Part, Statement, Verb};
use crate::value::Value;
use random::Random;
use std::fmt::Write as _;
use std::sync::Arc;

/// What a connection's random numbers come from.
#[derive(Debug, Clone)]
pub struct Seeds {
    /// Its own stream.
    pub random: Random,
    /// `:default_seed` and `:random_seed`, the same for all connections.
    pub shared: i64,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// The statement of [`Machine::statement`] is to be sent.
    Send,
    /// Nothing is sent for so many seconds.
    Sleep(f64),
    /// The script is done.
    End,
}

/// A sleep is no longer than this: a day.
const SLEEP_SECONDS_MAX: f64 = 86_400.0;

/// Where it is, and what it knows there.
#[derive(Debug)]
struct State {
    variables: Vec<Option<Value>>,
    random: Random,
    at: usize,
}

impl Clone for State {
    fn clone(&self) -> State {
        State { variables: self.variables.clone(), random: self.random.clone(), at: self.at }
    }

    /// Into the memory that is there: it is done before each transaction.
    fn clone_from(&mut self, other: &State) {
        self.variables.clone_from(&other.variables);
        self.random.clone_from(&other.random);
        self.at = other.at;
    }
}

/// A connection at work on scripts.
#[derive(Debug, Clone)]
pub struct Machine {
    program: Arc<Program>,
    script: usize,
    state: State,
    /// As it was before the transaction under way, or before the statement that is one by itself.
    before: State,
    /// Where the random numbers were when the transaction was rolled back last.
    reached: Option<Random>,
    is_open: bool,
    /// Of the scripts.
    weights: Vec<u64>,
    rows: u64,
    /// Numbers of statements, by script and command.
    numbers: Arc<Vec<Vec<usize>>>,
}

impl Machine {
    /// Of the connection of this number, with variables that the user gave.
    pub fn new(program: Arc<Program>, connection: usize, seeds: Seeds, given: &[(&str, Value)]) -> Machine {
        let mut variables = vec![None; program.names.len()];
        let mut set = |name: &str, value: Value| {
            if let Some(place) = program.place(name) {
                variables[place] = Some(value);
            }
        };
        set("client_id", Value::Integer(connection as i64));
        set("scale", Value::Integer(1));
        set("random_seed", Value::Integer(seeds.shared));
        set(DEFAULT_SEED, Value::Integer(seeds.shared));
        given.iter().for_each(|(name, value)| set(name, value.clone()));
        let mut number = 0;
        let mut number_of = |command: &Command| {
            let is_sent = matches!(command, Command::Send(..));
            number += usize::from(is_sent);
            number - usize::from(is_sent)
        };
        let numbers = program.scripts.iter().map(|script| script.commands.iter().map(|(_, c)| number_of(c)).collect());
        let weights = program.scripts.iter().map(|script| script.weight).collect();
        let numbers = Arc::new(numbers.collect());
        let state = State { variables, random: seeds.random, at: 0 };
        let (before, reached) = (state.clone(), None);
        Machine { program, script: 0, state, before, reached, is_open: false, weights, rows: 0, numbers }
    }

    /// Chooses the next script, by weight, and goes to its start.
    pub fn choose(&mut self) {
        let is_given_up = self.state.at < self.current().commands.len();
        // One that was given up is not drawn again: by the same values it would meet the same.
        if let Some(random) = self.reached.take().filter(|_| is_given_up) {
            self.state.random = random;
        }
        self.state.at = 0;
        self.is_open = false;
        if self.weights.len() > 1 {
            self.script = self.state.random.weighted(&self.weights);
        }
    }

    /// Which script was chosen.
    pub fn script(&self) -> usize {
        self.script
    }

    fn current(&self) -> &Script {
        &self.program.scripts[self.script]
    }

    /// Does what stands before the next statement, and says what that is.
    ///
    /// # Errors
    /// When an expression can't be evaluated.
    pub fn advance(&mut self) -> Result<Next, Failure> {
        let Machine { program, state, before, is_open, .. } = self;
        let script = &program.scripts[self.script];
        if !*is_open {
            before.clone_from(state);
        }
        loop {
            let Some((line, command)) = script.commands.get(state.at) else {
                return if *is_open { Err(left_open(script)) } else { Ok(Next::End) };
            };
            let mut value = |expression| {
                let variables = &state.variables;
                evaluate(expression, &|place| variables[place].as_ref(), &mut state.random)
            };
            let failed = |problem| Failure { file: script.name.clone(), line: *line, problem };
            match command {
                Command::Send(..) => return Ok(Next::Send),
                Command::Set(place, expression) => {
                    let value = value(expression).map_err(failed)?;
                    state.variables[*place] = Some(value);
                    state.at += 1;
                }
                Command::Unless(condition, target) => {
                    let is_true = value(condition).and_then(|value| value.truth()).map_err(failed)?;
                    state.at = if is_true { state.at + 1 } else { *target };
                }
                Command::Jump(target) => state.at = *target,
                Command::Sleep(time, unit_seconds) => {
                    let seconds = value(time).and_then(|time| time.double()).map_err(failed)? * unit_seconds;
                    if !(0.0..=SLEEP_SECONDS_MAX).contains(&seconds) {
                        return Err(failed(format!("a sleep of {seconds} s is not from 0 s to a day")));
                    }
                    state.at += 1;
                    return Ok(Next::Sleep(seconds));
                }
            }
        }
    }

    fn sent(&self) -> (&Statement, Option<&Kept>) {
        match &self.current().commands[self.state.at].1 {
            Command::Send(statement, kept) => (statement, kept.as_ref()),
            _ => unreachable!("`advance` stopped at a statement"),
        }
    }

    /// The statement that is next or under way.
    pub fn statement(&self) -> &Statement {
        self.sent().0
    }

    /// Its number among all statements of all scripts.
    pub fn number(&self) -> usize {
        self.numbers[self.script][self.state.at]
    }

    /// What becomes of its row.
    pub fn kept(&self) -> Option<&Kept> {
        self.sent().1
    }

    /// A variable's value.
    pub fn value(&self, place: usize) -> Option<&Value> {
        self.state.variables[place].as_ref()
    }

    /// The statement's text with its values in it; a variable that was never set stays as it is written.
    pub fn spell(&self, text: &mut String) {
        text.clear();
        for part in &self.statement().parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(place, name) => {
                    let _ = match self.value(*place) {
                        Some(value) => write!(text, "{value}"),
                        None => write!(text, ":{name}"),
                    };
                }
            }
        }
    }

    /// A row of the answer came.
    pub fn row(&mut self) {
        self.rows += 1;
    }

    /// The statement was answered: with `columns`, the names and values of the last row, when they are kept. Goes on behind it.
    ///
    /// # Errors
    /// When another number of rows came than `\gset` takes.
    pub fn answered(&mut self, columns: Option<Vec<(String, Option<String>)>>) -> Result<(), Failure> {
        let rows = std::mem::take(&mut self.rows);
        self.is_open = self.statement().leaves_open(self.is_open);
        if let Some(Kept { prefix, is_one_row }) = self.kept().cloned() {
            if is_one_row && rows != 1 {
                let problem = format!("`\\gset` takes one row, and {rows} came");
                let (line, _) = self.current().commands[self.state.at];
                return Err(Failure { file: self.current().name.clone(), line, problem });
            }
            for (name, value) in columns.into_iter().flatten() {
                if let Some(place) = self.program.place(&format!("{prefix}{name}")) {
                    self.state.variables[place] = Some(value.map_or(Value::Null, |value| Value::Text(value.into())));
                }
            }
        }
        self.state.at += 1;
        Ok(())
    }

    /// Whether a transaction is open: statements since its BEGIN are undone with it.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the answer to the statement under way acknowledges a commit.
    pub fn commits(&self) -> bool {
        let verbs = &self.statement().verbs;
        verbs.contains(&Verb::Commit) || !self.is_open && !verbs.contains(&Verb::Begin)
    }

    /// The transaction was rolled back: the same variables and random numbers as before it.
    pub fn rolled_back(&mut self) {
        self.reached = Some(self.state.random.clone());
        self.state.clone_from(&self.before);
        (self.is_open, self.rows) = (false, 0);
    }
}

/// Work that nobody committed would be counted as done.
fn left_open(script: &Script) -> Failure {
    let line = script.commands.last().map_or(1, |(line, _)| *line);
    let problem = "the script ends amid a transaction: end it by COMMIT or ROLLBACK".into();
    Failure { file: script.name.clone(), line, problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::Source;

    fn machine(texts: &[(&str, u64)]) -> Machine {
        let source = |(number, (text, weight)): (usize, &(&str, u64))| Source {
            name: format!("{number}.sql"),
            text: (*text).into(),
            weight: *weight,
        };
        let sources: Vec<Source> = texts.iter().enumerate().map(source).collect();
        let program = Program::new(&sources, &["given"], false).expect("right");
        let seeds = Seeds { random: Random::new(3), shared: 42 };
        let mut machine = Machine::new(Arc::new(program), 5, seeds, &[("given", Value::Text("7".into()))]);
        machine.choose();
        machine
    }

    /// What a script sends and does, with these rows as answers to the statements whose row is kept.
    fn through(machine: &mut Machine, mut rows: Vec<Vec<(&str, Option<&str>)>>) -> Vec<String> {
        let (mut all, mut text) = (Vec::new(), String::new());
        loop {
            match machine.advance() {
                Ok(Next::End) => return all,
                Ok(Next::Sleep(seconds)) => all.push(format!("sleep {seconds}")),
                Err(failure) => {
                    all.push(failure.to_string());
                    return all;
                }
                Ok(Next::Send) => {
                    machine.spell(&mut text);
                    all.push(text.clone());
                    let row = machine.kept().is_some().then(|| rows.remove(0));
                    let owned = |(name, value): (&str, Option<&str>)| (name.to_string(), value.map(str::to_string));
                    let row = row.filter(|row| !row.is_empty()).map(|row| row.into_iter().map(owned).collect());
                    if row.is_some() {
                        machine.row();
                    }
                    if let Err(failure) = machine.answered(row) {
                        all.push(failure.to_string());
                        return all;
                    }
                }
            }
        }
    }

    #[test]
    fn a_script_does_what_its_commands_say() {
        let text = "\\set a 1 + :given\nSELECT :a, :client_id, :scale, :default_seed, ':a';\n\\sleep 20 ms\n\\sleep :a us\n\\sleep 3ms\nEND";
        assert_eq!(
            through(&mut machine(&[(text, 1)]), Vec::new()),
            ["SELECT 8, 5, 1, 42, '8'", "sleep 0.02", "sleep 0.000008", "sleep 0.003", "END"]
        );
    }

    #[test]
    fn branches_are_taken_by_their_conditions() {
        let text = "\\if :given > 6\n\\if false\nA;\n\\elif 1\nB;\n\\else\nC;\n\\endif\nD;\n\\else\nE;\n\\endif\nF;";
        assert_eq!(through(&mut machine(&[(text, 1)]), Vec::new()), ["B", "D", "F"]);
        let text = "\\if :given < 6\nA;\n\\elif :given is null\nB;\n\\endif\nC;";
        assert_eq!(through(&mut machine(&[(text, 1)]), Vec::new()), ["C"]);
    }

    #[test]
    fn rows_become_variables() {
        let text = "SELECT 1 AS x, 'y' AS y, NULL AS z \\gset p_\n\\set sum :p_x + 1\nSELECT :sum, :p_y, :p_z, :q;\nSELECT 2 \\gset";
        let rows = vec![vec![("x", Some("41")), ("y", Some("why")), ("z", None)], Vec::new()];
        assert_eq!(
            through(&mut machine(&[(text, 1)]), rows),
            [
                "SELECT 1 AS x, 'y' AS y, NULL AS z",
                "SELECT 42, why, NULL, :q",
                "SELECT 2",
                "0.sql:4: `\\gset` takes one row, and 0 came"
            ]
        );
    }

    #[test]
    fn a_transaction_that_met_another_is_the_same_again() {
        let text = "SELECT 1;\n\\set a random(1, 1000000000)\nBEGIN;\nSELECT :a;\n\\set b random(1, 1000000000)\nSELECT :b;\nCOMMIT;";
        let mut machine = machine(&[(text, 1)]);
        let mut sent = Vec::new();
        let mut spelled = String::new();
        let mut step = |machine: &mut Machine| {
            assert_eq!(machine.advance(), Ok(Next::Send));
            machine.spell(&mut spelled);
            sent.push((spelled.clone(), machine.is_open(), machine.commits()));
        };
        for _ in 0..3 {
            step(&mut machine);
            machine.answered(None).expect("right");
        }
        // The fourth statement is refused.
        step(&mut machine);
        machine.rolled_back();
        for _ in 0..4 {
            step(&mut machine);
            machine.answered(None).expect("right");
        }
        assert_eq!(machine.advance(), Ok(Next::End));
        assert_eq!(sent[1..4], sent[4..7]);
        assert_eq!((sent[0].1, sent[0].2), (false, true), "a statement by itself is its own commit");
        assert_eq!((sent[1].1, sent[1].2), (false, false), "BEGIN");
        assert_eq!((sent[3].1, sent[3].2), (true, false));
        assert_eq!((sent[7].1, sent[7].2), (true, true), "COMMIT");
    }

    /// Of a key that is taken, or without `retry`, each later transaction would be given up, too.
    #[test]
    fn one_that_was_given_up_is_not_drawn_again() {
        let mut machine = machine(&[("\\set a random(1, 1000000000)\nINSERT :a;", 1)]);
        let sent = |machine: &mut Machine| {
            assert_eq!(machine.advance(), Ok(Next::Send));
            let mut text = String::new();
            machine.spell(&mut text);
            text
        };
        let first = sent(&mut machine);
        machine.rolled_back();
        assert_eq!(sent(&mut machine), first, "it is tried again");
        machine.rolled_back();
        machine.choose();
        let second = sent(&mut machine);
        assert_ne!(second, first);
        machine.rolled_back();
        assert_eq!(sent(&mut machine), second);
        machine.answered(None).expect("right");
        assert_eq!(machine.advance(), Ok(Next::End));
        machine.choose();
        let third = sent(&mut machine);
        assert!(third != first && third != second);
    }

    #[test]
    fn scripts_are_chosen_by_their_weights() {
        let mut machine = machine(&[("A", 1), ("B", 0), ("C", 3)]);
        let mut counts = [0_u32; 3];
        (0..20_000).for_each(|_| {
            machine.choose();
            counts[machine.script()] += 1;
        });
        // Five standard deviations of a quarter among 20,000 are 306.
        assert_eq!(counts[1], 0);
        assert!((4_694..=5_306).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn what_can_not_go_on_says_its_line() {
        let text = "SELECT 1;\n\n\\set a 1 / 0";
        assert_eq!(through(&mut machine(&[(text, 1)]), Vec::new()), ["SELECT 1", "0.sql:3: division by zero"]);
        assert_eq!(
            through(&mut machine(&[("BEGIN;\nUPDATE t SET a = 1;\n", 1)]), Vec::new())[2],
            "0.sql:2: the script ends amid a transaction: end it by COMMIT or ROLLBACK"
        );
        let text = "\\set a case when 1 = 2 then 1 end\n\\sleep :a";
        let said = through(&mut machine(&[(text, 1)]), Vec::new());
        assert!(said[0].starts_with("0.sql:2: a number is expected, and NULL found"), "{said:?}");
    }
}
