//! What is written is what is read, by the reader and by the exports.

use crate::fixture::{DIRTY, SCENARIOS, SPEED, begun, just_begun, new_file, run, safety, scenarios, study, trial};
use ledger::model::{Host, MeasuredSafety, Member, Place, Scenario, TrialState};
use ledger::{Reader, Writer, export};
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use observe::record::{Failure, Provisioned, Run};
use observe::safety::{Grade, Safety};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn member(number: u32) -> Member {
    let host = Host { name: format!("n{number}"), id: String::new() };
    Member { number, of: 2, attempt: 1, rounds: 1, host, known_by: "the test".into(), others: Vec::new() }
}

#[test]
fn a_study_comes_back_whole_also_while_it_is_written() {
    let (_folder, path) = new_file("a b%#?.surefoot");
    let mut writer = begun(&path);
    let id = writer.begin_trial(SCENARIOS[1], Place::main(4, 1), u64::MAX, 2.0).expect("written");
    writer.step(id, "mkfs", 0.25).expect("written");
    writer.step(id, "mount", 0.5).expect("written");
    let provisioned = Provisioned {
        facts: BTreeMap::from([("block_size".into(), "4096".into())]),
        commands: vec!["mkfs.xfs -f x".into(), "mount x y".into()],
        durability: None,
    };
    writer.provisioned(id, &provisioned).expect("written");
    writer.warning(id, "slow").expect("written");
    writer.run(id, &run(0, 8.0)).expect("written");
    let failure = Failure { step: "run".into(), causes: vec!["crashed".into()], log: "bye\n".into() };
    writer.finish_trials(&[(id, TrialState::Failed, Some(&failure))], 9.0).expect("written");
    let reader = Reader::open(&path).expect("it opens beside the writer");
    let contents = reader.contents().expect("readable");
    assert_eq!((contents.study, contents.scenarios), (study(), scenarios()));
    assert_eq!(contents.sessions[0].machine["kernel"], "6.1");
    assert_eq!(contents.metrics, BTreeMap::from([(SPEED.name.to_string(), SPEED), (DIRTY.name.to_string(), DIRTY)]));
    let found = &contents.trials[0];
    assert_eq!((found.scenario.as_str(), found.round, found.position, found.seed), (SCENARIOS[1], 4, 1, u64::MAX));
    assert_eq!((found.state, &found.failure, found.ended), (TrialState::Failed, &Some(failure), Some(9.0)));
    assert_eq!(found.steps, [("mkfs".to_string(), 0.25), ("mount".to_string(), 0.5)]);
    assert_eq!((&found.facts, &found.commands), (&provisioned.facts, &provisioned.commands));
    assert_eq!(found.warnings, ["slow"]);
    writer.end_session("precision reached", 10.0).expect("written");
    let session = &reader.contents().expect("readable").sessions[0];
    assert_eq!((session.ended, session.reason.as_deref()), (Some(10.0), Some("precision reached")));
}

#[test]
fn of_a_scenario_the_last_measured_safety_counts() {
    let (_folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    let failed = MeasuredSafety {
        safety: None,
        failure: Some(Failure { step: "record".into(), causes: vec!["the disk ended".into()], log: String::new() }),
        ..safety(SCENARIOS[0])
    };
    for measured in [&failed, &safety(SCENARIOS[1]), &safety(SCENARIOS[0])] {
        writer.safety(measured).expect("written");
    }
    let reader = Reader::open(&path).expect("it opens");
    let contents = reader.contents().expect("readable");
    assert_eq!(contents.safety, [failed, safety(SCENARIOS[1]), safety(SCENARIOS[0])]);
    assert_eq!(contents.safety_of(&contents.scenarios[0]), Some(&contents.safety[2]));
    let control = |levels: &Scenario| Scenario { label: "once more".into(), control: true, ..levels.clone() };
    let [first, second] = [0, 1].map(|index| control(&contents.scenarios[index]));
    assert_eq!(contents.safety_of(&first), Some(&contents.safety[2]), "the baseline once more");
    assert_eq!(contents.safety_of(&second), Some(&contents.safety[1]));
    assert_eq!(contents.safety_of(&Scenario { control: false, ..first }), None);
    let mut json = Vec::new();
    export::json(&reader, &mut json).expect("exported");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["safety"][2]["safety"]["worst_lost_commits"], 12);
    assert_eq!(json["safety"][0]["failure"]["step"], "record");
}

