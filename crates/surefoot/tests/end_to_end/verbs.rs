//! Verbs that measure nothing.

use crate::harness::{World, said};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_flag_has_help() {
    let world = World::new();
    let help = world.surefoot(&["--help"]).status(0).stdout;
    for verb in [
        "run",
        "resume",
        "plan",
        "report",
        "compare",
        "history",
        "serve",
        "status",
        "doctor",
        "list",
        "init",
        "schema",
        "self-test",
        "clean",
        "completions",
        "man",
    ] {
        assert!(help.contains(verb), "{verb} is not in\n{help}");
        let text = world.surefoot(&[verb, "--help"]).status(0).stdout;
        let options = text.lines().skip_while(|line| !line.contains("Options:"));
        // `- value: …` explains a value of the flag above.
        let is_flag = |line: &&str| line.trim_start().starts_with('-') && !line.trim_start().starts_with("- ");
        let flags: Vec<&str> = options.filter(is_flag).collect();
        for flag in flags {
            let next = text.lines().skip_while(|line| *line != flag).nth(1).unwrap_or_default();
            let has_words =
                flag.trim().split("  ").count() > 1 || (!next.trim().is_empty() && !next.trim_start().starts_with('-'));
            assert!(has_words, "{verb}: no help for {flag}");
        }
    }
}

/// The line that a study is run with, and `plan` in place of `run`.
#[test]
fn plan_takes_what_run_takes_and_says_what_it_leaves_out() {
    let world = World::new();
    let options = |verb: &str| -> BTreeSet<String> {
        let help = world.surefoot(&[verb, "--help"]).status(0).stdout;
        let words = help.split(|c: char| !c.is_ascii_lowercase() && c != '-');
        words.filter(|word| word.starts_with("--")).map(str::to_string).collect()
    };
    let (run, plan) = (options("run"), options("plan"));
    assert!(run.len() > 15 && run.is_subset(&plan), "`plan` lacks {:?}", run.difference(&plan));
    let said = world.surefoot(&["plan", "quick", "--results", "x", "--work", "y", "--html", "z", "--quiet"]).status(0);
    said.says("these options change nothing in a plan: --html, --quiet");
    // A member's results are a folder, as the world's is.
    let third = ["plan", "quick", "--member", "3/20", "--rounds", "8", "--results", "."];
    let said = world.surefoot(&third).status(0).says("rounds:     8 to 8");
    assert!(!said.stdout.contains("refuses it"), "{}", said.stdout);
    assert_eq!(world.path().read_dir().expect("the folder").count(), 0, "plan touches nothing");
    let jfs = "\"storage.filesystem\" = [\"ext4\", \"jfs\"]";
    world.write("gap.toml", format!("name = \"gap\"\n[factors]\n{jfs}\n[storage]\nsize = \"1GiB\"\n[workload.oltp]\n"));
    let gap = ["plan", "gap.toml", "--set", "bench=host"];
    world.surefoot(&gap).status(0).says("\nmissing:    jfs: ").says("scenarios (3)");
    let kinds = "[factors]\n\"storage.filesystem\" = [\"ext4\", \"jfs\"]\n\"workload.oltp.threads\" = [1, 2, 3]\n";
    world.write("gaps.toml", format!("name = \"gaps\"\n{kinds}[storage]\nsize = \"1GiB\"\n[workload.oltp]\n"));
    let gaps = ["plan", "gaps.toml", "--set", "bench=host"];
    world.surefoot(&gaps).status(0).says("\nmissing:    3 scenarios, such as jfs · threads=1: ");
    // Twelve rounds of 22 scenarios, and six new ones of three under each of two conditions of two workloads.
    world
        .surefoot(&["plan", "gtm-filesystems", "--tune", "--set", "bench=host"])
        .status(0)
        .says("trials:     at most 336\n");
    let nothing = ["plan", "system", "--set", "bench=guest", "--skip-missing"];
    world.surefoot(&nothing).status(5).says("no scenario is left\n  5 scenarios").says("device = \"loop\"");
    let without = world.surefoot(&[&gap[..], &["--skip-missing"]].concat()).status(0);
    without.says("\nleft out:   jfs: ").says("scenarios (2)");
    let json = world.surefoot(&[&gap[..], &["--skip-missing", "--json"]].concat()).status(0).json();
    assert_eq!((&json["left_out"][0]["scenario"], json["missing"].as_array().map(Vec::len)), (&"jfs".into(), Some(0)));
}

