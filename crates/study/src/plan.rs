//! A study to its plan: scenarios, their order in each round, and the specification of each trial.

use crate::check::Study;
use crate::factor::with_factor;
use crate::groups;
use crate::limit::Limit;
use crate::matrix::{Combination, matrix};
use crate::order::{balanced, data_seed, shuffled};
use crate::own_settings::{Design, Mode, Order, Parity, ROUNDS_MAX, Screening};
use crate::problem::Problem;
use crate::safety::Safety;
use crate::screen::Screen;
use crate::table::Table;
use crate::trial_spec::{Bench, Levels, TrialSpec};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;

/// What a study comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<S> {
    /// The study's name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// Scenarios; each workload's control comes after all others.
    pub scenarios: Vec<PlannedScenario<S>>,
    /// How it is run.
    pub design: Design,
    /// What its orders and data are made from.
    pub drawn: Drawn,
    /// How it is measured what a power cut takes from each scenario; none: it is not. It decides no speed.
    pub safety: Option<Safety>,
    /// What differing durability does.
    pub parity: Parity,
    /// Whether the study itself says where trials run; otherwise that may still be chosen for it.
    pub bench_is_said: bool,
    /// Tables that the report is asked for. They decide no figure.
    pub tables: Vec<Table>,
    /// Limits that figures are held against. They decide no figure.
    pub limits: Vec<Limit>,
    /// Paths of the settings that the study names; the others are at their defaults.
    pub named: Vec<String>,
    /// Names of the settings of `[design]` that the study names.
    pub design_named: Vec<String>,
    /// Workloads of which a part goes before the others.
    pub screens: Vec<Screen>,
    /// Workloads that can't be screened though it was asked for, and why.
    pub unscreened: Vec<(String, String)>,
    /// Index of the (first workload's) baseline.
    pub baseline: usize,
    /// SHA-256 of everything that decides the figures; not of rounds, precision and time budget, so that a study can go on
    /// with more of them.
    pub hash: String,
}

/// What the orders and data of a study are made from: drawn when it starts, and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// The seed.
    pub seed: u64,
    /// Whether orders are balanced: in results files of before they are shuffled.
    pub is_balanced: bool,
    /// How a round goes.
    pub order: Order,
    /// Scenarios that are up at once at most where they take turns; none: all of a workload.
    pub up_max: Option<u32>,
    /// What turns a round has, where that was chosen by the machine's noise; none: as the design says.
    pub turns: Option<ChosenTurns>,
    /// Rounds of a fleet's members before this one, so that orders are balanced over the fleet; 0: there is no fleet.
    pub rounds_before: u32,
}

/// Turns that were chosen for a study when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenTurns {
    /// Length of a turn.
    pub turn_milliseconds: u32,
    /// Turns of a scenario in a round; none: as many as its runs have time for.
    pub turns: Option<u32>,
    /// Rounds after which the wanted precision was expected.
    pub rounds: u32,
}

/// The seed where nobody said one, before it was drawn: in the hash still, so that a study stays the one that it was.
const SEED_BEFORE: u64 = 1;

/// The setting of storage that lets a trial begin and decides no figure: a study goes on with it as without.
const LEAVE: &str = "wipe";

/// The length of a turn where nobody says one: no part of the hash, as older studies know none.
const TURN_SECONDS: f64 = 1.0;

