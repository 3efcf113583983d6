//! One workload over a fleet's machines: ratios within rounds, what they show over hosts, and the pick.

use super::groups::{Group, groups};
use super::hosts::host_of_members;
use super::{Against, FleetHost, FleetPart, HOSTS_MIN, MachineKind, OfFleet, Out};
use crate::conditions::IsChoice;
use crate::counting::places;
use crate::errors::Errors;
use crate::judge::{ROUNDS_FOR_CLAIMS, rules};
use crate::looks::Answer;
use crate::parity::{Behind, Rule, Standing, behind};
use ledger::model::{Contents, MeasuredSafety, Phase, Scenario};
use observe::durability::Class;
use observe::metric::Direction;
use observe::safety::Safety;
use stats::Held;
use stats::hosts::{over_hosts, these_hosts};
use std::collections::BTreeMap;

/// The answers of all workloads, in plan order.
pub(super) fn parts(
    contents: &Contents,
    (hosts, kinds, answer): (&[FleetHost], &[MachineKind], Answer),
    is_choice: IsChoice,
) -> Vec<FleetPart> {
    let standings = standings(contents, hosts);
    let of_workload = |workload: &str| -> Vec<FleetPart> {
        let columns = places(contents, workload, |_| true);
        let primary = columns.first().map_or("", |column| &*contents.scenarios[*column].primary_metric);
        let figures = figures(contents, hosts, &columns, primary);
        let measured = columns.iter().enumerate().filter(|(place, _)| figures.is_measured(*place));
        let compete = measured.filter(|(_, column)| !contents.scenarios[**column].control);
        // What few hosts of a sample have run is no choice for the others.
        let compete = compete.filter(|(place, _)| !figures.is_on_few_hosts(*place));
        // Where no safe one ran under a condition, an unsafe one is no pick for it.
        let safest = compete.filter_map(|(_, column)| Some(standings[*column].as_ref()?.class)).min();
        let groups = groups(contents, &columns, is_choice);
        let count = groups.len();
        let of_group = |group: Group| {
            let places = |column: &usize| columns.iter().position(|other| other == column);
            let figures = figures.of(&group.columns.iter().filter_map(places).collect::<Vec<usize>>());
            let asked = Asked { contents, workload, kinds, answer, group, figures, count, safest };
            asked.answer(&standings)
        };
        groups.into_iter().map(of_group).collect()
    };
    contents.workloads().into_iter().flat_map(of_workload).collect()
}

/// What comes before each scenario's speed; none: it is never picked.
fn standings(contents: &Contents, hosts: &[FleetHost]) -> Vec<Option<Standing>> {
    let flushing = crate::flushing::flushing(contents);
    let errors = crate::errors::errors(contents);
    let host_of = host_of_rounds(contents, hosts);
    let standing = |scenario: &Scenario| {
        let rule = Rule::of(contents, &scenario.workload);
        let measured = contents.safety_of(scenario).and_then(|measured| measured.safety.as_ref());
        // Where a machine's measurement is missing no class is known, but that it is no better than on the others.
        let worst = || worst_known(contents, scenario).and_then(|measured| measured.safety.as_ref());
        let measured = measured.or_else(|| worst().filter(|_| rule == Rule::Promise));
        let class = rule.competes_in(scenario.durability.class, flushing.get(&scenario.label), measured)?;
        let errors = errors.get(&scenario.label).cloned().unwrap_or_default();
        let errors = if hosts.len() < HOSTS_MIN { errors } else { by_host(errors, &host_of) };
        // What failed is a hole of the fleet, which is named: over hosts a pick is of those on which it ran.
        Some(Standing { class, errors, failed: 0 })
    };
    contents.scenarios.iter().map(standing).collect()
}

/// On any machine.
fn worst_known<'a>(contents: &'a Contents, scenario: &Scenario) -> Option<&'a MeasuredSafety> {
    let of_it = contents.safety.iter().filter(|measured| measured.scenario == scenario.label);
    let grade = |measured: &MeasuredSafety| measured.safety.as_ref().map(|safety| safety.grade);
    of_it.filter(|measured| measured.safety.is_some()).max_by(|a, b| grade(a).cmp(&grade(b)))
}

