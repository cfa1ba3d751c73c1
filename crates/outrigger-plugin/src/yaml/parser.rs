//! Tokens to tree.
//!
//! Open collections wait on a stack of [`Frame`]s. Everything that makes a document invalid whatever becomes of
//! its parts (keys that are collections, tags that do not fit, merges of non-mappings) is refused here.

use std::borrow::Cow;
use std::collections::HashMap;

use super::resolve::{self, Scalar};
use super::scanner::{Scanner, Token};
use super::tags::Tag;
use super::tree::{Children, Document, Kind, NONE, NodeData, NodeId};
use super::{Mark, YamlError};

/// A parsed document and what its parser noticed.
pub(super) struct Tree {
    pub(super) document: Document,
    pub(super) has_aliases: bool,
}

/// Reads the first document of `text`; `spoiled` is what is wrong with the bytes behind it.
pub(super) fn parse(text: &str, spoiled: Option<YamlError>) -> Result<Tree, YamlError> {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        nodes: Vec::new(),
        anchors: HashMap::new(),
        handles: Vec::new(),
        merged: Vec::new(),
        frames: Vec::new(),
        has_aliases: false,
    };
    let result = parser.document();
    if let Some(error) = spoiled.filter(|_| parser.scanner.cursor.is_starved()) {
        return Err(error);
    }
    let document = Document { root: result?, nodes: parser.nodes, every_entry: false };
    check_merges(&document, &parser.merged)?;
    Ok(Tree { document, has_aliases: parser.has_aliases })
}

/// Where in its collection an open collection is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum State {
    /// Before the first entry of a flow collection.
    First,
    /// Before an entry or a key.
    Entry,
    /// Behind a key.
    Value,
    /// Behind a flow entry that is a key without value.
    NoValue,
    /// Behind the only entry of a pair inside `[]`.
    End,
}

#[derive(Clone, Copy)]
pub(super) enum Shape {
    BlockSequence,
    /// A list whose dashes stand directly below the key it belongs to.
    IndentlessSequence,
    BlockMapping,
    FlowSequence,
    FlowMapping,
    /// `[a: b]`
    FlowPair,
}

struct Frame {
    shape: Shape,
    state: State,
    node: NodeId,
    last_child: NodeId,
    children: usize,
}

