//! Files in a server's document root; and the site of files of one size.

use super::root;
use load::http_client::{Status, Task};
use load::noise::{Noise, PIECE_BYTES_MAX};
use load::workload::{Context, Error, Estimate};
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Files of a folder.
const FOLDER_FILES: u64 = 1000;

/// A small file takes a block.
const BLOCK_BYTES: u64 = 4096;

/// Bytes of files that are written in a second, roughly.
const WRITTEN_PER_SECOND: f64 = 1e8;

/// The largest file of a site.
pub const FILE_BYTES_MAX: u64 = 1 << 40;

/// `files`.
pub const FILES: Setting = Setting::new("files", Is::Integer { min: 1, max: 100_000_000 }, "1")
    .help("Files of the site; each request draws one of them, all alike.");
/// `file_size`.
pub const FILE_SIZE: Setting = Setting::new("file_size", Is::Bytes { min: 1, max: FILE_BYTES_MAX }, "590B")
    .help("Size of a file. 590 bytes are those of a well-known comparison of 2003.");

/// Files of one size.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Files {
    files: u64,
    /// Of each.
    #[serde(rename = "file_size")]
    pub file_bytes: u64,
}

impl Files {
    /// Whether a file has room for this text.
    pub fn have_room_for(&self, text: &str) -> bool {
        text.len() as u64 <= self.file_bytes
    }

    /// What a trial with runs of this length will need.
    pub fn estimate(&self, run_seconds: f64) -> Estimate {
        let data_bytes = self.files.saturating_mul(self.file_bytes.max(BLOCK_BYTES));
        estimate(data_bytes, run_seconds)
    }

    /// What it is, in words.
    pub fn words(&self) -> String {
        format!("site, {} files of {} bytes", self.files, self.file_bytes)
    }

    fn files(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        let bytes = self.file_bytes;
        (0..self.files).map(move |number| (name(number).into(), bytes))
    }

    /// Makes the files, which begin with this text.
    pub fn make(&self, text: &[u8], context: &Context) -> Result<(), Error> {
        make(self.files(), text, context)
    }

    /// Every file is there and has its size.
    pub fn verify(&self, context: &Context) -> Result<(), Error> {
        verify(self.files(), context)
    }

    /// The target of a file that is drawn, and what its answer must be.
    pub fn draw(&self, random: &mut Random) -> (String, Task) {
        let task = Task {
            is_repeatable: true,
            status: Status::Class(2),
            body_bytes: Some(self.file_bytes),
            ..Task::default()
        };
        (format!("/{}", name(random.below(self.files))), task)
    }
}

/// What files of these sizes take of a filesystem.
pub fn data_bytes(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.map(|bytes| bytes.max(BLOCK_BYTES)).fold(0, u64::saturating_add)
}

/// What a trial with so much in files and runs of this length will need.
pub fn estimate(data_bytes: u64, run_seconds: f64) -> Estimate {
    Estimate { data_bytes, load_seconds: data_bytes as f64 / WRITTEN_PER_SECOND, run_seconds }
}

/// Makes files of these paths and sizes in the document root; they begin with this text, where they have room for it, and don't
/// compress.
pub fn make(files: impl Iterator<Item = (PathBuf, u64)>, text: &[u8], context: &Context) -> Result<(), Error> {
    let noise = Noise::new(context.seed);
    let mut made = PathBuf::new();
    for (number, (path, size)) in files.enumerate() {
        let path = root(context).join(path);
        let folder = path.parent().expect("a file has a folder");
        // Neighbours share it.
        if made != folder {
            std::fs::create_dir_all(folder).map_err(Error::doing("create", folder))?;
            made = folder.into();
        }
        let text: &[u8] = if text.len() as u64 <= size { text } else { b"" };
        write(&path, size, text, &noise, number as u64).map_err(Error::doing("write", &path))?;
    }
    Ok(())
}

/// Writes a file of noise that begins with this text. It need not fit into memory: a log may have an answer of any size.
fn write(path: &Path, size: u64, text: &[u8], noise: &Noise, which: u64) -> io::Result<()> {
    let mut piece = vec![0; size.min(PIECE_BYTES_MAX as u64) as usize];
    let mut file = File::create(path)?;
    let (mut text, mut left, mut number) = (text, size, which);
    while left > 0 {
        let piece = &mut piece[..left.min(PIECE_BYTES_MAX as u64) as usize];
        noise.fill(piece, number);
        let (beginning, rest) = text.split_at(text.len().min(piece.len()));
        piece[..beginning.len()].copy_from_slice(beginning);
        file.write_all(piece)?;
        (text, left, number) = (rest, left - piece.len() as u64, number + 1);
    }
    Ok(())
}

/// Every one of these files is in the document root and has its size.
pub fn verify(files: impl Iterator<Item = (PathBuf, u64)>, context: &Context) -> Result<(), Error> {
    for (path, bytes) in files {
        let path = root(context).join(path);
        let found = std::fs::metadata(&path).map_err(Error::doing("look at", &path))?.len();
        if found != bytes {
            let (place, expected) = (path.display().to_string(), format!("{bytes} bytes"));
            return Err(Error::wrong_data(place, expected, format!("{found} bytes")));
        }
    }
    Ok(())
}

/// Path of a file of the site.
fn name(number: u64) -> String {
    format!("{}/{number}", number / FOLDER_FILES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if it had been filled as a whole: seeds stand in results files.
    #[test]
    fn a_file_in_pieces_is_that_of_one_piece() {
        let (noise, file) = (Noise::new(7), tempfile::NamedTempFile::new().expect("a file"));
        let long = vec![b'a'; PIECE_BYTES_MAX + 9];
        let texts: [&[u8]; 3] = [b"", b"page", &long];
        for size in [0, 5, 4096, PIECE_BYTES_MAX, 3 * PIECE_BYTES_MAX + 5] {
            for text in texts.into_iter().filter(|text| text.len() <= size) {
                let mut whole = vec![0; size];
                noise.fill(&mut whole, 11);
                whole[..text.len()].copy_from_slice(text);
                write(file.path(), size as u64, text, &noise, 11).expect("written");
                let found = std::fs::read(file.path()).expect("read");
                assert!(found == whole, "{size} bytes, {} of text", text.len());
            }
        }
    }

    #[test]
    fn every_file_takes_a_block() {
        assert_eq!(data_bytes([0, 1, 4096, 5000].into_iter()), 3 * 4096 + 5000);
        assert_eq!(data_bytes([u64::MAX, 1].into_iter()), u64::MAX);
    }
}
