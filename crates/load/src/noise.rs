//! Bytes that do not compress: what blocks are filled with, so that no filesystem or device can shrink them.
//!
//! Drawing fresh random bytes for every block would cost more than the block's own I/O, so one pool is drawn and blocks
//! copy from different places in it. The pool is longer than the 128 KiB that btrfs compresses at a time.

use random::Random;

/// Longest piece that [`Noise::fill`] gives; larger blocks are filled piece by piece, as those of the next numbers.
pub const PIECE_BYTES_MAX: usize = 1 << 20;

/// A pool of random bytes.
pub struct Noise(Vec<u8>);

impl Noise {
    /// Draws the pool.
    pub fn new(seed: u64) -> Noise {
        let mut random = Random::new(seed);
        Noise((0..PIECE_BYTES_MAX / 4).flat_map(|_| random.next_u64().to_le_bytes()).collect())
    }

    /// Fills `target` with a piece that depends on `which`.
    pub fn fill(&self, target: &mut [u8], which: u64) {
        for (index, piece) in target.chunks_mut(PIECE_BYTES_MAX).enumerate() {
            // An odd multiplier spreads neighbouring numbers over the pool (Knuth, TAOCP 3, 6.4).
            let spread = (which + index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
            let start = spread as usize % (self.0.len() - piece.len() + 1);
            piece.copy_from_slice(&self.0[start..start + piece.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn blocks_differ_repeat_by_seed_and_do_not_compress() {
        let noise = Noise::new(7);
        let (mut first, mut second, mut again) = ([0; 4096], [0; 4096], [0; 4096]);
        noise.fill(&mut first, 0);
        noise.fill(&mut second, 1);
        Noise::new(7).fill(&mut again, 0);
        assert_ne!(first, second);
        assert_eq!(first, again);
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        let mut block = vec![0; 128 << 10];
        for (number, part) in block.chunks_mut(4096).enumerate() {
            noise.fill(part, number as u64);
        }
        encoder.write_all(&block).unwrap();
        assert!(encoder.finish().unwrap().len() > block.len() * 9 / 10);
    }

    #[test]
    fn a_block_larger_than_the_pool_is_filled() {
        let mut block = vec![0; 5 << 20];
        Noise::new(1).fill(&mut block, 3);
        assert!(block.chunks(4096).all(|part| part.iter().any(|byte| *byte != 0)));
    }
}
