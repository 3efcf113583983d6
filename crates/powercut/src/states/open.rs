//! A unit of which something is volatile, and the contents that are legal for it.
//!
//! A write may change a part of a unit, as filesystems with blocks of 1024 bytes and logs with sectors of 512 do. Such writes that were
//! under way at once are independent: each may be there without the others. A disk keeps a unit as a whole, so a write brings
//! along what had been completed in its unit before it came.

use std::ops::Range;

use super::contents::{Content, Contents};

/// A write (or zeros, or a discard) by its place in the order of submission.
pub(super) type Change = usize;

/// When a change was submitted and completed, as numbers of records, and which bytes of the disk it touches.
pub(super) struct Span {
    pub(super) bytes: Range<u64>,
    pub(super) submitted: u64,
    pub(super) done: Option<u64>,
}

/// What a change does to a unit.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) change: Change,
    /// Which of the unit's bytes it writes.
    pub(super) bytes: Range<usize>,
    /// What it writes is in those bytes of this.
    pub(super) content: Content,
    pub(super) is_durable: bool,
}

impl Version {
    fn is_hidden_by(&self, bytes: &Range<usize>) -> bool {
        bytes.start <= self.bytes.start && self.bytes.end <= bytes.end
    }
}

/// Contents, and the log that most of their bytes are in.
pub(super) struct Store<'a> {
    pub(super) log: &'a [u8],
    pub(super) contents: Contents,
}

impl Store<'_> {
    /// What a unit holds after these, one after the other.
    fn after<'v>(&mut self, mut base: Content, versions: impl DoubleEndedIterator<Item = &'v Version>) -> Content {
        let mut parts: Vec<&Version> = Vec::new();
        for version in versions.rev() {
            if version.bytes.len() == self.contents.unit_bytes() {
                base = version.content;
                break;
            }
            // On a disk that lies a superblock has as many versions as there were commits.
            if !parts.iter().any(|later| version.is_hidden_by(&later.bytes)) {
                parts.push(version);
            }
        }
        if parts.is_empty() {
            return base;
        }
        let mut whole = self.contents.bytes(self.log, base).to_vec();
        for Version { bytes, content, .. } in parts.into_iter().rev() {
            whole[bytes.clone()].copy_from_slice(&self.contents.bytes(self.log, *content)[bytes.clone()]);
        }
        self.contents.make(&whole)
    }
}

/// A unit of which something is volatile.
#[derive(Debug)]
pub(super) struct Open {
    /// What is durable and older than all versions.
    base: Content,
    /// In order of submission; the first one is volatile.
    pub(super) versions: Vec<Version>,
    /// What may be there, once it was asked for.
    legal: Option<Vec<Content>>,
    /// Whether more than that may be there.
    is_abridged: bool,
}

impl Open {
    /// A unit that holds this for certain.
    pub(super) fn new(base: Content) -> Open {
        Open { base, versions: Vec::new(), legal: None, is_abridged: false }
    }

    /// One more version, submitted after the others.
    pub(super) fn add(&mut self, version: Version) {
        self.versions.push(version);
        self.legal = None;
    }

    /// One of its changes was completed.
    pub(super) fn completed(&mut self) {
        self.legal = None;
    }

    /// Makes a change durable, with what was completed before it came. What is durable now, if that may be another content.
    pub(super) fn make_durable(&mut self, change: Change, changes: &[Span], store: &mut Store<'_>) -> Option<Content> {
        let place = self.versions.iter().position(|version| version.change == change)?;
        self.legal = None;
        for version in &mut self.versions[..place] {
            version.is_durable |= is_before(version.change, change, changes);
        }
        self.versions[place].is_durable = true;
        let bytes = self.versions[place].bytes.clone();
        self.versions
            .retain(|version| version.change >= change || !version.is_durable || !version.is_hidden_by(&bytes));
        let settled = self.versions.iter().take_while(|version| version.is_durable).count();
        self.base = store.after(self.base, self.versions.drain(..settled).as_slice().iter());
        Some(self.content(store, |_| false))
    }

