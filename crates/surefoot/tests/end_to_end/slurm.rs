//! Fleets under a real Slurm of three nodes: an ordinary one, and one to whose nodes everything happens.

mod cluster;

use crate::guest::{USER, of_ordinary_user};
use crate::harness::{Said, World, said, small_study};
use crate::nodes::{HEAD, NODES};
use cluster::Cluster;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

/// The binary on the head node.
fn surefoot(cluster: &Cluster, arguments: &[&str]) -> Said {
    let all = [&[env!("CARGO_BIN_EXE_surefoot")][..], arguments].concat();
    said(&cluster.inside(HEAD, &all).output().expect("nsenter starts"))
}

fn submit(cluster: &Cluster, study: &str, results: &str, rounds: &str) {
    let arguments =
        ["fleet", "slurm", study, "--nodes", "3", "--results", results, "--work", "work", "--rounds", rounds];
    surefoot(cluster, &arguments).status(0).says("submitted job");
}

fn status(cluster: &Cluster, results: &str) -> Vec<Value> {
    let said = surefoot(cluster, &["fleet", "status", results, "--json"]).status(0);
    said.json().as_array().expect("members").clone()
}

fn starts(member: &Value) -> Vec<Value> {
    member["starts"].as_array().expect("starts").clone()
}

/// Whether each of three members has a start with so many rounds.
fn all_have(members: &[Value], rounds: u64) -> bool {
    let has = |start: &Value| start["rounds"].as_u64().is_some_and(|measured| measured >= rounds);
    members.len() == 3 && members.iter().all(|member| starts(member).iter().any(has))
}

/// The host of each member's first start.
fn hosts(members: &[Value]) -> BTreeMap<String, u64> {
    let first = |member: &Value| starts(member).first().and_then(|start| start["host"].as_str().map(str::to_string));
    members.iter().filter_map(|member| Some((first(member)?, member["member"].as_u64()?))).collect()
}

fn queue_is_empty(cluster: &Cluster) -> bool {
    cluster.run(&["squeue", "--noheader"]).stdout.iter().all(u8::is_ascii_whitespace)
}

/// What was measured of each member, in its order.
fn design(merged: &Value) -> Vec<(u64, u64, u64, String, u64)> {
    let trials = merged["ledger"]["trials"].as_array().expect("trials").iter();
    let number = |trial: &Value, name: &str| trial[name].as_u64().expect("a number");
    let mut all: Vec<_> = trials
        .filter(|trial| trial["state"] == "finished")
        .map(|trial| {
            let scenario = trial["scenario"].as_str().expect("a name").to_string();
            (
                number(trial, "member"),
                number(trial, "round"),
                number(trial, "position"),
                scenario,
                number(trial, "seed"),
            )
        })
        .collect();
    all.sort();
    all
}

/// Waits until a member's task, whose node is given up, is in the queue again, and has it start at once: Slurm would wait for two minutes.
fn start_again(cluster: &Cluster, results: &str, member: u64) {
    let state = |cluster: &Cluster| status(cluster, results)[member as usize - 1]["slurm"].to_string();
    cluster.wait_until("the lost node's task is in the queue again", |cluster| state(cluster).contains("pending"));
    let job = cluster.run(&["cat", &format!("{results}/slurm.job")]).stdout;
    let task = format!("JobId={}_{member}", String::from_utf8_lossy(&job).trim());
    let at_once = cluster.run(&["scontrol", "update", &task, "StartTime=now"]);
    assert!(at_once.status.success(), "{at_once:?}");
}

/// Needs no Slurm: the script is only printed.
#[test]
fn a_member_has_its_node_s_memory_unless_a_line_says_otherwise() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let asks = |more: &[&str]| -> Vec<String> {
        let arguments = [&["fleet", "slurm", "small.toml", "--nodes", "3", "--print"], more].concat();
        let script = world.surefoot(&arguments).status(0).stdout;
        script.lines().filter(|line| line.starts_with("#SBATCH --mem")).map(str::to_string).collect()
    };
    assert_eq!(asks(&[]), ["#SBATCH --mem=0"]);
    assert_eq!(asks(&["--sbatch", "--mem-per-cpu=2G"]), ["#SBATCH --mem-per-cpu=2G"]);
}

