//! What a power cut takes, by real filesystems and real recoveries: rows of the acceptance table in docs/safety.md that are
//! quick; `make powercut` has them all.

use crate::harness::{Said, World, processes, wait_until};
use nix::sys::signal::{SigHandler, Signal, signal};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::time::SystemTime;

const SQLITE: &str =
    "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.oltp]\nengine = \"sqlite\"\n";
const POSTGRES: &str =
    "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.oltp]\nengine = \"postgres\"\n";

const GTM: &str =
    "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.three-n-plus-one]\nengine = \"gtm\"\n";

const FILES: &str = "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n";

/// In a guest kernel, which has filesystems that this machine's may lack.
const IN_GUEST: &str = "name = \"s\"\nquestion = \"?\"\nbench = \"guest\"\n[workload.oltp]\nengine = \"sqlite\"\n";

/// Measures a study's scenarios; what was found, by label.
fn measured(world: &World, text: &str) -> Vec<(String, Value)> {
    world.write("s.toml", text);
    world.surefoot(&["powercut", "s.toml"]).status(0);
    let json = world.report("s.surefoot");
    let all = json["ledger"]["safety"].as_array().expect("safety").clone();
    world.assert_nothing_left();
    all.into_iter().map(|one| (one["scenario"].as_str().expect("a label").to_string(), one)).collect()
}

/// The same with a larger budget where the one before was too small to tell: a busy machine looks at few images in it.
fn measured_until(budgets: &[&str], text: &str, can_tell: &dyn Fn(&Value) -> bool) -> Vec<(String, Value)> {
    let (budget, larger) = budgets.split_first().expect("one at least");
    let all = measured(&World::new(), &text.replace("[safety]\n", &format!("[safety]\nbudget = \"{budget}\"\n")));
    let is_told = larger.is_empty() || all.iter().all(|(_, one)| can_tell(&one["safety"]));
    if is_told { all } else { measured_until(larger, text, can_tell) }
}

/// All images that matter, or enough for several cuts at random, which are a quarter of them; a quiet machine looks at far more.
fn looked_at_many(safety: &Value) -> bool {
    safety["is_complete"] == true || number(safety, "images") > 25.0
}

#[track_caller]
fn found<'a>(all: &'a [(String, Value)], words: &[&str]) -> &'a Value {
    let is_it = |(label, _): &&(String, Value)| words.iter().all(|word| label.contains(word));
    let (_, one) = all.iter().find(is_it).unwrap_or_else(|| panic!("no {words:?} in {all:#?}"));
    assert!(one["safety"].is_object(), "{one:#}");
    &one["safety"]
}

#[track_caller]
fn number(safety: &Value, name: &str) -> f64 {
    safety[name].as_f64().unwrap_or_else(|| panic!("no {name} in {safety:#}"))
}

/// What random cuts lost on average; there were some, and none left a ruin.
#[track_caller]
fn expected_commits(safety: &Value) -> f64 {
    assert!(number(safety, "random_cuts") > 0.0 && number(safety, "random_cuts_bad") == 0.0, "{safety:#}");
    assert!(number(safety, "expected_lost_seconds") <= number(safety, "worst_lost_seconds"), "{safety:#}");
    number(safety, "expected_lost_commits")
}

/// The drive writes its cache out in its own order; what is expected of a cut follows from that.
#[test]
fn a_slow_disk_loses_on_average_what_its_cache_held() {
    let text = format!(
        "{SQLITE}journal_mode = \"wal\"\n[factors]\n\"workload.oltp.synchronous\" = [\"full\", \"normal\"]\n\
         [safety]\ntime = \"2s\"\nsize = \"64MiB\"\ndisk = \"sata-7200\"\n"
    );
    let all = measured_until(&["2s", "6s"], &text, &looked_at_many);
    let (full, normal) = (found(&all, &["full"]), found(&all, &["normal"]));
    assert_eq!((expected_commits(full), number(full, "worst_lost_commits")), (0.0, 0.0), "{full:#}");
    let expected = expected_commits(normal);
    assert!(expected > 0.0 && expected < number(normal, "worst_lost_commits"), "{normal:#}");
}

