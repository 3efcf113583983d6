//! What a power cut was measured to take from one scenario, as trials report it and ledgers keep it.

use crate::durability::Class;
use serde::{Deserialize, Serialize};

/// Classes by what was seen in any image that a cut may leave, best first; the order is the order of `Ord`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// Every acknowledged commit was there, whole and readable.
    #[default]
    A,
    /// At most the last acknowledged commit of a connection was missing; what was left was consistent.
    B,
    /// More was missing, none of it acknowledged longer than [`RECENT_SECONDS`] before the cut; what was left was consistent.
    C,
    /// Commits acknowledged longer before were missing; what was left was consistent.
    D,
    /// The filesystem or the database did not come up again, or its own check found it damaged.
    E,
    /// Wrong content that nothing complained about: half a transaction, a hole before later commits, torn rows.
    F,
}

/// Losses of up to so long ago are "the last moments".
pub const RECENT_SECONDS: f64 = 5.0;

impl Grade {
    /// All classes, best first.
    pub const ALL: [Grade; 6] = [Grade::A, Grade::B, Grade::C, Grade::D, Grade::E, Grade::F];

    /// Its letter.
    pub fn letter(self) -> &'static str {
        ["A", "B", "C", "D", "E", "F"][self as usize]
    }

    /// The class with this letter.
    pub fn of(letter: &str) -> Option<Grade> {
        Grade::ALL.into_iter().find(|grade| grade.letter() == letter)
    }

    /// The class in words, as reports show it.
    pub fn words(self) -> &'static str {
        match self {
            Grade::A => "lost nothing",
            Grade::B => "lost the last commit",
            Grade::C => "lost the last moments",
            Grade::D => "lost older commits",
            Grade::E => "was damaged",
            Grade::F => "was wrong without a word",
        }
    }
}

/// How many of the images had a fault, and one of them to look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was seen: "mount: structure needs cleaning", "rows of stream 0 have a hole after 17".
    pub what: String,
    /// In so many images.
    pub images: u64,
    /// The name of one that can be served again (`surefoot powercut --replay`).
    pub example: String,
    /// What that one lacks of what was written, in words: parts of files. Empty: that can't be told.
    #[serde(default)]
    pub lacks: String,
    /// What the filesystem's checker says of it after the filesystem's own recovery. Empty: it was not asked.
    #[serde(default)]
    pub checked: String,
}

/// The measured safety of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Safety {
    /// The worst that was seen.
    pub grade: Grade,
    /// The disk under it, in words: "volatile cache, units of 4096 bytes, as fast as memory".
    pub disk: String,
    /// What the load itself asked for, whatever is below it: nobody promised more.
    #[serde(default = "all")]
    pub promise: Class,
    /// What a power cut may take by the settings of what was measured: on the disk that was recorded, with the load's own engine, and no
    /// more than its filesystem was found to keep. None: results of older versions, which say it of the scenario alone.
    #[serde(default)]
    pub by_settings: Option<Class>,
    /// Commits that were tried while it recorded; of files, replacements.
    pub tried: u64,
    /// Of these, acknowledged.
    pub acknowledged: u64,
    /// Moments at which power was cut, so that an image was tried, of those before each completed flush and the end. In results of older
    /// versions all of these, tried or not.
    pub points: u64,
    /// Distinct images that a recovery ran on.
    pub images: u64,
    /// Whether these are all of this recording that differ for a recovery; otherwise they are a sample of it. Of what the settings
    /// may lead to, a recording is always one.
    pub is_complete: bool,
    /// Recoveries of the database that ran; the other images left a directory that had been seen.
    pub recoveries: u64,
    /// Most acknowledged commits missing in any image.
    pub worst_lost_commits: u64,
    /// Longest time from the acknowledgement of a missing commit to the cut, in any image.
    pub worst_lost_seconds: f64,
    /// Whether that loss goes over so much of the recording that only its begin, its end or the load's own checkpoints may have ended it:
    /// a longer one may show more. None: results of older versions, in which nobody looked.
    #[serde(default)]
    pub is_censored: Option<bool>,
    /// Acknowledged commits missing after a cut at a random moment of this recording: mean over those random cuts that came up. None: none
    /// did, or none was tried, as in results of older versions.
    #[serde(default)]
    pub expected_lost_commits: Option<f64>,
    /// Time from the acknowledgement of the first missing commit to the cut, 0 where none is missing: mean over the same.
    #[serde(default)]
    pub expected_lost_seconds: Option<f64>,
    /// Cuts at random moments that were tried, each with what the disk's drive had on its medium then.
    #[serde(default)]
    pub random_cuts: u64,
    /// Of these, with any fault beyond a loss.
    #[serde(default)]
    pub random_cuts_bad: u64,
    /// Images whose filesystem could not be mounted, or only after a repair that lost files.
    pub unmountable: u64,
    /// Images whose database did not come up or was found damaged by its own check.
    pub damaged: u64,
    /// Images with wrong content that nothing complained about.
    pub silent: u64,
    /// Images of the control group: drawn at random, without pruning.
    pub audited: u64,
    /// Of these, with an outcome that the pruned search did not find; anything but 0 is a fault of surefoot.
    pub audited_new: u64,
    /// Bad images, run again: how many came out otherwise.
    pub unsteady: u64,
    /// Writes and flushes in the measured part of the log.
    pub writes: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// What was seen, the worst first.
    pub findings: Vec<Finding>,
    /// What a reader should know: limits met, what was not looked at.
    pub notes: Vec<String>,
    /// What it took, recording and exploring.
    pub seconds: f64,
}

/// What results had asked for that do not say it.
fn all() -> Class {
    Class::KeepsAcknowledged
}

