//! [`TreeIndex`]: the names of a tree in memory, built without writing anything.
//!
//! Takes about 30 bytes an entry besides its name. Built through [`Ground`](crate::ground::Ground), so the
//! archives accepted here are the ones a disk would accept, with names up to 255 bytes. Permissions are
//! not modelled: as an ordinary user, a disk may refuse a file in a directory sent without write permission.

mod arena;
mod ground;
mod resolve;

use crate::ground::Kind;
pub(crate) use arena::NodeId;
use arena::{Arena, ROOT};
pub(crate) use ground::IndexGround;
pub(crate) use resolve::scoped_path;

/// What stands at a path of a [`TreeIndex`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexEntry<'a> {
    /// A directory.
    Dir,
    /// A regular file.
    File,
    /// A symbolic link and where it leads.
    Link(&'a [u8]),
}

/// A tree's directories, files and links by name. Content is not kept.
pub struct TreeIndex {
    ground: IndexGround,
}

impl TreeIndex {
    pub(crate) fn new() -> Self {
        Self { ground: IndexGround::new() }
    }

    pub(crate) fn ground(&mut self) -> &mut IndexGround {
        &mut self.ground
    }

    fn arena(&self) -> &Arena {
        self.ground.arena()
    }

    /// Number of directories, files and links, the root not counted.
    pub fn len(&self) -> usize {
        self.arena().len() - 1
    }

    /// Calls `visit` with the path of every directory, file and link relative to the root, parents first.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], IndexEntry<'_>)) {
        let mut todo: Vec<(NodeId, Vec<u8>)> = vec![(ROOT, Vec::new())];
        while let Some((dir, path)) = todo.pop() {
            for child in self.arena().children(dir) {
                let mut path = path.clone();
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(self.arena().name(child));
                match self.arena().kind(child) {
                    Kind::File => visit(&path, IndexEntry::File),
                    Kind::Link => visit(&path, IndexEntry::Link(self.arena().target(child))),
                    Kind::Dir => {
                        visit(&path, IndexEntry::Dir);
                        todo.push((child, path));
                    }
                }
            }
        }
    }

    /// Whether the tree is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Debug for TreeIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeIndex").field("len", &self.len()).finish()
    }
}