/// All programs of this machine but these, in a folder to be the `PATH`.
fn path_without(world: &World, programs: &[&str]) -> PathBuf {
    let path = world.path().join("programs");
    std::fs::create_dir(&path).expect("a folder");
    for folder in ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"] {
        for entry in Path::new(folder).read_dir().into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !programs.iter().any(|program| name == *program) {
                // What stands in two folders is linked once.
                let _ = std::os::unix::fs::symlink(entry.path(), path.join(name));
            }
        }
    }
    path
}

#[test]
fn a_program_that_is_not_here_is_missing_and_the_study_is_a_good_one() {
    let world = World::new();
    let path = path_without(&world, &["fio", "db_bench", "ldb"]);
    let surefoot = |words: &[&str]| said(&world.command(words).env("PATH", &path).output().expect("surefoot starts"));
    surefoot(&["plan", "plain-fio"]).status(0).says("\nmissing:    4 scenarios, such as ").says("(package fio)");
    surefoot(&["run", "plain-fio"]).status(5).says("(package fio)");
    let rows = ["plan", "phoronix-filesystems", "--skip-missing"];
    surefoot(&rows).status(0).says("\nleft out:   ").says("the program db_bench (package rocksdb-tools)");
    let plan = surefoot(&[&rows[..], &["--json"]].concat()).status(0).json();
    let kept = plan["scenarios"].as_array().expect("scenarios").iter().map(|one| one["workload"].to_string());
    let kept: BTreeSet<String> = kept.collect();
    assert_eq!(kept, BTreeSet::from(["\"block-io\"", "\"command\"", "\"tpcb\""].map(String::from)));
}

/// That each can be planned, `tidy/documents.rs` holds, with all that it says of itself.
#[test]
fn every_study_file_is_built_in() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let world = World::new();
    let json = world.surefoot(&["list", "--json"]).status(0).json();
    let studies = json["studies"].as_array().expect("studies");
    assert!(studies.len() >= 4, "{studies:?}");
    for study in studies {
        assert!(!study["question"].as_str().unwrap_or_default().is_empty(), "{} asks nothing", study["name"]);
    }
    let listed = world.surefoot(&["list", "studies"]).status(0).stdout;
    for entry in folder.read_dir().expect("studies/").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".toml") else { continue };
        assert!(listed.contains(stem), "studies/{stem}.toml is not embedded");
    }
}

#[test]
fn the_example_with_files_of_its_own_plans_where_the_files_are() {
    let world = World::new();
    let studies = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    std::os::unix::fs::symlink(studies, world.path().join("studies")).expect("a link");
    world.surefoot(&["plan", "studies/shop/study.toml"]).status(0).says("shop: Which filesystem");
}

#[test]
fn every_kind_explains_itself() {
    let world = World::new();
    let listed = world.surefoot(&["list", "--json"]).json();
    for row in listed["filesystems"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        world.surefoot(&["list", name]).status(0).says(name);
    }
    for row in listed["workloads"].as_array().expect("rows") {
        let table = format!("workload.{}", row["name"].as_str().expect("a name"));
        world.surefoot(&["list", &table]).status(0).says(&format!("settings of [{table}]"));
    }
    for row in listed["services"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        let factor = format!("\"service.{name}.settings.NAME\" = [");
        world.surefoot(&["list", name]).status(0).says("  settings = a table").says(&factor);
    }
    for row in listed["devices"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        world.surefoot(&["list", name]).status(0).says(row["summary"].as_str().expect("words"));
    }
    for (table, setting) in [
        ("study", "parity"),
        ("design", "time_budget"),
        ("cpus", "server"),
        ("storage", "preset"),
        ("safety", "budget"),
        ("limit", "at_most"),
        ("table", "where"),
    ] {
        world.surefoot(&["list", table]).status(0).says("settings of ").says(&format!("  {setting} = "));
    }
    // A study and a workload of one name.
    world.surefoot(&["list", "orders"]).status(0).says("name = \"orders\"").says("surefoot list workload.orders");
    world.surefoot(&["list", "workload.orders"]).status(0).says("warehouses = a whole number");
    // What a limit may name.
    world.surefoot(&["list", "oltp"]).status(0).says("its metrics").says("latency_microseconds_p99");
    world.surefoot(&["list", "oltpp"]).status(2).says("did you mean `oltp`?");
}

