//! Bytes as Go sees characters: every byte that is not part of valid UTF-8 is one U+FFFD.

use std::borrow::Cow;

/// The replacement character.
const REPLACEMENT: char = '\u{fffd}';

/// The first character and how many bytes it takes; a replacement character of one byte if it is invalid.
/// Empty input is a replacement character of no bytes.
pub(super) fn first(text: &[u8]) -> (char, usize) {
    let head = &text[..text.len().min(4)];
    match head.utf8_chunks().next() {
        None => (REPLACEMENT, 0),
        Some(chunk) => chunk.valid().chars().next().map_or((REPLACEMENT, 1), |char| (char, char.len_utf8())),
    }
}

/// The whole text, with a replacement character for every invalid byte.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| REPLACEMENT));
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invalid_byte_is_one_replacement() {
        assert_eq!(text(b"a\xe2\x82z"), "a\u{fffd}\u{fffd}z");
        assert_eq!(first(b"\xe2\x82z"), (REPLACEMENT, 1));
        assert_eq!(first("é!".as_bytes()), ('é', 2));
        assert_eq!(first(b""), (REPLACEMENT, 0));
    }
}
