//! One header block.

use super::{BLOCK, Entry, EntryKind, INVALID};
use crate::error::SourceError;

/// What the magic fields say about the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    V7,
    Ustar,
    Star,
    Gnu,
}

/// The fields that matter, before extended headers are applied.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) typeflag: u8,
    pub(super) name: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) size: i64,
    pub(super) mode: i64,
}

impl Header {
    /// Checks the checksum and every numeric field, used or not.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Self, SourceError> {
        let layout = layout(block)?;
        for unused in [108..116, 116..124, 136..148] {
            numeric(&block[unused])?;
        }
        let mut header = Self {
            typeflag: block[156],
            name: until_nul(&block[..100]).to_vec(),
            link: until_nul(&block[157..257]).to_vec(),
            size: numeric(&block[124..136])?,
            mode: numeric(&block[100..108])?,
        };
        if layout == Layout::V7 {
            return Ok(header);
        }
        for device in [329..337, 337..345] {
            numeric(&block[device])?;
        }
        let prefix = prefix(block, layout)?;
        if !prefix.is_empty() {
            header.name = [prefix, b"/", &header.name].concat();
        }
        Ok(header)
    }

    /// Types whose size field does not announce content.
    pub(super) fn is_header_only(&self) -> bool {
        matches!(self.typeflag, b'1'..=b'6')
    }

    /// The original tar had no type for directories: a slash at the end of the name said it.
    pub(super) fn settle_old_type(&mut self) {
        if self.typeflag == 0 {
            self.typeflag = if self.name.last() == Some(&b'/') { b'5' } else { b'0' };
        }
    }

    pub(super) fn into_entry(self, size: u64) -> Entry {
        let kind = match self.typeflag {
            b'0' => EntryKind::File,
            b'2' => EntryKind::Link,
            b'5' => EntryKind::Dir,
            _ => EntryKind::Other,
        };
        // Modes are 32 bits wide where they are used; wider numbers lose their upper half.
        Entry { kind, name: self.name, link: self.link, mode: self.mode as u32, size }
    }
}

/// A field up to its first NUL.
pub(super) fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number in base 256 if its top bit is set, in octal otherwise.
pub(super) fn numeric(field: &[u8]) -> Result<i64, SourceError> {
    let Some(first) = field.first().filter(|first| **first & 0x80 != 0) else {
        return octal(field);
    };
    let flip = if first & 0x40 == 0 { 0 } else { 0xff };
    let mut value: u64 = 0;
    for (at, byte) in field.iter().enumerate() {
        let digit = (byte ^ flip) & if at == 0 { 0x7f } else { 0xff };
        if value >> 56 != 0 {
            return Err(INVALID);
        }
        value = value << 8 | u64::from(digit);
    }
    let value = i64::try_from(value).map_err(|_| INVALID)?;
    Ok(if flip == 0 { value } else { !value })
}

fn octal(field: &[u8]) -> Result<i64, SourceError> {
    let is_filler = |byte: &u8| matches!(byte, 0 | b' ');
    let Some(start) = field.iter().position(|byte| !is_filler(byte)) else {
        return Ok(0);
    };
    let end = field.iter().rposition(|byte| !is_filler(byte)).map_or(start, |last| last + 1);
    until_nul(&field[start..end]).iter().try_fold(0i64, |value, digit| match digit {
        b'0'..=b'7' => Ok(value << 3 | i64::from(digit - b'0')),
        _ => Err(INVALID),
    })
}

fn layout(block: &[u8; BLOCK]) -> Result<Layout, SourceError> {
    let stored = octal(&block[148..156])?;
    let (mut unsigned, mut signed) = (0i64, 0i64);
    for (at, byte) in block.iter().enumerate() {
        let byte = if (148..156).contains(&at) { b' ' } else { *byte };
        unsigned += i64::from(byte);
        signed += i64::from(byte as i8);
    }
    if stored != unsigned && stored != signed {
        return Err(INVALID);
    }
    Ok(match (&block[257..263], &block[263..265]) {
        (b"ustar\0", _) if &block[508..] == b"tar\0" => Layout::Star,
        (b"ustar\0", _) => Layout::Ustar,
        (b"ustar ", b" \0") => Layout::Gnu,
        _ => Layout::V7,
    })
}

pub(super) fn is_gnu(block: &[u8; BLOCK]) -> bool {
    matches!(layout(block), Ok(Layout::Gnu))
}

fn prefix(block: &[u8; BLOCK], layout: Layout) -> Result<&[u8], SourceError> {
    let ustar = until_nul(&block[345..500]);
    match layout {
        Layout::V7 => Ok(b""),
        Layout::Ustar => Ok(ustar),
        Layout::Star => {
            numeric(&block[476..488])?;
            numeric(&block[488..500])?;
            Ok(until_nul(&block[345..476]))
        }
        Layout::Gnu => {
            // Where GNU keeps two times, an old writer kept a prefix: if these are no times, it was that one.
            let times = [&block[345..357], &block[357..369]];
            let odd = times.iter().any(|time| time[0] != 0 && numeric(time).is_err());
            Ok(if odd && ustar.is_ascii() { ustar } else { b"" })
        }
    }
}
