//! Flags (F13): figures that stand apart. They are shown, never dropped.

use crate::interval::median;

/// Iglewicz and Hoaglin's limit for the modified z.
pub const MODIFIED_Z_MAX: f64 = 3.5;

/// Modified z of each value, 0.6745 (x − median) / MAD; all zero when more than half are equal.
pub fn modified_z(values: &[f64]) -> Vec<f64> {
    if values.is_empty() {
        return Vec::new();
    }
    let middle = median(values);
    let deviation = median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>());
    // Differences below the rounding of logarithms are no spread.
    let scale = if deviation > 1e-12 { 0.6745 / deviation } else { 0.0 };
    values.iter().map(|value| (value - middle) * scale).collect()
}
