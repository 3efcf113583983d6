//! Which requests a fault strikes, and what becomes of each. Pure: the disk's process asks for every request and acts.

use super::{Failure, Fault, RequestKind, Times};
use random::SplitMix64;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A sector, the least that a disk writes.
const SECTOR_BYTES: u64 = 512;

/// What a filesystem calls a block, here.
const BLOCK_BYTES: u64 = 4096;

/// A misdirected write goes so many blocks away, at most.
const MISDIRECTED_BLOCKS_MAX: u64 = 256;

/// Requests that are kept in a trace, at most.
const TRACED_MAX: usize = 100_000;

/// What a disk is to do wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// What, and how often.
    pub failure: Failure,
    /// The first request that it strikes, counted from 1 among those that it can strike.
    pub nth: u64,
    /// Of writes and reads only those can be struck that begin in one of these stretches of the disk; without any, all.
    pub only: Vec<Range<u64>>,
    /// How late a stalled answer comes; of a disk that hangs, when it is taken away at the latest.
    pub late_nanoseconds: u64,
    /// Of which bit, sector or place it is.
    pub seed: u64,
}

/// A request, as far as a fault needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// What is asked for.
    pub kind: RequestKind,
    /// Where, in bytes; of a flush 0.
    pub offset: u64,
    /// How much, in bytes; of a flush 0.
    pub length: u64,
}

/// A request of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// What was asked.
    pub asked: Asked,
    /// The first eight bytes of each of its blocks of 4096 bytes, as a big-endian number: enough for a filesystem to tell its own
    /// structures. Of writes only.
    pub heads: Vec<u64>,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is done.
    Pass,
    /// It ends with an I/O error.
    Refuse,
    /// It ends with "no space".
    Full,
    /// It is acknowledged and not done.
    Pretend,
    /// It is done at this place.
    Move(u64),
    /// The first bytes of it are done.
    Keep(u64),
    /// It is done, and then some of its bytes are others.
    Damage(Damage),
    /// It is done, and answered so much later.
    Late(u64),
    /// It is not answered before the disk is taken away, which is so much later at the latest; then it ends with an error.
    Never(u64),
}

/// Bytes that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The first of them, counted from the request's own first.
    at: u64,
    bytes: u64,
    /// The bit of a byte that changes; none: all of them do.
    bit: Option<u8>,
    seed: u64,
}

impl Damage {
    /// Changes a request's bytes.
    pub fn apply(&self, data: &mut [u8]) {
        let len = data.len();
        let at = (self.at as usize).min(len);
        let end = (at + self.bytes as usize).min(len);
        let Some(bit) = self.bit else {
            let mut noise = SplitMix64::new(self.seed);
            // Never the old byte.
            data[at..end].iter_mut().for_each(|byte| *byte ^= 1 + (noise.next_u64() % 255) as u8);
            return;
        };
        data[at..end].iter_mut().for_each(|byte| *byte ^= 1 << bit);
    }
}

/// Decides over the requests of one disk.
#[derive(Debug, Default)]
pub struct Injector {
    injection: Option<Injection>,
    /// Requests so far that the fault could have struck.
    counted: u64,
    /// The requests that were struck.
    pub struck: Vec<Asked>,
    traced: Option<Vec<Traced>>,
    /// Nothing more goes wrong; what was not answered may be, and what hangs has waited long enough.
    pub is_mended: bool,
}

impl Injector {
    /// From now on; `is_traced`: the requests are kept to be looked at.
    pub fn new(injection: Option<Injection>, is_traced: bool) -> Injector {
        Injector { injection, traced: is_traced.then(Vec::new), ..Injector::default() }
    }

    /// The requests that came, if they were to be kept.
    pub fn traced(&self) -> &[Traced] {
        self.traced.as_deref().unwrap_or_default()
    }

