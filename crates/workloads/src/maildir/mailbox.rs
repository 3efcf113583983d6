//! A mailbox: a folder with `tmp`, `new` and `cur`, and what must be in it.

use super::Fsync;
use load::noise::Noise;
use load::stamp::{self, STAMP_BYTES};
use load::workload::Error;
use random::Random;
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A message has at least its stamp, and some text.
pub const MESSAGE_BYTES_MIN: usize = 512;
const _: () = assert!(STAMP_BYTES < MESSAGE_BYTES_MIN);

/// Numbers of a mailbox's messages begin here; so no two mailboxes have one of the same number.
const NUMBERS_OF_A_MAILBOX: u64 = 1 << 40;

/// A mailbox and the messages that were delivered to it and not removed.
pub struct Mailbox {
    folder: PathBuf,
    next: u64,
    /// The oldest first.
    messages: VecDeque<Message>,
    /// A message's content, before it is written or as it was read.
    content: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Message {
    number: u64,
    bytes: usize,
    is_read: bool,
}

impl Message {
    /// Its file: one that was read has moved, and has the flag "seen".
    fn path(self, folder: &Path) -> PathBuf {
        let number = self.number;
        if self.is_read { folder.join(format!("cur/{number}:2,S")) } else { folder.join(format!("new/{number}")) }
    }
}

impl Mailbox {
    /// Makes an empty one.
    pub fn create(parent: &Path, number: u64) -> Result<Mailbox, Error> {
        let folder = parent.join(format!("mailbox-{number}"));
        for part in ["tmp", "new", "cur"] {
            let part = folder.join(part);
            std::fs::create_dir_all(&part).map_err(Error::doing("create", &part))?;
        }
        let next = number * NUMBERS_OF_A_MAILBOX;
        Ok(Mailbox { folder, next, messages: VecDeque::new(), content: Vec::new() })
    }

    /// Delivers a new message of this size.
    pub fn deliver(&mut self, bytes: usize, fsync: Fsync, noise: &Noise) -> Result<(), Error> {
        let message = Message { number: self.next, bytes, is_read: false };
        self.content.resize(bytes, 0);
        noise.fill(&mut self.content, message.number);
        stamp::stamp(&mut self.content, message.number, bytes as u64);
        let (unfinished, delivered) = (self.folder.join(format!("tmp/{}", message.number)), message.path(&self.folder));
        write(&unfinished, &self.content, fsync != Fsync::None).map_err(Error::doing("write", &unfinished))?;
        std::fs::rename(&unfinished, &delivered).map_err(Error::doing("rename", &unfinished))?;
        if fsync == Fsync::MessageAndFolder {
            let folder = self.folder.join("new");
            File::open(&folder).and_then(|folder| folder.sync_all()).map_err(Error::doing("flush", &folder))?;
        }
        self.next += 1;
        self.messages.push_back(message);
        Ok(())
    }

    /// Removes the message that is there for longest.
    pub fn remove_oldest(&mut self) -> Result<(), Error> {
        let Some(message) = self.messages.pop_front() else { return Ok(()) };
        let path = message.path(&self.folder);
        std::fs::remove_file(&path).map_err(Error::doing("remove", &path))
    }

    /// Reads a message that is drawn, and moves it to those that were read.
    pub fn read_any(&mut self, random: &mut Random) -> Result<(), Error> {
        let which = random.below(self.messages.len() as u64) as usize;
        let message = &mut self.messages[which];
        let path = message.path(&self.folder);
        read(&path, *message, &mut self.content)?;
        if !message.is_read {
            message.is_read = true;
            let seen = message.path(&self.folder);
            std::fs::rename(&path, &seen).map_err(Error::doing("rename", &path))?;
        }
        Ok(())
    }

    /// All its messages are there, whole, and nothing else is.
    pub fn verify(&self, interrupted: &AtomicBool) -> Result<(), Error> {
        let mut content = Vec::new();
        for message in &self.messages {
            Error::if_interrupted(interrupted)?;
            read(&message.path(&self.folder), *message, &mut content)?;
        }
        let expected: BTreeSet<PathBuf> = self.messages.iter().map(|message| message.path(&self.folder)).collect();
        for part in ["tmp", "new", "cur"] {
            let part = self.folder.join(part);
            let failed = |source| Error::file("list", &part, source);
            for entry in part.read_dir().map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if !expected.contains(&path) {
                    return Err(wrong(&path, "no such file", "a message that was removed, or never delivered"));
                }
            }
        }
        Ok(())
    }
}

fn write(path: &Path, content: &[u8], is_flushed: bool) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    if is_flushed { file.sync_all() } else { Ok(()) }
}

/// Reads a message's file, and holds it against what was delivered.
fn read(path: &Path, message: Message, content: &mut Vec<u8>) -> Result<(), Error> {
    content.clear();
    File::open(path)
        .and_then(|mut file| std::io::Read::read_to_end(&mut file, content))
        .map_err(Error::doing("read", path))?;
    if content.len() != message.bytes {
        let (expected, found) = (format!("{} bytes", message.bytes), format!("{} bytes", content.len()));
        return Err(wrong(path, &expected, &found));
    }
    let found = stamp::serial_of(content, message.number);
    let found = found.map_err(|damage| wrong(path, &damage.expected, &damage.found))?;
    // A file of zeros has the number of no message.
    if found == message.bytes as u64 { Ok(()) } else { Err(wrong(path, "a message", "zeros")) }
}

fn wrong(path: &Path, expected: &str, found: &str) -> Error {
    Error::wrong_data(path.display().to_string(), expected, found)
}
