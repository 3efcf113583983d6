//! What can be chosen and what is given. A rate, a number of connections or an amount of data is a condition of the load: nobody picks
//! it. So the pick is one of the other factors' levels, for all conditions together where one can be right under each, else by condition.

use crate::confirmation::Confirmation;
use crate::each_once;
use crate::judge::short_factor;
use crate::row::Row;
use stats::BestSet;
use std::collections::{BTreeMap, BTreeSet};

/// The pick where some factors are conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Paths of the factors that are conditions.
    pub conditions: Vec<String>,
    /// One for each combination of their levels, in plan order.
    pub picks: Vec<Pick>,
    /// Label → "at most this fraction behind the best of its condition"; none of who stands alone there, or may not be picked.
    pub regrets: BTreeMap<String, f64>,
    /// Levels of the conditions under which nothing may be picked: all failed there, or stalled, or are not measured yet.
    pub without: Vec<Vec<String>>,
    /// Whether the same levels of the other factors are picked under each condition, and there is a pick under each.
    pub is_same: bool,
    /// Whether conditions are all there is, so that nothing can be picked.
    pub is_empty: bool,
}

/// What to pick under one condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// The conditions' levels, in the order of [`Choice::conditions`].
    pub levels: Vec<String>,
    /// The scenario's label.
    pub label: String,
    /// Its label without workload and conditions.
    pub name: String,
    /// At most so far behind the best of this condition, a fraction; none where it stands alone.
    pub regret: Option<f64>,
    /// Labels that can't be ruled out as the best of this condition.
    pub best_set: Vec<String>,
}

/// How bounds are held.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The level of all bounds together, of this answer of several.
    pub alpha: f64,
    /// Whether more is better.
    pub more_is_better: bool,
}

/// The pick by condition, among those of all that were measured, share the safest class and are behind none of them by errors or failures; none
/// where no factor is a condition.
pub fn choice(
    conditions: Vec<String>,
    all: &[&Row],
    workload: &str,
    (rules, confirmations): (Rules, &[Confirmation]),
) -> Option<Choice> {
    if conditions.is_empty() {
        return None;
    }
    let rows: Vec<&Row> = all.iter().copied().filter(|row| row.centre.is_some()).collect();
    let safest = rows.iter().filter_map(|row| row.competes_in).min()?;
    let is_choice = |row: &&Row| row.is_choice_in(safest) && !row.fell_out();
    let mut plan: Vec<&Row> = rows.iter().copied().filter(is_choice).collect();
    plan.sort_by_key(|row| row.index);
    let mut groups: Vec<Group> = Vec::new();
    let given = |row: &Row| -> Vec<String> {
        conditions.iter().map(|factor| row.levels.get(factor).cloned().unwrap_or_default()).collect()
    };
    for row in plan {
        let levels = given(row);
        match groups.iter_mut().find(|group| group.levels == levels) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { levels, rows: vec![row], found: None }),
        }
    }
    let share = rules.alpha / groups.len() as f64;
    groups.iter_mut().for_each(|group| group.judge(share, rules.more_is_better));
    let common = common(&groups, &conditions, rules.more_is_better);
    let own: BTreeSet<Vec<(&String, &String)>> = rows.iter().map(|row| chosen(row, &conditions)).collect();
    let pick = |group: &Group| {
        let by_mean = || {
            let mean = |index: usize| mean(group.rows[index], rules.more_is_better);
            (0..group.rows.len()).max_by(|a, b| mean(*a).total_cmp(&mean(*b)))
        };
        let best = group.found.as_ref().map(|found| found.pick).or_else(by_mean);
        // What was confirmed was picked before that.
        let confirmed = (0..group.rows.len())
            .find(|index| confirmations.iter().any(|confirmation| confirmation.pick == group.rows[*index].label));
        let same = (0..group.rows.len()).find(|index| Some(chosen(group.rows[*index], &conditions)) == common);
        let index = confirmed.or(same).or(best).expect("a group has a row");
        let row = group.rows[index];
        Pick {
            levels: group.levels.clone(),
            label: row.label.clone(),
            name: name(row, &conditions, workload),
            regret: group.found.as_ref().map(|found| found.regret[index].exp_m1()).filter(|regret| regret.is_finite()),
            best_set: group.members().map(|index| group.rows[index].label.clone()).collect(),
        }
    };
    let picks: Vec<Pick> = groups.iter().map(pick).collect();
    let regrets = groups.iter().flat_map(Group::regrets).collect();
    let names: BTreeSet<&str> = picks.iter().map(|pick| pick.name.as_str()).collect();
    let mut in_plan: Vec<&Row> = all.to_vec();
    in_plan.sort_by_key(|row| row.index);
    let has_no_pick = |levels: &Vec<String>| groups.iter().all(|group| group.levels != *levels);
    let without = each_once(in_plan.into_iter().map(given).filter(has_no_pick));
    let is_alike = if confirmations.is_empty() { common.is_some() } else { names.len() == 1 };
    Some(Choice {
        is_same: is_alike && without.is_empty(),
        without,
        is_empty: own.len() < 2,
        picks,
        regrets,
        conditions,
    })
}

