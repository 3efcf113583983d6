//! Numbers as people read them: sensible digits, units that fit, percent and ratios.
//!
//! The only place that turns a float into text for the terminal and the page; machine output keeps all digits.

use analysis::row::Centre;
use analysis::view::Part;
use observe::metric::Metric;

/// How the values of one metric are shown: all of a table or an axis in the same unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    divisor: f64,
    /// The unit that goes with the scaled values; empty for a plain number.
    pub unit: String,
}

/// Binary steps for bytes (IEC 80000-13).
const BYTES: &[(f64, &str)] =
    &[(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
const SECONDS: &[(f64, &str)] = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
const MICROSECONDS: &[(f64, &str)] = &[(1e6, "s"), (1e3, "ms"), (1.0, "µs")];

impl Scale {
    /// The unit in which the largest of a metric's values has one to four digits before the point.
    pub fn of(metric: &Metric, largest: f64) -> Scale {
        let pick = |steps: &[(f64, &str)], suffix: &str| {
            let step =
                steps.iter().find(|(size, _)| largest.abs() >= *size).or(steps.last()).expect("no table is empty");
            Scale { divisor: step.0, unit: format!("{}{suffix}", step.1) }
        };
        match metric.unit.as_ref() {
            "B" => pick(BYTES, ""),
            "B/s" => pick(BYTES, "/s"),
            "s" => pick(SECONDS, ""),
            "µs" => pick(MICROSECONDS, ""),
            "1" => Scale::plain(largest, ""),
            unit => Scale::plain(largest, unit),
        }
    }

    /// Of a part's primary metric.
    pub fn of_part(part: &Part) -> Scale {
        Scale::of(&part.metric, part.largest)
    }

    fn plain(largest: f64, unit: &str) -> Scale {
        let (divisor, prefix) = if largest.abs() >= 1e9 {
            (1e9, "10⁹")
        } else if largest.abs() >= 1e7 {
            (1e6, "10⁶")
        } else {
            (1.0, "")
        };
        // "10⁶/s" reads better than "10⁶ 1/s".
        let unit = if prefix.is_empty() {
            unit.to_string()
        } else {
            format!("{prefix}{}", unit.strip_prefix('1').unwrap_or(unit))
        };
        Scale { divisor, unit }
    }

    /// The value alone, without its unit.
    pub fn number(&self, value: f64) -> String {
        figure(value / self.divisor)
    }

    /// The value with its unit.
    pub fn with_unit(&self, value: f64) -> String {
        let number = self.number(value);
        if self.unit.is_empty() { number } else { format!("{number} {}", self.unit) }
    }

    /// An interval without the unit.
    pub fn between(&self, low: f64, high: f64) -> String {
        format!("{}–{}", self.number(low), self.number(high))
    }

    /// A mean's interval; none of one value, or where the load stalled: no width would look like certainty.
    pub fn interval(&self, centre: &Centre) -> Option<String> {
        (centre.low < centre.high).then(|| self.between(centre.low, centre.high))
    }

    /// A value and its interval behind it, where it has one.
    pub fn with_interval(&self, value: f64, low: f64, high: f64) -> String {
        let value = self.with_unit(value);
        if low < high { format!("{value} ({})", self.between(low, high)) } else { value }
    }

    /// The unit behind what is measured in it: ", ms"; nothing where it has none.
    pub fn after_name(&self) -> String {
        if self.unit.is_empty() { String::new() } else { format!(", {}", self.unit) }
    }

    /// The value in the scale's unit.
    pub fn apply(&self, value: f64) -> f64 {
        value / self.divisor
    }
}

/// Three significant digits, all digits before the point, thousands apart.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if size < 1e-4 {
        return format!("{value:.2e}");
    }
    let digits_before = size.log10().floor() as i32 + 1;
    let decimals = (3 - digits_before).clamp(0, 6) as usize;
    group(&format!("{value:.decimals$}"))
}

/// The number to so many significant digits, for files in which each letter counts.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// A number of things, thousands apart.
pub fn count(number: u64) -> String {
    group(&number.to_string())
}

