//! What is said of power cuts where they were measured: a cell, the answer's sentences, what machines get.
//!
//! What they mean for the pick is `analysis::parity`.

use crate::flushing::Marked;
use crate::number::{count, percent_at_most, rounded, seconds};
use crate::words::{counted, some_of};
use analysis::row::Row;
use analysis::view::Part;
use observe::durability::Class;
use observe::safety::{Grade, Safety};
use serde_json::{Value, json};

/// The class and what decided it: "A · lost nothing in 1,229 images", "C · lost 12 commits, 0.41 s", or "…, or more".
pub fn cell(found: &Safety) -> String {
    let [all, silent] = [found.images, found.silent].map(count);
    let what = match found.grade {
        Grade::A => format!("lost nothing in {}", counted(found.images, "image")),
        Grade::B | Grade::C | Grade::D => {
            let or_more = if is_censored(found) { ", or more" } else { "" };
            let (lost, time) = (counted(found.worst_lost_commits, "commit"), seconds(found.worst_lost_seconds));
            format!("lost {lost}, {time}{or_more}")
        }
        Grade::E if found.damaged == 0 => format!("{} of {all} unmountable", count(found.unmountable)),
        Grade::E => format!("{} of {all} damaged", count(found.unmountable + found.damaged)),
        Grade::F if found.silent == found.bad() => format!("{silent} of {all} wrong without a word"),
        Grade::F => format!("{} of {all} bad, {silent} of them without a word", count(found.bad())),
    };
    format!("{} · {what}", found.grade.letter())
}

/// As [`cell`], where there is little room: "A · lost nothing", "C · lost 12 commits", "E · damaged".
pub fn short_cell(found: &Safety) -> String {
    let what = match found.grade {
        Grade::A => "lost nothing".into(),
        Grade::B | Grade::C | Grade::D => {
            let or_more = if is_censored(found) { " or more" } else { "" };
            format!("lost {}{or_more}", counted(found.worst_lost_commits, "commit"))
        }
        Grade::E if found.damaged == 0 => "unmountable".into(),
        Grade::E => "damaged".into(),
        Grade::F => "wrong, and silent".into(),
    };
    format!("{} · {what}", found.grade.letter())
}

/// Whether its loss is a lower bound, and its mean one of the recording's length.
pub fn is_censored(found: &Safety) -> bool {
    found.is_censored == Some(true)
}

/// How much of what a cut may leave was looked at: of what was recorded, which is never all that the settings may lead to.
pub fn explored(found: &Safety) -> &'static str {
    if found.is_complete { "all of this recording that differ for a recovery" } else { "a sample" }
}

/// "0 of 61 random cuts bad: below 4.8 % at 95 %; of the images searched for the worst 0 of 1,229, a sample".
fn bound(found: &Safety) -> String {
    let (bad, explored) = (count(found.bad()), explored(found));
    match found.bad_share_at_most() {
        Some(share) => format!(
            "{} of {} bad: below {} at 95 %; of the images searched for the worst {bad} of {}, {explored}",
            count(found.random_cuts_bad),
            counted(found.random_cuts, "random cut"),
            percent_at_most(share),
            count(found.images)
        ),
        None => format!("{bad} of {} bad, {explored}", counted(found.images, "image")),
    }
}

/// Behind the worst: ", 4 commits and 0.14 s on average over 61 random cuts".
fn expected(found: &Safety) -> String {
    let (Some(commits), Some(time)) = (found.expected_lost_commits, found.expected_lost_seconds) else {
        return String::new();
    };
    let cuts = counted(found.random_cuts, "random cut");
    format!(", {} commits and {} on average over {cuts}", rounded(commits, 2), seconds(time))
}

/// "lost nothing (class A)".
fn took(found: &Safety) -> String {
    let letter = found.grade.letter();
    let (lost, before) = (counted(found.worst_lost_commits, "commit"), seconds(found.worst_lost_seconds));
    match found.grade {
        Grade::C | Grade::D if is_censored(found) => {
            let perhaps = if found.held_to() > found.grade { ", or D: a longer `safety.time` tells" } else { "" };
            format!(
                "lost {lost} or more, acknowledged {before} before the cut or earlier, as much as the recording could show \
                 (class {letter}{perhaps})"
            )
        }
        Grade::A | Grade::E | Grade::F => format!("{} (class {letter})", found.grade.words()),
        Grade::B | Grade::C | Grade::D => {
            let expected = expected(found);
            format!("lost up to {lost} acknowledged up to {before} before the cut{expected} (class {letter})")
        }
    }
}