#[test]
fn sqlite_loses_what_its_pragmas_say() {
    let text = format!(
        "{SQLITE}[factors]\n\"workload.oltp.journal_mode\" = [\"delete\", \"wal\"]\n\
         \"workload.oltp.synchronous\" = [\"full\", \"extra\", \"normal\"]\n\
         [[exclude]]\n\"workload.oltp.journal_mode\" = \"wal\"\n\"workload.oltp.synchronous\" = \"extra\"\n\
         [[exclude]]\n\"workload.oltp.journal_mode\" = \"delete\"\n\"workload.oltp.synchronous\" = \"normal\"\n\
         [safety]\ntime = \"700ms\"\nsize = \"64MiB\"\n"
    );
    let all = measured_until(&["2s", "6s"], &text, &looked_at_many);
    for (words, lost_most) in [(["delete", "full"], 2.0), (["delete", "extra"], 0.0), (["wal", "full"], 0.0)] {
        let safety = found(&all, &words);
        assert!(number(safety, "acknowledged") > 0.0, "{safety:#}");
        assert!(number(safety, "images") > 0.0, "{safety:#}");
        assert!(number(safety, "worst_lost_commits") <= lost_most, "{words:?}: {safety:#}");
        for fault in ["unmountable", "damaged", "silent", "audited_new"] {
            assert_eq!(number(safety, fault), 0.0, "{words:?}: {safety:#}");
        }
        assert!(expected_commits(safety) <= lost_most, "{words:?}: {safety:#}");
        assert_eq!(safety["is_censored"], false, "{words:?}: {safety:#}");
    }
    let normal = found(&all, &["wal", "normal"]);
    assert!(number(normal, "worst_lost_commits") > 0.0, "{normal:#}");
    let expected = expected_commits(normal);
    assert!(expected > 0.0 && expected < number(normal, "worst_lost_commits"), "{normal:#}");
    assert_eq!(number(normal, "silent") + number(normal, "damaged"), 0.0, "{normal:#}");
    // Only checkpoints flush it, and the load has none in its second half.
    assert_eq!((&normal["is_censored"], &normal["by_settings"]), (&true.into(), &"loses_recent".into()), "{normal:#}");
    let notes = normal["notes"].as_array().expect("notes");
    let mut counted =
        notes.iter().filter_map(|note| note.as_str()?.strip_prefix("flushes that were for single writes"));
    // The folder is there where the kernel has a tracer. Each commit of ext4's journal is such a write.
    if Path::new("/sys/kernel/tracing").exists() {
        let flushes = counted.next().and_then(|note| note.rsplit(' ').next()?.parse::<u64>().ok());
        assert!(flushes.is_some_and(|flushes| flushes > 0), "{notes:#?}");
    }
}

