//! Errors of equals: how often one is ruled out by chance, and what is found.

use crate::noise::Noise;
use stats::Counted;
use stats::shares::is_larger;

/// Errors at this rate: the gaps between them are exponential.
fn errors(random: &mut Noise, rate: f64) -> f64 {
    let (mut time, mut count) = (0.0, 0.0);
    loop {
        time -= random.uniform().max(1e-300).ln();
        if time > rate {
            return count;
        }
        count += 1.0;
    }
}

/// Of so many studies of three scenarios over six rounds of a million requests, in which share the first is ruled out by another. `rates`: errors
/// in a round; `burst`: each comes with so many more, on average.
fn ruled_out(studies: u64, rates: [f64; 3], burst: f64) -> f64 {
    let of_study = |seed: u64| {
        let mut random = Noise(seed * 7919 + 3);
        let mut wrong = |rate: f64| {
            let bursts = errors(&mut random, rate);
            bursts + (0..bursts as u64).map(|_| errors(&mut random, burst)).sum::<f64>()
        };
        let rounds: Vec<[f64; 3]> = (0..6).map(|_| rates.map(&mut wrong)).collect();
        let beside = |other: usize| -> Vec<[Counted; 2]> {
            let counted = |wrong| Counted { asked: 1e6, wrong };
            rounds.iter().map(|round| [counted(round[0]), counted(round[other])]).collect()
        };
        // As a first answer, by Bonferroni over the two others.
        (1..3).any(|other| is_larger(&beside(other), 0.025 / 2.0))
    };
    (0..studies).filter(|seed| of_study(*seed)).count() as f64 / studies as f64
}

#[test]
fn equals_are_seldom_ruled_out_by_their_errors_and_those_that_refuse_are() {
    const STUDIES: u64 = 4000;
    let error = 3.0 * (0.025_f64 * 0.975 / STUDIES as f64).sqrt();
    for (rate, burst) in [(0.2, 0.0), (2.0, 0.0), (50.0, 0.0), (0.5, 20.0), (5.0, 20.0)] {
        let share = ruled_out(STUDIES, [rate; 3], burst);
        println!("{rate} errors a round in bursts of {burst}: {:.2} % ruled out", share * 100.0);
        assert!(share <= 0.025 + error, "{rate}, {burst}: {share}");
    }
    assert!(ruled_out(STUDIES, [200.0, 2.0, 2.0], 20.0) > 0.99);
    assert!(ruled_out(STUDIES, [20.0, 1.0, 1.0], 0.0) > 0.95);
}