/// What the measurement says against a scenario that is not picked; none where it says nothing.
pub fn risk(row: &Row, part: &Part) -> Option<String> {
    match (&row.power_cut, &part.allowed) {
        (Some(found), _) if found.grade >= Grade::E => {
            Some(format!("in a power cut it {}: {}", took(found), bound(found)))
        }
        (Some(found), _) if found.grade > Grade::A => {
            let but =
                if row.hides_damage() { ", and the damage that is to be expected of it was not recorded" } else { "" };
            Some(format!("in a power cut it {}{but}", took(found)))
        }
        (Some(found), Some(classes)) if row.hides_damage() && classes.contains(&found.held_to()) => {
            Some("the damage that is to be expected of it was not recorded, and the study does not allow damage".into())
        }
        (Some(found), Some(_)) => Some(format!("the study does not allow class {}", found.grade.letter())),
        (None, Some(_)) => Some("what a power cut takes from it was not measured".into()),
        (_, None) => None,
    }
}

/// Said behind a promise that no loss was seen to speak for.
pub fn though(row: &Row) -> String {
    let clean = row.power_cut.as_ref().filter(|found| found.grade == Grade::A);
    clean.map_or_else(String::new, |found| format!(", though no loss was seen in {}", counted(found.images, "image")))
}

/// Those that the pick was the best of: "equally safe scenarios".
pub fn competitors(part: &Part) -> &'static str {
    match (part.durability_differs, &part.allowed) {
        (false, _) => "scenarios",
        (true, None) => "equally safe scenarios",
        (true, Some(_)) => "allowed scenarios",
    }
}

/// Said where all that could be picked stalled.
fn all_stalled(part: &Part) -> Option<String> {
    let safest = part.safest()?;
    let of_class = part.measured().filter(|row| !row.control && row.competes_in == Some(safest));
    let stalled: Vec<&Row> = of_class.filter(|row| !row.fell_out()).collect();
    let names: Vec<String> = stalled.iter().filter(|row| row.stalls.is_some()).map(|row| row.marked()).collect();
    let is_all = !names.is_empty() && names.len() == stalled.len();
    is_all.then(|| format!("Nothing to pick: every scenario that could be has a figure of 0: {}.", some_of(&names)))
}

/// Why there is no pick though there are values.
pub fn nothing_to_pick(part: &Part) -> String {
    if let Some(stalled) = all_stalled(part) {
        return stalled;
    }
    let all = named(part.measured().filter(|row| !row.control));
    let chosen = part.confirmations.first().and_then(|confirmation| part.row(&confirmation.pick));
    match (&part.allowed, chosen.filter(|chosen| part.safest().is_some() && chosen.stalls.is_some())) {
        (_, Some(chosen)) => {
            format!(
                "Nothing to pick: what was picked and measured in new rounds has a figure of 0: {}.",
                chosen.marked()
            )
        }
        (Some(classes), None) => {
            let classes: Vec<&str> = classes.iter().map(|class| class.letter()).collect();
            let allowed = classes.join(" or ");
            // Who has the letter may be held to more.
            let is_held =
                |row: &Row| row.power_cut.as_ref().is_some_and(|found| classes.contains(&found.grade.letter()));
            let has = if part.measured().any(is_held) { "is shown to have" } else { "has" };
            format!(
                "Nothing to pick: the study allows class {allowed} after a power cut, and no scenario {has} it: {all}."
            )
        }
        (None, None) => {
            format!("Nothing to pick: a power cut damaged every scenario, or left it wrong without a word: {all}.")
        }
    }
}

/// What power cuts took from the pick, who else was faster and is no choice, and where measurement and promise disagree.
pub fn sentences(part: &Part) -> Vec<String> {
    let mut lines: Vec<String> = of_pick(part).into_iter().collect();
    lines.extend(also_faster(part));
    lines.extend(broken(part));
    lines.extend(unrecorded(part));
    lines.extend(unseen(part));
    lines
}

/// What is known of scenarios whose speed nobody measured.
pub fn without_speed(part: &Part) -> Vec<String> {
    let known = part.rows.iter().filter(|row| !row.control);
    let of_row = |row: &Row| {
        let found = row.power_cut.as_ref()?;
        Some(format!("After a power cut {} {}: {}.", row.label, took(found), bound(found)))
    };
    known.filter_map(of_row).chain(broken(part)).chain(unrecorded(part)).collect()
}

