//! Results files from outside: every output that is asked for is written, and what is damaged is said to be.

use crate::guest::{as_ordinary_user, of_ordinary_user};
use crate::harness::{World, said, small_study};
use nix::mount::{MsFlags, mount, umount};
use rusqlite::Connection;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Two trials of nothing, which take as long as they must.
const STUDY: &str = r#"name = "s"
[storage]
device = "dir"
path = "HERE"
[workload.null]
time = "10ms"
[design]
rounds_min = 2
rounds_max = 2
control = false
probe = "0s"
"#;

fn measured() -> World {
    let world = World::new();
    world.write("s.toml", STUDY.replace("HERE", &world.path().to_string_lossy()));
    world.surefoot(&["run", "s.toml", "--quiet"]).status(0);
    world
}

#[test]
fn every_output_that_is_asked_for_is_written() {
    let world = measured();
    let files = ["--html", "a.html", "--pdf", "b.pdf", "--csv", "c.csv", "--parquet", "d.parquet"];
    let said = world.surefoot(&[&["report", "s.surefoot", "--json"], &files[..]].concat()).status(0);
    for file in ["a.html", "b.pdf", "c.csv", "d.parquet"] {
        let bytes = std::fs::metadata(world.path().join(file)).unwrap_or_else(|_| panic!("no {file}")).len();
        assert!(bytes > 500, "{file}: {bytes} bytes");
    }
    assert!(said.stdout.contains("\"analysis\""), "{}", said.stdout);
    let check = |arguments: &[&str], says: &str| {
        world.surefoot(&[&["report", "s.surefoot"], arguments].concat()).status(2).says(says).says("hint: ");
    };
    check(&["--json", "--markdown"], "`--json` and `--markdown` both write to standard output");
    check(&["--csv", "-", "--format", "bencher"], "`--csv` and `--format` both write to standard output");
    check(&["--html", "x", "--pdf", "x"], "`--pdf` and `--html` both write to x");
    let look = ["powercut", "s.toml", "--scenario", "x", "--replay", "y", "--rounds", "3"];
    world.surefoot(&look).status(2).says("`--rounds` has no effect");
    world.surefoot(&[&look[..6], &["--full"]].concat()).status(2).says("`--full` has no effect");
    world.surefoot(&["powercut", "s.toml", "--time", "30min"]).status(2).says("`--time` has no effect with `powercut`");
    // Standard output is the JSON alone.
    let json =
        |stdout: &str| serde_json::from_str::<serde_json::Value>(stdout).unwrap_or_else(|e| panic!("{e}: {stdout}"));
    json(&said.stdout);
    for verb in ["compare", "history"] {
        let both = world.surefoot(&[verb, "s.surefoot", "s.surefoot", "--html", "both.html", "--json"]).status(0);
        json(&both.stdout);
        std::fs::remove_file(world.path().join("both.html")).unwrap_or_else(|_| panic!("no page of {verb}"));
        world.surefoot(&[verb, "s.surefoot", "s.surefoot", "--html", "-", "--json"]).status(2).says("both write to");
    }
}

#[test]
fn who_lacks_the_program_for_pdfs_is_told_of_its_package() {
    let world = measured();
    // Beside this copy there is none.
    let mut command = std::process::Command::new(world.copy_of_surefoot());
    command.args(["report", "s.surefoot", "--pdf", "s.pdf"]).env("PATH", "/nowhere").current_dir(world.path());
    said(&command.output().expect("it starts")).status(5).says("hint: install the package surefoot-pdf, which");
    assert!(!world.path().join("s.pdf").exists());
}

