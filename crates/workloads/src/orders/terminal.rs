//! A terminal: one connection's transactions, a statement at a time, with what the answers before have said.

use super::names::uniform;
use super::statements::{self, Sql};
use super::transaction::{Customer, Inputs, KINDS, Kind, Mix};
use load::sql::{Dialect, same};
use load::sql_load::{Class, Keep, Next, PARAMS_MAX, Script};
use load::workload::Error;
use random::Random;
use std::fmt::Write as _;
use std::time::Instant;
use wire::{Conflict, NamedRow, Param, Value};

/// What all terminals of a load have in common.
#[derive(Clone)]
pub struct Shared {
    /// Warehouses.
    pub warehouses: i64,
    /// How often each kind comes.
    pub mix: Mix,
    /// Whether users key in and think, each at a warehouse of their own.
    pub thinks: bool,
    /// Of the database.
    pub dialect: &'static Dialect,
}

/// What happened, by kind of transaction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Acknowledged.
    pub committed: u64,
    /// Ended by their own rollback, as one of a hundred orders asks for an item that is not there.
    pub rolled_back: u64,
    /// Met a deadlock.
    pub deadlocks: u64,
    /// Met any conflict.
    pub conflicts: u64,
    /// Lost at the commit.
    pub unknown: u64,
}

impl Counts {
    /// Adds another terminal's.
    pub fn add(&mut self, other: Counts) {
        load::add_up! { self, other; committed, rolled_back, deadlocks, conflicts, unknown }
    }
}

/// What the answers so far said.
#[derive(Debug, Default)]
struct Known {
    customer: i64,
    order: i64,
    price_cents: i64,
    quantity: i64,
    district_info: String,
    data: String,
    sum_cents: i64,
    has_bad_credit: bool,
    /// Customers of a name, in order of their first names.
    found: Vec<i64>,
    rows: u64,
    ends_by_rollback: bool,
}

/// One terminal.
pub struct Terminal {
    shared: Shared,
    number: usize,
    random: Random,
    /// Drawn before its keying time.
    coming: Option<Kind>,
    inputs: Inputs,
    steps: Vec<(Sql, usize)>,
    known: Known,
    row: Option<NamedRow>,
    /// In the order of [`KINDS`].
    pub counts: [Counts; 5],
}

/// As long as `c_data` may be (2.5.2.2).
const DATA_BYTES_MAX: usize = 500;

impl Terminal {
    /// Of this number.
    pub fn new(shared: &Shared, number: usize, mut random: Random) -> Terminal {
        let inputs = Inputs::draw(&mut random, Kind::StockLevel, 1, shared.warehouses);
        let (shared, known, counts) = (shared.clone(), Known::default(), [Counts::default(); 5]);
        Terminal { shared, number, random, coming: None, inputs, steps: Vec::new(), known, row: None, counts }
    }

    fn begin_again(&mut self) {
        self.steps = self.inputs.steps();
        self.known = Known::default();
        if let Customer::Number(number) = self.inputs.customer {
            self.known.customer = number;
        }
        self.row = None;
    }

    /// What a statement's answer of so many rows says for the ones to come.
    fn learn(&mut self, sql: Sql, step: usize, rows: u64) -> Result<(), Error> {
        match sql {
            Sql::Item if rows == 0 => {
                self.steps.truncate(step + 1);
                self.steps.push((Sql::Rollback, 0));
                self.known.ends_by_rollback = true;
            }
            Sql::Stock => {
                let mut row = self.row.take().unwrap_or_default().into_iter().filter_map(|(_, value)| value);
                let (quantity, info) = (row.next().unwrap_or_default(), row.next().unwrap_or_default());
                self.known.quantity = quantity.parse().map_err(|_| wrong("a stock's quantity", &quantity))?;
                self.known.district_info = info;
            }
            Sql::CustomersByName => {
                let found = &self.known.found;
                // The one in the middle, rounded up (2.5.2.2).
                let middle = found.len().div_ceil(2).checked_sub(1).and_then(|index| found.get(index));
                self.known.customer = *middle.ok_or_else(|| wrong("a customer of this name", "none"))?;
            }
            Sql::CustomerToPay if self.known.has_bad_credit => {
                self.steps.splice(step + 1..step + 2, [(Sql::CustomerData, 0), (Sql::PayCustomerWithData, 0)]);
            }
            // Another terminal took the last one of this district, or there was none: it is skipped (2.7.4.2).
            Sql::OldestNewOrder if rows == 0 => drop(self.steps.drain(step + 1..step + 7)),
            _ => {}
        }
        Ok(())
    }

