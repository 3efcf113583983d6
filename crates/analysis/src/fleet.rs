//! What a fleet's results mean: one study on many machines.
//!
//! A host is a block of rounds, and the unit of what is claimed. Four hosts or more are a sample of machines of their kind (`stats::hosts`);
//! fewer are these machines and no other. No figure of one host is ever held against one of another: all that is compared are ratios within
//! rounds, and a round lies on one host.

mod groups;
mod hosts;
mod limits;
mod part;

pub use limits::{FleetLimit, Shown};

use crate::conditions::IsChoice;
use crate::judge::rules;
use crate::looks::{self, Answer};
use ledger::model::{Contents, Host, Scenario, TrialState};
use observe::metric::Metric;
use observe::safety::Safety;
use stats::eliminate::FIRST_LOOK;
use stats::hosts::OverHosts;
use stats::{Contrast, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer hosts are no sample.
pub const HOSTS_MIN: usize = stats::hosts::HOSTS_MIN;

/// A study on many machines.
#[derive(Debug)]
pub struct Fleet {
    /// Members that it was to have.
    pub members: u32,
    /// Its machines, in the order of their first members.
    pub hosts: Vec<FleetHost>,
    /// What kinds of machines they are, the one with most hosts first.
    pub kinds: Vec<MachineKind>,
    /// In what they are not alike beside their kind.
    pub unlike: Vec<Unlike>,
    /// Members of whom something is missing.
    pub holes: Vec<Hole>,
    /// The part of their level that claims have: less than 1 while a member is missing or goes on.
    pub share: f64,
    /// One a workload, in plan order; of one whose load has conditions, one a combination of their levels.
    pub parts: Vec<FleetPart>,
    /// The study's limits with each scenario, in the order of the file.
    pub limits: Vec<FleetLimit>,
    /// Two-sided confidence of the intervals.
    pub confidence: f64,
}

/// A machine of the fleet.
#[derive(Debug)]
pub struct FleetHost {
    /// Which.
    pub host: Host,
    /// Members that it measured.
    pub members: Vec<u32>,
    /// Its kind, by its place in the list.
    pub kind: usize,
    /// The place of the first host that is the same machine under another name, as one run of a kernel had members of both.
    pub is_again: Option<usize>,
}

/// Machines that are alike.
#[derive(Debug)]
pub struct MachineKind {
    /// What all of them have.
    pub facts: BTreeMap<&'static str, String>,
    /// Which they are.
    pub hosts: Vec<usize>,
}

/// A fact that makes no kind, and is not the same on all machines.
#[derive(Debug)]
pub struct Unlike {
    /// Its name.
    pub fact: String,
    /// Each value, and the machines that have it.
    pub values: Vec<(String, Vec<usize>)>,
}

/// A member of whom something is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hole {
    /// There is no results file of it that can be read.
    Missing(u32),
    /// It measured a part of its rounds.
    Unfinished {
        /// Which.
        member: u32,
        /// On which machine.
        host: String,
        /// Rounds that it finished.
        rounds: u32,
        /// Of so many.
        of: u32,
    },
    /// Trials of it failed: it has no figure of their scenarios in those rounds.
    Failed {
        /// Which.
        member: u32,
        /// On which machine.
        host: String,
        /// How many.
        trials: usize,
        /// The scenarios, in the study's order.
        scenarios: Vec<String>,
    },
    /// What a power cut takes, or a failing disk does, was not measured there, or not to the end. Where nothing was, it is not known of these
    /// scenarios over the fleet, unless data were damaged elsewhere.
    Unmeasured {
        /// Which of the two.
        harm: Harm,
        /// Which.
        member: u32,
        /// On which machine.
        host: String,
        /// The scenarios, in the study's order.
        scenarios: Vec<String>,
    },
}

/// What is measured beside the speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// What a power cut takes.
    PowerCut,
    /// What a failing disk does.
    FailingDisk,
}

/// One workload's question and answer; where its load has conditions, under one combination of their levels.
#[derive(Debug)]
pub struct FleetPart {
    /// The workload.
    pub workload: String,
    /// Paths of the factors that are conditions of the load.
    pub conditions: Vec<String>,
    /// Their levels here; empty where there are none, or where they are all there is.
    pub levels: Vec<String>,
    /// Whether conditions are all there is, so that nothing can be picked.
    pub is_given: bool,
    /// Its primary metric.
    pub metric: Metric,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Its scenarios in plan order, the control among them.
    pub scenarios: Vec<OfFleet>,
    /// The baseline's place among them.
    pub baseline: Option<usize>,
    /// Those that may be the best of the ones that may be picked, the best first; empty: nothing can be said.
    pub picks: Vec<usize>,
    /// Hosts that the choice rests on: the fewest on which the first of these has rounds in common with another that may be picked.
    pub hosts: usize,
    /// So far may the first of these be behind the true best, as a fraction.
    pub regret: Option<f64>,
    /// Who is ahead on each host, of those that may be picked.
    pub ahead: Vec<Option<usize>>,
    /// The level of the claims: of several conditions each has its share.
    pub alpha: f64,
}

/// A scenario on many machines.
#[derive(Debug)]
pub struct OfFleet {
    /// Its label.
    pub label: String,
    /// Whether it is the A/A control.
    pub control: bool,
    /// Why it is never picked; none: it may be.
    pub out: Option<Out>,
    /// What a power cut was measured to take on the machine that counts, and that machine's name; none: on none.
    pub power_cut: Option<(Safety, String)>,
    /// By host the mean of its rounds' ratios to the baseline, a logarithm; none: it has no round in common with it there.
    pub ratios: Vec<Option<f64>>,
    /// Its ratio to the baseline; none of the baseline, and where too little was measured.
    pub against: Option<Against>,
}

