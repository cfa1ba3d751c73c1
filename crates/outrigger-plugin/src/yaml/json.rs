//! Tree to JSON text, in the formatting of Go's `encoding/json`.

use super::float::format_json_float;
use super::tree::{Document, Kind, NONE, NodeId, RawEntry, effective_entries};
use super::{Scalar, YamlError};

/// JSON nested deeper than this cannot be read back by the reference.
const MAX_DEPTH: usize = 10_000;

/// Writes the document; stops when the text grows beyond `limit` bytes.
pub(super) fn write(document: &Document, limit: usize) -> Result<String, YamlError> {
    let mut writer = Writer { document, out: String::new(), open: Vec::new(), limit };
    if document.root == NONE {
        return Ok("null".to_owned());
    }
    writer.value(document.root)?;
    while let Some(open) = writer.open.last_mut() {
        let next = open.next(document, &mut writer.out);
        match next {
            Next::Value(id) => writer.value(id)?,
            Next::Entry(entry) => {
                if let Some(reason) = entry.problem(document) {
                    return Err(YamlError::at(document.node(entry.key_id).mark, reason));
                }
                write_json_bytes(&entry.key, &mut writer.out);
                writer.out.push(':');
                writer.value(entry.value)?;
            }
            Next::End => {
                writer.open.pop();
            }
        }
    }
    Ok(writer.out)
}

/// A collection that is being written.
enum Open<'d> {
    Sequence { next: NodeId, first: bool },
    Mapping { entries: std::vec::IntoIter<RawEntry<'d>>, first: bool },
}

enum Next<'d> {
    Value(NodeId),
    Entry(RawEntry<'d>),
    End,
}

impl<'d> Open<'d> {
    fn next(&mut self, document: &'d Document, out: &mut String) -> Next<'d> {
        match self {
            Self::Sequence { next: NONE, .. } => {
                out.push(']');
                Next::End
            }
            Self::Sequence { next, first } => {
                if !std::mem::take(first) {
                    out.push(',');
                }
                let id = *next;
                *next = document.node(id).next;
                Next::Value(id)
            }
            Self::Mapping { entries, first } => match entries.next() {
                None => {
                    out.push('}');
                    Next::End
                }
                Some(entry) => {
                    if !std::mem::take(first) {
                        out.push(',');
                    }
                    Next::Entry(entry)
                }
            },
        }
    }
}

struct Writer<'d> {
    document: &'d Document,
    out: String,
    open: Vec<Open<'d>>,
    limit: usize,
}

impl Writer<'_> {
    fn value(&mut self, id: NodeId) -> Result<(), YamlError> {
        let mark = self.document.node(id).mark;
        if self.out.len() > self.limit {
            return Err(YamlError::at(mark, "the document grows too large through aliases"));
        }
        let id = self.document.resolve(id);
        match &self.document.node(id).kind {
            Kind::Scalar { value, .. } => {
                return write_scalar(value, &mut self.out).map_err(|reason| YamlError::at(mark, reason));
            }
            Kind::Sequence { first } => {
                self.out.push('[');
                self.open.push(Open::Sequence { next: *first, first: true });
            }
            Kind::Mapping { .. } => {
                self.out.push('{');
                let entries = effective_entries(self.document, id).into_iter();
                self.open.push(Open::Mapping { entries, first: true });
            }
            Kind::Alias { .. } => {}
        }
        if self.open.len() > MAX_DEPTH {
            return Err(YamlError::at(mark, "nested too deeply"));
        }
        Ok(())
    }
}

fn write_scalar(value: &Scalar, out: &mut String) -> Result<(), &'static str> {
    match value {
        Scalar::Null => out.push_str("null"),
        Scalar::Bool(true) => out.push_str("true"),
        Scalar::Bool(false) => out.push_str("false"),
        Scalar::Int(number) => out.push_str(&number.to_string()),
        Scalar::Uint(number) => out.push_str(&number.to_string()),
        Scalar::Float(number) if !number.is_finite() => {
            return Err("infinity and NaN cannot be written as JSON");
        }
        Scalar::Float(number) => out.push_str(&format_json_float(*number)),
        Scalar::Text(text) => write_json_string(text, out),
        Scalar::Bytes(bytes) => write_json_bytes(bytes, out),
    }
    Ok(())
}

/// Appends `text` as a JSON string with Go's escapes, among them `<`, `>`, `&` and the line separators.
pub fn write_json_string(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Bytes that are no UTF-8 become replacement characters, one for each byte.
fn write_json_bytes(bytes: &[u8], out: &mut String) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        escape(chunk.valid(), out);
        for _ in chunk.invalid() {
            out.push_str("\\ufffd");
        }
    }
    out.push('"');
}

fn escape(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut written = 0;
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| SPECIAL[usize::from(*byte)]) {
        at += found;
        let length = match bytes[at] {
            0xE2 if bytes[at + 1] == 0x80 && matches!(bytes[at + 2], 0xA8 | 0xA9) => 3,
            0xE2 => {
                at += 3;
                continue;
            }
            _ => 1,
        };
        out.push_str(&text[written..at]);
        match bytes[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            0xE2 => out.push_str(if bytes[at + 2] == 0xA8 { "\\u2028" } else { "\\u2029" }),
            byte => out.push_str(&format!("\\u{byte:04x}")),
        }
        at += length;
        written = at;
    }
    out.push_str(&text[written..]);
}

/// Bytes that are escaped, or begin a character that may be.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    table[0xE2] = true;
    table
};
