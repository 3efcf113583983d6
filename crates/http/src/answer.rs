//! An answer, read piece by piece as it comes: its head, then its body by length, in chunks or until the connection ends.
//!
//! Framing: RFC 9112, sections 6.3 and 7.1.

/// The longest head that is taken for one.
pub const HEAD_BYTES_MAX: usize = 64 << 10;

const HEADERS_MAX: usize = 128;

/// The longest line with a chunk's size, extensions included, and the longest trailer line.
const CHUNK_LINE_BYTES_MAX: usize = 4096;

/// An answer that is being read.
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// A head, or a line between chunks, that came in part.
    partial: Vec<u8>,
    is_head_request: bool,
    answer: Answer,
}

/// What an answer turned out to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Bytes of its body, without the frames of chunks.
    pub body_bytes: u64,
    /// Whether the server keeps the connection open after it.
    pub keep_alive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// So much of the body is still to come.
    Body(u64),
    /// The line with a chunk's size.
    ChunkSize,
    /// So much of a chunk is still to come.
    Chunk(u64),
    /// The end of line after a chunk.
    ChunkEnd,
    Trailer,
    UntilClosed,
    Whole,
}

/// Why it is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not `HTTP/1.x status reason` with headers.
    #[error("the head is not HTTP/1")]
    Head,
    /// A head without an end.
    #[error("the head is longer than 64 KiB")]
    HeadTooLong,
    /// Two lengths, or one that is no number.
    #[error("the length is not a number, or there are two")]
    Length,
    /// A chunk without a size, or longer than said.
    #[error("the chunks are broken")]
    Chunk,
    /// More bytes than the answer has: nobody asked for them.
    #[error("bytes after the answer's end")]
    Excess,
    /// The connection ended in the middle.
    #[error("the connection ended before the answer did")]
    Short,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader { state: State::Head, partial: Vec::new(), is_head_request: false, answer: Answer::default() }
    }
}

impl Reader {
    /// Prepares for the next answer; one to a HEAD request has no body.
    pub fn begin(&mut self, is_head_request: bool) {
        self.state = State::Head;
        self.partial.clear();
        self.is_head_request = is_head_request;
        self.answer = Answer::default();
    }

    /// Takes the next piece; `see` gets those of the body. Gives the answer when it is whole.
    ///
    /// # Errors
    /// When it is not HTTP.
    pub fn feed(&mut self, mut piece: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<Option<Answer>, Malformed> {
        while self.state != State::Whole {
            if piece.is_empty() {
                return Ok(None);
            }
            piece = match self.state {
                State::Head => self.head(piece)?,
                State::Body(left) => {
                    let (now, rest) = self.body(piece, left, see);
                    self.state = if left == now { State::Whole } else { State::Body(left - now) };
                    rest
                }
                State::Chunk(left) => {
                    let (now, rest) = self.body(piece, left, see);
                    self.state = if left == now { State::ChunkEnd } else { State::Chunk(left - now) };
                    rest
                }
                State::UntilClosed => self.body(piece, u64::MAX, see).1,
                State::ChunkSize | State::ChunkEnd | State::Trailer => self.line(piece)?,
                State::Whole => piece,
            };
        }
        if piece.is_empty() { Ok(Some(self.answer)) } else { Err(Malformed::Excess) }
    }

    /// The connection has ended; gives the answer when that is what ends it.
    ///
    /// # Errors
    /// When something is missing.
    pub fn end(&mut self) -> Result<Answer, Malformed> {
        match self.state {
            State::UntilClosed | State::Whole => Ok(self.answer),
            _ => Err(Malformed::Short),
        }
    }

    fn body<'a>(&mut self, piece: &'a [u8], left: u64, see: &mut dyn FnMut(&[u8])) -> (u64, &'a [u8]) {
        let now = left.min(piece.len() as u64);
        let (body, rest) = piece.split_at(now as usize);
        self.answer.body_bytes += now;
        see(body);
        (now, rest)
    }

