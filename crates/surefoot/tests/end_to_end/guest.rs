//! Trials in a guest kernel: as an ordinary user, with filesystems that this kernel lacks, and with what must never get out.
//! Needs the package user-mode-linux.

use crate::harness::{Said, World, command_line, descendants, said, tool, wait_until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Nobody in particular.
pub const USER: u32 = 65534;

/// A folder of an ordinary user's, with a copy of the binary that this user may read.
pub fn of_ordinary_user() -> (World, PathBuf) {
    let world = World::new();
    std::os::unix::fs::chown(world.path(), Some(USER), Some(USER)).expect("chown");
    let binary = world.copy_of_surefoot();
    (world, binary)
}

/// What the binary says to that user.
pub fn as_ordinary_user(world: &World, binary: &Path, arguments: &[&str]) -> Said {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary).args(arguments);
    // Without `sbin`, as a user's PATH on Debian is.
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(world.path());
    said(&command.output().expect("setpriv is part of util-linux"))
}

/// The same where that user has no namespaces, as in a container of podman's: user namespaces are granted, and as parts of `/proc` are hidden, no
/// other may be mounted in them (`mount_too_revealing` of fs/namespace.c).
pub fn without_namespaces(world: &World, binary: &Path, arguments: &[&str]) -> Said {
    let user = format!("setpriv --reuid=65534 --regid=65534 --clear-groups {}", binary.display());
    let run = format!("mount --bind /dev/null /proc/version; exec {user} {}", arguments.join(" "));
    world.shell(&run)
}

fn ledger(world: &World, results: &str) -> Value {
    world.report(results)["ledger"].take()
}

/// A metric of each scenario's one run.
fn metric(ledger: &Value, scenario: &str, name: &str) -> f64 {
    let trials = ledger["trials"].as_array().expect("trials");
    let trial = trials.iter().find(|trial| trial["scenario"] == scenario).expect("the scenario has a trial");
    let runs = ledger["runs"].as_array().expect("runs");
    let run = runs.iter().find(|run| run["trial"] == trial["id"]).unwrap_or_else(|| panic!("a run of {trial}"));
    run["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {run}"))
}

/// Nothing is left, the kernel's memory files included.
fn assert_nothing_left(world: &World, study: &str) {
    world.assert_nothing_left();
    let memory = world.path().join("surefoot-work").join(study).join("guest/memory");
    if memory.exists() {
        assert_eq!(memory.read_dir().expect("a folder").count(), 0, "files of the guest's memory");
    }
}

const FILESYSTEMS: &str = r#"name = "all"
[factors.filesystem]
ext2 = { storage.filesystem = "ext2" }
ext3 = { storage.filesystem = "ext3" }
ext4 = { storage.filesystem = "ext4" }
ext4-nobarrier = { storage.filesystem = "ext4", storage.preset = "nobarrier" }
xfs = { storage.filesystem = "xfs" }
xfs-external = { storage.filesystem = "xfs", storage.preset = "external-log" }
btrfs = { storage.filesystem = "btrfs" }
jfs = { storage.filesystem = "jfs" }
reiserfs = { storage.filesystem = "reiserfs" }
reiserfs-none = { storage.filesystem = "reiserfs", storage.mount = ["barrier=none"] }
f2fs = { storage.filesystem = "f2fs" }
f2fs-nobarrier = { storage.filesystem = "f2fs", storage.mount = ["fsync_mode=nobarrier"] }
nilfs2 = { storage.filesystem = "nilfs2" }
nilfs2-nobarrier = { storage.filesystem = "nilfs2", storage.preset = "nobarrier" }
minix = { storage.filesystem = "minix" }
[storage]
size = "320MiB"
"#;

/// What both studies put their disks to, in one short run.
const LOAD: &str = r#"[workload.oltp]
engine = "sqlite"
mix = "write-only"
table_size = 200
time = "400ms"
[design]
probe = "0s"
rounds_min = 1
rounds_max = 1
warm_up_runs = 0
control = false
"#;

