//! What changed with a difference: of each real one, the figures of the machine that differ between the same two sides, too.
//!
//! Pure. Each figure is one contrast a round, held as the claims are: Holm's correction over the figures that were looked at.
//! What goes with a difference need not be its cause, and is never called so.

use crate::claim::{Change, Claim, Ratio, Subject, Went};
use crate::confirmation::Confirmation;
use crate::judge::Judgement;
use crate::telemetry::{FIGURES, Figure, Work};
use ledger::figure::{self, Zero};
use ledger::model::{AnalysisSettings, Contents, Phase};
use stats::observations::Declared;
use stats::{Cell, Contrast, Observations, Verdict};

/// Changes from this ratio on, up or down, are named before smaller ones, whatever they are of.
const LARGE_FROM: f64 = 1.25;
/// Adds to each real difference what changed with it.
pub fn explain(contents: &Contents, work: &Work, judgement: &mut Judgement, confirmations: &mut [Confirmation]) {
    let Judgement { cells, claims, versus, .. } = judgement;
    let confirmed = confirmations.iter_mut().flat_map(|confirmation| &mut confirmation.claims);
    // New rounds are explained by what the machine did in them.
    let of_phases: [(Phase, Vec<&mut Claim>); 2] =
        [(Phase::Main, claims.iter_mut().chain(versus).collect()), (Phase::Confirmation, confirmed.collect())];
    for (phase, claims) in of_phases {
        let mut real = claims.into_iter().filter(|claim| claim.is_shown()).peekable();
        if real.peek().is_none() {
            continue;
        }
        let Some(watched) = watched(contents, work, cells, phase) else { continue };
        real.for_each(|claim| claim.with = changes(&claim.subject, &watched, work, &contents.study.analysis));
    }
}

/// What was recorded in some rounds.
struct Watched {
    /// The declared comparisons, by the figure that claims are about: a counter with holes makes none of other scenarios.
    family: Vec<Declared>,
    /// Figures and their values, one a trial.
    figures: Vec<(&'static Figure, Observations)>,
}

/// Of these scenarios; none where one is unknown.
fn watched(contents: &Contents, work: &Work, cells: &[Cell], phase: Phase) -> Option<Watched> {
    let column = |cell: &Cell| contents.scenarios.iter().position(|scenario| scenario.label == cell.label);
    let columns: Vec<usize> = cells.iter().map(column).collect::<Option<_>>()?;
    let observed = |all: &[Vec<Option<f64>>]| {
        let rounds = all.iter().map(|round| columns.iter().map(|column| round[*column]).collect()).collect();
        Observations { cells: cells.to_vec(), rounds, more_is_better: true }
    };
    let of_figure = |figure: &'static Figure| {
        let all = contents.worked_out(phase, &|run| figure.of(run, work).filter(|value| value.is_finite()));
        let observations = observed(&all);
        let is_there = observations.rounds.iter().flatten().any(Option::is_some);
        is_there.then_some((figure, observations))
    };
    let primary = &contents.scenarios[*columns.first()?].primary_metric;
    Some(Watched {
        family: observed(&contents.values_in(phase, primary)).family(),
        figures: FIGURES.iter().filter_map(of_figure).collect(),
    })
}

