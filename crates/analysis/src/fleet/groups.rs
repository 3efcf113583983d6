//! A workload's scenarios by the conditions of its load: a rate or a number of connections is given, so scenarios compete, and are held
//! against a baseline, under the same conditions only.

use crate::conditions::{self, IsChoice};
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
    let given = conditions::conditions(&all, is_choice);
    let by_conditions = conditions::groups(&contents.scenarios, columns, &given);
    let position = |columns: &[usize], baseline: Option<usize>| columns.iter().position(|it| Some(*it) == baseline);
    let group = |conditions::Group { levels, members, baseline }| Group {
        conditions: given.clone(),
        levels,
        baseline: position(&members, baseline),
        columns: members,
        is_given: false,
    };
    let groups: Vec<Group> = by_conditions.into_iter().map(group).collect();
    let competing = |group: &Group| group.columns.iter().filter(|column| !scenario(**column).control).count();
    if !given.is_empty() && groups.iter().all(|group| competing(group) < 2) {
        let columns = columns.to_vec();
        let baseline = columns.iter().position(|column| scenario(*column).baseline);
        return vec![Group { conditions: given, levels: Vec::new(), columns, baseline, is_given: true }];
    }
    groups
}
