//! Which faults are tried, and in which order: each fault on each kind of block first, then the rest in a random order, so that what is
//! reached in the time is a random sample of it. Pure.

use powercut::fault::injector::{Asked, Injection, Traced};
use powercut::fault::{Failure, RequestKind};
use random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use storage::Part;

/// What a block of nobody's files is that its filesystem does not name.
const OF_THE_FILESYSTEM: &str = "filesystem";

/// What a flush is of.
const FLUSH: &str = "flush";

/// Blocks are named by pieces of this.
const BLOCK_BYTES: u64 = 4096;

/// Whose the blocks of the disk are, as the load on a well disk left it.
#[derive(Debug, Default)]
pub struct Structures {
    /// Parts of files, by their first byte on the device: where they end, and what the file is.
    files: BTreeMap<u64, (u64, String)>,
    /// Blocks of the filesystem's own, by their first byte.
    own: BTreeMap<u64, &'static str>,
}

impl Structures {
    /// From the parts of files, what a file is, and what the filesystem says of a block by its place and its first bytes.
    pub fn new(
        parts: &[Part],
        file_kind: impl Fn(&Part) -> String,
        traced: &[Traced],
        block_name: impl Fn(u64, u64) -> Option<&'static str>,
    ) -> Structures {
        let files =
            parts.iter().map(|part| (part.device_at, (part.device_at + part.length, file_kind(part)))).collect();
        let blocks = traced.iter().flat_map(|traced| {
            let places = (0..).map(|block| traced.asked.offset + block * BLOCK_BYTES);
            places.zip(traced.heads.iter().copied())
        });
        let own = blocks.filter_map(|(at, head)| Some((at, block_name(at, head)?))).collect();
        Structures { files, own }
    }

    /// What a request is of: by its first block.
    pub fn name(&self, asked: &Asked) -> &str {
        if asked.kind == RequestKind::Flush {
            return FLUSH;
        }
        let part = self.files.range(..=asked.offset).next_back().map(|(_, part)| part);
        if let Some((_, name)) = part.filter(|(end, _)| asked.offset < *end) {
            return name;
        }
        // XFS begins its log's records and the heads of its groups with any sector. The next block is another one.
        let own = self.own.range(asked.offset / BLOCK_BYTES * BLOCK_BYTES..=asked.offset).next_back();
        own.map_or(OF_THE_FILESYSTEM, |(_, name)| *name)
    }

    /// Where blocks with these names lie, as far as the load on a well disk wrote or read them.
    ///
    /// # Errors
    /// A name that no request has, with those that there are.
    pub fn stretches(&self, names: &[String], traced: &[Traced]) -> Result<Vec<Range<u64>>, UnknownBlock> {
        let requests = || traced.iter().map(|traced| &traced.asked).filter(|asked| asked.kind != RequestKind::Flush);
        let known: BTreeSet<&str> = requests().map(|asked| self.name(asked)).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&***name)) {
            let known = known.into_iter().map(String::from).collect();
            return Err(UnknownBlock { name: name.clone(), known });
        }
        let is_named = |name: &str| names.iter().any(|one| one == name);
        let of_files = self.files.iter().filter(|(_, (_, name))| is_named(name));
        let mut stretches: Vec<Range<u64>> = of_files.map(|(at, (end, _))| *at..*end).collect();
        // Of the filesystem's own, what was asked for: nobody says where the others lie.
        for asked in requests().filter(|asked| is_named(self.name(asked))) {
            if !stretches.iter().any(|stretch| stretch.contains(&asked.offset)) {
                stretches.push(asked.offset..asked.offset + 1);
            }
        }
        Ok(stretches)
    }
}

/// No request of the load is of such a block.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no request of this load is of a block `{name}` (safety.fault_blocks): there are {}", known.join(", "))]
pub struct UnknownBlock {
    name: String,
    known: Vec<String>,
}

/// A fault, and the first request that it strikes among those of its kinds, counted from 1.
pub type Strike = (Failure, u64);

