//! What holds for any file.

use crate::{HEAD, Small, plan_of_file, planned};
use proptest::prelude::*;
use std::collections::HashSet;
use study::{Override, plan, position, read};

/// Lines that are nearly right, so that every stage is reached.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let table = prop::sample::select(vec![
        "[factors]",
        "[factors.x]",
        "[[exclude]]",
        "[[include]]",
        "[baseline]",
        "[storage]",
        "[workload.oltp]",
        "[workload.tree]",
        "[workload]",
        "[design]",
        "[cpus]",
        "[[storage]]",
        "[x.y]",
    ]);
    let key = prop::sample::select(vec![
        "name",
        "memory",
        "storage.filesystem",
        "\"storage.filesystem\"",
        "storage.size",
        "storage.mount",
        "workload",
        "cpus.client",
        "workload.oltp.threads",
        "workload.tree.files",
        "filesystem",
        "size",
        "threads",
        "rounds_min",
        "rounds_max",
        "x",
        "a",
        "journal",
        "\"é\"",
    ]);
    let value = prop::sample::select(vec![
        "1",
        "0",
        "2.5",
        "true",
        "\"ext4\"",
        "\"xfs\"",
        "\"1GiB\"",
        "\"2%\"",
        "[]",
        "[1, 2]",
        "[[1], [0]]",
        "[\"ext4\", \"xfs\"]",
        "[\"1GiB\", \"1024MiB\"]",
        "[[\"noatime\"], []]",
        "{ a = 1 }",
        "{ storage.size = \"2GiB\" }",
        "nan",
        "99999999999999999999",
        "\"é",
    ]);
    let line = prop_oneof![
        1 => table.prop_map(str::to_string),
        3 => (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
    ];
    prop::collection::vec(line, 0..14)
}

fn changes() -> impl Strategy<Value = Vec<(String, String)>> {
    let path = prop::sample::select(vec![
        "storage.filesystem",
        "storage.size",
        "storage.mount",
        "workload",
        "workload.oltp.threads",
        "workload.tree.files",
        "x",
        "memory",
        "design.rounds_max",
        "design",
        "factors",
        "baseline",
        "storage",
        "",
        ".",
        "name",
    ]);
    let value = prop::sample::select(vec![
        "xfs",
        "[\"ext4\", \"xfs\"]",
        "1GiB",
        "3",
        "[]",
        "[[]]",
        "oltp",
        "{ a = 1 }",
        "",
        "[",
        "a b",
    ]);
    prop::collection::vec((path.prop_map(str::to_string), value.prop_map(str::to_string)), 0..4)
}

fn check_any(text: &str, changes: &[(String, String)]) -> Result<(), TestCaseError> {
    let changes: Vec<Override> =
        changes.iter().map(|(path, value)| Override { path: path.clone(), value: value.clone() }).collect();
    let (study, problems) = read(text, &changes, &Small);
    prop_assert_eq!(study.is_none(), !problems.is_empty(), "a study or problems: {:?}", problems);
    for problem in &problems {
        prop_assert!(!problem.message.is_empty() && !problem.label.is_empty());
        if let Some(span) = &problem.span {
            prop_assert!(text.get(span.clone()).is_some(), "{:?} is no place in the text", span);
            prop_assert!(position(text, span.start) <= position(text, span.end));
        }
    }
    if let Some(study) = study {
        let plan = plan(&study, &serde_json::Map::clone).expect("what read accepts, plan accepts");
        let labels: HashSet<&str> = plan.scenarios.iter().map(|scenario| scenario.label.as_str()).collect();
        prop_assert_eq!(labels.len(), plan.scenarios.len(), "labels are unique");
        prop_assert!(plan.scenarios[plan.baseline].baseline);
        for workload in plan.workloads() {
            let of = || plan.scenarios.iter().filter(|scenario| scenario.workload == workload);
            prop_assert_eq!(of().filter(|scenario| scenario.baseline).count(), 1);
            prop_assert_eq!(of().filter(|scenario| scenario.control).count(), usize::from(plan.design.control));
        }
    }
    Ok(())
}

