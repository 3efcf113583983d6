//! What bound made-up scenarios, rule by rule.

use super::*;
use crate::fixtures::{baseline, run};
use serde_json::json;

/// Two CPUs, a quarter busy with one embedded connection, and a device that rests.
fn idle() -> Use {
    Use { cpus: 2.0, cpu_busy: 0.25, driver_cores: 0.4, device_busy: Some(0.1), connections: 1.0, ..Use::default() }
}

/// A server with a load of eight connections from two threads.
fn served() -> Use {
    Use { others_cores: Some(0.1), connections: 8.0, driver_threads: Some(2.0), ..idle() }
}

fn probe() -> Probe {
    let figures = [
        ("flushes_per_second", 1000.0),
        ("sequential_write_bytes_per_second", 1e9),
        ("sequential_read_bytes_per_second", 2e9),
        ("random_write_ios_per_second_4096", 20_000.0),
        ("random_write_ios_per_second_16384", 8000.0),
        ("random_read_ios_per_second_4096", 40_000.0),
    ];
    let figures = figures.iter().map(|(name, value)| ((*name).to_string(), *value)).collect();
    Probe { scenarios: Vec::new(), figures, failure: None, member: None }
}

#[track_caller]
fn check(used: &Use, expected: Option<By>) {
    assert_eq!(bound(used, &shares(used, Some(&probe()))), expected, "{used:?}");
}

#[test]
fn a_load_that_leaves_all_idle_is_not_clear() {
    check(&idle(), None);
}

#[test]
fn a_given_rate_that_is_reached_and_pauses_bind() {
    check(&Use { reached: Some(0.99), ..served() }, Some(By::Given));
    check(&Use { pausing: 1.0, ..served() }, Some(By::Given));
    check(&Use { reached: Some(0.5), cpu_busy: 0.99, others_cores: Some(1.5), ..served() }, Some(By::Cpu));
}

/// What a server refuses at once has not piled up, and latency does not grow with the run's length.
#[test]
fn who_answers_wrong_has_not_fallen_behind() {
    // The run's ten seconds have a flush of two.
    let metrics = [("requests_per_second", 90.0), ("answers", 800.0), ("asked", 800.0), ("errors", 80.0)];
    let reached =
        |metrics: &[(&str, f64)]| use_of(metrics, json!({ "workload": { "connections": 8, "rate": 100.0 } })).reached;
    assert_eq!(reached(&metrics), Some(1.0));
    assert_eq!(reached(&metrics[..1]), Some(0.9), "an older file does not tell");
}

/// A server whose CPUs were full was bound by "the rate given", as its eight connections paused for a millisecond each time.
#[test]
fn connections_that_seldom_pause_wait_for_the_server() {
    let pausing =
        |workload: Value| use_of(&[("transactions_per_second", 1000.0)], json!({ "workload": workload })).pausing;
    let seldom = pausing(json!({ "threads": 8, "think_time": 0.001 }));
    assert_eq!(seldom, 0.125);
    assert_eq!(pausing(json!({ "threads": 8, "think_time": 0.007 })), 0.875);
    assert_eq!((pausing(json!({ "threads": 8 })), pausing(json!({ "threads": 8, "speed": 2.0 }))), (0.0, 1.0));
    check(&Use { pausing: seldom, cpu_busy: 0.99, others_cores: Some(1.5), ..served() }, Some(By::Cpu));
}

/// By turns of a second that a flush of a tenth ended, 91 % "of the rate asked for" was reached.
#[test]
fn a_turn_s_flush_takes_nothing_from_the_rate_that_was_reached() {
    let of = |metrics: &[(&str, f64)], workload: Value| use_of(metrics, json!({ "workload": workload }));
    let charged = [("transactions_per_second", 455.0), ("before_flush", 500.0)];
    assert_eq!(of(&charged, json!({ "threads": 8, "rate": 500 })).reached, Some(1.0));
    assert_eq!(of(&charged[..1], json!({ "threads": 8, "rate": 500 })).reached, Some(0.91));
    assert_eq!(of(&charged, json!({ "threads": 8, "think_time": 0.008 })).pausing, 0.5);
    let latency = [("requests_per_second", 250.0), ("before_flush", 0.004)];
    assert_eq!(of(&latency, json!({ "connections": 8, "rate": 500 })).reached, Some(0.5), "it is of another figure");
}

