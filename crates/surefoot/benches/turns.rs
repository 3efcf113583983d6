//! Turns beside blocks, on real filesystems and servers: `cargo bench -p surefoot --bench turns`, as root; with `-- --only TEXT` the
//! parts with that text. `cargo test` takes small inputs.
//!
//! `precision`: the same study at equal time, both ways in alternation, on the machine as it is and while another process loads a CPU at
//! random times. How many times wider is the interval by blocks? `bias`: pairs of scenarios both ways, and the intervals of what
//! separates the two answers.
//!
//! Goals: half-widths by blocks at least 1.8 times those by turns, 3 times beside the load. No pair's answers differ, at 95 % for all pairs.

use goals::{Goals, Spread};
use random::SplitMix64;
use serde_json::Value;
use stats::interval::{Contrast, contrast, t_quantile};
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const RATIO_MIN: f64 = 1.8;
const RATIO_BESIDE_LOAD_MIN: f64 = 3.0;

/// The load beside us works so long and rests so long, on average.
const BUSY_SECONDS: f64 = 10.0;

struct Scale {
    /// Studies each way.
    pairs: u32,
    rounds: u32,
    /// Of a trial's load: of the studies of precision, and of bias.
    seconds: [&'static str; 2],
    /// Of a filesystem.
    size: &'static str,
    /// Of a database.
    rows: &'static str,
}

const FILESYSTEMS: &str = "\"storage.filesystem\" = [\"ext4\", \"xfs\", \"btrfs\"]";
const ROWS: &str = "table_size = 100000";
const SQLITE: &str = "[workload.oltp]\nengine = \"sqlite\"";
const POSTGRES: &str = "[workload.oltp]\nengine = \"postgres\"\nthreads = 4";
const MARIADB: &str = "[workload.oltp]\nengine = \"mariadb\"\nthreads = 4";
const NGINX: &str = "[workload.http-load]\nserver = \"nginx\"\nfile_size = \"16KiB\"\nconnections = 8";
const FILE: &str = "[workload.block-io]\nsize = \"128MiB\"\nverify = false";

/// What is measured both ways.
struct Case {
    name: &'static str,
    /// Its first level is held against each other one.
    factor: &'static str,
    load: &'static str,
    /// More of the load's settings.
    more: &'static str,
    /// Of the whole study.
    head: &'static str,
}

const fn case(name: &'static str, factor: &'static str, load: &'static str, more: &'static str) -> Case {
    Case { name, factor, load, more, head: "" }
}

const fn in_memory(memory: &'static str, case: Case) -> Case {
    Case { head: memory, ..case }
}

const CASES: &[Case] = &[
    case("SQLite", FILESYSTEMS, SQLITE, ROWS),
    case("SQLite's journal", "\"workload.oltp.journal_mode\" = [\"delete\", \"truncate\", \"persist\"]", SQLITE, ROWS),
    in_memory("memory = \"64MiB\"", case("SQLite in 64 MiB", FILESYSTEMS, SQLITE, "table_size = 500000")),
    case("PostgreSQL", FILESYSTEMS, POSTGRES, ROWS),
    case(
        "PostgreSQL, eager and lazy",
        "\"service.postgres.settings.synchronous_commit\" = [\"on\", \"off\"]",
        POSTGRES,
        ROWS,
    ),
    case(
        "PostgreSQL's buffers",
        "\"service.postgres.settings.shared_buffers\" = [\"16MB\", \"128MB\"]",
        POSTGRES,
        ROWS,
    ),
    in_memory("memory = \"256MiB\"", case("PostgreSQL in 256 MiB", FILESYSTEMS, POSTGRES, "table_size = 1000000")),
    case("MariaDB", FILESYSTEMS, MARIADB, ROWS),
    case(
        "MariaDB, eager and lazy",
        "\"service.mariadb.settings.innodb_flush_log_at_trx_commit\" = [1, 2, 0]",
        MARIADB,
        ROWS,
    ),
    case("nginx", FILESYSTEMS, NGINX, ""),
    case("nginx, sendfile", "\"service.nginx.settings.sendfile\" = [\"on\", \"off\"]", NGINX, ""),
    case("file, reads", FILESYSTEMS, FILE, "pattern = \"randread\"\ndirect = true"),
    case("file, each write flushed", FILESYSTEMS, FILE, "pattern = \"randwrite\"\nfdatasync_ios = 1"),
    case("file, 16 writes a flush", FILESYSTEMS, FILE, "pattern = \"randwrite\"\nfdatasync_ios = 16"),
];

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("turns") else { return ExitCode::SUCCESS };
    let only = goals.after("--only").unwrap_or_default().to_string();
    let scale = match goals.is_test() {
        true => Scale { pairs: 1, rounds: 2, seconds: ["300ms"; 2], size: "320MiB", rows: "table_size = 1000" },
        false => Scale { pairs: 4, rounds: 6, seconds: ["8s", "5s"], size: "1GiB", rows: ROWS },
    };
    let folder =
        tempfile::Builder::new().prefix("surefoot-bench-").tempdir_in("/var/tmp").expect("a folder on the disk");
    if "precision, idle".contains(&only) {
        precision("half-width by blocks over that by turns", folder.path(), &scale, RATIO_MIN, &mut goals);
    }
    if "precision, beside a load".contains(&only) && !goals.is_test() {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| load_at_random_times(&is_over));
            let name = "half-width by blocks over that by turns, beside a load";
            precision(name, folder.path(), &scale, RATIO_BESIDE_LOAD_MIN, &mut goals);
            is_over.store(true, Ordering::Relaxed);
        });
    }
    let cases = if goals.is_test() && only.is_empty() { &CASES[..1] } else { CASES };
    let cases: Vec<&Case> = cases.iter().filter(|case| format!("bias: {}", case.name).contains(&only)).collect();
    if !cases.is_empty() {
        bias(folder.path(), &scale, &cases, &mut goals);
    }
    goals.end()
}

