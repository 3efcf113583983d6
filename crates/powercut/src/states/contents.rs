//! What units hold: each distinct content once, as a place in the log where it was written whole, or put together where a write
//! changed a part of a unit.

use std::collections::HashMap;

use twox_hash::XxHash3_128;

use super::Unit;

/// What a unit holds, by its number among the distinct contents of a history: equal numbers, equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Content(u32);

impl Content {
    /// All zeros, as on a disk that was never written.
    pub const ZEROS: Content = Content(0);
}

/// Where a content's bytes are.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// From this byte of the log on.
    Log(usize),
    /// From this byte of what was put together on.
    Made(usize),
}

/// All distinct contents.
#[derive(Debug)]
pub(super) struct Contents {
    unit_bytes: usize,
    places: Vec<Place>,
    hashes: Vec<u128>,
    by_hash: HashMap<u128, Content>,
    made: Vec<u8>,
}

impl Contents {
    /// Only zeros.
    pub(super) fn new(unit_bytes: usize) -> Contents {
        let mut contents =
            Contents { unit_bytes, places: Vec::new(), hashes: Vec::new(), by_hash: HashMap::new(), made: Vec::new() };
        let zeros = contents.make(&vec![0; unit_bytes]);
        assert_eq!(zeros, Content::ZEROS, "zeros come first");
        contents
    }

    /// How long each of them is.
    pub(super) fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    /// The content that stands in the log from a byte on.
    pub(super) fn find(&mut self, log: &[u8], offset: usize) -> Content {
        let hash = XxHash3_128::oneshot(&log[offset..offset + self.unit_bytes]);
        self.by_hash.get(&hash).copied().unwrap_or_else(|| self.add(hash, Place::Log(offset)))
    }

    /// A content that was put together.
    pub(super) fn make(&mut self, bytes: &[u8]) -> Content {
        assert_eq!(bytes.len(), self.unit_bytes, "a content is a unit long");
        let hash = XxHash3_128::oneshot(bytes);
        if let Some(&known) = self.by_hash.get(&hash) {
            return known;
        }
        self.made.extend_from_slice(bytes);
        self.add(hash, Place::Made(self.made.len() - self.unit_bytes))
    }

    fn add(&mut self, hash: u128, place: Place) -> Content {
        let content = Content(u32::try_from(self.places.len()).expect("a log has fewer than 2^32 distinct units"));
        self.places.push(place);
        self.hashes.push(hash);
        self.by_hash.insert(hash, content);
        content
    }

    /// A content's bytes.
    pub(super) fn bytes<'a>(&'a self, log: &'a [u8], content: Content) -> &'a [u8] {
        let (bytes, start) = match self.places[content.0 as usize] {
            Place::Log(start) => (log, start),
            Place::Made(start) => (&self.made[..], start),
        };
        &bytes[start..start + self.unit_bytes]
    }

    /// A unit's share in the hash of an image; that of zeros is 0, so that what was never written need not be counted.
    pub(super) fn share(&self, unit: Unit, content: Content) -> u128 {
        if content == Content::ZEROS {
            return 0;
        }
        XxHash3_128::oneshot_with_seed(u64::from(unit), &self.hashes[content.0 as usize].to_le_bytes())
    }
}