    /// Looks for a whole head in what has come; gives what follows it.
    fn head<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], Malformed> {
        if self.partial.is_empty() {
            // Almost always the head comes in one piece, and is read where it lies.
            return match self.parse_head(piece)? {
                Some(length) => Ok(&piece[length..]),
                None => self.keep(piece, HEAD_BYTES_MAX, Malformed::HeadTooLong),
            };
        }
        let before = self.partial.len();
        let mut text = std::mem::take(&mut self.partial);
        text.extend_from_slice(piece);
        match self.parse_head(&text)? {
            Some(length) => Ok(&piece[length - before..]),
            None if text.len() > HEAD_BYTES_MAX => Err(Malformed::HeadTooLong),
            None => {
                self.partial = text;
                Ok(&[])
            }
        }
    }

    fn keep<'a>(&mut self, piece: &[u8], max: usize, error: Malformed) -> Result<&'a [u8], Malformed> {
        self.partial.extend_from_slice(piece);
        if self.partial.len() > max { Err(error) } else { Ok(&[]) }
    }

    /// Reads a head; gives its length, none when it is not whole.
    fn parse_head(&mut self, text: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(text).map_err(|_| Malformed::Head)? {
            httparse::Status::Partial => return Ok(None),
            // As it is when it comes in pieces.
            httparse::Status::Complete(length) if length > HEAD_BYTES_MAX => return Err(Malformed::HeadTooLong),
            httparse::Status::Complete(length) => length,
        };
        let status = response.code.filter(|code| (100..600).contains(code)).ok_or(Malformed::Head)?;
        let framing = Framing::of(response.headers)?;
        let is_newer = response.version == Some(1);
        self.answer.status = status;
        self.answer.keep_alive = if is_newer { !framing.says_close } else { framing.says_keep_alive };
        self.state = match status {
            // An interim answer: the real one follows.
            100..=199 => State::Head,
            204 | 304 => State::Whole,
            _ if self.is_head_request => State::Whole,
            _ if framing.is_chunked => State::ChunkSize,
            _ => match framing.length {
                Some(0) => State::Whole,
                Some(length) => State::Body(length),
                None => {
                    self.answer.keep_alive = false;
                    State::UntilClosed
                }
            },
        };
        Ok(Some(length))
    }

    /// A line between chunks; gives what follows it.
    fn line<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], Malformed> {
        let Some(at) = memchr::memchr(b'\n', piece) else {
            return self.keep(piece, CHUNK_LINE_BYTES_MAX, Malformed::Chunk);
        };
        self.keep(&piece[..at], CHUNK_LINE_BYTES_MAX, Malformed::Chunk)?;
        let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        self.state = match self.state {
            State::ChunkSize => match chunk_size(line).ok_or(Malformed::Chunk)? {
                0 => State::Trailer,
                size => State::Chunk(size),
            },
            State::ChunkEnd if line.is_empty() => State::ChunkSize,
            State::ChunkEnd => return Err(Malformed::Chunk),
            _ if line.is_empty() => State::Whole,
            _ => State::Trailer,
        };
        self.partial.clear();
        Ok(&piece[at + 1..])
    }
}

/// What the headers say of the body's end and of the connection's.
#[derive(Default)]
struct Framing {
    length: Option<u64>,
    is_chunked: bool,
    says_close: bool,
    says_keep_alive: bool,
}

impl Framing {
    fn of(headers: &[httparse::Header]) -> Result<Framing, Malformed> {
        let mut framing = Framing::default();
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                let text = std::str::from_utf8(header.value).map_err(|_| Malformed::Length)?.trim();
                let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let length = text.parse().ok().filter(|_| is_number).ok_or(Malformed::Length)?;
                if framing.length.replace(length).is_some_and(|before| before != length) {
                    return Err(Malformed::Length);
                }
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                framing.is_chunked = has_word(header.value, b"chunked");
            } else if header.name.eq_ignore_ascii_case("connection") {
                framing.says_close |= has_word(header.value, b"close");
                framing.says_keep_alive |= has_word(header.value, b"keep-alive");
            }
        }
        Ok(framing)
    }
}