/// A process that works on a CPU and rests, for times that nobody knows before.
fn load_at_random_times(is_over: &AtomicBool) {
    let mut random = SplitMix64::new(u64::from(std::process::id()));
    let wait = |random: &mut SplitMix64| {
        let end = Instant::now() + Duration::from_secs_f64(-BUSY_SECONDS * (1.0 - random.fraction()).ln());
        while Instant::now() < end && !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    while !is_over.load(Ordering::Relaxed) {
        let mut busy: Child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell starts");
        wait(&mut random);
        busy.kill().and_then(|()| busy.wait()).expect("it was ours");
        wait(&mut random);
    }
}

fn precision(name: &str, folder: &Path, scale: &Scale, ratio_min: f64, goals: &mut Goals) {
    let case = &CASES[0];
    // Sums of squares and degrees of freedom, by turns and by blocks.
    let mut sums = [(0.0, 0.0); 2];
    for pair in 0..scale.pairs {
        // Neither way is always the first.
        for way in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
            let began = Instant::now();
            let figures = study(folder, WAYS[way], case, scale, scale.seconds[0]);
            let (squares, freedom) = residual(&figures);
            sums[way] = (sums[way].0 + squares, sums[way].1 + freedom);
            let spread = (squares / freedom * 2.0).sqrt() * 100.0;
            let seconds = began.elapsed().as_secs_f64();
            println!(
                "  pair {}: {}: a contrast strays by {spread:.1} % from round to round; {seconds:.0} s",
                pair + 1,
                WAYS[way]
            );
        }
    }
    let [turns, blocks] = sums.map(|(squares, freedom)| (squares / freedom).sqrt());
    // A standard deviation's logarithm strays by 1 over the root of twice its degrees of freedom (delta method, normal figures).
    let half = 1.96 * sums.map(|(_, freedom)| 0.5 / freedom).iter().sum::<f64>().sqrt();
    let ratio = blocks / turns;
    let spread = Spread { median: ratio, low: ratio * (-half).exp(), high: ratio * half.exp() };
    let goal = goals.at_least(name, spread, ratio_min);
    println!("{name}: {ratio:.2}, {:.2} to {:.2} ({goal}; {} studies each way)", spread.low, spread.high, scale.pairs);
}

/// What is left of the figures' logarithms without their scenario's and their round's mean: the sum of squares, and its degrees of freedom.
fn residual(figures: &[Vec<f64>]) -> (f64, f64) {
    let (scenarios, rounds) = (figures.len(), figures[0].len());
    let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
    let of_scenario: Vec<f64> =
        figures.iter().map(|values| mean(&mut values.iter().map(|value| value.ln()), rounds)).collect();
    let of_round: Vec<f64> =
        (0..rounds).map(|round| mean(&mut figures.iter().map(|values| values[round].ln()), scenarios)).collect();
    let all = mean(&mut of_round.iter().copied(), rounds);
    let cells = figures
        .iter()
        .zip(&of_scenario)
        .flat_map(|(values, own)| values.iter().zip(&of_round).map(move |cell| (cell, own)));
    let squares = cells.map(|((value, round), own)| (value.ln() - own - round + all).powi(2)).sum();
    (squares, ((scenarios - 1) * (rounds - 1)) as f64)
}

/// Both answers about a pair, and what separates them, on the log scale.
struct Pair {
    name: String,
    ways: [Contrast; 2],
}

impl Pair {
    fn difference(&self) -> f64 {
        self.ways[0].mean - self.ways[1].mean
    }

    fn standard_error(&self) -> f64 {
        self.ways[0].standard_error.hypot(self.ways[1].standard_error)
    }

