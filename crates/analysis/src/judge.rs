//! What stats makes of a workload's values: claims, importance, regret, drift, outliers.
//!
//! Chooses which side of a comparison is named first, and marks what is outside the declared family as exploratory.

use crate::claim::{Claim, Subject};
use crate::looks::Answer;
use ledger::model::{AnalysisSettings, Mode, Scenario};
use observe::durability::Class;
use stats::drift::Drift;
use stats::{Analysis, Cell, Contrast, Held, Importance, Interaction, NoShares, Observations, Outlier, Rules, Swing};
use std::collections::BTreeMap;

/// Fewer rounds than this give a direction and no verdict: with three, an interval says next to nothing.
pub const ROUNDS_FOR_CLAIMS: usize = 4;
/// Terms of importance that are named; the rest are one.
const TERMS_MAX: usize = 4;

/// All that is claimed of one workload.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The scenarios that have values, as stats sees them.
    pub cells: Vec<Cell>,
    /// Factors with more than one level, by their path.
    pub factor_paths: Vec<String>,
    /// The declared family.
    pub claims: Vec<Claim>,
    /// Each scenario with the baseline.
    pub versus: Vec<Claim>,
    /// The A/A control against its twin.
    pub control: Option<Claim>,
    /// Share of the variation each factor explains, or why it can't be said.
    pub shares: Result<Importance, NoShares>,
    /// How far each factor swings what is measured.
    pub swings: Vec<Swing>,
    /// Interactions whose share is above the noise, and that are certain.
    pub interactions: Vec<Interaction>,
    /// Label → "at most this fraction behind the best"; of the scenarios that share the safest durability class.
    pub regrets: BTreeMap<String, f64>,
    /// Labels that can't be ruled out as the best.
    pub best_set: Vec<String>,
    /// The label of the best by pairs, each over the rounds that both have; none where no two have two rounds.
    pub pick: Option<String>,
    /// Change over the study of all scenarios together.
    pub drift: Option<Drift>,
    /// From which rounds on all scenarios together were faster or slower, and by what fraction; empty where a slope fits better.
    pub steps: Vec<(usize, f64)>,
    /// Who moved against the baseline while the study ran: then not all moved together.
    pub apart: Vec<Moved>,
    /// Outliers among trials: label and round.
    pub outliers: Vec<(String, Outlier)>,
    /// Half the width of the family's widest interval, as a fraction.
    pub half_width_max: Option<f64>,
    /// Rounds that the wanted precision would take at this spread.
    pub rounds_needed: Option<usize>,
}

/// A scenario that moved against the baseline while the study ran.
#[derive(Debug, Clone)]
pub struct Moved {
    /// Its label.
    pub label: String,
    /// By what fraction.
    pub change: f64,
    /// Whether that is so sure that it is said where nothing else points to it.
    pub is_sure: bool,
}

/// A factor's part in the variation.
#[derive(Debug, Clone)]
pub struct Share {
    /// The factor, or several joined by ×.
    pub name: String,
    /// Share of 1.
    pub share: f64,
    /// The smallest and the largest without any one round; none where several terms are one, or two rounds are all.
    pub range: Option<(f64, f64)>,
    /// Best level over worst, less 1; none for an interaction.
    pub swing: Option<f64>,
}

/// The last part of a dotted path: what people call the factor.
pub fn short_factor(factor: &str) -> String {
    factor.rsplit('.').next().unwrap_or(factor).replace('_', " ")
}

/// Whom the question is about.
#[derive(Debug, Clone, Copy)]
pub struct Scenarios<'a> {
    /// A workload's, in plan order.
    pub all: &'a [&'a Scenario],
    /// The class that each competes in; none: it is no choice.
    pub classes: &'a [Option<Class>],
    /// Label of the one that others are compared with.
    pub baseline: Option<&'a str>,
    /// Which were shown to be worse on the way and measured no further.
    pub dropped: &'a [bool],
}

