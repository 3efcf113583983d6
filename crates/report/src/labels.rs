//! Scenarios' labels in little room, so that no two that differ look alike: in charts and in the terminal's table.
//!
//! A label is its levels with ` · ` between them, some after the factor's name: `ext4 · shared_buffers=128MB`.

use crate::flushing::{DAGGER, NAME_MARK};
use std::collections::BTreeSet;

const SEPARATOR: &str = " · ";
/// Fewer letters of a factor's name say nothing.
const NAME_LETTERS_MIN: usize = 4;
/// A level cut to this has its first and its last letter.
const LEVEL_LETTERS_MIN: usize = 3;

/// Labels of at most `room` letters, all shortened alike: first their factors' names from the beginnings on, then the levels, then
/// the whole. Where any of that makes two look alike they are numbered; numbers are longer than `room` where that is very small.
pub fn shortened(labels: &[String], room: usize) -> Vec<String> {
    let different = different(labels);
    let is_found =
        |made: &Vec<String>| made.iter().all(|label| length(label) <= room) && self::different(made) == different;
    let levels = levels(labels);
    let by_names =
        (NAME_LETTERS_MIN..=room).rev().chain([0]).map(|length| each(labels, |label| with_names(label, length)));
    let longest = levels.iter().flat_map(|label| label.split(SEPARATOR)).map(length).max().unwrap_or(0);
    // A level that is in no label that is too long stays whole, and one that is cut is so wherever it stands.
    let too_long = levels.iter().filter(|label| length(label) > room);
    let too_long: BTreeSet<&str> = too_long.flat_map(|label| label.split(SEPARATOR)).collect();
    let by_levels = (LEVEL_LETTERS_MIN..longest).rev().map(|letters| {
        let cut = |level: &str| if too_long.contains(level) { cut_level(level, letters) } else { level.to_string() };
        each(&levels, |label| label.split(SEPARATOR).map(cut).collect::<Vec<_>>().join(SEPARATOR))
    });
    let by_ends = heads(room)
        .flat_map(|head| [&levels[..], labels].map(|whole| each(whole, |label| cut_after(label, room, head))));
    by_names.chain(by_levels).chain(by_ends).find(is_found).unwrap_or_else(|| numbered(&levels, room))
}

/// As [`shortened`], of labels that may have the mark of a scenario without flushes: a dagger where not all have room for its words.
pub fn shortened_with_marks(labels: &[String], room: usize) -> Vec<String> {
    let names: Vec<String> = each(labels, |label| label.strip_suffix(NAME_MARK).unwrap_or(label).to_string());
    let is_marked: Vec<bool> = labels.iter().map(|label| label.ends_with(NAME_MARK)).collect();
    let dagger = format!(" {DAGGER}");
    let room_of_names = if is_marked.contains(&true) { room.saturating_sub(length(&dagger)) } else { room };
    let names = shortened(&names, room_of_names);
    let marked = |mark: &str| -> Vec<String> {
        names.iter().zip(&is_marked).map(|(name, is)| format!("{name}{}", if *is { mark } else { "" })).collect()
    };
    let in_words = marked(NAME_MARK);
    if in_words.iter().all(|label| length(label) <= room) { in_words } else { marked(&dagger) }
}

/// Levels alone, without the names of their factors.
pub fn levels(labels: &[String]) -> Vec<String> {
    each(labels, |label| with_names(label, 0))
}

/// Text of at most `room` letters, its middle cut out.
pub fn cut(text: &str, room: usize) -> String {
    cut_after(text, room, room / 2)
}

/// A level cut to so many letters where that saves two at least: "sq…te" is worse than "sqlite".
fn cut_level(level: &str, letters: usize) -> String {
    if length(level) <= letters + 1 { level.into() } else { cut(level, letters) }
}