/// What is no results file, or is one where something else is wanted.
#[test]
fn names_of_the_wrong_kind_are_told_apart() {
    let world = measured();
    let refuse = |words: &[&str], status: i32, says: &str| {
        world.surefoot(words).status(status).says(says).says("hint: ");
    };
    std::fs::create_dir(world.path().join("folder")).expect("made");
    for verb in ["report", "status", "history"] {
        let words = [verb, "folder"];
        let said = world.surefoot(&words);
        assert!(!said.stderr.contains("disk I/O"), "{verb}: {}", said.stderr);
    }
    refuse(&["report", "folder"], 2, "folder is a folder");
    refuse(&["run", "s.toml", "--results", "folder"], 2, "folder is a folder");
    refuse(&["report", "nowhere"], 2, "nowhere");
    world.surefoot(&["report", "s"]).status(0);
    world.surefoot(&["report", "s.toml"]).status(0);
    // Who looks into a pipe before it is written to waits for ever.
    world.surefoot(&["report", "s.surefoot", "--csv", "/dev/stdout"]).status(0);
    refuse(&["plan", "s.surefoot"], 2, "holds results");
    refuse(&["plan", "/dev/zero"], 2, "too long");
    // A page is never written over results, and where it can't be written nothing is measured first.
    refuse(&["run", "s.toml", "--html", "s.surefoot"], 2, "written over the results");
    refuse(&["run", "s.toml", "--results", "new.surefoot", "--html", "s.surefoot"], 2, "is a results file");
    refuse(&["run", "s.toml", "--results", "new.surefoot", "--html", "none/page.html"], 2, "its folder is not there");
    refuse(&["run", "s.toml", "--results", "new.surefoot", "--html", "-"], 2, "standard output has the answer");
    refuse(&["report", "s.surefoot", "--html", "none/page.html"], 2, "its folder is not there");
    assert!(!world.path().join("new.surefoot").exists());
    refuse(&["report", "s.surefoot", "--html", "x", "--csv", "./x"], 2, "both write to");
    // Another study, and the same asked for otherwise.
    refuse(&["run", "quick", "--results", "s.surefoot"], 2, "and not `quick`");
    refuse(&["run", "s.toml", "--set", "workload.null.time=20ms"], 2, "--set workload.null.time=20ms");
    // Nobody names it: it is left out, and the others are shown.
    world.write("a.surefoot", "");
    world.surefoot(&["status"]).status(0).says("s.surefoot: s");
    refuse(&["status", "--verify"], 2, "a.surefoot");
}

/// Words for people stood before the list, so that no program could read it.
#[test]
fn a_folder_without_results_has_an_empty_list() {
    let none = World::new().surefoot(&["status", "--json"]).status(0).says("no results files");
    assert_eq!(none.json(), serde_json::json!([]));
}

/// What follows a point is part of the name: another version's results are not shown, and its page is not written over.
#[test]
fn names_with_points_are_told_apart() {
    let world = measured();
    let study = STUDY.replace("HERE", &world.path().to_string_lossy()).replace("\"s\"", "\"s.1\"");
    world.write("s.1.toml", study);
    world.surefoot(&["run", "s.1.toml", "--quiet"]).status(0);
    for (named, study) in [("s", "s"), ("s.1", "s.1"), ("s.1.toml", "s.1"), ("s.1.surefoot", "s.1")] {
        let standing = world.surefoot(&["status", named, "--json"]).status(0).json();
        assert_eq!(standing[0]["study"], study, "{named}");
        let report = world.surefoot(&["report", named, "--json"]).status(0).json();
        assert_eq!(report["ledger"]["study"]["name"], study, "{named}");
    }
    world.surefoot(&["status", "s.2"]).status(2).says("no results file s.2.surefoot");
    for (results, page) in [("k.1", "k.1.html"), ("k.2", "k.2.html"), ("k.3.surefoot", "k.3.html")] {
        world.surefoot(&["run", "s.toml", "--quiet", "--results", results]).status(0);
        assert!(world.path().join(page).is_file(), "{page}");
    }
}

