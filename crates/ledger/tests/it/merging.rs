//! A fleet's files as one: which start is taken, what is refused, and that order and repetition of merging change nothing.

mod damaged;

use crate::fixture::{SCENARIOS, SPEED, new_file, run, safety, scenarios, study};
use ledger::model::{
    Contents, Host, LimitRecord, MeasuredFaults, MeasuredSafety, Member, Place, Probe, StudyRecord, TrialState,
};
use ledger::{MergeError, Reader, Writer, export, merge, read_merged};
use observe::durability::{Class, Durability};
use observe::faults::{Consequence, Example, FaultsFound};
use observe::metric::{Direction, Metric};
use observe::safety::{Grade, Safety};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const ROUNDS: u32 = 3;

fn member(number: u32, attempt: u32, host: &str) -> Member {
    let host = Host { name: host.into(), id: String::new() };
    Member { number, of: 4, attempt, rounds: ROUNDS, host, known_by: "the test".into(), others: Vec::new() }
}

/// What one case on a failing disk came to.
fn failing_disk(end: Consequence) -> MeasuredFaults {
    let mut found: FaultsFound = serde_json::from_value(serde_json::json!({
        "writes": 9, "flushes": 3, "reads": 0, "possible": 48, "cases": 1, "not_struck": 0, "drawn": 1, "is_complete": false,
        "honest": 8, "honest_bad": 0, "rows": [], "notes": [], "seconds": 1.0,
    }))
    .expect("as a trial says it");
    let (words, client, server, kernel) = (String::new(), Vec::new(), Vec::new(), Vec::new());
    found.add(["full", "WAL", "restart"], end, || Example { case: "full@1".into(), words, client, server, kernel });
    let (scenario, asked) = (SCENARIOS[0].into(), serde_json::Value::Null);
    MeasuredFaults { scenario, ended: 5.0, asked, faults: Some(found), failure: None, member: None }
}

/// A start that measured so many rounds, and ended by itself or not.
fn started(path: &Path, study: &StudyRecord, member: &Member, rounds: u32, is_ended: bool) {
    started_at(f64::from(member.number), path, study, member, rounds, is_ended);
}

fn started_at(now: f64, path: &Path, study: &StudyRecord, member: &Member, rounds: u32, is_ended: bool) {
    let mut writer = Writer::create_or_open(path).expect("a new ledger");
    writer.set_study(study, &scenarios(), Some(member)).expect("written");
    let name = member.host.name.clone();
    writer.begin_session(&BTreeMap::from([("kernel".into(), name.clone())]), now).expect("written");
    for round in 0..rounds {
        for (position, scenario) in (0..).zip(SCENARIOS) {
            let seed = u64::from(member.number * 100 + round);
            let id = writer.begin_trial(scenario, Place::main(round, position), seed, 2.0).expect("written");
            writer.step(id, "mkfs", 0.5).expect("written");
            let mut measured = run(1, f64::from(member.number * 1000 + member.attempt * 100 + round));
            // Each member meets its metrics in another order, so that their numbers differ from file to file.
            let own = Metric::named(format!("of_{}", member.number % 3), "1".into(), Direction::Neither).at(1.0);
            measured.metrics.insert(usize::from(member.number.is_multiple_of(2)) * 2, own);
            writer.run(id, &measured).expect("written");
            writer.finish_trials(&[(id, TrialState::Finished, None)], 3.0).expect("written");
        }
    }
    if is_ended {
        writer.end_session("all rounds are done", 9.0).expect("written");
    }
}