/// One bar in the chart.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedScenario<S> {
    /// Label, unique in the plan.
    pub label: String,
    /// Factor → level label.
    pub levels: Levels,
    /// Settings of `[storage]`.
    pub storage: Parsed<S>,
    /// Further volumes, each like `storage`.
    pub volumes: BTreeMap<String, Parsed<S>>,
    /// Settings of `[service.NAME]` by name.
    pub services: BTreeMap<String, Map<String, Value>>,
    /// Which workload.
    pub workload: String,
    /// Its settings, plain form.
    pub parameters: Map<String, Value>,
    /// Where it runs.
    pub bench: Bench,
    /// Settings of `[guest]`, plain form; empty on the host.
    pub guest: Map<String, Value>,
    /// Memory limit.
    pub memory_bytes: Option<u64>,
    /// CPUs of the servers.
    pub server_cpus: Vec<usize>,
    /// CPUs of the load generator.
    pub client_cpus: Vec<usize>,
    /// The load agent that drives it, as host and port; none: this machine does.
    pub client: Option<String>,
    /// Whether it is its workload's baseline.
    pub baseline: bool,
    /// Whether it is the A/A control: the baseline once more.
    pub control: bool,
}

/// Checked settings, parsed once. They are written down, and hashed, in their plain form.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<S> {
    plain: Map<String, Value>,
    settings: S,
}

impl<S> Deref for Parsed<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.settings
    }
}

impl<S> Parsed<S> {
    /// What of it decides figures.
    fn deciding(&self) -> Value {
        let mut plain = self.plain.clone();
        if let Some(leave) = plain.get_mut(LEAVE) {
            *leave = Value::Null;
        }
        Value::Object(plain)
    }
}

impl<S> Serialize for Parsed<S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        self.plain.serialize(serializer)
    }
}

/// Plans a study; `parse` knows what checked settings of `[storage]` are.
///
/// # Errors
/// When it has too many scenarios (counted, not made), a rule that changes nothing, or no clear baseline. [`crate::read`]
/// says so too, of all of them at once.
pub fn plan<S: Clone>(study: &Study, parse: &dyn Fn(&Map<String, Value>) -> S) -> Result<Plan<S>, Problem> {
    let matrix = matrix(study).map_err(|mut problems| problems.swap_remove(0))?;
    let parsed = |plain: Map<String, Value>| Parsed { settings: parse(&plain), plain };
    let mut scenarios: Vec<PlannedScenario<S>> =
        matrix.combinations.iter().map(|known| scenario(study, known, &parsed)).collect();
    for index in matrix.baselines {
        scenarios[index].baseline = true;
    }
    let mut plan = Plan {
        name: study.name.clone(),
        question: study.question.clone(),
        scenarios,
        design: study.design.clone(),
        drawn: Drawn {
            seed: study.design.seed.unwrap_or(SEED_BEFORE),
            is_balanced: true,
            order: study.design.order.unwrap_or(Order::Blocks),
            up_max: study.design.up_max,
            turns: None,
            rounds_before: 0,
        },
        safety: study.safety.clone(),
        parity: study.parity,
        bench_is_said: study.bench_is_said,
        tables: study.tables.clone(),
        limits: study.limits.clone(),
        named: study.named.clone(),
        design_named: study.design_named.clone(),
        screens: Vec::new(),
        unscreened: Vec::new(),
        baseline: 0,
        hash: String::new(),
    };
    plan.settle();
    Ok(plan)
}

fn scenario<S>(
    study: &Study,
    combination: &Combination,
    parsed: &dyn Fn(Map<String, Value>) -> Parsed<S>,
) -> PlannedScenario<S> {
    let mut base = combination.settings(study);
    let cpus = |name: &str| -> Vec<usize> {
        let list = base.cpus[name].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_u64).filter_map(|cpu| usize::try_from(cpu).ok()).collect()
    };
    let (server_cpus, client_cpus) = (cpus("server"), cpus("client"));
    let bench = if base.top["bench"] == "guest" { Bench::Guest } else { Bench::Host };
    let guest = if bench == Bench::Guest { std::mem::take(&mut base.guest) } else { Map::new() };
    let parameters = base.workloads.iter_mut().find(|known| known.0 == combination.workload);
    PlannedScenario {
        label: combination.label(study),
        levels: combination.named(study),
        workload: combination.workload.clone(),
        parameters: parameters.map(|known| std::mem::take(&mut known.1)).unwrap_or_default(),
        bench,
        guest,
        memory_bytes: base.top["memory"].as_u64(),
        server_cpus,
        client_cpus,
        client: base.top["client"].as_str().map(str::to_string),
        storage: parsed(base.storage),
        volumes: base.volumes.into_iter().map(|(name, volume)| (name, parsed(volume))).collect(),
        services: base.services,
        baseline: false,
        control: false,
    }
}

