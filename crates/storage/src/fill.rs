//! Filling and ageing: seeded incompressible files, and a seeded churn of create, append and delete.
//!
//! Both lie beside the data folder. Fill comes first; the churn then runs in what is left free and leaves it in pieces.
//! The same seed on the same filesystem writes the same files.

use crate::error::Error;
use random::SplitMix64;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Files that fill: large enough to be quick, small enough to hit the share to within a per cent of a small device.
const FILL_FILE_BYTES: u64 = 32 << 20;

/// How near the share must be hit.
const FILL_TOLERANCE: f64 = 0.01;

/// Sizes of churned files are spread evenly over the powers of two between these.
const CHURN_BYTES_MIN: u64 = 4 << 10;
const CHURN_BYTES_MAX: u64 = 4 << 20;

/// Share of the free space that churned files take at most while it goes on.
const CHURN_SHARE_MAX: f64 = 0.3;

/// Churned files are flushed this often, so that blocks are really chosen in this order and not at the end.
const CHURN_FLUSH_BYTES: u64 = 32 << 20;

/// Folders that the churned files are spread over.
const FOLDERS: u64 = 64;

/// One seed, two streams of numbers: any two constants keep them apart.
const FILL_STREAM: u64 = 1;
const AGE_STREAM: u64 = 2;

/// Fills the filesystem of a folder until the share of its blocks is used.
pub(crate) fn fill(folder: &Path, share: f64, seed: u64) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    let mut noise = SplitMix64::new(seed ^ FILL_STREAM);
    let mut number = 0;
    loop {
        let space = Space::of(folder)?;
        let missing = (share * space.total) - space.used;
        if missing < space.total * FILL_TOLERANCE / 4.0 {
            return Ok(());
        }
        let path = folder.join(format!("{number:06}"));
        let length = (missing as u64).clamp(4096, FILL_FILE_BYTES);
        let written = write(&path, length, &mut noise);
        if let Err(error) = written {
            let found = Space::of(folder)?;
            let found = found.used / found.total;
            if found + FILL_TOLERANCE >= share {
                return Ok(());
            }
            return match error.raw_os_error() {
                Some(libc::ENOSPC) => Err(Error::NotFilled { wanted: share * 100.0, found: found * 100.0 }),
                _ => Err(Error::file("write", path)(error)),
            };
        }
        number += 1;
    }
}

/// Churns until so many bytes were written, then deletes half of the files that are left.
pub(crate) fn age(folder: &Path, bytes: u64, seed: u64) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    let space = Space::of(folder)?;
    let mut churn = Churn {
        folder: folder.into(),
        noise: SplitMix64::new(seed ^ AGE_STREAM),
        alive: Vec::new(),
        alive_bytes: 0,
        bytes_max: (space.free * CHURN_SHARE_MAX) as u64,
        number: 0,
    };
    for index in 0..FOLDERS {
        let path = folder.join(format!("{index:02}"));
        std::fs::create_dir_all(&path).map_err(Error::file("create", path))?;
    }
    let (mut written, mut flushed) = (0, 0);
    while written < bytes {
        written += churn.step()?;
        if written - flushed >= CHURN_FLUSH_BYTES {
            flush(folder)?;
            flushed = written;
        }
    }
    for _ in 0..churn.alive.len() / 2 {
        churn.delete()?;
    }
    flush(folder)
}

struct Churn {
    folder: PathBuf,
    noise: SplitMix64,
    alive: Vec<(PathBuf, u64)>,
    alive_bytes: u64,
    bytes_max: u64,
    number: u64,
}

impl Churn {
    /// Two creations to one append and one deletion; deletions only, while too much is alive. Gives the bytes written.
    fn step(&mut self) -> Result<u64, Error> {
        let length = self.length();
        let full = self.alive_bytes + length > self.bytes_max;
        match self.noise.below(4) {
            _ if full && !self.alive.is_empty() => self.delete().map(|()| 0),
            2 if !self.alive.is_empty() => self.append(length),
            3 if !self.alive.is_empty() => self.delete().map(|()| 0),
            _ => self.create(length),
        }
    }

