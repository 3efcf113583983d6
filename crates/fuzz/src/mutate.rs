//! Changes of inputs: what breaks, cuts, repeats, exchanges, and lies about lengths.

use crate::{Random, Target};

/// Numbers at which readers stumble, as a field of bytes has them.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    16,
    127,
    128,
    250,
    251,
    252,
    253,
    254,
    255,
    256,
    4096,
    32_767,
    32_768,
    65_535,
    65_536,
    0xff_ffff,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffb,
    0xffff_ffff,
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// The same as a text has them.
const TEXT_NUMBERS: &[&str] = &[
    "0",
    "-0.0",
    "-1",
    "1",
    "2147483647",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e30",
    "1e-300",
    "1e308",
    "1e999",
    "-1e308",
    "nan",
    "inf",
    "00000000000000000001",
    "99999999999999999999999",
    "",
];

/// Draws inputs.
pub(crate) struct Mutator<'a> {
    random: Random,
    target: &'a Target,
}

impl<'a> Mutator<'a> {
    pub(crate) fn new(random: Random, target: &'a Target) -> Mutator<'a> {
        Mutator { random, target }
    }

    /// One of the corpus, changed once to eight times.
    pub(crate) fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.random.one_of(corpus).clone();
        for _ in 0..1 << self.random.below(4) {
            self.change(&mut bytes, corpus);
        }
        bytes.truncate(self.target.bytes_max);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.random.below(bytes.len());
        match self.random.below(12) {
            0 => flip(bytes, at, 1 << self.random.below(8)),
            1 => set(bytes, at, self.random.bits() as u8),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(self.range(bytes.len()))),
            4 => {
                let piece = bytes[self.range(bytes.len())].to_vec();
                insert(bytes, at, &piece);
            }
            5 => {
                let other = self.random.one_of(corpus);
                let piece = &other[self.range(other.len())];
                insert(bytes, at, piece);
            }
            // The start of one, and the end of another.
            6 => {
                let other = self.random.one_of(corpus);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[self.random.below(other.len())..]);
            }
            7 | 8 => self.put_number(bytes, at),
            9 => self.put_text_number(bytes, at),
            10 if !self.target.words.is_empty() => {
                insert(bytes, at, self.random.one_of(self.target.words).as_bytes());
            }
            _ => {
                let noise: Vec<u8> = (0..1 + self.random.below(8)).map(|_| self.random.bits() as u8).collect();
                insert(bytes, at, &noise);
            }
        }
    }

    /// A field of 1, 2, 3, 4 or 8 bytes, from either end.
    fn put_number(&mut self, bytes: &mut [u8], at: usize) {
        let width = *self.random.one_of(&[1, 2, 3, 4, 8]);
        let number = self.random.one_of(NUMBERS).wrapping_add(self.random.below(3) as u64).wrapping_sub(1);
        let (little, big) = (number.to_le_bytes(), number.to_be_bytes());
        let field = if self.random.below(2) == 0 { &little[..width] } else { &big[8 - width..] };
        if let Some(place) = bytes.get_mut(at..at + width) {
            place.copy_from_slice(field);
        }
    }

    /// In place of the next digits.
    fn put_text_number(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let Some(start) = (at..bytes.len()).find(|index| bytes[*index].is_ascii_digit()) else { return };
        let end = (start..bytes.len()).find(|index| !bytes[*index].is_ascii_digit()).unwrap_or(bytes.len());
        bytes.splice(start..end, self.random.one_of(TEXT_NUMBERS).bytes());
    }

    /// Mostly short.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.random.below(length);
        let longest = length.saturating_sub(start).min(1 << self.random.below(12));
        start..start + self.random.below(longest + 1)
    }
}

fn flip(bytes: &mut [u8], at: usize, bits: u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= bits;
    }
}

fn set(bytes: &mut [u8], at: usize, value: u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte = value;
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
