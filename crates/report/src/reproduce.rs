//! The commands that do a study again: surefoot's own, and the plain shell commands that make a scenario's storage, as its trials
//! recorded them.

use crate::bench::Bench;
use crate::document::printable;
use crate::input::{Error, Input};
use crate::words::Words as _;
use ledger::model::{Asked, Contents, Scenario};
use std::fmt::Write;

/// A script of the scenario's commands, with what is known of the trial they come from.
///
/// # Errors
/// When there is no such scenario, or none of its trials came as far as its storage.
pub fn reproduce(input: &Input, scenario: &str) -> Result<String, Error> {
    let found = input.scenario(scenario)?;
    let commands = commands_of(&input.contents, scenario).ok_or_else(|| Error::NoCommands(scenario.into()))?;
    let mut script = format!("# {} of study {}\n", printable(scenario), printable(&input.contents.study.name));
    let bench = Bench::of(&input.contents, found);
    if bench != Bench::Host {
        let _ = writeln!(script, "# these commands ran {}", printable(&bench.words()));
    }
    let _ = writeln!(script, "# workload {} with these settings:", printable(&found.workload));
    let settings = serde_json::to_string_pretty(&found.settings).unwrap_or_default();
    for line in settings.lines() {
        let _ = writeln!(script, "#   {}", printable(line));
    }
    for line in commands.iter().flat_map(|command| command.lines()) {
        let _ = writeln!(script, "{}", printable(line));
    }
    if let Some(asked) = input.contents.study.all_asked().last() {
        // A control is added to its baseline, by whose name it is asked for.
        let is_asked = |known: &&Scenario| known.workload == found.workload && known.baseline && !known.control;
        let baseline = input.contents.scenarios.iter().filter(|_| found.control).find(is_asked);
        let only = vec![baseline.map_or(scenario, |baseline| &baseline.label).to_string()];
        let asked = Asked { verb: "run".into(), only, ..asked.clone() };
        script.push_str("# The load itself is surefoot's own. This measures the scenario again, in a folder without its results file:\n");
        for line in command_of(&asked).lines() {
            let _ = writeln!(script, "#   {}", printable(line));
        }
    }
    Ok(script)
}

/// The commands of the scenario's last trial that recorded any.
pub fn commands_of<'a>(contents: &'a Contents, scenario: &str) -> Option<&'a [String]> {
    let trials = contents.trials.iter().rev().filter(|trial| trial.scenario == scenario);
    trials.map(|trial| trial.commands.as_slice()).find(|commands| !commands.is_empty())
}

/// The command that asks for the same again, an option a line; a study that is not built in is in `STUDY.toml`.
pub fn command_of(asked: &Asked) -> String {
    let mut command = format!("surefoot {} {}", asked.verb, asked.built_in.as_deref().unwrap_or("STUDY.toml"));
    let options = |option: &'static str, values: &[String]| {
        values.iter().map(move |value| format!("{option}{}", quoted(value))).collect::<Vec<_>>()
    };
    let left_out = (!asked.left_out.is_empty()).then(|| "--skip-missing".to_string());
    // A word may begin with a hyphen: `=` holds it to its option.
    let all = options("--set ", &asked.overrides).into_iter().chain(options("--only=", &asked.only)).chain(left_out);
    all.for_each(|option| command.push_str(&format!(" \\\n  {option}")));
    command
}

/// A word for a POSIX shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=:,./@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_as_it_was_said() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let asked = Asked {
            verb: "powercut".into(),
            built_in: Some("quick".into()),
            overrides: words(&["storage.filesystem=[\"ext4\", \"xfs\"]", "question=it's $HOME\n `x` \\", "a=-1"]),
            only: words(&["-x y", ""]),
            left_out: vec![("zfs".into(), "no mkfs".into())],
        };
        let script = format!("surefoot() {{ printf '%s\\0' \"$@\"; }}\n{}", command_of(&asked));
        let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
        let said = String::from_utf8(output.stdout).expect("text");
        let set = asked.overrides.iter().flat_map(|change| ["--set".to_string(), change.clone()]);
        let only = asked.only.iter().map(|word| format!("--only={word}"));
        let wanted: Vec<String> = words(&["powercut", "quick"])
            .into_iter()
            .chain(set)
            .chain(only)
            .chain(words(&["--skip-missing"]))
            .collect();
        assert_eq!(said.trim_end_matches('\0').split('\0').collect::<Vec<_>>(), wanted);
    }
}
