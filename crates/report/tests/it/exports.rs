//! The answer in formats that wikis and other tools read.

use crate::fixture::{self, Row, Table};
use expect_test::expect;
use observe::metric::{Direction, Metric};
use proptest::prelude::*;
use report::{action_benchmark, bencher, markdown, openmetrics};
use std::collections::BTreeSet;

/// That with the metric that the answer is about, and one other.
fn two_metrics() -> report::Input {
    let mut contents = fixture::contents(&small());
    contents.metrics.retain(|name, _| ["transactions_per_second", "latency_microseconds_p99"].contains(&&**name));
    report::Input::new(contents, report::input::Details::default())
}

/// Two filesystems, one of them with a single value.
fn small() -> Table {
    Table {
        rows: vec![Row::new("ext4", &[1000.0, 1100.0, 1050.0]), Row::new("xfs", &[1200.0])],
        ..fixture::filesystems_and_buffers()
    }
}

#[test]
fn markdown_is_the_answer_with_its_warnings_and_tables() {
    expect![[r#"
        # filesystems

        Which filesystem serves most transactions?

        **No winner yet: ext4 · 2G can't be ruled out as the best. xfs · 2G was ahead: 3,886 transactions per second (95 % interval 3,730–4,048 for the pick of 6, 6 trials). To compare, use the ratios below, not these means.**

        - Choosing xfs · 2G costs at most 0.2 % against whichever of the scenarios measured is truly best (95 % confidence).
        - The baseline, ext4 · 128M, measured 24.2 % less than xfs · 2G (95 % interval 23.5–24.9 %; exploratory, of the rounds by which it was picked).
        - xfs is 3.2 % faster than ext4 (95 % interval +1.8 to +4.6 %), averaged over cache size.
        - btrfs is 14.6 % slower than ext4 (95 % interval −15.5 to −13.6 %), averaged over cache size.
        - xfs is 20.8 % faster than btrfs (95 % interval +18.4 to +23.3 %), averaged over cache size.
        - cache size 2G is 1.25× 128M (95 % interval 1.23–1.27), averaged over filesystem.
        - Not ruled out as the best: ext4 · 2G.
        - Cache size explains 63 % of the differences and swings transactions per second by 25.0 % (95 % interval 23.0–27.1 %; best 2G, worst 128M). Filesystem explains 35 % and swings it by 20.8 % (17.5–24.2 %; best xfs, worst btrfs). Interplay of factors 1 %, noise under 1 %; apart from these 100 %, drift between rounds 2 %. Without any one round: cache size 62–65 %, filesystem 33–36 %.
        - Filesystem and cache size interact: btrfs is 0.83× ext4 with cache size 2G, but 0.88× with cache size 128M; the one ratio is 0.93× the other (95 % interval 0.92–0.95).
        - Check: two copies of ext4 · 128M differed by 0.1 % (95 % interval −0.7 to +1.0 %), so this study can't resolve less than about 1.0 %.
        - Limits: one machine, fresh filesystems, a synthetic load, these levels and versions. The intervals cover the variation from trial to trial and round to round on this machine only.

        > **Warning:** oltp: all scenarios together moved by −5.1 % from the first round to the last. Comparisons hold where this is slow against a round; the absolute values hold for no single moment. Look at the chart of trials over time, and for other load, thermal throttling or a filling device.

        > **Warning:** oltp: outlier: ext4 · 128M (control) in round 2, ext4 · 128M (control) in round 6. They are kept: they widen the intervals and may be a slow mode that production will meet too. Look at their throughput second by second, and run more rounds.

        ## oltp, transactions per second (more is better)

        |  | scenario | mean, 1/s | 95 % interval | vs ext4 · 128M | verdict | after a power cut | rounds |
        | --: | --- | --: | --: | --: | --- | --- | --: |
        | 1 | xfs · 2G | 3,886 | 3,790–3,984 | 1.320 \[1.308, 1.332\] | faster | keeps all | 6 |
        | 2 | ext4 · 2G | 3,768 | 3,684–3,855 | 1.280 \[1.253, 1.307\] | faster | keeps all | 6 |
        | 3 | btrfs · 2G | 3,110 | 3,023–3,199 | 1.056 \[1.029, 1.085\] | faster | keeps all | 6 |
        | 4 | xfs · 128M | 3,040 | 2,973–3,109 | 1.033 \[1.025, 1.040\] | faster | keeps all | 6 |
        | 5 | ext4 · 128M (control) | 2,949 | 2,905–2,993 |  |  | keeps all | 6 |
        | 6 | ext4 · 128M | 2,944 | 2,890–3,000 | 1 | baseline | keeps all | 6 |
        | 7 | btrfs · 128M | 2,602 | 2,528–2,679 | 0.884 \[0.869, 0.899\] | slower | keeps all | 6 |

        - Orders: ext4 · 128M (control) went before btrfs · 128M in 6 of 6 rounds; of all pairs this one is the least balanced.

        ## oltp: tails and shapes that differ

        | figure | claim | ratio | 95 % interval | verdict | p, corrected | rounds |
        | --- | --- | --: | --: | --- | --: | --: |
        | 99th percentile of latency | btrfs vs ext4 (filesystem) | 1.180 | 1.114–1.250 | worse | 0.002 | 6 |
        | 99th percentile of latency | xfs vs btrfs (filesystem) | 0.823 | 0.767–0.882 | better | 0.002 | 6 |
        | 99th percentile of latency | 2G vs 128M (cache size) | 0.802 | 0.782–0.822 | better | \< 0.001 | 6 |
        | rate of the worst second | xfs vs ext4 (filesystem) | 1.032 | 1.018–1.046 | better | 0.002 | 6 |
        | rate of the worst second | btrfs vs ext4 (filesystem) | 0.854 | 0.845–0.864 | worse | \< 0.001 | 6 |
        | rate of the worst second | xfs vs btrfs (filesystem) | 1.208 | 1.184–1.233 | better | \< 0.001 | 6 |
        | rate of the worst second | 2G vs 128M (cache size) | 1.250 | 1.230–1.271 | better | \< 0.001 | 6 |

        Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.

        Made by surefoot 0.1.0 from the study 9f86d081884c, seed 7.
    "#]].assert_eq(&markdown(&fixture::published()));
}

#[test]
fn a_bar_in_a_label_does_not_split_a_cell() {
    let mut table = small();
    table.rows[0].label = "ext4 | <b>".into();
    let text = markdown(&fixture::input(&table));
    assert!(text.contains(r"ext4 \| \<b\>"), "{text}");
}

#[test]
fn bencher_has_means_and_intervals() {
    expect![[r#"
        {
          "xfs": {
            "transactions_per_second": {
              "value": 1200.0
            },
            "latency_microseconds_p99": {
              "value": 19999.99999999998
            }
          },
          "ext4": {
            "transactions_per_second": {
              "value": 1049.2057485622677,
              "lower_value": 932.0586371253158,
              "upper_value": 1181.0766608110953
            },
            "latency_microseconds_p99": {
              "value": 22874.445772802268,
              "lower_value": 20320.442183251856,
              "upper_value": 25749.45292500215
            }
          }
        }
    "#]]
    .assert_eq(&bencher(&two_metrics()));
}

#[test]
fn the_action_of_github_has_a_direction_a_file() {
    let (bigger, smaller) =
        (action_benchmark(&two_metrics(), Direction::More), action_benchmark(&two_metrics(), Direction::Less));
    expect![[r#"
        [
          {
            "name": "oltp · xfs · transactions_per_second",
            "unit": "1/s",
            "value": 1200.0,
            "extra": "one trial"
          },
          {
            "name": "oltp · ext4 · transactions_per_second",
            "unit": "1/s",
            "value": 1049.2057485622677,
            "range": "932.05864–1181.0767",
            "extra": "geometric mean of 3 trials, 95 % interval"
          }
        ]
    "#]]
    .assert_eq(&bigger);
    let smaller: serde_json::Value = serde_json::from_str(&smaller).expect("JSON");
    assert!(
        smaller.as_array().is_some_and(|all| all.len() == 2 && all.iter().all(|one| one["unit"] == "µs")),
        "{smaller}"
    );
}

/// Latencies of the small study, times a factor, as the action's file and OpenMetrics have them.
fn latencies_times(factor: f64) -> [String; 2] {
    let mut contents = two_metrics().contents;
    for run in &mut contents.runs {
        if let Some(value) = run.metrics.get_mut("latency_microseconds_p99") {
            *value *= factor;
        }
    }
    let input = report::Input::new(contents, report::input::Details::default());
    [action_benchmark(&input, Direction::Less), openmetrics(&input)]
}

/// Four places behind the point had made "0.0000–0.0000" of it.
#[test]
fn an_interval_of_a_small_figure_has_its_digits() {
    let [action, _] = latencies_times(1e-12);
    assert!(action.contains(r#""range": "0.000000020320442–0.000000025749453""#), "{action}");
}

#[test]
fn a_mean_is_called_what_it_is() {
    let [action, openmetrics] = latencies_times(0.0);
    assert!(action.contains(r#""extra": "arithmetic mean of 3 trials""#), "{action}");
    let help = "Geometric mean over trials in µs; less is better; the arithmetic one where a trial has 0 or less.";
    assert!(openmetrics.contains(help), "{openmetrics}");
}

/// An escape sequence in a label of somebody's results file had steered the terminal.
#[test]
fn openmetrics_has_no_control_characters() {
    let mut contents = two_metrics().contents;
    contents.study.name = "a\u{1b}[2J\u{9b}31m\nb\"".into();
    let text = openmetrics(&report::Input::new(contents, report::input::Details::default()));
    assert!(text.contains("study=\"a\u{fffd}[2J\u{fffd}31m\\nb\\\"\""), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}

/// So had a metric's name and unit in what two results are held against each other by, and a setting in the commands to do it again.
#[test]
fn comparisons_and_commands_have_no_control_characters() {
    let steers = "a\u{1b}[2J\u{9b}31m\u{202e}";
    let input = || {
        let metric = Metric::named(steers.into(), steers.into(), Direction::More);
        let rows = vec![Row::new("ext4", &[1000.0, 1010.0, 995.0, 1005.0])];
        let mut input = fixture::input(&Table { workload: "command", metric, rows });
        input.contents.scenarios[0].settings["workload"] = serde_json::json!({ "command": steers });
        input
    };
    let (a, b) = (input(), input());
    let compared = report::Comparison::of(&a, &b).expect("both ran on the host").text();
    let commands = report::reproduce(&a, "ext4").expect("they were recorded");
    let history = report::History::of(vec![("a".into(), a), ("b".into(), b)]).text();
    for text in [compared, commands, history] {
        let is_steering = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(text.contains("31m\u{fffd}") && !text.contains(is_steering), "{text:?}");
    }
}

#[test]
fn a_count_of_zero_has_a_mean_and_no_interval() {
    let mut contents = fixture::contents(&small());
    for (run, errors) in contents.runs.iter_mut().zip([0.0, 3.0, 0.0, 0.0]) {
        run.metrics.insert("cpu_user_share".into(), errors);
    }
    let text = bencher(&report::Input::new(contents, report::input::Details::default()));
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        json["ext4"]["cpu_user_share"]["value"].is_f64() && json["ext4"]["cpu_user_share"].get("lower_value").is_none(),
        "{text}"
    );
}

#[test]
fn openmetrics_has_levels_as_labels() {
    expect![[r##"
        # TYPE surefoot_latency_microseconds_p99 gauge
        # HELP surefoot_latency_microseconds_p99 Geometric mean over trials in µs; less is better.
        surefoot_latency_microseconds_p99{scenario="xfs",storage_filesystem="xfs",study="filesystems",workload="oltp"} 19999.99999999998
        surefoot_latency_microseconds_p99{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 22874.445772802268
        # TYPE surefoot_latency_microseconds_p99_high gauge
        # HELP surefoot_latency_microseconds_p99_high Upper end of the mean's 95 % interval in µs.
        surefoot_latency_microseconds_p99_high{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 25749.45292500215
        # TYPE surefoot_latency_microseconds_p99_low gauge
        # HELP surefoot_latency_microseconds_p99_low Lower end of the mean's 95 % interval in µs.
        surefoot_latency_microseconds_p99_low{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 20320.442183251856
        # TYPE surefoot_latency_microseconds_p99_trials gauge
        # HELP surefoot_latency_microseconds_p99_trials Finished trials that the mean is of.
        surefoot_latency_microseconds_p99_trials{scenario="xfs",storage_filesystem="xfs",study="filesystems",workload="oltp"} 1
        surefoot_latency_microseconds_p99_trials{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 3
        # TYPE surefoot_transactions_per_second gauge
        # HELP surefoot_transactions_per_second Geometric mean over trials in 1/s; more is better.
        surefoot_transactions_per_second{scenario="xfs",storage_filesystem="xfs",study="filesystems",workload="oltp"} 1200
        surefoot_transactions_per_second{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 1049.2057485622677
        # TYPE surefoot_transactions_per_second_high gauge
        # HELP surefoot_transactions_per_second_high Upper end of the mean's 95 % interval in 1/s.
        surefoot_transactions_per_second_high{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 1181.0766608110953
        # TYPE surefoot_transactions_per_second_low gauge
        # HELP surefoot_transactions_per_second_low Lower end of the mean's 95 % interval in 1/s.
        surefoot_transactions_per_second_low{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 932.0586371253158
        # TYPE surefoot_transactions_per_second_trials gauge
        # HELP surefoot_transactions_per_second_trials Finished trials that the mean is of.
        surefoot_transactions_per_second_trials{scenario="xfs",storage_filesystem="xfs",study="filesystems",workload="oltp"} 1
        surefoot_transactions_per_second_trials{scenario="ext4",storage_filesystem="ext4",study="filesystems",workload="oltp"} 3
        # EOF
    "##]].assert_eq(&openmetrics(&two_metrics()));
}

/// A filesystem that holds less after a run than before it.
#[test]
fn a_metric_below_zero_has_a_mean_and_no_interval() {
    let mut contents = fixture::contents(&small());
    let grown = Metric::new("space_grown_bytes", "B", Direction::Neither);
    for (number, run) in contents.runs.iter_mut().enumerate() {
        run.metrics.insert(grown.name.as_ref().into(), 4096.0 * (number as f64 - 5.0));
    }
    contents.metrics.insert(grown.name.to_string(), grown);
    let input = report::Input::new(contents, report::input::Details::default());
    let text = openmetrics(&input);
    assert!(
        text.contains("surefoot_space_grown_bytes{") && !text.contains("surefoot_space_grown_bytes_low{"),
        "{text}"
    );
    assert!(bencher(&input).contains("space_grown_bytes"));
    assert!(!action_benchmark(&input, Direction::More).contains("space_grown_bytes"), "no direction is better");
}

#[test]
fn several_workloads_have_a_heading_and_one_label_each() {
    let mut table = small();
    table.rows.iter_mut().for_each(|row| row.levels.push(("workload", "oltp".into())));
    let mut contents = fixture::contents(&table);
    contents.scenarios[1].workload = "tree".into();
    contents.scenarios[1].levels.insert("workload".into(), "tree".into());
    let input = report::Input::new(contents, report::input::Details::default());
    let text = markdown(&input);
    for heading in ["oltp", "tree"] {
        assert!(
            text.contains(&format!("\n\n**{heading}, transactions per second (more is better):**\n\n- ")),
            "{text}"
        );
    }
    let text = openmetrics(&input);
    assert!(text.contains("workload=\"tree\"}") && !text.contains("workload_="), "{text}");
}

/// Reads a name from the text's beginning.
fn name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let begins_well = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    begins_well.then_some((name, rest))
}

/// Reads a text in quotes with its escapes.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut letters = text.strip_prefix('"')?.char_indices();
    let mut value = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 2..])),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                letter @ ('"' | '\\') => letter,
                _ => return None,
            }),
            '\n' => return None,
            letter => value.push(letter),
        }
    }
    None
}

/// A sample's family and labels, by the grammar of OpenMetrics 1.0, section "ABNF".
fn sample(line: &str) -> Option<(&str, Vec<(String, String)>)> {
    let (family, rest) = name(line)?;
    let mut rest = rest.strip_prefix('{')?;
    let mut labels = Vec::new();
    loop {
        let (label, after) = name(rest)?;
        let (value, after) = quoted(after.strip_prefix('=')?)?;
        labels.push((label.to_string(), value));
        rest = match after.strip_prefix(',') {
            Some(after) => after,
            None => break rest_is_number(after.strip_prefix("} ")?).then_some((family, labels)),
        };
    }
}

fn rest_is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite) && !text.contains(char::is_whitespace)
}

/// What the grammar and its rules ask of a whole exposition; its samples' labels.
fn exposition(text: &str) -> Vec<Vec<(String, String)>> {
    let text = text.strip_suffix("# EOF\n").expect("the end is marked");
    let (mut family, mut families, mut seen, mut all) = (String::new(), BTreeSet::new(), BTreeSet::new(), Vec::new());
    for line in text.split_terminator('\n') {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = name(rest).expect("a family has a name");
            assert_eq!(kind, " gauge");
            assert!(families.insert(name.to_string()), "{name} comes twice");
            family = name.into();
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            assert!(rest.starts_with(&format!("{family} ")), "{line}");
        } else {
            let (name, labels) = sample(line).unwrap_or_else(|| panic!("no sample: {line:?}"));
            assert_eq!(name, family, "lines of a family stand together");
            let names: BTreeSet<_> = labels.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), labels.len(), "each label comes once: {line}");
            assert!(labels.iter().all(|(name, _)| !name.starts_with("__")), "{line} has a reserved label");
            assert!(seen.insert((name.to_string(), labels.clone())), "the same sample comes twice: {line}");
            all.push(labels);
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_line_of_openmetrics_is_one_by_its_grammar(
        label in "\\PC{0,12}",
        level in "[a-z\"\\\\\n{},=# é]{0,12}",
        factors in proptest::collection::btree_set("[a-z0-9_.·-]{0,6}|study|scenario", 0..5),
        metric in "[a-zA-Z0-9_.%é -]{1,12}",
    ) {
        let mut table = small();
        // Its lower end is called as another metric is.
        let other = Metric::named(format!("{metric}_low"), "1".into(), Direction::Neither);
        table.metric.name = metric.into();
        table.rows[0].label = format!("a{label}");
        table.rows[1].label = format!("b{label}");
        let mut contents = fixture::contents(&table);
        for scenario in &mut contents.scenarios {
            scenario.levels = factors.iter().map(|factor| (factor.clone(), level.clone())).collect();
        }
        contents.runs.iter_mut().for_each(|run| {
            run.metrics.insert(other.name.as_ref().into(), 2.5);
        });
        contents.metrics.insert(other.name.to_string(), other);
        let metrics = contents.metrics.len();
        let text = openmetrics(&report::Input::new(contents, report::input::Details::default()));
        let samples = exposition(&text);
        prop_assert_eq!(samples.len(), metrics * (4 + 2), "the interval of one value is not known");
        for labels in samples {
            let value = |name: &str| labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.clone());
            prop_assert_eq!(value("study").unwrap(), "filesystems");
            let scenario = value("scenario").unwrap();
            prop_assert!(scenario.strip_prefix(['a', 'b']) == Some(label.as_str()), "{}", scenario);
            prop_assert_eq!(labels.len(), 3 + factors.len());
            prop_assert_eq!(labels.iter().filter(|(_, value)| *value == level).count() >= factors.len(), true);
        }
    }
}
