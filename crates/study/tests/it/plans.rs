//! What right files come to.

use crate::{check, labels, planned, right};
use expect_test::expect;
use serde_json::json;

#[test]
fn levels_times_levels_and_the_control() {
    check(
        r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
"workload.oltp.threads" = [1, 4]
[workload.oltp]
"#,
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
    check(
        "[factors]\nstorage.filesystem = [\"ext4\", \"xfs\"]\n[workload.oltp]\n[design]\ncontrol = false\n",
        &expect![[r#"
        ext4
        xfs
    "#]],
    );
}

#[test]
fn a_study_without_factors_is_its_workload() {
    check(
        "[workload.oltp]\n",
        &expect![[r#"
        oltp
        oltp (control)
    "#]],
    );
}

#[test]
fn lists_and_empty_and_long_levels_have_labels() {
    check(
        r#"
[factors]
storage.mount = [[], ["noatime"], ["noatime", "data=writeback"], ["an-option-that-is-longer-than-any-table", "has-room-for=1"], ["an-option-that-is-longer-than-any-table", "has-room-for=2"]]
[workload.oltp]
[design]
control = false
"#,
        &expect![[r#"
            mount=none
            noatime
            noatime data=writeback
            an-option-that-is-longer-than-any-table has-roo…
            an-option-that-is-longer-than-any-table has-roo… #5
        "#]],
    );
}

#[test]
fn the_same_words_of_two_factors_carry_their_names() {
    check(
        r#"
[factors.one]
on = { storage.size = "1GiB" }
off = { storage.size = "2GiB" }
[factors.two]
on = { workload.oltp.threads = 1 }
off = { workload.oltp.threads = 2 }
[workload.oltp]
[design]
control = false
"#,
        &expect![[r#"
            one=on · two=on
            one=on · two=off
            one=off · two=on
            one=off · two=off
        "#]],
    );
}

#[test]
fn named_levels_group_settings_and_a_baseline_is_chosen() {
    let body = r#"
[factors.journal]
ordered = { "storage.filesystem" = "ext3" }
fast = { storage.filesystem = "ext4", storage.mount = ["nobarrier"] }
[factors.journal.tables]
storage.filesystem = "xfs"
workload.oltp.metrics = { tps = "x" }
[baseline]
journal = "fast"
[workload.oltp]
"#;
    check(
        body,
        &expect![[r#"
        ordered
        fast
        tables
        fast (control)
    "#]],
    );
    let plan = right(body);
    assert_eq!(plan.baseline, 1);
    assert_eq!(plan.scenarios[0].storage["mount"], json!([]));
    assert_eq!(plan.scenarios[1].storage["mount"], json!(["nobarrier"]));
    assert_eq!(plan.scenarios[2].parameters["metrics"], json!({ "tps": "x" }));
}

#[test]
fn a_factor_of_one_workload_leaves_the_other_alone() {
    check(
        r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
"workload.oltp.threads" = [1, 4]
[workload.oltp]
[workload.tree]
"#,
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
fn a_baseline_may_be_about_one_workload() {
    let body = r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
[baseline]
workload = "tree"
storage.filesystem = "xfs"
[workload.oltp]
[workload.tree]
"#;
    check(
        body,
        &expect![[r#"
        oltp · ext4
        oltp · xfs
        tree · ext4
        tree · xfs
        oltp · ext4 (control)
        tree · xfs (control)
    "#]],
    );
}

#[test]
fn settings_of_the_top_are_varied_and_arrive() {
    let body = r#"
memory = "1GiB"
[factors]
memory = ["512MiB", "1GiB"]
cpus.client = [[0], [0, 1]]
[cpus]
server = [3]
[workload.oltp]
[design]
control = false
cache = "cold"
"#;
    check(
        body,
        &expect![[r#"
        memory=512MiB · client=0
        memory=512MiB · client=0 1
        memory=1GiB · client=0
        memory=1GiB · client=0 1
    "#]],
    );
    let plan = right(body);
    let spec = plan.trial_spec(3, 2, 1);
    assert_eq!(spec.memory_bytes, Some(1 << 30));
    assert_eq!((spec.client_cpus, spec.server_cpus), (vec![0, 1], vec![3]));
    assert_eq!((spec.round, spec.position, spec.bench), (2, 1, study::Bench::Host));
    assert_eq!((spec.warm_up_runs, spec.runs, spec.timeout_seconds), (1, 1, 1800.0));
    assert_eq!(spec.parameters["threads"], 1);
}

const TWO_BY_TWO: &str = r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
"workload.oltp.threads" = [1, 4]
[workload.oltp]
[design]
control = false
"#;

#[test]
fn excludes_take_out_and_includes_bring_back() {
    let excluded = "[[exclude]]\nstorage.filesystem = \"xfs\"\n";
    check(
        &format!("{TWO_BY_TWO}{excluded}"),
        &expect![[r#"
        ext4 · threads=1
        ext4 · threads=4
    "#]],
    );
    let included = "[[include]]\nstorage.filesystem = \"xfs\"\nworkload.oltp.threads = 4\n";
    check(
        &format!("{TWO_BY_TWO}{excluded}{included}"),
        &expect![[r#"
        ext4 · threads=1
        ext4 · threads=4
        xfs · threads=4
    "#]],
    );
}

#[test]
fn an_include_adds_a_level_that_is_not_combined() {
    check(
        &format!("{TWO_BY_TWO}[[include]]\nstorage.filesystem = \"ext3\"\nworkload.oltp.threads = 16\n"),
        &expect![[r#"
        ext4 · threads=1
        ext4 · threads=4
        xfs · threads=1
        xfs · threads=4
        ext3 · threads=16
    "#]],
    );
    // The factors that it does not name take their usual levels.
    check(
        &format!("{TWO_BY_TWO}[[include]]\nworkload.oltp.threads = 16\n"),
        &expect![[r#"
        ext4 · threads=1
        ext4 · threads=4
        xfs · threads=1
        xfs · threads=4
        ext4 · threads=16
        xfs · threads=16
    "#]],
    );
}

#[test]
fn an_include_gives_matching_scenarios_settings() {
    let plan =
        right(&format!("{TWO_BY_TWO}[[include]]\nstorage.filesystem = \"xfs\"\nstorage.mount = [\"noatime\"]\n"));
    let mounts: Vec<_> = plan.scenarios.iter().map(|scenario| scenario.storage["mount"].clone()).collect();
    assert_eq!(mounts, [json!([]), json!([]), json!(["noatime"]), json!(["noatime"])]);
}

#[test]
fn only_keeps_a_baseline_and_its_control() {
    let mut plan = right("[factors]\n\"storage.filesystem\" = [\"ext3\", \"ext4\", \"xfs\"]\n[workload.oltp]\n");
    let whole = plan.hash.clone();
    plan.only(&["ext4".into(), "storage.filesystem=xfs".into()]);
    assert_eq!(labels(&plan), ["ext4", "xfs", "ext4 (control)"]);
    assert_eq!(plan.baseline, 0);
    assert_ne!(plan.hash, whole);
    plan.leave_out(&["ext4".into()]);
    assert_eq!(labels(&plan), ["xfs", "xfs (control)"]);
    plan.only(&["zfs".into()]);
    assert!(plan.scenarios.is_empty());
    // Labels of numbers, sizes and servers' settings have their setting's name in them; a path has it once.
    for (path, levels, kept) in [
        ("workload.oltp.threads", "[1, 4]", "4"),
        ("storage.size", "[\"1GiB\", \"2GiB\"]", "2GiB"),
        ("service.postgres.settings.shared_buffers", "[\"128MB\", \"512MB\"]", "512MB"),
    ] {
        let mut plan = right(&format!("[factors]\n{path} = {levels}\n[workload.oltp]\nengine = \"postgres\"\n"));
        plan.only(&[format!("{path}={kept}")]);
        let label = format!("{}={kept}", path.rsplit('.').next().expect("a name"));
        assert_eq!(labels(&plan), [label.clone(), format!("{label} (control)")]);
    }
}

/// Who names a scenario as the report does, as its commands to do it again do, gets that one.
#[test]
fn only_takes_a_whole_name_for_no_longer_one() {
    let filesystems = "[factors]\n\"storage.filesystem\" = [\"ext4\", \"ext3\"]\n\
        storage.mount = [[\"noatime\"], [\"noatime\", \"sync\"]]\n[workload.oltp]\n";
    let kept = |body: &str, word: &str| {
        let mut plan = right(body);
        plan.only(&[word.into()]);
        plan.scenarios.into_iter().filter(|scenario| !scenario.control).map(|kept| kept.label).collect::<Vec<_>>()
    };
    assert_eq!(kept(filesystems, "ext3 · noatime"), ["ext3 · noatime"]);
    assert_eq!(kept(filesystems, "ext3"), ["ext3 · noatime", "ext3 · noatime sync"]);
    let threads = "[factors]\nworkload.oltp.threads = [1, 16]\n[workload.oltp]\n";
    assert_eq!(kept(threads, "threads=1"), ["threads=1"]);
    assert_eq!(kept(threads, "threads"), ["threads=1", "threads=16"], "a part of a name");
}

#[test]
fn more_rounds_are_the_same_study_and_another_seed_is_not() {
    let body = "[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[workload.oltp]\n";
    let hash = |changes: &[(&str, &str)]| planned(body, changes).expect("right").hash;
    let whole = hash(&[]);
    assert!(whole.len() == 64 && whole.bytes().all(|byte| byte.is_ascii_hexdigit()), "{whole}");
    for same in ["rounds_max=50", "rounds_min=7", "precision=1%", "time_budget=1h", "rounds_min=30"] {
        let (name, value) = same.split_once('=').expect("a change");
        assert_eq!(whole, hash(&[(&format!("design.{name}"), value)]), "{same}");
    }
    let others = [
        ("design.seed", "2"),
        ("design.runs", "2"),
        ("design.warm_up_runs", "0"),
        ("design.cache", "cold"),
        ("design.control", "false"),
        ("workload.oltp.threads", "2"),
        ("storage.size", "2GiB"),
        ("memory", "1GiB"),
        ("cpus.client", "[0]"),
        ("storage.filesystem", "ext4"),
    ];
    let hashes: std::collections::HashSet<String> =
        others.into_iter().map(|change| hash(&[change])).chain([whole]).collect();
    assert_eq!(hashes.len(), others.len() + 1, "each of them is another study");
}

#[test]
fn ten_thousand_scenarios_are_planned_soon() {
    let hundred = |from: u32| (from..from + 100).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let plan = right(&format!(
        "[factors]\nworkload.oltp.rows = [{}]\nworkload.oltp.threads = [{}]\n[workload.oltp]\n",
        hundred(1),
        hundred(1)
    ));
    assert_eq!(plan.scenarios.len(), 10_001);
}

#[test]
fn servers_and_volumes_are_settings_like_others() {
    let text = r#"
[factors]
service.postgres.settings.fsync = [true, false]
"service.postgres.settings.pg_stat.track" = ["all"]
storage.wal.filesystem = ["ext4", "xfs"]
[service.postgres]
settings = { shared_buffers = "1GB" }
[workload.oltp]
engine = "postgres"
[design]
control = false
"#;
    check(
        text,
        &expect![[r#"
        fsync=true · ext4
        fsync=true · xfs
        fsync=false · ext4
        fsync=false · xfs
    "#]],
    );
    let plan = right(text);
    let last = plan.scenarios.last().expect("four");
    assert_eq!(
        last.services["postgres"]["settings"],
        json!({ "shared_buffers": "1GB", "fsync": false, "pg_stat.track": "all" })
    );
    assert_eq!(last.volumes["wal"]["filesystem"], "xfs");
    assert_eq!(last.volumes["wal"]["size"], 1 << 30, "a volume that only a factor names begins at the defaults");
    assert_eq!(last.storage["filesystem"], "ext4");
    let without = right(&text.replace("\"1GB\"", "\"2GB\""));
    assert_ne!(plan.hash, without.hash);
}

/// As factors have them: in a table they were refused, as that "can't be a table".
#[test]
fn a_servers_settings_may_have_dots_without_quotes() {
    let body = "[service.postgres.settings]\npg_stat.track = \"all\"\nwork_mem = \"4MB\"\n[workload.oltp]\nengine = \"postgres\"\n";
    let settings = |changes: &[(&str, &str)]| {
        let plan = planned(body, changes).expect("right");
        plan.scenarios[0].services["postgres"]["settings"].clone()
    };
    assert_eq!(settings(&[]), json!({ "pg_stat.track": "all", "work_mem": "4MB" }));
    let changed = settings(&[("service.postgres.settings.pg_stat.track", "none")]);
    assert_eq!(changed, json!({ "pg_stat.track": "none", "work_mem": "4MB" }));
    check(
        "[service.postgres]\nsettings = { libraries = [\"a\"] }\n[workload.oltp]\nengine = \"postgres\"\n",
        &expect![[r#"
            4:26 `service.postgres.settings.libraries` can't be a list | expected a text in quotes, a number, or true or false
        "#]],
    );
}

#[test]
fn the_data_volume_has_a_name_too() {
    let text = r#"
[factors]
"storage.data.filesystem" = ["ext4", "xfs"]
size.small = { storage.data.size = "1GiB" }
size.large = { storage.data.size = "2GiB", storage.wal.size = "1GiB" }
[baseline]
"storage.data.filesystem" = "xfs"
size = "small"
[storage.data]
mount = ["noatime"]
[storage.wal]
filesystem = "ext4"
[workload.oltp]
engine = "postgres"
"#;
    let plan = right(text);
    let baseline = &plan.scenarios[plan.baseline];
    assert_eq!((&baseline.storage["filesystem"], &baseline.storage["mount"]), (&json!("xfs"), &json!(["noatime"])));
    assert_eq!(plan.scenarios[1].storage["size"], 2_u64 << 30);
    assert_eq!(plan.scenarios[1].label, "ext4 · large");
    let plain = right(&text.replace("storage.data]", "storage]").replace("storage.data.", "storage."));
    assert_eq!(plan.scenarios, plain.scenarios);
    let changed = planned(text, &[("storage.data.filesystem", "xfs")]).expect("a right change");
    assert!(changed.scenarios.iter().all(|scenario| scenario.storage["filesystem"] == "xfs"));
}

/// Four factors of two levels by D = ABC, at all three numbers of tables; the baseline is among them.
#[test]
fn a_screen_is_a_part_of_the_plan() {
    let body = r#"
[factors]
storage.filesystem = ["ext4", "xfs"]
storage.size = ["1GiB", "2GiB"]
workload.oltp.threads = [1, 4]
workload.oltp.rows = [10, 20]
workload.oltp.tables = [1, 2, 3]
[baseline]
storage.filesystem = "xfs"
storage.size = "2GiB"
workload.oltp.threads = 1
workload.oltp.rows = 20
workload.oltp.tables = 3
[workload.oltp]
[design]
screen = "fraction"
"#;
    let plan = right(body);
    let [screen] = &plan.screens[..] else { panic!("one workload: {:?}", plan.unscreened) };
    assert_eq!((screen.scenarios.len(), screen.of, screen.two_level, screen.kept_max()), (24, 48, 4, 24));
    assert!(screen.scenarios.contains(&plan.baseline));
    assert_eq!(screen.words(), "a 2^(4-1) fraction of resolution IV, at every level of workload.oltp.tables");
    assert_eq!(screen.alike().len(), 3);
    assert_eq!(plan.design.confirmation_rounds(), 6);
    // Every level of every factor as often as any other.
    for (factor, levels) in &screen.factors {
        for level in levels {
            let of_level =
                screen.scenarios.iter().filter(|index| plan.scenarios[**index].levels.get(factor) == Some(level));
            assert_eq!(of_level.count() * levels.len(), 24, "{factor} {level}");
        }
    }
    let off = right(&body.replace("\"fraction\"", "\"off\""));
    assert!(off.screens.is_empty() && off.hash != plan.hash && off.scenarios == plan.scenarios);
    let auto = right(&body.replace("\"fraction\"", "\"auto\""));
    assert!(auto.screens.is_empty() && auto.hash == off.hash, "48 scenarios are few");
    assert_eq!(auto.unscreened.len(), 1);
}