/// What nobody flushes is written back by the kernel at any time: a recording of seconds must have that, or such settings look as
/// if they lost the last seconds and no more.
#[test]
fn what_is_never_flushed_is_found_damaged_by_default() {
    let is_damaged = |safety: &Value| safety["grade"] == "E" || safety["grade"] == "F";
    let never = "[factors]\n\"workload.oltp.journal_mode\" = [\"wal\", \"delete\"]\n[safety]\n";
    let sqlite = measured_until(&["4s", "40s"], &format!("{SQLITE}synchronous = \"off\"\n{never}"), &is_damaged);
    let settings = "settings = { fsync = \"off\", shared_buffers = \"16MB\", max_wal_size = \"32MB\" }\n";
    let server = format!("[service.postgres]\nwal_segment_size = \"1MiB\"\n{settings}");
    let postgres = measured_until(&["8s", "30s", "100s"], &format!("{POSTGRES}{server}[safety]\n"), &is_damaged);
    for (label, one) in sqlite.iter().chain(&postgres) {
        let safety = &one["safety"];
        assert!(is_damaged(safety), "{label}: {safety:#}");
        let notes = safety["notes"].as_array().expect("notes");
        let says = |note: &Value| note.as_str().is_some_and(|note| note.contains("written back without a flush"));
        assert!(notes.iter().any(says), "{label}: {notes:#?}");
    }
    let world = World::new();
    let hidden = format!(
        "{SQLITE}journal_mode = \"wal\"\nsynchronous = \"off\"\n[safety]\nbudget = \"2s\"\nwrite_back = false\n"
    );
    let hidden = measured(&world, &hidden);
    assert_eq!(hidden[0].1["safety"]["grade"], "C", "{hidden:#?}");
    let said = world.surefoot(&["report", "s.surefoot", "--markdown"]).status(0);
    assert!(said.stdout.contains("what was recorded did not contain it"), "{}", said.stdout);
    world.write("s.toml", format!("{SQLITE}[safety]\nload = \"files\"\nwrite_back = true\n"));
    world.surefoot(&["plan", "s.toml"]).status(2).says("`safety.write_back` has no effect with load = \"files\"");
}

#[test]
fn postgres_keeps_what_it_promises_and_loses_no_more_than_three_delays() {
    let text = format!(
        "{POSTGRES}[factors]\n\"service.postgres.settings.synchronous_commit\" = [\"on\", \"off\"]\n\
         [service.postgres]\nwal_segment_size = \"1MiB\"\n\
         settings = {{ wal_writer_delay = \"200ms\", shared_buffers = \"16MB\", max_wal_size = \"32MB\" }}\n\
         [safety]\ntime = \"1500ms\"\n"
    );
    let all = measured_until(&["6s", "60s"], &text, &|safety| number(safety, "images") > 15.0);
    let safe = found(&all, &["synchronous_commit=on"]);
    assert_eq!(safe["grade"], "A", "{safe:#}");
    assert!(number(safe, "acknowledged") > 0.0, "{safe:#}");
    let lazy = found(&all, &["synchronous_commit=off"]);
    assert_eq!(number(lazy, "damaged") + number(lazy, "silent") + number(lazy, "unmountable"), 0.0, "{lazy:#}");
    assert!(number(lazy, "worst_lost_commits") >= 1.0, "{lazy:#}");
    // Three times the delay, as its manual has it, and what a busy machine adds.
    assert!(number(lazy, "worst_lost_seconds") <= 3.0 * 0.2 + 0.5, "{lazy:#}");
}

/// Redis' manual, "Redis persistence": with `always` each write is flushed before it is acknowledged; with `everysec` "you may lose
/// 1 second of data", two where a flush takes longer.
#[test]
fn redis_keeps_what_its_append_only_file_promises() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.key-value]\n\
        [factors]\n\"service.redis.settings.appendfsync\" = [\"always\", \"everysec\"]\n\
        [service.redis.settings]\nappendonly = \"yes\"\nsave = \"\"\n[safety]\ntime = \"3s\"\nsize = \"64MiB\"\n";
    let all = measured_until(&["4s", "12s"], text, &|safety| number(safety, "images") > 8.0);
    let (always, everysec) = (found(&all, &["always"]), found(&all, &["everysec"]));
    assert!(number(always, "acknowledged") > 0.0 && number(always, "images") > 0.0, "{always:#}");
    assert_eq!(always["grade"], "A", "{always:#}");
    assert!(number(everysec, "worst_lost_commits") > 0.0, "{everysec:#}");
    assert!(number(everysec, "worst_lost_seconds") <= 2.0, "{everysec:#}");
    // With snapshots alone minutes are lost, which a recording of seconds can't show.
    for settings in ["", "[service.redis.settings]\nappendonly = \"no\"\n"] {
        let head = "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.key-value]\n";
        world.write("s.toml", format!("{head}{settings}[safety]\n"));
        let said = world.surefoot(&["plan", "s.toml"]).status(0);
        assert!(said.stdout.contains("loses all since its last snapshot"), "{}", said.stdout);
    }
}

