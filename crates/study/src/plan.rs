//! A study to its plan: scenarios, their order in each round, and the specification of each trial.

use crate::check::{Base, Rule, Study};
use crate::own_settings::{Design, Parity};
use crate::problem::Problem;
use crate::trial_spec::{Levels, TrialSpec};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// More scenarios than this are a mistake in the file: at a minute each, six rounds would take six weeks.
pub const SCENARIOS_MAX: u128 = 10_000;

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
    /// What differing durability does.
    pub parity: Parity,
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
    /// Which workload.
    pub workload: String,
    /// Its settings, plain form.
    pub parameters: Map<String, Value>,
    /// Where it runs.
    pub bench: String,
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
/// When it has too many scenarios (counted, not made), a rule that matches nothing, or no clear baseline.
pub fn plan(study: &Study) -> Result<Plan, Problem> {
    let combined = combine(study)?;
    let mut scenarios: Vec<PlannedScenario> = combined.iter().map(|combination| combination.scenario(study)).collect();
    disambiguate(&mut scenarios);
    for (workload, _) in &study.base.workloads {
        let mark = baseline_of(workload, &scenarios, study.baseline.as_ref())?;
        if let Some(index) = mark {
            scenarios[index].baseline = true;
        }
    }
    if study.design.control {
        let controls: Vec<PlannedScenario> = scenarios.iter().filter(|scenario| scenario.baseline).map(control).collect();
        scenarios.extend(controls);
    }
    let mut plan = Plan {
        name: study.name.clone(),
        question: study.question.clone(),
        scenarios,
        design: study.design.clone(),
        parity: study.parity,
        baseline: 0,
        hash: String::new(),
    };
    plan.seal();
    Ok(plan)
}

/// One level of each factor that concerns the workload: indices into the factor's levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    pub workload: String,
    pub levels: Vec<Option<usize>>,
}

/// All combinations that the rules leave.
pub fn combine(study: &Study) -> Result<Vec<Combination>, Problem> {
    let count: u128 = study.base.workloads.iter().map(|(workload, _)| count(study, workload)).fold(0, u128::saturating_add);
    if count > SCENARIOS_MAX {
        let message = format!("the factors make {} scenarios", grouped(count));
        let label = format!("at most {}; leave out levels, or split the question", grouped(SCENARIOS_MAX));
        return Err(Problem::new(message, None, label));
    }
    let mut all: Vec<Combination> = study.base.workloads.iter().flat_map(|(workload, _)| product(study, workload)).collect();
    for rule in &study.exclude {
        let before = all.len();
        all.retain(|combination| !combination.matches(study, rule));
        if all.len() == before {
            return Err(Problem::new("this exclude matches no scenario", rule.span.clone(), "a combination of levels that the factors make"));
        }
    }
    for rule in &study.include {
        let wanted = study.base.workloads.iter().flat_map(|(workload, _)| product(study, workload));
        let added: Vec<Combination> = wanted.filter(|combination| combination.matches(study, rule)).collect();
        all.extend(added.iter().filter(|combination| !all.contains(combination)).cloned().collect::<Vec<_>>());
    }
    if all.is_empty() {
        return Err(Problem::new("the excludes leave no scenario", None, "at least one"));
    }
    Ok(all)
}

fn count(study: &Study, workload: &str) -> u128 {
    let concerned = study.factors.iter().filter(|factor| factor.concerns(workload));
    concerned.map(|factor| factor.levels.len() as u128).fold(1, u128::saturating_mul)
}

fn product(study: &Study, workload: &str) -> Vec<Combination> {
    let mut all = vec![Vec::new()];
    for factor in &study.factors {
        let choices: Vec<Option<usize>> =
            if factor.concerns(workload) { (0..factor.levels.len()).map(Some).collect() } else { vec![None] };
        all = all
            .into_iter()
            .flat_map(|levels: Vec<Option<usize>>| {
                choices.iter().map(move |choice| levels.iter().copied().chain([*choice]).collect()).collect::<Vec<_>>()
            })
            .collect();
    }
    all.into_iter().map(|levels| Combination { workload: workload.to_string(), levels }).collect()
}

