//! `fleet status`: what the members' results say, beside what Slurm's queue says.

use super::slurm::JOB;
use crate::cli::fleet::FleetStatusArgs;
use crate::failure::{Failure, Status};
use crate::verbs::status::results_in;
use ledger::model::TrialState;
use load::workload::Error;
use report::printable;
use settings::quantity::format_seconds;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A controller that is gone lets squeue wait for minutes; what the results say is worth more than what it would.
const QUEUE_SECONDS_MAX: Duration = Duration::from_secs(10);

/// How far a start of a member is.
struct Start {
    /// Its study's hash.
    study: String,
    member: u32,
    of: u32,
    attempt: u32,
    host: String,
    rounds: u32,
    rounds_of: u32,
    failed: usize,
    /// Why it ended; none: it works, or was cut off.
    ended: Option<String>,
    /// Since its copy was renewed.
    age_seconds: f64,
}

/// How far a fleet is.
pub struct Standing {
    starts: Vec<Start>,
    /// What Slurm says of each member whose task is not over.
    queue: BTreeMap<u32, String>,
    /// Why Slurm says nothing.
    silence: Option<String>,
    /// Files that can't be read: a name that was taken a moment ago, or a file of which there is half.
    pub unreadable: Vec<ledger::Error>,
    /// The last member's number.
    pub members: u32,
}

/// Prints a line a member.
pub fn run(args: &FleetStatusArgs) -> Result<Status, Failure> {
    super::require_folder(&args.folder)?;
    let standing = Standing::of(&args.folder)?;
    let unreadable = standing.unreadable.iter().map(|error| printable(&error.to_string()));
    unreadable.for_each(|error| eprintln!("not readable yet: {error}"));
    standing.silence.iter().for_each(|why| eprintln!("Slurm's queue does not answer: {}", printable(why)));
    if args.json {
        let all: Vec<serde_json::Value> = (1..=standing.members).map(|member| standing.json(member)).collect();
        println!("{:#}", serde_json::Value::Array(all));
        return Ok(Status::Answered);
    }
    println!("{}", standing.summary());
    for member in 1..=standing.members {
        println!("  member {member}: {}", printable(&standing.words(member)));
    }
    Ok(Status::Answered)
}

impl Standing {
    /// Of the fleet whose results lie in this folder.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn of(folder: &Path) -> std::io::Result<Standing> {
        let (mut starts, mut unreadable) = (Vec::new(), Vec::new());
        for path in results_in(folder)? {
            match start(&path) {
                Ok(found) => starts.extend(found),
                Err(error) => unreadable.push(error),
            }
        }
        let (queue, silence) = queue(folder);
        let numbers = starts.iter().map(|start| start.of.max(start.member)).chain(queue.keys().copied());
        Ok(Standing { members: numbers.max().unwrap_or(0), starts, queue, silence, unreadable })
    }

    /// Members that have all their rounds.
    pub fn done(&self) -> u32 {
        let is_done = |member: &u32| self.starts_of(*member).any(|start| start.rounds >= start.rounds_of);
        (1..=self.members).filter(is_done).count() as u32
    }

    /// How many are done; of several studies the numbers are those of no fleet.
    pub fn summary(&self) -> String {
        // How many there are to be is in their files.
        if self.members == 0 {
            return "no member's results lie here yet: it is the folder that they have as --results".into();
        }
        let studies: BTreeSet<&String> = self.starts.iter().map(|start| &start.study).collect();
        let mixed = match studies.len() {
            0 | 1 => String::new(),
            count => format!("; they are of {count} studies, which are not merged: move those of the others away"),
        };
        format!("{} of {} members have all their rounds{mixed}", self.done(), self.members)
    }

    /// How far a member is.
    pub fn words(&self, member: u32) -> String {
        let mut words: Vec<String> = self.starts_of(member).map(Start::words).collect();
        if words.is_empty() {
            words.push("no results yet".into());
        }
        words.extend(self.queue.get(&member).map(|state| format!("Slurm: {state}")));
        words.join("; ")
    }

    fn starts_of(&self, member: u32) -> impl Iterator<Item = &Start> {
        self.starts.iter().filter(move |start| start.member == member)
    }

    fn json(&self, member: u32) -> serde_json::Value {
        let of_member = self.starts_of(member).map(|start| {
            serde_json::json!({
                "attempt": start.attempt, "host": start.host, "rounds": start.rounds, "of": start.rounds_of,
                "trials_failed": start.failed, "ended": start.ended, "seconds_since": start.age_seconds,
            })
        });
        let starts: Vec<serde_json::Value> = of_member.collect();
        serde_json::json!({ "member": member, "starts": starts, "slurm": self.queue.get(&member) })
    }
}

impl Start {
    fn words(&self) -> String {
        let Start { attempt, host, rounds, rounds_of, failed, ended, age_seconds, .. } = self;
        let failed = if *failed > 0 { format!(", {failed} trials failed") } else { String::new() };
        let state = match ended {
            Some(reason) => reason.clone(),
            None => format!("last heard of {} ago", format_seconds(age_seconds.round())),
        };
        let again = if *attempt > 1 { format!(" (start {attempt})") } else { String::new() };
        format!("{rounds} of {rounds_of} rounds on {host}{again}{failed}, {state}")
    }
}