/// etcd.io, "Tuning" and "Failure modes": each change is flushed in the log before it is acknowledged; its file of keys is written anew
/// meanwhile, and renamed.
#[test]
fn etcd_keeps_what_it_acknowledged() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.key-value]\nengine = \"etcd\"\n\
        [safety]\nbudget = \"8s\"\ntime = \"2s\"\nsize = \"256MiB\"\n";
    let all = measured(&world, text);
    let found = found(&all, &["key-value"]);
    assert!(number(found, "acknowledged") > 0.0 && number(found, "images") > 0.0, "{found:#}");
    assert_eq!(found["grade"], "A", "{found:#}");
}

#[test]
fn gtm_keeps_what_its_journal_has_and_loses_without_one() {
    let world = World::new();
    let text = format!(
        "{GTM}[factors]\n\"service.gtm.journal\" = [\"before\", \"none\"]\n\
         [safety]\nbudget = \"6s\"\ntime = \"700ms\"\nsize = \"64MiB\"\n"
    );
    let all = measured(&world, &text);
    let (journal, none) = (found(&all, &["before"]), found(&all, &["none"]));
    for safety in [journal, none] {
        assert!(number(safety, "acknowledged") > 0.0 && number(safety, "images") > 0.0, "{safety:#}");
    }
    assert_eq!(journal["grade"], "A", "{journal:#}");
    // A flush serves one commit of each of two processes at most.
    assert!(number(journal, "flushes") >= number(journal, "acknowledged") / 2.0, "{journal:#}");
    assert!(number(none, "worst_lost_commits") > 0.0, "{none:#}");
    world.write("s.toml", format!("{GTM}[service.gtm]\njournal = \"nobefore\"\n[safety]\n"));
    let said = world.surefoot(&["plan", "s.toml"]).status(0);
    assert!(said.stdout.contains("is rolled forward from a backup"), "{}", said.stdout);
}

#[test]
fn files_are_empty_where_nobody_flushed_them_and_whole_where_a_program_did() {
    let measured_by = |workload: &str, files: &str| {
        let world = World::new();
        let text = format!(
            "{FILES}mount = [\"noauto_da_alloc\"]\n[workload.{workload}]\n\
             [safety]\nload = \"files\"\n{files}budget = \"3s\"\ntime = \"700ms\"\nsize = \"64MiB\"\n"
        );
        let all = measured(&world, &text);
        let safety = all[0].1["safety"].clone();
        assert!(number(&safety, "acknowledged") > 0.0 && number(&safety, "images") > 0.0, "{safety:#}");
        safety
    };
    let empty = measured_by("tree", "files = \"rename\"\n");
    assert_eq!(empty["grade"], "F", "{empty:#}");
    let findings = empty["findings"].as_array().expect("findings");
    let says = |word: &str| findings.iter().any(|one| one["what"].as_str().is_some_and(|what| what.contains(word)));
    assert!(says("files of length zero") && !says("with zeros") && !says("mix versions"), "{findings:#?}");
    // A mail server's way is known.
    let whole = measured_by("maildir", "");
    assert_eq!(whole["grade"], "A", "{whole:#}");
    assert_eq!((&empty["promise"], &whole["promise"]), (&"may_corrupt".into(), &"keeps_acknowledged".into()));
    let world = World::new();
    let mail = |fsync: &str| format!("{FILES}[workload.maildir]\nfsync = \"{fsync}\"\n[safety]\nload = \"files\"\n");
    world.write("s.toml", mail("none"));
    world.surefoot(&["plan", "s.toml"]).status(0).says("no way of replacing files is the like");
    world.write("s.toml", mail("message") + "files = \"rename-fsync-directory\"\n");
    world.surefoot(&["plan", "s.toml"]).status(0).says("maildir does as `rename-fsync` does");
    // Files had kept all, beside a database that flushes nothing.
    world.write("s.toml", format!("{SQLITE}[safety]\nload = \"files\"\n"));
    let said = world.surefoot(&["plan", "s.toml"]).status(0);
    assert!(said.stdout.contains("files that are replaced say nothing of what sqlite keeps"), "{}", said.stdout);
    world.write("s.toml", format!("{FILES}[workload.tree]\n[safety]\n"));
    let said = world.surefoot(&["plan", "s.toml"]).status(0);
    assert!(said.stdout.contains("load = \"files\" measures files that are replaced"), "{}", said.stdout);
    world.write("s.toml", format!("{FILES}mount = [\"errors=panic\"]\n[workload.tree]\n[safety]\nload = \"files\"\n"));
    let said = world.surefoot(&["plan", "s.toml"]).status(0);
    assert!(said.stdout.contains("its options let damage end this machine"), "{}", said.stdout);
}

