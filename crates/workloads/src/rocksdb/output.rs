//! What `db_bench` prints: a benchmark's line, its histograms and the store's statistics.
//!
//! From `tools/db_bench_tool.cc` and `db/internal_stats.cc` of RocksDB 7.8, here shortened:
//! ```text
//! WARNING: Assertions are enabled; benchmarks unnecessarily slow
//! readrandomwriterandom :  4.943 micros/op 402798 ops/sec 1.009 seconds 406238 operations; ( reads:188609 … found:188609)
//! Microseconds per read:
//! Count: 365628 Average: 4.3572  StdDev: 115.94
//! Min: 0  Median: 3.1274  Max: 28820
//! Percentiles: P50: 3.13 P75: 4.71 P99: 13.15 P99.9: 3140.79 P99.99: 12853.02
//! ** Compaction Stats [default] **
//!   L0      2/0    6.19 MB …                      files of the level / those that are being compacted
//!  Sum      2/0    6.19 MB …
//! Cumulative WAL: 40K writes, 0 syncs, …
//! Cumulative stall: 00:00:0.000 H:M:S, 0.0 percent
//! ```
//! What is in brackets behind the line is said by one of the threads, of itself alone. A part that is missing, double or contradicts
//! another is an error: there is no figure without all of them. Releases before 7.4 print neither seconds nor operations.

use std::collections::BTreeMap;

/// One run of one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Operations of all threads.
    pub operations: u64,
    /// By the program's own clock, to a millisecond.
    pub seconds: f64,
    /// Operations per second, as the program says it.
    pub rate: f64,
    /// What one thread looked up and found; none where the benchmark does not say both.
    pub looked_up: Option<LookedUp>,
    /// By what was done: `read`, `write`, `update`. Empty without `--histogram`.
    pub latencies: BTreeMap<String, Percentiles>,
    /// What the store says of itself after the benchmark.
    pub store: Store,
    /// What the program warns of: a build with assertions, a compression that it lacks.
    pub warnings: Vec<String>,
}

/// Of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookedUp {
    /// Keys that were asked for.
    pub keys: u64,
    /// Those that were there.
    pub found: u64,
}

/// Latency in µs. The program keeps it in classes that are up to a third wide, and draws a line through the class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// Operations counted.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Half were faster.
    pub p50: f64,
    /// 99 of 100 were faster.
    pub p99: f64,
    /// 999 of 1,000 were faster.
    pub p99_9: f64,
}

/// The store since it was opened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Store {
    /// Files of level 0, which are not merged with the others yet.
    pub level0_files: u64,
    /// Files of all levels that were being compacted when the benchmark ended.
    pub compacting_files: u64,
    /// Flushes of the log that writes waited for.
    pub log_syncs: u64,
    /// Time in which writes were held back for compactions to come along.
    pub stall_seconds: f64,
}

/// What `db_bench --benchmarks=NAME,stats` printed on standard output.
///
/// # Errors
/// In words, when the text is not that of one whole run of this benchmark.
pub fn parse(name: &str, text: &str) -> Result<Output, String> {
    let lines: Vec<&str> = text.lines().collect();
    let (line, rest) = only_line(&lines, &format!("`{name}`"), |line| {
        let (word, rest) = line.split_once(':')?;
        (word.trim_end() == name).then_some(rest)
    })?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [micros, "micros/op", rate, "ops/sec", seconds, "seconds", operations, "operations;", more @ ..] = &words[..]
    else {
        return Err(format!("`{line}` is not what db_bench 7.8 prints of a benchmark"));
    };
    number(micros, line)?;
    let warnings = lines.iter().filter_map(|line| line.strip_prefix("WARNING: "));
    let output = Output {
        operations: count(operations, line)?,
        seconds: number(seconds, line)?,
        rate: number(rate, line)?,
        looked_up: looked_up(&more.join(" ")),
        latencies: latencies(&lines)?,
        store: store(&lines)?,
        warnings: warnings.map(|line| line.trim().into()).collect(),
    };
    output.agrees_with_itself()?;
    Ok(output)
}

impl Output {
    fn agrees_with_itself(&self) -> Result<(), String> {
        let Output { operations, seconds, rate, latencies, .. } = self;
        if *operations == 0 || *rate <= 0.0 || *seconds <= 0.0 {
            return Err(format!("{operations} operations in {seconds} s are no benchmark"));
        }
        if !is_rate_of(*rate, *operations, *seconds) {
            return Err(format!("{operations} operations in {seconds} s are not {rate} a second"));
        }
        let timed: u64 = latencies.values().map(|one| one.count).sum();
        if !latencies.is_empty() && timed != *operations {
            return Err(format!("the histograms hold {timed} of {operations} operations"));
        }
        Ok(())
    }
}

