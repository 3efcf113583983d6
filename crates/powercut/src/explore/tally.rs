//! Counts what was judged: the worst, and the kinds of fault with an example of each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use observe::safety::{Finding, Grade};

use crate::states::{Choice, Image, Point};
use crate::verdict::Verdict;

/// Kinds of fault to list; further ones are counted together.
const FINDINGS_MAX: usize = 12;

/// A kind of fault: its grade, and its words without what differs from image to image.
pub(super) type Kind = (Grade, String);

/// What a verdict says, without what differs from image to image.
pub(super) type Class = (Grade, BTreeSet<Kind>);

/// A verdict's class.
pub(super) fn class(verdict: &Verdict) -> Class {
    (verdict.grade, kinds(verdict).collect())
}

/// A verdict's kinds of fault, in the order of its words.
pub(super) fn kinds(verdict: &Verdict) -> impl Iterator<Item = Kind> + '_ {
    verdict.faults.iter().map(|fault| (verdict.grade, masked(fault)))
}

/// How many commits are missing where nothing else is wrong: what tells such faults apart.
pub(super) fn lost_alone(verdict: &Verdict) -> u64 {
    if verdict.grade < Grade::E { verdict.lost_commits } else { 0 }
}

/// Numbers, addresses and names with numbers differ from image to image.
fn masked(fault: &str) -> String {
    let mask =
        |word: &str| if word.contains(|letter: char| letter.is_ascii_digit()) { "#".into() } else { word.to_string() };
    fault.split_whitespace().map(mask).collect::<Vec<_>>().join(" ")
}

/// An image that shows a kind of fault.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) image: Image,
    /// What is wrong with this one.
    pub(super) words: String,
    pub(super) lost_commits: u64,
    /// Units that do not hold their newest content.
    missing: usize,
    /// All images with the fault.
    images: HashSet<u128>,
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) grade: Grade,
    pub(super) worst_lost_commits: u64,
    pub(super) worst_lost_seconds: f64,
    /// Images with wrong content that nothing complained about.
    pub(super) silent: HashSet<u128>,
    /// At which an image was tried.
    pub(super) points: BTreeSet<usize>,
    kinds: BTreeMap<Kind, Example>,
}

impl Tally {
    /// Counts an image at a point.
    pub(super) fn count(&mut self, point: usize, at: &Point, hash: u128, choice: &Choice, verdict: &Verdict) {
        self.grade = self.grade.max(verdict.grade);
        self.points.insert(point);
        if verdict.grade != Grade::E {
            self.worst_lost_commits = self.worst_lost_commits.max(verdict.lost_commits);
            self.worst_lost_seconds = self.worst_lost_seconds.max(verdict.lost_seconds);
        }
        if verdict.grade == Grade::F {
            self.silent.insert(hash);
        }
        if verdict.faults.is_empty() {
            return;
        }
        let missing = at.missing(choice).len();
        let lost_commits = lost_alone(verdict);
        for (kind, words) in kinds(verdict).zip(&verdict.faults) {
            let image = || Image { point, choice: at.shortened(choice) };
            let images = HashSet::new();
            let new = || Example { image: image(), words: words.clone(), lost_commits, missing, images };
            let example = self.kinds.entry(kind).or_insert_with(new);
            example.images.insert(hash);
            // The example that loses most, and of these the one that names least.
            if (Reverse(lost_commits), missing) < (Reverse(example.lost_commits), example.missing) {
                (example.image, example.words) = (image(), words.clone());
                (example.lost_commits, example.missing) = (lost_commits, missing);
            }
        }
    }

    /// The worst kind of fault, and of equals that of most images.
    pub(super) fn worst(&self) -> Option<(&Kind, &Example)> {
        self.sorted().into_iter().next()
    }

    /// A better example of a kind, with its words.
    pub(super) fn replace_example(&mut self, kind: &Kind, image: Image, words: String) {
        if let Some(example) = self.kinds.get_mut(kind) {
            (example.image, example.words) = (image, words);
        }
    }

    fn sorted(&self) -> Vec<(&Kind, &Example)> {
        let mut all: Vec<_> = self.kinds.iter().collect();
        all.sort_by_key(|((grade, _), example)| (Reverse(*grade), Reverse(example.images.len())));
        all
    }

    /// The kinds of fault, the worst first.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let finding = |(_, example): &(&Kind, &Example)| {
            let (what, images) = (example.words.clone(), example.images.len() as u64);
            Finding { what, images, example: example.image.to_string(), ..Finding::default() }
        };
        let all = self.sorted();
        if all.len() <= FINDINGS_MAX {
            return all.iter().map(finding).collect();
        }
        let (listed, others) = all.split_at(FINDINGS_MAX - 1);
        let images: HashSet<u128> = others.iter().flat_map(|(_, example)| &example.images).copied().collect();
        let what = format!("{} other kinds of fault, such as: {}", others.len(), others[0].1.words);
        let rest = Finding { what, images: images.len() as u64, ..finding(&others[0]) };
        listed.iter().map(finding).chain([rest]).collect()
    }
}
