//! Removing a tree that commands have worked in.
//!
//! Every step names one component relative to an open directory and follows no link, so a directory that
//! is swapped for a link meanwhile costs nothing outside. Directories without permissions are given them.
//! Depth does not matter: what lies too deep is first moved to the top of the tree.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, RenameFlags, SeekFrom, chmodat, fchmod, openat,
    renameat_with, seek, statat, unlinkat,
};
use rustix::io::Errno;
use uuid::Uuid;

/// Directories below the top that are entered before the rest is lifted.
const MAX_DEPTH: usize = 64;
/// Subdirectories remembered in one pass over a directory.
const MAX_REMEMBERED: usize = 1024;
/// Passes over the whole tree that may find new files without anything having been lifted.
const MAX_ROUNDS: usize = 8;

const DIR: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Something that could not be removed.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) name: Vec<u8>,
    pub(crate) errno: Errno,
}

impl From<Leftover> for io::Error {
    fn from(leftover: Leftover) -> Self {
        let cause = io::Error::from(leftover.errno);
        Self::new(cause.kind(), format!("{:?}: {cause}", String::from_utf8_lossy(&leftover.name)))
    }
}

/// Removes the directory `name` of `parent`, open as `top`, with everything in it.
pub(crate) fn remove(parent: BorrowedFd<'_>, name: &[u8], top: &OwnedFd) -> Result<(), Leftover> {
    let mut sweep = Sweep {
        top: top.as_fd(),
        buffer: Vec::with_capacity(32 * 1024),
        removed: 0,
        lifted: 0,
        failed: None,
    };
    let mut idle_rounds = 0;
    loop {
        let (removed, lifted) = (sweep.removed, sweep.lifted);
        sweep.empty(top.as_fd(), 0);
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(errno) => {
                if sweep.lifted == lifted {
                    idle_rounds += 1;
                }
                if sweep.removed == removed || idle_rounds > MAX_ROUNDS {
                    return Err(sweep.failed.unwrap_or(Leftover { name: name.to_vec(), errno }));
                }
            }
        }
    }
}

/// Opens a directory of `parent`, making it accessible first if need be.
pub(crate) fn open_dir(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Leftover> {
    match openat(parent, name, DIR, Mode::empty()) {
        Err(Errno::ACCESS) => {
            // The parent may deny the search, the directory the reading.
            let _ = fchmod(parent, Mode::RWXU);
            unlock(parent, name);
            openat(parent, name, DIR, Mode::empty())
        }
        opened => opened,
    }
    .map_err(|errno| Leftover { name: name.to_vec(), errno })
}

/// Gives the owner all permissions on a directory, through a handle that cannot be a link.
fn unlock(parent: BorrowedFd<'_>, name: &[u8]) {
    if let Ok(handle) = openat(parent, name, DIR | OFlags::PATH, Mode::empty()) {
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let _ = chmodat(CWD, path, Mode::RWXU, AtFlags::empty());
    }
}

struct Sweep<'a> {
    top: BorrowedFd<'a>,
    buffer: Vec<u8>,
    removed: u64,
    lifted: u64,
    failed: Option<Leftover>,
}

impl Sweep<'_> {
    /// Removes what is in `dir`, as far as possible.
    fn empty(&mut self, dir: BorrowedFd<'_>, depth: usize) {
        loop {
            let before = self.removed + self.lifted;
            let (subdirs, complete) = self.pass(dir);
            for name in &subdirs {
                if depth < MAX_DEPTH {
                    self.descend(dir, name, depth);
                } else {
                    self.lift(dir, name);
                }
            }
            if complete || self.removed + self.lifted == before {
                return;
            }
        }
    }

    /// Unlinks every file of `dir` and returns its subdirectories, and whether these were all.
    fn pass(&mut self, dir: BorrowedFd<'_>) -> (Vec<Vec<u8>>, bool) {
        let mut subdirs = Vec::new();
        if let Err(errno) = seek(dir, SeekFrom::Start(0)) {
            self.fail(b".", errno);
            return (subdirs, true);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut complete = true;
        let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    self.fail(b".", errno);
                    break;
                }
            };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if !is_dir(dir, name, entry.file_type()) {
                self.unlink(dir, name, AtFlags::empty());
            } else if subdirs.len() < MAX_REMEMBERED {
                subdirs.push(name.to_vec());
            } else {
                complete = false;
                break;
            }
        }
        self.buffer = buffer;
        (subdirs, complete)
    }

    fn descend(&mut self, dir: BorrowedFd<'_>, name: &[u8], depth: usize) {
        match open_dir(dir, name) {
            Ok(subdir) => {
                self.empty(subdir.as_fd(), depth + 1);
                self.unlink(dir, name, AtFlags::REMOVEDIR);
            }
            // No directory any more: something swapped it.
            Err(Leftover { errno: Errno::NOTDIR | Errno::LOOP, .. }) => {
                self.unlink(dir, name, AtFlags::empty());
            }
            Err(Leftover { name, errno }) => self.fail(&name, errno),
        }
    }

    /// Moves a directory to the top of the tree, where a later pass finds it.
    fn lift(&mut self, dir: BorrowedFd<'_>, name: &[u8]) {
        let new = Uuid::new_v4().hyphenated().to_string();
        let rename = || renameat_with(dir, name, self.top, new.as_str(), RenameFlags::NOREPLACE);
        let outcome = rename().or_else(|_| {
            let _ = fchmod(dir, Mode::RWXU);
            unlock(dir, name);
            rename()
        });
        match outcome {
            Ok(()) => {
                self.lifted += 1;
                self.removed += 1;
            }
            Err(errno) => self.fail(name, errno),
        }
    }

    fn unlink(&mut self, dir: BorrowedFd<'_>, name: &[u8], flags: AtFlags) {
        let outcome = match unlinkat(dir, name, flags) {
            Err(Errno::ACCESS | Errno::PERM) => {
                let _ = fchmod(dir, Mode::RWXU);
                unlinkat(dir, name, flags)
            }
            outcome => outcome,
        };
        match outcome {
            Ok(()) => self.removed += 1,
            Err(Errno::NOENT) => {}
            Err(errno) => self.fail(name, errno),
        }
    }

    fn fail(&mut self, name: &[u8], errno: Errno) {
        if errno != Errno::NOENT && self.failed.is_none() {
            self.failed = Some(Leftover { name: name.to_vec(), errno });
        }
    }
}

fn is_dir(dir: BorrowedFd<'_>, name: &[u8], told: FileType) -> bool {
    match told {
        FileType::Directory => true,
        FileType::Unknown => statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
        _ => false,
    }
}
