//! `surefoot faults`: what a failing disk does to each scenario, without the rounds that measure speed; and one case again, step by step.

use crate::cli::FaultsArgs;
use crate::failure::{Failure, Status, plain};
use crate::interrupt;
use crate::source::{self, Loaded};
use crate::verbs::{powercut, run};
use ::powercut::fault::Case;
use anyhow::anyhow;
use crash::safety::{spec_of_faults, why_not};
use lab::bench::guest::Guest;
use lab::bench::host::{Clock, Host};
use lab::bench::{Bench as _, End, OfThisMachine};
use lab::conductor::What;
use lab::inputs::Inputs;
use observe::faults::FaultReplayed;
use observe::record::Record;
use sandbox::work::{Holder, Work};

/// Measures each scenario of which it is not known yet, or runs one case again.
pub fn run(args: &FaultsArgs) -> Result<Status, Failure> {
    powercut::refuse_rounds(&args.run.study, "faults", "--set safety.fault_budget=10min")?;
    powercut::require_root("faults")?;
    let mut loaded = source::load(&args.run.study)?;
    let settings = loaded.plan.safety.get_or_insert_default();
    settings.faults = Some(settings.failures());
    match (&args.replay, &args.scenario) {
        (Some(case), Some(scenario)) => {
            powercut::require_no_run(&args.run, "`--replay`, which does one case again")?;
            replay(&loaded, case, scenario)
        }
        _ => run::conduct(&args.run, loaded, run::Measured::Only(What::Faults)),
    }
}

fn replay(loaded: &Loaded, case: &str, label: &str) -> Result<Status, Failure> {
    let named = case.parse::<Case>();
    named.map_err(|error| {
        Failure::new(Status::BadStudy, error)
            .hint("the HTML report names cases, at its examples: `surefoot report RESULTS --html FILE`")
    })?;
    let scenario = loaded.plan.scenarios.iter().find(|scenario| scenario.label == label).ok_or_else(|| {
        let all: Vec<&str> = loaded.plan.scenarios.iter().map(|scenario| &*scenario.label).collect();
        Failure::new(Status::BadStudy, anyhow!("the study has no scenario `{label}`"))
            .hint(format!("it has {}", all.join(", ")))
    })?;
    let settings = loaded.plan.safety.as_ref().expect("it was put there");
    if let Some(reason) = why_not(scenario, settings) {
        return Err(Failure::new(Status::BadStudy, anyhow!("`{label}` has no cases: {reason}")));
    }
    interrupt::catch();
    let work = Work::own(&loaded.work, &Holder::this_process(None)).map_err(run::unusable)?;
    let program = std::env::current_exe()?;
    let guest = Guest::new(program.clone(), work.clone(), std::iter::once(&scenario.guest))?;
    let host = Host { program, work, client: None, clock: Clock::start() };
    let mut bench = OfThisMachine { host, guest, inputs: Inputs::default() };
    let mut spec = spec_of_faults(&loaded.plan, scenario, settings);
    if let Some(faults) = &mut spec.faults {
        faults.replay = Some(case.into());
    }
    let mut replayed = None;
    let end = bench.run(&spec, &interrupt::INTERRUPTED, &mut |record| {
        if let Record::FaultReplayed(found) = record {
            replayed = Some(found);
        }
    })?;
    match (end, replayed) {
        (End::Finished, Some(replayed)) => {
            interrupt::printing(|| println!("{}", told(&replayed)));
            Ok(Status::Answered)
        }
        (End::Interrupted, _) => Ok(Status::Interrupted),
        (End::Failed(failure), _) => {
            Err(Failure::new(Status::Fault, anyhow!("{}: {}", failure.step, failure.causes.join(": "))))
        }
        (End::Finished, None) => Err(Failure::new(Status::Fault, anyhow!("the trial ended without a result"))),
    }
}

/// What was done and what came of it. A server logs what the study's scripts say, which may steer the terminal.
fn told(replayed: &FaultReplayed) -> String {
    let example = &replayed.example;
    let mut lines = vec![example.case.clone()];
    lines.extend(replayed.steps.iter().map(|step| format!("  {step}")));
    for (who, said) in [("the server's log", &example.server), ("the kernel's log", &example.kernel)] {
        lines.extend((!said.is_empty()).then(|| format!("{who}:")));
        lines.extend(said.iter().map(|line| format!("    {line}")));
    }
    let why = if example.words.is_empty() { String::new() } else { format!(": {}", example.words) };
    lines.push(format!("{}{why}", replayed.consequence.words()));
    plain(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::faults::{Consequence, Example};

    #[test]
    fn a_servers_log_does_not_steer_the_terminal() {
        let example = Example {
            case: "flush-error@1/restart".into(),
            words: "two commits".into(),
            client: Vec::new(),
            server: vec!["at \u{1b}[2Jx".into()],
            kernel: Vec::new(),
        };
        let replayed = FaultReplayed { consequence: Consequence::Lost, example, steps: vec!["it went on".into()] };
        let words = Consequence::Lost.words();
        let expected = format!(
            "flush-error@1/restart\n  it went on\nthe server's log:\n    at \u{fffd}[2Jx\n{words}: two commits"
        );
        assert_eq!(told(&replayed), expected);
    }
}