/// Eight starts of four members; one of a member has fewer rounds than another, and one is not finished.
struct Pool {
    _folder: tempfile::TempDir,
    files: Vec<PathBuf>,
}

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let starts = [
        (1, 1, "n1", 3, true),
        (1, 2, "n2", 3, true),
        (2, 1, "n2", 1, false),
        (2, 2, "n3", 3, true),
        (3, 1, "n3", 2, false),
        (3, 2, "n1", 1, false),
        (4, 1, "n1", 0, false),
        (2, 3, "n1", 2, true),
    ];
    let files = starts.map(|(number, attempt, host, rounds, is_ended)| {
        let path = folder.path().join(format!("{number}-{attempt}.surefoot"));
        let study = StudyRecord { created: f64::from(number * 10 + attempt), ..study() };
        started(&path, &study, &member(number, attempt, host), rounds, is_ended);
        path
    });
    Pool { files: files.to_vec(), _folder: folder }
});

fn json(path: &Path) -> String {
    let mut out = Vec::new();
    export::json(&Reader::open(path).expect("it opens"), &mut out).expect("exported");
    String::from_utf8(out).expect("text")
}

fn contents(path: &Path) -> Contents {
    Reader::open(path).and_then(|reader| reader.contents()).expect("readable")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// (A + B) + C = A + (B + C) = C + A + B + A, file by file.
    #[test]
    fn merging_is_associative_commutative_and_idempotent(
        groups in prop::collection::vec(prop::collection::vec(0_usize..8, 1..5), 2..4), is_nested in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        let all: Vec<PathBuf> = groups.concat().into_iter().map(|start| POOL.files[start].clone()).collect();
        let at_once = file("at-once");
        merge(&all, &at_once).expect("one fleet");
        let parts: Vec<PathBuf> = groups.iter().enumerate().map(|(part, starts)| {
            let part = file(&format!("part-{part}"));
            let starts: Vec<PathBuf> = starts.iter().rev().map(|start| POOL.files[*start].clone()).collect();
            merge(&starts, &part).expect("one fleet");
            part
        }).collect();
        let stepwise = file("stepwise");
        if is_nested {
            let mut last = parts[0].clone();
            for (step, part) in parts.iter().enumerate().skip(1) {
                let next = file(&format!("step-{step}"));
                merge(&[part.clone(), last], &next).expect("one fleet");
                last = next;
            }
            merge(&[last.clone(), last, parts[0].clone()], &stepwise).expect("one fleet");
        } else {
            merge(&parts, &stepwise).expect("one fleet");
        }
        prop_assert_eq!(json(&at_once), json(&stepwise));
        // What is shown of a fleet that is under way is what it would be merged to.
        let (shown, _) = read_merged(&all, &|_, _| vec![SPEED.name.to_string()]).expect("one fleet");
        let merged = Reader::open(&at_once).and_then(|reader| reader.contents_with(&[&SPEED.name])).expect("readable");
        prop_assert_eq!(format!("{shown:#?}"), format!("{merged:#?}"));
        Reader::open(&stepwise).and_then(|reader| reader.verify()).expect("whole, by every checksum");
    }
}

/// A fleet that was measured twice on the same hosts, into two folders.
#[test]
fn two_first_starts_on_one_host_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let start = |name: &str, now: f64, rounds: u32| {
        started_at(now, &file(name), &study(), &member(1, 1, "n1"), rounds, true);
        file(name)
    };
    let (monday, tuesday) = (start("monday", 1.0, 3), start("tuesday", 2.0, 3));
    let merged = merge(&[monday.clone(), tuesday.clone()], &file("a")).expect("one fleet");
    assert_eq!(merged.members[0].others.len(), 1, "{:?}", merged.members);
    merge(&[tuesday, monday], &file("b")).expect("one fleet");
    assert_eq!(json(&file("a")), json(&file("b")));
}

