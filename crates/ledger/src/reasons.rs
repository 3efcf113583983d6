//! Why a session ended, in the words that the file keeps of it: those that are asked for later.

/// The user interrupted it.
pub const INTERRUPTED: &str = "interrupted";
/// The same, where a rule had ended its rounds.
pub const INTERRUPTED_BEHIND_ROUNDS: &str = "interrupted when its rounds were over";
/// What a power cut takes was all that was asked for, and is known.
pub const SAFETY_KNOWN: &str = "every scenario had its power cuts";
/// The same, but of some scenarios it could not be measured.
pub const SAFETY_HOLES: &str =
    "not every scenario could have its power cuts; what failed is done again with --retry-failed";
/// What a failing disk does was all that was asked for, and is known.
pub const FAULTS_KNOWN: &str = "every scenario had its faults";
/// The same, but of some scenarios it could not be measured.
pub const FAULTS_HOLES: &str =
    "not every scenario could have its faults; what failed is done again with --retry-failed";
/// There was no room for its filesystems, or the like.
pub const NO_IMAGES: &str = "the image files could not be written";

/// Of sessions without rounds: they say nothing of whether a rule ended those of the sessions before.
pub(crate) const WITHOUT_ROUNDS: [&str; 5] = [SAFETY_KNOWN, SAFETY_HOLES, FAULTS_KNOWN, FAULTS_HOLES, NO_IMAGES];
