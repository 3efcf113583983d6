//! Levels times levels, and the rules over them: `exclude`, `include`, `baseline`. Counted before they are made.
//!
//! An **exclude** takes out every combination that has all its levels. Then an **include** looks for combinations that have
//! all its levels. When it carries other settings and finds some, they get the settings; otherwise the combinations that it
//! names are added, at all levels of the factors that it does not name. An include may name a level of a path that the
//! factor's list does not have: that level is in the added combinations only. A rule that changes nothing is an error, but where the
//! command line took away levels or workloads.

use crate::check::{Base, Study};
use crate::factor::Factor;
use crate::problem::{Problem, Span, grouped};
use crate::trial_spec::Levels;
use serde_json::Value;
use std::collections::HashSet;

/// More scenarios than this are a mistake in the file: at a minute each, six rounds would take six weeks.
pub const SCENARIOS_MAX: u128 = 10_000;

/// One table of `exclude`, `include` or `baseline`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The workload it is about; none: all.
    pub workload: Option<String>,
    /// Factors and levels, by index.
    pub levels: Vec<(usize, usize)>,
    /// Settings that an include makes beside them.
    pub settings: Vec<(String, Value)>,
    /// Where it stands.
    pub span: Span,
}

/// A workload with one level of each factor that concerns it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Combination {
    /// The workload.
    pub workload: String,
    /// For each factor an index into its levels; none where it does not concern the workload.
    pub levels: Vec<Option<usize>>,
    /// Includes whose settings it got, by index.
    pub includes: Vec<usize>,
}

/// All scenarios of a study, and which of them are baselines: one a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// The scenarios, in the order of the text.
    pub combinations: Vec<Combination>,
    /// Indices of the baselines.
    pub baselines: Vec<usize>,
}

/// Makes the matrix.
///
/// # Errors
/// Too many scenarios, rules that change nothing, a baseline that is not one scenario: all at once.
pub fn matrix(study: &Study) -> Result<Matrix, Vec<Problem>> {
    let count = study.base.workloads.iter().map(|(workload, _)| count(study, workload)).fold(0, u128::saturating_add);
    if count > SCENARIOS_MAX {
        return Err(vec![too_many(count)]);
    }
    let mut problems = Vec::new();
    let mut all: Vec<Combination> = named_by(study, None);
    for rule in &study.exclude {
        exclude(study, rule, &mut all, &mut problems);
    }
    for index in 0..study.include.len() {
        include(study, index, &mut all, &mut problems);
        if all.len() as u128 > SCENARIOS_MAX {
            problems.push(too_many(all.len() as u128));
            return Err(problems);
        }
    }
    if all.is_empty() && problems.is_empty() {
        problems.push(Problem::new("the excludes leave no scenario", None, "at least one"));
    }
    let baselines = if problems.is_empty() { baselines(study, &all, &mut problems) } else { Vec::new() };
    if problems.is_empty() { Ok(Matrix { combinations: all, baselines }) } else { Err(problems) }
}

fn too_many(count: u128) -> Problem {
    let label = format!("at most {}; leave out levels, or split the question", grouped(SCENARIOS_MAX));
    Problem::new(format!("the factors make {} scenarios", grouped(count)), None, label)
}

fn count(study: &Study, workload: &str) -> u128 {
    let concerned = study.factors.iter().filter(|factor| factor.concerns(workload));
    concerned.map(|factor| factor.multiplied().count() as u128).fold(1, u128::saturating_mul)
}

/// Every combination that a rule names; without a rule, all.
fn named_by(study: &Study, rule: Option<&Rule>) -> Vec<Combination> {
    let workloads = study.base.workloads.iter().map(|(workload, _)| workload);
    let wanted = workloads
        .filter(|workload| rule.and_then(|rule| rule.workload.as_ref()).is_none_or(|wanted| wanted == *workload));
    wanted.flat_map(|workload| product(study, workload, rule)).collect()
}

fn product(study: &Study, workload: &str, rule: Option<&Rule>) -> Vec<Combination> {
    let mut all: Vec<Vec<Option<usize>>> = vec![Vec::new()];
    for (index, factor) in study.factors.iter().enumerate() {
        let named = rule.and_then(|rule| rule.levels.iter().find(|level| level.0 == index)).map(|level| level.1);
        let choices: Vec<Option<usize>> = match (factor.concerns(workload), named) {
            (true, Some(level)) => vec![Some(level)],
            (true, None) => factor.multiplied().map(Some).collect(),
            (false, Some(_)) => Vec::new(),
            (false, None) => vec![None],
        };
        let longer = |levels: Vec<Option<usize>>| choices.iter().map(move |choice| [&levels[..], &[*choice]].concat());
        all = all.into_iter().flat_map(longer).collect();
    }
    let combination = |levels| Combination { workload: workload.to_string(), levels, includes: Vec::new() };
    all.into_iter().map(combination).collect()
}

fn exclude(study: &Study, rule: &Rule, all: &mut Vec<Combination>, problems: &mut Vec<Problem>) {
    let before = all.len();
    all.retain(|combination| !rule.matches(combination));
    // A change may have taken away what it was for.
    if all.len() < before || study.is_changed {
        return;
    }
    let (message, label) = if named_by(study, Some(rule)).is_empty() {
        ("this exclude matches no scenario", "a combination of levels that the factors make")
    } else {
        ("this exclude takes out nothing", "an exclude above it took these scenarios out already")
    };
    problems.push(Problem::new(message, rule.span.clone(), label));
}