impl Safety {
    /// Images with any fault beyond a loss. They were searched for: their share says nothing of how likely one is.
    pub fn bad(&self) -> u64 {
        self.unmountable + self.damaged + self.silent
    }

    /// What was promised of what was measured; `scenario` is what the scenario's own settings promise, on its own disk.
    pub fn promised(&self, scenario: Class) -> Class {
        self.by_settings.unwrap_or(scenario).max(self.promise)
    }

    /// Whether nothing was damaged where nobody promises that: what was recorded says nothing for such settings.
    pub fn hides_damage(&self, scenario: Class) -> bool {
        self.promised(scenario) >= Class::MayCorrupt && self.bad() == 0
    }

    /// The class that those which a study allows are held against: a loss that only the recording ended may be an older one.
    pub fn held_to(&self) -> Grade {
        if self.grade == Grade::C && self.is_censored == Some(true) { Grade::D } else { self.grade }
    }

    /// How bad it is beside others: of two that are held to one class, the larger loss may be more than was shown.
    pub fn badness(&self) -> (Grade, u64) {
        (self.held_to(), self.worst_lost_commits)
    }

    /// Upper end of a 95 % interval for the share of cuts that leave a fault beyond a loss, from the random ones: exact for
    /// none seen (the "rule of three": 1 − 0.05^(1/n)), Wilson's otherwise. None where none was tried.
    pub fn bad_share_at_most(&self) -> Option<f64> {
        let n = self.random_cuts as f64;
        if n == 0.0 {
            return None;
        }
        if self.random_cuts_bad == 0 {
            return Some(1.0 - 0.05f64.powf(1.0 / n));
        }
        // One-sided 95 %.
        const Z: f64 = 1.644_853_626_951_472_2;
        let share = self.random_cuts_bad as f64 / n;
        let middle = share + Z * Z / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        Some(((middle + half) / (1.0 + Z * Z / n)).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a version wrote it that knew no random cuts.
    fn older() -> Safety {
        let written = serde_json::json!({
            "grade": "A", "disk": "", "tried": 9, "acknowledged": 9, "points": 3, "images": 40, "is_complete": true,
            "recoveries": 4, "worst_lost_commits": 0, "worst_lost_seconds": 0.0, "mean_lost_commits": 0.25, "unmountable": 0,
            "damaged": 0, "silent": 0, "audited": 0, "audited_new": 0, "unsteady": 0, "writes": 9, "flushes": 3,
            "findings": [], "notes": [], "seconds": 1.0,
        });
        serde_json::from_value(written).expect("it is read")
    }

    #[test]
    fn results_of_older_versions_are_read_and_say_nothing_of_random_cuts() {
        let older = older();
        assert_eq!((older.random_cuts, older.expected_lost_commits, older.expected_lost_seconds), (0, None, None));
        assert_eq!(older.bad_share_at_most(), None);
        assert_eq!(older.promise, Class::KeepsAcknowledged);
        assert_eq!((older.by_settings, older.is_censored, older.held_to()), (None, None, Grade::A));
        assert_eq!(
            older.promised(Class::MayCorrupt),
            Class::MayCorrupt,
            "the scenario's own settings are all that is known"
        );
        let of_older = Safety { grade: Grade::C, ..older };
        assert_eq!(of_older.held_to(), Grade::C, "nobody looked");
    }

    #[test]
    fn a_loss_that_only_the_recording_ended_may_be_an_older_one() {
        let censored = |grade| Safety { grade, is_censored: Some(true), ..older() }.held_to();
        assert_eq!(Grade::ALL.map(censored), [Grade::A, Grade::B, Grade::D, Grade::D, Grade::E, Grade::F]);
        assert_eq!(Safety { grade: Grade::C, is_censored: Some(false), ..older() }.held_to(), Grade::C);
    }

    #[test]
    fn what_was_measured_is_held_to_the_disk_that_was_recorded() {
        let on = |by_settings| Safety { by_settings: Some(by_settings), ..older() };
        assert_eq!(on(Class::KeepsAcknowledged).promised(Class::MayCorrupt), Class::KeepsAcknowledged);
        assert!(
            !on(Class::KeepsAcknowledged).hides_damage(Class::MayCorrupt) && older().hides_damage(Class::MayCorrupt)
        );
        assert!(on(Class::MayCorrupt).hides_damage(Class::KeepsAcknowledged));
        let asked_less = Safety { promise: Class::LosesRecent, ..on(Class::KeepsAcknowledged) };
        assert_eq!(asked_less.promised(Class::KeepsAcknowledged), Class::LosesRecent);
    }

    #[test]
    fn none_of_1229_is_below_a_quarter_percent() {
        let share = Safety { random_cuts: 1229, ..older() }.bad_share_at_most().expect("some were tried");
        assert!((share - 0.002_434_6).abs() < 1e-6, "{share}");
    }

    /// Wilson's one-sided upper limit for 5 of 100, as R's `prop.test(5, 100, alternative = "less", correct = FALSE)` has it.
    #[test]
    fn five_of_a_hundred() {
        let of_all = Safety { images: 5000, silent: 4000, ..older() };
        let share =
            Safety { random_cuts: 100, random_cuts_bad: 5, ..of_all }.bad_share_at_most().expect("some were tried");
        assert!((share - 0.099_161_1).abs() < 1e-6, "{share}");
    }

    #[test]
    fn grades_are_in_order() {
        assert!(Grade::ALL.is_sorted());
    }

    #[test]
    fn letters_lead_back() {
        assert_eq!(Grade::ALL.map(|grade| Grade::of(grade.letter())), Grade::ALL.map(Some));
        assert_eq!(Grade::of("G"), None);
    }
}
