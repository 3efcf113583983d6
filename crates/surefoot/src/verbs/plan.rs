//! `surefoot plan STUDY`: what a study would do; touches nothing.

mod claims;
mod measured;
mod members;
mod order;

use crate::cli::{PlanArgs, RunArgs};
use crate::failure::{Failure, Status, plain};
use crate::source::{self, Loaded};
use crate::verbs::run::joined;
use crash::plan::{Plan, PlannedScenario};
use lab::groups::{self, Room};
use lab::tune::Tune;
use lab::turn_lengths::Lengths;
use lab::{estimate, requirements};
use settings::quantity::{format_bytes, format_percent, format_seconds};
use std::collections::BTreeSet;
use std::error::Error;
use study::screen::{KEPT_MAX, Screen};
use study::{Mode, Order};

/// Prints the plan.
pub fn run(args: &PlanArgs) -> Result<Status, Failure> {
    let mut loaded = source::load(&args.run.study)?;
    if let Some(word) = &args.run.member {
        joined(word, &mut loaded.plan)?;
    }
    // What no member would measure has no forecast. What is told stays that of the study.
    if let Some(members) = args.members {
        joined(&format!("1/{members}"), &mut loaded.plan.clone())?;
    }
    let missing = requirements::missing(&loaded.plan);
    let (missing, left_out) = if args.run.skip_missing { (Vec::new(), missing) } else { (missing, Vec::new()) };
    source::leave_out(&mut loaded, &left_out)?;
    let plan = &loaded.plan;
    let refused = requirements::refused(plan, &loaded.work).into_iter().map(|(label, error)| (label, in_words(&error)));
    let refused: Vec<(String, String)> = refused.collect();
    // A member's results are a folder.
    let found = if args.run.member.is_some() { Ok(None) } else { measured::find(&loaded) };
    let (measured, other) = match found {
        Ok(measured) => (measured, None),
        Err(other) => (None, Some(other)),
    };
    let more = [without_root(plan), short_budget(plan), short_room(&loaded), without_effect(&args.run), other];
    let notes: Vec<String> = warnings(plan).into_iter().chain(more.into_iter().flatten()).collect();
    let lists = [("left out", &left_out), ("missing", &missing), ("refused", &refused)];
    if args.run.json {
        let mut plan = json(&loaded, source::room(&loaded.work), &lists, &notes);
        plan["measured"] = measured.map_or(serde_json::Value::Null, |measured| measured.json());
        println!("{plan:#}");
        return Ok(Status::Answered);
    }
    println!("{}: {}\n", plan.name, plain(&plan.question));
    println!("scenarios ({}):", plan.scenarios.len());
    let screened: BTreeSet<usize> = plan.screens.iter().flat_map(|screen| screen.scenarios.iter().copied()).collect();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let mark = match (scenario.baseline, screened.contains(&index)) {
            (true, _) => "  (baseline)",
            (false, true) => "  (screened)",
            (false, false) => "",
        };
        let durability = lab::durability::of(scenario);
        println!("  {}{mark} · {}", plain(&scenario.label), durability.words());
    }
    totals(&loaded, source::room(&loaded.work));
    if let Some(measured) = &measured {
        println!("measured:   {}", measured.words(plan.design.rounds_min));
    }
    print_members(args, plan)?;
    for note in &notes {
        println!("note:       {}", plain(note));
    }
    for (name, list) in lists {
        for line in requirements::by_cause(list) {
            println!("{:<11} {}", format!("{name}:"), plain(&line));
        }
    }
    Ok(Status::Answered)
}

/// That what a disk may do takes root, in a guest kernel, too.
fn without_root(plan: &Plan) -> Option<String> {
    let is_asked = plan.safety.is_some() && !nix::unistd::geteuid().is_root();
    is_asked.then(|| {
        "power cuts and failing disks need root, in a guest kernel, too: without it they are holes in the answer".into()
    })
}

/// Options that say how a study is run, and nothing of what is measured.
fn without_effect(run: &RunArgs) -> Option<String> {
    let options = [
        ("--retry-failed", run.retry_failed),
        ("--accept-changes", run.accept_changes),
        ("--pairing", run.pairing.is_some()),
        ("--html", run.html.is_some()),
        ("--full", run.full),
        ("--quiet", run.quiet),
    ];
    let given: Vec<&str> = options.iter().filter(|(_, is_given)| *is_given).map(|(option, _)| *option).collect();
    (!given.is_empty()).then(|| format!("these options change nothing in a plan: {}", given.join(", ")))
}