impl<S: Clone> Plan<S> {
    /// The order of the `wanted` scenarios in a round, as indices. Balanced over the rounds of a phase.
    pub fn order(&self, round: u32, wanted: &[bool]) -> Vec<usize> {
        let Drawn { seed, is_balanced, .. } = self.drawn;
        if !is_balanced {
            let all = shuffled(self.scenarios.len(), seed, round);
            return all.into_iter().filter(|index| wanted[*index]).collect();
        }
        let wanted: Vec<usize> = (0..self.scenarios.len()).filter(|index| wanted[*index]).collect();
        let order = balanced(wanted.len(), self.phase_seed(round), self.fleet_round(round));
        order.into_iter().map(|place| wanted[place]).collect()
    }

    /// A round of these scenarios of one workload in so many groups, each with the `shared` ones: indices in the order of their first turns.
    pub fn groups(&self, round: u32, shared: &[usize], others: &[usize], count: usize) -> Vec<Vec<usize>> {
        let (seed, round) = (self.phase_seed(round), self.fleet_round(round));
        let in_order = |(number, group): (usize, Vec<usize>)| -> Vec<usize> {
            let all: Vec<usize> = shared.iter().copied().chain(group.into_iter().map(|place| others[place])).collect();
            // Past the last number it begins anew: any number is an order.
            let index = round.wrapping_mul(u32::try_from(count).expect("a plan has few scenarios"));
            let index = index.wrapping_add(number as u32);
            balanced(all.len(), seed, index).into_iter().map(|place| all[place]).collect()
        };
        groups::split(others.len(), count, seed, round).into_iter().enumerate().map(in_order).collect()
    }

    /// Which round of its phase it is, over a whole fleet.
    fn fleet_round(&self, round: u32) -> u32 {
        self.drawn.rounds_before + round % ROUNDS_MAX
    }

    /// The seed of the orders of a round's phase.
    fn phase_seed(&self, round: u32) -> u64 {
        self.drawn.seed ^ u64::from(round / ROUNDS_MAX).rotate_right(8)
    }

    /// The number under which order and seeds of a confirmation's round are drawn: no main round has it.
    pub fn confirmation_round(round: u32) -> u32 {
        ROUNDS_MAX + round
    }

    /// The number under which order and seeds of a screen's round are drawn: neither a main nor a confirmation's round has it.
    pub fn screen_round(round: u32) -> u32 {
        2 * ROUNDS_MAX + round
    }

    /// All that one trial needs to know.
    pub fn trial_spec(&self, scenario: usize, round: u32, position: u32) -> TrialSpec<S> {
        let planned = &self.scenarios[scenario];
        let seed = data_seed(self.drawn.seed, round, self.drawn.rounds_before);
        let (label, storage) = (&planned.label, planned.storage.settings.clone());
        TrialSpec {
            round,
            position,
            guest: planned.guest.clone(),
            volumes: planned.volumes.iter().map(|(name, volume)| (name.clone(), volume.settings.clone())).collect(),
            services: planned.services.clone(),
            parameters: planned.parameters.clone(),
            memory_bytes: planned.memory_bytes,
            server_cpus: planned.server_cpus.clone(),
            client_cpus: planned.client_cpus.clone(),
            client: planned.client.clone(),
            warm_up_runs: self.design.warm_up_runs,
            runs: self.design.runs,
            cache: self.design.cache,
            timeout_seconds: self.design.trial_timeout_seconds,
            ineffective_options: self.design.ineffective_options,
            ..TrialSpec::single(&self.name, label, &planned.workload, planned.bench, seed, storage)
        }
    }

