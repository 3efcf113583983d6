//! What is said of factors, their levels and rules that are wrong.

use crate::{check, check_with, planned};
use expect_test::expect;

const FIVE: &str = r#"
[factors]
storage.filesystem = ["ext4", "xfs"]
storage.size = ["1GiB", "2GiB"]
workload.oltp.threads = [1, 4]
workload.oltp.rows = [10, 20]
workload.oltp.tables = [1, 2, 3]
[workload.oltp]
"#;

#[test]
fn a_screen_that_cannot_be_had() {
    check(
        &format!("{FIVE}[design]\nscreen = \"some\"\nscreen_rounds = 0\n"),
        &expect![[r#"
        12:10 `design.screen` can't be "some" | expected one of off, auto, fraction, plackett-burman
        13:17 `design.screen_rounds` can't be 0 | expected a whole number from 1 to 1000
    "#]],
    );
    check(
        &format!("{FIVE}[design]\nscreen = \"plackett-burman\"\n"),
        &expect![[r#"
            12:10 `oltp` can't be screened: factors of two levels: 4, where a screen saves from six to thirteen; a factor with more levels is kept at all of them | "auto" screens where it can and it saves something, "off" measures everything
        "#]],
    );
    let excluded = format!("{FIVE}[[exclude]]\nstorage.filesystem = \"xfs\"\nworkload.oltp.tables = 3\n");
    check(
        &format!("{excluded}[design]\nscreen = \"fraction\"\n"),
        &expect![[r#"
        15:10 `oltp` can't be screened: its 40 scenarios are not the 48 of all levels; a screen needs every combination of levels once: no exclude, include of other levels, or --only | "auto" screens where it can and it saves something, "off" measures everything
    "#]],
    );
    check(
        "[factors]\nworkload.oltp.threads = [1, 2]\n[workload.oltp]\n[design]\nscreen = \"fraction\"\n",
        &expect![[r#"
            7:10 `oltp` can't be screened: factors of two levels: 1, where a screen saves from four to thirteen; a factor with more levels is kept at all of them | "auto" screens where it can and it saves something, "off" measures everything
        "#]],
    );
    check_with(
        "[workload.oltp]\n",
        &[("design.screen", "fraction")],
        &expect![[r#"
            - `oltp` can't be screened: factors of two levels: 0, where a screen saves from four to thirteen; a factor with more levels is kept at all of them | "auto" screens where it can and it saves something, "off" measures everything
        "#]],
    );
}

#[test]
fn levels_that_are_wrong() {
    check(
        r#"
[factors]
storage.size = ["1GiB", "1024MiB", "2 GB", 7, "7"]
storage.mount = ["noatime", ["noatime"], [1]]
workload.tree.files = [1, 2]
storage.filesystem.ext4 = [1]
workload.oltp = ["a"]
workload.tre.files = [1]
filesystem = ["ext4"]
storge.size = ["1GiB"]
memory = ["1KiB"]
question = ["a", "b"]
[factors.empty]
[factors.settings]
a = { filesystem = "ext4", storage.sizes = "1GiB", workload.oltp.threads = "1" }
b = 3
[workload.oltp]
"#,
        &expect![[r#"
            5:25 the factor `storage.size` has one level twice: `size=1024MiB` is `size=1GiB` | each level once
            5:44 `storage.size` can't be 7 | expected a size of 1B or more, with its unit, like "4GiB"
            5:47 `storage.size` can't be "7" | expected a size of 1B or more, with its unit, like "4GiB"
            6:18 `storage.mount` can't be "noatime" | expected a list of texts, like ["-O", "^has_journal"] (each level is itself a list: [["noatime"], []])
            6:42 `storage.mount` can't be a list | expected a list of texts, like ["-O", "^has_journal"]
            7:15 the factor `workload.tree.files` varies the workload `tree`, which this study does not have | add [workload.tree]
            8:9 the factor `storage.filesystem` has no list of levels | a list of levels, like "storage.filesystem" = ["a", "b"]
            9:10 `workload.oltp` is not a setting's path | a path is like storage.filesystem, workload.oltp.threads, service.postgres.settings.fsync, memory or cpus.client
            10:14 `tre` is not a setting of `workload` | settings of `workload`: oltp, tree (did you mean `tree`?)
            11:1 `filesystem` is neither a setting's path nor a factor with named levels | a path begins with storage, service, workload, memory, cpus, bench, guest; named levels are tables of settings (did you mean `storage.filesystem`?)
            12:1 `storge` is neither a setting's path nor a factor with named levels | a path begins with storage, service, workload, memory, cpus, bench, guest; named levels are tables of settings (did you mean `storage`?)
            13:11 `memory` can't be "1KiB" | expected a size of 64MiB or more, with its unit, like "4GiB"
            14:1 `question` is neither a setting's path nor a factor with named levels | a path begins with storage, service, workload, memory, cpus, bench, guest; named levels are tables of settings
            15:1 the factor `empty` has no levels | at least one level
            17:7 `filesystem` is not a setting of a study that can be varied | settings of a study that can be varied: memory, bench (did you mean `storage.filesystem`?)
            17:36 `sizes` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `size`?)
            17:76 `workload.oltp.threads` can't be "1" | expected a whole number from 1 to 1000000
            18:5 the level `b` is not a table of settings | like { "storage.filesystem" = "ext4" }
        "#]],
    );
    check(
        "[factors]\nworkload = [\"oltp\", \"tree\"]\n[workload.oltp]\n",
        &expect![[r#"
        4:1 `workload` is always a factor and has no levels of its own | write a table [workload.NAME] for each: every scenario is made for every workload
    "#]],
    );
    check(
        "[factors]\nstorage.filesystem = []\n[workload.oltp]\n",
        &expect![[r#"
        4:22 the factor `storage.filesystem` has no levels | at least one level
    "#]],
    );
}

#[test]
fn two_factors_must_not_set_one_thing() {
    check(
        r#"
[factors]
storage.size = ["1GiB", "2GiB"]
"storage.size" = ["1GiB"]
[factors.twice]
b = { storage.mount = [], "storage.mount" = ["noatime"] }
[factors.configuration]
a = { workload.oltp.threads = 1 }
b = { storage.size = "3GiB" }
[workload.oltp]
"#,
        &expect![[r#"
            6:1 the factor `storage.size` stands twice | each factor once
            8:27 the level `b` sets `storage.mount` twice | each setting once
            9:10 the factors `storage.size` and `configuration` both set `storage.size` | one of them would have no effect
        "#]],
    );
}

#[test]
fn rules_that_are_wrong() {
    check(
        r#"
[factors]
storage.filesystem = ["ext4", "xfs"]
workload.oltp.threads = [1, 2]
[factors.journal]
on = {}
off = { storage.mount = ["nobarrier"] }
[[exclude]]
storage.filesystem = "ext3"
storage.size = "1GiB"
[[exclude]]
storage.filesystm = "xfs"
workload = "oltpp"
[[exclude]]
storage.filesystem = "xsf"
journal = "of"
[[exclude]]
[[include]]
storage.mount = ["a"]
workload.oltp.threads = 0
journal = "both"
storage.sizes = "1GiB"
[baseline]
workload.oltp.threads = "1"
journal = 1
[workload.oltp]
"#,
        &expect![[r#"
            11:22 "ext3" is not a level of `storage.filesystem` | its levels: ext4, xfs (did you mean `ext4`?)
            12:9 `storage.size` in `exclude` is not a factor | factors of this study: storage.filesystem, workload.oltp.threads, journal, workload
            14:9 `storage.filesystm` in `exclude` is not a factor | factors of this study: storage.filesystem, workload.oltp.threads, journal, workload (did you mean `storage.filesystem`?)
            15:12 "oltpp" is not a level of `workload` | its levels: oltp (did you mean `oltp`?)
            17:22 `storage.filesystem` can't be "xsf" | expected one of ext3, ext4, xfs (did you mean `xfs`?)
            18:11 "of" is not a level of `journal` | its levels: on, off (did you mean `off`?)
            19:1 `exclude` names no factor | factors and their levels
            21:9 the factor `journal` sets `storage.mount` already | factors, their levels, and settings that no factor makes
            22:25 `workload.oltp.threads` can't be 0 | expected a whole number from 1 to 1000000
            23:11 "both" is not a level of `journal` | its levels: on, off
            24:9 `sizes` is not a setting of `storage` | settings of `storage`: filesystem, size, mount (did you mean `size`?)
            26:25 `workload.oltp.threads` can't be "1" | expected a whole number from 1 to 1000000
            27:11 1 is not a level of `journal` | its levels: on, off
        "#]],
    );
}

#[test]
fn rules_that_change_nothing() {
    check(
        r#"
[factors]
storage.filesystem = ["ext4", "xfs"]
workload.oltp.threads = [1, 2]
[[exclude]]
storage.filesystem = "xfs"
[[exclude]]
storage.filesystem = "xfs"
workload.oltp.threads = 1
[[exclude]]
workload = "tree"
"workload.oltp.threads" = 1
[[include]]
storage.filesystem = "ext4"
[[include]]
workload = "tree"
"workload.oltp.threads" = 9
[workload.oltp]
[workload.tree]
"#,
        &expect![[r#"
            9:1 this exclude takes out nothing | an exclude above it took these scenarios out already
            12:1 this exclude matches no scenario | a combination of levels that the factors make
            15:1 this include changes nothing | its scenarios are there already; give it other settings
            17:1 this include matches no scenario | levels of factors that concern one workload
        "#]],
    );
    check(
        "[factors]\nstorage.filesystem = [\"ext4\"]\n[[exclude]]\nstorage.filesystem = \"ext4\"\n[workload.oltp]\n",
        &expect![[r#"
        - the excludes leave no scenario | at least one
    "#]],
    );
}

/// Where one scenario has what it needs, the levels are not all the same.
#[test]
fn factors_that_wait_for_another_setting_need_it_in_a_scenario() {
    let factor =
        "[factors]\nservice.postgres.settings.commit_siblings = [1, 9]\n[workload.oltp]\nengine = \"postgres\"\n";
    check(
        factor,
        &expect![[r#"
            4:27 `service.postgres.settings.commit_siblings` has no effect: it needs commit_delay, which no scenario has | all its levels are the same
        "#]],
    );
    // Who fixes it compares nothing, and had no way to leave it out.
    check_with(
        factor,
        &[("design.control", "false"), ("service.postgres.settings.commit_siblings", "9")],
        &expect![[r#"
            commit_siblings=9
        "#]],
    );
    check_with(
        &format!("{factor}[service.postgres.settings]\ncommit_delay = 100\n"),
        &[("design.control", "false")],
        &expect![[r#"
            commit_siblings=1
            commit_siblings=9
        "#]],
    );
    check_with(
        "[factors.wait]\nnone = { service.postgres.settings.commit_siblings = 5 }\n\
         some = { service.postgres.settings.commit_siblings = 1, service.postgres.settings.commit_delay = 100 }\n\
         [workload.oltp]\nengine = \"postgres\"\n",
        &[("design.control", "false")],
        &expect![[r#"
            none
            some
        "#]],
    );
}

#[test]
fn factors_of_a_guest_need_one() {
    let factor = "[factors]\nguest.memory = [\"512MiB\", \"1GiB\"]\n[workload.oltp]\n";
    check_with(
        factor,
        &[("bench", "host")],
        &expect![[r#"
            4:7 `guest.memory` has no effect: no scenario runs in a guest kernel | say bench = "guest" at the top of the file
        "#]],
    );
    // Who fixes it compares nothing, and had no way to leave it out.
    check_with(
        factor,
        &[("bench", "host"), ("design.control", "false"), ("guest.memory", "1GiB")],
        &expect![[r#"
            memory=1GiB
        "#]],
    );
    let planned = expect![[r#"
        memory=512MiB
        memory=1GiB
        memory=512MiB (control)
    "#]];
    check_with(factor, &[("bench", "guest")], &planned);
    // It may still be chosen: an ordinary user's trials run in one.
    check(factor, &planned);
    let both = factor.replace("[factors]\n", "[factors]\nbench = [\"guest\", \"host\"]\n");
    check(
        &both,
        &expect![[r#"
            5:7 `guest.memory` has no effect on the host, where scenarios differ by it alone | one factor for both, with levels like { bench = "guest", guest.memory = "1GiB" }
        "#]],
    );
    check(
        &format!("{both}[[exclude]]\nbench = \"host\"\nguest.memory = \"1GiB\"\n[design]\ncontrol = false\n"),
        &expect![[r#"
            guest · memory=512MiB
            guest · memory=1GiB
            host · memory=512MiB
        "#]],
    );
}

/// SECURITY.md: a stranger's study may be planned. Where two factors had a level of the same name, labels had that of the factor as it was.
#[test]
fn a_factors_name_does_not_steer_the_terminal() {
    let text = "[factors.\"a\\u001b[2J\"]\non = { storage.size = \"1GiB\" }\n[workload.oltp]\n";
    let said = planned(text, &[]).expect_err("no name");
    assert!(said.contains("can't be a factor's name") && !said.contains('\u{1b}'), "{said:?}");
}

/// The scenarios of SQLite were measured twice, and what PostgreSQL's setting does was averaged with nothing.
#[test]
fn factors_of_a_server_need_it_where_scenarios_differ_by_them_alone() {
    let factor = "[factors]\nworkload.oltp.engine = [\"sqlite\", \"postgres\"]\n\
        service.postgres.settings.fsync = [true, false]\n[workload.oltp]\n";
    check(
        factor,
        &expect![[r#"
            5:27 `service.postgres.settings.fsync` has no effect in `sqlite · fsync=false`, which differs from another scenario by it alone | an [[exclude]] leaves such scenarios one of its levels; or one factor of named levels sets both
        "#]],
    );
    check(
        &format!(
            "{factor}[[exclude]]\nworkload.oltp.engine = \"sqlite\"\nservice.postgres.settings.fsync = false\n\
             [design]\ncontrol = false\n"
        ),
        &expect![[r#"
            sqlite · fsync=true
            postgres · fsync=true
            postgres · fsync=false
        "#]],
    );
    check(
        "[factors]\nstorage.wal.filesystem = [\"ext4\", \"xfs\"]\n[workload.oltp]\nengine = \"postgres\"\n\
         [workload.tree]\n",
        &expect![[r#"
            4:13 `storage.wal.filesystem` has no effect in `tree · xfs`, which differs from another scenario by it alone | an [[exclude]] leaves such scenarios one of its levels; or one factor of named levels sets both
        "#]],
    );
    check(
        "[factors]\ncpus.server = [[0], [1]]\n[workload.oltp]\n",
        &expect![[r#"
            4:6 `cpus.server` has no effect in `server=1`, which differs from another scenario by it alone | an [[exclude]] leaves such scenarios one of its levels; or one factor of named levels sets both
        "#]],
    );
}

/// What named levels set of another workload hid that they do nothing in this one, which was measured twice.
#[test]
fn what_levels_set_of_another_workload_does_nothing_in_this_one() {
    let text = "[factors.tuned]\nno = { workload.oltp.threads = 1, service.postgres.settings.fsync = true }\n\
         yes = { workload.oltp.threads = 8, service.postgres.settings.fsync = false }\n\
         [workload.oltp]\nengine = \"postgres\"\n[workload.tree]\n";
    let said = planned(text, &[]).expect_err("tree knows nothing of either");
    assert!(said.contains("has no effect in `tree · yes`"), "{said}");
    let exclude = "[[exclude]]\nworkload = \"tree\"\ntuned = \"yes\"\n";
    assert!(planned(&format!("{text}{exclude}"), &[]).is_ok());
}

#[test]
fn factors_of_a_workload_need_the_engine_that_has_them() {
    let factor = "[factors]\nworkload.oltp.like = [\"1.0\", \"0.4\"]\n";
    check(
        &format!("{factor}[workload.oltp]\nengine = \"postgres\"\n"),
        &expect![[r#"
            4:15 `workload.oltp.like` has no effect: it needs an embedded `engine`, which no scenario has | all its levels are the same
        "#]],
    );
    check(
        &format!("{factor}workload.oltp.engine = [\"sqlite\", \"postgres\"]\n[workload.oltp]\n"),
        &expect![[r#"
            4:15 `workload.oltp.like` has no effect in `like=0.4 · postgres`, which differs from another scenario by it alone | an [[exclude]] leaves such scenarios one of its levels; or one factor of named levels sets both
        "#]],
    );
}

#[test]
fn an_include_sets_nothing_of_a_workload_that_is_not_there() {
    let include = "[factors]\nstorage.filesystem = [\"ext4\", \"xfs\"]\n[[include]]\nstorage.filesystem = \"xfs\"\n\
        \"workload.tree.files\" = 3\n[workload.oltp]\n";
    check(
        include,
        &expect![[r#"
            7:1 `workload.tree.files` in `include` has no effect: this study has no workload `tree` | add [workload.tree]
        "#]],
    );
    // A change may leave it out.
    check_with(
        &format!("{include}[workload.tree]\n"),
        &[("workload", "oltp")],
        &expect![[r#"
            ext4
            xfs
            ext4 (control)
        "#]],
    );
}

/// All were compared by the first one's metric: a rate that was given for the others, so that their latencies decided nothing.
#[test]
fn scenarios_that_answer_by_different_metrics_are_no_study() {
    let of_threads =
        |threads: &str| planned(&format!("[factors]\nworkload.oltp.threads = {threads}\n[workload.oltp]\n"), &[]).err();
    let said = of_threads("[1, 777]").unwrap_or_default();
    assert!(
        said.contains("scenarios of `oltp` answer by different metrics: commit_seconds in `threads=777`, "),
        "{said}"
    );
    assert!(said.contains("commits_per_second in `threads=1`"), "{said}");
    assert_eq!(of_threads("[1, 2]"), None);
}