/// All strikes in the order in which they are tried, and how many of them come first: each fault once on each kind of block. Of writes and
/// reads only those that begin in one of the stretches `only` count, where there are any.
pub fn agenda(
    failures: &[Failure],
    traced: &[Traced],
    structures: &Structures,
    only: &[Range<u64>],
    seed: u64,
) -> (Vec<Strike>, usize) {
    let mut by_failure: Vec<Vec<Strike>> = Vec::new();
    let mut rest = Vec::new();
    let mut known = BTreeSet::new();
    // `full` and `full:always` are the same.
    for failure in failures.iter().filter(|failure| known.insert(**failure)) {
        let injection = Injection { failure: *failure, nth: 1, only: only.to_vec(), late_nanoseconds: 0, seed };
        let its = traced.iter().map(|traced| &traced.asked).filter(|asked| injection.can_strike(asked));
        let (mut seen, mut first) = (BTreeSet::new(), Vec::new());
        for (nth, asked) in (1..).zip(its) {
            let is_new = seen.insert((asked.kind, structures.name(asked)));
            if is_new { first.push((*failure, nth)) } else { rest.push((*failure, nth)) }
        }
        by_failure.push(first);
    }
    let longest = by_failure.iter().map(Vec::len).max().unwrap_or(0);
    let mut all: Vec<Strike> =
        (0..longest).flat_map(|place| by_failure.iter().filter_map(move |first| first.get(place).copied())).collect();
    let first = all.len();
    let mut random = SplitMix64::new(seed);
    for last in (1..rest.len()).rev() {
        rest.swap(last, random.index(last + 1));
    }
    all.extend(rest);
    (all, first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use powercut::fault::RequestKind::{Flush, Write};

    fn traced(kind: RequestKind, offset: u64, heads: &[u64]) -> Traced {
        Traced { asked: Asked { kind, offset, length: heads.len() as u64 * BLOCK_BYTES }, heads: heads.to_vec() }
    }

    fn structures(traced: &[Traced]) -> Structures {
        let part = Part { file: "data/log".into(), at: 0, device_at: 8192, length: 8192 };
        let kind = |part: &Part| part.file.display().to_string();
        Structures::new(&[part], kind, traced, |_, head| (head == 7).then_some("journal"))
    }

    #[test]
    fn blocks_are_named_by_files_then_by_the_filesystem() {
        let all = [traced(Write, 8192, &[0]), traced(Write, 16384, &[0, 7]), traced(Flush, 0, &[])];
        let structures = structures(&all);
        let named = |kind, offset| structures.name(&Asked { kind, offset, length: 512 }).to_string();
        assert_eq!(
            [0, 8192, 16383, 16384, 20480 + 512].map(|at| named(Write, at)),
            ["filesystem", "data/log", "data/log", "filesystem", "journal"]
        );
        assert_eq!(named(Flush, 0), "flush");
    }

    /// Of XFS' log seven records of eight were nobody's, and the head of a group was its superblock.
    #[test]
    fn a_block_begins_with_any_sector() {
        let part = Part { file: "data/log".into(), at: 0, device_at: 1 << 20, length: 4096 };
        let all = [traced(Write, 0, &[1]), traced(Write, 512, &[2]), traced(Write, 8192 + 512, &[3])];
        let names = |_: u64, head: u64| Some(["superblock", "allocation group", "journal"][head as usize - 1]);
        let structures = Structures::new(&[part], |_| "WAL".into(), &all, names);
        let named = |offset| structures.name(&Asked { kind: Write, offset, length: 512 }).to_string();
        assert_eq!(
            [0, 512, 4096, 4608, 8192, 8192 + 512, 8192 + 1024, 8192 + 4096].map(named),
            [
                "superblock",
                "allocation group",
                "filesystem",
                "filesystem",
                "filesystem",
                "journal",
                "journal",
                "filesystem"
            ]
        );
        let journal = structures.stretches(&["journal".to_string()], &all).expect("it was written");
        assert_eq!((journal.len(), &journal[0]), (1, &(8704..8705)));
    }

    #[test]
    fn each_kind_of_block_comes_first_and_nothing_is_left_out() {
        let all = [
            traced(Write, 8192, &[0]),
            traced(Flush, 0, &[]),
            traced(Write, 12288, &[0]),
            traced(Write, 0, &[0]),
            traced(Flush, 0, &[]),
            traced(Write, 0, &[0]),
        ];
        let failures: Vec<Failure> = ["write-error", "flush-error"].map(|name| name.parse().expect("a fault")).to_vec();
        let (strikes, first) = agenda(&failures, &all, &structures(&all), &[], 1);
        let [write, flush] = failures[..] else { panic!("two") };
        assert_eq!(strikes[..first], [(write, 1), (flush, 1), (write, 3)]);
        let mut rest = strikes[first..].to_vec();
        rest.sort_unstable();
        assert_eq!(rest, [(write, 2), (write, 4), (flush, 2)]);
    }

    /// There had been twice as many cases of each, and no bound, as none had struck in four ways on.
    #[test]
    fn a_fault_that_is_named_twice_is_tried_once() {
        let all = [traced(Write, 8192, &[0]), traced(Write, 12288, &[0])];
        let failures =
            |names: &[&str]| names.iter().map(|name| name.parse().expect("a fault")).collect::<Vec<Failure>>();
        let tried = |names: &[&str]| agenda(&failures(names), &all, &structures(&all), &[], 1);
        assert_eq!(tried(&["full", "full:always", "full"]), tried(&["full"]));
        assert_eq!(tried(&["full", "full:2"]).0.len(), 4, "these differ");
    }

    #[test]
    fn blocks_that_are_named_are_struck_alone() {
        let all =
            [traced(Write, 8192, &[0]), traced(Write, 20480, &[7]), traced(Flush, 0, &[]), traced(Write, 0, &[0])];
        let structures = structures(&all);
        let stretches =
            |names: &[&str]| structures.stretches(&names.iter().map(ToString::to_string).collect::<Vec<_>>(), &all);
        let both = stretches(&["data/log", "journal"]).expect("both are there");
        assert_eq!(both, [8192..16384, 20480..20481]);
        let failures: Vec<Failure> = ["write-error", "flush-error"].map(|name| name.parse().expect("a fault")).to_vec();
        let (strikes, _) = agenda(&failures, &all, &structures, &both, 1);
        assert_eq!(strikes, [(failures[0], 1), (failures[1], 1), (failures[0], 2)], "counted among themselves");
        let unknown = stretches(&["jurnal"]).expect_err("no such block").to_string();
        assert!(
            unknown.ends_with("`jurnal` (safety.fault_blocks): there are data/log, filesystem, journal"),
            "{unknown}"
        );
    }
}
