//! An index as something an archive can be applied to.

use rustix::io::Errno;

use super::{Arena, NodeId, ROOT};
use crate::ground::{Ground, Kind};

/// A [`Ground`] in memory. Answers as a disk does.
pub(crate) struct IndexGround {
    arena: Arena,
    /// The directories on the way to the cursor.
    levels: Vec<NodeId>,
}

impl IndexGround {
    pub(super) fn new() -> Self {
        Self { arena: Arena::new(), levels: Vec::new() }
    }

    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    fn here(&self) -> NodeId {
        self.levels.last().copied().unwrap_or(ROOT)
    }

    fn find(&self, name: &[u8]) -> Result<NodeId, Errno> {
        if name == b"." { Ok(self.here()) } else { self.arena.find(self.here(), name) }
    }

    fn add(&mut self, name: &[u8], kind: Kind, target: &[u8]) -> Result<(), Errno> {
        match self.find(name) {
            Ok(_) => Err(Errno::EXIST),
            Err(Errno::NOENT) => self.arena.add(self.here(), name, kind, target).map(|_| ()),
            Err(errno) => Err(errno),
        }
    }
}

impl Ground for IndexGround {
    fn stands_at(&self, dir: &[u8]) -> bool {
        if dir == b"." {
            return self.levels.is_empty();
        }
        let mut parts = dir.split(|byte| *byte == b'/');
        self.levels.iter().all(|level| parts.next() == Some(self.arena.name(*level)))
            && parts.next().is_none()
    }

    fn shared(&self, parts: &[Vec<u8>]) -> usize {
        self.levels
            .iter()
            .zip(parts)
            .take_while(|(level, part)| self.arena.name(**level) == part.as_slice())
            .count()
    }

    fn climb_to(&mut self, depth: usize) -> Result<(), Errno> {
        self.levels.truncate(depth);
        Ok(())
    }

    fn enter(&mut self, name: &[u8]) -> Result<(), Errno> {
        let node = self.find(name)?;
        if self.arena.kind(node) != Kind::Dir {
            return Err(Errno::NOTDIR);
        }
        self.levels.push(node);
        Ok(())
    }

    fn make_dir(&mut self, name: &[u8], _mode: u32) -> Result<(), Errno> {
        self.add(name, Kind::Dir, b"")
    }

    fn make_link(&mut self, name: &[u8], target: &[u8]) -> Result<(), Errno> {
        self.add(name, Kind::Link, target)
    }

    fn kind(&mut self, name: &[u8]) -> Result<Kind, Errno> {
        self.find(name).map(|node| self.arena.kind(node))
    }

    fn link_target(&mut self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        let node = self.find(name)?;
        if self.arena.kind(node) == Kind::Link {
            Ok(self.arena.target(node).to_vec())
        } else {
            Err(Errno::INVAL)
        }
    }

    fn create(&mut self, name: &[u8], _mode: u32) -> Result<(), Errno> {
        match self.find(name) {
            Ok(node) => match self.arena.kind(node) {
                Kind::File => Ok(()),
                Kind::Dir => Err(Errno::ISDIR),
                Kind::Link => Err(Errno::LOOP),
            },
            Err(Errno::NOENT) => self.add(name, Kind::File, b""),
            Err(errno) => Err(errno),
        }
    }

    fn write(&mut self, _bytes: &[u8]) -> Result<(), Errno> {
        Ok(())
    }

    fn close(&mut self) {}
}
