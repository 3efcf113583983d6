//! Which scenarios screen a large study: a part of them by which each factor's own effect can be told from pairs of factors.
//!
//! Factors of two levels go by a fraction of resolution IV or a Plackett-Burman design with its mirror image; a factor with more
//! levels is kept at all of them and crossed with that. A sign is + for the baseline's level, so that the baseline is always among
//! them. What the figures then say is the business of `stats::screening`.

use crate::own_settings::Screening;
use crate::plan::PlannedScenario;
use std::collections::HashSet;

/// `screen = "auto"` leaves smaller studies alone: of 32 scenarios a fraction has 16, and as many are studied after it.
pub const AUTO_FROM: usize = 64;

/// Factors that a screen keeps at most.
pub const KEPT_MAX: usize = 4;

/// Letters of factors in generators; there is no I, which stands for the mean.
const LETTERS: &[u8] = b"ABCDEFGHJKLMNOPQRST";

/// Factors, those whose levels are counted through, and the products of these that the others go by. Montgomery, Design and Analysis
/// of Experiments, table of 2^(k-p) designs; from twelve factors on any products of odd length do.
const FRACTIONS: &[(usize, usize, &[&str])] = &[
    (4, 3, &["ABC"]),
    (5, 4, &["ABCD"]),
    (6, 4, &["ABC", "BCD"]),
    (7, 4, &["ABC", "BCD", "ACD"]),
    (8, 4, &["BCD", "ACD", "ABC", "ABD"]),
    (9, 5, &["BCDE", "ACDE", "ABDE", "ABCE"]),
    (10, 5, &["ABCD", "ABCE", "ABDE", "ACDE", "BCDE"]),
    (11, 5, &["ABC", "BCD", "CDE", "ACD", "ADE", "BDE"]),
    (12, 5, &["ACE", "ACD", "ABD", "ABE", "CDE", "ABCDE", "ADE"]),
    (13, 5, &["ACE", "ACD", "ABD", "ABE", "CDE", "ABCDE", "ADE", "ABC"]),
];

/// First rows; the others are this one shifted round, and one of minus signs. Plackett and Burman, Biometrika 33 (1946).
const PLACKETT_BURMAN: &[&str] = &["++-+++---+-", "++--++++-+-+----++-"];

/// Signs of factors of two levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoLevel {
    /// What it is called.
    pub name: String,
    /// `[run][factor]`: whether it is +.
    pub runs: Vec<Vec<bool>>,
}

impl TwoLevel {
    /// The fraction of resolution IV or more with the fewest runs; none below four factors, where all runs are needed.
    pub fn fraction(factors: usize) -> Option<TwoLevel> {
        let (_, counted, products) = FRACTIONS.iter().find(|fraction| fraction.0 == factors)?;
        let sign = |run: usize, letter: u8| run >> (letter - b'A') & 1 == 1;
        let run = |run: usize| {
            let product = |word: &&str| word.bytes().filter(|letter| !sign(run, *letter)).count() % 2 == 0;
            let plain = LETTERS[..*counted].iter().map(|letter| sign(run, *letter));
            plain.chain(products.iter().map(product)).collect()
        };
        let resolution = if factors == 5 { "V" } else { "IV" };
        Some(TwoLevel {
            name: format!("2^({factors}-{}) fraction of resolution {resolution}", products.len()),
            runs: (0..1 << counted).map(run).collect(),
        })
    }

    /// Plackett and Burman's design of 12 or 20 runs with its mirror image; none of so few factors that runs come twice.
    pub fn plackett_burman(factors: usize) -> Option<TwoLevel> {
        let row = PLACKETT_BURMAN.iter().find(|row| row.len() >= factors)?;
        let length = row.len();
        let shifted = |shift: usize| (0..factors).map(move |factor| row.as_bytes()[(factor + length - shift) % length]);
        let mut runs: Vec<Vec<bool>> =
            (0..length).map(|shift| shifted(shift).map(|sign| sign == b'+').collect()).collect();
        runs.push(vec![false; factors]);
        let mirrored: Vec<Vec<bool>> = runs.iter().map(|run| run.iter().map(|sign| !sign).collect()).collect();
        runs.extend(mirrored);
        let name = format!("Plackett-Burman design of {} scenarios with its mirror image", length + 1);
        // Of few factors some runs come twice, and a scenario counts once.
        let is_distinct = runs.iter().collect::<HashSet<_>>().len() == runs.len();
        is_distinct.then_some(TwoLevel { name, runs })
    }