/// What a power cut was measured to take where that counts, and that machine.
fn power_cut(contents: &Contents, scenario: &Scenario) -> Option<(Safety, String)> {
    let counted = contents.safety_of(scenario).filter(|measured| measured.safety.is_some());
    let measured = counted.or_else(|| worst_known(contents, scenario))?;
    let member = contents.members.iter().find(|member| Some(member.number) == measured.member)?;
    Some((measured.safety.clone()?, member.host.name.clone()))
}

/// With hosts for rounds: where hosts are a sample they are the unit, of errors as well.
fn by_host(errors: Errors, host_of: &BTreeMap<u32, usize>) -> Errors {
    let mut hosts: BTreeMap<(Phase, u32), stats::Counted> = BTreeMap::new();
    for ((phase, round), counted) in &errors.rounds {
        let Some(host) = host_of.get(round) else { continue };
        let sum = hosts.entry((*phase, *host as u32)).or_default();
        *sum = stats::Counted { asked: sum.asked + counted.asked, wrong: sum.wrong + counted.wrong };
    }
    Errors { rounds: hosts, ..errors }
}

/// A workload's figures: `[host][round][scenario]`, the logarithm, more is better; none: a hole, or a run that did nothing.
struct Figures {
    rounds: Vec<Vec<Vec<Option<f64>>>>,
    /// Which scenarios had a run that did nothing: no round of theirs is compared.
    stalled: Vec<bool>,
}

impl Figures {
    fn is_measured(&self, scenario: usize) -> bool {
        self.stalled[scenario] || self.hosts_with(&[scenario]) > 0
    }

    /// On how many hosts there is a round in which all of these have a figure.
    fn hosts_with(&self, scenarios: &[usize]) -> usize {
        let is_shared = |round: &Vec<Option<f64>>| scenarios.iter().all(|scenario| round[*scenario].is_some());
        self.rounds.iter().filter(|rounds| rounds.iter().any(is_shared)).count()
    }

    /// Whether hosts that measured anything are a sample.
    fn is_sample(&self) -> bool {
        self.rounds.len() >= HOSTS_MIN
    }

    /// Whether a scenario ran on too few hosts of a sample.
    fn is_on_few_hosts(&self, scenario: usize) -> bool {
        self.is_sample() && self.hosts_with(&[scenario]) < HOSTS_MIN
    }

    /// Of these scenarios only.
    fn of(&self, scenarios: &[usize]) -> Figures {
        let of_round = |round: &Vec<Option<f64>>| scenarios.iter().map(|scenario| round[*scenario]).collect();
        Figures {
            rounds: self.rounds.iter().map(|rounds| rounds.iter().map(of_round).collect()).collect(),
            stalled: scenarios.iter().map(|scenario| self.stalled[*scenario]).collect(),
        }
    }
}

/// What is asked of scenarios that compete.
struct Asked<'a> {
    contents: &'a Contents,
    workload: &'a str,
    kinds: &'a [MachineKind],
    answer: Answer,
    group: Group,
    figures: Figures,
    /// Groups that share the level.
    count: usize,
    /// The safest class of the whole workload.
    safest: Option<Class>,
}

