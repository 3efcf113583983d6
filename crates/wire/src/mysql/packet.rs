//! Packets: a length of three bytes, a number, a body. A longer body goes in several, and ends with the first that is not full (MariaDB's
//! knowledge base, "0 - Packet").

use crate::Error;
use crate::buffer::Buffer;
use crate::stream::Stream;
use std::io::Write as _;

/// Bytes before a body.
pub const HEAD_BYTES: usize = 4;

/// A body of this length goes on in the next packet.
const BODY_BYTES_MAX: usize = 0xff_ffff;

/// No server takes or sends more (both manuals, `max_allowed_packet`).
pub const JOINED_BYTES_MAX: usize = 1 << 30;

fn head(length: usize, sequence: u8) -> [u8; HEAD_BYTES] {
    let [low, middle, high, ..] = length.to_le_bytes();
    [low, middle, high, sequence]
}

/// Sends a body, before which there is room for its head.
pub fn send(stream: &mut Stream, packet: &mut [u8], sequence: u8) -> Result<(), Error> {
    let length = packet.len() - HEAD_BYTES;
    if length < BODY_BYTES_MAX {
        packet[..HEAD_BYTES].copy_from_slice(&head(length, sequence));
        return stream.write_all(packet).map_err(Error::Lost);
    }
    if length > JOINED_BYTES_MAX {
        return Err(Error::Protocol(format!("a message of {length} bytes is too long to send")));
    }
    let body = &packet[HEAD_BYTES..];
    let empty = length.is_multiple_of(BODY_BYTES_MAX).then_some(&body[..0]);
    for (number, piece) in (sequence..).zip(body.chunks(BODY_BYTES_MAX).chain(empty)) {
        stream.write_all(&head(piece.len(), number)).map_err(Error::Lost)?;
        stream.write_all(piece).map_err(Error::Lost)?;
    }
    Ok(())
}

/// The length of the next body, joined, and the number of its last packet, when all of it has come; it is then to be taken.
pub fn next(input: &mut Buffer, stream: &Stream) -> Result<Option<(usize, u8)>, Error> {
    // Where heads lie, behind the first.
    let (mut inner, mut at) = (Vec::new(), 0);
    let sequence = loop {
        if !input.have(stream, at + HEAD_BYTES)? {
            return Ok(None);
        }
        let [low, middle, high, sequence] = *input.bytes()[at..].first_chunk::<HEAD_BYTES>().expect("it is there");
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        at += HEAD_BYTES + length;
        if length < BODY_BYTES_MAX {
            break sequence;
        }
        if at > JOINED_BYTES_MAX {
            return Err(Error::Protocol("a row of more than 1 GiB".into()));
        }
        inner.push(at);
    };
    if !input.have(stream, at)? {
        return Ok(None);
    }
    input.cut(&inner, HEAD_BYTES);
    input.take(HEAD_BYTES);
    Ok(Some((at - HEAD_BYTES * (1 + inner.len()), sequence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::wait;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_long_body_goes_in_pieces_and_comes_back_whole() {
        let pattern: Vec<u8> = (0..=250).collect();
        for (length, last) in [(3, 0), (BODY_BYTES_MAX - 1, 0), (BODY_BYTES_MAX, 1), (BODY_BYTES_MAX + 1, 1)] {
            let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
            let body = pattern.repeat(length / pattern.len() + 1)[..length].to_vec();
            let mut sent = [&[0; HEAD_BYTES][..], &body].concat();
            let writer = std::thread::spawn(move || {
                let mut stream = Stream::Unix(theirs);
                send(&mut stream, &mut sent, 0)?;
                send(&mut stream, &mut [0, 0, 0, 0, 7], 9)
            });
            let (stream, mut input) = (Stream::Unix(ours), Buffer::new());
            let mut read = || loop {
                match next(&mut input, &stream).expect("it is whole") {
                    Some((length, sequence)) => return (input.take(length).to_vec(), sequence),
                    None => wait(stream.as_fd()).expect("it is open"),
                }
            };
            let (found, sequence) = read();
            assert!(found == body && sequence == last, "{length}: {} bytes, packet {sequence}", found.len());
            assert_eq!(read(), (vec![7], 9), "what follows is no part of it");
            writer.join().expect("no panic").expect("all is sent");
        }
    }
}
