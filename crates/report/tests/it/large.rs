//! A large ledger becomes a small page: dots, rows and lines are capped, and the page says so.

use crate::fixture::{self, Row, Table};
use ledger::Writer;
use ledger::model::{Place, TrialState};
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use observe::record::{Provisioned, Run};
use std::path::Path;
use std::time::Duration;

/// How many trials and runs a ledger shall have.
struct Size {
    scenarios: usize,
    rounds: usize,
    runs: usize,
}

/// More runs than a chart has lines for, and no more of them. `LEDGER_SHAPE=20,50,100` measures another size: scenarios, rounds, runs a trial.
fn size() -> Size {
    let shape = std::env::var("LEDGER_SHAPE").unwrap_or("8,40,2".into());
    let numbers: Vec<usize> =
        shape.split(',').map(|number| number.parse().expect("LEDGER_SHAPE is three numbers")).collect();
    Size { scenarios: numbers[0], rounds: numbers[1], runs: numbers[2] }
}

fn write(path: &Path, size: &Size) {
    let rows = (0..size.scenarios).map(|i| Row::new(&format!("filesystem {i}"), &[])).collect();
    let empty = fixture::contents(&Table { rows, ..fixture::filesystems_and_buffers() });
    let mut writer = Writer::create_or_open(path).expect("the test's own file or program");
    writer.set_study(&empty.study, &empty.scenarios, None).expect("the test's own file or program");
    writer.begin_session(&empty.sessions[0].machine, 1e9).expect("the test's own file or program");
    let names: Vec<String> = (0..40).map(|i| format!("device_figure_{i}")).collect();
    let mut latency = Latency::default();
    (1..2_000).for_each(|i| latency.record(Duration::from_micros(i * i % 7_919 + 50)));
    for round in 0..size.rounds {
        for (i, scenario) in empty.scenarios.iter().enumerate() {
            let now = 1e9 + (round * size.scenarios + i) as f64;
            let trial = writer
                .begin_trial(&scenario.label, Place::main(round as u32, i as u32), 7, now)
                .expect("the test's own file or program");
            let commands = vec![format!("mkfs.x {i}")];
            writer
                .provisioned(trial, &Provisioned { commands, ..Provisioned::default() })
                .expect("the test's own file or program");
            for run in 0..size.runs {
                let noise = ((round * 37 + i * 101 + run * 13) % 97) as f64 / 97.0;
                let value = (1000.0 + 20.0 * i as f64) * (1.0 + 0.02 * noise);
                let mut metrics: Vec<_> = names
                    .iter()
                    .map(|name| Metric::named(name.clone(), "B".into(), Direction::Neither).at(value * 3.0))
                    .collect();
                metrics.push(fixture::transactions().at(value));
                let series = [("transactions_per_second".to_string(), vec![value; 30])].into();
                let latencies = [("transaction".to_string(), latency.clone())].into();
                let record =
                    Run { run: run as u32, warm_up: false, started: now, seconds: 30.0, metrics, latencies, series };
                writer.run(trial, &record).expect("the test's own file or program");
            }
            writer
                .finish_trials(&[(trial, TrialState::Finished, None)], now + 0.5)
                .expect("the test's own file or program");
        }
    }
    writer.end_session("all rounds are done", 2e9).expect("the test's own file or program");
}

#[test]
fn a_large_ledger_becomes_a_small_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var_os("LEDGER_FILE").map_or(folder.path().join("large.surefoot"), Into::into);
    let size = size();
    if !path.exists() {
        write(&path, &size);
    }
    let begun = std::time::Instant::now();
    let input = report::load(&path).unwrap();
    println!("loaded in {:?}", begun.elapsed());
    let answer = report::answer(&input);
    println!("answered in {:?}: {}", begun.elapsed(), answer[0]);
    fixture::is_short(&input);
    let html = report::html(&input);
    println!("page of {} bytes after {:?}", html.len(), begun.elapsed());
    println!(
        "{}",
        std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|line| line.starts_with("VmHWM")).unwrap()
    );
    assert!(html.len() < 4 << 20, "{} bytes", html.len());
    let terminal = report::terminal(&input, 100, false);
    assert!(terminal.contains(&format!("Pick filesystem {}", size.scenarios - 1)), "{terminal}");
}
