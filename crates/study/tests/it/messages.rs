//! What is said of wrong files: every problem at once, with its place.

use crate::{HEAD, Small, check, check_with, told};
use expect_test::expect;
use study::read;

#[test]
fn every_problem_at_once_with_its_place() {
    check(
        r#"qestion = 1
[factors]
"storage.filesytem" = ["ext4"]
"workload.oltp.threads" = [1, 1, 0, "x"]
"storage.size" = []
journal = 3
[storage]
sise = "1GiB"
size = 5
[workload.oltp]
[workload.tre]
[design]
rounds_min = 9
rounds_max = 2
precision = "3"
"#,
        &expect![[r#"
            3:1 `qestion` is not a setting of a study | settings of a study: name, question, memory, bench, client, parity, factors, include, exclude, baseline, storage, service, workload, design, safety, cpus, guest, table, limit (did you mean `question`?)
            5:1 `filesytem` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `filesystem`?)
            6:31 the factor `workload.oltp.threads` has the level `threads=1` twice | each level once
            6:34 `workload.oltp.threads` can't be 0 | expected a whole number from 1 to 1000000
            6:37 `workload.oltp.threads` can't be "x" | expected a whole number from 1 to 1000000
            7:18 the factor `storage.size` has no levels | at least one level
            8:1 `journal` is neither a setting's path nor a factor with named levels | a path begins with storage, service, workload, memory, cpus, bench, guest; named levels are tables of settings
            10:1 `sise` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `size`?)
            11:8 `storage.size` can't be 5 | expected a size of 1B or more, with its unit, like "4GiB"
            13:11 `tre` is not a setting of `workload` | settings of `workload`: oltp, tree (did you mean `tree`?)
            16:14 `design.rounds_max` (2) is below `design.rounds_min` (9) | at least rounds_min
            17:13 `design.precision` can't be "3" | expected a share from 0.1% to 100%, like "100%"
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
    let text = "name = \"x\n[workload.oltp]\n= 3\na = 1\na = 2\n";
    let (_, problems) = read(text, &[], &Small);
    expect![[r#"
        1:10 this is not TOML: invalid basic string, expected `"` | here
        3:1 this is not TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_` | here
        5:1 this is not TOML: duplicate key | here
    "#]]
    .assert_eq(&told(text, &problems));
}

#[test]
fn a_setting_of_the_whole_study_in_a_table_is_told_its_place() {
    let (_, problems) = read("name = \"x\"\n[workload.oltp]\n[design]\nmemory = \"1GiB\"\n", &[], &Small);
    let told: Vec<_> = problems.iter().map(|problem| (&*problem.message, problem.hint.as_deref())).collect();
    let hint = "`memory` stands above all tables, at the top of the file";
    assert_eq!(told, [("`memory` is not a setting of `design`", Some(hint))]);
}

#[test]
fn names_must_do_as_file_names() {
    for name in ["", "a b", "../etc", ".hidden", "-rf", "ä", "a\\n"] {
        let text = format!("name = \"{name}\"\n[workload.oltp]\n");
        let (study, problems) = read(&text, &[], &Small);
        assert!(study.is_none() && problems.len() == 1, "{name}: {problems:?}");
    }
}

/// "The study has no name" stood beside it.
#[test]
fn a_name_that_is_no_text_is_one_problem() {
    let text = "name = 2026\n[workload.oltp]\n";
    expect![[r#"
        1:8 `name` can't be 2026 | expected a text in quotes
    "#]]
    .assert_eq(&told(text, &read(text, &[], &Small).1));
}

#[test]
fn tables_that_are_none() {
    check(
        r#"factors = 1
baseline = 2
exclude = {}
include = [4]
storage = 5
design = [6]
cpus = "7"
workload = { oltp = 8 }
"#,
        &expect![[r#"
            3:11 `factors` is not a table | [factors] and a line for each
            4:12 `baseline` is not a table of factors and levels | like { "storage.filesystem" = "ext4" }
            5:11 `exclude` is not a list | a list of tables: [[exclude]]
            6:12 `include` is not a table of factors and levels | like { "storage.filesystem" = "ext4" }
            7:11 `storage` is not a table | [storage] and its settings
            8:10 `design` is not a table | [design] and its settings
            9:8 `cpus` is not a table | [cpus] and its settings
            10:21 `workload.oltp` is not a table | [workload.oltp] and its settings
        "#]],
    );
    check(
        "[[storage]]\n[[factors]]\n[workload]\n",
        &expect![[r#"
        3:1 `storage` is not a table | [storage] and its settings
        4:1 `factors` is not a table | [factors] and a line for each
        - the study has no workload | a table [workload.NAME]; workloads: oltp, tree
    "#]],
    );
    // It was read as if it did not stand there.
    check(
        "service = \"postgres\"\nworkload = 1\n",
        &expect![[r#"
            3:11 `service` is not a table | a table [service.NAME] for each
            4:12 `workload` is not a table | a table [workload.NAME] for each
        "#]],
    );
}

#[test]
fn a_mode_without_effect() {
    check(
        "[workload.oltp]\n[design]\nmode = \"tune\"\nrounds_min = 3\nrounds_max = 4\nconfirm = -1\n",
        &expect![[r#"
        5:8 `design.mode` is "tune", and `design.rounds_max` (4) leaves nothing to save | scenarios are dropped after round 4 at the earliest: at least 5 rounds
        8:11 `design.confirm` can't be -1 | expected a whole number from 0 to 1000
    "#]],
    );
    check(
        "[workload.oltp]\n[design]\nmode = \"best\"\n",
        &expect![[r#"
        5:8 `design.mode` can't be "best" | expected one of full, tune
    "#]],
    );
    check_with(
        "[workload.oltp]\n",
        &[("design.mode", "tune"), ("design.rounds_max", "3"), ("design.rounds_min", "3")],
        &expect![[r#"
            - `design.mode` is "tune", and `design.rounds_max` (3) leaves nothing to save | scenarios are dropped after round 4 at the earliest: at least 5 rounds
        "#]],
    );
}

#[test]
fn a_baseline_is_one_scenario() {
    let body = r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
"workload.oltp.threads" = [1, 2]
[workload.oltp]
"#;
    check(
        &format!("{body}[baseline]\nstorage.filesystem = \"xfs\"\n"),
        &expect![[r#"
        8:1 the baseline matches 2 scenarios of `oltp` | name more factors: `xfs · threads=1` and `xfs · threads=2` both match
    "#]],
    );
    let excluded = "[[exclude]]\nstorage.filesystem = \"xfs\"\n";
    check(
        &format!("{body}{excluded}[baseline]\nstorage.filesystem = \"xfs\"\n"),
        &expect![[r#"
        10:1 the baseline matches no scenario of `oltp` | levels of one scenario
    "#]],
    );
}

#[test]
fn settings_that_do_not_fit_together_name_the_scenario() {
    check(
        r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
workload.oltp.threads = [1, 2]
workload.oltp.tables = [1, 2]
[storage]
mount = ["data=journal"]
[workload.oltp]
"#,
        &expect![[r#"
            8:1 storage.mount: xfs has no data=journal | in the scenario `xfs · threads=1 · tables=1`
            10:1 workload.oltp: `rows` is below `tables` | in the scenario `ext4 · threads=1 · tables=2`
        "#]],
    );
}

#[test]
fn a_billion_scenarios_are_counted() {
    let levels = (1..=1000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let factors = ["threads", "rows", "tables"].map(|name| format!("\"workload.oltp.{name}\" = [{levels}]\n")).concat();
    check(
        &format!("[factors]\n{factors}[workload.oltp]\n"),
        &expect![[r#"
        - the factors make 1,000,000,000 scenarios | at most 10,000; leave out levels, or split the question
    "#]],
    );
}

#[test]
fn a_file_that_nests_thousands_deep_does_not_end_the_program() {
    let dotted = vec!["a"; 70].join(".");
    let inline = format!("{}1{}", format!("{{ {dotted} = ").repeat(70), " }".repeat(70));
    let brackets = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in
        [format!("{HEAD}storage.size = {inline}\n"), format!("a = {brackets}"), format!("{}= 1", "a.".repeat(100_000))]
    {
        let (study, problems) = read(&text, &[], &Small);
        assert!(study.is_none() && !problems.is_empty());
    }
}

#[test]
fn numbers_that_no_one_means() {
    check(
        "[workload.oltp]\nthreads = 99999999999999999999\nrows = nan\ntables = 1979-05-27\n",
        &expect![[r#"
        4:11 99999999999999999999 is too large | whole numbers have 64 bits
    "#]],
    );
    check(
        "[workload.oltp]\nthreads = 0x10\nrows = inf\ntables = 1.0\n",
        &expect![[r#"
        5:8 `workload.oltp.rows` can't be "inf" | expected a whole number from 1 to 1000000
        6:10 `workload.oltp.tables` can't be 1.0 | expected a whole number from 1 to 1000000
    "#]],
    );
}

#[test]
fn what_is_wrong_with_servers_and_volumes() {
    check(
        r#"
[factors]
"service.postgre.settings.fsync" = [true]
"service.postgres.setings" = [1]
"service.postgres.settings.fsync" = [[1]]
"storage.wall.filesystem" = ["xfs"]
[storage.wal]
filesystem = "xsf"
[service.mysql]
[workload.oltp]
"#,
        &expect![[r#"
            5:1 `postgre` is not a setting of `service` | settings of `service`: postgres (did you mean `postgres`?)
            6:1 `setings` is not a setting of `service.postgres` | settings of `service.postgres`: version, settings (did you mean `settings`?)
            7:38 `service.postgres.settings.fsync` can't be a list | expected a text in quotes, a number, or true or false
            8:1 `storage.wall.filesystem` is not a setting's path | a path is like storage.filesystem, workload.oltp.threads, service.postgres.settings.fsync, memory or cpus.client
            10:14 `storage.wal.filesystem` can't be "xsf" | expected one of ext3, ext4, xfs (did you mean `xfs`?)
            11:10 `mysql` is not a setting of `service` | settings of `service`: postgres
        "#]],
    );
    // Its levels had been compared as if they were real.
    check(
        "[factors]\n\"service.postgres.php_settings.apc.enabled\" = [0, 1]\n[workload.oltp]\nengine = \"postgres\"\n",
        &expect![[r#"
            4:1 `php_settings` is not a setting of `service.postgres` | settings of `service.postgres`: version, settings (did you mean `settings`?)
        "#]],
    );
    check(
        "[service.postgres]\nsettings = { port = 1 }\n[workload.oltp]\nengine = \"postgres\"\n",
        &expect![[r#"
        3:2 service.postgres.settings.port: not yours to set | in the scenario `oltp`
    "#]],
    );
    check(
        "[service.postgres]\n[workload.oltp]\n",
        &expect![[r#"
            3:1 no workload of this study uses the service `postgres` | for example [workload.oltp] engine = "postgres"
        "#]],
    );
    check(
        "[service.postgres]\n[workload.tree]\n",
        &expect![[r#"
            3:1 no workload of this study uses the service `postgres` | for example [workload.oltp] engine = "postgres"
        "#]],
    );
    check(
        "[storage.wal]\nfilesystem = \"xfs\"\n[workload.oltp]\n",
        &expect![[r#"
            3:1 no workload of this study writes to `storage.wal` | it is for the log of a database that has a server, such as postgres
        "#]],
    );
}

#[test]
fn what_is_wrong_with_tables_of_the_report() {
    check(
        r#"
[factors]
"storage.filesystem" = ["ext4", "xfs"]
"workload.tree.files" = [1, 2]
[workload.oltp]
[workload.tree]
[[table]]
workload = "olpt"
metric = "speed"
rows = "storage.filesystem"
columns = "storage.filesystem"
[[table]]
titel = "speed"
workload = "oltp"
rows = "storage.filesystem"
columns = "workload.tree.files"
published = { source = "he", values = { ext4 = { "1" = "fast" } } }
[[table]]
workload = "tree"
metric = "speed"
rows = "storage.filesystem"
columns = "workload.tree.files"
published = { values = { ext4 = { "1" = 5 } } }
[[table]]
workload = "oltp"
metric = "transactions_per_second"
rows = "storage.filesystem"
columns = "workload.tree.files"
where = { nothing = "x", "storage.filesystem" = "ext9" }
"#,
        &expect![[r#"
            10:12 a table's `workload` can't be "olpt" | workloads of this study: oltp, tree
            13:11 a table's `rows` and `columns` are the same factor | two factors
            14:1 a table without a `metric` | a metric of its workload
            15:1 `titel` is not a setting of `table` | settings of `table`: title, workload, metric, rows, columns, where (did you mean `title`?)
            18:11 a table's `columns` can't be "workload.tree.files" | factors that vary it: storage.filesystem
            19:56 a published figure that is no number | like { source = "who, when, where", values = { "row" = { "column" = 1.5 } } }
            25:13 published figures without their `source` | like { source = "who, when, where", values = { "row" = { "column" = 1.5 } } }
            30:11 a table's `columns` can't be "workload.tree.files" | factors that vary it: storage.filesystem
            31:9 `nothing` in `where` is not a factor | factors of this study: storage.filesystem, workload.tree.files, workload
            31:9 `ext9` in `where` is not a level of `storage.filesystem` | its levels: ext4, xfs
        "#]],
    );
    check(
        "table = 3\n[workload.oltp]\n",
        &expect![[r#"
        3:9 `table` is not a list | a list of tables: [[table]]
    "#]],
    );
}

#[test]
fn the_data_volume_is_set_once() {
    check(
        "[storage]\nsize = \"1GiB\"\n[storage.data]\nsize = \"2GiB\"\nfilesystem = \"xfz\"\n[workload.oltp]\n",
        &expect![[r#"
            6:1 `storage` and `storage.data` both set `size` | one of them: they are the same volume
        "#]],
    );
}

#[test]
fn what_is_wrong_with_limits() {
    let text = r#"[workload.oltp]
[[limit]]
workload = "olpt"
metric = "commit_seconds"
at_most = 0.01
[[limit]]
workload = "oltp"
metric = "commit_seconds"
[[limit]]
workload = "oltp"
metric = "commit_seconds"
at_most = 1
at_least = 2
[[limit]]
workload = "oltp"
metric = "commit_seconds"
at_most = -1
below = 3
"#;
    check(
        text,
        &expect![[r#"
            5:12 a limit's `workload` can't be "olpt" | workloads of this study: oltp
            8:1 a limit needs one bound | one of `at_most` and `at_least`, a number in the metric's own unit
            11:1 a limit needs one bound | one of `at_most` and `at_least`, a number in the metric's own unit
            16:1 a limit needs one bound | one of `at_most` and `at_least`, a number in the metric's own unit
            19:11 `limit.at_most` can't be -1 | expected a number of 0.000000001 or more
            20:1 `below` is not a setting of `limit` | settings of `limit`: title, workload, metric, at_most, at_least, source
        "#]],
    );
    check(
        "limit = 3\n[workload.oltp]\n",
        &expect![[r#"
        3:9 `limit` is not a list | a list of tables: [[limit]]
    "#]],
    );
    // Only where all else is right is it known which metrics there are.
    check(
        "[workload.oltp]\n[[limit]]\nworkload = \"oltp\"\nmetric = \"comit_seconds\"\nat_most = 0.01\n",
        &expect![[r#"
            6:10 a limit's `metric` can't be "comit_seconds" | metrics of oltp as it is set: commit_seconds, commits_per_second (did you mean `commit_seconds`?)
        "#]],
    );
}
