//! What is said of the images that are examples of faults: what they lack, as parts of files by where these lie when nothing is
//! lacking, and what the filesystem's own checker finds once the filesystem has recovered.
//!
//! A help for a reader, and no result: what can't be told is left out.

use crate::mounted_image::MountedImage;
use crate::watchdog::Watchdog;
use observe::safety::Finding;
use powercut::states::{Choice, Image, Rest};
use std::path::Path;
use std::time::{Duration, Instant};
use storage::Part;

/// Stretches to name; of more the number is said.
const NAMED_MAX: usize = 3;

/// Of what a checker complains, so many letters are kept.
const COMPLAINT_LETTERS_MAX: usize = 200;

/// No further example is looked at after this time: the trial, which has found all that it will, has one to end in.
const LOOKS_MAX: Duration = Duration::from_secs(60);

/// Adds to each finding what is to be said of its example.
pub fn describe(findings: &mut [Finding], shown: &mut MountedImage, watchdog: &Watchdog, unit_bytes: u32) {
    let began = Instant::now();
    for finding in findings {
        if began.elapsed() >= LOOKS_MAX {
            return;
        }
        let Ok(image) = finding.example.parse::<Image>() else { continue };
        let Ok(breaker) = shown.breaker() else { return };
        let Image { point, choice } = &image;
        // Only these name what is lacking.
        let names_units = choice.rest == Rest::Newest && !choice.units.is_empty();
        let look = || (names_units.then(|| parts(shown, *point)).flatten(), checked(shown, *point, choice));
        let ((parts, checked), hung) = watchdog.over(breaker, look);
        if hung {
            return;
        }
        finding.checked = checked.unwrap_or_default();
        if let Some(parts) = parts {
            finding.lacks = lacks(&stretches(choice, unit_bytes), &parts);
        }
    }
}

/// What the checker says: of what was mounted, after that; of what was not, as it is.
fn checked(shown: &mut MountedImage, point: usize, choice: &Choice) -> Option<String> {
    if let Ok(after) = shown.mount(point, choice).ok()? {
        after.unmount().ok()?;
    }
    let said = match shown.check()? {
        Ok(_) => return Some("finds nothing".into()),
        Err(error) => error.log().unwrap_or_default().to_string(),
    };
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Some(lines.join("; ").chars().take(COMPLAINT_LETTERS_MAX).collect())
}

/// Of the files as they are when all had been written until then.
fn parts(shown: &mut MountedImage, point: usize) -> Option<Vec<Part>> {
    let after = shown.mount(point, &Choice::default()).ok()?.ok()?;
    let parts = after.parts();
    after.unmount().ok()?;
    parts.ok()?
}

/// Units that follow each other, as offset on the device and length in bytes.
fn stretches(choice: &Choice, unit_bytes: u32) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for unit in choice.units.keys() {
        let at = u64::from(*unit) * u64::from(unit_bytes);
        match all.last_mut() {
            Some((start, length)) if *start + *length == at => *length += u64::from(unit_bytes),
            _ => all.push((at, unit_bytes.into())),
        }
    }
    all
}

/// "data/base/5/1259 from byte 8192 (4096 bytes), of the filesystem's own, byte 12288 of the disk (4096 bytes)".
fn lacks(stretches: &[(u64, u64)], parts: &[Part]) -> String {
    let place = |at: u64| match of_file(at, parts) {
        Some((file, offset)) => format!("{} from byte {offset}", file.display()),
        None => format!("of the filesystem's own, byte {at} of the disk"),
    };
    let words = |(at, length): &(u64, u64)| format!("{} ({length} bytes)", place(*at));
    let mut said: Vec<String> = stretches.iter().take(NAMED_MAX).map(words).collect();
    if stretches.len() > NAMED_MAX {
        said.push(format!("and {} more", stretches.len() - NAMED_MAX));
    }
    said.join(", ")
}

/// Which file has this byte of the device, and where.
fn of_file(at: u64, parts: &[Part]) -> Option<(&Path, u64)> {
    let part = &parts[parts.partition_point(|part| part.device_at <= at).checked_sub(1)?];
    let offset = at - part.device_at;
    (offset < part.length).then(|| (&*part.file, part.at + offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_named_by_files() {
        let part = |file: &str, at, device_at, length| Part { file: file.into(), at, device_at, length };
        let parts = [part("data/log", 0, 8192, 8192), part("data/table", 65536, 40960, 4096)];
        let choice =
            |units: &[u32]| Choice { rest: Rest::Newest, units: units.iter().map(|unit| (*unit, 0)).collect() };
        let said = |units: &[u32]| lacks(&stretches(&choice(units), 4096), &parts);
        assert_eq!(said(&[3]), "data/log from byte 4096 (4096 bytes)");
        assert_eq!(said(&[2, 3, 10]), "data/log from byte 0 (8192 bytes), data/table from byte 65536 (4096 bytes)");
        assert_eq!(said(&[0]), "of the filesystem's own, byte 0 of the disk (4096 bytes)");
        assert_eq!(said(&[4]), "of the filesystem's own, byte 16384 of the disk (4096 bytes)");
        assert!(said(&[2, 5, 7, 9, 11]).ends_with(", and 2 more"));
        assert_eq!(said(&[]), "");
    }
}
