//! The machines of a fleet, and which of them are alike.

use super::{FleetHost, MachineKind};
use ledger::model::{Contents, Host, TrialState};
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
        hosts.push(FleetHost { host, members: vec![member.number], kind });
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.hosts.len()));
    for (place, kind) in kinds.iter().enumerate() {
        kind.hosts.iter().for_each(|host| hosts[*host].kind = place);
    }
    (hosts, kinds)
}

fn facts(contents: &Contents, member: u32) -> BTreeMap<&'static str, String> {
    let session = contents.sessions.iter().find(|session| session.member == Some(member));
    session.map_or_else(BTreeMap::new, |session| observe::machine::kind(&session.machine))
}
