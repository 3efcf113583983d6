//! What a report is made from: a ledger's contents, its histograms and series boiled down, and what both mean.

use crate::knowledge::Knowledge;
pub use analysis::counting::Counting;
pub use analysis::details::{Details, Line};
use analysis::view::View;
use ledger::model::{Contents, Scenario};
use std::path::Path;
use std::sync::OnceLock;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The results file can't be read.
    #[error("cannot read the results")]
    Ledger(#[from] ledger::Error),
    /// No scenario has this label.
    #[error("there is no scenario `{scenario}`; scenarios are: {}", known.join(", "))]
    NoScenario {
        /// What was asked for.
        scenario: String,
        /// The labels there are.
        known: Vec<String>,
    },
    /// This scenario has no trial that came as far as its storage.
    #[error("no trial of `{0}` came as far as making its storage, so no commands are recorded")]
    NoCommands(String),
    /// Two results that are to be compared ran on different benches.
    #[error("figures of different benches are not compared: of `{scenario}`, A ran {a}; B ran {b}")]
    OtherBench {
        /// The first scenario of which it is true.
        scenario: String,
        /// Where it ran in the first file.
        a: String,
        /// Where it ran in the second.
        b: String,
    },
    /// The session of this date is named twice where each is to be one value.
    #[error("the session of {0} is named twice: each session is one value")]
    SessionTwice(String),
    /// The results of a fleet of so many members have an answer over machines, and no figure of one of them.
    #[error("{0} members of a fleet are in these results: what is asked for is of one machine")]
    Fleet(usize),
    /// There is no finished run of any of these workloads.
    #[error("there is no finished run of the workload `{}` in these results", .0.join("` or `"))]
    NoRun(&'static [&'static str]),
}

/// All a report is made from.
pub struct Input {
    /// Everything but histograms and series.
    pub contents: Contents,
    /// Histograms and series, boiled down.
    pub details: Details,
    /// What is known of servers, filesystems and workloads beside.
    pub knowledge: Knowledge,
    /// Worked out once, when first asked for: terminal, page and JSON of one input show the same.
    view: OnceLock<View>,
}

impl Input {
    /// From contents and details that are already read.
    pub fn new(contents: Contents, details: Details) -> Input {
        Input { contents, details, knowledge: Knowledge::default(), view: OnceLock::new() }
    }

    /// The same with what is known of servers, filesystems and workloads: how a scenario is put in place, and what of it is a choice.
    pub fn knowing(self, knowledge: Knowledge) -> Input {
        Input { knowledge, ..self }
    }

    /// The scenario of this label.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn scenario(&self, label: &str) -> Result<&Scenario, Error> {
        let all = &self.contents.scenarios;
        let known = || all.iter().map(|scenario| scenario.label.clone()).collect();
        let found = all.iter().find(|scenario| scenario.label == label);
        found.ok_or_else(|| Error::NoScenario { scenario: label.into(), known: known() })
    }

    /// The numbers of the report.
    pub(crate) fn view(&self) -> &View {
        self.view.get_or_init(|| View::of(&self.contents, &self.details, self.knowledge.is_choice))
    }
}

/// Reads a results file.
///
/// # Errors
/// When the file is no ledger or can't be read.
pub fn load(path: &Path) -> Result<Input, Error> {
    read(&ledger::Reader::open_untouched(path)?)
}

/// Reads an open results file, or what one member of a fleet measured.
///
/// # Errors
/// When it can't be read.
pub fn read(reader: &ledger::Reader) -> Result<Input, Error> {
    let contents = reader.contents()?;
    if contents.members.len() > 1 {
        return Err(Error::Fleet(contents.members.len()));
    }
    let details = Details::read(reader, &contents)?;
    Ok(Input::new(contents, details))
}