/// Asks stats. `rounds[round][scenario]`; scenarios that never yielded a value take no part.
pub fn judge(
    (settings, answer): (&AnalysisSettings, Answer),
    asked: &Scenarios,
    rounds: &[Vec<Option<f64>>],
    more_is_better: bool,
) -> Judgement {
    let Scenarios { classes, baseline, dropped, .. } = *asked;
    let is_tune = settings.mode == Mode::Tune;
    let (alive, observations) = observations(asked, rounds, more_is_better);
    let rules = rules(settings, answer);
    let factor_paths: Vec<String> = observations.factors().into_iter().map(|(factor, _)| factor).collect();
    let observations = if is_tune { without_factors(observations) } else { observations };
    let analysis = stats::analyse(&observations, &rules);
    let choosable = |i: &usize| classes[*i].filter(|_| !dropped[*i]);
    let safest = safest(&observations, &alive.iter().map(choosable).collect::<Vec<_>>());
    let choice = if safest == observations { analysis.clone() } else { stats::analyse(&safest, &rules) };
    let held = Held { alpha: analysis.alpha, family: analysis.family, margin: rules.margin, more_is_better };
    let judge = Judge { observations: &observations, held };
    let claims = judge.all(&analysis.claims, baseline);
    let labelled = |cell: &stats::CellSummary| Some((cell.label.clone(), cell.regret?));
    let cells = analysis.cells.iter();
    Judgement {
        versus: judge.versus(&analysis, baseline, &claims),
        control: judge.control(&analysis, baseline),
        interactions: interactions(&analysis),
        shares: if is_tune && factor_paths.len() > 1 { Err(NoShares::OnlyTheBest) } else { analysis.importance },
        factor_paths,
        swings: analysis.swings,
        regrets: choice.cells.iter().filter_map(labelled).collect(),
        pick: choice.best.as_ref().map(|best| choice.cells[best.pick].label.clone()),
        best_set: choice.cells.iter().filter(|cell| cell.in_best_set).map(|cell| cell.label.clone()).collect(),
        steps: if analysis.drift.is_some() && !is_tune { steps(&observations) } else { Vec::new() },
        apart: if is_tune { Vec::new() } else { apart(&observations) },
        drift: if is_tune { choice.drift } else { analysis.drift },
        outliers: cells.flat_map(|cell| cell.outliers.iter().map(|outlier| (cell.label.clone(), *outlier))).collect(),
        // Where the best alone is asked for, how far the pick may be behind is the precision.
        half_width_max: analysis.half_width_max.filter(|_| !is_tune),
        rounds_needed: analysis.rounds_needed,
        claims,
        cells: observations.cells,
    }
}

/// The declared comparisons of another figure of the same trials, as a family of their own.
pub fn family(
    (settings, answer): (&AnalysisSettings, Answer),
    asked: &Scenarios,
    rounds: &[Vec<Option<f64>>],
    more_is_better: bool,
) -> Vec<Claim> {
    let (_, observations) = observations(asked, rounds, more_is_better);
    let observations = if settings.mode == Mode::Tune { without_factors(observations) } else { observations };
    let (claims, held) = stats::analysis::family(&observations, &rules(settings, answer));
    Judge { observations: &observations, held }.all(&claims, asked.baseline)
}

/// As [`family`], of the quantiles of a distribution, a table of rounds each: p is by permutation, over all of them.
pub fn families(
    (settings, answer): (&AnalysisSettings, Answer),
    asked: &Scenarios,
    quantiles: &[Vec<Vec<Option<f64>>>],
    more_is_better: bool,
) -> Vec<Vec<Claim>> {
    let of_quantile = |rounds: &Vec<Vec<Option<f64>>>| {
        let (_, observations) = observations(asked, rounds, more_is_better);
        if settings.mode == Mode::Tune { without_factors(observations) } else { observations }
    };
    let all: Vec<Observations> = quantiles.iter().map(of_quantile).collect();
    let found = stats::shape::families(&all, &rules(settings, answer));
    let found = all.iter().zip(found);
    found.map(|(observations, (claims, held))| Judge { observations, held }.all(&claims, asked.baseline)).collect()
}

/// What stats sees, and which of the scenarios that are: those with a value.
fn observations(asked: &Scenarios, rounds: &[Vec<Option<f64>>], more_is_better: bool) -> (Vec<usize>, Observations) {
    let scenarios = asked.all;
    let alive: Vec<usize> = (0..scenarios.len()).filter(|i| rounds.iter().any(|round| round[*i].is_some())).collect();
    let cell = |i: &usize| Cell {
        label: scenarios[*i].label.clone(),
        levels: scenarios[*i].levels.clone(),
        control: scenarios[*i].control,
        baseline: Some(scenarios[*i].label.as_str()) == asked.baseline,
    };
    let cells = alive.iter().map(cell).collect();
    let rounds = rounds.iter().map(|round| alive.iter().map(|i| round[*i]).collect()).collect();
    (alive, Observations { cells, rounds, more_is_better })
}

