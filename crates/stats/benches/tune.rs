//! What mode "tune" keeps and saves: the tables of docs/statistics.md, by seed, the same on every machine.
//!
//! `cargo bench --locked -p stats --bench tune`, or `make simulations`.

#[path = "../tests/it/noise.rs"]
mod noise;
#[path = "../tests/it/tuned.rs"]
mod tuned;

use tuned::{Run, Summary, drawn, recorded, repeat};

const ALL_ROUNDS: Run = Run { rounds_max: 16, may_stop: false, whole: false };
const AS_RUN: Run = Run { rounds_max: 16, may_stop: true, whole: true };

fn main() {
    // `cargo test --benches` runs it with small numbers.
    let is_test = !std::env::args().any(|word| word == "--bench");
    let studies = if is_test { 4 } else { 1000 };
    let spreads = [("equal", 0.0), ("close, 3 %", 0.03), ("spread, 10 %", 0.10), ("far, 30 %", 0.30)];
    println!("24 scenarios, noise 3 %, 16 rounds, {studies} studies each\n");
    head("scenarios");
    for (name, spread) in spreads {
        row(name, &repeat(studies, ALL_ROUNDS, &|random| drawn(24, spread, 0.03, random)));
    }
    println!("\nThe same as run: stop rule, baseline and control to the end, six new rounds of three scenarios\n");
    head("scenarios");
    for (name, spread) in spreads {
        row(name, &repeat(studies / 4, AS_RUN, &|random| drawn(24, spread, 0.03, random)));
    }
    println!("\nRecorded studies, 16 rounds, {studies} studies each\n");
    head("study");
    for (name, truth) in recorded() {
        let name = format!("{name}, {} scenarios", truth.speeds.len());
        row(&name, &repeat(studies, ALL_ROUNDS, &|_| truth.clone()));
    }
}

fn head(what: &str) {
    println!(
        "| {what} | best kept | trials, full | trials, tuned | saved | pick behind the best | said bound held | pick flattered | in new rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
}

fn row(name: &str, found: &Summary) {
    println!(
        "| {name} | {:.1} % | {:.0} | {:.0} | {:.1} % | {:.2} % | {:.1} % | {:+.2} % | {:+.2} % |",
        found.best_kept * 100.0,
        found.trials_full,
        found.trials,
        found.saved * 100.0,
        found.behind * 100.0,
        found.bound_held * 100.0,
        found.flattered * 100.0,
        found.flattered_confirmed * 100.0,
    );
}