/// Whether so many operations in so many seconds are that rate: seconds are rounded to a millisecond, the rate to a whole operation.
fn is_rate_of(rate: f64, operations: u64, seconds: f64) -> bool {
    let rate_in = |seconds: f64| operations as f64 / seconds.max(f64::MIN_POSITIVE);
    rate >= rate_in(seconds + 0.000_51) - 1.0 && rate <= rate_in(seconds - 0.000_51) + 1.0
}

/// The one line of which `of` makes something, and that.
fn only_line<'a, T>(lines: &[&'a str], what: &str, of: impl Fn(&'a str) -> Option<T>) -> Result<(&'a str, T), String> {
    let mut all = lines.iter().filter_map(|line| Some((*line, of(line)?)));
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(format!("it printed no line of {what}")),
        (Some(_), Some(_)) => Err(format!("it printed {what} twice")),
    }
}

/// A number, finite and not below zero.
fn number(word: &str, line: &str) -> Result<f64, String> {
    let value = word.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("{word:?} is no number in `{}`", line.trim()))
}

fn count(word: &str, line: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{word:?} is no count in `{}`", line.trim()))
}

/// `(231639 of 231639 found)`, or `( reads:188609 writes:20950 total:50000 found:188609)`.
fn looked_up(remark: &str) -> Option<LookedUp> {
    let inside = remark.split_once('(')?.1.strip_suffix(')')?;
    if let Some((found, keys)) = inside.strip_suffix(" found").and_then(|counts| counts.split_once(" of ")) {
        return Some(LookedUp { keys: keys.parse().ok()?, found: found.parse().ok()? });
    }
    let named = |name: &str| inside.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse().ok());
    Some(LookedUp { keys: named("reads:")?, found: named("found:")? })
}

fn latencies(lines: &[&str]) -> Result<BTreeMap<String, Percentiles>, String> {
    let mut all = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(operation) = line.strip_prefix("Microseconds per ").and_then(|rest| rest.strip_suffix(':')) else {
            continue;
        };
        let [counts, _, percentiles] = lines.get(at + 1..at + 4).ok_or(format!("`{line}` without its figures"))? else {
            unreachable!("three lines were asked for")
        };
        let one = Percentiles {
            count: count(after(counts, "Count:")?, counts)?,
            mean: number(after(counts, "Average:")?, counts)?,
            p50: number(after(percentiles, "P50:")?, percentiles)?,
            p99: number(after(percentiles, "P99:")?, percentiles)?,
            p99_9: number(after(percentiles, "P99.9:")?, percentiles)?,
        };
        if all.insert(operation.to_string(), one).is_some() {
            return Err(format!("it printed the histogram of each {operation} twice"));
        }
    }
    Ok(all)
}

fn store(lines: &[&str]) -> Result<Store, String> {
    // The same table comes once more by priority, without a sum.
    let (sum, files) =
        only_line(lines, "the sum of levels", |line| line.strip_prefix(" Sum ")?.split_whitespace().next())?;
    let level0 = lines.iter().find_map(|line| line.strip_prefix("  L0 ")?.split_whitespace().next());
    let (log, _) = only_line(lines, "the log's flushes", |line| line.strip_prefix("Cumulative WAL:"))?;
    let (stall, time) = only_line(lines, "stalls", |line| line.strip_prefix("Cumulative stall:"))?;
    let (_, compacting) = of_level(files, sum)?;
    let syncs = log.split(", ").find_map(|part| part.strip_suffix(" syncs")).ok_or(format!("no syncs in `{log}`"))?;
    Ok(Store {
        level0_files: level0.map_or(Ok(0), |files| Ok::<_, String>(of_level(files, sum)?.0))?,
        compacting_files: compacting,
        log_syncs: count(syncs, log)?,
        stall_seconds: clock(time.split_whitespace().next().unwrap_or_default(), stall)?,
    })
}

/// `4/2`: files, and those of them that are being compacted.
fn of_level(files: &str, line: &str) -> Result<(u64, u64), String> {
    let (all, compacting) = files.split_once('/').ok_or(format!("{files:?} are no files in `{}`", line.trim()))?;
    Ok((count(all, line)?, count(compacting, line)?))
}

/// `01:02:3.500`, in seconds.
fn clock(time: &str, line: &str) -> Result<f64, String> {
    let parts: Vec<f64> = time.split(':').map(|part| number(part, line)).collect::<Result<_, _>>()?;
    let [hours, minutes, seconds] = parts[..] else { return Err(format!("{time:?} is no time in `{line}`")) };
    Ok((hours * 60.0 + minutes) * 60.0 + seconds)
}