/// What a device got in the flush that ends a turn was held against the turn alone, where that flush is not its time: more than the device can do.
#[test]
fn what_a_device_got_in_a_flush_has_the_flush_s_time() {
    let of = |more: &[(&str, f64)]| {
        let metrics = [&[("device_write_bytes", 1000.0), ("turn_flush_seconds", 10.0)][..], more].concat();
        let used = use_of(&metrics, json!({}));
        (used.write_bytes, used.flush_time)
    };
    assert_eq!(of(&[]), (Some(50.0), Some(0.05)));
    assert_eq!(of(&[("before_flush", 7.0)]), (Some(100.0), Some(0.1)), "the turn's seconds have it");
    // That of a load itself is in neither: `block-io` in the page cache, one run after another.
    assert_eq!(of(&[("telemetry_seconds", 40.0)]), (Some(25.0), Some(0.025)));
}

#[test]
fn a_generator_with_full_threads_binds() {
    let full = Use { driver_threads: Some(1.0), driver_cores: 0.95, cpu_busy: 0.6, ..served() };
    check(&full, Some(By::Generator));
    check(&Use { driver_threads: Some(2.0), ..full.clone() }, None);
    // The engine in the generator's own thread is what is measured.
    check(&Use { others_cores: None, connections: 1.0, ..full }, Some(By::Cpu));
}

/// Two servers that hold it have equal figures, which say nothing of how far they are apart.
#[test]
fn the_highest_rate_that_is_tried_binds_where_it_holds() {
    check(&Use { holds_rate_max: true, driver_busy_at_knee: Some(0.97), ..served() }, Some(By::RateMax));
    let bound = Ceiling { by: Some(By::RateMax), shares: Vec::new(), rate_reached: None, missed: 0.0 };
    assert!(bound.is_lower_bound());
}

#[test]
fn a_generator_that_was_full_at_the_rate_that_failed_binds_though_it_mostly_idled() {
    check(&Use { driver_busy_at_knee: Some(0.97), ..served() }, Some(By::Generator));
    check(&Use { driver_busy_at_knee: Some(0.97), client_cores: Some(0.4), ..served() }, Some(By::Generator));
    check(&Use { driver_busy_at_knee: Some(0.4), is_search: true, ..served() }, None);
}

/// A server with full CPUs at the rate that failed waited for "locks", as it had little to do at the dozen lower rates.
#[test]
fn a_search_that_mostly_idles_does_not_wait_for_locks() {
    assert!(use_of(&[("rates_tried", 12.0)], json!({})).is_search && !use_of(&[], json!({})).is_search);
    check(&Use { is_search: true, ..served() }, None);
    check(&Use { is_search: true, locked: Some(5.0), ..served() }, Some(By::Locks));
}

#[test]
fn a_generator_with_most_of_the_full_processors_binds() {
    let full = Use { cpu_busy: 0.97, driver_cores: 1.1, others_cores: Some(0.7), ..served() };
    check(&full, Some(By::Generator));
    check(&Use { driver_cores: 0.5, others_cores: Some(1.3), ..full }, Some(By::Cpu));
}

#[test]
fn a_network_binds_whose_round_trip_takes_half_of_the_connections_time() {
    // Eight connections on a network of 1 ms have time for 8,000 round trips a second.
    let far = Use { round_trips: Some((5000.0, 8000.0)), client_cores: Some(0.2), ..served() };
    check(&far, Some(By::Network));
    check(&Use { cpu_busy: 0.95, others_cores: Some(1.8), ..far.clone() }, Some(By::Cpu));
    check(&Use { round_trips: Some((3000.0, 8000.0)), device_busy: Some(0.6), ..far.clone() }, None);
    check(&Use { client_cores: Some(1.8), ..far }, Some(By::Generator));
    // None is made in the flush that ends a turn.
    let metrics =
        [("requests_per_second", 300.0), ("before_flush", 500.0), ("client_round_trip_microseconds_median", 1000.0)];
    let made = |primary: &str| use_by(primary, &metrics, json!({})).round_trips.map(|trips| trips.0);
    assert_eq!((made("requests_per_second"), made("latency_microseconds_mean")), (Some(500.0), Some(300.0)));
}

