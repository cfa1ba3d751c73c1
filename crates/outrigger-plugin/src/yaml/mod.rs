//! One YAML document, read the way the reference implementation reads it.
//!
//! Promised: a document is accepted or refused, and becomes the same JSON text, as by the Go libraries that
//! Argo CD uses (go-yaml v2 behind sigs.k8s.io/yaml). That is YAML 1.1 in a dialect of its own: `y`, `on` and
//! `0644` are not strings, keys are resolved like values, the last of several equal keys wins, merge keys apply
//! where they stand, and whatever follows the first document is ignored. Reading is bounded: nesting, alias
//! expansion and the size of the JSON text have limits, and nothing here recurses over its input.
//!
//! Not promised: the texts of errors; what two *different* YAML keys with one JSON spelling (`1`, `1.0` and
//! `"1"`) give, where the reference picks one at random and here the later one wins; and byte order marks inside
//! a document, which the reference takes for white space or for text depending on where its read buffer begins.
//!
//! ```text
//! bytes ─ source ─▶ text ─ scanner ─▶ tokens ─ parser ─▶ Document ─ json ─▶ JSON text
//! ```
//!
//! The scanner is our own because the dialect is decided there: the existing ports of libyaml accept `\/` and
//! refuse `\'` in double quotes, read `{a:}` and `[a?b]` differently, look through all open brackets at every
//! token and panic on some inputs.

mod blocks;
mod collections;
mod cursor;
mod expand;
mod float;
mod indicators;
mod json;
mod json_text;
mod json_tree;
mod parser;
mod quoted;
mod resolve;
mod scanner;
mod source;
mod tags;
#[cfg(test)]
mod tests;
mod timestamp;
mod tree;

pub use float::format_json_float;
pub use json::write_json_string;
pub(crate) use json_text::{JsonError, json_value_end, push_lossy, skip_json_space};
pub use resolve::Scalar;
pub(crate) use timestamp::is_rfc3339;
pub use tree::{Content, Document, Entry, Key, Node};

/// Where something begins: zero-based line and column (in characters).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
struct Mark {
    line: u32,
    column: u32,
}

/// Why a document was refused, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct YamlError {
    /// One-based line inside the document.
    pub line: usize,
    /// One-based column in characters.
    pub column: usize,
    /// What is wrong, without quoting the document.
    pub reason: String,
}

impl YamlError {
    fn at(mark: Mark, reason: impl Into<String>) -> Self {
        Self { line: mark.line as usize + 1, column: mark.column as usize + 1, reason: reason.into() }
    }
}

/// Longest JSON text worth making of `length` bytes of YAML. Without aliases it never gets near.
pub fn json_limit(length: usize) -> usize {
    (64 << 20) + length.saturating_mul(16)
}

/// Reads the first document of `bytes` and writes it as JSON text of at most `limit` bytes, as `YAMLToJSON` does.
pub fn to_json(bytes: &[u8], limit: usize) -> Result<String, YamlError> {
    Document::parse(bytes)?.to_json(limit)
}
