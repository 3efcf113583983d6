//! A line that is a JSON object, under the names that nginx, Apache and Caddy configurations commonly give.

use super::time::digits;
use super::{Entry, Reject, is_method, split_request, split_url, time, without_port};
use serde_json::{Map, Value};
use std::borrow::Cow;

const REQUEST: &[&str] = &["request"];
const METHOD: &[&str] = &["request_method", "method"];
/// With the query: nginx's `$request_uri` is as the client sent it.
const TARGET: &[&str] = &["request_uri"];
/// Perhaps without the query, which has a name of its own then.
const PATH: &[&str] = &["uri", "url", "path"];
/// The last is that of ingress-nginx, as its manual has the format.
const QUERY: &[&str] = &["args", "query_string", "query", "request_query"];
const STATUS: &[&str] = &["status", "response", "status_code"];
const BYTES: &[&str] = &["body_bytes_sent", "bytes_sent", "bytes", "size", "response_size"];
const HOST: &[&str] = &["vhost", "host", "http_host", "server_name"];
const TIME: &[&str] = &["time_local", "time_iso8601", "time", "timestamp", "@timestamp", "ts", "msec"];
const REFERER: &[&str] = &["http_referer", "http_referrer", "referer", "referrer"];
const AGENT: &[&str] = &["http_user_agent", "user_agent", "agent"];

