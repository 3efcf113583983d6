//! What goes wrong on real machines: kills, full disks, missing programs, foreign files.

use crate::harness::{World, children, command_line, on_block_device, small_study, tool, wait_until};
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn finished(world: &World, results: &str) -> usize {
    let json = world.report(results);
    let trials = json["ledger"]["trials"].as_array().expect("trials").clone();
    trials.iter().filter(|trial| trial["state"] == "finished").count()
}

#[test]
fn killed_at_any_moment_it_goes_on_where_it_stopped() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4", "xfs"], 2));
    // Moments all over a trial, later ones in later trials too: provisioning, load, run, teardown.
    for milliseconds in [60, 250, 400, 700, 1100, 1600] {
        let mut child = world.start(&["run", "small.toml"]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
        child.wait().expect("it was killed");
        world.assert_nothing_left();
    }
    world.surefoot(&["run", "small.toml"]).status(0);
    // Two filesystems and the control in two rounds, each exactly once.
    assert_eq!(finished(&world, "small.surefoot"), 6);
    world.assert_nothing_left();
}

#[test]
fn a_killed_trial_is_a_hole_and_the_rest_goes_on() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4", "ext3"], 2));
    let mut child = world.start(&["run", "small.toml"]);
    let mut trial = None;
    wait_until("a trial runs", || {
        trial = trial_process(child.id());
        trial.is_some()
    });
    kill(Pid::from_raw(trial.expect("found")), Signal::SIGKILL).expect("the trial is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    assert_eq!(finished(&world, "small.surefoot"), 5);
    world.assert_nothing_left();
    world.surefoot(&["report", "small.surefoot", "--full"]).status(3).says("SIGKILL");
    // On request, its round is measured again, whole.
    let said = world.surefoot(&["run", "small.toml"]).status(3).says("--retry-failed measures that again");
    assert!(!said.stderr.contains("had all of it"), "{}", said.stderr);
    world.surefoot(&["resume", "small.toml", "--retry-failed"]).status(0);
    assert_eq!(finished(&world, "small.surefoot"), 5 + 3);
}

/// Killed as soon as it has started the process that runs the trial: that one would otherwise go on without anybody.
#[test]
fn a_trial_dies_with_its_outermost_process_from_the_first_moment_on() {
    let world = World::new();
    for _ in 0..60 {
        let mut command = world.command(&["trial", "."]);
        let mut outer = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        let children = format!("/proc/{0}/task/{0}/children", outer.id());
        let inner = loop {
            let inner = std::fs::read_to_string(&children).expect("it runs");
            if let Ok(inner) = inner.trim().parse::<i32>() {
                break inner;
            }
        };
        outer.kill().expect("it runs");
        // Its input is still ours: without us it would wait for its orders.
        // Dead is enough: whoever inherits it may take his time to look.
        wait_until("the trial is gone, too", || command_line(inner).is_empty());
        outer.wait().expect("it ends");
    }
}

/// The trial's outermost process: the child of the conductor that runs the verb `trial`.
fn trial_process(conductor: u32) -> Option<i32> {
    children(conductor).into_iter().find(|pid| command_line(*pid).split(' ').nth(1) == Some("trial"))
}

#[test]
fn interrupted_once_it_records_tears_down_and_says_how_to_go_on() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 2).replace("300ms", "2s"));
    let mut command = world.command(&["run", "small.toml"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    wait_until("a trial runs", || trial_process(child.id()).is_some());
    std::thread::sleep(Duration::from_millis(500));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("it runs");
    let said = crate::harness::said(&child.wait_with_output().expect("it ends"));
    let said = said.status(130).says("goes on where it stopped");
    assert!(!said.stderr.contains("FAILED"), "{}", said.stderr);
    world.assert_nothing_left();
    world.surefoot(&["status", "small.surefoot"]).status(0).says("interrupted; the command that began it goes on");
    world
        .surefoot(&["resume", "small.toml", "--set", "workload.oltp.time=1s", "--quiet"])
        .status(2)
        .says("holds the study");
    world.surefoot(&["resume", "small.toml", "--quiet"]).status(0);
    assert_eq!(finished(&world, "small.surefoot"), 4);
}

/// As after a lost connection, by which a trial had been killed, and its block device was refused from then on.
#[test]
fn a_terminal_that_goes_away_interrupts() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1).replace("300ms", "2s"));
    let mut command = world.command(&["run", "small.toml"]);
    // Tests under nohup would have the signal ignored.
    begin_with(&mut command, Signal::SIGHUP, SigHandler::SigDfl);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    wait_until("a trial runs", || trial_process(child.id()).is_some());
    kill(Pid::from_raw(child.id() as i32), Signal::SIGHUP).expect("it runs");
    let said = crate::harness::said(&child.wait_with_output().expect("it ends"));
    said.status(130).says("goes on where it stopped");
    world.assert_nothing_left();
    world.surefoot(&["resume", "small.toml", "--quiet"]).status(0);
}