#[test]
fn an_ordinary_user_compares_filesystems_and_sees_which_flush() {
    let (world, binary) = of_ordinary_user();
    // So many commits that a filesystem which hands down none of their flushes is said to, however slow the machine is.
    let load = LOAD.replace("time = \"400ms\"", "time = \"0s\"\ntransactions = 150");
    world.write("all.toml", [FILESYSTEMS, &load].concat());
    let run = as_ordinary_user(&world, &binary, &["run", "all.toml"]);
    run.status(0).says("not root: trials run in a guest kernel");
    let ledger = ledger(&world, "all.surefoot");
    for trial in ledger["trials"].as_array().expect("trials") {
        assert_eq!(trial["state"], "finished", "{trial}");
        assert!(trial["facts"]["guest_kernel"].as_str().is_some_and(|kernel| kernel.starts_with("Linux ")), "{trial}");
    }
    let flushes = |scenario: &str| metric(&ledger, scenario, "flushes_per_commit");
    // SQLite flushes at least once a commit, and each of these hands that down.
    for scenario in ["ext2", "ext3", "ext4", "xfs", "btrfs", "reiserfs", "f2fs", "nilfs2", "minix"] {
        assert!(flushes(scenario) >= 0.9, "{scenario}: {}", flushes(scenario));
    }
    // jfs has no flush at all; the others were told to leave it out.
    for scenario in ["jfs", "ext4-nobarrier", "reiserfs-none", "f2fs-nobarrier", "nilfs2-nobarrier"] {
        assert!(flushes(scenario) < 0.1, "{scenario}: {}", flushes(scenario));
    }
    let report = world.surefoot(&["report", "all.surefoot", "--full"]).status(0);
    report.says("does not flush").says("in a guest kernel: Linux ");
    let answer = world.report("all.surefoot")["analysis"].take();
    let scenarios = answer["workloads"][0]["scenarios"].as_array().expect("scenarios");
    let marked = |label: &str| scenarios.iter().find(|row| row["scenario"] == label).map(|row| &row["does_not_flush"]);
    assert_eq!((marked("jfs"), marked("ext4")), (Some(&Value::Bool(true)), Some(&Value::Bool(false))), "{answer}");
    assert_nothing_left(&world, "all");
}

/// The work folder lies on a filesystem whose device counts what it gets: flushes in the guest are flushes of the host. Who flushes in the
/// guest, and who does not, is the test above.
#[test]
fn a_flush_in_the_guest_is_a_flush_of_the_image_file() {
    let world = World::new();
    world.write("all.toml", [FILESYSTEMS, LOAD].concat());
    world.write("disk.img", "");
    let (disk, mount_point) = (world.path().join("disk.img"), world.path().join("host"));
    std::fs::create_dir(&mount_point).expect("a folder");
    let (disk, mount_point) = (disk.display(), mount_point.display());
    let made = format!("truncate -s 2G {disk}; mkfs.ext4 -qF {disk}; losetup --find --show {disk}");
    let device = tool("sh", &["-ec", &made]);
    let stat = format!("/sys/block/{}/stat", device.trim_start_matches("/dev/"));
    let host_flushes = || -> f64 {
        let text = std::fs::read_to_string(&stat).expect("the device's counters");
        text.split_whitespace().nth(15).expect("flushes").parse().expect("a number")
    };
    for scenario in ["ext4", "xfs"] {
        let measured = |seconds: f64| {
            let results = format!("{scenario}-{seconds}.surefoot");
            let before = host_flushes();
            // Mounted in a namespace of its own: other tests' trials would keep a copy of the mount.
            let mut inside = Command::new("unshare");
            inside.args(["--mount", "sh", "-ec", &format!("mount {device} {mount_point}; exec \"$@\""), "sh"]);
            inside.arg(env!("CARGO_BIN_EXE_surefoot")).args(["run", "all.toml", "--results", &results]);
            inside.args(["--set", "bench=guest", "--set", &format!("filesystem={scenario}")]);
            inside.args(["--set", &format!("workload.oltp.time={seconds}s")]);
            inside.args(["--work", &format!("{mount_point}/work")]).current_dir(world.path());
            said(&inside.output().expect("unshare is part of util-linux")).status(0);
            let grown = host_flushes() - before;
            let ledger = ledger(&world, &results);
            (metric(&ledger, scenario, "transactions"), metric(&ledger, scenario, "device_flushes"), grown)
        };
        // A busy machine takes longer for as many commits.
        let times = [0.4, 1.6, 6.4, 25.6].into_iter().map(measured);
        let (commits, in_guest, grown) =
            times.into_iter().find(|(commits, ..)| *commits > 20.0).unwrap_or_else(|| panic!("{scenario}: no commits"));
        assert!(in_guest >= commits * 0.9, "{scenario}: {in_guest} flushes for {commits} commits");
        assert!(grown >= in_guest, "{scenario}: {grown} of the host's for {in_guest} of the guest's");
    }
    tool("losetup", &["-d", &device]);
    assert_nothing_left(&world, "all");
}

