//! What a child and its parent both see: the input under way, and how many were done. It outlives the child, however that ends.

use memmap2::{MmapMut, MmapOptions};
use std::cell::RefCell;
use std::fs::OpenOptions;
use std::path::Path;

/// Numbers at its start: whether there is only one input, its seed, inputs begun, inputs ended, branches reached, bytes of the
/// input under way.
const WORDS: usize = 6;
const ONLY: usize = 0;
const SEED: usize = 1;
const BEGUN: usize = 2;
const ENDED: usize = 3;
const REACHED: usize = 4;
const BYTES: usize = 5;

pub(crate) struct Shared {
    map: RefCell<MmapMut>,
}

impl Shared {
    /// A new one, with room for an input of this size.
    pub(crate) fn create(path: &Path, bytes_max: usize, seed: u64) -> Shared {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        file.and_then(|file| file.set_len((WORDS * 8 + bytes_max) as u64)).expect("a file below target/");
        let shared = Shared::open(path);
        shared.set(SEED, seed);
        shared
    }

    /// The same from the other side.
    pub(crate) fn open(path: &Path) -> Shared {
        let file = OpenOptions::new().read(true).write(true).open(path).expect("the parent's file");
        // SAFETY: only the two of us map it, it keeps its length, and each byte is one that any value may stand in.
        let map = unsafe { MmapOptions::new().map_mut(&file) }.expect("room for a small mapping");
        Shared { map: RefCell::new(map) }
    }

    fn get(&self, word: usize) -> u64 {
        let map = self.map.borrow();
        u64::from_ne_bytes(map[word * 8..][..8].try_into().expect("eight bytes"))
    }

    fn set(&self, word: usize, value: u64) {
        self.map.borrow_mut()[word * 8..][..8].copy_from_slice(&value.to_ne_bytes());
    }

    /// Asks for one input and no other.
    pub(crate) fn ask_only(&self, bytes: &[u8]) {
        self.begin(bytes);
        self.set(ONLY, 1);
    }

    /// The one input that was asked for.
    pub(crate) fn only(&self) -> Option<Vec<u8>> {
        (self.get(ONLY) == 1).then(|| self.under_way())
    }

    pub(crate) fn seed(&self) -> u64 {
        self.get(SEED)
    }

    pub(crate) fn begin(&self, bytes: &[u8]) {
        self.set(BYTES, bytes.len() as u64);
        self.map.borrow_mut()[WORDS * 8..][..bytes.len()].copy_from_slice(bytes);
        self.set(BEGUN, self.get(BEGUN) + 1);
    }

    pub(crate) fn end(&self) {
        self.set(ENDED, self.get(ENDED) + 1);
    }

    pub(crate) fn say_reached(&self, branches: u64) {
        self.set(REACHED, branches);
    }

    pub(crate) fn reached(&self) -> u64 {
        self.get(REACHED)
    }

    pub(crate) fn begun(&self) -> u64 {
        self.get(BEGUN)
    }

    pub(crate) fn ended(&self) -> u64 {
        self.get(ENDED)
    }

    /// The input under way.
    pub(crate) fn under_way(&self) -> Vec<u8> {
        self.map.borrow()[WORDS * 8..][..self.get(BYTES) as usize].to_vec()
    }
}