#[test]
fn clean_keeps_results_of_any_name_at_any_depth() {
    let world = measured();
    let run = |words: &[&str]| world.surefoot(&[&["run", "s.toml", "--quiet"], words].concat());
    run(&["--work", "w", "--results", "w/s.surefoot"]).status(2).says("lie in the work folder");
    run(&["--work", "w", "--results", "other.db"]).status(0);
    std::fs::create_dir_all(world.path().join("w/a/b")).expect("made");
    std::fs::rename(world.path().join("other.db"), world.path().join("w/a/b/other.db")).expect("moved");
    world.surefoot(&["clean", "--work", "w"]).status(4).says("w/a/b/other.db holds results that are nowhere else");
    std::fs::remove_file(world.path().join("w/a/b/other.db")).expect("removed");
    world.surefoot(&["clean", "--work", "w"]).status(0);
    world.surefoot(&["clean", "--work", "w"]).status(2).says("there is no folder w");
}

#[test]
fn damage_ends_every_verb_in_a_sentence_with_a_remedy() {
    let world = measured();
    world.surefoot(&["status", "s.surefoot", "--verify"]).status(0).says("whole: 2 trials and");
    let whole = std::fs::read(world.path().join("s.surefoot")).expect("readable");
    for (change, says) in [
        ("UPDATE run SET seconds = seconds + 1 WHERE id = 1", "is not what was written"),
        ("UPDATE trial SET round = 2147483647, crc = NULL", "says it is of round 2147483647"),
        ("ALTER TABLE run RENAME TO old; CREATE VIEW run AS SELECT * FROM old", "surefoot makes no view run"),
        ("UPDATE study SET json = CAST(x'7bff' AS TEXT), crc = NULL", "is not UTF-8"),
    ] {
        std::fs::write(world.path().join("s.surefoot"), &whole).expect("written");
        Connection::open(world.path().join("s.surefoot")).and_then(|file| file.execute_batch(change)).expect("changed");
        for verb in [
            &["report", "s.surefoot"][..],
            &["report", "s.surefoot", "--csv", "-"],
            &["report", "s.surefoot", "--json"],
            &["report", "s.surefoot", "--format", "openmetrics"],
            &["status", "s.surefoot"],
            &["status", "s.surefoot", "--verify"],
            &["history", "s.surefoot"],
            &["compare", "s.surefoot", "s.surefoot"],
            &["run", "s.toml", "--quiet"],
        ] {
            let said = world.surefoot(verb).status(2).says(says);
            assert!(said.stderr.contains("hint: "), "{verb:?}: {}", said.stderr);
        }
    }
}

/// A study's name, and a file's, may hold sequences that set the terminal's title, or worse.
#[test]
fn what_others_wrote_does_not_steer_the_terminal() {
    let world = measured();
    let change =
        "UPDATE study SET json = json_set(json, '$.name', 's' || char(27) || ']0;mine' || char(7)), crc = NULL";
    Connection::open(world.path().join("s.surefoot")).and_then(|file| file.execute_batch(change)).expect("changed");
    world.write("\u{1b}[2J.surefoot", "");
    for (words, status) in [
        (&["status"][..], 0),
        (&["status", "s.surefoot"], 0),
        (&["report", "s.surefoot"], 0),
        (&["history"], 0),
        (&["compare", "s.surefoot", "s.surefoot"], 0),
        (&["report", "\u{1b}[2J.surefoot"], 2),
        (&["run", "quick", "--results", "s.surefoot"], 2),
    ] {
        let said = world.surefoot(words).status(status);
        let steers = |text: &str| text.contains(['\u{1b}', '\u{7}']);
        assert!(!steers(&said.stdout) && !steers(&said.stderr), "{words:?}: {:?} {:?}", said.stdout, said.stderr);
    }
}

/// Names are bytes: `status --json` had ended in a panic while such a file was written, and nobody could read it afterwards.
#[test]
fn a_name_that_is_no_text_is_a_name() {
    let world = measured();
    let name = OsStr::from_bytes(b"caf\xe9.surefoot");
    std::fs::rename(world.path().join("s.surefoot"), world.path().join(name)).expect("renamed");
    let writer = ledger::Writer::create_or_open(&world.path().join(name)).expect("a ledger");
    let standing = world.surefoot(&["status", "--json"]).status(0).json();
    assert_eq!((&standing[0]["results"], &standing[0]["state"]), (&"./caf\u{fffd}.surefoot".into(), &"running".into()));
    drop(writer);
    let report = world.command(&["report", "--csv", "s.csv"]).arg(name).output().expect("it starts");
    said(&report).status(0);
}

