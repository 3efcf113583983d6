//! One study on many machines: members that are started, killed and started twice.

use crate::harness::{Said, World, said, small_study, wait_until};
use crate::serve::Server;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::process::Command;

/// A member on a machine of this name, with a work folder of its own.
fn member(world: &World, host: &str, which: &str) -> Command {
    let work = format!("work-{host}");
    let mut command =
        world.command(&["run", "small.toml", "--member", which, "--results", "fleet", "--work", &work, "--quiet"]);
    command.env("SUREFOOT_HOST", host);
    command
}

fn run(world: &World, host: &str, which: &str) -> Said {
    said(&member(world, host, which).output().expect("surefoot starts"))
}

fn ledger(world: &World, file: &str) -> Value {
    world.report(file)["ledger"].clone()
}

fn copies(world: &World) -> Vec<String> {
    let entries = world.path().join("fleet").read_dir().expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_member_that_is_killed_goes_on_and_one_that_is_started_twice_has_two_files() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4", "ext3"], 2));
    let mut first = member(&world, "n1", "2/3").spawn().expect("surefoot starts");
    let copy = "fleet/small.member-2-of-3.attempt-1.surefoot";
    let rounds = || ledger::Reader::open(&world.path().join(copy)).and_then(|reader| reader.contents());
    wait_until("a round is shown", || rounds().is_ok_and(|shown| !shown.trials.is_empty()));
    // It stands still amid its second round, so that it has the work folder for as long as somebody else asks for that.
    kill(Pid::from_raw(first.id() as i32), Signal::SIGSTOP).expect("it runs");
    // On the same machine there is one at a time; another machine has a file of its own.
    run(&world, "n1", "2/3").status(2).says("is in use by process");
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    run(&world, "n2", "2/3").status(0).says("member 2 of 3 on n2: all rounds are done").says("attempt-2.surefoot");
    run(&world, "n1", "2/3").status(0).says("attempt-1.surefoot");
    assert_eq!(copies(&world), ["small.member-2-of-3.attempt-1.surefoot", "small.member-2-of-3.attempt-2.surefoot"]);
    let (first, second) = (ledger(&world, copy), ledger(&world, "fleet/small.member-2-of-3.attempt-2.surefoot"));
    assert_eq!(first["study"]["hash"], second["study"]["hash"]);
    assert_eq!(first["study"]["seed"], second["study"]["seed"]);
    assert_eq!(first["sessions"].as_array().map(Vec::len), Some(2), "the first went on");
    let host = |ledger: &Value| ledger["members"][0]["host"]["name"].clone();
    assert_eq!((host(&first), host(&second)), ("n1".into(), "n2".into()));
    let orders = |ledger: &Value| -> Vec<Value> {
        let all = ledger["trials"].as_array().expect("trials").iter();
        all.filter(|trial| trial["state"] == "finished")
            .map(|trial| serde_json::json!([trial["scenario"], trial["round"], trial["position"], trial["seed"]]))
            .collect()
    };
    assert_eq!((orders(&first), orders(&first).len()), (orders(&second), 6), "the same orders and data on any machine");
    world.assert_nothing_left();
    a_merged_fleet_has_an_answer(&world);
}

