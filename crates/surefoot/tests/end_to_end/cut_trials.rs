//! Power cuts under orders that no study can give: a load with a bug, a recovery that hangs, a trial that is killed. What does the
//! work is told by hand.

use crate::harness::{World, loop_devices, tool, wait_until};
use crate::powercut::disk_of;
use crash::plan::TrialSpec;
use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use observe::durability::Class;
use observe::safety::{Grade, Safety};
use powercut::device::{Disk, LogFile, Options};
use powercut::timing::Profile;
use serde_json::{Map, Value, json};
use settings::defaults;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;
use storage::StorageSettings;
use study::trial_spec::Cut;
use workloads::commits;

// A bug that is there must be found within a minute: the budget sees to that, so that no busy machine can fail it.

#[test]
fn a_load_that_acknowledges_before_it_commits_is_found() {
    let world = World::new();
    let measured = |acknowledge: &str| {
        let mut spec = trial(json!({ "engine": "sqlite", "time": 0.4, "acknowledge": acknowledge }));
        spec.cut.as_mut().expect("it is one of power cuts").budget_seconds = 5.0;
        measured(&world, &spec, &|_| {})
    };
    let honest = measured("after-commit");
    assert_eq!((honest.grade, honest.worst_lost_commits), (Grade::A, 0), "{honest:#?}");
    let early = measured("before-commit");
    assert!(early.grade > Grade::A && early.worst_lost_commits > 0, "{early:#?}");
    assert!(early.findings[0].what.starts_with("acknowledged commits are missing"), "{early:#?}");
    world.assert_nothing_left();
}

/// A disk that answers no more holds its recovery in the kernel, where no signal reaches it. Without the kernel's tracer it is a
/// process that shows images.
#[test]
fn a_recovery_that_hangs_is_a_fault_and_the_next_has_a_disk_again() {
    // A disk that is stopped between two recoveries is waited for for minutes, so it goes on before that, and nothing hung.
    let hung = (0..8).map(|_| with_a_stopped_disk()).find(|(_, safety)| safety.unmountable > 0);
    let (world, safety) = hung.expect("in one of eight it is stopped amid a recovery");
    // As many hang as there are side by side.
    assert!(safety.grade == Grade::E && (1..=4).contains(&safety.unmountable), "{safety:#?}");
    assert!(safety.findings[0].what.ends_with("the recovery did not end within 6 s"), "{safety:#?}");
    assert!(safety.unsteady >= 1, "it came up when it was tried again: {safety:#?}");
    assert!(safety.images > 1, "{safety:#?}");
    world.assert_nothing_left();
}

/// A measurement amid which the disk that shows images is stopped, for longer than a recovery may take.
fn with_a_stopped_disk() -> (World, Safety) {
    let world = World::new();
    world.write(".surefoot-work", "the trial may write here");
    std::fs::create_dir(world.path().join("powercut")).expect("a folder");
    world.write("powercut/trace", "no folder, so the tracer can't be mounted");
    let mut spec = trial(json!({ "engine": "sqlite" }));
    let cut = spec.cut.as_mut().expect("it is one of power cuts");
    // Far longer than a recovery takes on a busy machine.
    (cut.recovery_seconds_max, cut.budget_seconds) = (6.0, 12.0);
    let safety = measured(&world, &spec, &|record| {
        if record["record"] == "step" && record["name"] == "record" {
            let mut disk = None;
            wait_until("another disk is attached that shows images", || {
                disk = disk_of(world.path());
                disk.is_some_and(|disk| shows_images(disk) && !loop_devices(world.path()).is_empty())
            });
            let disk = disk.expect("found");
            kill(Pid::from_raw(disk), Signal::SIGSTOP).expect("it lives");
            let folder = world.path().to_path_buf();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(20));
                if disk_of(&folder) == Some(disk) {
                    let _ = kill(Pid::from_raw(disk), Signal::SIGCONT);
                }
            });
        }
    });
    (world, safety)
}

