//! What every block of every version of a file holds, by its place alone; and what is told from that of a file that was found. Pure.

use random::Random;
use std::collections::BTreeSet;

/// Files that are replaced.
pub const FILES: u32 = 8;

/// Length of each: three units of 4096 bytes, so that it can be torn, and small as what programs keep their state in.
pub const FILE_BYTES: usize = 12 << 10;

/// A sector: no disk tears one.
pub const BLOCK_BYTES: usize = 512;

const BLOCKS: u32 = (FILE_BYTES / BLOCK_BYTES) as u32;

/// Which block it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Whose, from 0.
    pub file: u32,
    /// Where in it, from 0.
    pub place: u32,
    /// Of which version; 0 is the one before the run.
    pub version: u64,
}

/// What a file is that is no whole version, in the order in which one is said of a file that is several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// Its name is gone.
    Missing,
    /// Nothing is in it.
    Empty,
    /// Less is in it than in any version.
    Shorter,
    /// More is in it than in any version.
    Longer,
    /// A block is of no file's.
    Unknown,
    /// A block is another file's, or of another place.
    Foreign,
    /// A block is zeros.
    Zeros,
    /// Blocks are of several versions.
    Mixed,
}

impl Damage {
    /// What a finding says of such files.
    pub fn words(self) -> &'static str {
        match self {
            Damage::Missing => "files that are gone",
            Damage::Empty => "files of length zero",
            Damage::Shorter => "files that are cut short",
            Damage::Longer => "files that are longer than any version",
            Damage::Unknown => "files with content that was never written",
            Damage::Foreign => "files with another file's content",
            Damage::Zeros => "files with zeros instead of content",
            Damage::Mixed => "files that mix versions",
        }
    }
}

/// The rule of one run.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Where everything random comes from.
    pub seed: u64,
}

impl Rule {
    /// A block's bytes: it says which it is, and the rest follows from that. No filesystem can shrink it.
    pub fn block(self, block: Block) -> [u8; BLOCK_BYTES] {
        let Block { file, place, version } = block;
        let of_place = self.seed ^ u64::from(file) << 32 ^ u64::from(place);
        let mut random = Random::of_stream(of_place, version);
        let mut bytes = [0; BLOCK_BYTES];
        bytes[..4].copy_from_slice(&file.to_le_bytes());
        bytes[4..8].copy_from_slice(&place.to_le_bytes());
        bytes[8..16].copy_from_slice(&version.to_le_bytes());
        for eight in bytes[16..].as_chunks_mut::<8>().0 {
            *eight = random.next_u64().to_le_bytes();
        }
        bytes
    }

    /// A version of a file.
    pub fn content(self, file: u32, version: u64) -> Vec<u8> {
        (0..BLOCKS).flat_map(|place| self.block(Block { file, place, version })).collect()
    }

    /// Which block this is, if every byte of it is right.
    fn known(self, bytes: &[u8]) -> Option<Block> {
        let of = |from: usize| Some(u32::from_le_bytes(*bytes.get(from..)?.first_chunk()?));
        let version = u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
        let block = Block { file: of(0)?, place: of(4)?, version };
        (self.block(block) == bytes).then_some(block)
    }

