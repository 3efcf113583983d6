//! What changed with a difference: of each real one, the figures of the machine that differ between the same two sides, too.
//!
//! Pure. Each figure is one contrast a round, held as the claims are: Holm's correction over the figures that were looked at.
//! What goes with a difference need not be its cause, and is never called so.

use crate::confirmation::Confirmation;
use crate::judge::{Claim, Judgement, Subject};
use crate::number::{percent, ratio};
use crate::telemetry::{FIGURES, Figure, Work};
use ledger::figure::{self, Zero};
use ledger::model::{AnalysisSettings, Contents, Phase};
use stats::observations::Declared;
use stats::{Cell, Contrast, Observations, Verdict};

/// Changes from this ratio on, up or down, are named before smaller ones, whatever they are of.
const LARGE_FROM: f64 = 1.25;
/// Ratios from here on, and their inverses, read better as "2.1×" than as "110 % more".
const RATIO_FROM: f64 = 2.0;
/// Below this ratio there is none of it to speak of.
const NEXT_TO_NONE: f64 = 0.005;
/// Changes named in a sentence; a table has all.
const NAMES_MAX: usize = 3;
/// Figures of which it is said that they are alike: what a commit costs.
const SAID_WHEN_ALIKE: [&str; 4] = ["flushes_per_commit", "flushes", "write_bytes", "cpu_seconds"];

/// A figure on both sides of a claim.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which.
    pub figure: &'static Figure,
    /// What there is more or less of: "bytes written per transaction".
    pub words: String,
    /// Its mean on the first side: geometric, arithmetic where a value is 0.
    pub first: f64,
    /// Its mean on the second.
    pub second: f64,
    /// First over second; none where a value is 0 and there is no ratio.
    pub ratio: Option<Ratio>,
}

/// What stats says of a figure.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// First over second.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p, corrected over the figures of this claim.
    pub p: f64,
    /// Whether it changed with the claim's metric.
    pub went: Went,
}

/// Whether a figure changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Went {
    /// It did, and by more than the margin.
    With,
    /// It is the same within the margin.
    Alike,
    /// Can't tell.
    Unclear,
}

impl Went {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Went::With => "changed",
            Went::Alike => "alike",
            Went::Unclear => "can't tell",
        }
    }
}

/// Adds to each real difference what changed with it.
pub fn explain(contents: &Contents, work: &Work, judgement: &mut Judgement, confirmations: &mut [Confirmation]) {
    let Judgement { cells, claims, versus, .. } = judgement;
    let confirmed = confirmations.iter_mut().flat_map(|confirmation| &mut confirmation.claims);
    // New rounds are explained by what the machine did in them.
    let of_phases: [(Phase, Vec<&mut Claim>); 2] =
        [(Phase::Main, claims.iter_mut().chain(versus).collect()), (Phase::Confirmation, confirmed.collect())];
    for (phase, claims) in of_phases {
        let mut real = claims.into_iter().filter(|claim| is_real(claim)).peekable();
        if real.peek().is_none() {
            continue;
        }
        let Some(figures) = watched(contents, work, cells, phase) else { continue };
        real.for_each(|claim| claim.with = changes(&claim.subject, &figures, work, &contents.study.analysis));
    }
}

fn is_real(claim: &Claim) -> bool {
    matches!(claim.verdict, Some(Verdict::Faster | Verdict::Slower))
}

/// A figure and its values, one a trial.
type Watched = (&'static Figure, Observations);

/// The figures that were recorded in these rounds; none where a scenario is unknown.
fn watched(contents: &Contents, work: &Work, cells: &[Cell], phase: Phase) -> Option<Vec<Watched>> {
    let column = |cell: &Cell| contents.scenarios.iter().position(|scenario| scenario.label == cell.label);
    let columns: Vec<usize> = cells.iter().map(column).collect::<Option<_>>()?;
    let of_figure = |figure: &'static Figure| {
        let all = contents.worked_out(phase, &|run| figure.of(run, work).filter(|value| value.is_finite()));
        let rounds: Vec<Vec<Option<f64>>> =
            all.iter().map(|round| columns.iter().map(|column| round[*column]).collect()).collect();
        let is_there = rounds.iter().flatten().any(Option::is_some);
        is_there.then(|| (figure, Observations { cells: cells.to_vec(), rounds, more_is_better: true }))
    };
    Some(FIGURES.iter().filter_map(of_figure).collect())
}