impl Combination {
    fn matches(&self, study: &Study, rule: &Rule) -> bool {
        let levels = self.named(study);
        rule.levels.iter().all(|(factor, level)| {
            if factor == "workload" { self.workload == *level } else { levels.get(factor) == Some(level) }
        })
    }

    fn named(&self, study: &Study) -> Levels {
        let pairs = study.factors.iter().zip(&self.levels);
        pairs.filter_map(|(factor, level)| Some((factor.name.clone(), factor.levels[(*level)?].label.clone()))).collect()
    }

    /// The base settings with this combination's levels laid over them; later factors win.
    pub fn settings(&self, study: &Study) -> Base {
        let mut base = study.base.clone();
        for (factor, level) in study.factors.iter().zip(&self.levels) {
            let Some(level) = level else { continue };
            for (path, value) in &factor.levels[*level].settings {
                base.set(path, value.clone());
            }
        }
        base
    }

    /// Its label: the levels of what varies, the workload first where there are several.
    pub fn label(&self, study: &Study) -> String {
        let mut parts = Vec::new();
        if study.base.workloads.len() > 1 {
            parts.push(self.workload.clone());
        }
        let varies = study.factors.iter().any(|factor| factor.levels.len() > 1);
        for (factor, level) in study.factors.iter().zip(&self.levels) {
            if let Some(level) = level.filter(|_| factor.levels.len() > 1 || !varies) {
                parts.push(factor.levels[level].label.clone());
            }
        }
        if parts.is_empty() { self.workload.clone() } else { parts.join(" · ") }
    }

    fn scenario(&self, study: &Study) -> PlannedScenario {
        let base = self.settings(study);
        let cpus = |name: &str| -> Vec<usize> {
            let list = base.cpus[name].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(Value::as_u64).filter_map(|cpu| usize::try_from(cpu).ok()).collect()
        };
        let mut levels = self.named(study);
        if study.base.workloads.len() > 1 {
            levels.insert("workload".into(), self.workload.clone());
        }
        let parameters = base.workloads.iter().find(|known| known.0 == self.workload).map(|known| known.1.clone());
        PlannedScenario {
            label: self.label(study),
            levels,
            workload: self.workload.clone(),
            parameters: parameters.unwrap_or_default(),
            bench: base.top["bench"].as_str().unwrap_or_default().to_string(),
            memory_bytes: base.top["memory"].as_u64(),
            server_cpus: cpus("server"),
            client_cpus: cpus("client"),
            storage: base.storage,
            baseline: false,
            control: false,
        }
    }
}

/// Two factors may use the same words: labels that clash carry their factors' names.
fn disambiguate(scenarios: &mut [PlannedScenario]) {
    let labels: Vec<String> = scenarios.iter().map(|scenario| scenario.label.clone()).collect();
    for (index, scenario) in scenarios.iter_mut().enumerate() {
        if labels.iter().filter(|label| **label == labels[index]).count() > 1 {
            let levels = scenario.levels.iter().map(|(factor, level)| format!("{factor}={level}"));
            scenario.label = levels.collect::<Vec<_>>().join(" · ");
        }
    }
}

/// The one scenario of a workload that the baseline rule names; without a rule, the first.
fn baseline_of(workload: &str, scenarios: &[PlannedScenario], rule: Option<&Rule>) -> Result<Option<usize>, Problem> {
    let mut of: Vec<usize> = (0..scenarios.len()).filter(|index| scenarios[*index].workload == workload).collect();
    let Some(rule) = rule else { return Ok(of.first().copied()) };
    // A level of a factor that does not concern this workload says nothing about it.
    of.retain(|index| {
        let scenario = &scenarios[*index];
        rule.levels.iter().all(|(factor, level)| scenario.levels.get(factor).is_none_or(|found| found == level))
    });
    match of[..] {
        [one] => Ok(Some(one)),
        [] => Err(Problem::new("the baseline matches no scenario", rule.span.clone(), "levels of one scenario")),
        [first, second, ..] => {
            let label = format!("name more factors: `{}` and `{}` both match", scenarios[first].label, scenarios[second].label);
            Err(Problem::new(format!("the baseline matches {} scenarios", of.len()), rule.span.clone(), label))
        }
    }
}