    /// Which version a file is, whole, or what is wrong with it.
    pub fn version(self, file: u32, bytes: &[u8]) -> Result<u64, Damage> {
        match bytes.len() {
            0 => return Err(Damage::Empty),
            length if length < FILE_BYTES => return Err(Damage::Shorter),
            length if length > FILE_BYTES => return Err(Damage::Longer),
            _ => {}
        }
        let of_block = |(place, bytes): (usize, &[u8])| {
            if bytes.iter().all(|byte| *byte == 0) {
                return Err(Damage::Zeros);
            }
            let block = self.known(bytes).ok_or(Damage::Unknown)?;
            let is_here = block.file == file && block.place as usize == place;
            if is_here { Ok(block.version) } else { Err(Damage::Foreign) }
        };
        let blocks: Vec<Result<u64, Damage>> = bytes.chunks(BLOCK_BYTES).enumerate().map(of_block).collect();
        let versions: BTreeSet<u64> = blocks.iter().flatten().copied().collect();
        let damage = blocks.iter().filter_map(|block| block.err()).min();
        match (damage, versions.first()) {
            (None, Some(version)) if versions.len() == 1 => Ok(*version),
            (damage, _) => Err(damage.unwrap_or(Damage::Mixed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULE: Rule = Rule { seed: 1 };

    /// A file in which one run of blocks is replaced.
    fn with(blocks: std::ops::Range<usize>, bytes: &[u8]) -> Vec<u8> {
        let mut content = RULE.content(2, 5);
        let range = blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES;
        content[range.clone()].copy_from_slice(&bytes[range]);
        content
    }

    #[test]
    fn every_kind_of_damage_is_told_apart() {
        let zeros = vec![0; FILE_BYTES];
        let whole = RULE.content(2, 5);
        let moved = [&whole[4096..8192], &whole[..4096], &whole[8192..]].concat();
        let all: [(&[u8], Result<u64, Damage>); 12] = [
            (&whole, Ok(5)),
            (&RULE.content(2, 0), Ok(0)),
            (&[], Err(Damage::Empty)),
            (&whole[..8192], Err(Damage::Shorter)),
            (&[&whole[..], &[0]].concat(), Err(Damage::Longer)),
            (&zeros, Err(Damage::Zeros)),
            (&with(8..16, &zeros), Err(Damage::Zeros)),
            (&with(16..24, &RULE.content(2, 4)), Err(Damage::Mixed)),
            (&RULE.content(3, 5), Err(Damage::Foreign)),
            (&with(0..8, &RULE.content(3, 5)), Err(Damage::Foreign)),
            (&moved, Err(Damage::Foreign)),
            (&Rule { seed: 2 }.content(2, 5), Err(Damage::Unknown)),
        ];
        for (place, (bytes, expected)) in all.into_iter().enumerate() {
            assert_eq!(RULE.version(2, bytes), expected, "{place}");
        }
        let torn = with(0..8, &[&whole[..700], &zeros[700..]].concat());
        assert_eq!(RULE.version(2, &torn), Err(Damage::Unknown), "a sector is never torn");
    }

    #[test]
    fn the_worst_is_said() {
        let mut bytes = with(0..8, &vec![0; FILE_BYTES]);
        bytes[4096..8192].copy_from_slice(&RULE.content(2, 4)[4096..8192]);
        assert_eq!(RULE.version(2, &bytes), Err(Damage::Zeros));
        bytes[8192..].copy_from_slice(&RULE.content(1, 5)[8192..]);
        assert_eq!(RULE.version(2, &bytes), Err(Damage::Foreign));
        bytes[700] ^= 1;
        assert_eq!(RULE.version(2, &bytes), Err(Damage::Unknown));
    }

    proptest! {
        #[test]
        fn a_whole_version_is_known_and_any_changed_byte_seen(
            seed: u64, file in 0..FILES, version in 0u64..1 << 40, place in 0..FILE_BYTES, change in 1u8..,
        ) {
            let rule = Rule { seed };
            let mut bytes = rule.content(file, version);
            prop_assert_eq!(rule.version(file, &bytes), Ok(version));
            bytes[place] ^= change;
            prop_assert_eq!(rule.version(file, &bytes), Err(Damage::Unknown));
        }

        #[test]
        fn what_a_file_is_follows_from_what_its_blocks_are(
            parts in proptest::collection::vec((0u32..3, 0u64..3, 0u8..9), BLOCKS as usize),
        ) {
            // Of each block: whose it is, of which version, and whether it is zeros.
            let block = |(place, &(file, version, zeros)): (usize, &(u32, u64, u8))| match zeros {
                0 => [0; BLOCK_BYTES],
                _ => RULE.block(Block { file, place: place as u32, version }),
            };
            let bytes: Vec<u8> = parts.iter().enumerate().flat_map(block).collect();
            let written: Vec<_> = parts.iter().filter(|part| part.2 > 0).collect();
            let versions: BTreeSet<u64> = written.iter().map(|part| part.1).collect();
            let expected = if written.iter().any(|part| part.0 != 1) {
                Err(Damage::Foreign)
            } else if written.len() < parts.len() {
                Err(Damage::Zeros)
            } else if versions.len() > 1 {
                Err(Damage::Mixed)
            } else {
                Ok(parts[0].1)
            };
            prop_assert_eq!(RULE.version(1, &bytes), expected);
        }
    }
}
