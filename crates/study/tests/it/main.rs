//! Study files: what they come to, and every way to be told what is wrong.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value};
use settings::{Kind, Setting};
use study::{Catalogue, Override, Plan, Problem, plan, position, read};

/// A small world of storage and two workloads.
struct Small;

const STORAGE: &[Setting] = &[
    Setting { name: "filesystem", kind: Kind::Choice(&["ext3", "ext4", "xfs"]), default: Some("ext4"), help: "Which." },
    Setting { name: "size", kind: Kind::Bytes { min: 1, max: u64::MAX }, default: Some("1GiB"), help: "How large." },
    Setting { name: "mount", kind: Kind::TextList, default: Some("[]"), help: "Options." },
];
const OLTP: &[Setting] = &[Setting { name: "threads", kind: Kind::Integer { min: 1, max: 1_000_000 }, default: Some("1"), help: "Threads." },
    Setting { name: "rows", kind: Kind::Integer { min: 1, max: 1_000_000 }, default: Some("1"), help: "Rows." },
    Setting { name: "tables", kind: Kind::Integer { min: 1, max: 1_000_000 }, default: Some("1"), help: "Tables." }];
const TREE: &[Setting] = &[Setting { name: "files", kind: Kind::Integer { min: 1, max: 9 }, default: Some("1"), help: "Files." }];

impl Catalogue for Small {
    fn storage(&self) -> &'static [Setting] {
        STORAGE
    }
    fn storage_problems(&self, storage: &Map<String, Value>) -> Vec<(String, String)> {
        let bad = storage["filesystem"] == "xfs" && storage["mount"] == serde_json::json!(["data=journal"]);
        bad.then(|| ("mount".to_string(), "xfs has no data=journal".to_string())).into_iter().collect()
    }
    fn workloads(&self) -> Vec<&'static str> {
        vec!["oltp", "tree"]
    }
    fn workload(&self, name: &str) -> Option<&'static [Setting]> {
        match name {
            "oltp" => Some(OLTP),
            "tree" => Some(TREE),
            _ => None,
        }
    }
    fn workload_problems(&self, _: &str, _: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }
}

const HEAD: &str = "name = \"s\"\nquestion = \"?\"\n";

fn told(text: &str, problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        let place = problem.span.as_ref().map_or("-".to_string(), |span| {
            let (line, column) = position(text, span.start);
            format!("{line}:{column}")
        });
        let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{place} {} | {}{hint}\n", problem.message, problem.label)
    };
    problems.iter().map(line).collect()
}

fn planned(text: &str, changes: &[(&str, &str)]) -> Result<Plan, String> {
    let changes: Vec<Override> =
        changes.iter().map(|(path, value)| Override { path: (*path).into(), value: (*value).into() }).collect();
    let (study, problems) = read(text, &changes, &Small);
    let study = study.ok_or_else(|| told(text, &problems))?;
    plan(&study).map_err(|problem| told(text, &[problem]))
}

#[track_caller]
fn check_with(body: &str, changes: &[(&str, &str)], expect: &Expect) {
    let text = format!("{HEAD}{body}");
    let found = match planned(&text, changes) {
        Ok(plan) => plan.scenarios.iter().map(|scenario| format!("{}\n", scenario.label)).collect(),
        Err(problems) => problems,
    };
    expect.assert_eq(&found);
}

#[track_caller]
fn check(body: &str, expect: &Expect) {
    check_with(body, &[], expect);
}

