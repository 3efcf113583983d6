//! The answer for machines: every number that the report shows, with all its digits.

use crate::bench::{self, Bench};
use crate::input::Input;
use crate::warnings::warnings;
use crate::words::{Words as _, estimand};
use crate::{answer, errors, factors, faults, flushing, health, limits, notes, safety};
use analysis::ceilings::Share;
use analysis::choice::Pick;
use analysis::claim::{Change, Claim, Subject, Went};
use analysis::confirmation::Confirmation;
use analysis::health::{Cause, Health, Load};
use analysis::orders::Orders;
use analysis::repetitions::PrecisionCost;
use analysis::row::Row;
use analysis::tails::Tail;
use analysis::view::Part;
use ledger::model::Worse;
use serde_json::{Value, json};
use stats::repetitions::Straying;
use stats::{Interaction, Swing};

/// JSON Schema of all that `surefoot report --json` prints.
pub const JSON_SCHEMA: &str = include_str!("report.schema.json");

/// Grows when a field changes its meaning or goes; new fields don't count.
pub const SCHEMA_VERSION: u32 = 1;

/// The analysis as JSON.
pub fn answer_json(input: &Input) -> Value {
    let view = input.view();
    let contents = &input.contents;
    let warnings = warnings(view, contents).into_iter();
    let warnings = warnings.map(|of| json!({ "seen": of.seen, "effect": of.effect, "remedy": of.remedy }));
    json!({
        "schema_version": SCHEMA_VERSION,
        "study": contents.study.name,
        "question": contents.study.question,
        "study_hash": contents.study.hash,
        "surefoot_version": contents.study.surefoot_version,
        "confidence": view.confidence,
        "margin": view.margin,
        "answer": answer::answer(input),
        "warnings": warnings.collect::<Vec<_>>(),
        "failed_trials": view.failed_total,
        "precision_cost": view.precision_cost.as_ref().map(precision_cost),
        "limits": limits::json(view),
        "workloads": view.parts.iter().map(|part| part_json(part, input)).collect::<Vec<_>>(),
        "benches": bench::benches(contents).iter().map(bench::json).collect::<Vec<_>>(),
        "probes": contents.probes,
        "machine": contents.sessions.last().map(|session| &session.machine),
    })
}

fn precision_cost(cost: &PrecisionCost) -> Value {
    let workload = |of: &Straying| json!({ "widest": of.widest, "within": of.components.within, "between": of.components.between });
    json!({
        "runs": cost.runs,
        "setup_seconds": cost.round.setup_seconds,
        "run_seconds": cost.round.run_seconds,
        "workloads": cost.straying.iter().map(workload).collect::<Vec<_>>(),
    })
}

fn part_json(part: &Part, input: &Input) -> Value {
    let claims = |claims: &[Claim]| claims.iter().map(|claim| claim_json(claim, part)).collect::<Vec<_>>();
    let importance = part.judgement.importance().into_iter().map(|share| {
        json!({
            "name": share.name, "share": share.share, "share_low": share.range.map(|range| range.0),
            "share_high": share.range.map(|range| range.1), "swing": share.swing,
        })
    });
    let shares = part.judgement.shares.as_ref().ok();
    let is_empty = part.choice.as_ref().is_some_and(|choice| choice.is_empty);
    json!({
        "workload": part.workload,
        "metric": part.metric,
        "estimand": estimand(input.contents.study.analysis.order),
        "baseline": part.baseline,
        "alpha": part.alpha,
        "rounds_complete": part.rounds_complete,
        "pick": part.pick().filter(|_| !is_empty).map(|row| &row.label),
        "conditions": part.choice.as_ref().map(|choice| &choice.conditions),
        "picks": part.choice.as_ref().filter(|_| !is_empty).map(|choice| choice.picks.iter().map(pick_json).collect::<Vec<_>>()),
        "best_set": part.best_set(),
        "scenarios": part.rows.iter().map(|row| row_json(row, part, input)).collect::<Vec<_>>(),
        "notes": notes::of_part(part, input).iter().map(note_json).collect::<Vec<_>>(),
        "claims": claims(&part.judgement.claims),
        "versus_baseline": claims(&part.judgement.versus),
        "tails": part.tails.iter().map(|tail| tail_json(tail, part)).collect::<Vec<_>>(),
        "orders": orders_json(&part.orders),
        "rounds_needed": part.judgement.rounds_needed,
        "control": part.judgement.control.as_ref().map(|claim| claim_json(claim, part)),
        "importance": importance.collect::<Vec<_>>(),
        "importance_approximate": shares.map(|shares| shares.approximate),
        "importance_missing": part.judgement.shares.as_ref().err().and_then(factors::no_shares),
        "noise_share": shares.map(|shares| shares.noise_share),
        "drift_share": shares.map(|shares| shares.drift_share),
        "swings": part.judgement.swings.iter().map(|swing| swing_json(swing, part)).collect::<Vec<_>>(),
        "interactions": part.judgement.interactions.iter().map(interaction_json).collect::<Vec<_>>(),
        "drift_over_study": part.judgement.drift.map(|drift| drift.change),
        "steps": part.judgement.steps.iter().map(|(round, change)| json!({ "from_round": round, "change": change })).collect::<Vec<_>>(),
        "without_disturbed_trials": health::without_disturbed(part),
        "outliers": part.judgement.outliers.iter().map(|(label, found)| json!({ "scenario": label, "round": found.round })).collect::<Vec<_>>(),
        "durability_differs": part.durability_differs,
        "allowed_classes": part.allowed,
        "mode": part.mode,
        "screening": part.screened,
        "confirmations": part.confirmations.iter().map(|confirmation| confirmation_json(confirmation, part)).collect::<Vec<_>>(),
    })
}

