//! What a database holds, asked after it has recovered: its own consistency check, then every row held against the rule.

use super::rule::{LOADED_ROWS, LOADED_STREAM, NUMBERS, Rule, id};
use super::target::CommitTarget;
use super::{Parameters, adding};
use load::sql::Place;
use load::workload::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use settings::typed;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::Path;

/// The rows of one answer; none: NULL.
pub type Rows = Vec<Vec<Option<String>>>;

/// What a database holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// By stream, the numbers of the commits whose rows are there, ascending.
    pub streams: BTreeMap<u32, Vec<u64>>,
    /// What no transaction left so, a sentence for each kind: torn rows, halves of transactions.
    pub wrong: Vec<String>,
    /// What the database's own check complained of.
    pub damage: Option<String>,
    /// As `streams`, of what replicas are told by the database's log for them. None: there is no such log.
    pub logged: Option<BTreeMap<u32, Vec<u64>>>,
}

/// What is asked of a recovered database, in this order: in SQL, by a connection that has chosen no database; of one without SQL, by one
/// of its programs with its arguments, each on a line of its own.
pub fn questions(parameters: &Map<String, Value>) -> Vec<String> {
    typed::<Parameters>(parameters).target().questions().to_vec()
}

/// What the answers to [`questions`] show, for a load with these parameters; and the text of each transaction that replicas are
/// told of, if they are.
pub fn look(parameters: &Map<String, Value>, answers: &[Rows], logged: Option<&[String]>) -> Look {
    let parameters: Parameters = typed(parameters);
    let look = of(parameters.rule(), &*parameters.target(), answers);
    Look { logged: logged.map(|transactions| commits_in(parameters.rule(), transactions)), ..look }
}

