//! Nodes in one vector, names in another, and a hash table of node numbers to find children by name.

use std::hash::{BuildHasher, RandomState};

use rustix::io::Errno;

use crate::ground::Kind;

/// A node's number.
pub(crate) type NodeId = u32;
/// The root's number, and the end of every list, since the root is nobody's child.
pub(super) const ROOT: NodeId = 0;
/// Longest name of one component, as on every common file system.
const NAME_MAX: usize = 255;

struct Node {
    parent: NodeId,
    /// Next child of the same parent.
    sibling: NodeId,
    name_start: u32,
    /// A directory's first child, or where a link's target starts among the names.
    extra: u32,
    target_len: u16,
    name_len: u8,
    kind: Kind,
}

/// A tree of names.
pub(super) struct Arena {
    nodes: Vec<Node>,
    names: Vec<u8>,
    /// Node numbers by hash of parent and name; the root's number marks a free place.
    table: Vec<NodeId>,
    hasher: RandomState,
}

impl Arena {
    pub(super) fn new() -> Self {
        let root = Node {
            parent: ROOT,
            sibling: ROOT,
            name_start: 0,
            extra: ROOT,
            target_len: 0,
            name_len: 0,
            kind: Kind::Dir,
        };
        Self { nodes: vec![root], names: Vec::new(), table: vec![ROOT; 64], hasher: RandomState::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn kind(&self, node: NodeId) -> Kind {
        self.nodes[node as usize].kind
    }

    pub(super) fn parent(&self, node: NodeId) -> NodeId {
        self.nodes[node as usize].parent
    }

    pub(super) fn name(&self, node: NodeId) -> &[u8] {
        let node = &self.nodes[node as usize];
        &self.names[node.name_start as usize..][..usize::from(node.name_len)]
    }

    /// A link's target.
    pub(super) fn target(&self, node: NodeId) -> &[u8] {
        let node = &self.nodes[node as usize];
        &self.names[node.extra as usize..][..usize::from(node.target_len)]
    }

    /// A directory's children, in no particular order.
    pub(super) fn children(&self, dir: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let node = &self.nodes[dir as usize];
        let first = if node.kind == Kind::Dir { node.extra } else { ROOT };
        let some = |node: NodeId| (node != ROOT).then_some(node);
        std::iter::successors(some(first), move |node| some(self.nodes[*node as usize].sibling))
    }

    /// The child with this name. As a disk would, names that are too long are an error.
    pub(super) fn find(&self, dir: NodeId, name: &[u8]) -> Result<NodeId, Errno> {
        if name.len() > NAME_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        match self.table[self.place(dir, name)] {
            ROOT => Err(Errno::NOENT),
            node => Ok(node),
        }
    }

    /// Adds a child that does not exist yet. `target` is for links.
    pub(super) fn add(
        &mut self,
        dir: NodeId,
        name: &[u8],
        kind: Kind,
        target: &[u8],
    ) -> Result<NodeId, Errno> {
        let name_len = u8::try_from(name.len()).map_err(|_| Errno::NAMETOOLONG)?;
        let target_len = u16::try_from(target.len()).map_err(|_| Errno::NAMETOOLONG)?;
        let id = NodeId::try_from(self.nodes.len()).map_err(|_| Errno::NOMEM)?;
        let name_start = self.keep(name)?;
        let extra = if kind == Kind::Link { self.keep(target)? } else { ROOT };
        let sibling = std::mem::replace(&mut self.nodes[dir as usize].extra, id);
        self.nodes.push(Node { parent: dir, sibling, name_start, extra, target_len, name_len, kind });
        if self.nodes.len() * 4 > self.table.len() * 3 {
            self.grow();
        } else {
            let place = self.place(dir, name);
            self.table[place] = id;
        }
        Ok(id)
    }

    fn keep(&mut self, text: &[u8]) -> Result<u32, Errno> {
        let start = u32::try_from(self.names.len()).map_err(|_| Errno::NOMEM)?;
        self.names.extend_from_slice(text);
        Ok(start)
    }

    /// Where the child is in the table, or the free place where it belongs.
    fn place(&self, dir: NodeId, name: &[u8]) -> usize {
        let mask = self.table.len() - 1;
        let mut at = self.hasher.hash_one((dir, name)) as usize & mask;
        loop {
            match self.table[at] {
                ROOT => return at,
                node if self.parent(node) == dir && self.name(node) == name => return at,
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        self.table = vec![ROOT; self.table.len() * 2];
        for id in 1..self.nodes.len() as NodeId {
            let place = self.place(self.parent(id), self.name(id));
            self.table[place] = id;
        }
    }
}
