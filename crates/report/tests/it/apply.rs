//! How a scenario is put in place: what speaks against it comes first, and what servers need is asked for as they were measured.

use crate::fixture::{self, Row, Table, cut, found};
use ledger::model::{Contents, Scenario};
use observe::durability::Class;
use observe::safety::Grade;
use report::Knowledge;
use report::input::{Details, Input};
use serde_json::{Map, Value, json};
use settings::configuration::{Configuration, Setup};

fn table() -> Table {
    let values = [2990.0, 3015.0, 2931.0, 2954.0];
    let unsafe_row = Row { class: Class::MayCorrupt, ..Row::new("xfs", &values) };
    let failed = Row { values: vec![None; 4], ..Row::new("btrfs", &values) };
    Table { rows: vec![Row::new("ext4", &values), unsafe_row, failed], ..fixture::filesystems_and_buffers() }
}

fn input(change: impl FnOnce(&mut Contents)) -> Input {
    let mut contents = fixture::contents(&table());
    for trial in &mut contents.trials {
        let filesystem = trial.scenario.clone();
        trial.commands = vec![
            format!("mkfs.{filesystem} -q -F $DEVICE"),
            format!("mount -t {filesystem} -o noatime $DEVICE $MOUNT"),
            format!("mkfs.{filesystem} -q -F $WAL_DEVICE"),
            format!("mount -t {filesystem} -o noatime $WAL_DEVICE $WAL"),
        ];
    }
    change(&mut contents);
    Input::new(contents, Details::default())
}

fn applied(input: &Input, scenario: &str) -> String {
    report::apply(input, scenario).expect("it came as far as its storage")
}

fn first_lines(text: &str) -> Vec<&str> {
    text.lines().take_while(|line| line.starts_with("# WARNING: ")).collect()
}

#[test]
fn a_safe_scenario_begins_with_its_name() {
    let text = applied(&input(|_| ()), "ext4");
    assert!(text.starts_with("# ext4 of study filesystems: how to put it in place\n"), "{text}");
    let make = "# Make the filesystem\nwipefs --no-act /dev/DEVICE  # must say nothing: it is empty\n\
                wipefs --no-act /dev/WAL_DEVICE  # must say nothing: it is empty\nmkfs.ext4 -q -F /dev/DEVICE\n";
    assert!(text.contains(make), "{text}");
}

/// Clean instructions for production stood there, whatever the class.
#[test]
fn settings_that_promise_less_are_warned_of_with_their_reasons() {
    let input = input(|_| ());
    let expected =
        "# WARNING: after a power cut, the data may be corrupt (`nobarrier`: flushes don't reach the device).";
    assert_eq!(first_lines(&applied(&input, "xfs")), [expected]);
    let lost = |class: Class| {
        let change = |contents: &mut Contents| contents.scenarios[1].durability.class = class;
        first_lines(&applied(&self::input(change), "xfs")).concat()
    };
    assert!(lost(Class::LosesRecent).contains("the last seconds of acknowledged commits may be lost (`nobarrier`"));
    assert!(lost(Class::LosesAll).contains("everything is lost"));
}

