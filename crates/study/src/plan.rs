//! A study to its plan: scenarios, their order in each round, and the specification of each trial.

use crate::check::Study;
use crate::matrix::{Combination, matrix};
use crate::order::{data_seed, shuffled};
use crate::own_settings::{Design, Mode, Parity, ROUNDS_MAX, Screening};
use crate::problem::Problem;
use crate::safety::Safety;
use crate::screen::Screen;
use crate::table::Table;
use crate::trial_spec::{Levels, TrialSpec};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashSet};

/// What a study comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The study's name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// Scenarios; each workload's control comes after all others.
    pub scenarios: Vec<PlannedScenario>,
    /// How it is run.
    pub design: Design,
    /// How it is measured what a power cut takes from each scenario; none: it is not. It decides no speed.
    pub safety: Option<Safety>,
    /// What differing durability does.
    pub parity: Parity,
    /// Whether the study itself says where trials run; otherwise that may still be chosen for it.
    pub bench_is_said: bool,
    /// Tables that the report is asked for. They decide no figure.
    pub tables: Vec<Table>,
    /// Paths of the settings that the study names; the others are at their defaults.
    pub named: Vec<String>,
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

/// One bar in the chart.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedScenario {
    /// Label, unique in the plan.
    pub label: String,
    /// Factor → level label.
    pub levels: Levels,
    /// Settings of `[storage]`, plain form.
    pub storage: Map<String, Value>,
    /// Further volumes, each like `storage`.
    pub volumes: BTreeMap<String, Map<String, Value>>,
    /// Settings of `[service.NAME]` by name.
    pub services: BTreeMap<String, Map<String, Value>>,
    /// Which workload.
    pub workload: String,
    /// Its settings, plain form.
    pub parameters: Map<String, Value>,
    /// Where it runs.
    pub bench: String,
    /// Settings of `[guest]`, plain form; empty on the host.
    pub guest: Map<String, Value>,
    /// Memory limit.
    pub memory_bytes: Option<u64>,
    /// CPUs of the servers.
    pub server_cpus: Vec<usize>,
    /// CPUs of the load generator.
    pub client_cpus: Vec<usize>,
    /// Whether it is its workload's baseline.
    pub baseline: bool,
    /// Whether it is the A/A control: the baseline once more.
    pub control: bool,
}

/// Plans a study.
///
/// # Errors
/// When it has too many scenarios (counted, not made), a rule that changes nothing, or no clear baseline. [`crate::read`]
/// says so too, of all of them at once.
pub fn plan(study: &Study) -> Result<Plan, Problem> {
    let matrix = matrix(study).map_err(|mut problems| problems.swap_remove(0))?;
    let mut scenarios: Vec<PlannedScenario> = matrix.combinations.iter().map(|known| scenario(study, known)).collect();
    for index in matrix.baselines {
        scenarios[index].baseline = true;
    }
    let mut plan = Plan {
        name: study.name.clone(),
        question: study.question.clone(),
        scenarios,
        design: study.design.clone(),
        safety: study.safety.clone(),
        parity: study.parity,
        bench_is_said: study.bench_is_said,
        tables: study.tables.clone(),
        named: study.named.clone(),
        screens: Vec::new(),
        unscreened: Vec::new(),
        baseline: 0,
        hash: String::new(),
    };
    plan.settle();
    Ok(plan)
}

fn scenario(study: &Study, combination: &Combination) -> PlannedScenario {
    let mut base = combination.settings(study);
    let cpus = |name: &str| -> Vec<usize> {
        let list = base.cpus[name].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_u64).filter_map(|cpu| usize::try_from(cpu).ok()).collect()
    };
    let (server_cpus, client_cpus) = (cpus("server"), cpus("client"));
    let bench = base.top["bench"].as_str().unwrap_or_default().to_string();
    let guest = if bench == "guest" { std::mem::take(&mut base.guest) } else { Map::new() };
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
        storage: base.storage,
        volumes: base.volumes,
        services: base.services,
        baseline: false,
        control: false,
    }
}