    /// Of the interval with this confidence. Degrees of freedom are those of one way: no more than Welch's.
    fn half_width(&self, confidence: f64) -> f64 {
        t_quantile(0.5 + confidence / 2.0, self.ways[0].rounds - 1) * self.standard_error()
    }
}

fn bias(folder: &Path, scale: &Scale, cases: &[&Case], goals: &mut Goals) {
    let mut pairs = Vec::new();
    for case in cases {
        let ways = WAYS.map(|way| study(folder, way, case, scale, scale.seconds[1]));
        let levels: Vec<&str> = levels(case.factor).collect();
        for scenario in 1..ways[0].len() {
            let ways = ways.each_ref().map(|figures| {
                let both = figures[0].iter().zip(&figures[scenario]);
                let differences: Vec<f64> = both.map(|(first, other)| (other / first).ln()).collect();
                contrast(&differences, 0.95).expect("at least two rounds")
            });
            let name = format!("{}: {} against {}", case.name, levels[scenario], levels[0]);
            let pair = Pair { name, ways };
            say(&pair);
            pairs.push(pair);
        }
    }
    // Bonferroni's, so that all hold at once.
    let confidence = 1.0 - 0.05 / pairs.len() as f64;
    let away = |pair: &Pair| pair.difference().abs() / pair.half_width(confidence);
    let worst = pairs.iter().max_by(|a, b| away(a).total_cmp(&away(b))).expect("a pair");
    let apart = pairs.iter().filter(|pair| pair.difference().abs() > pair.half_width(0.95)).count();
    println!(
        "bias: {apart} of {} pairs differ at 95 % each, where one in twenty does by chance; the worst: {}",
        pairs.len(),
        worst.name
    );
    let goal =
        goals.at_most(&format!("bias of {}, in half-widths that hold for all pairs", worst.name), away(worst), 1.0);
    println!("bias of the worst pair: {:.2} half-widths that hold for all pairs ({goal})", away(worst));
}

fn say(pair: &Pair) {
    let ratio = |log: f64| log.exp();
    let [turns, blocks] = &pair.ways;
    let (difference, half) = (pair.difference(), pair.half_width(0.95));
    println!(
        "  {}: {:.3} ({:.3} to {:.3}) by turns, {:.3} ({:.3} to {:.3}) by blocks; turns over blocks {:.3} ({:.3} to {:.3})",
        pair.name,
        ratio(turns.mean),
        ratio(turns.low),
        ratio(turns.high),
        ratio(blocks.mean),
        ratio(blocks.low),
        ratio(blocks.high),
        ratio(difference),
        ratio(difference - half),
        ratio(difference + half)
    );
}

const WAYS: [&str; 2] = ["turns", "blocks"];

fn levels(factor: &'static str) -> impl Iterator<Item = &'static str> {
    let levels = factor.split_once('[').expect("levels").1.trim_end_matches(']');
    levels.split(", ").map(|level| level.trim_matches('"'))
}

/// Runs a study and gives each scenario's figures by round, in the order of the factor's levels.
fn study(folder: &Path, way: &str, case: &Case, scale: &Scale, seconds: &str) -> Vec<Vec<f64>> {
    let Case { factor, load, head, .. } = case;
    let Scale { rounds, size, rows, .. } = scale;
    let more = case.more.replace(ROWS, rows);
    let filesystem = if factor.contains("filesystem") { "" } else { "filesystem = \"ext4\"" };
    let text = format!(
        "name = \"turns\"\nquestion = \"?\"\n{head}\n[factors]\n{factor}\n[storage]\nsize = \"{size}\"\n{filesystem}\n\
         {load}\ntime = \"{seconds}\"\n{more}\n[design]\norder = \"{way}\"\nrounds_min = {rounds}\nrounds_max = {rounds}\n\
         warm_up_runs = 1\nruns = 1\ncontrol = false\nprobe = \"0s\"\n"
    );
    let report = goals::studied(Path::new(env!("CARGO_BIN_EXE_surefoot")), folder, "turns", &text);
    let json: Value = serde_json::from_str(&report).expect("a report is JSON");
    let of_level = |level: &str| {
        let scenarios = json["analysis"]["workloads"][0]["scenarios"].as_array().expect("scenarios");
        let is_it = |scenario: &&Value| {
            scenario["scenario"].as_str().is_some_and(|label| label.split(['=', ' ']).any(|word| word == level))
        };
        let found = scenarios.iter().find(is_it).unwrap_or_else(|| panic!("no scenario {level} in {scenarios:?}"));
        let values: Vec<f64> = found["values"].as_array().expect("figures").iter().filter_map(Value::as_f64).collect();
        assert_eq!(values.len(), *rounds as usize, "a figure each round: {found}");
        values
    };
    levels(factor).map(of_level).collect()
}
