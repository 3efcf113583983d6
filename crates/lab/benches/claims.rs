//! How often claims are false, on data that are bad: the table of docs/statistics.md, by seed, the same on every machine.
//!
//! `cargo bench --locked -p lab --bench claims`, or `make simulations`.

#[path = "../tests/it/claimed.rs"]
mod claimed;

use claimed::{RULES, Wrong, share};
use ledger::groups;
use stats::interval::t_quantile;
use stats::{Observations, Rules};

fn main() {
    // `cargo test --benches` runs it with small numbers.
    let is_test = !std::env::args().any(|word| word == "--bench");
    let studies = if is_test { 20 } else { 10_000 };
    println!("{studies} studies a line\n\n| studies | what is said | of so many |\n|---|---|---|");
    let line = |what: &str, said: &str, is_so: &dyn Fn(u64) -> bool| {
        println!("| {what} | {said} | {:.1} % |", 100.0 * share(studies, is_so));
    };
    for count in [2, 4, 5, 6, 8] {
        line(&format!("{count} equals, 50 % drift over 6 rounds"), "a difference", &|seed| {
            claimed::drifting(seed, count, 0.5)
        });
    }
    let unpaid = |_| Rules { confidence: 0.9, ..RULES };
    for looks in [&[6][..], &[6, 12], &[6, 12, 24], &[6, 8, 10, 12, 16, 20, 30]] {
        let name = format!("2 equals, answers after {looks:?} rounds");
        line(&name, "a difference", &|seed| claimed::looked_again(seed, looks, |looks| Rules { looks, ..RULES }));
        line(&name, "a difference, each at 5 %", &|seed| claimed::looked_again(seed, looks, unpaid));
    }
    for noise in [0.02, 0.03, 0.04] {
        let name = format!("2 equals, noise {:.0} %, the stop rule, then 20 more rounds twice", noise * 100.0);
        line(&name, "a difference", &|seed| claimed::stopped_and_looked_again(seed, noise));
    }
    let broken_off = "2 equals, broken off after 4 to 20 rounds where a difference is shown";
    let part = |round| analysis::looks::share(round, 20);
    line(broken_off, "a difference", &|seed| claimed::broken_off(seed, part));
    line(broken_off, "a difference, each at 2.5 %", &|seed| claimed::broken_off(seed, |_| 1.0));
    for count in [2, 4, 6] {
        line(&format!("{count} neighbours 3 % apart, noise 1 %"), "the same", &|seed| {
            claimed::neighbours_are_called_the_same(seed, count, 0.01)
        });
    }
    for family in [1, 3, 6, 28] {
        line(&format!("1 of {family} comparisons is just visible"), "a difference", &|seed| {
            claimed::visible_is_found(seed, family, 0.05)
        });
    }
    for count in [2, 4, 8, 24] {
        let name = format!("{count} equals, 6 rounds");
        line(&name, "an interval of the pick that holds", &|seed| claimed::picked_interval_holds(seed, count)[0]);
        line(&name, "the same, uncorrected", &|seed| claimed::picked_interval_holds(seed, count)[1]);
    }
    for missing in [0.0, 0.15, 0.3] {
        let name = format!("6 within 4 %, {:.0} % of trials missing", missing * 100.0);
        line(&name, "the best is in the best set", &|seed| claimed::holes(seed, missing, 0.03)[0]);
        line(&name, "the pick's bound holds", &|seed| claimed::holes(seed, missing, 0.03)[1]);
    }
    for slow in [0.0, 0.05, 0.1, 0.2] {
        let name = format!("2 of equal mean, 288 turns, {:.0} % of one's at half speed", slow * 100.0);
        line(&name, "a difference or the same, by means", &|seed| claimed::slow_turns(seed, slow, 0.02)[0]);
        line(&name, "that, where shapes are alike", &|seed| claimed::slow_turns(seed, slow, 0.02)[1]);
    }
    for (count, up_max) in [(6, 4), (6, 5), (13, 8)] {
        let name = format!("{count} equals in groups of up to {up_max}, 6 rounds");
        line(&name, "a difference", &|seed| is_claimed(&claimed::grouped(seed, count, up_max, &groups::adjusted)));
        let plain = |seed| claimed::grouped(seed, count, up_max, &groups::plain);
        line(&name, "a difference, nothing taken off", &|seed| is_claimed(&plain(seed)));
    }
    for (sessions, day) in [(1, 0.02), (1, 0.05), (4, 0.05), (6, 0.05)] {
        let name = format!("equal results, days differ by {:.0} %, {sessions} sessions a side", day * 100.0);
        line(&name, "a change", &|seed| claimed::sessions_differ(seed, sessions, day));
    }
    for (change_places, order) in [(false, "A B A B"), (true, "A B B A")] {
        let name = format!("equal results, 20 % drift over 4 sessions a side, {order}");
        line(&name, "a change", &|seed| claimed::sessions_drift(seed, 0.2, change_places));
    }
    of_turns(&line);
    print_price();
}

