//! Folders that a database has recovered: images that leave the same files need that once.

use powercut::states::Unit;
use powercut::verdict::Found;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// One of so many folders is looked up while that does not pay …
const MEMO_SHARE: u32 = 32;
/// … and so many before it is known whether it does.
const MEMO_TRIED_MIN: u32 = 4;

/// What came of a folder, and what the database read of the disk meanwhile.
type Known = (Arc<Found>, Vec<Unit>);

/// What the database made of folders, by their hash; and whether it is worth asking.
#[derive(Default)]
pub struct Memo {
    seen: HashMap<u128, Known>,
    images: u32,
    asked: u32,
    known: u32,
}

impl Memo {
    /// Reading a whole folder costs about as much as a recovery does: it pays where every second folder is known.
    pub(super) fn is_to_be_asked(&mut self) -> bool {
        self.images += 1;
        let pays = self.asked >= MEMO_TRIED_MIN && self.known * 2 >= self.asked;
        pays || self.images % MEMO_SHARE == 1
    }

    pub(super) fn ask(&mut self, hash: u128) -> Option<Known> {
        let known = self.seen.get(&hash).cloned();
        self.asked += 1;
        self.known += u32::from(known.is_some());
        known
    }

    pub(super) fn learn(&mut self, hash: u128, known: Known) {
        self.seen.insert(hash, known);
    }
}

/// Of all that a folder holds: names, kinds, sizes and contents, in the order of names.
pub(super) fn folder_hash(folder: &Path) -> std::io::Result<u128> {
    let mut hasher = twox_hash::XxHash3_128::with_seed(0);
    add_folder(folder, &mut hasher)?;
    Ok(hasher.finish_128())
}

fn add_folder(folder: &Path, hasher: &mut twox_hash::XxHash3_128) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut entries = folder.read_dir()?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        hasher.write(entry.file_name().as_bytes());
        hasher.write(if kind.is_dir() { b"/" } else { b"\0" });
        if kind.is_dir() {
            add_folder(&entry.path(), hasher)?;
            hasher.write(b"..");
        } else if kind.is_symlink() {
            hasher.write(entry.path().read_link()?.as_os_str().as_bytes());
        } else if kind.is_file() {
            let content = std::fs::read(entry.path())?;
            hasher.write(&(content.len() as u64).to_le_bytes());
            hasher.write(&content);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use powercut::verdict::RecoveryOutcome;

    #[test]
    fn all_are_looked_up_once_that_pays_and_few_otherwise() {
        let mut memo = Memo::default();
        let asked = |memo: &mut Memo| (0..MEMO_SHARE * 4).filter(|_| memo.is_to_be_asked()).count();
        assert_eq!(asked(&mut memo), 4);
        let found =
            Found { outcome: RecoveryOutcome::Up, streams: Default::default(), wrong: Vec::new(), logged: None };
        assert_eq!(memo.ask(7), None);
        memo.learn(7, (Arc::new(found), vec![1]));
        assert_eq!(asked(&mut memo), 4, "nothing was known of the only one");
        assert!((0..3).all(|_| memo.ask(7).is_some_and(|known| known.1 == [1])));
        assert_eq!(asked(&mut memo), MEMO_SHARE as usize * 4);
        assert!((0..3).all(|hash| memo.ask(hash).is_none()));
        assert_eq!(asked(&mut memo), 4);
    }

    #[test]
    fn a_folders_hash_is_of_names_and_contents() {
        let hash = |name: &str, content: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            std::fs::create_dir(folder.path().join("below")).expect("a folder");
            std::fs::write(folder.path().join("below").join(name), content).expect("a file");
            folder_hash(folder.path()).expect("readable")
        };
        assert_eq!(hash("a", "1"), hash("a", "1"));
        assert_ne!(hash("a", "1"), hash("a", "2"));
        assert_ne!(hash("a", "1"), hash("b", "1"));
    }
}
