//! What a command printed, as the list of JSON documents that goes over the wire.
//!
//! Promised: for any output, the same success or failure and the same strings as Argo CD's own splitter, except
//! in the cases listed below. Output that begins with `{` is read as a stream of JSON values which are passed on
//! byte for byte; at the first thing that is no JSON, and for all other output, documents are YAML, separated by
//! lines that begin with `---`. A stream that has given two JSON values stays JSON. Empty and `null` documents
//! are dropped.
//!
//! Deliberately different:
//! - A last line without line break of exactly 4096 bytes (or a multiple) is kept; the reference loses it.
//! - Bytes inside JSON strings that are no UTF-8 become U+FFFD, one for each byte, which is what readers of that
//!   JSON make of them: a reply can hold text only.
//!
//! Errors name document and line but never quote the output, which may hold secrets.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::yaml::{self, JsonError, YamlError};

/// How far the reference looks for the `{` that makes output JSON.
const JSON_LOOKAHEAD: usize = 4096;
const SEPARATOR: &[u8] = b"---";

/// Why an output cannot be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("document {document} (line {line}): {reason}")]
pub struct DocumentError {
    /// One-based number of the document.
    pub document: usize,
    /// One-based line in the whole output.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

/// Splits a command's output into documents, each as JSON text.
///
/// The caller removes the one trailing line break that the reference removes.
pub fn split(output: &[u8]) -> Result<Vec<String>, DocumentError> {
    let limit = yaml::json_limit(output.len());
    let mut splitter = Splitter { output, documents: Vec::new(), seen: 0, limit };
    let rest = if begins_like_json(output) { splitter.json()? } else { Some(0) };
    if let Some(start) = rest {
        splitter.yaml(start)?;
    }
    Ok(splitter.documents)
}

struct Splitter<'a> {
    output: &'a [u8],
    documents: Vec<String>,
    /// Documents met so far, dropped ones included.
    seen: usize,
    /// How many bytes documents may still grow to.
    limit: usize,
}

impl Splitter<'_> {
    /// Reads JSON values; gives the offset from which on the output is YAML, if it is.
    fn json(&mut self) -> Result<Option<usize>, DocumentError> {
        let mut position = 0;
        loop {
            let start = yaml::skip_json_space(self.output, position);
            if start == self.output.len() {
                return Ok(None);
            }
            match yaml::json_value_end(self.output, start) {
                Ok(end) => {
                    self.seen += 1;
                    let raw = &self.output[start..end];
                    if raw != b"null" {
                        self.documents.push(json_text(raw));
                    }
                    position = end;
                }
                Err(error) if self.seen > 1 => return Err(self.json_error(error)),
                Err(error) => {
                    return self.yaml_start(position).map(Some).ok_or_else(|| self.json_error(error));
                }
            }
        }
    }

    /// White space behind the last JSON value is dropped up to its first line break. Too little left to look at
    /// means that the output is neither.
    fn yaml_start(&self, mut position: usize) -> Option<usize> {
        loop {
            let window = self.output.get(position..position + 4)?;
            let character = first_character(window)?;
            if !is_go_space(character) {
                return Some(position);
            }
            position += character.len_utf8();
            if character == '\n' {
                return Some(position);
            }
        }
    }

    fn yaml(&mut self, start: usize) -> Result<(), DocumentError> {
        let mut line_number = 1 + count_breaks(&self.output[..start]);
        let (mut document, mut document_line) = (start, line_number);
        let mut line = start;
        while line < self.output.len() {
            let rest = &self.output[line..];
            if rest.starts_with(SEPARATOR) {
                self.check_separator(rest, line_number)?;
                // A separator with nothing before it belongs to the document behind it.
                if line > document {
                    self.yaml_document(document, line, document_line)?;
                    (document, document_line) = (next_line(self.output, line), line_number + 1);
                }
            }
            line = next_line(self.output, line);
            line_number += 1;
        }
        if document < self.output.len() {
            self.yaml_document(document, self.output.len(), document_line)?;
        }
        Ok(())
    }

    fn check_separator(&self, rest: &[u8], line: usize) -> Result<(), DocumentError> {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let mut behind = String::new();
        yaml::push_lossy(&rest[SEPARATOR.len()..end], &mut behind);
        match behind.trim_matches(is_go_space).chars().next() {
            None | Some('#') => Ok(()),
            Some(_) => {
                let reason = "only a comment may follow '---' on its line".to_owned();
                Err(DocumentError { document: self.seen + 1, line, reason })
            }
        }
    }

    fn yaml_document(&mut self, start: usize, end: usize, line: usize) -> Result<(), DocumentError> {
        self.seen += 1;
        let text = with_plain_breaks(&self.output[start..end]);
        let json = yaml::to_json(&text, self.limit).map_err(|error| self.yaml_error(error, line))?;
        self.limit = self.limit.saturating_sub(json.len());
        if json != "null" {
            self.documents.push(json);
        }
        Ok(())
    }

    fn json_error(&self, error: JsonError) -> DocumentError {
        let line = 1 + count_breaks(&self.output[..error.offset]);
        DocumentError { document: self.seen + 1, line, reason: error.reason.to_owned() }
    }

    fn yaml_error(&self, error: YamlError, first_line: usize) -> DocumentError {
        DocumentError { document: self.seen, line: first_line + error.line - 1, reason: error.reason }
    }
}

fn json_text(raw: &[u8]) -> String {
    match std::str::from_utf8(raw) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let mut text = String::with_capacity(raw.len());
            yaml::push_lossy(raw, &mut text);
            text
        }
    }
}

fn begins_like_json(output: &[u8]) -> bool {
    let mut window = &output[..output.len().min(JSON_LOOKAHEAD)];
    while let Some(character) = first_character(window).filter(|character| is_go_space(*character)) {
        window = &window[character.len_utf8()..];
    }
    window.first() == Some(&b'{')
}

/// The first character; `None` at the end, for bad UTF-8, and for U+FFFD, which Go cannot tell from it.
fn first_character(bytes: &[u8]) -> Option<char> {
    let head = &bytes[..bytes.len().min(4)];
    let character = head.utf8_chunks().next()?.valid().chars().next()?;
    (character != char::REPLACEMENT_CHARACTER).then_some(character)
}

/// `unicode.IsSpace` of Go, which differs from Rust's in nothing but is spelled out to stay so.
fn is_go_space(character: char) -> bool {
    matches!(
        character,
        '\t'..='\r'
            | ' '
            | '\u{85}'
            | '\u{A0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200A}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202F}'
            | '\u{205F}'
            | '\u{3000}'
    )
}

fn next_line(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| from + at + 1)
}

fn count_breaks(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Lines as the reference hands them on: `\r\n` becomes `\n`, and the last line has a line break too.
fn with_plain_breaks(document: &[u8]) -> Cow<'_, [u8]> {
    let ends_with_break = document.ends_with(b"\n");
    let has_carriage_return = document.contains(&b'\r');
    if ends_with_break && !has_carriage_return {
        return Cow::Borrowed(document);
    }
    let mut plain = Vec::with_capacity(document.len() + 1);
    for line in document.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(text) => {
                plain.extend_from_slice(text);
                plain.push(b'\n');
            }
            None => plain.extend_from_slice(line),
        }
    }
    if !ends_with_break {
        plain.push(b'\n');
    }
    Cow::Owned(plain)
}
