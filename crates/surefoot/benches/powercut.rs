//! `make powercut`: the acceptance table of docs/safety.md, each row measured and held against what is known of it.
//!
//! A row of the first table is a configuration of whose behaviour in a power cut somebody else says something, and the table says
//! who; a measurement that says otherwise ends this with status 1. The second table has what nobody promises, held against what was
//! seen before. `make powercut ROWS=sqlite` does those whose name has the word; `BUDGET=60s` looks longer; `WRITE_BACK=false`
//! leaves the write-back beside commits out.
//!
//! `make powercut-safe` measures the rows that lose nothing again and again, until recoveries ran on 10,000 images (`IMAGES`):
//! whatever is found in any of them is a false alarm.
//!
//! In `cargo test` one row is measured, for a second.

#[path = "powercut/expected.rs"]
mod expected;
#[path = "powercut/rows.rs"]
mod rows;

use expected::Expected;
use goals::Goals;
use rows::{ROWS, Row};
use serde_json::Value;
use std::process::{Command, ExitCode};

/// Measures a row: the ledger's entry.
fn measure(row: &Row, budget: &str) -> Value {
    let folder = tempfile::Builder::new().prefix("surefoot-powercut-").tempdir_in("/var/tmp").expect("a folder");
    let write_back =
        std::env::var("WRITE_BACK").map_or_else(|_| String::new(), |value| format!("write_back = {value}\n"));
    std::fs::write(folder.path().join("s.toml"), row.study(budget, &write_back)).expect("a study");
    let surefoot = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_surefoot")).args(arguments).current_dir(folder.path()).output();
        output.expect("surefoot starts")
    };
    let said = surefoot(&["powercut", "s.toml"]);
    let report = surefoot(&["report", "s.surefoot", "--json"]);
    let json: Value = serde_json::from_slice(&report.stdout).unwrap_or_default();
    let entry = json["ledger"]["safety"][0].clone();
    if entry.is_null() {
        eprintln!("{}", String::from_utf8_lossy(&said.stderr));
    }
    entry
}

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("powercut") else { return ExitCode::SUCCESS };
    if goals.is_test() {
        let row = ROWS.iter().find(|row| row.name == "SQLite wal/full").expect("a row that loses nothing");
        goals.must("SQLite that loses nothing is found to lose nothing", table("expected", &[row], "1s") == 0);
        return goals.end();
    }
    let wanted = std::env::var("ROWS").unwrap_or_default().to_lowercase();
    let budget = std::env::var("BUDGET").unwrap_or_else(|_| "20s".into());
    let rows: Vec<&Row> = ROWS.iter().filter(|row| row.name.to_lowercase().contains(&wanted)).collect();
    let wrong = match std::env::var("IMAGES") {
        Ok(images) => false_alarms(&rows, &budget, images.parse().expect("IMAGES: a number of images")),
        Err(_) => {
            let (said, seen): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| !row.who.is_empty());
            let wrong = table("expected, and by whom", &said, &budget);
            println!("\nWhat nobody promises:\n");
            table("seen before", &seen, &budget);
            wrong
        }
    };
    ExitCode::from(u8::from(wrong > 0))
}

/// Measures each row once; how many are not as expected, beyond what is known to be otherwise.
fn table(expected: &str, rows: &[&Row], budget: &str) -> usize {
    println!(
        "| configuration | on | {expected} | grade | lost at most | on average | images | damaged | bad random cuts | |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    let mut wrong = 0;
    for row in rows {
        let entry = measure(row, budget);
        let safety = &entry["safety"];
        let holds = row.expected.holds(safety);
        wrong += usize::from(!holds && !row.is_known_otherwise);
        println!("{}", line(row, safety, holds));
        if !holds {
            eprintln!("{:#}", if safety.is_null() { &entry } else { safety });
        }
    }
    wrong
}

fn line(row: &Row, safety: &Value, holds: bool) -> String {
    let text = |name: &str| safety[name].to_string().replace('"', "");
    let number = |name: &str| safety[name].as_f64().unwrap_or(f64::NAN);
    let expected = match row.who {
        "" => row.expected.words(),
        who => format!("{} ({who})", row.expected.words()),
    };
    let average = if safety["expected_lost_commits"].is_null() {
        "none came up".into()
    } else {
        format!("{:.1} commits, {:.3} s", number("expected_lost_commits"), number("expected_lost_seconds"))
    };
    let verdict = match (holds, row.who, row.is_known_otherwise) {
        (true, "", _) => "as before",
        (false, "", _) => "OTHERWISE",
        (true, ..) => "as expected",
        (false, _, true) => "NOT AS EXPECTED, see below",
        (false, ..) => "NOT AS EXPECTED",
    };
    format!(
        "| {} | {} | {expected} | {} | {} commits, {:.3} s{} | {average} | {}{} | {} | {} of {} | {verdict} |",
        row.name,
        row.filesystem,
        text("grade"),
        text("worst_lost_commits"),
        number("worst_lost_seconds"),
        if safety["is_censored"] == true { " or more" } else { "" },
        text("images"),
        if safety["is_complete"] == true { ", all of the recording" } else { "" },
        number("unmountable") + number("damaged") + number("silent"),
        text("random_cuts_bad"),
        text("random_cuts"),
    )
}

/// Whether somebody says that it loses nothing, and that was not found to be otherwise.
fn is_safe(row: &Row) -> bool {
    matches!(row.expected, Expected::Nothing) && !row.who.is_empty() && !row.is_known_otherwise
}

/// Measures the rows that lose nothing, in turn, until so many images were recovered; how many measurements found anything.
fn false_alarms(rows: &[&Row], budget: &str, images_wanted: u64) -> usize {
    let safe = rows.iter().filter(|row| is_safe(row));
    assert!(safe.clone().count() > 0, "no row of that name loses nothing");
    let (mut images, mut alarms) = (0, 0);
    println!("| configuration | on | images | images so far | alarms so far |\n|---|---|---|---|---|");
    for row in safe.cycle() {
        let entry = measure(row, budget);
        let safety = &entry["safety"];
        let looked_at = safety["images"].as_u64().unwrap_or(0);
        images += looked_at;
        if !row.expected.holds(safety) {
            alarms += 1;
            eprintln!("{:#}", if safety.is_null() { &entry } else { safety });
        }
        println!("| {} | {} | {looked_at} | {images} | {alarms} |", row.name, row.filesystem);
        // What can't be measured at all must not go on for ever.
        if images >= images_wanted || looked_at == 0 {
            break;
        }
    }
    alarms
}