#[test]
fn a_disk_that_ignores_flushes_is_found_bad_and_its_state_can_be_looked_at() {
    let world = World::new();
    let text = format!("{SQLITE}[safety]\nbudget = \"4s\"\ntime = \"700ms\"\nsize = \"64MiB\"\ncache = \"lying\"\n");
    let all = measured(&world, &text);
    let [(label, one)] = &all[..] else { panic!("{all:#?}") };
    let safety = &one["safety"];
    assert!(["D", "E", "F"].contains(&safety["grade"].as_str().expect("a grade")), "{safety:#}");
    // The database keeps all, and its disk does not: that is no contradiction.
    assert_eq!(safety["by_settings"], "may_corrupt", "{safety:#}");
    let lacks = |finding: &Value| finding["lacks"].as_str().is_some_and(|lacks| lacks.contains(" byte "));
    let findings = safety["findings"].as_array().expect("findings");
    let mut with_units = findings.iter().filter(|finding| {
        finding["example"].as_str().is_some_and(|name| name.contains(":newest:") && name.contains('='))
    });
    assert!(with_units.all(lacks), "{findings:#?}");
    assert!(
        findings.iter().all(|finding| finding["checked"].as_str().is_some_and(|said| !said.is_empty())),
        "{findings:#?}"
    );
    let state = findings[0]["example"].as_str().expect("a state");
    world.surefoot(&["powercut", "s.toml", "--scenario", label]).status(2).says("--replay");
    let said: Said = world.surefoot(&["powercut", "s.toml", "--scenario", label, "--replay", state]);
    assert!(said.stdout.contains(label.as_str()), "{}\n{}", said.stdout, said.stderr);
    let looked_at = said.status;
    let export = |of: &str, file: &str| world.surefoot(&["powercut", "s.toml", "--scenario", of, "--export", file]);
    export(label, "s.surefoot").status(2).says("is a results file, and is not written over");
    let said = export(label, "log").status(0);
    assert!(said.stdout.contains("as dm-log-writes has them"), "{}", said.stdout);
    let log = std::fs::read(world.path().join("log")).expect("written");
    // The magic number of drivers/md/dm-log-writes.c.
    assert!(log.starts_with(&0x006a_7366_7773_6872_u64.to_le_bytes()) && log.len().is_multiple_of(512));
    // Where nobody reads on, it had died with its state mounted.
    let writer = std::io::pipe().expect("a pipe").1;
    let mut unread = world.command(&["powercut", "s.toml", "--scenario", label, "--replay", state]);
    assert_eq!(unread.stdout(writer).status().expect("it ends").code(), looked_at);
    export("another", "log").status(2).says("nothing is kept");
    world.assert_nothing_left();
    what_is_looked_at_goes_with_the_terminal_and_is_taken_away_after_a_kill(&world, label, state);
}

