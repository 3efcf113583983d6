//! Zstandard as `zstd`, `pzstd` and `cat` of several files leave it: any number of frames, each checked against its checksum.
//!
//! ruzstd decodes one frame and compares nothing. Format: RFC 8878.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// What the frames of `source` hold, one after the other.
pub struct Zstandard<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstandard<R> {
    /// Begins at the source's first frame.
    pub fn new(source: R) -> Zstandard<R> {
        Zstandard { source, decoder: FrameDecoder::new(), is_in_frame: false }
    }

    /// Goes on to the next frame that has data; false: there is none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut (&mut self.source).take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }

    fn check(&self) -> io::Result<()> {
        let (told, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if told.is_some() && told != found { Err(damaged("wrong checksum")) } else { Ok(()) }
    }
}

impl<R: BufRead> Read for Zstandard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() && (self.is_in_frame || self.begin()?) {
            let decoder = &mut self.decoder;
            while decoder.can_collect() < buffer.len() && !decoder.is_finished() {
                let wanted = BlockDecodingStrategy::UptoBytes(buffer.len() - decoder.can_collect());
                decoder.decode_blocks(&mut self.source, wanted).map_err(damaged)?;
            }
            let read = decoder.read(buffer)?;
            self.is_in_frame = read > 0;
            if read > 0 {
                return Ok(read);
            }
            self.check()?;
        }
        Ok(0)
    }
}

fn damaged(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged Zstandard: {why}"))
}
