//! One line of an access log: Common and Combined Log Format, with or without the virtual host before them (Debian's
//! `vhost_combined`), nginx's default (which is Combined), lighttpd's (which has the virtual host behind the address), Varnish's (which
//! has it in a whole URL), and JSON lines.
//!
//! Formats: Apache's mod_log_config, nginx's ngx_http_log_module, lighttpd's mod_accesslog, varnishncsa(1). Bytes in, slices of them out: a
//! log is replayed as fast as it can be read.

mod json;
pub(crate) mod time;

use memchr::{memchr_iter, memchr2};
use std::borrow::Cow;

/// What a line says of one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry<'a> {
    /// Virtual host without its port.
    pub host: Option<Cow<'a, [u8]>>,
    /// When, in microseconds since 1970 UTC; most logs have whole seconds.
    pub unix_microseconds: i64,
    /// `GET`.
    pub method: Cow<'a, [u8]>,
    /// Path and query as the client sent them.
    pub target: Cow<'a, [u8]>,
    /// Status answered.
    pub status: u16,
    /// Bytes answered; none: the log has `-`.
    pub bytes: Option<u64>,
    /// Referer; empty: none.
    pub referer: Cow<'a, [u8]>,
    /// User agent; empty: none.
    pub agent: Cow<'a, [u8]>,
}

/// Why a line is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Reject {
    /// Nothing in it.
    #[error("empty")]
    Empty,
    /// Longer than a line may be.
    #[error("longer than 64 KiB")]
    TooLong,
    /// No `[dd/Mon/yyyy:hh:mm:ss zone]`.
    #[error("without a time like [10/Oct/2000:13:55:36 -0700]")]
    Time,
    /// The request is not `METHOD target HTTP/x`: `-` of a connection that never asked, or TLS sent to a plain port.
    #[error("without a request like \"GET /path HTTP/1.1\"")]
    Request,
    /// No status from 100 to 599 after the request.
    #[error("without a status from 100 to 599")]
    Status,
    /// It begins like JSON and is none, or lacks the request or its status.
    #[error("not JSON with a request and a status")]
    Json,
}

/// Reads a line without its end.
///
/// # Errors
/// Why it is no request that could be made again.
pub fn parse(line: &[u8]) -> Result<Entry<'_>, Reject> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.first() {
        None => Err(Reject::Empty),
        Some(b'{') => json::parse(line),
        Some(_) => parse_words(line),
    }
}

fn parse_words(line: &[u8]) -> Result<Entry<'_>, Reject> {
    let (unix_microseconds, bracket) = find_time(line)?;
    let rest = &line[bracket + time::BYTES + 2..];
    let rest = rest.strip_prefix(b" \"").ok_or(Reject::Request)?;
    let (request, rest) = quoted(rest).ok_or(Reject::Request)?;
    let (method, target) = split_request(request.raw)?;
    let (named, target) = split_url(target);
    let rest = rest.strip_prefix(b" ").ok_or(Reject::Status)?;
    let (status, rest) = word(rest);
    let status = status_of(status).ok_or(Reject::Status)?;
    let (bytes, mut rest) = word(rest);
    let mut text = || {
        let (text, after) = quoted(rest.strip_prefix(b"\"")?)?;
        rest = after.strip_prefix(b" ").unwrap_or(after);
        Some(if text.raw == b"-" { Cow::Borrowed(&[][..]) } else { text.plain(text.raw) })
    };
    let (referer, agent) = (text().unwrap_or_default(), text().unwrap_or_default());
    Ok(Entry {
        host: host_of(&line[..bracket]).or(named).map(Cow::Borrowed),
        unix_microseconds,
        method: Cow::Borrowed(method),
        target: request.plain(target),
        status,
        bytes: number(bytes),
        referer,
        agent,
    })
}

/// The time, and where its bracket opens. An IPv6 host before it has brackets too.
fn find_time(line: &[u8]) -> Result<(i64, usize), Reject> {
    memchr_iter(b'[', line)
        .take(4)
        .find_map(|at| {
            let text = line.get(at + 1..at + 1 + time::BYTES)?;
            (line.get(at + 1 + time::BYTES) == Some(&b']')).then_some(())?;
            Some((time::seconds(text)? * 1_000_000, at))
        })
        .ok_or(Reject::Time)
}

