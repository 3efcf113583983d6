//! A source tree by seed, as a tar archive: the same bytes for the same seed and number of files, on every machine.
//!
//! The shape is that of GCC 12.2.0's source as Debian 12 packages it (`gcc-12-source`: 115,993 files, 5,177 folders,
//! 630,383,299 bytes), read from `tar -tv`: sizes by quantile, depths of files and of folders, endings of names. Only
//! integers and products of floats are used, which every processor computes alike.

use super::archive::write_once;
use load::workload::Error;
use random::Random;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tar::{Builder, EntryType, Header};

/// Raised whenever the same seed gives another archive, so that old ones in a cache are not taken for it.
const VERSION: u32 = 1;

/// Mean size of a file: the area under [`SIZES`].
pub const FILE_BYTES_MEAN: u64 = 6562;

/// The shares of [`SIZES`] are out of this.
const PARTS: u64 = 100_000;

/// Of 100,000 files, how many are below which size; straight between the points.
const SIZES: &[(u64, u64)] = &[
    (0, 0),
    (5_000, 138),
    (10_000, 189),
    (20_000, 276),
    (30_000, 368),
    (40_000, 478),
    (50_000, 656),
    (60_000, 981),
    (70_000, 1_382),
    (80_000, 2_263),
    (85_000, 3_227),
    (90_000, 5_243),
    (94_000, 9_432),
    (96_000, 14_687),
    (98_000, 33_250),
    (99_000, 71_162),
    (99_500, 146_360),
    (99_900, 557_405),
    (99_990, 3_022_479),
    (100_000, 9_250_256),
];

/// Files by the number of folders above them, below the top; the three deepest levels are counted with the tenth.
const FILES_BY_DEPTH: [u64; 10] = [46, 2145, 3419, 25_883, 57_255, 12_761, 10_920, 3394, 115, 55];

/// Folders by depth, the top folder being the only one at depth 0.
const FOLDERS_BY_DEPTH: [u64; 10] = [1, 35, 112, 422, 1233, 1515, 1485, 286, 37, 51];

/// Endings of names, the commonest ten, and how many files of a thousand have each.
const ENDINGS: [&str; 10] = ["c", "C", "cc", "f90", "go", "d", "h", "adb", "ads", "txt"];
const FILES_BY_ENDING: [u64; 10] = [460, 185, 102, 66, 52, 44, 34, 24, 22, 11];

/// Words that contents and names are made of.
const WORDS: &[[&str; 8]] = &[
    ["int", "return", "static", "struct", "void", "const", "if", "else"],
    ["for", "while", "switch", "case", "break", "tree", "node", "type"],
    ["expr", "stmt", "block", "value", "index", "length", "offset", "register"],
    ["target", "insn", "mode", "reg", "mem", "loop", "pass", "edge"],
    ["basic", "gimple", "rtx", "decl", "flags", "hash", "table", "vector"],
    ["test", "main", "abort", "assert", "include", "define", "ifdef", "endif"],
    ["extern", "unsigned", "long", "char", "double", "template", "class", "public"],
    ["private", "operator", "namespace", "using", "virtual", "inline", "sizeof", "NULL"],
];

/// The time of all entries: the day GCC 3.3.1 came out, 2003-08-08.
const TIME: u64 = 1_060_300_800;

/// The archive in the cache, made when it isn't there.
pub fn cached(cache: &Path, files: u64, seed: u64, interrupted: &AtomicBool) -> Result<PathBuf, Error> {
    let path = cache.join(format!("tree-{VERSION}-{files}-{seed}.tar"));
    if !path.exists() {
        write_once(&path, |file| write(BufWriter::with_capacity(1 << 20, file), files, seed, interrupted))?;
    }
    Ok(path)
}

/// Writes the archive of a tree with so many files.
fn write(out: impl Write, files: u64, seed: u64, interrupted: &AtomicBool) -> io::Result<()> {
    let mut random = Random::new(seed);
    let folders = folders(files, &mut random);
    let mut builder = Builder::new(out);
    let mut content = Vec::new();
    let mut number = 0;
    for (path, count) in folders {
        let mut header = header(EntryType::Directory, 0o755, 0);
        builder.append_data(&mut header, format!("{path}/"), io::empty())?;
        for _ in 0..count {
            if interrupted.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            number += 1;
            let name = format!("{path}/{}{number}.{}", word(&mut random), ending(&mut random));
            fill(&mut content, size_at(random.below(PARTS)), &mut random);
            let mut header = self::header(EntryType::Regular, 0o644, content.len() as u64);
            builder.append_data(&mut header, name, &content[..])?;
        }
    }
    builder.into_inner()?.flush()
}

