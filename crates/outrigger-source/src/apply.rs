//! Applies an archive to a [`Ground`], entry by entry, as Argo CD's `files.Untgz` does.
//!
//! Regular files, directories and symbolic links count; everything else is skipped without a word.
//! Names are cleaned first, so an absolute name lands inside the tree and `a/../b` is `b`.
//! Link targets are stored relative to the link, absolute ones being taken as relative to the link's
//! directory. What a link leads to must lie inside the tree, but need not exist.

use rustix::io::Errno;

use crate::error::{LimitKind, SourceError};
use crate::ground::{Builder, Ground, Refusal};
use crate::gunzip::Gunzip;
use crate::paths::{clean, is_clean, join, parent, relative, shown, split};
use crate::tar::{Entry, EntryKind, Tar};
use crate::tree_id::TreeHasher;
use crate::types::{FileModes, Limits};
use crate::work::Job;

/// Average bytes of names an entry may take before the archive counts as made of names.
const NAME_BYTES_PER_ENTRY: u64 = 64;
/// Longest link target the kernel takes.
const PATH_MAX: usize = 4096;

/// How much was applied.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

/// Applies the whole archive. Stops at the first entry that is refused.
pub(crate) fn apply<G: Ground>(
    input: &mut Gunzip,
    job: &Job,
    ground: &mut G,
    id: Option<&mut TreeHasher>,
) -> Result<Counts, SourceError> {
    let mut unpacking = Unpacking { job, builder: Builder::new(ground), id, counts: Counts::default() };
    let mut tar = Tar::new(input);
    let mut entry = Entry::default();
    while tar.next(&mut entry)? {
        unpacking.counts.entries += 1;
        unpacking.entry(&mut tar, &mut entry)?;
        unpacking.check_totals()?;
    }
    Ok(unpacking.counts)
}

struct Unpacking<'a, G> {
    job: &'a Job,
    builder: Builder<'a, G>,
    id: Option<&'a mut TreeHasher>,
    counts: Counts,
}

