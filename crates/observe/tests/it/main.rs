//! Telemetry of a real loop device on an image file of its own: what was written is what was counted.

use observe::disk;
use observe::sampler::{Place, Sampler, Telemetry, Watched, derived};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const MEBIBYTE: u64 = 1 << 20;

/// A loop device of ours; taken away when dropped.
struct Loop(String);

impl Loop {
    fn over(image: &Path) -> Loop {
        File::create(image).and_then(|file| file.set_len(64 * MEBIBYTE)).expect("an image");
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().expect("losetup runs");
        assert!(output.status.success(), "losetup: {}", String::from_utf8_lossy(&output.stderr));
        Loop(String::from_utf8(output.stdout).expect("a path").trim().to_string())
    }

    fn name(&self) -> String {
        disk::device_name(&self.0).expect("it is attached")
    }

    /// 16 MiB, with a flush after each fourth.
    fn write_and_flush(&self) {
        let device = File::options().write(true).open(&self.0).expect("the device opens");
        for index in 0..16 {
            device.write_all_at(&[7; MEBIBYTE as usize], index * MEBIBYTE).expect("it is written");
            if index % 4 == 3 {
                device.sync_all().expect("it is flushed");
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

fn value(telemetry: &Telemetry, name: &str) -> f64 {
    let found = telemetry.metrics.iter().find(|measured| measured.metric.name == name);
    found.unwrap_or_else(|| panic!("{name} in {:#?}", telemetry.metrics)).value
}

#[test]
fn what_is_written_to_a_device_is_counted() {
    // Not of a filesystem in memory, where tests may have their files.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let device = Loop::over(&folder.path().join("image"));
    let sampler = Sampler::start(&Watched {
        device: Some(&device.name()),
        place: Some(Place::Filesystem(folder.path())),
        ..Watched::default()
    });
    device.write_and_flush();
    let telemetry = sampler.stop();
    assert_eq!(value(&telemetry, "device_write_bytes"), 16.0 * MEBIBYTE as f64);
    assert_eq!(value(&telemetry, "device_flushes"), 4.0);
    assert!(value(&telemetry, "device_writes") > 0.0 && value(&telemetry, "device_busy_share") >= 0.0);
    // Others write to that disk too, so at least.
    assert!(value(&telemetry, "device_backing_write_bytes") >= 0.0);
    let derived = derived(&telemetry, 8 * MEBIBYTE, 2);
    let values: Vec<f64> = derived.iter().map(|found| found.value).collect();
    assert_eq!(values[..2], [2.0, 2.0]);
    assert!(derived[2].metric.name == "flush_seconds_mean" && (0.0..10.0).contains(&values[2]), "{values:?}");
}

/// As of data and log in two folders of one disk: what that got had counted twice.
#[test]
fn a_log_on_the_datas_own_device_is_counted_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = Loop::over(&folder.path().join("image"));
    let name = device.name();
    let sampler = Sampler::start(&Watched { device: Some(&name), log_device: Some(&name), ..Watched::default() });
    device.write_and_flush();
    let telemetry = sampler.stop();
    assert!(!telemetry.metrics.iter().any(|measured| measured.metric.name.starts_with("device_log_")));
    assert_eq!(
        derived(&telemetry, 16 * MEBIBYTE, 4).iter().map(|found| found.value).take(2).collect::<Vec<_>>(),
        [1.0; 2]
    );
}

#[test]
fn the_disk_below_a_loop_device_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = Loop::over(&folder.path().join("image"));
    assert_eq!(disk::disk_below_loop(&device.name()), disk::disk_under(folder.path()));
    assert_eq!(disk::disk_below_loop("no-such-device"), None);
}

#[test]
fn a_folder_without_a_device_has_all_other_figures() {
    let memory = Path::new("/dev/shm");
    let sampler = Sampler::start(&Watched { place: Some(Place::Filesystem(memory)), ..Watched::default() });
    let mut file = tempfile::tempfile_in(memory).expect("a file");
    file.write_all(&[1; MEBIBYTE as usize]).expect("it is written");
    let telemetry = sampler.stop();
    assert!(value(&telemetry, "space_grown_bytes").is_finite() && value(&telemetry, "driver_cpu_seconds") >= 0.0);
    assert!(!telemetry.metrics.iter().any(|measured| measured.metric.name.starts_with("device_")));
    assert!(derived(&telemetry, MEBIBYTE, 1).is_empty());
}

/// As `device = "dir"` on a disk with other data, which is all but always far fuller than a trial's 3 MiB.
#[test]
fn what_a_folder_holds_is_not_what_its_disk_holds() {
    let disk = tempfile::tempdir().expect("a folder");
    std::fs::write(disk.path().join("others"), vec![1; 20 * MEBIBYTE as usize]).expect("others' data");
    let folder = disk.path().join("trial");
    std::fs::create_dir_all(folder.join("sub")).expect("made");
    let sampler = Sampler::start(&Watched { place: Some(Place::Folder(&folder)), ..Watched::default() });
    let data = vec![1; MEBIBYTE as usize];
    std::fs::write(folder.join("a"), &data).expect("written");
    std::fs::write(folder.join("sub/b"), &data).expect("written");
    std::fs::hard_link(folder.join("a"), folder.join("sub/c")).expect("linked");
    std::os::unix::fs::symlink(disk.path(), folder.join("out")).expect("linked");
    // A gigabyte long, and one block of it allocated.
    let sparse = std::fs::File::create(folder.join("sparse")).expect("made");
    sparse.set_len(1 << 30).expect("grown");
    std::os::unix::fs::FileExt::write_all_at(&sparse, &data, 1 << 29).expect("written");
    // Filesystems allocate when they write.
    nix::unistd::sync();
    let telemetry = sampler.stop();
    let used = value(&telemetry, "space_used_bytes") / MEBIBYTE as f64;
    assert!((3.0..4.0).contains(&used), "{used} MiB");
    assert!(
        !telemetry.metrics.iter().any(|measured| measured.metric.name == "space_grown_bytes"),
        "not looked at before"
    );
    assert!(!telemetry.series.contains_key("space_used_bytes"));
    assert_eq!(disk::space_of_folder(&folder.join("none")), None);
}

#[test]
fn a_whole_second_has_its_sample() {
    let sampler = Sampler::start(&Watched::default());
    std::thread::sleep(Duration::from_millis(1500));
    let telemetry = sampler.stop();
    let lengths: Vec<usize> = telemetry.series.values().map(Vec::len).collect();
    // The sampling thread may be late on a busy machine, but all series are alike.
    assert!(
        lengths.windows(2).all(|pair| pair[0] == pair[1]) && lengths.iter().all(|length| *length <= 1),
        "{lengths:?}"
    );
    let shares: f64 = ["user", "system", "iowait", "irq", "steal", "idle"]
        .iter()
        .map(|kind| value(&telemetry, &format!("cpu_{kind}_share")))
        .sum();
    assert!((shares - 1.0).abs() < 1e-9);
}