/// As a daemon may start it: namespaces seemed to be refused, and of no trial it was known how it ended.
#[test]
fn who_starts_it_may_ignore_his_children() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let mut command = world.command(&["run", "small.toml", "--quiet"]);
    begin_with(&mut command, Signal::SIGCHLD, SigHandler::SigIgn);
    crate::harness::said(&command.output().expect("surefoot starts")).status(0);
    assert_eq!(finished(&world, "small.surefoot"), 2);
    world.assert_nothing_left();
}

/// Has what a command starts begin with this for a signal.
fn begin_with(command: &mut Command, number: Signal, handler: SigHandler) {
    // SAFETY: between fork and exec one system call is made.
    unsafe {
        command.pre_exec(move || {
            signal(number, handler)?;
            Ok(())
        });
    }
}

#[test]
fn two_runs_on_one_results_file_the_second_is_refused() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1).replace("300ms", "3s"));
    let mut first = world.start(&["run", "small.toml"]);
    wait_until("the first runs", || trial_process(first.id()).is_some());
    world.surefoot(&["run", "small.toml"]).status(2).says("small.surefoot");
    world.surefoot(&["status"]).status(0).says("running");
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_full_disk_is_a_failed_trial_with_its_reason() {
    let world = World::new();
    let study = small_study(&["ext4"], 1).replace("64MiB", "32MiB").replace("table_size = 2000", "table_size = 400000");
    world.write("small.toml", study);
    world.surefoot(&["run", "small.toml", "--set", "design.control=false"]).status(3);
    let said = world.surefoot(&["report", "small.surefoot"]).status(3);
    assert!(said.stdout.contains("full"), "{}", said.stdout);
    world.assert_nothing_left();
}

#[test]
fn a_crashing_program_and_a_hanging_one_are_failed_trials() {
    let world = World::new();
    let study = |line: &str| {
        format!(
            "name = \"c\"\nquestion = \"?\"\n[factors]\n\"storage.filesystem\" = [\"ext4\"]\n[storage]\nsize = \"64MiB\"\n\
             [workload.command]\ncommand = [\"sh\", \"-c\", \"{line}\"]\nmetrics = {{ speed = \"regex:speed ([0-9]+); unit 1/s; more\" }}\n\
             [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\ntrial_timeout = \"3s\"\n"
        )
    };
    world.write("crash.toml", study("echo last words; kill -SEGV $$"));
    world.surefoot(&["run", "crash.toml"]).status(3);
    let json = world.report("c.surefoot").to_string();
    assert!(json.contains("last words"), "{json}");
    world.write("hang.toml", study("sleep 100 & sleep 100"));
    world.surefoot(&["run", "hang.toml", "--results", "hang.surefoot"]).status(3).says("3.0s");
    world.assert_nothing_left();
}

#[test]
fn what_is_missing_is_named_with_its_package_before_the_first_trial() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4", "jfs"], 1));
    world.surefoot(&["run", "small.toml"]).status(5).says("jfs").says("--skip-missing");
    assert!(!world.path().join("small.surefoot").exists());
    world.surefoot(&["run", "small.toml", "--skip-missing"]).status(0).says("left out");
    // To a fleet's member it had been offered, too: `merge` refuses one that measured less than the others.
    let member = world.surefoot(&["run", "small.toml", "--member", "1/2", "--results", "fleet"]).status(5);
    assert!(
        member.stderr.contains("on every member") && !member.stderr.contains("--skip-missing"),
        "{}",
        member.stderr
    );
    // A mkfs that is not in the path.
    let output =
        world.command(&["run", "small.toml", "--set", "storage.filesystem=xfs"]).env("PATH", "/nowhere").output();
    crate::harness::said(&output.expect("starts")).status(5).says("xfsprogs");
}