#[test]
fn of_several_starts_the_finished_one_counts_or_the_one_that_got_further() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("fleet.surefoot");
    let merged = merge(&POOL.files, &target).expect("one fleet");
    let chosen: Vec<(u32, u32)> = merged.members.iter().map(|member| (member.number, member.attempt)).collect();
    assert_eq!(chosen, [(1, 1), (2, 2), (3, 1), (4, 1)]);
    let others: Vec<(u32, u32)> = merged.members[1].others.iter().map(|other| (other.attempt, other.trials)).collect();
    assert_eq!(others, [(1, 2), (3, 4)]);
    let found = contents(&target);
    assert_eq!(found.members, merged.members);
    assert_eq!(found.study.created, 11.0, "the study is the first member's");
    let trials = |number: u32| found.trials.iter().filter(|trial| trial.member == Some(number)).count();
    assert_eq!([1, 2, 3, 4].map(trials), [6, 6, 4, 0]);
    // Rounds count on from member to member, and every figure is the one that its member measured.
    let rounds = found.values(&SPEED.name);
    assert_eq!(rounds.len(), 8);
    for (round, expected) in [(0, 1100.0), (2, 1102.0), (3, 2200.0), (7, 3101.0)] {
        assert!((rounds[round][0].expect("measured") - expected).abs() < 1e-9, "{round}: {rounds:?}");
    }
    assert_eq!(found.sessions.len(), 4);
    assert_eq!(found.metrics.len(), 5);
    // Trial by trial it is what stood in the file of its start.
    let of_two = contents(&POOL.files[3]);
    let names = |contents: &Contents, number: u32| -> Vec<String> {
        let ids: Vec<i64> =
            contents.trials.iter().filter(|trial| trial.member == Some(number)).map(|trial| trial.id).collect();
        let runs = contents.runs.iter().filter(|run| ids.contains(&run.trial));
        runs.map(|run| format!("{:?} {:?}", run.metrics, run.started)).collect()
    };
    assert_eq!(names(&found, 2), names(&of_two, 2));
    assert!(found.trials.iter().all(|trial| trial.steps == [("mkfs".to_string(), 0.5)]));
}

/// A node without room for images, or on which every trial fails, ends its start by itself.
#[test]
fn a_start_that_ended_early_takes_no_rounds_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    started(&file("killed"), &study(), &member(1, 1, "n1"), 2, false);
    for rounds in [0, 1] {
        let ended = file(&format!("ended-{rounds}"));
        started(&ended, &study(), &member(1, 2, "n2"), rounds, true);
        let merged = merge(&[file("killed"), ended], &file("fleet")).expect("one fleet");
        assert_eq!((merged.members[0].attempt, merged.members[0].others.len()), (1, 1), "{rounds}");
    }
}

/// A scenario is given up after two failures, and a fleet's member may have no more rounds than that.
#[test]
fn a_start_whose_trials_all_failed_takes_no_rounds_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let failed = folder.path().join("failed");
    let mut writer = Writer::create_or_open(&failed).expect("a new ledger");
    writer.set_study(&study(), &scenarios(), Some(&member(1, 1, "n1"))).expect("written");
    writer.begin_session(&BTreeMap::new(), 1.0).expect("written");
    for round in 0..ROUNDS {
        for (position, scenario) in (0..).zip(SCENARIOS) {
            let id = writer.begin_trial(scenario, Place::main(round, position), 1, 2.0).expect("written");
            writer.finish_trials(&[(id, TrialState::Failed, None)], 3.0).expect("written");
        }
    }
    writer.end_session("all rounds are done", 9.0).expect("written");
    drop(writer);
    for (rounds, is_ended) in [(ROUNDS, true), (1, false)] {
        let measured = folder.path().join(format!("measured-{rounds}"));
        started(&measured, &study(), &member(1, 2, "n2"), rounds, is_ended);
        let merged = merge(&[failed.clone(), measured], &folder.path().join("fleet")).expect("one fleet");
        assert_eq!((merged.members[0].attempt, merged.members[0].others.len()), (2, 1), "{rounds}");
    }
}

