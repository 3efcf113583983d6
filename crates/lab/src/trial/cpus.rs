//! Which CPUs a trial's server and its load have, and how many that is.

use crash::plan::TrialSpec;
use observe::affinity;
use observe::cpu::{self, DRIVER_CPUS, OWN_CPUS, SERVER_CPUS};
use observe::metric::Measured;
use serde_json::Value;
use std::collections::BTreeSet;

/// From so many CPUs on, the load generator gets some of its own beside a server: a quarter at most, as a server does more for each request.
const CPUS_TO_SHARE_OUT: usize = 4;

/// Which CPUs the server and its load have; empty: any.
#[derive(Clone)]
pub(super) struct Cpus {
    pub(super) server: Vec<usize>,
    pub(super) client: Vec<usize>,
    /// How many each has. A load from elsewhere tells its own.
    pub(super) metrics: Vec<Measured>,
}

impl Cpus {
    pub(super) fn of(spec: &TrialSpec, with_server: bool) -> Cpus {
        // The system's own count may be smaller: a control group's share of time.
        Cpus::of_those(spec, with_server, affinity::cpus(), cpu::usable().unwrap_or(1))
    }

    fn of_those(spec: &TrialSpec, with_server: bool, usable: &[usize], count: usize) -> Cpus {
        let is_unsaid = spec.server_cpus.is_empty() && spec.client_cpus.is_empty() && spec.client.is_none();
        let threads = spec.parameters.get("driver_threads").and_then(Value::as_u64).unwrap_or(1);
        let shared = if with_server && is_unsaid { shared_out(usable, count, threads as usize) } else { None };
        // What the load has of that share is not the server's.
        let left = count - shared.as_ref().map_or(0, |(_, client)| client.len());
        let (server, client) = shared.unwrap_or_else(|| (spec.server_cpus.clone(), spec.client_cpus.clone()));
        let counted = |cpus: &[usize]| left.min(if cpus.is_empty() { left } else { cpus.len() }) as f64;
        let of_driver = spec.client.is_none().then(|| DRIVER_CPUS.at(counted(&client)));
        let of_server = with_server.then(|| SERVER_CPUS.at(counted(&server)));
        let here = [spec.client.is_none().then_some(&client), with_server.then_some(&server)];
        let sides: Vec<&Vec<usize>> = here.into_iter().flatten().collect();
        let together: BTreeSet<usize> = sides.iter().copied().flatten().copied().collect();
        let are_any = sides.iter().any(|side| side.is_empty());
        let own = if are_any { count } else { count.min(together.len()) };
        let of_both = (!sides.is_empty()).then(|| OWN_CPUS.at(own as f64));
        Cpus { metrics: of_driver.into_iter().chain(of_server).chain(of_both).collect(), server, client }
    }
}

/// The server's and the load's, of those that may be used: the last ones are the load's, one for each of its threads as far as a quarter
/// of all goes. None: too few, so that both have all.
fn shared_out(usable: &[usize], count: usize, threads: usize) -> Option<(Vec<usize>, Vec<usize>)> {
    let all = usable.len().min(count);
    if all < CPUS_TO_SHARE_OUT {
        return None;
    }
    let of_load = threads.clamp(1, all / CPUS_TO_SHARE_OUT);
    let (server, client) = usable.split_at(usable.len() - of_load);
    Some((server.to_vec(), client.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> TrialSpec {
        TrialSpec::single("s", "a", "oltp", study::Bench::Host, 1, storage::StorageSettings::default())
    }

    fn values(cpus: &Cpus) -> Vec<(&str, f64)> {
        cpus.metrics.iter().map(|measured| (&*measured.metric.name, measured.value)).collect()
    }

    #[test]
    fn a_load_has_a_cpu_for_each_of_its_threads_and_a_quarter_of_all_at_most() {
        let usable: Vec<usize> = (10..18).collect();
        let shared = |count: usize, threads: usize| {
            shared_out(&usable[..count], count, threads).map(|(server, client)| (server.len(), client))
        };
        assert_eq!(shared(3, 1), None);
        assert_eq!(shared(4, 2), Some((3, vec![13])));
        assert_eq!(shared(8, 1), Some((7, vec![17])));
        assert_eq!(shared(8, 2), Some((6, vec![16, 17])));
        assert_eq!(shared(8, 64), Some((6, vec![16, 17])));
        assert_eq!(shared_out(&usable, 3, 1), None, "a control group gives less time than eight CPUs have");
    }

    #[test]
    fn what_the_load_has_of_a_limited_time_is_not_the_servers() {
        let usable: Vec<usize> = (0..16).collect();
        let told = |count: usize| {
            let cpus = Cpus::of_those(&spec(), true, &usable, count);
            let value =
                |name: &str| values(&cpus).into_iter().find(|(known, _)| *known == name).map(|(_, value)| value);
            (value("driver_cpus"), value("server_cpus"))
        };
        assert_eq!(told(16), (Some(1.0), Some(15.0)));
        assert_eq!(told(4), (Some(1.0), Some(3.0)), "a limit of four CPUs' time");
        assert_eq!(told(3), (Some(3.0), Some(3.0)), "too few to be shared out");
    }

    #[test]
    fn what_each_side_has_is_told_of_those_that_are_here() {
        let mut spec = TrialSpec { server_cpus: vec![0], client_cpus: vec![0], ..spec() };
        let both = [("driver_cpus", 1.0), ("server_cpus", 1.0), ("own_cpus", 1.0)];
        assert_eq!(values(&Cpus::of(&spec, true)), both, "they share the same one");
        assert_eq!(values(&Cpus::of(&spec, false)), [("driver_cpus", 1.0), ("own_cpus", 1.0)]);
        spec.client = Some("other:1".into());
        let here = [("server_cpus", 1.0), ("own_cpus", 1.0)];
        assert_eq!(values(&Cpus::of(&spec, true)), here, "the agent tells of the load's");
    }
}