fn control(baseline: &PlannedScenario) -> PlannedScenario {
    PlannedScenario { label: format!("{} (control)", baseline.label), baseline: false, control: true, ..baseline.clone() }
}

impl Plan {
    /// The order of a round: indices of scenarios, shuffled by SplitMix64(seed + round) and Fisher-Yates from the end.
    #[must_use]
    pub fn order(&self, round: u32) -> Vec<usize> {
        shuffled(self.scenarios.len(), self.design.seed.wrapping_add(u64::from(round)))
    }

    /// All that one trial needs to know.
    #[must_use]
    pub fn trial_spec(&self, scenario: usize, round: u32, position: u32) -> TrialSpec {
        let planned = &self.scenarios[scenario];
        // Apart from the order's stream, and the same for all scenarios of a round: they do the same work.
        let mut state = self.design.seed.rotate_left(32) ^ u64::from(round);
        TrialSpec {
            study: self.name.clone(),
            scenario: planned.label.clone(),
            round,
            position,
            seed: split_mix(&mut state),
            bench: planned.bench.clone(),
            storage: planned.storage.clone(),
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
            let mut texts = vec![scenario.label.clone()];
            texts.extend(scenario.levels.iter().map(|(factor, level)| format!("{factor}={level}")));
            words.iter().any(|word| texts.iter().any(|text| text.contains(word.as_str())))
        });
        self.repair();
    }

    /// Takes out scenarios by label; a control goes with its baseline.
    pub fn leave_out(&mut self, labels: &[String]) {
        self.scenarios.retain(|scenario| !labels.contains(&scenario.label));
        self.repair();
    }

    /// After scenarios went: every workload has a baseline again, and controls are of baselines that are there.
    fn repair(&mut self) {
        let baselines: Vec<String> =
            self.scenarios.iter().filter(|scenario| scenario.baseline).map(|scenario| scenario.label.clone()).collect();
        self.scenarios.retain(|scenario| {
            !scenario.control || baselines.iter().any(|label| scenario.label == format!("{label} (control)"))
        });
        for workload in self.workloads() {
            let mut of = self.scenarios.iter_mut().filter(|scenario| scenario.workload == workload);
            if of.by_ref().all(|scenario| !scenario.baseline)
                && let Some(first) = self.scenarios.iter_mut().find(|scenario| scenario.workload == workload)
            {
                first.baseline = true;
                let control = control(first);
                if self.design.control {
                    self.scenarios.push(control);
                }
            }
        }
        self.seal();
    }

    /// The index of the baseline and the hash, after the scenarios are settled.
    fn seal(&mut self) {
        self.baseline = self.scenarios.iter().position(|scenario| scenario.baseline).unwrap_or(0);
        let scenarios: Vec<Value> = self
            .scenarios
            .iter()
            .map(|s| {
                json!([s.label, s.storage, s.workload, s.parameters, s.bench, s.memory_bytes, s.server_cpus, s.client_cpus, s.baseline, s.control])
            })
            .collect();
        let design = &self.design;
        let all = json!({
            "name": self.name, "scenarios": scenarios, "runs": design.runs, "warm_up_runs": design.warm_up_runs,
            "seed": design.seed, "cache": design.cache, "ineffective": design.ineffective_options,
            "margin": design.margin, "confidence": design.confidence,
        });
        self.hash = Sha256::digest(all.to_string()).iter().map(|byte| format!("{byte:02x}")).collect();
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let other = split_mix(&mut state) % (last as u64 + 1);
        order.swap(last, usize::try_from(other).expect("below the count"));
    }
    order
}

/// 1000000 → 1,000,000.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vector T2: SplitMix64(42 + round), six scenarios.
    #[test]
    fn orders_are_those_of_the_published_shuffle() {
        let mut state = 42;
        let first: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(first, [13_679_457_532_755_275_413, 2_949_826_092_126_892_291, 5_139_283_748_462_763_858]);
        let orders = [[4, 3, 0, 2, 5, 1], [0, 1, 2, 5, 3, 4], [2, 4, 5, 1, 0, 3]];
        for (round, order) in orders.into_iter().enumerate() {
            assert_eq!(shuffled(6, 42 + round as u64), order);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([grouped(1), grouped(1000), grouped(1_000_000_000)], ["1", "1,000", "1,000,000,000"]);
    }
}