    /// What becomes of a request on a disk of this size; `data` is what it writes.
    pub fn decide(&mut self, asked: Asked, data: &[u8], disk_bytes: u64) -> Action {
        if let Some(traced) = self.traced.as_mut().filter(|traced| traced.len() < TRACED_MAX) {
            let head = |block: &[u8]| block.first_chunk().map_or(0, |head| u64::from_be_bytes(*head));
            traced.push(Traced { asked, heads: data.chunks(BLOCK_BYTES as usize).map(head).collect() });
        }
        let Some(injection) =
            self.injection.as_ref().filter(|injection| !self.is_mended && injection.can_strike(&asked))
        else {
            return Action::Pass;
        };
        self.counted += 1;
        let is_over = |times: u32| self.counted >= injection.nth.saturating_add(times.into());
        if self.counted < injection.nth || matches!(injection.failure.times, Times::Times(times) if is_over(times)) {
            return Action::Pass;
        }
        self.struck.push(asked);
        injection.action(asked, self.counted, disk_bytes)
    }
}

impl Injection {
    /// Whether it can strike such a request.
    pub fn can_strike(&self, asked: &Asked) -> bool {
        let is_there = || self.only.is_empty() || self.only.iter().any(|stretch| stretch.contains(&asked.offset));
        self.failure.fault.kind().strikes.contains(&asked.kind) && (asked.kind == RequestKind::Flush || is_there())
    }

