//! `[safety]`: what is asked of power cuts.

use crate::{Small, check, check_with, planned, right};
use expect_test::expect;
use study::{AtomicUnit, Load, Safety};

#[test]
fn without_the_table_nothing_is_measured_and_an_empty_one_has_defaults() {
    assert_eq!(right("[workload.oltp]\n").safety, None);
    let safety = right("[workload.oltp]\n[safety]\n").safety.expect("asked for");
    assert_eq!(safety, Safety::default());
    assert_eq!((safety.budget_seconds, safety.time_seconds, safety.connections), (10.0, 3.0, 2));
    assert_eq!((safety.disk_bytes, safety.log_bytes_max), (512 << 20, 1 << 30));
    assert_eq!((safety.unit.bytes(), &*safety.profile), (4096, "none"));
    assert_eq!((safety.load, safety.files, safety.cache, safety.classes), (Load::Commits, None, None, None));
}

#[test]
fn every_setting_arrives() {
    let text = r#"
[workload.oltp]
[safety]
load = "files"
files = "rename-fsync"
budget = "1min"
time = "500ms"
size = "1GiB"
unit = "512"
cache = "write-through"
disk = "nvme-plp"
log = "64MiB"
connections = 7
classes = ["A", "C"]
"#;
    let safety = right(text).safety.expect("asked for");
    let expected = Safety {
        load: Load::Files,
        files: Some("rename-fsync".into()),
        budget_seconds: 60.0,
        time_seconds: 0.5,
        disk_bytes: 1 << 30,
        unit: AtomicUnit::Sector,
        cache: Some("write-through".into()),
        profile: "nvme-plp".into(),
        log_bytes_max: 64 << 20,
        connections: 7,
        write_back: None,
        faults: None,
        fault_budget_seconds: 60.0,
        fault_blocks: None,
        fault_delay_seconds: 0.02,
        fault_stall_seconds: 1.0,
        classes: Some(vec!["A".into(), "C".into()]),
    };
    assert_eq!(safety, expected);
    let plain = serde_json::to_value(&safety).expect("plain data");
    assert_eq!(plain["unit"], "512", "as the table has it");
    assert_eq!(plain["disk"], "nvme-plp", "as the table has it");
    assert_eq!(serde_json::from_value::<Safety>(plain).expect("the same table"), expected);
}

#[test]
fn write_back_is_of_commits() {
    let write_back =
        |text: &str| right(&format!("[workload.oltp]\n[safety]\n{text}")).safety.expect("asked for").write_back;
    assert_eq!((write_back(""), write_back("write_back = false\n")), (None, Some(false)));
    let vain = "[workload.oltp]\n[safety]\nload = \"files\"\nwrite_back = false\n";
    let wrong = planned(vain, &[]).expect_err("files have their neighbour");
    assert!(wrong.contains("`safety.write_back` has no effect with load = \"files\""), "{wrong}");
}

#[test]
fn every_word_of_a_choice_is_known() {
    for setting in study::SAFETY {
        let settings::Kind::Choice(words) = setting.kind else { continue };
        for word in words {
            // With the other load it would have no effect.
            let load = if setting.name == "files" { "load = \"files\"\n" } else { "" };
            let text = format!("[workload.oltp]\n[safety]\n{load}{} = \"{word}\"\n", setting.name);
            let safety = right(&text).safety;
            let plain = serde_json::to_value(safety).expect("plain data");
            assert_eq!(plain[setting.name], *word);
        }
    }
}

#[test]
fn a_results_file_goes_on_with_and_without_it() {
    let hash = |changes: &[(&str, &str)]| {
        let plan = planned("[workload.oltp]\n", changes).expect("right");
        (plan.hash, plan.safety.map(|safety| safety.budget_seconds))
    };
    let (without, none) = hash(&[]);
    assert_eq!(none, None);
    assert_eq!(hash(&[("safety.budget", "5s")]), (without.clone(), Some(5.0)), "one setting is enough to ask for it");
    assert_eq!(hash(&[("safety.cache", "lying"), ("safety.classes", "[\"B\"]")]).0, without);
}

#[test]
fn what_is_wrong_is_said() {
    check(
        "[workload.oltp]\n[safety]\nbuget = \"1s\"\nunit = 512\ncache = \"lyin\"\nclasses = [\"A\", \"G\"]\n",
        &expect![[r#"
            5:1 `buget` is not a setting of `safety` | settings of `safety`: load, files, budget, time, size, unit, cache, disk, log, connections, write_back, faults, fault_budget, fault_blocks, fault_delay, fault_stall, classes (did you mean `budget`?)
            6:8 `safety.unit` can't be 512 | expected one of 512, 4096
            7:9 `safety.cache` can't be "lyin" | expected one of volatile, write-through, lying (did you mean `lying`?)
            8:11 `safety.classes` can't have "G" | expected some of A, B, C, D, E, F
        "#]],
    );
    check(
        "safety = 3\n[workload.oltp]\n",
        &expect![[r#"
        3:10 `safety` is not a table | [safety] and its settings
    "#]],
    );
    check(
        "[workload.oltp]\n[safety]\nclasses = []\n",
        &expect![[r#"
        5:11 `safety.classes` names no class | at least one of A, B, C, D, E, F
    "#]],
    );
    // Each scenario's power cuts had failed, once all rounds were measured.
    check(
        "[workload.oltp]\n[safety]\nsize = \"100MB\"\n",
        &expect![[r#"
            5:8 `safety.size` is 100000000 bytes, and a disk has whole pages of 4096 | the next size that has is "100003840B"
        "#]],
    );
    check_with(
        "[workload.oltp]\n",
        &[("safety.time", "3"), ("safety.clases", "[]")],
        &expect![[r#"
        - `safety.time` can't be 3 | expected a time from 100ms to 10min, in us, ms, s, min or h, like "30s" or "1h 30min"
        - `clases` is not a setting of `safety` | settings of `safety`: load, files, budget, time, size, unit, cache, disk, log, connections, write_back, faults, fault_budget, fault_blocks, fault_delay, fault_stall, classes (did you mean `classes`?)
    "#]],
    );
}

#[test]
fn a_way_to_replace_files_needs_files() {
    check(
        "[workload.oltp]\n[safety]\nfiles = \"rename\"\nclasses = []\n",
        &expect![[r#"
            5:9 `safety.files` has no effect with load = "commits" | only files are replaced: load = "files"
            6:11 `safety.classes` names no class | at least one of A, B, C, D, E, F
        "#]],
    );
}

#[test]
fn it_is_no_factor() {
    check(
        "[workload.oltp]\n[factors]\nsafety.unit = [\"512\", \"4096\"]\n",
        &expect![[r#"
        5:1 `safety` is neither a setting's path nor a factor with named levels | a path begins with storage, service, workload, memory, cpus, bench, guest; named levels are tables of settings
    "#]],
    );
}

#[test]
fn editors_know_it() {
    let safety = &study::schema(&Small)["properties"]["safety"];
    assert_eq!(safety["additionalProperties"], false);
    assert_eq!(safety["properties"]["load"]["default"], "commits");
    assert_eq!(safety["properties"]["files"]["enum"][0], "rename");
    assert_eq!(safety["properties"]["unit"]["enum"][1], "4096");
    assert_eq!(safety["properties"]["budget"]["default"], "10s");
    assert_eq!(safety["properties"]["classes"]["items"]["enum"][5], "F");
}