impl<G: Ground> Unpacking<'_, G> {
    fn entry(&mut self, tar: &mut Tar<'_>, entry: &mut Entry) -> Result<(), SourceError> {
        if !is_clean(&entry.name) {
            entry.name = clean(&entry.name);
        }
        let name = entry.name.strip_prefix(b"/").unwrap_or(&entry.name);
        if matches!(name, b"" | b".") {
            return Ok(());
        }
        match entry.kind {
            EntryKind::Other => Ok(()),
            EntryKind::Dir => self.dir(name, entry.mode),
            EntryKind::Link => self.link(name, &entry.link),
            EntryKind::File => self.file(tar, name, entry),
        }
    }

    fn dir(&mut self, name: &[u8], mode: u32) -> Result<(), SourceError> {
        self.check_path(name)?;
        let mode = self.mode(name, mode, 0o755)?;
        self.builder.make_dirs(name, mode).map_err(|refusal| refused(name, refusal))?;
        if let Some(id) = &mut self.id {
            id.dir(name, mode);
        }
        Ok(())
    }

    fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), SourceError> {
        self.check_path(name)?;
        self.check_name(target)?;
        let dir = parent(name);
        self.builder.enter_strictly(dir).map_err(|refusal| refused(name, refusal))?;
        let leads_to = join(&[dir, &clean(target)]);
        match self.builder.stat(&leads_to) {
            Ok(_) | Err(Refusal::Errno(Errno::NOENT)) => {}
            Err(refusal) => return Err(refused(name, refusal)),
        }
        let stored = relative(dir, &leads_to);
        if stored.len() >= PATH_MAX {
            return Err(refused(name, Errno::NAMETOOLONG.into()));
        }
        self.builder.make_link(name, &stored).map_err(|refusal| refused(name, refusal))?;
        if let Some(id) = &mut self.id {
            id.link(name, &stored);
        }
        Ok(())
    }

    fn file(&mut self, tar: &mut Tar<'_>, name: &[u8], entry: &Entry) -> Result<(), SourceError> {
        self.check_path(name)?;
        if entry.size > self.limits().file_bytes {
            return Err(over(LimitKind::FileBytes, self.limits().file_bytes));
        }
        self.builder.enter_or_make(parent(name)).map_err(|refusal| refused(name, refusal))?;
        let mode = self.mode(name, entry.mode, 0o644)?;
        self.open(name, mode)?;
        if let Some(id) = &mut self.id {
            id.file(name, mode, entry.size);
        }
        let copied = self.copy(tar, name);
        self.builder.ground.close();
        copied
    }

    fn open(&mut self, name: &[u8], mode: u32) -> Result<(), SourceError> {
        let (dir, base) = split(name);
        // The usual case: the cursor stands right there and nothing has that name.
        if self.builder.ground.stands_at(dir.unwrap_or(b"."))
            && base != b".."
            && self.builder.ground.create(base, mode).is_ok()
        {
            self.builder.name_bytes += base.len() as u64;
            return Ok(());
        }
        self.builder.open_file(name, mode).map_err(|refusal| refused(name, refusal))
    }

    fn copy(&mut self, tar: &mut Tar<'_>, name: &[u8]) -> Result<(), SourceError> {
        loop {
            let content = tar.content()?;
            if content.is_empty() {
                return Ok(());
            }
            self.builder.ground.write(content).map_err(|errno| refused(name, errno.into()))?;
            if let Some(id) = &mut self.id {
                id.content(content);
            }
            let count = content.len();
            self.counts.bytes += count as u64;
            tar.consume(count);
        }
    }

    fn mode(&self, name: &[u8], sent: u32, fixed: u32) -> Result<u32, SourceError> {
        match self.job.modes {
            FileModes::Fixed => Ok(fixed),
            FileModes::Preserve if sent & !0o777 == 0 => Ok(sent),
            FileModes::Preserve => Err(SourceError::Mode { name: shown(name), mode: sent }),
        }
    }

    fn limits(&self) -> &Limits {
        &self.job.limits
    }

    fn check_name(&self, name: &[u8]) -> Result<(), SourceError> {
        let allowed = self.limits().name_bytes;
        if name.len() > allowed { Err(over(LimitKind::NameBytes, allowed as u64)) } else { Ok(()) }
    }

    fn check_path(&self, name: &[u8]) -> Result<(), SourceError> {
        self.check_name(name)?;
        let allowed = self.limits().depth;
        let deep = name.iter().filter(|byte| **byte == b'/').count() >= allowed;
        if deep { Err(over(LimitKind::Depth, allowed as u64)) } else { Ok(()) }
    }

    fn check_totals(&self) -> Result<(), SourceError> {
        let allowed = self.limits().entries;
        if self.counts.entries > allowed || self.builder.dirs > allowed {
            return Err(over(LimitKind::Entries, allowed));
        }
        let names = allowed.saturating_mul(NAME_BYTES_PER_ENTRY);
        if self.builder.name_bytes > names.max(self.limits().name_bytes as u64) {
            return Err(over(LimitKind::AllNameBytes, names));
        }
        Ok(())
    }
}

fn over(kind: LimitKind, allowed: u64) -> SourceError {
    SourceError::Limit { kind, allowed }
}

/// An answer of the file system as an error: the archive's contradictions are the sender's, the rest ours.
fn refused(name: &[u8], refusal: Refusal) -> SourceError {
    let name = shown(name);
    match refusal {
        Refusal::Escapes => SourceError::Escapes { name },
        Refusal::LinkParent => SourceError::SymlinkParent { name },
        Refusal::Errno(
            reason @ (Errno::NOENT
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::EXIST
            | Errno::LOOP
            | Errno::NAMETOOLONG
            | Errno::INVAL
            | Errno::ILSEQ),
        ) => SourceError::Entry { name, reason },
        Refusal::Errno(errno) => SourceError::io(format!("unpacking {name:?}"), errno),
    }
}
