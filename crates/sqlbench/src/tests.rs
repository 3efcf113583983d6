//! The suite's counts against its published ones, and real runs on SQLite.

use super::*;
use load::sql::Cell;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::{Answer, Connection, Param, Statement, Value as Found};

/// Counts of `RUN-mysql-Linux_2.4.16_64GB_SMP_i686` (MySQL 4.0.2, 2002) in mysql-server's history, by operation.
const PUBLISHED: &str = "
    alter_table_add 992 alter_table_drop 496 connect 10000 connect+select_1_row 10000 connect+select_simple 10000 count 100
    count_distinct 1000 count_distinct_2 1000 count_distinct_big 120 count_distinct_group 1000 count_distinct_group_on_key 1000
    count_distinct_group_on_key_parts 1000 count_distinct_key_prefix 1000 count_group_on_key_parts 1000 count_on_key 50100
    create+drop 10000 create_MANY_tables 10000 create_index 8 create_key+drop 10000 create_table 31 delete_all_many_keys 1
    delete_big 1 delete_big_many_keys 128 delete_key 10000 delete_range 12 drop_index 8 drop_table 28
    drop_table_when_MANY_tables 10000 insert 350768 insert_duplicates 100000 insert_key 100000 insert_many_fields 2000
    insert_select_1_key 1 insert_select_2_keys 1 min_max 60 min_max_on_key 85000 multiple_value_insert 100000 order_by_big 10
    order_by_big_key 10 order_by_big_key2 10 order_by_big_key_desc 10 order_by_big_key_diff 10 order_by_big_key_prefix 10
    order_by_key2_diff 500 order_by_key_prefix 500 order_by_range 500 outer_join 10 outer_join_found 10 outer_join_not_found 500
    outer_join_on_key 10 select_1_row 100000 select_1_row_cache 100000 select_2_rows 100000 select_big 80 select_big_str 10000
    select_cache 10000 select_cache2 10000 select_column+column 100000 select_diff_key 500 select_distinct 800
    select_group 2911 select_group_when_MANY_tables 10000 select_join 100 select_key 200000 select_key2 200000
    select_key2_return_key 200000 select_key2_return_prim 200000 select_key_prefix 200000 select_key_prefix_join 100
    select_key_return_key 200000 select_many_fields 2000 select_range 410 select_range_key2 25010 select_range_prefix 25010
    select_simple 100000 select_simple_cache 100000 select_simple_join 500 update_big 10 update_of_key 50000
    update_of_key_big 501 update_of_primary_key_many_keys 256 update_with_key 300000 update_with_key_prefix 100000
    wisc_benchmark 114";

/// The total of that file.
const PUBLISHED_TOTAL: u64 = 3_227_247;

/// What later classic suites count: columns ten at a time, and transactions, which that table type did not have.
const LATER: &str = "
    alter_table_add 100 alter_table_drop 100 insert_commit 10000 insert_autocommit 10000 insert_rollback 100 update_rollback 100
    delete_rollback 100 update_commit 10000 update_autocommit 10000 delete_commit 10000 delete_autocommit 10000";

/// A database that counts statements and answers nothing.
#[derive(Default)]
struct Counting(Arc<AtomicU64>);

impl Database for Counting {
    fn engine(&self) -> &'static Engine {
        &engines::mariadb::ENGINE
    }

    fn connect(&self, _: &Place) -> Result<Box<dyn Connection>, Error> {
        Ok(Box::new(Counted(Arc::clone(&self.0))))
    }

    fn question_of_health(&self, _: &[String]) -> String {
        String::new()
    }

    fn load(&self, _: &Place, _: &str, _: &[&str], _: &mut dyn FnMut(&mut Vec<Cell>) -> bool) -> Result<(), Error> {
        Ok(())
    }

    fn load_dump(&self, _: &Place, _: &Path, _: &AtomicBool) -> Result<(), Error> {
        Ok(())
    }

    fn tables(&self, _: &Place) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn checkpoint(&self, _: &Place) -> Result<(), Error> {
        Ok(())
    }

    fn check(&self, _: &Place, _: &[String]) -> Result<(), Error> {
        Ok(())
    }
}

struct Counted(Arc<AtomicU64>);