/// The load's commits among transactions, by the row that each adds.
fn commits_in(rule: Rule, transactions: &[String]) -> BTreeMap<u32, Vec<u64>> {
    let mut streams: BTreeMap<u32, Vec<u64>> = (0..rule.streams).map(|stream| (stream, Vec::new())).collect();
    let adding = adding();
    let added = |text: &String| {
        let (_, values) = text.split_once(&adding)?.1.split_once("VALUES (")?;
        values.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    for id in transactions.iter().filter_map(added) {
        if let Some(numbers) = u32::try_from(id / NUMBERS).ok().and_then(|stream| streams.get_mut(&stream)) {
            numbers.push(id % NUMBERS);
        }
    }
    streams.values_mut().for_each(|numbers| numbers.sort_unstable());
    streams
}

/// As [`look`], of an embedded database in a folder.
///
/// # Errors
/// What it says, when it does not come up.
pub fn look_at_embedded(parameters: &Map<String, Value>, data_folder: &Path) -> Result<Look, String> {
    let mut parameters: Parameters = typed(parameters);
    // What a recovery writes is thrown away with the image: it need not be flushed.
    parameters.pragmas.synchronous = "off".into();
    parameters.sync = "none".into();
    let target = parameters.target();
    let place = Place { data_folder: data_folder.into(), server: None };
    if !target.is_there(&place) {
        return Err("the database's file is gone".into());
    }
    let words = |error: &Error| error.source().map_or(error.to_string(), ToString::to_string);
    match target.ask(&place) {
        Ok(answers) => Ok(of(parameters.rule(), &*target, &answers)),
        // It came up, and one of its tables can't be read.
        Err(error) if target.comes_up(&place) => Ok(Look { damage: Some(words(&error)), ..Look::default() }),
        Err(error) => Err(words(&error)),
    }
}

/// As [`look`].
pub(super) fn of(rule: Rule, target: &dyn CommitTarget, answers: &[Rows]) -> Look {
    held_against(Found::new(rule), target, answers)
}

/// As [`look`], where commits may be missing before others, as those that were refused are.
pub(super) fn with_gaps(rule: Rule, target: &dyn CommitTarget, answers: &[Rows]) -> Look {
    held_against(Found { has_gaps: true, ..Found::new(rule) }, target, answers)
}

fn held_against(mut found: Found, target: &dyn CommitTarget, answers: &[Rows]) -> Look {
    let answer = |index: usize| answers.get(index).map_or(&[][..], Vec::as_slice);
    answer(1).iter().for_each(|row| found.row(row));
    found.loaded_rows();
    found.counters(answer(2));
    let damage = complaint(target, answer(0));
    Look { streams: found.streams(), wrong: found.wrong(), damage, logged: None }
}

/// What the database's own check complains of in its answer.
fn complaint(target: &dyn CommitTarget, rows: &[Vec<Option<String>>]) -> Option<String> {
    if rows.is_empty() {
        return Some("its own check said nothing".into());
    }
    let complaint = rows.iter().find(|row| !target.is_well(rows, row))?;
    Some(complaint.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// What may be wrong with rows, in the words of [`Look::wrong`].
const UNREADABLE: &str = "rows with a column that no transaction wrote";
const TWICE: &str = "rows that are there twice";
const MISPLACED: &str = "rows at an id that is not their stream's and number's";
const TEXT: &str = "rows with another text than was written";
const MISSING: &str = "loaded rows that are missing";
const REVISION: &str = "rows without the change that another part of its transaction shows, or with one more";
const COUNTER: &str = "counters that disagree with the rows of their stream";

/// The rows, as they are read.
struct Found {
    rule: Rule,
    /// Whether a stream's commits may be missing before others.
    has_gaps: bool,
    /// The revisions of the rows of every stream that is known, by number.
    rows: BTreeMap<u32, BTreeMap<u64, u64>>,
    /// By what is wrong: how often, and the first of them.
    wrong: BTreeMap<&'static str, (u64, String)>,
}

impl Found {
    fn new(rule: Rule) -> Found {
        let streams = (0..rule.streams).chain([LOADED_STREAM]).map(|stream| (stream, BTreeMap::new()));
        Found { rule, has_gaps: false, rows: streams.collect(), wrong: BTreeMap::new() }
    }

    fn complain(&mut self, what: &'static str, example: impl FnOnce() -> String) {
        self.wrong.entry(what).or_insert_with(|| (0, example())).0 += 1;
    }

    fn row(&mut self, cells: &[Option<String>]) {
        let number = |index: usize| cells.get(index)?.as_deref()?.parse::<u64>().ok();
        let payload = cells.get(4).and_then(Option::as_deref);
        let (Some(at), Some(stream), Some(number), Some(revision), Some(payload)) =
            (number(0), number(1), number(2), number(3), payload)
        else {
            return self.complain(UNREADABLE, || format!("{cells:?}"));
        };
        let last = if stream == u64::from(LOADED_STREAM) { LOADED_ROWS } else { NUMBERS - 1 };
        let stream = u32::try_from(stream).unwrap_or(u32::MAX);
        let Some(rows) =
            self.rows.get_mut(&stream).filter(|_| (1..=last).contains(&number) && at == id(stream, number))
        else {
            return self.complain(MISPLACED, || format!("{at} says {stream} and {number}"));
        };
        if rows.insert(number, revision).is_some() {
            self.complain(TWICE, || at.to_string());
        }
        if self.rule.payload(at) != payload {
            self.complain(TEXT, || at.to_string());
        }
    }

    /// All are there, and each holds the number of the last commit that changed it.
    fn loaded_rows(&mut self) {
        let of_streams = self.rows.range(..LOADED_STREAM);
        let commits = of_streams.flat_map(|(stream, rows)| rows.keys().map(move |number| (*stream, *number)));
        let revisions = self.rule.revisions(commits);
        let loaded = &self.rows[&LOADED_STREAM];
        let missing: Vec<u64> = (1..=LOADED_ROWS).filter(|number| !loaded.contains_key(number)).collect();
        for number in missing {
            self.complain(MISSING, || id(LOADED_STREAM, number).to_string());
        }
        // A stream's own rows are never changed.
        let expected = |stream: u32, number: u64| {
            if stream == LOADED_STREAM { revisions.get(&number).copied().unwrap_or(0) } else { 0 }
        };
        let all = self.rows.iter().flat_map(|(stream, rows)| rows.iter().map(move |row| (*stream, *row.0, *row.1)));
        let stale: Vec<_> = all.filter(|(stream, number, found)| *found != expected(*stream, *number)).collect();
        for (stream, number, found) in stale {
            let right = expected(stream, number);
            self.complain(REVISION, || format!("{} has {found} where {right} is right", id(stream, number)));
        }
    }

    /// Each counter has the number of its stream's last row, and no row before it is missing.
    fn counters(&mut self, rows: &[Vec<Option<String>>]) {
        let number = |cell: Option<&Option<String>>| cell?.as_deref()?.parse::<u64>().ok();
        let mut counters = BTreeMap::new();
        for row in rows {
            match (number(row.first()), number(row.get(1))) {
                (Some(stream), Some(n)) if stream < u64::from(self.rule.streams) => {
                    if counters.insert(stream as u32, n).is_some() {
                        self.complain(TWICE, || format!("counter {stream}"));
                    }
                }
                _ => self.complain(UNREADABLE, || format!("{row:?}")),
            }
        }
        for stream in 0..self.rule.streams {
            let (count, last) = {
                let rows = &self.rows[&stream];
                (rows.len() as u64, rows.last_key_value().map_or(0, |row| *row.0))
            };
            let counter = counters.get(&stream).copied();
            if counter != Some(last) || (last != count && !self.has_gaps) {
                let says = counter.map_or("is missing".into(), |n| format!("says {n}"));
                self.complain(COUNTER, || {
                    format!("stream {stream}: it {says}, {count} rows are there, the last {last}")
                });
            }
        }
    }

    fn streams(&self) -> BTreeMap<u32, Vec<u64>> {
        self.rows.range(..LOADED_STREAM).map(|(stream, rows)| (*stream, rows.keys().copied().collect())).collect()
    }

    fn wrong(self) -> Vec<String> {
        self.wrong.into_iter().map(|(what, (count, first))| format!("{what}: {count}, the first {first}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters() -> Map<String, Value> {
        settings::defaults(super::super::KIND.settings)
    }

    /// The answers of a database in which the streams ended with these commits.
    fn answers(last: [u64; 2]) -> Vec<Rows> {
        let rule = typed::<Parameters>(&parameters()).rule();
        let last = BTreeMap::from([(0, last[0]), (1, last[1])]);
        let of_streams = last.iter().flat_map(|(stream, last)| (1..=*last).map(move |number| (*stream, number)));
        let revisions = rule.revisions(of_streams.clone());
        let all = of_streams.chain((1..=LOADED_ROWS).map(|number| (LOADED_STREAM, number)));
        let rows = all.map(|(stream, number)| {
            let revision = if stream == LOADED_STREAM { revisions.get(&number).copied().unwrap_or(0) } else { 0 };
            let at = id(stream, number);
            let cells =
                [at.to_string(), stream.to_string(), number.to_string(), revision.to_string(), rule.payload(at)];
            cells.map(Some).to_vec()
        });
        let counters = last.iter().map(|(stream, last)| vec![Some(stream.to_string()), Some(last.to_string())]);
        vec![vec![vec![Some("ok".into())]], rows.collect(), counters.collect()]
    }

    fn text(text: &str) -> Option<String> {
        Some(text.into())
    }

    fn wrong(answers: &[Rows]) -> Vec<String> {
        look(&parameters(), answers, None).wrong
    }

    #[test]
    fn what_was_committed_is_whole() {
        let look = look(&parameters(), &answers([3, 0]), None);
        assert_eq!(look, Look { streams: [(0, vec![1, 2, 3]), (1, vec![])].into(), ..Look::default() });
    }

    #[test]
    fn each_kind_of_wrong_has_its_words() {
        let broken = |change: &dyn Fn(&mut Vec<Rows>)| {
            let mut answers = answers([3, 2]);
            change(&mut answers);
            wrong(&answers).join("; ")
        };
        let torn = broken(&|answers| answers[1][1][4] = text("torn"));
        assert_eq!(torn, "rows with another text than was written: 1, the first 2");
        let gone = broken(&|answers| drop(answers[1].remove(5)));
        assert_eq!(gone, "loaded rows that are missing: 1, the first 999000001");
        let twice = broken(&|answers| {
            let row = answers[1][0].clone();
            answers[1].push(row);
        });
        assert_eq!(twice, "rows that are there twice: 1, the first 1");
        let hole = broken(&|answers| drop(answers[1].remove(0)));
        assert!(hole.contains("stream 0: it says 3, 2 rows are there, the last 3"), "{hole}");
        let behind = broken(&|answers| answers[2][1][1] = text("1"));
        assert!(behind.contains("stream 1: it says 1, 2 rows are there, the last 2"), "{behind}");
        let null = broken(&|answers| answers[1][0][4] = None);
        assert!(null.starts_with("counters that disagree") && null.contains("that no transaction wrote: 1"), "{null}");
    }

    #[test]
    fn a_commit_that_was_refused_may_be_missing_with_all_that_it_changed() {
        let parameters = typed::<Parameters>(&parameters());
        let (rule, target) = (parameters.rule(), parameters.target());
        let mut answers = answers([3, 0]);
        let revisions = rule.revisions([(0, 1), (0, 3)].into_iter());
        answers[1].remove(1);
        for row in answers[1].iter_mut().filter(|row| row[1].as_deref() == Some("999")) {
            let number = row[2].as_deref().and_then(|number| number.parse().ok()).expect("a number");
            row[3] = Some(revisions.get(&number).copied().unwrap_or(0).to_string());
        }
        let look = with_gaps(rule, &*target, &answers);
        assert_eq!(look, Look { streams: [(0, vec![1, 3]), (1, vec![])].into(), ..Look::default() });
        assert_eq!(of(rule, &*target, &answers).wrong.len(), 1, "a power cut leaves no such thing");
        answers[2][0][1] = text("2");
        assert!(with_gaps(rule, &*target, &answers).wrong[0].starts_with("counters that disagree"));
    }

    #[test]
    fn a_log_for_replicas_is_read_by_the_rows_that_are_added() {
        let add = |id: u64| format!("\u{fffd}BEGIN\0INSERT INTO commits (id, stream) VALUES ({id}, 0, 'x')\0COMMIT");
        let other = "UPDATE counters SET n = 5 WHERE id = 1".to_string();
        let texts = [add(id(1, 2)), other, add(id(1, 1)), add(id(0, 7)), add(id(LOADED_STREAM, 3))];
        let logged = look(&parameters(), &answers([7, 2]), Some(&texts)).logged;
        assert_eq!(logged, Some([(0, vec![7]), (1, vec![1, 2])].into()));
    }

    #[test]
    fn a_check_that_complains_is_damage() {
        let said = |engine: &str, rows: &[&[&str]]| {
            let rows: Rows =
                rows.iter().map(|row| row.iter().map(|cell| Some((*cell).to_string())).collect()).collect();
            let engine = load::engines::named(engine).expect("in the list");
            complaint(&*Parameters { engine, ..typed::<Parameters>(&parameters()) }.target(), &rows)
        };
        assert_eq!(said("sqlite", &[&["ok"]]), None);
        assert_eq!(said("sqlite", &[&["row 3 missing from index k"]]).as_deref(), Some("row 3 missing from index k"));
        assert_eq!(said("postgres", &[&["2"]]), None);
        let whole: &[&str] = &["sbtest.commits", "check", "status", "OK"];
        assert_eq!(said("mariadb", &[whole, whole]), None);
        let complaint = said("mariadb", &[whole, &["sbtest.counters", "check", "error", "Corrupt"]]);
        assert_eq!(complaint.as_deref(), Some("sbtest.counters check error Corrupt"));
        assert!(said("mariadb", &[]).is_some());
        assert_eq!(said("gtm", &[&["", "Integ of region DEFAULT"], &["No errors detected by integ."]]), None);
        assert_eq!(said("gtm", &[&["Integ of region DEFAULT"]]).as_deref(), Some("Integ of region DEFAULT"));
    }

    proptest! {
        #[test]
        fn every_end_between_transactions_is_whole(first in 0u64..40, second in 0u64..40) {
            prop_assert_eq!(wrong(&answers([first, second])), Vec::<String>::new());
        }

        #[test]
        fn any_changed_cell_is_seen(place in 0usize..1000, cell in 0usize..5, to in 0u64..5000) {
            let mut answers = answers([9, 7]);
            let row = place % answers[1].len();
            let to = Some(to.to_string());
            prop_assume!(answers[1][row][cell] != to);
            answers[1][row][cell] = to;
            prop_assert!(!wrong(&answers).is_empty());
        }

        #[test]
        fn any_lost_row_is_seen(place in 0usize..1000) {
            let mut answers = answers([9, 7]);
            let row = place % answers[1].len();
            answers[1].remove(row);
            prop_assert!(!wrong(&answers).is_empty());
        }
    }
}
