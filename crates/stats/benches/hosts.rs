//! What intervals over hosts hold: the table of docs/fleet.md, by seed, the same on every machine.
//!
//! `cargo bench --locked -p stats --bench hosts`, or `make simulations`.

#[path = "../tests/it/noise.rs"]
mod noise;

#[path = "../tests/it/fleets.rs"]
mod fleets;

use fleets::{Kind, shares};

fn main() {
    // `cargo test --benches` runs it with small numbers.
    let is_test = !std::env::args().any(|word| word == "--bench");
    let fleets = if is_test { 20 } else { 20_000 };
    println!("{fleets} fleets a line, scenarios that are equal over all machines, 3 % noise from round to round\n");
    println!(
        "| hosts | rounds on each | hosts differ by | the interval holds | the prediction holds | a host is blamed | rounds as the unit: holds |"
    );
    println!("|---|---|---|---|---|---|---|");
    for hosts in [4, 8, 16, 32, 64] {
        for interaction in [0.0, 0.02, 0.05, 0.1] {
            for missing in [0.0, 0.3] {
                let kind = Kind { hosts, rounds: 3, missing, interaction, noise: 0.03 };
                let [covers, pool, predicts, blames] =
                    shares(fleets, &kind).map(|share| format!("{:.1} %", share * 100.0));
                let rounds = if missing > 0.0 { "3, of which 30 % are missing" } else { "3" };
                println!(
                    "| {hosts} | {rounds} | {:.0} % | {covers} | {predicts} | {blames} | {pool} |",
                    interaction * 100.0
                );
            }
        }
    }
}
