//! Is it real: every claim's ratio with its interval, the band in which a difference does not matter, and the verdict.

use super::{Anchor, Axis, Picture, Svg, WIDTH, fitted, fitted_names, width_of};
use crate::claims::{interval_words, verdict_words};
use crate::flushing::{self, DAGGER, NAME_MARK};
use crate::number::ratio_precise;
use analysis::claim::{Claim, Subject};
use analysis::judge::short_factor;
use analysis::levels::bare;
use analysis::view::Part;
use stats::Verdict;

const ROW: f64 = 46.0;
const TOP: f64 = 8.0;
/// More rows than this make no picture; the table below has them all.
pub const ROWS_MAX: usize = 60;

/// The chart of one workload's claims, the control last; `None` without claims.
#[must_use]
pub fn draw(id: &str, part: &Part, margin: f64) -> Option<Picture> {
    let claims: Vec<&Claim> = part.judgement.claims.iter().take(ROWS_MAX).chain(&part.judgement.control).collect();
    if claims.is_empty() {
        return None;
    }
    let reach = 1.0 + 1.5 * margin;
    let low = claims.iter().map(|claim| claim.low.min(claim.ratio)).fold(1.0 / reach, f64::min);
    let high = claims.iter().map(|claim| claim.high.max(claim.ratio)).fold(reach, f64::max);
    // An interval from few rounds may reach from nothing to a thousandfold: the arrow at the edge is enough.
    let axis = Axis::logarithmic(low.max(0.02), high.min(50.0), 10.0, WIDTH - 10.0);
    let bottom = TOP + ROW * claims.len() as f64;
    let mut svg = Svg::new(id);
    let band = (axis.at(1.0 / (1.0 + margin)), axis.at(1.0 + margin));
    svg.rectangle(
        (band.0, TOP),
        (band.1 - band.0, bottom - TOP),
        "currentColor",
        0.09,
        "differences in here do not matter",
    );
    let ticks = axis.ticks(5);
    for tick in &ticks {
        let x = axis.at(*tick);
        svg.grid_line((x, TOP), (x, bottom));
        svg.faint_text(x.clamp(16.0, WIDTH - 16.0), bottom + 16.0, Anchor::Middle, &super::tick_label(*tick, &ticks));
    }
    svg.reference_line((axis.at(1.0), TOP), (axis.at(1.0), bottom));
    let names = names(&claims, part);
    (0..=claims.len()).for_each(|i| svg.may_be_cut(TOP + ROW * i as f64));
    for (i, claim) in claims.iter().enumerate() {
        draw_claim(&mut svg, (claim, &names[i]), part, &axis, TOP + ROW * i as f64);
    }
    let better = if part.more_is_better { "better →" } else { "← better" };
    let to = match common(&claims) {
        Some(against) if part.baseline.as_deref() == Some(against) => " to the baseline".to_string(),
        Some(against) => format!(" to {}", fitted(against, WIDTH - width_of("ratio to, log · ← better"))),
        None => String::new(),
    };
    svg.faint_text(WIDTH / 2.0, bottom + 34.0, Anchor::Middle, &format!("ratio{to}, log · {better}"));
    let title = format!("{}: ratios with their intervals", part.workload);
    Some(svg.finish(
        WIDTH,
        bottom + 42.0,
        &title,
        "Each line is a comparison of two scenarios or two levels of a factor.",
    ))
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

fn draw_claim(svg: &mut Svg, (claim, name): (&Claim, &str), part: &Part, axis: &Axis, top: f64) {
    let verdict = verdict_words(claim, part);
    svg.text(4.0, top + 14.5, Anchor::Start, name);
    let is_plain = !matches!(claim.verdict, Some(Verdict::Faster | Verdict::Slower));
    if is_plain {
        svg.faint_text(WIDTH - 4.0, top + 14.5, Anchor::End, &verdict);
    } else {
        svg.bold_text(WIDTH - 4.0, top + 14.5, Anchor::End, &verdict);
    }
    let y = top + 30.0;
    let (low, high) = (axis.at(claim.low), axis.at(claim.high));
    svg.line((low, y), (high, y), "currentColor", 1.6);
    for end in [low, high] {
        svg.line((end, y - 4.0), (end, y + 4.0), "currentColor", 1.6);
    }
    let tip = format!(
        "{}: {} ({}), {verdict}",
        about(claim, part),
        ratio_precise(claim.ratio),
        interval_words(claim, part.confidence)
    );
    // Filled when the difference is shown, pale when it is not.
    svg.mark(0, axis.at(claim.ratio), y, 5.5, if is_plain { 0.35 } else { 1.0 }, &tip);
}
