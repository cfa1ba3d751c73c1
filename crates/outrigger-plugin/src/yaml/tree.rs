//! The document as a tree whose nodes know where they stand.
//!
//! Nodes live in one vector and refer to each other by index, so a tree of any depth is built, walked and freed
//! without recursion.

use std::borrow::Cow;

use super::source::Source;
use super::{Mark, Scalar, YamlError, expand, float, json, parser};

/// Index of a node; `NONE` ends a list of siblings.
pub(super) type NodeId = u32;
pub(super) const NONE: NodeId = u32::MAX;

/// What one node of the tree is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Scalar {
        value: Scalar,
        /// As a key it means "take over the entries of the value".
        merge: bool,
    },
    Sequence {
        first: NodeId,
    },
    /// Children are key, value, key, value …
    Mapping {
        first: NodeId,
    },
    Alias {
        target: NodeId,
    },
}

#[derive(Debug, Clone)]
pub(super) struct NodeData {
    pub(super) mark: Mark,
    pub(super) next: NodeId,
    pub(super) kind: Kind,
}

/// One YAML document.
#[derive(Debug, Clone)]
pub struct Document {
    pub(super) nodes: Vec<NodeData>,
    /// `NONE` when the stream held no document at all.
    pub(super) root: NodeId,
    /// JSON keeps every entry in the order of the text.
    pub(super) every_entry: bool,
}

impl Document {
    /// Reads the first document of `bytes`; what follows it is ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, YamlError> {
        let source = Source::read(bytes);
        let tree = parser::parse(&source.text, source.spoiled)?;
        expand::check(&tree)?;
        Ok(tree.document)
    }

    /// The document's content; `None` when there is none (an empty file).
    pub fn root(&self) -> Option<Node<'_>> {
        (self.root != NONE).then_some(Node { document: self, id: self.root })
    }

    /// The document as JSON text in the formatting of Go's `encoding/json`.
    ///
    /// Aliases to long texts can make it much longer than the document: beyond `limit` bytes it is refused.
    pub fn to_json(&self, limit: usize) -> Result<String, YamlError> {
        json::write(self, limit)
    }

    pub(super) fn node(&self, id: NodeId) -> &NodeData {
        &self.nodes[id as usize]
    }

    /// The node itself or, for an alias, what it stands for.
    pub(super) fn resolve(&self, id: NodeId) -> NodeId {
        match self.node(id).kind {
            Kind::Alias { target } => target,
            _ => id,
        }
    }
}

/// A node of a [`Document`].
#[derive(Debug, Clone, Copy)]
pub struct Node<'d> {
    document: &'d Document,
    id: NodeId,
}

/// What a [`Node`] holds; aliases are followed.
#[derive(Debug)]
pub enum Content<'d> {
    /// A single value.
    Scalar(&'d Scalar),
    /// A list.
    Sequence(Vec<Node<'d>>),
    /// From YAML: sorted by key, merge keys applied, the last of equal keys only. From JSON: as written.
    Mapping(Vec<Entry<'d>>),
}

/// One key of a mapping with its value.
#[derive(Debug, Clone)]
pub struct Entry<'d> {
    /// The key.
    pub key: Key<'d>,
    /// The value.
    pub value: Node<'d>,
}

/// The key of a mapping entry, spelled as in JSON.
#[derive(Debug, Clone)]
pub struct Key<'d> {
    /// The key's text.
    pub text: Cow<'d, str>,
    /// One-based line.
    pub line: usize,
    /// One-based column in characters.
    pub column: usize,
}

impl<'d> Node<'d> {
    /// One-based line where the node begins.
    pub fn line(&self) -> usize {
        self.document.node(self.id).mark.line as usize + 1
    }

    /// One-based column in characters where the node begins.
    pub fn column(&self) -> usize {
        self.document.node(self.id).mark.column as usize + 1
    }

    /// The node's content.
    pub fn content(&self) -> Content<'d> {
        let document = self.document;
        let id = document.resolve(self.id);
        match &document.node(id).kind {
            Kind::Scalar { value, .. } => Content::Scalar(value),
            Kind::Sequence { first } => {
                let children = Children { document, next: *first };
                Content::Sequence(children.map(|id| Node { document, id }).collect())
            }
            Kind::Mapping { .. } => {
                let entries = effective_entries(document, id);
                Content::Mapping(entries.into_iter().map(|entry| entry.public(document)).collect())
            }
            // Aliases cannot be anchored, so an alias never leads to another one.
            Kind::Alias { .. } => Content::Scalar(&Scalar::Null),
        }
    }
}

