//! Made-up classes of block devices, and those of this machine.

use super::*;
use proptest::prelude::*;

#[test]
fn a_real_text_is_read() {
    let text = "   69741    32502  7675834    26930  1026370    26922 22565916    69646        0    46532   112292   131872       26 18419512     6079   303639     9636\n";
    let counters = Counters::parse(text).expect("it is one");
    assert_eq!((counters.reads, counters.read_bytes), (69_741, 7_675_834 * 512));
    assert_eq!((counters.writes, counters.write_bytes), (1_026_370, 22_565_916 * 512));
    assert_eq!(counters.busy_milliseconds, 46_532);
    assert_eq!(counters.request_milliseconds, Some(26_930 + 69_646 + 6079 + 9636));
    assert_eq!(counters.discards, Some((131_872, 18_419_512 * 512)));
    assert_eq!((counters.flushes, counters.flush_milliseconds), (Some(303_639), Some(9636)));
}

#[test]
fn an_old_kernel_counts_no_discards_and_flushes() {
    let counters = Counters::parse("1 0 8 0 2 0 16 0 0 5 5").expect("eleven fields are enough");
    assert_eq!((counters.discards, counters.flushes, counters.request_milliseconds), (None, None, None));
    assert_eq!(Counters::parse("1 2 3"), None);
    assert_eq!(Counters::parse("1 0 8 0 2 0 16 0 0 x 5"), None);
}

/// A class of block devices: name, fields of `stat` (reads, writes, busy, flushes, their time), devices below.
fn class_of(devices: &[(&str, [u64; 5], &[&str])]) -> tempfile::TempDir {
    let class = tempfile::tempdir().expect("a folder");
    let make = |path: PathBuf| std::fs::create_dir_all(path).expect("made");
    for (name, [reads, writes, busy, flushes, time], below) in devices {
        let folder = class.path().join(name);
        make(folder.join("holders"));
        let stat = format!("{reads} 0 8 0 {writes} 0 16 0 0 {busy} 0 0 0 0 0 {flushes} {time}");
        std::fs::write(folder.join("stat"), stat).expect("written");
        make(folder.join(if below.is_empty() { "mq" } else { "dm" }));
        for disk in *below {
            make(folder.join("slaves").join(disk));
            make(class.path().join(disk).join("holders").join(name));
        }
    }
    class
}

#[test]
fn a_stripe_counts_what_its_disks_got() {
    let devices: [(&str, [u64; 5], &[&str]); 3] = [
        ("ubda", [1, 10, 100, 3, 7], &[]),
        ("ubdb", [2, 20, 200, 3, 8], &[]),
        ("dm-0", [3, 25, 900, 0, 0], &["ubda", "ubdb"]),
    ];
    let class = class_of(&devices);
    let counters = Counters::read_in(class.path(), "dm-0").expect("there");
    assert_eq!((counters.reads, counters.writes, counters.write_bytes), (3, 30, 32 * 512));
    assert_eq!((counters.flushes, counters.flush_milliseconds), (Some(6), Some(15)));
    assert_eq!((counters.busy_milliseconds, counters.discards), (150, Some((0, 0))));
    assert_eq!(counters.request_milliseconds, Some(7), "as busy, a disk's mean");
}

#[test]
fn a_slowed_disk_is_as_busy_as_it_looks_from_above() {
    let devices: [(&str, [u64; 5], &[&str]); 5] = [
        ("ubda", [1, 10, 100, 3, 7], &[]),
        ("ubdb", [2, 20, 200, 3, 8], &[]),
        ("dm-0", [1, 13, 700, 0, 0], &["ubda"]),
        ("dm-1", [2, 23, 900, 0, 0], &["ubdb"]),
        ("dm-2", [3, 25, 1000, 0, 0], &["dm-0", "dm-1"]),
    ];
    let class = class_of(&devices);
    let read = |device| Counters::read_in(class.path(), device).expect("there");
    let (disk, stripe) = (read("dm-0"), read("dm-2"));
    assert_eq!((disk.writes, disk.flushes, disk.flush_milliseconds, disk.busy_milliseconds), (10, Some(3), None, 700));
    assert_eq!((stripe.writes, stripe.flushes, stripe.flush_milliseconds), (30, Some(6), None));
    assert_eq!(stripe.busy_milliseconds, 800);
    assert_eq!(disk.request_milliseconds, Some(0), "its own, and not the 7 of the disk below");
}