/// Of a study of which nothing can run here, `--skip-missing` leaves nothing.
#[test]
fn who_can_run_nothing_is_told_what_would_help() {
    let (world, binary) = crate::guest::of_ordinary_user();
    world.write("small.toml", small_study(&["ext4"], 1));
    let words = ["run", "small.toml"];
    let as_root = world.command(&words).env("PATH", "/nowhere").output().expect("starts");
    let told = crate::harness::said(&as_root).status(5).says("can't run any scenario");
    let told = told.says("hint: install what is missing, then run the same command");
    assert!(!told.stderr.contains("--skip-missing"), "{}", told.stderr);
    let skipping = [&words[..], &["--skip-missing"]].concat();
    let as_root = world.command(&skipping).env("PATH", "/nowhere").output().expect("starts");
    crate::harness::said(&as_root).status(5).says("no scenario is left").says("hint: install what is missing");
    // Where neither the filesystem's programs nor a guest's kernel are found.
    let mut user = std::process::Command::new("/usr/bin/setpriv");
    user.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary).args(words);
    let as_user = user.env("PATH", "/nowhere").current_dir(world.path()).output().expect("util-linux has setpriv");
    crate::harness::said(&as_user).status(5).says("hint: run it as root, or install what is missing");
}

/// A guest kernel's recording disk is mounted outside of it: each scenario had been tried, and was a hole.
#[test]
fn who_may_not_mount_the_disk_is_told_before_anything_is_tried() {
    let (world, binary) = crate::guest::of_ordinary_user();
    world.write("small.toml", small_study(&["ext4"], 1) + "[safety]\n");
    for verb in ["powercut", "faults"] {
        let told = crate::guest::as_ordinary_user(&world, &binary, &[verb, "small.toml"]);
        let told =
            told.status(5).says("needs root, also where trials run in a guest kernel").says("hint: run it as root");
        assert!(!told.stderr.contains("not root: trials run"), "{}", told.stderr);
    }
    let plan = crate::guest::as_ordinary_user(&world, &binary, &["plan", "small.toml"]);
    plan.status(0).says("note:       power cuts and failing disks need root");
}

#[test]
fn foreign_and_damaged_results_files_are_told_apart() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    world.surefoot(&["run", "small.toml", "--results", "good.surefoot"]).status(0);
    let good = std::fs::read(world.path().join("good.surefoot")).expect("results");
    world.write("text.surefoot", "these are my notes");
    world.write("cut.surefoot", &good[..good.len() / 2]);
    for file in ["text.surefoot", "cut.surefoot"] {
        world.surefoot(&["report", file]).status(2).says(file);
        world.surefoot(&["run", "small.toml", "--results", file]).status(2).says(file);
    }
    assert_eq!(std::fs::read(world.path().join("text.surefoot")).expect("still there"), b"these are my notes");
    world.surefoot(&["report", "nothing.surefoot"]).status(2).says("nothing.surefoot");
}

#[test]
fn a_read_only_results_folder_is_said_before_the_first_trial() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let line = format!(
        "mkdir ro && mount -t tmpfs -o ro none ro && {} run small.toml --results ro/x.surefoot",
        env!("CARGO_BIN_EXE_surefoot")
    );
    world.shell(&line).status(2).says("ro");
}

#[test]
fn a_folder_that_is_not_ours_is_left_alone() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let precious = world.path().join("precious");
    std::fs::create_dir(&precious).expect("a folder");
    std::fs::write(precious.join("letter"), "dear").expect("a file");
    world.surefoot(&["run", "small.toml", "--work", "precious"]).status(4).says("not made by surefoot");
    world.surefoot(&["clean", "--work", "precious"]).status(4);
    assert!(Path::new(&precious.join("letter")).exists());
}