/// What a study's comparisons are held to, in this answer of several.
pub fn rules(settings: &AnalysisSettings, answer: Answer) -> Rules {
    Rules {
        confidence: settings.confidence,
        margin: settings.margin,
        precision: settings.precision,
        rounds_min: settings.rounds_min,
        rounds_max: settings.rounds_max,
        looks: answer.number,
        share: answer.share,
    }
}

/// Where scenarios fall out on the way, levels are not compared: each scenario is held against the baseline, over the rounds that
/// the two share.
fn without_factors(mut observations: Observations) -> Observations {
    observations.cells.iter_mut().for_each(|cell| cell.levels.clear());
    observations
}

/// Steps by the study's own rounds: those with a hole have no mean.
fn steps(observations: &Observations) -> Vec<(usize, f64)> {
    let candidates = observations.unstalled();
    let is_complete = |round: &usize| candidates.iter().all(|cell| observations.rounds[*round][*cell].is_some());
    let complete: Vec<usize> = (0..observations.rounds.len()).filter(is_complete).collect();
    let found = stats::drift::steps(&observations.round_means());
    found.iter().map(|step| (complete[step.round], step.change)).collect()
}

/// Each scenario, and the control, against the baseline over the rounds that both have.
fn apart(observations: &Observations) -> Vec<Moved> {
    let cells = &observations.cells;
    let Some(baseline) = cells.iter().position(|cell| cell.baseline && !cell.control) else { return Vec::new() };
    let others = (0..cells.len()).filter(|cell| *cell != baseline);
    let moved = others.filter_map(|cell| {
        let differences = observations.differences(&observations.pair(cell, baseline));
        let moved = |among: usize| stats::drift::moved(&differences, among);
        let change = moved(cells.len() - 1)?;
        // At a tenth of the level.
        let is_sure = moved(10 * (cells.len() - 1)).is_some();
        Some(Moved { label: cells[cell].label.clone(), change, is_sure })
    });
    moved.collect()
}

/// The scenarios to pick from: speed bought with safety does not win, and who is out of it has no class.
fn safest(observations: &Observations, classes: &[Option<Class>]) -> Observations {
    let safest = classes.iter().flatten().min();
    let is_kept = |i: &usize| classes[*i].is_some() && classes[*i].as_ref() == safest;
    let keep: Vec<usize> = (0..classes.len()).filter(is_kept).collect();
    observations.only(&keep)
}

/// What a contrast says, with p already corrected.
pub fn claim(subject: Subject, contrast: &Contrast, p: f64, held: &Held) -> Claim {
    let verdict = stats::verdict(contrast, p, held);
    let (low, high) = contrast.interval(1.0 - 2.0 * held.level());
    Claim {
        subject,
        ratio: contrast.ratio(),
        low: contrast.ratio_low(),
        high: contrast.ratio_high(),
        p,
        verdict: (contrast.rounds >= ROUNDS_FOR_CLAIMS).then_some(verdict),
        visible: contrast.minimum_detectable_effect(held.level()),
        ruled_out: low.abs().max(high.abs()).exp_m1(),
        rounds: contrast.rounds,
        signs_agree: true,
        shapes: None,
        tail: None,
        exploratory: false,
        with: Vec::new(),
    }
}

struct Judge<'a> {
    observations: &'a Observations,
    held: Held,
}

