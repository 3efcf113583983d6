//! Forms of dumps: how each is known by its beginning, and known to be whole by its end.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A form of dump.
#[derive(Debug, Clone, Copy)]
pub struct DumpForm {
    /// What it is, in words: `a text of pg_dump`.
    pub what: &'static str,
    /// One of these is its beginning, or, of a text, stands in its first lines.
    pub marks: &'static [&'static [u8]],
    /// A text's last words; none: its end shows nothing.
    pub end: Option<&'static str>,
    /// A line that begins so puts the tables into another database.
    pub elsewhere: &'static [&'static str],
    /// A file of its name with this end has rows that it lacks; none: it has all.
    pub beside: Option<&'static str>,
    /// A file of its name with this end, which begins so, has what it was before a transaction that did not end; none: it is whole.
    pub undone_by: Option<(&'static str, &'static [u8])>,
    /// How the tool is asked for a dump without such a line, or such a file.
    pub without: &'static str,
}

/// Lines at a text's beginning that say what it is.
const FIRST_LINES: usize = 5;

impl DumpForm {
    /// What the others say only where they differ from it: nothing is known of it.
    pub const PLAIN: DumpForm =
        DumpForm { what: "", marks: &[], end: None, elsewhere: &[], beside: None, undone_by: None, without: "" };

    /// That a part of its rows is in another file, or what they were before half a transaction; none: nothing shows it.
    pub fn lacks(&self, path: &Path) -> Option<String> {
        let named = |end: &str| {
            let mut name = path.as_os_str().to_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        if let Some((end, begins)) = self.undone_by {
            let journal = named(end);
            if begins_with(&journal, begins) {
                let why = "it is amid a transaction, which is undone by";
                return Some(format!("{why} {}: {}", journal.display(), self.without));
            }
        }
        let log = named(self.beside?);
        let has_rows = std::fs::metadata(&log).is_ok_and(|file| file.len() > 0);
        has_rows.then(|| format!("its latest rows are in {} alone: {}", log.display(), self.without))
    }

    /// Whether a file that begins so has this form.
    pub fn is_form_of(&self, head: &[u8]) -> bool {
        let mut lines = head.split(|byte| *byte == b'\n').take(FIRST_LINES);
        if self.end.is_none() {
            return self.marks.iter().any(|mark| head.starts_with(mark));
        }
        lines.any(|line| self.marks.iter().any(|mark| line.windows(mark.len()).any(|window| window == *mark)))
    }

    /// Why a file of this form with this beginning and end can't be loaded; none: nothing shows yet.
    pub fn problem(&self, head: &[u8], tail: &[u8]) -> Option<String> {
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        if let Some(end) = self.end.filter(|end| !tail.contains(end)) {
            return Some(format!("it is {}, and its end is missing: `{end}`", self.what));
        }
        let is_elsewhere = |line: &str| self.elsewhere.iter().any(|word| line.starts_with(word));
        head.lines().any(is_elsewhere).then(|| format!("it makes a database of its own: {}", self.without))
    }
}

/// Whether there is such a file, and it begins so.
fn begins_with(path: &Path, begins: &[u8]) -> bool {
    let mut head = vec![0; begins.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == begins
}
