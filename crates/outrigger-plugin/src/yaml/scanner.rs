//! Text to tokens.
//!
//! Whether a piece of text is a key is known only at the `:` behind it. Until then the piece is a *candidate*:
//! tokens from the candidate on wait in the queue, and the `:` puts a [`Token::Key`] in front of it. Each level
//! of brackets has room for one candidate.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::cursor::Cursor;
use super::tags::Tag;
use super::{Mark, YamlError};

/// Deeper than this, brackets or indentation are refused, as by the reference.
pub(super) const MAX_DEPTH: usize = 10_000;
/// A `:` farther than this behind the start of a key does not make it one.
const MAX_KEY_LENGTH: u32 = 1024;

/// What the scanner tells the parser.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    StreamEnd,
    Version { supported: bool },
    TagHandle { handle: &'a str, prefix: Vec<u8> },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag(Tag<'a>),
    Scalar { value: Cow<'a, str>, plain: bool },
}

/// Something that becomes a key if a `:` follows soon enough.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) token: usize,
    pub(super) mark: Mark,
    /// Nothing but a key can stand here, so a missing `:` is an error.
    required: bool,
}

/// One level of brackets.
#[derive(Clone, Copy)]
pub(super) struct Level {
    pub(super) candidate: Option<Candidate>,
    /// Number of the token that opened the level, until the level has seen a candidate of its own.
    pub(super) untouched: Option<usize>,
}

