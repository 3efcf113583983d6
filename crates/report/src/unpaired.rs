//! What is said of a figure of one result held against that of another; the values are `analysis::unpaired`.

use crate::number::{percent, ratio_ends, ratio_precise};
use analysis::judge::ROUNDS_FOR_CLAIMS;
use analysis::unpaired::Change;
use serde_json::{Value, json};
use stats::Verdict;

/// The ratio and its interval.
pub fn figures(change: &Change) -> String {
    format!("{} {}", ratio_precise(change.ratio), interval(change))
}

/// The ratio's interval.
pub fn interval(change: &Change) -> String {
    format!("[{}]", ratio_ends((change.low, change.high), ratio_precise).join(", "))
}

/// With all digits.
pub fn json(change: &Change) -> Value {
    let Change { ratio, low, high, p, verdict, is_better } = change;
    json!({
        "ratio": ratio, "low": low, "high": high, "p_corrected": p, "verdict": verdict, "flagged": change.is_shown(),
        "better": is_better,
    })
}

/// In a word or three.
pub fn words(change: &Change, margin: f64) -> String {
    match change.verdict {
        None => format!("fewer than {ROUNDS_FOR_CLAIMS} rounds"),
        Some(Verdict::Faster) => "better".into(),
        Some(Verdict::Slower) => "worse".into(),
        Some(Verdict::Equivalent) => format!("the same within {}", percent(margin)),
        Some(verdict) => verdict.words().into(),
    }
}
