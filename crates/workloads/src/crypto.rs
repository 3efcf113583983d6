//! `crypto`: how fast OpenSSL signs, verifies, encrypts and digests here: `openssl speed`.
//!
//! One process of `openssl speed` an algorithm, in the order of the study, with its output for programs, which
//! `crypto/speed.rs` reads. It stores nothing and needs no filesystem: it is for processors, guests, kernels and builds of
//! OpenSSL, and a control where filesystems are compared.
//!
//! Driven by `lab::trial`. Does not check signatures: the program does.

mod speed;

use load::process::{self, Finished};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Direction, Metric};
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use speed::{Algorithm, Family};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "crypto",
    summary: "OpenSSL's signatures, ciphers and digests, as `openssl speed` counts them; stores nothing",
    example: r#"[workload.crypto]
algorithms = ["rsa2048", "dsa2048", "ecdsap256", "aes-256-gcm", "sha256"]
time = "10s"
primary = "rsa_2048_verify_per_second"
"#,
    settings: SETTINGS,
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new(
        "algorithms",
        Is::TextList,
        r#"["rsa2048", "rsa4096", "ecdsap256", "aes-128-cbc", "aes-256-gcm", "sha256"]"#,
    )
    .help(
        "What to measure, as `openssl speed` calls it: rsa and dsa with bits, ecdsap224 to ecdsap521, ed25519, \
               ed448, and any cipher or digest of `openssl list`. DSA is missing from builds without it.",
    ),
    Setting::new("block_bytes", Is::IntegerList, "[16384]").help(
        "Sizes of the blocks that ciphers and digests get, each measured by itself; without effect on signatures.",
    ),
    Setting::new("time", Is::Seconds { min: 1.0, max: 3600.0 }, "3s")
        .help("Whole seconds for each figure: a signature has two, a cipher or digest one for each size of block."),
    Setting::new("processes", Is::Integer { min: 1, max: 1024 }, "1")
        .help("Processes that do the same at once; their rates are added up."),
    Setting::new("clock", Is::Choice(&["elapsed", "processor"]), "elapsed").help(
        "What rates are divided by: time that passed, or time that the one process had a processor, which hides what \
               else the machine did, and is what comparisons of old show.",
    ),
    Setting::absent("primary", Is::Text).help(
        "The metric that the answer is about, like aes_256_gcm_16384_bytes_per_second; unless given, the first: of \
               signatures those made, not those verified.",
    ),
];

/// Of one block; what is larger is no block of anybody's.
const BLOCK_BYTES_MAX: u64 = 64 << 20;

/// Keys are made before the clock starts: of 15,360 bits they are read, not searched, so a minute is ample.
const SECONDS_AROUND: f64 = 60.0;

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    algorithms: Vec<String>,
    block_bytes: Vec<u64>,
    time: f64,
    processes: u64,
    clock: String,
    primary: Option<String>,
}

/// One execution of the program, and the metrics that it yields.
struct Measurement {
    algorithm: Algorithm,
    /// Size of a block; none: it signs.
    block_bytes: Option<u64>,
    metrics: Vec<Metric>,
}

impl Parameters {
    /// Those that are none are left out: the check names them.
    fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        self.algorithms.iter().filter_map(|name| Algorithm::parse(name).ok())
    }

    /// In the order of the study.
    fn measurements(&self) -> Vec<Measurement> {
        let mut all = Vec::new();
        for algorithm in self.algorithms() {
            let word = algorithm.word();
            if algorithm.family == Family::Blocks {
                all.extend(self.block_bytes.iter().map(|bytes| Measurement {
                    algorithm: algorithm.clone(),
                    block_bytes: Some(*bytes),
                    metrics: vec![Metric::named(
                        format!("{word}_{bytes}_bytes_per_second"),
                        "B/s".into(),
                        Direction::More,
                    )],
                }));
                continue;
            }
            let metric = |what: &str| Metric::named(format!("{word}_{what}_per_second"), "1/s".into(), Direction::More);
            let metrics = vec![metric("sign"), metric("verify")];
            all.push(Measurement { algorithm, block_bytes: None, metrics });
        }
        all
    }
}

impl WorkloadSettings for Parameters {
    /// The primary one first.
    fn metrics(&self) -> Vec<Metric> {
        let mut all: Vec<Metric> = self.measurements().into_iter().flat_map(|one| one.metrics).collect();
        let chosen = all.iter().position(|metric| Some(&*metric.name) == self.primary.as_deref());
        if let Some(at) = chosen {
            all[..=at].rotate_right(1);
        }
        all
    }

