//! What is answered: a fixed set of paths to pages, and pages to bytes.

use super::ledgers::{self, Ledger, Reading};
use super::request::{Refusal, Request};
use report::served::{self, Served, Source};
use std::sync::Arc;

/// The page's own policy once more, and what only a header can say: no page may frame it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const PAGE: &str = "text/html; charset=utf-8";

/// An answer.
pub struct Answer {
    status: &'static str,
    kind: &'static str,
    field: Option<(&'static str, String)>,
    body: String,
}

impl Answer {
    fn page(status: &'static str, body: String) -> Answer {
        Answer { status, kind: PAGE, field: None, body }
    }

    /// As it is sent; of a HEAD without its body.
    pub fn bytes(&self, is_head: bool) -> Vec<u8> {
        let field = self.field.as_ref().map_or_else(String::new, |(name, value)| format!("{name}: {value}\r\n"));
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n{field}\r\n",
            self.status,
            self.kind,
            self.body.len(),
        );
        let body = if is_head { "" } else { &self.body };
        [head.as_bytes(), body.as_bytes()].concat()
    }
}

/// The answer to a request that is none of ours.
pub fn refused(refusal: Refusal) -> Answer {
    let (status, sentence) = refusal.words();
    let field = (refusal == Refusal::Method).then(|| ("Allow", "GET, HEAD".into()));
    Answer { status, kind: "text/plain; charset=utf-8", field, body: format!("{sentence}\n") }
}

/// The answer to a request.
pub fn answer(request: &Request, ledgers: &[Ledger]) -> Answer {
    let path = request.path.strip_prefix('/').unwrap_or_default();
    match (path, ledgers) {
        ("", [only]) => {
            Answer { field: Some(("Location", format!("/{}", only.name))), ..Answer::page("302 Found", String::new()) }
        }
        ("", _) => together(ledgers, served::index),
        ("all", _) => together(ledgers, served::all),
        ("all/version", _) => version(&ledgers::version_of_all(ledgers)),
        _ => one(path, ledgers),
    }
}

/// A single file's page or version.
fn one(path: &str, ledgers: &[Ledger]) -> Answer {
    let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
    match (ledgers.iter().find(|ledger| ledger.name == name), rest) {
        (Some(ledger), None) => {
            let reading = ledger.reading(ledgers.len() > 1);
            let status = if reading.is_readable { "200 OK" } else { "503 Service Unavailable" };
            Answer::page(status, reading.page.clone())
        }
        (Some(ledger), Some("version")) => version(&ledger.version()),
        _ => {
            let next = "The results that are served stand at /.";
            Answer::page("404 Not Found", served::message("There is no such page.", next, None))
        }
    }
}

fn version(version: &str) -> Answer {
    let body = serde_json::json!({ "version": version }).to_string();
    Answer { kind: "application/json", ..Answer::page("200 OK", body) }
}

/// A page over all files.
fn together(ledgers: &[Ledger], page: fn(&[Served], Source) -> String) -> Answer {
    let readings: Vec<(&str, Arc<Reading>)> =
        ledgers.iter().map(|ledger| (ledger.name.as_str(), ledger.reading(ledgers.len() > 1))).collect();
    let version = ledgers::joined(readings.iter().map(|(_, reading)| reading.version.as_str()));
    let all: Vec<Served> = readings
        .iter()
        .map(|(name, reading)| Served {
            name,
            results: reading.results.as_ref().map(|(input, standing)| (input, standing)).map_err(String::as_str),
        })
        .collect();
    Answer::page("200 OK", page(&all, Source { version_path: "/all/version", version: &version }))
}
