//! Which scenarios compete, which of them are shown to be worse, and which are measured once more when all rounds are done.
//!
//! Driven by the conductor at round ends. Scenarios compete under the same conditions of the load only, and none is beaten by one
//! that a power cut may take more from, of whose requests a larger share went wrong, or that failed in more rounds. What earlier sessions decided
//! stands, so that a study goes on as it would have.

use crate::values::{Values, primary};
use analysis::conditions;
use analysis::parity::{Behind, Standing, behind};
use crash::plan::Plan;
use ledger::model::{Decision, Finalists, Scenario, Worse};
use observe::durability::Class;
use observe::metric::Direction;
use stats::eliminate::{self, Looks};
use stats::{Cell, Observations, Rules, StopDecision};
use study::Mode;

/// Who competes with whom, and who has fallen out. Scenarios are indices into the plan.
#[derive(Debug)]
pub struct Tune {
    mode: Mode,
    groups: Vec<Group>,
    labels: Vec<String>,
    baselines: Vec<bool>,
    known: Vec<Decision>,
    worse: Vec<bool>,
}

/// Scenarios of one workload under the same conditions.
#[derive(Debug)]
struct Group {
    workload: String,
    members: Vec<usize>,
    more_is_better: bool,
    /// The member with the levels of the workload's baseline.
    baseline: Option<usize>,
}

impl Tune {
    /// All compete but controls and those that a screen left out; `known` is what was decided before.
    pub fn new(plan: &Plan, known: Vec<Decision>, left_out: &[bool]) -> Tune {
        let scenarios = crate::resume::scenarios(plan);
        let of_workload = |workload: &String| groups(plan, (&scenarios, left_out), workload);
        let groups = plan.workloads().iter().flat_map(of_workload).collect();
        let labels = scenarios.iter().map(|scenario| scenario.label.clone()).collect();
        let baselines = scenarios.iter().map(|scenario| scenario.baseline).collect();
        Tune { mode: plan.design.mode, groups, labels, baselines, known, worse: vec![false; scenarios.len()] }
    }

    /// Whether a scenario is measured no further.
    pub fn is_dropped(&self, scenario: usize) -> bool {
        self.worse[scenario] && !self.baselines[scenario]
    }

    /// The last main round, once the confirmation was begun: who is confirmed was chosen from the rounds until then.
    pub fn closed_after(&self) -> Option<u32> {
        let round = |decision: &Decision| {
            if let Decision::Confirm(finalists) = decision { Some(finalists.round) } else { None }
        };
        self.known.iter().find_map(round)
    }

    /// What earlier sessions decided after this round takes effect.
    pub fn recall(&mut self, round: u32) {
        for decision in &self.known {
            let Decision::Worse(worse) = decision else { continue };
            if worse.round == round
                && let Some(index) = self.labels.iter().position(|label| *label == worse.scenario)
            {
                self.worse[index] = true;
            }
        }
    }

    /// Looks after a round for those that are shown to be worse. `standings`: what comes before each scenario's speed.
    pub fn look(&mut self, round: u32, values: &Values, standings: &[Standing], rules: &Rules) -> Vec<Worse> {
        let mut found = Vec::new();
        if self.mode == Mode::Full {
            return found;
        }
        for group in &self.groups {
            let alpha = (1.0 - rules.confidence) / self.alike(group) as f64;
            let looks = Looks { alpha, rounds_max: rules.rounds_max, candidates: group.members.len() };
            let members = &group.members;
            let standing: Vec<usize> = (0..members.len()).filter(|cell| !self.worse[members[*cell]]).collect();
            let may_beat = |it: usize, cell: usize| standings[members[it]].may_beat(&standings[members[cell]]);
            let observations = group.observations(values);
            for worse in eliminate::worse(&observations, &standing, &may_beat, &looks) {
                let scenario = members[worse.cell];
                self.worse[scenario] = true;
                found.push(Worse {
                    scenario: self.labels[scenario].clone(),
                    round,
                    than: self.labels[members[worse.than]].clone(),
                    behind: worse.lead.exp_m1(),
                    behind_at_least: worse.lead_low.exp_m1(),
                    behind_at_most: worse.lead_high.exp_m1(),
                    rounds: u32::try_from(worse.rounds).expect("fewer rounds than a study may have"),
                    stays: self.baselines[scenario],
                });
            }
        }
        self.known.extend(found.iter().cloned().map(Decision::Worse));
        found
    }