/// Before `cache` could be left out it was "volatile" where nothing was said.
#[test]
fn a_cache_that_is_left_out_is_that_of_the_scenario_s_disk() {
    let mut contents = just_begun();
    contents.scenarios[1].settings = serde_json::json!({ "storage": { "cache": "write-through" } });
    let of = |label: &str, cache: Option<&str>| {
        let mut measured = safety(label);
        measured.asked = serde_json::json!({ "cache": cache, "unit": "4096" });
        measured.safety.as_mut().expect("measured").grade = Grade::D;
        measured
    };
    let [image, disk] = SCENARIOS;
    contents.safety = vec![of(image, Some("volatile")), of(disk, None)];
    assert_eq!(contents.safety_of(&contents.scenarios[0]), Some(&contents.safety[0]));
    contents.safety = vec![of(disk, Some("volatile")), of(image, None)];
    assert_eq!(contents.safety_of(&contents.scenarios[1]), None, "on another disk");
    contents.safety = vec![of(disk, Some("write-through")), of(image, None)];
    assert_eq!(contents.safety_of(&contents.scenarios[1]), Some(&contents.safety[0]));
}

/// A longer look that failed had made a scenario compete again, by its promise.
#[test]
fn a_measurement_that_failed_makes_no_damage_undone() {
    let mut contents = just_begun();
    let asked = |budget: f64| serde_json::json!({ "budget": budget });
    let of = |grade: Grade, budget: f64| {
        let measured = safety(SCENARIOS[0]);
        let found = measured.safety.map(|found| Safety { grade, ..found });
        MeasuredSafety { safety: found, asked: asked(budget), ..safety(SCENARIOS[0]) }
    };
    let failed = |budget: f64| MeasuredSafety { safety: None, asked: asked(budget), ..safety(SCENARIOS[0]) };
    let mut grade = |all: &[MeasuredSafety]| {
        contents.safety = all.to_vec();
        let counts = contents.safety_of(&contents.scenarios[0]).and_then(|measured| measured.safety.as_ref());
        counts.map(|safety| safety.grade)
    };
    assert_eq!(grade(&[of(Grade::E, 10.0), failed(60.0)]), Some(Grade::E));
    assert_eq!(grade(&[of(Grade::F, 10.0), failed(10.0)]), Some(Grade::F));
    assert_eq!(grade(&[of(Grade::D, 10.0), failed(60.0)]), None, "of a loss nobody knows how large it is now");
    assert_eq!(grade(&[of(Grade::E, 10.0), failed(60.0), of(Grade::A, 60.0)]), Some(Grade::A));
    assert_eq!(grade(&[of(Grade::E, 10.0), of(Grade::A, 60.0), failed(60.0)]), None, "it was damaged no more");
}

/// The last machine's letter had counted, though on another a C was held to D, or more was lost.
#[test]
fn of_machines_with_one_letter_the_worst_counts() {
    let mut contents = just_begun();
    contents.members = [1, 2].map(member).into();
    let of = |number: u32, worst_lost_commits: u64, is_censored: bool| {
        let mut measured = safety(SCENARIOS[0]);
        let is_censored = Some(is_censored);
        measured.safety =
            measured.safety.map(|found| Safety { grade: Grade::C, worst_lost_commits, is_censored, ..found });
        MeasuredSafety { member: Some(number), ..measured }
    };
    let mut worst = |all: [MeasuredSafety; 2]| {
        contents.safety = all.into();
        contents.safety_of(&contents.scenarios[0]).and_then(|measured| measured.member)
    };
    assert_eq!(worst([of(1, 3, true), of(2, 500, false)]), Some(1), "it may have lost older ones");
    assert_eq!(worst([of(1, 500, false), of(2, 3, false)]), Some(1));
    assert_eq!(worst([of(1, 3, false), of(2, 500, false)]), Some(2));
}

/// The last machine had not measured anew: what the others had found since the study was changed counted for nothing, and nothing said so.
#[test]
fn what_a_fleet_asks_of_power_cuts_is_what_it_asked_last() {
    let mut contents = just_begun();
    contents.members = [1, 2].map(member).into();
    let of = |number: u32, ended: f64, budget: f64| {
        let mut measured = safety(SCENARIOS[0]);
        measured.safety.as_mut().expect("measured").grade = Grade::C;
        MeasuredSafety { member: Some(number), ended, asked: serde_json::json!({ "budget": budget }), ..measured }
    };
    contents.safety = vec![of(1, 1.0, 10.0), of(1, 9.0, 60.0), of(2, 2.0, 10.0)];
    let counts = |number: u32| contents.last_cut(SCENARIOS[0], Some(number)).map(|last| last.ended);
    assert_eq!([1, 2].map(counts), [Some(9.0), None]);
    assert_eq!(contents.safety_of(&contents.scenarios[0]), None, "of one machine it is not known");
}