/// No recovery ends as soon as that, wherever it is shown.
#[test]
fn recoveries_that_take_too_long_end_with_a_disk_in_memory() {
    let world = World::new();
    let mut spec = trial(json!({ "engine": "sqlite", "time": 0.2 }));
    let cut = spec.cut.as_mut().expect("it is one of power cuts");
    (cut.recovery_seconds_max, cut.budget_seconds) = (1e-5, 2.0);
    let safety = measured(&world, &spec, &|_| {});
    assert_eq!((safety.grade, safety.unmountable), (Grade::E, safety.images), "{safety:#?}");
    assert!(
        safety.images > 0 && safety.findings[0].what.ends_with("the recovery did not end within 0.00001 s"),
        "{safety:#?}"
    );
    world.assert_nothing_left();
}

/// No setting says it: mke2fs has it from its own file.
#[test]
fn a_filesystem_that_was_made_without_its_journal_promises_no_more_than_that() {
    // A trial's folder has nothing of others.
    let (world, files) = (World::new(), World::new());
    let made_by = |features: &str| {
        let text = format!(
            "[defaults]\n\tbase_features = sparse_super,filetype,dir_index,ext_attr\n\tblocksize = 4096\n\tinode_size = 256\n\
             \tinode_ratio = 16384\n[fs_types]\n\text4 = {{\n\t\tfeatures = {features}\n\t}}\n"
        );
        let mut command = world.command(&["trial", "."]);
        command.env("MKE2FS_CONFIG", files.write("mke2fs.conf", text));
        let mut spec = trial(json!({ "engine": "sqlite", "journal_mode": "wal", "synchronous": "full", "time": 0.2 }));
        spec.cut.as_mut().expect("it is one of power cuts").budget_seconds = 1.0;
        let safety: Safety =
            serde_json::from_value(found_by(command, &spec, "safety", &|_| {})).expect("what was found");
        safety.by_settings
    };
    assert_eq!(
        made_by("has_journal,extent"),
        Some(Class::KeepsAcknowledged),
        "its disk lies in memory, and imitates one that does not"
    );
    assert_eq!(made_by("extent"), Some(Class::MayCorrupt));
    world.assert_nothing_left();
}

/// The server had the rows in its memory alone when the recording began, so that the first cuts took the tables themselves: that was damage.
#[test]
fn what_is_loaded_through_a_server_that_flushes_late_is_there_before_the_load_begins() {
    let world = World::new();
    let late = json!({ "synchronous_commit": "off", "wal_writer_delay": "10s" });
    let table = json!({ "data": "load", "wal_segment_size": "1MiB", "settings": late });
    let kind = services::kind("postgres").expect("it is in the list");
    let table = settings::check_all(kind.settings, table.as_object().expect("a table")).expect("right");
    let mut spec = trial(json!({ "engine": "postgres", "checkpoint_every": 0 }));
    spec.services.insert("postgres".into(), table);
    spec.cut.as_mut().expect("it is one of power cuts").budget_seconds = 10.0;
    let safety = measured(&world, &spec, &|_| {});
    assert_eq!((safety.bad(), safety.worst_lost_commits > 0), (0, true), "{safety:#?}");
    world.assert_nothing_left();
}