/// Member 2 was measured twice, member 3 is missing, then comes.
fn a_merged_fleet_has_an_answer(world: &World) {
    let member_2 = "fleet/small.member-2-of-3.attempt-1.surefoot";
    run(world, "n3", "1/3").status(0);
    let merged = || world.surefoot(&["merge", "fleet", "-o", "all.surefoot"]);
    merged()
        .status(3)
        .says("on these 2 hosts only")
        .says("member 3 has no results")
        .says("Member 2 was started 2 times");
    // Served, the folder is as `fleet status` and `merge` have it, and follows.
    let server = Server::start(world, &["fleet"]);
    let shown = |words: &[&str]| {
        let page = server.get("/fleet");
        words.iter().for_each(|words| assert!(page.contains(words), "no {words:?} in {page}"));
    };
    shown(&[
        "2 of 3 members have all their rounds",
        "on these 2 hosts only",
        "no results yet",
        "2 of 2 rounds on n2 (start 2)",
    ]);
    let version = server.get("/fleet/version");
    run(world, "n4", "3/3").status(0);
    assert_ne!(server.get("/fleet/version"), version);
    shown(&[
        "3 of 3 members have all their rounds",
        "on these 3 hosts only",
        "data-ask=\"/fleet/version\"",
        "2 of 2 rounds on n4",
    ]);
    assert_eq!(copies(world).len(), 4, "serving writes nothing");
    drop(server);
    merged().status(0).says("on these 3 hosts only").says("these hosts only, and nothing is said of another machine");
    let again = world.surefoot(&["report", "all.surefoot", "--json"]).status(0).json();
    let hosts = again["analysis"]["hosts"].as_array().expect("hosts").iter();
    assert_eq!(hosts.map(|host| host["name"].clone()).collect::<Vec<_>>(), ["n3", "n1", "n4"]);
    let trials = again["ledger"]["trials"].as_array().expect("trials").iter();
    assert_eq!(trials.filter(|trial| trial["state"] == "finished").count(), 18);
    // Merged on, it is the same.
    world.surefoot(&["merge", "all.surefoot", member_2, "-o", "again.surefoot"]).status(0);
    assert_eq!(world.report("again.surefoot"), again);
    world
        .surefoot(&["status", "all.surefoot", "--verify"])
        .status(0)
        .says("members: 3; hosts: 3; trials: ")
        .says("trials and 18 runs read");
    assert!(
        std::fs::read_to_string(world.path().join("all.html")).expect("a page").contains("who is ahead on which host")
    );
    let server = Server::start(world, &["all.surefoot", "fleet"]);
    assert!(server.get("/all-2").contains("on these 3 hosts only"), "a merged file has its page, too");
    assert!(server.get("/").contains("A fleet: 3 of 3 members have all their rounds."));
    drop(server);
    what_was_measured_is_not_lost(world, member_2);
    // One member is a study of one machine; an answer of one machine over a fleet is refused.
    world.surefoot(&["report", "all.surefoot", "--member", "3"]).says("Too early to choose");
    world.surefoot(&["report", "all.surefoot", "--markdown"]).status(2).says("--member K shows one member");
    world.surefoot(&["compare", "all.surefoot", member_2]).status(2).says("what is asked for is of one machine");
    world.write("other.toml", small_study(&["ext4", "ext3"], 1).replace("table_size = 2000", "table_size = 3000"));
    let mut other = world.command(&["run", "other.toml", "--member", "3/3", "--results", "fleet", "--quiet"]);
    said(&other.output().expect("surefoot starts")).status(0);
    world.surefoot(&["merge", "fleet", "-o", "no.surefoot"]).status(2).says("the hash of the study's settings was");
}

