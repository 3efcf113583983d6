//! Transactions one by one.

use super::look::{self, Look};
use super::rule::Rule;
use super::target::{Client, CommitTarget};
use super::{Acknowledge, Parameters};
use crate::steps::{Attempted, Connected, NotAcknowledged, STREAM, Steps};
use load::sql::Place;
use load::workload::Error;

/// What transactions are made on.
pub(super) struct Transactions {
    target: Box<dyn CommitTarget>,
    rule: Rule,
    checkpoints: bool,
    acknowledge: Acknowledge,
}

impl Transactions {
    pub(super) fn new(parameters: &Parameters) -> Transactions {
        let (target, rule) = (parameters.target(), parameters.rule());
        Transactions { target, rule, checkpoints: parameters.checkpoints(), acknowledge: parameters.acknowledge }
    }
}

impl Steps for Transactions {
    fn connect(&self, place: &Place) -> Result<Box<dyn Connected + '_>, Error> {
        let client = self.target.connect(place, self.rule, STREAM)?;
        Ok(Box::new(Session { client, acknowledge: self.acknowledge }))
    }

    fn write_out(&self, place: &Place) -> Result<(), Error> {
        if self.checkpoints { self.target.write_out(place) } else { Ok(()) }
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        if self.checkpoints { self.target.checkpoint(place) } else { Ok(()) }
    }

    fn look(&self, place: &Place, _tried: &[Attempted]) -> Result<Look, Error> {
        Ok(look::with_gaps(self.rule, &*self.target, &self.target.ask(place)?))
    }
}

struct Session<'a> {
    client: Box<dyn Client + 'a>,
    acknowledge: Acknowledge,
}

impl Connected for Session<'_> {
    fn commit(&mut self, number: u64) -> Result<(), NotAcknowledged> {
        match self.client.commit(number, &|| true) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => {
                let error = Error::Parameter { setting: "connections", problem: "another has the lock".into() };
                Err(NotAcknowledged { error, is_unknown: false })
            }
            // A planted bug: whatever the database answers, the client takes it for a yes.
            Err(_) if self.acknowledge == Acknowledge::Always => {
                let _ = self.client.give_up();
                Ok(())
            }
            Err(error) => Err(NotAcknowledged { is_unknown: is_lost(&error), error }),
        }
    }

    fn give_up(&mut self) -> Result<(), Error> {
        self.client.give_up()
    }
}

fn is_lost(error: &Error) -> bool {
    match error {
        Error::Engine { source, .. } => source.downcast_ref::<wire::Error>().is_some_and(wire::Error::is_lost),
        // Its process has ended.
        Error::Program { .. } => true,
        _ => false,
    }
}