/// What a researcher puts down before the first trial.
#[test]
fn plan_says_what_will_be_claimed() {
    let world = World::new();
    let said = world.surefoot(&["plan", "quick", "--seed", "7"]).status(0);
    said.says(
        "compared:   oltp by transactions per second, 3 in all (filesystem: xfs with ext4, btrfs with ext4, btrfs with xfs)\n",
    )
    .says("            at 95 % over all answers (97.5 % in a first one), corrected together (Holm) in each workload; a ")
    .says("; a difference below 3 % does not matter\n");
    let json = world.surefoot(&["plan", "quick", "--seed", "7", "--json"]).status(0).json();
    assert_eq!((&json["seed"], &json["confidence"], &json["margin"]), (&7.into(), &0.95.into(), &0.03.into()));
    let last = &json["comparisons"][2];
    assert_eq!((&last["of"], &last["against"]), (&"btrfs".into(), &"xfs".into()));
    assert_eq!((&last["metric"], &last["factor"]), (&"transactions_per_second".into(), &"storage.filesystem".into()));
    // Nothing is compared with it; and who is, rounds will say.
    for more in [&["--only", "xfs"][..], &["--tune"]] {
        let said = world.surefoot(&[&["plan", "quick"][..], more].concat()).status(0);
        assert!(!said.stdout.contains("compared:"), "{}", said.stdout);
    }
}

/// SECURITY.md: a stranger's study may be planned.
#[test]
fn plan_starts_no_program_that_a_study_names() {
    let world = World::new();
    let started = world.path().join("started");
    world.write("kernel", format!("#!/bin/sh\necho started >{}\necho 6.1.0\n", started.display()));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.path().join("kernel"), executable).expect("executable");
    let kernel = "guest.kernel=./kernel";
    world
        .surefoot(&["plan", "quick", "--set", "bench=guest", "--set", kernel])
        .status(0)
        .says("no User-Mode Linux kernel");
    assert!(!started.exists());
}

/// SECURITY.md: what a stranger wrote has none of the terminal's control characters there.
#[test]
fn what_a_study_says_does_not_steer_the_terminal() {
    let world = World::new();
    let study = |path: &str| {
        format!(
            "name = \"s\"\nquestion = \"\\u001b]0;mine\\u0007\"\n[storage]\ndevice = \"dir\"\n{path} = \"/no/\\u001b[2J\"\n[workload.null]\n\
             time = \"10ms\"\n"
        )
    };
    for (path, words, status) in [("path", "plan", 0), ("path", "run", 5), ("\"\\u001b[2J\"", "plan", 2)] {
        world.write("s.toml", study(path));
        let said = world.surefoot(&[words, "s.toml"]).status(status);
        let steers = |text: &str| text.contains(['\u{1b}', '\u{7}']);
        assert!(!steers(&said.stdout) && !steers(&said.stderr), "{words}: {:?} {:?}", said.stdout, said.stderr);
    }
}

/// It had been said to have no ext4, which was built in.
#[test]
fn a_guest_kernel_of_which_nothing_tells_what_it_has_is_said_to_be_one() {
    let world = World::new();
    world.write("linux", "\0User Mode Linux v%s\0Linux version 6.99.0-mine (me@here) #1\0");
    let said = world.surefoot(&["plan", "quick", "--set", "bench=guest", "--set", "guest.kernel=./linux"]).status(0);
    let said = said.says("no folder /lib/modules/6.99.0-mine").says("make ARCH=um modules_install");
    assert!(![&said.stdout, &said.stderr].iter().any(|text| text.contains("guest kernel has no")), "{said:?}");
}

/// Each trial had failed: its servers have a /dev/shm of their own, in which the file was looked for.
#[test]
fn a_file_that_a_trial_with_a_server_can_t_see_is_told_before() {
    let world = World::new();
    let script = tempfile::Builder::new().prefix("shared-").suffix(".sql").tempfile_in("/dev/shm").expect("a file");
    std::fs::write(script.path(), "INSERT INTO seen (n) VALUES (1);\n").expect("written");
    world.write("schema.sql", "CREATE TABLE seen (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);\n");
    let hidden = |engine: &str| {
        let load =
            format!("[workload.sql]\nengine = {engine:?}\nschema = \"schema.sql\"\nscripts = [{:?}]\n", script.path());
        world.write("s.toml", format!("name = \"s\"\nbench = \"host\"\n{load}"));
        let said = world.surefoot(&["plan", "s.toml"]).status(0);
        [&said.stdout, &said.stderr].iter().any(|text| text.contains("lies in /dev/shm"))
    };
    assert!(hidden("postgres") && !hidden("sqlite"));
}