/// mdraid and persistent memory: each had 0 flushes for its commits, and the latter "does not flush".
#[test]
fn a_device_without_a_queue_of_requests_counts_no_flushes() {
    let devices: [(&str, [u64; 5], &[&str]); 2] =
        [("md0", [1, 10, 100, 0, 0], &[]), ("dm-0", [1, 10, 100, 0, 0], &["md0"])];
    let class = class_of(&devices);
    let flushes = || ["md0", "dm-0"].map(|name| Counters::read_in(class.path(), name).expect("there").flushes);
    assert_eq!(flushes(), [Some(0), Some(0)]);
    std::fs::remove_dir(class.path().join("md0/mq")).expect("removed");
    assert_eq!(flushes(), [None, None]);
}

/// Two controllers of one drive: before Linux 6.2 the drive itself "rested" with 0 of everything, and from then on flushes were reads.
#[test]
fn the_paths_of_an_nvme_drive_count_for_it() {
    let devices: [(&str, [u64; 5], &[&str]); 6] = [
        ("nvme0n1", [0; 5], &[]),
        ("nvme0c0n1", [1, 10, 400, 3, 7], &[]),
        ("nvme0c1n1", [2, 20, 500, 4, 8], &[]),
        ("nvme0c0n11", [90; 5], &[]),
        ("nvme10c0n1", [90; 5], &[]),
        ("nvme0n1p1", [0; 5], &[]),
    ];
    let class = class_of(&devices);
    for whole in ["nvme0n1", "nvme0n1p1"] {
        std::fs::remove_dir(class.path().join(whole).join("mq")).expect("removed");
    }
    std::fs::write(class.path().join("nvme0n1p1/partition"), "1").expect("written");
    let read = |device| Counters::read_in(class.path(), device);
    let drive = read("nvme0n1").expect("there");
    assert_eq!((drive.reads, drive.writes, drive.write_bytes), (3, 30, 32 * 512));
    assert_eq!((drive.flushes, drive.flush_milliseconds, drive.busy_milliseconds), (Some(7), Some(15), 900));
    assert_eq!(drive.request_milliseconds, Some(15));
    assert_eq!(read("nvme0n1p1"), None, "nobody counts a partition's");
    std::fs::write(class.path().join("nvme0n1/stat"), "10 0 8 0 30 0 32 0 0 600 0 0 0 0 0 0 0").expect("written");
    let drive = read("nvme0n1").expect("there");
    assert_eq!((drive.reads, drive.busy_milliseconds), (3, 600), "the later kernel's own");
}

/// Four paths to one disk, of which one works at a time: the mean of the four was a quarter of it.
#[test]
fn the_mappers_multipath_counts_by_itself() {
    let devices: [(&str, [u64; 5], &[&str]); 3] =
        [("sda", [1, 10, 900, 3, 7], &[]), ("sdb", [0; 5], &[]), ("dm-0", [1, 11, 905, 3, 8], &["sda", "sdb"])];
    let class = class_of(&devices);
    let busy = || Counters::read_in(class.path(), "dm-0").expect("there").busy_milliseconds;
    assert_eq!(busy(), 450, "a stripe");
    std::fs::create_dir(class.path().join("dm-0/mq")).expect("made");
    let disk = Counters::read_in(class.path(), "dm-0").expect("there");
    assert_eq!((busy(), disk.writes, disk.flushes), (905, 11, Some(3)));
}

/// A RAM disk, of which the kernel counts nothing.
#[test]
fn a_layer_over_what_counts_nothing_counts_by_itself() {
    let devices: [(&str, [u64; 5], &[&str]); 2] = [("ram0", [0; 5], &[]), ("dm-0", [1, 10, 100, 0, 0], &["ram0"])];
    let class = class_of(&devices);
    std::fs::remove_dir(class.path().join("ram0/mq")).expect("removed");
    let layer = Counters::read_in(class.path(), "dm-0").expect("there");
    assert_eq!((layer.reads, layer.writes, layer.busy_milliseconds, layer.flushes), (1, 10, 100, None));
}

#[test]
fn a_mirror_was_asked_for_less_than_its_disks_got() {
    let devices: [(&str, [u64; 5], &[&str]); 3] = [
        ("sda", [1, 10, 100, 3, 7], &[]),
        ("sdb", [1, 10, 100, 3, 7], &[]),
        ("dm-0", [2, 10, 100, 0, 0], &["sda", "sdb"]),
    ];
    let class = class_of(&devices);
    let asked = Counters::own_in(class.path(), "dm-0").expect("there");
    let got = Counters::read_in(class.path(), "dm-0").expect("there");
    assert_eq!((asked.writes, asked.flushes, got.writes, got.flushes), (10, None, 20, Some(6)));
}