fn start(path: &Path) -> Result<Option<Start>, ledger::Error> {
    let contents = ledger::Reader::open_untouched(path)?.contents_with(&[])?;
    // Merged files are nobody's standing.
    let [member] = &contents.members[..] else { return Ok(None) };
    let age = path.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
    let counted = contents.counted_trials();
    Ok(Some(Start {
        study: contents.study.hash.clone(),
        member: member.number,
        of: member.of,
        attempt: member.attempt,
        host: member.host.name.clone(),
        rounds: contents.rounds_measured(member, &counted),
        rounds_of: member.rounds,
        failed: counted.iter().filter(|trial| trial.state == TrialState::Failed).count(),
        ended: contents.sessions.last().and_then(|session| session.reason.clone()),
        age_seconds: age.map_or(0.0, |age| age.as_secs_f64()),
    }))
}

/// What Slurm says of each member whose task is not over, and why it says nothing; neither without Slurm, or where another scheduler
/// started the fleet.
fn queue(folder: &Path) -> (BTreeMap<u32, String>, Option<String>) {
    let Ok(job) = std::fs::read_to_string(folder.join(JOB)) else { return (BTreeMap::new(), None) };
    let words = ["squeue", "--noheader", "--array", "--jobs", job.trim(), "--format", "%K|%T|%N|%r"];
    let never = AtomicBool::new(false);
    let said = load::process::run(&words.map(String::from), folder, QUEUE_SECONDS_MAX, &never);
    match said {
        Ok(finished) => heard(finished.status.success(), &finished.stdout, &finished.stderr),
        Err(error @ Error::Program { .. }) => (BTreeMap::new(), Some(error.to_string())),
        Err(_) => (BTreeMap::new(), None),
    }
}

/// What a squeue that ended by itself tells, and why it tells nothing. A job that is over is forgotten after a while (slurm.conf(5),
/// `MinJobAge`): then all has been said.
fn heard(is_well: bool, stdout: &str, stderr: &str) -> (BTreeMap<u32, String>, Option<String>) {
    if is_well || stderr.contains("Invalid job id") {
        return (stdout.lines().filter_map(task).collect(), None);
    }
    (BTreeMap::new(), Some(stderr.lines().last().unwrap_or("squeue failed without a word").to_string()))
}

/// A task's member, and its state with its node or why it waits.
fn task(line: &str) -> Option<(u32, String)> {
    let mut fields = line.split('|');
    let (task, state, node, reason) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let beside = if node.is_empty() { format!(" ({reason})") } else { format!(" on {node}") };
    Some((task.trim().parse().ok()?, format!("{}{beside}", state.to_lowercase())))
}

#[cfg(test)]
mod tests {
    use super::{Standing, Start, heard, task};
    use std::collections::BTreeMap;

    /// Members of two studies had been counted as those of one fleet, all of them done.
    #[test]
    fn results_of_another_study_are_named() {
        let start = |study: &str, member: u32| Start {
            study: study.into(),
            member,
            of: 2,
            attempt: 1,
            host: "n1".into(),
            rounds: 4,
            rounds_of: 4,
            failed: 0,
            ended: None,
            age_seconds: 0.0,
        };
        let summary = |starts: Vec<Start>| {
            let (queue, unreadable) = (BTreeMap::new(), Vec::new());
            Standing { starts, queue, silence: None, unreadable, members: 2 }.summary()
        };
        assert_eq!(summary(vec![start("a", 1), start("a", 2)]), "2 of 2 members have all their rounds");
        assert!(summary(vec![start("a", 1), start("b", 2)]).contains("they are of 2 studies"));
    }

    /// A folder of something else was said to have "0 of 0 members" with all their rounds.
    #[test]
    fn a_folder_without_members_is_no_fleet_that_is_done() {
        let (starts, queue, unreadable) = (Vec::new(), BTreeMap::new(), Vec::new());
        let said = Standing { starts, queue, silence: None, unreadable, members: 0 }.summary();
        assert!(said.starts_with("no member's results lie here yet"), "{said}");
    }

    /// A queue that could not be asked had looked like one in which no member waits. The messages are those of Slurm 22.05.
    #[test]
    fn a_queue_that_can_not_be_asked_is_told() {
        let running = BTreeMap::from([(3, "running on n2".to_string())]);
        assert_eq!(heard(true, "3|RUNNING|n2|None\n", ""), (running, None));
        let is_over = "slurm_load_jobs error: Invalid job id specified\n";
        assert_eq!(heard(false, "", is_over), (BTreeMap::new(), None));
        let why = "squeue: fatal: Could not establish a configuration source";
        let all = format!("squeue: error: fetch_config: DNS SRV lookup failed\n{why}\n");
        assert_eq!(heard(false, "", &all), (BTreeMap::new(), Some(why.to_string())));
    }

    #[test]
    fn a_line_of_the_queue_is_a_member() {
        assert_eq!(task("3|RUNNING|n2|None"), Some((3, "running on n2".into())));
        assert_eq!(task("1|PENDING||Resources"), Some((1, "pending (Resources)".into())));
        assert_eq!(task("N/A|RUNNING|n1|None"), None, "no task of an array");
    }
}
