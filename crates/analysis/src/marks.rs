//! Moments of a run that its chart marks: where it changed its level, and seconds in which flushes took long.
//!
//! Pure, over what is recorded second by second. Checkpoints are counted by run and not by second, so they have no mark.

/// Changes of a run's level below this fraction are none: the margin that a study has unless it says otherwise.
pub const TOLERANCE: f64 = 0.03;
/// Flushes take long in a second from so many seconds on …
const FLUSH_SECONDS_MIN: f64 = 0.05;
/// … and so many times the run's median second.
const FLUSH_TIMES_MIN: f64 = 3.0;
/// Marked are at most so many seconds a run, those with the longest flushes.
const FLUSHES_MAX: usize = 20;

/// What is known of a run's moments, in seconds since its window began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    /// From here on its rate had another level.
    pub level_changes: Vec<usize>,
    /// In these flushes took long.
    pub long_flushes: Vec<usize>,
}

/// A kind of mark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Another level from here on.
    LevelChange,
    /// Flushes took long.
    LongFlush,
}

impl Kind {
    /// All, in the order of the legend.
    pub const ALL: [Kind; 2] = [Kind::LevelChange, Kind::LongFlush];
}

impl Marks {
    /// By its rate, and the seconds of each second that its device spent on flushes, where that is known.
    pub fn of(rates: &[f64], flush_seconds: Option<&Vec<f64>>) -> Marks {
        Marks {
            level_changes: stats::change_points::level_changes(rates, TOLERANCE),
            long_flushes: flush_seconds.map_or_else(Vec::new, |seconds| long_flushes(seconds)),
        }
    }

    /// The moments of one kind.
    pub fn at(&self, kind: Kind) -> &[usize] {
        match kind {
            Kind::LevelChange => &self.level_changes,
            Kind::LongFlush => &self.long_flushes,
        }
    }
}

fn long_flushes(seconds: &[f64]) -> Vec<usize> {
    let mut known: Vec<(usize, f64)> =
        seconds.iter().copied().enumerate().filter(|(_, value)| value.is_finite()).collect();
    known.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some((_, median)) = known.get(known.len() / 2).copied() else { return Vec::new() };
    let is_long = |value: f64| value >= FLUSH_SECONDS_MIN && value >= FLUSH_TIMES_MIN * median;
    let mut long: Vec<usize> =
        known.iter().take(FLUSHES_MAX).filter(|(_, value)| is_long(*value)).map(|(second, _)| *second).collect();
    long.sort_unstable();
    long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_and_long_flushes_are_marked_where_they_are() {
        let noise = |second: usize| ((second * 7919) % 11) as f64;
        let rates: Vec<f64> = (0..60).map(|second| if second < 40 { 1000.0 } else { 700.0 } + noise(second)).collect();
        let mut flushes = vec![0.01; 60];
        flushes[9] = 0.3;
        flushes[33] = 0.06;
        let marks = Marks::of(&rates, Some(&flushes));
        assert_eq!(marks, Marks { level_changes: vec![40], long_flushes: vec![9, 33] });
        assert_eq!(Marks::of(&rates[..40], None), Marks::default());
    }

    #[test]
    fn flushes_that_always_take_as_long_are_none() {
        assert_eq!(long_flushes(&[0.7, 0.8, 0.75, f64::NAN, 0.7]), Vec::<usize>::new());
        assert_eq!(long_flushes(&[0.0, 0.01, 0.0, 0.0]), Vec::<usize>::new());
        assert_eq!(long_flushes(&[]), Vec::<usize>::new());
        let many: Vec<f64> = (0..100).map(|second| if second % 3 == 0 { 0.2 } else { 0.0 }).collect();
        assert_eq!(long_flushes(&many).len(), FLUSHES_MAX);
    }
}
