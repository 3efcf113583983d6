//! What is said of a screen: what it kept, what it left at the baseline's level and how much that may cost, and what it can't see.

use crate::number::{percent, percent_rounded_up, percent_signed};
use crate::words::{and_list, percent_whole};
use analysis::judge::short_factor;
use analysis::screening::Progress;
use analysis::view::View;
use ledger::model::{Screened, ScreenedFactor};

/// Sums of pairs that are named; the rest are counted, and the JSON has all.
const SUMS_MAX: usize = 3;

/// Said instead of an answer while the screen is not complete.
pub fn under_way(view: &View) -> Option<String> {
    let progress = view.screen.filter(|progress| !progress.is_complete)?;
    let Progress { rounds, of, .. } = progress;
    if progress.has_stalled {
        return Some(
            "The screen is measured, and a scenario has a figure of 0 in it, which has no logarithm: factors can't be told apart, and there is no \
             answer. Make runs longer than what stops them, or leave that scenario's level out of a new study."
                .into(),
        );
    }
    Some(match progress.failed {
        0 => format!("The screen is in round {rounds} of {of}: there is no answer yet."),
        failed => format!(
            "The screen is in round {rounds} of {of}, and {failed} of its trials failed: there is no answer. A scenario \
             without any value keeps it from telling factors apart; the command that began it measures it again with `--retry-failed`."
        ),
    })
}

/// Trials of the screen that failed.
pub fn holes(view: &View) -> Option<String> {
    let progress = view.screen.filter(|progress| progress.is_complete && progress.failed > 0)?;
    let trials = if progress.failed == 1 { "trial" } else { "trials" };
    Some(format!("Hole: {} {trials} of the screen failed; it rests on the others.", progress.failed))
}

/// What was screened, what is studied on, what was fixed, and what can't be seen.
pub fn sentence(screened: &Screened) -> String {
    let names = |factors: &[ScreenedFactor]| -> Vec<String> {
        factors.iter().map(|factor| short_factor(&factor.factor)).collect()
    };
    let rounds = if screened.rounds == 1 { "round" } else { "rounds" };
    // Of noise alone shares lie somewhere, too: nearly always some are above 0.
    let is_shown = |factor: &ScreenedFactor| factor.low > 0.0 || factor.high < 0.0;
    let stands_out = screened.explained > 0.0 && (screened.kept.iter().any(is_shown) || !screened.together.is_empty());
    let mut text = format!(
        "Screened {} factors in {} of {} scenarios over {} {rounds}: kept {}, {}",
        screened.kept.len() + screened.fixed.len(),
        screened.scenarios,
        screened.of,
        screened.rounds,
        and_list(&names(&screened.kept)),
        match (stands_out, screened.kept.len()) {
            (false, _) => "as something must be kept; nothing stood out".into(),
            (true, 1) => format!("which explains {} of what it saw", percent_whole(screened.explained)),
            (true, _) => format!("which explain {} of what it saw", percent_whole(screened.explained)),
        }
    );
    if !screened.fixed.is_empty() {
        let fixed: Vec<String> = screened.fixed.iter().map(fixed).collect();
        text.push_str(&format!("; fixed at the baseline's level and not studied further: {}", and_list(&fixed)));
    }
    text.push('.');
    if !screened.together.is_empty() {
        let pairs = screened.together.iter().map(|together| {
            let alike: Vec<String> = together.alike.iter().map(pair).collect();
            let doubt = format!(" (or {}: only their sum is seen)", alike.join(" or "));
            format!("{}{}", pair(&together.factors), if alike.is_empty() { "" } else { &doubt })
        });
        text.push_str(&format!(" Acting together: {}.", and_list(&pairs.collect::<Vec<_>>())));
    }
    text.push_str(&format!(
        " What it can't see: an effect of two levels below {} (80 % power); {}{}.",
        percent(screened.visible),
        screened.unseen.join("; "),
        sums(screened)
    ));
    text
}

/// "noatime +1.2 %, at most ±2.1 %" where an effect was shown, else what it is at most.
fn fixed(factor: &ScreenedFactor) -> String {
    let name = short_factor(&factor.factor);
    let bound = percent_rounded_up(factor.bound);
    if factor.low > 0.0 || factor.high < 0.0 {
        return format!("{name} ({} measured {}, at most ±{bound})", factor.level, percent_signed(factor.effect));
    }
    format!("{name} (at most ±{bound})")
}

/// "; sums: a × b with c × d, and 5 more".
fn sums(screened: &Screened) -> String {
    let sum = |pairs: &Vec<[String; 2]>| pairs.iter().map(pair).collect::<Vec<_>>().join(" with ");
    let mut said: Vec<String> = screened.alike.iter().take(SUMS_MAX).map(sum).collect();
    if said.is_empty() {
        return String::new();
    }
    let more = screened.alike.len() - said.len();
    said.extend((more > 0).then(|| format!("{more} more")));
    format!(". Sums: {}", said.join("; "))
}

fn pair(factors: &[String; 2]) -> String {
    format!("{} × {}", short_factor(&factors[0]), short_factor(&factors[1]))
}
