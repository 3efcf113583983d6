//! The time of a log line.

/// Length of `10/Oct/2000:13:55:36 -0700`.
pub const BYTES: usize = 26;

const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// Seconds since 1970 UTC of `10/Oct/2000:13:55:36 -0700`; none when it is no such time.
pub fn seconds(text: &[u8]) -> Option<i64> {
    let text: &[u8; BYTES] = text.try_into().ok()?;
    let two = |at: usize| digits(&text[at..at + 2]);
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if marks.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let month = month(&text[3..6])?;
    let (day, year) = (two(0)?, digits(&text[7..11])?);
    let (hour, minute, second) = (two(12)?, two(15)?, two(18)?);
    // A leap second is logged as 60.
    if !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let east = match text[21] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let zone = east * (two(22)? * 3600 + two(24)? * 60);
    Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone)
}

/// A number of digits alone; few enough that it fits.
pub(super) fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

fn month(text: &[u8]) -> Option<i64> {
    MONTHS.as_chunks::<3>().0.iter().position(|name| name == text).map(|index| index as i64 + 1)
}

/// Days since 1970-01-01 in the Gregorian calendar: years counted from March, so that the leap day is a year's last.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let before_month = (153 * month + 2) / 5;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + before_month + day - 719_469
}

/// `10/Oct/2000:20:55:36 +0000` of seconds since 1970 UTC, for years of four digits.
pub fn text(seconds: i64) -> String {
    let (day_number, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // 400 years have 146,097 days; the year that their mean length gives may be one off.
    let near = 1970 + (400 * day_number).div_euclid(146_097);
    let year = (near - 1..=near + 1).rev().find(|year| days(*year, 1, 1) <= day_number).unwrap_or(near);
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day_number).unwrap_or(1);
    let day = day_number - days(year, month, 1) + 1;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let month = &MONTHS[3 * month as usize - 3..][..3];
    format!("{day:02}/{}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000", String::from_utf8_lossy(month))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_is_read_as_the_time_it_was_made_of(moment in 0i64..253_402_300_799) {
            prop_assert_eq!(seconds(text(moment).as_bytes()), Some(moment));
        }
    }

    #[test]
    fn known_moments() {
        // Each by `date -u -d … +%s`.
        assert_eq!(seconds(b"01/Jan/1970:00:00:00 +0000"), Some(0));
        assert_eq!(seconds(b"17/May/2015:10:05:03 +0000"), Some(1_431_857_103));
        assert_eq!(seconds(b"29/Feb/2000:23:59:59 +0000"), Some(951_868_799));
        assert_eq!(seconds(b"31/Dec/1999:23:30:00 -0130"), Some(946_688_400));
        assert_eq!(seconds(b"01/Mar/2100:00:00:00 +0000"), Some(4_107_542_400));
    }

    #[test]
    fn what_is_no_time() {
        for text in ["32/Jan/2000:00:00:00 +0000", "01/jan/2000:00:00:00 +0000", "01/Jan/2000:24:00:00 +0000", "x"] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }
}
