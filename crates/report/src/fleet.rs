//! The answer of a study on many machines, in words; the page is `fleet/page.rs`, the figures `fleet/json.rs`.
//!
//! A report of one machine speaks of rounds; here the unit is the machine, so the sentences are others.

mod json;
mod limits;
mod page;

use crate::document::{self, Block, Column, Columns, Fit, Table, head, interval_head, word_cell, word_head};
use crate::input::Error;
use crate::number::{percent, percent_rounded_up, ratio_ends, ratio_number};
use crate::safety::short_cell;
use crate::words::{and_list, best, better, capital, first_of, good, one_or_more, some_of, with_factor, worse};
use analysis::changed::Changed;
use analysis::conditions::IsChoice;
use analysis::fleet::{Against, Fleet, FleetPart, HOSTS_MIN, Harm, Hole, MachineKind, OfFleet, Out, Unlike};
use analysis::judge::short_factor;
use ledger::MergeError;
use ledger::model::{Contents, Scenario, StudyRecord};
use observe::metric::Metric;
use observe::safety::Grade;
use stats::Verdict;
use stats::hosts::OverHosts;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Facts that are not alike on all hosts: so many are told, with so many values each of so many letters.
const UNLIKE_MAX: usize = 8;
const VALUES_MAX: usize = 4;
const VALUE_LETTERS_MAX: usize = 40;

/// A fleet's report.
#[derive(Debug)]
pub struct FleetReport {
    study: StudyRecord,
    fleet: Fleet,
    /// Members that were started more than once: number, host of the start that counts, and how many starts there were.
    restarted: Vec<(u32, String, usize)>,
    /// What changed within a member.
    changed: Vec<Changed>,
}

impl FleetReport {
    /// Of a results file that holds more than one member; none of a study of one machine. `is_choice`: whether a workload's setting is a
    /// choice, or a condition of the load.
    pub fn of(contents: &Contents, is_choice: IsChoice) -> Option<FleetReport> {
        let again = contents.members.iter().filter(|member| !member.others.is_empty());
        let restarted =
            again.map(|member| (member.number, member.host.name.clone(), member.others.len() + 1)).collect();
        let (study, fleet) = (contents.study.clone(), Fleet::of(contents, is_choice)?);
        Some(FleetReport { study, fleet, restarted, changed: analysis::changed::changed(contents) })
    }