    fn smallest(factors: usize) -> Option<TwoLevel> {
        let all = [TwoLevel::fraction(factors), TwoLevel::plackett_burman(factors)];
        all.into_iter().flatten().min_by_key(|design| design.runs.len())
    }

    /// Pairs of factors whose effect together has the same signs in every run, so that only its sum with the others' is seen.
    pub fn alike(&self) -> Vec<Vec<[usize; 2]>> {
        let mut groups: Vec<(Vec<bool>, Vec<[usize; 2]>)> = Vec::new();
        for [a, b] in self.pairs() {
            let column: Vec<bool> = self.runs.iter().map(|run| run[a] == run[b]).collect();
            match groups.iter_mut().find(|group| group.0 == column) {
                Some(group) => group.1.push([a, b]),
                None => groups.push((column, vec![[a, b]])),
            }
        }
        groups.into_iter().map(|group| group.1).filter(|pairs| pairs.len() > 1).collect()
    }

    /// Whether some pairs are mixed in part only, as in a Plackett-Burman design: no pair is told for certain.
    pub fn mixes_pairs(&self) -> bool {
        let same = |[a, b]: [usize; 2], [c, d]: [usize; 2]| {
            self.runs.iter().filter(|run| (run[a] == run[b]) == (run[c] == run[d])).count()
        };
        let half = self.runs.len() / 2;
        let pairs: Vec<[usize; 2]> = self.pairs().collect();
        pairs.iter().any(|one| pairs.iter().any(|other| ![0, half, self.runs.len()].contains(&same(*one, *other))))
    }

    fn pairs(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let factors = self.runs[0].len();
        (0..factors).flat_map(move |a| (a + 1..factors).map(move |b| [a, b]))
    }
}

/// How one workload's scenarios are screened.
#[derive(Debug, Clone, PartialEq)]
pub struct Screen {
    /// Whose scenarios.
    pub workload: String,
    /// The signs of the factors of two levels.
    pub design: TwoLevel,
    /// Factors of two levels, then those that are kept at all levels; each with its levels, the baseline's first.
    pub factors: Vec<(String, Vec<String>)>,
    /// How many of them have two levels.
    pub two_level: usize,
    /// Indices into the plan.
    pub scenarios: Vec<usize>,
    /// Scenarios that the workload has, the control left out.
    pub of: usize,
}