impl Judge<'_> {
    /// The declared family, what concerns the baseline first.
    fn all(&self, family: &[stats::Claim], baseline: Option<&str>) -> Vec<Claim> {
        let mut claims: Vec<Claim> = family.iter().map(|claim| self.declared(claim)).collect();
        claims.sort_by_key(|claim| !claim.names_one(baseline.unwrap_or_default()));
        claims
    }

    /// A member of a family of so many.
    fn claim(&self, subject: Subject, (contrast, p): (&Contrast, f64), family: usize) -> Claim {
        claim(subject, contrast, p, &Held { family, ..self.held })
    }

    /// A member of the family, with the better side named first; the baseline's side always comes second.
    fn declared(&self, claim: &stats::Claim) -> Claim {
        let baseline = self.observations.cells.iter().find(|cell| cell.baseline);
        let is_base = |side: &str| match &claim.factor {
            Some(factor) => baseline.is_some_and(|cell| cell.levels.get(factor).is_some_and(|level| level == side)),
            None => baseline.is_some_and(|cell| cell.label == side),
        };
        let a_is_better = (claim.contrast.mean > 0.0) == self.observations.more_is_better;
        let swap = is_base(&claim.a) || (!a_is_better && !is_base(&claim.b));
        let (first, second) = if swap { (&claim.b, &claim.a) } else { (&claim.a, &claim.b) };
        let contrast = if swap { claim.contrast.flipped() } else { claim.contrast };
        let (first, against) = (first.clone(), second.clone());
        let subject = match &claim.factor {
            Some(factor) => Subject::Level {
                factor: factor.clone(),
                level: first,
                against,
                over: claim.over.iter().map(|other| short_factor(other)).collect(),
                within: claim.within.iter().map(|(other, level)| (short_factor(other), level.clone())).collect(),
            },
            None => Subject::Scenario { label: first, against },
        };
        Claim { signs_agree: !claim.disagreement, ..self.claim(subject, (&contrast, claim.p_holm), self.held.family) }
    }

    /// Each scenario with the baseline: the declared claim where the family has it, else exploratory.
    fn versus(&self, analysis: &Analysis, baseline: Option<&str>, claims: &[Claim]) -> Vec<Claim> {
        let Some(baseline) = self.observations.cells.iter().find(|cell| Some(cell.label.as_str()) == baseline) else {
            return Vec::new();
        };
        let cells = analysis.cells.iter().zip(&self.observations.cells).filter(|(_, cell)| !cell.control);
        let contrasts: Vec<(&Cell, Contrast)> =
            cells.filter_map(|(summary, cell)| Some((cell, summary.versus_baseline?))).collect();
        let p = stats::benjamini_hochberg(&contrasts.iter().map(|(_, contrast)| contrast.p).collect::<Vec<_>>());
        let one_factor = self.observations.factors().len() == 1;
        let declared = |cell: &Cell| {
            claims.iter().find(|claim| match &claim.subject {
                Subject::Scenario { label, .. } => *label == cell.label,
                Subject::Level { factor, level, against, .. } => {
                    one_factor && cell.levels.get(factor) == Some(level) && baseline.levels.get(factor) == Some(against)
                }
                Subject::Control { .. } => false,
            })
        };
        let versus = contrasts.iter().zip(p).map(|((cell, contrast), p)| {
            let subject = Subject::Scenario { label: cell.label.clone(), against: baseline.label.clone() };
            match declared(cell) {
                Some(claim) => Claim { subject, ..claim.clone() },
                None => Claim { exploratory: true, ..self.claim(subject, (contrast, p), contrasts.len()) },
            }
        });
        versus.collect()
    }

    fn control(&self, analysis: &Analysis, baseline: Option<&str>) -> Option<Claim> {
        let contrast = analysis.control?;
        let label = self.observations.cells.iter().find(|cell| cell.control)?.label.clone();
        let against = baseline.unwrap_or_default().to_string();
        Some(self.claim(Subject::Control { label, against }, (&contrast, contrast.p), 1))
    }
}

/// Those with a share above the noise's, where the strongest difference of differences is certain.
fn interactions(analysis: &Analysis) -> Vec<Interaction> {
    let Ok(importance) = &analysis.importance else { return Vec::new() };
    let is_above = |found: &&Interaction| {
        let term = importance.terms.iter().find(|term| term.factors == found.factors);
        term.is_some_and(|term| term.share > importance.noise_share)
            && (found.contrast.low > 0.0 || found.contrast.high < 0.0)
    };
    analysis.interactions.iter().filter(is_above).cloned().collect()
}

impl Judgement {
    /// The largest terms, the largest first, and the rest as one; empty when it can't be said.
    pub fn importance(&self) -> Vec<Share> {
        let Ok(importance) = &self.shares else { return Vec::new() };
        let swing = |factors: &[String]| {
            let [factor] = factors else { return None };
            let found = self.swings.iter().find(|swing| swing.factor == *factor)?;
            Some(found.contrast.mean.exp_m1())
        };
        let terms = importance.terms.iter().map(|term| Share {
            name: term.factors.iter().map(|factor| short_factor(factor)).collect::<Vec<_>>().join(" × "),
            share: term.share,
            range: term.share_range,
            swing: swing(&term.factors),
        });
        let mut shares: Vec<Share> = terms.collect();
        shares.sort_by(|a, b| b.share.total_cmp(&a.share));
        let small = shares.iter().skip(TERMS_MAX).map(|share| share.share).sum::<f64>();
        let more = shares.len() > TERMS_MAX;
        shares.truncate(TERMS_MAX);
        if more {
            shares.push(Share { name: "the rest".into(), share: small, range: None, swing: None });
        }
        shares
    }
}