/// A trial has a mount namespace of its own. When it is killed nothing is unmounted before, and whoever leaves the namespace last has
/// to; the disk gets its signal only when the trial has left.
#[test]
fn a_disk_that_outlives_a_killed_trial_does_not_wait_for_itself() {
    let world = World::new();
    let (disk_at, mounted_at) = (world.path().join("disk"), world.path().join("mounted"));
    for folder in [&disk_at, &mounted_at] {
        std::fs::create_dir(folder).expect("a folder");
    }
    let options = Options {
        mount_point: disk_at,
        log: Some(LogFile { path: world.path().join("log"), bytes_max: 1 << 28 }),
        disk_bytes: 64 << 20,
        profile: Profile::None,
        cache: powercut::states::Cache::Volatile,
        seed: 1,
    };
    let trial = || {
        sandbox::isolation::own_mounts().expect("a mount namespace, which no mount leaves");
        let disk = Disk::start(world.command(&["disk"]), &options).expect("a disk");
        let device = tool("losetup", &["--find", "--show", "--direct-io=on", &disk.file().to_string_lossy()]);
        tool("mkfs.ext4", &["-q", &device]);
        mount(Some(&*device), &mounted_at, Some("ext4"), MsFlags::empty(), None::<&str>).expect("a filesystem");
        std::fs::write(mounted_at.join("file"), "not written out yet").expect("room");
        // It goes with its last user.
        tool("losetup", &["--detach", &device]);
        let process = Pid::from_raw(disk.process().cast_signed());
        std::mem::forget(disk);
        process
    };
    let process = std::thread::scope(|scope| scope.spawn(trial).join().expect("no panic"));
    wait_until("the disk ends", || waitpid(process, Some(WaitPidFlag::WNOHANG)) != Ok(WaitStatus::StillAlive));
    wait_until("nothing is attached any more", || loop_devices(world.path()).is_empty());
    world.assert_nothing_left();
}

/// Whether a disk's process has the log at hand that it shows images of.
fn shows_images(process: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/maps")).is_ok_and(|maps| maps.contains("powercut/s-"))
}

/// On ext4 and a disk with a volatile cache; `load` is what is not as usual.
pub fn trial(load: Value) -> TrialSpec {
    let with = |mut all: Map<String, Value>, more: Value| {
        all.extend(more.as_object().expect("a table").clone());
        all
    };
    let disk = json!({ "device": "virtual", "size": 512 << 20, "fill": 0.0, "age": 0, "check": false });
    let load = with(with(defaults(commits::KIND.settings), json!({ "time": 1.0 })), load);
    TrialSpec {
        parameters: load,
        cut: Some(Cut {
            budget_seconds: 5.0,
            unit_bytes: 4096,
            cache: "volatile".into(),
            profile: "none".into(),
            log_bytes_max: 1 << 28,
            recovery_seconds_max: 60.0,
            copy_out: None,
        }),
        ..TrialSpec::single(
            "s",
            "s",
            commits::KIND.name,
            study::Bench::Host,
            1,
            StorageSettings::from_map(disk.as_object().expect("a table")),
        )
    }
}

/// Runs a trial, and gives what it found of power cuts; each record is shown as it comes.
#[track_caller]
fn measured(world: &World, spec: &TrialSpec, watch: &dyn Fn(&Value)) -> Safety {
    serde_json::from_value(found(world, spec, "safety", watch)).expect("what was found")
}

/// Runs a trial, and gives the last of its records with this name, as those before are of a search under way; each is shown as it comes.
#[track_caller]
pub fn found(world: &World, spec: &TrialSpec, name: &str, watch: &dyn Fn(&Value)) -> Value {
    found_by(world.command(&["trial", "."]), spec, name, watch)
}

#[track_caller]
fn found_by(mut command: Command, spec: &TrialSpec, name: &str, watch: &dyn Fn(&Value)) -> Value {
    let mut trial = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    // Open until it has ended: a trial without anybody who listens ends at once.
    let mut orders = trial.stdin.take().expect("asked for");
    let line = serde_json::to_string(spec).expect("plain data");
    writeln!(orders, "{line}").expect("it reads");
    let mut records = Vec::new();
    for line in BufReader::new(trial.stdout.take().expect("asked for")).lines() {
        let record: Value = serde_json::from_str(&line.expect("text")).expect("a record");
        watch(&record);
        records.push(record);
    }
    trial.wait().expect("it ends");
    let wanted = records.iter().rfind(|record| record["record"] == name);
    wanted.unwrap_or_else(|| panic!("nothing was measured: {records:#?}")).clone()
}
