//! What an archive is applied to, and how its paths are resolved there.
//!
//! [`Ground`] is a tree with a cursor: single steps that never follow a link. [`Builder`] makes the
//! operations of Go's `os.Root` out of them, so that the tree on disk and the tree in memory take the
//! same decisions: links are resolved here, component by component, beneath the root.

use rustix::io::Errno;

/// Links one path may lead through.
const MAX_LINKS: usize = 8;
/// Steps and climbs (`..`) one path may take; only exceeding both is refused.
const MAX_STEPS: usize = 255;
const MAX_CLIMBS: usize = 8;

/// What stands at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Dir,
    File,
    Link,
}

/// A tree, and a directory of it in which the next operation happens.
/// No operation follows a link, and names are single components: never `..`, but `.` is possible.
pub(crate) trait Ground {
    /// Whether the cursor stands in the directory with this clean path.
    fn stands_at(&self, dir: &[u8]) -> bool;
    /// How many of these components lead along the way to the cursor.
    fn shared(&self, parts: &[Vec<u8>]) -> usize;
    /// Moves the cursor up, to the directory `depth` levels below the root.
    fn climb_to(&mut self, depth: usize) -> Result<(), Errno>;
    /// Moves the cursor down. A link or file at that name is `NOTDIR` or `LOOP`.
    fn enter(&mut self, name: &[u8]) -> Result<(), Errno>;
    /// Makes a directory.
    fn make_dir(&mut self, name: &[u8], mode: u32) -> Result<(), Errno>;
    /// Makes a link.
    fn make_link(&mut self, name: &[u8], target: &[u8]) -> Result<(), Errno>;
    /// What stands at a name.
    fn kind(&mut self, name: &[u8]) -> Result<Kind, Errno>;
    /// Where a link leads, or an error if it is none.
    fn link_target(&mut self, name: &[u8]) -> Result<Vec<u8>, Errno>;
    /// Makes a file or empties the one that exists, and keeps it open. A link there is `LOOP`.
    fn create(&mut self, name: &[u8], mode: u32) -> Result<(), Errno>;
    /// Appends to the file made last.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Errno>;
    /// Closes the file made last.
    fn close(&mut self);
}

/// Why a path was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It leaves the tree.
    Escapes,
    /// A link stands where only a directory may.
    LinkParent,
    /// The file system says no.
    Errno(Errno),
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// What to do about a directory that is missing on the way.
#[derive(Clone, Copy)]
enum Missing {
    Refuse,
    Make(u32),
}

/// What became of the last component.
enum Last<T> {
    Done(T),
    Follow(Vec<u8>),
}

/// Operations on whole paths. Paths are clean and relative; they may begin with `..`.
pub(crate) struct Builder<'a, G> {
    pub(crate) ground: &'a mut G,
    /// Directories made so far.
    pub(crate) dirs: u64,
    /// Bytes of the names and link targets made so far.
    pub(crate) name_bytes: u64,
}

impl<'a, G: Ground> Builder<'a, G> {
    pub(crate) fn new(ground: &'a mut G) -> Self {
        Self { ground, dirs: 0, name_bytes: 0 }
    }

    /// Makes a directory and what is missing above it. A link to a directory will do.
    pub(crate) fn make_dirs(&mut self, path: &[u8], mode: u32) -> Result<(), Refusal> {
        if self.ground.stands_at(path) {
            return Ok(());
        }
        let linked = self.walk(path, Missing::Make(mode), |this, name| match this.make_dir(name, mode) {
            Ok(()) => Ok(Last::Done(false)),
            Err(Errno::EXIST) => match this.ground.kind(name) {
                Ok(Kind::Dir) => Ok(Last::Done(false)),
                Ok(Kind::Link) => Ok(Last::Done(true)),
                _ => Err(Errno::EXIST),
            },
            Err(errno) => Err(errno),
        })?;
        if !linked {
            return Ok(());
        }
        match self.stat(path) {
            Ok(Kind::Dir) => Ok(()),
            Ok(_) => Err(Errno::NOTDIR.into()),
            Err(Refusal::Errno(Errno::NOENT)) => Err(Errno::EXIST.into()),
            Err(refusal) => Err(refusal),
        }
    }

    /// [`make_dirs`](Self::make_dirs) with mode 0755 for a directory in which something is made next:
    /// the cursor goes there when no link is in the way.
    pub(crate) fn enter_or_make(&mut self, path: &[u8]) -> Result<(), Refusal> {
        if path == b"." {
            return Ok(self.ground.climb_to(0)?);
        }
        if self.ground.stands_at(path) {
            return Ok(());
        }
        let entered = self.walk(path, Missing::Make(0o755), |this, name| {
            Ok(Last::Done(name != b"." && this.enter(name, Missing::Make(0o755)).is_ok()))
        })?;
        if entered { Ok(()) } else { self.make_dirs(path, 0o755) }
    }