/// A disk whose `iostats` an administrator had switched off "rested", so that its load waited for "locks".
#[test]
fn a_device_that_nobody_counts_does_not_rest() {
    let devices: [(&str, [u64; 5], &[&str]); 2] =
        [("sda", [1, 10, 100, 3, 7], &[]), ("dm-0", [1, 10, 100, 0, 0], &["sda"])];
    let class = class_of(&devices);
    let queue = class.path().join("sda/queue");
    std::fs::create_dir(&queue).expect("made");
    let read = |iostats: &str| {
        std::fs::write(queue.join("iostats"), iostats).expect("written");
        ["sda", "dm-0"].map(|device| Counters::read_in(class.path(), device).map(|counters| counters.flushes))
    };
    assert_eq!(read("1\n"), [Some(Some(3)), Some(Some(3))]);
    assert_eq!(read("0\n"), [None, Some(None)], "the layer counts by itself, but no flushes");
    let part = class.path().join("sda/sda1");
    std::fs::create_dir(&part).expect("made");
    for (file, text) in [("partition", "1"), ("stat", "1 0 8 0 2 0 16 0 0 5 5")] {
        std::fs::write(part.join(file), text).expect("written");
    }
    std::os::unix::fs::symlink(&part, class.path().join("sda1")).expect("linked");
    assert_eq!(Counters::read_in(class.path(), "sda1"), None, "as its disk");
}

/// That its disk takes no discards was nowhere: `discard = true` on a partition was called in effect.
#[test]
fn a_partition_has_its_disks_queue() {
    let class = tempfile::tempdir().expect("a folder");
    let part = class.path().join("devices/sda/sda1");
    std::fs::create_dir_all(class.path().join("devices/sda/queue"))
        .and_then(|()| std::fs::create_dir(&part))
        .expect("made");
    for (file, text) in
        [("queue/discard_max_bytes", "0\n"), ("size", "80\n"), ("sda1/partition", "1\n"), ("sda1/size", "8\n")]
    {
        std::fs::write(class.path().join("devices/sda").join(file), text).expect("written");
    }
    for (name, folder) in [("sda", "devices/sda"), ("sda1", "devices/sda/sda1")] {
        std::os::unix::fs::symlink(class.path().join(folder), class.path().join(name)).expect("linked");
    }
    let found = |device: &str, name: &str| attribute_in(class.path(), device, name);
    for device in ["sda", "sda1"] {
        assert_eq!(found(device, "queue/discard_max_bytes").as_deref(), Some("0"), "{device}");
    }
    assert_eq!((found("sda1", "size").as_deref(), found("sda", "partition")), (Some("8"), None));
}

#[test]
fn what_requests_took_is_not_known_of_a_partition() {
    let devices: [(&str, [u64; 5], &[&str]); 1] = [("sda1", [1, 10, 100, 0, 0], &[])];
    let class = class_of(&devices);
    let read = || Counters::read_in(class.path(), "sda1").expect("there").request_milliseconds;
    assert_eq!(read(), Some(0));
    std::fs::write(class.path().join("sda1/partition"), "1").expect("written");
    assert_eq!(read(), None);
}

#[test]
fn a_disk_with_other_users_is_not_counted_as_ours() {
    let devices: [(&str, [u64; 5], &[&str]); 3] =
        [("sda", [1, 10, 100, 3, 7], &[]), ("dm-0", [5, 6, 70, 0, 0], &["sda"]), ("dm-1", [8, 9, 100, 0, 0], &["sda"])];
    let class = class_of(&devices);
    let counters = Counters::read_in(class.path(), "dm-0").expect("there");
    assert_eq!((counters.reads, counters.writes, counters.flushes), (5, 6, None));
}

#[test]
fn memory_has_no_disk_under_it_and_an_unknown_device_no_name() {
    assert_eq!(disk_under(Path::new("/proc")), None);
    assert_eq!(device_name("no-such-device"), None);
    assert_eq!(Counters::read("no-such-device"), None);
}

/// Of this machine's devices; that there is none without a cache or no partition is no failure.
#[test]
fn flushes_are_counted_where_the_kernel_counts_them_only() {
    for entry in std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten() {
        let (name, folder) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let cache = std::fs::read_to_string(folder.join("queue/write_cache")).unwrap_or_default();
        let Some(counters) = Counters::read(&name) else { continue };
        let has_paths = !nvme_paths(Path::new(CLASS), &name).is_empty();
        let has_requests = folder.join("mq").is_dir() || folder.join("dm").is_dir() || has_paths;
        if folder.join("partition").exists() || cache.trim() == "write through" || !has_requests {
            assert_eq!(counters.flushes, None, "{name}");
        }
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in "[ 0-9]{0,120}\\PC{0,10}") {
        let _ = Counters::parse(&text);
    }
}
