//! What is advised of the length of trials, on the simulated bench: followed, it reaches what was wanted, in the time that was said.

use crate::groups::conduct;
use crate::simulated::Simulated;
use crate::{contents, machine, text};
use analysis::view::View;
use lab::bench::Bench as _;

/// A trial of 190 s and its runs of 5 s, which stray by so much from trial to trial, and within one.
fn bench(seed: u64, noise: f64, run_noise: f64) -> Simulated {
    let mut bench = machine();
    (bench.seed, bench.noise, bench.run_noise) = (seed, noise, run_noise);
    (bench.run_seconds, bench.trial_seconds) = (5.0, 190.0);
    bench
}

fn study(bench: &mut Simulated, runs: u32, rounds: u32, order: &str) -> View {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let design = format!(
        "order = \"{order}\"\nruns = {runs}\nwarm_up_runs = 0\nrounds_min = {rounds}\nrounds_max = {rounds}\nprecision = \"1%\"\nmargin = \"1%\""
    );
    conduct(&text(&["ext4", "xfs", "btrfs"], &design), bench, &results, false);
    View::of(&contents(&results), &analysis::details::Details::default(), workloads::is_choice)
}

/// Half of the widest interval's width.
fn half_width(view: &View) -> f64 {
    view.parts[0].judgement.half_width_max.expect("rounds")
}

#[test]
fn a_new_study_with_the_advised_runs_is_as_narrow_and_takes_as_long_as_was_said() {
    const SEEDS: u64 = 6;
    let (mut advised, mut reached) = (0, 0);
    for seed in 0..SEEDS {
        let view = study(&mut bench(seed, 0.005, 0.1), 2, 16, "blocks");
        let cost = view.precision_cost.as_ref().expect("runs and rounds");
        assert!((cost.round.setup_seconds / 4.0 - 190.0).abs() < 1e-3, "three and the control: {cost:?}");
        assert!((cost.round.run_seconds / 4.0 - 5.0).abs() < 1e-3, "{cost:?}");
        let wanted = half_width(&view) / 2.0;
        // Half as wide takes four times the rounds. Few rounds may look as if they strayed themselves.
        let Some(cheaper) = cost.cheaper(wanted, cost.seconds(4 * 16 - 16)) else { continue };
        assert!(cheaper.runs > 2 && cheaper.runs <= 8, "{cheaper:?}");
        advised += 1;
        let mut again = bench(seed + 1000, 0.005, 0.1);
        let begun = again.now();
        let found = half_width(&study(&mut again, cheaper.runs, cheaper.rounds, "blocks"));
        let took = again.now() - begun;
        assert!((took / cheaper.seconds - 1.0).abs() < 0.01, "{took} for {cheaper:?}");
        reached += u32::from(found <= wanted * 1.25);
    }
    assert!(advised >= 4 && reached >= advised - 1, "{advised} were advised, and {reached} became as narrow");
}

#[test]
fn what_strays_from_trial_to_trial_takes_shorter_ones() {
    let view = study(&mut bench(1, 0.1, 0.01), 40, 8, "blocks");
    let cost = view.precision_cost.as_ref().expect("runs and rounds");
    let cheaper = cost.cheaper(0.05, cost.seconds(30)).expect("most of a trial's runs tell nothing");
    assert!(cheaper.runs <= 2, "{cheaper:?}");
    // Three runs are not far from the best number, so that there is no reason to begin anew.
    let view = study(&mut bench(1, 0.1, 0.03), 3, 8, "blocks");
    let cost = view.precision_cost.as_ref().expect("runs and rounds");
    assert_eq!(cost.cheaper(0.05, cost.seconds(20)), None, "{cost:?}");
}

#[test]
fn nothing_is_advised_where_too_little_is_known() {
    let of = |runs, rounds, order| study(&mut bench(1, 0.01, 0.1), runs, rounds, order).precision_cost;
    assert!(of(2, 8, "blocks").is_some());
    assert_eq!(of(1, 8, "blocks"), None, "one run has no spread");
    assert_eq!(of(2, 3, "blocks"), None, "three rounds claim nothing");
    assert_eq!(of(2, 8, "turns"), None, "turns by the clock have their own choice of lengths");
    let mut stalls = bench(1, 0.01, 0.1);
    stalls.stalls = ("xfs".into(), 0.5);
    assert_eq!(study(&mut stalls, 2, 8, "blocks").precision_cost, None, "a run of 0");
}
