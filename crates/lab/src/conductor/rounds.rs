//! The second phase: rounds of all that is studied, until it is enough.

use super::event::{Cut, Error, Event, Stop};
use super::session::Session;
use crash::plan::Plan;
use ledger::model::{Decision, Phase, Worse};
use stats::{Observations, Rules, StopDecision};
use study::Mode;

/// Runs rounds, and says why they ended.
pub(super) fn conduct(session: &mut Session) -> Result<Stop, Cut> {
    let rounds_max = session.plan.design.rounds_max;
    // Who is confirmed was chosen from these rounds: more of them would choose again.
    let rounds = session.tune.closed_after().map_or(rounds_max, |last| rounds_max.min(last + 1));
    let mut taken: Vec<Taken> = Vec::new();
    for round in 0..rounds {
        // Rounds of an earlier session are walked through again, so that the stop rule sees what it saw then.
        let wanted: Vec<bool> = (0..session.plan.scenarios.len()).map(|index| session.is_studied(index)).collect();
        let is_open = session.is_open((Phase::Main, round), &wanted);
        let scenarios = wanted.iter().filter(|wanted| **wanted).count();
        // The confirmation has to fit in, too.
        let confirmed = session.plan.design.confirmation_rounds() as usize * session.tune.confirmed_max();
        if is_open && session.exceeds_budget(seconds_max(&taken, scenarios) + session.seconds_of(confirmed)) {
            return Ok(Stop::TimeBudget);
        }
        let begun = session.bench.now();
        let row = session.round((Phase::Main, round), &wanted)?;
        session.values.rounds.push(row);
        if is_open {
            taken.push(Taken { scenarios, seconds: session.bench.now() - begun });
        }
        if (0..wanted.len()).all(|index| !wanted[index] || session.is_given_up(index)) {
            return Ok(Stop::NothingLeft);
        }
        let (stop, decision) = decide(session, round)?;
        (session.watch)(Event::RoundEnded { round, values: &session.values, decision });
        if let Some(stop) = stop {
            return Ok(stop);
        }
    }
    Ok(if rounds < rounds_max { Stop::ChoiceClosed } else { Stop::RoundsMax })
}

/// What a round took.
struct Taken {
    scenarios: usize,
    seconds: f64,
}

/// What a round of so many scenarios takes at most, by those of no more than these: who fell out takes no time any more. By all where there was
/// none; 0 where there was none at all.
fn seconds_max(taken: &[Taken], scenarios: usize) -> f64 {
    let of_no_more = taken.iter().filter(|round| round.scenarios <= scenarios).map(|round| round.seconds);
    let of_all = taken.iter().map(|round| round.seconds).fold(0.0, f64::max);
    of_no_more.reduce(f64::max).unwrap_or(of_all)
}

/// Why to stop after this round, if it is enough, and in words what was decided.
fn decide(session: &mut Session, round: u32) -> Result<(Option<Stop>, String), Error> {
    let rules = rules(session.plan);
    let (decisions, found) = match session.plan.design.mode {
        Mode::Full => (enough(session, &rules), Vec::new()),
        Mode::Tune => look(session, round, &rules)?,
    };
    // An earlier session went on by what it knew: by errors and power cuts that were seen since it would have ended sooner.
    let went_on = session.plan.design.mode == Mode::Tune && session.done.went_on_after(round);
    let enough = !went_on && decisions.iter().all(StopDecision::is_enough);
    let is_any = |wanted: &StopDecision| decisions.iter().any(|decision| decision == wanted);
    let is_unknown = |decision: &StopDecision| matches!(decision, StopDecision::OneLeft | StopDecision::NothingLeft);
    let are_none_known = decisions.iter().all(is_unknown);
    let dropped = found.iter().map(|worse| {
        let what = if worse.stays { "is shown to be worse" } else { "is dropped" };
        let behind = worse.behind_at_least * 100.0;
        format!("{} {what}: at least {behind:.1} % behind {}", worse.scenario, worse.than)
    });
    let words = decisions.iter().map(ToString::to_string).chain(dropped).collect::<Vec<_>>().join("; ");
    let stop = match () {
        () if are_none_known && is_any(&StopDecision::NothingLeft) => Stop::NothingToCompare,
        () if are_none_known => Stop::OneLeft,
        () => Stop::PrecisionReached,
    };
    Ok((enough.then_some(stop), words))
}

/// The stop rule, workload by workload: enough when every one has enough.
fn enough(session: &Session, rules: &Rules) -> Vec<StopDecision> {
    let of = |workload: &String| stats::enough(&observations(session, workload), rules);
    session.plan.workloads().iter().map(of).collect()
}

/// Drops what is shown to be worse; where a later session walks through the round, what was decided then.
fn look(session: &mut Session, round: u32, rules: &Rules) -> Result<(Vec<StopDecision>, Vec<Worse>), Error> {
    let standings = session.standings()?;
    session.tune.recall(round);
    let mut found = Vec::new();
    if !session.done.went_on_after(round) && session.tune.closed_after().is_none() {
        found = session.tune.look(round, &session.values, &standings, rules);
        session.writer.decide(&found.iter().cloned().map(Decision::Worse).collect::<Vec<_>>())?;
    }
    Ok((session.tune.enough(&session.values, &standings, rules), found))
}

fn observations(session: &Session, workload: &str) -> Observations {
    let scenarios = &session.plan.scenarios;
    let is_column = |i: &usize| scenarios[*i].workload == workload && !session.is_left_out(*i);
    let columns: Vec<usize> = (0..scenarios.len()).filter(is_column).collect();
    let cells = columns.iter().map(|i| stats::Cell {
        label: scenarios[*i].label.clone(),
        levels: scenarios[*i].levels.clone(),
        control: scenarios[*i].control,
        baseline: scenarios[*i].baseline,
    });
    let rounds = session.values.rounds.iter().map(|row| columns.iter().map(|i| row[*i]).collect());
    // Widths do not depend on which way is better.
    Observations { cells: cells.collect(), rounds: rounds.collect(), more_is_better: true }
}

/// The rules of analysis that a plan declares.
pub(super) fn rules(plan: &Plan) -> Rules {
    let design = &plan.design;
    let (confidence, margin, precision) = (design.confidence, design.margin, design.precision);
    let (rounds_min, rounds_max) = (design.rounds_min, design.rounds_max);
    // Widths are looked at, whatever level claims are held at.
    Rules { confidence, margin, precision, rounds_min, rounds_max, looks: 1, share: 1.0 }
}
