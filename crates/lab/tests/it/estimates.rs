//! What is known of a trial's length before it runs.

use crate::{plan, text};
use lab::estimate::{
    certainly_overlong, fits_into_memory, of_unknown_length, outgrown, overlong, run_seconds, space_there,
    templates_seconds, trial_seconds,
};
use std::io::Write as _;

/// A session of a minute, in the form of PostgreSQL's manual with Debian's prefix.
const MINUTE: &str = "\
2026-11-24 10:00:00.000 UTC [11] joe@shop LOG:  connection authorized: user=joe database=shop
2026-11-24 10:00:00.001 UTC [11] joe@shop LOG:  statement: SELECT 1
2026-11-24 10:01:00.000 UTC [11] joe@shop LOG:  statement: SELECT 2
2026-11-24 10:01:00.000 UTC [11] joe@shop LOG:  disconnection: session time: 0:01:00.000 user=joe database=shop host=[local]
";

/// A study of ext4 with this load.
fn with(load: &str, design: &str) -> String {
    text(&["ext4"], design).replace("[workload.null]", load)
}

/// It had been as long as the log for each run.
#[test]
fn a_trial_replays_a_database_s_log_once() {
    let mut log = tempfile::NamedTempFile::new().expect("a file");
    log.write_all(MINUTE.as_bytes()).expect("written");
    let load = format!("[workload.sql-replay]\nlog = {:?}\nspeed = 1", log.path());
    for (warm_up_runs, runs) in [(0, 1), (1, 1), (1, 5)] {
        let plan = plan(&with(&load, &format!("warm_up_runs = {warm_up_runs}\nruns = {runs}")));
        let scenario = &plan.scenarios[0];
        let (run, trial) = (run_seconds(&plan, scenario), trial_seconds(&plan, scenario));
        assert!((run * f64::from(warm_up_runs + runs) - 60.0).abs() < 0.1, "{run}");
        assert!((60.0..65.0).contains(&trial), "{trial}");
    }
}

#[test]
fn a_trial_that_is_longer_than_it_may_be_is_known_before() {
    let of = |time: &str, design: &str| {
        let plan = plan(&with(&format!("[workload.null]\ntime = \"{time}\""), design));
        let scenario = &plan.scenarios[0];
        (overlong(&plan, scenario).is_some(), certainly_overlong(&plan, scenario))
    };
    // A warm-up, a run, and a second for what is around them; half an hour is the most.
    assert_eq!(of("14min", ""), (false, None));
    assert_eq!(of("899900ms", ""), (true, None), "only about");
    let words = "a trial takes 30min or more, and one that has not ended after 30min (design.trial_timeout) fails";
    assert_eq!(of("15min", ""), (true, Some(words.into())));
    assert_eq!(of("15min", "trial_timeout = \"1h\""), (false, None));
    assert_eq!(of("15min", "warm_up_runs = 0"), (false, None));
}

#[test]
fn what_the_first_trial_loads_counts_for_its_length() {
    let load = "[workload.oltp]\nengine = \"postgres\"\ntable_size = 1000000";
    let mut plan = plan(&with(load, ""));
    plan.design.trial_timeout_seconds = trial_seconds(&plan, &plan.scenarios[0]) + 1.0;
    assert!(overlong(&plan, &plan.scenarios[0]).is_some());
    assert_eq!(certainly_overlong(&plan, &plan.scenarios[0]), None);
}

/// A study that was interrupted was refused on a disk that has room for its loaded data once; and images of another size were taken for its own.
#[test]
fn what_is_in_the_work_folder_takes_no_room_again() {
    let plan = plan(&with("[workload.oltp]\nengine = \"postgres\"", ""));
    let (image, bytes) = storage::images(&plan.scenarios[0].storage).pop_first().expect("one");
    let work = tempfile::tempdir().expect("a folder");
    let folder = |name: &str| {
        let folder = work.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    };
    let make = |name: &str, bytes| {
        let file = std::fs::File::create(folder("images").join(name)).expect("a file");
        file.set_len(bytes).expect("a length");
    };
    let there = || space_there(&plan, work.path());
    make("device-4096.img", 4096);
    assert_eq!(there(), 0);
    make(&image, bytes);
    assert_eq!(there(), bytes);
    std::fs::write(folder("cache").join("table"), [7; 100_000]).expect("written");
    assert!((bytes + 100_000..bytes + 200_000).contains(&there()), "{}", there());
}

/// Its images lie in a slot: one that went on was refused for want of room, and those of blocks were taken for its own.
#[test]
fn a_single_scenario_by_turns_has_its_images_in_a_slot() {
    let plan = plan(&text(&["ext4"], "order = \"turns\"\ncontrol = false"));
    let (image, bytes) = storage::images(&plan.scenarios[0].storage).pop_first().expect("one");
    let work = tempfile::tempdir().expect("a folder");
    let make = |folder: &str| {
        let folder = work.path().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::File::create(folder.join(&image)).and_then(|file| file.set_len(bytes)).expect("a file");
        space_there(&plan, work.path())
    };
    assert_eq!([make("images"), make("slots/0/images")], [0, bytes]);
}