fn include(study: &Study, index: usize, all: &mut Vec<Combination>, problems: &mut Vec<Problem>) {
    let rule = &study.include[index];
    let mut matching = all.iter_mut().filter(|combination| rule.matches(combination)).peekable();
    if !rule.settings.is_empty() && matching.peek().is_some() {
        matching.for_each(|combination| combination.includes.push(index));
        return;
    }
    let there: HashSet<(&str, &[Option<usize>])> =
        all.iter().map(|known| (&*known.workload, &known.levels[..])).collect();
    let mut added = named_by(study, Some(rule));
    let none_named = added.is_empty();
    added.retain(|combination| !there.contains(&(&*combination.workload, &combination.levels[..])));
    if added.is_empty() && !study.is_changed {
        let (message, label) = if none_named {
            ("this include matches no scenario", "levels of factors that concern one workload")
        } else {
            ("this include changes nothing", "its scenarios are there already; give it other settings")
        };
        problems.push(Problem::new(message, rule.span.clone(), label));
    }
    if !rule.settings.is_empty() {
        added.iter_mut().for_each(|combination| combination.includes.push(index));
    }
    all.extend(added);
}

/// The one scenario of each workload that the rule names; without a rule, the first; in a changed study, which may lack it, the one most
/// like it. A factor that does not concern a workload, or a rule about another workload, says nothing about it.
fn baselines(study: &Study, all: &[Combination], problems: &mut Vec<Problem>) -> Vec<usize> {
    let mut found = Vec::new();
    for (workload, _) in &study.base.workloads {
        let mut of: Vec<usize> = (0..all.len()).filter(|index| all[*index].workload == *workload).collect();
        let rule = study.baseline.as_ref().filter(|rule| rule.workload.as_ref().is_none_or(|about| about == workload));
        let Some(rule) = rule else {
            found.extend(of.first());
            continue;
        };
        let has = |index: usize, (factor, level): &(usize, usize)| {
            all[index].levels[*factor].is_none_or(|of_scenario| of_scenario == *level)
        };
        if study.is_changed {
            // The first of those that have the most of its levels: of equals, the last is the greatest.
            let count = |index: &usize| rule.levels.iter().filter(|said| has(*index, said)).count();
            found.extend(of.into_iter().rev().max_by_key(count));
            continue;
        }
        let fits = |index: &usize| rule.levels.iter().all(|said| has(*index, said));
        let any = !of.is_empty();
        of.retain(fits);
        match of[..] {
            [one] => found.push(one),
            [] if !any => {}
            [] => {
                let message = format!("the baseline matches no scenario of `{workload}`");
                problems.push(Problem::new(message, rule.span.clone(), "levels of one scenario"));
            }
            [first, second, ..] => {
                let message = format!("the baseline matches {} scenarios of `{workload}`", of.len());
                let (first, second) = (all[first].label(study), all[second].label(study));
                let label = format!("name more factors: `{first}` and `{second}` both match");
                problems.push(Problem::new(message, rule.span.clone(), label));
            }
        }
    }
    found
}

impl Rule {
    fn matches(&self, combination: &Combination) -> bool {
        self.workload.as_ref().is_none_or(|workload| *workload == combination.workload)
            && self.levels.iter().all(|(factor, level)| combination.levels[*factor] == Some(*level))
    }
}

impl Combination {
    fn chosen<'a>(&'a self, study: &'a Study) -> impl Iterator<Item = (&'a Factor, usize)> {
        study.factors.iter().zip(&self.levels).filter_map(|(factor, level)| Some((factor, (*level)?)))
    }

    /// Factor → level; the workload is a factor where there are several.
    pub fn named(&self, study: &Study) -> Levels {
        let chosen = self.chosen(study);
        let mut levels: Levels =
            chosen.map(|(factor, level)| (factor.name.clone(), factor.levels[level].label.clone())).collect();
        if study.base.workloads.len() > 1 {
            levels.insert("workload".into(), self.workload.clone());
        }
        levels
    }

    /// The base settings with this combination's levels, then its includes, laid over them.
    pub fn settings(&self, study: &Study) -> Base {
        let mut base = study.base.clone();
        let of_levels = self.chosen(study).flat_map(|(factor, level)| &factor.levels[level].settings);
        let of_includes = self.includes.iter().flat_map(|index| &study.include[*index].settings);
        for (path, value) in of_levels.chain(of_includes) {
            base.set(path, value.clone());
        }
        base
    }

    /// Its label: the levels of what varies, the workload first where there are several.
    pub fn label(&self, study: &Study) -> String {
        let mut parts: Vec<String> = Vec::new();
        if study.base.workloads.len() > 1 {
            parts.push(self.workload.clone());
        }
        let varies = study.factors.iter().any(|factor| factor.levels.len() > 1);
        let shown = self.chosen(study).filter(|(factor, _)| factor.levels.len() > 1 || !varies);
        parts.extend(shown.map(|(factor, level)| factor.said(level, &study.factors)));
        if parts.is_empty() { self.workload.clone() } else { parts.join(" · ") }
    }
}
