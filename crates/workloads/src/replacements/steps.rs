//! Replacements one by one: commit n replaces a file with its version n.

use super::rule::{Damage, Rule};
use super::writer::{Neighbour, replace};
use super::{Method, path};
use crate::commits::Look;
use crate::steps::{Attempted, Connected, NotAcknowledged, STREAM, Steps};
use load::sql::Place;
use load::workload::Error;
use std::path::PathBuf;

/// Files that are replaced: few, so that each is again soon after a fault.
const REPLACED: u64 = 4;

/// Files of a folder.
pub(super) struct Files {
    pub method: Method,
    pub rule: Rule,
}

fn file(number: u64) -> u32 {
    (number % REPLACED) as u32
}

impl Steps for Files {
    fn connect(&self, place: &Place) -> Result<Box<dyn Connected + '_>, Error> {
        Ok(Box::new(Writer { files: self, folder: place.data_folder.clone() }))
    }

    /// What the rest of a machine does: a neighbour flushes, and the kernel writes back. Whatever comes of it, our client is not told.
    fn write_out(&self, place: &Place) -> Result<(), Error> {
        let _ = Neighbour::open(&place.data_folder).and_then(|mut neighbour| neighbour.flush());
        super::writer::start_write_back_of_all(&place.data_folder);
        Ok(())
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        self.write_out(place)
    }

    fn look(&self, place: &Place, tried: &[Attempted]) -> Result<Look, Error> {
        let mut look = Look::default();
        let mut there = Vec::new();
        for number in 0..REPLACED as u32 {
            let own: Vec<Attempted> = tried.iter().filter(|one| file(one.number) == number).copied().collect();
            match std::fs::read(path(&place.data_folder, number)) {
                Ok(bytes) => match self.numbers(&own, self.rule.version(number, &bytes)) {
                    Ok(numbers) => there.extend(numbers),
                    Err(damage) => look.wrong.push(format!("{}: file-{number}", damage.words())),
                },
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    look.wrong.push(format!("{}: file-{number}", Damage::Missing.words()));
                }
                Err(error) => look.damage = Some(format!("file-{number} can't be read: {error}")),
            }
        }
        there.sort_unstable();
        look.streams.insert(STREAM, there);
        Ok(look)
    }
}

impl Files {
    /// Which of a file's commits count as there: the one whose version it is, and those before it, which it replaced.
    fn numbers(&self, own: &[Attempted], found: Result<u64, Damage>) -> Result<Vec<u64>, Damage> {
        let last = own.last().filter(|last| last.is_refused);
        let kept = |before: u64| own.iter().filter(move |one| one.number < before && !one.is_refused);
        match (found, last) {
            (Ok(0), _) => Ok(Vec::new()),
            (Ok(version), _) => Ok(kept(version).map(|one| one.number).chain([version]).collect()),
            // Who was told that a file could not be written in place knows that neither version may be there.
            (Err(_), Some(last)) if !self.method.keeps_the_old() => {
                Ok(kept(last.number).map(|one| one.number).collect())
            }
            (Err(damage), _) => Err(damage),
        }
    }
}

struct Writer<'a> {
    files: &'a Files,
    folder: PathBuf,
}

impl Connected for Writer<'_> {
    fn commit(&mut self, number: u64) -> Result<(), NotAcknowledged> {
        let (file, Files { method, rule }) = (file(number), self.files);
        replace(&self.folder, file, &rule.content(file, number), *method).map_err(|source| NotAcknowledged {
            error: Error::file("replace", &path(&self.folder, file), source),
            is_unknown: false,
        })
    }

    fn give_up(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { seed: 1 };

    fn tried(all: &[(u64, bool)]) -> Vec<Attempted> {
        all.iter().map(|&(number, is_refused)| Attempted { number, is_refused }).collect()
    }

    #[test]
    fn a_version_stands_for_those_that_it_replaced() {
        let files = Files { method: Method::RenameFsync, rule: RULE };
        let own = tried(&[(1, false), (5, true), (9, false)]);
        assert_eq!(files.numbers(&own, Ok(9)), Ok(vec![1, 9]));
        assert_eq!(files.numbers(&own, Ok(5)), Ok(vec![1, 5]), "a false failure, and the ninth is gone");
        assert_eq!(files.numbers(&own, Ok(1)), Ok(vec![1]));
        assert_eq!(files.numbers(&own, Ok(0)), Ok(Vec::new()));
    }

    #[test]
    fn only_who_writes_in_place_and_was_told_may_leave_a_torn_file() {
        let [told, silent] = [true, false].map(|is_refused| tried(&[(1, false), (5, is_refused)]));
        let numbers = |method, own: &[Attempted]| Files { method, rule: RULE }.numbers(own, Err(Damage::Mixed));
        assert_eq!(numbers(Method::OverwriteFsync, &told), Ok(vec![1]));
        assert_eq!(numbers(Method::Truncate, &told), Ok(vec![1]));
        assert_eq!(numbers(Method::RenameFsync, &told), Err(Damage::Mixed));
        assert_eq!(numbers(Method::OverwriteFsync, &silent), Err(Damage::Mixed));
    }

    #[test]
    fn what_is_replaced_is_found_by_every_method() {
        for method in [
            Method::Rename,
            Method::RenameFsync,
            Method::RenameFsyncDirectory,
            Method::Truncate,
            Method::OverwriteFsync,
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let files = Files { method, rule: RULE };
            let place = Place { data_folder: folder.path().into(), server: None };
            for number in 0..REPLACED as u32 {
                std::fs::write(path(folder.path(), number), RULE.content(number, 0)).expect("written");
            }
            let mut own = Vec::new();
            for number in 1..=6 {
                files.connect(&place).expect("a folder").commit(number).expect("replaced");
                own.push(Attempted { number, is_refused: false });
                files.write_out(&place).expect("nobody is told");
            }
            let look = files.look(&place, &own).expect("readable");
            let expected = Look { streams: [(STREAM, (1..=6).collect())].into(), ..Look::default() };
            assert_eq!(look, expected, "{method:?}");
            std::fs::write(path(folder.path(), 2), RULE.content(2, 2)).expect("written");
            let look = files.look(&place, &own).expect("readable");
            assert_eq!(look.streams[&STREAM], [1, 2, 3, 4, 5], "the sixth is gone");
            std::fs::remove_file(path(folder.path(), 3)).expect("it was there");
            assert_eq!(files.look(&place, &own).expect("readable").wrong, ["files that are gone: file-3"]);
        }
    }
}
