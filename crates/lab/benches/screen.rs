//! What a screen keeps and saves: the table of docs/statistics.md, by seed, the same on every machine.
//!
//! `cargo bench --locked -p lab --bench screen`, or `make simulations`.

#[path = "../tests/it/screened.rs"]
mod screened;

use screened::{Run, Truth, repeat};

fn main() {
    // `cargo test --benches` runs it with small numbers.
    let is_test = !std::env::args().any(|word| word == "--bench");
    let studies = if is_test { 4 } else { 1000 };
    let seven = Run { two_level: 7, levels: 4, rounds: 3, plackett_burman: false };
    let ten = Run { two_level: 10, levels: 1, ..seven };
    let runs = [
        ("7 of two levels and one of four, fraction", seven),
        ("the same in one round (Lenth)", Run { rounds: 1, ..seven }),
        ("10 of two levels, fraction", ten),
        ("10 of two levels, Plackett-Burman", Run { plackett_burman: true, ..ten }),
    ];
    println!("Noise 3 %, {studies} studies each\n");
    println!(
        "| factors, screen | active of two levels | pair | best kept | behind | factors kept | trials, full | trials | saved |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, run) in runs {
        for active in 2..=4 {
            for (pair, together, hidden) in
                [("none", false, false), ("of two active", true, false), ("of two idle", false, true)]
            {
                let found = repeat(studies, Truth { active, together, hidden, largest: 0.3 }, run);
                println!(
                    "| {name} | {active} | {pair} | {:.1} % | {:.2} % | {:.2} | {:.0} | {:.0} | {:.0} % |",
                    found.best_kept * 100.0,
                    found.behind.exp_m1() * 100.0,
                    found.factors,
                    found.trials_full,
                    found.trials,
                    (1.0 - found.trials / found.trials_full) * 100.0,
                );
            }
        }
    }
}
