//! What power cuts were measured to take, beside the speed: in the pick, the words, the tables, the page and the JSON.

use crate::export;
use crate::fixture::{self, Row, Table};
use crate::page;
use expect_test::expect;
use ledger::model::Contents;
use observe::durability::Class;
use observe::safety::{Grade, Safety};
use report::input::Input;
use serde_json::json;

fn table() -> Table {
    let values = |base: f64| [0.998, 1.002, 1.0, 0.997, 1.003, 1.001].map(|factor| base * factor);
    let rows = [("ext4", 1000.0), ("xfs", 1100.0), ("btrfs", 600.0), ("jfs", 3000.0)]
        .map(|(name, base)| Row::new(name, &values(base)));
    Table { rows: rows.into(), ..fixture::filesystems_and_buffers() }
}

/// The table, with what power cuts took and what else is changed.
fn input(grades: &[(&str, Grade)], change: impl FnOnce(&mut Contents)) -> Input {
    let mut table = table();
    table.rows.iter_mut().filter(|row| row.label == "xfs").for_each(|row| row.class = Class::LosesRecent);
    let mut contents = fixture::contents(&table);
    for (label, grade) in grades {
        fixture::cut(&mut contents, label, fixture::found(*grade));
    }
    change(&mut contents);
    fixture::input_of(contents, &table)
}

fn allow(classes: &[Grade]) -> impl FnOnce(&mut Contents) {
    let classes = classes.to_vec();
    move |contents| contents.study.analysis.safety_classes = Some(classes)
}

const ALL: [(&str, Grade); 4] = [("ext4", Grade::A), ("xfs", Grade::C), ("btrfs", Grade::A), ("jfs", Grade::E)];

fn pick(input: &Input) -> serde_json::Value {
    export::json(input)["workloads"][0]["pick"].clone()
}

