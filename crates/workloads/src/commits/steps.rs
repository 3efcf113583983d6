//! The same commits one by one, by a caller who decides what comes next: what a failing disk is measured with. One stream, so that
//! the same requests come to the disk again.

use super::look::{self, Look};
use super::rule::Rule;
use super::target::{Client, CommitTarget};
use super::{Acknowledge, Parameters};
use load::sql::Place;
use load::workload::Error;
use serde_json::{Map, Value};

/// The stream that commits.
pub const STREAM: u32 = 0;

/// What commits are made to.
pub struct Steps {
    target: Box<dyn CommitTarget>,
    rule: Rule,
    checkpoints: bool,
    acknowledge: Acknowledge,
}

/// Why a commit was not acknowledged.
#[derive(Debug)]
pub struct NotAcknowledged {
    /// What the client was told.
    pub error: Error,
    /// Whether it was told of no end at all, as its connection was lost.
    pub is_unknown: bool,
}

/// A connection that commits.
pub struct Connected<'a> {
    client: Box<dyn Client + 'a>,
    acknowledge: Acknowledge,
}

impl Steps {
    /// By checked parameters of the load.
    #[must_use]
    pub fn new(parameters: &Map<String, Value>) -> Steps {
        let parameters = Parameters::from_map(parameters);
        let (target, rule) = (parameters.target(), parameters.rule());
        Steps { target, rule, checkpoints: parameters.checkpoints(), acknowledge: parameters.acknowledge }
    }

    /// Opens the connection that commits.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub fn connect(&self, place: &Place) -> Result<Connected<'_>, Error> {
        let client = self.target.connect(place, self.rule, STREAM)?;
        Ok(Connected { client, acknowledge: self.acknowledge })
    }

    /// Asks for a checkpoint, where the database has them.
    ///
    /// # Errors
    /// When it fails.
    pub fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        if self.checkpoints { self.target.checkpoint(place) } else { Ok(()) }
    }

    /// What the database holds; commits that were refused may be missing between others.
    ///
    /// # Errors
    /// When it can't say.
    pub fn look(&self, place: &Place) -> Result<Look, Error> {
        Ok(look::with_gaps(self.rule, &*self.target, &self.target.ask(place)?))
    }
}

impl Connected<'_> {
    /// Makes the transaction with this number.
    ///
    /// # Errors
    /// When it was not acknowledged.
    pub fn commit(&mut self, number: u64) -> Result<(), NotAcknowledged> {
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

    /// Gives up the transaction that was not acknowledged, as a client does that goes on.
    ///
    /// # Errors
    /// When the connection is of no more use.
    pub fn give_up(&mut self) -> Result<(), Error> {
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