    /// Reads a results file, where it is a fleet's.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(reader: &ledger::Reader, is_choice: IsChoice) -> Result<Option<FleetReport>, Error> {
        if reader.members()?.len() < 2 {
            return Ok(None);
        }
        let metrics = metrics(&reader.study()?, &reader.scenarios()?);
        let metrics: Vec<&str> = metrics.iter().map(String::as_str).collect();
        Ok(FleetReport::of(&reader.contents_with(&metrics)?, is_choice))
    }

    /// What members' files would be merged to, for a fleet that is under way; none of one member alone. Files that can't be read are left out.
    ///
    /// # Errors
    /// When files are not of one fleet.
    pub fn of_files(files: &[PathBuf], is_choice: IsChoice) -> Result<Option<FleetReport>, MergeError> {
        Ok(FleetReport::of(&ledger::read_merged(files, &metrics)?.0, is_choice))
    }

    /// Whether a member is missing, did not come to its end, or has trials that failed.
    pub fn has_holes(&self) -> bool {
        !self.fleet.holes.is_empty()
    }

    /// For a terminal of `width` columns.
    pub fn terminal(&self, width: usize, colour: bool) -> String {
        let parts = self.fleet.parts.iter().flat_map(|part| self.of_part(part));
        let blocks: Vec<Block> = parts.chain(self.lists()).collect();
        document::terminal(&blocks, width, colour)
    }

    /// What is said of limits, then of machines.
    fn lists(&self) -> [Block; 2] {
        [self.of_limits(), self.of_machines()].map(Block::List)
    }

    fn of_part(&self, part: &FleetPart) -> Vec<Block> {
        vec![Block::Lead(self.lead_of(part)), Block::Table(self.table(part)), Block::List(self.of_answer(part))]
    }

    /// What to do, and in what.
    fn lead_of(&self, part: &FleetPart) -> String {
        let heading = self.heading(part);
        if heading.is_empty() { self.lead(part) } else { format!("{heading}: {}", self.lead(part)) }
    }

    /// "oltp with threads 16": what there are several of.
    fn heading(&self, part: &FleetPart) -> String {
        let is_other = |other: &FleetPart| other.workload != part.workload;
        let workload = if self.fleet.parts.iter().any(is_other) { &*part.workload } else { "" };
        match (part.levels.is_empty(), workload.is_empty()) {
            (true, _) => workload.into(),
            (false, true) => format!("With {}", under(part)),
            (false, false) => format!("{workload} with {}", under(part)),
        }
    }

    /// What to do.
    fn lead(&self, part: &FleetPart) -> String {
        let choices = part.scenarios.iter().filter(|scenario| !scenario.control).count();
        let may = part.scenarios.iter().filter(|scenario| scenario.out.is_none()).count();
        let of = if may == choices { format!("the {may} scenarios") } else { format!("the {may} that may be picked") };
        let over = self.over(part.hosts);
        if part.is_given {
            let names: Vec<String> = part.conditions.iter().map(|factor| short_factor(factor)).collect();
            let are = if names.len() > 1 { "are conditions" } else { "is a condition" };
            return format!("Nothing to choose: {} {are} of the load.", and_list(&names));
        }
        let names: Vec<String> = part.picks.iter().map(|place| part.scenarios[*place].label.clone()).collect();
        match &names[..] {
            [] if self.fleet.hosts.is_empty() || self.fleet.is_sample() => {
                format!("Too little was measured {over} to choose.")
            }
            [] => format!("Too little was measured to choose, and {over}."),
            [one] if may == 1 => format!("Use {one}: {over} it is the only scenario that may be picked."),
            [one] => format!("Use {one}: {over} it is the {} of {of}.", best(&part.metric)),
            several => {
                format!("Use {}: {over} none of them is shown to be {}.", several.join(" or "), better(&part.metric))
            }
        }
    }

    /// "on these 3 hosts only", "over 20 hosts"; of what was measured on some of them "over 12 of 20 hosts", "on 3 of 20 hosts only".
    fn over(&self, count: usize) -> String {
        let all = self.fleet.hosts.len();
        match (self.fleet.is_sample(), count < all) {
            _ if all == 0 => "so far".into(),
            (false, false) if all == 1 => "on this host only".into(),
            (false, false) => format!("on these {all} hosts only"),
            (false, true) => format!("on {count} of these {all} hosts only"),
            (true, false) => format!("over {all} hosts"),
            (true, true) if count < HOSTS_MIN => format!("on {count} of {all} hosts only"),
            (true, true) => format!("over {count} of {all} hosts"),
        }
    }

    fn table(&self, part: &FleetPart) -> Table {
        let baseline = part.baseline.map_or("the baseline", |place| &part.scenarios[place].label);
        let is_baseline = |place: usize| part.baseline == Some(place);
        let ratio = |log: f64| ratio_number(log.exp());
        let ends = |(low, high): (f64, f64)| ratio_ends((low.exp(), high.exp()), ratio_number).join("–");
        let against = |place: usize, scenario: &OfFleet| match &scenario.against {
            Some(found) => ratio(found.contrast.mean),
            None if is_baseline(place) => "1".into(),
            None => String::new(),
        };
        let interval = |found: &Against| ends((found.contrast.low, found.contrast.high));
        let is_one_kind = self.fleet.kinds.len() == 1;
        let further =
            |found: &Against| found.sample.as_ref().filter(|_| is_one_kind).map(|sample| ends(sample.prediction));
        let differ = |found: &Against| Some(percent(found.sample.as_ref()?.tau?.exp_m1()));
        let ahead = |place: usize| part.ahead.iter().filter(|ahead| **ahead == Some(place)).count();
        let ahead = |place: usize| format!("{} of {}", ahead(place), part.ahead.len());
        let may_be_ahead = |scenario: &OfFleet| scenario.out.is_none() && !part.is_given;
        let cell = |text: Option<String>| word_cell(&text.unwrap_or_default());
        let rows: Vec<(usize, &OfFleet)> = part.scenarios.iter().enumerate().collect();
        let table = Columns::of(format!("fleet-{}", id(part)), &rows)
            .column(Column { fit: Fit::Labels, ..word_head("scenario") }, |(_, row)| word_cell(&row.label))
            .column(head(&format!("against {baseline}")), |(place, row)| word_cell(&against(*place, row)))
            .column(interval_head(self.fleet.confidence), |(_, row)| cell(row.against.as_ref().map(interval)))
            .column(head("a further host"), |(_, row)| cell(row.against.as_ref().and_then(further)))
            .column(head("hosts differ by"), |(_, row)| cell(row.against.as_ref().and_then(differ)))
            .column(head("ahead on"), |(place, row)| cell(may_be_ahead(row).then(|| ahead(*place))))
            .words("verdict", |(place, row)| verdict(row, &part.metric, (is_baseline(*place), self.fleet.is_sample())));
        table.table().without_empty_columns()
    }

    /// What is known of the pick beside the baseline, or where that is the pick, of what comes next to it.
    fn of_answer(&self, part: &FleetPart) -> Vec<String> {
        let mut lines = Vec::new();
        let shown = part.pick().filter(|pick| pick.against.is_some()).or_else(|| next_to_baseline(part));
        let baseline = part.baseline.map(|place| &*part.scenarios[place].label);
        if let (Some((scenario, against)), Some(baseline)) =
            (shown.and_then(|scenario| Some((scenario, scenario.against.as_ref()?))), baseline)
        {
            lines.extend(self.of_pair((&scenario.label, baseline), against, part));
        }
        if let Some(regret) = part.regret.filter(|regret| *regret > 0.0 && part.picks.len() > 1) {
            let (first, behind) = (&part.scenarios[part.picks[0]].label, percent_rounded_up(regret));
            lines.push(format!("{first} is at most {behind} behind the best."));
        }
        lines.extend(self.who_is_ahead(part));
        lines.extend(power_cuts(part));
        lines
    }

    /// A pair over these hosts, on a further one, how hosts differ in it, and which stand apart.
    fn of_pair(&self, (one, other): (&str, &str), against: &Against, part: &FleetPart) -> Vec<String> {
        let confidence = percent(self.fleet.confidence);
        let said = |ends: (f64, f64)| range((one, other), ends, &part.metric, part.more_is_better);
        let contrast = (against.contrast.low, against.contrast.high);
        let over = self.over(against.hosts);
        let mut lines = vec![format!("{} {} ({confidence}).", capital(&over), said(contrast))];
        let further = |kind: &str, found: &OverHosts| {
            format!("On a further machine of {kind} {} ({confidence}).", said(found.prediction))
        };
        match (&against.sample, &self.fleet.kinds[..]) {
            (None, _) => lines.push(format!(
                "Fewer than {HOSTS_MIN} hosts: these hosts only, and nothing is said of another machine."
            )),
            (Some(found), [_]) => lines.push(further("this kind", found)),
            (Some(_), kinds) => lines.extend(self.of_kinds(against, kinds, &further)),
        }
        let Some(found) = &against.sample else { return lines };
        if let (Some(tau), Some(i_squared)) = (found.tau, found.i_squared) {
            lines.push(format!(
                "Hosts differ in this by {} (standard deviation); that is {} of the variation between their figures, the rest is their rounds'.",
                percent(tau.exp_m1()),
                percent(i_squared)
            ));
        }
        let names: Vec<String> = found.apart.iter().map(|host| self.fleet.hosts[*host].host.name.clone()).collect();
        if !names.is_empty() {
            let stand = if names.len() == 1 { "stands" } else { "stand" };
            lines.push(format!("{} {stand} apart from all others in this.", some_of(&names)));
        }
        lines
    }

    fn of_kinds(
        &self,
        against: &Against,
        kinds: &[MachineKind],
        further: &dyn Fn(&str, &OverHosts) -> String,
    ) -> Vec<String> {
        // A kind may have hosts enough, and too few on which both were measured.
        let small = kinds.len() - against.by_kind.len();
        let kind = |place: usize| format!("the kind with {}", differing(&kinds[place], kinds));
        let each = against.by_kind.iter().map(|(place, found)| further(&kind(*place), found));
        let none = (small > 0).then(|| {
            let of =
                if small == kinds.len() { "any kind".into() } else { format!("{small} of the {} kinds", kinds.len()) };
            format!(
                "Of {of} there are fewer than {HOSTS_MIN} hosts with both: nothing is said of a further machine of these."
            )
        });
        each.chain(none).collect()
    }

    fn who_is_ahead(&self, part: &FleetPart) -> Option<String> {
        let mut hosts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (host, ahead) in part.ahead.iter().enumerate() {
            hosts.entry((*ahead)?).or_default().push(self.fleet.hosts[host].host.name.clone());
        }
        let mut hosts: Vec<(usize, Vec<String>)> = hosts.into_iter().collect();
        hosts.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
        if part.is_given || part.scenarios.iter().filter(|scenario| scenario.out.is_none()).count() < 2 {
            return None;
        }
        let all = part.ahead.len();
        let told = hosts.iter().enumerate().map(|(rank, (place, names))| {
            let label = &part.scenarios[*place].label;
            if rank == 0 {
                format!("{label} is ahead on {} of {all} hosts", names.len())
            } else {
                format!("{label} on {}", some_of(names))
            }
        });
        Some(format!("{}.", told.collect::<Vec<_>>().join(", ")))
    }

    /// "member 1 on n1 (kernel: 6.1, then 6.12)"; none of a member that measured nothing.
    fn of_changed(&self, Changed { fact, member, values }: &Changed) -> Option<String> {
        let number = (*member)?;
        let host = self.fleet.hosts.iter().find(|host| host.members.contains(&number))?;
        let is_short = values.iter().all(|value| value.chars().count() <= VALUE_LETTERS_MAX);
        let values = if is_short { format!(": {}", values.join(", then ")) } else { String::new() };
        Some(format!("member {number} on {} ({}{values})", host.host.name, fact.replace('_', " ")))
    }

    /// What kinds of machines there are, and what is missing.
    fn of_machines(&self) -> Vec<String> {
        let Fleet { hosts, kinds, unlike, members, holes, .. } = &self.fleet;
        let name = |host: &usize| hosts[*host].host.name.clone();
        let mut lines = Vec::new();
        let again: Vec<String> =
            hosts.iter().filter_map(|host| Some(format!("{} is {}", host.host.name, name(&host.is_again?)))).collect();
        if !again.is_empty() {
            lines.push(format!(
                "One machine counts as several hosts, as their members ran in one kernel: {}. Give them one `SUREFOOT_HOST`, and read \
                 this as of {} hosts.",
                some_of(&again),
                hosts.len() - again.len()
            ));
        }
        if kinds.len() > 1 {
            let each = kinds.iter().map(|kind| {
                format!("{} ({})", differing(kind, kinds), some_of(&kind.hosts.iter().map(name).collect::<Vec<_>>()))
            });
            lines.push(format!("The hosts are of {} kinds: {}.", kinds.len(), each.collect::<Vec<_>>().join("; ")));
        }
        let unlike: Vec<String> = unlike.iter().map(|fact| not_alike(fact, &name)).collect();
        if !unlike.is_empty() {
            lines.push(format!("Not alike on all hosts: {}.", first_of(&unlike, UNLIKE_MAX, "; ")));
        }
        let changed: Vec<String> = self.changed.iter().filter_map(|changed| self.of_changed(changed)).collect();
        if !changed.is_empty() {
            let changed = first_of(&changed, UNLIKE_MAX, "; ");
            lines.push(format!("Changed while a member measured, whose rounds are of both: {changed}."));
        }
        for (number, host, starts) in &self.restarted {
            lines.push(format!(
                "Member {number} was started {starts} times; the start on {host} counts, as none came further."
            ));
        }
        if !holes.is_empty() {
            let each: Vec<String> = holes.iter().map(hole).collect();
            lines.push(format!("Missing, of {members} members: {}.", each.join("; ")));
            if self.fleet.share < 1.0 {
                lines.push(format!(
                    "Until all members are there, claims are held to {} of their level: measure what is missing, on any machine.",
                    percent(self.fleet.share)
                ));
            }
        }
        lines
    }
}

