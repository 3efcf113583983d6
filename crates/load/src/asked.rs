//! What a run asked for and what of that went wrong; and the one rule by which a run with errors stands or fails.
//!
//! Each [`crate::workload::Outcome`] has one, and the trial asks [`Asked::judge`] after each run of each workload, so that none can
//! count what went wrong and go on. A workload keeps out of its figures what it counts here.

use crate::workload::Error;
use observe::metric::{Direction, Measured, Metric};
use serde::{Deserialize, Serialize};
use settings::{Kind as Is, Setting};
use std::borrow::Cow;
use std::fmt;

/// `errors_max`, of every load that sends requests or transactions.
pub const ERRORS_MAX: Setting = Setting::new("errors_max", Is::Percent { min: 0.0, max: 1.0 }, "0.1%")
    .help("Of a closed loop: a run of which a larger share is not answered as it must be (wrong answers, time-outs, lost connections) fails, with the first example in words. In an open loop errors are counted and the run stands. They never count as answers.");

/// What a run asked for: requests, transactions, files; and what of it went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What is counted: `requests`, `transactions`.
    pub what: Cow<'static, str>,
    /// All that was asked for, what went wrong included.
    pub total: u64,
    /// What went wrong, by kind; kinds of which there was none are among them.
    pub wrong: Vec<Wrong>,
    /// How much may go wrong.
    pub limit: Limit,
}

/// Errors of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wrong {
    /// The metric that counts it: `errors_wrong_status`.
    pub name: Cow<'static, str>,
    /// In words: `wrong status`.
    pub words: Cow<'static, str>,
    /// How many.
    pub count: u64,
    /// The first of them, in words.
    pub first: Option<String>,
}

/// How much of what a run asked for may go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Limit {
    /// A closed loop: this share.
    Share(f64),
    /// An open loop: its rate may be more than the server can do, and then the errors are what is measured.
    Open,
}

impl Limit {
    /// The limit of a load: by its share, unless its rate is given.
    pub fn of(is_open: bool, errors_max: f64) -> Limit {
        if is_open { Limit::Open } else { Limit::Share(errors_max) }
    }
}

/// The sum of all kinds.
const ERRORS: Metric = Metric::new("errors", "1", Direction::Less);

/// What they are a share of; a results file without it is of a version that counted wrong answers as answers.
const ASKED: Metric = Metric::new("asked", "1", Direction::Neither);

impl Asked {
    /// Of a load whose first error ends the run, so that all went well or there is no outcome.
    pub fn all_right() -> Asked {
        Asked { what: "operations".into(), total: 0, wrong: Vec::new(), limit: Limit::Share(0.0) }
    }

    /// Errors of all kinds.
    pub fn errors(&self) -> u64 {
        self.wrong.iter().map(|wrong| wrong.count).sum()
    }

    /// Adds what another run of the same load asked for.
    pub fn add(&mut self, other: &Asked) {
        self.total += other.total;
        for one in &other.wrong {
            match self.wrong.iter_mut().find(|wrong| wrong.name == one.name) {
                Some(wrong) => {
                    wrong.count += one.count;
                    wrong.first = wrong.first.take().or_else(|| one.first.clone());
                }
                None => self.wrong.push(one.clone()),
            }
        }
    }

    /// The rule: a run stands whose errors are within the limit, and one without a single right answer has no figure.
    ///
    /// # Errors
    /// What went wrong, with the first example of each kind.
    pub fn judge(&self) -> Result<(), Error> {
        let errors = self.errors();
        let is_above = match self.limit {
            Limit::Share(share) => errors as f64 > share * self.total as f64,
            Limit::Open => false,
        };
        let none_right = errors > 0 && errors >= self.total;
        if is_above || none_right { Err(Error::NotAnswered(Box::new(self.clone()))) } else { Ok(()) }
    }

    /// How much was asked for and how much went wrong, for the results file; nothing where the first error ends the run.
    pub fn metrics(&self) -> Vec<Measured> {
        if self.total == 0 {
            return Vec::new();
        }
        let kinds = self.wrong.iter().map(|wrong| metric(wrong.name.clone()).at(wrong.count as f64));
        [ASKED.at(self.total as f64), ERRORS.at(self.errors() as f64)].into_iter().chain(kinds).collect()
    }

    /// A sentence a kind of which there was any: "12 of 5000 requests: wrong status (first: 503)".
    pub fn notes(&self) -> Vec<String> {
        let (total, what) = (self.total, &self.what);
        self.met().map(|wrong| format!("{} of {total} {what} went wrong: {}", wrong.count, wrong.example())).collect()
    }

    fn met(&self) -> impl Iterator<Item = &Wrong> {
        self.wrong.iter().filter(|wrong| wrong.count > 0)
    }
}

/// The metric that counts a kind.
pub fn metric(name: impl Into<Cow<'static, str>>) -> Metric {
    Metric { name: name.into(), ..Metric::new("", "1", Direction::Less) }
}

/// Metrics of every load that has an `errors_max`, besides those of its kinds.
pub const METRICS: [Metric; 2] = [ASKED, ERRORS];

