//! What is still to be tried at one point: a few images that are tried early because they often show faults, and the tree of
//! what recoveries read.
//!
//! The tree: a recovery whose image differs only in units that it never read does the same. So from an image that was tried, only
//! the units that its recovery read are branched on: the first branch changes the unit that was read last and keeps the others;
//! once all below that was tried, the next changes the one read before, and leaves open what was read after, and so on. Each
//! image of the tree fixes the units up to its branch; the others hold their newest content. When all branches were tried, every
//! legal image does as one of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::states::{Choice, Point, Rest, Unit};

/// So many images of the tree are tried for each that may show a fault early.
const OF_TREE: u32 = 4;

/// Why an image is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// As a part of the tree: its reads are branched on.
    Tree,
    /// Nothing volatile is there: its reads are what may matter alone.
    Oldest,
    /// For itself.
    Single,
}

/// What to try next.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) choice: Choice,
    pub(super) purpose: Purpose,
}

/// What is still to be tried at a point.
#[derive(Debug)]
pub(super) struct Search {
    /// Whether the image was tried from which the tree grows.
    has_root: bool,
    /// Had to be given up while something was left.
    pub(super) is_cut: bool,
    /// The way down the tree to where the search is.
    branches: Vec<Branch>,
    /// To be tried before the tree goes on.
    early: VecDeque<Next>,
    /// To be tried between the images of the tree.
    between: VecDeque<Next>,
    /// Images of the tree that were tried since the last one between them.
    of_tree: u32,
}

/// An image that was tried, and which of its branches were.
#[derive(Debug)]
struct Branch {
    fixed: BTreeMap<Unit, u32>,
    /// Units to branch on, in the order in which they were read.
    read: Vec<Unit>,
    /// Of these the first so many are still to be branched on.
    left: usize,
    /// The version of the last of them that comes next.
    version: u32,
}

impl Branch {
    fn next(&mut self, point: &Point) -> Option<Choice> {
        while self.left > 0 {
            let unit = self.read[self.left - 1];
            let versions = &point.undecided[&unit];
            let newest = versions.len() - 1;
            while (self.version as usize) < newest {
                let version = self.version;
                self.version += 1;
                if versions[version as usize] != versions[newest] {
                    return Some(self.with(point, unit, version));
                }
            }
            (self.left, self.version) = (self.left - 1, 0);
        }
        None
    }

    /// The image in which a unit holds this version, and those that were read before it their newest.
    fn with(&self, point: &Point, unit: Unit, version: u32) -> Choice {
        let mut units = self.fixed.clone();
        let before = &self.read[..self.left - 1];
        units.extend(before.iter().map(|unit| (*unit, point.undecided[unit].len() as u32 - 1)));
        units.insert(unit, version);
        Choice { rest: Rest::Newest, units }
    }
}

impl Search {
    /// The image without anything volatile comes first: where a commit was acknowledged before its flush, it shows that, and a budget that
    /// tries each point once has looked for it. Then comes the one from which the tree grows.
    pub(super) fn new() -> Search {
        let choice = Choice { rest: Rest::Oldest, ..Choice::default() };
        let oldest = Next { choice, purpose: Purpose::Oldest };
        let root = Next { choice: Choice::default(), purpose: Purpose::Tree };
        let (branches, between) = (Vec::new(), VecDeque::new());
        Search { has_root: false, is_cut: false, branches, early: [oldest, root].into(), between, of_tree: 0 }
    }

    /// What to try next; [`Search::learn`] is to be told what came of it.
    pub(super) fn next(&mut self, point: &Point) -> Option<Next> {
        if let Some(early) = self.early.pop_front() {
            return Some(early);
        }
        if self.of_tree >= OF_TREE
            && !self.branches.is_empty()
            && let Some(between) = self.between.pop_front()
        {
            self.of_tree = 0;
            return Some(between);
        }
        while let Some(branch) = self.branches.last_mut() {
            if let Some(choice) = branch.next(point) {
                self.of_tree += 1;
                return Some(Next { choice, purpose: Purpose::Tree });
            }
            self.branches.pop();
        }
        None
    }

    /// What the recovery of an image read, in order. Units that are `changed` in place are left out early, before others.
    pub(super) fn learn(&mut self, point: &Point, tried: Next, read: &[Unit], changed: &BTreeSet<Unit>) {
        let Next { choice, purpose } = tried;
        let fixed = choice.units;
        self.has_root |= purpose == Purpose::Tree && fixed.is_empty();
        let is_open = |unit: &Unit| point.undecided.contains_key(unit) && !fixed.contains_key(unit);
        let read: Vec<Unit> = read.iter().copied().filter(is_open).collect();
        if read.is_empty() {
            return;
        }
        match purpose {
            Purpose::Tree => {
                if self.branches.is_empty() && fixed.is_empty() {
                    let (first, then): (Vec<Unit>, Vec<Unit>) = read.iter().partition(|unit| changed.contains(unit));
                    self.early.extend(first.into_iter().chain(then).map(|unit| single(Rest::Newest, unit, 0)));
                }
                let left = read.len();
                self.branches.push(Branch { fixed, read, left, version: 0 });
            }
            Purpose::Oldest => {
                let newest = |unit: &Unit| point.undecided[unit].len() as u32 - 1;
                self.between.extend(read.iter().map(|unit| single(Rest::Oldest, *unit, newest(unit))));
            }
            Purpose::Single => {}
        }
    }

    /// Whether nothing is left: all legal images do as one that was tried.
    pub(super) fn is_complete(&self) -> bool {
        self.has_root && !self.is_cut && self.branches.is_empty()
    }
}

fn single(rest: Rest, unit: Unit, version: u32) -> Next {
    Next { choice: Choice { rest, units: [(unit, version)].into() }, purpose: Purpose::Single }
}
