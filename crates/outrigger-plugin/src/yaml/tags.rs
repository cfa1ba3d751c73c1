//! Tags (`!!str`, `!local`, `!<uri>`) and directives (`%YAML`, `%TAG`).

use super::YamlError;
use super::cursor::is_word;
use super::scanner::{Scanner, Token};

/// A tag as written: a handle that stands for a prefix, and the rest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tag<'a> {
    /// Empty when `suffix` is the whole tag.
    pub(super) handle: &'a str,
    pub(super) suffix: Vec<u8>,
}

impl<'a> Scanner<'a> {
    pub(super) fn scan_tag(&mut self) -> Result<Tag<'a>, YamlError> {
        let tag = if self.cursor.peek(1) == b'<' {
            self.cursor.skip_ascii(2);
            let suffix = self.tag_uri(false)?;
            if self.cursor.peek(0) != b'>' {
                return self.error("expected '>' at the end of a tag");
            }
            self.cursor.skip_ascii(1);
            Tag { handle: "", suffix }
        } else {
            self.short_tag()?
        };
        if !self.cursor.is_blank_or_end(0) {
            return self.error("expected white space behind a tag");
        }
        Ok(tag)
    }

    fn short_tag(&mut self) -> Result<Tag<'a>, YamlError> {
        let handle = self.tag_handle();
        if handle.len() > 1 && handle.ends_with('!') {
            return Ok(Tag { handle, suffix: self.tag_uri(false)? });
        }
        // `!name`: what looked like a handle is the beginning of the suffix.
        let mut suffix = handle.as_bytes()[1..].to_vec();
        suffix.extend(self.tag_uri(true)?);
        if suffix.is_empty() {
            return Ok(Tag { handle: "", suffix: b"!".to_vec() });
        }
        Ok(Tag { handle: "!", suffix })
    }

    /// `!`, `!!` or `!word!`, or `!word` if no second `!` follows.
    fn tag_handle(&mut self) -> &'a str {
        let start = self.cursor.pos;
        self.cursor.skip_ascii(1);
        self.cursor.take_word();
        if self.cursor.peek(0) == b'!' {
            self.cursor.skip_ascii(1);
        }
        &self.cursor.text[start..self.cursor.pos]
    }

    fn tag_uri(&mut self, may_be_empty: bool) -> Result<Vec<u8>, YamlError> {
        let mut uri = Vec::new();
        loop {
            match self.cursor.peek(0) {
                b'%' => self.uri_escape(&mut uri)?,
                byte if is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.cursor.skip_ascii(1);
                }
                _ => break,
            }
        }
        if uri.is_empty() && !may_be_empty {
            return self.error("a tag lacks its name");
        }
        Ok(uri)
    }

    /// One character written as `%C3%A9`.
    fn uri_escape(&mut self, uri: &mut Vec<u8>) -> Result<(), YamlError> {
        let mut left = 1;
        let mut leading = true;
        while left > 0 {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (Some(high), Some(low), b'%') =
                (digit(self.cursor.peek(1)), digit(self.cursor.peek(2)), self.cursor.peek(0))
            else {
                return self.error("a tag holds an incomplete %-escape");
            };
            let octet = (high * 16 + low) as u8;
            if leading {
                left = match octet {
                    0..=0x7F => 1,
                    0xC0..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF7 => 4,
                    _ => return self.error("a tag holds a %-escape that is no UTF-8"),
                };
                leading = false;
            } else if octet & 0xC0 != 0x80 {
                return self.error("a tag holds a %-escape that is no UTF-8");
            }
            uri.push(octet);
            self.cursor.skip_ascii(3);
            left -= 1;
        }
        Ok(())
    }

    pub(super) fn scan_directive(&mut self) -> Result<Token<'a>, YamlError> {
        self.cursor.skip_ascii(1);
        let name = self.cursor.take_word();
        if name.is_empty() || !self.cursor.is_blank_or_end(0) {
            return self.error("a directive lacks its name");
        }
        self.cursor.skip_blanks();
        let token = match name {
            "YAML" => self.version_directive()?,
            "TAG" => self.tag_directive()?,
            _ => return self.error("unknown directive"),
        };
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end(0) {
            return self.error("unexpected text behind a directive");
        }
        self.cursor.take_break();
        Ok(token)
    }

    fn version_directive(&mut self) -> Result<Token<'a>, YamlError> {
        let major = self.version_number()?;
        if self.cursor.peek(0) != b'.' {
            return self.error("expected a version such as 1.1");
        }
        self.cursor.skip_ascii(1);
        let minor = self.version_number()?;
        Ok(Token::Version { supported: (major, minor) == (1, 1) })
    }

    fn version_number(&mut self) -> Result<u8, YamlError> {
        let start = self.cursor.pos;
        while self.cursor.peek(0).is_ascii_digit() {
            self.cursor.skip_ascii(1);
        }
        match self.cursor.text[start..self.cursor.pos].parse::<u8>() {
            Ok(number) if self.cursor.pos - start <= 2 => Ok(number),
            _ => self.error("expected a version such as 1.1"),
        }
    }

    fn tag_directive(&mut self) -> Result<Token<'a>, YamlError> {
        if self.cursor.peek(0) != b'!' {
            return self.error("expected a tag handle");
        }
        let handle = self.tag_handle();
        if !handle.ends_with('!') || !self.cursor.is_blank(0) {
            return self.error("expected a tag handle such as !name!");
        }
        self.cursor.skip_blanks();
        let prefix = self.tag_uri(false)?;
        if !self.cursor.is_blank_or_end(0) {
            return self.error("unexpected text behind a directive");
        }
        Ok(Token::TagHandle { handle, prefix })
    }
}