/// As an ordinary user in some containers. Each trial had failed for it.
#[test]
fn where_no_proc_can_be_mounted_trials_run_without_namespaces() {
    let (world, binary) = crate::guest::of_ordinary_user();
    let target = world.path().join("target");
    std::fs::create_dir(&target).expect("a folder");
    std::os::unix::fs::chown(&target, Some(crate::guest::USER), None).expect("root may");
    let study = format!(
        "name = \"dir\"\n[storage]\ndevice = \"dir\"\npath = {target:?}\n[workload.oltp]\nengine = \"sqlite\"\ntable_size = 200\n\
         time = \"300ms\"\n[design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    );
    world.write("dir.toml", study);
    crate::guest::without_namespaces(&world, &binary, &["run", "dir.toml"]).status(0);
    let trials = world.report("dir.surefoot")["ledger"]["trials"].take();
    assert!(trials[0]["warnings"].to_string().contains("grants no namespaces"), "{trials}");
}

#[test]
fn a_device_with_data_is_refused_before_the_first_trial() {
    let world = World::new();
    let image = world.write("image", vec![0; 64 << 20]);
    tool("mkfs.ext4", &["-q", image.to_str().expect("a path")]);
    let device = tool("losetup", &["-f", "--show", image.to_str().expect("a path")]);
    let study = on_block_device(&small_study(&["ext4"], 1), &device, "");
    world.write("block.toml", study);
    world.surefoot(&["plan", "block.toml"]).status(0).says("refused:").says("holds an ext2, ext3 or ext4 filesystem");
    let refused = world.surefoot(&["run", "block.toml"]);
    let before = std::fs::read(&image).expect("the image");
    tool("losetup", &["-d", &device]);
    refused.status(4).says("ext4").says(&device);
    assert!(!world.path().join("small.surefoot").exists());
    assert_eq!(before[0x438..0x43a], [0x53, 0xef], "the filesystem is still there");
}

#[test]
fn a_block_device_serves_a_whole_study_and_is_refused_once_somebody_else_wrote_to_it() {
    let world = World::new();
    let image = world.write("image", "");
    std::fs::File::options().write(true).open(&image).and_then(|file| file.set_len(320 << 20)).expect("sized");
    let image = image.to_str().expect("a path");
    let device = tool("losetup", &["-f", "--show", image]);
    let study = on_block_device(&small_study(&["ext4", "xfs"], 1), &device, "");
    world.write("block.toml", study);
    world.surefoot(&["run", "block.toml", "--quiet"]).status(0);
    // Another session of the same study knows what the first one left.
    world.surefoot(&["run", "block.toml", "--quiet", "--results", "again.surefoot"]).status(0);
    // Random bytes, with no mark of any kind.
    let noise: Vec<u8> = (0..1_u32 << 18).flat_map(|n| (n.wrapping_mul(0x9e37_79b9) | 1).to_le_bytes()).collect();
    std::fs::write(&device, &noise).expect("written");
    let refused = world.surefoot(&["run", "block.toml", "--results", "third.surefoot"]);
    let kept = std::fs::read(&device).expect("the device");
    tool("losetup", &["-d", &device]);
    refused.status(4).says("holds data of no known kind: at byte 0 stands").says("say wipe =");
    assert!(kept.starts_with(&noise), "the refused device was written to");
}

/// One image on two loop devices would be formatted under a mounted filesystem.
#[test]
fn a_work_folder_has_one_owner_and_is_not_cleaned_under_it() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 2).replace("300ms", "1s"));
    let mut first = world.start(&["run", "small.toml", "--work", "w", "--results", "first.surefoot"]);
    wait_until("a trial runs", || trial_process(first.id()).is_some());
    for results in ["second.surefoot", "third.surefoot"] {
        let refused = world.surefoot(&["run", "small.toml", "--work", "w", "--results", results]).status(2);
        refused.says(&format!("process {}", first.id())).says("first.surefoot").says("--work DIR");
        assert!(!world.path().join(results).exists());
    }
    world.surefoot(&["clean", "--work", "w"]).status(4).says(&format!("process {}", first.id()));
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(finished(&world, "first.surefoot"), 4);
    let second = ["run", "small.toml", "--work", "w", "--results", "second.surefoot", "--rounds", "1", "--quiet"];
    world.surefoot(&second).status(0);
    world.surefoot(&["clean", "--work", "w"]).status(0);
    assert!(!world.path().join("w").exists());
    world.assert_nothing_left();
}

