//! Latency: HDR histograms in nanoseconds, three significant digits, merged over threads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// A histogram of latencies in nanoseconds.
#[derive(Debug, Clone)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Latency {
        Latency(Histogram::new(3).expect("three significant digits are allowed"))
    }
}

impl Latency {
    /// Counts one operation that took this long.
    pub fn record(&mut self, elapsed: std::time::Duration) {
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.0.record(nanoseconds).expect("an auto-resizing histogram takes any value");
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: &Latency) {
        self.0.add(&other.0).expect("an auto-resizing histogram takes any other");
    }

    /// The histogram itself, for quantiles.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// How many operations were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Microseconds at quantile `q` (0.99 for p99).
    pub fn microseconds_at(&self, q: f64) -> f64 {
        self.0.value_at_quantile(q) as f64 / 1000.0
    }

    /// Mean, in microseconds.
    pub fn microseconds_mean(&self) -> f64 {
        self.0.mean() / 1000.0
    }

    /// The form that travels in records and lies in the ledger: HdrHistogram V2 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }

    /// Back from [`Latency::to_bytes`]; `None` when the bytes are no histogram.
    pub fn from_bytes(bytes: &[u8]) -> Option<Latency> {
        Deserializer::new().deserialize(&mut &bytes[..]).ok().map(Latency)
    }
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        STANDARD.encode(self.to_bytes()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Latency, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        Latency::from_bytes(&bytes).ok_or_else(|| serde::de::Error::custom("not an HdrHistogram"))
    }
}