    /// What the unit holds if of the volatile changes only those are there.
    pub(super) fn content(&self, store: &mut Store<'_>, is_there: impl Fn(Change) -> bool) -> Content {
        store.after(self.base, self.versions.iter().filter(|version| version.is_durable || is_there(version.change)))
    }

    /// What may be there, durable first, newest last, none twice but these; a single one if that is decided. Of volatile changes each
    /// may be the last that came or was completed of those that are there, or the only one, or the only one that is not. These are all that
    /// there is, unless it [is abridged](Open::is_abridged).
    pub(super) fn legal(&mut self, changes: &[Span], store: &mut Store<'_>) -> &[Content] {
        let legal = match self.legal.take() {
            Some(known) => known,
            None => {
                self.is_abridged = self.abridges(changes, store.contents.unit_bytes());
                self.find_legal(changes, store)
            }
        };
        self.legal.insert(legal)
    }

    /// Whether more may be there than [`Open::legal`] has named.
    pub(super) fn is_abridged(&self) -> bool {
        self.is_abridged
    }

    /// Of up to three volatile parts in a row that were under way beside each other all sets are named. Of more they are as long as no three
    /// were under way at once: of two, either both are there, with all before them, or one with those that had been completed before it came.
    fn abridges(&self, changes: &[Span], unit_bytes: usize) -> bool {
        if self.versions.iter().all(|version| version.bytes.len() == unit_bytes) {
            return false;
        }
        let (mut row, mut latest, mut most_at_once) = (Vec::new(), 0, 0);
        for version in self.versions.iter().filter(|version| !version.is_durable) {
            let (this, span) = (version.change, &changes[version.change]);
            if latest < span.submitted {
                row.clear();
                most_at_once = 0;
            }
            latest = latest.max(span.done.unwrap_or(u64::MAX));
            row.push(this);
            let at_once = row.iter().filter(|other| !is_before(**other, this, changes)).count();
            most_at_once = at_once.max(most_at_once);
            if row.len() > 3 && most_at_once > 2 {
                return true;
            }
        }
        false
    }

    fn find_legal(&self, changes: &[Span], store: &mut Store<'_>) -> Vec<Content> {
        let durable = self.content(store, |_| false);
        let newest = self.content(store, |_| true);
        let mut legal = vec![durable];
        let mut add = |content| {
            if content != newest && !legal.contains(&content) {
                legal.push(content);
            }
        };
        let is_whole = self.versions.iter().all(|version| version.bytes.len() == store.contents.unit_bytes());
        let has_durable = self.versions.iter().any(|version| version.is_durable);
        // What all versions so far come to, and when the last of them was completed.
        let (mut all, mut latest) = (self.base, 0);
        for (place, version) in self.versions.iter().enumerate() {
            let (this, span) = (version.change, &changes[version.change]);
            let is_after_all = latest < span.submitted;
            latest = latest.max(span.done.unwrap_or(u64::MAX));
            if is_whole {
                // Whatever else is there, it is the whole content.
                if !version.is_durable {
                    add(version.content);
                }
                continue;
            }
            all = store.after(all, std::iter::once(version));
            let is_before_next = self.versions.get(place + 1).is_none_or(|next| is_before(this, next.change, changes));
            if is_after_all && is_before_next && !has_durable {
                // One after the other there is one way only, and a superblock may have been written a thousand times.
                add(all);
                continue;
            }
            if version.is_durable {
                continue;
            }
            add(self.content(store, |other| other <= this));
            let is_along = |other: &&Version| other.is_durable || is_before(other.change, this, changes);
            add(store.after(self.base, self.versions.iter().filter(is_along).chain([version])));
            add(self.content(store, |other| other != this && !is_before(this, other, changes)));
            if let Some(done) = changes[this].done {
                add(self.content(store, |other| changes[other].done.is_some_and(|other| other <= done)));
            }
        }
        if newest != durable || legal.len() > 1 {
            legal.push(newest);
        }
        legal
    }
}

/// Whether a change was completed before another was submitted: where that one is, this one is, too.
fn is_before(change: Change, other: Change, changes: &[Span]) -> bool {
    changes[change].done.is_some_and(|done| done < changes[other].submitted)
}
