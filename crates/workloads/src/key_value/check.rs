//! Holds what a store gives against what it must: the right records, whole, each field in a version that may be there.

use super::store::{Key, Seen, Shape};
use super::value;
use super::versions::Versions;
use load::workload::Error;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What must be there.
pub struct Rules<'a> {
    /// How records look.
    pub shape: Shape,
    /// Of fields that are written again; none: all have version 0.
    pub versions: Option<&'a Versions>,
    /// The numbers of the keys of all records that were loaded, ascending, where records are scanned.
    pub loaded: &'a [u64],
}

/// Records in the order of their insertion: those that are begun, and those that are acknowledged with all before them.
pub struct Records {
    begun: AtomicU64,
    there: AtomicU64,
    /// Acknowledged before one that was begun earlier.
    beyond: Mutex<BTreeSet<u64>>,
}

impl Records {
    /// So many are loaded.
    pub fn new(loaded: u64) -> Records {
        Records { begun: AtomicU64::new(loaded), there: AtomicU64::new(loaded), beyond: Mutex::default() }
    }

    /// The next to insert.
    pub fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst)
    }

    /// It is inserted.
    pub fn end(&self, record: u64) {
        let mut beyond = self.beyond.lock().expect("no thread panics with it");
        beyond.insert(record);
        let mut there = self.there.load(Ordering::SeqCst);
        while beyond.remove(&there) {
            there += 1;
        }
        self.there.store(there, Ordering::SeqCst);
    }

    /// How many are there: all with a smaller number.
    pub fn there(&self) -> u64 {
        self.there.load(Ordering::SeqCst)
    }
}

/// What one request must give, and what of it was seen.
#[derive(Default)]
pub struct Check {
    /// The record that is read, or none: a scan or a write.
    record: Option<u64>,
    /// The key that is asked for, or from which is scanned.
    number: u64,
    key: Key,
    /// Records that it asks for.
    wanted: usize,
    /// Of each field, the oldest version that may be there.
    oldest: Vec<u32>,
    /// Records seen, and the fields of the last of them.
    records: usize,
    fields: u64,
    /// The place of the next loaded key, in a scan.
    next: usize,
    fault: Option<Error>,
}

impl Check {
    /// Before a read is sent.
    pub fn read(&mut self, rules: &Rules, record: u64, (number, key): (u64, Key)) {
        self.begin((number, key), Some(record), 1);
        if let Some(versions) = rules.versions {
            let first = record as usize * rules.shape.fields;
            self.oldest.extend((first..first + rules.shape.fields).map(|place| versions.oldest(place)));
        }
    }

    /// Before a scan is sent.
    pub fn scan(&mut self, rules: &Rules, (number, key): (u64, Key), count: usize) {
        self.begin((number, key), None, count);
        self.next = rules.loaded.partition_point(|loaded| *loaded < number);
    }

    /// Before a write is sent, of which nothing is seen.
    pub fn write(&mut self, of: (u64, Key)) {
        self.begin(of, None, 0);
    }

    fn begin(&mut self, (number, key): (u64, Key), record: Option<u64>, wanted: usize) {
        let oldest = std::mem::take(&mut self.oldest);
        *self = Check { record, number, key, wanted, oldest, ..Check::default() };
        self.oldest.clear();
    }

    /// A field was seen.
    pub fn see(&mut self, rules: &Rules, seen: Seen) {
        if self.fault.is_none() {
            self.fault = self.look(rules, seen).err();
        }
    }

