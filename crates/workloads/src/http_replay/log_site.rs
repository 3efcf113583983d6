//! The site that is made from a log: what it and the log take, what of it can't be, and what a reader of its figures should know.

use load::http_log::{self, Log, Survey};
use load::workload::Estimate;
use settings::quantity::format_bytes;
use sites::site::files;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// Its files, summed up.
#[derive(Debug, Clone)]
pub struct LogSite {
    data_bytes: u64,
    /// The largest file, with its bytes.
    largest: (PathBuf, u64),
    /// A file that a server with PHP takes for a program; none: it has no such file.
    pub program: Option<PathBuf>,
    /// What the log holds.
    pub survey: Survey,
}

impl LogSite {
    /// Of this log, whose site the key tells from others; none: it can't be read. A plan asks for it many times, and the log is read
    /// for it once a process.
    pub fn of(log: &Log, key: String) -> Option<LogSite> {
        static KNOWN: Mutex<BTreeMap<String, LogSite>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().expect("no thread panics with it");
        if let Some(site) = known.get(&key) {
            return Some(site.clone());
        }
        let sizes = http_log::site::files(log).ok()?;
        let data_bytes = files::data_bytes(sizes.values().copied());
        let program = sizes.keys().find(|path| path.extension().is_some_and(|end| end == "php")).cloned();
        let largest = sizes.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap_or_default();
        let site = LogSite { data_bytes, largest, program, survey: log.survey().ok()? };
        known.insert(key, site.clone());
        Some(site)
    }

    /// What a trial with runs of this length will need.
    pub fn estimate(&self, run_seconds: f64) -> Estimate {
        files::estimate(self.data_bytes, run_seconds)
    }

    /// That it has no file, or one that is too large.
    pub fn problem(&self) -> Option<String> {
        let (path, bytes) = &self.largest;
        // A log without requests has a problem of its own.
        if path.as_os_str().is_empty() && self.survey.requests > 0 {
            let why = "no request that is sent had a page (2xx) as its answer, as where all is led on to HTTPS";
            return Some(format!(
                "`log`: {why}: a site made from it has no file, and answers \"not found\" to each; take the log of the host that has the pages"
            ));
        }
        let (path, most) = (path.display(), format_bytes(files::FILE_BYTES_MAX));
        (*bytes > files::FILE_BYTES_MAX).then(|| {
            format!(
                "`log`: an answer to /{path} has {bytes} bytes, and a file of a site has {most} at most: take its line out of the log"
            )
        })
    }
}

/// What a reader of its figures must know: whatever made the log's answers, and what becomes of several virtual hosts.
pub fn notes(survey: &Survey) -> Vec<String> {
    let hosts = survey.hosts.len();
    let of_hosts = (hosts > 1).then(|| {
        format!("the {hosts} virtual hosts of the log are one site: a path that several have is one file, of the largest size")
    });
    let of_files = "all pages are files here, of the logged sizes: what programs and databases take to make a page is in no figure";
    let of_sizes = note_of_sizes((survey.logged_bytes, survey.served_bytes));
    of_sizes.into_iter().chain([of_files.to_string()]).chain(of_hosts).collect()
}

/// What the log has as pages and what is sent for them, where that is over a tenth more: times are those of larger pages then.
pub fn note_of_sizes((logged, served): (u64, u64)) -> Option<String> {
    (served - served / 11 > logged).then(|| {
        let (logged, served) = (format_bytes(logged), format_bytes(served));
        format!(
            "a path that was answered with several sizes, as by its query, is one file, of the largest: {served} are sent where the log has \
             {logged}, and rates and latencies are of that"
        )
    })
}

/// What a server does that leads on to a folder's index; none: it never did. How often stands in a metric: of turns, a note is said once.
pub fn note_of_redirects(redirects: u64) -> Option<String> {
    (redirects > 0).then(|| {
        "redirects count as right answers (`status_3xx`): where other pages lie below a page, this server redirects to the folder, while nginx \
         and Caddy send the page. Its rates and latencies are of less work than theirs."
            .to_string()
    })
}