fn each(labels: &[String], shorten: impl Fn(&str) -> String) -> Vec<String> {
    labels.iter().map(|label| shorten(label)).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn different(labels: &[String]) -> usize {
    labels.iter().collect::<BTreeSet<_>>().len()
}

/// A label with the last `length` letters of each longer name.
fn with_names(label: &str, length: usize) -> String {
    let short = |part: &str| match part.split_once('=') {
        Some((_, level)) if length == 0 => level.to_string(),
        Some((name, level)) if name.chars().count() > length => {
            let tail: String = name.chars().skip(name.chars().count() - length).collect();
            format!("…{tail}={level}")
        }
        _ => part.to_string(),
    };
    label.split(SEPARATOR).map(short).collect::<Vec<_>>().join(SEPARATOR)
}

/// Keeps `head` letters of a text that is too long, and as many from its end as there is room for.
fn cut_after(text: &str, room: usize, head: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= room {
        return text.into();
    }
    let tail = room.saturating_sub(head + 1);
    letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

/// How many letters to keep before a cut: half at first, as scenarios often differ at one end only.
fn heads(room: usize) -> impl Iterator<Item = usize> {
    let half = room / 2;
    (0..=half).flat_map(move |step| [half - step, half + step]).filter(move |head| *head < room)
}

/// Each with its place before it, whatever is cut.
fn numbered(labels: &[String], room: usize) -> Vec<String> {
    let number = |(place, label): (usize, &String)| {
        let number = format!("{} ", place + 1);
        let head = length(&number);
        cut_after(&format!("{number}{label}"), room.max(head + 1), head.max(room / 2))
    };
    labels.iter().enumerate().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owned(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|label| (*label).to_string()).collect()
    }

    #[test]
    fn a_short_label_keeps_the_levels() {
        let label =
            |method: &str| format!("ext4 · innodb_flush_method={method} · log_at_trx_commit=1 · doublewrite=on");
        let labels = [label("O_DIRECT"), label("fsync")];
        assert_eq!(shortened(&labels, 100), labels);
        assert_eq!(
            shortened(&labels, 60),
            [
                "ext4 · …ush_method=O_DIRECT · …trx_commit=1 · …oublewrite=on",
                "ext4 · …ush_method=fsync · …trx_commit=1 · …oublewrite=on"
            ]
        );
        assert_eq!(shortened(&labels, 24), ["ext4 · O_DIRECT · 1 · on", "ext4 · fsync · 1 · on"]);
        assert_eq!(shortened(&labels, 21), ["ext4 · O_…CT · 1 · on", "ext4 · fsync · 1 · on"]);
        assert_eq!(shortened(&labels, 11)[0].chars().count(), 11);
        let engines = ["reiserfs · sqlite", "jfs · sqlite", "jfs · postgres"];
        assert_eq!(shortened(&owned(&engines), 14), ["re…fs · sqlite", "jfs · sqlite", "jfs · postgres"]);
        let caches = ["xfs · noatime · 28MB · on", "ext3 ordered · atime · 28MB · off"];
        assert_eq!(shortened(&owned(&caches), 25), [caches[0], "ex…d · atime · 28MB · off"]);
    }

    #[test]
    fn a_name_stays_where_levels_alone_would_be_alike() {
        let labels = owned(&["commit=off · writes_of_pages=on", "commit=off · checksums_of_pages=on"]);
        assert_eq!(different(&levels(&labels)), 1);
        assert_eq!(shortened(&labels, 29), ["commit=off · …tes_of_pages=on", "commit=off · …ums_of_pages=on"]);
        assert_eq!(shortened(&labels, 12), ["1 off · on", "2 off · on"]);
    }

    #[test]
    fn a_mark_is_in_words_where_there_is_room() {
        let labels = owned(&["ext4 · commit=off (does not flush)", "xfs · commit=on"]);
        assert_eq!(shortened_with_marks(&labels, 40), labels);
        assert_eq!(shortened_with_marks(&labels, 28), ["ext4 · commit=off †", "xfs · commit=on"]);
        assert_eq!(shortened_with_marks(&labels, 12), ["ext4 · off †", "xfs · on"]);
    }

    proptest! {
        #[test]
        fn labels_of_a_study_stay_different(
            levels in proptest::collection::btree_set(
                proptest::collection::vec("[a-c]{0,3}(=[ab01]{1,12})?", 1..5), 2..24,
            ),
            room in 0_usize..60,
        ) {
            let labels: Vec<String> = levels.iter().map(|levels| levels.join(SEPARATOR)).collect();
            let short = shortened(&labels, room);
            prop_assert_eq!(different(&short), different(&labels));
            let numbers = labels.len().to_string().len() + 2;
            prop_assert!(short.iter().all(|label| length(label) <= room.max(numbers)), "{:?}", short);
        }

        #[test]
        fn labels_of_a_crossed_study_stay_different(
            factors in proptest::collection::vec(
                ("[a-z_]{1,30}", proptest::collection::btree_set("[a-z0-9]{1,20}", 1..4)), 1..5,
            ),
            room in 4_usize..80,
        ) {
            let mut labels = vec![String::new()];
            for (name, levels) in &factors {
                let with = |label: &String, level: &String| match label.is_empty() {
                    true => format!("{name}={level}"),
                    false => format!("{label}{SEPARATOR}{name}={level}"),
                };
                labels = labels.iter().flat_map(|label| levels.iter().map(|level| with(label, level)).collect::<Vec<_>>()).collect();
            }
            prop_assert_eq!(different(&shortened(&labels, room)), labels.len());
        }
    }
}