    fn look(&mut self, rules: &Rules, seen: Seen) -> Result<(), Error> {
        let Shape { fields, length, .. } = rules.shape;
        if self.records == 0 || self.key != seen.key {
            self.next_record(rules, seen.key)?;
        }
        let bit = 1_u64.checked_shl(seen.field as u32).filter(|_| seen.field < fields).unwrap_or(0);
        if bit == 0 || self.fields & bit != 0 {
            return Err(wrong(&self.key, format!("{fields} fields"), format!("field {} besides", seen.field)));
        }
        self.fields |= bit;
        let place = || format!("field {} of {}", seen.field, String::from_utf8_lossy(&self.key));
        let Some(version) = value::version_of(self.number, seen.field, length, seen.value) else {
            let found = String::from_utf8_lossy(&seen.value[..seen.value.len().min(40)]).into_owned();
            let found = format!("{} bytes that nobody wrote there whole, beginning with {found:?}", seen.value.len());
            return Err(Error::wrong_data(place(), format!("one of its values, of {length} bytes"), found));
        };
        let allowed = match (rules.versions, self.record) {
            (Some(versions), Some(record)) => {
                self.oldest[seen.field]..=versions.newest(record as usize * fields + seen.field)
            }
            _ => 0..=0,
        };
        if allowed.contains(&version) {
            return Ok(());
        }
        let expected = format!("its version {} to {}", allowed.start(), allowed.end());
        Err(Error::wrong_data(place(), expected, format!("version {version}")))
    }

    /// Another record begins.
    fn next_record(&mut self, rules: &Rules, key: &[u8]) -> Result<(), Error> {
        self.whole(rules)?;
        if self.records == 0 && self.record.is_some() && self.key == key {
            // It is the one that is read.
            self.records = 1;
            return Ok(());
        }
        let number = value::number_of(key).ok_or_else(|| wrong(key, "a key of this load".into(), "another".into()))?;
        let is_first = self.records == 0;
        if is_first && number != self.number {
            let found = String::from_utf8_lossy(key).into_owned();
            return Err(wrong(&self.key, "the record that was asked for".into(), found));
        }
        if !is_first && (self.record.is_some() || number <= self.number || self.records == self.wanted) {
            let expected = format!("{} records in the order of their keys", self.wanted);
            return Err(wrong(key, expected, format!("it as number {}", self.records + 1)));
        }
        if self.record.is_none() {
            // Records that were added since may lie between those that were loaded.
            match rules.loaded.get(self.next) {
                Some(loaded) if *loaded == number => self.next += 1,
                Some(loaded) if *loaded < number => {
                    return Err(wrong(&value::key(*loaded), "it in a scan".into(), "the record after it".into()));
                }
                _ => {}
            }
        }
        (self.number, self.key) = (number, value::key(number));
        self.records += 1;
        self.fields = 0;
        Ok(())
    }

    /// The last record has all its fields.
    fn whole(&self, rules: &Rules) -> Result<(), Error> {
        let (found, expected) = (self.fields.count_ones() as usize, rules.shape.fields);
        if self.records == 0 || found == expected {
            return Ok(());
        }
        Err(wrong(&self.key, format!("{expected} fields"), format!("{found}")))
    }

    /// The answer has ended; how many records it had.
    ///
    /// # Errors
    /// What was wrong first, or what is missing.
    pub fn end(&mut self, rules: &Rules) -> Result<usize, Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.whole(rules)?;
        // Fewer are right only where no more are.
        let is_at_end = self.record.is_none() && self.records > 0 && self.next == rules.loaded.len();
        if self.records < self.wanted && !is_at_end {
            return Err(wrong(&self.key, format!("{} records from it on", self.wanted), format!("{}", self.records)));
        }
        Ok(self.records)
    }
}