#[test]
fn a_study_begins_as_a_copy_of_a_built_in_one() {
    let world = World::new();
    world.surefoot(&["init", "mine", "--from", "gtm-filesystems"]).status(0);
    let text = std::fs::read_to_string(world.path().join("mine.toml")).expect("it was written");
    assert!(text.contains("\nname = \"mine\"\n") && text.contains("[[table]]"), "{text}");
    world.surefoot(&["plan", "mine.toml"]).says("mine: Which filesystem suits GT.M");
    // Each copy had kept the name of what it was copied from, and so its results file.
    let load = "[workload.null]\n";
    for (name, text) in [
        ("quoted", format!("\"name\" = 'theirs' # and so on\n{load}")),
        ("marked", format!("\u{feff}name=\"theirs\"\r\n{load}")),
        ("asked", format!("question = \"\"\"\nname = \"why\"\n\"\"\"\nname = \"theirs\"\n{load}")),
    ] {
        world.write("theirs.toml", text.clone());
        world.surefoot(&["init", name, "--from", "theirs.toml"]).status(0);
        let copy = std::fs::read_to_string(world.path().join(format!("{name}.toml"))).expect("it was written");
        assert_eq!(copy, text.replace("'theirs'", "\"theirs\"").replace("theirs", name));
    }
    world.surefoot(&["init", "other", "--from", "gtm-filesystem"]).status(2).says("did you mean the built-in study");
}

#[test]
fn what_can_have_no_effect_is_refused() {
    let world = World::new();
    world.write("log", "127.0.0.1 - - [21/Nov/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    for (words, says) in [
        (&["replay", "log", "http://127.0.0.1:9/", "--requests", "0"][..], "--requests"),
        (&["replay", "log", "http://127.0.0.1:9/", "--bad-lines-max", "NaN"], "--bad-lines-max"),
        (&["replay", "log", "http://127.0.0.1:9/", "--form", "csv"], "`--form` is for a database's log"),
        (&["replay", "log", "postgres://a@127.0.0.1:9/b", "--timeout", "3"], "`--timeout` is for http://"),
        (&["list", "oltp", "--json"], "not `oltp` alone"),
        (&["init", "a b"], "can't be a study's name"),
        (&["init", "none/a"], "cannot create"),
        (&["init", "copy", "--from", "log"], "is no study"),
    ] {
        world.surefoot(words).status(2).says(says);
    }
    world.surefoot(&["list", "service.postgres"]).status(0).says("[service.postgres]");
    for (address, says) in [
        ("postgres://a:secret@127.0.0.1:9/b?sslmode=require", "`sslmode=require` would have no effect"),
        ("http://a:secret@127.0.0.1:9/", "user and password in a URL are not supported"),
    ] {
        let told = world.surefoot(&["replay", "log", address]).status(2).says(says);
        assert!(!told.stderr.contains("secret"), "{}", told.stderr);
    }
}

#[test]
fn plan_says_what_a_budget_and_a_disk_do_not_hold() {
    let world = World::new();
    let plan = |more: &[&str]| world.surefoot(&[&["plan", "quick"][..], more].concat()).status(0);
    plan(&["--rounds", "1001", "--time", "3min 50s"]).says("holds about").says("budget:     3min 50s a session");
    plan(&["--set", "storage.size=900TiB"]).says("for image files, and");
    plan(&["--set", "workload.oltp.table_size=10000000"]).says(
        "note:       4 scenarios, such as ext4: the data take about 2.0GiB, which a filesystem of 1GiB does not hold",
    );
    let held = plan(&["--set", "workload.oltp.table_size=4000000"]);
    assert!(!held.stdout.contains("does not hold"), "{}", held.stdout);
    world.write("file", "");
    plan(&["--work", "file"]).says("is a file");
    plan(&["--set", "workload.oltp.time=0s", "--set", "workload.oltp.transactions=100"])
        .says("how long runs take is not known: the time is without them");
    let by_both = plan(&["--set", "workload.oltp.time=40min", "--set", "workload.oltp.transactions=100"]);
    by_both.says("time:       at most about ").says("a trial takes at most about 4h ");
}

