//! The entries of a tar stream, read as Go's `archive/tar` reads them.
//!
//! Understood: V7, USTAR, STAR, GNU and PAX headers; long names of both kinds; numbers in octal and in
//! base 256; global PAX headers (skipped); old GNU sparse files (their map is checked, then they are
//! skipped like every other unusual type). A missing end-of-archive marker is accepted, missing content
//! is not. Records that describe the next entry are bounded to [`MAX_RECORD`] bytes whatever they claim.
//!
//! Refused: sparse files in PAX format.

mod header;
mod pax;
mod sparse;

use crate::error::SourceError;
use crate::gunzip::Gunzip;
use crate::paths::shown;
use header::Header;
use pax::Pax;

pub(crate) const BLOCK: usize = 512;
/// Longest PAX or GNU long-name record.
const MAX_RECORD: u64 = 1 << 20;

pub(crate) const INVALID: SourceError = SourceError::Tar("invalid tar header");
const TRUNCATED: SourceError = SourceError::Tar("unexpected EOF");
const TOO_LONG: SourceError = SourceError::Tar("header field too long");

/// What kind of thing an entry makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Dir,
    Link,
    /// Hard links, devices, sparse files, and whatever else has no effect.
    #[default]
    Other,
}

/// One entry.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) kind: EntryKind,
    pub(crate) name: Vec<u8>,
    pub(crate) link: Vec<u8>,
    pub(crate) mode: u32,
    /// Bytes of content to come.
    pub(crate) size: u64,
}

/// Reads entries one after another.
pub(crate) struct Tar<'a> {
    input: &'a mut Gunzip,
    content_left: u64,
    padding: u64,
    record: Vec<u8>,
}

impl<'a> Tar<'a> {
    pub(crate) fn new(input: &'a mut Gunzip) -> Self {
        Self { input, content_left: 0, padding: 0, record: Vec::new() }
    }

    /// Moves to the next entry; `false` at the end of the archive. Content not read is skipped.
    pub(crate) fn next(&mut self, entry: &mut Entry) -> Result<bool, SourceError> {
        let mut pax = Pax::default();
        let (mut long_name, mut long_link) = (Vec::new(), Vec::new());
        loop {
            let mut block = [0; BLOCK];
            if !self.skip_content()? || !self.read_header_block(&mut block)? {
                return Ok(false);
            }
            let mut header = Header::parse(&block)?;
            self.expect_content(&header)?;
            match header.typeflag {
                b'x' | b'g' => {
                    self.read_record()?;
                    pax = Pax::parse(&self.record)?;
                    if header.typeflag == b'g' {
                        *entry = Entry::default();
                        return Ok(true);
                    }
                }
                b'L' => {
                    self.read_record()?;
                    long_name = header::until_nul(&self.record).to_vec();
                }
                b'K' => {
                    self.read_record()?;
                    long_link = header::until_nul(&self.record).to_vec();
                }
                _ => {
                    let sparse = pax.apply(&mut header)?;
                    if !long_name.is_empty() {
                        header.name = long_name;
                    }
                    if !long_link.is_empty() {
                        header.link = long_link;
                    }
                    header.settle_old_type();
                    self.expect_content(&header)?;
                    if header.typeflag == b'S' {
                        sparse::check_old_gnu(&mut block, |next| self.read_exact(next))?;
                    } else if sparse {
                        return Err(SourceError::Sparse { name: shown(&header.name) });
                    }
                    *entry = header.into_entry(self.content_left);
                    return Ok(true);
                }
            }
        }
    }

    /// The next bytes of the current entry's content; empty at its end.
    pub(crate) fn content(&mut self) -> Result<&[u8], SourceError> {
        if self.content_left == 0 {
            return Ok(&[]);
        }
        let at_hand = self.input.fill()?;
        if at_hand.is_empty() {
            return Err(TRUNCATED);
        }
        let count = usize::try_from(self.content_left).unwrap_or(usize::MAX).min(at_hand.len());
        Ok(&at_hand[..count])
    }

    /// Marks `count` bytes of content as used.
    pub(crate) fn consume(&mut self, count: usize) {
        self.input.consume(count);
        self.content_left -= count as u64;
    }

    fn expect_content(&mut self, header: &Header) -> Result<(), SourceError> {
        let size = if header.is_header_only() { 0 } else { header.size };
        self.content_left = u64::try_from(size).map_err(|_| INVALID)?;
        self.padding = self.content_left.wrapping_neg() % BLOCK as u64;
        Ok(())
    }

    /// Skips to the next header; `false` if the archive ends in the padding.
    fn skip_content(&mut self) -> Result<bool, SourceError> {
        while self.content_left > 0 {
            let count = self.content()?.len();
            self.consume(count);
        }
        while self.padding > 0 {
            let at_hand = self.input.fill()?.len();
            if at_hand == 0 {
                return Ok(false);
            }
            let count = at_hand.min(self.padding as usize);
            self.input.consume(count);
            self.padding -= count as u64;
        }
        Ok(true)
    }

    /// `false` at the end: nothing left, a lone zero block, or two of them.
    fn read_header_block(&mut self, block: &mut [u8; BLOCK]) -> Result<bool, SourceError> {
        if self.read_up_to(block)? == 0 {
            return Ok(false);
        }
        if *block != [0; BLOCK] {
            return Ok(true);
        }
        if self.read_up_to(block)? == 0 || *block == [0; BLOCK] {
            return Ok(false);
        }
        Err(INVALID)
    }

    /// Reads a whole block, or nothing at the very end.
    fn read_up_to(&mut self, block: &mut [u8; BLOCK]) -> Result<usize, SourceError> {
        if self.input.fill()?.is_empty() {
            return Ok(0);
        }
        self.read_exact(block)?;
        Ok(BLOCK)
    }

    fn read_exact(&mut self, block: &mut [u8; BLOCK]) -> Result<(), SourceError> {
        let mut done = 0;
        while done < BLOCK {
            let at_hand = self.input.fill()?;
            if at_hand.is_empty() {
                return Err(TRUNCATED);
            }
            let count = at_hand.len().min(BLOCK - done);
            block[done..done + count].copy_from_slice(&at_hand[..count]);
            self.input.consume(count);
            done += count;
        }
        Ok(())
    }

    fn read_record(&mut self) -> Result<(), SourceError> {
        if self.content_left > MAX_RECORD {
            return Err(TOO_LONG);
        }
        self.record.clear();
        while self.content_left > 0 {
            let mut record = std::mem::take(&mut self.record);
            let content = self.content()?;
            record.extend_from_slice(content);
            let count = content.len();
            self.consume(count);
            self.record = record;
        }
        Ok(())
    }
}