pub fn parse(line: &[u8]) -> Result<Entry<'static>, Reject> {
    let object: Map<String, Value> = serde_json::from_slice(line).map_err(|_| Reject::Json)?;
    // Caddy keeps the request's parts in an object of its own.
    let inner = object.get("request").and_then(Value::as_object);
    let first = |names: &[&str]| names.iter().find_map(|name| object.get(*name).or_else(|| inner?.get(*name)));
    let text = |names: &[&str]| match first(names)? {
        Value::String(text) if !matches!(text.as_str(), "" | "-") => Some(text.clone().into_bytes()),
        _ => None,
    };
    let target = || {
        let mut target = text(PATH)?;
        if let Some(query) = text(QUERY).filter(|_| !target.contains(&b'?')) {
            // Apache's `%q` begins with a question mark.
            target.push(b'?');
            target.extend_from_slice(query.strip_prefix(b"?").unwrap_or(&query));
        }
        Some(target)
    };
    let request = text(REQUEST);
    let (method, target) = match request.as_deref().map(split_request) {
        // nginx changes `$uri` and `$args` when it leads a request on within itself, and never the request's own line.
        Some(Ok((method, target))) => (method.to_vec(), target.to_vec()),
        no_line => match (text(METHOD), text(TARGET).or_else(target)) {
            // Blanks and ends of lines in it would make other requests of one.
            (Some(method), Some(_)) if !is_method(&method) => return Err(Reject::Request),
            (Some(method), Some(target)) => (method, target),
            _ => return Err(no_line.and_then(Result::err).unwrap_or(Reject::Json)),
        },
    };
    let status = first(STATUS).and_then(number).filter(|status| (100.0..600.0).contains(status)).ok_or(Reject::Json)?;
    let (named, target) = split_url(&target);
    let host = text(HOST).map(|host| without_port(&host).to_vec()).or_else(|| named.map(<[u8]>::to_vec));
    Ok(Entry {
        host: host.map(Cow::Owned),
        unix_microseconds: first(TIME).and_then(microseconds).ok_or(Reject::Time)?,
        method: Cow::Owned(method),
        target: Cow::Owned(target.to_vec()),
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

/// A number is seconds since 1970, or milli-, micro- or nanoseconds, as Caddy's `time_format` has them, too; a text is Common Log Format's
/// time, in brackets as Apache's `%t` has it, or ISO 8601.
fn microseconds(value: &Value) -> Option<i64> {
    if let Some(moment) = number(value) {
        // A time since 1978 in a finer unit lies beyond all years in a coarser one.
        let seconds =
            [1.0, 1e3, 1e6, 1e9].into_iter().map(|unit| moment / unit).find(|seconds| YEARS.contains(seconds))?;
        return Some((seconds * 1e6).round() as i64);
    }
    let text = value.as_str()?;
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
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

    /// Its `%t` has brackets, and no line of such a log had a time.
    #[test]
    fn apache_in_json() {
        let of = |time: &str| {
            let line = format!(
                r#"{{"time":"{time}","vhost":"a.example","method":"GET","uri":"/x","query":"?y=1","status":"200","bytes":"5"}}"#
            );
            parse(line.as_bytes()).map(|entry| (entry.unix_microseconds, entry.target.into_owned()))
        };
        let is = Ok((971_211_336_000_000, b"/x?y=1".to_vec()));
        assert_eq!((of("[10/Oct/2000:13:55:36 -0700]"), of("10/Oct/2000:13:55:36 -0700")), (is.clone(), is));
        assert_eq!((of("[10/Oct/2000:13:55:36 -0700"), of("[]")), (Err(Reject::Time), Err(Reject::Time)));
    }

    /// The first is what nginx has of a page of a blog after `try_files $uri /index.php?p=7`.
    #[test]
    fn what_the_client_asked_for_comes_before_what_the_server_made_of_it() {
        let target = |request: &str| {
            let line = format!(r#"{{"time":"2000-10-10T13:55:36Z","status":200,{request}}}"#);
            parse(line.as_bytes()).map(|entry| String::from_utf8_lossy(&entry.target).into_owned())
        };
        let is = |request: &str, expected: &str| assert_eq!(target(request).as_deref(), Ok(expected), "{request}");
        let led_on = r#""request_method":"GET","uri":"/index.php","args":"p=7""#;
        is(&format!(r#"{led_on},"request":"GET /blog/x?q HTTP/1.1""#), "/blog/x?q");
        is(&format!(r#"{led_on},"request_uri":"/blog/x""#), "/blog/x");
        is(led_on, "/index.php?p=7");
        is(r#""method":"GET","path":"/a","query":"?b=c""#, "/a?b=c");
        is(r#""path":"/a","request_query":"b=c","request_length":97,"method":"GET""#, "/a?b=c");
        is(r#""method":"GET","url":"/a?b","query_string":"b""#, "/a?b");
        is(r#""method":"GET","uri":"/a","args":"-""#, "/a");
        // A path under the name of the line.
        is(r#""method":"GET","path":"/a","request":"/a""#, "/a");
        is(r#""request":"GET http://a.example/a?b HTTP/1.1""#, "/a?b");
        is(r#""method":"GET","url":"http://a.example/a","query":"b""#, "/a?b");
        assert_eq!(target(r#""request":"/a""#), Err(Reject::Request));
        assert_eq!(target(r#""method":"GET /b HTTP/1.1\r\n\r\nGET","uri":"/a""#), Err(Reject::Request));
        assert_eq!(target(r#""method":"","uri":"""#), Err(Reject::Json), "a connection that never asked");
    }

    #[test]
    fn caddys_request_is_an_object() {
        let line = br#"{"ts":1700000000.25,"request":{"method":"GET","host":"b.example:8080","uri":"/z"},"status":404,"size":10}"#;
        let entry = parse(line).expect("a line");
        assert_eq!((entry.unix_microseconds, entry.status), (1_700_000_000_250_000, 404));
        assert_eq!((&*entry.target, entry.host.as_deref()), (&b"/z"[..], Some(&b"b.example"[..])));
    }

    /// `unix_seconds_float`, `unix_milli_float` and `unix_nano` of Caddy's manual: a log with one of the latter two had no request.
    #[test]
    fn a_number_is_a_time_in_its_unit() {
        let of = |number: f64| microseconds(&Value::from(number));
        for number in [1_700_000_000.25, 1_700_000_000_250.0, 1_700_000_000_250_000.0, 1_700_000_000_250_000_000.0] {
            assert_eq!(of(number), Some(1_700_000_000_250_000), "{number}");
        }
        assert_eq!((of(253_402_300_799.0), of(1e300)), (Some(253_402_300_799_000_000), None));
    }

    #[test]
    fn a_time_in_utc_with_milliseconds() {
        assert_eq!(iso("1970-01-02T00:00:00.500Z"), Some(86_400_500_000));
        assert_eq!(iso("1970-01-02"), None);
        assert_eq!(iso("1970-01-02T00:00:00é"), None);
    }
}