fn what_is_looked_at_goes_with_the_terminal_and_is_taken_away_after_a_kill(world: &World, label: &str, state: &str) {
    let (mut child, _input) = looked_at(world, label, state);
    let process = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(process, Signal::SIGHUP).expect("it lives");
    let status = child.wait().expect("it ends");
    assert!(matches!(status.code(), Some(0 | 3)), "{status}");
    world.assert_nothing_left();
    let (mut child, _input) = looked_at(world, label, state);
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    world.surefoot(&["clean", "--work", "surefoot-work/s"]).status(0).says("removed");
    world.assert_nothing_left();
}

/// Somebody looks at a state, until the input that comes with it ends.
fn looked_at(world: &World, label: &str, state: &str) -> (Child, ChildStdin) {
    let mut command = world.command(&["powercut", "s.toml", "--scenario", label, "--replay", state]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // Tests under nohup would have the signal ignored.
    // SAFETY: between fork and exec one system call is made.
    unsafe {
        command.pre_exec(|| {
            signal(Signal::SIGHUP, SigHandler::SigDfl)?;
            Ok(())
        });
    }
    let mut child = command.spawn().expect("surefoot starts");
    let mut said = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("Press Enter")), "{label}: {state}");
    let input = child.stdin.take().expect("piped");
    (child, input)
}

/// Images of one filesystem are copies of it: mounted side by side, a kernel may refuse one or take both for the same.
#[test]
fn copies_of_a_filesystem_do_not_harm_each_other() {
    let text = format!(
        "{SQLITE}journal_mode = \"wal\"\n[factors]\n\"storage.filesystem\" = [\"xfs\", \"btrfs\"]\n\
         [safety]\ntime = \"700ms\"\nsize = \"320MiB\"\n"
    );
    let all = measured_until(&["3s", "30s"], &text, &|safety| number(safety, "images") > 10.0);
    for filesystem in ["xfs", "btrfs"] {
        let safety = found(&all, &[filesystem]);
        assert!(number(safety, "images") > 10.0, "{safety:#}");
        for fault in ["worst_lost_commits", "unmountable", "damaged", "silent", "unsteady"] {
            assert_eq!(number(safety, fault), 0.0, "{safety:#}");
        }
    }
}

/// A drive's sector is less than a filesystem's block: what was one write may be torn.
#[test]
fn what_is_safe_is_safe_on_a_disk_that_writes_sectors() {
    let text = format!("{SQLITE}[safety]\ntime = \"700ms\"\nsize = \"64MiB\"\nunit = \"512\"\n");
    let all = measured_until(&["2s", "6s"], &text, &looked_at_many);
    let safety = found(&all, &[]);
    assert!(safety["disk"].as_str().is_some_and(|disk| disk.contains("512-byte units")), "{safety:#}");
    assert!(number(safety, "images") > 0.0, "{safety:#}");
    for fault in ["worst_lost_commits", "damaged", "silent", "audited_new"] {
        assert_eq!(number(safety, fault), 0.0, "{safety:#}");
    }
}

#[test]
fn a_log_without_room_fails_its_measurement_with_what_to_do_and_leaves_nothing() {
    for (log, reason) in [("900TiB", "give it less"), ("1MiB", "its limit of 1048576 bytes is reached")] {
        let world = World::new();
        world.write("s.toml", format!("{SQLITE}[safety]\ntime = \"700ms\"\nsize = \"64MiB\"\nlog = \"{log}\"\n"));
        world.surefoot(&["powercut", "s.toml"]).status(3).says(reason);
        world.assert_nothing_left();
        let json = world.report("s.surefoot");
        let measured = &json["ledger"]["safety"][0];
        assert!(measured["safety"].is_null() && measured["failure"].to_string().contains(reason), "{measured:#}");
    }
}