    fn durability(&self) -> Durability {
        Durability::full()
    }

    fn estimate(&self) -> Estimate {
        let figures = self.metrics().len();
        Estimate { data_bytes: 0, load_seconds: 0.0, run_seconds: figures as f64 * self.time }
    }

    fn is_by_the_clock(&self) -> bool {
        true
    }

    fn problems(&self) -> Vec<String> {
        let unknown = self.algorithms.iter().filter_map(|name| Algorithm::parse(name).err());
        let mut problems: Vec<String> = unknown.map(|problem| format!("`algorithms`: {problem}")).collect();
        let has_blocks = self.algorithms().any(|algorithm| algorithm.family == Family::Blocks);
        problems.extend(load::sentences! {
            self.algorithms.is_empty() => "`algorithms` must name at least one";
            has_blocks && self.block_bytes.is_empty() =>
                "`block_bytes` must name a size for the ciphers and digests";
        });
        if let Some(bytes) = self.block_bytes.iter().find(|bytes| !(1..=BLOCK_BYTES_MAX).contains(*bytes)) {
            problems.push(format!("`block_bytes` = {bytes}: a block has from 1 to {BLOCK_BYTES_MAX} bytes"));
        }
        let names: Vec<_> = self.metrics().into_iter().map(|metric| metric.name).collect();
        let mut seen = BTreeSet::new();
        problems
            .extend(names.iter().filter(|name| !seen.insert(*name)).map(|name| format!("`{name}` is asked for twice")));
        if let Some(primary) = &self.primary
            && !names.iter().any(|name| name == primary)
        {
            let nearest = settings::nearest_name(primary, names.iter().map(AsRef::as_ref));
            let hint =
                nearest.map_or_else(|| format!("one of {}", names.join(", ")), |name| format!("did you mean {name}?"));
            problems.push(format!("`primary` = {primary} is no metric of these `algorithms`: {hint}"));
        }
        problems.extend(load::sentences! {
            self.time.fract() != 0.0 => "`time` must be whole seconds";
            self.clock == "processor" && self.processes > 1 =>
                "`clock` = \"processor\" works with one of `processes` only: of several the time that passed is taken";
        });
        problems
    }

    fn missing(&self) -> Vec<String> {
        if let Some(missing) = process::missing("openssl", &[("openssl", "openssl")]) {
            return vec![missing];
        }
        let of_blocks = names(&["-cipher-algorithms", "-digest-algorithms"]);
        let of_keys = names(&["-public-key-algorithms"]);
        let lacks = |algorithm: &Algorithm| match algorithm.family {
            Family::Blocks => !of_blocks.is_empty() && !of_blocks.contains(&algorithm.name),
            Family::Dsa(_) => !of_keys.is_empty() && !of_keys.contains("dsa"),
            _ => false,
        };
        let all = self.algorithms().filter(lacks);
        all.map(|algorithm| format!("`algorithms`: this machine's openssl has no {}", algorithm.name)).collect()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(self)
    }
}

/// Words in the program's own lists, in small letters; none where it has no such list.
fn names(lists: &[&str]) -> BTreeSet<String> {
    let output = |list: &&str| Command::new("openssl").arg("list").arg(list).output().ok();
    let text: Vec<u8> = lists.iter().filter_map(output).flat_map(|output| output.stdout).collect();
    let is_between = |letter: char| letter.is_whitespace() || "{},:".contains(letter);
    String::from_utf8_lossy(&text)
        .to_lowercase()
        .split(is_between)
        .map(String::from)
        .filter(|word| !word.is_empty())
        .collect()
}

impl Workload for Parameters {
    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let mut outcome = Outcome::all_right();
        for measurement in self.measurements() {
            let finished = self.measure(&measurement, context)?;
            outcome.seconds += finished.seconds;
            let rates = measurement.rates(&finished.stdout).map_err(|problem| {
                let name = &measurement.algorithm.name;
                finished
                    .failed("openssl speed", format!("{}, but without the rate of {name}: {problem}", finished.status))
            })?;
            outcome.metrics.extend(measurement.metrics.iter().zip(rates).map(|(metric, rate)| metric.at(rate)));
        }
        Ok(outcome)
    }

    fn verify(&mut self, _context: &mut Context) -> Result<(), Error> {
        Ok(())
    }
}

