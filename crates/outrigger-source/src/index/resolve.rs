//! Finding nodes by path: as the kernel does, and scoped to the tree as discovery does.

use rustix::io::Errno;

use super::{NodeId, ROOT, TreeIndex};
use crate::ground::Kind;
use crate::paths::{clean, join};

/// Links the kernel follows in one path.
const KERNEL_LINKS: usize = 40;
/// Links followed when the application's path is joined to the tree.
const SCOPED_LINKS: usize = 255;

impl TreeIndex {
    /// The node a clean path relative to the root leads to, resolved as the kernel would.
    pub(crate) fn resolve(&self, path: &[u8], follow_last: bool) -> Result<NodeId, Errno> {
        let mut todo: Vec<Vec<u8>> = path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect();
        let (mut at, mut links) = (ROOT, 0);
        while let Some(part) = todo.pop() {
            if self.arena().kind(at) != Kind::Dir {
                return Err(Errno::NOTDIR);
            }
            match part.as_slice() {
                b"" | b"." => continue,
                b".." if at == ROOT => return Err(Errno::XDEV),
                b".." => {
                    at = self.arena().parent(at);
                    continue;
                }
                _ => {}
            }
            let node = self.arena().find(at, &part)?;
            if self.arena().kind(node) != Kind::Link || (todo.is_empty() && !follow_last) {
                at = node;
                continue;
            }
            links += 1;
            if links > KERNEL_LINKS {
                return Err(Errno::LOOP);
            }
            todo.extend(self.arena().target(node).split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
        }
        Ok(at)
    }

    pub(crate) fn is_dir(&self, node: NodeId) -> bool {
        self.arena().kind(node) == Kind::Dir
    }

    pub(crate) fn children(&self, dir: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.arena().children(dir)
    }

    pub(crate) fn name(&self, node: NodeId) -> &[u8] {
        self.arena().name(node)
    }

    /// The application's directory relative to the root, links resolved; empty for the root itself.
    pub(crate) fn scoped_app_dir(&self, rel: &str) -> Result<Vec<u8>, Errno> {
        scoped_path(rel.as_bytes(), |path| match self.resolve(path, false) {
            Ok(node) if self.arena().kind(node) == Kind::Link => Ok(Some(self.arena().target(node).to_vec())),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno),
        })
    }
}

/// Longest application path looked at; the kernel gives up much earlier.
const MAX_PATH: usize = 64 * 1024;

/// Joins `path` to a root it cannot leave: `..` stops there, and so do links. `read_link` gets clean paths
/// relative to the root, without links in their parents, and returns the target of those that are links.
pub(crate) fn scoped_path(
    path: &[u8],
    read_link: impl Fn(&[u8]) -> Result<Option<Vec<u8>>, Errno>,
) -> Result<Vec<u8>, Errno> {
    if path.len() > MAX_PATH {
        return Err(Errno::NAMETOOLONG);
    }
    let mut done: Vec<u8> = Vec::new();
    let mut todo: Vec<Vec<u8>> = path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect();
    let mut links = 0;
    while let Some(part) = todo.pop() {
        let next = clean(&join(&[b"/", &done, &part]));
        let next = next.strip_prefix(b"/").unwrap_or(&next);
        if next.is_empty() {
            done.clear();
            continue;
        }
        let Some(target) = read_link(next)? else {
            done = next.to_vec();
            continue;
        };
        links += 1;
        if links > SCOPED_LINKS {
            return Err(Errno::LOOP);
        }
        if target.first() == Some(&b'/') {
            done.clear();
        }
        todo.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
    }
    Ok(done)
}
