//! Images that are being recovered, and what becomes of the result: why each was wanted, whether it is to be recovered twice.

use std::sync::Arc;

use super::search::{Next, Purpose};
use super::{Explorer, Known, Recovered, Subject, tally};
use crate::states::Choice;
use crate::verdict::{Found, judge};

/// Why an image is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Search(Purpose),
    Control,
    /// Of a cut at this moment, in nanoseconds.
    RandomCut(u64),
}

/// An image that is wanted.
#[derive(Debug)]
pub(super) struct UnderWay {
    point: usize,
    choice: Choice,
    reason: Reason,
    hash: u128,
    /// Otherwise it waits for one of the same image before it.
    is_begun: bool,
    /// What its first recovery came to, while it is recovered again.
    first: Option<Recovered>,
}

impl<B: AsRef<[u8]>, S: Subject> Explorer<'_, B, S> {
    /// Sees to it that an image is recovered, unless it is known; what is found is told to who wanted it. False: a limit is reached.
    pub(super) fn want(&mut self, point: usize, choice: Choice, reason: Reason) -> Result<bool, S::Error> {
        if self.limits.are_reached(1.0) {
            return Ok(false);
        }
        let hash = self.history.image_hash(point, &choice);
        if !self.known.contains_key(&hash) && self.images() >= self.limits.budget.images_max {
            return Ok(false);
        }
        self.put(UnderWay { point, choice, reason, hash, is_begun: false, first: None })?;
        // One more than are done side by side, so that there is always a next one; of one alone, what it found is heard first.
        let most = match self.subject.side_by_side() {
            1 => 0,
            several => several,
        };
        while self.under_way.len() > most {
            self.hear()?;
        }
        Ok(true)
    }

    /// Distinct images that are known or will be.
    fn images(&self) -> u64 {
        let is_new = |one: &&UnderWay| one.is_begun && !self.known.contains_key(&one.hash);
        (self.known.len() + self.under_way.iter().filter(is_new).count()) as u64
    }

    /// Whether an image that this point's search asked for is under way.
    pub(super) fn is_searched(&self, point: usize) -> bool {
        self.under_way.iter().any(|one| one.point == point && matches!(one.reason, Reason::Search(_)))
    }

    fn put(&mut self, mut one: UnderWay) -> Result<(), S::Error> {
        if self.is_enough(&one) {
            self.tell(one);
            return Ok(());
        }
        one.is_begun = !self.under_way.iter().any(|other| other.is_begun && other.hash == one.hash);
        if one.is_begun {
            self.begin(one.point, &one.choice)?;
        }
        self.under_way.push_back(one);
        Ok(())
    }

    /// Whether what is known of an image is all that is wanted.
    fn is_enough(&self, one: &UnderWay) -> bool {
        // Only the tree must have all reads.
        let is_of_tree = one.reason == Reason::Search(Purpose::Tree);
        self.known.get(&one.hash).is_some_and(|known| !is_of_tree || self.reads_hold(known, one.point))
    }

    /// Whether the reads that are known are all that would be reported at this point.
    fn reads_hold(&self, known: &Known, point: usize) -> bool {
        let undecided = |point: usize| &self.history.points()[point].undecided;
        known.point == point || undecided(point).keys().all(|unit| undecided(known.point).contains_key(unit))
    }

    /// Hears what the first image that is under way came to.
    pub(super) fn hear(&mut self) -> Result<(), S::Error> {
        let Some(mut one) = self.under_way.pop_front() else { return Ok(()) };
        if !one.is_begun {
            return self.put(one);
        }
        let found = self.end()?;
        let is_known = self.known.contains_key(&one.hash);
        if one.first.is_none() && !is_known && self.is_to_be_repeated(&found.found, one.point) {
            one.first = Some(found);
            self.begin(one.point, &one.choice)?;
            self.under_way.push_back(one);
            return Ok(());
        }
        self.learn(&mut one, found);
        self.tell(one);
        Ok(())
    }

    pub(super) fn hear_all(&mut self) -> Result<(), S::Error> {
        while !self.under_way.is_empty() {
            self.hear()?;
        }
        Ok(())
    }

    fn learn(&mut self, one: &mut UnderWay, last: Recovered) {
        let Recovered { mut found, mut read, .. } = last;
        let other = match one.first.take() {
            Some(first) => {
                let also = std::mem::replace(&mut read, first.read);
                read.extend(also.into_iter().filter(|unit| !read.contains(unit)).collect::<Vec<_>>());
                Some(std::mem::replace(&mut found, first.found))
            }
            // Known from a point at which less was undecided.
            None => self.known.remove(&one.hash).map(|known| known.found),
        };
        if let Some(other) = other.filter(|other| *other != found) {
            self.unsteady += 1;
            let badness = |found: &Found| {
                let verdict = judge(found, self.attempts, self.cuts[one.point]);
                (verdict.grade, verdict.lost_commits)
            };
            if badness(&other) > badness(&found) {
                found = other;
            }
        }
        self.known.insert(one.hash, Known { found, read, point: one.point });
    }

    /// Tells who wanted an image what is known of it.
    fn tell(&mut self, one: UnderWay) {
        let UnderWay { point, choice, reason, hash, .. } = one;
        let known = &self.known[&hash];
        let at = &self.history.points()[point];
        let verdict = judge(&known.found, self.attempts, self.cuts[point]);
        self.tally.count(point, at, hash, &choice, &verdict);
        match reason {
            Reason::Search(purpose) => {
                self.classes[point].insert(tally::class(&verdict));
                self.searches[point].learn(at, Next { choice, purpose }, &known.read, &self.changed[point]);
            }
            Reason::Control => self.controls.push((point, tally::class(&verdict))),
            Reason::RandomCut(at_nanoseconds) => {
                self.random_cuts.count(&judge(&known.found, self.attempts, at_nanoseconds));
            }
        }
    }

    pub(super) fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), S::Error> {
        if self.subject.wants_tally() {
            self.subject.tally(self.safety());
        }
        self.subject.begin(point, choice)
    }

    pub(super) fn end(&mut self) -> Result<Recovered, S::Error> {
        let mut recovered = self.subject.end()?;
        self.recoveries += u64::from(recovered.is_new);
        match self.founds.get(&recovered.found) {
            Some(known) => recovered.found = Arc::clone(known),
            None => _ = self.founds.insert(Arc::clone(&recovered.found)),
        }
        Ok(recovered)
    }
}