/// A scheduler that wants its node back ends the first start amid its power cuts, and the second comes to its end elsewhere.
#[test]
fn of_starts_with_all_rounds_the_one_that_ended_counts_or_the_one_that_knows_more_of_power_cuts() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = |attempt: u32, reason: Option<&str>, cuts: &[MeasuredSafety]| {
        let path = folder.path().join(attempt.to_string());
        started(&path, &study(), &member(1, attempt, &format!("n{attempt}")), ROUNDS, false);
        let mut writer = Writer::create_or_open(&path).expect("it opens");
        writer.begin_session(&BTreeMap::new(), 5.0).expect("written");
        cuts.iter().for_each(|one| writer.safety(one).expect("written"));
        reason.iter().for_each(|reason| writer.end_session(reason, 9.0).expect("written"));
        path
    };
    let (one, both) = ([safety(SCENARIOS[0])], SCENARIOS.map(safety));
    let without = [safety(SCENARIOS[0]), MeasuredSafety { safety: None, ..safety(SCENARIOS[1]) }];
    let (done, interrupted) = (Some("all rounds are done"), Some(ledger::reasons::INTERRUPTED_BEHIND_ROUNDS));
    let starts =
        [(interrupted, &both[..]), (done, &without[..]), (done, &both[..]), (None, &one[..]), (None, &both[..])];
    let files: Vec<PathBuf> = (1..).zip(starts).map(|(attempt, (reason, cuts))| start(attempt, reason, cuts)).collect();
    for (among, chosen) in [(0..2, 2), (1..3, 3), (3..5, 5), (0..5, 3)] {
        let merged = merge(&files[among.clone()], &folder.path().join("fleet")).expect("one fleet");
        assert_eq!(merged.members[0].attempt, chosen, "{among:?}");
    }
}

#[test]
fn what_is_not_of_the_fleet_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let refused = |name: &str, study: StudyRecord, words: &str| {
        let path = file(name);
        started(&path, &study, &member(4, 9, "n9"), 1, true);
        let error = merge(&[POOL.files[0].clone(), path], &file("none")).expect_err("another fleet");
        assert!(matches!(error, MergeError::Other { .. }) && error.to_string().contains(words), "{error}");
        assert!(!file("none").exists() && error.hint().is_some());
    };
    refused("study", StudyRecord { name: "web".into(), ..study() }, "the study was `mail`, here `web`");
    refused(
        "hash",
        StudyRecord { hash: "1111".into(), ..study() },
        "the hash of the study's settings was 0af3, here 1111",
    );
    refused("version", StudyRecord { surefoot_version: "9.9.9".into(), ..study() }, "version was 0.0.0, here 9.9.9");
    refused("seed", StudyRecord { seed: 3, ..study() }, "the seed was");
    let mut by_turns = study();
    by_turns.analysis.order = ledger::model::Order::Turns;
    refused("order", by_turns, "how a round goes (`design.order`) was blocks, here turns");
    drop(crate::fixture::begun(&file("alone")));
    let alone = merge(&[file("alone")], &file("none")).expect_err("no member");
    assert!(matches!(alone, MergeError::NoMember { .. }), "{alone}");
    let nothing = merge(&[], &file("none")).expect_err("nothing");
    assert!(matches!(nothing, MergeError::Nothing(None)), "{nothing}");
}

