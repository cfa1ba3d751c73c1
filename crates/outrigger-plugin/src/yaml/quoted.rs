//! Quoted and plain scalars: text that may run over several lines and is folded where it does.

use std::borrow::Cow;

use super::YamlError;
use super::cursor::Fold;
use super::scanner::Scanner;

impl<'a> Scanner<'a> {
    /// A plain scalar ends at `: `, ` #`, a flow indicator inside brackets, or a line indented too little.
    pub(super) fn scan_plain_scalar(&mut self) -> Result<Cow<'a, str>, YamlError> {
        let text = self.cursor.text;
        let needed = self.indent + 1;
        let flow = self.in_flow();
        let mut folded: Option<String> = None;
        let mut piece = self.cursor.pos;
        let mut piece_end = piece;
        let mut fold = Fold::default();
        loop {
            self.cursor.look_ahead(4);
            if self.cursor.at_document_indicator() || self.cursor.peek(0) == b'#' {
                break;
            }
            let word_end = self.plain_word_end(flow);
            if word_end > self.cursor.pos {
                if !fold.is_empty() {
                    let out = folded.get_or_insert_default();
                    out.push_str(&text[piece..piece_end]);
                    fold.write(out);
                    piece = self.cursor.pos;
                }
                self.cursor.skip_to(word_end);
                self.cursor.look_ahead(2);
                piece_end = word_end;
            }
            if !self.cursor.is_blank(0) && self.cursor.break_len(0) == 0 {
                break;
            }
            self.skip_plain_space(&mut fold, needed)?;
            if !flow && i64::from(self.cursor.mark.column) < needed {
                break;
            }
        }
        if !fold.is_empty() {
            self.key_allowed = true;
        }
        match folded {
            None => Ok(Cow::Borrowed(&text[piece..piece_end])),
            Some(mut out) => {
                out.push_str(&text[piece..piece_end]);
                Ok(Cow::Owned(out))
            }
        }
    }

    /// Offset where the run of non-blank characters of a plain scalar ends.
    fn plain_word_end(&self, flow: bool) -> usize {
        let mut ahead = 0;
        loop {
            let byte = self.cursor.peek(ahead);
            let ends = match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0 => true,
                0xC2 | 0xE2 => self.cursor.break_len(ahead) > 0,
                b':' => self.cursor.is_blank_or_end(ahead + 1),
                b',' | b'?' | b'[' | b']' | b'{' | b'}' => flow,
                _ => false,
            };
            if ends {
                return self.cursor.pos + ahead;
            }
            ahead += 1;
        }
    }

    fn skip_plain_space(&mut self, fold: &mut Fold, needed: i64) -> Result<(), YamlError> {
        loop {
            if self.cursor.is_blank(0) {
                let column = i64::from(self.cursor.mark.column);
                if !fold.is_empty() && column < needed && self.cursor.peek(0) == b'\t' {
                    return self.error("a tab cannot be used for indentation");
                }
                self.cursor.skip_ascii(1);
            } else if let Some(line_break) = self.cursor.take_break() {
                fold.push(line_break);
            } else {
                return Ok(());
            }
        }
    }

    /// A scalar between `'` or `"`.
    pub(super) fn scan_quoted_scalar(&mut self, quote: u8) -> Result<Cow<'a, str>, YamlError> {
        let text = self.cursor.text;
        let opened = self.cursor.mark;
        self.cursor.skip_ascii(1);
        let mut out: Option<String> = None;
        let mut piece = self.cursor.pos;
        loop {
            if self.cursor.at_document_indicator() {
                return self.error("found a document separator inside a quoted string");
            }
            if self.cursor.at_end() {
                return Err(YamlError::at(opened, "this quoted string is never closed"));
            }
            self.cursor.look_ahead(4);
            self.cursor.skip_to(self.quoted_word_end(quote));
            let first = self.cursor.peek(0);
            let mut fold = Fold::default();
            let mut escaped_break = false;
            if first == quote && quote == b'\'' && self.cursor.peek(1) == b'\'' {
                // The first of the two quotes belongs to the text.
                self.cursor.skip_ascii(1);
                out.get_or_insert_default().push_str(&text[piece..self.cursor.pos]);
                self.cursor.skip_ascii(1);
                piece = self.cursor.pos;
                continue;
            }
            if first == quote {
                break;
            }
            if first == b'\\' && quote == b'"' {
                let out = out.get_or_insert_default();
                out.push_str(&text[piece..self.cursor.pos]);
                if self.cursor.break_len(1) == 0 {
                    self.escape(out)?;
                    piece = self.cursor.pos;
                    continue;
                }
                self.cursor.skip_ascii(1);
                self.cursor.take_break();
                piece = self.cursor.pos;
                escaped_break = true;
            }
            let word_end = self.cursor.pos;
            loop {
                if self.cursor.is_blank(0) {
                    self.cursor.skip_ascii(1);
                } else if let Some(line_break) = self.cursor.take_break() {
                    if escaped_break {
                        fold.push_further(line_break);
                    } else {
                        fold.push(line_break);
                    }
                } else {
                    break;
                }
            }
            if escaped_break || !fold.is_empty() {
                let out = out.get_or_insert_default();
                out.push_str(&text[piece..word_end]);
                fold.write(out);
                piece = self.cursor.pos;
            }
        }
        let last = &text[piece..self.cursor.pos];
        self.cursor.skip_ascii(1);
        Ok(match out {
            None => Cow::Borrowed(last),
            Some(mut out) => {
                out.push_str(last);
                Cow::Owned(out)
            }
        })
    }

    /// Offset of the next blank, line break, quote or backslash that matters.
    fn quoted_word_end(&self, quote: u8) -> usize {
        let mut ahead = 0;
        loop {
            let byte = self.cursor.peek(ahead);
            let ends = match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0 => true,
                0xC2 | 0xE2 => self.cursor.break_len(ahead) > 0,
                b'\\' => quote == b'"',
                _ => byte == quote,
            };
            if ends {
                return self.cursor.pos + ahead;
            }
            ahead += 1;
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), YamlError> {
        let digits = match self.cursor.peek(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            short => {
                let Some(character) = short_escape(short) else {
                    return self.error("unknown escape in a double-quoted string");
                };
                out.push(character);
                self.cursor.skip_ascii(2);
                return Ok(());
            }
        };
        let mut code = 0_u32;
        for ahead in 2..2 + digits {
            let Some(digit) = char::from(self.cursor.peek(ahead)).to_digit(16) else {
                return self.error("an escape in a double-quoted string lacks hexadecimal digits");
            };
            code = code.wrapping_shl(4) | digit;
        }
        let Some(character) = char::from_u32(code) else {
            return self.error("an escape in a double-quoted string is no Unicode character");
        };
        out.push(character);
        self.cursor.skip_ascii(2 + digits);
        Ok(())
    }
}

fn short_escape(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\x0B',
        b'f' => '\x0C',
        b'r' => '\r',
        b'e' => '\x1B',
        b' ' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
