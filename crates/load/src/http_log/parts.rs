//! A log in parts: a run sends the next so many of its requests, and the next run goes on there.

use super::Log;
use crate::http_client::{Pace, Source, Task};
use crate::workload::Error;

/// Where a log's next part begins.
pub struct Parts {
    log: Log,
    rest: Box<dyn Source>,
    /// Requests of the log before it.
    begin: u64,
}

impl Parts {
    /// A log whose first part begins after so many of its requests.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn after(log: Log, skipped: u64) -> Result<Parts, Error> {
        let mut parts = Parts { rest: Box::new(log.source(Pace::Closed)?), log, begin: 0 };
        let mut request = Vec::new();
        for _ in 0..skipped {
            parts.next(1).next(&mut request)?;
            request.clear();
        }
        Ok(parts)
    }

    /// How many of the log's requests lie before the next part.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// The next part, of so many requests: after the log's last comes its first.
    pub fn next(&mut self, requests: u64) -> impl Source {
        Part { parts: self, left: requests }
    }
}

struct Part<'a> {
    parts: &'a mut Parts,
    left: u64,
}

impl Source for Part<'_> {
    fn next(&mut self, request: &mut Vec<u8>) -> Result<Option<Task>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let Parts { log, rest, begin } = &mut *self.parts;
        *begin += 1;
        if let Some(task) = rest.next(request)? {
            return Ok(Some(task));
        }
        (*rest, *begin) = (Box::new(log.source(Pace::Closed)?), 1);
        rest.next(request)
    }
}