fn changes(subject: &Subject, figures: &[Watched], work: &Work, settings: &AnalysisSettings) -> Vec<Change> {
    let sides: Vec<(&'static Figure, Sides)> = figures
        .iter()
        .filter_map(|(figure, observations)| Some((*figure, Sides::of(subject, observations, settings)?)))
        .collect();
    let p: Vec<f64> = sides.iter().filter_map(|(_, sides)| Some(sides.contrast?.p)).collect();
    let mut corrected = stats::holm(&p).into_iter();
    let mut list: Vec<Change> = sides
        .into_iter()
        .map(|(figure, sides)| Change {
            figure,
            words: figure.full_words(work),
            first: sides.first,
            second: sides.second,
            ratio: sides
                .contrast
                .zip(sides.contrast.and_then(|_| corrected.next()))
                .map(|(contrast, p)| held(&contrast, p, settings)),
        })
        .collect();
    // Stable: among the large and among the others, the order of the table stays.
    list.sort_by_key(Change::rank);
    list
}

fn held(contrast: &Contrast, p: f64, settings: &AnalysisSettings) -> Ratio {
    let went = match stats::verdict(contrast, p, 1.0 - settings.confidence, settings.margin, true) {
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
    fn of(subject: &Subject, observations: &Observations, settings: &AnalysisSettings) -> Option<Sides> {
        let declared = declared(subject, observations)?;
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
            contrast: stats::contrast(&whole.differences(&declared), settings.confidence),
        })
    }
}

/// The contrast of a claim's two sides, the first one's weights above zero.
fn declared(subject: &Subject, observations: &Observations) -> Option<Declared> {
    match subject {
        Subject::Scenario { label, against } | Subject::Control { label, against } => {
            let cell = |label: &String| observations.cells.iter().position(|cell| cell.label == *label);
            Some(observations.pair(cell(label)?, cell(against)?))
        }
        Subject::Level { factor, level, against, .. } => {
            let sides = |declared: &Declared| [declared.a.clone(), declared.b.clone()];
            let is_it = |declared: &Declared| {
                let [a, b] = sides(declared);
                declared.factor.as_ref() == Some(factor)
                    && ((&a, &b) == (level, against) || (&b, &a) == (level, against))
            };
            let mut found = observations.family().into_iter().find(is_it)?;
            if found.a != *level {
                found.weights.iter_mut().for_each(|(_, weight)| *weight = -*weight);
            }
            Some(found)
        }
    }
}

impl Change {
    /// Large changes, then other changes, then the rest.
    fn rank(&self) -> u8 {
        match self.ratio {
            Some(Ratio { mean, went: Went::With, .. }) if !(1.0 / LARGE_FROM..LARGE_FROM).contains(&mean) => 0,
            Some(Ratio { went: Went::With, .. }) => 1,
            Some(Ratio { went: Went::Alike, .. }) => 2,
            Some(Ratio { went: Went::Unclear, .. }) => 3,
            None => 4,
        }
    }

    /// Both sides with their unit.
    #[must_use]
    pub fn values(&self) -> [String; 2] {
        let scale = self.figure.scale(self.first.max(self.second));
        [self.first, self.second].map(|value| scale.with_unit(value))
    }

    /// "2.1× the flushes per commit", "38 % more bytes written per transaction".
    fn phrase(&self, mean: f64) -> String {
        if mean < NEXT_TO_NONE {
            return format!("practically no {}", self.words);
        }
        if mean >= RATIO_FROM || mean <= 1.0 / RATIO_FROM {
            return format!("{} the {}", ratio(mean), self.words);
        }
        let way = match (mean > 1.0, self.figure.is_counted) {
            (true, _) => "more",
            (false, true) => "fewer",
            (false, false) => "less",
        };
        format!("{} {way} {}", percent((mean - 1.0).abs()), self.words)
    }
}

/// "With it went 2.1× the flushes per commit, 38 % more bytes written per transaction; CPU time per transaction alike." None where
/// nothing changed with it.
#[must_use]
pub fn sentence(claim: &Claim) -> Option<String> {
    let of = |went: Went| claim.with.iter().filter(move |change| change.ratio.is_some_and(|ratio| ratio.went == went));
    let changed: Vec<String> =
        of(Went::With).take(NAMES_MAX).filter_map(|change| Some(change.phrase(change.ratio?.mean))).collect();
    let alike: Vec<&str> = of(Went::Alike)
        .filter(|change| SAID_WHEN_ALIKE.contains(&change.figure.name))
        .map(|change| change.words.as_str())
        .collect();
    if changed.is_empty() {
        return None;
    }
    let tail = if alike.is_empty() { String::new() } else { format!("; {} alike", alike.join(", ")) };
    Some(format!("With it went {}{tail}.", changed.join(", ")))
}
