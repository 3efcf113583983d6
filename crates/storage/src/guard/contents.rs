//! What a device holds: known marks, and any byte that is not zero where it is looked at.

use crate::error::Error;
use crate::{program, signatures};
use random::SplitMix64;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Looked at as a whole at either end: boot sectors, tables, headers, logs and their copies lie there.
const END_BYTES: u64 = 16 << 20;
/// Looked at between the ends.
const SAMPLES: u64 = 4096;
const SAMPLE_BYTES: u64 = 4096;
/// A device up to this size is read as a whole. A drive of 150 MB/s reads it in 2 s; 4,096 samples take it ten times as long.
const WHOLE_BYTES_MAX: u64 = 256 << 20;
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of what was found that are shown.
const SHOWN_BYTES: usize = 16;

/// Where a device is looked at: all of a small one, else both ends and samples between them. Half of the samples lie in even
/// steps and half at random in theirs, so that no pattern of what is there slips through every time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    bytes: u64,
    seed: u64,
}

impl Look {
    /// At places that nobody knows beforehand.
    pub(super) fn new(bytes: u64) -> Result<Look, Error> {
        let mut seed = [0; 8];
        let random = Path::new("/dev/urandom");
        File::open(random).and_then(|mut file| file.read_exact(&mut seed)).map_err(Error::file("read", random))?;
        Ok(Look { bytes, seed: u64::from_le_bytes(seed) })
    }

