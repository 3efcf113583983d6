//! When differences will be known: by how much they strayed from round to round so far.

use lab::values::Values;
use settings::quantity::{format_percent, format_seconds};
use stats::interval::{contrast, rounds_for_half_width};

/// Of fewer rounds the spread is known too badly.
const ROUNDS_MIN: usize = 3;
/// What is foretold, beside the study's own precision.
const HALF_WIDTH: f64 = 0.05;

/// What a study wants.
pub struct Wanted {
    /// Scenarios that are held against each other, by their columns.
    pub pairs: Vec<(usize, usize)>,
    /// Confidence of intervals.
    pub confidence: f64,
    /// The precision at which it ends, a fraction.
    pub precision: f64,
    /// It has so many rounds at least.
    pub rounds_min: usize,
}

/// "within 5 % in about 2min more, within 3 % in about 9min more": of what is not known yet. Empty: all is, or nothing can be foretold.
pub fn sentence(values: &Values, wanted: &Wanted, round_seconds: f64) -> String {
    let rounds = values.rounds.len();
    let spread = wanted.pairs.iter().filter_map(|pair| spread(values, *pair, wanted.confidence)).reduce(f64::max);
    let Some(spread) = spread.filter(|_| rounds >= ROUNDS_MIN) else { return String::new() };
    let mut half_widths = [HALF_WIDTH, wanted.precision];
    half_widths.sort_by(|a, b| b.total_cmp(a));
    let of = |half_width: f64| {
        let needed = rounds_for_half_width(spread, half_width.ln_1p(), wanted.confidence).max(wanted.rounds_min);
        let seconds = needed.saturating_sub(rounds) as f64 * round_seconds;
        let within = format_percent(half_width).replace('%', " %");
        (seconds > 0.0)
            .then(|| format!("within {within} in about {} more", format_seconds((seconds / 60.0).ceil() * 60.0)))
    };
    let mut all: Vec<String> = half_widths.into_iter().filter_map(of).collect();
    all.dedup();
    all.join(", ")
}

/// By how much the difference of two scenarios strays from round to round.
fn spread(values: &Values, pair: (usize, usize), confidence: f64) -> Option<f64> {
    let differences = report::log_ratios(&values.rounds, pair);
    contrast(&differences, confidence).map(|contrast| contrast.standard_deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(ratios: &[f64]) -> String {
        let rounds = ratios.iter().map(|ratio| vec![Some(100.0 * ratio), Some(100.0), None]).collect();
        let values = Values { scenarios: vec!["a".into(), "b".into(), "c".into()], rounds };
        let wanted = Wanted { pairs: vec![(0, 1), (2, 1)], confidence: 0.95, precision: 0.03, rounds_min: 4 };
        sentence(&values, &wanted, 60.0)
    }

    /// A standard deviation of 5 %: 7 rounds for 5 %, 14 for 3 % (t at 6 and 13 degrees of freedom is 2.447 and 2.160).
    #[test]
    fn rounds_that_are_left_take_their_time() {
        let step: f64 = 0.05;
        let found = said(&[(-step).exp(), 1.0, step.exp()]);
        assert_eq!(found, "within 5 % in about 4min more, within 3 % in about 11min more");
    }

    #[test]
    fn what_is_known_is_not_foretold() {
        assert_eq!(said(&[1.0, 1.1]), "", "two rounds tell too little");
        assert_eq!(said(&[1.0; 5]), "");
        assert_eq!(said(&[1.0; 3]), "within 5 % in about 1min more, within 3 % in about 1min more");
    }
}