/// Ids of a node's children.
pub(super) struct Children<'d> {
    pub(super) document: &'d Document,
    pub(super) next: NodeId,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.next == NONE {
            return None;
        }
        let id = self.next;
        self.next = self.document.node(id).next;
        Some(id)
    }
}

/// A mapping's entry before it is shown or written.
pub(super) struct RawEntry<'d> {
    /// Bytes, because `!!binary` keys need not be text.
    pub(super) key: Cow<'d, [u8]>,
    pub(super) key_id: NodeId,
    pub(super) value: NodeId,
}

impl<'d> RawEntry<'d> {
    fn public(self, document: &'d Document) -> Entry<'d> {
        let mark = document.node(self.key_id).mark;
        let text = match self.key {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let key = Key { text, line: mark.line as usize + 1, column: mark.column as usize + 1 };
        Entry { key, value: Node { document, id: self.value } }
    }

    /// Null and integers beyond 64 signed bits cannot be keys in JSON; such entries are refused by the writer.
    pub(super) fn problem(&self, document: &Document) -> Option<&'static str> {
        match key_scalar(document, self.key_id) {
            Scalar::Null => Some("null cannot be a key"),
            Scalar::Uint(_) => Some("an integer this large cannot be a key"),
            _ => None,
        }
    }
}

fn key_scalar(document: &Document, key: NodeId) -> &Scalar {
    match &document.node(document.resolve(key)).kind {
        Kind::Scalar { value, .. } => value,
        _ => &Scalar::Null,
    }
}

/// The entries that are left of a mapping when merge keys are applied, in the order of their keys.
///
/// A merge key sets the merged entries where it stands: what follows it wins, what precedes it loses.
pub(super) fn effective_entries(document: &Document, mapping: NodeId) -> Vec<RawEntry<'_>> {
    let mut entries: Vec<RawEntry<'_>> = Vec::new();
    let mut zero: Option<usize> = None;
    let mut pending = vec![first_child(document, mapping)];
    while let Some(key) = pending.pop() {
        if key == NONE {
            continue;
        }
        let value = document.node(key).next;
        pending.push(document.node(value).next);
        if !matches!(document.node(key).kind, Kind::Scalar { merge: true, .. }) {
            push_entry(document, &mut entries, key, value);
            if is_float_zero(document, key) {
                if let Some(earlier) = zero {
                    entries.swap_remove(earlier);
                }
                zero = Some(entries.len() - 1);
            }
            continue;
        }
        let target = document.resolve(value);
        match document.node(target).kind {
            // The first of several mappings wins, so it comes last: the stack turns the order round.
            Kind::Sequence { first } => pending.extend(
                Children { document, next: first }.map(|item| first_child(document, document.resolve(item))),
            ),
            _ => pending.push(first_child(document, target)),
        }
    }
    if document.every_entry { entries } else { keep_last(entries) }
}

fn first_child(document: &Document, mapping: NodeId) -> NodeId {
    match document.node(mapping).kind {
        Kind::Mapping { first } => first,
        _ => NONE,
    }
}

fn push_entry<'d>(document: &'d Document, entries: &mut Vec<RawEntry<'d>>, key_id: NodeId, value: NodeId) {
    let key = match key_scalar(document, key_id) {
        Scalar::Text(text) => Cow::Borrowed(text.as_bytes()),
        Scalar::Bytes(bytes) => Cow::Borrowed(bytes.as_slice()),
        Scalar::Int(number) => Cow::Owned(number.to_string().into_bytes()),
        Scalar::Uint(number) => Cow::Owned(number.to_string().into_bytes()),
        Scalar::Float(number) => Cow::Owned(float::format_key(*number).into_bytes()),
        Scalar::Bool(true) => Cow::Borrowed(b"true".as_slice()),
        Scalar::Bool(false) => Cow::Borrowed(b"false".as_slice()),
        Scalar::Null => Cow::Borrowed(b"null".as_slice()),
    };
    entries.push(RawEntry { key, key_id, value });
}

/// 0.0 and -0.0 are one key, though they are spelled differently.
fn is_float_zero(document: &Document, key: NodeId) -> bool {
    matches!(key_scalar(document, key), Scalar::Float(number) if *number == 0.0)
}

fn keep_last(mut entries: Vec<RawEntry<'_>>) -> Vec<RawEntry<'_>> {
    let sorted = entries.windows(2).all(|pair| pair[0].key < pair[1].key);
    if !sorted {
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries.dedup_by(|later, earlier| {
            let equal = later.key == earlier.key;
            if equal {
                std::mem::swap(later, earlier);
            }
            equal
        });
    }
    entries
}
