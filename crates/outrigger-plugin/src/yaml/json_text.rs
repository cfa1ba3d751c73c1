//! JSON text as Go's `encoding/json` accepts it.
//!
//! Unlike other readers it takes any bytes inside strings (bad UTF-8 and lone surrogates become U+FFFD when a
//! string is decoded), nests up to 10,000 deep, and ends a value at its last byte whatever follows.

/// Deeper than this is refused, as by the reference.
const MAX_DEPTH: usize = 10_000;

/// Why and where text is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonError {
    /// Offset of the byte that does not fit, or the end.
    pub(crate) offset: usize,
    /// What is wrong.
    pub(crate) reason: &'static str,
}

/// A part of a JSON value. Strings and numbers come as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonEvent<'a> {
    ObjectStart,
    ArrayStart,
    /// End of an object or array.
    End,
    /// The text between the quotes, as a key or a value.
    String(&'a [u8]),
    Number(&'a [u8]),
    Bool(bool),
    Null,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    CommaOrEnd,
}

/// Offset of the first byte from `at` on that is no JSON white space.
pub(crate) fn skip_json_space(bytes: &[u8], at: usize) -> usize {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    at + bytes[at..].iter().take_while(|byte| blank(byte)).count()
}

/// Reads one value from `start` on, tells its parts with their offsets, and gives the offset behind it.
pub(super) fn scan_value<'a>(
    bytes: &'a [u8],
    start: usize,
    mut tell: impl FnMut(usize, JsonEvent<'a>),
) -> Result<usize, JsonError> {
    let mut scan = Scan { bytes, at: start };
    // For each open collection: is it an object?
    let mut open: Vec<bool> = Vec::new();
    let mut expect = Expect::Value;
    loop {
        scan.at = skip_json_space(bytes, scan.at);
        let begin = scan.at;
        let first = scan.peek();
        let closes = match expect {
            Expect::FirstItem => first == b']',
            Expect::FirstKey => first == b'}',
            Expect::CommaOrEnd => first == if open.last() == Some(&true) { b'}' } else { b']' },
            _ => false,
        };
        if closes {
            scan.at += 1;
            open.pop();
            tell(begin, JsonEvent::End);
            expect = Expect::CommaOrEnd;
        } else {
            expect = match expect {
                Expect::Colon => scan.punctuation(b':', Expect::Value, "expected ':'")?,
                Expect::CommaOrEnd if open.last() == Some(&true) => {
                    scan.punctuation(b',', Expect::Key, "expected ',' or '}'")?
                }
                Expect::CommaOrEnd => scan.punctuation(b',', Expect::Value, "expected ',' or ']'")?,
                Expect::Key | Expect::FirstKey => {
                    if first != b'"' {
                        return scan.fail("expected a quoted key");
                    }
                    tell(begin, scan.string()?);
                    Expect::Colon
                }
                Expect::Value | Expect::FirstItem if matches!(first, b'{' | b'[') => {
                    let object = first == b'{';
                    open.push(object);
                    if open.len() > MAX_DEPTH {
                        return scan.fail("nested too deeply");
                    }
                    scan.at += 1;
                    tell(begin, if object { JsonEvent::ObjectStart } else { JsonEvent::ArrayStart });
                    if object { Expect::FirstKey } else { Expect::FirstItem }
                }
                Expect::Value | Expect::FirstItem => {
                    tell(begin, scan.leaf(first)?);
                    Expect::CommaOrEnd
                }
            };
        }
        if open.is_empty() && expect == Expect::CommaOrEnd {
            return Ok(scan.at);
        }
    }
}

/// Offset behind the value that begins at `start`.
pub(crate) fn json_value_end(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    scan_value(bytes, start, |_, _| {})
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// The next byte; 0, which fits nowhere, at the end.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn fail<T>(&self, reason: &'static str) -> Result<T, JsonError> {
        let ended = self.at >= self.bytes.len();
        Err(JsonError { offset: self.at, reason: if ended { "unexpected end of JSON" } else { reason } })
    }

    fn punctuation(&mut self, expected: u8, then: Expect, reason: &'static str) -> Result<Expect, JsonError> {
        if self.peek() != expected {
            return self.fail(reason);
        }
        self.at += 1;
        Ok(then)
    }

    fn leaf(&mut self, first: u8) -> Result<JsonEvent<'a>, JsonError> {
        match first {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true", JsonEvent::Bool(true)),
            b'f' => self.literal(b"false", JsonEvent::Bool(false)),
            b'n' => self.literal(b"null", JsonEvent::Null),
            _ => self.fail("expected a JSON value"),
        }
    }

    fn literal(&mut self, word: &[u8], event: JsonEvent<'a>) -> Result<JsonEvent<'a>, JsonError> {
        for expected in word {
            if self.peek() != *expected {
                return self.fail("expected a JSON value");
            }
            self.at += 1;
        }
        Ok(event)
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { self.fail("expected a digit") } else { Ok(()) }
    }

    fn number(&mut self) -> Result<JsonEvent<'a>, JsonError> {
        let begin = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(JsonEvent::Number(&self.bytes[begin..self.at]))
    }

    fn string(&mut self) -> Result<JsonEvent<'a>, JsonError> {
        self.at += 1;
        let begin = self.at;
        loop {
            let rest = &self.bytes[self.at..];
            let plain =
                rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
            self.at += plain;
            match self.peek() {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    self.escape()?;
                }
                _ => return self.fail("a control character inside a string"),
            }
        }
        self.at += 1;
        Ok(JsonEvent::String(&self.bytes[begin..self.at - 1]))
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {
                self.at += 1;
                Ok(())
            }
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_ascii_hexdigit() {
                        return self.fail("expected four hexadecimal digits");
                    }
                    self.at += 1;
                }
                Ok(())
            }
            _ => self.fail("unknown escape inside a string"),
        }
    }
}

/// The text of a JSON string that [`scan_value`] told of.
pub(super) fn decode_json_string(written: &[u8]) -> String {
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        push_lossy(&rest[..at], &mut out);
        let (character, length) = decode_escape(&rest[at..]);
        out.push(character);
        rest = &rest[at + length..];
    }
    push_lossy(rest, &mut out);
    out
}

/// Appends bytes; each one that is no UTF-8 becomes U+FFFD, as in Go.
pub(crate) fn push_lossy(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

fn decode_escape(escape: &[u8]) -> (char, usize) {
    let character = match escape.get(1) {
        Some(b'b') => '\x08',
        Some(b'f') => '\x0C',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return decode_unicode_escape(escape),
        Some(other) => char::from(*other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (character, 2.min(escape.len()))
}

/// `\uD83D\uDE00` is one character; half of such a pair is none.
fn decode_unicode_escape(escape: &[u8]) -> (char, usize) {
    let unit = |at: usize| -> Option<u32> {
        let digits = escape.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |sum, byte| Some(sum * 16 + char::from(*byte).to_digit(16)?))
    };
    let Some(first) = unit(0) else {
        return (char::REPLACEMENT_CHARACTER, escape.len().min(6));
    };
    if let (0xD800..0xDC00, Some(second @ 0xDC00..0xE000)) = (first, unit(6)) {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}
