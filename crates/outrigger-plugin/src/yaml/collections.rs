//! What each kind of open collection expects next.

use super::parser::{Parser, Shape, State};
use super::scanner::Token;
use super::{Mark, YamlError};

impl Parser<'_> {
    pub(super) fn block_sequence(&mut self) -> Result<(), YamlError> {
        match self.scanner.take()? {
            (mark, Token::BlockEntry) => {
                if matches!(self.scanner.peek()?, Token::BlockEntry | Token::BlockEnd) {
                    self.empty(mark)?;
                } else {
                    self.node(true, false)?;
                }
                Ok(())
            }
            (_, Token::BlockEnd) => {
                self.close();
                Ok(())
            }
            (mark, _) => Err(YamlError::at(mark, "expected another '- ' or the end of the list")),
        }
    }

    pub(super) fn indentless_sequence(&mut self) -> Result<(), YamlError> {
        if *self.scanner.peek()? != Token::BlockEntry {
            self.close();
            return Ok(());
        }
        let (mark, _) = self.scanner.take()?;
        match self.scanner.peek()? {
            Token::BlockEntry | Token::Key | Token::Value | Token::BlockEnd => self.empty(mark)?,
            _ => self.node(true, false)?,
        };
        Ok(())
    }

    pub(super) fn block_mapping_key(&mut self) -> Result<(), YamlError> {
        match self.scanner.take()? {
            (mark, Token::Key) => {
                self.set_state(State::Value);
                self.block_mapping_part(mark)
            }
            (_, Token::BlockEnd) => {
                self.close();
                Ok(())
            }
            (mark, _) => Err(YamlError::at(mark, "expected another key or the end of the mapping")),
        }
    }

    pub(super) fn block_mapping_value(&mut self) -> Result<(), YamlError> {
        self.set_state(State::Entry);
        if *self.scanner.peek()? == Token::Value {
            let (mark, _) = self.scanner.take()?;
            return self.block_mapping_part(mark);
        }
        let mark = self.scanner.peek_mark()?;
        self.empty(mark).map(drop)
    }

    fn block_mapping_part(&mut self, mark: Mark) -> Result<(), YamlError> {
        match self.scanner.peek()? {
            Token::Key | Token::Value | Token::BlockEnd => self.empty(mark)?,
            _ => self.node(true, true)?,
        };
        Ok(())
    }

    pub(super) fn flow_sequence(&mut self, first: bool) -> Result<(), YamlError> {
        if !first && *self.scanner.peek()? != Token::FlowSequenceEnd {
            let (mark, token) = self.scanner.take()?;
            if token != Token::FlowEntry {
                return Err(YamlError::at(mark, "expected ',' or ']'"));
            }
        }
        self.set_state(State::Entry);
        match self.scanner.peek()? {
            Token::FlowSequenceEnd => {
                self.scanner.take()?;
                self.close();
            }
            Token::Key => {
                let (mark, _) = self.scanner.take()?;
                self.open(mark, Shape::FlowPair, None)?;
            }
            _ => {
                self.node(false, false)?;
            }
        }
        Ok(())
    }

    pub(super) fn flow_pair(&mut self, state: State) -> Result<(), YamlError> {
        if state == State::End {
            self.scanner.peek()?;
            self.close();
            return Ok(());
        }
        let ends = |token: &Token<'_>| matches!(token, Token::FlowEntry | Token::FlowSequenceEnd);
        if state == State::Value {
            self.set_state(State::End);
            return self.flow_value(ends);
        }
        self.set_state(State::Value);
        let token = self.scanner.peek()?;
        if ends(token) || *token == Token::Value {
            // The reference drops this token, so `[? : a]` is an error to it.
            let (mark, _) = self.scanner.take()?;
            self.empty(mark)?;
        } else {
            self.node(false, false)?;
        }
        Ok(())
    }

    pub(super) fn flow_mapping(&mut self, state: State) -> Result<(), YamlError> {
        let ends = |token: &Token<'_>| matches!(token, Token::FlowEntry | Token::FlowMappingEnd);
        match state {
            State::NoValue => {
                self.set_state(State::Entry);
                let mark = self.scanner.peek_mark()?;
                self.empty(mark).map(drop)
            }
            State::Value => {
                self.set_state(State::Entry);
                self.flow_value(ends)
            }
            _ => self.flow_mapping_key(state == State::First),
        }
    }

    /// The value after a key in brackets or braces; nothing where `ends` comes instead.
    fn flow_value(&mut self, ends: impl Fn(&Token<'_>) -> bool) -> Result<(), YamlError> {
        if *self.scanner.peek()? == Token::Value {
            self.scanner.take()?;
            if !ends(self.scanner.peek()?) {
                self.node(false, false)?;
                return Ok(());
            }
        }
        let mark = self.scanner.peek_mark()?;
        self.empty(mark).map(drop)
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<(), YamlError> {
        if !first && *self.scanner.peek()? != Token::FlowMappingEnd {
            let (mark, token) = self.scanner.take()?;
            if token != Token::FlowEntry {
                return Err(YamlError::at(mark, "expected ',' or '}'"));
            }
        }
        match self.scanner.peek()? {
            Token::FlowMappingEnd => {
                self.scanner.take()?;
                self.close();
            }
            Token::Key => {
                self.scanner.take()?;
                self.set_state(State::Value);
                let mark = self.scanner.peek_mark()?;
                match self.scanner.peek()? {
                    Token::Value | Token::FlowEntry | Token::FlowMappingEnd => self.empty(mark)?,
                    _ => self.node(false, false)?,
                };
            }
            _ => {
                self.set_state(State::NoValue);
                self.node(false, false)?;
            }
        }
        Ok(())
    }
}