/// The word behind a mark.
fn after<'a>(line: &'a str, mark: &str) -> Result<&'a str, String> {
    let mut words = line.split_whitespace().skip_while(|word| *word != mark).skip(1);
    words.next().ok_or_else(|| format!("no {mark} in `{}`", line.trim()))
}

/// Rates of whole seconds from what `--report_file` wrote: a head, then a second and a rate a line.
pub fn rates(report: &str) -> Vec<f64> {
    let lines = report.lines().skip(1);
    lines.filter_map(|line| line.split_once(',')?.1.trim().parse().ok()).filter(|rate: &f64| rate.is_finite()).collect()
}

/// The release that standard error begins with: `RocksDB:    version 7.8.3`.
pub fn version(stderr: &str) -> Option<&str> {
    stderr.lines().find_map(|line| line.strip_prefix("RocksDB:")?.trim().strip_prefix("version "))
}

/// The first line of standard error that tells of an error: a benchmark may go on after one.
pub fn complaint(stderr: &str) -> Option<&str> {
    let lines = stderr.split(['\n', '\r']).map(str::trim);
    let tells = |line: &&str| {
        let small = line.to_lowercase();
        ["error", "corrupt", "fail", "invalid", "not supported", "no space"].iter().any(|word| small.contains(word))
    };
    lines.into_iter().find(tells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// By Debian's rocksdb-tools 7.8.3-2: 50,000 keys, two threads, one second, `--histogram`.
    const CAPTURED: [(&str, &str); 6] = [
        ("fillsync", include_str!("captured/fillsync.txt")),
        ("overwrite", include_str!("captured/overwrite.txt")),
        ("readrandom", include_str!("captured/readrandom.txt")),
        ("readrandomwriterandom", include_str!("captured/readrandomwriterandom.txt")),
        ("readwhilewriting", include_str!("captured/readwhilewriting.txt")),
        ("updaterandom", include_str!("captured/updaterandom.txt")),
    ];

    fn check(name: &str, change: impl Fn(&str) -> String, expected: Expect) {
        let text = CAPTURED.iter().find(|one| one.0 == name).unwrap().1;
        let said = parse(name, &change(text)).map_or_else(|problem| problem, |output| format!("{output:#?}"));
        expected.assert_eq(&said);
    }

    #[test]
    fn a_run_with_flushes() {
        check(
            "fillsync",
            str::to_string,
            expect![[r#"
            Output {
                operations: 5628,
                seconds: 1.004,
                rate: 5606.0,
                looked_up: None,
                latencies: {
                    "write": Percentiles {
                        count: 5628,
                        mean: 357.011,
                        p50: 187.82,
                        p99: 4108.64,
                        p99_9: 8725.2,
                    },
                },
                store: Store {
                    level0_files: 0,
                    compacting_files: 0,
                    log_syncs: 4052,
                    stall_seconds: 0.0,
                },
                warnings: [
                    "Assertions are enabled; benchmarks unnecessarily slow",
                ],
            }"#]],
        );
    }

    #[test]
    fn reads_and_writes_at_once() {
        check(
            "readrandomwriterandom",
            str::to_string,
            expect![[r#"
            Output {
                operations: 406238,
                seconds: 1.009,
                rate: 402798.0,
                looked_up: Some(
                    LookedUp {
                        keys: 188609,
                        found: 188609,
                    },
                ),
                latencies: {
                    "read": Percentiles {
                        count: 365628,
                        mean: 4.3572,
                        p50: 1.4,
                        p99: 7.53,
                        p99_9: 25.05,
                    },
                    "write": Percentiles {
                        count: 40610,
                        mean: 10.407,
                        p50: 2.71,
                        p99: 9.68,
                        p99_9: 3081.61,
                    },
                },
                store: Store {
                    level0_files: 2,
                    compacting_files: 0,
                    log_syncs: 0,
                    stall_seconds: 0.0,
                },
                warnings: [
                    "Assertions are enabled; benchmarks unnecessarily slow",
                ],
            }"#]],
        );
    }

    #[test]
    fn what_one_thread_found() {
        let found = |name: &str| {
            let text = CAPTURED.iter().find(|one| one.0 == name).unwrap().1;
            parse(name, text).unwrap().looked_up.map(|one| (one.keys, one.found))
        };
        assert_eq!(found("readrandom"), Some((256_319, 256_319)));
        assert_eq!(found("readwhilewriting"), Some((231_639, 231_639)));
        // Its `updates` are a setting and no count.
        assert_eq!(found("updaterandom"), None);
        assert_eq!(found("overwrite"), None);
    }

    /// Forms that a busy store prints: files that are being compacted, and a stall of an hour.
    #[test]
    fn compactions_and_stalls() {
        assert_eq!(of_level("4/3", ""), Ok((4, 3)));
        assert_eq!(clock("01:02:3.500", ""), Ok(3723.5));
        assert!(of_level("4", "").is_err() && clock("2:3.500", "").is_err() && clock("1:-2:3", "").is_err());
    }

    #[test]
    fn figures_that_contradict_each_other_are_none() {
        check(
            "overwrite",
            |text| text.replace("205648 operations", "305648 operations"),
            expect!["305648 operations in 1.004 s are not 204852 a second"],
        );
        check(
            "overwrite",
            |text| text.replace("Count: 205648", "Count: 205647"),
            expect!["the histograms hold 205647 of 205648 operations"],
        );
        check(
            "overwrite",
            |text| text.replace("204852 ops/sec", "nan ops/sec"),
            expect![[
                r#""nan" is no number in `overwrite    :       9.727 micros/op nan ops/sec 1.004 seconds 205648 operations;   22.7 MB/s`"#
            ]],
        );
        check(
            "overwrite",
            |text| text.replace(" 1.004 seconds 205648 operations", ""),
            expect![
                "`overwrite    :       9.727 micros/op 204852 ops/sec;   22.7 MB/s` is not what db_bench 7.8 prints of a benchmark"
            ],
        );
        check("overwrite", |text| format!("{text}{text}"), expect!["it printed `overwrite` twice"]);
        check("overwrite", |text| text.replace("overwrite", "fillseq"), expect!["it printed no line of `overwrite`"]);
    }

    /// 1,000 operations took 16.5 ms, which it prints as 0.017 s.
    #[test]
    fn a_rate_is_held_against_seconds_within_their_rounding() {
        assert!(is_rate_of(60_595.0, 1000, 0.017));
        assert!(!is_rate_of(60_700.0, 1000, 0.017) && !is_rate_of(57_000.0, 1000, 0.017));
        assert!(is_rate_of(1.0, 10, 10.0) && !is_rate_of(3.0, 10, 10.0));
    }

    #[test]
    fn complaints_are_found_among_progress() {
        let progress = "... finished 100 ops   \r... finished 200 ops   \rSet seed to 1 because --seed was 0\n";
        assert_eq!(complaint(progress), None);
        assert_eq!(version("RocksDB:    version 7.8.3\nDate:       Tue Nov 24\n"), Some("7.8.3"));
        let full = format!("{progress}put error: IO error: No space left on device: /mnt/000004.log\n");
        assert_eq!(complaint(&full), Some("put error: IO error: No space left on device: /mnt/000004.log"));
    }

    #[test]
    fn rates_are_those_of_whole_seconds() {
        assert_eq!(rates("secs_elapsed,interval_qps\n1,3689\n2,1386\n3,"), [3689.0, 1386.0]);
        assert!(rates("").is_empty());
    }

    proptest! {
        /// Whatever is cut off or left out, there is the whole figure or none.
        #[test]
        fn a_part_of_an_output_has_no_other_figure(which in 0..CAPTURED.len(), from in 0usize..120, lines in 1usize..40) {
            let (name, text) = CAPTURED[which];
            let whole = parse(name, text).unwrap();
            let left: Vec<&str> = text.lines().enumerate().filter(|(at, _)| !(from..from + lines).contains(at)).map(|one| one.1).collect();
            if let Ok(output) = parse(name, &left.join("\n")) {
                prop_assert_eq!((output.operations, output.rate, output.seconds), (whole.operations, whole.rate, whole.seconds));
                prop_assert!(output.latencies == whole.latencies || output.latencies.is_empty());
                prop_assert_eq!(output.store.log_syncs, whole.store.log_syncs);
            }
        }

        #[test]
        fn a_cut_output_has_no_figure(which in 0..CAPTURED.len(), kept in 0.0..0.9f64) {
            let (name, text) = CAPTURED[which];
            prop_assert!(parse(name, &text[..text.floor_char_boundary((text.len() as f64 * kept) as usize)]).is_err());
        }

        /// Other bytes in one place: no panic, and what is read agrees with itself.
        #[test]
        fn bytes_that_went_wrong(which in 0..CAPTURED.len(), at in 0.0..1.0f64, byte: u8) {
            let (name, text) = CAPTURED[which];
            let mut bytes = text.as_bytes().to_vec();
            let place = (at * bytes.len() as f64) as usize;
            bytes[place] = byte;
            if let Ok(output) = parse(name, &String::from_utf8_lossy(&bytes)) {
                prop_assert!(output.agrees_with_itself().is_ok());
            }
        }
    }
}