impl Asked<'_> {
    fn answer(self, standings: &[Option<Standing>]) -> FleetPart {
        let Asked { contents, kinds, answer, figures, group, .. } = &self;
        let scenarios: Vec<&Scenario> = group.columns.iter().map(|column| &contents.scenarios[*column]).collect();
        let primary = scenarios.first().map_or("", |scenario| &*scenario.primary_metric);
        let metric = contents.metric(primary, Direction::More);
        let more_is_better = metric.direction != Direction::Less;
        let baseline = group.baseline;
        let rules = rules(&contents.study.analysis, *answer);
        let alpha = rules.alpha() / self.count as f64;
        // Of a ratio to or of a standstill nothing is known; it stays a member of the family all the same.
        let is_steady = |scenario: usize| (!figures.stalled[scenario]).then_some(scenario);
        let ratios = |scenario: usize| -> Vec<Vec<f64>> {
            let of = |round: &Vec<Option<f64>>| Some(round[is_steady(scenario)?]? - round[is_steady(baseline?)?]?);
            figures.rounds.iter().map(|rounds| rounds.iter().filter_map(of).collect()).collect()
        };
        let is_asked = |scenario: &usize| Some(*scenario) != baseline && figures.is_measured(*scenario);
        let family = (0..scenarios.len()).filter(is_asked).filter(|scenario| !scenarios[*scenario].control).count();
        let held = Held { alpha, family, margin: rules.margin, more_is_better };
        let found = |scenario: usize| against(&ratios(scenario), kinds, rules.confidence, figures.is_sample());
        let mut against: Vec<Option<Against>> =
            (0..scenarios.len()).map(|scenario| is_asked(&scenario).then(|| found(scenario)).flatten()).collect();
        judge(&mut against, (&scenarios, figures.is_sample()), &held);
        let out = self.outs(&scenarios, standings, alpha);
        let all = against.into_iter().enumerate().map(|(place, against)| OfFleet {
            label: scenarios[place].label.clone(),
            control: scenarios[place].control,
            out: out[place],
            power_cut: power_cut(contents, scenarios[place]),
            ratios: ratios(place).iter().map(|rounds| mean(rounds)).collect(),
            against,
        });
        let all: Vec<OfFleet> = all.collect();
        let may_be_picked = |place: &usize| all[*place].out.is_none() && !group.is_given;
        let candidates: Vec<usize> = (0..all.len()).filter(may_be_picked).collect();
        let (picks, regret) = picks(figures, &candidates, more_is_better, alpha);
        FleetPart {
            workload: self.workload.into(),
            ahead: figures.rounds.iter().map(|rounds| ahead(rounds, &candidates, more_is_better)).collect(),
            hosts: hosts_of_choice(figures, &picks, &candidates),
            conditions: group.conditions.clone(),
            levels: group.levels.clone(),
            is_given: group.is_given,
            scenarios: all,
            metric,
            more_is_better,
            baseline,
            picks,
            regret,
            alpha,
        }
    }

    /// Why each scenario is never picked.
    fn outs(&self, scenarios: &[&Scenario], standings: &[Option<Standing>], alpha: f64) -> Vec<Option<Out>> {
        let (figures, columns) = (&self.figures, &self.group.columns);
        let standing = |place: usize| standings[columns[place]].as_ref();
        let before_errors = |place: usize| {
            let hosts = figures.hosts_with(&[place]);
            match standing(place).map(|standing| standing.class) {
                _ if scenarios[place].control => Some(Out::Control),
                _ if !figures.is_measured(place) => Some(Out::Unmeasured),
                _ if figures.stalled[place] => Some(Out::Stalled),
                _ if figures.is_on_few_hosts(place) => Some(Out::FewHosts(hosts)),
                class if class.is_none() || class != self.safest => Some(Out::LessSafe),
                _ => None,
            }
        };
        let mut out: Vec<Option<Out>> = (0..scenarios.len()).map(before_errors).collect();
        let competing: Vec<Option<&Standing>> =
            out.iter().enumerate().map(|(place, out)| standing(place).filter(|_| out.is_none())).collect();
        for (out, behind) in out.iter_mut().zip(behind(&competing, alpha)) {
            if let Some(Behind::Errors(_)) = behind {
                *out = Some(Out::Errors);
            }
        }
        out
    }
}

/// On how many hosts the first pick has rounds in common with each other candidate, at least; all of its own where there is none.
fn hosts_of_choice(figures: &Figures, picks: &[usize], candidates: &[usize]) -> usize {
    let Some(pick) = picks.first() else { return figures.rounds.len() };
    let others = candidates.iter().filter(|other| *other != pick);
    let shared = others.map(|other| figures.hosts_with(&[*pick, *other])).min();
    shared.unwrap_or_else(|| figures.hosts_with(&[*pick]))
}

/// The host of each round; a round of the contents is of one member.
pub(super) fn host_of_rounds(contents: &Contents, hosts: &[FleetHost]) -> BTreeMap<u32, usize> {
    let host_of = host_of_members(hosts);
    let of_trial = contents.trials.iter().filter_map(|trial| Some((trial.round, *host_of.get(&trial.member?)?)));
    of_trial.collect()
}