    /// Opens a file for writing, making it if it is missing and following links to it.
    pub(crate) fn open_file(&mut self, path: &[u8], mode: u32) -> Result<(), Refusal> {
        self.walk(path, Missing::Refuse, |this, name| match this.ground.create(name, mode) {
            Ok(()) => {
                this.name_bytes += name.len() as u64;
                Ok(Last::Done(()))
            }
            Err(errno @ (Errno::LOOP | Errno::NOTDIR)) => {
                this.ground.link_target(name).map(Last::Follow).map_err(|_| errno)
            }
            Err(errno) => Err(errno),
        })
    }

    /// What a path leads to, links followed.
    pub(crate) fn stat(&mut self, path: &[u8]) -> Result<Kind, Refusal> {
        self.walk(path, Missing::Refuse, |this, name| match this.ground.kind(name)? {
            Kind::Link => this.ground.link_target(name).map(Last::Follow).map_err(|_| Errno::LOOP),
            kind => Ok(Last::Done(kind)),
        })
    }

    /// Makes a link in a directory that exists.
    pub(crate) fn make_link(&mut self, path: &[u8], target: &[u8]) -> Result<(), Refusal> {
        self.walk(path, Missing::Refuse, |this, name| {
            this.ground.make_link(name, target)?;
            this.name_bytes += (name.len() + target.len()) as u64;
            Ok(Last::Done(()))
        })
    }

    /// Enters a directory, making what is missing with mode 0755, without passing through a link.
    pub(crate) fn enter_strictly(&mut self, dir: &[u8]) -> Result<(), Refusal> {
        if self.ground.stands_at(dir) {
            return Ok(());
        }
        let parts = parts_of(dir);
        let known = self.ground.shared(&parts);
        self.ground.climb_to(known)?;
        for part in &parts[known..] {
            if part == b".." {
                return Err(Refusal::Escapes);
            }
            if part != b"." {
                self.enter(part, Missing::Make(0o755)).map_err(|errno| self.link_or(part, errno))?;
            }
        }
        Ok(())
    }

    fn link_or(&mut self, name: &[u8], errno: Errno) -> Refusal {
        match self.ground.link_target(name) {
            Ok(_) => Refusal::LinkParent,
            Err(_) => Refusal::Errno(errno),
        }
    }

    fn make_dir(&mut self, name: &[u8], mode: u32) -> Result<(), Errno> {
        self.ground.make_dir(name, mode)?;
        self.dirs += 1;
        self.name_bytes += name.len() as u64;
        Ok(())
    }

    fn enter(&mut self, name: &[u8], missing: Missing) -> Result<(), Errno> {
        match (self.ground.enter(name), missing) {
            (Err(Errno::NOENT), Missing::Make(mode)) => {
                match self.make_dir(name, mode) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
                self.ground.enter(name)
            }
            (entered, _) => entered,
        }
    }

    /// Leads the cursor to the directory that holds the last component, then calls `last` with its name.
    fn walk<T>(
        &mut self,
        path: &[u8],
        missing: Missing,
        mut last: impl FnMut(&mut Self, &[u8]) -> Result<Last<T>, Errno>,
    ) -> Result<T, Refusal> {
        let mut parts = parts_of(path);
        let mut at = self.ground.shared(&parts[..parts.len() - 1]);
        self.ground.climb_to(at)?;
        let (mut steps, mut climbs, mut links) = (at, 0, 0);
        loop {
            steps += 1;
            if steps > MAX_STEPS && climbs > MAX_CLIMBS {
                return Err(Errno::NAMETOOLONG.into());
            }
            if parts[at] == b".." {
                climbs += 1;
                at = climb(&mut parts, at)?;
                // A climb counts as a fresh start from the root, though the cursor only moves up.
                steps += at;
                self.ground.climb_to(at)?;
                continue;
            }
            let name = parts[at].clone();
            let target = if at + 1 == parts.len() {
                match last(self, &name)? {
                    Last::Done(value) => return Ok(value),
                    Last::Follow(target) => target,
                }
            } else {
                match self.enter(&name, missing) {
                    Ok(()) => {
                        at += 1;
                        continue;
                    }
                    Err(errno @ (Errno::NOTDIR | Errno::LOOP)) => {
                        self.ground.link_target(&name).map_err(|_| errno)?
                    }
                    Err(errno) => return Err(errno.into()),
                }
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::LOOP.into());
            }
            if target.is_empty() || target[0] == b'/' {
                return Err(Refusal::Escapes);
            }
            follow(&mut parts, at, &target);
        }
    }
}

fn parts_of(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect()
}

/// Removes the run of `..` at `at` together with what it takes back; returns where to go on.
fn climb(parts: &mut Vec<Vec<u8>>, at: usize) -> Result<usize, Refusal> {
    let ups = parts[at..].iter().take_while(|part| *part == b"..").count();
    if ups > at {
        return Err(Refusal::Escapes);
    }
    parts.drain(at - ups..at + ups);
    if parts.is_empty() {
        parts.push(b".".to_vec());
    }
    Ok((at - ups).min(parts.len() - 1))
}

/// Replaces the component at `at` by a link's target.
fn follow(parts: &mut Vec<Vec<u8>>, at: usize, target: &[u8]) {
    let has_more = at + 1 < parts.len();
    let mut new = parts_of(target);
    if new.len() > 1 || has_more {
        new.retain(|part| part != b"." && !part.is_empty());
    }
    parts.splice(at..=at, new);
}
