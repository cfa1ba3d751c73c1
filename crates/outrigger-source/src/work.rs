//! The blocking half: what is done with a source's bytes.

use crate::apply::{Counts, apply};
use crate::disk::Disk;
use crate::error::SourceError;
use crate::gunzip::Gunzip;
use crate::index::TreeIndex;
use crate::tree_id::TreeHasher;
use crate::types::{FileModes, Limits, Stats};
use crate::wire::Wire;
use crate::workdir::{Tree, WorkDir};

/// What a piece of work needs to know about its source.
pub(crate) struct Job {
    pub(crate) checksum: String,
    pub(crate) limits: Limits,
    pub(crate) modes: FileModes,
}

/// The shape of a tree, read from its headers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Scanned {
    /// Every directory, file and link by name.
    pub index: TreeIndex,
    /// Where time and bytes went.
    pub stats: Stats,
}

/// Reads everything and keeps the names.
pub(crate) fn scan(wire: Wire, job: &Job) -> Result<Scanned, SourceError> {
    let mut input = Gunzip::new(wire, job.limits.source_bytes);
    let mut index = TreeIndex::new();
    let applied = apply(&mut input, job, index.ground(), None);
    let (counts, stats) = settle(input, job, applied)?;
    Ok(Scanned { index, stats: Stats { bytes: counts.bytes, entries: counts.entries, ..stats } })
}

/// Reads everything and writes the tree. Whatever fails, nothing of it stays.
pub(crate) fn unpack(wire: Wire, job: &Job, work: &WorkDir) -> Result<Tree, SourceError> {
    let mut input = Gunzip::new(wire, job.limits.source_bytes);
    let mut hasher = TreeHasher::new();
    let made = Tree::create(work);
    let applied = match &made {
        Ok(tree) => Disk::new(tree).and_then(|mut disk| apply(&mut input, job, &mut disk, Some(&mut hasher))),
        Err(_) => Ok(Counts::default()),
    };
    let (counts, stats) = settle(input, job, applied)?;
    let mut tree = made?;
    let stats = Stats { bytes: counts.bytes, entries: counts.entries, ..stats };
    tree.complete(hasher.finish(), stats);
    Ok(tree)
}

/// Reads the rest of the stream. A wrong checksum explains every other error, so it goes first.
fn settle(
    mut input: Gunzip,
    job: &Job,
    applied: Result<Counts, SourceError>,
) -> Result<(Counts, Stats), SourceError> {
    if matches!(applied, Err(SourceError::Cancelled)) {
        return Err(SourceError::Cancelled);
    }
    let wire = input.wire();
    wire.finish(&job.checksum)?;
    let counts = applied?;
    let stats = Stats { wire_bytes: wire.bytes(), unpack: wire.busy(), ..Stats::default() };
    Ok((counts, stats))
}