impl Plan {
    /// The order of a round: indices of scenarios, shuffled by SplitMix64(seed + round) and Fisher-Yates from the end.
    #[must_use]
    pub fn order(&self, round: u32) -> Vec<usize> {
        shuffled(self.scenarios.len(), self.design.seed, round)
    }

    /// The number under which order and seeds of a confirmation's round are drawn: no main round has it.
    #[must_use]
    pub fn confirmation_round(round: u32) -> u32 {
        ROUNDS_MAX + round
    }

    /// The number under which order and seeds of a screen's round are drawn: neither a main nor a confirmation's round has it.
    #[must_use]
    pub fn screen_round(round: u32) -> u32 {
        2 * ROUNDS_MAX + round
    }

    /// All that one trial needs to know.
    #[must_use]
    pub fn trial_spec(&self, scenario: usize, round: u32, position: u32) -> TrialSpec {
        let planned = &self.scenarios[scenario];
        TrialSpec {
            study: self.name.clone(),
            scenario: planned.label.clone(),
            round,
            position,
            seed: data_seed(self.design.seed, round),
            bench: planned.bench.clone(),
            guest: planned.guest.clone(),
            storage: planned.storage.clone(),
            volumes: planned.volumes.clone(),
            services: planned.services.clone(),
            workload: planned.workload.clone(),
            parameters: planned.parameters.clone(),
            memory_bytes: planned.memory_bytes,
            server_cpus: planned.server_cpus.clone(),
            client_cpus: planned.client_cpus.clone(),
            warm_up_runs: self.design.warm_up_runs,
            runs: self.design.runs,
            cache: self.design.cache,
            timeout_seconds: self.design.trial_timeout_seconds,
            ineffective_options: self.design.ineffective_options,
            cut: None,
        }
    }

    /// Workloads in order of appearance.
    #[must_use]
    pub fn workloads(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for scenario in &self.scenarios {
            if !names.contains(&scenario.workload) {
                names.push(scenario.workload.clone());
            }
        }
        names
    }

    /// Keeps scenarios whose label, or `factor=level`, contains one of these words; and their controls.
    pub fn only(&mut self, words: &[String]) {
        self.scenarios.retain(|scenario| {
            let levels = scenario.levels.iter().map(|(factor, level)| format!("{factor}={level}"));
            let texts: Vec<String> = levels.chain([scenario.label.clone()]).collect();
            words.iter().any(|word| texts.iter().any(|text| text.contains(word.as_str())))
        });
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
            let of = |scenario: &&mut PlannedScenario| scenario.workload == workload;
            if !self.scenarios.iter_mut().filter(of).any(|scenario| scenario.baseline)
                && let Some(first) = self.scenarios.iter_mut().find(of)
            {
                first.baseline = true;
            }
        }
        if self.design.control {
            let controls: Vec<PlannedScenario> =
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
        self.hash = self.digest();
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
    #[must_use]
    pub fn screen_problem(&self) -> Option<String> {
        let (workload, reason) = self.unscreened.first().filter(|_| self.design.screen != Screening::Auto)?;
        Some(format!("`{workload}` can't be screened: {reason}"))
    }

    fn digest(&self) -> String {
        let scenario = |s: &PlannedScenario| {
            let bench = if s.guest.is_empty() { json!(s.bench) } else { json!([s.bench, s.guest]) };
            json!([
                s.label,
                s.storage,
                s.volumes,
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
            "runs": design.runs, "warm_up_runs": design.warm_up_runs, "seed": design.seed, "cache": design.cache,
            "ineffective": design.ineffective_options, "margin": design.margin, "confidence": design.confidence,
        });
        // Studies of older surefoots, which are full ones, keep their hash.
        if design.mode == Mode::Tune {
            all["mode"] = json!("tune");
        }
        if !self.screens.is_empty() {
            let parts: Vec<_> = self.screens.iter().map(|screen| (&screen.workload, &screen.design.name)).collect();
            all["screen"] = json!([parts, design.screen_rounds]);
        }
        Sha256::digest(all.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn control(baseline: &PlannedScenario) -> PlannedScenario {
    PlannedScenario {
        label: format!("{} (control)", baseline.label),
        baseline: false,
        control: true,
        ..baseline.clone()
    }
}
