//! What is said of where trials ran; the values are `analysis::bench`.

use crate::input::Input;
use crate::number::{Scale, figure};
use crate::words::Words;
pub use analysis::bench::{Bench, benches};
use observe::metric::{Direction, Metric};
use serde_json::{Value, json};

/// Benches told in full; more are counted.
const BENCHES_MAX: usize = 4;

/// What holds for every figure from a guest.
const GUEST_LIMITS: &str = "Figures from a guest hold its dearer system calls and its one CPU: they compare with each other and not \
    with the host's.";

/// For machines.
pub fn json(bench: &Bench) -> Value {
    match bench {
        Bench::Host => json!({ "bench": "host" }),
        Bench::Loaded(client) => json!({ "bench": "host", "client": client }),
        Bench::Other(name) => json!({ "bench": name }),
        Bench::Guest(guest) => json!({
            "bench": "guest",
            "guest_kernel": guest.kernels,
            "guest_kernel_file_sha256": guest.files_sha256,
            "guest_memory_bytes": guest.memory_bytes,
        }),
    }
}

impl Words for Bench {
    /// As it follows "ran": "on the host's kernel", "in a guest kernel: Linux 6.1.176 (User-Mode Linux), 1 GiB of memory".
    fn words(&self) -> String {
        match self {
            Bench::Host => "on the host's kernel".into(),
            Bench::Loaded(client) => format!("on the host's kernel, with the load from {client}"),
            Bench::Other(name) => format!("on the bench `{name}`"),
            Bench::Guest(guest) => {
                let kernels: Vec<&str> = guest.kernels.iter().map(String::as_str).collect();
                let kernel = if kernels.is_empty() { "unknown".into() } else { kernels.join(" and ") };
                let memory = guest.memory_bytes.map(|bytes| format!(", {} of memory", size(bytes)));
                format!("in a guest kernel: {kernel}{}", memory.unwrap_or_default())
            }
        }
    }
}

/// "1 GiB", where it is whole; else with three digits.
fn size(bytes: u64) -> String {
    let mut units = [(1 << 30, "GiB"), (1 << 20, "MiB")].into_iter();
    let whole = units.find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    let rounded = || Scale::of(&Metric::new("memory", "B", Direction::Neither), bytes as f64).with_unit(bytes as f64);
    whole.map_or_else(rounded, |(unit, name)| format!("{} {name}", bytes / unit))
}

/// Where it ran and what that does to the figures; nothing to say of the host alone.
pub fn note(input: &Input) -> Option<String> {
    let benches = benches(&input.contents);
    let limits = if benches.iter().any(Bench::is_guest) {
        GUEST_LIMITS.into()
    } else if benches.iter().any(|bench| matches!(bench, Bench::Loaded(_))) {
        network(input)
    } else {
        return None;
    };
    Some(format!("Trials ran {}. {limits}", list(&benches)))
}

/// Where the load came from, in the short answer; nothing where it was beside the server.
pub fn load(input: &Input) -> Option<String> {
    let client = |bench| if let Bench::Loaded(client) = bench { Some(client) } else { None };
    let clients: Vec<String> = benches(&input.contents).into_iter().filter_map(client).collect();
    let way = round_trip(input).map_or(String::new(), |[median, _]| format!(", {median} ms there and back"));
    (!clients.is_empty()).then(|| format!("Load: from {}{way}; each figure holds that network.", clients.join(", ")))
}

/// What holds for every figure of a load over a network.
fn network(input: &Input) -> String {
    let way = round_trip(input).map_or(String::new(), |[median, p99]| {
        format!(", whose round trip was {median} ms in the median and {p99} ms in the 99th percentile before the first round")
    });
    format!("Each figure holds the network between the two{way}: it compares with those of the same client only.")
}

/// Median and 99th percentile before the first round, in milliseconds.
fn round_trip(input: &Input) -> Option<[String; 2]> {
    let machine = &input.contents.sessions.last()?.machine;
    let milliseconds = |quantile: &str| {
        let text = machine.get(&format!("client_round_trip_microseconds_{quantile}"))?;
        Some(figure(text.parse::<f64>().ok()? / 1e3))
    };
    Some([milliseconds("median")?, milliseconds("p99")?])
}

/// All in a row.
pub fn list(benches: &[Bench]) -> String {
    let named: Vec<String> = benches.iter().take(BENCHES_MAX).map(Words::words).collect();
    let more = benches.len().saturating_sub(BENCHES_MAX);
    if more > 0 { format!("{}; and on {more} more", named.join("; ")) } else { named.join("; and ") }
}
