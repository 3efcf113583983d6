//! A workload's factors as charts show them: the weightiest first, short names of levels, and levels that are numbers in order.
//!
//! Two factors together make a [`Grid`], from which the interaction chart and the heat map are drawn.

use crate::judge::short_factor;
use crate::row::Row;
use crate::view::Part;
use stats::Contrast;

/// A factor with more than one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Dotted path, or its own name.
    pub path: String,
    /// What people call it.
    pub name: String,
    /// As scenarios have them; numbers ascend, others stand as planned.
    pub levels: Vec<String>,
    /// The same without the setting's name.
    pub short: Vec<String>,
    /// Whether levels are numbers, so that a line between them means something.
    pub is_ordered: bool,
}

/// A workload's factors, the weightiest first.
pub fn factors(part: &Part) -> Vec<Factor> {
    let mut rows: Vec<&Row> = part.rows.iter().collect();
    rows.sort_by_key(|row| row.index);
    let mut found: Vec<Factor> = Vec::new();
    for (path, level) in rows.iter().flat_map(|row| &row.levels) {
        match found.iter_mut().find(|factor| factor.path == *path) {
            Some(factor) if factor.levels.contains(level) => {}
            Some(factor) => factor.levels.push(level.clone()),
            None => found.push(Factor {
                path: path.clone(),
                name: short_factor(path),
                levels: vec![level.clone()],
                short: Vec::new(),
                is_ordered: false,
            }),
        }
    }
    found.retain(|factor| factor.levels.len() > 1);
    found.iter_mut().for_each(Factor::put_in_order);
    found.sort_by(|a, b| weight(part, &b.path).partial_cmp(&weight(part, &a.path)).expect("weights are numbers"));
    found
}

/// Its share of the differences; where there are no shares, how far it swings what is measured.
fn weight(part: &Part, path: &str) -> (f64, f64) {
    let shares = part.judgement.shares.as_ref().ok();
    let share = shares.and_then(|shares| shares.terms.iter().find(|term| term.factors == [path]));
    let swing = part.judgement.swings.iter().find(|swing| swing.factor == path);
    (share.map_or(0.0, |term| term.share), swing.map_or(0.0, |swing| swing.contrast.mean.abs()))
}

impl Factor {
    fn put_in_order(&mut self) {
        let cut = self.levels.iter().all(|level| bare(&self.path, level).is_some());
        let short = |level: &String| bare(&self.path, level).filter(|_| cut).unwrap_or(level).to_string();
        let sizes: Option<Vec<(Kind, f64)>> = self.levels.iter().map(|level| size(&short(level))).collect();
        if let Some(sizes) = sizes.filter(|sizes| sizes.iter().all(|(kind, _)| *kind == sizes[0].0)) {
            let mut order: Vec<usize> = (0..sizes.len()).collect();
            order.sort_by(|a, b| sizes[*a].1.total_cmp(&sizes[*b].1));
            self.levels = order.into_iter().map(|index| self.levels[index].clone()).collect();
            self.is_ordered = true;
        }
        self.short = self.levels.iter().map(short).collect();
    }
}

/// A level without its setting's name; none where it has none: `shared_buffers=2GB` is `2GB`.
pub fn bare<'a>(path: &str, level: &'a str) -> Option<&'a str> {
    level.strip_prefix(path.rsplit('.').next().unwrap_or(path))?.strip_prefix('=')
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Bytes,
    Seconds,
}

/// "128MB" as a number that can be compared with others of its kind.
fn size(level: &str) -> Option<(Kind, f64)> {
    let end = level.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(level.len());
    let number: f64 = level[..end].parse().ok()?;
    let (kind, unit) = match level[end..].trim() {
        "" | "%" => (Kind::Plain, 1.0),
        "B" => (Kind::Bytes, 1.0),
        "k" | "K" | "kB" | "KB" | "KiB" => (Kind::Bytes, 1024.0),
        "M" | "MB" | "MiB" => (Kind::Bytes, 1_048_576.0),
        "G" | "GB" | "GiB" => (Kind::Bytes, 1_073_741_824.0),
        "T" | "TB" | "TiB" => (Kind::Bytes, 1_099_511_627_776.0),
        "us" | "µs" => (Kind::Seconds, 1e-6),
        "ms" => (Kind::Seconds, 1e-3),
        "s" => (Kind::Seconds, 1.0),
        "min" => (Kind::Seconds, 60.0),
        "h" => (Kind::Seconds, 3600.0),
        _ => return None,
    };
    // A size of 0 has no unit, and no doubt either.
    Some((kind, number * unit))
}

/// The primary metric by the levels of two factors, averaged over all others.
#[derive(Debug)]
pub struct Grid<'a> {
    /// The factor down the side.
    pub rows: &'a Factor,
    /// The factor along the top.
    pub columns: &'a Factor,
    /// `[row][column]`; none where the study has no such combination.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// What is known of one pair of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Geometric mean, and its interval over rounds; none without a value.
    pub mean: Option<(f64, f64, f64)>,
    /// Whether a scenario in it does not flush.
    pub does_not_flush: bool,
    /// Whether it can't be told from the best cell.
    pub may_be_best: bool,
    /// Scenarios in it that failed in every round that was tried.
    pub failed: usize,
    /// Scenarios in it that have no value yet.
    pub open: usize,
    /// Mean of logarithms by round.
    rounds: Vec<Option<f64>>,
}

