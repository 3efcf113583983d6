//! Files in a server's document root; and the site of files of one size.

use super::root;
use load::http_client::{Status, Task};
use load::noise::Noise;
use load::workload::{Context, Error, Estimate};
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::path::PathBuf;

/// Files of a folder.
const FOLDER_FILES: u64 = 1000;

/// A small file takes a block.
const BLOCK_BYTES: u64 = 4096;

/// Bytes of files that are written in a second, roughly.
const WRITTEN_PER_SECOND: f64 = 1e8;

/// `files`.
pub const FILES: Setting = Setting {
    name: "files",
    kind: Is::Integer { min: 1, max: 100_000_000 },
    default: Some("1"),
    help: "Files of the site; each request draws one of them, all alike.",
};
/// `file_size`.
pub const FILE_SIZE: Setting = Setting {
    name: "file_size",
    kind: Is::Bytes { min: 1, max: 1 << 40 },
    default: Some("590B"),
    help: "Size of a file. 590 bytes are those of a well-known comparison of 2003.",
};

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
        Estimate { data_bytes, load_seconds: data_bytes as f64 / WRITTEN_PER_SECOND, run_seconds }
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

/// Makes files of these paths and sizes in the document root; they begin with this text, where they have room for it, and don't
/// compress.
pub fn make(files: impl Iterator<Item = (PathBuf, u64)>, text: &[u8], context: &Context) -> Result<(), Error> {
    let noise = Noise::new(context.seed);
    let (mut bytes, mut made) = (Vec::new(), PathBuf::new());
    for (number, (path, size)) in files.enumerate() {
        let path = root(context).join(path);
        let folder = path.parent().expect("a file has a folder");
        // Neighbours share it.
        if made != folder {
            std::fs::create_dir_all(folder).map_err(|source| Error::file("create", folder, source))?;
            made = folder.into();
        }
        bytes.resize(usize::try_from(size).expect("a file fits into memory"), 0);
        noise.fill(&mut bytes, number as u64);
        if let Some(beginning) = bytes.get_mut(..text.len()) {
            beginning.copy_from_slice(text);
        }
        std::fs::write(&path, &bytes).map_err(|source| Error::file("write", &path, source))?;
    }
    Ok(())
}

/// Every one of these files is in the document root and has its size.
pub fn verify(files: impl Iterator<Item = (PathBuf, u64)>, context: &Context) -> Result<(), Error> {
    for (path, bytes) in files {
        let path = root(context).join(path);
        let found = std::fs::metadata(&path).map_err(|source| Error::file("look at", &path, source))?.len();
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
