//! Real runs on SQLite, and what a wrong row does to the conditions.

use super::*;
use crate::workload_tests::{self, figure, read};
use serde_json::json;

/// In memory, where there is such a place: the whole file is read and written for each wrong row.
fn with_loaded(act: impl FnOnce(&mut dyn Workload, &mut Context)) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let all = json!({ "engine": "sqlite", "time": "0s", "transactions": 300, "threads": 3, "synchronous": "off" });
    let load = read(&KIND, &all);
    assert_eq!(load.problems(), Vec::<String>::new());
    workload_tests::with_loaded(load, folder.path(), act);
}

/// One load serves all of it: it takes seconds.
#[test]
fn conditions_hold_after_runs_and_wrong_rows_are_found() {
    with_loaded(|workload, context| {
        workload.verify(context).expect("the conditions hold of what is loaded");
        let outcome = workload.run(context).expect("it runs");
        assert_eq!(figure(&outcome, "transactions"), 300.0);
        assert!(figure(&outcome, "new_orders_per_minute") > 0.0);
        let kinds: Vec<&str> = outcome.latencies.keys().map(String::as_str).collect();
        assert_eq!(kinds, ["delivery", "new order", "order status", "payment", "stock level", "transaction"]);
        workload.verify(context).expect("the conditions hold after a run");
        let file = engines::sqlite::file(&context.data_folder);
        for (wrong, clause) in [
            ("UPDATE district1 SET d_ytd = d_ytd + 0.01 WHERE d_id = 3", "3.3.2.1"),
            ("UPDATE district1 SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4", "3.3.2.2"),
            ("DELETE FROM new_orders1 WHERE no_d_id = 1 AND no_o_id = 2900", "3.3.2.3"),
            ("DELETE FROM order_line1 WHERE ol_d_id = 2 AND ol_o_id = 2950 AND ol_number = 1", "3.3.2.4"),
            ("UPDATE orders1 SET o_carrier_id = NULL WHERE o_d_id = 2 AND o_id = 50", "3.3.2.5"),
            ("UPDATE order_line1 SET ol_delivery_d = NULL WHERE ol_d_id = 2 AND ol_o_id = 50", "3.3.2.7"),
            ("DELETE FROM history1 WHERE rowid = 17", "3.3.2.8"),
            (
                "UPDATE customer1 SET c_balance = c_balance + 0.01, c_ytd_payment = c_ytd_payment - 0.01 WHERE c_d_id = 1 AND c_id = 1",
                "3.3.2.10",
            ),
            ("UPDATE customer1 SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 1 AND c_id = 1", "3.3.2.11"),
            ("UPDATE customer1 SET c_ytd_payment = c_ytd_payment + 0.01 WHERE c_d_id = 1 AND c_id = 2", "3.3.2.12"),
        ] {
            let saved = std::fs::read(&file).expect("the file");
            let thief = rusqlite::Connection::open(&file).expect("the file");
            assert!(thief.execute(wrong, []).expect("it is writable") > 0, "{wrong}");
            drop(thief);
            let said = workload.verify(context).expect_err(wrong).to_string();
            assert!(said.contains(clause), "{wrong}: {said}");
            std::fs::write(&file, saved).expect("the file");
        }
        workload.verify(context).expect("all is as it was");
    });
}
