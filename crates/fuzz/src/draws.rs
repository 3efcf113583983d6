//! What is drawn by seed.

use random::SplitMix64;

/// A generator.
#[derive(Debug, Clone)]
pub struct Random(SplitMix64);

impl Random {
    /// By its seed.
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    /// By an input: FNV-1a of its bytes, so that the same input is always read in the same way.
    pub fn of_bytes(bytes: &[u8]) -> Random {
        let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Random::new(bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`; 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.index(end) }
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// The same bytes in pieces as they may come from a socket: mostly small, none empty.
    pub fn pieces<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let usual = 1 << self.below(12);
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at((1 + self.below(usual)).min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}