fn of_pick(part: &Part) -> Option<String> {
    let picks: Vec<&Row> = match &part.choice {
        Some(choice) => choice.picks.iter().filter_map(|pick| part.row(&pick.label)).collect(),
        None => part.pick().into_iter().collect(),
    };
    if let [row] = picks.as_slice() {
        let found = row.power_cut.as_ref()?;
        return Some(format!("After a power cut {} {}: {}.", row.marked(), took(found), bound(found)));
    }
    let names = named(picks.into_iter().filter(|row| row.power_cut.is_some()));
    (!names.is_empty()).then(|| format!("After a power cut: {names}."))
}

/// Beside the first of them, of which it is said how much faster it was.
fn also_faster(part: &Part) -> Option<String> {
    let others = part.better_but_out(part.pick()?).skip(1).map(|(row, _)| row);
    let names = named(others.filter(|row| row.power_cut.is_some()));
    (!names.is_empty()).then(|| format!("Faster than the pick, and no choice either: {names}."))
}

/// Settings that promise more than was kept.
fn broken(part: &Part) -> Vec<String> {
    let promises = [
        (Class::KeepsAcknowledged, "every acknowledged commit is kept by the settings, but was not"),
        (Class::LosesRecent, "no more than the last seconds may be lost by the settings, but more was"),
    ];
    let said = promises.iter().filter_map(|(class, words)| {
        let is_it = |row: &&Row| row.power_cut.as_ref().is_some_and(|found| row.promised(found) == *class);
        let rows = part.rows.iter().filter(|row| !row.control && row.was_broken()).filter(is_it);
        let names = named(rows);
        (!names.is_empty()).then(|| format!("Contradiction: {words}: {names}."))
    });
    said.collect()
}

/// Settings with which damage is to be expected, and none was found: the recording lacks it, and says nothing for them.
fn unrecorded(part: &Part) -> Option<String> {
    let names = named(part.rows.iter().filter(|row| !row.control && row.hides_damage()));
    (!names.is_empty()).then(|| {
        format!("Damage is to be expected by the settings, and what was recorded did not contain it: {names}.")
    })
}

/// Settings that promise less than was kept: that is no proof that they keep it.
fn unseen(part: &Part) -> Option<String> {
    let is_clean = |found: &Safety, row: &Row| {
        found.grade == Grade::A && row.promised(found) > Class::KeepsAcknowledged && !row.hides_damage()
    };
    let rows = part.rows.iter().filter(|row| !row.control);
    let clean = rows.filter(|row| row.power_cut.as_ref().is_some_and(|found| is_clean(found, row)));
    let names: Vec<String> = clean.map(Marked::marked).collect();
    let whose = if names.len() == 1 { "its" } else { "their" };
    (!names.is_empty())
        .then(|| format!("No loss was seen with {}, though {whose} settings do not promise that.", some_of(&names)))
}

/// "ext4 (E · 3 of 400 damaged) and xfs (C · lost 12 commits, 0.41 s)".
fn named<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let name = |row: &Row| match &row.power_cut {
        Some(found) => format!("{} ({})", row.marked(), cell(found)),
        None => format!("{} (not measured)", row.marked()),
    };
    some_of(&rows.map(name).collect::<Vec<_>>())
}

/// For machines: all that was measured, with the bound.
pub fn of_row(row: &Row) -> Option<Value> {
    let found = row.power_cut.as_ref()?;
    let mut value = json!(found);
    value["bad"] = json!(found.bad());
    value["bad_share_at_most"] = json!(found.bad_share_at_most());
    value["breaks_promise"] = json!(row.was_broken());
    value["lacks_expected_damage"] = json!(row.hides_damage());
    value["may_be_picked"] = json!(row.competes_in.is_some());
    Some(value)
}