/// Figures by host, round and scenario.
fn figures(contents: &Contents, hosts: &[FleetHost], columns: &[usize], primary: &str) -> Figures {
    let host_of = host_of_rounds(contents, hosts);
    let mut found = Figures { rounds: vec![Vec::new(); hosts.len()], stalled: vec![false; columns.len()] };
    for (round, values) in contents.values(primary).iter().enumerate() {
        let Some(host) = host_of.get(&(round as u32)) else { continue };
        let values: Vec<Option<f64>> = columns.iter().map(|column| values[*column]).collect();
        let stalls = values.iter().map(|value| value.is_some_and(|value| value <= 0.0));
        found.stalled.iter_mut().zip(stalls).for_each(|(stalled, stalls)| *stalled |= stalls);
        let logarithms = values.iter().map(|value| value.filter(|value| *value > 0.0).map(f64::ln));
        found.rounds[*host].push(logarithms.collect());
    }
    found
}

/// What rounds of ratios by host show; p and verdict are the family's. Of too few hosts of a sample nothing is claimed of its kind: rounds there
/// do not tell how hosts differ.
fn against(rounds: &[Vec<f64>], kinds: &[MachineKind], confidence: f64, is_sample: bool) -> Option<Against> {
    let sample = over_hosts(rounds, confidence);
    let contrast = match &sample {
        Some(sample) => sample.contrast,
        None => these_hosts(rounds, confidence)?,
    };
    let of_kind = |(place, kind): (usize, &MachineKind)| {
        let of_hosts: Vec<Vec<f64>> = kind.hosts.iter().map(|host| rounds[*host].clone()).collect();
        let found = over_hosts(&of_hosts, confidence)?;
        let apart = found.apart.iter().map(|host| kind.hosts[*host]).collect();
        Some((place, stats::hosts::OverHosts { apart, ..found }))
    };
    let by_kind = if kinds.len() > 1 { kinds.iter().enumerate().filter_map(of_kind).collect() } else { Vec::new() };
    let hosts = rounds.iter().filter(|rounds| !rounds.is_empty()).count();
    let p = if is_sample && sample.is_none() { 1.0 } else { contrast.p };
    Some(Against { contrast, hosts, sample, p, verdict: None, by_kind })
}

/// Holm's correction over the scenarios; the control is a family of its own.
fn judge(against: &mut [Option<Against>], (scenarios, is_sample): (&[&Scenario], bool), held: &Held) {
    let places: Vec<usize> =
        (0..against.len()).filter(|place| against[*place].is_some() && !scenarios[*place].control).collect();
    let mut raw: Vec<f64> = places.iter().filter_map(|place| Some(against[*place].as_ref()?.p)).collect();
    // What a stall leaves undecided must not make the others look surer.
    raw.resize(held.family.max(raw.len()), 1.0);
    for (place, p) in places.iter().zip(stats::holm(&raw)) {
        against[*place].iter_mut().for_each(|found| found.p = p);
    }
    for (found, scenario) in against.iter_mut().zip(scenarios) {
        let Some(found) = found else { continue };
        let held = if scenario.control { Held { family: 1, ..*held } } else { *held };
        let is_enough = found.sample.is_some() || (!is_sample && found.contrast.rounds >= ROUNDS_FOR_CLAIMS);
        found.verdict = is_enough.then(|| stats::verdict(&found.contrast, found.p, &held));
    }
}