/// Where damage was measured, not even the line stood there that only settings were read.
#[test]
fn a_class_that_was_measured_to_be_bad_is_warned_of() {
    let warned = |grade: Grade| {
        let input = input(|contents| cut(contents, "ext4", found(grade)));
        let text = applied(&input, "ext4");
        first_lines(&text).iter().map(|line| (*line).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(warned(Grade::A), [""; 0]);
    for grade in Grade::ALL.into_iter().skip(1) {
        let (lines, class) = (warned(grade), format!("(class {})", grade.letter()));
        assert!(lines.len() == 1 && lines[0].contains("in a power cut it ") && lines[0].contains(&class), "{lines:?}");
    }
    let both = input(|contents| cut(contents, "xfs", found(Grade::E)));
    assert_eq!(first_lines(&applied(&both, "xfs")).len(), 2);
}

/// mkfs and fstab of a scenario that never ran once stood there without a word.
#[test]
fn a_scenario_without_a_value_says_so_first() {
    let text = applied(&input(|_| ()), "btrfs");
    let expected = "# WARNING: btrfs has no value: all 4 of its trials failed (load: No space left on device).";
    assert_eq!(text.lines().next(), Some(expected));
    let unfinished = input(|contents| contents.runs.clear());
    let first = applied(&unfinished, "ext4").lines().next().map(String::from);
    assert_eq!(first.as_deref(), Some("# WARNING: ext4 has no value: none of its trials has ended with one."));
}

/// Of who failed, stood still or lost the new rounds nothing was said but what a power cut takes.
#[test]
fn what_trials_showed_is_warned_of() {
    let warned = |table: &Table, contents: Contents, scenario: &str| {
        let text = applied(&fixture::input_of(contents, table), scenario);
        first_lines(&text).iter().map(|line| (*line).to_string()).collect::<Vec<_>>()
    };
    let mut table = table();
    table.rows[1] = Row::new("xfs", &[3990.0, 4015.0, 3931.0, 3954.0]);
    let steady = fixture::contents(&table);
    assert_eq!(warned(&table, steady, "xfs"), [""; 0]);
    table.rows[1].values[2..].fill(None);
    let failing = fixture::contents(&table);
    assert_eq!(
        warned(&table, failing, "xfs"),
        ["# WARNING: it failed in 2 of 4 rounds, and ext4 in none."],
        "of equals the one that fails is no choice"
    );
    table.rows[1].values[2..].fill(Some(0.0));
    let stalling = fixture::contents(&table);
    assert_eq!(warned(&table, stalling, "xfs"), ["# WARNING: it stalled in 2 of 4 runs."]);
    // What a power cut takes from it is held against it already.
    table.rows[1].values[2..].fill(None);
    table.rows[1].class = Class::MayCorrupt;
    let lossy = fixture::contents(&table);
    let said = warned(&table, lossy, "xfs");
    assert!(said.len() == 2 && said[0] == "# WARNING: it failed in 2 of 4 rounds.", "{said:?}");
    let lost = crate::tuning::tuned(&[("xfs", 1390.0), ("f2fs", 1440.0), ("ext4", 1004.0)], 6);
    let text = applied(&crate::tuning::input(lost), "xfs");
    assert_eq!(first_lines(&text), ["# WARNING: new rounds show f2fs to be better."]);
}

/// The page shows what is picked; with nothing safer beside it that may be one that loses commits.
#[test]
fn the_page_warns_as_well() {
    let mut table = table();
    table.rows.retain(|row| row.label == "xfs");
    let html = report::html(&fixture::input(&table));
    let (_, in_place) = html.split_once("To put xfs in place").expect("it is picked");
    assert!(in_place.contains("Warning: after a power cut, the data may be corrupt"), "{in_place}");
}

/// Said by a server that tells how it was set up.
fn files(_: &str, recorded: Option<&Map<String, Value>>, setup: &Setup) -> Result<Vec<Configuration>, String> {
    if let Some(old) = recorded.and_then(|recorded| recorded.get("old")) {
        return Err(format!("this version refuses old = {old}"));
    }
    let log = setup.log.clone().unwrap_or("none".into());
    Ok(vec![Configuration {
        path: "/etc/server.conf".into(),
        before: vec!["move-data".into()],
        text: format!("version = {}\ndata = {}\nlog = {log}\n", setup.version, setup.data),
        after: vec!["test-it".into()],
        checks: vec!["ask-it".into()],
    }])
}

fn of_server(change: impl FnOnce(&mut Scenario, &mut Vec<String>)) -> String {
    let input = input(|contents| {
        contents.scenarios[0].settings["services"] = json!({ "server": {} });
        let last = contents.trials.iter_mut().rfind(|trial| trial.scenario == "ext4").expect("a trial");
        last.facts.insert("server.version".into(), "7.1".into());
        change(&mut contents.scenarios[0], &mut last.commands);
    });
    applied(&input.knowing(Knowledge { files, ..Knowledge::default() }), "ext4")
}

#[test]
fn a_server_is_told_where_its_data_and_its_log_were() {
    let text = of_server(|_, _| ());
    assert!(text.contains("# /etc/server.conf\nversion = 7.1\ndata = /MOUNTPOINT/data\nlog = none\n"), "{text}");
    assert!(text.contains("stop one before its data are moved there"), "{text}");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words}: {text}"));
    let mounted = "# Mount it\nmkdir -p /MOUNTPOINT && mount /MOUNTPOINT\n";
    let order = [
        "# /etc/fstab\n",
        mounted,
        "# First, for server\nmove-data\n",
        "# /etc/server.conf\n",
        "# Then, for server\ntest-it\n",
        "ask-it",
    ];
    assert!(order.map(at).is_sorted(), "{text}");
    // A log on a volume of its own was measured there: mkfs and fstab alone would leave that volume empty.
    let text = of_server(|scenario, _| scenario.settings["volumes"] = json!({ "wal": {} }));
    assert!(
        text.contains("log = /MOUNTPOINT-wal\n") && text.contains("/dev/WAL_DEVICE  /MOUNTPOINT-wal  ext4"),
        "{text}"
    );
    let text = of_server(|scenario, commands| {
        scenario.settings["volumes"] = json!({ "wal": {} });
        commands.push("mkdir -p $MOUNT/data/server".into());
    });
    assert!(text.contains("data = /MOUNTPOINT/data/server\nlog = /MOUNTPOINT-wal/server\n"), "{text}");
}

/// Of a study with two web servers each scenario has the settings of both: those of Apache were put in place beside nginx.
#[test]
fn a_server_that_was_not_there_is_not_put_in_place() {
    let text = of_server(|scenario, _| scenario.settings["services"]["other"] = json!({}));
    assert!(text.contains("# First, for server\n") && !text.contains("for other"), "{text}");
}

/// Older results have settings that are refused now: the user has to know which.
#[test]
fn a_setting_that_is_refused_now_is_named() {
    let text = of_server(|scenario, _| scenario.settings["services"]["server"] = json!({ "old": 1 }));
    let said =
        "# Of these servers the settings stand in the results file only\n# - server: this version refuses old = 1\n";
    assert!(text.contains(said), "{text}");
}

/// Of SQLite's pragmas, which were all that was compared, nothing stood there.
#[test]
fn settings_of_an_embedded_database_are_named() {
    let input = input(|contents| {
        for (index, scenario) in contents.scenarios.iter_mut().enumerate() {
            let (mode, bytes) = if index == 0 { ("wal", 4096) } else { ("delete", 8192) };
            scenario.settings["workload"] =
                json!({ "journal_mode": mode, "cache_size": bytes, "page_size": "4KiB", "threads": bytes });
            scenario.levels.insert("workload.oltp.cache_size".into(), format!("cache_size={}KiB", bytes / 1024));
        }
    });
    assert_eq!(input.contents.scenarios[0].workload, "oltp");
    let knowledge = Knowledge { is_choice: |_, setting| setting != "threads", ..Knowledge::default() };
    let text = applied(&input.knowing(knowledge), "ext4");
    let own = "# Of the load itself this was chosen\n# - journal_mode = wal\n# - cache_size = 4KiB\n\n";
    assert!(text.contains(own), "{text}");
}

/// Half of a device of 4 GiB, filled before, seemed to be the load's data.
#[test]
fn what_a_fill_wrote_is_no_data_of_the_load() {
    let data = |fill: f64| {
        let input = input(|contents| {
            let storage = &mut contents.scenarios[0].settings["storage"];
            (storage["size"], storage["fill"]) = (json!(4e9), json!(fill));
            contents.runs.iter_mut().for_each(|run| {
                run.metrics.insert("space_used_bytes".into(), 3e9);
            });
        });
        let text = applied(&input, "ext4");
        text.lines().find_map(|line| Some(line.split_once("and other data than ")?.1.to_string()))
    };
    assert_eq!(data(0.0).as_deref(), Some("2.8GiB of it"));
    assert_eq!(data(0.5).as_deref(), Some("1.1GiB of it"));
}

/// An override and an isolate had shown a command in another order than a shell would read it in.
#[test]
fn what_is_to_be_run_is_shown_in_the_order_of_its_letters() {
    let input = input(|contents| {
        for trial in &mut contents.trials {
            trial.commands[0] = "mkfs.ext4 -q $DEVICE \u{202e}# \u{2066}rm -rf /".into();
        }
    });
    let text = applied(&input, "ext4");
    assert!(text.contains("\nmkfs.ext4 -q /dev/DEVICE \u{fffd}# \u{fffd}rm -rf /\n"), "{text}");
}

/// A trial that failed before its server was up tells no version.
#[test]
fn a_trial_that_finished_is_read_before_one_that_failed() {
    let input = input(|contents| {
        let of_it = |trial: &&mut ledger::model::Trial| trial.scenario == "ext4";
        contents.trials.iter_mut().filter(of_it).for_each(|trial| {
            trial.facts.insert("server.version".into(), "7.1".into());
        });
        let last = contents.trials.iter_mut().rfind(|trial| trial.scenario == "ext4").expect("a trial");
        last.state = ledger::model::TrialState::Failed;
        last.facts.clear();
    });
    let text = applied(&input.knowing(Knowledge { files, ..Knowledge::default() }), "ext4");
    assert!(text.contains("version = 7.1\n"), "{text}");
}