    /// Workloads in order of appearance.
    pub fn workloads(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let names = self.scenarios.iter().map(|scenario| &scenario.workload);
        names.filter(|name| seen.insert(*name)).cloned().collect()
    }

    /// Keeps scenarios whose label, or `factor=level`, contains one of these words; and their controls. Of a word that is the whole of one,
    /// no longer one is meant: `ext4` beside `ext4-no-journal`, `threads=1` beside `threads=16`.
    pub fn only(&mut self, words: &[String]) {
        let texts = |scenario: &PlannedScenario<S>| -> Vec<String> {
            let names = |(factor, level): (&String, &String)| [format!("{factor}={level}"), with_factor(factor, level)];
            scenario.levels.iter().flat_map(names).chain([scenario.label.clone()]).collect()
        };
        let texts: Vec<Vec<String>> = self.scenarios.iter().map(texts).collect();
        let (whole, parts): (Vec<&String>, Vec<&String>) =
            words.iter().partition(|word| texts.iter().any(|texts| texts.contains(word)));
        let is_meant = |text: &String| whole.contains(&text) || parts.iter().any(|part| text.contains(part.as_str()));
        let mut kept = texts.iter().map(|texts| texts.iter().any(is_meant));
        self.scenarios.retain(|_| kept.next().unwrap_or(false));
        self.settle();
    }

    /// Takes out scenarios by label; a control goes with its baseline.
    pub fn leave_out(&mut self, labels: &[String]) {
        self.scenarios.retain(|scenario| !labels.contains(&scenario.label));
        self.settle();
    }

    /// What follows from the scenarios that are left: a baseline for each workload, the controls, unique labels, the hash.
    fn settle(&mut self) {
        self.scenarios.retain(|scenario| !scenario.control);
        for workload in self.workloads() {
            let of = |scenario: &&mut PlannedScenario<S>| scenario.workload == workload;
            if !self.scenarios.iter_mut().filter(of).any(|scenario| scenario.baseline)
                && let Some(first) = self.scenarios.iter_mut().find(of)
            {
                first.baseline = true;
            }
        }
        if self.design.control {
            let controls: Vec<PlannedScenario<S>> =
                self.scenarios.iter().filter(|known| known.baseline).map(control).collect();
            self.scenarios.extend(controls);
        }
        let mut seen = HashSet::new();
        for scenario in &mut self.scenarios {
            let label = scenario.label.clone();
            let mut copies = 1;
            while !seen.insert(scenario.label.clone()) {
                copies += 1;
                scenario.label = format!("{label} #{copies}");
            }
        }
        self.baseline = self.scenarios.iter().position(|scenario| scenario.baseline).unwrap_or(0);
        self.screen();
        self.hash = self.digest(Parsed::deciding);
    }

    /// Whether this hash is the study's. That of older surefoots says what may be overwritten, too.
    pub fn has_hash(&self, hash: &str) -> bool {
        self.hash == hash || self.digest(|storage| json!(storage)) == hash
    }

    fn screen(&mut self) {
        (self.screens, self.unscreened) = (Vec::new(), Vec::new());
        if self.design.screen == Screening::Off {
            return;
        }
        for workload in self.workloads() {
            match Screen::of(&workload, &self.scenarios, self.design.screen) {
                Ok(screen) => self.screens.push(screen),
                Err(reason) => self.unscreened.push((workload, reason)),
            }
        }
    }

    /// Why the screen that the study names can't be had; "auto" is content without.
    pub fn screen_problem(&self) -> Option<String> {
        let (workload, reason) = self.unscreened.first().filter(|_| self.design.screen != Screening::Auto)?;
        Some(format!("`{workload}` can't be screened: {reason}"))
    }

