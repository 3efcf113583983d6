//! A block that says where it belongs and how often it was written, under a checksum: what the block workloads write.
//!
//! A block that is lost, torn, stale or at the wrong place can't pass for a right one.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | number of the block in its file, little-endian |
//! | 8..16 | serial: counts the block's updates, or names its last write; 0 never occurs in a stamped block |
//! | 16..20 | CRC-32 of all other bytes |
//! | 20.. | anything |

use crate::workload::Error;
use crc32fast::Hasher;
use std::path::Path;

/// Bytes at the start of a block that [`stamp`] needs.
pub const STAMP_BYTES: usize = 20;

const CHECKSUM_AT: usize = 16;

/// What is wrong with a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What should stand there.
    pub expected: String,
    /// What stood there.
    pub found: String,
}

impl Damage {
    /// As a workload's error: which block of which file.
    pub fn of(self, path: &Path, block: u64) -> Error {
        Error::wrong_data(format!("block {block} of {}", path.display()), self.expected, self.found)
    }
}

/// Writes number, serial and checksum into a block.
pub fn stamp(block: &mut [u8], number: u64, serial: u64) {
    label(block, number, serial);
    let checksum = checksum(block);
    block[CHECKSUM_AT..STAMP_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Writes number and serial only: blocks differ, at no cost, but can't be checked.
pub fn label(block: &mut [u8], number: u64, serial: u64) {
    block[..8].copy_from_slice(&number.to_le_bytes());
    block[8..CHECKSUM_AT].copy_from_slice(&serial.to_le_bytes());
}

/// The serial of a block: 0 when it is all zeros, as in a hole of the file.
///
/// # Errors
/// [`Damage`] when the checksum is wrong or the block belongs elsewhere.
pub fn serial_of(block: &[u8], number: u64) -> Result<u64, Damage> {
    let word = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    let (found_number, serial) = (word(0), word(8));
    if serial == 0 && is_zero(block) {
        return Ok(0);
    }
    let stored = u32::from_le_bytes(block[CHECKSUM_AT..STAMP_BYTES].try_into().expect("four bytes"));
    let computed = checksum(block);
    if stored != computed {
        return Err(Damage {
            expected: format!("checksum {stored:08x}"),
            found: format!("{computed:08x} (number {found_number}, serial {serial})"),
        });
    }
    if found_number != number {
        return Err(Damage { expected: format!("block {number}"), found: format!("block {found_number}") });
    }
    Ok(serial)
}

fn checksum(block: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&block[..CHECKSUM_AT]);
    hasher.update(&block[STAMP_BYTES..]);
    hasher.finalize()
}

/// Comparing a slice with itself one byte on is a single `memcmp`.
fn is_zero(block: &[u8]) -> bool {
    block[0] == 0 && block[1..] == block[..block.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hole_has_serial_zero() {
        assert_eq!(serial_of(&[0; 4096], 9), Ok(0));
    }

    #[test]
    fn a_block_of_another_place_is_damage() {
        let mut block = [3; 512];
        stamp(&mut block, 4, 1);
        assert_eq!(serial_of(&block, 4), Ok(1));
        assert_eq!(serial_of(&block, 5).unwrap_err().found, "block 4");
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_seen(number: u64, serial in 1u64.., fill: u8, at in 0usize..512, bit in 0u8..8) {
            let mut block = [fill; 512];
            stamp(&mut block, number, serial);
            prop_assert_eq!(serial_of(&block, number), Ok(serial));
            block[at] ^= 1 << bit;
            prop_assert!(serial_of(&block, number).is_err());
        }
    }
}
