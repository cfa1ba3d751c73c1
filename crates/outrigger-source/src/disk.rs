//! The tree on disk, one component at a time.
//!
//! Every call names a single component relative to an open directory and refuses to follow a link, so
//! the kernel keeps each of them inside the tree whatever else happens to it. Directories on the way to
//! the cursor stay open, at most [`OPEN_DIRS`] of them; an ordinary file costs open, write and close.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, readlinkat, statat, symlinkat};
use rustix::io::Errno;

use crate::error::SourceError;
use crate::ground::{Ground, Kind};
use crate::workdir::Tree;

/// Directory handles kept at most, besides the root's.
const OPEN_DIRS: usize = 64;

const DIR: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const OLD_FILE: OFlags =
    OFlags::RDWR.union(OFlags::CREATE).union(OFlags::TRUNC).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory on the way to the cursor. Its handle is dropped when there are too many.
struct Level {
    handle: Option<OwnedFd>,
    /// Length of the cursor's path up to and with this directory.
    path_end: usize,
}

/// A [`Ground`] that is a directory of this machine.
pub(crate) struct Disk<'a> {
    root: BorrowedFd<'a>,
    path: Vec<u8>,
    levels: Vec<Level>,
    file: Option<OwnedFd>,
}

impl<'a> Disk<'a> {
    pub(crate) fn new(tree: &'a Tree) -> Result<Self, SourceError> {
        Ok(Self { root: tree.handle()?, path: Vec::new(), levels: Vec::new(), file: None })
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.levels.last().and_then(|level| level.handle.as_ref()).map_or(self.root, AsFd::as_fd)
    }

    fn name_at(&self, depth: usize) -> &[u8] {
        let start = depth.checked_sub(1).map_or(0, |above| self.levels[above].path_end + 1);
        &self.path[start..self.levels[depth].path_end]
    }

    fn push(&mut self, name: &[u8], handle: OwnedFd) {
        if let Some(oldest) = self.levels.len().checked_sub(OPEN_DIRS) {
            self.levels[oldest].handle = None;
        }
        if !self.levels.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        self.levels.push(Level { handle: Some(handle), path_end: self.path.len() });
    }

    fn truncate(&mut self, depth: usize) {
        self.levels.truncate(depth);
        self.path.truncate(self.levels.last().map_or(0, |level| level.path_end));
    }
}

impl Ground for Disk<'_> {
    fn stands_at(&self, dir: &[u8]) -> bool {
        if dir == b"." { self.levels.is_empty() } else { self.path == dir }
    }

    fn shared(&self, parts: &[Vec<u8>]) -> usize {
        (0..self.levels.len().min(parts.len()))
            .take_while(|depth| self.name_at(*depth) == parts[*depth])
            .count()
    }

    fn climb_to(&mut self, depth: usize) -> Result<(), Errno> {
        if depth >= self.levels.len() {
            return Ok(());
        }
        if depth == 0 || self.levels[depth - 1].handle.is_some() {
            self.truncate(depth);
            return Ok(());
        }
        let names: Vec<Vec<u8>> = (0..depth).map(|at| self.name_at(at).to_vec()).collect();
        self.truncate(0);
        names.iter().try_for_each(|name| self.enter(name))
    }

    fn enter(&mut self, name: &[u8]) -> Result<(), Errno> {
        let handle = openat(self.here(), name, DIR, Mode::empty())?;
        self.push(name, handle);
        Ok(())
    }

    fn make_dir(&mut self, name: &[u8], mode: u32) -> Result<(), Errno> {
        mkdirat(self.here(), name, Mode::from_raw_mode(mode))
    }

    fn make_link(&mut self, name: &[u8], target: &[u8]) -> Result<(), Errno> {
        symlinkat(target, self.here(), name)
    }

    fn kind(&mut self, name: &[u8]) -> Result<Kind, Errno> {
        let stat = statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Kind::Dir,
            FileType::Symlink => Kind::Link,
            _ => Kind::File,
        })
    }

    fn link_target(&mut self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        readlinkat(self.here(), name, Vec::new()).map(std::ffi::CString::into_bytes)
    }

    fn create(&mut self, name: &[u8], mode: u32) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(mode);
        let file = match openat(self.here(), name, NEW_FILE, mode) {
            Err(Errno::EXIST) => openat(self.here(), name, OLD_FILE, mode)?,
            opened => opened?,
        };
        self.file = Some(file);
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Errno> {
        let file = self.file.as_ref().ok_or(Errno::BADF)?;
        while !bytes.is_empty() {
            match rustix::io::write(file, bytes) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        self.file = None;
    }
}