#[test]
fn full_processors_bind_and_it_is_said_when_others_fill_them() {
    check(&Use { cpu_busy: 0.9, driver_cores: 1.6, connections: 2.0, ..idle() }, Some(By::Cpu));
    check(&Use { cpu_busy: 1.0, driver_cores: 0.4, ..idle() }, Some(By::OthersCpu));
    check(&Use { cpu_busy: 1.0, driver_cores: 0.4, flushes: Some(900.0), ..idle() }, Some(By::Flushes));
}

/// As in a container that may make no namespaces.
#[test]
fn a_server_whose_time_nobody_counted_is_not_called_others() {
    let full = Use { cpu_busy: 0.95, server_cpus: Some(2.0), ..served() };
    check(&full, Some(By::OthersCpu));
    check(&Use { others_cores: None, ..full }, None);
}

#[test]
fn one_thread_binds_with_the_processor_that_it_has() {
    check(&Use { cpu_busy: 0.5, driver_cores: 0.97, ..idle() }, Some(By::Cpu));
    check(&Use { cpu_busy: 0.5, driver_cores: 0.97, connections: 2.0, device_busy: Some(0.6), ..idle() }, None);
}

#[test]
fn a_server_binds_with_the_processors_that_it_has() {
    let on_eight = Use {
        cpus: 8.0,
        cpu_busy: 0.8,
        driver_cores: 0.3,
        others_cores: Some(6.2),
        server_cpus: Some(7.0),
        ..served()
    };
    check(&on_eight, Some(By::Cpu));
    check(&Use { others_cores: Some(3.0), ..on_eight.clone() }, None);
    // Of eight CPUs it has two: `[cpus]`, a cpuset.
    let on_two = Use { cpu_busy: 0.55, others_cores: Some(1.9), server_cpus: Some(2.0), ..on_eight.clone() };
    check(&on_two, Some(By::Cpu));
    // With a load from elsewhere it has all.
    check(&Use { server_cpus: Some(8.0), client_cores: Some(0.3), ..on_eight }, None);
}

#[test]
fn a_generator_binds_with_the_processors_that_it_has() {
    let on_eight = Use {
        cpus: 8.0,
        cpu_busy: 0.6,
        driver_cores: 0.97,
        others_cores: Some(3.0),
        driver_cpus: Some(1.0),
        server_cpus: Some(7.0),
        ..served()
    };
    check(&on_eight, Some(By::Generator));
    check(&Use { driver_cpus: Some(2.0), ..on_eight.clone() }, None);
    // The agent's own CPUs, of those of another machine.
    let elsewhere = Use { client_cores: Some(0.97), driver_cores: 0.1, ..on_eight };
    check(&elsewhere, Some(By::Generator));
    check(&Use { driver_cpus: None, ..elsewhere }, None);
}

/// Two of eight by `taskset`, or a limit of CPU time: neither side fills them alone, and most of the machine rests.
#[test]
fn a_limit_that_load_and_server_share_is_full_together() {
    let shared = |driver_cores: f64, others_cores: f64| Use {
        cpus: 8.0,
        cpu_busy: 0.25,
        driver_cores,
        others_cores: Some(others_cores),
        driver_cpus: Some(2.0),
        server_cpus: Some(2.0),
        own_cpus: Some(2.0),
        ..served()
    };
    check(&shared(0.5, 1.45), Some(By::Cpu));
    check(&shared(1.2, 0.7), Some(By::Generator));
    check(&shared(0.3, 0.7), None);
    check(&shared(0.2, 0.3), Some(By::Locks));
    assert_eq!(use_of(&[("own_cpus", 2.0)], json!({})).own_cpus, Some(2.0));
}

#[test]
fn an_embedded_engine_binds_with_the_processors_that_it_has() {
    let on_eight = Use { cpus: 8.0, cpu_busy: 0.6, driver_cores: 1.9, connections: 4.0, ..idle() };
    check(&on_eight, None);
    check(&Use { driver_cpus: Some(2.0), ..on_eight }, Some(By::Cpu));
}