/// Commas between thousands.
fn group(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// A fraction as percent without sign: 0.0321 is "3.2 %".
pub fn percent(fraction: f64) -> String {
    format!("{} %", percent_number(fraction))
}

/// A fraction as percent with its sign: "+3.2 %", "−1.1 %".
pub fn percent_signed(fraction: f64) -> String {
    format!("{} %", percent_number_signed(fraction))
}

/// As [`percent_signed`] without the percent sign, for intervals.
pub fn percent_number_signed(fraction: f64) -> String {
    let number = percent_number(fraction.abs());
    let is_zero = number.chars().all(|c| matches!(c, '0' | '.'));
    match (is_zero, fraction < 0.0) {
        (true, _) => number,
        (false, true) => format!("−{number}"),
        (false, false) => format!("+{number}"),
    }
}

/// A bound with the digits of [`percent`], and never less than it is: 0.0324 is "3.3 %".
pub fn percent_rounded_up(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let steps = [1.0, 10.0, 100.0][decimals(percent)];
    // What is whole but for the last digit of a float stays as it is; a bound of 0 has no sign.
    self::percent((percent * steps - 1e-9).ceil().abs() / steps / 100.0)
}

/// Digits behind the point of a number of percents.
fn decimals(percent: f64) -> usize {
    match percent.abs() {
        size if size >= 99.95 => 0,
        size if size >= 0.095 || size == 0.0 => 1,
        _ => 2,
    }
}

fn percent_number(fraction: f64) -> String {
    let percent = fraction * 100.0;
    // Hardly any is not none, and nearly all is not all.
    if (1e-6..0.005).contains(&percent.abs()) {
        return group(&rounded(percent, 2).to_string());
    }
    let decimals = if (99.95..99.995).contains(&percent.abs()) { 2 } else { decimals(percent) };
    let text = format!("{percent:.decimals$}");
    // "3 %", not "3.0 %": margins are set as whole percents.
    group(text.strip_suffix(".0").filter(|_| fraction == (percent.round() / 100.0)).unwrap_or(&text))
}

/// A bound as percent, two digits and never less than it is: 0.002435 is "0.25 %".
pub fn percent_at_most(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent.is_nan() || percent <= 0.0 {
        return "0 %".into();
    }
    let step = 10f64.powf(percent.log10().floor() - 1.0);
    // What is whole but for the last digit of a float stays as it is.
    let steps = (percent / step - 1e-9).ceil();
    format!("{} %", rounded(steps * step, 2))
}

/// How many times as much at most, two digits and never less than it is: 1.74 is 1.8.
pub fn times_at_most(times: f64) -> f64 {
    let step = 10f64.powf(times.log10().floor() - 1.0);
    rounded((times / step - 1e-9).ceil() * step, 2)
}

/// A short time to two digits: "0.41 s", "12 s".
pub fn seconds(seconds: f64) -> String {
    format!("{} s", rounded(seconds, 2))
}

/// A ratio: "1.42×", "0.071×", "31×".
pub fn ratio(value: f64) -> String {
    format!("{}×", ratio_number(value))
}

/// As [`ratio`] without the sign, for intervals.
pub fn ratio_number(value: f64) -> String {
    // Of what is next to nothing three places would leave one digit, or none.
    if value > 0.0 && value < 0.01 {
        return rounded(value, 2).to_string();
    }
    let decimals = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 0.1 => 2,
        _ => 3,
    };
    group(&format!("{value:.decimals$}"))
}

/// A ratio with the ends of its interval: "1.42× (1.40–1.44)".
pub fn ratio_with_interval(mean: f64, low: f64, high: f64) -> String {
    format!("{} ({})", ratio(mean), ratio_ends((low, high), ratio_number).join("–"))
}

/// The ends of a ratio's interval, as `shown` has them. One that has no 1 in it reads so, if that takes more digits: "1.004–1.612".
pub fn ratio_ends((low, high): (f64, f64), shown: fn(f64) -> String) -> [String; 2] {
    let holds_one = (low..=high).contains(&1.0);
    let reads_apart = |ends: &[String; 2]| holds_one || ends.iter().all(|end| end.trim_end_matches('0') != "1.");
    let longer = (3..=6).map(|decimals| [low, high].map(|end| format!("{end:.decimals$}")));
    let ends = [low, high].map(shown);
    std::iter::once(ends.clone()).chain(longer).find(reads_apart).unwrap_or(ends)
}

/// Three decimals near 1, where a tenth of a percent matters.
pub fn ratio_precise(value: f64) -> String {
    if (0.5..2.0).contains(&value) { format!("{value:.3}") } else { ratio_number(value) }
}

/// A p-value in a cell or behind "p".
pub fn p_words(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}

/// A span of time in the unit that fits: "41 s", "3.5 min", "2.1 h".
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{} s", figure(s)),
        s if s < 7200.0 => format!("{} min", figure(s / 60.0)),
        s if s < 172_800.0 => format!("{} h", figure(s / 3600.0)),
        s => format!("{} days", figure(s / 86_400.0)),
    }
}