#[test]
fn in_a_guest_kernel_jfs_loses_acknowledged_commits_for_want_of_flushes_and_ext4_does_not() {
    let text = format!(
        "{IN_GUEST}[factors]\n\"storage.filesystem\" = [\"jfs\", \"ext4\"]\n\
         [safety]\nbudget = \"BUDGET\"\ntime = \"700ms\"\nsize = \"64MiB\"\n"
    );
    let mut world = World::new();
    let mut all = measured(&world, &text.replace("BUDGET", "10s"));
    // At the first of its moments the whole database may be missing, and a busy machine looks at no other.
    if number(found(&all, &["jfs"]), "points") < 2.0 {
        world = World::new();
        all = measured(&world, &text.replace("BUDGET", "60s"));
    }
    let (jfs, ext4) = (found(&all, &["jfs"]), found(&all, &["ext4"]));
    for safety in [jfs, ext4] {
        assert!(number(safety, "acknowledged") > 0.0, "{safety:#}");
    }
    assert_eq!(number(jfs, "flushes"), 0.0, "{jfs:#}");
    assert_eq!(ext4["grade"], "A", "{ext4:#}");
    assert!(number(ext4, "flushes") >= number(ext4, "acknowledged"), "{ext4:#}");
    assert!(number(ext4, "images") > 0.0, "{ext4:#}");
    // Not one of them had reached more than the disk's cache.
    let findings = jfs["findings"].as_array().expect("findings");
    let is_gone = |one: &Value| one["what"].as_str().is_some_and(|what| what.ends_with("the database's file is gone"));
    if number(jfs, "points") < 2.0 && findings.iter().any(is_gone) {
        // Nor had the file itself, and there was no time for another moment: none of them is left to be counted.
        return assert_eq!(jfs["grade"], "E", "{jfs:#}");
    }
    assert_eq!(jfs["worst_lost_commits"], jfs["acknowledged"], "{jfs:#}");
    // A state can be looked at outside, as that kernel sees it.
    let lost =
        |one: &&Value| one["what"].as_str().is_some_and(|what| what.starts_with("acknowledged commits are missing"));
    let state = findings.iter().find(lost).and_then(|one| one["example"].as_str()).expect("a state that lost commits");
    let (label, _) = all.iter().find(|(label, _)| label.contains("jfs")).expect("its label");
    let before = SystemTime::now();
    let replay = ["powercut", "s.toml", "--scenario", label, "--replay", state];
    let said = world.surefoot(&replay).status(0).says("It is a copy").says("fsck.jfs version").says("logredo");
    world.assert_nothing_left();
    let copy = copied(&said.stdout);
    let database = copy.join("data/oltp.sqlite");
    assert!(std::fs::read(&database).expect("copied").starts_with(b"SQLite format 3\0"));
    assert!(database.metadata().expect("there").modified().expect("a time") < before, "its time is the copy's");
    // Again, and nothing of the earlier copy stays.
    world.write(&copy.join("of-before").to_string_lossy(), "");
    world.surefoot(&replay).status(0);
    assert!(database.exists() && !copy.join("of-before").exists());
}

/// Where a state was copied to.
fn copied(said: &str) -> PathBuf {
    said.lines().next().and_then(|line| line.split_once("power came back: ")).expect("it is said").1.into()
}