#[test]
fn levels_times_levels_and_the_control() {
    check(
        "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n\"workload.oltp.threads\" = [1, 4]\n[workload.oltp]\n",
        &expect![[r#"
            ext4 · threads=1
            ext4 · threads=4
            xfs · threads=1
            xfs · threads=4
            ext4 · threads=1 (control)
        "#]],
    );
}

#[test]
fn dotted_keys_need_no_quotes() {
    check("[factors]\nstorage.filesystem = [\"ext4\", \"xfs\"]\n[workload.oltp]\n[design]\ncontrol = false\n", &expect![[r#"
        ext4
        xfs
    "#]]);
}

#[test]
fn named_levels_group_settings_and_a_baseline_is_chosen() {
    let body = "[factors.journal]\nordered = { \"storage.filesystem\" = \"ext3\" }\nfast = { storage.filesystem = \"ext4\", storage.mount = [\"nobarrier\"] }\n[baseline]\njournal = \"fast\"\n[workload.oltp]\n";
    check(body, &expect![[r#"
        ordered
        fast
        fast (control)
    "#]]);
    let plan = planned(&format!("{HEAD}{body}"), &[]).expect("it is right");
    assert_eq!(plan.scenarios[1].storage["mount"], serde_json::json!(["nobarrier"]));
    assert_eq!(plan.scenarios[0].storage["mount"], serde_json::json!([]));
}

#[test]
fn a_factor_of_one_workload_leaves_the_other_alone() {
    check(
        "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n\"workload.oltp.threads\" = [1, 4]\n[workload.oltp]\n[workload.tree]\n",
        &expect![[r#"
            oltp · ext4 · threads=1
            oltp · ext4 · threads=4
            oltp · xfs · threads=1
            oltp · xfs · threads=4
            tree · ext4
            tree · xfs
            oltp · ext4 · threads=1 (control)
            tree · ext4 (control)
        "#]],
    );
}

#[test]
fn excludes_take_out_and_includes_bring_back() {
    let body = "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n\"workload.oltp.threads\" = [1, 4]\n[[exclude]]\n\"storage.filesystem\" = \"xfs\"\n[[include]]\n\"storage.filesystem\" = \"xfs\"\n\"workload.oltp.threads\" = 4\n[workload.oltp]\n[design]\ncontrol = false\n";
    check(body, &expect![[r#"
        ext4 · threads=1
        ext4 · threads=4
        xfs · threads=4
    "#]]);
    check(
        "[factors]\n\"storage.filesystem\" = [\"ext4\"]\n[[exclude]]\n\"storage.filesystem\" = \"ext4\"\n[workload.oltp]\n",
        &expect![[r#"
            - the excludes leave no scenario | at least one
        "#]],
    );
    check(
        "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[[exclude]]\n\"storage.filesystem\" = \"ext3\"\nstorage.size = \"1GiB\"\n[workload.oltp]\n",
        &expect![[r#"
            6:24 "ext3" is not a level of `storage.filesystem` | its levels: ext4, xfs (did you mean `ext4`?)
            7:9 `storage.size` in `exclude` is not a factor | factors of this study: storage.filesystem (did you mean `storage.filesystem`?)
        "#]],
    );
}

#[test]
fn every_problem_at_once_with_its_place() {
    check(
        "qestion = 1\n[factors]\n\"storage.filesytem\" = [\"ext4\"]\n\"workload.oltp.threads\" = [1, 1, 0, \"x\"]\n\"storage.size\" = []\njournal = 3\n[storage]\nsise = \"1GiB\"\nsize = 5\n[workload.oltp]\n[workload.tre]\n[design]\nrounds_min = 9\nrounds_max = 2\nprecision = \"3\"\n",
        &expect![[r#"
            3:1 `qestion` is not a setting of a study | settings of a study: name, question, memory, bench, parity, factors, include, exclude, baseline, storage, workload, design, cpus (did you mean `question`?)
            10:1 `sise` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `size`?)
            11:8 `storage.size` can't be 5 | expected a size of 1B or more, with its unit, like "4GiB"
            13:11 `tre` is not a setting of `workload` | settings of `workload`: oltp, tree (did you mean `tree`?)
            17:13 `design.precision` can't be "3" | expected a share from 0.1% to 100%, like "2%"
            16:14 design.rounds_max (2) is below design.rounds_min (9) | at least rounds_min
            5:1 `filesytem` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `filesystem`?)
            6:34 `workload.oltp.threads` can't be 0 | expected a whole number from 1 to 1000000
            6:37 `workload.oltp.threads` can't be "x" | expected a whole number from 1 to 1000000
            6:27 the factor `workload.oltp.threads` has the level `threads=1` twice | each level once
            7:18 the factor `storage.size` has no levels | at least one level
            8:1 `journal` is neither a setting's path nor a factor with named levels | a path begins with storage, workload, memory, cpus or bench; named levels are tables of settings
        "#]],
    );
}

#[test]
fn empty_and_broken_files() {
    let (study, problems) = read("", &[], &Small);
    assert!(study.is_none());
    expect![[r#"
        - the study has no workload | a table [workload.NAME]; workloads: oltp, tree
        - the study has no name | name = "…" at the top of the file
    "#]]
    .assert_eq(&told("", &problems));
    let text = "name = \"x\n[workload.oltp]\n= 3\n";
    let (_, problems) = read(text, &[], &Small);
    assert!(problems.len() >= 2, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.message.starts_with("this is not TOML")), "{problems:?}");
}

#[test]
fn settings_that_do_not_fit_together_name_the_scenario() {
    check(
        "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[storage]\nmount = [\"data=journal\"]\n[workload.oltp]\n",
        &expect![[r#"
            5:1 storage.mount: xfs has no data=journal | in the scenario `xfs`
        "#]],
    );
}

#[test]
fn a_billion_scenarios_are_counted() {
    let levels = (1..=1000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let factors = ["threads", "rows", "tables"].map(|name| format!("\"workload.oltp.{name}\" = [{levels}]\n")).concat();
    check(&format!("[factors]\n{factors}[workload.oltp]\n"), &expect![[r#"
        - the factors make 1,000,000,000 scenarios | at most 10,000; leave out levels, or split the question
    "#]]);
}

#[test]
fn the_command_line_changes_settings_and_factors() {
    let body = "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[factors.journal]\na = { storage.size = \"1GiB\" }\nb = { storage.size = \"2GiB\" }\n[workload.oltp]\n[design]\ncontrol = false\n";
    check_with(body, &[("storage.filesystem", "xfs"), ("workload.oltp.threads", "7")], &expect![[r#"
        a
        b
    "#]]);
    check_with(body, &[("storage.filesystem", "[\"ext3\", \"xfs\"]"), ("journal", "b")], &expect![[r#"
        ext3
        xfs
    "#]]);
    check_with(body, &[("journal", "c"), ("storage.sise", "1GiB"), ("design.rounds_max", "many")], &expect![[r#"
        - "c" is not a level of `journal` | its levels: a, b
        - `sise` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `size`?)
        - `design.rounds_max` can't be "many" | expected a whole number from 1 to 10000
        - the factor `journal` has no levels | at least one level
    "#]]);
    let plan = planned(&format!("{HEAD}{body}"), &[("workload.oltp.threads", "7"), ("memory", "1GiB")]).expect("right");
    assert_eq!(plan.scenarios[0].parameters["threads"], 7);
    assert_eq!(plan.scenarios[0].memory_bytes, Some(1 << 30));
}

#[test]
fn a_baseline_matches_one_scenario() {
    let body = "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n\"workload.oltp.threads\" = [1, 2]\n[baseline]\n\"storage.filesystem\" = \"xfs\"\n[workload.oltp]\n";
    check(body, &expect![[r#"
        6:1 the baseline matches 2 scenarios | name more factors: `xfs · threads=1` and `xfs · threads=2` both match
    "#]]);
}

#[test]
fn more_rounds_are_the_same_study_and_another_seed_is_not() {
    let body = format!("{HEAD}[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[workload.oltp]\n");
    let hash = |changes: &[(&str, &str)]| planned(&body, changes).expect("right").hash;
    assert_eq!(hash(&[]), hash(&[("design.rounds_max", "50"), ("design.precision", "1%")]));
    assert_ne!(hash(&[]), hash(&[("design.seed", "2")]));
    assert_ne!(hash(&[]), hash(&[("workload.oltp.threads", "2")]));
}

#[test]
fn only_keeps_a_baseline_and_its_control() {
    let body = format!("{HEAD}[factors]\n\"storage.filesystem\" = [\"ext3\", \"ext4\", \"xfs\"]\n[workload.oltp]\n");
    let mut plan = planned(&body, &[]).expect("right");
    plan.only(&["ext4".into(), "storage.filesystem=xfs".into()]);
    let labels: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.label.as_str()).collect();
    assert_eq!(labels, ["ext4", "xfs", "ext4 (control)"]);
    assert_eq!(plan.baseline, 0);
}

#[test]
fn the_schema_says_what_the_check_says() {
    let schema = study::schema(&Small);
    assert_eq!(schema["properties"]["storage"]["properties"]["filesystem"]["enum"][2], "xfs");
    assert_eq!(schema["properties"]["design"]["properties"]["rounds_min"]["default"], 6);
    assert_eq!(schema["properties"]["workload"]["properties"]["tree"]["additionalProperties"], false);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = read(&text, &[], &Small);
    }

    #[test]
    fn no_toml_like_text_makes_it_panic(lines in prop::collection::vec("(\\[\\[?[a-z.]{1,9}\\]\\]?|[a-z\".]{1,9} = (1|\"x\"|\\[\\]|\\[1, \"a\"\\]|\\{ a = 1 \\}))", 0..12)) {
        let text = format!("{HEAD}{}", lines.join("\n"));
        let (study, problems) = read(&text, &[], &Small);
        prop_assert_eq!(study.is_none(), !problems.is_empty());
        for problem in problems {
            prop_assert!(problem.span.is_none_or(|span| span.end <= text.len()));
        }
    }

    #[test]
    fn an_order_is_every_scenario_once_and_seeded(levels in 1_usize..9, round in 0_u32..50, seed in 0_u64..1000) {
        let threads = (1..=levels).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let body = format!("{HEAD}[factors]\n\"workload.oltp.threads\" = [{threads}]\n[workload.oltp]\n[design]\nseed = {seed}\n");
        let plan = planned(&body, &[]).expect("right");
        let mut order = plan.order(round);
        prop_assert_eq!(&order, &plan.order(round));
        order.sort_unstable();
        prop_assert_eq!(order, (0..levels + 1).collect::<Vec<_>>());
        let seeds: Vec<u64> = (0..levels).map(|scenario| plan.trial_spec(scenario, round, 0).seed).collect();
        prop_assert!(seeds.iter().all(|seed| *seed == seeds[0]), "the same work for all scenarios of a round");
        prop_assert_ne!(seeds[0], plan.trial_spec(0, round + 1, 0).seed);
    }
}