/// Scenarios under one condition.
struct Group<'a> {
    levels: Vec<String>,
    rows: Vec<&'a Row>,
    /// Each pair by the rounds in which both have a value, as indices into the rows; none where there is nothing to compare.
    found: Option<BestSet>,
}

impl Group<'_> {
    fn judge(&mut self, alpha: f64, more_is_better: bool) {
        let sign = if more_is_better { 1.0 } else { -1.0 };
        let logarithms = |row: &&Row| row.values.iter().map(|value| value.map(|value| sign * value.ln())).collect();
        let values: Vec<Vec<Option<f64>>> = self.rows.iter().map(logarithms).collect();
        self.found = stats::best_set(&values, alpha);
    }

    /// Each row's label with how far it is behind the best at most, where that is known.
    fn regrets(&self) -> impl Iterator<Item = (String, f64)> {
        let all = self.found.iter().flat_map(|found| self.rows.iter().zip(&found.regret));
        all.filter(|(_, regret)| regret.is_finite()).map(|(row, regret)| (row.label.clone(), regret.exp_m1()))
    }

    /// Indices of those that may be the best: all where nothing can be compared.
    fn members(&self) -> impl Iterator<Item = usize> {
        let is_member = |index: &usize| self.found.as_ref().is_none_or(|found| found.members.contains(index));
        (0..self.rows.len()).filter(is_member)
    }
}

/// The levels that are a choice, of all conditions' best sets; the best on average of several.
fn common<'a>(
    groups: &[Group<'a>],
    conditions: &[String],
    more_is_better: bool,
) -> Option<Vec<(&'a String, &'a String)>> {
    let mut sums: BTreeMap<Vec<(&String, &String)>, (usize, f64)> = BTreeMap::new();
    for group in groups {
        for index in group.members() {
            let sum = sums.entry(chosen(group.rows[index], conditions)).or_default();
            *sum = (sum.0 + 1, sum.1 + mean(group.rows[index], more_is_better));
        }
    }
    let everywhere = sums.into_iter().filter(|(_, (count, _))| *count == groups.len());
    everywhere.max_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|(levels, _)| levels)
}

fn mean(row: &Row, more_is_better: bool) -> f64 {
    let mean = row.centre.map_or(f64::NEG_INFINITY, |centre| centre.mean.ln());
    if more_is_better { mean } else { -mean }
}

fn chosen<'a>(row: &'a Row, conditions: &[String]) -> Vec<(&'a String, &'a String)> {
    row.levels.iter().filter(|(factor, _)| !conditions.contains(factor)).collect()
}

/// A scenario's label without its workload and the levels that are conditions.
fn name(row: &Row, conditions: &[String], workload: &str) -> String {
    let is_said = |part: &str| {
        conditions.iter().filter_map(|factor| Some((factor, row.levels.get(factor)?))).any(|(factor, level)| {
            let value = level.rsplit('=').next().unwrap_or(level);
            part == level || part == format!("{factor}={value}")
        })
    };
    let parts: Vec<&str> = row.label.split(" · ").filter(|part| *part != workload && !is_said(part)).collect();
    if parts.is_empty() { row.label.clone() } else { parts.join(" · ") }
}

impl Choice {
    /// "rate and connections".
    pub fn names(&self) -> Vec<String> {
        self.conditions.iter().map(|factor| short_factor(factor)).collect()
    }
}