/// What a fleet would cost and show.
fn print_members(args: &PlanArgs, plan: &Plan) -> Result<(), Failure> {
    let text = args.spread.as_deref().unwrap_or(members::SPREAD);
    let spread = members::spread(text)?;
    let Some(members) = args.members else { return Ok(()) };
    let said = if args.spread.is_some() { "as you say" } else { "assumed; `--spread` says otherwise" };
    let (hosts, rounds) = text.split_once(',').unwrap_or((text, ""));
    let (hosts, rounds) = (hosts.trim(), rounds.trim());
    println!("fleet:      hosts differ by {hosts}, a comparison strays by {rounds} from round to round ({said})");
    members::lines(plan, members, spread).iter().for_each(|line| println!("            {line}"));
    Ok(())
}

fn totals(loaded: &Loaded, room: Room) {
    let plan = &loaded.plan;
    let design = &plan.design;
    let (low, high) = (design.rounds_min, design.rounds_max);
    let until = match design.mode {
        Mode::Full => "each comparison is known",
        Mode::Tune => "one scenario is left, or all that are left are known against each other",
    };
    println!();
    plan.screens.iter().for_each(|screen| print_screen(screen, design.screen_rounds));
    for (workload, reason) in &plan.unscreened {
        println!("no screen:  of {workload}: {reason}");
    }
    println!(
        "rounds:     {low} to {high}, until {until} within {}",
        format_percent(design.precision).replace('%', " %")
    );
    for (index, line) in claims::lines(plan).iter().enumerate() {
        println!("{:<11} {line}", if index == 0 { "compared:" } else { "" });
    }
    println!("order:      {}", order::words(plan, room));
    if design.mode == Mode::Tune {
        println!("            from round 4 on, what is shown to be worse is measured no further");
    }
    let confirmation = design.confirmation_rounds();
    if confirmation > 0 {
        println!("then:       {confirmation} new rounds of pick, runner-up and baseline");
    }
    let time = |rounds: u32| format_seconds(seconds(plan, rounds));
    let is_open = design.mode == Mode::Tune || !plan.screens.is_empty();
    let (fewest, most) = (trials(plan, low), trials(plan, high));
    println!("trials:     {}", if is_open { format!("at most {most}") } else { format!("{fewest} to {most}") });
    let (least, most) = (time(low), time(high));
    let in_all = if is_open || plan.scenarios.iter().any(estimate::may_end_sooner) {
        format!("at most about {most}")
    } else if least == most {
        format!("about {least}")
    } else {
        format!("about {least} to {most}")
    };
    println!("time:       {in_all}");
    if let Some(forecast) = forecast(loaded) {
        println!("forecast:   {forecast}");
    }
    if let Some(budget) = design.time_budget_seconds {
        println!("budget:     {} a session", format_seconds(budget));
    }
    print_safety(plan);
    if let Some(client) = client(plan) {
        println!("client:     the load comes from {}, by its load agent", plain(client));
    }
    println!("disk space: {} in the work folder", format_bytes(estimate::space_needed(plan)));
    let in_memory = plan.scenarios.iter().map(estimate::virtual_bytes).max().unwrap_or_default();
    if in_memory > 0 {
        println!("memory:     up to {} for virtual disks", format_bytes(in_memory));
    }
}

/// Trials of a round of those that are confirmed, at most: each workload has its own, under each condition of the load.
fn finalists(plan: &Plan) -> usize {
    Tune::new(plan, Vec::new(), &vec![false; plan.scenarios.len()]).confirmed_max()
}

/// Trials of so many rounds, and of what is beside them.
fn trials(plan: &Plan, rounds: u32) -> usize {
    let studied = studied_max(plan) + groups::repeated(plan).len();
    let confirmation = match plan.design.confirmation_rounds() as usize {
        0 => 0,
        rounds => rounds * finalists(plan),
    };
    rounds as usize * studied + confirmation + screen_trials(plan)
}