/// Whether something is true of the study with this seed.
type Study<'a> = &'a dyn Fn(u64) -> bool;

/// Rounds of turns, tails, bounds.
fn of_turns(line: &dyn Fn(&str, &str, Study<'_>)) {
    for (by_turns, name) in [(false, "blocks of 6 s"), (true, "24 turns of 1 s")] {
        let kept = claimed::long_correlation(by_turns);
        let name = format!("2 equals, 6 rounds, {name} (neighbouring rounds correlate by {kept:.2})");
        line(&name, "a difference", &|seed| claimed::first_answer(seed, by_turns, false));
        line(&name, "a difference, widened by lag 1", &|seed| claimed::first_answer(seed, by_turns, true));
    }
    let wrongs = [
        ("2 equals", Wrong::default()),
        ("2 of equal mean, latencies of one 10 % longer", Wrong { tail: 0.1, ..Wrong::default() }),
        ("2 of equal mean, a tenth of one's turns at half speed", Wrong { slow: 0.1, ..Wrong::default() }),
    ];
    for (name, wrong) in wrongs {
        let name = format!("{name}, 12 rounds of 24 turns of 1 s");
        let said = ["means differ", "latency's tail differs", "worst seconds differ", "a percentile of speed differs"];
        for (which, said) in said.into_iter().enumerate() {
            line(&name, said, &|seed| claimed::tails_shown(seed, 12, wrong)[which]);
        }
        line(&name, "one is slow more often", &|seed| claimed::stalls_shown(seed, 12, wrong));
    }
    for carried in [0.0, 0.03, 0.05, 0.1] {
        let name = format!("2 equals, 8 rounds of 24 turns, a turn after one of them {:.0} % slower", carried * 100.0);
        let wrong = Wrong { carried, ..Wrong::default() };
        line(&name, "a carry-over", &|seed| claimed::carry_over_shown(seed, wrong));
    }
    for looks in [&[6][..], &[6, 12, 24], &[6, 8, 10, 12, 16, 20, 30]] {
        let name = format!("6 within 4 %, answers after {looks:?} rounds");
        let alpha = |looks| Rules { looks, ..RULES }.alpha();
        line(&name, "a bound or the best set fails", &|seed| claimed::bound_fails(seed, looks, alpha));
        line(&name, "the same, each at 5 %", &|seed| claimed::bound_fails(seed, looks, |_| 0.05));
    }
}

/// How much wider the interval of an answer's level is than one at 5 %.
fn print_price() {
    println!("\n| rounds | first answer | second | third |\n|---|---|---|---|");
    for rounds in [6, 12, 24] {
        let width = |alpha: f64| t_quantile(1.0 - alpha / 2.0, rounds - 1);
        let price = [1, 2, 3].map(|looks| width(Rules { looks, ..RULES }.alpha()) / width(0.05));
        println!("| {rounds} | {:.2} | {:.2} | {:.2} |", price[0], price[1], price[2]);
    }
}

fn is_claimed(study: &Observations) -> bool {
    stats::analyse(study, &RULES).claims.iter().any(|claim| claim.verdict.is_claim())
}