/// It had been killed after eleven minutes.
#[test]
fn a_member_may_take_as_long_as_trials_may_whose_length_nobody_knows() {
    let world = World::new();
    let unknown = "time = \"0s\"\ntransactions = 100";
    world.write("small.toml", small_study(&["ext4"], 1).replace("time = \"300ms\"", unknown));
    let script = world.surefoot(&["fleet", "slurm", "small.toml", "--nodes", "3", "--print"]).status(0).stdout;
    let minutes = script.lines().find_map(|line| line.strip_prefix("#SBATCH --time="));
    let minutes: u32 = minutes.and_then(|minutes| minutes.parse().ok()).expect("a time limit in minutes");
    assert!((100..110).contains(&minutes), "ext4 and the control, half an hour each: {minutes}");
}

#[test]
fn a_fleet_under_slurm_survives_what_happens_to_its_nodes() {
    let world = World::new();
    let Some(mut cluster) = Cluster::up(&world.path().join("lab")) else { return };
    // Trials long enough that Slurm gives up a node while its member still works.
    world.write("small.toml", small_study(&["ext4", "ext3"], 2).replace("300ms", "1500ms"));
    let script = surefoot(&cluster, &["fleet", "slurm", "small.toml", "--nodes", "3", "--print"]).status(0);
    script
        .says("#SBATCH --array=1-3")
        .says("#SBATCH --exclusive")
        .says("#SBATCH --mem=0")
        .says("#SBATCH --requeue")
        .says("--member \"$SLURM_ARRAY_TASK_ID/3\"");

    submit(&cluster, "small.toml", "calm", "3");
    cluster.wait_until("the calm fleet is done", |cluster| {
        queue_is_empty(cluster) && all_have(&status(cluster, "calm"), 3)
    });
    surefoot(&cluster, &["fleet", "collect", "calm", "-o", "calm.surefoot"]).status(0).says("on these 3 hosts only");
    assert!(!world.path().join("work-n1").exists(), "a member that is done leaves nothing on its node");

    submit(&cluster, "small.toml", "stormy", "3");
    cluster.wait_until("each has a round", |cluster| all_have(&status(cluster, "stormy"), 1));
    let before = hosts(&status(&cluster, "stormy"));
    assert_eq!(before.keys().collect::<Vec<_>>(), ["n1", "n2", "n3"]);
    // One node dies, of one the daemon, the last one's network is cut for a moment, and the controller has to start again.
    cluster.kill("n1");
    cluster.kill_daemon("n2", "slurmd");
    cluster.link("n3", "down");
    cluster.kill_daemon(HEAD, "slurmctld");
    cluster.start_daemon(HEAD, "slurmctld");
    std::thread::sleep(Duration::from_secs(3));
    cluster.link("n3", "up");
    cluster.start_daemon("n2", "slurmd");
    let of_dead_node = before["n1"];
    start_again(&cluster, "stormy", of_dead_node);
    cluster.wait_until("the stormy fleet is done", |cluster| {
        queue_is_empty(cluster) && all_have(&status(cluster, "stormy"), 3)
    });
    let members = status(&cluster, "stormy");
    // The dead node's member was started again on another one; its own copy stays with what it had by then.
    let [dead, again] = &starts(&members[of_dead_node as usize - 1])[..] else { panic!("{members:#?}") };
    assert!(dead["ended"].is_null() && again["host"] != "n1", "{members:#?}");
    surefoot(&cluster, &["fleet", "status", "stormy"]).status(0).says("3 of 3 members have all their rounds");
    let collected = surefoot(&cluster, &["fleet", "collect", "stormy", "-o", "stormy.surefoot"]).status(0);
    collected.says(&format!("Member {of_dead_node} was started 2 times"));

    // A hole is filled by that task alone.
    let copy = world.path().join(format!("calm/small.member-{of_dead_node}-of-3.attempt-1.surefoot"));
    std::fs::remove_file(&copy).expect("it was there");
    surefoot(&cluster, &["fleet", "collect", "calm", "-o", "hole.surefoot"]).status(3).says("has no results");
    let array = format!("--array={of_dead_node}");
    assert!(cluster.run(&["sbatch", &array, "calm/slurm.sh"]).status.success());
    cluster
        .wait_until("the hole is filled", |cluster| queue_is_empty(cluster) && all_have(&status(cluster, "calm"), 3));
    // The first answer has that member's first start, which is nowhere else now.
    let over_it = surefoot(&cluster, &["fleet", "collect", "calm", "-o", "calm.surefoot"]).status(2);
    over_it.says(&format!("holds member {of_dead_node} on ")).says("not among what is merged");
    surefoot(&cluster, &["fleet", "collect", "calm", "-o", "filled.surefoot"]).status(0).says("on these");

    assert_eq!(
        design(&world.report("filled.surefoot")),
        design(&world.report("stormy.surefoot")),
        "the same is measured, whatever happens"
    );
    drop(cluster);
    world.assert_nothing_left();
}