impl Connection for Counted {
    fn prepare(&mut self, _: &str) -> Result<Statement, wire::Error> {
        Ok(Statement::numbered(0))
    }

    fn start(&mut self, _: Statement, _: &[Param], _: &mut dyn FnMut(Found)) -> Result<Option<u64>, wire::Error> {
        Ok(Some(0))
    }

    fn start_text(&mut self, _: &str, _: &mut dyn FnMut(Found)) -> Result<Option<u64>, wire::Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Some(0))
    }

    fn is_in_transaction(&self) -> bool {
        false
    }

    fn keep_row(&mut self, _: wire::Keep) {}

    fn kept(&mut self) -> Result<Option<wire::NamedRow>, wire::Error> {
        Ok(None)
    }

    fn query(&mut self, _: &str) -> Result<Answer, wire::Error> {
        Ok(Answer::default())
    }
}

/// In memory, where there is such a place: no answer depends on how long a disk takes for the flush of each statement.
fn with_context<T>(act: impl FnOnce(&mut Context) -> T) -> T {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let interrupted = AtomicBool::new(false);
    act(&mut Context {
        data_folder: folder.path().into(),
        server: None,
        sockets: BTreeMap::new(),
        cache_folder: folder.path().into(),
        seed: 7,
        goes_on: false,
        runs: 1,
        client_cpus: Vec::new(),
        interrupted: &interrupted,
        progress: &mut |_, _| {},
    })
}

fn parameters(written: &Value) -> Parameters {
    let map = settings::check_all(SETTINGS, written.as_object().expect("a table")).expect("right");
    assert_eq!((KIND.read)(&map).problems(), Vec::<String>::new());
    settings::typed(&map)
}

/// Runs all tests without asking whether answers are right; counts by operation, and statements sent.
fn counts(scale: f64) -> (BTreeMap<&'static str, u64>, u64) {
    with_context(|context| {
        let (database, place) = (Counting::default(), Place::of(context));
        let mut session = Session::new(&database, &place, context, Loops(scale)).unchecked();
        let mut counts = BTreeMap::new();
        for test in TESTS {
            let (timings, _) = session.test(test.run).expect("nothing is refused");
            let found: BTreeSet<_> = timings.iter().map(|timing| timing.operation).collect();
            assert_eq!(found, test.operations.split(' ').collect(), "{}", test.name);
            for timing in timings {
                *counts.entry(timing.operation).or_default() += timing.count;
            }
        }
        drop(session);
        (counts, database.0.load(Ordering::Relaxed))
    })
}

fn listed(text: &str) -> BTreeMap<&str, u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks(2).map(|pair| (pair[0], pair[1].parse().expect("a count"))).collect()
}

#[test]
fn classic_loops_count_what_was_published() {
    let mut expected = listed(PUBLISHED);
    assert_eq!(expected.values().sum::<u64>(), PUBLISHED_TOTAL, "the list above is the file's");
    expected.extend(listed(LATER));
    let (found, statements) = counts(1.0);
    assert_eq!(found, expected);
    // Every row and every key is a statement of its own.
    assert!(statements > 3_200_000, "{statements}");
}

#[test]
fn a_factor_makes_it_shorter_and_leaves_no_operation_out() {
    let (small, large) = (counts(0.001).0, counts(0.02).0);
    assert_eq!(small.len(), large.len());
    assert!(small.values().all(|count| *count > 0));
    assert!(small.values().sum::<u64>() < large.values().sum::<u64>());
    assert!(large.values().sum::<u64>() < PUBLISHED_TOTAL / 20);
}

#[test]
fn problems_name_the_nearest_test() {
    let map =
        settings::check_all(SETTINGS, json!({ "tests": ["conect"] }).as_object().expect("a table")).expect("right");
    assert_eq!((KIND.read)(&map).problems(), ["`tests`: the suite has no test `conect`: did you mean `connect`?"]);
    let map = settings::check_all(SETTINGS, json!({ "tests": [] }).as_object().expect("a table")).expect("right");
    assert_eq!((KIND.read)(&map).problems(), ["`tests` must name at least one"]);
}

