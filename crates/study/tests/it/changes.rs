//! `--set path=value`.

use crate::{check_with, labels, planned, right};
use expect_test::expect;
use serde_json::json;

const BODY: &str = r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
[factors.journal]
a = { storage.size = "1GiB" }
b = { storage.size = "2GiB" }
[workload.oltp]
[design]
control = false
"#;

#[test]
fn a_factor_is_fixed_or_gets_other_levels() {
    check_with(
        BODY,
        &[("storage.filesystem", "xfs"), ("workload.oltp.threads", "7")],
        &expect![[r#"
        a
        b
    "#]],
    );
    check_with(
        BODY,
        &[("storage.filesystem", "[\"ext3\", \"xfs\"]"), ("journal", "b")],
        &expect![[r#"
        ext3
        xfs
    "#]],
    );
    check_with(
        BODY,
        &[("journal", "[\"b\", \"a\"]"), ("storage.filesystem", "xfs")],
        &expect![[r#"
        b
        a
    "#]],
    );
}

#[test]
fn a_list_makes_a_setting_a_factor() {
    check_with(
        BODY,
        &[("journal", "a"), ("storage.filesystem", "xfs"), ("workload.oltp.threads", "[1, 4]")],
        &expect![[r#"
        threads=1
        threads=4
    "#]],
    );
    // A list of options is one level; a list of lists is many.
    let one = planned(BODY, &[("storage.mount", "[\"noatime\"]")]).expect("right");
    assert_eq!((one.scenarios.len(), &one.scenarios[0].storage["mount"]), (4, &json!(["noatime"])));
    let many = planned(BODY, &[("storage.mount", "[[\"noatime\"], []]")]).expect("right");
    assert_eq!(many.scenarios.len(), 8);
    // And the other way round: one list fixes such a factor.
    let body = "[factors]\nstorage.mount = [[\"noatime\"], []]\n[workload.oltp]\n";
    let fixed = planned(body, &[("storage.mount", "[]"), ("design.control", "false")]).expect("right");
    assert_eq!((fixed.scenarios.len(), &fixed.scenarios[0].storage["mount"]), (1, &json!([])));
}

#[test]
fn keys_written_in_any_way_are_one_factor() {
    for key in
        ["workload.oltp.threads", "\"workload.oltp.threads\"", "\"workload.oltp\".threads", "workload.\"oltp.threads\""]
    {
        let body = format!("[factors]\n{key} = [1, 2]\n[workload.oltp]\n[design]\ncontrol = false\n");
        let plan = planned(&body, &[("workload.oltp.threads", "3")]).expect("right");
        assert_eq!((plan.scenarios.len(), &plan.scenarios[0].parameters["threads"]), (1, &json!(3)), "{key}");
    }
}

#[test]
fn a_workload_is_chosen() {
    let body = "[workload.oltp]\n[workload.tree]\n[design]\ncontrol = false\n";
    check_with(
        body,
        &[("workload", "tree")],
        &expect![[r#"
        tree
    "#]],
    );
    check_with(
        body,
        &[("workload", "[\"tree\", \"oltp\"]")],
        &expect![[r#"
        tree
        oltp
    "#]],
    );
    check_with(
        body,
        &[("workload", "tre")],
        &expect![[r#"
        - "tre" is not a level of `workload` | its levels: oltp, tree (did you mean `tree`?)
    "#]],
    );
}

#[test]
fn a_factor_goes_with_its_workload() {
    let body = r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
[factors.busy]
few = { workload.oltp.threads = 1 }
many = { workload.oltp.threads = 8 }
[baseline]
"storage.filesystem" = "xfs"
busy = "few"
[workload.oltp]
[workload.tree]
[design]
control = false
"#;
    let plan = planned(body, &[("workload", "tree")]).expect("right");
    assert_eq!((labels(&plan), plan.baseline), (vec!["ext4", "xfs"], 1));
}

/// What the file has for the others alone had the change refused, and nothing on the command line could take it away.
#[test]
fn a_workload_alone_needs_nothing_of_the_others() {
    let body = r#"
[factors.busy]
few = { workload.oltp.threads = 1, storage.size = "1GiB" }
many = { workload.oltp.threads = 8, storage.size = "2GiB" }
[storage.wal]
filesystem = "xfs"
[service.postgres.settings]
shared_buffers = "1GB"
[workload.oltp]
engine = "postgres"
[workload.tree]
[[limit]]
workload = "oltp"
metric = "commit_seconds"
at_most = 1
[[limit]]
workload = "tree"
metric = "files_per_second"
at_least = 1
[design]
control = false
"#;
    let plan = |changes: &[(&str, &str)]| planned(body, changes);
    let tree = plan(&[("workload", "tree")]).expect("right");
    assert_eq!((labels(&tree), &tree.scenarios[1].storage["size"]), (vec!["few", "many"], &json!(2_u64 << 30)));
    assert_eq!((tree.limits.len(), &*tree.limits[0].workload), (1, "tree"));
    assert_eq!(plan(&[("workload", "oltp")]).expect("right").limits.len(), 1);
    assert!(plan(&[("workload.oltp.engine", "sqlite")]).is_ok(), "its server's table is of no use");
    // What a change says itself must have an effect.
    let vain = plan(&[("workload", "tree"), ("service.postgres.settings.fsync", "off")]);
    assert!(vain.is_err_and(|said| said.contains("no workload of this study uses the service `postgres`")));
}

#[test]
fn a_rule_may_be_in_vain_once_levels_are_gone() {
    let rules = "[[exclude]]\nstorage.filesystem = \"ext4\"\nworkload.oltp.threads = 1\n\
        [[exclude]]\nstorage.filesystem = \"ext4\"\nworkload.oltp.rows = 2\n";
    let body = format!(
        "[factors]\nstorage.filesystem = [\"ext4\", \"xfs\"]\nworkload.oltp.threads = [1, 4]\n\
         workload.oltp.rows = [1, 2]\n{rules}[workload.oltp]\n[design]\ncontrol = false\n"
    );
    check_with(
        &body,
        &[("workload.oltp.threads", "1")],
        &expect![[r#"
        xfs · rows=1
        xfs · rows=2
    "#]],
    );
    let body = "[factors]\nstorage.filesystem = [\"ext4\"]\n[[include]]\nstorage.filesystem = \"xfs\"\n[workload.oltp]\n\
        [design]\ncontrol = false\n";
    check_with(
        body,
        &[("storage.filesystem", "xfs")],
        &expect![[r#"
        xfs
    "#]],
    );
}

/// `--rounds 4` had hidden what `plan` refuses.
#[test]
fn other_rounds_make_no_wrong_file_right() {
    let two = "[factors]\nstorage.filesystem = [\"ext4\", \"xfs\"]\nworkload.oltp.threads = [1, 4]\n\
        [baseline]\nstorage.filesystem = \"xfs\"\n[workload.oltp]\n";
    for (body, says) in [
        (two, "the baseline matches 2 scenarios"),
        ("[service.postgres]\n[workload.oltp]\n", "no workload of this study uses the service"),
    ] {
        let said = planned(body, &[("design.rounds_min", "4")]).expect_err("as without it");
        assert!(said.contains(says), "{said}");
    }
}

/// Keys are texts in TOML, and values are not.
#[test]
fn a_named_level_may_look_like_a_number() {
    let body = "[factors.threads]\n1 = { workload.oltp.threads = 1 }\n8 = { workload.oltp.threads = 8 }\n\
        [baseline]\nthreads = 8\n[workload.oltp]\n[design]\ncontrol = false\n";
    let plan = right(body);
    assert_eq!(plan.scenarios[plan.baseline].label, "8");
    for (change, kept) in [("8", vec!["8"]), ("[8, 1]", vec!["8", "1"])] {
        let plan = planned(body, &[("threads", change)]).expect("right");
        assert_eq!(labels(&plan), kept);
        assert_eq!(plan.scenarios[plan.baseline].label, "8");
    }
}

/// As numbers both are 6.1: `--set kernel=6.10` measured the other one.
#[test]
fn a_named_level_may_look_like_a_version() {
    let body = "[factors.kernel]\n\"6.1\" = { workload.oltp.threads = 1 }\n\"6.10\" = { workload.oltp.threads = 8 }\n\
        [workload.oltp]\n[design]\ncontrol = false\n";
    for version in ["6.1", "6.10"] {
        let plan = planned(body, &[("kernel", version)]).expect("right");
        assert_eq!(labels(&plan), [version]);
    }
    let baseline = |level: &str| planned(&format!("{body}[baseline]\nkernel = {level}\n"), &[]);
    let plan = baseline("\"6.10\"").expect("right");
    assert_eq!(plan.scenarios[plan.baseline].label, "6.10");
    for said in [baseline("6.10"), planned(body, &[("kernel", "[6.10]")])] {
        assert!(said.is_err_and(|said| said.contains("6.1 is not a level of `kernel`")));
    }
}

#[test]
fn a_table_goes_with_levels_that_are_numbers() {
    let body = "[factors]\nstorage.filesystem = [\"ext4\", \"xfs\"]\nworkload.oltp.threads = [1, 4]\n\
        storage.size = [\"1GiB\", \"2GiB\"]\n[workload.oltp]\n[[table]]\nworkload = \"oltp\"\nmetric = \"speed\"\n\
        rows = \"storage.filesystem\"\ncolumns = \"workload.oltp.threads\"\n\
        where = { \"storage.size\" = \"size=1GiB\" }\n";
    for (size, tables) in [("1GiB", 1), ("2GiB", 0)] {
        assert_eq!(planned(body, &[("storage.size", size)]).expect("right").tables.len(), tables, "{size}");
    }
}

#[test]
fn a_table_goes_with_its_levels() {
    let table = |level: &str| {
        format!(
            "[[table]]\nworkload = \"oltp\"\nmetric = \"speed\"\nrows = \"storage.filesystem\"\n\
             columns = \"workload.oltp.threads\"\nwhere = {{ journal = \"{level}\" }}\n"
        )
    };
    let body = BODY.replace("[factors.journal]", "workload.oltp.threads = [1, 2]\n[factors.journal]");
    let text = format!("{body}{}{}", table("a"), table("b"));
    assert_eq!(planned(&text, &[]).expect("right").tables.len(), 2);
    let left = planned(&text, &[("journal", "b")]).expect("right").tables;
    assert_eq!((left.len(), left[0].only[0].1.as_str()), (1, "b"));
    let two = text.replace("[workload.oltp]", "[workload.oltp]\n[workload.tree]");
    assert_eq!(planned(&two, &[("workload", "tree")]).expect("right").tables.len(), 0);
    // A level that never was stays a mistake.
    assert!(planned(&format!("{text}{}", table("c")), &[("journal", "b")]).is_err());
}

#[test]
fn rules_and_factors_go_with_what_they_are_about() {
    let rules = r#"
[[exclude]]
storage.filesystem = "ext4"
journal = "a"
[[include]]
storage.filesystem = "ext3"
journal = "a"
[baseline]
storage.filesystem = "ext4"
journal = "b"
"#;
    let body = format!("{BODY}{rules}");
    let baseline = |path: &str, value: &str| {
        let plan = planned(&body, &[(path, value)]).expect("right");
        plan.scenarios[plan.baseline].label.clone()
    };
    // What a baseline says of other factors stays; where no scenario has all of it, the first of the most like it.
    assert_eq!(baseline("storage.filesystem", "xfs"), "b");
    assert_eq!(baseline("journal", "a"), "xfs");
    check_with(
        &body,
        &[("storage.filesystem", "xfs")],
        &expect![[r#"
        a
        b
    "#]],
    );
    check_with(
        &body,
        &[("journal", "a")],
        &expect![[r#"
        xfs
        ext3
    "#]],
    );
    let two = "[factors]\nworkload.oltp.threads = [1, 2]\nstorage.filesystem = [\"ext4\", \"xfs\"]\n[baseline]\nworkload = \"oltp\"\n\"workload.oltp.threads\" = 2\nstorage.filesystem = \"xfs\"\n[workload.oltp]\n[workload.tree]\n";
    check_with(
        two,
        &[("workload", "tree")],
        &expect![[r#"
        ext4
        xfs
        ext4 (control)
    "#]],
    );
}

#[test]
fn values_are_toml_or_plain_text() {
    let plan = planned(
        BODY,
        &[
            ("memory", "1GiB"),
            ("name", "other"),
            ("question", "What is 1?"),
            ("design.seed", "0x10"),
            ("parity", "require"),
            ("workload.oltp.like", "\"0.4\""),
        ],
    )
    .expect("right");
    assert_eq!(plan.scenarios[0].memory_bytes, Some(1 << 30));
    assert_eq!((plan.name.as_str(), plan.question.as_str(), plan.drawn.seed), ("other", "What is 1?", 16));
    assert_eq!((plan.parity, &plan.scenarios[0].parameters["like"]), (study::Parity::Require, &json!("0.4")));
}

#[test]
fn a_change_without_effect_is_refused() {
    check_with(
        BODY,
        &[("storage.size", "3GiB")],
        &expect![[r#"
        - `storage.size` would have no effect: each level of the factor `journal` sets it | --set journal=LEVEL chooses a level
    "#]],
    );
}

#[test]
fn wrong_changes_are_said_like_wrong_files() {
    check_with(
        BODY,
        &[
            ("journal", "c"),
            ("storage.sise", "1GiB"),
            ("design.rounds_max", "many"),
            ("design.round_max", "3"),
            ("storage.filesystem", "zfs"),
            ("workload.tree.files", "3"),
            ("workload.tre.files", "3"),
            ("filesystem", "xfs"),
            ("jurnal", "a"),
            ("storage", "xfs"),
            ("", "1"),
            ("a.b", "1"),
        ],
        &expect![[r#"
            - "c" is not a level of `journal` | its levels: a, b
            - `sise` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `size`?)
            - `workload.tree.files`: this study has no workload `tree` | its workloads: oltp
            - `tre` is not a setting of `workload` | settings of `workload`: oltp, tree (did you mean `tree`?)
            - `filesystem` is not a setting of this study | settings of this study: storage.filesystem, journal, name, question, memory, bench, client, parity (did you mean `storage.filesystem`?)
            - `jurnal` is not a setting of this study | settings of this study: storage.filesystem, journal, name, question, memory, bench, client, parity (did you mean `journal`?)
            - `storage` is not a setting's path | a path is like storage.filesystem, workload.oltp.threads, service.postgres.settings.fsync, memory or cpus.client
            - `` is not a setting of this study | settings of this study: storage.filesystem, journal, name, question, memory, bench, client, parity
            - `a.b` is not a setting's path | a path is like storage.filesystem, workload.oltp.threads, service.postgres.settings.fsync, memory or cpus.client
            - `design.rounds_max` can't be "many" | expected a whole number from 1 to 10000
            - `round_max` is not a setting of `design` | settings of `design`: rounds_min, rounds_max, runs, order, up_max, turn, charge_flush, warm_up_runs, precision, margin, confidence, mode, confirm, screen, screen_rounds, time_budget, seed, cache, trial_timeout, control, probe, ineffective (did you mean `rounds_max`?)
            - `storage.filesystem` can't be "zfs" | expected one of ext3, ext4, xfs (did you mean `xfs`?)
        "#]],
    );
}

/// As one text a list would be a single scenario that no server starts with, or be refused with the name of one of its parts.
#[test]
fn a_list_without_brackets_or_quotes_is_refused_with_them() {
    check_with(
        BODY,
        &[
            ("storage.filesystem", "ext4,xfs"),
            ("journal", "a, b"),
            ("workload", "oltp,oltp"),
            ("workload.oltp.threads", "1,4"),
            ("workload.oltp.like", "1.0,0.4"),
            ("storage.size", "1GiB,2GiB"),
            ("storage.mount", "noatime,sync"),
            ("storage.mount", "[noatime]"),
            ("cpus.client", "0,1"),
            ("service.postgres.settings.shared_buffers", "[128MB, 512MB]"),
            ("service.postgres.settings.shared_buffers", "128MB,512MB"),
            ("storage.filesystem", "[ext4 xfs]"),
            ("question", "[why]"),
        ],
        &expect![[r#"
            - `storage.filesystem`: `ext4,xfs` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'storage.filesystem=["ext4", "xfs"]')
            - `journal`: `a, b` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'journal=["a", "b"]')
            - `workload`: `oltp,oltp` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'workload=["oltp", "oltp"]')
            - `workload.oltp.threads`: `1,4` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'workload.oltp.threads=[1, 4]')
            - `workload.oltp.like`: `1.0,0.4` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'workload.oltp.like=["1.0", "0.4"]')
            - `storage.size`: `1GiB,2GiB` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'storage.size=["1GiB", "2GiB"]')
            - `storage.mount`: `noatime,sync` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'storage.mount=["noatime", "sync"]')
            - `storage.mount`: `[noatime]` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'storage.mount=["noatime"]')
            - `cpus.client`: `0,1` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'cpus.client=[0, 1]')
            - `service.postgres.settings.shared_buffers`: `[128MB, 512MB]` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'service.postgres.settings.shared_buffers=["128MB", "512MB"]')
            - `service.postgres.settings.shared_buffers`: `128MB,512MB` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own (for a list, --set 'service.postgres.settings.shared_buffers=["128MB", "512MB"]')
            - `storage.filesystem`: `[ext4 xfs]` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own
            - `question`: `[why]` is no list | a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own
        "#]],
    );
    // Texts with commas of their own stay texts, and so does all that has quotes.
    let text = "[workload.oltp]\nengine = \"postgres\"\n[service.postgres]\n";
    let free = [
        ("service.postgres.settings.libraries", "a,b"),
        ("service.postgres.settings.addresses", "127.0.0.1,127.0.0.2"),
        ("service.postgres.settings.sizes", "\"1MB,2MB\""),
        ("question", "\"[why]\""),
    ];
    let plan = planned(text, &free).expect("right");
    let settings = json!({ "libraries": "a,b", "addresses": "127.0.0.1,127.0.0.2", "sizes": "1MB,2MB" });
    assert_eq!((&plan.scenarios[0].services["postgres"]["settings"], &*plan.question), (&settings, "[why]"));
}