    /// Parameters of what is asked for a line of a new order.
    fn line_params<'a>(&'a self, sql: Sql, number: usize, put: &mut Put<'_, 'a>) {
        let (i, known, line) = (&self.inputs, &self.known, &self.inputs.lines[number]);
        match sql {
            Sql::Item => put.integers(&[line.item]),
            Sql::UpdateStock => {
                let is_remote = i64::from(line.supplier != i.warehouse);
                put.integers(&[known.quantity, line.quantity, is_remote, line.supplier, line.item]);
            }
            Sql::InsertLine => {
                put.integers(&[known.order, i.district, i.warehouse, number as i64 + 1]);
                put.integers(&[line.item, line.supplier, line.quantity]);
                put.cents(line.quantity * known.price_cents);
                put.text(&known.district_info);
            }
            _ => put.integers(&[line.supplier, line.item]),
        }
    }

    /// `c_data` after this payment: what it was about, before what stood there.
    fn paid_data(&mut self) {
        let (i, known) = (&self.inputs, &mut self.known);
        let mut data = String::with_capacity(DATA_BYTES_MAX + 64);
        let (warehouse, district) = i.customer_at;
        let cents = i.amount_cents;
        let Known { customer, data: before, .. } = &*known;
        let own = format!("{} {}", i.district, i.warehouse);
        let _ = write!(data, "{customer} {district} {warehouse} {own} {}.{:02}|{before}", cents / 100, cents % 100);
        data.truncate(DATA_BYTES_MAX);
        known.data = data;
    }
}

fn wrong(expected: &str, found: &str) -> Error {
    Error::wrong_data("an answer of the orders", expected, found)
}

/// Rows that a statement must give or change; none: any number.
fn rows_due(sql: Sql) -> Option<u64> {
    match sql {
        Sql::Begin | Sql::Commit | Sql::Rollback | Sql::Item | Sql::CustomersByName | Sql::OldestNewOrder => None,
        Sql::OrderLines | Sql::DeliverLines => None,
        _ => Some(1),
    }
}

impl Script for Terminal {
    fn texts(&self, begin: &str) -> Vec<String> {
        statements::texts(begin, self.shared.dialect)
    }

    fn draw(&mut self) {
        let kind = self.coming.take().unwrap_or_else(|| self.shared.mix.draw(&mut self.random));
        let warehouses = self.shared.warehouses;
        // Who thinks sits at one terminal (2.4.1.1); else all warehouses are as busy with any number of connections.
        let own = self.number as i64 % warehouses + 1;
        let warehouse = if self.shared.thinks { own } else { uniform(&mut self.random, 1, warehouses) };
        self.inputs = Inputs::draw(&mut self.random, kind, warehouse, warehouses);
        self.begin_again();
    }

    fn pause_seconds(&mut self, is_first: bool, _think_seconds: f64) -> f64 {
        if !self.shared.thinks {
            return 0.0;
        }
        let thinking = if is_first { 0.0 } else { self.inputs.kind.thinking_seconds(&mut self.random) };
        let coming = self.shared.mix.draw(&mut self.random);
        self.coming = Some(coming);
        thinking + coming.keying_seconds()
    }

    fn kinds(&self) -> Vec<String> {
        KINDS.iter().map(|(_, name)| (*name).to_string()).collect()
    }

    fn kind(&self) -> usize {
        self.inputs.kind.number()
    }

    fn steps(&self) -> usize {
        self.steps.len()
    }

    fn is_transaction(&self) -> bool {
        true
    }

    fn next(&mut self, step: usize) -> Result<Next, Error> {
        let Some((sql, line)) = self.steps.get(step).copied() else { return Ok(Next::End) };
        if sql == Sql::PayCustomerWithData {
            self.paid_data();
        }
        if sql == Sql::UpdateStock {
            // As much as 2.4.2.2 orders anew.
            let wanted = self.inputs.lines[line].quantity;
            let left = self.known.quantity - wanted;
            self.known.quantity = if left >= 10 { left } else { left + 91 };
        }
        Ok(Next::Send)
    }

    fn text(&self, step: usize) -> usize {
        statements::number(self.steps[step].0, self.inputs.district)
    }

    fn class(&self, step: usize) -> Class {
        self.steps[step].0.class()
    }

