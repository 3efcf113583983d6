//! Ceilings on a real device: a probe before the first round, shares of it in the report. What bound a load on a machine that others
//! use, too, is not asserted; the rules have their own tests.

use crate::harness::World;
use serde_json::Value;

/// Blocks written and flushed one by one.
fn flushing(design: &str) -> String {
    format!(
        "name = \"flushing\"\n[storage]\nsize = \"512MiB\"\n[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n\
         [workload.block-io]\nsize = \"16MiB\"\ndirect = true\nfdatasync_ios = 1\ntime = \"500ms\"\n\
         [design]\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n{design}\n"
    )
}

fn scenario(report: &Value, index: usize) -> &Value {
    &report["workloads"][0]["scenarios"][index]
}

fn used(scenario: &Value, of: &str) -> Option<f64> {
    let shares = scenario["ceilings"].as_array()?;
    shares.iter().find(|share| share["of"] == of)?["used"].as_f64()
}

#[test]
fn a_study_that_asks_for_it_is_probed_and_its_flushes_are_a_share() {
    let world = World::new();
    world.write("s.toml", flushing("probe = \"1s\""));
    let report = world.surefoot(&["run", "s.toml", "--json"]).status(0).json();
    let probes = report["probes"].as_array().expect("a list");
    assert_eq!(probes.len(), 1, "both filesystems stand on one device: {probes:#?}");
    assert!(probes[0]["failure"].is_null(), "{probes:#?}");
    let names = [
        "flushes_per_second",
        "sequential_write_bytes_per_second",
        "sequential_read_bytes_per_second",
        "random_write_ios_per_second_4096",
        "random_read_ios_per_second_4096",
        "cpu_steps_per_second",
        "cpu_steps_per_second_all",
    ];
    for name in names {
        assert!(probes[0]["figures"][name].as_f64() > Some(0.0), "{name}: {probes:#?}");
    }
    for index in 0..2 {
        let scenario = scenario(&report, index);
        // Each write of the load is flushed, and the device counts it.
        let (flushes, ios) = (used(scenario, "flushes_per_second"), scenario["geometric_mean"].as_f64());
        let (flushes, ios) = (flushes.expect("a share"), ios.expect("a mean"));
        // The counters are of a longer time than the run, by a half and more on a busy machine.
        assert!(flushes > 0.25 * ios, "{flushes} flushes for {ios} writes a second");
        assert!(used(scenario, "cpus") > Some(0.0));
    }
    // What goes on stands on the same machine.
    let again = world.surefoot(&["resume", "s.toml", "--rounds", "2", "--json"]).status(0).json();
    assert_eq!(again["probes"], report["probes"]);
    world.assert_nothing_left();
}

#[test]
fn a_short_study_is_not_probed_unless_it_asks_for_it() {
    let world = World::new();
    let flushing = |design: &str| flushing(design).replace("\"xfs\"", "\"ext3\"").replace("512MiB", "64MiB");
    world.write("s.toml", flushing(""));
    let report = world.surefoot(&["run", "s.toml", "--json"]).status(0).json();
    assert_eq!(report["probes"].as_array().map(Vec::len), Some(0));
    assert!(
        used(scenario(&report, 0), "cpus") > Some(0.0) && used(scenario(&report, 0), "flushes_per_second").is_none()
    );
    world.write("t.toml", flushing("probe = \"0s\""));
    let report = world.surefoot(&["run", "t.toml", "--results", "t.surefoot", "--json"]).status(0).json();
    assert_eq!(report["probes"].as_array().map(Vec::len), Some(0));
}

#[test]
fn memory_has_no_device_to_probe() {
    let world = World::new();
    let study = flushing("probe = \"300ms\"").replace("size = \"512MiB\"", "size = \"512MiB\"\ndevice = \"tmpfs\"");
    let study = study.replace(
        "\"storage.filesystem\" = [\"ext4\", \"xfs\"]",
        "\"workload.block-io.pattern\" = [\"write\", \"randwrite\"]",
    );
    world.write("s.toml", study.replace("direct = true\n", ""));
    let report = world.surefoot(&["run", "s.toml", "--json"]).status(0).json();
    let figures = report["probes"][0]["figures"].as_object().unwrap_or_else(|| panic!("{:#}", report["probes"]));
    assert!(figures.keys().all(|name| name.starts_with("cpu_steps")) && figures.len() == 2, "{figures:?}");
}

#[test]
fn a_probe_that_fails_costs_the_ceilings_only() {
    let world = World::new();
    // Room for the load, and not for the probe's file.
    let study = flushing("probe = \"300ms\"").replace("512MiB", "24MiB").replace("16MiB", "1MiB");
    world.write("s.toml", study.replace("[\"ext4\", \"xfs\"]", "[\"ext2\", \"ext4\"]"));
    let report = world.surefoot(&["run", "s.toml", "--json"]).status(0).json();
    let failure = report["probes"][0]["failure"].as_str().expect("it failed");
    assert!(failure.contains("bytes are free"), "{failure}");
    world.assert_nothing_left();
}
