//! What gRPC needs of HTTP/2 (RFC 9113) and of its header compression (RFC 7541), for a client that allows no dynamic table. Pure.

use crate::Error;
use httlib_huffman::DecoderSpeed;

/// What a connection begins with.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame's head: length, kind, flags, stream.
pub const HEAD_BYTES: usize = 9;

/// Bytes of a frame's payload that every side takes; this client asks for no more.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 10;

/// Bytes of a stream and of a connection that may be under way, until the other side says something else.
pub const WINDOW_BYTES: u32 = 65_535;

/// The largest window there is.
pub const WINDOW_BYTES_MAX: u32 = (1 << 31) - 1;

/// Kinds of frames.
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RESET: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH: u8 = 5;
    pub const PING: u8 = 6;
    pub const GO_AWAY: u8 = 7;
    pub const WINDOW: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub mod flag {
    pub const END_STREAM: u8 = 0x1;
    pub const ACKNOWLEDGES: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// Numbers of settings.
pub mod setting {
    pub const TABLE_BYTES: u16 = 1;
    pub const PUSH: u16 = 2;
    pub const WINDOW_BYTES: u16 = 4;
}

/// A frame's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl Head {
    /// Of nine bytes.
    pub fn of(bytes: &[u8; HEAD_BYTES]) -> Head {
        let [a, b, c, kind, flags, rest @ ..] = *bytes;
        let stream = u32::from_be_bytes(rest) & WINDOW_BYTES_MAX;
        Head { length: u32::from_be_bytes([0, a, b, c]) as usize, kind, flags, stream }
    }

    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// The payload of a frame of settings.
pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    values.iter().flat_map(|(number, value)| [&number.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect()
}

/// The settings of such a payload.
pub fn settings_of(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    let (settings, _) = payload.as_chunks::<6>();
    settings.iter().map(|[a, b, value @ ..]| (u16::from_be_bytes([*a, *b]), u32::from_be_bytes(*value)))
}

/// A frame's payload without its padding, and without the priority that older servers send.
pub fn unpadded(head: Head, payload: &[u8]) -> Result<&[u8], Error> {
    let wrong = || Error::Protocol("a frame is shorter than its padding".into());
    let (padding, mut rest) = match payload.split_first() {
        Some((padding, rest)) if head.has(flag::PADDED) => (usize::from(*padding), rest),
        None if head.has(flag::PADDED) => return Err(wrong()),
        _ => (0, payload),
    };
    if head.kind == kind::HEADERS && head.has(flag::PRIORITY) {
        rest = rest.get(5..).ok_or_else(wrong)?;
    }
    rest.len().checked_sub(padding).map(|length| &rest[..length]).ok_or_else(wrong)
}

/// What of an answer's headers and trailers decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// `:status`.
    pub status: Option<String>,
    /// `grpc-status`: 0 is right.
    pub grpc_status: Option<String>,
    /// `grpc-message`, with its percent signs.
    pub grpc_message: Option<String>,
}

/// Values of `:status` that the static table has, from its eighth entry on (RFC 7541, appendix A).
const STATUS: [&str; 7] = ["200", "204", "206", "304", "400", "404", "500"];

/// The entry that the static table ends with.
const STATIC_MAX: usize = 61;

/// Reads a header block.
pub fn fields(mut block: &[u8]) -> Result<Fields, Error> {
    let mut fields = Fields::default();
    while let Some(&first) = block.first() {
        // An entry of the table; a change of the table's size; or a name and a value, which ask for a place in a table that has none.
        if first & 0x80 != 0 {
            let index = integer(&mut block, 7)?;
            known(index)?;
            if let Some(status) = index.checked_sub(8).and_then(|index| STATUS.get(index)) {
                fields.status = Some((*status).into());
            }
            continue;
        }
        if first & 0xe0 == 0x20 {
            if integer(&mut block, 5)? != 0 {
                return Err(Error::Protocol("headers want a table that was not allowed".into()));
            }
            continue;
        }
        let index = integer(&mut block, if first & 0x40 != 0 { 6 } else { 4 })?;
        let name = match index {
            0 => text(&mut block)?,
            8..=14 => b":status".to_vec(),
            _ => known(index).map(|()| Vec::new())?,
        };
        let value = String::from_utf8_lossy(&text(&mut block)?).into_owned();
        match &name[..] {
            b":status" => fields.status = Some(value),
            b"grpc-status" => fields.grpc_status = Some(value),
            b"grpc-message" => fields.grpc_message = Some(value),
            _ => {}
        }
    }
    Ok(fields)
}

fn known(index: usize) -> Result<(), Error> {
    if (1..=STATIC_MAX).contains(&index) {
        return Ok(());
    }
    Err(Error::Protocol(format!("headers name entry {index} of a table that has {STATIC_MAX}")))
}

fn cut() -> Error {
    Error::Protocol("headers are cut off".into())
}

/// A number whose first byte has so many bits for it (RFC 7541, 5.1), of no more than four further bytes.
fn integer(block: &mut &[u8], bits: u32) -> Result<usize, Error> {
    let (first, mut rest) = block.split_first().ok_or_else(cut)?;
    let mask = (1 << bits) - 1;
    let mut value = usize::from(*first) & mask;
    if value == mask {
        for shift in [0, 7, 14, 21, 28] {
            let (byte, behind) = rest.split_first().ok_or_else(cut)?;
            rest = behind;
            if shift == 28 {
                return Err(Error::Protocol("a number in the headers is too large".into()));
            }
            value += (usize::from(*byte) & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *block = rest;
    Ok(value)
}

/// A text, in Huffman's code or plain (RFC 7541, 5.2).
fn text(block: &mut &[u8]) -> Result<Vec<u8>, Error> {
    let is_coded = block.first().ok_or_else(cut)? & 0x80 != 0;
    let length = integer(block, 7)?;
    let (text, rest) = block.split_at_checked(length).ok_or_else(cut)?;
    *block = rest;
    if !is_coded {
        return Ok(text.to_vec());
    }
    let mut plain = Vec::new();
    let decoded = httlib_huffman::decode(text, &mut plain, DecoderSpeed::FourBits);
    decoded.map_err(|_| Error::Protocol("a text in the headers is in no code".into()))?;
    Ok(plain)
}

/// Appends a header by a name of its own or by the static table's, its value plain, for no table.
pub fn header(name: Result<u8, &str>, value: &str, out: &mut Vec<u8>) {
    match name {
        // Four bits hold a number below 15; larger ones go on in the next byte.
        Ok(index @ ..15) => out.push(index),
        Ok(index) => out.extend_from_slice(&[0x0f, index - 15]),
        Err(name) => {
            out.push(0);
            plain(name, out);
        }
    }
    plain(value, out);
}

fn plain(text: &str, out: &mut Vec<u8>) {
    assert!(text.len() < 127, "names and paths of ours are short");
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, C.6.1: the first answer with Huffman's code, without its places in the table.
    #[test]
    fn headers_are_read_as_the_standard_spells_them() {
        let status = fields(b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b").expect("right");
        assert_eq!(status.status.as_deref(), Some("302"));
        assert_eq!(
            fields(b"\x20\x88").expect("right").status.as_deref(),
            Some("200"),
            "the table's size, then an entry"
        );
        let trailers = fields(b"\x00\x0bgrpc-status\x018\x00\x0cgrpc-message\x05a%20b").expect("right");
        assert_eq!((trailers.grpc_status.as_deref(), trailers.grpc_message.as_deref()), (Some("8"), Some("a%20b")));
    }

    #[test]
    fn what_is_no_header_block_is_said() {
        for block in
            [&b"\xbe"[..], b"\x80", b"\x3f\x00", b"\x48", b"\x48\x83\x64", b"\x00\x7f\xff\xff\xff\xff\xff", b"\x0f\x30"]
        {
            fields(block).expect_err("it is none");
        }
    }

    /// RFC 7541, C.1.2: 1337 with a prefix of five bits.
    #[test]
    fn a_long_number_is_the_standards() {
        let mut block = &[0x1f, 0x9a, 0x0a, 7][..];
        assert_eq!(integer(&mut block, 5).expect("right"), 1337);
        assert_eq!(block, [7]);
    }

    #[test]
    fn headers_that_are_written_can_be_read() {
        let mut block = Vec::new();
        header(Ok(8), "404", &mut block);
        header(Ok(31), "application/grpc", &mut block);
        header(Err("grpc-status"), "12", &mut block);
        let read = fields(&block).expect("right");
        assert_eq!((read.status.as_deref(), read.grpc_status.as_deref()), (Some("404"), Some("12")));
    }

    #[test]
    fn padding_is_taken_away() {
        let head = |flags| Head { length: 0, kind: kind::DATA, flags, stream: 1 };
        assert_eq!(unpadded(head(flag::PADDED), b"\x02abXX").expect("right"), b"ab");
        unpadded(head(flag::PADDED), b"\x03ab").expect_err("shorter than its padding");
        unpadded(head(flag::PADDED), b"").expect_err("nothing at all");
        assert_eq!(unpadded(head(0), b"ab").expect("right"), b"ab");
    }
}
