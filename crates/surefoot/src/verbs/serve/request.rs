//! Who may ask what. Pure: the bytes of a request's head to what is asked, or why it is refused.
//!
//! A web page from elsewhere can make a browser on this machine ask us. With a name of its own that it lets resolve to
//! 127.0.0.1 (DNS rebinding) it could even read the answer; then the Host is that name, and refused. Browsers also say
//! whether a page of another site is behind a request (Fetch Metadata, `Sec-Fetch-Site`).

/// More header fields than any browser sends.
const FIELDS_MAX: usize = 64;

/// What is asked.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// The path, without a query.
    pub path: String,
    /// Whether only the head of the answer is wanted.
    pub is_head: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refusal {
    /// Not an HTTP request, or a very long one.
    NotHttp,
    /// Something else than GET and HEAD.
    Method,
    /// The name is not this machine's own.
    Host,
    /// A page of another site asks.
    OtherSite,
}

impl Refusal {
    /// Status line and sentence.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Refusal::NotHttp => ("400 Bad Request", "This is no HTTP request that surefoot can read."),
            Refusal::Method => ("405 Method Not Allowed", "These pages can only be read: GET and HEAD."),
            Refusal::Host => (
                "421 Misdirected Request",
                "These pages are served under this machine's own names only: ask for 127.0.0.1 or localhost, with the port that \
                 surefoot printed.",
            ),
            Refusal::OtherSite => (
                "403 Forbidden",
                "A page of another site asked for this one. To see it, type the address that surefoot printed.",
            ),
        }
    }
}

/// Reads a request's head and judges it.
pub fn parse(head: &[u8], port: u16) -> Result<Request, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    if !request.parse(head).is_ok_and(|status| status.is_complete()) {
        return Err(Refusal::NotHttp);
    }
    let all = |name: &str| -> Vec<&[u8]> {
        let fields = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        fields.map(|field| field.value).collect()
    };
    match all("host").as_slice() {
        [host] if is_own(host, port) => {}
        _ => return Err(Refusal::Host),
    }
    if all("sec-fetch-site").iter().any(|site| !matches!(*site, b"same-origin" | b"none")) {
        return Err(Refusal::OtherSite);
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Refusal::Method),
    };
    let target = request.path.filter(|target| target.starts_with('/')).ok_or(Refusal::NotHttp)?;
    let path = target.split(['?', '#']).next().unwrap_or(target);
    Ok(Request { path: path.into(), is_head })
}

/// A name of this machine that no name server can give away, with our port.
fn is_own(host: &[u8], port: u16) -> bool {
    let host = String::from_utf8_lossy(host).to_ascii_lowercase();
    let own = ["127.0.0.1", "localhost", "[::1]"];
    own.iter().any(|name| host == format!("{name}:{port}") || (port == 80 && host == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Request, Refusal> {
        parse(text.replace('\n', "\r\n").as_bytes(), 8080)
    }

    #[test]
    fn own_names_are_served_and_others_are_not() {
        for host in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"] {
            let request = asked(&format!("GET /a?b=c HTTP/1.1\nHost: {host}\n\n"));
            assert_eq!(request, Ok(Request { path: "/a".into(), is_head: false }), "{host}");
        }
        let others =
            ["evil.example:8080", "127.0.0.1", "127.0.0.1:81", "127.0.0.1.evil.example:8080", "localhost.:8080", ""];
        for host in others {
            assert_eq!(asked(&format!("GET / HTTP/1.1\nHost: {host}\n\n")), Err(Refusal::Host), "{host}");
        }
        assert_eq!(asked("GET / HTTP/1.1\n\n"), Err(Refusal::Host));
        assert_eq!(asked("GET / HTTP/1.1\nHost: localhost:8080\nHost: evil.example\n\n"), Err(Refusal::Host));
        assert!(parse(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 80).is_ok());
    }

    #[test]
    fn only_reading_and_only_for_this_site() {
        let with = |line: &str, field: &str| asked(&format!("{line} HTTP/1.1\nHost: localhost:8080\n{field}\n"));
        assert!(with("HEAD /", "").is_ok_and(|request| request.is_head));
        for line in ["POST /", "PUT /a", "DELETE /", "OPTIONS *", "CONNECT a:1"] {
            assert_eq!(with(line, ""), Err(Refusal::Method), "{line}");
        }
        assert_eq!(with("GET http://evil.example/", ""), Err(Refusal::NotHttp));
        for (site, expected) in [("none", true), ("same-origin", true), ("same-site", false), ("cross-site", false)] {
            assert_eq!(with("GET /", &format!("Sec-Fetch-Site: {site}\n")).is_ok(), expected, "{site}");
        }
        for text in ["", "GET", "GET / HTTP/1.1\nHost: localhost:8080\n", "\u{1}\u{2}\n\n"] {
            assert_eq!(asked(text), Err(Refusal::NotHttp), "{text}");
        }
    }
}
