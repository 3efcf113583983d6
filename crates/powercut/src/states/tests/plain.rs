//! The rules, read as plainly as they are written: all changes and flushes in lists, gone through anew for each question.

use std::collections::BTreeSet;

use super::{Cache, Request, SECTORS, Step};

/// A write, as the plain reading sees it.
struct Change {
    sectors: std::ops::Range<usize>,
    submitted: usize,
    done: Option<usize>,
    fill: u8,
}

/// The rules as they stand in words.
pub(crate) struct Plain {
    changes: Vec<Change>,
    flushes: Vec<(usize, Option<usize>)>,
    begin: usize,
}

impl Plain {
    pub(crate) fn new(steps: &[Step]) -> Plain {
        let done = |request: Request, after: usize| {
            let is_done = |step: &Step| *step == Step::Done(request);
            steps.iter().skip(after).position(is_done).map(|place| place + after)
        };
        let (mut changes, mut flushes) = (Vec::new(), Vec::new());
        for (submitted, step) in steps.iter().enumerate() {
            let (request, offset, length, fill) = match step {
                Step::Write(request, offset, data) => (*request, *offset, data.len(), data[0]),
                Step::Zero(request, offset, length) | Step::Discard(request, offset, length) => {
                    (*request, *offset, *length as usize, 0)
                }
                Step::Flush(request) => {
                    flushes.push((submitted, done(*request, submitted)));
                    continue;
                }
                Step::Done(_) | Step::Begin | Step::Only(..) => continue,
            };
            let sectors = offset as usize / 512..offset as usize / 512 + length / 512;
            changes.push(Change { sectors, submitted, done: done(request, submitted), fill });
        }
        let begin = steps.iter().position(|step| *step == Step::Begin).unwrap_or(steps.len());
        Plain { changes, flushes, begin }
    }

    /// The records before which power is cut: completed flushes (or writes) of the measured part, and the end.
    pub(crate) fn cuts(&self, cache: Cache, end: usize) -> Vec<usize> {
        let done: Vec<Option<usize>> = match cache {
            Cache::WriteThrough => self.changes.iter().map(|change| change.done).collect(),
            _ => self.flushes.iter().map(|flush| flush.1).collect(),
        };
        let mut cuts: Vec<usize> = done.into_iter().flatten().filter(|done| *done > self.begin).collect();
        cuts.sort_unstable();
        cuts.push(end);
        cuts
    }

    fn is_durable(&self, change: &Change, cache: Cache, cut: usize) -> bool {
        let Some(done) = change.done.filter(|done| *done < cut) else { return false };
        let covered = || self.flushes.iter().any(|flush| done < flush.0 && flush.1.is_some_and(|at| at < cut));
        done < self.begin
            || match cache {
                Cache::Volatile => covered(),
                Cache::WriteThrough => true,
                Cache::Lying => false,
            }
    }

    /// What a range of sectors may hold at a cut.
    pub(crate) fn legal(&self, sectors: &std::ops::Range<usize>, cache: Cache, cut: usize) -> Legal {
        let touches = |change: &&Change| {
            change.submitted < cut && change.sectors.start < sectors.end && sectors.start < change.sectors.end
        };
        let (durable, volatile): (Vec<&Change>, Vec<&Change>) =
            self.changes.iter().filter(touches).partition(|change| self.is_durable(change, cache, cut));
        let is_before = |one: &Change, other: &Change| one.done.is_some_and(|done| done < other.submitted);
        // Where a later change is durable, an earlier one is, too, though it was not asked for.
        let (along, volatile): (Vec<&Change>, Vec<&Change>) =
            volatile.into_iter().partition(|change| durable.iter().any(|other| is_before(change, other)));
        let durable = [durable, along].concat();
        let after = |changes: &[&Change], last: Option<&Change>| {
            let mut changes = [&durable, changes].concat();
            changes.sort_by_key(|change| change.submitted);
            let mut disk = [0; SECTORS];
            changes.into_iter().chain(last).for_each(|change| disk[change.sectors.clone()].fill(change.fill));
            disk[sectors.clone()].to_vec()
        };
        let those = |is_there: &dyn Fn(&Change) -> bool| -> Vec<&Change> {
            volatile.iter().copied().filter(|change| is_there(change)).collect()
        };
        let mut all: BTreeSet<Vec<u8>> = [after(&[], None), after(&volatile, None)].into();
        for change in &volatile {
            all.insert(after(&those(&|other| other.submitted <= change.submitted), None));
            all.insert(after(&those(&|other| is_before(other, change)), Some(change)));
            all.insert(after(&those(&|other| other.submitted != change.submitted && !is_before(change, other)), None));
        }
        // At each moment, what had been completed by then.
        for done in volatile.iter().filter_map(|change| change.done).filter(|done| *done < cut) {
            all.insert(after(&those(&|other| other.done.is_some_and(|other| other <= done)), None));
        }
        Legal { durable: after(&[], None), newest: after(&volatile, None), all }
    }
}

/// What some sectors may hold.
pub(crate) struct Legal {
    pub(crate) durable: Vec<u8>,
    pub(crate) newest: Vec<u8>,
    pub(crate) all: BTreeSet<Vec<u8>>,
}