#[test]
fn plan_names_settings_that_do_nothing() {
    let world = World::new();
    let served = ["plan", "quick", "--set", "workload.oltp.engine=postgres"];
    let said = ["workload.oltp.journal_mode=delete", "service.postgres.settings.commit_siblings=7"];
    let plan = |more: &[&str]| world.surefoot(&[&served[..], more].concat()).status(0);
    let [journal_mode, siblings] = said.map(|setting| ["--set", setting]);
    let told = plan(&[journal_mode, siblings].concat());
    told.says("`workload.oltp.journal_mode` has no effect: it needs an embedded `engine`, which no scenario has")
        .says("`service.postgres.settings.commit_siblings` has no effect: it needs commit_delay above 0");
    let heard = plan(&[siblings, ["--set", "service.postgres.settings.commit_delay=9"]].concat());
    assert!(!heard.stdout.contains("has no effect"), "{}", heard.stdout);
    // Nor does a factor whose levels are one and the same. A control is the baseline once more on purpose.
    assert!(heard.stdout.contains("(control)") && !heard.stdout.contains("several names"), "{}", heard.stdout);
    let levels = "[factors.a]\none = { storage.mount = [\"noatime\"] }\ntwo = { storage.mount = [\"noatime\"], storage.fill = \"0%\" }";
    world.write("s.toml", format!("name = \"s\"\nquestion = \"?\"\n{levels}\n[workload.null]\n"));
    world.surefoot(&["plan", "s.toml"]).says("the same settings under several names: one, two; what differs is noise");
}

/// Each of its trials would be ended after half an hour, and have no figure.
#[test]
fn runs_that_are_longer_than_a_trial_may_be_are_refused() {
    let world = World::new();
    let arguments = |verb| [verb, "quick", "--set", "workload.oltp.time=40min"];
    world.surefoot(&arguments("plan")).status(0).says("note:       4 scenarios, such as ext4: a trial takes about 4h ");
    world
        .surefoot(&arguments("run"))
        .status(2)
        .says("a trial takes 4h 0min or more, and one that has not ended after 30min (design.trial_timeout) fails")
        .says("--set design.trial_timeout=TIME");
    assert_eq!(world.path().read_dir().expect("the folder").count(), 0, "nothing was begun");
}

#[test]
fn the_template_of_init_plans() {
    let world = World::new();
    world.surefoot(&["init", "mine"]).status(0).says("mine.toml");
    world.surefoot(&["plan", "mine.toml"]).status(0).says("mine");
    let mut text = std::fs::read_to_string(world.path().join("mine.toml")).expect("it was written");
    for setting in ["memory", "\"workload.oltp.threads\"", "mount", "mkfs", "fill", "time_budget"] {
        let line = format!("\n# {setting} = ");
        assert!(text.contains(&line), "no {setting} in {text}");
        // The first: what is left out has some of them, too.
        text = text.replacen(&line, &line.replace("# ", ""), 1);
    }
    world.write("all.toml", text);
    world.surefoot(&["plan", "all.toml"]).status(0).says("budget:     30min a session");
    world.surefoot(&["init", "mine"]).status(2).says("cannot create `mine.toml`");
}

#[test]
fn the_schema_is_json_and_knows_the_settings() {
    let world = World::new();
    let printed = world.surefoot(&["schema"]).status(0).stdout;
    // A setting's sentence stands before what it allows; the compiler does not ask for one.
    assert!(printed.contains("\"description\": \"Connections, each with"), "{printed}");
    assert!(!printed.contains("\"description\": \" Allowed: "), "a setting has no `help`: {printed}");
    let schema: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let text = schema.to_string();
    assert!(text.contains("table_size") && text.contains("filesystem") && text.contains("rounds_min"), "{text}");
    assert_eq!(world.surefoot(&["schema", "report"]).status(0).json()["title"], "surefoot report --json");
}

#[test]
fn a_verb_offers_no_option_that_it_refuses() {
    let world = World::new();
    for verb in ["powercut", "faults"] {
        let help = world.surefoot(&[verb, "--help"]).status(0).stdout;
        let offered = |option: &str| help.contains(&format!("--{option} "));
        assert!(offered("replay") && offered("only"), "{help}");
        assert!(["rounds", "time", "tune", "exhaustive"].iter().all(|option| !offered(option)), "{help}");
    }
}

