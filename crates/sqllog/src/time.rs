//! Moments of log lines, as microseconds since 1970. A zone's name other than UTC is not known: a log has one, and only differences count.
//! Nor is the zone of a log that names none, whose moments are of local time: of that, [`Local`] knows when summer time has ended.

const HOUR: i64 = 3_600_000_000;

/// Days since 1970-01-01 in the Gregorian calendar: years counted from March, so that the leap day is a year's last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let before_month = (153 * ((month + 9) % 12) + 2) / 5;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + before_month + day - 719_469
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

/// `12:34:56` with or without a fraction, at a text's beginning: microseconds of the day, and what follows.
fn clock(text: &str) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    if bytes.get(2) != Some(&b':') || bytes.get(5) != Some(&b':') {
        return None;
    }
    // An hour of one digit may have a blank before it.
    let (hour, minute, second) =
        (number(text.get(..2)?.trim_start())?, number(text.get(3..5)?)?, number(text.get(6..8)?)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let rest = &text[8..];
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let fraction = if digits > 0 { rest[1..=digits.min(6)].parse::<i64>().ok()? } else { 0 };
    let microseconds = fraction * 10i64.pow(6 - digits.min(6) as u32);
    let after = if digits > 0 { &rest[1 + digits..] } else { rest };
    Some((((hour * 60 + minute) * 60 + second) * 1_000_000 + microseconds, after))
}

/// Names of summer times in the time zone database, each an hour east of what its zone has in winter.
const SUMMER: [&str; 15] =
    ["ACDT", "ADT", "AEDT", "AKDT", "BST", "CDT", "CEST", "EDT", "EEST", "HDT", "MDT", "NDT", "NZDT", "PDT", "WEST"];

/// Hours east of what the zone has in winter. A log has one zone, so no more is needed: PostgreSQL writes local time, and
/// the hour that comes twice in autumn is told from the one before it by the name alone.
fn hours_of_name(name: &str) -> i64 {
    match name {
        // Of Israel, whose winter has the name of Ireland's summer.
        "IDT" => 2,
        "IST" => 1,
        _ => i64::from(SUMMER.contains(&name)),
    }
}

/// Microseconds east of UTC of `+02:00`, `-0330`, `+05`; of a name, east of the zone's winter time.
fn zone(text: &str) -> i64 {
    let east = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return hours_of_name(text) * HOUR,
    };
    let digits: String = text[1..].chars().filter(char::is_ascii_digit).collect();
    let part = |from: usize, to: usize| digits.get(from..to).and_then(number).unwrap_or(0);
    east * (part(0, 2) * 3600 + part(2, 4) * 60) * 1_000_000
}

/// `2026-11-24 01:02:03.456 UTC`, or with a `T` and a `Z`, at a text's beginning; gives what follows, too.
pub fn iso(text: &str) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') || !matches!(bytes.get(10), Some(b' ' | b'T')) {
        return None;
    }
    let (year, month, day) = (number(text.get(..4)?)?, number(text.get(5..7)?)?, number(text.get(8..10)?)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (of_day, rest) = clock(text.get(11..)?)?;
    let named = rest.strip_prefix(' ').unwrap_or(rest);
    // A name has letters, a number digits: `2026-11-24 01:02:03 [12]` has neither, and what follows may begin with a sign.
    let is_in_name = |c: char| c.is_ascii_alphabetic();
    let is_in_number = |c: char| c.is_ascii_digit() || c == ':';
    let length = match named.chars().next() {
        Some(c) if c.is_ascii_uppercase() => named.find(|c: char| !is_in_name(c)).unwrap_or(named.len()),
        Some('+' | '-') => 1 + named[1..].find(|c: char| !is_in_number(c)).unwrap_or(named.len() - 1),
        _ => 0,
    };
    let (zone_text, after) = named.split_at(length);
    let rest = if length > 0 { after } else { rest };
    Some((days(year, month, day) * 86_400_000_000 + of_day - zone(zone_text), rest))
}

