//! Every way a study file can be wrong: all errors at once, exit 2, nothing touched.

use crate::harness::{Said, World, on_block_device, small_study};

#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> Said {
    let world = World::new();
    world.write("bad.toml", text);
    let said = world.surefoot(&["run", "bad.toml"]).status(2);
    assert_eq!(world.path().read_dir().expect("the folder").count(), 1, "nothing is touched");
    said
}

#[test]
fn not_toml() {
    refused("name = \"x\nfactors").says("bad.toml:1");
}

#[test]
fn empty() {
    refused("").says("workload");
}

#[test]
fn not_utf8() {
    refused(b"name = \"\xff\xfe\"").says("not UTF-8");
}

#[test]
fn huge() {
    refused(vec![b'#'; 2 << 20]).says("at most 1MiB");
}

#[test]
fn unknown_keys_and_wrong_units_at_once() {
    let text = small_study(&["ext4", "xfs"], 1)
        .replace("size = \"320MiB\"", "sise = \"320MiB\"\nfill = \"half\"")
        .replace("time = \"300ms\"", "time = 300");
    let said = refused(text);
    for words in ["sise", "did you mean `size`", "fill", "time"] {
        assert!(said.stderr.contains(words), "no {words} in\n{}", said.stderr);
    }
    assert!(said.stderr.matches("error").count() >= 3, "all at once:\n{}", said.stderr);
}

#[test]
fn an_unknown_filesystem_has_a_nearest_name() {
    refused(small_study(&["ext4", "xsf"], 1)).says("did you mean `xfs`?");
}

#[test]
fn empty_factor() {
    refused(small_study(&[], 1)).says("storage.filesystem");
}

#[test]
fn a_billion_scenarios_are_counted_not_made() {
    let mut text = small_study(&["ext4"], 1).replace("[storage]", "@@[storage]");
    let levels: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let factors = ["threads", "range_size", "tables"]
        .map(|name| format!("\"workload.oltp.{name}\" = [{}]\n", levels.join(",")))
        .concat();
    text = text.replace("@@", &factors);
    refused(text).says("1,000,000,000");
}

#[test]
fn settings_on_the_command_line_are_checked_alike() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    world.surefoot(&["plan", "small.toml", "--set", "storage.sizes=1GiB"]).status(2).says("sizes");
    world.surefoot(&["plan", "small.toml", "--set", "storage.size=many"]).status(2).says("many");
    world.surefoot(&["plan", "small.toml", "--set", "nonsense"]).status(2).says("PATH=VALUE");
    world.surefoot(&["plan", "small.toml", "--only", "zfs"]).status(2).says("no scenario matches");
}

/// A file's size and path belong to its device. A size that is asked for as well has no effect, and is refused.
#[test]
fn another_device_needs_no_other_file() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let block = ["--set", "storage.device=block", "--set", "storage.path=/dev/nothing-of-that-name"];
    let size = ["--set", "storage.size=1GiB"];
    world.surefoot(&[&["plan", "small.toml"], &block[..]].concat()).status(0).says("refused:");
    for both in [[&block[..], &size[..]].concat(), [&size[..], &block[..]].concat()] {
        world.surefoot(&[&["plan", "small.toml"], &both[..]].concat()).status(2).says("has no effect here");
    }
    let path = "/dev/nothing-of-that-name";
    let text = on_block_device(&small_study(&["ext4"], 1), path, &format!("wipe = {path:?}"));
    world.write("block.toml", text);
    let plan = world.surefoot(&["plan", "block.toml", "--set", "storage.device=loop", "--json"]).status(0).json();
    let storage = &plan["scenarios"][0]["storage"];
    assert!(storage["device"] == "loop" && storage["path"].is_null() && storage["wipe"].is_null(), "{storage}");
}

#[test]
fn no_such_study() {
    let world = World::new();
    world.surefoot(&["plan", "quik"]).status(2).says("did you mean the built-in study `quick`?");
    // As `report` and `status` take it.
    world.write("mine.toml", small_study(&["ext4"], 1));
    world.surefoot(&["plan", "mine"]).status(2).says("did you mean the file `mine.toml`?");
}

#[test]
fn parity_may_be_required() {
    let world = World::new();
    let text = r#"name = "p"
question = "?"
parity = "require"
[factors.barriers]
on = { "storage.filesystem" = "ext4" }
off = { "storage.filesystem" = "ext4", "storage.preset" = "nobarrier" }
[storage]
size = "320MiB"
[workload.oltp]
table_size = 1000
time = "1s"
"#;
    world.write("p.toml", text);
    world.surefoot(&["run", "p.toml"]).status(2).says("durability");
    world.surefoot(&["plan", "p.toml", "--set", "parity=mark"]).status(0).says("may be corrupt");
}