fn wrong(key: &[u8], expected: String, found: String) -> Error {
    Error::wrong_data(String::from_utf8_lossy(key).into_owned(), expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { fields: 2, length: 20, is_scanned: true };

    fn field(number: u64, field: usize, version: u32) -> Vec<u8> {
        let mut out = Vec::new();
        value::write(number, field, version, SHAPE.length, &mut out);
        out
    }

    /// What is said of these records, by key and version of each field, in answer to a scan of so many from 30.
    fn scanned(wanted: usize, records: &[(u64, &[u32])]) -> String {
        let rules = Rules { shape: SHAPE, versions: None, loaded: &[10, 30, 50, 70] };
        let mut check = Check::default();
        check.scan(&rules, (30, value::key(30)), wanted);
        for (number, versions) in records {
            for (index, version) in versions.iter().enumerate() {
                let value = field(*number, index, *version);
                check.see(&rules, Seen { tag: 0, key: &value::key(*number), field: index, value: &value });
            }
        }
        check.end(&rules).map_or_else(|error| error.to_string(), |count| format!("{count} records"))
    }

    #[test]
    fn scans_have_all_records_in_order() {
        let whole: &[u32] = &[0, 0];
        assert_eq!(scanned(2, &[(30, whole), (50, whole)]), "2 records");
        assert_eq!(scanned(3, &[(30, whole), (40, whole), (50, whole)]), "3 records", "one was added");
        assert_eq!(scanned(9, &[(30, whole), (50, whole), (70, whole)]), "3 records", "there are no more");
        let key = |number| String::from_utf8(value::key(number).to_vec()).expect("text");
        let wrong = |number, expected: &str, found: &str| {
            format!("wrong data in {}: expected {expected}, found {found}", key(number))
        };
        assert_eq!(scanned(2, &[(50, whole), (70, whole)]), wrong(30, "the record that was asked for", &key(50)));
        assert_eq!(scanned(2, &[(30, whole), (70, whole)]), wrong(50, "it in a scan", "the record after it"));
        assert_eq!(scanned(3, &[(30, whole), (50, whole)]), wrong(50, "3 records from it on", "2"));
        assert_eq!(
            scanned(1, &[(30, whole), (50, whole)]),
            wrong(50, "1 records in the order of their keys", "it as number 2")
        );
        assert_eq!(
            scanned(3, &[(30, whole), (50, whole), (40, whole)]),
            wrong(40, "3 records in the order of their keys", "it as number 3")
        );
        assert_eq!(scanned(2, &[(30, &[0]), (50, whole)]), wrong(30, "2 fields", "1"));
        assert_eq!(scanned(1, &[]), wrong(30, "1 records from it on", "0"));
        assert!(scanned(1, &[(30, &[0, 1])]).ends_with("expected its version 0 to 0, found version 1"));
    }

    /// What is said of a value of field 1 in answer to a read that began after two writes of it.
    fn read(value: &[u8]) -> String {
        let versions = Versions::new(3 * SHAPE.fields);
        for _ in 0..2 {
            versions.end(versions.begin(5));
        }
        let rules = Rules { shape: SHAPE, versions: Some(&versions), loaded: &[] };
        let mut check = Check::default();
        check.read(&rules, 2, (77, value::key(77)));
        // It is under way while the record is read.
        versions.begin(5);
        let key = value::key(77);
        check.see(&rules, Seen { tag: 0, key: &key, field: 0, value: &field(77, 0, 0) });
        check.see(&rules, Seen { tag: 0, key: &key, field: 1, value });
        check.end(&rules).map_or_else(|error| error.to_string(), |count| format!("{count} records"))
    }

    #[test]
    fn old_torn_and_foreign_values_are_wrong() {
        for version in [2, 3] {
            assert_eq!(read(&field(77, 1, version)), "1 records");
        }
        for version in [0, 1, 4] {
            assert!(read(&field(77, 1, version)).ends_with(&format!("its version 2 to 3, found version {version}")));
        }
        let torn = [&field(77, 1, 2)[..10], &field(77, 1, 3)[10..]].concat();
        for other in [torn, field(77, 0, 2), field(78, 1, 2), field(77, 1, 2)[..19].to_vec(), Vec::new()] {
            assert!(read(&other).contains("expected one of its values, of 20 bytes"), "{}", read(&other));
        }
    }

    #[test]
    fn records_are_there_when_all_before_them_are() {
        let records = Records::new(10);
        assert_eq!([records.begin(), records.begin(), records.begin()], [10, 11, 12]);
        records.end(12);
        records.end(11);
        assert_eq!(records.there(), 10);
        records.end(10);
        assert_eq!((records.there(), records.begin()), (13, 13));
    }
}
