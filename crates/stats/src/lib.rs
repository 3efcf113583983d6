//! What the figures say: contrasts over rounds, verdicts, the best set, which factor matters, and when it is enough.
//!
//! Pure: no file, clock or process; whatever is random takes a seed. The unit is the trial (one number a scenario and
//! round), the scale is the logarithm, the block is the round. Start at `analysis.rs`.

pub mod allan;
pub mod analysis;
pub mod best;
pub mod carry_over;
pub mod change_points;
pub mod compare;
pub mod drift;
pub mod effects;
pub mod eliminate;
pub mod hosts;
pub mod importance;
pub mod interval;
pub mod machine_noise;
pub mod nonparametric;
pub mod observations;
pub mod outliers;
pub mod power;
pub mod repetitions;
pub mod screening;
pub mod shape;
pub mod shares;
pub mod slow;
pub mod steady;
pub mod stop_rule;
pub mod type_two;

pub use allan::{Fit, Series, Spread};
pub use analysis::{Analysis, CellSummary, Claim, Outlier, analyse, best_of};
pub use best::{BestSet, best_set};
pub use change_points::{Course, course};
pub use compare::{Held, Verdict, benjamini_hochberg, holm, paired, verdict, welch};
pub use effects::{Interaction, Swing};
pub use importance::{Importance, NoShares};
pub use interval::{Contrast, contrast};
pub use machine_noise::{MachineNoise, Turns};
pub use observations::{Cell, Observations, Rules};
pub use shares::Counted;
pub use stop_rule::{StopDecision, enough, enough_to_pick};