    fn params<'a>(&'a self, step: usize, params: &mut [Param<'a>; PARAMS_MAX]) -> usize {
        let ((sql, line), i, known) = (self.steps[step], &self.inputs, &self.known);
        let (w, d, c) = (i.warehouse, i.district, known.customer);
        let (cw, cd) = i.customer_at;
        let delivered = line as i64;
        let mut put = Put { params, count: 0 };
        match sql {
            Sql::Begin | Sql::Commit | Sql::Rollback => {}
            Sql::WarehouseAndCustomer => put.integers(&[w, d, c]),
            Sql::District | Sql::DistrictAddress | Sql::NextOrderOfDistrict => put.integers(&[w, d]),
            Sql::NextOrder => put.integers(&[known.order + 1, w, d]),
            Sql::InsertOrder => {
                let is_local = i.lines.iter().all(|line| line.supplier == w);
                put.integers(&[known.order, d, w, c, i.lines.len() as i64, i64::from(is_local)]);
            }
            Sql::InsertNewOrder => put.integers(&[known.order, d, w]),
            Sql::Item | Sql::Stock | Sql::UpdateStock | Sql::InsertLine => self.line_params(sql, line, &mut put),
            Sql::PayWarehouse => {
                put.cents(i.amount_cents);
                put.integers(&[w]);
            }
            Sql::WarehouseAddress => put.integers(&[w]),
            Sql::PayDistrict => {
                put.cents(i.amount_cents);
                put.integers(&[w, d]);
            }
            Sql::CustomersByName => {
                put.integers(&[cw, cd]);
                if let Customer::Name(name) = &i.customer {
                    put.text(name);
                }
            }
            Sql::CustomerToPay | Sql::CustomerData | Sql::CustomerBalance | Sql::LastOrder => {
                put.integers(&[cw, cd, c])
            }
            Sql::PayCustomer | Sql::PayCustomerWithData => {
                put.cents(i.amount_cents);
                put.cents(i.amount_cents);
                if sql == Sql::PayCustomerWithData {
                    put.text(&known.data);
                }
                put.integers(&[cw, cd, c]);
            }
            Sql::InsertHistory => {
                put.integers(&[c, cd, cw, d, w]);
                put.cents(i.amount_cents);
                put.text("payment at a terminal");
            }
            Sql::OrderLines => put.integers(&[cw, cd, known.order]),
            Sql::OldestNewOrder => put.integers(&[w, delivered]),
            Sql::DeleteNewOrder | Sql::CustomerOfOrder | Sql::DeliverLines | Sql::SumOfLines => {
                put.integers(&[w, delivered, known.order]);
            }
            Sql::CarryOrder => put.integers(&[i.carrier, w, delivered, known.order]),
            Sql::DeliverToCustomer => {
                put.cents(known.sum_cents);
                put.integers(&[w, delivered, c]);
            }
            Sql::LowStock => put.integers(&[w, d, known.order, known.order - 20, w, i.threshold]),
        }
        put.count
    }

    fn keeps_row(&self, step: usize) -> Option<Keep> {
        (self.steps[step].0 == Sql::Stock).then_some(Keep::Values)
    }

    fn kept(&mut self, _step: usize, row: Option<NamedRow>) {
        self.row = row;
    }

    fn row(&mut self, step: usize, value: Value) {
        let known = &mut self.known;
        known.rows += 1;
        let integer = || value.integer().unwrap_or_default();
        let cents = || (value.number().unwrap_or_default() * 100.0).round() as i64;
        match self.steps[step].0 {
            Sql::District | Sql::LastOrder | Sql::OldestNewOrder | Sql::NextOrderOfDistrict => known.order = integer(),
            Sql::Item => known.price_cents = cents(),
            Sql::CustomersByName => known.found.push(integer()),
            Sql::CustomerToPay => known.has_bad_credit = value.text() == Some("BC"),
            Sql::CustomerData => known.data = value.text().unwrap_or_default().into(),
            Sql::CustomerOfOrder => known.customer = integer(),
            Sql::SumOfLines => known.sum_cents = cents(),
            _ => {}
        }
    }

    fn answered(&mut self, step: usize, changed: u64) -> Result<(), Error> {
        let (sql, _) = self.steps[step];
        let rows = std::mem::take(&mut self.known.rows);
        let found = if sql.class() == Class::Write { changed } else { rows };
        // Words cost more than the statement: only where they are needed.
        if let Some(due) = rows_due(sql).filter(|due| *due != found) {
            same(&format!("rows of {sql:?} in {:?}", self.inputs), &due.to_string(), &found.to_string())?;
        }
        self.learn(sql, step, rows)
    }

    fn committed(&mut self, _began: Instant, _ended: Instant) -> u64 {
        let counts = &mut self.counts[self.inputs.kind.number()];
        if self.known.ends_by_rollback {
            counts.rolled_back += 1;
        } else {
            counts.committed += 1;
        }
        0
    }

    fn rolled_back(&mut self, conflict: Option<Conflict>) {
        let counts = &mut self.counts[self.inputs.kind.number()];
        counts.conflicts += u64::from(conflict.is_some());
        counts.deadlocks += u64::from(conflict == Some(Conflict::Deadlock));
        self.begin_again();
    }

    fn unknown(&mut self, _began: Instant, _ended: Instant) {
        self.counts[self.inputs.kind.number()].unknown += 1;
    }
}

/// Fills in parameters.
struct Put<'p, 'a> {
    params: &'p mut [Param<'a>; PARAMS_MAX],
    count: usize,
}

impl<'a> Put<'_, 'a> {
    fn put(&mut self, param: Param<'a>) {
        self.params[self.count] = param;
        self.count += 1;
    }

    fn integers(&mut self, values: &[i64]) {
        values.iter().for_each(|value| self.put(Param::Integer(*value)));
    }

    fn cents(&mut self, cents: i64) {
        self.put(Param::Double(cents as f64 / 100.0));
    }

    fn text(&mut self, text: &'a str) {
        self.put(Param::Text(text));
    }
}
