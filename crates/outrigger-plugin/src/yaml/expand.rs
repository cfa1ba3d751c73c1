//! The cost of aliases: refuses alias bombs and values that contain themselves.
//!
//! The reference counts every value it decodes and how many of them it reached through an alias. The share of
//! the latter may be 99 % in small documents and falls to 10 % in large ones. The walk below visits values in
//! the same order and counts the same way, so the same documents are refused.

use super::YamlError;
use super::parser::Tree;
use super::tree::{Children, Document, Kind, NONE, NodeId};

/// Up to here the share of values behind aliases may be [`SMALL_SHARE`].
const SMALL: u64 = 400_000;
/// From here on it may be [`LARGE_SHARE`]; between the two it falls evenly.
const LARGE: u64 = 4_000_000;
const SMALL_SHARE: f64 = 0.99;
const LARGE_SHARE: f64 = 0.10;

pub(super) fn check(tree: &Tree) -> Result<(), YamlError> {
    if !tree.has_aliases || tree.document.root == NONE {
        return Ok(());
    }
    let mut walk = Walk {
        document: &tree.document,
        // The document itself counts as one value.
        decoded: 1,
        through_alias: 0,
        open_aliases: 0,
        is_open: vec![false; tree.document.nodes.len()],
        steps: vec![Step::Visit(tree.document.root)],
    };
    while let Some(step) = walk.steps.pop() {
        walk.step(step)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Step {
    Visit(NodeId),
    /// The item and its later siblings.
    Items(NodeId),
    /// The key and its later siblings.
    Entries(NodeId),
    CloseAlias(NodeId),
}

struct Walk<'d> {
    document: &'d Document,
    decoded: u64,
    through_alias: u64,
    open_aliases: u32,
    is_open: Vec<bool>,
    steps: Vec<Step>,
}

impl Walk<'_> {
    fn step(&mut self, step: Step) -> Result<(), YamlError> {
        match step {
            Step::Visit(id) => self.visit(id)?,
            Step::CloseAlias(id) => {
                self.open_aliases -= 1;
                self.is_open[id as usize] = false;
            }
            Step::Items(NONE) | Step::Entries(NONE) => {}
            Step::Items(id) => {
                self.steps.push(Step::Items(self.document.node(id).next));
                self.steps.push(Step::Visit(id));
            }
            Step::Entries(key) => self.entry(key),
        }
        Ok(())
    }

    fn entry(&mut self, key: NodeId) {
        let value = self.document.node(key).next;
        self.steps.push(Step::Entries(self.document.node(value).next));
        if !matches!(self.document.node(key).kind, Kind::Scalar { merge: true, .. }) {
            self.steps.push(Step::Visit(value));
            self.steps.push(Step::Visit(key));
        } else if let Kind::Sequence { first } = self.document.node(value).kind {
            // Merged mappings are decoded last to first, which is what the stack makes of them.
            let items = Children { document: self.document, next: first };
            self.steps.extend(items.map(Step::Visit));
        } else {
            self.steps.push(Step::Visit(value));
        }
    }

    fn visit(&mut self, id: NodeId) -> Result<(), YamlError> {
        let node = self.document.node(id);
        self.decoded += 1;
        if self.open_aliases > 0 {
            self.through_alias += 1;
        }
        let share = self.through_alias as f64 / self.decoded as f64;
        if self.through_alias > 100 && self.decoded > 1000 && share > allowed_share(self.decoded) {
            return Err(YamlError::at(node.mark, "the document expands too much through aliases"));
        }
        match node.kind {
            Kind::Scalar { .. } => {}
            Kind::Sequence { first } => self.steps.push(Step::Items(first)),
            Kind::Mapping { first } => self.steps.push(Step::Entries(first)),
            Kind::Alias { target } => {
                if std::mem::replace(&mut self.is_open[id as usize], true) {
                    return Err(YamlError::at(node.mark, "an anchored value contains itself"));
                }
                self.open_aliases += 1;
                self.steps.push(Step::CloseAlias(id));
                self.steps.push(Step::Visit(target));
            }
        }
        Ok(())
    }
}

fn allowed_share(decoded: u64) -> f64 {
    if decoded <= SMALL {
        return SMALL_SHARE;
    }
    if decoded >= LARGE {
        return LARGE_SHARE;
    }
    SMALL_SHARE - (SMALL_SHARE - LARGE_SHARE) * ((decoded - SMALL) as f64 / (LARGE - SMALL) as f64)
}