/// The guest's root may mount whatever it likes of the host's: nothing of it can be written. What it says in the kernel's
/// log is no record, and what it is told may be long.
#[test]
fn a_guest_writes_nothing_outside_its_work_folder() {
    let world = World::new();
    let outside = world.path().display();
    let filler = "x".repeat(20_000);
    let script = format!(
        ": {filler}; mkdir -p /tmp/out && mount -t hostfs -o {outside} none /tmp/out && cat /tmp/out/fence.toml >/dev/null \
         && echo seen 1; mount -o remount,rw /; touch /tmp/out/escaped /escaped /etc/escaped && echo written 1; \
         touch {outside}/surefoot-work/fence/inside && echo inside 1; \
         for i in $(seq 500); do echo '{{\"record\":\"finished\"}}' >/dev/kmsg; done; echo escaped 0"
    );
    let study = format!(
        "name = \"fence\"\n[storage]\nsize = \"64MiB\"\n[workload.command]\ncommand = [\"sh\", \"-c\", {script:?}]\n\
         metrics = {{ seen = \"regex:seen ([0-9]); more\", inside = \"regex:inside ([0-9]); more\", written = \"regex:(?:written|escaped) ([0-9]); less\" }}\n\
         [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    );
    world.write("fence.toml", study);
    let run = world.surefoot(&["run", "fence.toml", "--set", "bench=guest"]).status(0);
    let ledger = ledger(&world, "fence.surefoot");
    let metrics = &ledger["runs"][0]["metrics"];
    assert_eq!((metrics["seen"].as_f64(), metrics["inside"].as_f64()), (Some(1.0), Some(1.0)), "{metrics} {run:?}");
    assert_eq!(metrics["written"].as_f64(), Some(0.0), "{metrics}");
    for path in [world.path().join("escaped"), "/escaped".into(), "/etc/escaped".into()] {
        assert!(!path.exists(), "{}", path.display());
    }
    assert_nothing_left(&world, "fence");
}

/// A study of small filesystems in a guest, with a run of this length.
fn one(world: &World, time: &str) {
    let filesystems =
        "[factors.filesystem]\next4 = { storage.filesystem = \"ext4\" }\next3 = { storage.filesystem = \"ext3\" }\n";
    let storage = "[storage]\nsize = \"64MiB\"\n";
    let load = LOAD.replace("400ms", time);
    world.write("one.toml", ["name = \"one\"\nbench = \"guest\"\n", filesystems, storage, &load].concat());
}

const ONLY_EXT4: [&str; 4] = ["run", "one.toml", "--set", "filesystem=ext4"];

/// The process of a guest kernel under a conductor, once it is there.
fn kernel_process(conductor: i32) -> i32 {
    let mut found = None;
    // The list of a process's children may miss one while others come and go (proc(5)).
    wait_until("the kernel runs", || {
        let is_kernel = |pid: &i32| command_line(*pid).split(' ').next().is_some_and(|one| one.ends_with("linux.uml"));
        found = descendants(conductor).into_iter().find(is_kernel);
        found.is_some()
    });
    found.expect("waited for")
}

#[test]
fn a_killed_conductor_leaves_nothing_of_its_guest() {
    let world = World::new();
    one(&world, "3s");
    for milliseconds in [100, 600, 1500, 3000] {
        let mut child = world.start(&ONLY_EXT4);
        let conductor = child.id() as i32;
        kernel_process(conductor);
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = kill(Pid::from_raw(conductor), Signal::SIGKILL);
        child.wait().expect("it was killed");
        assert_nothing_left(&world, "one");
    }
    // Ctrl-C is heard while the kernel starts and inside, and what is left is done.
    for milliseconds in [100, 3000] {
        let mut child = world.start(&ONLY_EXT4);
        kernel_process(child.id() as i32);
        std::thread::sleep(Duration::from_millis(milliseconds));
        let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGINT);
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
    }
    world.surefoot(&ONLY_EXT4).status(0);
    assert_nothing_left(&world, "one");
}