/// What these take, roughly.
fn seconds(plan: &Plan, rounds: u32) -> f64 {
    let of_a_round = (plan.scenarios.len() + groups::repeated(plan).len()).max(1);
    let trial_seconds = estimate::round_seconds(plan) / of_a_round as f64;
    estimate::templates_seconds(plan) + trial_seconds * trials(plan, rounds) as f64
}

/// That a session's budget does not hold the rounds that are asked for.
fn short_budget(plan: &Plan) -> Option<String> {
    let (budget, least) = (plan.design.time_budget_seconds?, plan.design.rounds_min);
    let needed = seconds(plan, least);
    let held = (1..least).rev().find(|rounds| seconds(plan, *rounds) <= budget).unwrap_or(1);
    (needed > budget).then(|| {
        let (budget, needed) = (format_seconds(budget), format_seconds(needed));
        format!("a session of {budget} holds about {held} of {least} rounds: the same command goes on; all of them take about {needed}")
    })
}

/// That the work folder can't be one, or has no room.
fn short_room(loaded: &Loaded) -> Option<String> {
    let work = &loaded.work;
    if work.is_file() {
        return Some(format!("the work folder {} is a file: `run` refuses it", work.display()));
    }
    let needed = estimate::space_needed(&loaded.plan).saturating_sub(estimate::space_there(&loaded.plan, work));
    let free = source::free_room(work);
    (needed > free).then(|| {
        let (work, needed, free) = (work.display(), format_bytes(needed), format_bytes(free));
        format!(
            "{work} needs {needed} for image files, and {free} are free: `run` refuses; --work DIR names another disk"
        )
    })
}

/// When differences will be known, by the machine's noise; of a full study by turns.
fn forecast(loaded: &Loaded) -> Option<String> {
    let plan = &loaded.plan;
    if plan.drawn.order != Order::Turns || plan.design.mode != Mode::Full || !plan.screens.is_empty() {
        return None;
    }
    let Some(noise) = &loaded.noise else {
        return Some("none yet: `surefoot doctor --noise` measures in 30s how much this machine strays".into());
    };
    let found = lab::forecast::forecast(plan, noise);
    let of = |(half_width, lengths): &(f64, Lengths)| {
        let (within, rounds) = (format_percent(*half_width).replace('%', " %"), lengths.rounds);
        let minutes = (lengths.seconds / 60.0).ceil() * 60.0;
        let most = plan.design.rounds_max;
        let beyond = if rounds > most { format!(", of {most} at most") } else { String::new() };
        format!("within {within} in about {} ({rounds} rounds{beyond})", format_seconds(minutes))
    };
    let all: Vec<String> = found.iter().map(of).collect();
    (!all.is_empty()).then(|| format!("differences are known {}, by the machine's noise", all.join(", ")))
}

/// What `[safety]` adds, after the rounds.
fn print_safety(plan: &Plan) {
    let Some(safety) = &plan.safety else { return };
    let scenarios = || plan.scenarios.iter().filter(|scenario| !scenario.control);
    let reasons: Vec<(String, String)> =
        scenarios().filter_map(|one| Some((one.label.clone(), crash::safety::why_not(one, safety)?))).collect();
    let controls = plan.scenarios.len() - scenarios().count();
    let (measurable, studied) = (scenarios().count() - reasons.len(), studied_max(plan) - controls);
    let (of, count) = of_scenarios(measurable, studied, !plan.screens.is_empty());
    let each = estimate::power_cuts_seconds(safety);
    println!("power cuts: of {of} scenarios, about {}", format_seconds(each * count as f64));
    if let Some(each) = estimate::faults_seconds(safety) {
        let names = safety.failures().join(", ");
        println!("faults:     {names}, of {of} scenarios, about {}", format_seconds(each * count as f64));
    }
    for line in requirements::by_cause(&reasons) {
        println!("            not of {line}");
    }
}

/// Of how many that can be measured: after a screen of those that are studied, and nobody knows yet which these are.
fn of_scenarios(measurable: usize, studied: usize, is_screened: bool) -> (String, usize) {
    let count = measurable.min(studied);
    (if is_screened { format!("at most {count}") } else { count.to_string() }, count)
}