    fn digest(&self, of_storage: fn(&Parsed<S>) -> Value) -> String {
        let scenario = |s: &PlannedScenario<S>| {
            let volumes: BTreeMap<&String, Value> =
                s.volumes.iter().map(|(name, volume)| (name, of_storage(volume))).collect();
            let bench = if s.guest.is_empty() { json!(s.bench) } else { json!([s.bench, s.guest]) };
            json!([
                s.label,
                of_storage(&s.storage),
                volumes,
                s.services,
                s.workload,
                s.parameters,
                bench,
                s.memory_bytes,
                s.server_cpus,
                s.client_cpus,
                s.baseline,
                s.control
            ])
        };
        let design = &self.design;
        let mut all = json!({
            "name": self.name, "scenarios": self.scenarios.iter().map(scenario).collect::<Vec<_>>(),
            "runs": design.runs, "warm_up_runs": design.warm_up_runs, "seed": design.seed.unwrap_or(SEED_BEFORE), "cache": design.cache,
            "ineffective": design.ineffective_options, "margin": design.margin, "confidence": design.confidence,
        });
        // Studies of older surefoots, which are full ones and have their load beside the server, keep their hash.
        if let Some(client) = self.scenarios.iter().find_map(|scenario| scenario.client.as_ref()) {
            all["client"] = json!(client);
        }
        if design.mode == Mode::Tune {
            all["mode"] = json!("tune");
        }
        if design.order == Some(Order::Turns) || design.turn_seconds != TURN_SECONDS || !design.charge_flush {
            all["turns"] = json!([design.turn_seconds, design.charge_flush]);
        }
        if let Some(up_max) = design.up_max {
            all["up_max"] = json!(up_max);
        }
        if !self.screens.is_empty() {
            let parts: Vec<_> = self.screens.iter().map(|screen| (&screen.workload, &screen.design.name)).collect();
            all["screen"] = json!([parts, design.screen_rounds]);
        }
        Sha256::digest(all.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn control<S: Clone>(baseline: &PlannedScenario<S>) -> PlannedScenario<S> {
    PlannedScenario {
        label: format!("{} (control)", baseline.label),
        baseline: false,
        control: true,
        ..baseline.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, read};
    use settings::{Kind, Setting};

    struct Devices;

    const STORAGE: &[Setting] = &[Setting::absent("path", Kind::Text), Setting::absent(LEAVE, Kind::Text)];
    const NAP: &[Setting] = &[];

    impl Catalogue for Devices {
        fn storage(&self) -> &'static [Setting] {
            STORAGE
        }
        fn storage_problems(&self, _: &Map<String, Value>) -> Vec<(String, String)> {
            Vec::new()
        }
        fn workloads(&self) -> Vec<&'static str> {
            vec!["nap"]
        }
        fn workload(&self, name: &str) -> Option<&'static [Setting]> {
            (name == "nap").then_some(NAP)
        }
        fn workload_problems(&self, _: &str, _: &Map<String, Value>) -> Vec<String> {
            Vec::new()
        }
    }

    /// A killed trial leaves its filesystem on the device. Who then said `wipe`, as the guard asks for it, had another study.
    #[test]
    fn a_study_goes_on_with_leave_to_overwrite() {
        let planned = |storage: &str| {
            let text = format!("name = \"s\"\n[storage]\n{storage}[workload.nap]\n");
            let study = read(&text, &[], &Devices).0.expect("right");
            plan(&study, &|_| ()).expect("few scenarios")
        };
        let (without, with) = (planned("path = \"/dev/a\"\n"), planned("path = \"/dev/a\"\nwipe = \"/dev/a\"\n"));
        assert!(with.has_hash(&without.hash) && without.has_hash(&with.hash));
        let before = with.digest(|storage| json!(storage));
        assert!(with.has_hash(&before) && !without.has_hash(&before));
        assert!(!planned("path = \"/dev/b\"\n").has_hash(&without.hash));
    }
}