/// The member works on while its node is given up, and a second start begins elsewhere; when the node comes back Slurm ends one of them, or both.
#[test]
fn a_network_that_is_cut_for_long_costs_a_hole_at_most() {
    let world = World::new();
    let Some(cluster) = Cluster::up(&world.path().join("lab")) else { return };
    world.write("small.toml", small_study(&["ext4", "ext3"], 2).replace("300ms", "1500ms"));
    submit(&cluster, "small.toml", "cut", "5");
    cluster.wait_until("each has a round", |cluster| all_have(&status(cluster, "cut"), 1));
    let member = hosts(&status(&cluster, "cut"))["n3"];
    cluster.link("n3", "down");
    start_again(&cluster, "cut", member);
    cluster.wait_until("a second start has begun", |cluster| {
        starts(&status(cluster, "cut")[member as usize - 1]).len() == 2 || queue_is_empty(cluster)
    });
    cluster.link("n3", "up");
    cluster.wait_until("nobody works", queue_is_empty);
    let collect = || surefoot(&cluster, &["fleet", "collect", "cut", "-o", "cut.surefoot"]);
    let collected = collect();
    if collected.status != Some(0) {
        collected.status(3).says(&format!("Missing, of 3 members: member {member} on "));
        assert!(cluster.run(&["sbatch", &format!("--array={member}"), "cut/slurm.sh"]).status.success());
        cluster.wait_until("the hole is filled", |cluster| {
            queue_is_empty(cluster) && all_have(&status(cluster, "cut"), 5)
        });
    }
    collect().status(0).says(&format!("Member {member} was started "));
    let measured = design(&world.report("cut.surefoot"));
    let expected: Vec<(u64, u64)> = (0..45).map(|trial| (trial / 15 + 1, trial / 3)).collect();
    assert_eq!(measured.iter().map(|trial| (trial.0, trial.1)).collect::<Vec<_>>(), expected, "each trial once");
    drop(cluster);
    world.assert_nothing_left();
}

/// Who may do nothing but submit a job has guest kernels, in which members are root.
#[test]
fn an_ordinary_user_s_fleet_runs_in_guest_kernels() {
    let (world, binary) = of_ordinary_user();
    let Some(cluster) = Cluster::up(&world.path().join("lab")) else { return };
    let study = small_study(&["ext4", "ext3"], 1).replace("\"small\"", "\"all\"");
    world.write("all.toml", study + "control = false\n");
    let binary = binary.to_string_lossy();
    let as_user = |arguments: &[&str]| {
        let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", &*binary];
        said(&cluster.inside(HEAD, &[&user, arguments].concat()).output().expect("nsenter starts"))
    };
    let fleet = ["fleet", "slurm", "all.toml", "--nodes", "3", "--results", "shared", "--work", "work"];
    as_user(&fleet).status(0).says("not root: trials run in a guest kernel").says("submitted job");
    cluster.wait_until("the user's fleet is done", |cluster| {
        queue_is_empty(cluster) && all_have(&status(cluster, "shared"), 1)
    });
    as_user(&["fleet", "collect", "shared", "-o", "all.surefoot"]).status(0).says("on these 3 hosts only");
    let ledger = world.report("all.surefoot")["ledger"].take();
    let trials = ledger["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 6, "two scenarios on three nodes");
    for trial in trials {
        assert_eq!(trial["state"], "finished", "{trial}");
        assert!(trial["facts"]["guest_kernel"].as_str().is_some_and(|kernel| kernel.starts_with("Linux ")), "{trial}");
    }
    let copies = world.path().join("shared").read_dir().expect("a folder").flatten();
    assert!(
        copies.map(|copy| copy.metadata().expect("it is there").uid()).all(|owner| owner == USER),
        "nothing is root's"
    );
    for node in NODES {
        assert!(!world.path().join(format!("work-{node}")).exists(), "a member that is done leaves nothing on {node}");
    }
    drop(cluster);
    world.assert_nothing_left();
}
