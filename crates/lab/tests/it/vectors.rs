//! Figures of turns (F15), held against SciPy's: `T1` of `crates/stats/tests/vectors/vectors.json`.

use ledger::figure::{self, Rule, Zero};
use ledger::model::Order;
use serde_json::Value;

#[test]
fn t1_turns() {
    let all: Value =
        serde_json::from_str(include_str!("../../../stats/tests/vectors/vectors.json")).expect("vectors.json is JSON");
    let is_it = |vector: &&Value| vector["id"].as_str().is_some_and(|id| id.starts_with("T1."));
    let vector = all["vectors"].as_array().and_then(|all| all.iter().find(is_it)).expect("T1");
    let (given, out) = (&vector["in"], &vector["out"]);
    let number = |value: &Value| value.as_f64().expect("a number");
    let figures = |side: &str| -> Vec<f64> {
        let of_round = |rates: &Value| {
            let turns = rates.as_array().expect("turns").iter().map(|rate| (number(rate), number(&given["seconds"])));
            figure::of_runs(&turns.collect::<Vec<_>>(), Rule::of(Order::Turns, "1/s", Zero::Stall)).expect("turns")
        };
        given[side].as_array().expect("rounds").iter().map(of_round).collect()
    };
    let differences: Vec<f64> = figures("b").iter().zip(figures("a")).map(|(b, a)| (b / a).ln()).collect();
    let found = stats::contrast(&differences, 0.95).expect("six rounds");
    for (found, name) in
        [(found.ratio(), "ratio"), (found.ratio_low(), "ratio_lo"), (found.ratio_high(), "ratio_hi"), (found.p, "p")]
    {
        assert!((found / number(&out[name]) - 1.0).abs() < 1e-8, "{name}: {found} {}", out[name]);
    }
}