/// A span of time as it is said of what is to come: "41 s", "12 min", "2.1 h".
pub fn about(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A metric's name as words: `transactions_per_second` is "transactions per second".
pub fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// Unix time as "2026-11-21 00:04 UTC" (civil-from-days, Howard Hinnant's "chrono-compatible low-level date algorithms").
pub fn date(unix_seconds: f64) -> String {
    let seconds = unix_seconds as i64;
    let days = seconds.div_euclid(86_400) + 719_468;
    let of_day = seconds.rem_euclid(86_400);
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", of_day / 3600, of_day % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::metric::Direction;

    #[test]
    fn figures_have_three_significant_digits_and_all_before_the_point() {
        let shown: Vec<String> =
            [0.0, 0.00001234, 0.012345, 0.5, 9.876, 98.76, 987.6, 2944.27, 1_234_567.8, -1234.5].map(figure).to_vec();
        assert_eq!(shown, ["0", "1.23e-5", "0.0123", "0.500", "9.88", "98.8", "988", "2,944", "1,234,568", "−1,234"]);
    }

    #[test]
    fn rounding_keeps_significant_digits() {
        assert_eq!([1_234_567.0, 0.000_123_456, 0.0].map(|value| rounded(value, 4)), [1_235_000.0, 0.000_123_5, 0.0]);
    }

    #[test]
    fn percents_say_no_more_than_is_known() {
        assert_eq!([0.03, 0.0321, 0.0008, 1.5, 0.0].map(percent), ["3 %", "3.2 %", "0.08 %", "150 %", "0 %"]);
        assert_eq!([0.999, 0.9997, 1.0, 1.004].map(percent), ["99.9 %", "99.97 %", "100 %", "100 %"]);
        assert_eq!([0.000_03, 1.234e-7, 1e-15].map(percent), ["0.003 %", "0.000012 %", "0.00 %"]);
        assert_eq!([0.012, -0.012, 0.0, -0.000_03].map(percent_signed), ["+1.2 %", "−1.2 %", "0 %", "−0.003 %"]);
    }

    #[test]
    fn bounds_are_rounded_away_from_what_would_please() {
        assert_eq!(
            [0.002_434_6, 0.099_161_1, 0.25, 0.07, 1.0, 0.0, 3e-6].map(percent_at_most),
            ["0.25 %", "10 %", "25 %", "7 %", "100 %", "0 %", "0.0003 %"]
        );
        assert_eq!(
            [0.0324, 0.108, 0.0300, 0.029_99, 0.0, 1e-9, 0.9996].map(percent_rounded_up),
            ["3.3 %", "10.8 %", "3 %", "3 %", "0 %", "0.01 %", "100 %"]
        );
        assert_eq!([1.74, 1.053, 2.0, 9.91, 12.34, 123.0].map(times_at_most), [1.8, 1.1, 2.0, 10.0, 13.0, 130.0]);
        assert_eq!([0.0, 0.000_413, 0.4149, 12.3].map(seconds), ["0 s", "0.00041 s", "0.41 s", "12 s"]);
    }

    /// A hundred transactions a second beside half a million were "0.000×".
    #[test]
    fn a_small_ratio_is_not_shown_as_nothing() {
        assert_eq!(
            [0.0002, 0.000_714, 0.0071, 0.0714, 0.0].map(ratio),
            ["0.0002×", "0.00071×", "0.0071×", "0.071×", "0.000×"]
        );
        assert_eq!(ratio_with_interval(0.0002, 0.000_18, 0.000_23), "0.0002× (0.00018–0.00023)");
    }

    #[test]
    fn an_interval_without_1_in_it_does_not_read_as_if_it_had() {
        let shown = |low, high| ratio_ends((low, high), ratio_number).join("–");
        assert_eq!(shown(1.0041, 1.612), "1.004–1.612");
        assert_eq!(shown(0.62, 0.99996), "0.62000–0.99996");
        assert_eq!(shown(0.996, 1.61), "1.00–1.61", "it has");
        assert_eq!(shown(1.4, 1.44), "1.40–1.44");
        assert_eq!(ratio_ends((1.0003, 1.05), ratio_precise), ["1.0003", "1.0500"]);
        assert_eq!(shown(1.0 + 1e-9, 2.0), "1.00–2.00", "that near nothing tells them apart");
    }

    #[test]
    fn one_value_has_no_interval() {
        let scale = Scale::of(&Metric::new("transactions_per_second", "1/s", Direction::More), 1000.0);
        let interval =
            |values: &[f64]| scale.interval(&analysis::row::centre(values.to_vec(), 0.95).expect("there are values"));
        assert_eq!([&[1000.0][..], &[1000.0, 0.0]].map(interval), [None, None]);
        assert!(interval(&[1000.0, 1010.0]).is_some());
        assert_eq!(scale.with_interval(1000.0, 1000.0, 1000.0), "1,000 1/s");
    }

    #[test]
    fn units_fit_the_largest_value() {
        let bytes = Metric::new("write_bytes", "B", Direction::Neither);
        assert_eq!(Scale::of(&bytes, 3.0 * 1_073_741_824.0).with_unit(1_610_612_736.0), "1.50 GiB");
        let wait = Metric::new("latency_microseconds_p99", "µs", Direction::Less);
        assert_eq!(Scale::of(&wait, 45_000.0).with_unit(12_340.0), "12.3 ms");
        let rate = Metric::new("reads_per_second", "1/s", Direction::More);
        assert_eq!(Scale::of(&rate, 2.5e7).with_unit(2.5e7), "25.0 10⁶/s");
    }

    #[test]
    fn dates_are_civil() {
        assert_eq!(date(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_219_440.0), "2026-11-21 00:04 UTC");
    }
}