#[test]
fn stolen_time_is_nobody_s_work() {
    let stolen = Use { cpu_busy: 0.9, stolen: 0.6, driver_cores: 0.1, ..idle() };
    // Of 0.4 that was given, 0.3 was busy.
    check(&stolen, None);
    check(&Use { stolen: 0.0, ..stolen.clone() }, Some(By::OthersCpu));
    // All that was given is the trial's own work.
    check(&Use { cpu_busy: 0.98, driver_cores: 0.7, connections: 2.0, ..stolen }, Some(By::Cpu));
    assert_eq!(use_of(&[("cpu_steal_share", 0.25)], json!({})).stolen, 0.25);
}

/// Two CPUs, of which a quick drive's process keeps one awake: the other was not full, and "CPU that others used" bound.
#[test]
fn a_virtual_disk_takes_a_cpu_away_and_is_no_stranger() {
    let beside = Use { cpu_busy: 0.9, disk_cores: 1.0, driver_cores: 0.3, others_cores: Some(0.4), ..served() };
    check(&beside, None);
    check(&Use { disk_cores: 0.0, ..beside.clone() }, Some(By::OthersCpu));
    check(&Use { cpu_busy: 1.0, others_cores: Some(0.7), ..beside.clone() }, Some(By::Cpu));
    assert!(Use { disk_cores: 2.0, ..beside }.busy().is_finite(), "two of them have both");
    assert_eq!(use_of(&[("virtual_disk_cpu_cores", 1.5)], json!({})).disk_cores, 1.5);
}

/// What a run of a load of two threads on a server on eight CPUs used.
fn use_of(metrics: &[(&str, f64)], settings: Value) -> Use {
    use_by("transactions_per_second", metrics, settings)
}

/// The same with another primary figure.
fn use_by(primary: &str, metrics: &[(&str, f64)], settings: Value) -> Use {
    let always = [
        ("cpu_idle_share", 0.5),
        ("cpu_iowait_share", 0.0),
        ("driver_cpu_cores", 0.97),
        ("others_cpu_cores", 2.0),
        ("device_busy_share", 0.1),
        ("device_flush_seconds", 1.0),
    ];
    let run = run(1, always.iter().chain(metrics));
    let mut all = json!({ "workload": { "engine": "postgres", "threads": 8, "driver_threads": 2 } });
    all.as_object_mut().expect("an object").extend(settings.as_object().expect("an object").clone());
    let scenario = Scenario { primary_metric: primary.into(), ..baseline(all) };
    Use::of(&[&run], &scenario, Some(8.0)).expect("all is known")
}

#[test]
fn each_side_s_processors_are_those_that_the_run_tells_and_else_the_older_rule_s() {
    let cpus = |metrics: &[(&str, f64)], settings: Value| {
        let used = use_of(metrics, settings);
        (used.driver_cpus, used.server_cpus)
    };
    assert_eq!(cpus(&[("driver_cpus", 2.0), ("server_cpus", 6.0)], json!({})), (Some(2.0), Some(6.0)));
    assert_eq!(cpus(&[], json!({})), (Some(1.0), Some(7.0)));
    assert_eq!(cpus(&[], json!({ "client": "other:1" })), (None, None));
    assert_eq!(cpus(&[], json!({ "bench": "guest" })), (None, None));
    let sqlite = json!({ "workload": { "engine": "sqlite", "threads": 8, "driver_threads": 2 } });
    assert_eq!(cpus(&[], sqlite), (None, None));
}

#[test]
fn a_log_on_a_volume_of_its_own_is_waited_for_where_that_is_slower() {
    let slow_log = [("device_log_busy_share", 0.9), ("device_log_flush_seconds", 8.0)];
    let used = use_of(&slow_log, json!({}));
    assert_eq!((used.device_busy, used.flush_time), (Some(0.9), Some(0.8)));
    let fast_log = [("device_log_busy_share", 0.05), ("device_log_flush_seconds", 0.5)];
    let used = use_of(&fast_log, json!({}));
    assert_eq!((used.device_busy, used.flush_time), (Some(0.1), Some(0.1)));
}

/// The kernel counts a flush of a stripe over four disks as four, each with its time, and the probe one. At a fifth of what the device can do
/// it was "bound by flushes".
#[test]
fn a_flush_of_a_stripe_is_one_flush() {
    let counted = [("device_flushes", 8000.0), ("device_flush_seconds", 8.0), ("device_write_bytes", 1e6)];
    let used = |disks: u64| use_of(&counted, json!({ "storage": { "stripe": disks } }));
    assert_eq!((used(1).flushes, used(1).flush_time), (Some(800.0), Some(0.8)));
    assert_eq!((used(4).flushes, used(4).flush_time, used(4).write_bytes), (Some(200.0), Some(0.2), Some(1e5)));
}

