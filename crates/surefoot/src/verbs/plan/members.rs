//! `plan --members`: what a fleet of so many hosts would cost and show, by the formula of `stats::hosts`.

use crate::failure::{Failure, Status};
use anyhow::anyhow;
use crash::plan::Plan;
use lab::estimate;
use settings::quantity::{format_seconds, parse_percent};
use stats::hosts::{HOSTS_MIN, half_width};

/// How far hosts differ in a comparison, and how far it strays from round to round, where nobody says it: assumed, and said to be.
pub const SPREAD: &str = "5%,3%";

/// Standard deviations, fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    hosts: f64,
    rounds: f64,
}

/// What `--spread` says.
pub fn spread(text: &str) -> Result<Spread, Failure> {
    let fraction = |text: &str| parse_percent(text.trim()).filter(|share| (0.0..=1.0).contains(share));
    let both = text.split_once(',').and_then(|(hosts, rounds)| Some((fraction(hosts)?, fraction(rounds)?)));
    let wrong = || {
        let error = anyhow!("`--spread {text}` is not two shares of up to 100 %");
        Failure::new(Status::BadStudy, error)
            .hint("write how far hosts differ, then how far rounds do, like `--spread 5%,3%`")
    };
    both.map(|(hosts, rounds)| Spread { hosts, rounds }).ok_or_else(wrong)
}

/// Lines of hosts by rounds, each with its interval and its time.
pub fn lines(plan: &Plan, members: u32, spread: Spread) -> Vec<String> {
    let of = |hosts: u32, rounds: u32| {
        let (of_hosts, of_rounds) = (spread.hosts.ln_1p(), spread.rounds.ln_1p());
        let half = half_width(hosts as usize, rounds as usize, of_hosts, of_rounds, plan.design.confidence);
        let each = format_seconds((estimate::round_seconds(plan) * f64::from(rounds) / 60.0).ceil() * 60.0);
        format!("{hosts} hosts × {rounds} rounds: ±{:.1} %, {each} each", half.exp_m1() * 100.0)
    };
    let rounds = plan.design.rounds_min;
    let mut designs = vec![(HOSTS_MIN as u32, 2 * rounds), (HOSTS_MIN as u32, rounds), (members / 2, rounds)];
    designs.extend([(members, rounds.div_ceil(2)), (members, rounds), (members, 2 * rounds)]);
    designs.retain(|(hosts, _)| (HOSTS_MIN as u32..=members).contains(hosts));
    designs.sort_unstable();
    designs.dedup();
    designs.into_iter().map(|(hosts, rounds)| of(hosts, rounds)).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn a_spread_is_two_shares() {
        assert!(spread("5%,3%").is_ok() && spread("5%, 3%").is_ok());
        for wrong in ["5%", "5%,", "-1%,3%", "500%,3%", "x,y"] {
            assert!(spread(wrong).is_err(), "{wrong}");
        }
    }
}