/// A figure of the tail, with its comparisons as a family of their own.
fn tail_json(tail: &Tail, part: &Part) -> Value {
    let claims = tail.claims.iter().map(|claim| claim_json(claim, part)).collect::<Vec<_>>();
    json!({ "figure": tail.what, "operation": tail.operation, "claims": claims })
}

/// How balanced the orders were, and what a turn did to the next one.
fn orders_json(orders: &Orders) -> Value {
    let carry_over = orders.carry_over.as_ref().map(|found| {
        let effect = &found.effect;
        json!({
            "after": found.after, "ratio": effect.ratio(), "low": effect.ratio_low(), "high": effect.ratio_high(),
            "p_corrected": found.p, "rounds": effect.rounds, "shown": found.is_shown(),
        })
    });
    json!({ "least_balanced": orders.balance, "carry_over": carry_over })
}

/// What new rounds measured of a pick; its claims are against the baseline and the runner-up.
fn confirmation_json(confirmation: &Confirmation, part: &Part) -> Value {
    json!({
        "pick": confirmation.pick, "picked_from_rounds": confirmation.chosen_in, "rounds": confirmation.rounds,
        "failed_rounds": confirmation.failed_of(&confirmation.pick),
        "claims": confirmation.claims.iter().map(|claim| claim_json(claim, part)).collect::<Vec<_>>(),
    })
}

/// What is picked under one combination of the conditions' levels.
fn pick_json(pick: &Pick) -> Value {
    json!({
        "levels": pick.levels, "pick": pick.label, "behind_best_at_most": pick.regret, "best_set": pick.best_set,
    })
}

/// The largest level against the smallest, with an interval for all pairs of the factor's levels together.
fn swing_json(swing: &Swing, part: &Part) -> Value {
    let contrast = &swing.contrast;
    json!({
        "factor": swing.factor, "high": swing.high, "low": swing.low, "ratio": contrast.ratio(),
        "ratio_low": contrast.ratio_low(), "ratio_high": contrast.ratio_high(), "ratio_at_most": swing.bound.map(f64::exp),
        "shown": part.shows(swing), "rounds": contrast.rounds,
    })
}

/// The strongest ratio of ratios of two factors, with an interval for all of them together.
fn interaction_json(found: &Interaction) -> Value {
    let contrast = &found.contrast;
    json!({
        "factors": found.factors, "levels": found.levels, "ratio_of_ratios": contrast.ratio(),
        "low": contrast.ratio_low(), "high": contrast.ratio_high(),
        "simple_ratios": found.simple.map(|pair| pair.map(|simple| simple.ratio())), "crossing": found.crossing,
    })
}

/// What trials of a scenario said alike; each as it was said is with its trial.
fn note_json(said: &notes::Said) -> Value {
    json!({ "scenario": said.scenario, "note": said.text, "trials": said.trials, "of_trials": said.of })
}

