//! A line that is a JSON object, under the names that nginx, Apache and Caddy configurations commonly give.

use super::time::digits;
use super::{Entry, Reject, split_request, time, without_port};
use serde_json::{Map, Value};
use std::borrow::Cow;

const REQUEST: &[&str] = &["request"];
const METHOD: &[&str] = &["request_method", "method"];
const TARGET: &[&str] = &["request_uri", "uri", "url", "path"];
const STATUS: &[&str] = &["status", "response", "status_code"];
const BYTES: &[&str] = &["body_bytes_sent", "bytes_sent", "bytes", "size", "response_size"];
const HOST: &[&str] = &["vhost", "host", "http_host", "server_name"];
const TIME: &[&str] = &["time_local", "time_iso8601", "time", "timestamp", "@timestamp", "ts", "msec"];
const REFERER: &[&str] = &["http_referer", "referer", "referrer"];
const AGENT: &[&str] = &["http_user_agent", "user_agent", "agent"];

pub fn parse(line: &[u8]) -> Result<Entry<'static>, Reject> {
    let object: Map<String, Value> = serde_json::from_slice(line).map_err(|_| Reject::Json)?;
    // Caddy keeps the request's parts in an object of its own.
    let inner = object.get("request").and_then(Value::as_object);
    let first = |names: &[&str]| names.iter().find_map(|name| object.get(*name).or_else(|| inner?.get(*name)));
    let text = |names: &[&str]| match first(names)? {
        Value::String(text) if text != "-" => Some(text.clone().into_bytes()),
        _ => None,
    };
    let (method, target) = match (text(METHOD), text(TARGET), text(REQUEST)) {
        (Some(method), Some(target), _) => (method, target),
        (.., Some(request)) => {
            let (method, target) = split_request(&request)?;
            (method.to_vec(), target.to_vec())
        }
        _ => return Err(Reject::Json),
    };
    let status = first(STATUS).and_then(number).filter(|status| (100.0..600.0).contains(status)).ok_or(Reject::Json)?;
    Ok(Entry {
        host: text(HOST).map(|host| Cow::Owned(without_port(&host).to_vec())),
        unix_microseconds: first(TIME).and_then(microseconds).ok_or(Reject::Time)?,
        method: Cow::Owned(method),
        target: Cow::Owned(target),
        status: status as u16,
        bytes: first(BYTES).and_then(number).map(|bytes| bytes as u64),
        referer: Cow::Owned(text(REFERER).unwrap_or_default()),
        agent: Cow::Owned(text(AGENT).unwrap_or_default()),
    })
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Seconds since 1970 of the years 0 to 9999, as texts can have them: what lies beyond is no time, and differences of two fit.
const YEARS: std::ops::Range<f64> = -62_167_219_200.0..253_402_300_800.0;

/// A number is seconds since 1970; a text is Common Log Format's time or ISO 8601.
fn microseconds(value: &Value) -> Option<i64> {
    if let Some(seconds) = number(value) {
        return YEARS.contains(&seconds).then(|| (seconds * 1e6).round() as i64);
    }
    let text = value.as_str()?;
    time::seconds(text.as_bytes()).map(|seconds| seconds * 1_000_000).or_else(|| iso(text))
}

/// `2000-10-10T13:55:36.123+02:00`, `Z` for UTC.
fn iso(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| digits(text.get(from..to)?.as_bytes());
    let days = time::days(part(0, 4)?, part(5, 7).filter(|month| (1..=12).contains(month))?, part(8, 10)?);
    let seconds = part(11, 13)? * 3600 + part(14, 16)? * 60 + part(17, 19)?;
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let fraction: f64 = if zone_at > 1 { format!("0{}", &rest[..zone_at]).parse().ok()? } else { 0.0 };
    if !(0.0..1.0).contains(&fraction) {
        return None;
    }
    let zone = rest[zone_at + 1..].replace(':', "");
    let offset = match (&rest[zone_at..=zone_at], zone.as_str()) {
        ("Z" | "z", "") => 0,
        (sign, zone) if zone.len() == 4 => {
            let minutes = digits(zone.get(..2)?.as_bytes())? * 60 + digits(zone.get(2..)?.as_bytes())?;
            if sign == "-" { -minutes * 60 } else { minutes * 60 }
        }
        _ => return None,
    };
    Some((days * 86_400 + seconds - offset) * 1_000_000 + (fraction * 1e6).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nginx_in_json() {
        let line = br#"{"time_iso8601":"2000-10-10T13:55:36-07:00","host":"a.example","request":"GET /x?y=1 HTTP/1.1","status":"200","body_bytes_sent":2326,"http_user_agent":"M"}"#;
        let entry = parse(line).expect("a line");
        assert_eq!(entry.unix_microseconds, 971_211_336_000_000);
        assert_eq!((&*entry.method, &*entry.target, entry.status), (&b"GET"[..], &b"/x?y=1"[..], 200));
        assert_eq!((entry.host.as_deref(), entry.bytes), (Some(&b"a.example"[..]), Some(2326)));
    }

    #[test]
    fn caddys_request_is_an_object() {
        let line = br#"{"ts":1700000000.25,"request":{"method":"GET","host":"b.example:8080","uri":"/z"},"status":404,"size":10}"#;
        let entry = parse(line).expect("a line");
        assert_eq!((entry.unix_microseconds, entry.status), (1_700_000_000_250_000, 404));
        assert_eq!((&*entry.target, entry.host.as_deref()), (&b"/z"[..], Some(&b"b.example"[..])));
    }

    #[test]
    fn a_time_in_utc_with_milliseconds() {
        assert_eq!(iso("1970-01-02T00:00:00.500Z"), Some(86_400_500_000));
        assert_eq!(iso("1970-01-02"), None);
        assert_eq!(iso("1970-01-02T00:00:00é"), None);
    }
}
