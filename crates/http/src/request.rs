//! What is sent.

/// A request to be written.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`.
    pub method: &'a [u8],
    /// Path and query; bytes that a request line can't have are percent-encoded.
    pub target: &'a [u8],
    /// The `Host` header.
    pub host: &'a [u8],
    /// Referer; empty: none.
    pub referer: &'a [u8],
    /// User agent; empty: none.
    pub agent: &'a [u8],
    /// Whether the connection is to be used again.
    pub keep_alive: bool,
    /// The body; none: the request has no length either.
    pub body: Option<&'a [u8]>,
}

impl Request<'_> {
    /// Appends it to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method);
        out.push(b' ');
        write_target(self.target, out);
        out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        write_value(self.host, out);
        for (name, value) in [(&b"\r\nReferer: "[..], self.referer), (&b"\r\nUser-Agent: "[..], self.agent)] {
            if !value.is_empty() {
                out.extend_from_slice(name);
                write_value(value, out);
            }
        }
        if !self.keep_alive {
            out.extend_from_slice(b"\r\nConnection: close");
        }
        if let Some(body) = self.body {
            out.extend_from_slice(format!("\r\nContent-Length: {}", body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(self.body.unwrap_or_default());
    }
}

fn write_target(target: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in target {
        match byte {
            0x21..=0x7e => out.push(*byte),
            _ => out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
}

/// A header's value can't have an end of line: a log's could, escaped.
fn write_value(value: &[u8], out: &mut Vec<u8>) {
    out.extend(value.iter().map(|byte| if byte.is_ascii_control() { b' ' } else { *byte }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Request<'static> = Request {
        method: b"GET",
        target: b"/a b",
        host: b"h:81",
        referer: b"",
        agent: b"",
        keep_alive: true,
        body: None,
    };

    fn written(request: Request) -> Vec<u8> {
        let mut out = Vec::new();
        request.write(&mut out);
        out
    }

    #[test]
    fn a_request_as_it_is_sent() {
        assert_eq!(written(PLAIN), b"GET /a%20b HTTP/1.1\r\nHost: h:81\r\n\r\n");
        let full = Request { referer: b"r", agent: b"a\r\nX: y", keep_alive: false, body: Some(b"abc"), ..PLAIN };
        let text = String::from_utf8(written(full)).expect("text");
        assert!(
            text.ends_with(
                "\r\nReferer: r\r\nUser-Agent: a  X: y\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
            )
        );
    }

    proptest! {
        #[test]
        fn whatever_a_log_had_it_is_one_request(target in proptest::collection::vec(any::<u8>(), 1..40),
                                                agent in proptest::collection::vec(any::<u8>(), 0..40)) {
            let bytes = written(Request { target: &target, agent: &agent, ..PLAIN });
            let mut headers = [httparse::EMPTY_HEADER; 8];
            let mut request = httparse::Request::new(&mut headers);
            prop_assert_eq!(request.parse(&bytes), Ok(httparse::Status::Complete(bytes.len())));
        }
    }
}