fn row_json(row: &Row, part: &Part, input: &Input) -> Value {
    let share = |share: &Share| json!({ "of": share.of.name(), "used": share.used, "limit": share.limit, "share": share.share() });
    let all = [
        Some(json!({
            "scenario": row.label, "baseline": row.baseline, "control": row.control, "durability": row.durability,
            "safety": row.safety(),
        })),
        safety::of_row(row).map(|found| json!({ "power_cut": found })),
        faults::of_row(row).map(|found| json!({ "faults": found })),
        row.errors.as_ref().map(|errors| {
            json!({ "errors": errors::as_json(errors), "has_more_errors_than": row.has_more_errors_than })
        }),
        Some(json!({ "failed_rounds": row.failed_rounds, "fails_more_than": row.fails_more_than })),
        row.flushing.as_ref().map(|flushing| {
            json!({ "does_not_flush": flushing.is_missing, "flushes": flushing.flushes, "commits": flushing.commits })
        }),
        row.ceiling.as_ref().map(|ceiling| {
            json!({
                "bound_by": ceiling.by, "is_lower_bound": ceiling.is_lower_bound(),
                "ceilings": ceiling.shares.iter().map(share).collect::<Vec<_>>(),
            })
        }),
        Some(bench::json(&Bench::of(&input.contents, &input.contents.scenarios[row.index]))),
        row.centre.map(|centre| {
            json!({
                "geometric_mean": centre.mean, "low": centre.low, "high": centre.high, "median": centre.median,
                "min": centre.min, "max": centre.max,
            })
        }),
        row.confirmed.map(|centre| {
            let (mean, low, high) = (centre.mean, centre.low, centre.high);
            json!({ "confirmed": { "geometric_mean": mean, "low": low, "high": high, "rounds": centre.count } })
        }),
        row.worse.as_ref().map(|worse| json!({ "worse": worse_json(worse) })),
        Some(json!({ "dropped_after_round": row.dropped_after(), "values": row.values })),
        row.slow.map(|slow| json!({ "slow_runs": slow })),
        row.stalls.map(|stalls| json!({ "stalled_runs": stalls.runs, "runs": stalls.of })),
        Some(json!({
            "health": health_json(&row.health), "failed": row.failed, "failure": input.view().failure_of(&row.label),
            "behind_best_at_most": part.regret_of(row),
        })),
    ];
    let objects = all.into_iter().flatten().filter_map(|fields| fields.as_object().cloned());
    Value::Object(objects.flatten().collect())
}

fn worse_json(worse: &Worse) -> Value {
    json!({
        "than": worse.than, "behind": worse.behind, "behind_at_least": worse.behind_at_least,
        "behind_at_most": worse.behind_at_most, "after_round": worse.round + 1, "rounds": worse.rounds,
    })
}

/// How a scenario's runs went: counts by class, and what each trial shared the machine with.
fn health_json(health: &Health) -> Value {
    let load = |(round, load): (&u32, &Load)| {
        json!({
            "round": round, "steal_share": load.steal, "other_cpu_cores": load.other_cores,
            "other_disk_bytes_per_second": load.other_disk,
        })
    };
    let disturbed = |(round, cause): &(u32, Cause)| json!({ "round": round, "cause": cause });
    json!({
        "runs": health.runs.iter().map(|run| run.course).collect::<Vec<_>>(),
        "unsteady_runs": health.unsteady(),
        "runs_even_by_snia": health.even().0,
        "warm_up_seconds": health.warm_up(),
        "cycle_seconds": health.period(),
        "loads": health.loads.iter().map(load).collect::<Vec<_>>(),
        "disturbed_trials": health.disturbed.iter().map(disturbed).collect::<Vec<_>>(),
    })
}

fn claim_json(claim: &Claim, part: &Part) -> Value {
    let (label, against) = claim.names();
    let (kind, factor) = match &claim.subject {
        Subject::Scenario { .. } => ("scenario", None),
        Subject::Level { factor, .. } => ("level", Some(factor)),
        Subject::Control { .. } => ("control", None),
    };
    let [of_mark, against_mark] =
        flushing::marks(part, claim).map(|mark| mark.trim_matches([' ', '(', ')']).to_string());
    json!({
        "kind": kind,
        "factor": factor,
        "of": label,
        "against": against,
        "of_mark": of_mark,
        "against_mark": against_mark,
        "ratio": claim.ratio,
        "low": claim.low,
        "high": claim.high,
        "p_corrected": claim.p,
        "exploratory": claim.exploratory,
        "verdict": claim.verdict,
        "smallest_visible": claim.visible,
        "ruled_out_beyond": claim.ruled_out,
        "rounds": claim.rounds,
        "sign_flip_agrees": claim.signs_agree,
        "slow_runs": claim.shapes,
        "tail": claim.tail.map(|tail| json!({
            "figure": tail.what, "ratio": tail.ratio, "low": tail.low, "high": tail.high, "is_worse": tail.is_worse,
        })),
        "health": health::mark(claim, part),
        "went_with": claim.with.iter().map(change_json).collect::<Vec<_>>(),
    })
}

/// A figure of the machine on the claim's two sides; no ratio where a value is 0.
fn change_json(change: &Change) -> Value {
    let ratio = change.ratio;
    json!({
        "figure": change.figure.name, "words": change.words(), "of": change.first, "against": change.second,
        "ratio": ratio.map(|ratio| ratio.mean), "low": ratio.map(|ratio| ratio.low), "high": ratio.map(|ratio| ratio.high),
        "p_corrected": ratio.map(|ratio| ratio.p), "changed": ratio.map(|ratio| ratio.went == Went::With),
        "alike": ratio.map(|ratio| ratio.went == Went::Alike),
    })
}