/// The words before the time are address, identity and user; a fourth before them is the virtual host. A user may have blanks, and so has
/// the list of addresses that proxies hand on (`X-Forwarded-For`), behind its commas.
fn host_of(before: &[u8]) -> Option<&[u8]> {
    let before = before.strip_suffix(b" ").unwrap_or(before);
    let blanks = memchr_iter(b' ', before).filter(|at| !before[..*at].ends_with(b",")).count();
    let (host, rest) = word(before);
    if blanks == 2 {
        return host_as_identity(host, word(rest).0);
    }
    // After an address comes mostly an identity that nobody asked for. Before another one it is an address that nobody knew.
    let is_identity = rest.starts_with(b"- ") && !rest.starts_with(b"- - ");
    let is_host = host != b"-" && !host.ends_with(b",");
    (blanks == 3 && !is_identity && is_host).then(|| without_port(host))
}

/// lighttpd's own format is `%h %V %u`: an address, never a name, and the host that was asked for. Nobody's identity is like one.
fn host_as_identity<'a>(address: &[u8], host: &'a [u8]) -> Option<&'a [u8]> {
    let is_host = host.contains(&b'.') || host.contains(&b':') || host == b"localhost";
    let is_address = || std::str::from_utf8(address).is_ok_and(|address| address.parse::<std::net::IpAddr>().is_ok());
    (is_host && is_address()).then(|| without_port(host))
}

fn without_port(host: &[u8]) -> &[u8] {
    let colon = memchr::memrchr(b':', host);
    let is_port = |at: &usize| *at + 1 < host.len() && host[at + 1..].iter().all(u8::is_ascii_digit);
    // In `[::1]` the colons are the address's own.
    colon.filter(is_port).filter(|at| !host.starts_with(b"[") || host[at - 1] == b']').map_or(host, |at| &host[..at])
}

/// What stands between quotes.
struct Quoted<'a> {
    raw: &'a [u8],
    has_escapes: bool,
}

impl<'a> Quoted<'a> {
    /// A part of it without its escapes.
    fn plain(&self, part: &'a [u8]) -> Cow<'a, [u8]> {
        if self.has_escapes { Cow::Owned(unescaped(part)) } else { Cow::Borrowed(part) }
    }
}

/// The text up to the quote that is not escaped, and what follows the quote.
fn quoted(text: &[u8]) -> Option<(Quoted<'_>, &[u8])> {
    let mut end = memchr2(b'"', b'\\', text)?;
    let has_escapes = text[end] == b'\\';
    while text[end] == b'\\' {
        end += 2;
        end += memchr2(b'"', b'\\', text.get(end..)?)?;
    }
    Some((Quoted { raw: &text[..end], has_escapes }, &text[end + 1..]))
}

/// Method and target; a target may have blanks, which some clients send.
fn split_request(request: &[u8]) -> Result<(&[u8], &[u8]), Reject> {
    // Both lie near their ends, where a plain look finds them sooner than a vector's.
    let is_blank = |byte: &u8| *byte == b' ';
    let space = request.iter().position(is_blank).ok_or(Reject::Request)?;
    let last = request.iter().rposition(is_blank).ok_or(Reject::Request)?;
    if !is_method(&request[..space]) || last <= space + 1 || !request[last + 1..].starts_with(b"HTTP/") {
        return Err(Reject::Request);
    }
    Ok((&request[..space], &request[space + 1..last]))
}

/// The host that a target names, without its port, and its path and query. Proxies are asked for whole URLs (RFC 9112,
/// 3.2.2), and varnishncsa makes one of each request (`%r`): a site has no such file.
fn split_url(target: &[u8]) -> (Option<&[u8]>, &[u8]) {
    // Nearly all are so.
    if target.starts_with(b"/") {
        return (None, target);
    }
    let Some(url) = after_scheme(target) else { return (None, target) };
    let end = url.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(url.len());
    let (authority, path) = url.split_at(end);
    let host = without_port(authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default());
    let host = (!host.is_empty()).then_some(host);
    match path.first() {
        None => (host, &b"/"[..]),
        Some(b'/') => (host, path),
        // A query alone is no target of a request to a server.
        Some(_) => (None, target),
    }
}

fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    let begins = |scheme: &&[u8]| target.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
    let scheme = [&b"http://"[..], b"https://"].into_iter().find(begins)?;
    Some(&target[scheme.len()..])
}

fn is_method(text: &[u8]) -> bool {
    (1..=20).contains(&text.len()) && text.iter().all(u8::is_ascii_uppercase)
}

