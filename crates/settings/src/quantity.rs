//! Values with a unit, as people write them: `"4GiB"`, `"30s"`, `"2%"`.
//!
//! ```
//! use settings::quantity::{format_bytes, parse_bytes, parse_seconds};
//! assert_eq!(parse_bytes("1.5 KiB"), Some(1536));
//! assert_eq!(parse_seconds("2min"), Some(120.0));
//! assert_eq!(parse_bytes("4"), None, "a number has no unit");
//! assert_eq!(format_bytes(1536), "1.5KiB");
//! ```

/// Units of bytes: binary (`KiB`) and decimal (`KB`) spelled as IEC 80000-13 and SI do.
const BYTE_UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Units of time. Two minutes and a half are `150s`, `2.5min` or, as they are printed, `2min 30s`.
const SECOND_UNITS: &[(&str, f64)] = &[("us", 1e-6), ("ms", 1e-3), ("min", 60.0), ("h", 3600.0), ("s", 1.0)];

/// Bytes of `"4GiB"`, `"512 MiB"`, `"4096B"`; a bare number has no unit and is refused.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text)?;
    let factor = BYTE_UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let bytes = number * factor as f64;
    // Without the noise of floating point: 1.07 GB are 1,070,000,000 bytes.
    let is_whole = (bytes - bytes.round()).abs() <= bytes * f64::EPSILON;
    (bytes < u64::MAX as f64 && is_whole).then_some(bytes.round() as u64)
}

/// Seconds of `"30s"`, `"5min"`, `"1h 30min"`, `"250ms"`: the larger unit first.
pub fn parse_seconds(text: &str) -> Option<f64> {
    let (mut seconds, mut last) = (0.0, f64::INFINITY);
    let mut rest = text.trim();
    while !rest.is_empty() || last.is_infinite() {
        let (number, after) = split_unit(rest)?;
        let is_unit = |(name, _): &&(&str, f64)| after.starts_with(name);
        let (name, factor) = SECOND_UNITS.iter().filter(is_unit).max_by_key(|(name, _)| name.len())?;
        seconds += number * factor;
        if *factor >= last {
            return None;
        }
        last = *factor;
        rest = after[name.len()..].trim_start();
    }
    (seconds >= 0.0 && seconds.is_finite()).then_some(seconds)
}

/// The fraction of `"2%"` (0.02).
pub fn parse_percent(text: &str) -> Option<f64> {
    let (number, unit) = split_unit(text)?;
    (unit == "%" && number.is_finite()).then_some(number / 100.0)
}

/// Bytes in the largest binary unit that keeps them short: `1.5GiB`.
pub fn format_bytes(bytes: u64) -> String {
    for (name, factor) in BYTE_UNITS.iter().filter(|(name, _)| name.ends_with("iB")) {
        if bytes >= *factor {
            let value = bytes as f64 / *factor as f64;
            return if value.fract() < 0.005 { format!("{value:.0}{name}") } else { format!("{value:.1}{name}") };
        }
    }
    format!("{bytes}B")
}

/// Seconds as a person says them: `850ms`, `12s`, `4min 10s`, `2h 5min`.
pub fn format_seconds(seconds: f64) -> String {
    if seconds < 1.0 {
        return format!("{:.0}ms", seconds * 1000.0);
    }
    if seconds < 10.0 {
        return format!("{seconds:.1}s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole}s"),
        60..3600 if whole.is_multiple_of(60) => format!("{}min", whole / 60),
        60..3600 => format!("{}min {}s", whole / 60, whole % 60),
        _ => format!("{}h {}min", whole / 3600, whole % 3600 / 60),
    }
}

/// A fraction as a percentage, without the noise of floating point: `0.07` is `7%`.
pub fn format_percent(fraction: f64) -> String {
    format!("{}%", (fraction * 1e8).round() / 1e6)
}

/// Names of the units of bytes, for patterns and help.
pub fn byte_units() -> impl Iterator<Item = &'static str> {
    BYTE_UNITS.iter().map(|(name, _)| *name)
}

/// Names of the units of time, for patterns and help.
pub fn second_units() -> impl Iterator<Item = &'static str> {
    SECOND_UNITS.iter().map(|(name, _)| *name)
}

fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))?;
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim_start()))
}
