//! The short answer in each situation: each form of a sentence stands here in full, and is read with four questions in mind: what do I
//! do, how sure is it, what does it cost, what would change it.
//!
//! How long it is, is counted of every study that any test makes: `fixture::is_short`.

use crate::answers::{by_rate, by_size, rounds, study};
use crate::fixture::{self, Row, Table};
use expect_test::{Expect, expect};
use ledger::model::Contents;
use observe::durability::Class;
use observe::metric::{Direction, Metric};
use report::{Input, Place};

const PLACE: Place =
    Place { study: Some("fs.toml"), work: None, results: Some("filesystems.surefoot"), page: Some("filesystems.html") };

fn shown(input: &Input) -> String {
    report::summary(input, &PLACE, 100, false)
}

fn check(table: &Table, expected: Expect) {
    expected.assert_eq(&shown(&fixture::input(table)));
}

fn changed(table: &Table, change: impl FnOnce(&mut Contents)) -> Input {
    let mut contents = fixture::contents(table);
    change(&mut contents);
    fixture::input_of(contents, table)
}

#[test]
fn one_is_best() {
    check(
        &study(vec![Row::new("ext4", &rounds(1000.0, 0.01, 0)), Row::new("xfs", &rounds(1420.0, 0.01, 1))]),
        expect![[r#"
            Use xfs: it is the fastest of the 2 scenarios. Not ext4: 0.70× the speed.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            xfs                          1,420    1,409–1,431                  1  keeps all
            ext4 (baseline)              1,000      992–1,008  0.70× (0.70–0.71)  keeps all
            How sure: 95 %, over 8 rounds, that none of the 2 scenarios is faster.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
        "#]],
    );
}

#[test]
fn one_is_best_of_many() {
    check(
        &fixture::filesystems_and_buffers(),
        expect![[r#"
            xfs · 2G or ext4 · 2G: neither is ruled out as the fastest. Choosing xfs · 2G costs at most 0.2 %.
              Not the 4 others: they have 67 to 80.0 % of its speed.
            transactions per second  mean, 1/s  95 % interval        against the first  after a power cut
            xfs · 2G                     3,886    3,790–3,984                        1  keeps all
            ext4 · 128M (baseline)       2,944    2,890–3,000        0.76× (0.75–0.76)  keeps all
            ext4 · 2G                    3,768    3,684–3,855  0.97× (0.95–0.99), open  keeps all
            btrfs · 2G                   3,110    3,023–3,199        0.80× (0.78–0.82)  keeps all
            xfs · 128M                   3,040    2,973–3,109        0.78× (0.77–0.79)  keeps all
            How sure: 95 %, over 6 rounds; a true difference of 4.2 % would be found in 8 of 10 such studies.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            1 more row, 2 minor warnings and more: `surefoot report filesystems.surefoot --full`, `--apply
              SCENARIO`, filesystems.html
        "#]],
    );
}

#[test]
fn one_is_best_by_less_than_matters() {
    check(
        &study(vec![Row::new("ext4", &rounds(1000.0, 0.002, 0)), Row::new("xfs", &rounds(1012.0, 0.002, 3))]),
        expect![[r#"
            Use xfs: it is the fastest of the 2 scenarios, but by less than the 3 % that matters. Not ext4:
              1.2 % slower.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            xfs                          1,012    1,010–1,014                  1  keeps all
            ext4 (baseline)              1,000      998–1,002  0.99× (0.99–0.99)  keeps all
            How sure: 95 %, over 8 rounds, that none of the 2 scenarios is faster.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
        "#]],
    );
}

/// Measured 2.5 % ahead, by 0.5 to 4.6 %: whether that is less than matters nobody knows.
#[test]
fn less_than_matters_is_said_where_it_is_shown() {
    let rows = vec![Row::new("ext4", &rounds(1000.0, 0.02, 0)), Row::new("xfs", &rounds(1025.0, 0.02, 3))];
    let said = shown(&fixture::input(&study(rows)));
    assert!(said.starts_with("Use xfs: it is the fastest of the 2 scenarios. Not ext4: 2."), "{said}");
}

#[test]
fn two_are_alike_and_one_is_not() {
    let rows = vec![
        Row::new("ext4", &rounds(1000.0, 0.008, 0)),
        Row::new("xfs", &rounds(1004.0, 0.008, 3)),
        Row::new("btrfs", &rounds(500.0, 0.008, 5)),
    ];
    check(
        &study(rows),
        expect![[r#"
            xfs or ext4: neither is ruled out as the fastest. Choosing xfs costs at most 0.6 %. Not btrfs: half
              the speed.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            xfs                          1,004      998–1,010                  1  keeps all
            ext4 (baseline)              1,000      994–1,006  1.00× (0.99–1.00)  keeps all
            btrfs                          500        497–503  0.50× (0.49–0.50)  keeps all
            How sure: 95 %, over 8 rounds; a true difference of 1.6 % would be found in 8 of 10 such studies.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
        "#]],
    );
}

#[test]
fn two_are_open() {
    let rows = vec![Row::new("ext4", &rounds(1000.0, 0.08, 0)), Row::new("xfs", &rounds(1030.0, 0.08, 3))];
    check(
        &study(rows),
        expect![[r#"
            xfs or ext4: neither is ruled out as the fastest. Choosing xfs costs at most 5.2 %.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            xfs                          1,028      967–1,092                  1  keeps all
            ext4 (baseline)                998      939–1,060  0.97× (0.90–1.05)  keeps all
            How sure: 95 %, over 8 rounds; a true difference of 13.7 % would be found in 8 of 10 such studies.
            What would change it: `surefoot run fs.toml --rounds 43` narrows intervals to ±3 % in 41 min more.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
}

/// The best set needs a larger t than the last step of Holm's correction: what claims tell apart is not called alike, nor open.
#[test]
fn who_is_not_ruled_out_is_not_called_alike() {
    let two_are_open = vec![Row::new("ext4", &rounds(1000.0, 0.08, 0)), Row::new("xfs", &rounds(1030.0, 0.08, 3))];
    for table in [fixture::filesystems_and_buffers(), study(two_are_open)] {
        let said = shown(&fixture::input(&table));
        assert!(!said.contains("no difference") && !said.contains("told apart"), "{said}");
        let said = report::answer(&fixture::input(&table))[0].clone();
        assert!(said.contains("can't be ruled out as the best") && !said.contains("told apart"), "{said}");
    }
    let rows = vec![
        Row::new("ext4", &rounds(1000.0, 0.02, 0)),
        Row::new("xfs", &rounds(1025.0, 0.02, 3)),
        Row::new("btrfs", &rounds(500.0, 0.02, 5)),
        Row::new("ext3", &rounds(300.0, 0.02, 6)),
    ];
    let input = fixture::input(&study(rows));
    let answer = report::answer(&input).join("\n");
    assert!(answer.contains("xfs is 2.5 % faster than ext4"), "{answer}");
    let said = shown(&input);
    assert!(said.contains("xfs or ext4: neither is ruled out as the fastest.") && !said.contains(", open"), "{said}");
}

/// A bound of more than a quarter is no bound: 147 % is said as "2.5 times". And 56 rounds, as the root alone has it, leave ±20.5 %: the spread is
/// 0.6956, and t(0.975, 55) is 2.0040.
#[test]
fn it_is_too_early() {
    let rows = vec![Row::new("ext4", &rounds(1000.0, 0.5, 0)), Row::new("xfs", &rounds(1030.0, 0.5, 3))];
    check(
        &study(rows),
        expect![[r#"
            Too early to choose: the best may be 1.8 times as fast as xfs, which was ahead.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            xfs                            934      622–1,400                  1  keeps all
            ext4 (baseline)                906      604–1,360  0.97× (0.54–1.74)  keeps all
            How sure: not yet, after 8 rounds; a true difference of 2.5 times would be found in 8 of 10 such
              studies.
            What would change it: `surefoot run fs.toml --rounds 59` narrows intervals to ±20 % in 60 min more.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
}

#[test]
fn a_direction_only() {
    let rows = vec![Row::new("ext4", &[1000.0, 1010.0, 990.0]), Row::new("xfs", &[1400.0, 1420.0, 1390.0])];
    check(
        &study(rows),
        expect![[r#"
            Too early to choose: 3 rounds show a direction only. xfs was ahead.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            xfs                          1,403    1,366–1,442                  1  keeps all
            ext4 (baseline)              1,000      975–1,025  0.71× (0.71–0.72)  keeps all
            How sure: not yet. A difference takes at least 4 rounds to claim, better 6.
            What would change it: `surefoot run fs.toml --rounds 6` gives a first verdict in 4 min more.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
    let rows = vec![Row::new("ext4", &[1000.0]), Row::new("xfs", &[1400.0])];
    check(
        &study(rows),
        expect![[r#"
            Too early to choose: 1 round shows a direction only. xfs was ahead.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            xfs                          1,400      one trial                  1  keeps all
            ext4 (baseline)              1,000      one trial              0.71×  keeps all
            How sure: not yet. A difference takes at least 4 rounds to claim, better 6.
            What would change it: `surefoot run fs.toml --rounds 6` gives a first verdict in 6 min more.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
}

#[test]
fn one_scenario() {
    check(
        &study(vec![Row::new("ext4", &rounds(1000.0, 0.01, 0))]),
        expect![[r#"
            Nothing to choose: ext4 is the only scenario that could be.
            transactions per second  mean, 1/s  95 % interval  after a power cut
            ext4                         1,000      992–1,008  keeps all
            How sure: the intervals hold with 95 % confidence for this machine, over 8 trials a scenario.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
        "#]],
    );
}

/// Its intervals were said to hold, and it has none.
#[test]
fn one_scenario_of_one_trial() {
    check(
        &study(vec![Row::new("ext4", &[1000.0])]),
        expect![[r#"
            Nothing to choose: ext4 is the only scenario that could be.
            transactions per second  mean, 1/s  95 % interval  after a power cut
            ext4                         1,000      one trial  keeps all
            How sure: not known. A scenario of one trial has no interval.
            What would change it: another machine, load or version. More rounds give the figures an interval.
            More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
        "#]],
    );
}

/// Those whose turn had not come were told to be no choice, and who was measured first to be the only one.
#[test]
fn interrupted_before_the_second_scenario() {
    let one_of_two = fixture::input(&study(vec![Row::new("ext4", &[1000.0]), Row::new("xfs", &[])]));
    let said = shown(&one_of_two);
    assert!(said.starts_with("Too early to choose: only ext4 has been measured so far."), "{said}");
    let failed = Row { values: vec![None], ..Row::new("xfs", &[]) };
    let said = shown(&fixture::input(&study(vec![Row::new("ext4", &[1000.0]), failed])));
    assert!(said.starts_with("Nothing to choose: ext4 is the only scenario that could be."), "{said}");
}

#[test]
fn nothing_finished() {
    let mut rows = vec![Row::new("ext4", &[0.0; 2]), Row::new("xfs", &[0.0; 2])];
    rows.iter_mut().for_each(|row| row.values = vec![None; 2]);
    check(
        &study(rows),
        expect![[r#"
            No trial finished and 4 failed: there is no answer. One failed with this: load: No space left on
              device.
            More: `surefoot report filesystems.surefoot --full`, filesystems.html
        "#]],
    );
}

#[test]
fn speed_is_bought_with_safety() {
    let fast = Row { class: Class::MayCorrupt, ..Row::new("ext4 nobarrier", &rounds(1900.0, 0.01, 1)) };
    let memory = Row { class: Class::LosesAll, ..Row::new("tmpfs", &rounds(9000.0, 0.01, 2)) };
    check(
        &study(vec![Row::new("ext4", &rounds(1000.0, 0.01, 0)), fast, memory]),
        expect![[r#"
            Use ext4: no other scenario may be chosen. Not tmpfs, 9.00× as fast: after a power cut all is lost.
            transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
            ext4 (baseline)              1,000      992–1,008                  1  keeps all
            tmpfs                        9,000    8,932–9,068  9.00× (8.90–9.10)  LOSES ALL
            ext4 nobarrier               1,900    1,886–1,914  1.90× (1.88–1.92)  MAY CORRUPT
            How sure: no other scenario may be chosen, whatever its speed.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
}

#[test]
fn less_is_better() {
    let metric = Metric::new("elapsed_seconds", "s", Direction::Less);
    let rows = vec![
        Row::new("ext4", &rounds(10.0, 0.01, 0)),
        Row::new("xfs", &rounds(7.1, 0.01, 1)),
        Row::new("btrfs", &rounds(10.9, 0.01, 4)),
    ];
    check(
        &Table { workload: "tree", metric, rows },
        expect![[r#"
            Use xfs: it is the fastest of the 3 scenarios. Not ext4 (0.71× the speed) or btrfs (0.65× the
              speed).
            elapsed          mean, s  95 % interval  against the first  after a power cut
            xfs                 7.10      7.05–7.15                  1  keeps all
            ext4 (baseline)    10.00      9.92–10.1  1.41× (1.39–1.43)  keeps all
            btrfs               10.9      10.8–11.0  1.54× (1.52–1.55)  keeps all
            How sure: 95 %, over 8 rounds, that none of the 3 scenarios is faster.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
        "#]],
    );
}

/// 1,225 bytes against 1,000 were "18.4 % worse" beside 1.22 times as many, and 22.5 % higher in the whole report.
#[test]
fn more_of_what_should_be_less_is_told_by_the_figure() {
    let metric = Metric::new("index_bytes", "B", Direction::Less);
    let rows = vec![Row::new("ext4", &rounds(1225.0, 0.01, 0)), Row::new("xfs", &rounds(1000.0, 0.01, 0))];
    let said = shown(&fixture::input(&Table { workload: "oltp", metric, rows }));
    assert!(said.starts_with("Use xfs: it is the best of the 2 scenarios. Not ext4: 22.5 % worse.\n"), "{said}");
}

#[test]
fn a_rate_is_given() {
    let (low, high) = ("rate=200", "rate=300");
    let levels = [("ext4", low, 2200.0), ("ext4", high, 4400.0), ("xfs", low, 2000.0), ("xfs", high, 4000.0)];
    check(
        &by_rate(&levels),
        expect![[r#"
            Use xfs with each rate.
            request mean                mean, ms  95 % interval  after a power cut
            ext4 · rate=200 (baseline)      2.20      2.18–2.22  keeps all
            ext4 · rate=300                 4.40      4.37–4.43  keeps all
            xfs · rate=200                  2.00      1.98–2.02  keeps all
            xfs · rate=300                  4.00      3.97–4.03  keeps all
            How sure: 95 %, over 8 rounds, that none of the 2 scenarios is faster.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
    let levels = [("ext4", low, 2200.0), ("ext4", high, 3000.0), ("xfs", low, 2000.0), ("xfs", high, 4000.0)];
    check(
        &by_rate(&levels),
        expect![[r#"
            Use xfs with rate=200, ext4 with rate=300.
            request mean                mean, ms  95 % interval  after a power cut
            ext4 · rate=200 (baseline)      2.20      2.18–2.22  keeps all
            ext4 · rate=300                 3.00      2.98–3.02  keeps all
            xfs · rate=200                  2.00      1.98–2.02  keeps all
            xfs · rate=300                  4.00      3.97–4.03  keeps all
            How sure: 95 %, over 8 rounds, that none of the 2 scenarios is faster.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
    let levels = [("ext4", low, 2000.0), ("ext4", high, 4000.0), ("xfs", low, 2000.0), ("xfs", high, 4000.0)];
    check(
        &by_rate(&levels),
        expect![[r#"
            xfs with each rate: no better choice was found; it costs at most 1.4 %.
            request mean                mean, ms  95 % interval  after a power cut
            ext4 · rate=200 (baseline)      2.00      1.98–2.02  keeps all
            ext4 · rate=300                 4.00      3.97–4.03  keeps all
            xfs · rate=200                  2.00      1.98–2.02  keeps all
            xfs · rate=300                  4.00      3.97–4.03  keeps all
            How sure: 95 %, over 8 rounds; a true difference of 1.9 % would be found in 8 of 10 such studies.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
              filesystems.html
        "#]],
    );
}

#[test]
fn there_is_nothing_but_rates() {
    let mut table = by_rate(&[("ext4", "rate=200", 2200.0), ("ext4", "rate=300", 3000.0)]);
    table.rows.iter_mut().for_each(|row| row.levels.remove(0).1.clear());
    check(
        &table,
        expect![[r#"
            Nothing to choose: rate is a condition of the load.
            request mean                mean, ms  95 % interval  after a power cut
            ext4 · rate=200 (baseline)      2.20      2.18–2.22  keeps all
            ext4 · rate=300                 3.00      2.98–3.02  keeps all
            How sure: the intervals hold with 95 % confidence for this machine, over 8 trials a scenario.
            What would change it: another machine, load or version. More rounds only narrow the figures.
            More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
        "#]],
    );
}

#[test]
fn several_workloads() {
    let mut table =
        by_size(&[("ext4", "1G", 1000.0), ("xfs", "1G", 1200.0), ("ext4", "2G", 50.0), ("xfs", "2G", 50.2)], 0.01);
    table.rows.iter_mut().for_each(|row| row.levels.push(("workload", "oltp".into())));
    let input = changed(&table, |contents| {
        for scenario in &mut contents.scenarios[2..] {
            scenario.workload = "tree".into();
            scenario.baseline = scenario.label == "ext4 · 2G";
        }
    });
    expect![[r#"
        Each of the 2 workloads has an answer of its own.
        workload  use                     measured  after a power cut
        oltp      xfs · 1G               1,200 1/s  keeps all
        tree      xfs · 2G or ext4 · 2G   50.2 1/s  keeps all
        How sure, at least: 95 %, over 8 rounds; a true difference of 1.6 % would be found in 8 of 10 such
          studies.
        What would change it: another machine, load or version. More rounds only narrow the figures.
        More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
    "#]]
    .assert_eq(&shown(&input));
}

#[test]
fn several_workloads_of_one_scenario() {
    let mut table = by_size(&[("ext4", "1G", 1000.0), ("ext4", "2G", 50.0)], 0.01);
    table.rows.iter_mut().for_each(|row| row.levels.clear());
    let input = changed(&table, |contents| {
        let other = &mut contents.scenarios[1];
        (other.workload, other.baseline) = ("tree".into(), true);
    });
    expect![[r#"
        Nothing to choose: each of the 2 workloads has one scenario.
        workload  figure                    measured  95 % interval  after a power cut
        oltp      transactions per second  1,000 1/s      992–1,008  keeps all
        tree      transactions per second   50.0 1/s      49.6–50.4  keeps all
        How sure, at least: the intervals hold with 95 % confidence for this machine, over 8 trials a
          scenario.
        What would change it: another machine, load or version. More rounds only narrow the figures.
        More: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`, filesystems.html
    "#]]
    .assert_eq(&shown(&input));
}

/// The longest that a table and its names can be: the rest is counted.
#[test]
fn two_dozen_scenarios_with_long_names() {
    let row = |number: usize| {
        let label = format!(
            "ext4 · innodb_flush_method=O_DIRECT_NO_FSYNC · innodb_log_write_ahead_size=8192 · number={number}"
        );
        Row { label, ..Row::new(&format!("f{number}"), &rounds(1000.0 + number as f64, 0.05, number)) }
    };
    check(
        &study((0..24).map(row).collect()),
        expect![[r#"
            ext4 · O_D…NC · 8192 · 23, ext4 · O_D…NC · 8192 · 22, ext4 · O_D…NC · 8192 · 21, ext4 · O_D…NC ·
              8192 · 20 or 4 others: none of them is ruled out as the fastest. Choosing ext4 · O_D…NC · 8192 ·
              23 costs at most 15.8 %. Not the 16 others: they have 98 to 99.2 % of its speed.
            transactions per second              mean, 1/s  95 % interval  against the first  after a power cut
            ext4 · O_D…NC · 8192 · 23                1,022      984–1,061                  1  keeps all
            ext4 · O_D…NC · 8192 · 0 (baseline)        999      962–1,038  0.98× (0.92–1.04)  keeps all
            ext4 · O_D…NC · 8192 · 22                1,021      983–1,060  1.00× (0.94–1.07)  keeps all
            ext4 · O_D…NC · 8192 · 21                1,020      982–1,059  1.00× (0.94–1.06)  keeps all
            How sure: 95 %, over 8 rounds; a true difference of 34.4 % would be found in 8 of 10 such studies.
            What would change it: `surefoot run fs.toml --rounds 13` narrows intervals to ±5 % in 70 min more.
            20 more rows, 1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply
              SCENARIO`, filesystems.html
        "#]],
    );
}

/// Where all others had failed it was answered by how far the baseline's two copies are apart, as a self-test is.
#[test]
fn who_is_left_alone_is_no_self_test() {
    let control =
        || Row { control: true, label: "ext4 (control)".into(), ..Row::new("ext4", &rounds(1001.0, 0.01, 2)) };
    let ext4 = || Row::new("ext4", &rounds(1000.0, 0.01, 0));
    let said = shown(&fixture::input(&study(vec![ext4(), control()])));
    assert!(said.starts_with("Check: two copies of ext4 differed by "), "{said}");
    let failed = Row { values: vec![None; 8], ..Row::new("xfs", &[]) };
    let said = shown(&fixture::input(&study(vec![ext4(), failed, control()])));
    assert!(said.starts_with("Nothing to choose: ext4 is the only scenario that could be."), "{said}");
}

/// Two warnings at most, the others are counted; how the study was set up is not among them.
#[test]
fn warnings_that_change_what_may_be_believed() {
    let control = Row { control: true, label: "ext4 (control)".into(), ..Row::new("ext4", &rounds(1060.0, 0.01, 2)) };
    let mut table =
        study(vec![Row::new("ext4", &rounds(1000.0, 0.01, 0)), Row::new("xfs", &rounds(1050.0, 0.01, 1)), control]);
    table.rows[1].values[2] = None;
    let input = changed(&table, |contents| {
        contents.trials[0].warnings.push("nodiratime had no effect".into());
        contents.runs.iter_mut().for_each(|run| run.seconds = 1.5);
    });
    expect![[r#"
        Use xfs: it is the fastest of the 2 scenarios. Not ext4: 5.0 % slower. xfs failed in 1 of 8 rounds,
          and others in one less, which may be an accident.
        transactions per second  mean, 1/s  95 % interval  against the first  after a power cut
        xfs                          1,051    1,042–1,060                  1  keeps all
        ext4 (baseline)              1,000      992–1,008  0.95× (0.94–0.96)  keeps all
        How sure: 95 %, over 7 rounds, that none of the 2 scenarios is faster.
        What would change it: another machine, load or version. More rounds only narrow the figures.
        Warning: one trial of xfs failed (load: No space left on device); the others are compared.
        Warning: two copies of the baseline differ by 6.0 %: differences of this size may be false.
        1 more warning, 1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply
          SCENARIO`, filesystems.html
    "#]]
    .assert_eq(&shown(&input));
}

#[test]
fn a_study_under_way() {
    let table = study(vec![Row::new("ext4", &rounds(1000.0, 0.01, 0)), Row::new("xfs", &rounds(1420.0, 0.01, 1))]);
    let input = changed(&table, |contents| contents.sessions[0].reason = Some("interrupted".into()));
    let warning = "Warning: the study is not finished: all of this may still change.\n";
    let finished = shown(&fixture::input(&table));
    assert_eq!(shown(&input), finished.replace("More: ", &format!("{warning}More: ")));
}

/// The command repeats what was asked for; what the answer does not know, it does not make up.
#[test]
fn more_rounds_are_asked_for_as_the_study_was() {
    let rows = vec![Row::new("ext4", &rounds(1000.0, 0.08, 0)), Row::new("xfs", &rounds(1030.0, 0.08, 3))];
    let table = study(rows);
    let line = |change: fn(&mut Contents), place: &Place| {
        let text = report::summary(&changed(&table, change), place, 100, false);
        text.lines().skip_while(|line| !line.starts_with("What would")).take(2).collect::<Vec<_>>().join("\n") + "\n"
    };
    let elsewhere = Place { results: Some("/srv/a b.surefoot"), ..PLACE };
    let on_its_disk = line(|_| (), &Place { work: Some("/mnt/nvme/w 1"), ..elsewhere }).replace("\n  ", " ");
    let whole = "`surefoot run fs.toml --rounds 43 --work '/mnt/nvme/w 1' --results '/srv/a b.surefoot'`";
    assert!(on_its_disk.contains(whole), "{on_its_disk}");
    let in_a_comment = line(|contents| contents.study.text.push_str("# time_budget = \"30min\"\n"), &PLACE);
    assert!(in_a_comment.contains("--rounds 43") && !in_a_comment.contains("--time"), "{in_a_comment}");
    let shown = [
        line(|_| (), &elsewhere),
        line(|contents| contents.study.text.push_str("time_budget = \"4min\"\n"), &PLACE),
        line(|contents| contents.study.overrides.push("storage.size=1GiB".into()), &PLACE),
        line(|_| (), &Place::default()),
    ];
    expect![[r#"
        What would change it: `surefoot run fs.toml --rounds 43 --results '/srv/a b.surefoot'` narrows
          intervals to ±3 % in 41 min more.
        What would change it: `surefoot run fs.toml --rounds 43 --time 49min` narrows intervals to ±3 % in
          41 min more.
        What would change it: the same command with `--rounds 43` narrows intervals to ±3 % in 41 min more.
        1 minor warning and more: `surefoot report filesystems.surefoot --full`, `--apply SCENARIO`,
        What would change it: the same command with `--rounds 43` narrows intervals to ±3 % in 41 min more.
    "#]]
    .assert_eq(&shown.concat());
}