/// Without barriers and checksums a recovery finds metadata that don't fit each other, and was told to panic then. In a guest that
/// is nobody else's end. Without write-back it dies of the mount; with it, of what the database does after that, which looking at the
/// state does not do again.
#[test]
fn a_recovery_that_kills_the_guests_kernel_is_a_finding_whose_state_is_kept() {
    let world = World::new();
    let text = format!(
        "{IN_GUEST}[storage]\nfilesystem = \"ext4\"\nmkfs = [\"-O\", \"^metadata_csum\", \"-T\", \"small\"]\n\
         mount = [\"nobarrier\", \"errors=panic\"]\n[safety]\nbudget = \"30s\"\ntime = \"700ms\"\nsize = \"64MiB\"\nwrite_back = false\n"
    );
    let all = measured(&world, &text);
    let safety = found(&all, &[]);
    assert!(["E", "F"].contains(&safety["grade"].as_str().expect("a grade")), "{safety:#}");
    assert!(number(safety, "unmountable") >= 1.0 && safety["is_complete"] == false, "{safety:#}");
    // What is known without a search is there, too.
    for words in ["the search ended with that kernel", "the guest's clock is known to", "not asked for a single flush"]
    {
        assert!(safety["notes"].to_string().contains(words), "{words}: {safety:#}");
    }
    assert!(number(safety, "seconds") > 0.0, "{safety:#}");
    let died = |one: &&Value| one["what"].as_str().is_some_and(|what| what.starts_with("the kernel itself dies"));
    let findings = safety["findings"].as_array().expect("findings");
    let finding = findings.iter().find(died).unwrap_or_else(|| panic!("{safety:#}"));
    assert!(finding["what"].as_str().is_some_and(|what| what.ends_with("panic forced after error")), "{finding}");
    let page = std::fs::read_to_string(world.path().join("s.html")).expect("a report");
    for words in ["the kernel itself dies of the recovery", "the search ended with that kernel"] {
        assert!(page.contains(words), "the report does not say: {words}");
    }
    // It dies of it again, and the disk's log is there for other tools.
    let (label, state) = (&all[0].0, finding["example"].as_str().expect("a state"));
    let said = world.surefoot(&["powercut", "s.toml", "--scenario", label, "--replay", state]).status(3);
    said.says("did not come up: the guest kernel panicked: EXT4-fs").says("EXT4-fs error");
    let said = world.surefoot(&["powercut", "s.toml", "--scenario", label, "--export", "log"]).status(0);
    said.says("as dm-log-writes has them");
    world.assert_nothing_left();
}

#[test]
fn the_disks_death_fails_its_measurement_and_leaves_nothing() {
    let world = World::new();
    world.write("s.toml", format!("{SQLITE}[safety]\nbudget = \"60s\"\ntime = \"20s\"\nsize = \"64MiB\"\n"));
    let mut child = world.start(&["powercut", "s.toml", "--quiet"]);
    let mut disk = None;
    wait_until("the disk is served", || {
        disk = disk_of(world.path());
        disk.is_some()
            && world.path().join("surefoot-work/s/powercut/commits").metadata().is_ok_and(|file| file.len() > 0)
    });
    let pid = nix::unistd::Pid::from_raw(disk.expect("found"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("it lives");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    world.assert_nothing_left();
    let json = world.report("s.surefoot");
    assert!(json["ledger"]["safety"][0]["failure"].is_object(), "{:#}", json["ledger"]["safety"]);
}

/// The process that serves the disk of a test's study.
pub fn disk_of(folder: &Path) -> Option<i32> {
    let here = folder.to_string_lossy().into_owned();
    let is_it = |line: &str| line.split(' ').nth(1) == Some("disk") && line.contains(&here);
    processes().into_iter().find(|(_, line)| is_it(line)).map(|(process, _)| process)
}

/// LMDB maps its file, and a page of a damaged image that can't be read ends whoever reads it: that is a finding, and no end of the search.
#[test]
fn a_database_that_ends_who_reads_it_is_found_damaged() {
    let world = World::new();
    let text = "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.key-value]\nengine = \"lmdb\"\nsync = \"commit\"\n\
                [safety]\nbudget = \"4s\"\ntime = \"2s\"\nsize = \"64MiB\"\ncache = \"lying\"\n";
    let all = measured(&world, text);
    let safety = found(&all, &[]);
    assert!(["E", "F"].contains(&safety["grade"].as_str().expect("a grade")), "{safety:#}");
    assert!(number(safety, "damaged") > 0.0, "{safety:#}");
}
