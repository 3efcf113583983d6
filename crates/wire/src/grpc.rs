//! gRPC (its repository, PROTOCOL-HTTP2.md): unary calls over one connection of HTTP/2, one at a time, without TLS.

use crate::Error;
use crate::buffer::{Buffer, wait};
use crate::http2::{self, Fields, HEAD_BYTES, Head, PAYLOAD_BYTES_MAX, flag, kind, setting};
use crate::stream::Stream;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd};

/// An answer as long as this is none to a load's request. etcd's own limit for what it takes is 1.5 MiB.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// After so many bytes the server is told that it may send as many again.
const WINDOW_STEP_BYTES: u32 = 1 << 30;

/// A message's head: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// The call under way.
#[derive(Default)]
struct Call {
    stream: u32,
    /// Parts of a header block that goes on in the next frame, and whether the stream ends with it.
    block: Option<(Vec<u8>, bool)>,
    fields: Fields,
    is_over: bool,
}

/// One connection.
pub struct Grpc {
    stream: Stream,
    input: Buffer,
    output: Vec<u8>,
    /// Bytes of the request that the connection's window has no room for.
    held_back: Vec<u8>,
    /// The answer's message with its head, as far as it has come.
    body: Vec<u8>,
    call: Option<Call>,
    next_stream: u32,
    /// Bytes that may be sent on the connection, and on a new stream.
    window: i64,
    stream_window: u32,
    /// Of the server's frames, since it was told that it may send more.
    received: u32,
}

impl Grpc {
    /// Begins a connection; its first frames go out with the first call.
    pub(crate) fn over(stream: Stream) -> Grpc {
        let mut output = http2::PREFACE.to_vec();
        let settings =
            [(setting::TABLE_BYTES, 0), (setting::PUSH, 0), (setting::WINDOW_BYTES, http2::WINDOW_BYTES_MAX)];
        http2::frame(kind::SETTINGS, 0, 0, &http2::settings(&settings), &mut output);
        let more = http2::WINDOW_BYTES_MAX - http2::WINDOW_BYTES;
        http2::frame(kind::WINDOW, 0, 0, &more.to_be_bytes(), &mut output);
        Grpc {
            stream,
            input: Buffer::new(),
            output,
            held_back: Vec::new(),
            body: Vec::new(),
            call: None,
            next_stream: 1,
            window: i64::from(http2::WINDOW_BYTES),
            stream_window: http2::WINDOW_BYTES,
            received: 0,
        }
    }

    /// Begins a call of `/package.Service/Method` with a message; none may be under way.
    ///
    /// # Errors
    /// When the message is larger than the server takes without answering.
    pub fn begin(&mut self, path: &str, message: &[u8]) -> Result<(), Error> {
        assert!(self.call.is_none(), "one call at a time");
        let length = PREFIX_BYTES + message.len();
        if length > self.stream_window as usize {
            let (has, takes) = (message.len(), self.stream_window as usize - PREFIX_BYTES);
            return Err(Error::Protocol(format!("a request has {has} bytes, and the server takes {takes} at once")));
        }
        let stream = self.next_stream;
        self.next_stream += 2;
        let mut block = Vec::with_capacity(128);
        // `:method POST` and `:scheme http` are entries 3 and 6 of the static table.
        block.extend_from_slice(&[0x83, 0x86]);
        http2::header(Ok(4), path, &mut block);
        http2::header(Ok(1), "localhost", &mut block);
        http2::header(Ok(31), "application/grpc", &mut block);
        http2::header(Err("te"), "trailers", &mut block);
        http2::frame(kind::HEADERS, flag::END_HEADERS, stream, &block, &mut self.output);
        self.call = Some(Call { stream, ..Call::default() });
        self.body.clear();
        self.held_back.clear();
        self.held_back.push(0);
        self.held_back.extend_from_slice(&(message.len() as u32).to_be_bytes());
        self.held_back.extend_from_slice(message);
        self.release();
        Ok(())
    }

