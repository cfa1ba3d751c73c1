//! What each kind of token does to the scanner: brackets, dashes, colons, scalars and the rest.

use std::borrow::Cow;

use super::scanner::{Candidate, Level, MAX_DEPTH, Scanner, Token};
use super::{Mark, YamlError};

impl<'a> Scanner<'a> {
    fn end_blocks(&mut self) -> Result<(), YamlError> {
        self.unroll(-1);
        self.drop_candidate()?;
        self.key_allowed = false;
        Ok(())
    }

    pub(super) fn end_stream(&mut self) -> Result<(), YamlError> {
        if self.cursor.mark.column != 0 {
            self.cursor.mark = Mark { line: self.cursor.mark.line + 1, column: 0 };
        }
        self.end_blocks()?;
        self.push(self.cursor.mark, Token::StreamEnd);
        Ok(())
    }

    pub(super) fn directive(&mut self) -> Result<(), YamlError> {
        self.end_blocks()?;
        let mark = self.cursor.mark;
        let token = self.scan_directive()?;
        self.push(mark, token);
        Ok(())
    }

    pub(super) fn document_indicator(&mut self, first: u8) -> Result<(), YamlError> {
        self.end_blocks()?;
        self.push(self.cursor.mark, if first == b'-' { Token::DocumentStart } else { Token::DocumentEnd });
        self.cursor.skip_ascii(3);
        Ok(())
    }

    fn one_byte(&mut self, token: Token<'a>) -> Result<(), YamlError> {
        self.push(self.cursor.mark, token);
        self.cursor.skip_ascii(1);
        Ok(())
    }

    pub(super) fn open_flow(&mut self, token: Token<'a>) -> Result<(), YamlError> {
        self.note_candidate()?;
        self.levels.push(Level { candidate: None, untouched: Some(self.taken + self.queue.len()) });
        if self.levels.len() > MAX_DEPTH + 1 {
            return self.error("nested too deeply");
        }
        self.key_allowed = true;
        self.one_byte(token)
    }

    pub(super) fn close_flow(&mut self, token: Token<'a>) -> Result<(), YamlError> {
        self.drop_candidate()?;
        if self.in_flow()
            && let Some(Level { untouched: Some(opener), .. }) = self.levels.pop()
        {
            // Brackets without a candidate inside no longer hold the queue back, though they may still turn
            // out to be a key: a slip of the reference that `insert` relies on.
            self.release(opener);
        }
        self.key_allowed = false;
        self.one_byte(token)
    }

    pub(super) fn flow_entry(&mut self) -> Result<(), YamlError> {
        self.drop_candidate()?;
        self.key_allowed = true;
        self.one_byte(Token::FlowEntry)
    }

    pub(super) fn block_entry(&mut self) -> Result<(), YamlError> {
        if !self.in_flow() {
            if !self.key_allowed {
                return self.error("a list item is not allowed here");
            }
            self.roll(self.cursor.mark.column, None, self.cursor.mark, Token::BlockSequenceStart)?;
        }
        self.drop_candidate()?;
        self.key_allowed = true;
        self.one_byte(Token::BlockEntry)
    }

    pub(super) fn explicit_key(&mut self) -> Result<(), YamlError> {
        if !self.in_flow() {
            if !self.key_allowed {
                return self.error("mapping keys are not allowed here");
            }
            self.roll(self.cursor.mark.column, None, self.cursor.mark, Token::BlockMappingStart)?;
        }
        self.drop_candidate()?;
        self.key_allowed = !self.in_flow();
        self.one_byte(Token::Key)
    }

    pub(super) fn value(&mut self) -> Result<(), YamlError> {
        let level = self.level();
        if self.candidate_is_fresh(level)?
            && let Some(Candidate { token, mark, .. }) = self.levels[level].candidate.take()
        {
            self.insert(token, mark, Token::Key);
            self.roll(mark.column, Some(token), mark, Token::BlockMappingStart)?;
            self.release(token);
            self.key_allowed = false;
            return self.one_byte(Token::Value);
        }
        if !self.in_flow() {
            if !self.key_allowed {
                return self.error("mapping values are not allowed here");
            }
            self.roll(self.cursor.mark.column, None, self.cursor.mark, Token::BlockMappingStart)?;
        }
        self.key_allowed = !self.in_flow();
        self.one_byte(Token::Value)
    }

    pub(super) fn anchor(&mut self, indicator: u8) -> Result<(), YamlError> {
        self.note_candidate()?;
        self.key_allowed = false;
        let mark = self.cursor.mark;
        self.cursor.skip_ascii(1);
        let name = self.cursor.take_word();
        let ended = self.cursor.is_blank_or_end(0)
            || matches!(self.cursor.peek(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ended {
            return self.error("anchor and alias names are made of letters, digits, '-' and '_'");
        }
        self.push(mark, if indicator == b'*' { Token::Alias(name) } else { Token::Anchor(name) });
        Ok(())
    }

    pub(super) fn tag(&mut self) -> Result<(), YamlError> {
        self.note_candidate()?;
        self.key_allowed = false;
        let mark = self.cursor.mark;
        let tag = self.scan_tag()?;
        self.push(mark, Token::Tag(tag));
        Ok(())
    }

    pub(super) fn block_scalar(&mut self, literal: bool) -> Result<(), YamlError> {
        self.drop_candidate()?;
        self.key_allowed = true;
        let mark = self.cursor.mark;
        let value = self.scan_block_scalar(literal)?;
        self.push(mark, Token::Scalar { value: Cow::Owned(value), plain: false });
        Ok(())
    }

    pub(super) fn quoted_scalar(&mut self, quote: u8) -> Result<(), YamlError> {
        self.note_candidate()?;
        self.key_allowed = false;
        let mark = self.cursor.mark;
        let value = self.scan_quoted_scalar(quote)?;
        self.push(mark, Token::Scalar { value, plain: false });
        Ok(())
    }

    pub(super) fn plain_scalar(&mut self) -> Result<(), YamlError> {
        self.note_candidate()?;
        self.key_allowed = false;
        let mark = self.cursor.mark;
        let value = self.scan_plain_scalar()?;
        self.push(mark, Token::Scalar { value, plain: true });
        Ok(())
    }
}