/// The first word, and what follows the blank after it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b' ') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let (first, rest) = text.split_first()?;
    rest.iter().try_fold(digit(first)?, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?))
}

fn status_of(text: &[u8]) -> Option<u16> {
    let status = if text.len() == 3 { number(text)? } else { return None };
    (100..600).contains(&status).then_some(status as u16)
}

/// Without the escapes that Apache and nginx write into a log: `\"`, `\\`, `\xHH`, `\t` and their kind.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = if byte == b'\\' { escape(after) } else { (byte, after) };
        plain.push(byte);
        rest = after;
    }
    plain
}

/// What an escape stands for, after its backslash; what is no escape is a backslash.
fn escape(after: &[u8]) -> (u8, &[u8]) {
    let Some((&kind, rest)) = after.split_first() else { return (b'\\', after) };
    let plain = match kind {
        b'"' | b'\\' => kind,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'v' => 11,
        b'f' => 12,
        b'x' => {
            let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            return match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte) => (byte, &rest[2..]),
                None => (b'\\', after),
            };
        }
        _ => return (b'\\', after),
    };
    (plain, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).expect("this test's texts are UTF-8")
    }

    #[test]
    fn the_common_format() {
        let line = br#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
        let entry = parse(line).expect("a line");
        assert_eq!(entry.unix_microseconds, 971_211_336_000_000, "date -d '10 Oct 2000 13:55:36 -0700' +%s");
        assert_eq!((text(&entry.method), text(&entry.target)), ("GET", "/apache_pb.gif"));
        assert_eq!((entry.status, entry.bytes, entry.host), (200, Some(2326), None));
        assert!(entry.referer.is_empty() && entry.agent.is_empty());
    }

    #[test]
    fn the_combined_format() {
        let line =
            br#"::1 - - [28/Feb/2024:00:00:00 +0000] "POST /a?b=c HTTP/1.1" 404 - "http://x/" "M \"quoted\" \x41""#;
        let entry = parse(line).expect("a line");
        assert_eq!((text(&entry.method), text(&entry.target), entry.bytes), ("POST", "/a?b=c", None));
        assert_eq!((text(&entry.referer), text(&entry.agent)), ("http://x/", "M \"quoted\" A"));
    }

    #[test]
    fn a_virtual_host_comes_first() {
        let before = |words: &str| {
            let line = format!(r#"{words} [28/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1" 304 0 "-" "-""#);
            parse(line.as_bytes()).expect("a line").host.map(|host| text(&host).to_string())
        };
        let with = |host: &str| before(&format!("{host} 10.0.0.1 - -"));
        assert_eq!(with("www.example.org:80").as_deref(), Some("www.example.org"));
        assert_eq!(with("www.example.org").as_deref(), Some("www.example.org"));
        assert_eq!(with("[::1]:80").as_deref(), Some("[::1]"));
        assert_eq!(with("[::1]").as_deref(), Some("[::1]"));
        // The address is `X-Forwarded-For`'s, of clients without a proxy.
        assert_eq!(before("www.example.org - - -").as_deref(), Some("www.example.org"));
        assert_eq!(before("www.example.org - - frank").as_deref(), Some("www.example.org"));
        // Of clients behind several proxies; and of one that named no host.
        assert_eq!(before("www.example.org:80 10.0.0.9, 10.0.0.1 - -").as_deref(), Some("www.example.org"));
        for none in ["10.0.0.9, 10.0.0.1 - -", "10.0.0.9, 10.0.0.1 - John Smith", "- 10.0.0.1 - -"] {
            assert_eq!(before(none), None, "{none}");
        }
    }

    #[test]
    fn lighttpd_has_the_virtual_host_behind_the_address() {
        let host = |words: &str| {
            let line = format!(r#"{words} [28/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-""#);
            parse(line.as_bytes()).expect("a line").host.map(|host| text(&host).to_string())
        };
        assert_eq!(host("10.0.0.1 www.example.org -").as_deref(), Some("www.example.org"));
        assert_eq!(host("2001:db8::7 localhost:8080 frank").as_deref(), Some("localhost"));
        assert_eq!(host("10.0.0.1 [::1]:80 -").as_deref(), Some("[::1]"));
        for none in ["10.0.0.1 - -", "10.0.0.1 frank frank", "www.example.org 10.0.0.1 -", "10.0.0.1 - www.example.org"]
        {
            assert_eq!(host(none), None, "{none}");
        }
    }

    /// As varnishncsa's `format_requestline` writes it: no page of such a log became a file, and "not found" counted as right.
    #[test]
    fn varnish_has_the_virtual_host_in_the_target() {
        let of = |before: &str, target: &str| {
            let line = format!(r#"{before} [28/Feb/2024:00:00:00 +0000] "GET {target} HTTP/1.1" 200 5 "-" "-""#);
            let entry = parse(line.as_bytes()).expect("a line");
            (entry.host.map(|host| text(&host).to_string()), text(&entry.target).to_string())
        };
        let is = |target: &str, host: Option<&str>, path: &str| {
            assert_eq!(of("10.0.0.1 - -", target), (host.map(String::from), path.to_string()), "{target}");
        };
        is("http://www.example.org/a/b?c=/d", Some("www.example.org"), "/a/b?c=/d");
        is("http://localhost/", Some("localhost"), "/");
        is("HTTPS://www.example.org:8443", Some("www.example.org"), "/");
        is("http://joe:secret@[::1]:80/a", Some("[::1]"), "/a");
        is("http:///a", None, "/a");
        for as_it_is in ["http://www.example.org?c", "/http://www.example.org/a", "www.example.org:443", "*", "http:/"]
        {
            is(as_it_is, None, as_it_is);
        }
        // The log's own word is the server's.
        let both = of("a.example:80 10.0.0.1 - -", "http://b.example/a");
        assert_eq!(both, (Some("a.example".into()), "/a".into()));
    }

    #[test]
    fn a_user_with_a_blank_makes_no_virtual_host() {
        let line = br#"10.0.0.1 - John Smith [28/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1" 200 1"#;
        assert_eq!(parse(line).expect("a line").host, None);
    }

    #[test]
    fn blanks_and_percents_stay_in_the_target() {
        let line = br#"h - - [28/Feb/2024:00:00:00 +0000] "GET /a b%20c HTTP/1.1" 200 1"#;
        assert_eq!(text(&parse(line).expect("a line").target), "/a b%20c");
    }

    #[test]
    fn what_is_no_request_is_rejected_with_its_reason() {
        let reject = |line: &[u8]| parse(line).expect_err("no request");
        assert_eq!(reject(b""), Reject::Empty);
        assert_eq!(reject(b"what is this"), Reject::Time);
        assert_eq!(reject(br#"h - - [31/Foo/2024:00:00:00 +0000] "GET / HTTP/1.1" 200 1"#), Reject::Time);
        assert_eq!(reject(br#"h - - [28/Feb/2024:00:00:00 +0000] "-" 408 0 "-" "-""#), Reject::Request);
        assert_eq!(reject(br#"h - - [28/Feb/2024:00:00:00 +0000] "\x16\x03\x01" 400 226"#), Reject::Request);
        assert_eq!(reject(br#"h - - [28/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1"#), Reject::Request);
        assert_eq!(reject(br#"h - - [28/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1" 99 1"#), Reject::Status);
        assert_eq!(reject(br#"h - - [28/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1" "#), Reject::Status);
        assert_eq!(reject(br#"{"status": 200}"#), Reject::Json);
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&line);
        }

        #[test]
        fn damaged_lines_are_no_panic(at in 0usize..140, byte in any::<u8>(), cut in 0usize..140) {
            let mut line =
                br#"h:80 1.2.3.4 - - [28/Feb/2024:00:00:00 +0000] "GET /a\"b HTTP/1.1" 200 12 "http://x/" "agent \x41""#.to_vec();
            let at = at % line.len();
            line[at] = byte;
            line.truncate(cut);
            let _ = parse(&line);
        }

        #[test]
        fn what_apache_escapes_comes_back(text in proptest::collection::vec(any::<u8>(), 2..60)) {
            let mut escaped = Vec::new();
            for byte in &text {
                match byte {
                    b'"' | b'\\' => escaped.extend([b'\\', *byte]),
                    0x20..0x7f => escaped.push(*byte),
                    _ => escaped.extend(format!("\\x{byte:02x}").as_bytes()),
                }
            }
            let pieces: [&[u8]; 5] =
                [br#"h - - [28/Feb/2024:00:00:00 +0000] "GET "#, &escaped, br#" HTTP/1.1" 200 5 "-" ""#, &escaped, b"\""];
            let line = pieces.concat();
            let entry = parse(&line).expect("a line");
            prop_assert_eq!(&*entry.target, &text[..]);
            prop_assert_eq!(&*entry.agent, &text[..]);
            prop_assert!(entry.referer.is_empty());
        }
    }
}
