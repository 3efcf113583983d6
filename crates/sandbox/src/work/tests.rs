//! What is trusted of a work folder, and who owns it.

use super::*;

fn holder() -> Holder {
    Holder::this_process(Some(Path::new("a.surefoot")))
}

#[test]
fn a_folder_has_one_owner_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("work");
    let first = Work::own(&path, &holder()).expect("free");
    let error = Work::own(&path, &holder()).expect_err("in use").to_string();
    assert!(error.contains(&format!("process {}", std::process::id())) && error.contains("a.surefoot"), "{error}");
    Work::open(&path).expect("its trials may work in it");
    drop(first);
    // The note of who was last is no obstacle.
    Work::own(&path, &holder()).expect("free again");
}

/// Of two runs that began at once, one once ended with "File exists".
#[test]
fn who_makes_a_folder_at_the_same_moment_shares_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for turn in 0..100 {
        let path = folder.path().join(turn.to_string());
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let open = || {
                barrier.wait();
                Work::open(&path).map(drop).expect("it is ours, whoever was first");
            };
            for _ in 0..4 {
                scope.spawn(open);
            }
        });
    }
}

/// It had been said to be in use by another process.
#[test]
fn who_can_get_no_lock_is_not_told_of_another_owner() {
    let folder = tempfile::tempdir().expect("a folder");
    // What is opened as a path alone takes no lock.
    let path = File::options().read(true).custom_flags(libc::O_PATH).open(folder.path()).expect("there");
    lock::try_lock(&path).expect_err("none is to be had");
    let (one, other) = (File::open(folder.path()).expect("there"), File::open(folder.path()).expect("there"));
    assert!(lock::try_lock(&one).expect("it has locks"));
    assert!(!lock::try_lock(&other).expect("it has locks"));
}

/// Any user of the machine could hold it, and keep runs off in the name of one that had ended.
#[test]
fn nobody_else_can_open_the_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    let lock = folder.path().join(lock::FILE);
    for _ in 0..2 {
        drop(Work::own(folder.path(), &holder()).expect("free"));
        assert_eq!(lock.metadata().expect("there").mode() & 0o7777, 0o600);
        // As an earlier surefoot left it.
        std::fs::set_permissions(&lock, Permissions::from_mode(0o644)).expect("ours");
    }
}

#[test]
fn a_folder_that_was_removed_or_replaced_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("work");
    let work = Work::own(&path, &holder()).expect("free");
    work.still_there().expect("it is");
    std::fs::rename(&path, folder.path().join("moved")).expect("moved");
    assert!(matches!(work.still_there(), Err(Error::Gone(_))));
    let other = Work::own(&path, &holder()).expect("another folder of this name");
    assert!(matches!(work.still_there(), Err(Error::Gone(_))));
    other.still_there().expect("it is");
}

/// Something that can't be removed: a mount for root, a folder without rights for others.
#[test]
fn a_folder_that_could_not_be_removed_is_still_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("work");
    let work = Work::own(&path, &holder()).expect("free");
    let kept = work.cache();
    std::fs::write(kept.join("file"), "").expect("ours");
    let is_root = nix::unistd::geteuid().is_root();
    if is_root {
        isolation::lay_tmpfs(&kept, "size=1m").expect("root may mount");
    } else {
        std::fs::set_permissions(&kept, Permissions::from_mode(0o555)).expect("ours");
    }
    work.remove().expect_err("something is in the way");
    assert!(Work::is_ours(&path));
    if is_root {
        isolation::detach(&kept).expect("it is mounted");
    } else {
        std::fs::set_permissions(&kept, Permissions::from_mode(0o755)).expect("ours");
    }
    Work::own(&path, &holder()).expect("free again").remove().expect("nothing is in the way");
    assert!(!path.exists());
}

#[test]
fn what_was_left_mounted_in_a_folder_goes_when_it_is_taken() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root mounts");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("work");
    let work = Work::own(&path, &holder()).expect("free");
    std::fs::create_dir(work.disk()).expect("ours");
    for point in [work.disk(), work.mount_point(), work.mount_point()] {
        isolation::lay_tmpfs(&point, "size=1m").expect("root may mount");
        std::fs::write(point.join("left"), "").expect("room");
    }
    let points = [work.disk(), work.mount_point()];
    drop(work);
    let work = Work::own(&path, &holder()).expect("free");
    assert!(points.iter().all(|point| !point.join("left").exists()), "something is still mounted");
    work.remove().expect("nothing is in the way");
}

#[test]
fn what_others_can_write_to_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("work");
    let mode = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
    // An empty one is protected first.
    std::fs::create_dir(&path).expect("made");
    mode(&path, 0o777);
    Work::open(&path).expect("ours from now on");
    assert_eq!(path.metadata().expect("there").mode() & 0o777, 0o755);
    mode(&path, 0o775);
    let error = Work::open(&path).expect_err("others could have filled it").to_string();
    assert!(error.contains("may be written to by others (mode 775)"), "{error}");
    mode(&path, 0o755);
    mode(&path.join(MARKER), 0o666);
    Work::open(&path).expect_err("so is the marker");
    mode(&path.join(MARKER), 0o644);
    std::fs::hard_link(path.join(MARKER), folder.path().join("other name")).expect("linked");
    Work::open(&path).expect_err("two names");
    std::fs::remove_file(folder.path().join("other name")).expect("removed");
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12_345), None).expect("root may");
        let error = Work::open(&path).expect_err("another's").to_string();
        assert!(error.contains("belongs to user 12345"), "{error}");
    }
}

#[test]
fn a_log_that_leads_elsewhere_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let work = Work::open(&folder.path().join("work")).expect("made");
    let precious = folder.path().join("precious");
    std::fs::write(&precious, "dear").expect("written");
    let links: [fn(&Path, &Path) -> io::Result<()>; 2] =
        [|from, to| std::os::unix::fs::symlink(from, to), |from, to| std::fs::hard_link(from, to)];
    for link in links {
        link(&precious, &work.trial_log()).expect("linked");
        assert!(matches!(work.new_trial_log(Duration::ZERO), Err(Error::NotPrivate { .. })));
        std::fs::remove_file(work.trial_log()).expect("removed");
    }
    assert_eq!(std::fs::read(&precious).expect("there"), b"dear");
    let log = work.new_trial_log(Duration::ZERO).expect("a file of ours");
    assert!(matches!(work.new_trial_log(Duration::ZERO), Err(Error::Orphans(_))), "somebody has it");
    // Whoever was killed while the disk still writes has it for as long as that takes: the study had ended after 5 s.
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(log);
        });
        work.new_trial_log(Duration::from_secs(60)).expect("it was waited for");
    });
}
