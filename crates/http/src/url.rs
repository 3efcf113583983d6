//! `http://host:port/path`, or `https`: where a server is.

/// A URL's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// How it is asked.
    pub scheme: Scheme,
    /// Name or address, IPv6 without its brackets.
    pub host: String,
    /// The scheme's own when the URL names none.
    pub port: u16,
    /// Path and query, `/` at least.
    pub target: String,
}

/// How a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Through TLS.
    Https,
}

impl Scheme {
    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

impl Url {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Url, String> {
        let (scheme, rest) = match text.split_once("://") {
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            Some((scheme, _)) => return Err(format!("{scheme}:// can't be asked; use http:// or https://")),
            None => (Scheme::Http, text),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let target = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
        if authority.contains('@') {
            return Err("user and password in a URL are not supported".into());
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("without a host; a URL is like http://127.0.0.1:8080/".into());
        }
        let port = port.map_or(Some(scheme.port()), |port| port.parse().ok()).filter(|port| *port > 0);
        let port = port.ok_or("the port is not a number from 1 to 65535")?;
        Ok(Url { scheme, host: host.into(), port, target })
    }

    /// What a `Host` header has: without the port when it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_parts() {
        let parts = |text: &str| Url::parse(text).map(|url| (url.authority(), url.target));
        assert_eq!(parts("http://a.example"), Ok(("a.example".into(), "/".into())));
        assert_eq!(parts("http://127.0.0.1:8080/x?y#z"), Ok(("127.0.0.1:8080".into(), "/x?y".into())));
        assert_eq!(parts("localhost:8080"), Ok(("localhost:8080".into(), "/".into())));
        assert_eq!(parts("http://[::1]:81?q"), Ok(("[::1]:81".into(), "/?q".into())));
        assert_eq!(parts("http://[::1]/"), Ok(("[::1]".into(), "/".into())));
        assert_eq!(parts("https://a.example/"), Ok(("a.example".into(), "/".into())));
        assert_eq!(parts("https://a.example:80/"), Ok(("a.example:80".into(), "/".into())));
        assert_eq!(Url::parse("https://x").map(|url| (url.scheme, url.port)), Ok((Scheme::Https, 443)));
        for bad in ["ftp://x", "http://", "http://x:0/", "http://x:99999", "http://u@x/", "http://a b/"] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
    }
}