/// Why a scenario is never picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Out {
    /// No trial of it has a figure.
    Unmeasured,
    /// It has figures on so few hosts that they are no sample, and the fleet is one.
    FewHosts(usize),
    /// Others are safer in a power cut.
    LessSafe,
    /// More of what was asked of it went wrong, which is shown.
    Errors,
    /// A run did nothing at all.
    Stalled,
    /// It is the A/A control.
    Control,
}

/// A scenario's ratio to the baseline over hosts.
#[derive(Debug)]
pub struct Against {
    /// Log scale.
    pub contrast: Contrast,
    /// On how many hosts both have rounds in common.
    pub hosts: usize,
    /// How hosts differ, where they are a sample; none: these hosts only.
    pub sample: Option<OverHosts>,
    /// p, corrected over the scenarios that are compared with the baseline.
    pub p: f64,
    /// The verdict; none from too few rounds on these hosts, or too few hosts of a fleet that is a sample.
    pub verdict: Option<Verdict>,
    /// The same of each kind of machine that has hosts enough, where there are several kinds: its place, and what its hosts show.
    pub by_kind: Vec<(usize, OverHosts)>,
}

impl Fleet {
    /// Of a results file that holds more than one member; none of a study of one machine.
    pub fn of(contents: &Contents, is_choice: IsChoice) -> Option<Fleet> {
        if contents.members.len() < 2 {
            return None;
        }
        let (hosts, kinds) = hosts::hosts(contents);
        let members = contents.members.iter().map(|member| member.of.max(member.number)).max().unwrap_or(0);
        let holes = holes(contents, members);
        let answer = answer(contents, &holes, (hosts.len() as u32, members));
        let parts = part::parts(contents, (&hosts, &kinds, answer), is_choice);
        let alpha = rules(&contents.study.analysis, answer).alpha();
        Some(Fleet {
            members,
            holes,
            share: answer.share,
            limits: limits::limits(contents, (&hosts, kinds.len() == 1), alpha),
            unlike: hosts::unlike(contents, &hosts),
            hosts,
            kinds,
            parts,
            confidence: contents.study.analysis.confidence,
        })
    }

    /// Whether its hosts are a sample of others.
    pub fn is_sample(&self) -> bool {
        self.hosts.len() >= HOSTS_MIN
    }
}

impl FleetPart {
    /// The one that is picked.
    pub fn pick(&self) -> Option<&OfFleet> {
        self.picks.first().map(|place| &self.scenarios[*place])
    }
}

/// Which answer it is: another one for each size that the fleet had. While a member is missing or goes on, whoever merges what there is looks before
/// the end: each number of hosts has its share of the level.
fn answer(contents: &Contents, holes: &[Hole], (hosts, members): (u32, u32)) -> Answer {
    let sizes: BTreeSet<u32> = contents.members.iter().map(|member| member.of).collect();
    let goes_on = holes.iter().any(|hole| matches!(hole, Hole::Missing(_) | Hole::Unfinished { .. }));
    // Hosts are looked at from the first on, and rounds from the fourth.
    let before = FIRST_LOOK - 1;
    let share = if goes_on { looks::share(hosts + before, members + before) } else { 1.0 };
    Answer { number: sizes.len() as u32, share }
}

fn holes(contents: &Contents, members: u32) -> Vec<Hole> {
    let trials = contents.counted_trials();
    let hole = |number: u32| -> Vec<Hole> {
        let Some(member) = contents.members.iter().find(|member| member.number == number) else {
            return vec![Hole::Missing(number)];
        };
        let rounds = contents.rounds_measured(member, &trials);
        let host = member.host.name.clone();
        if rounds < member.rounds {
            return vec![Hole::Unfinished { member: number, host, rounds, of: member.rounds }];
        }
        let failed = || trials.iter().filter(|trial| trial.member == Some(number) && trial.state == TrialState::Failed);
        let among = |is_one: &dyn Fn(&Scenario) -> bool| -> Vec<String> {
            let all = contents.scenarios.iter().filter(|scenario| is_one(scenario));
            all.map(|scenario| scenario.label.clone()).collect()
        };
        let scenarios = among(&|scenario| failed().any(|trial| trial.scenario == scenario.label));
        if !scenarios.is_empty() {
            return vec![Hole::Failed { member: number, host, trials: failed().count(), scenarios }];
        }
        // Each member measures all scenarios: who was ended before has no word of the rest.
        let (cuts, faults) = (&contents.safety, &contents.faults);
        let no_power_cut = |scenario: &Scenario| {
            let last = contents.last_cut(&scenario.label, Some(number));
            !scenario.control && last.map_or(!cuts.is_empty(), |last| last.safety.is_none())
        };
        let no_failing_disk = |scenario: &Scenario| {
            let last = contents.last_faults(&scenario.label, Some(number));
            !scenario.control && last.map_or(!faults.is_empty(), |last| !last.is_whole())
        };
        let unmeasured = [(Harm::PowerCut, among(&no_power_cut)), (Harm::FailingDisk, among(&no_failing_disk))];
        let unmeasured = unmeasured.into_iter().filter(|(_, scenarios)| !scenarios.is_empty());
        let hole = |(harm, scenarios)| Hole::Unmeasured { member: number, host: host.clone(), harm, scenarios };
        unmeasured.map(hole).collect()
    };
    (1..=members).flat_map(hole).collect()
}
