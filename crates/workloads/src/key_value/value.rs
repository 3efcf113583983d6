//! What a field holds: a function of its record, its number and its version alone. Pure.
//!
//! A value begins with its version; all that follows is drawn from record, field and version. So a value of another record or field,
//! half of one version and half of another, or one that nobody wrote can't pass for a right one.

use random::SplitMix64;

/// Characters of a value that are its version: six bits each.
const VERSION_LENGTH: usize = 6;

/// The shortest value: its version, and ten characters to hold it to.
pub const LENGTH_MIN: usize = 16;

/// A record's key: `user` and 19 digits, so that keys have one length and their order is that of their numbers. YCSB writes them without
/// zeros before them (its `zeropadding` is 1), so that they have up to 23 characters.
pub const KEY_LENGTH: usize = 23;

/// The number in a record's key: YCSB's hash, FNV-1a of 64 bits, of its place in the order of insertion (`insertorder=hashed`).
pub fn key_number(record: u64) -> u64 {
    script::distributions::hash_fnv1a(record as i64, 0).unsigned_abs()
}

/// A record's key.
pub fn key(number: u64) -> [u8; KEY_LENGTH] {
    let mut text = *b"user0000000000000000000";
    // Two chains of divisions, so that neither waits for the other.
    let (high, low) = text[4..].split_at_mut(9);
    for (digits, mut rest) in [(high, number / 10_000_000_000), (low, number % 10_000_000_000)] {
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
    text
}

/// The number of a key; none: it is none of ours.
pub fn number_of(key: &[u8]) -> Option<u64> {
    let digits = key.strip_prefix(b"user").filter(|digits| digits.len() == KEY_LENGTH - 4)?;
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|number| self::key(*number) == key)
}

/// Where the text of a value comes from.
fn stream(key_number: u64, field: usize, version: u32) -> SplitMix64 {
    let mut mixed = SplitMix64::new(key_number ^ (field as u64) << 32 ^ u64::from(version));
    // Neighbouring versions must not give shifted streams.
    SplitMix64::new(mixed.next_u64())
}

/// Eight characters from `0` to `o` without the backslash, which databases would take for an escape; of each byte six bits count.
fn characters(bits: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let plain = (bits & (0x3f * ONES)) + 0x30 * ONES;
    // Where a byte is `\`, the highest bit of this is not set (Warren, Hacker's Delight, "Find first 0-byte").
    let differs = plain ^ (0x5c * ONES);
    let is_other = ((differs & (0x7f * ONES)) + 0x7f * ONES) | differs;
    let is_backslash = !is_other & (0x80 * ONES);
    plain ^ ((is_backslash >> 7) * u64::from(b'\\' ^ b'q'))
}

/// Appends a value.
pub fn write(key_number: u64, field: usize, version: u32, length: usize, out: &mut Vec<u8>) {
    let from = out.len();
    let bits = (0..VERSION_LENGTH as u32).fold(0, |bits, place| {
        let six = u64::from(version) >> (6 * place) & 0x3f;
        bits | six << (8 * place)
    });
    out.resize(from + length, 0);
    let (head, text) = out[from..].split_at_mut(VERSION_LENGTH);
    head.copy_from_slice(&characters(bits).to_le_bytes()[..VERSION_LENGTH]);
    let mut random = stream(key_number, field, version);
    let (words, rest) = text.as_chunks_mut::<8>();
    words.iter_mut().for_each(|word| *word = characters(random.next_u64()).to_le_bytes());
    rest.copy_from_slice(&characters(random.next_u64()).to_le_bytes()[..rest.len()]);
}

/// The version of a value; none: it is not what this record's field holds in any version.
pub fn version_of(key_number: u64, field: usize, length: usize, found: &[u8]) -> Option<u32> {
    if found.len() != length {
        return None;
    }
    let (head, text) = found.split_at(VERSION_LENGTH);
    let six = |byte: u8| match byte {
        // It stands for the backslash, and for itself nowhere: `q` is beyond `o`.
        b'q' => Some(u64::from(b'\\' - 0x30)),
        b'\\' => None,
        0x30..=0x6f => Some(u64::from(byte - 0x30)),
        _ => None,
    };
    let version = head.iter().rev().try_fold(0_u64, |version, byte| Some(version << 6 | six(*byte)?))?;
    let version = u32::try_from(version).ok()?;
    let mut random = stream(key_number, field, version);
    let (words, rest) = text.as_chunks::<8>();
    let is_right = words.iter().all(|word| characters(random.next_u64()).to_le_bytes() == *word);
    let end = characters(random.next_u64()).to_le_bytes();
    (is_right && end[..rest.len()] == *rest).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(record: u64, field: usize, version: u32, length: usize) -> Vec<u8> {
        let mut out = Vec::new();
        write(key_number(record), field, version, length, &mut out);
        out
    }

    /// The first keys that YCSB 0.17 loads are user6284781860667377211 and user8517097267634966620.
    #[test]
    fn keys_are_ycsbs() {
        let text = |record| String::from_utf8(key(key_number(record)).to_vec()).expect("text");
        assert_eq!([text(0), text(1)], ["user6284781860667377211", "user8517097267634966620"]);
        assert_eq!(number_of(b"user0000000000000000007"), Some(7));
        for other in [&b"user7"[..], b"user000000000000000000x", b"USER0000000000000000007", b""] {
            assert_eq!(number_of(other), None);
        }
    }

    #[test]
    fn a_value_is_text_that_needs_no_quoting() {
        for version in 0..2000 {
            let value = value(5, 3, version, 100);
            assert!(value.iter().all(|byte| byte.is_ascii_graphic() && !b"\\'\"".contains(byte)), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn a_value_says_its_version(record: u64, field in 0usize..64, version: u32, length in LENGTH_MIN..300) {
            let value = value(record, field, version, length);
            prop_assert_eq!(value.len(), length);
            prop_assert_eq!(version_of(key_number(record), field, length, &value), Some(version));
        }

        #[test]
        fn another_records_or_fields_value_is_wrong(record in 0u64..1000, other in 0u64..1000, field in 0usize..9, version in 0u32..9) {
            prop_assume!(record != other);
            let value = value(other, field, version, 100);
            prop_assert_eq!(version_of(key_number(record), field, 100, &value), None);
            prop_assert_eq!(version_of(key_number(other), field + 1, 100, &value), None);
        }

        #[test]
        fn halves_of_two_versions_are_wrong(record: u64, versions in (0u32..50, 50u32..99), at in 1usize..100) {
            let (old, new) = (value(record, 0, versions.0, 100), value(record, 0, versions.1, 100));
            let torn = [&new[..at], &old[at..]].concat();
            prop_assume!(torn != old && torn != new);
            prop_assert_eq!(version_of(key_number(record), 0, 100, &torn), None);
        }

        #[test]
        fn any_changed_byte_is_seen(record: u64, version: u32, at in 0usize..40, to: u8) {
            let mut value = value(record, 2, version, 40);
            prop_assume!(value[at] != to);
            value[at] = to;
            prop_assert_eq!(version_of(key_number(record), 2, 40, &value), None);
        }
    }
}