fn screen_trials(plan: &Plan) -> usize {
    plan.screens.iter().map(|screen| screen.scenarios.len()).sum::<usize>() * plan.design.screen_rounds as usize
}

/// Scenarios of the main rounds, at most.
fn studied_max(plan: &Plan) -> usize {
    let left_out = |screen: &Screen| screen.of - screen.kept_max();
    plan.scenarios.len() - plan.screens.iter().map(left_out).sum::<usize>()
}

/// The stages that a screen makes, and what can't be seen so: known before anything runs.
fn print_screen(screen: &Screen, rounds: u32) {
    let (factors, count) = (screen.factors.len(), screen.scenarios.len());
    let trials = count * rounds as usize;
    println!(
        "screen:     {factors} factors of {} in {count} of {} scenarios, {rounds} rounds, {trials} trials:",
        screen.workload, screen.of
    );
    println!("            {}", plain(&screen.words()));
    println!(
        "            then every combination of those that matter, {KEPT_MAX} factors and {} scenarios at most;",
        screen.kept_max()
    );
    println!("            the others stay at the baseline's levels");
    println!("            it can't see:");
    screen.unseen().iter().for_each(|what| println!("            - {what}"));
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_string();
    let sums = screen.alike();
    if !sums.is_empty() {
        println!("            seen as a sum only:");
    }
    for pairs in sums {
        let pairs: Vec<String> = pairs.iter().map(|[a, b]| format!("{} × {}", last(a), last(b))).collect();
        println!("            - {}", plain(&pairs.join(" with ")));
    }
}

fn in_words(error: &storage::Error) -> String {
    match error.source() {
        // It names the device itself.
        Some(reason) if error.is_refusal() => reason.to_string(),
        Some(reason) => format!("{error}: {reason}"),
        None => error.to_string(),
    }
}

/// What makes the answer smaller than it looks.
fn warnings(plan: &Plan) -> Vec<String> {
    let fitting = plan.scenarios.iter().filter(|scenario| estimate::fits_into_memory(scenario)).count();
    let mut all = Vec::new();
    if fitting > 0 {
        let of = if fitting == plan.scenarios.len() { String::new() } else { format!(" of {fitting} scenarios") };
        all.push(format!(
            "the data{of} fits into memory: only flushes reach the device; `memory = \"1GiB\"` limits a trial, guest.memory a guest"
        ));
    }
    let idle = lab::idle::without_effect(plan).into_iter();
    all.extend(idle.map(|(path, needs)| format!("`{path}` has no effect: it needs {needs}, which no scenario has")));
    let alike = lab::alike::alike(plan);
    if let Some(first) = alike.first() {
        let more = if alike.len() > 1 { format!(", and so {} more times", alike.len() - 1) } else { String::new() };
        all.push(format!("the same settings under several names: {}{more}; what differs is noise", first.join(", ")));
    }
    let outgrown = plan.scenarios.iter().filter_map(|one| Some((one.label.clone(), estimate::outgrown(one)?)));
    all.extend(requirements::by_cause(&outgrown.collect::<Vec<_>>()));
    let overlong = plan.scenarios.iter().filter_map(|one| Some((one.label.clone(), estimate::overlong(plan, one)?)));
    all.extend(requirements::by_cause(&overlong.collect::<Vec<_>>()));
    let unknown = estimate::of_unknown_length(plan);
    if unknown > 0 {
        let of = if unknown == plan.scenarios.len() { String::new() } else { format!(" of {unknown} scenarios") };
        all.push(format!("how long runs{of} take is not known: the time is without them"));
    }
    let run_seconds = plan.scenarios.iter().map(|one| estimate::run_seconds(plan, one));
    let shortest = run_seconds.filter(|seconds| *seconds > 0.0).reduce(f64::min);
    let is_short = |seconds: &f64| plan.drawn.order == Order::Blocks && *seconds < report::RUN_SECONDS_MIN;
    if let Some(seconds) = shortest.filter(is_short) {
        let (seconds, least) = (format_seconds(seconds), format_seconds(report::RUN_SECONDS_MIN));
        all.push(format!(
            "runs of {seconds} are short: journal commits and write-back fall into some of them only; {least} or more hold them"
        ));
    }
    let least = report::ROUNDS_FOR_CLAIMS;
    if (plan.design.rounds_max as usize) < least {
        all.push(format!("fewer than {least} rounds claim no difference: they show a direction only"));
    }
    let mut classes: Vec<_> = plan.scenarios.iter().map(|scenario| lab::durability::of(scenario).class).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() > 1 {
        all.push("the scenarios promise different durability: a difference in speed is not like with like".into());
    }
    all
}

