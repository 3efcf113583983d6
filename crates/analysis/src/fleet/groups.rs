//! A workload's scenarios by the conditions of its load: a rate or a number of connections is given, so scenarios compete, and are held
//! against a baseline, under the same conditions only.

use crate::conditions::{IsChoice, conditions};
use ledger::model::{Contents, Scenario};

/// Scenarios under the same conditions.
pub(super) struct Group {
    /// Paths of the factors that are conditions, the same for all of a workload.
    pub conditions: Vec<String>,
    /// Their levels; empty where all scenarios are one group.
    pub levels: Vec<String>,
    /// Places in the plan, the control's among them.
    pub columns: Vec<usize>,
    /// Which of these others are held against: the one with the levels of the workload's baseline, but for the conditions.
    pub baseline: Option<usize>,
    /// Whether conditions are all there is, so that nothing can be picked.
    pub is_given: bool,
}

/// Of one workload's scenarios, in plan order. Where conditions are all there is they stay together, and nothing is picked.
pub(super) fn groups(contents: &Contents, columns: &[usize], is_choice: IsChoice) -> Vec<Group> {
    let scenario = |column: usize| &contents.scenarios[column];
    let all: Vec<&Scenario> = columns.iter().map(|column| scenario(*column)).collect();
    let conditions = conditions(&all, is_choice);
    let level = |column: usize, factor: &String| scenario(column).levels.get(factor).cloned().unwrap_or_default();
    let given = |column: usize| conditions.iter().map(|factor| level(column, factor)).collect::<Vec<String>>();
    let chosen = |column: usize| {
        let levels = scenario(column).levels.iter().filter(|(factor, _)| !conditions.contains(factor));
        levels.collect::<Vec<_>>()
    };
    let baseline = columns.iter().copied().find(|column| scenario(*column).baseline);
    let mut groups: Vec<Group> = Vec::new();
    for column in columns.iter().copied() {
        let levels = given(column);
        let place = groups.iter().position(|group| group.levels == levels).unwrap_or_else(|| {
            let conditions = conditions.clone();
            groups.push(Group { conditions, levels, columns: Vec::new(), baseline: None, is_given: false });
            groups.len() - 1
        });
        let group = &mut groups[place];
        if baseline.is_some_and(|baseline| chosen(baseline) == chosen(column)) && !scenario(column).control {
            group.baseline = Some(group.columns.len());
        }
        group.columns.push(column);
    }
    let competing = |group: &Group| group.columns.iter().filter(|column| !scenario(**column).control).count();
    if !conditions.is_empty() && groups.iter().all(|group| competing(group) < 2) {
        let columns = columns.to_vec();
        let baseline = baseline.and_then(|baseline| columns.iter().position(|column| *column == baseline));
        return vec![Group { conditions, levels: Vec::new(), columns, baseline, is_given: true }];
    }
    groups
}