#[test]
fn four_at_once_in_one_folder_lose_nothing() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4", "ext3"], 1));
    let start = |n: usize| world.start(&["run", "small.toml", "--work", "w", "--results", &format!("{n}.surefoot")]);
    let mut all: Vec<_> = (0..4).map(start).collect();
    let ends: Vec<_> = all.iter_mut().map(|run| run.wait().expect("it ends").code()).collect();
    assert!(ends.iter().all(|end| matches!(end, Some(0 | 2))) && ends.contains(&Some(0)), "{ends:?}");
    for (n, _) in ends.iter().enumerate().filter(|(_, end)| **end == Some(0)) {
        assert_eq!(finished(&world, &format!("{n}.surefoot")), 3);
    }
    world.assert_nothing_left();
}

#[test]
fn a_killed_owner_is_no_obstacle() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1).replace("300ms", "2s"));
    let mut killed = world.start(&["run", "small.toml"]);
    wait_until("a trial runs", || trial_process(killed.id()).is_some());
    killed.kill().expect("it runs");
    // At once: its note is still there, and its trial may be, too.
    world.surefoot(&["run", "small.toml", "--quiet"]).status(0);
    killed.wait().expect("it ends");
    assert_eq!(finished(&world, "small.surefoot"), 2);
    world.assert_nothing_left();
}

#[test]
fn a_work_folder_that_vanishes_is_what_the_error_is_about() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 3).replace("300ms", "1s"));
    let mut command = world.command(&["run", "small.toml", "--work", "w"]);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    wait_until("a trial runs", || trial_process(run.id()).is_some());
    std::fs::rename(world.path().join("w"), world.path().join("moved")).expect("moved");
    let said = crate::harness::said(&run.wait_with_output().expect("it ends"));
    said.status(1).says("the work folder").says("is gone");
    world.assert_nothing_left();
}

#[test]
fn a_forged_work_folder_is_refused() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let letters = vec![7_u8; 64 << 20];
    let precious = world.write("precious", &letters);
    world.surefoot(&["run", "small.toml", "--work", "w", "--quiet"]).status(0);
    let work = world.path().join("w");
    let is_kept = || std::fs::read(&precious).expect("there") == letters;
    let run = || world.surefoot(&["run", "small.toml", "--work", "w", "--results", "other.surefoot"]);
    // An image that is somebody's file by another name.
    let image = work.join("images/device-67108864.img");
    std::fs::remove_file(&image).and_then(|()| std::fs::hard_link(&precious, &image)).expect("linked");
    assert_ne!(run().says("has more than one name").status, Some(0));
    assert!(is_kept());
    std::fs::remove_file(&image).expect("removed");
    // A log that leads elsewhere.
    let log = work.join("trial.log");
    std::fs::remove_file(&log).and_then(|()| std::os::unix::fs::symlink(&precious, &log)).expect("linked");
    assert_ne!(run().says("trial.log").status, Some(0));
    assert!(is_kept());
    std::fs::remove_file(&log).expect("removed");
    // A folder of another's, with an empty marker.
    let forged = world.path().join("forged");
    std::fs::create_dir(&forged).and_then(|()| std::fs::write(forged.join(".surefoot-work"), "")).expect("made");
    std::os::unix::fs::chown(&forged, Some(65534), None).expect("root may");
    world.surefoot(&["run", "small.toml", "--work", "forged"]).status(4).says("belongs to user 65534");
    world.surefoot(&["clean", "--work", "forged"]).status(4);
    // A link to a folder of ours.
    std::os::unix::fs::symlink(&work, world.path().join("link")).expect("linked");
    world.surefoot(&["clean", "--work", "link"]).status(4).says("is a symbolic link");
    assert!(work.join("images").exists());
}

#[test]
fn an_image_that_is_cut_short_between_two_trials_fails_the_next() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 4).replace("300ms", "1s"));
    let mut run = world.start(&["run", "small.toml", "--work", "w"]);
    wait_until("a trial runs", || trial_process(run.id()).is_some());
    let image = world.path().join("w/images/device-67108864.img");
    std::fs::File::options().write(true).open(image).and_then(|image| image.set_len(1 << 20)).expect("cut");
    assert_eq!(run.wait().expect("it ends").code(), Some(3));
    world.surefoot(&["report", "small.surefoot", "--full"]).status(3).says("is not a whole image");
}