    /// At the places of an earlier look.
    pub(super) fn again(bytes: u64, seed: u64) -> Look {
        Look { bytes, seed }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Offset and length of each place, in the order of the device.
    fn places(self) -> Vec<(u64, u64)> {
        let Look { bytes, seed } = self;
        if bytes <= WHOLE_BYTES_MAX {
            return vec![(0, bytes)];
        }
        let step = (bytes - 2 * END_BYTES) / SAMPLES;
        let sample = |index: u64| {
            let start = END_BYTES + index * step;
            let room = step.saturating_sub(SAMPLE_BYTES);
            let shift =
                if index.is_multiple_of(2) { room / 2 } else { SplitMix64::new(seed ^ index).next_u64() % (room + 1) };
            (start + shift, SAMPLE_BYTES.min(step))
        };
        let ends = [(0, END_BYTES), (bytes - END_BYTES, END_BYTES)];
        std::iter::once(ends[0]).chain((0..SAMPLES).map(sample)).chain([ends[1]]).collect()
    }

    /// Hands out what is at each place, piece by piece, until it is told to stop.
    fn read(self, device: &impl FileExt, mut piece: impl FnMut(u64, &[u8]) -> bool) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK_BYTES];
        for (start, length) in self.places() {
            let mut offset = start;
            while offset < start + length {
                let count = usize::try_from(start + length - offset).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
                device.read_exact_at(&mut buffer[..count], offset)?;
                if !piece(offset, &buffer[..count]) {
                    return Ok(());
                }
                offset += count as u64;
            }
        }
        Ok(())
    }

    /// The first byte found that is not zero: where, and what stands there.
    fn first_byte(self, device: &impl FileExt) -> io::Result<Option<(u64, Vec<u8>)>> {
        let zeros = vec![0; CHUNK_BYTES];
        let mut found = None;
        self.read(device, |offset, bytes| {
            if bytes == &zeros[..bytes.len()] {
                return true;
            }
            let at = bytes.iter().position(|byte| *byte != 0).expect("it is not all zeros");
            found = Some((offset + at as u64, bytes[at..].iter().copied().take(SHOWN_BYTES).collect()));
            false
        })?;
        Ok(found)
    }

    /// A digest of all that is found, as hexadecimal digits.
    pub(super) fn digest(self, device: &impl FileExt) -> io::Result<String> {
        let mut hash = Sha256::new();
        hash.update(self.bytes.to_le_bytes());
        self.read(device, |offset, bytes| {
            hash.update(offset.to_le_bytes());
            hash.update(bytes);
            true
        })?;
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// What the device holds, in words, with its place: by our own table, by blkid's as a second opinion where it is installed,
/// and, as data that nobody knows are still somebody's, by any byte that is not zero.
pub(super) fn contents(path: &Path, device: &File, bytes: u64) -> Result<Option<String>, Error> {
    let failed = |error| Error::file("read", path)(error);
    let mut found = signatures::probe(device, bytes).map_err(failed)?;
    found.dedup_by_key(|found| found.name);
    if !found.is_empty() {
        let each = found.iter().map(|found| format!("{} at byte {}", found.name, found.offset));
        return Ok(Some(each.collect::<Vec<_>>().join(" and ")));
    }
    let partitions = path.file_name().map(|name| Path::new("/sys/class/block").join(name));
    let mut parts = partitions.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    if parts.any(|entry| entry.path().join("partition").exists()) {
        return Ok(Some("partitions".into()));
    }
    if let Some(kind) = second_opinion(path)? {
        return Ok(Some(kind));
    }
    let found = Look::new(bytes)?.first_byte(device).map_err(failed)?;
    Ok(found.map(|(offset, data)| unknown(offset, &data)))
}

fn unknown(offset: u64, data: &[u8]) -> String {
    let hex = data.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    let is_text = data.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let text = if is_text { format!(" ({:?})", String::from_utf8_lossy(data)) } else { String::new() };
    format!("data of no known kind: at byte {offset} stands {hex}{text}, and an empty device has zeros only")
}

/// blkid(8), low-level probing: 0 found, 2 nothing, 8 more than one.
fn second_opinion(path: &Path) -> Result<Option<String>, Error> {
    if program::find("blkid").is_none() {
        return Ok(None);
    }
    let arguments = ["-p".as_ref(), "-o".as_ref(), "export".as_ref(), path.as_os_str()];
    let output = program::run("blkid", &arguments, "util-linux")?;
    match output.status {
        Some(0) => Ok(kind_said(&output.text).map(|kind| format!("{kind}, says blkid"))),
        Some(2) => Ok(None),
        Some(8) => Ok(Some("marks of more than one kind, says blkid".into())),
        _ => Err(output.failure()),
    }
}

/// The kind in what blkid says in its form `export`. Of a partition it also says where that stands in its disk's table, which is nothing that
/// the partition holds.
fn kind_said(text: &str) -> Option<&str> {
    let is_of_device = |line: &&str| !["DEVNAME=", "PART_ENTRY_"].iter().any(|begin| line.starts_with(begin));
    let said: Vec<&str> = text.lines().filter(|line| !line.is_empty()).filter(is_of_device).collect();
    let kind = said.iter().find_map(|line| line.strip_prefix("TYPE=").or(line.strip_prefix("PTTYPE=")));
    kind.or((!said.is_empty()).then_some("something"))
}

/// What stands at both ends, for a last look before mkfs starts.
pub(super) fn glance(device: &impl FileExt, bytes: u64) -> io::Result<Vec<u8>> {
    const GLANCE_BYTES: u64 = 64 << 10;
    let length = GLANCE_BYTES.min(bytes);
    let mut both = vec![0; 2 * usize::try_from(length).expect("it is small")];
    let (head, tail) = both.split_at_mut(usize::try_from(length).expect("it is small"));
    device.read_exact_at(head, 0)?;
    device.read_exact_at(tail, bytes - length)?;
    Ok(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const GIB: u64 = 1 << 30;

    fn sparse(bytes: u64) -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(bytes).expect("sized");
        file
    }

    /// As util-linux 2.38 says it; an empty partition was refused for its entry in the table.
    #[test]
    fn where_a_partition_stands_is_nothing_that_it_holds() {
        let partition = "DEVNAME=/dev/sdb1\nPART_ENTRY_SCHEME=gpt\nPART_ENTRY_TYPE=0fc63daf\nPART_ENTRY_NUMBER=1\n\n";
        assert_eq!(kind_said(partition), None);
        assert_eq!(kind_said(&format!("{partition}UUID=1\nTYPE=xfs\n")), Some("xfs"));
        assert_eq!(kind_said("DEVNAME=/dev/sdb\nPTTYPE=gpt\n"), Some("gpt"));
        assert_eq!(kind_said("DEVNAME=/dev/sdb\nUSAGE=other\n"), Some("something"));
    }

    #[test]
    fn one_byte_anywhere_on_a_small_device_is_found() {
        for offset in [0, 1, 12_345_678, (200 << 20) - 1] {
            let file = sparse(200 << 20);
            file.write_all_at(&[7], offset).expect("written");
            let found = Look::new(200 << 20).expect("random").first_byte(&file).expect("readable");
            assert_eq!(found.map(|(at, data)| (at, data[0])), Some((offset, 7)));
        }
    }

    #[test]
    fn ends_are_read_as_a_whole_and_samples_lie_between() {
        for bytes in [WHOLE_BYTES_MAX + 512, 3 * GIB + 4096, 20 << 40] {
            let places = Look::new(bytes).expect("random").places();
            assert_eq!((places[0], places[places.len() - 1]), ((0, END_BYTES), (bytes - END_BYTES, END_BYTES)));
            assert_eq!(places.len() as u64, SAMPLES + 2);
            assert!(places.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "in order, without overlap");
        }
    }

    #[test]
    fn samples_are_elsewhere_each_time_and_the_same_when_looked_at_again() {
        let look = Look::new(100 * GIB).expect("random");
        let other = Look::new(100 * GIB).expect("random");
        assert_eq!(look.places(), Look::again(100 * GIB, look.seed()).places());
        let (one, two): (BTreeSet<_>, BTreeSet<_>) =
            (look.places().into_iter().collect(), other.places().into_iter().collect());
        assert!(one.intersection(&two).count() < 2100, "only the even steps are the same");
    }

    #[test]
    fn a_strip_in_the_middle_that_is_wider_than_two_steps_is_always_found() {
        let file = sparse(100 * GIB);
        let strip = 52 << 20;
        for offset in [1 << 30, 55_555_555_555] {
            let file = file.try_clone().expect("cloned");
            file.write_all_at(&vec![1; strip], offset).expect("written");
            assert!(Look::new(100 * GIB).expect("random").first_byte(&file).expect("readable").is_some());
            file.set_len(0).and_then(|()| file.set_len(100 * GIB)).expect("empty again");
        }
    }

    #[test]
    fn a_digest_sees_a_change_at_its_places() {
        let file = sparse(300 << 20);
        let look = Look::new(300 << 20).expect("random");
        let before = look.digest(&file).expect("readable");
        assert_eq!(before, Look::again(300 << 20, look.seed()).digest(&file).expect("readable"));
        file.write_all_at(&[1], (300 << 20) - 1).expect("written");
        assert_ne!(before, look.digest(&file).expect("readable"));
    }

    #[test]
    fn unknown_data_are_told_with_their_place() {
        assert_eq!(
            unknown(104_857_600, b"dear diary"),
            "data of no known kind: at byte 104857600 stands 64 65 61 72 20 64 69 61 72 79 (\"dear diary\"), and an empty \
             device has zeros only"
        );
    }
}