impl Screen {
    /// What is screened of a workload with these scenarios.
    ///
    /// # Errors
    /// With the reason why nothing is.
    pub fn of<S>(workload: &str, scenarios: &[PlannedScenario<S>], wanted: Screening) -> Result<Screen, String> {
        let is_of = |index: &usize| scenarios[*index].workload == workload && !scenarios[*index].control;
        let of: Vec<usize> = (0..scenarios.len()).filter(is_of).collect();
        if wanted == Screening::Auto && of.len() < AUTO_FROM {
            return Err(format!("{} scenarios are fewer than the {AUTO_FROM} from which \"auto\" screens", of.len()));
        }
        let mut factors = factors(&of, scenarios);
        let levels = |index: &usize| factors.iter().map(|(name, _)| scenarios[*index].levels.get(name)).collect();
        let combinations: HashSet<Vec<Option<&String>>> = of.iter().map(levels).collect();
        let product: usize = factors.iter().map(|(_, levels)| levels.len()).product();
        if combinations.len() != product || of.len() != product {
            let what =
                "a screen needs every combination of levels once: no exclude, include of other levels, or --only";
            return Err(format!("its {} scenarios are not the {product} of all levels; {what}", of.len()));
        }
        factors.sort_by_key(|(_, levels)| levels.len() > 2);
        let two_level = factors.iter().filter(|(_, levels)| levels.len() == 2).count();
        let design = match wanted {
            Screening::Off => return Err("the study wants none".into()),
            Screening::Auto => TwoLevel::smallest(two_level),
            Screening::Fraction => TwoLevel::fraction(two_level),
            Screening::PlackettBurman => TwoLevel::plackett_burman(two_level),
        };
        let least = if wanted == Screening::PlackettBurman { "six" } else { "four" };
        let design = design.ok_or_else(|| {
            let most = "a factor with more levels is kept at all of them";
            format!("factors of two levels: {two_level}, where a screen saves from {least} to thirteen; {most}")
        })?;
        let mut screen =
            Screen { workload: workload.into(), design, factors, two_level, scenarios: Vec::new(), of: of.len() };
        let runs: HashSet<&Vec<bool>> = screen.design.runs.iter().collect();
        let signs = |index: usize| -> Vec<bool> {
            let is_first =
                |(name, levels): &(String, Vec<String>)| scenarios[index].levels.get(name) == Some(&levels[0]);
            screen.factors[..two_level].iter().map(is_first).collect()
        };
        let screened: Vec<usize> = of.into_iter().filter(|index| runs.contains(&signs(*index))).collect();
        screen.scenarios = screened;
        Ok(screen)
    }

    /// Scenarios that are studied after it at most.
    pub fn kept_max(&self) -> usize {
        let mut counts: Vec<usize> = self.factors.iter().map(|(_, levels)| levels.len()).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.iter().take(KEPT_MAX).product()
    }

    /// What it is, in words.
    pub fn words(&self) -> String {
        let full: Vec<&str> = self.factors[self.two_level..].iter().map(|(name, _)| name.as_str()).collect();
        let crossed = if full.is_empty() { String::new() } else { format!(", at every level of {}", full.join(", ")) };
        format!("a {}{crossed}", self.design.name)
    }

    /// Pairs of factors that are seen as a sum only.
    pub fn alike(&self) -> Vec<Vec<[String; 2]>> {
        let named = |pair: [usize; 2]| pair.map(|factor| self.factors[factor].0.clone());
        self.design.alike().into_iter().map(|pairs| pairs.into_iter().map(named).collect()).collect()
    }

    /// What it can't see, whatever is measured, a phrase each.
    pub fn unseen(&self) -> Vec<String> {
        let mut all =
            vec!["what three factors or more do only together: that is taken for the effect of fewer".to_string()];
        if self.design.mixes_pairs() {
            all.push("which pair of factors of two levels acts together: each is mixed with others in part".into());
        } else if !self.design.alike().is_empty() {
            all.push("which of the pairs acts together that are seen as a sum only".into());
        }
        all.push("what the levels that are then fixed would do together with what is picked".into());
        all
    }
}

