//! Equals, on real filesystems and servers: `cargo bench -p surefoot --bench equals`, as root. `cargo test` takes small inputs.
//!
//! Each study compares mount options that change nothing, by turns, in turn on SQLite and on PostgreSQL; whatever it claims is false. It can
//! be left alone: 200 studies take about four hours, `-- --studies N` so many. With `--into FILE` each study's answer is a line there, and a
//! bench that was stopped goes on.
//!
//! Goal: at most 5 % of studies claim a difference, and two standard errors of such a share.

use goals::Goals;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const STUDIES: usize = 200;

const FALSE_SHARE_MAX: f64 = 0.05;

const ENGINES: [&str; 2] = ["sqlite", "postgres"];

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("equals") else { return ExitCode::SUCCESS };
    let studies = match goals.after("--studies") {
        Some(count) => count.parse().expect("--studies takes a number"),
        None if goals.is_test() => 1,
        None => STUDIES,
    };
    let (rounds, seconds) = if goals.is_test() { (2, "200ms") } else { (6, "250ms") };
    let into = goals.after("--into").map(str::to_string);
    let mut answers: Vec<Value> = into.as_deref().map(kept).unwrap_or_default();
    let folder =
        tempfile::Builder::new().prefix("surefoot-bench-").tempdir_in("/var/tmp").expect("a folder on the disk");
    while answers.len() < studies {
        let engine = ENGINES[answers.len() % ENGINES.len()];
        let answer = study(folder.path(), engine, rounds, seconds);
        println!("  study {}: {answer}", answers.len() + 1);
        goals.must("equals are compared", answer["compared"].as_u64() > Some(0));
        if let Some(path) = &into {
            let mut file = std::fs::File::options().create(true).append(true).open(path).expect("a file to add to");
            writeln!(file, "{answer}").expect("it takes a line");
        }
        answers.push(answer);
    }
    for engine in ENGINES {
        let of: Vec<&Value> = answers.iter().filter(|answer| answer["engine"] == engine).collect();
        println!(
            "{engine}: {} of {} studies claim a difference of equals",
            of.iter().filter(|answer| is_false(answer)).count(),
            of.len()
        );
    }
    let wrong = answers.iter().filter(|answer| is_false(answer)).count();
    let (low, high) = stats::slow::clopper_pearson(wrong, answers.len(), 0.95);
    let share = wrong as f64 / answers.len() as f64;
    let limit = FALSE_SHARE_MAX + 2.0 * (FALSE_SHARE_MAX * (1.0 - FALSE_SHARE_MAX) / answers.len() as f64).sqrt();
    let goal = goals.at_most("share of studies that claim a difference of equals", share, limit);
    println!("{:.1} % false, {:.1} to {:.1} % ({goal})", share * 100.0, low * 100.0, high * 100.0);
    goals.end()
}

/// Answers of a bench that was stopped.
fn kept(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of this bench")).collect()
}

fn is_false(answer: &Value) -> bool {
    answer["false"].as_array().is_some_and(|claims| !claims.is_empty())
}

/// Runs a study of equals: which of its claims are false, and how far the interval of each reaches.
fn study(folder: &Path, engine: &str, rounds: u32, seconds: &str) -> Value {
    let text = format!(
        "name = \"equals\"\nquestion = \"?\"\n[factors]\n\"storage.mount\" = [[\"relatime\"], [\"rw\"], [\"async\"]]\n\
         [storage]\nsize = \"512MiB\"\nfilesystem = \"ext4\"\n[workload.oltp]\nengine = \"{engine}\"\ntable_size = 5000\n\
         time = \"{seconds}\"\n[design]\norder = \"turns\"\nrounds_min = {rounds}\nrounds_max = {rounds}\nwarm_up_runs = 1\nruns = 4\n\
         turn = \"250ms\"\nprobe = \"0s\"\n"
    );
    let report = goals::studied(Path::new(env!("CARGO_BIN_EXE_surefoot")), folder, "equals", &text);
    let json: Value = serde_json::from_str(&report).expect("a report is JSON");
    let part = &json["analysis"]["workloads"][0];
    let claims = part["claims"].as_array().expect("claims").iter();
    let told = |claim: &Value| json!([claim["of"], claim["against"], claim["verdict"], claim["low"], claim["high"]]);
    let is_claimed = |claim: &&Value| ["faster", "slower"].iter().any(|verdict| claim["verdict"] == *verdict);
    json!({
        "engine": engine,
        "compared": claims.len(),
        "false": claims.clone().filter(is_claimed).map(told).collect::<Vec<_>>(),
        "open": claims.filter(|claim| !is_claimed(claim)).map(told).collect::<Vec<_>>(),
        "control": told(&part["control"]),
        "picked": part["pick"],
    })
}
