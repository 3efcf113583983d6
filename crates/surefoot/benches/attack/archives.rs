//! Archives that want out: nothing of the host is touched by them, whatever the workload makes of what it unpacks.

use crate::stage::{Stage, hash};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// Name, kind, and content or target.
type Entry = (&'static str, EntryType, &'static str);

const FILE: EntryType = EntryType::Regular;
const SOFT: EntryType = EntryType::Symlink;
const HARD: EntryType = EntryType::Link;
const FOLDER: EntryType = EntryType::Directory;

/// `VICTIM` is a folder of the host's.
const ARCHIVES: &[(&str, &[Entry])] = &[
    ("a link below a link", &[("a", FILE, "x"), ("x", SOFT, "VICTIM"), ("x/evil", SOFT, "/etc/passwd")]),
    ("folders below a link", &[("a", FILE, "x"), ("x", SOFT, "VICTIM"), ("x/new/sub/evil", SOFT, "/etc/shadow")]),
    ("a file below a link", &[("x", SOFT, "VICTIM"), ("x/evil", FILE, "evil")]),
    ("a folder below a link", &[("a", FILE, "x"), ("x", SOFT, "VICTIM"), ("x/evil/", FOLDER, "")]),
    ("a file over a link", &[("x", SOFT, "VICTIM/letter"), ("x", FILE, "evil")]),
    (
        "a hard link through a link",
        &[("a", FILE, "x"), ("x", SOFT, "VICTIM"), ("evil", HARD, "x/letter"), ("evil", FILE, "evil")],
    ),
    ("a hard link to outside", &[("evil", HARD, "VICTIM/letter"), ("evil", FILE, "evil")]),
    ("a name with ..", &[("a", FILE, "x"), ("../../../../../../../../VICTIM/evil", FILE, "evil")]),
    ("a name with .. inside", &[("a/b", FILE, "x"), ("a/../../../evil", FILE, "evil")]),
    ("a name from the root", &[("a", FILE, "x"), ("/VICTIM/evil", FILE, "evil")]),
    ("a link to the root, and through it", &[("r", SOFT, "/"), ("r/VICTIM/evil", FILE, "evil")]),
    ("links in a circle", &[("a", SOFT, "b"), ("b", SOFT, "a"), ("a/c", FILE, "x")]),
    (
        "links by steps",
        &[
            ("a", FILE, "x"),
            ("s1", SOFT, ".."),
            ("s2", SOFT, "s1/.."),
            ("s3", SOFT, "s2/../../../../../../VICTIM"),
            ("s3/evil", SOFT, "x"),
        ],
    ),
    ("a device", &[("a", FILE, "x"), ("disk", EntryType::Block, "")]),
    ("a pipe", &[("a", FILE, "x"), ("pipe", EntryType::Fifo, "")]),
    ("a folder where a file was", &[("a", FILE, "x"), ("a/b", FILE, "y")]),
    ("nothing", &[]),
];

/// Tries them in a loop device and, without one, in a folder of the host.
pub fn attack(stage: &mut Stage) {
    let victim = stage.path("victim");
    std::fs::create_dir_all(&victim).expect("room");
    std::fs::write(victim.join("letter"), "dear").expect("room");
    let chosen = stage.count(2, ARCHIVES.len());
    for (name, entries) in &ARCHIVES[..chosen] {
        for device in if stage.is_test { &["loop"][..] } else { &["loop", "dir"] } {
            let archive = write(&stage.path("evil.tar"), entries, &victim);
            unpacked(stage, name, device, archive, &victim);
        }
    }
    if !stage.is_test {
        no_archives(stage, &victim);
    }
}

/// Bytes that are none, or lie about their lengths.
fn no_archives(stage: &mut Stage, victim: &Path) {
    let whole = write(&stage.path("evil.tar"), &[("a", FILE, "x"), ("b", FILE, "y")], victim);
    for number in 0..12 {
        let mut bytes =
            fuzz::changed(&mut stage.random, std::slice::from_ref(&whole), &["\u{7fff}", "77777777777"], 8192);
        if number == 0 {
            // A size of 8 EiB, in base 256.
            bytes = whole.clone();
            bytes[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        }
        unpacked(stage, "a damaged archive", "loop", bytes, victim);
    }
}

fn unpacked(stage: &mut Stage, name: &str, device: &str, archive: Vec<u8>, victim: &Path) {
    stage.tried();
    let path = stage.world.write("evil.tar", archive);
    let storage = match device {
        "loop" => "[storage]\ndevice = \"loop\"\nsize = \"64MiB\"\nfilesystem = \"ext4\"\n",
        _ => "[storage]\ndevice = \"dir\"\n",
    };
    let study = format!(
        "name = \"evil\"\nquestion = \"?\"\n{storage}[workload.tree]\narchive = {path:?}\n[design]\nrounds_min = 1\nrounds_max = 1\n\
         warm_up_runs = 0\nruns = 1\ncontrol = false\n"
    );
    stage.world.write("evil.toml", study);
    let _ = std::fs::remove_file(stage.path("evil.surefoot"));
    let before = snapshot(stage.world.path());
    let outside = snapshot(victim);
    stage.surefoot(&["run", "evil.toml", "--quiet"]);
    stage.holds(snapshot(victim) == outside, || format!("{name} ({device}): the host's folder was changed"));
    // The work folder and the results are surefoot's to make.
    let ours =
        |path: &String| ["/surefoot-work", "/evil.surefoot", "/evil.html"].iter().any(|part| path.contains(part));
    let after = snapshot(stage.world.path());
    let new = after.iter().find(|(path, state)| !ours(path) && before.get(*path) != Some(*state));
    stage.holds(new.is_none(), || format!("{name} ({device}): the host has now {new:?}"));
}

/// What lies below a folder: mode, owner, size and content of each.
fn snapshot(folder: &Path) -> BTreeMap<String, (u32, u32, u64, u64)> {
    let mut found = BTreeMap::new();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(metadata) = path.symlink_metadata() else { continue };
        let is_small_file = metadata.is_file() && metadata.len() < 1 << 20;
        let content = if is_small_file { hash(&path) } else { 0 };
        let state = (
            metadata.permissions().mode(),
            metadata.uid(),
            if metadata.is_file() { metadata.len() } else { 0 },
            content,
        );
        found.insert(path.to_string_lossy().into_owned(), state);
        if metadata.is_dir() {
            found.extend(snapshot(&path));
        }
    }
    found
}

fn write(path: &Path, entries: &[Entry], victim: &Path) -> Vec<u8> {
    let victim = victim.to_string_lossy().into_owned();
    let mut builder = Builder::new(File::create(path).expect("room"));
    for (name, kind, content) in entries {
        let (name, content) = (name.replace("VICTIM", &victim), content.replace("VICTIM", &victim));
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o755);
        // The crate would refuse such names.
        header.as_gnu_mut().expect("made so").name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(if *kind == FILE { content.len() as u64 } else { 0 });
        if [SOFT, HARD].contains(kind) {
            header.as_gnu_mut().expect("made so").linkname[..content.len()].copy_from_slice(content.as_bytes());
        }
        header.set_cksum();
        builder.append(&header, if *kind == FILE { content.as_bytes() } else { &[] }).expect("room");
    }
    builder.finish().expect("room");
    drop(builder);
    std::fs::read(path).expect("it was just made")
}