pub(super) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    nodes: Vec<NodeData>,
    anchors: HashMap<&'a str, NodeId>,
    handles: Vec<(&'a str, Vec<u8>)>,
    /// Values of merge keys.
    merged: Vec<NodeId>,
    frames: Vec<Frame>,
    has_aliases: bool,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Result<NodeId, YamlError> {
        if *self.scanner.peek()? == Token::StreamEnd {
            return Ok(NONE);
        }
        let explicit = matches!(
            self.scanner.peek()?,
            Token::Version { .. } | Token::TagHandle { .. } | Token::DocumentStart
        );
        if explicit {
            self.directives()?;
            let (mark, token) = self.scanner.take()?;
            if token != Token::DocumentStart {
                return Err(YamlError::at(mark, "expected '---' behind the directives"));
            }
        }
        let root = if explicit && self.next_is_document_boundary()? {
            let mark = self.scanner.peek_mark()?;
            self.empty(mark)?
        } else {
            self.node(true, false)?
        };
        while !self.frames.is_empty() {
            self.step()?;
        }
        // The reference looks at the next token, whatever it is, before it believes the document has ended.
        self.scanner.peek()?;
        Ok(root)
    }

    fn next_is_document_boundary(&mut self) -> Result<bool, YamlError> {
        Ok(matches!(
            self.scanner.peek()?,
            Token::Version { .. }
                | Token::TagHandle { .. }
                | Token::DocumentStart
                | Token::DocumentEnd
                | Token::StreamEnd
        ))
    }

    fn directives(&mut self) -> Result<(), YamlError> {
        let mut versions = 0;
        loop {
            let mark = self.scanner.peek_mark()?;
            match self.scanner.peek()? {
                Token::Version { supported } => {
                    versions += 1;
                    if versions > 1 {
                        return Err(YamlError::at(mark, "a second %YAML directive"));
                    }
                    if !supported {
                        return Err(YamlError::at(mark, "only YAML 1.1 can be declared"));
                    }
                }
                Token::TagHandle { handle, prefix } => {
                    let (handle, prefix) = (*handle, prefix.clone());
                    if self.handles.iter().any(|(known, _)| *known == handle) {
                        return Err(YamlError::at(mark, "a second %TAG directive for the same handle"));
                    }
                    self.handles.push((handle, prefix));
                }
                _ => return Ok(()),
            }
            self.scanner.take()?;
        }
    }

    /// Lets the innermost open collection take its next part.
    fn step(&mut self) -> Result<(), YamlError> {
        let Some(frame) = self.frames.last() else {
            return Ok(());
        };
        let state = frame.state;
        match frame.shape {
            Shape::BlockSequence => self.block_sequence(),
            Shape::IndentlessSequence => self.indentless_sequence(),
            Shape::BlockMapping if state == State::Value => self.block_mapping_value(),
            Shape::BlockMapping => self.block_mapping_key(),
            Shape::FlowSequence => self.flow_sequence(state == State::First),
            Shape::FlowMapping => self.flow_mapping(state),
            Shape::FlowPair => self.flow_pair(state),
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        if let Some(frame) = self.frames.last_mut() {
            frame.state = state;
        }
    }

    pub(super) fn close(&mut self) {
        self.frames.pop();
    }

    /// Reads a node: all of a scalar or alias, only the beginning of a collection.
    pub(super) fn node(&mut self, block: bool, indentless: bool) -> Result<NodeId, YamlError> {
        let mark = self.scanner.peek_mark()?;
        if let Token::Alias(name) = self.scanner.peek()? {
            let Some(target) = self.anchors.get(*name).copied() else {
                return Err(YamlError::at(mark, "this alias names no anchor of the document"));
            };
            self.scanner.take()?;
            self.has_aliases = true;
            return self.add(mark, Kind::Alias { target });
        }
        let (anchor, tag) = self.properties()?;
        let content = self.scanner.peek_mark()?;
        let shape = match self.scanner.peek()? {
            Token::BlockEntry if indentless => {
                return self.open(mark, Shape::IndentlessSequence, anchor);
            }
            Token::Scalar { .. } => return self.scalar(mark, anchor, tag.as_deref()),
            Token::FlowSequenceStart => Some(Shape::FlowSequence),
            Token::FlowMappingStart => Some(Shape::FlowMapping),
            Token::BlockSequenceStart if block => Some(Shape::BlockSequence),
            Token::BlockMappingStart if block => Some(Shape::BlockMapping),
            _ => None,
        };
        if let Some(shape) = shape {
            self.scanner.take()?;
            return self.open(mark, shape, anchor);
        }
        if anchor.is_none() && tag.is_none() {
            return Err(YamlError::at(content, "expected a value"));
        }
        self.leaf(mark, anchor, tag.as_deref(), Cow::Borrowed(""), true)
    }

    fn scalar(
        &mut self,
        mark: Mark,
        anchor: Option<&'a str>,
        tag: Option<&[u8]>,
    ) -> Result<NodeId, YamlError> {
        match self.scanner.take()?.1 {
            Token::Scalar { value, plain } => self.leaf(mark, anchor, tag, value, plain),
            _ => Err(YamlError::at(mark, "expected a value")),
        }
    }

    /// Anchor and tag, in either order.
    fn properties(&mut self) -> Result<(Option<&'a str>, Option<Vec<u8>>), YamlError> {
        let mut anchor = None;
        let mut tag = None;
        loop {
            match self.scanner.peek()? {
                Token::Anchor(name) if anchor.is_none() => {
                    anchor = Some(*name);
                    self.scanner.take()?;
                }
                Token::Tag(_) if tag.is_none() => {
                    let (mark, token) = self.scanner.take()?;
                    if let Token::Tag(written) = token {
                        tag = Some((mark, written));
                    }
                }
                _ => break,
            }
        }
        match tag {
            Some((mark, written)) => Ok((anchor, Some(self.full_tag(mark, written)?))),
            None => Ok((anchor, None)),
        }
    }

    fn full_tag(&self, mark: Mark, tag: Tag<'_>) -> Result<Vec<u8>, YamlError> {
        if tag.handle.is_empty() {
            return Ok(tag.suffix);
        }
        let declared = self.handles.iter().find(|(handle, _)| *handle == tag.handle);
        let prefix = match (declared, tag.handle) {
            (Some((_, prefix)), _) => prefix.as_slice(),
            (None, "!") => b"!",
            (None, "!!") => resolve::STANDARD_TAG.as_bytes(),
            _ => return Err(YamlError::at(mark, "this tag's handle is not declared")),
        };
        Ok([prefix, &tag.suffix].concat())
    }

    pub(super) fn empty(&mut self, mark: Mark) -> Result<NodeId, YamlError> {
        self.add(mark, Kind::Scalar { value: Scalar::Null, merge: false })
    }

    fn leaf(
        &mut self,
        mark: Mark,
        anchor: Option<&'a str>,
        tag: Option<&[u8]>,
        text: Cow<'_, str>,
        plain: bool,
    ) -> Result<NodeId, YamlError> {
        // A lone `!` forbids resolving the value but leaves the meaning of a merge key.
        let untagged_merge = tag.map_or(plain, |tag| tag == b"!");
        let merge = text == "<<" && (untagged_merge || tag == Some(resolve::MERGE_TAG.as_bytes()));
        let value = resolve::scalar(tag, text, plain).map_err(|reason| YamlError::at(mark, reason))?;
        let id = self.add(mark, Kind::Scalar { value, merge })?;
        self.name(anchor, id);
        Ok(id)
    }

    pub(super) fn open(
        &mut self,
        mark: Mark,
        shape: Shape,
        anchor: Option<&'a str>,
    ) -> Result<NodeId, YamlError> {
        let (kind, state) = match shape {
            Shape::BlockSequence | Shape::IndentlessSequence => {
                (Kind::Sequence { first: NONE }, State::Entry)
            }
            Shape::BlockMapping | Shape::FlowPair => (Kind::Mapping { first: NONE }, State::Entry),
            Shape::FlowSequence => (Kind::Sequence { first: NONE }, State::First),
            Shape::FlowMapping => (Kind::Mapping { first: NONE }, State::First),
        };
        let node = self.add(mark, kind)?;
        self.name(anchor, node);
        self.frames.push(Frame { shape, state, node, last_child: NONE, children: 0 });
        Ok(node)
    }

    fn name(&mut self, anchor: Option<&'a str>, id: NodeId) {
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
    }

    /// Adds a node as the next child of the innermost open collection.
    fn add(&mut self, mark: Mark, kind: Kind) -> Result<NodeId, YamlError> {
        let id = self.nodes.len() as NodeId;
        if id == NONE {
            return Err(YamlError::at(mark, "the document has too many nodes"));
        }
        self.nodes.push(NodeData { mark, next: NONE, kind });
        let Some(frame) = self.frames.last_mut() else {
            return Ok(id);
        };
        let previous = std::mem::replace(&mut frame.last_child, id);
        let is_key = frame.children.is_multiple_of(2);
        frame.children += 1;
        let parent = frame.node;
        if previous != NONE {
            self.nodes[previous as usize].next = id;
        } else if let Kind::Sequence { first } | Kind::Mapping { first } =
            &mut self.nodes[parent as usize].kind
        {
            *first = id;
        }
        if !matches!(self.nodes[parent as usize].kind, Kind::Mapping { .. }) {
            return Ok(id);
        }
        if is_key {
            self.check_key(id)?;
        } else if matches!(self.nodes[previous as usize].kind, Kind::Scalar { merge: true, .. }) {
            self.merged.push(id);
        }
        Ok(id)
    }

    fn check_key(&self, id: NodeId) -> Result<(), YamlError> {
        let node = &self.nodes[id as usize];
        let kind = match node.kind {
            Kind::Alias { target } => &self.nodes[target as usize].kind,
            ref kind => kind,
        };
        if matches!(kind, Kind::Scalar { .. }) {
            return Ok(());
        }
        Err(YamlError::at(node.mark, "a mapping or list cannot be a key"))
    }
}

fn check_merges(document: &Document, merged: &[NodeId]) -> Result<(), YamlError> {
    let is_mapping = |id| matches!(document.node(document.resolve(id)).kind, Kind::Mapping { .. });
    for &value in merged {
        let fits = match document.node(value).kind {
            Kind::Sequence { first } => Children { document, next: first }.all(is_mapping),
            _ => is_mapping(value),
        };
        if !fits {
            let mark = document.node(value).mark;
            return Err(YamlError::at(mark, "'<<' needs a mapping or a list of mappings"));
        }
    }
    Ok(())
}
