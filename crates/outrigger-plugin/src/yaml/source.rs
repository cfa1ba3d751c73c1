//! From raw bytes to text the scanner may trust.
//!
//! The reference reader looks at its input in windows of 512 bytes and refuses bad bytes window by window, so
//! bad bytes behind the end of the first document only matter when the window that holds them is reached.
//! [`Source`] keeps the text up to that window and remembers what was wrong behind it.

use std::borrow::Cow;

use super::{Mark, YamlError};

const WINDOW: usize = 512;
const CONTROL: &str = "control characters are not allowed";

/// Text that holds only permitted characters, and what stopped it early, if anything did.
pub(super) struct Source<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) spoiled: Option<YamlError>,
}

impl<'a> Source<'a> {
    pub(super) fn read(raw: &'a [u8]) -> Self {
        match raw {
            [0xFF, 0xFE, ..] => from_utf16(raw, u16::from_le_bytes),
            [0xFE, 0xFF, ..] => from_utf16(raw, u16::from_be_bytes),
            _ => from_utf8(raw),
        }
    }
}

fn from_utf8(raw: &[u8]) -> Source<'_> {
    let start = if raw.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let (valid, mut reason) = match std::str::from_utf8(&raw[start..]) {
        Ok(text) => (text, None),
        Err(error) => {
            let end = start + error.valid_up_to();
            (std::str::from_utf8(&raw[start..end]).unwrap_or_default(), Some("invalid UTF-8"))
        }
    };
    let mut good = valid.len();
    if let Some(at) = forbidden(valid.as_bytes()) {
        good = at;
        reason = Some(CONTROL);
    }
    let Some(reason) = reason else {
        return Source { text: Cow::Borrowed(valid), spoiled: None };
    };
    let error = YamlError::at(mark_of(&valid[..good]), reason);
    let window = window_of(raw, start + good).saturating_sub(start);
    Source { text: Cow::Borrowed(&valid[..window]), spoiled: Some(error) }
}

fn from_utf16<'a>(raw: &[u8], unit: fn([u8; 2]) -> u16) -> Source<'a> {
    let mut text = String::with_capacity(raw.len() / 2);
    // Windows are counted from the byte order mark, which `raw` still holds.
    let (mut at, mut window_end) = (2, WINDOW);
    let mut window_text = 0;
    let mut units = [0; 2];
    while at < raw.len() {
        let pairs = raw[at..].as_chunks::<2>().0;
        let wide = pairs.first().is_some_and(|pair| unit(*pair) & 0xFC00 == 0xD800);
        let width = if wide { 4 } else { 2 };
        if at + width > window_end {
            window_end = at + WINDOW;
            window_text = text.len();
        }
        if at + width > raw.len() {
            // Half a character at the very end is met only by those who read to the end.
            return spoiled(text, None, "invalid UTF-16");
        }
        for (slot, pair) in units.iter_mut().zip(pairs) {
            *slot = unit(*pair);
        }
        let Some(Ok(character)) = char::decode_utf16(units[..width / 2].iter().copied()).next() else {
            return spoiled(text, Some(window_text), "invalid UTF-16");
        };
        if forbidden(character.encode_utf8(&mut [0; 4]).as_bytes()).is_some() {
            return spoiled(text, Some(window_text), CONTROL);
        }
        text.push(character);
        at += width;
    }
    Source { text: Cow::Owned(text), spoiled: None }
}

/// What is left of `text` when the bytes behind it cannot be read.
fn spoiled<'a>(mut text: String, keep: Option<usize>, reason: &str) -> Source<'a> {
    let error = YamlError::at(mark_of(&text), reason);
    text.truncate(keep.unwrap_or(text.len()));
    Source { text: Cow::Owned(text), spoiled: Some(error) }
}

/// Offset of the first character that YAML does not permit.
fn forbidden(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|byte| SUSPECT[usize::from(*byte)])?;
        let permitted = match bytes[at] {
            0xC2 => !matches!(bytes.get(at + 1), Some(0x80..=0x84 | 0x86..=0x9F)),
            0xEF => !matches!(bytes.get(at + 1..at + 3), Some([0xBF, 0xBE | 0xBF])),
            _ => false,
        };
        if !permitted {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Bytes that are forbidden or may begin a forbidden character.
const SUSPECT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = !matches!(byte as u8, b'\t' | b'\n' | b'\r');
        byte += 1;
    }
    table[0x7F] = true;
    table[0xC2] = true;
    table[0xEF] = true;
    table
};

/// Where the text ends that the reference reader has at hand when it meets the bad character at `bad`.
fn window_of(raw: &[u8], bad: usize) -> usize {
    let mut start = 0;
    loop {
        let end = raw.len().min(start + WINDOW);
        if bad < end {
            // A character cut by the window's end is left for the next window, which begins with it.
            return if bad + width(raw[bad]) <= end { start } else { bad };
        }
        let cut =
            (1..=3).find(|back| raw[end - back] & 0xC0 != 0x80).filter(|back| width(raw[end - back]) > *back);
        start = end - cut.unwrap_or(0);
    }
}

fn width(lead: u8) -> usize {
    match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    }
}

fn mark_of(text: &str) -> Mark {
    let line = text.bytes().filter(|byte| *byte == b'\n').count();
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count();
    Mark { line: line as u32, column: column as u32 }
}