impl Grid<'_> {
    /// All cells with their place.
    pub fn placed(&self) -> impl Iterator<Item = (usize, usize, &Cell)> {
        self.cells.iter().enumerate().flat_map(|(row, cells)| {
            cells.iter().enumerate().filter_map(move |(column, cell)| Some((row, column, cell.as_ref()?)))
        })
    }
}

/// The figures of two factors; the control, another's double, is left out.
pub fn grid<'a>(part: &Part, rows: &'a Factor, columns: &'a Factor) -> Grid<'a> {
    let cell = |row: &String, column: &String| {
        let is = |scenario: &&Row, factor: &Factor, level| scenario.levels.get(&factor.path) == Some(level);
        let found = part.rows.iter().filter(|scenario| !scenario.control);
        let found: Vec<&Row> =
            found.filter(|scenario| is(scenario, rows, row) && is(scenario, columns, column)).collect();
        (!found.is_empty()).then(|| averaged(&found, part.confidence))
    };
    let mut cells: Vec<Vec<Option<Cell>>> =
        rows.levels.iter().map(|row| columns.levels.iter().map(|column| cell(row, column)).collect()).collect();
    mark_best(&mut cells, part);
    Grid { rows, columns, cells }
}

/// Mean of logarithms in each round in which all that ever yielded a value did, and their interval (F2).
fn averaged(scenarios: &[&Row], confidence: f64) -> Cell {
    let alive: Vec<&&Row> = scenarios.iter().filter(|row| row.centre.is_some()).collect();
    let rounds = alive.iter().map(|row| row.values.len()).max().unwrap_or(0);
    let mean_of = |round: usize| {
        let logarithms: Option<Vec<f64>> =
            alive.iter().map(|row| row.values.get(round).copied().flatten().map(f64::ln)).collect();
        logarithms.map(|found| found.iter().sum::<f64>() / found.len() as f64)
    };
    let by_round: Vec<Option<f64>> = (0..rounds).map(mean_of).collect();
    let found: Vec<f64> = by_round.iter().copied().flatten().collect();
    // Without a round that has all of them, their own means are all there is.
    let own = || alive.iter().filter_map(|row| Some(row.centre?.mean.ln())).sum::<f64>() / alive.len() as f64;
    let mean = if found.is_empty() { own() } else { found.iter().sum::<f64>() / found.len() as f64 };
    let interval: Option<Contrast> = stats::contrast(&found, confidence);
    let (low, high) = interval.map_or((mean, mean), |interval| (interval.low, interval.high));
    Cell {
        mean: (!alive.is_empty()).then_some((mean.exp(), low.exp(), high.exp())),
        does_not_flush: scenarios.iter().any(|row| row.does_not_flush()),
        may_be_best: false,
        failed: scenarios.iter().filter(|row| row.centre.is_none() && row.failed > 0).count(),
        open: scenarios.iter().filter(|row| row.centre.is_none() && row.failed == 0).count(),
        rounds: by_round,
    }
}

/// Marks the cells of the best set (F8), each pair by the rounds in which both have a value.
fn mark_best(cells: &mut [Vec<Option<Cell>>], part: &Part) {
    let all = cells.iter_mut().flatten().flatten().filter(|cell| cell.mean.is_some());
    let (mut measured, mut stalled): (Vec<&mut Cell>, Vec<&mut Cell>) =
        all.partition(|cell| cell.mean.is_some_and(|mean| mean.0 > 0.0));
    let sign = if part.more_is_better { 1.0 } else { -1.0 };
    let logarithms = |cell: &&mut Cell| cell.rounds.iter().map(|value| value.map(|value| sign * value)).collect();
    let values: Vec<Vec<Option<f64>>> = measured.iter().map(logarithms).collect();
    // With too few rounds nothing can be told apart.
    let found = stats::best_set(&values, part.alpha);
    for (index, cell) in measured.iter_mut().enumerate() {
        cell.may_be_best = found.as_ref().is_none_or(|found| found.members.contains(&index));
    }
    stalled.iter_mut().for_each(|cell| cell.may_be_best = false);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(path: &str, levels: &[&str]) -> (Vec<String>, bool) {
        let levels = levels.iter().map(|level| (*level).to_string()).collect();
        let mut factor =
            Factor { path: path.into(), name: String::new(), levels, short: Vec::new(), is_ordered: false };
        factor.put_in_order();
        (factor.short, factor.is_ordered)
    }

    #[test]
    fn levels_that_are_numbers_ascend_and_lose_the_name_of_their_setting() {
        let buffers = ordered("settings.shared_buffers", &["shared_buffers=2GB", "shared_buffers=128MB"]);
        assert_eq!(buffers, (vec!["128MB".into(), "2GB".into()], true));
        assert_eq!(ordered("a.rate", &["20", "5", "100"]).0, ["5", "20", "100"]);
        assert_eq!(ordered("storage.filesystem", &["xfs", "ext4"]), (vec!["xfs".into(), "ext4".into()], false));
        // A time and a size have no order, and one name alone is not cut.
        assert_eq!(ordered("a.b", &["5s", "3MB"]), (vec!["5s".into(), "3MB".into()], false));
        assert_eq!(ordered("a.b", &["b=1", "off"]).0, ["b=1", "off"]);
    }
}