#[test]
fn the_answer_and_the_table_say_what_was_lost() {
    expect![[r#"
        Pick ext4: 1,000 transactions per second (95 % interval 997–1,004 for the pick of 4, 6 trials).
        It is shown to be the best of the equally safe scenarios measured (95 % confidence).
        jfs measured 3.00× that, but is no choice: in a power cut it was damaged (class E): 3 of 61 random cuts bad: below 12 % at 95 %; of the images
          searched for the worst 3 of 400, a sample.
        After a power cut ext4 lost nothing (class A): 0 of 61 random cuts bad: below 4.8 % at 95 %; of the images searched for the worst 0 of 1,229, all of
          this recording that differ for a recovery.
        Faster than the pick, and no choice either: xfs (C · lost 12 commits, 0.41 s).
        Contradiction: every acknowledged commit is kept by the settings, but was not: jfs (E · 3 of 400 damaged).
        xfs is 10.0 % faster than ext4 (95 % interval +10.0 to +10.0 %).
        btrfs is 0.60× ext4 (95 % interval 0.60–0.60).
        jfs is 3.00× ext4 (95 % interval 3.00–3.00).
        xfs is 1.83× btrfs (95 % interval 1.83–1.83).
        jfs is 2.73× xfs (95 % interval 2.73–2.73).
        jfs is 5.00× btrfs (95 % interval 5.00–5.00).
        xfs: after a power cut, the last seconds of acknowledged commits may be lost; its speed is not comparable with scenarios that are safe.
        Limits: one machine, fresh filesystems, a synthetic load, these levels and versions. The intervals cover the variation from trial to trial and round
          to round on this machine only.
        warning: oltp: the scenarios do not keep the same promises in a power cut. A scenario that may lose data is fast for a reason: its speed is not
          comparable with a safe one's. Set `parity = "require"`, or compare within one class only.

        oltp, transactions per second (more is better)
           scenario  mean, 1/s  95 % interval               vs ext4  verdict   after a power cut                 by settings    rounds
        1  jfs           3,000    2,993–3,008     3.00 [3.00, 3.00]  faster    E · 3 of 400 damaged              keeps all           6
        2  xfs           1,100    1,098–1,103  1.100 [1.100, 1.100]  faster    C · lost 12 commits, 0.41 s       loses seconds       6
        3  ext4          1,000      998–1,003                     1  baseline  A · lost nothing in 1,229 images  keeps all           6
        4  btrfs           600        599–602  0.600 [0.600, 0.600]  slower    A · lost nothing in 1,229 images  keeps all           6
        Orders: xfs went before btrfs in 5 of 6 rounds; of all pairs this one is the least balanced.

        oltp: tails and shapes that differ
        figure                      claim                       ratio  95 % interval  verdict  p, corrected  rounds
        99th percentile of latency  btrfs vs ext4 (filesystem)  1.658    1.566–1.756  worse         < 0.001       6
        99th percentile of latency  jfs vs ext4 (filesystem)     0.32      0.30–0.34  better        < 0.001       6
        99th percentile of latency  xfs vs btrfs (filesystem)   0.542     0.49–0.601  better        < 0.001       6
        99th percentile of latency  jfs vs xfs (filesystem)      0.36      0.33–0.38  better        < 0.001       6
        99th percentile of latency  jfs vs btrfs (filesystem)    0.19      0.18–0.21  better        < 0.001       6
        rate of the worst second    xfs vs ext4 (filesystem)    1.100    1.100–1.100  better        < 0.001       6
        rate of the worst second    btrfs vs ext4 (filesystem)  0.600    0.600–0.600  worse         < 0.001       6
        rate of the worst second    jfs vs ext4 (filesystem)     3.00      3.00–3.00  better        < 0.001       6
        rate of the worst second    xfs vs btrfs (filesystem)   1.833    1.833–1.834  better        < 0.001       6
        rate of the worst second    jfs vs xfs (filesystem)      2.73      2.73–2.73  better        < 0.001       6
        rate of the worst second    jfs vs btrfs (filesystem)    5.00      5.00–5.00  better        < 0.001       6
        Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.
    "#]].assert_eq(&report::terminal(&input(&ALL, |_| ()), 150, false));
}

/// A side that lost its barriers was called better, and nothing else was said.
#[test]
fn two_results_say_where_a_power_cut_takes_another_class() {
    let compared = |a: &Input, b: &Input| report::Comparison::of(a, b).expect("both ran on the host").text();
    let earlier = || input(&[("ext4", Grade::A), ("btrfs", Grade::C)], |_| ());
    let text = compared(&earlier(), &input(&[("ext4", Grade::F), ("btrfs", Grade::C), ("xfs", Grade::E)], |_| ()));
    let said = "ext4 after a power cut: A · lost nothing in 1,229 images → F · 5 of 400 wrong without a word\n";
    assert!(text.contains(said), "{text}");
    assert_eq!(
        text.matches("after a power cut").count(),
        1,
        "the same class, and one that is known of one side: {text}"
    );
    let longer = input(&[("ext4", Grade::A)], |contents| {
        let lying = "lying cache, units of 4096 bytes, as fast as memory".into();
        let found = Safety { is_censored: Some(true), disk: lying, ..fixture::found(Grade::C) };
        fixture::cut(contents, "btrfs", found);
    });
    let text = compared(&earlier(), &longer);
    let said = "btrfs after a power cut: C · lost 12 commits, 0.41 s → C · lost 12 commits, 0.41 s, or more (on other disks: volatile";
    assert!(text.contains(said), "{text}");
    // What is asked of power cuts is no part of a study's hash.
    let searched = input(&[("ext4", Grade::C)], |contents| contents.safety[0].asked = json!({ "budget": 600.0 }));
    let text = compared(&earlier(), &searched);
    let said = "→ C · lost 12 commits, 0.41 s (`[safety]` differs, so that this alone may make the classes differ)\n";
    assert!(text.contains(said) && text.contains("Both ran the same study"), "{text}");
    assert!(!compared(&earlier(), &earlier()).contains("after a power cut"));
}

/// The last pair of sessions was looked at alone.
#[test]
fn of_sessions_one_tells_what_a_power_cut_takes() {
    let session =
        |hour: f64, grades: &[(&str, Grade)]| input(grades, |contents| contents.study.created += hour * 3600.0);
    let pairs = [
        [session(0.0, &[("ext4", Grade::A)]), session(1.0, &[("ext4", Grade::F)])],
        [session(2.0, &[]), session(3.0, &[("ext4", Grade::C)])],
    ];
    let text = report::Comparison::of_sessions(&pairs).expect("all ran on the host").text();
    let said = "ext4 after a power cut: A · lost nothing in 1,229 images → F · 5 of 400 wrong without a word\n";
    assert!(text.contains(said) && text.matches("after a power cut").count() == 1, "{text}");
}

#[test]
fn a_narrow_terminal_keeps_what_was_measured() {
    let text = report::terminal(&input(&ALL, |_| ()), 100, false);
    assert!(text.contains("E · 3 of 400 damaged") && !text.contains("by settings"), "{text}");
}

#[test]
fn damage_is_never_picked_and_the_rest_by_promise() {
    assert_eq!(pick(&input(&[], |_| ())), "jfs", "nothing was measured: the rule of promises");
    assert_eq!(pick(&input(&[("jfs", Grade::F)], |_| ())), "ext4");
    assert_eq!(pick(&input(&[("jfs", Grade::E), ("ext4", Grade::E)], |_| ())), "btrfs");
    assert_eq!(pick(&input(&[("jfs", Grade::C)], |_| ())), "ext4", "it lost more than the last commit");
    assert_eq!(pick(&input(&[("jfs", Grade::B)], |_| ())), "jfs");
    let only_xfs = [("jfs", Grade::E), ("ext4", Grade::F), ("btrfs", Grade::F)];
    assert_eq!(pick(&input(&only_xfs, |_| ())), "xfs", "who promises less is all that is left");
}

/// Only damage was, though a class D has lost what was acknowledged long before.
#[test]
fn who_was_seen_to_lose_more_than_the_last_moments_carries_the_sign_of_warning() {
    let is_marked = |grade: Grade| {
        let input = input(&[("ext4", grade)], |_| ());
        let view = analysis::view::View::of(&input.contents, &input.details, |_, _| true);
        view.parts[0].row("ext4").expect("it is in the plan").is_unsafe()
    };
    assert_eq!(Grade::ALL.map(is_marked), [false, false, false, true, true, true]);
}

#[test]
fn who_asks_for_less_than_the_settings_promise_finds_no_contradiction() {
    let contradicts = |grade: Grade, promise: Class| {
        let input = input(&[], |contents| fixture::cut(contents, "ext4", Safety { promise, ..fixture::found(grade) }));
        report::terminal(&input, 150, false).contains("Contradiction")
    };
    assert!(contradicts(Grade::C, Class::KeepsAcknowledged));
    assert!(!contradicts(Grade::C, Class::LosesRecent), "nobody flushed the folder");
    assert!(contradicts(Grade::F, Class::LosesRecent));
    assert!(!contradicts(Grade::F, Class::MayCorrupt), "nobody flushed the file");
}

#[test]
fn a_study_may_allow_classes() {
    assert_eq!(pick(&input(&ALL, allow(&[Grade::A]))), "ext4");
    assert_eq!(pick(&input(&ALL, allow(&[Grade::A, Grade::C]))), "xfs");
    assert_eq!(pick(&input(&ALL, allow(&[Grade::E]))), "jfs");
    let unmeasured = [("ext4", Grade::A), ("xfs", Grade::A)];
    let some = input(&unmeasured, allow(&[Grade::A]));
    assert_eq!(pick(&some), "xfs");
    let text = report::terminal(&some, 200, false);
    assert!(
        text.contains("jfs measured 2.73× that, but is no choice: what a power cut takes from it was not measured."),
        "{text}"
    );
    assert!(text.contains("of the allowed scenarios measured"), "{text}");
    assert_eq!(pick(&input(&[], allow(&[Grade::A]))), "jfs", "not measured yet: the rule of promises");
}

/// The fastest had been picked by its promise where no power cut could be measured, though the study allows one class alone.
#[test]
fn classes_are_asked_for_where_no_power_cut_could_be_measured() {
    let failed = input(&[], |contents| {
        fixture::cut_failed(contents, "jfs", "two disks");
        allow(&[Grade::A])(contents);
    });
    assert_eq!(pick(&failed), serde_json::Value::Null);
    let said = said(&failed, "Nothing to pick");
    assert!(said.contains("the study allows class A") && said.contains("jfs (not measured)"), "{said}");
}

/// PostgreSQL with `fsync = off` on btrfs is C in a recording of seconds, and the fastest.
#[test]
fn who_was_merely_not_caught_is_picked_only_where_damage_is_allowed() {
    let with = |grade: Grade, classes: &[Grade]| {
        let of_all = [("ext4", Grade::A), ("xfs", Grade::C), ("btrfs", Grade::A), ("jfs", grade)];
        let allowed = allow(classes);
        input(&of_all, |contents| {
            contents.scenarios[3].durability.class = Class::MayCorrupt;
            allowed(contents);
        })
    };
    for grade in [Grade::A, Grade::C] {
        let strict = with(grade, &[Grade::A, Grade::B, Grade::C]);
        assert_eq!(pick(&strict), "xfs");
        let said = said(&strict, "jfs measured");
        assert!(said.contains("the damage that is to be expected of it was not recorded"), "{said}");
        assert_eq!(fixture::row_of_json(&strict, "jfs")["power_cut"]["may_be_picked"], json!(false));
        assert_eq!(pick(&with(grade, &[Grade::A, Grade::B, Grade::C, Grade::E])), "jfs");
    }
}

/// What only a checkpoint of the load's flushes loses all that a recording can show, and more in hours.
#[test]
fn a_loss_that_only_the_recording_ended_is_held_to_an_older_one() {
    let with = |classes: Option<&[Grade]>| {
        input(&ALL, |contents| {
            let censored = Safety { is_censored: Some(true), ..fixture::found(Grade::C) };
            fixture::cut(contents, "xfs", censored);
            contents.study.analysis.safety_classes = classes.map(<[Grade]>::to_vec);
        })
    };
    assert_eq!(pick(&with(Some(&[Grade::C]))), serde_json::Value::Null);
    let said_first = said(&with(Some(&[Grade::C])), "Nothing to pick");
    assert!(said_first.contains("no scenario is shown to have it"), "{said_first}");
    assert_eq!(pick(&with(Some(&[Grade::A, Grade::C]))), "ext4");
    assert_eq!(pick(&with(Some(&[Grade::A, Grade::C, Grade::D]))), "xfs");
    let promised = with(None);
    assert_eq!(pick(&promised), "ext4", "promises decide as before");
    assert!(said(&promised, "Faster than the pick").contains("xfs (C · lost 12 commits, 0.41 s, or more)"));
    let page = report::html(&promised);
    assert!(page.contains("0.41 s or more") && page.contains("as long as the recording could show"));
}

#[test]
fn there_may_be_nothing_to_pick() {
    let first = |input: &Input| export::json(input)["answer"][0].as_str().map(str::to_string);
    let none = input(&ALL, allow(&[Grade::B]));
    assert_eq!(pick(&none), serde_json::Value::Null);
    expect!["Nothing to pick: the study allows class B after a power cut, and no scenario has it: jfs (E · 3 of 400 damaged), xfs (C · lost 12 commits, 0.41 s), ext4 (A · lost nothing in 1,229 images) and btrfs (A · lost nothing in 1,229 images)."].assert_eq(&first(&none).expect("a sentence"));
    let damaged = ["ext4", "xfs", "btrfs", "jfs"].map(|label| (label, Grade::F));
    let damaged = input(&damaged, |_| ());
    expect!["Nothing to pick: a power cut damaged every scenario, or left it wrong without a word: jfs (F · 5 of 400 wrong without a word), xfs (F · 5 of 400 wrong without a word), ext4 (F · 5 of 400 wrong without a word) and btrfs (F · 5 of 400 wrong without a word)."].assert_eq(&first(&damaged).expect("a sentence"));
    assert!(report::html(&damaged).contains("After a power cut"));
}

/// Lines of the answer with these words.
fn said(input: &Input, words: &str) -> String {
    let answer = export::json(input)["answer"].clone();
    let lines = answer.as_array().expect("a list").iter().filter_map(|line| line.as_str());
    lines.filter(|line| line.contains(words)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn promises_are_held_against_what_was_seen() {
    let broken = input(&[("ext4", Grade::B), ("xfs", Grade::F), ("btrfs", Grade::A), ("jfs", Grade::D)], |_| ());
    expect![[r#"
        Contradiction: every acknowledged commit is kept by the settings, but was not: jfs (D · lost 38 commits, 6 s) and ext4 (B · lost 1 commit, 0.012 s).
        Contradiction: no more than the last seconds may be lost by the settings, but more was: xfs (F · 5 of 400 wrong without a word).
    "#]].assert_eq(&said(&broken, "Contradiction"));
    let kept = input(&[("ext4", Grade::A), ("xfs", Grade::D)], |_| ());
    assert_eq!(said(&kept, "Contradiction"), "");
    let kept = input(&[("xfs", Grade::A)], |contents| contents.scenarios[1].durability.class = Class::LosesRecent);
    assert_eq!(said(&kept, "Contradiction"), "");
    assert_eq!(said(&kept, "No loss"), "No loss was seen with xfs, though its settings do not promise that.\n");
    assert_eq!(said(&input(&[("ext4", Grade::A)], |_| ()), "No loss"), "", "where it is promised it is no news");
}

/// The disk that was recorded may be another than the scenario's: it is what was promised on that one.
#[test]
fn what_was_measured_is_held_against_what_is_promised_on_the_recorded_disk() {
    let with = |grade: Grade, own: Class, recorded: Class| {
        input(&[], |contents| {
            contents.scenarios[1].durability.class = own;
            fixture::cut(contents, "xfs", Safety { by_settings: Some(recorded), ..fixture::found(grade) });
        })
    };
    // `nobarrier` on a disk without a volatile cache.
    let safe = with(Grade::A, Class::MayCorrupt, Class::KeepsAcknowledged);
    assert_eq!(said(&safe, "to be expected") + &said(&safe, "No loss was seen with"), "");
    assert_eq!(fixture::row_of_json(&safe, "xfs")["power_cut"]["lacks_expected_damage"], json!(false));
    let lost = with(Grade::C, Class::MayCorrupt, Class::KeepsAcknowledged);
    assert!(said(&lost, "Contradiction").contains("every acknowledged commit is kept by the settings"));
    // A disk that ignores flushes.
    let lying = with(Grade::F, Class::KeepsAcknowledged, Class::MayCorrupt);
    assert_eq!(said(&lying, "Contradiction"), "");
    assert_eq!(fixture::row_of_json(&lying, "xfs")["power_cut"]["breaks_promise"], json!(false));
    let lucky = with(Grade::A, Class::KeepsAcknowledged, Class::MayCorrupt);
    assert!(said(&lucky, "Damage is to be expected by the settings").contains("xfs ("));
}

/// All of a recording is not all that settings may lead to.
#[test]
fn damage_that_is_to_be_expected_and_was_not_recorded_is_said_to_be_just_that() {
    let with = |grade: Grade, class: Class| {
        input(&[("xfs", grade)], |contents| contents.scenarios[1].durability.class = class)
    };
    const WORDS: &str = "what was recorded did not contain it";
    for grade in [Grade::A, Grade::C] {
        let hidden = with(grade, Class::MayCorrupt);
        let cell = export::json(&hidden)["workloads"][0].clone();
        let sentence = said(&hidden, WORDS);
        assert!(
            sentence.contains("xfs (") && sentence.starts_with("Damage is to be expected by the settings"),
            "{cell}"
        );
        assert_eq!(said(&hidden, "No loss"), "", "one sentence of it is enough");
        assert!(report::terminal(&hidden, 500, false).contains(WORDS));
        assert!(report::markdown(&hidden).contains(WORDS));
        assert!(report::html(&hidden).contains(&format!("may be corrupt: {WORDS}")));
        assert_eq!(fixture::row_of_json(&hidden, "xfs")["power_cut"]["lacks_expected_damage"], json!(true));
        assert!(!report::html(&hidden).contains("all that differ"));
    }
    for seen in [with(Grade::E, Class::MayCorrupt), with(Grade::C, Class::LosesRecent)] {
        assert_eq!(said(&seen, WORDS), "");
        assert_eq!(fixture::row_of_json(&seen, "xfs")["power_cut"]["lacks_expected_damage"], json!(false));
    }
}

#[test]
fn the_fastest_and_others_are_told_why_they_are_no_choice() {
    let text = said(
        &input(&[("ext4", Grade::F), ("xfs", Grade::D), ("btrfs", Grade::A), ("jfs", Grade::E)], |_| ()),
        "no choice",
    );
    expect![[r#"
        jfs measured 5.00× that, but is no choice: in a power cut it was damaged (class E): 3 of 61 random cuts bad: below 12 % at 95 %; of the images searched for the worst 3 of 400, a sample.
        Faster than the pick, and no choice either: xfs (D · lost 38 commits, 6 s) and ext4 (F · 5 of 400 wrong without a word).
    "#]].assert_eq(&text);
    let clean = input(&[("jfs", Grade::A)], |contents| contents.scenarios[3].durability.class = Class::MayCorrupt);
    expect![[r#"
        jfs measured 3.00× that, but is no choice: after a power cut, the data may be corrupt, though no loss was seen in 1,229 images.
    "#]].assert_eq(&said(&clean, "no choice"));
}

#[test]
fn the_control_is_its_twin_once_more() {
    let mut table = table();
    let control = Row { label: "ext4 (control)".into(), control: true, ..Row::new("ext4", &[1001.0; 6]) };
    table.rows.push(control);
    let mut contents = fixture::contents(&table);
    fixture::cut(&mut contents, "ext4", fixture::found(Grade::E));
    fixture::cut(&mut contents, "jfs", fixture::found(Grade::E));
    let input = fixture::input_of(contents, &table);
    assert_eq!(pick(&input), "xfs");
    assert_eq!(fixture::row_of_json(&input, "ext4 (control)")["power_cut"]["grade"], "E");
}

#[test]
fn machines_get_all_of_it() {
    let input = input(&ALL, allow(&[Grade::A]));
    let json = export::json(&input);
    assert_eq!(json["workloads"][0]["allowed_classes"], json!(["A"]));
    let jfs = &fixture::row_of_json(&input, "jfs")["power_cut"];
    assert_eq!((&jfs["grade"], &jfs["bad"], &jfs["may_be_picked"]), (&json!("E"), &json!(3), &json!(false)));
    assert_eq!((&jfs["breaks_promise"], &jfs["findings"][0]["images"]), (&json!(true), &json!(2)));
    let ext4 = &fixture::row_of_json(&input, "ext4")["power_cut"];
    assert!((ext4["bad_share_at_most"].as_f64().expect("a share") - 0.047_924_8).abs() < 1e-6, "{ext4}");
    assert_eq!((&ext4["random_cuts"], &ext4["expected_lost_commits"]), (&json!(61), &json!(0.0)));
    assert_eq!((&ext4["may_be_picked"], &ext4["breaks_promise"]), (&json!(true), &json!(false)));
    let markdown = report::markdown(&input);
    assert!(markdown.contains("| E · 3 of 400 damaged | keeps all |"), "{markdown}");
}

#[test]
fn the_page_draws_speed_against_safety_and_names_what_was_found() {
    let input = input(&ALL, |contents| {
        let last = contents.safety.last_mut().and_then(|measured| measured.safety.as_mut());
        last.expect("it was measured").notes.push("the log was full after 1 GiB".into());
    });
    let html = report::html(&input);
    for expected in [
        "<h2>After a power cut</h2>",
        "id=\"pareto-0\"",
        "A · lost nothing",
        "D · lost older commits",
        "<td class=\"words\">E · was damaged</td>",
        "12 of 38",
        "0.41 s",
        "all of this recording that differ for a recovery, at 37 moments",
        ">4.8\u{a0}%</td>",
        "expected loss, commits",
        "power fails at any moment of the load",
        "keeps every acknowledged commit: that is not what was measured",
        "50 drawn at random, nothing new",
        "mount: structure needs &lt;cleaning&gt;",
        "7:newest:31=2",
        "surefoot powercut STUDY --scenario SCENARIO --replay NAME",
        "<li>disk: volatile cache, units of 4096 bytes, as fast as memory</li>",
        "<li>jfs: the log was full after 1 GiB</li>",
        "btrfs: 600 1/s (599–602); A · lost nothing in 1,229 images; ext4 is at least as fast and as safe",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    // Only btrfs is beaten in both.
    assert_eq!(html.matches("fill-opacity=\"0\"").count(), 1);
    let print = report::print(&input, String::new());
    assert!(print.contains("After a power cut") && print.contains("7:newest:31=2"), "it is on paper, too");
    let Some(opened) = page::open(&page::write("power-cuts.html", &html)) else { return };
    assert_eq!(opened.console, "");
    assert!(opened.dom.contains("data-ready=\"1\""));
}

#[test]
fn where_nothing_was_measured_nothing_is_said() {
    let html = report::html(&input(&[], |_| ()));
    assert!(!html.contains("After a power cut") && !html.contains("pareto-"));
    let text = report::terminal(&input(&[], |_| ()), 150, false);
    assert!(!text.contains("by settings ") && !text.contains("(class "), "{text}");
}

#[test]
fn a_failed_measurement_and_a_hole_in_the_search_are_warnings() {
    let input = input(&[("ext4", Grade::A)], |contents| {
        let missed = Safety { audited_new: 2, ..fixture::found(Grade::A) };
        fixture::cut(contents, "xfs", missed);
        ["jfs", "ext4"].iter().for_each(|label| fixture::cut_failed(contents, label, "the disk ended"));
    });
    let json = export::json(&input);
    let seen: Vec<&str> =
        json["warnings"].as_array().expect("a list").iter().filter_map(|warning| warning["seen"].as_str()).collect();
    assert!(seen.contains(&"images drawn at random came out as the search did not find: 2 of 50 with xfs"), "{seen:?}");
    assert!(
        seen.contains(&"what a power cut takes was not measured with ext4, jfs (record: the disk ended)"),
        "{seen:?}"
    );
}

/// The damage counts on, and neither status nor warning said that it was looked for in vain since.
#[test]
fn a_measurement_that_failed_after_damage_is_a_hole() {
    let damaged = |is_failed: bool| {
        input(&[("ext4", Grade::E)], |contents| {
            if is_failed {
                fixture::cut_failed(contents, "ext4", "no room");
            }
        })
    };
    assert!(!report::has_holes(&damaged(false)));
    let failed = damaged(true);
    assert!(report::has_holes(&failed));
    let warnings = export::json(&failed)["warnings"].to_string();
    assert!(warnings.contains("what a power cut takes was not measured with ext4 (record: no room)"), "{warnings}");
    assert!(warnings.contains("and the damage that was found before"), "{warnings}");
}