/// Every folder's path with its number of files, in the order of a walk through the tree.
fn folders(files: u64, random: &mut Random) -> Vec<(String, u64)> {
    let of_files: u64 = FILES_BY_DEPTH.iter().sum();
    let mut levels: Vec<Vec<(String, u64)>> = vec![vec![("tree".into(), 0)]];
    for weight in &FOLDERS_BY_DEPTH[1..] {
        let above = levels.last().expect("the top is there");
        let count = (files * weight / of_files).max(1);
        let level = (0..count)
            .map(|index| {
                let parent = &above[random.below(above.len() as u64) as usize].0;
                (format!("{parent}/{}{index}", word(random)), 0)
            })
            .collect();
        levels.push(level);
    }
    for _ in 0..files {
        let depth = random.weighted(&FILES_BY_DEPTH);
        let level = &mut levels[depth];
        // Files crowd in few folders, as tests do: the fourth power puts 38 % of a level's files into 2 % of its folders.
        let fraction = random.fraction();
        let crowded = fraction * fraction * fraction * fraction * level.len() as f64;
        level[crowded as usize].1 += 1;
    }
    let mut folders: Vec<_> = levels.into_iter().flatten().collect();
    folders.sort_by(|(a, _), (b, _)| a.split('/').cmp(b.split('/')));
    folders
}

/// The size that `at` of [`PARTS`] files are below.
fn size_at(at: u64) -> u64 {
    let upper = SIZES.iter().position(|(share, _)| *share > at).expect("the table ends above");
    let ((share0, size0), (share1, size1)) = (SIZES[upper - 1], SIZES[upper]);
    size0 + (size1 - size0) * (at - share0) / (share1 - share0)
}

/// Lines of words.
fn fill(content: &mut Vec<u8>, size: u64, random: &mut Random) {
    content.clear();
    while (content.len() as u64) < size {
        // Ten words of six bits each from one draw.
        let mut draw = random.next_u64();
        for _ in 0..10 {
            content.extend_from_slice(WORDS.as_flattened()[(draw % 64) as usize].as_bytes());
            content.push(b' ');
            draw >>= 6;
        }
        content.push(b'\n');
    }
    content.truncate(size as usize);
}

fn word(random: &mut Random) -> &'static str {
    let words = WORDS.as_flattened();
    words[random.below(words.len() as u64) as usize]
}

fn ending(random: &mut Random) -> &'static str {
    ENDINGS[random.weighted(&FILES_BY_ENDING)]
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(TIME);
    header.set_uid(0);
    header.set_gid(0);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: u64, seed: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, files, seed, &AtomicBool::new(false)).unwrap();
        bytes
    }

    #[test]
    fn the_same_seed_gives_the_same_archive() {
        // Another value here means another tree: raise `VERSION`.
        assert_eq!(crc32fast::hash(&archive(300, 1)), 2_972_352_889);
        assert_ne!(crc32fast::hash(&archive(300, 2)), crc32fast::hash(&archive(300, 1)));
    }

    #[test]
    fn sizes_follow_the_table() {
        assert_eq!((0..PARTS).map(size_at).sum::<u64>() / PARTS, FILE_BYTES_MEAN);
        assert_eq!([0, 50_000, 99_000].map(size_at), [0, 656, 71_162]);
        assert!((0..PARTS).map(size_at).is_sorted());
    }

    #[test]
    fn a_tree_has_its_files_in_unique_folders() {
        for files in [1, 50, 5_000] {
            let folders = folders(files, &mut Random::new(1));
            assert_eq!(folders.iter().map(|(_, count)| count).sum::<u64>(), files);
            let names: std::collections::BTreeSet<_> = folders.iter().map(|(path, _)| path).collect();
            assert_eq!(names.len(), folders.len());
            for (path, _) in &folders {
                let parent = path.rsplit_once('/').map_or("tree", |(parent, _)| parent);
                assert!(folders.iter().any(|(path, _)| path == parent), "{path}");
            }
        }
    }
}
