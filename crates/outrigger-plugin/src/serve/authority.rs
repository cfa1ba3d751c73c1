//! Requests of gRPC for Go over a unix socket, made acceptable.
//!
//! The repo-server puts the socket's path into `:authority`, where HTTP knows only host names, and our HTTP/2
//! library refuses such a request as malformed. So on unix sockets what the client sends passes through here:
//! where a header block spells out an authority that is none, a host name of the same length takes its place
//! (of the same length, because both ends remember headers by their size). Later requests refer to the first
//! and need no change. Everything else passes as it is, and what cannot be read is left to the library to judge.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BufMut as _, BytesMut};
use httlib_huffman::DecoderSpeed;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const FRAME_HEAD: usize = 9;
/// The largest frame without another setting, and we make no other.
const LARGEST_FRAME: usize = 16 * 1024;
/// The largest header block.
const LARGEST_BLOCK: usize = 64 * 1024;
const READ: usize = 32 * 1024;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// A connection whose incoming requests have an authority that HTTP accepts.
pub(super) struct Localhost<S> {
    stream: S,
    received: BytesMut,
    passed: BytesMut,
    frames: Frames,
}

impl<S> Localhost<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, received: BytesMut::new(), passed: BytesMut::new(), frames: Frames::new() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Localhost<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.passed.is_empty() {
            this.received.reserve(READ);
            let read = tokio_util::io::poll_read_buf(Pin::new(&mut this.stream), context, &mut this.received);
            if ready!(read)? == 0 {
                // What is left is half a frame, and nobody will send the other half.
                return Poll::Ready(Ok(()));
            }
            this.frames.pass(&mut this.received, &mut this.passed)?;
        }
        let count = this.passed.len().min(out.remaining());
        out.put_slice(&this.passed[..count]);
        this.passed.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Localhost<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The frames of one direction of a connection.
struct Frames {
    /// Bytes that pass untouched before the next frame begins.
    untouched: usize,
    /// A header block that is not complete yet: its stream, its flags, what there is of it.
    block: Option<Block>,
}

struct Block {
    stream: u32,
    flags: u8,
    packed: Vec<u8>,
}

