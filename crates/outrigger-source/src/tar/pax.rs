//! PAX records: `length key=value\n`, over and over.

use super::INVALID;
use super::header::Header;
use crate::error::SourceError;

/// The records that matter. Of several with the same key the last one counts; empty ones do not.
#[derive(Debug, Default)]
pub(super) struct Pax {
    path: Vec<u8>,
    link: Vec<u8>,
    size: Vec<u8>,
    ids: [Vec<u8>; 2],
    times: [Vec<u8>; 3],
    sparse: Sparse,
}

/// Signs of a sparse file.
#[derive(Debug, Default)]
struct Sparse {
    major: Vec<u8>,
    minor: Vec<u8>,
    map: Vec<u8>,
    /// Offsets and lengths given as separate records, and whether any had a value.
    pairs: usize,
    pairs_have_text: bool,
}

impl Pax {
    pub(super) fn parse(mut text: &[u8]) -> Result<Self, SourceError> {
        let mut pax = Self::default();
        while !text.is_empty() {
            let (key, value, rest) = record(text).ok_or(INVALID)?;
            pax.keep(key, value)?;
            text = rest;
        }
        Ok(pax)
    }

    fn keep(&mut self, key: &[u8], value: &[u8]) -> Result<(), SourceError> {
        let slot = match key {
            b"path" => &mut self.path,
            b"linkpath" => &mut self.link,
            b"size" => &mut self.size,
            b"uid" => &mut self.ids[0],
            b"gid" => &mut self.ids[1],
            b"atime" => &mut self.times[0],
            b"mtime" => &mut self.times[1],
            b"ctime" => &mut self.times[2],
            b"GNU.sparse.major" => &mut self.sparse.major,
            b"GNU.sparse.minor" => &mut self.sparse.minor,
            b"GNU.sparse.map" => &mut self.sparse.map,
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => return self.sparse.pair(key, value),
            _ => return Ok(()),
        };
        *slot = value.to_vec();
        Ok(())
    }

    /// Overrides the header's fields. Returns whether the records describe a sparse file.
    pub(super) fn apply(self, header: &mut Header) -> Result<bool, SourceError> {
        for id in self.ids.iter().filter(|id| !id.is_empty()) {
            integer(id).ok_or(INVALID)?;
        }
        if !self.times.iter().all(|time| time.is_empty() || is_time(time)) {
            return Err(INVALID);
        }
        if !self.size.is_empty() {
            header.size = integer(&self.size).ok_or(INVALID)?;
        }
        if !self.path.is_empty() {
            header.name = self.path;
        }
        if !self.link.is_empty() {
            header.link = self.link;
        }
        Ok(self.sparse.is_sparse())
    }
}

impl Sparse {
    fn pair(&mut self, key: &[u8], value: &[u8]) -> Result<(), SourceError> {
        let expected: &[u8] =
            if self.pairs.is_multiple_of(2) { b"GNU.sparse.offset" } else { b"GNU.sparse.numbytes" };
        if key != expected || value.contains(&b',') {
            return Err(INVALID);
        }
        self.pairs += 1;
        self.pairs_have_text |= !value.is_empty();
        Ok(())
    }

    fn is_sparse(&self) -> bool {
        let has_map = match self.pairs {
            0 => !self.map.is_empty(),
            1 => self.pairs_have_text,
            _ => true,
        };
        match (self.major.as_slice(), self.minor.as_slice()) {
            (b"0", b"0" | b"1") | (b"1", b"0") => true,
            (b"", b"") => has_map,
            _ => false,
        }
    }
}

/// Splits off the first record as key, value and rest.
fn record(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let length = usize::try_from(integer(&text[..space])?).ok()?;
    if length < 5 || length > text.len() || length <= space + 1 {
        return None;
    }
    let (record, rest) = text.split_at(length);
    let pair = record[space + 1..].strip_suffix(b"\n")?;
    let equals = pair.iter().position(|byte| *byte == b'=')?;
    let (key, value) = (&pair[..equals], &pair[equals + 1..]);
    let nul_in = match key {
        b"" => return None,
        b"path" | b"linkpath" | b"uname" | b"gname" => value,
        _ => key,
    };
    (!nul_in.contains(&0)).then_some((key, value, rest))
}

/// A decimal integer with an optional sign.
fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Seconds with an optional fraction of any length.
fn is_time(text: &[u8]) -> bool {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let seconds = parts.next().unwrap_or_default();
    let fraction = parts.next().unwrap_or_default();
    integer(seconds).is_some() && fraction.iter().all(u8::is_ascii_digit)
}