/// The load agent that drives a study's load.
fn client(plan: &Plan) -> Option<&String> {
    plan.scenarios.iter().find_map(|scenario| scenario.client.as_ref())
}

/// Scenarios that will not run, each with the reason, and what they are called.
type List<'a> = (&'static str, &'a Vec<(String, String)>);

fn json(loaded: &Loaded, room: Room, lists: &[List; 3], notes: &[String]) -> serde_json::Value {
    let plan = &loaded.plan;
    let scenario = |scenario: &PlannedScenario| {
        serde_json::json!({
            "label": scenario.label, "levels": scenario.levels, "workload": scenario.workload,
            "control": scenario.control, "durability": lab::durability::of(scenario),
            "storage": scenario.storage, "parameters": scenario.parameters,
            "estimated_seconds": estimate::trial_seconds(plan, scenario),
        })
    };
    let scenarios: Vec<_> = plan.scenarios.iter().map(scenario).collect();
    let [left_out, missing, refused] = lists.map(|(name, list)| {
        let reason = if name == "refused" { "why" } else { "what" };
        let entries = list.iter().map(|(scenario, words)| serde_json::json!({ "scenario": scenario, reason: words }));
        entries.collect::<Vec<_>>()
    });
    serde_json::json!({
        "name": plan.name, "question": plan.question, "hash": plan.hash, "baseline": plan.scenarios[plan.baseline].label,
        "rounds_min": plan.design.rounds_min, "rounds_max": plan.design.rounds_max, "seed": plan.design.seed,
        "confidence": plan.design.confidence, "margin": plan.design.margin, "precision": plan.design.precision,
        "comparisons": claims::json(plan),
        "mode": if plan.design.mode == Mode::Tune { "tune" } else { "full" },
        "order": order::json(plan, room), "client": client(plan),
        "turns": turns_json(loaded),
        "confirmation_rounds": plan.design.confirmation_rounds(),
        "screens": plan.screens.iter().map(|screen| screen_json(screen, plan)).collect::<Vec<_>>(), "unscreened": plan.unscreened,
        "scenarios": scenarios, "space_bytes": estimate::space_needed(plan), "left_out": left_out, "missing": missing, "refused": refused, "notes": notes,
    })
}

/// Turns that are chosen by the machine's noise, and when differences are known by it.
fn turns_json(loaded: &Loaded) -> serde_json::Value {
    let Some(noise) = &loaded.noise else { return serde_json::Value::Null };
    let chosen = loaded.plan.drawn.turns.map(|chosen| {
        serde_json::json!({ "turn_seconds": f64::from(chosen.turn_milliseconds) / 1000.0, "turns": chosen.turns, "rounds": chosen.rounds })
    });
    let forecast: Vec<_> = lab::forecast::forecast(&loaded.plan, noise)
        .iter()
        .map(|(within, lengths)| serde_json::json!({ "within": within, "rounds": lengths.rounds, "seconds": lengths.seconds }))
        .collect();
    serde_json::json!({ "noise": noise, "chosen": chosen, "forecast": forecast })
}

fn screen_json(screen: &Screen, plan: &Plan) -> serde_json::Value {
    let labels: Vec<&str> = screen.scenarios.iter().map(|index| plan.scenarios[*index].label.as_str()).collect();
    serde_json::json!({
        "workload": screen.workload, "design": screen.words(), "rounds": plan.design.screen_rounds, "scenarios": labels,
        "of": screen.of, "studied_max": screen.kept_max(), "unseen": screen.unseen(), "alike": screen.alike(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_cuts_are_of_those_that_a_screen_leaves_at_most() {
        assert_eq!(of_scenarios(128, 16, true), ("at most 16".into(), 16));
        assert_eq!(of_scenarios(12, 16, true), ("at most 12".into(), 12), "not all of the twelve may be studied");
        assert_eq!(of_scenarios(12, 12, false), ("12".into(), 12));
    }
}
