//! The plain shell commands that make a scenario's storage, as its trials recorded them.

use crate::bench::Bench;
use crate::input::{Error, Input};
use crate::terminal::printable;
use ledger::model::Contents;
use std::fmt::Write;

/// A script of the scenario's commands, with what is known of the trial they come from.
///
/// # Errors
/// When there is no such scenario, or none of its trials came as far as its storage.
pub fn reproduce(input: &Input, scenario: &str) -> Result<String, Error> {
    let known: Vec<String> = input.contents.scenarios.iter().map(|scenario| scenario.label.clone()).collect();
    let Some(found) = input.contents.scenarios.iter().find(|known| known.label == scenario) else {
        return Err(Error::NoScenario { scenario: scenario.into(), known });
    };
    let commands =
        commands_of(&input.contents, scenario).ok_or_else(|| Error::NoCommands { scenario: scenario.into() })?;
    let mut script = format!("# {} of study {}\n", printable(scenario), printable(&input.contents.study.name));
    let bench = Bench::of(&input.contents, found);
    if bench.is_guest() {
        let _ = writeln!(script, "# these commands ran {}", printable(&bench.to_string()));
    }
    let _ = writeln!(script, "# workload {} with these settings:", printable(&found.workload));
    let settings = serde_json::to_string_pretty(&found.settings).unwrap_or_default();
    for line in settings.lines() {
        let _ = writeln!(script, "#   {line}");
    }
    for line in commands.iter().flat_map(|command| command.lines()) {
        let _ = writeln!(script, "{}", printable(line));
    }
    Ok(script)
}

/// The commands of the scenario's last trial that recorded any.
#[must_use]
pub fn commands_of<'a>(contents: &'a Contents, scenario: &str) -> Option<&'a [String]> {
    let trials = contents.trials.iter().rev().filter(|trial| trial.scenario == scenario);
    trials.map(|trial| trial.commands.as_slice()).find(|commands| !commands.is_empty())
}