/// Each had counted with a site of its own.
#[test]
fn web_servers_share_the_site_that_is_made_once() {
    let seconds = |servers: &[&str]| {
        let factors = format!("[factors]\n\"workload.http-load.server\" = {servers:?}");
        templates_seconds(&plan(&with("[workload.http-load]\nfiles = 100000", "").replace("[factors]", &factors)))
    };
    let of_one = seconds(&["nginx"]);
    assert!(of_one > 1.0, "{of_one}");
    assert_eq!(seconds(&["nginx", "apache", "lighttpd", "caddy"]), of_one);
}

#[test]
fn a_run_of_so_many_transactions_takes_nobody_knows_how_long() {
    let unknown = |load: &str| of_unknown_length(&plan(&with(&format!("[workload.oltp]\n{load}"), "")));
    assert_eq!(unknown("time = \"0s\"\ntransactions = 100"), 2, "ext4 and the control");
    assert_eq!(unknown("time = \"1s\""), 0);
}

/// Five times as long in a guest, as of what ends by itself, `plan` had counted runs that `time` ends at the latest.
#[test]
fn a_run_that_may_end_sooner_lasts_no_longer_than_its_time_in_a_guest() {
    let seconds = |load: &str| {
        let mut plan = plan(&with(&format!("[workload.oltp]\n{load}"), ""));
        plan.scenarios[0].bench = study::Bench::Guest;
        run_seconds(&plan, &plan.scenarios[0])
    };
    assert_eq!(seconds("time = \"10s\"\ntransactions = 10000"), 10.0);
    assert_eq!(seconds("time = \"10s\""), 10.0);
}

/// By a limit that is larger than the machine any data fitted.
#[test]
fn data_fit_into_the_memory_that_there_is() {
    let mut plan = plan(&with("[workload.block-io]\nsize = \"1MiB\"", ""));
    let scenario = &mut plan.scenarios[0];
    assert!(fits_into_memory(scenario));
    scenario.memory_bytes = Some(u64::MAX);
    assert!(fits_into_memory(scenario));
    scenario.parameters.insert("size".into(), (1_u64 << 60).into());
    assert!(!fits_into_memory(scenario), "the machine has less");
    scenario.parameters.insert("size".into(), (1_u64 << 20).into());
    scenario.memory_bytes = Some(1 << 19);
    assert!(!fits_into_memory(scenario));
    // `plan` said of a load past the page cache that only its flushes reach the device.
    scenario.memory_bytes = None;
    assert!(fits_into_memory(scenario));
    scenario.parameters.insert("direct".into(), true.into());
    assert!(!fits_into_memory(scenario));
}

/// Such runs counted as long as `time`, which counts for nothing. At a rate they last by the clock.
#[test]
fn a_run_of_so_many_requests_takes_as_long_as_their_rate_says() {
    let of = |load: &str| {
        let plan = plan(&with(&format!("[workload.http-load]\n{load}"), ""));
        let scenario = &plan.scenarios[0];
        (run_seconds(&plan, scenario), of_unknown_length(&plan) > 0, certainly_overlong(&plan, scenario).is_some())
    };
    assert_eq!(of("time = \"20s\""), (20.0, false, false));
    assert_eq!(of("requests = 1000000"), (0.0, true, false));
    assert_eq!(of("requests = 1000\nrate = 10\ncalls = 5"), (20.0, false, false));
    assert_eq!(of("requests = 100000\nrate = 10"), (10_000.0, false, true));
}

/// A filesystem of 4 GiB that was filled to 80 % was said to hold 1 GiB of data, in no time.
#[test]
fn filling_and_ageing_take_time_and_room() {
    let of = |storage: &str, load: &str| {
        let plan = plan(&with(load, "").replace("[storage]", &format!("[storage]\n{storage}")));
        let scenario = &plan.scenarios[0];
        (trial_seconds(&plan, scenario), outgrown(scenario))
    };
    let seconds = |storage: &str| of(storage, "[workload.null]").0;
    // 3 GiB at 100 MB/s.
    let more = seconds("fill = \"50%\"\nage = \"1GiB\"") - seconds("");
    assert!((more - 32.2).abs() < 0.1, "{more}");
    let held = |fill: &str| of(&format!("fill = \"{fill}\""), "[workload.block-io]\nsize = \"1GiB\"").1;
    assert_eq!((held("0%"), held("50%")), (None, None));
    let why = held("80%").expect("it does not fit");
    assert!(why.contains("which a filesystem of 4GiB that is filled to 80 % before does not hold"), "{why}");
}