/// A start on a node that is gone can't be told of others, and no figure hangs on them.
#[test]
fn limits_and_classes_are_those_of_the_start_that_sat_down_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let (title, source) = (String::new(), String::new());
    let (workload, metric) = ("oltp".to_string(), SPEED.name.to_string());
    let limits = vec![LimitRecord { title, workload, metric, value: 20.0, is_least: false, source }];
    let mut now = StudyRecord { limits, text: "another".into(), ..study() };
    now.analysis.safety_classes = Some(vec![Grade::A, Grade::B]);
    started_at(1.0, &file("gone"), &study(), &member(1, 1, "n1"), ROUNDS, true);
    started_at(2.0, &file("begun"), &now, &member(1, 2, "n2"), 1, false);
    for files in [["gone", "begun"], ["begun", "gone"]] {
        let files = files.map(file);
        merge(&files, &file("fleet")).expect("one fleet");
        // The figures of a limit that no other file has are there for who looks at it.
        let limited = |limits: &[LimitRecord]| limits.iter().map(|limit| limit.metric.clone()).collect::<Vec<String>>();
        let (shown, _) = read_merged(&files, &|study, _| limited(&study.limits)).expect("one fleet");
        assert!(shown.runs.iter().all(|run| run.metrics.contains_key(&*SPEED.name)));
        for found in [contents(&file("fleet")), shown] {
            let (asked, classes) = (&found.study, &found.study.analysis.safety_classes);
            assert_eq!(found.members[0].attempt, 1, "the finished one counts");
            assert_eq!((&asked.limits, &asked.text, classes), (&now.limits, &now.text, &now.analysis.safety_classes));
        }
    }
    // The start that asked last is in the merged file by what it asked alone.
    started_at(1.5, &file("other"), &study(), &member(2, 1, "n3"), ROUNDS, true);
    merge(&["gone", "begun", "other"].map(file), &file("at once")).expect("one fleet");
    merge(&["other", "fleet"].map(file), &file("stepwise")).expect("one fleet");
    assert_eq!(contents(&file("stepwise")).study.limits, now.limits);
    assert_eq!(json(&file("stepwise")), json(&file("at once")));
}

/// Who changed a limit by `--set` has the text of the others.
#[test]
fn of_two_that_began_at_one_moment_the_order_of_files_decides_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    for (number, name) in (1..).zip(["a", "b"]) {
        let asked = StudyRecord { overrides: vec![format!("limit.p99.at_most={number}ms")], ..study() };
        started_at(1.0, &file(name), &asked, &member(number, 1, name), ROUNDS, true);
    }
    let overrides = |files: [&str; 2]| {
        merge(&files.map(file), &file("fleet")).expect("one fleet");
        contents(&file("fleet")).study.overrides
    };
    assert_eq!(overrides(["a", "b"]), overrides(["b", "a"]));
}

