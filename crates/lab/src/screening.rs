//! What a screen's rounds make of a plan: which factors are studied on, and which scenarios are left out for it.
//!
//! Driven by the conductor. Which scenarios are screened is `study::screen`, what their figures say `stats::screening`.

use crash::plan::Plan;
use ledger::model::{Decision, Screened, ScreenedFactor, Together};
use stats::screening::{Effect, Keep, screening};
use study::screen::{KEPT_MAX, Screen};

/// Factors are kept until they explain this share of what is explained.
const EXPLAINED: f64 = 0.95;

/// What the rounds (`[round][scenario of the plan]`) say; none where a screened scenario has no value.
pub fn judge(plan: &Plan, screen: &Screen, rounds: &[Vec<Option<f64>>]) -> Option<Screened> {
    let level = |scenario: usize, (factor, levels): &(String, Vec<String>)| {
        let its = plan.scenarios[scenario].levels.get(factor);
        levels.iter().position(|level| Some(level) == its).expect("a screen knows all levels of its scenarios")
    };
    let of_scenario = |scenario: &usize| screen.factors.iter().map(|factor| level(*scenario, factor)).collect();
    let levels: Vec<Vec<usize>> = screen.scenarios.iter().map(of_scenario).collect();
    let of_screen = |row: &Vec<Option<f64>>| screen.scenarios.iter().map(|scenario| row[*scenario]).collect();
    let values: Vec<Vec<Option<f64>>> = rounds.iter().map(of_screen).collect();
    let (confidence, margin) = (plan.design.confidence, plan.design.margin);
    let keep = Keep { confidence, margin, explained: EXPLAINED, factors_max: KEPT_MAX };
    let found = screening(&stats::screening::Screened { levels: &levels, rounds: &values }, &keep)?;
    let named = |pair: [usize; 2]| pair.map(|factor| screen.factors[factor].0.clone());
    let together = found.interactions.iter().map(|together| Together {
        factors: named(together.pair),
        alike: together.alike.iter().copied().map(named).collect(),
        share: together.share,
    });
    let factor = |factor: usize| said(&screen.factors[factor], &found.effects[factor]);
    let mut fixed: Vec<usize> = (0..screen.factors.len()).filter(|factor| !found.kept.contains(factor)).collect();
    fixed.sort_by(|a, b| found.effects[*b].bound.total_cmp(&found.effects[*a].bound));
    let count = |number: usize| u32::try_from(number).expect("a plan has few scenarios");
    Some(Screened {
        workload: screen.workload.clone(),
        design: screen.words(),
        scenarios: count(screen.scenarios.len()),
        of: count(screen.of),
        rounds: count(rounds.len()),
        kept: found.kept.iter().copied().map(factor).collect(),
        fixed: fixed.into_iter().map(factor).collect(),
        together: together.collect(),
        explained: found.explained,
        visible: found.visible.exp_m1(),
        alike: screen.alike(),
        unseen: screen.unseen(),
    })
}

fn said((factor, levels): &(String, Vec<String>), effect: &Effect) -> ScreenedFactor {
    ScreenedFactor {
        factor: factor.clone(),
        baseline: levels[0].clone(),
        level: levels[effect.level].clone(),
        effect: effect.size.exp_m1(),
        low: (effect.size - effect.half_width).exp_m1(),
        high: (effect.size + effect.half_width).exp_m1(),
        bound: effect.bound.exp_m1(),
        share: effect.share,
    }
}

/// Which scenarios are not studied: those that have another level than the baseline's of a factor that is fixed.
pub fn left_out(plan: &Plan, decisions: &[Decision]) -> Vec<bool> {
    let is_out = |scenario: &crash::plan::PlannedScenario| {
        let by = |screened: &Screened| screened.workload == scenario.workload && screened.leaves_out(&scenario.levels);
        decisions.iter().any(|decision| matches!(decision, Decision::Screen(screened) if by(screened)))
    };
    plan.scenarios.iter().map(is_out).collect()
}