/// Hints name options of `run`.
#[test]
fn self_test_takes_what_hints_name() {
    let world = World::new();
    let help = world.surefoot(&["self-test", "--help"]).status(0).stdout;
    let offered = |option: &&str| help.contains(&format!("--{option} "));
    let named = ["set", "rounds", "time", "work", "results", "html"];
    assert!(named.iter().all(offered), "{help}");
    for option in ["--accept-changes", "--skip-missing", "--retry-failed"] {
        assert!(help.contains(option), "no {option} in {help}");
    }
    assert!(!["only", "member", "pairing"].iter().any(offered), "{help}");
    world.surefoot(&["self-test", "--set", "storage.filesystem=ext5"]).status(2).says("ext5");
    world.surefoot(&["self-test", "quick"]).status(2).says("quick");
}

#[test]
fn doctor_sees_root_and_filesystems() {
    let world = World::new();
    let checks = world.surefoot(&["doctor", "--json"]).status(0).json();
    let find = |name: &str| {
        let found = checks.as_array().expect("checks").iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("no check {name} in {checks:#}")).clone()
    };
    for name in ["ext4", "xfs", "btrfs", "namespaces"] {
        assert_eq!(find(name)["status"], "ok", "{name}");
    }
    world.surefoot(&["doctor"]).status(0).says("clock");
}

#[test]
fn completions_and_man_pages_come_from_the_same_words() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = world.surefoot(&["completions", shell]).status(0).stdout;
        assert!(text.contains("skip-missing"), "{shell}");
        // Verbs that surefoot starts itself were offered beside the others.
        assert!(!text.contains("guest-init") && !text.contains("worker"), "{shell}");
    }
    world.surefoot(&["man", "man"]).status(0);
    let page = std::fs::read_to_string(world.path().join("man/surefoot-run.1")).expect("a page for run");
    // As man pages write `--skip-missing`, with what the help says of it.
    assert!(page.contains(r"\-\-skip\-missing") && page.contains("Leave out scenarios"), "{page}");
    let verbs = std::fs::read_dir(world.path().join("man")).expect("pages").count();
    assert!(verbs > 15, "{verbs} pages");
}

#[test]
fn a_closed_pipe_is_no_crash() {
    let world = World::new();
    let line = format!("{} schema | head -1", env!("CARGO_BIN_EXE_surefoot"));
    let output = Command::new("sh").args(["-c", &line]).current_dir(world.path()).output().expect("sh");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
}

#[test]
fn doctor_measures_the_noise_of_the_machine_and_keeps_it() {
    let world = World::new();
    let said = world.surefoot(&["doctor", "--noise", "--time", "3s", "--json"]).status(0).json();
    for series in ["processor", "writes"] {
        let number = |pointer: &str| said[series].pointer(pointer).and_then(serde_json::Value::as_f64);
        assert!(number("/rate").is_some_and(|rate| rate > 1.0), "{said:#}");
        assert!(number("/model/white").is_some_and(|white| white > 0.0), "{said:#}");
        let spreads = said[series]["spreads"].as_array().expect("spreads");
        assert_eq!(spreads.len(), 5, "{said:#}");
        for spread in spreads {
            // Three averages must fit in to be called measured.
            assert_eq!(spread["is_extrapolated"], spread["seconds"].as_f64() > Some(1.0), "{said:#}");
            assert!(spread["low"].as_f64() <= spread["high"].as_f64(), "{said:#}");
        }
    }
    assert!(said["kept"].as_str().is_some_and(|kept| kept.ends_with("surefoot-work/noise/noise.json")), "{said:#}");
    let left = world.path().join("surefoot-work/noise").read_dir().expect("the work folder").flatten();
    let data = left.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "data"));
    assert_eq!(data.count(), 0, "the file that was written is gone");
    world.surefoot(&["doctor", "--noise", "--time", "2s"]).status(0).says("extrapolated").says("kept in");
    world.surefoot(&["doctor", "--noise", "--time", "soon"]).status(2).says("from 2s to 1h");
    world.surefoot(&["clean"]).status(0).says("removed surefoot-work/noise");
}