/// A log to replay that lies on each node's own disk, and is an older one on one of them: its hosts would speak of another load.
#[test]
fn members_that_read_other_files_are_no_fleet() {
    let merged = |held: [&str; 2]| {
        let folder = tempfile::tempdir().expect("a folder");
        let files: Vec<PathBuf> = (1..)
            .zip(held)
            .map(|(number, held)| {
                let path = folder.path().join(number.to_string());
                started(&path, &study(), &member(number, 1, &format!("n{number}")), 1, false);
                let mut writer = Writer::create_or_open(&path).expect("it opens");
                let input = observe::machine::input(Path::new("/srv/requests.log"));
                writer.begin_session(&BTreeMap::from([(input, held.to_string())]), 9.0).expect("written");
                path
            })
            .collect();
        merge(&files, &folder.path().join("fleet")).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(merged(["7 bytes, SHA-256 00", "7 bytes, SHA-256 00"]), Ok(()));
    let refused = merged(["7 bytes, SHA-256 00", "7 bytes, SHA-256 01"]).expect_err("another log");
    assert!(
        refused.contains("the file /srv/requests.log was 7 bytes, SHA-256 00, here 7 bytes, SHA-256 01"),
        "{refused}"
    );
    // Of what is too large to be read as a whole, copies have times of their own.
    assert_eq!(merged(["2147483648 bytes, changed at 1.0", "2147483648 bytes, changed at 2.0"]), Ok(()));
    assert!(merged(["2147483648 bytes, changed at 1.0", "2147483649 bytes, changed at 1.0"]).is_err());
}

#[test]
fn a_search_for_faults_that_failed_makes_no_loss_undone() {
    let mut all = contents(&POOL.files[0]);
    let failed = || MeasuredFaults { faults: None, ..failing_disk(Consequence::Told) };
    let mut worst = |measured: Vec<MeasuredFaults>| {
        all.faults = measured;
        all.faults_of(&all.scenarios[0]).and_then(|counts| counts.faults.as_ref()?.worst())
    };
    assert_eq!(worst(vec![failing_disk(Consequence::Lost), failed()]), Some(Consequence::Lost));
    assert_eq!(worst(vec![failing_disk(Consequence::Told), failed()]), None);
    // A guest's kernel died before the case that had lost something.
    let ended_early = |end: Consequence| {
        let mut measured = failing_disk(end);
        measured.faults.as_mut().expect("found").ended_early = true;
        measured
    };
    assert_eq!(worst(vec![failing_disk(Consequence::Lost), ended_early(Consequence::Hang)]), Some(Consequence::Lost));
    assert_eq!(worst(vec![failing_disk(Consequence::Told), ended_early(Consequence::Hang)]), Some(Consequence::Hang));
    assert_eq!(worst(vec![failing_disk(Consequence::Lost), failing_disk(Consequence::Told)]), Some(Consequence::Told));
}

#[test]
fn a_member_has_its_own_probes_power_cuts_and_failing_disks_and_a_fleet_the_worst() {
    let folder = tempfile::tempdir().expect("a folder");
    let grades = [Grade::A, Grade::E, Grade::A];
    let ends = [Consequence::Told, Consequence::Lost, Consequence::Nothing];
    let files: Vec<PathBuf> = (1..)
        .zip(grades)
        .zip(ends)
        .map(|((number, grade), end)| {
            let path = folder.path().join(number.to_string());
            started(&path, &study(), &member(number, 1, &format!("n{number}")), 1, false);
            let mut writer = Writer::create_or_open(&path).expect("it opens");
            writer.begin_session(&BTreeMap::new(), f64::from(number)).expect("written");
            let figures = [("flushes_per_second".into(), f64::from(number))].into();
            writer.probe(&Probe { scenarios: Vec::new(), figures, failure: None, member: None }).expect("written");
            let mut measured = safety(SCENARIOS[0]);
            measured.safety.as_mut().expect("measured").grade = grade;
            writer.safety(&measured).expect("written");
            writer.faults(&failing_disk(end)).expect("written");
            if number == 1 {
                let safe = safety(SCENARIOS[1]).safety.map(|safety| Safety { grade: Grade::A, ..safety });
                writer.safety(&MeasuredSafety { safety: safe, ..safety(SCENARIOS[1]) }).expect("written");
            }
            writer.end_session("all rounds are done", 9.0).expect("written");
            path
        })
        .collect();
    let target = folder.path().join("fleet.surefoot");
    merge(&files, &target).expect("one fleet");
    let (shown, _) = read_merged(&files, &|_, _| Vec::new()).expect("one fleet");
    let class = |contents: &Contents| {
        let measured = contents.safety_of(&contents.scenarios[0]).and_then(|measured| measured.safety.as_ref());
        measured.map(|safety| safety.grade)
    };
    let end = |contents: &Contents| {
        contents.faults_of(&contents.scenarios[0]).and_then(|measured| measured.faults.as_ref()?.worst())
    };
    for all in [&contents(&target), &shown] {
        assert_eq!(end(all), Some(Consequence::Lost));
        assert_eq!((class(all), all.probes.len()), (Some(Grade::E), 3));
        assert_eq!(all.safety_of(&all.scenarios[1]), None, "two machines are not known");
    }
    for ((number, grade), own_end) in (1..).zip(grades).zip(ends) {
        let reader = Reader::open(&target).and_then(|reader| reader.of_member(number)).expect("it is there");
        let alone = reader.contents().expect("readable");
        assert_eq!(
            (class(&alone), alone.safety.len(), alone.probes.len()),
            (Some(grade), 1 + usize::from(number == 1), 1)
        );
        assert_eq!(end(&alone), Some(own_end));
        assert_eq!(alone.probes[0].figures.values().copied().collect::<Vec<_>>(), [f64::from(number)]);
        let mut rows = Vec::new();
        export::csv(&reader, &mut rows).expect("exported");
        let rows = String::from_utf8(rows).expect("text");
        assert!(rows.lines().skip(1).all(|line| line.ends_with(&format!(",{number}"))) && rows.lines().count() > 1);
    }
    let error = Reader::open(&target).and_then(|reader| reader.of_member(7)).expect_err("no seventh");
    assert!(error.to_string().ends_with("there are 1, 2, 3"), "{error}");
}

/// A disk without barriers, found by the second machine alone: who looks while members work sees what the merged file will say.
#[test]
fn what_one_machine_s_storage_keeps_less_of_holds_for_the_fleet() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [1, 2].map(|number| {
        let path = folder.path().join(number.to_string());
        started(&path, &study(), &member(number, 1, &format!("n{number}")), 1, false);
        path
    });
    let mut writer = Writer::create_or_open(&files[1]).expect("it opens");
    let trial = writer.begin_trial(SCENARIOS[0], Place::main(1, 0), 1, 4.0).expect("written");
    writer.keeps_less(trial, &Durability::because(Class::LosesRecent, "no flush")).expect("written");
    writer.finish_trials(&[(trial, TrialState::Finished, None)], 5.0).expect("written");
    drop(writer);
    let target = folder.path().join("fleet.surefoot");
    merge(&files, &target).expect("one fleet");
    let (shown, _) = read_merged(&files, &|_, _| Vec::new()).expect("one fleet");
    for all in [&contents(&target), &shown] {
        let classes: Vec<Class> = all.scenarios.iter().map(|scenario| scenario.durability.class).collect();
        assert_eq!(classes, [Class::LosesRecent, Class::KeepsAcknowledged]);
    }
}

