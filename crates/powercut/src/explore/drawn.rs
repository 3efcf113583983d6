//! Images that are drawn at random: the control group, which guards the search, and cuts at random moments, which alone say what
//! is to be expected.

use super::under_way::Reason;
use super::{Explorer, Subject};
use crate::states::{Choice, Rest};
use crate::verdict::Verdict;
use observe::safety::Grade;
use std::collections::BTreeMap;

/// One of so many images is of the control group, drawn from all that are legal, without pruning …
const CONTROL_SHARE: usize = 20;
/// … and at least so many, if there is time.
pub(super) const CONTROLS_MIN: usize = 8;
/// At most one of so many images is recovered for random cuts alone; most of these leave an image that is known …
const RANDOM_CUT_SHARE: usize = 4;
/// … and at least so many random cuts, if there is time: none bad of these is below 4.6 % at 95 %.
const RANDOM_CUTS_MIN: u64 = 64;

/// What random cuts came to.
#[derive(Debug, Default)]
pub(super) struct RandomCuts {
    pub(super) all: u64,
    /// With a fault beyond a loss.
    pub(super) bad: u64,
    /// Filesystem and database came up, and could be asked what is there.
    came_up: u64,
    lost_commits: u64,
    lost_seconds: f64,
    /// With those that are under way.
    drawn: u64,
    /// Of these, images that had not been tried before.
    new: usize,
}

impl RandomCuts {
    pub(super) fn count(&mut self, verdict: &Verdict) {
        self.all += 1;
        self.bad += u64::from(verdict.grade >= Grade::E);
        if verdict.grade != Grade::E {
            self.came_up += 1;
            self.lost_commits += verdict.lost_commits;
            self.lost_seconds += verdict.lost_seconds;
        }
    }

    /// Mean over those that came up.
    pub(super) fn expected_lost_commits(&self) -> Option<f64> {
        (self.came_up > 0).then(|| self.lost_commits as f64 / self.came_up as f64)
    }

    /// Mean over those that came up.
    pub(super) fn expected_lost_seconds(&self) -> Option<f64> {
        (self.came_up > 0).then(|| self.lost_seconds / self.came_up as f64)
    }
}

impl<B: AsRef<[u8]>, S: Subject> Explorer<'_, B, S> {
    /// While the search goes on.
    pub(super) fn draw_between(&mut self) -> Result<(), S::Error> {
        if self.controls_drawn < self.known.len() / CONTROL_SHARE {
            self.draw_control()?;
        }
        // Whether there is a next one does not depend on what that will be: that would change the mean.
        if self.random_cuts.new < self.known.len() / RANDOM_CUT_SHARE {
            self.cut_at_random()?;
        }
        Ok(())
    }

    /// When nothing is left to search.
    pub(super) fn draw_at_the_end(&mut self) -> Result<(), S::Error> {
        while self.controls_drawn < CONTROLS_MIN && self.draw_control()? {}
        while self.random_cuts.drawn < RANDOM_CUTS_MIN && self.cut_at_random()? {}
        Ok(())
    }

    /// Draws an image for the control group; whether there was one, and time for it.
    fn draw_control(&mut self) -> Result<bool, S::Error> {
        if self.drawable.is_empty() {
            return Ok(false);
        }
        let point = self.drawable[self.random.index(self.drawable.len())];
        let history = self.history;
        let mut units = BTreeMap::new();
        for (unit, versions) in &history.points()[point].undecided {
            let version = self.random.index(versions.len());
            if version + 1 < versions.len() {
                units.insert(*unit, version as u32);
            }
        }
        let is_wanted = self.want(point, Choice { rest: Rest::Newest, units }, Reason::Control)?;
        self.controls_drawn += usize::from(is_wanted);
        Ok(is_wanted)
    }

    /// Tries what the next random cut left; whether there was one, and time for it. What was promised until then counts for the
    /// mean; as one of its point's images it is held against what was promised until that.
    fn cut_at_random(&mut self) -> Result<bool, S::Error> {
        let Some(cut) = self.to_cut.pop() else { return Ok(false) };
        let (point, choice) = (cut.image.point, cut.image.choice);
        let is_new = !self.known.contains_key(&self.history.image_hash(point, &choice));
        let is_wanted = self.want(point, choice, Reason::RandomCut(cut.at_nanoseconds))?;
        if is_wanted {
            self.random_cuts.drawn += 1;
            self.random_cuts.new += usize::from(is_new);
        }
        Ok(is_wanted)
    }
}
