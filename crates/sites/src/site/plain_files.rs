//! The site `plain-files`: one Django page that reads five files and shows them in a template, as a comparison of disk and
//! memory measured it in 2006.

use super::{files, root, write};
use load::http_client::{Status, Task};
use load::workload::{Context, Error};
use random::Random;
use std::fmt::Write as _;

/// The service whose page it is, and which serves nothing else.
pub(super) const SERVER: &str = "django";

/// 211.8 KiB over five files.
const BYTES: [u64; 5] = [43_377, 43_377, 43_377, 43_376, 43_376];

const LINE_BYTES: usize = 76;

const MANAGE: &str = include_str!("plain_files/manage.py");
const WSGI: &str = include_str!("plain_files/wsgi.py");
const PAGE: &str = include_str!("plain_files/page.py");
const TEMPLATE: &str = include_str!("plain_files/page.html");

/// Where a file's text stands in the template.
const OF_FILE: (&str, &str, &str) = ("{% for text in texts %}", "{{ text }}", "{% endfor %}");

pub fn words() -> String {
    format!("Django page 1 over plain files of {BYTES:?} bytes")
}

fn name(number: usize) -> String {
    format!("files/{number}.txt")
}

/// Lines of letters and spaces, which no template escapes.
fn text(bytes: u64, random: &mut Random) -> String {
    let mut text = String::new();
    for at in 1..=bytes as usize {
        let is_space = random.below(6) == 0;
        text.push(match at % LINE_BYTES {
            0 => '\n',
            _ if is_space => ' ',
            _ => char::from(b'a' + random.below(26) as u8),
        });
    }
    text
}

pub fn make(context: &Context) -> Result<(), Error> {
    let mut random = Random::new(context.seed);
    for (number, bytes) in BYTES.into_iter().enumerate() {
        write(context, &name(number), text(bytes, &mut random))?;
    }
    let mut listed = String::new();
    for number in 0..BYTES.len() {
        let _ = write!(listed, "\"{}\", ", name(number));
    }
    write(context, "manage.py", MANAGE)?;
    write(context, "wsgi.py", WSGI)?;
    write(context, "page.py", PAGE.replace("$FILES", &listed))?;
    write(context, "page.html", TEMPLATE)
}

pub fn verify(context: &Context) -> Result<(), Error> {
    let all = BYTES.into_iter().enumerate().map(|(number, bytes)| (name(number).into(), bytes));
    files::verify(all, context)?;
    let page = root(context).join("page.html");
    std::fs::metadata(&page).map(drop).map_err(Error::doing("look at", &page))
}

/// The page with all five texts in it has one length.
pub fn page() -> (String, Task) {
    let (before, rest) = TEMPLATE.split_once(OF_FILE.0).expect("the template has a loop");
    let (each, after) = rest.split_once(OF_FILE.2).expect("the loop ends");
    let around = (each.len() - OF_FILE.1.len()) * BYTES.len();
    let bytes = (before.len() + after.len() + around) as u64 + BYTES.iter().sum::<u64>();
    ("/".into(), Task { is_repeatable: true, status: Status::Class(2), body_bytes: Some(bytes), ..Task::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_211_8_kib_of_plain_text() {
        assert_eq!((BYTES.iter().sum::<u64>() as f64 / 1024.0 * 10.0).round() / 10.0, 211.8);
        let text = text(1000, &mut Random::new(1));
        assert_eq!(text.len(), 1000);
        assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b' ' || byte == b'\n'));
    }
}
