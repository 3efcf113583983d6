//! Is it real: every claim's ratio with its interval, the band in which a difference does not matter, and the verdict.

use super::{Picture, WIDTH, fitted, fitted_names, ratios, width_of};
use crate::claims::{interval_words, verdict_words};
use crate::flushing::{self, DAGGER, NAME_MARK};
use crate::number::ratio_precise;
use analysis::claim::{Claim, Subject};
use analysis::judge::short_factor;
use analysis::levels::bare;
use analysis::view::Part;

/// More rows than this make no picture; the table below has them all.
pub const ROWS_MAX: usize = 60;

/// The chart of one workload's claims, the control last; `None` without claims.
pub fn draw(id: &str, part: &Part, margin: f64) -> Option<Picture> {
    let claims: Vec<&Claim> = part.judgement.claims.iter().take(ROWS_MAX).chain(&part.judgement.control).collect();
    if claims.is_empty() {
        return None;
    }
    let row = |(claim, name): (&&Claim, String)| {
        let verdict = verdict_words(claim, part);
        let (ratio, interval) = (ratio_precise(claim.ratio), interval_words(claim, part.confidence));
        ratios::Row {
            name,
            ratio: (claim.ratio, claim.low, claim.high),
            is_shown: claim.is_shown(),
            tip: format!("{}: {ratio} ({interval}), {verdict}", about(claim, part)),
            verdict,
        }
    };
    let rows: Vec<ratios::Row> = claims.iter().zip(names(&claims, part)).map(row).collect();
    let better = if part.more_is_better { "better →" } else { "← better" };
    let to = match common(&claims) {
        Some(against) if part.baseline.as_deref() == Some(against) => " to the baseline".to_string(),
        Some(against) => format!(" to {}", fitted(against, WIDTH - width_of("ratio to, log · ← better"))),
        None => String::new(),
    };
    let around = ratios::Around {
        axis: &format!("ratio{to}, log · {better}"),
        title: &format!("{}: ratios with their intervals", part.workload),
        description: "Each line is a comparison of two scenarios or two levels of a factor",
    };
    Some(ratios::draw(id, &rows, margin, &around))
}

/// The one scenario that all scenarios are compared with; none where they differ in that or none is compared.
fn common<'a>(claims: &[&'a Claim]) -> Option<&'a str> {
    let mut all = claims.iter().filter(|claim| matches!(claim.subject, Subject::Scenario { .. }));
    let against = all.next()?.names().1;
    all.all(|claim| claim.names().1 == against).then_some(against)
}

/// What each claim is about, no two alike: a scenario's whole name where all are compared with one, which the axis then names.
fn names(claims: &[&Claim], part: &Part) -> Vec<String> {
    let widest = claims.iter().map(|claim| width_of(&verdict_words(claim, part))).fold(0.0, f64::max);
    let room = WIDTH - 14.0 - widest;
    let levels = fitted_names(claims.iter().map(|claim| about(claim, part)), room);
    let side = |side: usize| {
        claims.iter().map(move |claim| {
            let (name, mark) = ([claim.names().0, claim.names().1][side], &flushing::marks(part, claim)[side]);
            format!("{name}{}", if mark.is_empty() { "" } else { NAME_MARK })
        })
    };
    let scenarios = match common(claims) {
        Some(_) => fitted_names(side(0), room),
        None => {
            let both = fitted_names(side(0).chain(side(1)), (room - width_of(" vs ")) / 2.0);
            let (a, b) = both.split_at(claims.len());
            a.iter().zip(b).map(|(a, b)| format!("{a} vs {b}")).collect()
        }
    };
    let of = |((claim, levels), scenarios): ((&&Claim, String), String)| match claim.subject {
        Subject::Scenario { .. } => scenarios,
        Subject::Level { .. } | Subject::Control { .. } => levels,
    };
    claims.iter().zip(levels).zip(scenarios).map(of).collect()
}

/// In full.
fn about(claim: &Claim, part: &Part) -> String {
    let (names, marks) = (claim.names(), flushing::marks(part, claim));
    let dagger = |name: &str, mark: &str| if mark.is_empty() { name.into() } else { format!("{name} {DAGGER}") };
    let both = |a: &str, b: &str| format!("{} vs {}", dagger(a, &marks[0]), dagger(b, &marks[1]));
    match &claim.subject {
        Subject::Level { factor, .. } => {
            let bare = bare(factor, names.0).zip(bare(factor, names.1)).unwrap_or(names);
            format!("{}: {}", short_factor(factor), both(bare.0, bare.1))
        }
        Subject::Scenario { .. } => both(names.0, names.1),
        Subject::Control { .. } => "A/A control: the same scenario twice".into(),
    }
}