#[cfg(test)]
#[path = "../tests/it/found.rs"]
mod found;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// What a class may look like, with as many images in each.
    pub(crate) fn found(grade: Grade) -> Safety {
        let found = super::found::found(grade);
        Safety { images: 1229, silent: if grade == Grade::F { 400 } else { 0 }, ..found }
    }

    fn check(words: impl Fn(&Safety) -> String, expected: Expect) {
        let said: Vec<String> = Grade::ALL.iter().map(|grade| words(&found(*grade))).collect();
        expected.assert_eq(&format!("{}\n", said.join("\n")));
    }

    #[test]
    fn a_cell_has_the_class_and_what_decided_it() {
        check(
            cell,
            expect![[r#"
            A · lost nothing in 1,229 images
            B · lost 1 commit, 0.012 s
            C · lost 12 commits, 0.41 s
            D · lost 38 commits, 6 s
            E · 3 of 1,229 damaged
            F · 400 of 1,229 wrong without a word
        "#]],
        );
        let one = Safety { images: 1, ..found(Grade::A) };
        let unmountable = Safety { damaged: 0, ..found(Grade::E) };
        assert_eq!(cell(&one), "A · lost nothing in 1 image");
        assert_eq!(cell(&unmountable), "E · 2 of 1,229 unmountable");
    }

    /// Two counts of one scenario once stood in one report: "7,992 of 8,136" and "24 of 8,136".
    #[test]
    fn bad_images_are_counted_once_wherever_that_is_said() {
        let found = Safety { images: 8136, damaged: 7968, silent: 24, unmountable: 0, ..found(Grade::F) };
        assert_eq!(cell(&found), "F · 7,992 of 8,136 bad, 24 of them without a word");
        assert!(bound(&found).contains("searched for the worst 7,992 of 8,136"), "{}", bound(&found));
    }

    #[test]
    fn the_share_of_bad_cuts_has_an_upper_bound() {
        check(
            bound,
            expect![[r#"
                0 of 61 random cuts bad: below 4.8 % at 95 %; of the images searched for the worst 0 of 1,229, all of this recording that differ for a recovery
                0 of 61 random cuts bad: below 4.8 % at 95 %; of the images searched for the worst 0 of 1,229, a sample
                0 of 61 random cuts bad: below 4.8 % at 95 %; of the images searched for the worst 0 of 1,229, a sample
                0 of 61 random cuts bad: below 4.8 % at 95 %; of the images searched for the worst 0 of 1,229, a sample
                3 of 61 random cuts bad: below 12 % at 95 %; of the images searched for the worst 3 of 1,229, a sample
                3 of 61 random cuts bad: below 12 % at 95 %; of the images searched for the worst 400 of 1,229, a sample
            "#]],
        );
    }

    #[test]
    fn results_without_random_cuts_say_nothing_of_what_is_to_be_expected() {
        let older = |grade: Grade| Safety {
            random_cuts: 0,
            random_cuts_bad: 0,
            expected_lost_commits: None,
            expected_lost_seconds: None,
            ..found(grade)
        };
        assert_eq!(bound(&older(Grade::A)), "0 of 1,229 images bad, all of this recording that differ for a recovery");
        let words = "lost up to 12 commits acknowledged up to 0.41 s before the cut (class C)";
        assert_eq!(took(&older(Grade::C)), words);
    }

    #[test]
    fn a_loss_that_only_the_recording_ended_is_no_bound() {
        let censored = |grade| Safety { is_censored: Some(true), ..found(grade) };
        assert_eq!(cell(&censored(Grade::C)), "C · lost 12 commits, 0.41 s, or more");
        assert_eq!(short_cell(&censored(Grade::D)), "D · lost 38 commits or more");
        let said = took(&censored(Grade::C));
        assert_eq!(
            said,
            "lost 12 commits or more, acknowledged 0.41 s before the cut or earlier, as much as the recording could show \
             (class C, or D: a longer `safety.time` tells)"
        );
        assert!(took(&censored(Grade::D)).ends_with("as much as the recording could show (class D)"));
        assert_eq!(took(&censored(Grade::A)), "lost nothing (class A)");
    }

    #[test]
    fn what_was_lost_is_said_in_full() {
        check(
            took,
            expect![[r#"
                lost nothing (class A)
                lost up to 1 commit acknowledged up to 0.012 s before the cut, 0.33 commits and 0.0041 s on average over 61 random cuts (class B)
                lost up to 12 commits acknowledged up to 0.41 s before the cut, 4 commits and 0.14 s on average over 61 random cuts (class C)
                lost up to 38 commits acknowledged up to 6 s before the cut, 13 commits and 2 s on average over 61 random cuts (class D)
                was damaged (class E)
                was wrong without a word (class F)
            "#]],
        );
    }
}
