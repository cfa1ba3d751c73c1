//! A position in the text that knows its line and column.

use std::cell::Cell;

use super::Mark;

/// Reads forward over text; every step keeps line and column right.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    pub(super) pos: usize,
    pub(super) mark: Mark,
    /// Whether anything behind the end of the text was asked for.
    starved: Cell<bool>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), pos: 0, mark: Mark::default(), starved: Cell::new(false) }
    }

    pub(super) fn is_starved(&self) -> bool {
        self.starved.get()
    }

    /// Looks `count` characters ahead, as the reference does at some places, needed or not.
    pub(super) fn look_ahead(&self, count: usize) {
        if self.bytes.len() - self.pos < count * 4 && self.text[self.pos..].chars().count() < count {
            self.starved.set(true);
        }
    }

    /// The byte `ahead` of the position; 0 behind the end (the text itself never holds a 0).
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        match self.bytes.get(self.pos + ahead) {
            Some(byte) => *byte,
            None => {
                self.starved.set(true);
                0
            }
        }
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    /// Length of the line break `ahead` of the position, 0 when there is none.
    pub(super) fn break_len(&self, ahead: usize) -> usize {
        match self.peek(ahead) {
            b'\n' => 1,
            b'\r' if self.peek(ahead + 1) == b'\n' => 2,
            b'\r' => 1,
            0xC2 if self.peek(ahead + 1) == 0x85 => 2,
            0xE2 if self.peek(ahead + 1) == 0x80 && matches!(self.peek(ahead + 2), 0xA8 | 0xA9) => 3,
            _ => 0,
        }
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b' ' | b'\t')
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.pos + ahead >= self.bytes.len() || self.break_len(ahead) > 0
    }

    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// `---` or `...` alone at the beginning of a line.
    pub(super) fn at_document_indicator(&self) -> bool {
        self.mark.column == 0
            && matches!(self.bytes.get(self.pos..self.pos + 3), Some(b"---" | b"..."))
            && self.is_blank_or_end(3)
    }

    /// Steps over `count` ASCII characters.
    pub(super) fn skip_ascii(&mut self, count: usize) {
        self.pos += count;
        self.mark.column += count as u32;
    }

    /// Moves to `end` on the same line.
    pub(super) fn skip_to(&mut self, end: usize) {
        let passed = &self.bytes[self.pos..end];
        let characters = passed.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        self.mark.column += characters as u32;
        self.pos = end;
    }

    /// Steps over a line break, if one is here, and says how it reads in a scalar.
    pub(super) fn take_break(&mut self) -> Option<&'static str> {
        let written = match self.break_len(0) {
            0 => return None,
            3 if self.peek(2) == 0xA8 => "\u{2028}",
            3 => "\u{2029}",
            _ => "\n",
        };
        self.pos += self.break_len(0);
        self.mark = Mark { line: self.mark.line + 1, column: 0 };
        Some(written)
    }

    /// Offset of the next line break or the end.
    pub(super) fn line_end(&self) -> usize {
        let mut at = self.pos;
        loop {
            let Some(found) = self.bytes[at..].iter().position(|b| matches!(b, b'\n' | b'\r' | 0xC2 | 0xE2))
            else {
                return self.bytes.len();
            };
            at += found;
            if self.break_len(at - self.pos) > 0 {
                return at;
            }
            at += 1;
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.skip_ascii(1);
        }
    }

    /// Steps over a comment, if one begins here, up to its line break.
    pub(super) fn skip_comment(&mut self) {
        if self.peek(0) == b'#' {
            self.skip_to(self.line_end());
        }
    }

    /// Takes letters, digits, `_` and `-`.
    pub(super) fn take_word(&mut self) -> &'a str {
        let start = self.pos;
        while is_word(self.peek(0)) {
            self.skip_ascii(1);
        }
        &self.text[start..self.pos]
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Line breaks (and what became of them) met between two pieces of a folded scalar.
#[derive(Default)]
pub(super) struct Fold {
    first: Option<&'static str>,
    rest: String,
}

impl Fold {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The first break of a run decides how the run is folded.
    pub(super) fn push(&mut self, line_break: &'static str) {
        if self.first.is_none() {
            self.first = Some(line_break);
        } else {
            self.rest.push_str(line_break);
        }
    }

    /// A break whose own line end was escaped: only further breaks are kept.
    pub(super) fn push_further(&mut self, line_break: &'static str) {
        self.rest.push_str(line_break);
    }

    /// Writes what the run of breaks reads as, and forgets it.
    pub(super) fn write(&mut self, out: &mut String) {
        match self.first.take() {
            Some("\n") if self.rest.is_empty() => out.push(' '),
            Some("\n") | None => {}
            Some(other) => out.push_str(other),
        }
        out.push_str(&self.rest);
        self.rest.clear();
    }
}