#[test]
fn safety_of_a_scenario_that_is_not_in_the_study_is_refused() {
    let (_folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    assert!(writer.safety(&safety("zfs")).is_err());
    assert!(writer.reader().and_then(|reader| reader.contents()).expect("readable").safety.is_empty());
}

#[test]
fn only_the_last_ended_attempt_counts() {
    let (_folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 100.0);
    trial(&mut writer, SCENARIOS[0], 2, TrialState::Finished, 5.0);
    trial(&mut writer, SCENARIOS[0], 2, TrialState::Finished, 200.0);
    trial(&mut writer, SCENARIOS[1], 2, TrialState::Interrupted, 7.0);
    writer.begin_trial(SCENARIOS[1], Place::main(0, 0), 1, 2.0).expect("written");
    assert_eq!(writer.void_unfinished().expect("written"), 1);
    assert_eq!(writer.void_unfinished().expect("written"), 0);
    let contents = Reader::open(&path).and_then(|reader| reader.contents()).expect("readable");
    // The geometric mean of half and double is the value itself; the warm-up's 1 is left out.
    let values = contents.values(&SPEED.name);
    let near = |value: Option<f64>, expected: f64| value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-12);
    assert!(near(values[0][0], 100.0) && near(values[2][0], 200.0), "{values:?}");
    assert_eq!((values.len(), values[0][1], &values[1], values[2][1]), (3, None, &vec![None, None], None));
    assert_eq!(contents.values(&DIRTY.name)[0][0], Some(0.0), "zeros have an arithmetic mean");
    let some = Reader::open(&path).and_then(|reader| reader.contents_with(&[&DIRTY.name])).expect("readable");
    assert_eq!((some.values(&DIRTY.name), some.runs.len()), (contents.values(&DIRTY.name), contents.runs.len()));
    assert!(
        some.runs.iter().all(|run| run.metrics.keys().map(|name| &**name).eq([&*DIRTY.name]))
            && some.metrics == contents.metrics
    );
    assert!(contents.values("no_such_metric").iter().flatten().all(Option::is_none));
}

#[test]
fn exports_hold_every_run_and_awkward_names() {
    let (_folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    let id = trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 100.0);
    let odd = Metric::named("p99, \"worst\"".into(), "µs".into(), Direction::Less);
    writer.run(id, &Run { run: 3, metrics: vec![odd.at(1e-3)], ..Run::default() }).expect("written");
    let reader = Reader::open(&path).expect("it opens");
    let (mut csv, mut json) = (Vec::new(), Vec::new());
    export::csv(&reader, &mut csv).expect("exported");
    export::json(&reader, &mut json).expect("exported");
    let csv = String::from_utf8(csv).expect("text");
    assert_eq!(csv.lines().count(), 1 + 3 * 2 + 1);
    assert!(csv.ends_with("\"p99, \"\"worst\"\"\",µs,less,0.001,main,,\n"), "{csv}");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["runs"][0]["latencies"]["transaction"]["count"], 100);
    assert_eq!(json["runs"][0]["series"]["transactions_per_second"][1], serde_json::Value::Null);
}

#[test]
fn parquet_holds_what_the_csv_does_and_the_levels() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let (_folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 100.0);
    trial(&mut writer, SCENARIOS[1], 0, TrialState::Failed, 50.0);
    let reader = Reader::open(&path).expect("it opens");
    let (mut csv, mut file) = (Vec::new(), Vec::new());
    export::csv(&reader, &mut csv).expect("exported");
    ledger::parquet::write(&reader, &mut file).expect("exported");
    let file = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
    let rows: Vec<_> = file.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_json_value()).collect();
    let scenarios = reader.contents().expect("readable").scenarios;
    let mut lines = csv::Reader::from_reader(&*csv);
    let heads = lines.headers().expect("heads").clone();
    let mut count = 0;
    for (line, row) in lines.records().zip(&rows) {
        let line = line.expect("a line");
        for (head, cell) in heads.iter().zip(&line) {
            let same = match &row[head] {
                serde_json::Value::String(text) => text == cell,
                serde_json::Value::Number(number) => {
                    (number.as_f64().expect("a number") - cell.parse::<f64>().expect("a number")).abs() < 1e-3
                }
                other => *other.to_string() == *cell,
            };
            assert!(same, "{head}: {cell} against {}", row[head]);
        }
        let scenario = scenarios.iter().find(|scenario| row["scenario"] == *scenario.label).expect("known");
        for (factor, level) in &scenario.levels {
            assert_eq!(row[factor], **level);
        }
        count += 1;
    }
    assert!(count > 0 && count == rows.len(), "{count} lines, {} rows", rows.len());
}

