//! Extracts an archive, with the calls that `tar -x` makes: create, write, set the time, close.

use super::archive;
use super::beneath::Root;
use load::ticker::Ticker;
use load::workload::{Context, Error};
use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;
use observe::latency::Latency;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tar::EntryType;

/// One `write` for nearly every file of a source tree.
const WRITE_BYTES: usize = 256 << 10;

/// Makes `target` and all that is in the archive, below it. Returns the time of each file and the files of each second.
pub fn extract(archive: &Path, target: &Path, context: &mut Context) -> Result<(Latency, Vec<f64>), Error> {
    let unreadable = |source| Error::file("read", archive, source);
    let mut reader = archive::open(archive)?;
    let mut buffer = vec![0; WRITE_BYTES];
    let (mut create, mut ticker) = (Latency::default(), Ticker::start(Instant::now()));
    let (mut folders, mut links) = (Vec::new(), Vec::new());
    let made = fs::create_dir(target).and_then(|()| Root::open(target));
    let root = made.map_err(Error::doing("create", target))?;
    for entry in reader.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        Error::if_interrupted(context.interrupted)?;
        let path = archive::safe(&entry.path().map_err(unreadable)?)?;
        let refused = |source| Error::file("extract", &target.join(&path), source);
        let header = entry.header();
        let time = header.mtime().map_err(unreadable)?;
        match header.entry_type() {
            EntryType::Directory => {
                root.create_folders(&path).map_err(refused)?;
                folders.push((path, time));
            }
            EntryType::Symlink => {
                let link = entry.link_name().map_err(unreadable)?.unwrap_or_default().into_owned();
                links.push((path, link));
            }
            EntryType::Link => {
                root.hard_link(&archive::link_target(&entry)?, &path).map_err(refused)?;
            }
            EntryType::Regular | EntryType::Continuous => {
                let mode = header.mode().map_err(unreadable)? & 0o777;
                let began = Instant::now();
                write_file((&root, &path), mode, time, &mut entry, &mut buffer).map_err(refused)?;
                let ended = Instant::now();
                create.record(ended - began);
                if ended >= ticker.due() {
                    ticker.tick(ended, create.count(), context.progress);
                }
            }
            // The scan of the archive let nothing else pass.
            _ => {}
        }
    }
    finish(&root, &folders, &links).map_err(|(path, source)| Error::file("extract", &target.join(path), source))?;
    Ok((create, ticker.rates()))
}

fn write_file(
    (root, path): (&Root, &Path),
    mode: u32,
    time: u64,
    content: &mut impl Read,
    buffer: &mut [u8],
) -> io::Result<()> {
    let mut file = match root.create(path, mode) {
        // An archive need not name its folders.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            root.create_folders(path.parent().unwrap_or(Path::new("")))?;
            root.create(path, mode)?
        }
        result => result?,
    };
    loop {
        let bytes = content.read(buffer)?;
        if bytes == 0 {
            break;
        }
        file.write_all(&buffer[..bytes])?;
    }
    let time = TimeSpec::new(time as i64, 0);
    Ok(futimens(&file, &time, &time)?)
}

/// What was not made, and why.
type Unmade = (PathBuf, io::Error);

/// Symbolic links come last, so that no file is written through one; then the times of folders, which every file in
/// them has changed.
fn finish(root: &Root, folders: &[(PathBuf, u64)], links: &[(PathBuf, PathBuf)]) -> Result<(), Unmade> {
    for (path, link) in links {
        root.create_folders(path.parent().unwrap_or(Path::new("")))
            .and_then(|()| root.symlink(link, path))
            .map_err(|source| (path.clone(), source))?;
    }
    // The top itself has no name below it.
    for (path, time) in folders.iter().rev().filter(|(path, _)| !path.as_os_str().is_empty()) {
        root.set_time(path, *time).map_err(|source| (path.clone(), source))?;
    }
    Ok(())
}