fn has_word(list: &[u8], word: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The answer and its body, fed in pieces of this size; an end after them when it is not whole.
    fn read(bytes: &[u8], piece: usize, is_head_request: bool) -> Result<(Answer, Vec<u8>), Malformed> {
        let mut reader = Reader::default();
        reader.begin(is_head_request);
        let mut body = Vec::new();
        for piece in bytes.chunks(piece) {
            if let Some(answer) = reader.feed(piece, &mut |bytes| body.extend_from_slice(bytes))? {
                return Ok((answer, body));
            }
        }
        reader.end().map(|answer| (answer, body))
    }

    fn check(bytes: &[u8], expected: Result<(u16, &[u8], bool), Malformed>) {
        for piece in [1, 2, 3, 7, 1000] {
            let found = read(bytes, piece, false);
            let found = found.as_ref().map(|(answer, body)| (answer.status, &body[..], answer.keep_alive));
            assert_eq!(found.map_err(|error| *error), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn bodies_of_each_framing() {
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", Ok((200, b"abc", true)));
        check(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", Ok((404, b"", false)));
        check(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", Ok((200, b"x", false)));
        check(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx", Ok((200, b"x", true)));
        check(b"HTTP/1.1 200 OK\r\n\r\nuntil closed", Ok((200, b"until closed", false)));
        check(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
            Ok((200, b"abc0123456789", true)),
        );
        check(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n", Ok((304, b"", true)));
        check(
            b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny",
            Ok((200, b"y", true)),
        );
    }

    #[test]
    fn an_answer_to_head_has_a_length_and_no_body() {
        let (answer, body) = read(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 5, true).expect("an answer");
        assert_eq!((answer.status, answer.body_bytes, body.len()), (200, 0, 0));
    }

    #[test]
    fn what_is_no_answer() {
        check(b"SSH-2.0-OpenSSH_9.2\r\n", Err(Malformed::Head));
        check(b"HTTP/1.1 099 What\r\n\r\n", Err(Malformed::Head));
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", Err(Malformed::Short));
        check(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc", Err(Malformed::Length));
        check(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", Err(Malformed::Length));
        check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Err(Malformed::Chunk));
        check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", Err(Malformed::Chunk));
        check(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", Err(Malformed::Short));
        check(b"", Err(Malformed::Short));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", 1000, false), Err(Malformed::Excess));
    }

    #[test]
    fn a_head_without_an_end_is_given_up() {
        let mut endless = b"HTTP/1.1 200 OK\r\n".to_vec();
        for number in 0..100 {
            endless.extend(format!("X-{number}: {}\r\n", "y".repeat(100_000)).as_bytes());
        }
        for piece in [1000, 16384, endless.len()] {
            assert_eq!(read(&endless, piece, false), Err(Malformed::HeadTooLong));
        }
    }

    #[test]
    fn a_head_that_is_too_long_is_so_in_one_piece_or_many() {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        while head.len() <= HEAD_BYTES_MAX {
            head.extend(format!("X: {}\r\n", "y".repeat(1000)).as_bytes());
        }
        head.extend(b"Content-Length: 0\r\n\r\n");
        for piece in [1000, head.len()] {
            assert_eq!(read(&head, piece, false), Err(Malformed::HeadTooLong));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), piece in 1usize..50) {
            let _ = read(&bytes, piece, false);
            let _ = read(&[&b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"[..], &bytes].concat(), piece, false);
        }

        #[test]
        fn pieces_do_not_matter(body in proptest::collection::vec(any::<u8>(), 0..2000),
                                sizes in proptest::collection::vec(1usize..300, 1..20), piece in 1usize..500) {
            let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            let (mut rest, mut size) = (&body[..], sizes.iter().cycle());
            while !rest.is_empty() {
                let (now, after) = rest.split_at((*size.next().expect("a cycle")).min(rest.len()));
                chunked.extend(format!("{:x}\r\n", now.len()).as_bytes());
                chunked.extend([now, b"\r\n"].concat());
                rest = after;
            }
            chunked.extend(b"0\r\n\r\n");
            let (answer, found) = read(&chunked, piece, false).expect("an answer");
            prop_assert_eq!(answer.body_bytes, body.len() as u64);
            prop_assert_eq!(found, body);
        }
    }
}