    fn action(&self, asked: Asked, nth: u64, disk_bytes: u64) -> Action {
        let mut random = SplitMix64::new(self.seed ^ SplitMix64::new(nth).next_u64());
        let seed = random.next_u64();
        let mut pick = |pieces: u64| random.next_u64() % pieces.max(1);
        let sectors = asked.length.div_ceil(SECTOR_BYTES);
        let mut bit = || Damage { at: pick(asked.length), bytes: 1, bit: Some((seed % 8) as u8), seed };
        let of = |at: u64, bytes: u64| Damage { at, bytes, bit: None, seed };
        match self.failure.fault {
            Fault::WriteError | Fault::FlushError | Fault::ReadError | Fault::ReadOnly => Action::Refuse,
            Fault::Full => Action::Full,
            Fault::LostWrite => Action::Pretend,
            Fault::MisdirectedWrite => {
                let (own, places) =
                    (asked.offset / BLOCK_BYTES, disk_bytes.saturating_sub(asked.length) / BLOCK_BYTES + 1);
                let away = 1 + pick(MISDIRECTED_BLOCKS_MAX.min(places - 1));
                Action::Move((own + away) % places * BLOCK_BYTES)
            }
            // At least one sector is there and at least one is not; of a single one nothing is.
            Fault::TornWrite if sectors <= 1 => Action::Pretend,
            Fault::TornWrite => Action::Keep((1 + pick(sectors - 1)) * SECTOR_BYTES),
            Fault::ReadBit | Fault::RottenBit => Action::Damage(bit()),
            Fault::ReadSector | Fault::RottenSector => Action::Damage(of(pick(sectors) * SECTOR_BYTES, SECTOR_BYTES)),
            Fault::ReadBlock | Fault::RottenBlock => {
                Action::Damage(of(pick(asked.length.div_ceil(BLOCK_BYTES)) * BLOCK_BYTES, BLOCK_BYTES))
            }
            Fault::Nothing => Action::Pass,
            Fault::Stall | Fault::Slow => Action::Late(self.late_nanoseconds),
            Fault::Hang => Action::Never(self.late_nanoseconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FAULTS;
    use super::*;
    use proptest::prelude::*;

    const DISK_BYTES: u64 = 1 << 20;

    fn asked(kind: RequestKind, offset: u64, length: u64) -> Asked {
        Asked { kind, offset, length }
    }

    fn injection(name: &str, nth: u64) -> Injection {
        Injection { failure: name.parse().expect("a fault"), nth, only: Vec::new(), late_nanoseconds: 7, seed: 3 }
    }

    fn actions(name: &str, nth: u64, kinds: &[RequestKind]) -> Vec<Action> {
        let mut injector = Injector::new(Some(injection(name, nth)), false);
        kinds.iter().map(|kind| injector.decide(asked(*kind, 4096, 8192), &[], DISK_BYTES)).collect()
    }

    #[test]
    fn the_nth_of_its_kind_is_struck_and_as_many_as_asked() {
        use Action::{Pass, Refuse};
        use RequestKind::{Flush, Read, Write};
        let kinds = [Write, Flush, Write, Read, Flush, Flush, Flush];
        assert_eq!(actions("flush-error", 2, &kinds), [Pass, Pass, Pass, Pass, Refuse, Pass, Pass]);
        assert_eq!(actions("flush-error:2", 2, &kinds), [Pass, Pass, Pass, Pass, Refuse, Refuse, Pass]);
        assert_eq!(actions("flush-error:always", 1, &kinds), [Pass, Refuse, Pass, Pass, Refuse, Refuse, Refuse]);
        assert_eq!(actions("stall", 3, &kinds), [Pass, Pass, Action::Late(7), Pass, Pass, Pass, Pass]);
        assert_eq!(actions("none", 1, &kinds), [Pass; 7]);
    }

    #[test]
    fn only_the_stretches_that_were_named_are_struck() {
        let injection = Injection { only: vec![8192..16384, 32768..32769], ..injection("write-error:always", 2) };
        let mut injector = Injector::new(Some(injection), false);
        let mut action = |at: u64| injector.decide(asked(RequestKind::Write, at, 512), &[], DISK_BYTES);
        let all = [0, 8192, 16384, 16383, 0, 32768, 8191].map(|at| action(at) == Action::Refuse);
        assert_eq!(all, [false, false, false, true, false, true, false]);
        let injection = Injection { only: vec![8192..16384, 32768..32769], ..self::injection("flush-error", 1) };
        let flush = asked(RequestKind::Flush, 0, 0);
        let action = Injector::new(Some(injection), false).decide(flush, &[], DISK_BYTES);
        assert_eq!(action, Action::Refuse, "a flush is of the whole disk");
    }

    #[test]
    fn a_mended_disk_is_well() {
        let mut injector = Injector::new(Some(injection("read-only", 1)), true);
        let write = asked(RequestKind::Write, 0, 4096);
        assert_eq!(injector.decide(write, &[0xab; 4096], DISK_BYTES), Action::Refuse);
        injector.is_mended = true;
        assert_eq!(injector.decide(write, &[0xab; 4096], DISK_BYTES), Action::Pass);
        assert_eq!(injector.struck, [write]);
        let heads: Vec<&[u64]> = injector.traced().iter().map(|traced| &*traced.heads).collect();
        assert_eq!(heads, [&[0xabab_abab_abab_abab_u64][..]; 2]);
    }

    proptest! {
        #[test]
        fn whatever_strikes_stays_on_the_disk_and_changes_something(
            row in 0..FAULTS.len(), block in 0u64..250, sectors in 1u64..40, seed: u64,
        ) {
            let row = &FAULTS[row];
            let (offset, length) = (block * 4096, (sectors * 512).min(DISK_BYTES - block * 4096));
            let failure = Failure { fault: row.fault, times: row.times };
            let injection = Injection { failure, nth: 1, only: Vec::new(), late_nanoseconds: 1, seed };
            let mut injector = Injector::new(Some(injection), false);
            let action = injector.decide(asked(row.strikes[0], offset, length), &[], DISK_BYTES);
            prop_assert_eq!(action == Action::Pass, row.fault == Fault::Nothing);
            match action {
                Action::Move(to) => prop_assert!(to != offset && to + length <= DISK_BYTES),
                Action::Keep(bytes) => prop_assert!(bytes > 0 && bytes < length && bytes % 512 == 0),
                Action::Damage(damage) => {
                    let old = vec![0x55; length as usize];
                    let mut new = old.clone();
                    damage.apply(&mut new);
                    let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count() as u64;
                    prop_assert!(changed > 0);
                    prop_assert_eq!(changed, damage.bytes.min(length - damage.at));
                }
                _ => {}
            }
        }
    }
}
