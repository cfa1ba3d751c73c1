//! From nodes to fields, by the rules of Go's `encoding/json`.
//!
//! `null` leaves a text, flag or structure as it is and empties a list or map; any other value of the wrong type
//! is a problem. Several keys may mean one field: they apply one after the other.

use std::collections::BTreeMap;

use super::problem::Problem;
use crate::yaml::{Content, Entry, Node, Scalar, format_json_float, is_rfc3339};

/// Collects problems while fields are read.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pub(super) problems: Vec<Problem>,
}

impl Decoder {
    pub(super) fn problem(&mut self, node: Node<'_>, code: &'static str, message: String, hint: &str) {
        let (line, column) = (node.line(), node.column());
        self.problems.push(Problem { line, column, code, message, hint: hint.to_owned() });
    }

    /// A problem with something that is not there: points at what should hold it, or at the beginning.
    pub(super) fn missing(
        &mut self,
        holder: Option<Node<'_>>,
        code: &'static str,
        message: String,
        hint: &str,
    ) {
        let (line, column) = holder.map_or((1, 1), |node| (node.line(), node.column()));
        self.problems.push(Problem { line, column, code, message, hint: hint.to_owned() });
    }

    /// Whether one of these fields has the wrong type, so that it is not missing on top of that.
    pub(super) fn has_reported(&self, paths: &[&str]) -> bool {
        let reported = |path: &&str| {
            let prefix = format!("{path} must be ");
            self.problems.iter().any(|problem| problem.code == "type" && problem.message.starts_with(&prefix))
        };
        paths.iter().any(reported)
    }

    fn mismatch(&mut self, path: &str, node: Node<'_>, expected: &str, hint: &str) {
        let message = format!("{path} must be {expected}, not {}", kind_of(&node.content()));
        self.problem(node, "type", message, hint);
    }

    /// The entries of a mapping; none if it is null or, which is a problem, something else.
    pub(super) fn entries<'d>(&mut self, path: &str, node: Node<'d>) -> Vec<Entry<'d>> {
        match node.content() {
            Content::Mapping(entries) => return entries,
            Content::Scalar(Scalar::Null) => {}
            _ => self.mismatch(path, node, "a mapping", ""),
        }
        Vec::new()
    }

    /// The items of a list; `None` if it is no list, which is a problem unless it is null.
    pub(super) fn items<'d>(&mut self, path: &str, node: Node<'d>, hint: &str) -> Option<Vec<Node<'d>>> {
        match node.content() {
            Content::Sequence(items) => return Some(items),
            Content::Scalar(Scalar::Null) => {}
            _ => self.mismatch(path, node, "a list", hint),
        }
        None
    }

    pub(super) fn text(&mut self, path: &str, node: Node<'_>, out: &mut String) {
        self.text_with_hint(path, node, out, "put the value in quotes");
    }

    /// As [`Self::text`], with other advice for numbers and flags.
    pub(super) fn text_with_hint(&mut self, path: &str, node: Node<'_>, out: &mut String, hint: &str) {
        match node.content() {
            Content::Scalar(Scalar::Text(text)) => text.as_ref().clone_into(out),
            Content::Scalar(Scalar::Bytes(bytes)) => {
                out.clear();
                crate::yaml::push_lossy(bytes, out);
            }
            Content::Scalar(Scalar::Null) => {}
            Content::Scalar(_) => self.mismatch(path, node, "text", hint),
            _ => self.mismatch(path, node, "text", ""),
        }
    }

    pub(super) fn flag(&mut self, path: &str, node: Node<'_>, out: &mut bool) {
        match node.content() {
            Content::Scalar(Scalar::Bool(value)) => *out = *value,
            Content::Scalar(Scalar::Null) => {}
            Content::Scalar(_) => self.mismatch(path, node, "true or false", "write it without quotes"),
            _ => self.mismatch(path, node, "true or false", ""),
        }
    }

    /// A 64-bit integer whose value nobody asks for.
    pub(super) fn integer(&mut self, path: &str, node: Node<'_>) {
        match node.content() {
            Content::Scalar(Scalar::Null | Scalar::Int(_)) => {}
            Content::Scalar(Scalar::Float(number)) if format_json_float(*number).parse::<i64>().is_ok() => {}
            _ => self.mismatch(path, node, "an integer", ""),
        }
    }

    /// A point in time whose value nobody asks for.
    pub(super) fn time(&mut self, path: &str, node: Node<'_>) {
        match node.content() {
            Content::Scalar(Scalar::Null) => {}
            Content::Scalar(Scalar::Text(text)) if is_rfc3339(text) => {}
            _ => self.mismatch(path, node, "a time such as 2024-01-31T12:00:00Z", ""),
        }
    }

    /// Items take the places of earlier ones; a null item leaves what was there.
    pub(super) fn texts(&mut self, path: &str, node: Node<'_>, out: &mut Vec<String>, hint: &str) {
        let Some(items) = self.items(path, node, hint) else {
            if matches!(node.content(), Content::Scalar(Scalar::Null)) {
                out.clear();
            }
            return;
        };
        out.resize(items.len(), String::new());
        for (index, (item, text)) in items.into_iter().zip(out).enumerate() {
            self.text(&format!("{path}[{index}]"), item, text);
        }
    }

    /// Entries are added to earlier ones; a null value is an empty text.
    pub(super) fn text_map(&mut self, path: &str, node: Node<'_>, out: &mut BTreeMap<String, String>) {
        if matches!(node.content(), Content::Scalar(Scalar::Null)) {
            out.clear();
        }
        for Entry { key, value } in self.entries(path, node) {
            let mut text = String::new();
            self.text(&format!("{path}.{}", key.text), value, &mut text);
            out.insert(key.text.into_owned(), text);
        }
    }
}

fn kind_of(content: &Content<'_>) -> &'static str {
    match content {
        Content::Scalar(Scalar::Null) => "null",
        Content::Scalar(Scalar::Bool(true)) => "true",
        Content::Scalar(Scalar::Bool(false)) => "false",
        Content::Scalar(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_)) => "a number",
        Content::Scalar(_) => "text",
        Content::Sequence(_) => "a list",
        Content::Mapping(_) => "a mapping",
    }
}