/// The kinds of what may go wrong, a row each with the metric that counts it and its words, in the order of reports.
macro_rules! faults {
    ($(#[$about:meta])* pub enum Fault { $($(#[$meant:meta])* $fault:ident: $name:literal, $words:literal;)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Fault { $($(#[$meant])* $fault),+ }

        const KINDS: [(Fault, &str, &str); [$($name),+].len()] = [$((Fault::$fault, $name, $words)),+];

        impl Fault {
            /// All kinds, in the order of reports.
            pub fn all() -> [Fault; KINDS.len()] {
                KINDS.map(|(fault, ..)| fault)
            }

            /// The metric that counts it.
            pub fn name(self) -> &'static str {
                KINDS[self as usize].1
            }

            /// In words.
            pub fn words(self) -> &'static str {
                KINDS[self as usize].2
            }

            /// The metrics of all.
            pub fn metrics() -> impl Iterator<Item = observe::metric::Metric> {
                KINDS.into_iter().map(|(_, name, _)| $crate::asked::metric(name))
            }
        }
    };
}
pub(crate) use faults;

impl Wrong {
    /// Of all kinds: the metric that counts each and words, how many there were, and the first.
    pub fn of_kinds<Kind, const N: usize>(
        kinds: [(Kind, &'static str, &'static str); N],
        counts: [u64; N],
        first: &[Option<String>; N],
    ) -> Vec<Wrong> {
        let mut all = Vec::new();
        for (((_, name, words), count), first) in kinds.into_iter().zip(counts).zip(first) {
            all.push(Wrong { name: name.into(), words: words.into(), count, first: first.clone() });
        }
        all
    }

    fn example(&self) -> String {
        let first = self.first.as_ref().map_or(String::new(), |first| format!(" (first: {first})"));
        format!("{}{first}", self.words)
    }
}

/// "412 of 50000 requests went wrong: 400 × wrong status (first: 503), …".
impl fmt::Display for Asked {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let (errors, total) = (self.errors(), self.total);
        let kinds: Vec<String> = self.met().map(|wrong| format!("{} × {}", wrong.count, wrong.example())).collect();
        write!(out, "{errors} of {total} {} went wrong", self.what)?;
        match self.limit {
            _ if errors >= total => write!(out, ", so that there is no figure")?,
            Limit::Share(share) => {
                let (found, allowed) = (errors as f64 / total as f64 * 100.0, share * 100.0);
                write!(out, " ({found:.3} %, where `errors_max` allows {allowed} %)")?;
            }
            Limit::Open => {}
        }
        write!(out, ": {}", kinds.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(total: u64, counts: [u64; 2], limit: Limit) -> Asked {
        let kind = |(name, words): (&'static str, &'static str), count| Wrong {
            name: name.into(),
            words: words.into(),
            count,
            first: (count > 0).then(|| format!("the first of {count}")),
        };
        let names = [("errors_wrong_status", "wrong status"), ("errors_other", "other")];
        let wrong = names.into_iter().zip(counts).map(|(names, count)| kind(names, count)).collect();
        Asked { what: "requests".into(), total, wrong, limit }
    }

    #[test]
    fn a_closed_loop_fails_above_its_share_and_an_open_one_without_any_right_answer() {
        let stands = |total, counts, limit| asked(total, counts, limit).judge().is_ok();
        let closed = Limit::Share(0.001);
        assert_eq!(
            [0, 9, 10, 11, 9999].map(|errors| stands(10_000, [errors, 0], closed)),
            [true, true, true, false, false]
        );
        assert!(!stands(10_000, [6, 5], closed), "kinds count together");
        assert!(!stands(10, [1, 0], Limit::Share(0.0)) && stands(10, [0, 0], Limit::Share(0.0)));
        assert_eq!([0, 9999, 10_000].map(|errors| stands(10_000, [errors, 0], Limit::Open)), [true, true, false]);
        assert!(!stands(10, [10, 0], Limit::Share(1.0)), "no right answer is no figure, whatever is allowed");
        assert!(stands(0, [0, 0], closed), "a stall is slow, not wrong");
        assert!(Asked::all_right().judge().is_ok() && Asked::all_right().metrics().is_empty());
    }

    #[test]
    fn no_program_has_a_metric_that_is_taken_for_errors() {
        assert!([ASKED, ERRORS, metric("errors_other")].iter().all(|one| observe::metric::is_taken(&one.name)));
    }

    #[test]
    fn what_went_wrong_is_said_by_kind_with_the_first_example() {
        let asked = asked(50_000, [400, 12], Limit::Share(0.001));
        assert_eq!(
            asked.judge().expect_err("too many").to_string(),
            "412 of 50000 requests went wrong (0.824 %, where `errors_max` allows 0.1 %): \
             400 × wrong status (first: the first of 400), 12 × other (first: the first of 12)"
        );
        assert_eq!(asked.notes()[1], "12 of 50000 requests went wrong: other (first: the first of 12)");
        let values: Vec<(String, f64)> =
            asked.metrics().into_iter().map(|measured| (measured.metric.name.to_string(), measured.value)).collect();
        let expected = [("asked", 50_000.0), ("errors", 412.0), ("errors_wrong_status", 400.0), ("errors_other", 12.0)];
        assert_eq!(values, expected.map(|(name, value)| (name.to_string(), value)));
    }
}
