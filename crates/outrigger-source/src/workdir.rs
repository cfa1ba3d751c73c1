//! Where trees live: `<base>/_cmp_server/<uuid>`, one directory per tree.
//!
//! A live tree holds a lock on its directory, so [`WorkDir::sweep`] of this or another server on the same
//! volume removes only what a dead one left. The work directory is closed to other users (0700); the
//! trees in it are 0755, as commands expect.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Dir, FlockOperation, IFlags, Mode, OFlags, fchmod, flock, fstat, ioctl_getflags, ioctl_setflags,
    mkdirat, open, openat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use uuid::Uuid;

use crate::error::SourceError;
use crate::paths::{clean, join};
use crate::remove::{self, Leftover};
use crate::types::{Stats, TreeId};

const NAME: &str = "_cmp_server";
const DIR: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// New names tried before giving up; a sweeper in between costs one.
const ATTEMPTS: usize = 16;

/// The directory that holds trees. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkDir(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    handle: OwnedFd,
}

/// What a sweep found.
#[derive(Debug, Default)]
pub struct Swept {
    /// Trees of dead servers, now gone.
    pub removed: usize,
    /// Trees that somebody holds.
    pub in_use: usize,
    /// Trees that could not be removed, and why.
    pub failed: Vec<(PathBuf, io::Error)>,
}

impl WorkDir {
    /// Opens `<base>/_cmp_server`, creating it, and `base`, when missing. A symbolic link in its place is refused.
    pub fn open(base: impl AsRef<Path>) -> Result<Self, SourceError> {
        let failed = |path: &Path, error: io::Error| {
            SourceError::io(format!("opening work directory {}", path.display()), error)
        };
        let base = base.as_ref();
        let path = std::path::absolute(base).map_err(|error| failed(base, error))?.join(NAME);
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(|error| failed(&path, error))?;
        let handle = open(&path, DIR, Mode::empty()).map_err(|errno| failed(&path, errno.into()))?;
        claim_alone(handle.as_fd()).map_err(|error| failed(&path, error))?;
        scatter(handle.as_fd());
        Ok(Self(Arc::new(Inner { path, handle })))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// An empty directory of one's own beside the trees, held and swept like one of them.
    pub fn private_dir(&self) -> Result<Tree, SourceError> {
        Tree::create(self)
    }

    /// Removes the trees nobody holds. Anything not named like a tree is left alone. Blocks.
    pub fn sweep(&self) -> Result<Swept, SourceError> {
        let failed = |errno: Errno| {
            SourceError::io(format!("sweeping {}", self.0.path.display()), io::Error::from(errno))
        };
        let mut swept = Swept::default();
        for entry in Dir::read_from(&self.0.handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(name) = entry.file_name().to_str().ok().filter(|name| is_tree_name(name)) else {
                continue;
            };
            match self.sweep_one(name) {
                Ok(true) => swept.removed += 1,
                Ok(false) => swept.in_use += 1,
                Err(Leftover { errno: Errno::NOENT | Errno::NOTDIR | Errno::LOOP, .. }) => {}
                Err(leftover) => swept.failed.push((self.0.path.join(name), leftover.into())),
            }
        }
        Ok(swept)
    }

    fn sweep_one(&self, name: &str) -> Result<bool, Leftover> {
        let handle = remove::open_dir(self.0.handle.as_fd(), name.as_bytes())?;
        match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => remove::remove(self.0.handle.as_fd(), name.as_bytes(), &handle).map(|()| true),
            Err(_) => Ok(false),
        }
    }
}

