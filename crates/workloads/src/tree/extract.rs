//! Extracts an archive, with the calls that `tar -x` makes: create, write, set the time, close.

use super::archive;
use crate::ticker::Ticker;
use crate::workload::{Context, Error};
use nix::sys::stat::{UtimensatFlags, futimens, utimensat};
use nix::sys::time::TimeSpec;
use observe::latency::Latency;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
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
    fs::create_dir(target).map_err(|source| Error::file("create", target, source))?;
    for entry in reader.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let path = target.join(archive::safe(&entry.path().map_err(unreadable)?)?);
        let refused = |source| Error::file("extract", &path, source);
        let header = entry.header();
        let time = header.mtime().map_err(unreadable)?;
        match header.entry_type() {
            EntryType::Directory => {
                fs::create_dir_all(&path).map_err(refused)?;
                folders.push((path, time));
            }
            EntryType::Symlink => {
                let link = entry.link_name().map_err(unreadable)?.unwrap_or_default().into_owned();
                links.push((path, link));
            }
            EntryType::Link => {
                fs::hard_link(target.join(archive::link_target(&entry)?), &path).map_err(refused)?;
            }
            EntryType::Regular | EntryType::Continuous => {
                let mode = header.mode().map_err(unreadable)? & 0o777;
                let began = Instant::now();
                write_file(&path, mode, time, &mut entry, &mut buffer).map_err(refused)?;
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
    finish(&folders, &links)?;
    Ok((create, ticker.rates()))
}

fn write_file(path: &Path, mode: u32, time: u64, content: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    let create = || File::options().write(true).create_new(true).mode(mode).open(path);
    let mut file = match create() {
        // An archive need not name its folders.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().expect("it is below the target"))?;
            create()?
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

/// Symbolic links come last, so that no file is written through one; then the times of folders, which every file in
/// them has changed.
fn finish(folders: &[(PathBuf, u64)], links: &[(PathBuf, PathBuf)]) -> Result<(), Error> {
    for (path, link) in links {
        let parent = path.parent().expect("it is below the target");
        fs::create_dir_all(parent)
            .and_then(|()| symlink(link, path))
            .map_err(|source| Error::file("extract", path, source))?;
    }
    for (path, time) in folders.iter().rev() {
        let time = TimeSpec::new(*time as i64, 0);
        utimensat(nix::fcntl::AT_FDCWD, path, &time, &time, UtimensatFlags::FollowSymlink)
            .map_err(|errno| Error::file("set the time of", path, errno.into()))?;
    }
    Ok(())
}