    fn length(&mut self) -> u64 {
        let octaves = u64::from((CHURN_BYTES_MAX / CHURN_BYTES_MIN).ilog2());
        let least = CHURN_BYTES_MIN << self.noise.below(octaves);
        // A device that is nearly full still takes the smallest.
        (least + self.noise.below(least)).min(self.bytes_max.max(CHURN_BYTES_MIN))
    }

    fn create(&mut self, length: u64) -> Result<u64, Error> {
        let path = self.folder.join(format!("{:02}/{:08}", self.noise.below(FOLDERS), self.number));
        self.number += 1;
        write(&path, length, &mut self.noise).map_err(Error::file("write", &path))?;
        self.alive.push((path, length));
        self.alive_bytes += length;
        Ok(length)
    }

    fn append(&mut self, length: u64) -> Result<u64, Error> {
        let index = self.noise.below(self.alive.len() as u64) as usize;
        let (path, bytes) = &mut self.alive[index];
        write(path, length, &mut self.noise).map_err(Error::file("append to", &*path))?;
        *bytes += length;
        self.alive_bytes += length;
        Ok(length)
    }

    fn delete(&mut self) -> Result<(), Error> {
        let index = self.noise.below(self.alive.len() as u64) as usize;
        let (path, bytes) = self.alive.swap_remove(index);
        self.alive_bytes -= bytes;
        std::fs::remove_file(&path).map_err(Error::file("delete", path))
    }
}

/// Appends noise to a file, making it when it is not there; flushed, so that the space is really taken.
fn write(path: &Path, bytes: u64, noise: &mut SplitMix64) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let mut chunk = vec![0; bytes.min(1 << 20) as usize];
    let mut left = bytes;
    while left > 0 {
        let length = left.min(chunk.len() as u64) as usize;
        noise.fill(&mut chunk[..length]);
        file.write_all(&chunk[..length])?;
        left -= length as u64;
    }
    if bytes >= FILL_FILE_BYTES { file.sync_all() } else { Ok(()) }
}

/// Writes out all of the filesystem that a folder is on.
pub(crate) fn flush(folder: &Path) -> Result<(), Error> {
    let failed = |error| Error::file("flush", folder)(error);
    let handle = File::open(folder).map_err(failed)?;
    observe::disk::flush_filesystem_of(&handle).map_err(failed)
}

/// Bytes of a filesystem.
struct Space {
    total: f64,
    used: f64,
    free: f64,
}

impl Space {
    /// After a flush, because delayed allocation hides what is used.
    fn of(folder: &Path) -> Result<Space, Error> {
        flush(folder)?;
        let found = nix::sys::statvfs::statvfs(folder).map_err(|error| Error::file("look at", folder)(error.into()))?;
        let unit = found.fragment_size() as f64;
        let (total, free) = (found.blocks() as f64 * unit, found.blocks_free() as f64 * unit);
        Ok(Space { total, used: total - free, free })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(folder: &Path) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        for entry in folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry")) {
            let (path, metadata) = (entry.path(), entry.metadata().expect("there"));
            if metadata.is_dir() {
                found.extend(
                    tree(&path).into_iter().map(|(below, bytes)| (Path::new(&entry.file_name()).join(below), bytes)),
                );
            } else {
                found.push((entry.file_name().into(), metadata.len()));
            }
        }
        found.sort();
        found
    }

    #[test]
    fn the_same_seed_ages_alike() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
            age(&folder.path().join(name), 12 << 20, seed).expect("aged");
        }
        let trees = ["a", "b", "c"].map(|name| tree(&folder.path().join(name)));
        assert_eq!(trees[0], trees[1]);
        assert_ne!(trees[0], trees[2]);
        assert!(!trees[0].is_empty());
    }
}