/// A device has no end, and who looks into a pipe before it is written to waits for ever.
#[test]
fn what_is_no_file_is_no_study_to_be_read() {
    let world = measured();
    world.surefoot(&["status", "/dev/zero"]).status(2).says("no results file zero.surefoot");
    nix::unistd::mkfifo(&world.path().join("pipe.toml"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    world.surefoot(&["status", "pipe.toml"]).status(2).says("no results file pipe.surefoot");
}

/// In a folder where others write, root's page had gone over any file that somebody's link named.
#[test]
fn a_page_is_not_written_where_a_link_of_another_user_leads() {
    let world = measured();
    let (page, precious) = (world.path().join("s.html"), world.path().join("precious"));
    world.write("precious", "dear");
    std::fs::remove_file(&page).expect("the run wrote it");
    std::os::unix::fs::symlink(&precious, &page).expect("linked");
    std::os::unix::fs::lchown(&page, Some(65_534), None).expect("root may");
    let says = "s.html is a symbolic link of user 65534";
    world.surefoot(&["report", "s.surefoot", "--html", "s.html"]).status(2).says(says).says("name another file");
    world.surefoot(&["run", "s.toml", "--quiet"]).status(2).says(says);
    assert_eq!(std::fs::read(&precious).expect("there"), b"dear");
    // A pipe would be waited for once all is measured.
    let pipe = world.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    std::os::unix::fs::chown(&pipe, Some(65_534), None).expect("root may");
    let says = "pipe is a pipe of user 65534, and is not written to";
    world.surefoot(&["report", "s.surefoot", "--html", "pipe"]).status(2).says(says);
    // One's own is no trap.
    std::os::unix::fs::lchown(&page, Some(0), None).expect("root may");
    world.surefoot(&["report", "s.surefoot", "--html", "s.html"]).status(0);
    assert!(std::fs::read(&precious).expect("there").starts_with(b"<!DOCTYPE html>"));
}

/// A page goes beside the results by itself: what the user had by that name was gone.
#[test]
fn a_file_of_the_users_own_is_no_page_to_write_over() {
    let world = measured();
    world.surefoot(&["run", "s.toml", "--quiet"]).status(0);
    for own in ["my notes", "<!DOCTYPE html>\n<html lang=\"en\"><head><title>mine</title>"] {
        world.write("s.html", own);
        let refused = world.surefoot(&["run", "s.toml", "--quiet"]).status(2);
        refused.says("s.html is there, and is no page that surefoot made").says("--html FILE");
        assert_eq!(std::fs::read_to_string(world.path().join("s.html")).expect("there"), own);
    }
    // Who names it means it, and a full disk leaves nothing in it, or a part.
    world.surefoot(&["run", "s.toml", "--quiet", "--html", "s.html"]).status(0);
    for left in ["", "<!DOCTYPE html>\n<html la"] {
        world.write("s.html", left);
        world.surefoot(&["run", "s.toml", "--quiet"]).status(0);
    }
}

/// As a fleet's folder of results may be, beside what one machine measured.
#[test]
fn a_study_is_found_beside_a_folder_of_its_name() {
    let world = measured();
    std::fs::create_dir(world.path().join("s")).expect("a folder");
    world.surefoot(&["report", "s", "--json"]).status(0);
    world.surefoot(&["status", "s"]).status(0).says("s.surefoot: s");
    world.surefoot(&["report", &world.path().join("s").to_string_lossy()]).status(2).says("is a folder");
}

/// One that can't be removed had kept all that come after it.
#[test]
fn clean_goes_on_where_a_folder_can_not_be_removed() {
    let world = World::new();
    for name in ["a", "b"] {
        std::fs::create_dir_all(world.path().join("surefoot-work").join(name)).expect("a folder");
        world.write(&format!("surefoot-work/{name}/.surefoot-work"), "");
    }
    let busy = world.path().join("surefoot-work/a/busy");
    std::fs::create_dir(&busy).expect("a folder");
    mount(Some("tmpfs"), &busy, Some("tmpfs"), MsFlags::empty(), None::<&str>).expect("a tmpfs");
    let cleaned = world.surefoot(&["clean"]);
    umount(&busy).expect("nobody uses it");
    cleaned.status(1).says("cannot remove").says("removed surefoot-work/b");
    world.surefoot(&["clean"]).status(0).says("removed surefoot-work/a");
}

/// A filesystem of this many KiB for results; unmounted at the end.
struct Small(PathBuf);

impl Small {
    fn new(world: &World, kib: u32) -> Small {
        let folder = world.path().join("small");
        std::fs::create_dir(&folder).expect("a folder");
        let (tmpfs, size) = (Some("tmpfs"), format!("size={kib}k"));
        mount(tmpfs, &folder, tmpfs, MsFlags::empty(), Some(&*size)).expect("a tmpfs");
        Small(folder)
    }

    /// Leaves this many bytes free.
    fn fill(&self, free: u64) {
        let mut filler = std::fs::File::create(self.0.join("filler")).expect("a file");
        std::io::copy(&mut std::io::repeat(1), &mut filler).expect_err("it is full");
        let bytes = filler.metadata().expect("it is there").len();
        filler.set_len(bytes.saturating_sub(free)).expect("shorter");
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("filler")).expect("removed");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        umount(&self.0).expect("nobody uses it");
    }
}

#[test]
fn a_disk_without_room_for_results_ends_a_run_in_a_sentence_and_the_same_command_goes_on() {
    let world = World::new();
    world.write("s.toml", STUDY.replace("HERE", &world.path().to_string_lossy()));
    let small = Small::new(&world, 2048);
    let run = ["run", "s.toml", "--quiet", "--results", "small/s.surefoot"];
    // Without any room there is not even a file; with less and less, it fails later and later.
    for free_kib in [0, 4, 24, 48, 96, 128, 160, 192, 224] {
        small.fill(free_kib << 10);
        let said = world.surefoot(&run);
        if said.status == Some(0) {
            break;
        }
        let said = said.status(1).says("hint: ");
        assert!(said.stderr.contains("full") && !said.stderr.contains("panicked"), "{free_kib} KiB: {}", said.stderr);
        small.empty();
        if small.0.join("s.surefoot").exists() {
            // Whole, or made and without a study yet: never damaged.
            let found = world.surefoot(&["status", "small/s.surefoot", "--verify"]);
            let is_empty = found.stderr.contains("holds no study yet") && found.status == Some(2);
            assert!(is_empty || found.status == Some(0), "{free_kib} KiB: {} {}", found.stdout, found.stderr);
        }
    }
    if small.0.join("filler").exists() {
        small.empty();
    }
    world.surefoot(&run).status(0);
    world
        .surefoot(&["status", "small/s.surefoot", "--verify"])
        .status(0)
        .says("2 trials finished, 0 failed")
        .says("whole: ");
    drop(small);
    world.assert_nothing_left();
}

/// Both ways out that the hint names are open: no results file holds the study as it was asked for first.
#[test]
fn a_disk_without_room_for_image_files_begins_no_study() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let small = Small::new(&world, 4096);
    let run = |words: &[&str]| world.surefoot(&[&["run", "small.toml", "--quiet"], words].concat());
    for too_large in [&["--set", "storage.size=900TiB"][..], &["--work", "small/w"]] {
        run(too_large).status(5).says("for image files, and").says("--work DIR").says("storage.size");
        assert!(!world.path().join("small.surefoot").exists());
    }
    run(&["--set", "storage.size=60MiB"]).status(0);
    run(&["--work", "elsewhere", "--results", "other.surefoot"]).status(0);
    // The disk of a study that goes on is the one that it was begun on.
    run(&["--work", "small/w", "--results", "other.surefoot"]).status(5).says("make room there");
    drop(small);
    world.assert_nothing_left();
}

