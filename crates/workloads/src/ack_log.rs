//! The list of what a load was told before a power cut: kept outside the disk, a line `stream number tried acknowledged` for each
//! commit, the moments in nanoseconds of `CLOCK_MONOTONIC`, `-` for an acknowledgement that never came.

use load::workload::Error;
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The list of a load's runs together, begun with the first of them.
pub fn of_all_runs<'a>(kept: &'a mut Option<AckLog>, path: Option<&Path>) -> Result<&'a AckLog, Error> {
    Ok(match kept {
        Some(witness) => witness,
        none => none.insert(AckLog::create(path)?),
    })
}

/// The list, open to be added to by several threads.
pub struct AckLog(Option<(PathBuf, File)>);

impl AckLog {
    /// Begins the list; without a path nothing is written down.
    fn create(path: Option<&Path>) -> Result<AckLog, Error> {
        let open = |path: &Path| match File::create(path) {
            Ok(file) => Ok((path.to_path_buf(), file)),
            Err(source) => Err(Error::file("create", path, source)),
        };
        path.map(open).transpose().map(AckLog)
    }

    /// Adds a line.
    pub fn write(&self, stream: u32, number: u64, tried: u64, acknowledged: Option<u64>) -> Result<(), Error> {
        let Some((path, file)) = &self.0 else { return Ok(()) };
        let acknowledged = acknowledged.map_or_else(|| "-".into(), |at| at.to_string());
        // One write a line, so that the streams' lines do not mix.
        let line = format!("{stream} {number} {tried} {acknowledged}\n");
        (&*file).write_all(line.as_bytes()).map_err(Error::doing("write", path))
    }
}

/// The clock of the disk's own log.
pub fn nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Unix has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    /// The lines of the list `witness` in a folder: stream, number, tried, acknowledged.
    pub fn witnessed(folder: &Path) -> Vec<(u32, u64, u64, Option<u64>)> {
        let text = std::fs::read_to_string(folder.join("witness")).expect("written");
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let [stream, number, tried, acknowledged] = words[..] else { panic!("four words: {line}") };
            let number_of = |word: &str| word.parse::<u64>().expect("a number");
            let acknowledged = (acknowledged != "-").then(|| number_of(acknowledged));
            (number_of(stream) as u32, number_of(number), number_of(tried), acknowledged)
        };
        text.lines().map(line).collect()
    }
}