fn run(parameters: Parameters) -> Outcome {
    with_context(|context| {
        let mut workload = SqlBench::new(parameters);
        workload.prepare(context).expect("it is prepared");
        workload.ready(context).expect("it is ready");
        let outcome = workload.run(context).unwrap_or_else(|error| panic!("{error:?}"));
        workload.verify(context).expect("it is whole");
        outcome
    })
}

#[test]
fn every_answer_is_right_on_sqlite() {
    // Side by side: one after the other they are the longest test of all.
    std::thread::scope(|scope| {
        for written in [json!({}), json!({ "scale": 0.003 }), json!({ "fast": true })] {
            scope.spawn(move || every_answer_is_right(&written));
        }
    });
}

fn every_answer_is_right(written: &Value) {
    let mut all = json!({ "engine": "sqlite", "scale": 0.0005 });
    all.as_object_mut().expect("a table").extend(written.as_object().expect("a table").clone());
    let outcome = run(parameters(&all));
    let promised = parameters(&all).metrics();
    let found: Vec<Metric> = outcome.metrics.iter().map(|measured| measured.metric.clone()).collect();
    assert_eq!(promised, found, "{all}");
    let value = |name: &str| outcome.metrics.iter().find(|m| m.metric.name == name).expect("it is there").value;
    assert_eq!(value("loops_cut"), 0.0);
    let tests: f64 = TESTS.iter().map(|test| value(&of_test(test.name).name)).sum();
    assert!((tests - value("total_seconds")).abs() < 1e-9);
    assert!(value("client_user_cpu_seconds") > 0.0 && value("insert_seconds") > 0.0);
    assert!(value("operation_insert_count") > 0.0 && value("test_wisconsin_user_cpu_seconds") > 0.0);
    let sum = |end: &str| {
        let parts =
            outcome.metrics.iter().filter(|m| m.metric.name.starts_with("test_") && m.metric.name.ends_with(end));
        parts.map(|m| m.value).sum::<f64>()
    };
    assert!((sum("_user_cpu_seconds") - value("client_user_cpu_seconds")).abs() < 1e-9);
    assert!((sum("_system_cpu_seconds") - value("client_system_cpu_seconds")).abs() < 1e-9);
}

#[test]
fn a_loop_over_the_limit_is_cut_and_said_to_be_longer() {
    let written = json!({ "engine": "sqlite", "tests": ["connect", "alter-table"], "scale": 0.02 });
    // So that every loop is cut, however fast the machine is.
    let outcome = run(Parameters { limit_seconds: 0.0, ..parameters(&written) });
    let value = |name: &str| outcome.metrics.iter().find(|m| m.metric.name == name).expect("it is there").value;
    assert_eq!(value("loops_cut"), 12.0, "two of alter-table, ten of connect");
    assert!(value("total_seconds") > outcome.seconds, "what was cut counts as long as it would have been");
    assert_eq!((value("operation_select_simple_loops_cut"), value("operation_select_simple_count")), (1.0, 2000.0));
}

#[test]
fn a_wrong_answer_is_an_error() {
    with_context(|context| {
        let place = Place::of(context);
        let database = engines::sqlite::Sqlite(Pragmas::default());
        let mut session = Session::new(&database, &place, context, Loops(1.0));
        session.connect().expect("SQLite opens");
        let mut wrong = |act: &dyn Fn(&mut Session) -> Result<(), Error>| match act(&mut session) {
            Err(error @ Error::WrongData { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(wrong(&|s| s.rows("SELECT 1", 2)), r#"wrong data in rows of "SELECT 1": expected 2, found 1"#);
        wrong(&|s| s.integer("SELECT 1", None));
        wrong(&|s| s.word("SELECT 'a' WHERE 1 = 0", Some("a")));
        wrong(&|s| s.sorted("VALUES (1), (3), (2)", session::Sorted::Up, 3));
        wrong(&|s| s.sorted("VALUES (3), (1), (2)", session::Sorted::Down, 3));
        wrong(&|s| s.text_of_bytes("SELECT 'abc'", 4));
        wrong(&|s| s.duplicate("CREATE TABLE t (a INTEGER PRIMARY KEY)"));
        wrong(&|s| s.change("UPDATE t SET a = 1", 1));
    });
}