/// What an answer needs: of a large fleet the figures of all metrics would be most of its memory.
fn metrics(study: &StudyRecord, scenarios: &[Scenario]) -> Vec<String> {
    let primary = scenarios.iter().map(|scenario| &*scenario.primary_metric);
    let limited = study.limits.iter().map(|limit| &*limit.metric);
    let others = analysis::flushing::METRICS.iter().chain(analysis::errors::METRICS).copied();
    primary.chain(limited).chain(others).map(str::to_string).collect()
}

/// The scenario that is best beside the baseline.
fn next_to_baseline(part: &FleetPart) -> Option<&OfFleet> {
    let sign = if part.more_is_better { 1.0 } else { -1.0 };
    let merit = |scenario: &&OfFleet| scenario.against.as_ref().map_or(f64::MIN, |found| sign * found.contrast.mean);
    let others = part.scenarios.iter().filter(|scenario| !scenario.control && scenario.against.is_some());
    others.max_by(|a, b| merit(a).total_cmp(&merit(b)))
}

/// What comes before speed: what a power cut took from each scenario, where it took most.
fn power_cuts(part: &FleetPart) -> Option<String> {
    let measured = part.scenarios.iter().filter(|scenario| !scenario.control);
    let each = measured.filter_map(|scenario| {
        let (found, host) = scenario.power_cut.as_ref()?;
        let on = if found.grade == Grade::A { String::new() } else { format!(" ({host})") };
        Some(format!("{} {}{on}", scenario.label, short_cell(found)))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("After a power cut, on the host that lost most: {}.", each.join("; ")))
}

fn verdict(scenario: &OfFleet, metric: &Metric, (is_baseline, is_sample): (bool, bool)) -> String {
    let of_stats = || match scenario.against.as_ref().map(|found| found.verdict) {
        Some(Some(Verdict::Faster)) => better(metric).into(),
        Some(Some(Verdict::Slower)) => worse(metric).into(),
        Some(Some(verdict)) => verdict.words().to_string(),
        Some(None) if is_sample => "too few hosts".into(),
        Some(None) => "too few rounds".into(),
        None if is_baseline => "baseline".into(),
        None => String::new(),
    };
    let beside = |why: &str| {
        let of_stats = of_stats();
        let join = if of_stats.is_empty() { "" } else { "; " };
        format!("{of_stats}{join}{why}")
    };
    match scenario.out {
        Some(Out::LessSafe) => beside("less safe"),
        Some(Out::Errors) => beside("more errors"),
        Some(Out::Stalled) => "stalled".into(),
        Some(Out::Unmeasured) => "not measured".into(),
        Some(Out::FewHosts(hosts)) => {
            let noun = if hosts == 1 { "host" } else { "hosts" };
            beside(&format!("measured on {hosts} {noun} only"))
        }
        Some(Out::Control) | None => of_stats(),
    }
}

fn hole(hole: &Hole) -> String {
    match hole {
        Hole::Missing(member) => format!("member {member} has no results"),
        Hole::Unfinished { member, host, rounds, of } => {
            format!("member {member} on {host} measured {rounds} of {of} rounds")
        }
        Hole::Failed { member, host, trials, scenarios } => {
            let trials = one_or_more(*trials, "trial");
            format!("{trials} of member {member} on {host} failed ({})", scenarios.join(", "))
        }
        Hole::Unmeasured { member, host, harm, scenarios } => {
            let what = match harm {
                Harm::PowerCut => "what a power cut takes was not measured",
                Harm::FailingDisk => "what a failing disk does was not measured, or not to the end,",
            };
            format!("{what} by member {member} on {host} ({})", scenarios.join(", "))
        }
    }
}

/// A fact with each of its values and who has it; of many values, or long ones, that they differ.
fn not_alike(unlike: &Unlike, name: &dyn Fn(&usize) -> String) -> String {
    let fact = unlike.fact.replace('_', " ");
    let is_short = unlike.values.iter().all(|(value, _)| value.chars().count() <= VALUE_LETTERS_MAX);
    if !is_short || unlike.values.len() > VALUES_MAX {
        return format!("{fact} ({} values)", unlike.values.len());
    }
    let on = |hosts: &[usize]| some_of(&hosts.iter().map(name).collect::<Vec<_>>());
    let each: Vec<String> = unlike.values.iter().map(|(value, hosts)| format!("{value} ({})", on(hosts))).collect();
    format!("{fact} {}", and_list(&each))
}

/// Facts in which a kind differs from another.
fn differing(kind: &MachineKind, kinds: &[MachineKind]) -> String {
    let is_common = |name: &&str| kinds.iter().all(|other| other.facts.get(*name) == kind.facts.get(*name));
    let facts = kind.facts.iter().filter(|(name, _)| !is_common(name));
    let own: Vec<String> = facts.map(|(name, value)| format!("{} {value}", name.replace('_', " "))).collect();
    if own.is_empty() { "less known of it".into() } else { and_list(&own) }
}

/// "threads 16".
fn under(part: &FleetPart) -> String {
    let levels = part.conditions.iter().zip(&part.levels).map(|(factor, level)| with_factor(factor, level));
    and_list(&levels.collect::<Vec<_>>())
}

/// For ids on a page.
fn id(part: &FleetPart) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let levels: Vec<String> = part.levels.iter().map(|level| level.chars().map(plain).collect()).collect();
    [vec![part.workload.clone()], levels].concat().join("-")
}