/// `261124  1:02:03`, as MariaDB writes it: whole seconds, of this century.
pub fn short(text: &str) -> Option<(i64, &str)> {
    let (year, month, day) = (number(text.get(..2)?)?, number(text.get(2..4)?)?, number(text.get(4..6)?)?);
    if text.as_bytes().get(6) != Some(&b' ') || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (of_day, rest) = clock(text.get(7..)?)?;
    Some((days(2000 + year, month, day) * 86_400_000_000 + of_day, rest))
}

/// The moments of a log that says no zone, in its order. A clock that goes back by the better part of an hour, within one
/// hour of the day, is the end of summer time: that hour comes a second time. A log has one such end.
#[derive(Default)]
pub struct Local {
    last: i64,
    later: i64,
}

impl Local {
    /// The next moment, as the clock of its beginning would have it.
    pub fn at(&mut self, at: i64) -> i64 {
        if self.last - at >= HOUR / 2 && self.last.div_euclid(HOUR) == at.div_euclid(HOUR) {
            self.later = HOUR;
        }
        self.last = at;
        at + self.later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        // Seconds by `date -u -d … +%s`.
        let second = 1_795_482_123_000_000;
        for (text, expected, rest) in [
            ("2026-11-24 01:02:03.456 UTC [12] x", second + 456_000, " [12] x"),
            ("2026-11-24 01:02:03 UTC:10.0.0.1(5)", second, ":10.0.0.1(5)"),
            ("2026-11-24 01:02:03 [12]", second, " [12]"),
            ("2026-11-24 01:02:03 UTC-6a23.1f-LOG", second, "-6a23.1f-LOG"),
            ("2026-11-24 03:02:03 +02 [12]", second, " [12]"),
            ("2026-11-24T01:02:03.123456Z\t 8", second + 123_456, "\t 8"),
            ("2026-11-24T02:32:03.5+01:30\t 8", second + 500_000, "\t 8"),
        ] {
            assert_eq!(iso(text), Some((expected, rest)), "{text}");
        }
        assert_eq!(short("261124  1:02:03\t x"), Some((second, "\t x")));
        for text in ["2026-13-24 01:02:03", "2026-11-24 25:02:03", "2026-11-24", "", "261324  1:02:03"] {
            assert_eq!((iso(text), short(text)), (None, None), "{text}");
        }
    }

    /// PostgreSQL's `%m` has local time: the statements of an hour had lain on those of the hour before.
    #[test]
    fn a_log_in_local_time_goes_on_when_summer_time_ends_and_when_it_begins() {
        let microseconds = |text: &str| iso(text).map(|(at, _)| at).expect("a moment");
        for (summer, winter) in [("CEST", "CET"), ("EDT", "EST"), ("BST", "GMT"), ("IST", "GMT"), ("IDT", "IST")] {
            let autumn = [format!("2026-10-25 02:59:59.5 {summer} [1]"), format!("2026-10-25 02:00:00.5 {winter} [1]")];
            let spring = [format!("2026-03-29 01:59:59.5 {winter} [1]"), format!("2026-03-29 03:00:00.5 {summer} [1]")];
            for [before, after] in [autumn, spring] {
                assert_eq!(microseconds(&after) - microseconds(&before), 1_000_000, "{before}, {after}");
            }
        }
    }

    #[test]
    fn a_clock_that_goes_back_within_an_hour_has_ended_summer_time() {
        let moments = |clocks: &[&str]| -> Vec<i64> {
            let (mut local, first) = (Local::default(), short("261025  2:00:00").expect("a moment").0);
            let at = |clock: &&str| local.at(short(&format!("261025 {clock}")).expect("a moment").0) - first;
            clocks.iter().map(at).map(|microseconds| microseconds / 1_000_000).collect()
        };
        assert_eq!(moments(&[" 2:59:59", " 2:00:00", " 2:59:00", " 3:00:00"]), [3599, 3600, 7140, 7200]);
        // A clock that was set, lines of threads that passed one another, and a log behind a later one.
        assert_eq!(moments(&[" 2:59:59", " 2:40:00"]), [3599, 2400]);
        assert_eq!(moments(&[" 3:00:00", " 2:59:59"]), [3600, 3599]);
        assert_eq!(moments(&[" 3:10:00", " 2:20:00"]), [4200, 1200]);
    }
}