#[test]
fn what_an_interruption_left_of_a_round_is_no_round() {
    let (_folder, path) = new_file("one");
    started(&path, &study(), &member(1, 1, "n1"), 2, false);
    let mut writer = Writer::create_or_open(&path).expect("it opens");
    let mut rounds = |add: &mut dyn FnMut(&mut Writer)| {
        add(&mut writer);
        let contents = contents(&path);
        contents.rounds_measured(&contents.members[0], &contents.counted_trials())
    };
    let trial = |writer: &mut Writer, scenario: usize, state| {
        let id = writer.begin_trial(SCENARIOS[scenario], Place::main(2, 0), 1, 2.0).expect("written");
        writer.finish_trials(&[(id, state, None)], 3.0).expect("written");
    };
    assert_eq!(rounds(&mut |_| ()), 2, "it was killed between two rounds");
    assert_eq!(rounds(&mut |writer| trial(writer, 1, TrialState::Finished)), 2, "within a round");
    assert_eq!(rounds(&mut |writer| trial(writer, 0, TrialState::Failed)), 3);
    let in_the_next = |writer: &mut Writer| {
        writer.begin_session(&BTreeMap::new(), 5.0).expect("written");
        let id = writer.begin_trial(SCENARIOS[1], Place::main(3, 0), 1, 2.0).expect("written");
        writer.finish_trials(&[(id, TrialState::Finished, None)], 3.0).expect("written");
    };
    assert_eq!(rounds(&mut |writer| in_the_next(writer)), 3, "who failed once is measured again");
    let failed = |writer: &mut Writer| {
        let id = writer.begin_trial(SCENARIOS[0], Place::main(3, 1), 1, 2.0).expect("written");
        writer.finish_trials(&[(id, TrialState::Failed, None)], 3.0).expect("written");
        let id = writer.begin_trial(SCENARIOS[1], Place::main(4, 0), 1, 2.0).expect("written");
        writer.finish_trials(&[(id, TrialState::Finished, None)], 3.0).expect("written");
    };
    assert_eq!(rounds(&mut |writer| failed(writer)), 5, "who failed twice is given up");
}