/// Makes sure that the directory is ours alone, whoever made it.
fn claim_alone(directory: BorrowedFd<'_>) -> io::Result<()> {
    if fstat(directory)?.st_uid != geteuid().as_raw() {
        let problem = "it belongs to another user; remove it or choose another place with ARGOCD_CMP_WORKDIR";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    Ok(fchmod(directory, Mode::RWXU)?)
}

/// Asks the file system to place each tree on its own instead of beside the last one.
///
/// Ext4 does not reuse an inode for a minute or more after it was freed, and looks at every such inode
/// each time it makes a file nearby: where trees come and go in one place, that becomes most of the work.
/// File systems that know no such wish refuse it, and nothing is lost.
fn scatter(directory: BorrowedFd<'_>) {
    if let Ok(flags) = ioctl_getflags(directory) {
        let _ = ioctl_setflags(directory, flags | IFlags::TOPDIR);
    }
}

/// Version 4, hyphenated, lower-case: the way trees are named here and upstream.
fn is_tree_name(name: &str) -> bool {
    Uuid::try_parse(name)
        .is_ok_and(|uuid| uuid.get_version_num() == 4 && uuid.hyphenated().to_string() == name)
}

/// An unpacked tree. Removed when dropped, which blocks; [`remove`](Tree::remove) also tells whether it worked.
#[derive(Debug)]
pub struct Tree {
    work: WorkDir,
    name: String,
    path: PathBuf,
    handle: Option<OwnedFd>,
    id: TreeId,
    stats: Stats,
}

impl Tree {
    /// An empty tree.
    pub(crate) fn create(work: &WorkDir) -> Result<Self, SourceError> {
        let failed =
            |errno: Errno| SourceError::io(format!("creating a tree in {}", work.path().display()), errno);
        for _ in 0..ATTEMPTS {
            let name = Uuid::new_v4().hyphenated().to_string();
            mkdirat(&work.0.handle, &name, Mode::from_raw_mode(0o755)).map_err(failed)?;
            if let Some(handle) = claim(work.0.handle.as_fd(), &name).map_err(failed)? {
                let path = work.path().join(&name);
                let (work, id) = (work.clone(), TreeId([0; 32]));
                return Ok(Self { work, name, path, handle: Some(handle), id, stats: Stats::default() });
            }
        }
        Err(failed(Errno::AGAIN))
    }

    pub(crate) fn complete(&mut self, id: TreeId, stats: Stats) {
        self.id = id;
        self.stats = stats;
    }

    pub(crate) fn stats_mut(&mut self) -> &mut Stats {
        &mut self.stats
    }

    pub(crate) fn handle(&self) -> Result<BorrowedFd<'_>, SourceError> {
        self.handle.as_ref().map(AsFd::as_fd).ok_or(SourceError::Consumed)
    }

    /// Its root directory, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its identity.
    pub fn id(&self) -> TreeId {
        self.id
    }

    /// Where time and bytes went.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The application's directory. By name only, as upstream does for rendering: whether it exists, and
    /// where links in it lead, shows when it is entered.
    pub fn app_dir(&self, rel: &str) -> Result<PathBuf, SourceError> {
        let root = self.path.as_os_str().as_bytes();
        let joined = clean(&join(&[root, rel.as_bytes()]));
        let inside = joined.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        if inside {
            Ok(PathBuf::from(std::ffi::OsStr::from_bytes(&joined)))
        } else {
            Err(SourceError::AppPath)
        }
    }

    /// The application's directory with every link on the way resolved as if the tree were the whole
    /// file system, as upstream does for discovery. Components that do not exist are kept.
    pub fn scoped_app_dir(&self, rel: &str) -> Result<PathBuf, SourceError> {
        crate::index::scoped_path(rel.as_bytes(), |path| {
            let full = self.path.join(std::ffi::OsStr::from_bytes(path));
            match rustix::fs::readlinkat(rustix::fs::CWD, &full, Vec::new()) {
                Ok(target) => Ok(Some(target.into_bytes())),
                Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => Ok(None),
                Err(errno) => Err(errno),
            }
        })
        .map(|path| match path.as_slice() {
            b"" | b"." => self.path.clone(),
            inside => self.path.join(std::ffi::OsStr::from_bytes(inside)),
        })
        .map_err(|errno| SourceError::Entry { name: rel.to_owned(), reason: errno })
    }

    /// Removes it from disk. Fails only if something is left. Blocks.
    pub fn remove(mut self) -> Result<(), SourceError> {
        self.remove_now().map_err(|leftover| {
            SourceError::io(format!("removing {}", self.path.display()), io::Error::from(leftover))
        })
    }

    fn remove_now(&mut self) -> Result<(), Leftover> {
        match self.handle.take() {
            Some(handle) => remove::remove(self.work.0.handle.as_fd(), self.name.as_bytes(), &handle),
            None => Ok(()),
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Nobody is left to tell; the next sweep finds what could not be removed.
        let _ = self.remove_now();
    }
}

/// Opens and locks a directory made a moment ago. `None` if a sweeper took it in between.
fn claim(work: BorrowedFd<'_>, name: &str) -> Result<Option<OwnedFd>, Errno> {
    let handle = match openat(work, name, DIR, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    // Where the file system has no locks nothing is ever swept, so other errors do not matter.
    if flock(&handle, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Ok(None);
    }
    let mine = fstat(&handle)?;
    match statat(work, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino) => Ok(Some(handle)),
        Ok(_) | Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}