    /// What the stop rule says of each group.
    pub fn enough(&self, values: &Values, standings: &[Standing], rules: &Rules) -> Vec<StopDecision> {
        // To stop as soon as one is shown to have more errors is to look after each round: all looks together have the level once.
        let rounds = u32::try_from(values.rounds.len()).expect("fewer rounds than a study may have");
        let by_looks = Rules { share: analysis::looks::share(rounds, rules.rounds_max), ..*rules };
        let decide = |group: &Group| {
            let safest = self.safest(&group.workload, values, standings);
            // A failure need not be the last: who failed is waited for as long as it is measured.
            let choices = safest.map(|safest| {
                let all = self.choices((group, values), standings, (safest, &by_looks));
                all.into_iter().filter(|(_, behind)| !matches!(behind, Some(Behind::Errors(_)))).map(|(it, _)| it)
            });
            let choices: Option<Vec<usize>> = choices.map(Iterator::collect);
            let may_be_picked = |scenario: usize| {
                !self.worse[scenario] && choices.as_ref().is_none_or(|choices| choices.contains(&scenario))
            };
            let standing: Vec<usize> =
                (0..group.members.len()).filter(|cell| may_be_picked(group.members[*cell])).collect();
            stats::enough_to_pick(&group.observations(values), &standing, rules)
        };
        self.groups.iter().map(decide).collect()
    }

    /// Who is measured once more: as an earlier session decided, else by what is known now.
    pub fn finalists(&mut self, round: u32, values: &Values, standings: &[Standing], rules: &Rules) -> Vec<Finalists> {
        let of_group = |group: &Group| {
            let safest = self.safest(&group.workload, values, standings)?;
            let observations = group.observations(values);
            let choices = self.choices((group, values), standings, (safest, rules));
            let choices: Vec<usize> =
                choices.into_iter().filter(|(_, behind)| behind.is_none()).map(|(it, _)| it).collect();
            let has_value = |cell: usize| observations.rounds.iter().any(|row| row[cell].is_some());
            let safe = |cell: &usize| choices.contains(&group.members[*cell]) && has_value(*cell);
            let (standing, fallen): (Vec<usize>, Vec<usize>) =
                (0..group.members.len()).filter(safe).partition(|cell| !self.worse[group.members[*cell]]);
            // Who stalled is no pick, however fast in the other rounds.
            let steady: Vec<usize> = standing.iter().copied().filter(|cell| !observations.has_stalled(*cell)).collect();
            let by_pairs = stats::best_of(&observations, &steady, rules).map(|found| found.pick);
            let pick = by_pairs.or_else(|| best(&observations, &steady))?;
            let others: Vec<usize> = standing.into_iter().filter(|cell| *cell != pick).collect();
            let runner_up = nearest(&observations, pick, &others).or_else(|| nearest(&observations, pick, &fallen));
            let label = |cell: usize| self.labels[group.members[cell]].clone();
            let (workload, pick, runner_up) = (group.workload.clone(), label(pick), runner_up.map(label));
            let baseline = group.baseline.map(|scenario| self.labels[scenario].clone());
            Some(Finalists { round, workload, pick, runner_up, baseline })
        };
        let found: Vec<Finalists> = self.groups.iter().filter_map(of_group).collect();
        self.known.extend(found.iter().cloned().map(Decision::Confirm));
        found
    }

    /// Indices of all that are confirmed.
    pub fn confirmed(&self) -> Vec<usize> {
        let mut labels: Vec<&String> = Vec::new();
        for decision in &self.known {
            let Decision::Confirm(finalists) = decision else { continue };
            labels.push(&finalists.pick);
            labels.extend(finalists.runner_up.iter().chain(&finalists.baseline));
        }
        (0..self.labels.len()).filter(|scenario| labels.contains(&&self.labels[*scenario])).collect()
    }

    /// Scenarios that a confirmation may have at most.
    pub fn confirmed_max(&self) -> usize {
        self.groups.iter().map(|group| group.members.len().min(3)).sum()
    }

    /// Groups of a group's workload, itself among them: they share a level.
    fn alike(&self, group: &Group) -> usize {
        self.groups.iter().filter(|other| other.workload == group.workload).count()
    }