fn changes(subject: &Subject, watched: &Watched, work: &Work, settings: &AnalysisSettings) -> Vec<Change> {
    let of_figure = |(figure, observations): &(&'static Figure, Observations)| {
        let declared = declared(subject, observations, &watched.family)?;
        Some((*figure, Sides::of(&declared, observations, settings)?))
    };
    let sides: Vec<(&'static Figure, Sides)> = watched.figures.iter().filter_map(of_figure).collect();
    let p: Vec<f64> = sides.iter().filter_map(|(_, sides)| Some(sides.contrast?.p)).collect();
    let mut corrected = stats::holm(&p).into_iter();
    let list = sides.into_iter().map(|(figure, Sides { first, second, contrast })| {
        let p = contrast.and_then(|_| corrected.next());
        let ratio = contrast.zip(p).map(|(contrast, p)| held(&contrast, p, settings));
        let per = figure.is_per_work.then(|| work.unit().to_string());
        Change { figure, per, first, second, ratio }
    });
    let mut list: Vec<Change> = list.collect();
    // Stable: among the large and among the others, the order of the table stays.
    list.sort_by_key(rank);
    list
}

fn held(contrast: &Contrast, p: f64, settings: &AnalysisSettings) -> Ratio {
    // Figures that explain are claimed by nobody.
    let whole =
        stats::Held { alpha: 1.0 - settings.confidence, family: 1, margin: settings.margin, more_is_better: true };
    let went = match stats::verdict(contrast, p, &whole) {
        Verdict::Faster | Verdict::Slower => Went::With,
        Verdict::Negligible | Verdict::Equivalent => Went::Alike,
        Verdict::Inconclusive => Went::Unclear,
    };
    Ratio { mean: contrast.ratio(), low: contrast.ratio_low(), high: contrast.ratio_high(), p, went }
}

/// A figure on the two sides of a claim.
struct Sides {
    first: f64,
    second: f64,
    contrast: Option<Contrast>,
}

impl Sides {
    fn of(declared: &Declared, observations: &Observations, settings: &AnalysisSettings) -> Option<Sides> {
        // Only rounds in which all its scenarios have a value: the means are those that the ratio is of.
        let is_whole = |row: &&Vec<Option<f64>>| declared.weights.iter().all(|(cell, _)| row[*cell].is_some());
        let rounds: Vec<Vec<Option<f64>>> = observations.rounds.iter().filter(is_whole).cloned().collect();
        let side = |sign: f64| -> Vec<f64> {
            let cells = || declared.weights.iter().filter(|(_, weight)| weight * sign > 0.0).map(|(cell, _)| *cell);
            rounds.iter().flat_map(|row| cells().filter_map(|cell| row[cell])).collect()
        };
        let (first, second) = (side(1.0), side(-1.0));
        if first.is_empty() || second.is_empty() {
            return None;
        }
        let whole = Observations { rounds, ..observations.clone() };
        Some(Sides {
            first: figure::mean(&first, Zero::Count),
            second: figure::mean(&second, Zero::Count),
            // None where a value is 0.
            contrast: stats::contrast(&whole.differences(declared), settings.confidence),
        })
    }
}

/// The contrast of a claim's two sides, the first one's weights above zero.
fn declared(subject: &Subject, observations: &Observations, family: &[Declared]) -> Option<Declared> {
    match subject {
        Subject::Scenario { label, against } | Subject::Control { label, against } => {
            let cell = |label: &String| observations.cells.iter().position(|cell| cell.label == *label);
            Some(observations.pair(cell(label)?, cell(against)?))
        }
        Subject::Level { factor, level, against, .. } => {
            let sides = |declared: &Declared| [declared.a.clone(), declared.b.clone()];
            let is_it = |declared: &&Declared| {
                let [a, b] = sides(declared);
                declared.factor.as_ref() == Some(factor)
                    && ((&a, &b) == (level, against) || (&b, &a) == (level, against))
            };
            let mut found = family.iter().find(is_it)?.clone();
            if found.a != *level {
                found.weights.iter_mut().for_each(|(_, weight)| *weight = -*weight);
            }
            Some(found)
        }
    }
}

/// Large changes, then other changes, then the rest.
fn rank(change: &Change) -> u8 {
    match change.ratio {
        Some(Ratio { mean, went: Went::With, .. }) if !(1.0 / LARGE_FROM..LARGE_FROM).contains(&mean) => 0,
        Some(Ratio { went: Went::With, .. }) => 1,
        Some(Ratio { went: Went::Alike, .. }) => 2,
        Some(Ratio { went: Went::Unclear, .. }) => 3,
        None => 4,
    }
}