/// Those that may be the best, the best first, and how far behind it the first may be: each pair is held as the ratios to the baseline are,
/// so that who is named alone is shown to be better than each other one (Hsu 1984, with Bonferroni; two-sided, as verdicts are).
fn picks(figures: &Figures, candidates: &[usize], more_is_better: bool, alpha: f64) -> (Vec<usize>, Option<f64>) {
    if let [only] = candidates {
        return (vec![*only], None);
    }
    let confidence = 1.0 - alpha / (candidates.len().max(2) as f64 - 1.0);
    // How far one is ahead of another: the mean, and the least and most that it may be.
    let ahead = |one: usize, other: usize| -> Option<(f64, f64)> {
        let of = |round: &Vec<Option<f64>>| Some(round[one]? - round[other]?);
        let rounds: Vec<Vec<f64>> =
            figures.rounds.iter().map(|rounds| rounds.iter().filter_map(of).collect()).collect();
        let of_sample = over_hosts(&rounds, confidence).map(|found| found.contrast);
        let of_these = || these_hosts(&rounds, confidence).filter(|_| !figures.is_sample());
        let found = of_sample.or_else(of_these).filter(|found| found.rounds >= ROUNDS_FOR_CLAIMS)?;
        Some(if more_is_better { (found.mean, found.high) } else { (-found.mean, -found.low) })
    };
    let others = |place: &usize| candidates.iter().copied().filter(move |other| other != place).collect::<Vec<_>>();
    let most = |one: usize, other: usize| ahead(one, other).map_or(f64::INFINITY, |(_, most)| most);
    let behind = |place: &usize| {
        let means = others(place).into_iter().filter_map(|other| Some(ahead(other, *place)?.0));
        means.max_by(f64::total_cmp)
    };
    let may_be_best = |place: &usize| others(place).into_iter().all(|other| most(*place, other) >= 0.0);
    let mut members: Vec<usize> = candidates.iter().copied().filter(may_be_best).collect();
    // With holes the one that is least behind may be shown to be worse than another, and the bound is that of who is named.
    let from = if members.is_empty() { candidates } else { &members };
    let Some((pick, _)) =
        from.iter().filter_map(|place| Some((*place, behind(place)?))).min_by(|a, b| a.1.total_cmp(&b.1))
    else {
        return (Vec::new(), None);
    };
    members.sort_by_key(|place| *place != pick);
    let regret = others(&pick).into_iter().map(|other| most(other, pick)).fold(0.0, f64::max);
    (members, regret.is_finite().then(|| regret.exp_m1()))
}

/// A host's means over its rounds in which all candidates that it measured have a figure; without such a round, over what there is.
fn means(rounds: &[Vec<Option<f64>>], candidates: &[usize]) -> Vec<Option<f64>> {
    let is_measured = |place: &&usize| rounds.iter().any(|round| round[**place].is_some());
    let measured: Vec<usize> = candidates.iter().filter(is_measured).copied().collect();
    let is_complete = |round: &&Vec<Option<f64>>| measured.iter().all(|place| round[*place].is_some());
    let complete: Vec<&Vec<Option<f64>>> = rounds.iter().filter(is_complete).collect();
    let rounds = if complete.is_empty() { rounds.iter().collect() } else { complete };
    candidates.iter().map(|place| mean(&rounds.iter().filter_map(|round| round[*place]).collect::<Vec<_>>())).collect()
}

fn ahead(rounds: &[Vec<Option<f64>>], candidates: &[usize], more_is_better: bool) -> Option<usize> {
    let means = means(rounds, candidates);
    let known = candidates.iter().zip(means).filter_map(|(place, mean)| Some((*place, mean?)));
    known.max_by(|a, b| if more_is_better { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) }).map(|(place, _)| place)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| stats::interval::mean(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs that share no host: the second is surely 1 % behind the first, which may be 2 % behind the third, as this may be
    /// behind the second. The second is least behind, and its bound had been told of the first.
    #[test]
    fn the_bound_is_that_of_who_is_named() {
        let strays = [-0.02, 0.02, -0.01, 0.01];
        let round = |[first, second, third]: [Option<f64>; 3]| vec![vec![first, second, third]];
        let of_second = (0..4).map(|_| round([Some(0.01), Some(0.0), None]));
        let of_third = strays.map(|stray| round([Some(0.0), None, Some(0.02 + stray)]));
        let of_both = strays.map(|stray| round([None, Some(0.02 + stray), Some(0.0)]));
        let rounds = of_second.chain(of_third).chain(of_both).collect();
        let figures = Figures { rounds, stalled: vec![false; 3] };
        let (found, regret) = picks(&figures, &[0, 1, 2], true, 0.05);
        assert_eq!(found, [0, 2]);
        // 2 %, and t(0.9875, 3) = 4.1765 times 0.018257 over the root of 4.
        let bound = (0.02_f64 + 4.176_534_8 * 0.018_257_4 / 2.0).exp_m1();
        assert!(regret.is_some_and(|regret| (regret - bound).abs() < 1e-5), "{regret:?} and not {bound}");
    }
}
