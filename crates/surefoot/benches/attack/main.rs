//! An attack on surefoot's promises with the real program: nothing needed is formatted, nothing measured is lost, nothing is left behind,
//! no input makes it panic. `make attack`; `cargo bench -p surefoot --bench attack -- --only guard` does one part, `--seed N` does again
//! what a run with that seed did, `--kills N` kills more often. `cargo test` runs it with a few cases of each part.
//!
//! It needs root, loop devices and the packages of `make test`. What it makes lies in a folder of its own below /var/tmp, and only
//! processes that it started are killed. It ends with a table, and with status 1 where something did not hold.
//!
//! First it breaks promises itself, and must see each of these: an attack that can't fail shows nothing.

mod archives;
mod files;
mod guard;
#[path = "../../tests/end_to_end/harness.rs"]
#[allow(dead_code)]
mod harness;
mod kills;
mod left;
mod locks;
mod numbers;
mod planted;
mod report;
mod stage;

use stage::Stage;

/// A part: its name, what it tries.
type Part = (&'static str, fn(&mut Stage));

const PARTS: &[Part] = &[
    ("planted", planted::attack),
    ("guard", guard::attack),
    ("locks", locks::attack),
    ("archives", archives::attack),
    ("files", files::attack),
    ("numbers", numbers::attack),
    ("kills", kills::attack),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_test = !arguments.iter().any(|a| a == "--bench") || arguments.iter().any(|a| a == "--test");
    let value = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str| value(name).and_then(|text| text.parse::<u64>().ok());
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs());
    let mut stage =
        Stage::new(is_test, number("--seed").unwrap_or_else(clock), number("--kills").map(|kills| kills as usize));
    let only = value("--only").map_or("", String::as_str);
    for (name, attack) in PARTS.iter().filter(|(name, _)| only.is_empty() || *name == only) {
        stage.begin(name);
        attack(&mut stage);
        stage.nothing_left();
    }
    std::process::exit(i32::from(!stage.finish()));
}