fn refuse<T>(what: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

impl Frames {
    fn new() -> Self {
        Self { untouched: PREFACE, block: None }
    }

    /// Moves whole header blocks and any part of other frames from `received` to `passed`.
    fn pass(&mut self, received: &mut BytesMut, passed: &mut BytesMut) -> io::Result<()> {
        loop {
            let untouched = self.untouched.min(received.len());
            passed.extend_from_slice(&received.split_to(untouched));
            self.untouched -= untouched;
            if self.untouched > 0 || received.len() < FRAME_HEAD {
                return Ok(());
            }
            let head = &received[..FRAME_HEAD];
            let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            let (kind, flags) = (head[3], head[4]);
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
            if !matches!(kind, HEADERS | CONTINUATION) {
                if self.block.is_some() {
                    return refuse("a frame in the middle of a header block");
                }
                self.untouched = FRAME_HEAD + length;
                continue;
            }
            if length > LARGEST_FRAME {
                return refuse("a header frame larger than allowed");
            }
            if received.len() < FRAME_HEAD + length {
                return Ok(());
            }
            let frame = received.split_to(FRAME_HEAD + length);
            self.header_frame(kind, flags, stream, &frame[FRAME_HEAD..], passed)?;
        }
    }

    fn header_frame(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
        passed: &mut BytesMut,
    ) -> io::Result<()> {
        let mut block = match (kind, self.block.take()) {
            (HEADERS, None) => {
                Block { stream, flags: flags & END_STREAM, packed: fragment(flags, payload)?.to_vec() }
            }
            (CONTINUATION, Some(mut block)) if block.stream == stream => {
                block.packed.extend_from_slice(payload);
                block
            }
            _ => return refuse("header frames out of order"),
        };
        if block.packed.len() > LARGEST_BLOCK {
            return refuse("a header block larger than allowed");
        }
        if flags & END_HEADERS == 0 {
            self.block = Some(block);
            return Ok(());
        }
        let packed = std::mem::take(&mut block.packed);
        write_block(&block, &with_host_name(packed), passed);
        Ok(())
    }
}

/// The part of a HEADERS frame that is header block: without padding and priority.
fn fragment(flags: u8, mut payload: &[u8]) -> io::Result<&[u8]> {
    let mut padding = 0;
    if flags & PADDED != 0 {
        let Some((length, rest)) = payload.split_first() else {
            return refuse("a padded frame without padding");
        };
        (padding, payload) = (usize::from(*length), rest);
    }
    let priority = if flags & PRIORITY != 0 { 5 } else { 0 };
    match payload.len().checked_sub(padding) {
        Some(end) if end >= priority => Ok(&payload[priority..end]),
        _ => refuse("a header frame shorter than its padding"),
    }
}

/// The block with an authority that HTTP accepts.
fn with_host_name(packed: Vec<u8>) -> Vec<u8> {
    let Some((start, end)) = authority_literal(&packed) else { return packed };
    let Some((value, _)) = string(&packed[start..]) else { return packed };
    if value.is_empty() || http::uri::Authority::try_from(value.as_slice()).is_ok() {
        return packed;
    }
    let mut rewritten = packed[..start].to_vec();
    write_length(value.len(), &mut rewritten);
    rewritten.extend(b"localhost".iter().chain(std::iter::repeat(&b'x')).take(value.len()));
    rewritten.extend_from_slice(&packed[end..]);
    rewritten
}

/// Where in a block the value of `:authority` is spelled out, if it is.
fn authority_literal(packed: &[u8]) -> Option<(usize, usize)> {
    /// The place of `:authority` in the table that every HTTP/2 program knows.
    const AUTHORITY: usize = 1;
    let mut at = 0;
    while at < packed.len() {
        let first = packed[at];
        // RFC 7541, section 6: the highest bits tell what follows.
        let (prefix, is_literal) = match first {
            0x80.. => (7, false),
            0x40..=0x7f => (6, true),
            0x20..=0x3f => (5, false),
            _ => (4, true),
        };
        let (index, length) = integer(&packed[at..], prefix)?;
        at += length;
        if !is_literal {
            continue;
        }
        let mut is_authority = index == AUTHORITY;
        if index == 0 {
            let (name, length) = string(packed.get(at..)?)?;
            is_authority = name == b":authority";
            at += length;
        }
        let (value_length, head) = integer(packed.get(at..)?, 7)?;
        let end = at.checked_add(head)?.checked_add(value_length)?;
        if end > packed.len() {
            return None;
        }
        if is_authority {
            return Some((at, end));
        }
        at = end;
    }
    None
}

/// An integer with a prefix of so many bits, and the bytes it takes.
fn integer(bytes: &[u8], prefix: u32) -> Option<(usize, usize)> {
    let mask = (1_usize << prefix) - 1;
    let mut value = usize::from(*bytes.first()?) & mask;
    if value < mask {
        return Some((value, 1));
    }
    // Four more bytes are enough for any length that fits into a block.
    for (number, byte) in bytes.iter().skip(1).take(4).enumerate() {
        value += usize::from(byte & 0x7f) << (7 * number);
        if byte & 0x80 == 0 {
            return Some((value, number + 2));
        }
    }
    None
}

/// A string, unpacked, and the bytes it takes.
fn string(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (length, head) = integer(bytes, 7)?;
    let packed = bytes.get(head..head.checked_add(length)?)?;
    let is_huffman = bytes[0] & 0x80 != 0;
    let mut text = Vec::new();
    if is_huffman {
        httlib_huffman::decode(packed, &mut text, DecoderSpeed::FourBits).ok()?;
    } else {
        text.extend_from_slice(packed);
    }
    Some((text, head + length))
}

/// An integer with a prefix of seven bits.
fn write_length(length: usize, out: &mut Vec<u8>) {
    const PREFIX: usize = 0x7f;
    if length < PREFIX {
        out.push(length as u8);
        return;
    }
    out.push(PREFIX as u8);
    let mut rest = length - PREFIX;
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn write_block(block: &Block, plain: &[u8], out: &mut BytesMut) {
    let mut kind = HEADERS;
    let mut flags = block.flags;
    let mut rest = plain;
    loop {
        let (piece, more) = rest.split_at(rest.len().min(LARGEST_FRAME));
        if more.is_empty() {
            flags |= END_HEADERS;
        }
        out.put_uint(piece.len() as u64, 3);
        out.put_u8(kind);
        out.put_u8(flags);
        out.put_u32(block.stream);
        out.extend_from_slice(piece);
        if more.is_empty() {
            return;
        }
        (kind, flags, rest) = (CONTINUATION, 0, more);
    }
}

#[cfg(test)]
mod tests;