fn what_was_measured_is_not_lost(world: &World, member_2: &str) {
    world.surefoot(&["merge", "all.surefoot", "-o", member_2]).status(2).says("is no fleet's answer");
    let onto = ["merge", "all.surefoot", member_2, "-o", "x.surefoot", "--html", member_2];
    world.surefoot(&onto).status(2).says("the page would be written over");
    // What the answer holds and the others do not is nowhere else, perhaps.
    let answer = std::fs::read(world.path().join("all.surefoot")).expect("merged");
    let member_1 = "fleet/small.member-1-of-3.attempt-1.surefoot";
    world
        .surefoot(&["merge", member_1, member_2, "-o", "all.surefoot"])
        .status(2)
        .says("holds member 3 on n4, which is not among what is merged");
    assert!(std::fs::read(world.path().join("all.surefoot")).expect("it stays") == answer);
    world.surefoot(&["merge", member_1, "all.surefoot", "-o", "all.surefoot"]).status(0);
    // Who looks when there is one member looks again later.
    world.surefoot(&["merge", member_1, "-o", "early.surefoot"]).status(3).says("so there is no answer over hosts");
    world.surefoot(&["merge", "fleet", "-o", "early.surefoot"]).status(0);
    world.surefoot(&["merge", "fleet", "all.surefoot", "-o", "all.surefoot"]).status(0);
    // The page is that of the answer, however soon its reader goes.
    std::fs::remove_file(world.path().join("all.html")).expect("its page");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut unread = world.command(&["merge", "fleet", "-o", "all.surefoot"]);
    assert!(!unread.stdout(writer).status().expect("surefoot starts").success());
    assert!(world.path().join("all.html").is_file());
    world.surefoot(&["merge", "fleet", "-o", "fleet/all.surefoot"]).status(0);
    world.surefoot(&["merge", "fleet", "-o", "fleet/all.surefoot"]).status(2).says("lies in a folder that is merged");
    std::fs::remove_file(world.path().join("fleet/all.surefoot")).expect("merged");
    std::fs::remove_file(world.path().join("fleet/all.html")).expect("its page");
    // Another host does not go on in the first one's work folder.
    let other = ["run", "small.toml", "--member", "2/3", "--results", "fleet", "--work", "work-n1", "--quiet"];
    let mut other = world.command(&other);
    said(&other.env("SUREFOOT_HOST", "n9").output().expect("surefoot starts"))
        .status(2)
        .says("holds member 2 of 3 on n1");
    // A fleet's answer is no file to measure into, whose rounds would be the first member's.
    let answer = std::fs::read(world.path().join("all.surefoot")).expect("merged");
    world.write("small.surefoot", &answer);
    for verb in ["run", "powercut"] {
        world.surefoot(&[verb, "small.toml", "--quiet"]).status(2).says("holds 3 members of a fleet");
    }
    assert!(std::fs::read(world.path().join("small.surefoot")).expect("it stays") == answer);
    let copy = world.path().join("fleet/small.member-2-of-3.attempt-2.surefoot");
    let kept = std::fs::read(&copy).expect("published");
    std::fs::remove_file(&copy).expect("removed");
    world.surefoot(&["clean", "--work", "work-n2"]).status(4).says("results that are nowhere else");
    // What can't be read is no reason to remove it: neither the ledger nor its copy.
    std::fs::write(&copy, &kept[..kept.len() / 2]).expect("written");
    world.surefoot(&["clean", "--work", "work-n2"]).status(4).says("results that are nowhere else");
    std::fs::write(&copy, kept).expect("put back");
    let mut entries = world.path().join("work-n2").read_dir().expect("a folder").flatten().map(|entry| entry.path());
    let own = entries.find(|path| path.extension().is_some_and(|end| end == "surefoot")).expect("its ledger");
    let whole = std::fs::read(&own).expect("readable");
    std::fs::write(&own, &whole[..whole.len() / 2]).expect("written");
    world.surefoot(&["clean", "--work", "work-n2"]).status(4).says("results that are nowhere else");
    std::fs::write(&own, whole).expect("put back");
    world.surefoot(&["clean", "--work", "work-n2"]).status(0).says("removed");
}

#[test]
fn what_is_no_member_is_refused() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let refused = |arguments: &[&str], words: &str| {
        let all = [&["run", "small.toml", "--member"], arguments].concat();
        world.surefoot(&all).status(2).says(words);
    };
    refused(&["auto"], "no variable of Slurm");
    refused(&["4/3"], "numbered from 1");
    refused(&["1/3", "--tune", "--rounds", "5..9"], "measures every scenario in rounds that are fixed in advance");
    refused(&["1/3", "--json"], "`--json` has no effect with --member");
    // "cannot make the folder of the results: File exists" had been all that was said, as a fault of ours.
    world.write("answer.surefoot", "");
    refused(&["1/3", "--results", "answer.surefoot"], "name the folder of all members' results");
    world.surefoot(&["faults", "small.toml", "--member", "1/3"]).status(2).says("not for `surefoot faults`");
    let mut array = world.command(&["run", "small.toml", "--member", "auto"]);
    for (name, value) in [("TASK_ID", "7"), ("TASK_COUNT", "1"), ("TASK_MIN", "7"), ("TASK_MAX", "7")] {
        array.env(format!("SLURM_ARRAY_{name}"), value);
    }
    said(&array.output().expect("surefoot starts")).status(2).says("--member 3/20");
}

#[test]
fn a_plan_forecasts_a_fleet() {
    let world = World::new();
    let said = world.surefoot(&["plan", "quick", "--members", "20"]).status(0);
    let said =
        said.says("hosts differ by 5%").says("assumed").says("4 hosts × 8 rounds: ±").says("20 hosts × 8 rounds: ±");
    // t(0.975, 19)·√((ln 1.05² + ln 1.03²/8)/20) = 2.36 %, by hand.
    said.says("20 hosts × 8 rounds: ±2.4 %, ");
    world.surefoot(&["plan", "quick", "--members", "4", "--spread", "1%,0%"]).status(0).says("±1.6 %, ");
    world.surefoot(&["plan", "quick", "--members", "4", "--spread", "1"]).status(2).says("`--spread 5%,3%`");
    // A fleet had been forecast that each of its members refuses to measure.
    world.surefoot(&["plan", "quick", "--members", "4", "--tune"]).status(2).says("asks for the best only");
}
