//! A connection's transactions: the crate `script` says what is next, the driver of `load` sends it.

use load::sql_load::{Class, Keep, Next, PARAMS_MAX, Script};
use load::workload::Error;
use random::Random;
use script::{Failure, Machine, Program, Seeds, Value, Verb};
use std::sync::Arc;
use std::time::Instant;
use wire::{Conflict, NamedRow, Param};

/// One connection.
pub struct Connection {
    program: Arc<Program>,
    machine: Machine,
    row: Option<NamedRow>,
}

impl Connection {
    /// Of this number, in the run of this number; `given` are the user's variables.
    pub fn new(program: &Arc<Program>, number: usize, (seed, run): (u64, u64), given: &[(&str, Value)]) -> Connection {
        let random = Random::of_stream(seed, run << 32 | number as u64);
        // Positive, as pgbench's are.
        let seeds = Seeds { random, shared: (seed >> 1) as i64 };
        let machine = Machine::new(Arc::clone(program), number, seeds, given);
        Connection { program: Arc::clone(program), machine, row: None }
    }
}

fn failed(failure: Failure) -> Error {
    Error::engine("the script", "go on", failure)
}

impl Script for Connection {
    fn texts(&self, _begin: &str) -> Vec<String> {
        self.program.statements().map(script::Statement::prepared).collect()
    }

    fn draw(&mut self) {
        self.machine.choose();
    }

    fn kinds(&self) -> Vec<String> {
        self.program.scripts.iter().map(|script| script.name.clone()).collect()
    }

    fn kind(&self) -> usize {
        self.machine.script()
    }

    /// Nobody knows before.
    fn steps(&self) -> usize {
        0
    }

    fn is_transaction(&self) -> bool {
        false
    }

    fn next(&mut self, _step: usize) -> Result<Next, Error> {
        Ok(match self.machine.advance().map_err(failed)? {
            script::Next::Send => Next::Send,
            script::Next::Sleep(seconds) => Next::Sleep(seconds),
            script::Next::End => Next::End,
        })
    }

    fn is_open(&self, _step: usize) -> bool {
        // One that the message itself began may be open, too.
        self.machine.is_open() || self.machine.statement().verbs.contains(&Verb::Begin)
    }

    fn commits(&self, _step: usize) -> bool {
        self.machine.commits()
    }

    fn text(&self, _step: usize) -> usize {
        self.machine.number()
    }

    fn class(&self, _step: usize) -> Class {
        let verbs = &self.machine.statement().verbs;
        if verbs.contains(&Verb::Write) {
            Class::Write
        } else if verbs.contains(&Verb::Read) {
            Class::Read
        } else {
            Class::Other
        }
    }

    fn params<'a>(&'a self, _step: usize, params: &mut [Param<'a>; PARAMS_MAX]) -> usize {
        let mut count = 0;
        for (param, place) in params.iter_mut().zip(self.machine.statement().variables()) {
            *param = match self.machine.value(place) {
                None | Some(Value::Null) => Param::Null,
                Some(Value::Boolean(boolean)) => Param::Boolean(*boolean),
                Some(Value::Integer(integer)) => Param::Integer(*integer),
                Some(Value::Double(double)) => Param::Double(*double),
                Some(Value::Text(text)) => Param::Text(text),
            };
            count += 1;
        }
        count
    }

    fn spell(&self, _step: usize, _text: &str, spelled: &mut String) {
        self.machine.spell(spelled);
    }

    fn keeps_row(&self, _step: usize) -> Option<Keep> {
        self.machine.kept().map(|_| Keep::Named)
    }

    fn kept(&mut self, _step: usize, row: Option<NamedRow>) {
        self.row = row;
    }

    fn row(&mut self, _step: usize, _value: wire::Value) {
        self.machine.row();
    }

    fn answered(&mut self, _step: usize, _changed: u64) -> Result<(), Error> {
        self.machine.answered(self.row.take()).map_err(failed)
    }

    /// Nobody knows how wide the user's rows are.
    fn committed(&mut self, _began: Instant, _ended: Instant) -> u64 {
        0
    }

    fn rolled_back(&mut self, _conflict: Option<Conflict>) {
        self.row = None;
        self.machine.rolled_back();
    }

    fn unknown(&mut self, _began: Instant, _ended: Instant) {}
}