/// A matrix of `filesystems` × `threads`, with excludes of single combinations.
fn matrix(filesystems: usize, threads: usize, excluded: &HashSet<(usize, usize)>) -> String {
    let names = &["ext3", "ext4", "xfs"][..filesystems];
    let counts: Vec<usize> = (1..=threads).collect();
    let mut excluded: Vec<_> = excluded.iter().collect();
    excluded.sort();
    let rules = excluded.iter().map(|(filesystem, thread)| {
        format!("[[exclude]]\nstorage.filesystem = \"{}\"\nworkload.oltp.threads = {thread}\n", names[*filesystem])
    });
    format!(
        "[factors]\nstorage.filesystem = {names:?}\nworkload.oltp.threads = {counts:?}\n[workload.oltp]\n[design]\ncontrol = false\n{}",
        rules.collect::<String>()
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        check_any(&text, &[])?;
    }

    #[test]
    fn no_bytes_of_a_study_make_it_panic(lines in lines(), cut in 0_usize..400) {
        let text = format!("{HEAD}{}", lines.join("\n"));
        let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        check_any(&text[..cut], &[])?;
    }

    #[test]
    fn no_lines_and_changes_make_it_panic(lines in lines(), changes in changes()) {
        check_any(&format!("{HEAD}{}\n[workload.oltp]\n", lines.join("\n")), &changes)?;
        check_any(&format!("{HEAD}{}\n", lines.join("\n")), &changes)?;
    }

    #[test]
    fn excludes_take_out_what_they_name_and_nothing_else(
        filesystems in 1_usize..4,
        threads in 1_usize..6,
        places in prop::collection::hash_set((0_usize..3, 1_usize..6), 0..8),
    ) {
        let excluded: HashSet<_> = places.into_iter().filter(|(f, t)| *f < filesystems && *t <= threads).collect();
        let found = planned(&matrix(filesystems, threads, &excluded), &[]);
        if excluded.len() == filesystems * threads {
            prop_assert!(found.is_err_and(|said| said.contains("leave no scenario")));
        } else {
            let plan = found.expect("right");
            prop_assert_eq!(plan.scenarios.len(), filesystems * threads - excluded.len());
            for (filesystem, thread) in &excluded {
                let name = ["ext3", "ext4", "xfs"][*filesystem];
                let left = plan.scenarios.iter().any(|s| s.storage["filesystem"] == name && s.parameters["threads"] == *thread);
                prop_assert!(!left, "{} {} is still there", name, thread);
            }
        }
    }

    #[test]
    fn the_hash_depends_on_the_meaning_and_not_on_the_writing(seed in 0_u32..1000, threads in 1_u32..1000) {
        let hash = |text: &str| plan_of_file(text, &[]).expect("right").hash;
        let one = format!("{HEAD}[factors]\nstorage.size = [\"1GiB\", \"2GiB\"]\n[workload.oltp]\nthreads = {threads}\n[design]\nseed = {seed}\n");
        let other = format!(
            "question = \"another\"\nname = \"s\"\ndesign = {{ seed = {seed}, rounds_max = 99 }}\n# a comment\n[workload]\noltp.threads = {threads}\n[factors]\n\"storage.size\" = [\"1GiB\", \"2GiB\"]\n"
        );
        prop_assert_eq!(hash(&one), hash(&other));
        prop_assert_ne!(hash(&one), hash(&one.replace(&format!("seed = {seed}"), &format!("seed = {}", seed + 1))));
        prop_assert_ne!(hash(&one), hash(&one.replace("2GiB", "3GiB")));
    }

    #[test]
    fn a_round_is_every_scenario_once_with_the_same_work(levels in 1_usize..9, round in 0_u32..50, seed in 0_u64..1000) {
        let threads = (1..=levels).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let body = format!("[factors]\n\"workload.oltp.threads\" = [{threads}]\n[workload.oltp]\n[design]\nseed = {seed}\n");
        let plan = planned(&body, &[]).expect("right");
        let all = vec![true; levels + 1];
        let mut order = plan.order(round, &all);
        prop_assert_eq!(&order, &plan.order(round, &all));
        order.sort_unstable();
        prop_assert_eq!(order, (0..levels + 1).collect::<Vec<_>>());
        let seeds: Vec<u64> = (0..levels).map(|scenario| plan.trial_spec(scenario, round, 0).seed).collect();
        prop_assert!(seeds.iter().all(|seed| *seed == seeds[0]), "the same work for all scenarios of a round");
        prop_assert_ne!(seeds[0], plan.trial_spec(0, round + 1, 0).seed);
    }
}
