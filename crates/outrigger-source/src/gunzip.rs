//! Decompression, with the reading habits of Go's `compress/gzip`: any number of members, every header
//! and trailer checked when it is reached, and all bytes before a defect delivered before the defect is.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::error::{LimitKind, SourceError};
use crate::wire::Wire;

/// Decompressed bytes kept at hand.
const WINDOW: usize = 128 * 1024;
/// Longest file name or comment in a member's header.
const HEADER_STRING: usize = 512;

const TRUNCATED: &str = "unexpected EOF";
const BAD_HEADER: &str = "invalid header";
const BAD_CHECKSUM: &str = "invalid checksum";
const BAD_DATA: &str = "corrupt input";

enum State {
    FirstHeader,
    Header,
    Body,
    Trailer,
    Over,
}

/// A stream of decompressed bytes.
pub(crate) struct Gunzip {
    wire: Wire,
    state: State,
    inflate: Decompress,
    crc: Crc,
    window: Vec<u8>,
    start: usize,
    end: usize,
    total: u64,
    allowed: u64,
    defect: Option<SourceError>,
}

impl Gunzip {
    /// Decompresses what comes out of `wire`, refusing to produce more than `allowed` bytes.
    pub(crate) fn new(wire: Wire, allowed: u64) -> Self {
        Self {
            wire,
            state: State::FirstHeader,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            window: vec![0; WINDOW],
            start: 0,
            end: 0,
            total: 0,
            allowed,
            defect: None,
        }
    }

    /// The compressed side.
    pub(crate) fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// The bytes at hand, at least one unless the stream is over.
    pub(crate) fn fill(&mut self) -> Result<&[u8], SourceError> {
        while self.start == self.end {
            if let Some(defect) = self.defect.take() {
                self.state = State::Over;
                return Err(defect);
            }
            if matches!(self.state, State::Over) {
                break;
            }
            if let Err(defect) = self.advance() {
                self.defect = Some(defect);
            }
        }
        Ok(&self.window[self.start..self.end])
    }

    /// Marks `count` of the bytes at hand as used.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
    }

    fn advance(&mut self) -> Result<(), SourceError> {
        match self.state {
            State::FirstHeader | State::Header => {
                if self.wire.fill()?.is_empty() {
                    if matches!(self.state, State::FirstHeader) {
                        return Err(SourceError::Gzip("EOF"));
                    }
                    self.state = State::Over;
                    return Ok(());
                }
                self.member_header()?;
                self.state = State::Body;
                Ok(())
            }
            State::Body => self.body(),
            State::Trailer => self.trailer(),
            State::Over => Ok(()),
        }
    }

    fn body(&mut self) -> Result<(), SourceError> {
        let input = self.wire.fill()?;
        let at_end = input.is_empty();
        let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
        let outcome = self.inflate.decompress(input, &mut self.window, FlushDecompress::None);
        let read = self.inflate.total_in() - read;
        let written = (self.inflate.total_out() - written) as usize;
        self.wire.consume(read as usize);
        self.crc.update(&self.window[..written]);
        self.start = 0;
        self.end = written;
        self.total += written as u64;
        if self.total > self.allowed {
            self.end = 0;
            return Err(SourceError::Limit { kind: LimitKind::SourceBytes, allowed: self.allowed });
        }
        match outcome {
            Ok(Status::StreamEnd) => self.state = State::Trailer,
            Ok(Status::Ok | Status::BufError) if at_end && written == 0 => {
                return Err(SourceError::Gzip(TRUNCATED));
            }
            Ok(_) => {}
            Err(_) => return Err(SourceError::Gzip(BAD_DATA)),
        }
        Ok(())
    }

    fn trailer(&mut self) -> Result<(), SourceError> {
        let mut trailer = [0; 8];
        self.read(&mut trailer)?;
        let [a, b, c, d, e, f, g, h] = trailer;
        let (sum, length) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if sum != self.crc.sum() || length != self.crc.amount() {
            return Err(SourceError::Gzip(BAD_CHECKSUM));
        }
        self.crc.reset();
        self.inflate.reset(false);
        self.state = State::Header;
        Ok(())
    }

    fn member_header(&mut self) -> Result<(), SourceError> {
        let mut crc = Crc::new();
        let mut fixed = [0; 10];
        self.read(&mut fixed)?;
        crc.update(&fixed);
        let flags = fixed[3];
        if fixed[..3] != [0x1f, 0x8b, 8] {
            return Err(SourceError::Gzip(BAD_HEADER));
        }
        if flags & 4 != 0 {
            let mut length = [0; 2];
            self.read(&mut length)?;
            crc.update(&length);
            for _ in 0..u16::from_le_bytes(length) {
                crc.update(&[self.byte()?]);
            }
        }
        for flag in [8, 16] {
            if flags & flag != 0 {
                self.header_string(&mut crc)?;
            }
        }
        if flags & 2 != 0 {
            let mut stored = [0; 2];
            self.read(&mut stored)?;
            if u32::from(u16::from_le_bytes(stored)) != crc.sum() & 0xffff {
                return Err(SourceError::Gzip(BAD_HEADER));
            }
        }
        Ok(())
    }

    fn header_string(&mut self, crc: &mut Crc) -> Result<(), SourceError> {
        for _ in 0..HEADER_STRING {
            let byte = self.byte()?;
            crc.update(&[byte]);
            if byte == 0 {
                return Ok(());
            }
        }
        Err(SourceError::Gzip(BAD_HEADER))
    }

    fn byte(&mut self) -> Result<u8, SourceError> {
        let mut one = [0];
        self.read(&mut one)?;
        Ok(one[0])
    }

    fn read(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        let mut done = 0;
        while done < into.len() {
            let at_hand = self.wire.fill()?;
            if at_hand.is_empty() {
                return Err(SourceError::Gzip(TRUNCATED));
            }
            let count = at_hand.len().min(into.len() - done);
            into[done..done + count].copy_from_slice(&at_hand[..count]);
            self.wire.consume(count);
            done += count;
        }
        Ok(())
    }
}
