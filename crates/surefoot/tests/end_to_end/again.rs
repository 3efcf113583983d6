//! Who has only the report repeats the study: all that decides it stands there, and its command, typed into a shell, asks for the same.

use crate::harness::{World, said};
use std::process::Command;

/// Of a server, with levels that the second scenario's CPU makes impossible here.
const STUDY: &str = r#"name = "served"
question = "?"
[factors]
"service.postgres.settings.synchronous_commit" = ["on", "off"]
"cpus.client" = [[0], [4095]]
[storage]
filesystem = "ext4"
size = "320MiB"
[workload.oltp]
engine = "postgres"
table_size = 1000
threads = 2
time = "20s"
[design]
probe = "0s"
rounds_min = 1
rounds_max = 6
warm_up_runs = 0
control = false
"#;

fn study_of(world: &World) -> serde_json::Value {
    world.report("served.surefoot")["ledger"].clone()
}

/// Without what a line break or a narrow column adds.
fn joined(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '\u{200b}').collect()
}

fn poppler(world: &World, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(world.path()).output();
    String::from_utf8_lossy(&output.expect("it is part of poppler-utils").stdout).into_owned()
}

/// How lines of code begin on the page.
const CODE: &str = "<pre tabindex=\"0\">";

/// The command as a person reads it on the page.
fn command(page: &str) -> String {
    let from = page.find(&format!("{CODE}surefoot run")).expect("a command") + CODE.len();
    let command = page[from..].split("</pre>").next().expect("its end");
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    marks.iter().fold(command.to_string(), |text, (mark, sign)| text.replace(mark, sign))
}

#[test]
fn a_study_with_changes_and_a_server_can_be_done_again_from_its_report() {
    let world = World::new();
    world.write("served.toml", STUDY);
    let question = "question=Is it 'safe' & \"fast\" for $HOME at 9 %?";
    let words = ["run", "served.toml", "--set", question, "--set", "workload.oltp.time=200ms"];
    let options =
        ["--rounds", "2", "--only", "synchronous_commit=on", "--only=-none-", "--skip-missing", "--seed", "5"];
    world.surefoot(&[&words[..], &options].concat()).status(0);
    let ledger = study_of(&world);

    world.surefoot(&["report", "served.surefoot", "--pdf", "served.pdf"]).status(0);
    let paper = joined(&poppler(&world, "pdftotext", &["-raw", "served.pdf", "-"]));
    let page = std::fs::read_to_string(world.path().join("served.html")).expect("the page");
    let command = command(&page);
    let facts = &ledger["trials"][0]["facts"];
    let fact = |name: &str| facts[name].as_str().unwrap_or_else(|| panic!("no {name} in {facts}")).to_string();
    let read_back =
        ["postgres.version", "postgres.synchronous_commit", "mount_options", "filesystem_options"].map(fact);
    let version = world.surefoot(&["--version"]).stdout;
    // A parameter that the study names, one that it leaves alone, and what was left out.
    let settings =
        ["workload.oltp.time 0.2 all study", "workload.oltp.range_size 100 all default", "there is no CPU 4095"];
    let all = read_back.iter().map(String::as_str).chain(settings).chain(command.lines()).chain([version.as_str()]);
    for what in all {
        assert!(paper.contains(&joined(what)), "`{what}` is not in\n{paper}");
    }

    // Done again by somebody who has the paper and surefoot.
    let again = World::new();
    std::fs::copy(world.path().join("served.pdf"), again.path().join("served.pdf")).expect("the paper");
    poppler(&again, "pdfdetach", &["-savefile", "study.toml", "-o", "STUDY.toml", "served.pdf"]);
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_surefoot")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh").args(["-ec", &command]).env("PATH", path).current_dir(again.path()).output();
    said(&output.expect("a shell")).status(0);
    let repeated = study_of(&again);
    for what in ["hash", "asked", "overrides", "question", "seed", "analysis", "named"] {
        assert_eq!(repeated["study"][what], ledger["study"][what], "{what}");
    }
    assert_eq!(repeated["scenarios"], ledger["scenarios"]);
}

#[test]
fn a_built_in_study_is_called_by_its_name_and_every_other_command_is_kept() {
    let world = World::new();
    let set = ["workload.oltp.time=100ms", "design.probe=0s", "storage.size=320MiB"];
    let set = set.map(|change| ["--set", change]).concat();
    let rounds = |count| ["--rounds", count];
    let has_measured = |count| {
        let words = [&["run", "quick", "--only", "ext4"][..], &set, &rounds(count)].concat();
        !world.surefoot(&words).status(0).stderr.contains("nothing was measured: quick.surefoot had all of it")
    };
    assert_eq!(["1", "2", "1"].map(has_measured), [true, true, false]);
    // A plan goes on from what there is, or says that `run` would not.
    let plan =
        |more: &[&str]| world.surefoot(&[&["plan", "quick", "--only", "ext4"][..], &set, more].concat()).status(0);
    plan(&rounds("5")).says("measured:   2 rounds in quick.surefoot; each took ").says(", so 3 more take about ");
    let measured = plan(&["--json"]).json()["measured"].clone();
    assert!(
        measured["rounds"] == 2 && measured["round_seconds"].as_f64().is_some_and(|seconds| seconds > 0.1),
        "{measured}"
    );
    plan(&["--set", "workload.oltp.range_size=101"])
        .says("quick.surefoot holds the study `quick` as it was asked for otherwise");
    assert_eq!(plan(&["--results", "elsewhere.surefoot", "--json"]).json()["measured"], serde_json::Value::Null);
    let ledger = world.report("quick.surefoot")["ledger"].clone();
    let asked = ledger["study"]["asked"].as_array().expect("what was asked").clone();
    let rounds: Vec<&str> = asked.iter().filter_map(|asked| asked["overrides"][3].as_str()).collect();
    assert_eq!(rounds, ["design.rounds_min=1", "design.rounds_min=2"]);
    let page = std::fs::read_to_string(world.path().join("quick.html")).expect("the page");
    assert_eq!(page.matches(&format!("{CODE}surefoot run quick \\\n  --set workload.oltp.time=100ms")).count(), 2);
}
