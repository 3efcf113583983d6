//! The machines of a fleet, and which of them are alike.

use super::{FleetHost, MachineKind, Unlike};
use crate::changed::is_version;
use ledger::model::{Contents, Host, Session, TrialState};
use observe::machine::KERNEL_RUN;
use std::collections::{BTreeMap, BTreeSet};

/// Machines that measured something, in the order of their first members, and their kinds, the largest first.
pub(super) fn hosts(contents: &Contents) -> (Vec<FleetHost>, Vec<MachineKind>) {
    let mut hosts: Vec<FleetHost> = Vec::new();
    let mut kinds: Vec<MachineKind> = Vec::new();
    // A member that has just begun is no host yet: it has nothing to be held against another's.
    let finished = contents.trials.iter().filter(|trial| trial.state == TrialState::Finished);
    let measured: BTreeSet<u32> = finished.filter_map(|trial| trial.member).collect();
    for member in contents.members.iter().filter(|member| measured.contains(&member.number)) {
        let of_host = hosts.iter_mut().find(|known| known.host == member.host);
        if let Some(known) = of_host {
            known.members.push(member.number);
            continue;
        }
        let facts = facts(contents, member.number);
        let kind = kinds.iter().position(|kind| kind.facts == facts).unwrap_or_else(|| {
            kinds.push(MachineKind { facts, hosts: Vec::new() });
            kinds.len() - 1
        });
        kinds[kind].hosts.push(hosts.len());
        let host = Host::clone(&member.host);
        hosts.push(FleetHost { host, members: vec![member.number], kind, is_again: None });
    }
    find_again(contents, &mut hosts);
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.hosts.len()));
    for (place, kind) in kinds.iter().enumerate() {
        kind.hosts.iter().for_each(|host| hosts[*host].kind = place);
    }
    (hosts, kinds)
}

/// Marks hosts whose members ran in a kernel that had an earlier host's: names say nothing of that, as containers have their own.
fn find_again<'a>(contents: &'a Contents, hosts: &mut [FleetHost]) {
    let host_of = host_of_members(hosts);
    let of_session =
        |session: &'a Session| Some((&**session.machine.get(KERNEL_RUN)?, *host_of.get(&session.member?)?));
    let runs: Vec<(&str, usize)> = contents.sessions.iter().filter_map(of_session).collect();
    let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
    for (run, host) in &runs {
        let first = firsts.entry(run).or_insert(*host);
        *first = (*first).min(*host);
    }
    for (run, host) in runs {
        let first = firsts[run];
        hosts[host].is_again = (first != host).then_some(first).or(hosts[host].is_again);
    }
}

fn facts(contents: &Contents, member: u32) -> BTreeMap<&'static str, String> {
    let session = contents.sessions.iter().find(|session| session.member == Some(member));
    session.map_or_else(BTreeMap::new, |session| observe::machine::kind(&session.machine))
}

/// The place of the host that measured each member.
pub(super) fn host_of_members(hosts: &[FleetHost]) -> BTreeMap<u32, usize> {
    let of_host =
        |(place, host): (usize, &FleetHost)| host.members.iter().map(|member| (*member, place)).collect::<Vec<_>>();
    hosts.iter().enumerate().flat_map(of_host).collect()
}

/// In what the machines are not alike beside their kind: the facts of their sessions, and the versions that their trials measured.
pub(super) fn unlike(contents: &Contents, hosts: &[FleetHost]) -> Vec<Unlike> {
    let host_of = host_of_members(hosts);
    // By fact, and of a trial its scenario: versions may be what is compared. What a host does not have is not held against others.
    let mut found: BTreeMap<(&str, &str), BTreeMap<&str, BTreeSet<usize>>> = BTreeMap::new();
    let mut note = |fact, scenario, value, member: Option<u32>| {
        if let Some(host) = member.and_then(|member| host_of.get(&member)) {
            found.entry((fact, scenario)).or_default().entry(value).or_default().insert(*host);
        }
    };
    for session in &contents.sessions {
        observe::machine::beside_kind(&session.machine).for_each(|(fact, value)| note(fact, "", value, session.member));
    }
    for trial in contents.trials.iter().filter(|trial| trial.state == TrialState::Finished) {
        for (fact, value) in trial.facts.iter().filter(|(fact, _)| is_version(fact)) {
            note(fact, &trial.scenario, value, trial.member);
        }
    }
    let mut told = BTreeSet::new();
    // A host that was changed on the way has both values; where all have, hosts do not differ.
    let differs = |values: &BTreeMap<&str, BTreeSet<usize>>| values.values().collect::<BTreeSet<_>>().len() > 1;
    let unlike = found.into_iter().filter(|((fact, _), values)| differs(values) && told.insert(*fact));
    let owned = |(value, hosts): (&str, BTreeSet<usize>)| (value.to_string(), hosts.into_iter().collect::<Vec<_>>());
    unlike
        .map(|((fact, _), values)| Unlike { fact: fact.into(), values: values.into_iter().map(owned).collect() })
        .collect()
}