    /// Adds what the connection's window has room for.
    fn release(&mut self) {
        let Some(call) = &self.call else { return };
        while !self.held_back.is_empty() {
            let room = usize::try_from(self.window).unwrap_or(0).min(PAYLOAD_BYTES_MAX);
            let length = room.min(self.held_back.len());
            if length == 0 {
                return;
            }
            let end = if length == self.held_back.len() { flag::END_STREAM } else { 0 };
            http2::frame(kind::DATA, end, call.stream, &self.held_back[..length], &mut self.output);
            self.held_back.drain(..length);
            self.window -= length as i64;
        }
    }

    /// Sends what was added, if there is any.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn send(&mut self) -> Result<(), Error> {
        self.stream.write_all(&self.output).map_err(Error::Lost)?;
        self.output.clear();
        Ok(())
    }

    /// The answer's message, without waiting; none: it has not come whole, or no call is under way. The call is over with it.
    ///
    /// # Errors
    /// When the server refuses (the connection goes on), the connection is lost, or what comes is no answer.
    pub fn answer(&mut self) -> Result<Option<&[u8]>, Error> {
        // Between calls a server may say something, too: a ping, more room, its end.
        while self.call.as_ref().is_none_or(|call| !call.is_over) {
            if !self.take_frame()? {
                // What the server must know to go on: its pings, its settings.
                self.send()?;
                return Ok(None);
            }
        }
        self.send()?;
        let Some(call) = self.call.take() else { return Ok(None) };
        accepted(&call.fields)?;
        let [compressed, length @ ..] =
            *self.body.first_chunk::<PREFIX_BYTES>().ok_or_else(|| unread("an answer has no message"))?;
        let message = &self.body[PREFIX_BYTES..];
        if compressed != 0 || u32::from_be_bytes(length) as usize != message.len() {
            return Err(unread("an answer's message is not as long as it says, or compressed"));
        }
        Ok(Some(message))
    }

    /// Takes a frame; false: it has not come whole.
    fn take_frame(&mut self) -> Result<bool, Error> {
        if !self.input.have(&self.stream, HEAD_BYTES)? {
            return Ok(false);
        }
        let bytes = self.input.bytes().first_chunk::<HEAD_BYTES>().expect("they are there");
        let head = Head::of(bytes);
        if head.length > PAYLOAD_BYTES_MAX {
            return Err(unread("a frame is longer than was allowed"));
        }
        if !self.input.have(&self.stream, HEAD_BYTES + head.length)? {
            return Ok(false);
        }
        let payload = self.input.take(HEAD_BYTES + head.length)[HEAD_BYTES..].to_vec();
        self.see(head, &payload)?;
        Ok(true)
    }

    fn see(&mut self, head: Head, payload: &[u8]) -> Result<(), Error> {
        let is_amid_headers = self.call.as_ref().is_some_and(|call| call.block.is_some());
        if is_amid_headers && head.kind != kind::CONTINUATION {
            return Err(unread("headers are cut off by another frame"));
        }
        match head.kind {
            kind::DATA => self.data(head, payload),
            kind::HEADERS | kind::CONTINUATION => self.headers(head, payload),
            kind::SETTINGS if !head.has(flag::ACKNOWLEDGES) => self.settings(payload),
            kind::PING if !head.has(flag::ACKNOWLEDGES) => {
                http2::frame(kind::PING, flag::ACKNOWLEDGES, 0, payload, &mut self.output);
                Ok(())
            }
            kind::WINDOW => {
                let more: [u8; 4] = payload.try_into().map_err(|_| unread("a window's frame has another length"))?;
                // A stream's own window is larger than what is sent on it.
                if head.stream == 0 {
                    self.window += i64::from(u32::from_be_bytes(more) & http2::WINDOW_BYTES_MAX);
                    self.release();
                }
                Ok(())
            }
            kind::RESET if self.is_of_call(head) => {
                Err(unread(&format!("the server gave the call up, {}", code(payload, 0))))
            }
            kind::GO_AWAY => Err(unread(&format!("the server ends the connection, {}", code(payload, 4)))),
            kind::PUSH => Err(unread("the server sends what nobody asked for")),
            _ => Ok(()),
        }
    }

    fn is_of_call(&self, head: Head) -> bool {
        self.call.as_ref().is_some_and(|call| call.stream == head.stream && !call.is_over)
    }

    fn data(&mut self, head: Head, payload: &[u8]) -> Result<(), Error> {
        self.received += head.length as u32;
        if self.received >= WINDOW_STEP_BYTES {
            let received = std::mem::take(&mut self.received);
            http2::frame(kind::WINDOW, 0, 0, &received.to_be_bytes(), &mut self.output);
        }
        if !self.is_of_call(head) {
            return Err(unread("data come to no call"));
        }
        self.body.extend_from_slice(http2::unpadded(head, payload)?);
        if self.body.len() > ANSWER_BYTES_MAX {
            return Err(unread("an answer does not end"));
        }
        if head.has(flag::END_STREAM) { Err(unread("an answer ends without a status")) } else { Ok(()) }
    }

    fn headers(&mut self, head: Head, payload: &[u8]) -> Result<(), Error> {
        if !self.is_of_call(head) {
            return Err(unread("headers come to no call"));
        }
        let call = self.call.as_mut().expect("they are of it");
        let (mut block, ends) = match (head.kind, call.block.take()) {
            (kind::CONTINUATION, Some(begun)) => begun,
            (kind::HEADERS, None) => (Vec::new(), head.has(flag::END_STREAM)),
            _ => return Err(unread("headers go on that have not begun")),
        };
        let part = if head.kind == kind::HEADERS { http2::unpadded(head, payload)? } else { payload };
        block.extend_from_slice(part);
        if block.len() > PAYLOAD_BYTES_MAX {
            return Err(unread("headers do not end"));
        }
        if !head.has(flag::END_HEADERS) {
            call.block = Some((block, ends));
            return Ok(());
        }
        let Fields { status, grpc_status, grpc_message } = http2::fields(&block)?;
        call.fields.status = status.or(call.fields.status.take());
        call.fields.grpc_status = grpc_status.or(call.fields.grpc_status.take());
        call.fields.grpc_message = grpc_message.or(call.fields.grpc_message.take());
        call.is_over = ends;
        Ok(())
    }

    fn settings(&mut self, payload: &[u8]) -> Result<(), Error> {
        if !payload.len().is_multiple_of(6) {
            return Err(unread("settings have another length"));
        }
        for (number, value) in http2::settings_of(payload) {
            if number == setting::WINDOW_BYTES {
                self.stream_window = value.min(http2::WINDOW_BYTES_MAX);
            }
        }
        http2::frame(kind::SETTINGS, flag::ACKNOWLEDGES, 0, &[], &mut self.output);
        Ok(())
    }

    /// Makes a call and waits for its answer.
    ///
    /// # Errors
    /// As [`Grpc::answer`].
    pub fn ask(&mut self, path: &str, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.begin(path, message)?;
        self.send()?;
        loop {
            if let Some(answer) = self.answer()? {
                return Ok(answer.to_vec());
            }
            wait(self.stream.as_fd())?;
        }
    }

    /// Readable when more of an answer has come.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn unread(what: &str) -> Error {
    Error::Protocol(what.into())
}

/// An error code of HTTP/2, which lies at this place of a frame.
fn code(payload: &[u8], at: usize) -> String {
    let code = payload.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    code.map_or("without a code".into(), |code| format!("code {code}"))
}

/// Whether the answer is one, by its status.
fn accepted(fields: &Fields) -> Result<(), Error> {
    match (fields.status.as_deref(), fields.grpc_status.as_deref()) {
        (Some("200"), Some("0")) => Ok(()),
        (Some("200"), Some(code)) => {
            let message = crate::percent_decoded(fields.grpc_message.as_deref().unwrap_or("without a reason"));
            Err(Error::Refused { code: format!("gRPC {code}"), message })
        }
        (Some("200"), None) => Err(unread("an answer ends without a status")),
        (status, _) => Err(unread(&format!("HTTP's status is {}", status.unwrap_or("missing")))),
    }
}