/// Factors with more than one level and their levels, the baseline's first.
fn factors<S>(of: &[usize], scenarios: &[PlannedScenario<S>]) -> Vec<(String, Vec<String>)> {
    let mut factors: Vec<(String, Vec<String>)> = Vec::new();
    let baseline = of.iter().filter(|index| scenarios[**index].baseline);
    for (factor, level) in baseline.chain(of).flat_map(|index| &scenarios[*index].levels) {
        match factors.iter_mut().find(|known| known.0 == *factor) {
            Some((_, levels)) if levels.contains(level) => {}
            Some((_, levels)) => levels.push(level.clone()),
            None => factors.push((factor.clone(), vec![level.clone()])),
        }
    }
    factors.retain(|(_, levels)| levels.len() > 1);
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn designs() -> Vec<TwoLevel> {
        let fractions = (4..=13).filter_map(TwoLevel::fraction);
        fractions.chain((5..=19).filter_map(TwoLevel::plackett_burman)).collect()
    }

    /// The sum over runs of the product of these factors' signs.
    fn sum(design: &TwoLevel, factors: &[usize]) -> i64 {
        let product = |run: &Vec<bool>| if factors.iter().filter(|f| !run[**f]).count() % 2 == 0 { 1 } else { -1 };
        design.runs.iter().map(product).sum()
    }

    #[test]
    fn no_factor_is_mixed_with_another_or_with_a_pair() {
        let all = designs();
        assert_eq!(all.len(), 10 + 14);
        for design in all {
            let factors = design.runs[0].len();
            for a in 0..factors {
                assert_eq!(sum(&design, &[a]), 0, "{}", design.name);
                for b in a + 1..factors {
                    assert_eq!(sum(&design, &[a, b]), 0, "{}", design.name);
                    for c in b + 1..factors {
                        assert_eq!(sum(&design, &[a, b, c]), 0, "{}", design.name);
                    }
                }
            }
            assert!(design.runs.contains(&vec![true; factors]), "the baseline is in {}", design.name);
            assert_eq!(design.runs.iter().collect::<HashSet<_>>().len(), design.runs.len());
        }
    }

    fn alike(design: &TwoLevel) -> Vec<String> {
        let pair = |pair: &[usize; 2]| pair.map(|factor| LETTERS[factor] as char).iter().collect::<String>();
        let group = |pairs: &Vec<[usize; 2]>| pairs.iter().map(pair).collect::<Vec<_>>().join("=");
        design.alike().iter().map(group).collect()
    }

    /// Montgomery's tables; those of 2^(7-3) are NIST's, too (Engineering Statistics Handbook 5.3.3.4.7).
    #[test]
    fn pairs_are_mixed_as_published() {
        let fraction = |factors| TwoLevel::fraction(factors).expect("in the table");
        assert_eq!(alike(&fraction(4)), ["AB=CD", "AC=BD", "AD=BC"]);
        assert!(alike(&fraction(5)).is_empty(), "of resolution V");
        assert_eq!(alike(&fraction(6)), ["AB=CE", "AC=BE", "AD=EF", "AE=BC=DF", "AF=DE", "BD=CF", "BF=CD"]);
        let of_seven = ["AB=CE=FG", "AC=BE=DG", "AD=CG=EF", "AE=BC=DF", "AF=BG=DE", "AG=BF=CD", "BD=CF=EG"];
        assert_eq!(alike(&fraction(7)), of_seven);
        assert_eq!(alike(&fraction(8)).len(), 7);
        let sizes: Vec<usize> = (4..=13).map(|factors| fraction(factors).runs.len()).collect();
        assert_eq!(sizes, [8, 16, 16, 16, 16, 32, 32, 32, 32, 32]);
        assert!((4..=13).all(|factors| !fraction(factors).mixes_pairs()));
    }

    /// The rows of the published design, and which is taken for how many factors.
    #[test]
    fn plackett_and_burman_with_a_mirror() {
        let twelve = TwoLevel::plackett_burman(11).expect("eleven factors");
        let row =
            |index: usize| twelve.runs[index].iter().map(|sign| if *sign { '+' } else { '-' }).collect::<String>();
        assert_eq!((row(0), row(1), row(11)), ("++-+++---+-".into(), "-++-+++---+".into(), "-----------".into()));
        assert_eq!(row(12), "--+---+++-+");
        assert!(twelve.mixes_pairs() && twelve.alike().is_empty());
        assert_eq!(TwoLevel::plackett_burman(12).expect("twelve factors").runs.len(), 40);
        let chosen: Vec<usize> = (4..=13).map(|factors| TwoLevel::smallest(factors).expect("one").runs.len()).collect();
        assert_eq!(chosen, [8, 16, 16, 16, 16, 24, 24, 24, 32, 32]);
        assert!(TwoLevel::smallest(3).is_none() && TwoLevel::smallest(20).is_none());
    }
}