pub(super) struct Scanner<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) queue: VecDeque<(Mark, Token<'a>)>,
    /// How many tokens have left the queue.
    pub(super) taken: usize,
    ready: bool,
    /// Number and level of candidates that hold the queue back; numbers ascend.
    holding: VecDeque<(usize, usize)>,
    pub(super) levels: Vec<Level>,
    indents: Vec<i64>,
    pub(super) indent: i64,
    pub(super) key_allowed: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            queue: VecDeque::new(),
            taken: 0,
            ready: false,
            holding: VecDeque::new(),
            levels: vec![Level { candidate: None, untouched: None }],
            indents: Vec::new(),
            indent: -1,
            key_allowed: true,
        }
    }

    /// The next token, which stays.
    pub(super) fn peek(&mut self) -> Result<&Token<'a>, YamlError> {
        self.fill()?;
        Ok(&self.queue[0].1)
    }

    /// Where the next token begins.
    pub(super) fn peek_mark(&mut self) -> Result<Mark, YamlError> {
        self.fill()?;
        Ok(self.queue[0].0)
    }

    /// Takes the next token. The end of the stream is never used up.
    pub(super) fn take(&mut self) -> Result<(Mark, Token<'a>), YamlError> {
        self.fill()?;
        if self.queue.len() == 1 && self.queue[0].1 == Token::StreamEnd {
            return Ok((self.queue[0].0, Token::StreamEnd));
        }
        self.ready = false;
        self.taken += 1;
        Ok(self.queue.pop_front().unwrap_or((self.cursor.mark, Token::StreamEnd)))
    }

    pub(super) fn in_flow(&self) -> bool {
        self.levels.len() > 1
    }

    pub(super) fn error<T>(&self, reason: &str) -> Result<T, YamlError> {
        Err(YamlError::at(self.cursor.mark, reason))
    }

    fn fill(&mut self) -> Result<(), YamlError> {
        while !self.ready {
            if !self.queue.is_empty() && !self.head_may_be_key()? {
                self.ready = true;
                break;
            }
            self.scan_next()?;
        }
        Ok(())
    }

    fn head_may_be_key(&mut self) -> Result<bool, YamlError> {
        while self.holding.front().is_some_and(|(token, _)| *token < self.taken) {
            self.holding.pop_front();
        }
        match self.holding.front().copied() {
            Some((token, level)) if token == self.taken => self.candidate_is_fresh(level),
            _ => Ok(false),
        }
    }

    /// Keys must end on the line they began on, and within 1024 characters.
    pub(super) fn candidate_is_fresh(&mut self, level: usize) -> Result<bool, YamlError> {
        let here = self.cursor.mark;
        let Some(candidate) = self.levels.get(level).and_then(|level| level.candidate) else {
            return Ok(false);
        };
        if candidate.mark.line == here.line && candidate.mark.column + MAX_KEY_LENGTH >= here.column {
            return Ok(true);
        }
        if candidate.required {
            return Err(missing_colon(candidate.mark));
        }
        self.levels[level].candidate = None;
        Ok(false)
    }

    fn scan_next(&mut self) -> Result<(), YamlError> {
        self.skip_to_token();
        self.unroll(i64::from(self.cursor.mark.column));
        self.cursor.look_ahead(4);
        if self.cursor.at_end() {
            return self.end_stream();
        }
        let (first, column) = (self.cursor.peek(0), self.cursor.mark.column);
        if column == 0 && first == b'%' {
            return self.directive();
        }
        if self.cursor.at_document_indicator() {
            return self.document_indicator(first);
        }
        let flow = self.in_flow();
        let alone = self.cursor.is_blank_or_end(1);
        match first {
            b'[' => self.open_flow(Token::FlowSequenceStart),
            b'{' => self.open_flow(Token::FlowMappingStart),
            b']' => self.close_flow(Token::FlowSequenceEnd),
            b'}' => self.close_flow(Token::FlowMappingEnd),
            b',' => self.flow_entry(),
            b'-' if alone => self.block_entry(),
            b'?' if flow || alone => self.explicit_key(),
            b':' if flow || alone => self.value(),
            b'*' | b'&' => self.anchor(first),
            b'!' => self.tag(),
            b'|' | b'>' if !flow => self.block_scalar(first == b'|'),
            b'\'' | b'"' => self.quoted_scalar(first),
            b'|' | b'>' | b'%' | b'@' | b'`' | b'#' | b'\t' => {
                self.error("found a character that cannot start any token")
            }
            _ => self.plain_scalar(),
        }
    }

    /// Tabs count as white space only where they cannot be taken for indentation.
    fn skip_to_token(&mut self) {
        loop {
            loop {
                match self.cursor.peek(0) {
                    b' ' => {}
                    b'\t' if self.in_flow() || !self.key_allowed => {}
                    _ => break,
                }
                self.cursor.skip_ascii(1);
            }
            self.cursor.skip_comment();
            if self.cursor.take_break().is_none() {
                return;
            }
            if !self.in_flow() {
                self.key_allowed = true;
            }
        }
    }

    pub(super) fn push(&mut self, mark: Mark, token: Token<'a>) {
        self.queue.push_back((mark, token));
    }

    /// Puts a token in front of token `number`. If that one has been handed out already, behind all others: so
    /// does the reference, which is how it reads `[]: x` as an empty list.
    pub(super) fn insert(&mut self, number: usize, mark: Mark, token: Token<'a>) {
        match number.checked_sub(self.taken) {
            Some(index) if index <= self.queue.len() => self.queue.insert(index, (mark, token)),
            _ => self.queue.push_back((mark, token)),
        }
    }

    pub(super) fn level(&self) -> usize {
        self.levels.len() - 1
    }

    /// Notes that a key may begin here.
    pub(super) fn note_candidate(&mut self) -> Result<(), YamlError> {
        if !self.key_allowed {
            return Ok(());
        }
        self.drop_candidate()?;
        let mark = self.cursor.mark;
        let required = !self.in_flow() && self.indent == i64::from(mark.column);
        let token = self.taken + self.queue.len();
        let level = self.level();
        self.levels[level] = Level { candidate: Some(Candidate { token, mark, required }), untouched: None };
        self.holding.push_back((token, level));
        Ok(())
    }

    pub(super) fn drop_candidate(&mut self) -> Result<(), YamlError> {
        let level = self.level();
        let Some(candidate) = self.levels[level].candidate.take() else {
            return Ok(());
        };
        if candidate.required {
            return Err(missing_colon(candidate.mark));
        }
        self.release(candidate.token);
        Ok(())
    }

    pub(super) fn release(&mut self, token: usize) {
        if self.holding.back().is_some_and(|(held, _)| *held == token) {
            self.holding.pop_back();
        }
    }

    /// Opens a block collection at `column` unless one is open there.
    pub(super) fn roll(
        &mut self,
        column: u32,
        before: Option<usize>,
        mark: Mark,
        token: Token<'a>,
    ) -> Result<(), YamlError> {
        if self.in_flow() || self.indent >= i64::from(column) {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = i64::from(column);
        if self.indents.len() > MAX_DEPTH {
            return self.error("nested too deeply");
        }
        match before {
            Some(number) => self.insert(number, mark, token),
            None => self.push(mark, token),
        }
        Ok(())
    }

    /// Closes the block collections that are indented deeper than `column`.
    pub(super) fn unroll(&mut self, column: i64) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.push(self.cursor.mark, Token::BlockEnd);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}

fn missing_colon(mark: Mark) -> YamlError {
    YamlError::at(mark, "expected a key followed by ':'")
}