/// A log on a disk that makes a hundred times the flushes was held against those that the data's disk makes.
#[test]
fn what_a_log_on_another_device_got_is_no_share_of_the_datas() {
    let names = ["device_flushes", "device_writes", "device_log_flushes", "device_log_writes", "commits"];
    let of = |data: Value, log: Value| {
        let settings = json!({ "storage": data, "volumes": { "wal": log } });
        let used = use_of(&names.map(|name| (name, 1000.0)), settings);
        (used.flushes, used.writes, used.commits)
    };
    let (both, one) = ((Some(200.0), Some(200.0), Some(100.0)), (Some(100.0), Some(100.0), None));
    let (disk, other) =
        (json!({ "device": "block", "path": "/dev/sda" }), json!({ "device": "block", "path": "/dev/sdb" }));
    assert_eq!(of(disk.clone(), other), one);
    assert_eq!(of(disk, Value::Null), both, "as in older files");
    let image = json!({ "device": "loop", "delay_flush": 0.0 });
    assert_eq!(of(image.clone(), image.clone()), both, "two files on one disk");
    let (slowed, drive) = (json!({ "device": "loop", "delay_flush": 0.005 }), json!({ "device": "virtual" }));
    assert_eq!(of(slowed.clone(), Value::Null), one, "an external log is delayed by itself");
    assert_eq!((of(image, slowed), of(drive.clone(), drive)), (one, one), "each is a disk of its own");
}

#[test]
fn an_embedded_engine_is_no_generator() {
    let workload = |engine: &str| json!({ "engine": engine, "threads": 1, "driver_threads": 2 });
    assert_eq!(["postgres", "sqlite"].map(|engine| driver_threads(&workload(engine))), [Some(2.0), None]);
}

#[test]
fn flushes_bind_by_their_number_or_by_their_time() {
    check(&Use { flushes: Some(610.0), ..idle() }, Some(By::Flushes));
    check(&Use { flushes: Some(200.0), flush_time: Some(0.8), ..idle() }, Some(By::Flushes));
    check(&Use { flushes: Some(200.0), flush_time: Some(0.1), ..idle() }, None);
    check(&Use { flushes: Some(610.0), cpu_busy: 0.6, driver_cores: 0.95, ..idle() }, Some(By::Cpu));
}

#[test]
fn bytes_bind_reading_and_writing_together() {
    check(&Use { write_bytes: Some(8e8), ..idle() }, Some(By::Bandwidth));
    check(&Use { write_bytes: Some(4e8), read_bytes: Some(8e8), ..idle() }, Some(By::Bandwidth));
    check(&Use { write_bytes: Some(4e8), ..idle() }, None);
}

#[test]
fn requests_bind_by_the_probe_of_their_size() {
    let writes =
        |bytes: f64, requests: f64| Use { write_bytes: Some(bytes * requests), writes: Some(requests), ..idle() };
    check(&writes(4096.0, 15_000.0), Some(By::Io));
    check(&writes(4096.0, 7000.0), None);
    check(&writes(16_384.0, 7000.0), Some(By::Io));
    check(&Use { device_busy: Some(0.95), ..idle() }, Some(By::Io));
}

#[test]
fn locks_bind_where_they_are_counted_or_nothing_else_has_to_do() {
    check(&served(), Some(By::Locks));
    check(&Use { locked: Some(5.0), cpu_busy: 0.7, others_cores: Some(0.9), ..served() }, Some(By::Locks));
    check(&Use { locked: Some(1.0), cpu_busy: 0.7, others_cores: Some(0.9), ..served() }, None);
    check(&Use { device_busy: None, ..served() }, None);
}

#[test]
fn without_a_probe_only_the_processors_have_a_limit() {
    let used = Use { flushes: Some(610.0), commits: Some(600.0), ..idle() };
    assert_eq!(shares(&used, None), [Share { of: Of::Cpus, used: 0.5, limit: 2.0 }]);
    assert_eq!(bound(&used, &shares(&used, None)), None);
}