/// "xfs is 2 to 11 % faster than ext4", of the ends of a logarithm of a ratio of a metric of which more is better or not.
fn range((one, other): (&str, &str), (low, high): (f64, f64), metric: &Metric, more_is_better: bool) -> String {
    let (better, worse, good) = (better(metric), worse(metric), good(metric));
    let (low, high) = if more_is_better { (low.exp(), high.exp()) } else { ((-high).exp(), (-low).exp()) };
    if high > 2.0 || low < 0.5 {
        let ends = ratio_ends((low, high), ratio_number).join(" to ");
        return format!("{one} is {ends} times as {good} as {other}");
    }
    let number = |ratio: f64| {
        let percent = (ratio - 1.0).abs() * 100.0;
        let text = if percent < 10.0 { format!("{percent:.1}") } else { format!("{percent:.0}") };
        text.trim_end_matches(".0").to_string()
    };
    let size = |ratio: f64| format!("{} %", number(ratio));
    match (low >= 1.0, high <= 1.0) {
        (true, _) => format!("{one} is {} to {} {better} than {other}", number(low), size(high)),
        (_, true) => format!("{one} is {} to {} {worse} than {other}", number(high), size(low)),
        _ => format!("{one} is anything from {} {worse} to {} {better} than {other}", size(low), size(high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::metric::Direction;

    #[test]
    fn a_range_is_said_by_where_it_lies() {
        let speed = Metric::new("requests_per_second", "1/s", Direction::More);
        let said =
            |more_is_better, low: f64, high: f64| range(("a", "b"), (low.ln(), high.ln()), &speed, more_is_better);
        assert_eq!(said(true, 1.02, 1.11), "a is 2 to 11 % faster than b");
        assert_eq!(said(true, 0.9, 0.98), "a is 2 to 10 % slower than b");
        assert_eq!(said(true, 0.97, 1.11), "a is anything from 3 % slower to 11 % faster than b");
        assert_eq!(said(true, 0.44, 0.46), "a is 0.44 to 0.46 times as fast as b");
        assert_eq!(said(true, 1.0041, 2.31), "a is 1.004 to 2.310 times as fast as b", "and surely not slower");
        assert_eq!(said(false, 0.8, 1.0), "a is 0 to 25 % faster than b");
    }
}