/// What was measured is not written over by what is made of it.
#[test]
fn a_results_file_is_no_place_to_write_to() {
    let world = World::new();
    let released = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/0.1.0.surefoot");
    for name in ["s.surefoot", "other.surefoot"] {
        std::fs::copy(&released, world.path().join(name)).expect("a copy");
    }
    let before = std::fs::read(world.path().join("s.surefoot")).expect("a results file");
    world.surefoot(&["report", "s.surefoot", "--csv", "s.surefoot"]).status(2).says("is not written over");
    world.surefoot(&["report", "s.surefoot", "--html", "other.surefoot"]).status(2).says("is not written over");
    world.surefoot(&["merge", "s.surefoot", "-o", "other.surefoot"]).status(2).says("is no fleet's answer");
    assert!(std::fs::read(world.path().join("s.surefoot")).expect("it is there") == before);
    world.surefoot(&["report", "s.surefoot", "--csv", "s.csv"]).status(0);
    world.surefoot(&["report", "s.surefoot", "--csv", "s.csv"]).status(0);
}

/// A log disk that is full, or a reader that has gone, costs the words and not the study.
#[test]
fn nobody_need_read_what_a_study_says() {
    let world = World::new();
    let home = world.path().join("home");
    std::fs::create_dir(&home).expect("a folder");
    world.write("s.toml", STUDY.replace("HERE", &home.to_string_lossy()));
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let status = world.command(&["run", "s.toml"]).stdout(full()).stderr(full()).status().expect("it starts");
    assert_eq!(status.code(), Some(0));
    world.surefoot(&["report", "s.surefoot"]).status(0);
    let member = ["run", "s.toml", "--member", "1/4", "--results", "fleet"];
    let status = world.command(&member).stdout(full()).stderr(full()).status().expect("it starts");
    assert_eq!(status.code(), Some(0), "its scheduler would start it again");
}

