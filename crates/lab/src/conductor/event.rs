//! What the conductor tells whoever watches, and why it stopped or could not go on.

use crate::bench::{self, End};
use crate::values::Values;
use ledger::model::{Phase, Screened};
use ledger::reasons;
use observe::faults::FaultsFound;
use observe::record::{Failure, Record};
use observe::safety::Safety;

/// What the conductor tells whoever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial starts.
    TrialStarted {
        /// Its number, from 1, over all sessions of the study.
        number: usize,
        /// How many trials the study has at most.
        total_max: usize,
        /// What it is for.
        phase: Phase,
        /// Round of that phase, from 0.
        round: u32,
        /// Scenario.
        scenario: &'a str,
    },
    /// A scenario's turn begins.
    TurnStarted {
        /// Scenario.
        scenario: &'a str,
        /// Which of its turns in this round, from 1.
        number: u32,
        /// How many it has.
        of: u32,
    },
    /// A trial says something.
    Record(&'a Record),
    /// A trial ended.
    TrialEnded {
        /// Scenario.
        scenario: &'a str,
        /// How.
        end: &'a End,
        /// How long it took.
        seconds: f64,
    },
    /// A screen is complete.
    Screened(&'a Screened),
    /// A main round is complete.
    RoundEnded {
        /// Round, from 0.
        round: u32,
        /// What is known so far.
        values: &'a Values,
        /// What the stop rule says, in words.
        decision: String,
    },
    /// Power cuts or faults of a scenario begin.
    SafetyStarted {
        /// Which of the two.
        what: What,
        /// Which of the scenarios that are left, from 1.
        number: usize,
        /// How many are left.
        total: usize,
        /// Scenario.
        scenario: &'a str,
    },
    /// Power cuts or faults of a scenario ended.
    SafetyEnded {
        /// Which of the two.
        what: What,
        /// Scenario.
        scenario: &'a str,
        /// How.
        ended: &'a Ended,
        /// How long it took.
        seconds: f64,
    },
}

/// What a disk may do to a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Its power is cut.
    PowerCuts,
    /// It fails.
    Faults,
}

impl What {
    /// In words, as the terminal says it.
    pub fn words(self) -> &'static str {
        if self == What::PowerCuts { "power cuts" } else { "faults" }
    }
}

/// How the measurement of one scenario ended.
#[derive(Debug)]
pub enum Ended {
    /// It was measured what a power cut takes.
    Measured(Box<Safety>),
    /// It was measured what a failing disk does.
    Faults(Box<FaultsFound>),
    /// It could not be, for this reason.
    Not(Failure),
    /// The user interrupted.
    Interrupted,
}

/// Why the study stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Every primary contrast is as narrow as was wanted.
    PrecisionReached,
    /// The last round that the study allows is done.
    RoundsMax,
    /// The next round would not fit into the time budget.
    TimeBudget,
    /// New rounds of the pick were begun before, so that no main round is measured any more.
    ChoiceClosed,
    /// The user interrupted.
    Interrupted,
    /// Every scenario has been given up.
    NothingLeft,
    /// Of every workload so many scenarios have been given up that nothing is left to compare.
    NothingToCompare,
    /// All but one scenario are shown to be worse.
    OneLeft,
    /// A screened scenario has no value, or stalled.
    ScreenFailed,
    /// What a power cut takes was all that was asked for, and is known.
    SafetyKnown,
    /// The same, but of some scenarios it could not be measured.
    SafetyHoles,
    /// What a failing disk does was all that was asked for, and is known.
    FaultsKnown,
    /// The same, but of some scenarios it could not be measured.
    FaultsHoles,
}

impl Stop {
    /// In words, as the ledger and the terminal say it.
    pub fn words(self) -> &'static str {
        match self {
            Stop::PrecisionReached => "the wanted precision is reached",
            Stop::RoundsMax => "all rounds are done",
            Stop::TimeBudget => "the next round would not fit into the time budget",
            Stop::ChoiceClosed => "new rounds have closed the choice, so that no other round is measured",
            Stop::Interrupted => reasons::INTERRUPTED,
            Stop::NothingLeft => "every scenario failed",
            Stop::NothingToCompare => "so many scenarios failed that nothing is left to compare",
            Stop::ScreenFailed => {
                "a screened scenario has no value or stalled, so that the screen can't tell factors apart"
            }
            Stop::SafetyKnown => reasons::SAFETY_KNOWN,
            Stop::SafetyHoles => reasons::SAFETY_HOLES,
            Stop::FaultsKnown => reasons::FAULTS_KNOWN,
            Stop::FaultsHoles => reasons::FAULTS_HOLES,
            Stop::OneLeft => "every other scenario is shown to be worse",
        }
    }
}

/// Why the study could not be conducted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bench could not start a trial.
    #[error(transparent)]
    Bench(#[from] bench::Error),
    /// The ledger could not be written.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

/// Why a phase, and with it all that follow but the last, was cut off.
pub(super) enum Cut {
    Stop(Stop),
    Error(Error),
}

impl<E: Into<Error>> From<E> for Cut {
    fn from(error: E) -> Cut {
        Cut::Error(error.into())
    }
}