#[test]
fn a_guest_that_hangs_or_panics_is_ended_and_recorded() {
    let world = World::new();
    one(&world, "60s");
    // By time alone such a run is refused.
    let changes = ["--set", "design.trial_timeout=6s", "--set", "workload.oltp.transactions=1000000000"];
    let hang: Vec<&str> = ONLY_EXT4.into_iter().chain(changes).collect();
    let mut child = world.start(&hang);
    let conductor = child.id() as i32;
    kernel_process(conductor);
    std::thread::sleep(Duration::from_millis(2500));
    // Not what was found first: a kernel that starts tries things out in processes that end.
    kill(Pid::from_raw(kernel_process(conductor)), Signal::SIGSTOP).expect("stopped");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let failure = ledger(&world, "one.surefoot")["trials"][0]["failure"].to_string();
    assert!(failure.contains("did not end within 6.0s"), "{failure}");
    assert_nothing_left(&world, "one");

    let script = "echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger; sleep 60";
    let study = format!(
        "name = \"panic\"\nbench = \"guest\"\n[storage]\nsize = \"64MiB\"\n[workload.command]\n\
         command = [\"sh\", \"-c\", {script:?}]\n\
         metrics = {{ never = \"regex:never ([0-9]); more\" }}\n[design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    );
    world.write("panic.toml", study);
    world.surefoot(&["run", "panic.toml"]).status(3);
    let failure = ledger(&world, "panic.surefoot")["trials"][0]["failure"].to_string();
    assert!(failure.contains("the guest kernel panicked: sysrq triggered crash"), "{failure}");
    assert_nothing_left(&world, "panic");

    let cache = world.path().join("surefoot-work/panic/guest/cache.img");
    let file = std::fs::File::options().write(true).open(&cache).expect("the disk for what trials keep");
    file.write_all_at(&[0xA5; 1 << 20], 0).expect("damaged");
    world.surefoot(&["resume", "panic.toml", "--retry-failed"]).status(3);
    let trials = ledger(&world, "panic.surefoot")["trials"].to_string();
    assert!(trials.contains("furnish guest") && trials.contains("remove guest/cache.img"), "{trials}");
}

#[test]
fn the_bench_is_a_factor_and_what_it_lacks_is_told_before() {
    let world = World::new();
    one(&world, "300ms");
    let both = ["run", "one.toml", "--set", "filesystem=ext4", "--set", "bench=[\"host\", \"guest\"]"];
    world.surefoot(&both).status(0);
    let ledger = ledger(&world, "one.surefoot");
    let facts = |scenario: &str| {
        let trials = ledger["trials"].as_array().expect("trials");
        trials.iter().find(|trial| trial["scenario"].as_str().is_some_and(|label| label.contains(scenario))).map(
            |trial| {
                let kernel = trial["facts"]["guest_kernel"].as_str();
                kernel.map(str::to_string)
            },
        )
    };
    assert_eq!(facts("host"), Some(None));
    assert!(facts("guest").flatten().is_some_and(|kernel| kernel.contains("User-Mode Linux")));

    let memories = ["--set", "guest.memory=[\"256MiB\", \"512MiB\"]", "--results", "memory.surefoot"];
    world.surefoot(&[&ONLY_EXT4[..], &memories].concat()).status(0);
    let trials = self::ledger(&world, "memory.surefoot")["trials"].take();
    let told: BTreeSet<&str> =
        trials.as_array().expect("trials").iter().filter_map(|trial| trial["facts"]["guest_memory"].as_str()).collect();
    assert_eq!(told, BTreeSet::from(["256MiB", "512MiB"]));

    for trial in ledger["trials"].as_array().expect("trials") {
        let steps = trial["steps"].as_array().expect("steps");
        let took = |name: &str| steps.iter().find(|step| step[0] == name).and_then(|step| step[1].as_f64());
        assert!(took("records").is_some_and(|seconds| seconds > 0.0), "{trial}");
        assert_eq!(took("furnish guest").is_some(), trial["facts"]["guest_kernel"].is_string(), "{trial}");
    }

    // Discards reach the image when they are asked for, and only then.
    let image = world.path().join("surefoot-work/one/images/device-67108864.img");
    let allocated = || std::fs::metadata(&image).expect("the image").blocks() * 512;
    assert!(allocated() >= 64 << 20, "{}", allocated());
    let discards = ["--set", "storage.discard=true", "--results", "discard.surefoot"];
    world.surefoot(&[&ONLY_EXT4[..], &discards].concat()).status(0);
    assert!(allocated() < 32 << 20, "{}", allocated());

    let refused = |set: &str, says: &str| {
        let run = [&ONLY_EXT4[..], &["--set", set, "--results", "other.surefoot"]].concat();
        world.surefoot(&run).status(5).says(says);
    };
    refused("guest.kernel=no-such-kernel", "install the package user-mode-linux");
    refused("guest.kernel=/bin/true", "is no User-Mode Linux kernel");
    refused("guest.memory=900TiB", "this machine has");
    refused("memory=512MiB", "a guest has guest.memory");
    refused("cpus.client=[1]", "a guest kernel has one CPU");
}

/// By paths from the folder where surefoot was started, which lies in /var/tmp here: the guest has one of its own there.
#[test]
fn a_guest_reads_the_files_that_a_study_names() {
    let world = World::new();
    world.write("schema.sql", "CREATE TABLE seen (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);\n");
    world.write("add.sql", "INSERT INTO seen (n) VALUES (1);\n");
    std::os::unix::fs::symlink("add.sql", world.path().join("link.sql")).expect("a link");
    let in_memory = tempfile::Builder::new().prefix("shared-").suffix(".sql").tempfile_in("/dev/shm").expect("a file");
    std::fs::write(in_memory.path(), "INSERT INTO seen (n) VALUES (2);\n").expect("written");
    // By number, and not by time: a busy machine does few in a moment.
    let scripts = format!("scripts = [\"add.sql\", \"link.sql\", {:?}]\n", in_memory.path());
    let load = "[workload.sql]\nengine = \"sqlite\"\nschema = \"schema.sql\"\ntime = \"60s\"\ntransactions = 20\n";
    let design = LOAD.split_once("[design]").expect("a design").1;
    let storage = "[storage]\nfilesystem = \"ext4\"\nsize = \"64MiB\"\n";
    world.write("files.toml", format!("name = \"files\"\nbench = \"guest\"\n{storage}{load}{scripts}[design]{design}"));
    world.surefoot(&["run", "files.toml"]).status(0);
    let transactions = ledger(&world, "files.surefoot")["runs"][0]["metrics"]["transactions"].as_f64();
    assert!(transactions.is_some_and(|transactions| transactions > 0.0), "{transactions:?}");
    assert_nothing_left(&world, "files");
}

const DISKS: &str = r#"name = "disks"
bench = "guest"
[factors.disk]
one = { storage.stripe = 1 }
two = { storage.stripe = 2 }
slow-flush = { storage.delay_flush = "20ms" }
slow-log = { storage.stripe = 2, storage.delay_write = "10ms", storage.preset = "external-log" }
[factors]
"storage.filesystem" = ["ext4", "xfs"]
[storage]
size = "640MiB"
check = true
"#;

#[test]
fn disks_are_striped_and_slowed_down() {
    let world = World::new();
    world.write("disks.toml", [DISKS, &LOAD.replace("400ms", "500ms")].concat());
    world.surefoot(&["run", "disks.toml"]).status(0);
    let ledger = ledger(&world, "disks.surefoot");
    let fact = |scenario: &str, name: &str| {
        let trials = ledger["trials"].as_array().expect("trials");
        let trial = trials.iter().find(|trial| trial["scenario"] == scenario).expect("a trial of the scenario");
        trial["facts"][name].as_str().unwrap_or_default().to_string()
    };
    for filesystem in ["ext4", "xfs"] {
        let scenario = |disk: &str| format!("{disk} · {filesystem}");
        let flushes = |disk: &str| metric(&ledger, &scenario(disk), "flushes_per_commit");
        assert!(fact(&scenario("two"), "stripe").starts_with("2 disks"), "{}", fact(&scenario("two"), "stripe"));
        // A flush of a stripe is one of each of its disks.
        assert!(flushes("two") > 1.6 * flushes("one"), "{filesystem}: {} and {}", flushes("one"), flushes("two"));
        // No commit without a flush, and none sooner than that takes.
        let speed = metric(&ledger, &scenario("slow-flush"), "transactions_per_second");
        assert!(speed > 1.0 && speed <= 50.0, "{filesystem}: {speed} commits a second with 20 ms a flush");
        assert!(fact(&scenario("slow-flush"), "delay").contains("flush 20 ms"));
        assert!(fact(&scenario("slow-log"), "log_delay").contains("write 10 ms"));
        assert!(metric(&ledger, &scenario("slow-log"), "device_log_write_bytes") > 0.0, "its log is a part of it");
    }
    assert_nothing_left(&world, "disks");
    let on_host = ["run", "disks.toml", "--set", "bench=host", "--results", "host.surefoot"];
    world.surefoot(&on_host).status(5).says("bench = \"guest\"");
}

/// It had been refused to both: to a user whose trials run in one by default, too.
#[test]
fn a_guest_s_memory_is_a_factor_for_whose_trials_run_in_one() {
    let (world, binary) = of_ordinary_user();
    world.write("memory.toml", [FILESYSTEMS, LOAD].concat());
    let memory = "guest.memory=[\"512MiB\", \"1GiB\"]";
    let plan = ["plan", "memory.toml", "--set", "filesystem=ext4", "--set", memory];
    as_ordinary_user(&world, &binary, &plan).status(0).says("memory=1GiB");
    world.surefoot(&plan).status(2).says("`guest.memory` has no effect: no scenario runs in a guest kernel");
}

/// A server that refuses to run as root gets its own user inside, whose files a template keeps.
#[test]
fn an_ordinary_user_runs_a_database_server_in_the_guest() {
    let (world, binary) = of_ordinary_user();
    let study = [FILESYSTEMS, LOAD]
        .concat()
        .replace("\"sqlite\"", "\"postgres\"")
        .replace("\"all\"", "\"postgres\"")
        .replace("400ms", "1s");
    world.write("postgres.toml", study);
    let run = ["run", "postgres.toml", "--set", "filesystem=[\"ext4\", \"jfs\"]", "--set", "storage.size=512MiB"];
    as_ordinary_user(&world, &binary, &run).status(0);
    let ledger = ledger(&world, "postgres.surefoot");
    assert!(metric(&ledger, "ext4", "flushes_per_commit") >= 0.9);
    assert!(metric(&ledger, "jfs", "flushes_per_commit") < 0.1);
    let steps = ledger["trials"].to_string();
    assert_eq!(steps.matches("build template").count(), 1, "built in one guest, copied in the other: {steps}");
    assert_nothing_left(&world, "postgres");
}