/// All was measured first, and then there was no page.
#[test]
fn a_page_that_its_user_may_not_write_is_refused_before_anything_is_measured() {
    let (world, binary) = of_ordinary_user();
    let run = as_ordinary_user(&world, &binary, &["run", "quick", "--html", "/etc/page.html"]);
    run.status(2).says("cannot write /etc/page.html").says("hint: name another file");
    assert!(!world.path().join("quick.surefoot").exists(), "nothing is begun");
}

/// It was a panic, or "cannot read the results".
#[test]
fn a_full_disk_below_what_is_printed_is_said_to_be_that() {
    let world = measured();
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let report: &[&str] = &["report", "s.surefoot"];
    let outputs: [&[&str]; 4] = [&[], &["--json"], &["--csv", "-"], &["--apply", "null"]];
    for words in outputs.iter().map(|output| [report, *output].concat()).chain([vec!["plan", "s.toml"]]) {
        let run = said(&world.command(&words).stdout(full()).output().expect("it starts"));
        let run = run.status(1).says("No space left on device").says("hint: make room on its disk");
        assert!(!run.stderr.contains("panicked") && !run.stderr.contains("cannot read"), "{words:?}: {}", run.stderr);
    }
    for format in ["--html", "--csv"] {
        let run = world.surefoot(&["report", "s.surefoot", format, "/dev/full"]).status(1);
        let run = run.says("error: cannot write /dev/full").says("hint: make room on its disk");
        assert!(!run.stderr.contains("cannot read"), "{format}: {}", run.stderr);
    }
}

/// An empty file stayed, and with room again `init` refused to write over it.
#[test]
fn init_leaves_no_empty_study_on_a_full_disk() {
    let world = World::new();
    let small = Small::new(&world, 2048);
    small.fill(0);
    world.surefoot(&["init", "small/mine"]).status(1).says("cannot write `small/mine.toml`").says("hint: make room");
    small.empty();
    world.surefoot(&["init", "small/mine"]).status(0);
}
