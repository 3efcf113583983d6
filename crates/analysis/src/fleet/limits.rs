//! A study's limits on many machines: in which rounds each host kept them, and whether a further machine would.

use super::FleetHost;
use super::part::host_of_rounds;
use crate::details::Details;
use crate::limits::{limited, measured};
use crate::row::simultaneous;
use ledger::model::{Contents, LimitRecord};
use observe::metric::{Direction, Metric};
use stats::hosts::further_rounds;

/// One limit held against one scenario on all hosts.
#[derive(Debug)]
pub struct FleetLimit {
    /// The limit.
    pub limit: LimitRecord,
    /// The scenario's label; the workload's name where all of its scenarios were left out.
    pub label: String,
    /// What is limited.
    pub metric: Metric,
    /// The figures of each host's rounds.
    pub rounds: Vec<Vec<f64>>,
    /// How many of each host's rounds have no figure of this: a trial failed, in some run of it nothing was done, or see `is_astride`.
    pub without: Vec<usize>,
    /// Whether in a round only percentiles of single turns are known, and these lie on both sides of the limit.
    pub is_astride: bool,
    /// Where every round of a further machine of this kind lies, for all limits of the study together; none: hosts are too few, or of several
    /// kinds, or a figure is 0, which is no measurement.
    pub further: Option<(f64, f64)>,
}

/// What hosts show of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Rounds were beyond it.
    Beyond,
    /// A host has no figure, or none of some rounds: a rule that nobody looked at is not kept.
    Unmeasured,
    /// Every round kept it, and a further machine may not.
    MayBeBeyond,
    /// Every round kept it, and nothing is known of a further machine.
    KeptHere,
    /// Every round kept it, and so would every round of a further machine.
    Kept,
}

impl FleetLimit {
    /// What is shown.
    pub fn shown(&self) -> Shown {
        match self.further_worst() {
            // Whatever those show that are missing.
            _ if !self.broken().is_empty() => Shown::Beyond,
            _ if self.rounds.is_empty() || self.rounds.iter().any(Vec::is_empty) => Shown::Unmeasured,
            _ if self.without.iter().any(|rounds| *rounds > 0) => Shown::Unmeasured,
            None => Shown::KeptHere,
            Some(worst) if self.limit.is_beyond(worst) => Shown::MayBeBeyond,
            Some(_) => Shown::Kept,
        }
    }

    /// The figure of the worst round of all; none: nothing was measured.
    pub fn worst(&self) -> Option<f64> {
        let all = self.rounds.iter().flatten().copied();
        if self.limit.is_least { all.reduce(f64::min) } else { all.reduce(f64::max) }
    }

    /// The end of what is expected of a further machine that is nearer to the limit.
    pub fn further_worst(&self) -> Option<f64> {
        self.further.map(|(low, high)| if self.limit.is_least { low } else { high })
    }

    /// Hosts with rounds beyond the limit: which, and how many of their rounds.
    pub fn broken(&self) -> Vec<(usize, usize)> {
        let beyond = |rounds: &Vec<f64>| rounds.iter().filter(|value| self.limit.is_beyond(**value)).count();
        let all = self.rounds.iter().map(beyond).enumerate();
        all.filter(|(_, rounds)| *rounds > 0).collect()
    }
}

/// Every limit with every scenario of its workload, in the order of the file; `alpha` is the level of this answer.
pub(super) fn limits(contents: &Contents, (hosts, is_one_kind): (&[FleetHost], bool), alpha: f64) -> Vec<FleetLimit> {
    let host_of = host_of_rounds(contents, hosts);
    let all = &contents.study.limits;
    let count = all.iter().map(|limit| limited(contents, limit).len()).sum();
    let confidence = simultaneous(1.0 - alpha, count);
    let of_limit = |limit: &LimitRecord| -> Vec<FleetLimit> {
        // A fleet's histograms are not read: of percentiles by turns the turns' ends are known.
        let measured = measured(contents, &Details::default(), limit);
        let held = |label: String| {
            let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); hosts.len()];
            let mut without = vec![0; hosts.len()];
            let found = measured.get(&*label);
            for (round, host) in &host_of {
                let figure = found.and_then(|found| found.figures.get(round));
                rounds[*host].extend(figure);
                without[*host] += usize::from(found.is_some_and(|found| found.without.contains(round)));
            }
            FleetLimit {
                label,
                metric: contents.metric(&limit.metric, Direction::Neither),
                limit: limit.clone(),
                further: is_one_kind.then(|| further(&rounds, confidence)).flatten(),
                rounds,
                without,
                is_astride: found.is_some_and(|found| found.is_astride),
            }
        };
        limited(contents, limit).into_iter().map(held).collect()
    };
    all.iter().flat_map(of_limit).collect()
}

fn further(rounds: &[Vec<f64>], confidence: f64) -> Option<(f64, f64)> {
    if rounds.iter().flatten().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<Vec<f64>> =
        rounds.iter().map(|rounds| rounds.iter().map(|value| value.ln()).collect()).collect();
    further_rounds(&logarithms, confidence).map(|(low, high)| (low.exp(), high.exp()))
}