    /// A group's members of the safest class, each with why it is no choice beside another of them; none where it is behind nobody.
    fn choices(
        &self,
        (group, values): (&Group, &Values),
        standings: &[Standing],
        (safest, rules): (Class, &Rules),
    ) -> Vec<(usize, Option<Behind>)> {
        let figures = |scenario: usize| values.rounds.iter().filter_map(move |row| row[scenario]);
        // Who stalled, or was measured no further, is not picked, however few its errors.
        let competes = |scenario: &usize| {
            let is_steady = figures(*scenario).next().is_some() && figures(*scenario).all(|value| value > 0.0);
            standings[*scenario].class == safest && is_steady && !self.is_dropped(*scenario)
        };
        let competing: Vec<Option<&Standing>> =
            group.members.iter().map(|scenario| competes(scenario).then(|| &standings[*scenario])).collect();
        // As the report has it of a study's first answer.
        let found = behind(&competing, rules.alpha() / self.alike(group) as f64);
        let all = group.members.iter().copied().zip(found);
        all.filter(|(scenario, _)| standings[*scenario].class == safest).collect()
    }

    /// The safest class of a workload's scenarios that have a value: speed bought with safety is no pick.
    fn safest(&self, workload: &str, values: &Values, standings: &[Standing]) -> Option<Class> {
        let members = self.groups.iter().filter(|group| group.workload == workload).flat_map(|group| &group.members);
        let measured = members.filter(|scenario| values.rounds.iter().any(|row| row[**scenario].is_some()));
        measured.map(|scenario| standings[*scenario].class).min()
    }
}

impl Group {
    fn observations(&self, values: &Values) -> Observations {
        let cell = |scenario: &usize| Cell { label: values.scenarios[*scenario].clone(), ..Cell::default() };
        Observations {
            cells: self.members.iter().map(cell).collect(),
            rounds: values.rounds.iter().map(|row| self.members.iter().map(|member| row[*member]).collect()).collect(),
            more_is_better: self.more_is_better,
        }
    }
}

/// A workload's scenarios by the levels of those factors that are conditions.
fn groups(plan: &Plan, (scenarios, left_out): (&[Scenario], &[bool]), workload: &str) -> Vec<Group> {
    let is_studied = |index: &usize| scenarios[*index].workload == workload && !left_out[*index];
    let of: Vec<usize> = (0..scenarios.len()).filter(is_studied).collect();
    let all: Vec<&Scenario> = of.iter().map(|index| &scenarios[*index]).collect();
    let conditions = conditions::conditions(&all, workloads::is_choice);
    let competing: Vec<usize> = of.into_iter().filter(|index| !scenarios[*index].control).collect();
    let group = |conditions::Group { members, baseline, .. }: conditions::Group| {
        let metric = primary(workload, &plan.scenarios[members[0]].parameters);
        let more_is_better = metric.is_none_or(|metric| metric.direction != Direction::Less);
        Group { workload: workload.into(), members, more_is_better, baseline }
    };
    conditions::groups(scenarios, &competing, &conditions).into_iter().map(group).collect()
}

/// The cell with the best geometric mean.
fn best(observations: &Observations, cells: &[usize]) -> Option<usize> {
    let sign = if observations.more_is_better { 1.0 } else { -1.0 };
    let mean = |cell: usize| {
        let values: Vec<f64> = observations.rounds.iter().filter_map(|row| row[cell]).map(f64::ln).collect();
        sign * values.iter().sum::<f64>() / values.len() as f64
    };
    cells.iter().copied().max_by(|a, b| mean(*a).total_cmp(&mean(*b)))
}

/// The cell that is least behind the pick, over the rounds that they share.
fn nearest(observations: &Observations, pick: usize, cells: &[usize]) -> Option<usize> {
    let sign = if observations.more_is_better { 1.0 } else { -1.0 };
    let ahead = |cell: usize| {
        let differences = observations.differences(&observations.pair(cell, pick));
        (!differences.is_empty()).then(|| sign * differences.iter().sum::<f64>() / differences.len() as f64)
    };
    let known = cells.iter().filter_map(|cell| Some((*cell, ahead(*cell)?)));
    known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(cell, _)| cell)
}
