//! Requests of one logged second, spread evenly over it: most logs have whole seconds, and the server did not see each second's
//! requests in one burst at its beginning.
//!
//! A second reader of the log runs ahead by a second's lines and counts them, so that no second is too full to be kept.

use super::Log;
use crate::workload::Error;
use http::reader::Reader;

const SECOND_MICROSECONDS: i64 = 1_000_000;

/// What the times of a log's requests become.
pub struct Spread {
    log: Log,
    ahead: Reader,
    /// The latest time that was read ahead.
    latest: i64,
    /// The first time of the next second, already read.
    next: Option<i64>,
    second: Second,
    /// Requests of this second that have their time.
    given: i64,
}

/// The requests that follow each other within one second.
#[derive(Clone, Copy)]
struct Second {
    requests: i64,
    /// Whether no time has a fraction: a log that has them is left as it is.
    is_whole: bool,
}

impl Spread {
    /// Of a log, from its beginning.
    pub fn new(log: &Log) -> Result<Spread, Error> {
        let second = Second { requests: 0, is_whole: false };
        Ok(Spread { ahead: log.reader()?, log: log.clone(), latest: i64::MIN, next: None, second, given: 0 })
    }

    /// The time of the next request, in microseconds, that has this one in the log; times must not go back.
    pub fn at(&mut self, logged_microseconds: i64) -> Result<i64, Error> {
        if self.given == self.second.requests {
            self.second = self.read_second()?;
            self.given = 0;
        }
        let Second { requests, is_whole } = self.second;
        let offset = if is_whole { (self.given * SECOND_MICROSECONDS).checked_div(requests).unwrap_or(0) } else { 0 };
        self.given += 1;
        Ok(logged_microseconds.saturating_add(offset))
    }

    fn read_second(&mut self) -> Result<Second, Error> {
        let first = match self.next.take() {
            None => self.read()?,
            known => known,
        };
        // The log has become shorter since it was opened: what it had keeps its times.
        let Some(first) = first else { return Ok(Second { requests: i64::MAX, is_whole: false }) };
        let mut second = Second { requests: 1, is_whole: is_whole(first) };
        while let Some(time) = self.read()? {
            if time.div_euclid(SECOND_MICROSECONDS) != first.div_euclid(SECOND_MICROSECONDS) {
                self.next = Some(time);
                break;
            }
            second.requests += 1;
            second.is_whole &= is_whole(time);
        }
        Ok(second)
    }

    /// The time of the next request that is sent, not before the one before it.
    fn read(&mut self) -> Result<Option<i64>, Error> {
        loop {
            let log = &self.log;
            let read = self.ahead.next(|entry| log.takes(&entry).then_some(entry.unix_microseconds));
            match read.map_err(Error::doing("read", &log.path))? {
                None => return Ok(None),
                Some(None) => {}
                Some(Some(time)) => {
                    self.latest = time.max(self.latest);
                    return Ok(Some(self.latest));
                }
            }
        }
    }
}

fn is_whole(microseconds: i64) -> bool {
    microseconds.rem_euclid(SECOND_MICROSECONDS) == 0
}

#[cfg(test)]
mod tests {
    use crate::http_client::{Pace, Source as _};
    use crate::http_log::{Expected, Hosts, Log, Others};
    use std::collections::BTreeMap;
    use std::io::Write as _;

    /// When requests start, in milliseconds, whose times in the log are these seconds; `-` before one: it is left out.
    fn check(seconds: &str, pace: Pace, expected: &[u128]) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        for word in seconds.split(' ') {
            let (method, second) = word.strip_prefix('-').map_or(("GET", word), |second| ("POST", second));
            let line = format!(r#"{{"method": "{method}", "uri": "/", "status": 200, "ts": {second}}}"#);
            writeln!(file, "{line}").expect("written");
        }
        let log = Log {
            path: file.path().into(),
            text: None,
            requests_max: 0,
            others: Others::Skipped,
            hosts: Hosts { default: "h".into(), is_one: true, map: BTreeMap::new() },
            expected: Expected::Nothing,
            body_text: None,
            keep_alive: true,
            bytes_max: u64::MAX,
        };
        let mut source = log.source(pace).expect("opened");
        let next = || source.next(&mut Vec::new()).expect("read").map(|task| task.at.as_millis());
        assert_eq!(std::iter::from_fn(next).collect::<Vec<_>>(), expected, "{seconds}");
    }

    #[test]
    fn requests_of_a_second_are_spread_over_it() {
        let logged = Pace::AsLogged(1.0);
        check("7 7 7 7 9 10 10", logged, &[0, 250, 500, 750, 2000, 3000, 3500]);
        // A line is written when its answer ends: times may go back, requests don't.
        check("8 8 7 8 9", logged, &[0, 250, 500, 750, 1000]);
        check("7 -7 -7 7 -8 8", logged, &[0, 500, 1000]);
        check("7", logged, &[0]);
        // Times with fractions stay as they are, the whole ones among them too.
        check("7.0 7.0 7.5 8.25 8.25 9.5", logged, &[0, 0, 500, 1250, 1250, 2500]);
        // Nobody looks at times that the pace does not follow.
        check("7 7 8", Pace::Closed, &[0, 0, 1000]);
    }

    #[test]
    fn a_second_of_any_length_is_spread() {
        let seconds = vec!["7"; 20_000].join(" ");
        let expected: Vec<u128> = (0..20_000).map(|number| number / 20).collect();
        check(&seconds, Pace::AsLogged(1.0), &expected);
    }
}