/// A factor of the user's own may be called as they like.
#[test]
fn parquet_has_the_levels_of_a_factor_that_is_called_like_another_column() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = Writer::create_or_open(&folder.path().join("s.surefoot")).expect("a new ledger");
    let mut all = scenarios();
    for scenario in &mut all {
        for (factor, level) in [("group", "journal"), ("workload", "oltp")] {
            scenario.levels.insert(factor.into(), level.into());
        }
    }
    writer.set_study(&study(), &all, None).expect("written");
    writer.begin_session(&BTreeMap::new(), 1.0).expect("written");
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 100.0);
    let mut file = Vec::new();
    writer.reader().and_then(|reader| ledger::parquet::write(&reader, &mut file)).expect("exported");
    let file = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
    let row = file.get_row_iter(None).expect("rows").next().expect("a row").expect("a row").to_json_value();
    let cells = ["group", "group_", "workload"].map(|column| row[column].as_str().unwrap_or_default().to_string());
    assert_eq!(cells, ["", "journal", "oltp"], "{row}");
    assert!(row.get("workload_").is_none(), "{row}");
}

fn any_run() -> impl Strategy<Value = Run> {
    let names = || "[a-zA-Z0-9_ ·\"',%é]{0,12}";
    let metrics = prop::collection::btree_map(names(), any::<f64>(), 0..12);
    let latencies = prop::collection::btree_map(names(), prop::collection::vec(1_u64..1 << 40, 0..20), 0..3);
    let series = prop::collection::btree_map(names(), prop::collection::vec(any::<f64>(), 0..20), 0..3);
    (any::<u32>(), any::<bool>(), 0.0..2e9_f64, 0.0..1e6_f64, metrics, latencies, series).prop_map(
        |(run, warm_up, started, seconds, metrics, latencies, series)| Run {
            run,
            warm_up,
            started,
            seconds,
            metrics: metrics
                .into_iter()
                .map(|(name, value)| Metric::named(name, "1".into(), Direction::More).at(value))
                .collect(),
            latencies: latencies
                .into_iter()
                .map(|(name, values)| {
                    let mut latency = Latency::default();
                    values.into_iter().for_each(|value| latency.record(Duration::from_nanos(value)));
                    (name, latency)
                })
                .collect(),
            series,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_run_comes_back_bit_for_bit(runs in prop::collection::vec(any_run(), 1..4)) {
        let (_folder, path) = new_file("s.surefoot");
        let mut writer = begun(&path);
        let id = writer.begin_trial(SCENARIOS[0], Place::main(0, 0), 1, 2.0).expect("written");
        for run in &runs {
            writer.run(id, run).expect("written");
        }
        let reader = Reader::open(&path).expect("it opens");
        let found = reader.contents().expect("readable").runs;
        prop_assert_eq!(found.len(), runs.len());
        for (row, run) in found.iter().zip(&runs) {
            prop_assert_eq!((row.run, row.warm_up, row.started, row.seconds), (run.run, run.warm_up, run.started, run.seconds));
            let bits = |value: &f64| value.to_bits();
            let written: BTreeMap<&str, u64> = run.metrics.iter().map(|m| (&*m.metric.name, bits(&m.value))).collect();
            let read: BTreeMap<&str, u64> = row.metrics.iter().map(|(name, value)| (&**name, bits(value))).collect();
            prop_assert_eq!(read, written);
            let detail = reader.detail(row.id).expect("readable");
            let points = |series: &BTreeMap<String, Vec<f64>>| series.iter().map(|(name, points)| (name.clone(), points.iter().map(bits).collect())).collect::<BTreeMap<String, Vec<u64>>>();
            prop_assert_eq!(points(&detail.series), points(&run.series));
            let counts = |latencies: &BTreeMap<String, Latency>| latencies.iter().map(|(name, latency)| (name.clone(), latency.histogram().clone())).collect::<Vec<_>>();
            prop_assert_eq!(counts(&detail.latencies), counts(&run.latencies));
        }
    }
}