impl Parameters {
    fn measure(&self, measurement: &Measurement, context: &Context) -> Result<Finished, Error> {
        let seconds = self.time;
        let mut arguments =
            vec!["openssl".into(), "speed".into(), "-mr".into(), "-seconds".into(), format!("{seconds}")];
        if self.clock == "elapsed" {
            arguments.push("-elapsed".into());
        }
        if self.processes > 1 {
            arguments.extend(["-multi".into(), self.processes.to_string()]);
        }
        let name = measurement.algorithm.name.clone();
        match measurement.block_bytes {
            Some(bytes) => arguments.extend(["-bytes".into(), bytes.to_string(), "-evp".into(), name]),
            None => arguments.push(name),
        }
        // Time of the processor passes more slowly than that of the clock, up to the share that others leave.
        let timeout = Duration::from_secs_f64(measurement.metrics.len() as f64 * seconds * 2.0 + SECONDS_AROUND);
        process::run(&arguments, &context.data_folder, timeout, context.interrupted)?.succeeded("openssl speed")
    }
}

impl Measurement {
    fn rates(&self, output: &str) -> Result<Vec<f64>, String> {
        match self.block_bytes {
            Some(bytes) => Ok(vec![speed::block_rate(output, bytes)?]),
            None => Ok(self.algorithm.signature_rates(output)?.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_tests::read;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    fn metrics(written: Value, expected: Expect) {
        let metrics = read(&KIND, &written).metrics();
        let lines: Vec<_> = metrics.iter().map(|metric| format!("{} {}", metric.name, metric.unit)).collect();
        expected.assert_eq(&lines.join("\n"));
    }

    fn problems(written: Value, expected: Expect) {
        expected.assert_eq(&read(&KIND, &written).problems().join("\n"));
    }

    #[test]
    fn metrics_by_default_and_with_another_one_first() {
        metrics(
            json!({}),
            expect![[r#"
                rsa_2048_sign_per_second 1/s
                rsa_2048_verify_per_second 1/s
                rsa_4096_sign_per_second 1/s
                rsa_4096_verify_per_second 1/s
                ecdsa_p256_sign_per_second 1/s
                ecdsa_p256_verify_per_second 1/s
                aes_128_cbc_16384_bytes_per_second B/s
                aes_256_gcm_16384_bytes_per_second B/s
                sha256_16384_bytes_per_second B/s"#]],
        );
        metrics(
            json!({"algorithms": ["ed25519", "SHA512"], "block_bytes": [16, 1024], "primary": "sha512_16_bytes_per_second"}),
            expect![[r#"
                sha512_16_bytes_per_second B/s
                ed25519_sign_per_second 1/s
                ed25519_verify_per_second 1/s
                sha512_1024_bytes_per_second B/s"#]],
        );
    }

    #[test]
    fn all_problems_come_at_once() {
        problems(json!({}), expect![""]);
        problems(
            json!({"algorithms": ["rsa2048", "rsa", "sha-nought", "RSA2048"], "block_bytes": [0], "time": "1500ms",
                   "processes": 2, "clock": "processor", "primary": "rsa_2048_sing_per_second"}),
            expect![[r#"
                `algorithms`: `rsa` is none of rsa512, rsa1024, rsa2048, rsa3072, rsa4096, rsa7680, rsa15360, dsa512, dsa1024, dsa2048, ecdsap224, ecdsap256, ecdsap384, ecdsap521, ed25519, ed448
                `block_bytes` = 0: a block has from 1 to 67108864 bytes
                `rsa_2048_sign_per_second` is asked for twice
                `rsa_2048_verify_per_second` is asked for twice
                `primary` = rsa_2048_sing_per_second is no metric of these `algorithms`: did you mean rsa_2048_sign_per_second?
                `time` must be whole seconds
                `clock` = "processor" works with one of `processes` only: of several the time that passed is taken"#]],
        );
        problems(json!({"algorithms": []}), expect!["`algorithms` must name at least one"]);
        problems(
            json!({"algorithms": ["sha256"], "block_bytes": []}),
            expect!["`block_bytes` must name a size for the ciphers and digests"],
        );
    }

    #[test]
    fn what_this_machine_s_openssl_lacks_is_missing_and_no_problem() {
        let settings = read(&KIND, &json!({"algorithms": ["rsa2048", "sha-nought"]}));
        assert_eq!(settings.problems(), Vec::<String>::new());
        assert_eq!(settings.missing(), ["`algorithms`: this machine's openssl has no sha-nought"]);
    }

    #[test]
    fn an_estimate_counts_figures() {
        assert_eq!(read(&KIND, &json!({"time": "2s"})).estimate().run_seconds, 18.0);
    }
}
