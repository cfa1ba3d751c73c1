//! A directory packed for a plugin: the archive in an unlinked file, and its metadata.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use outrigger_source::pack::{Options, app_name, pack};
use outrigger_source::{Limits, Metadata, Source, SourceError};
use tokio_stream::{Stream, StreamExt as _};

const CHUNK: usize = 128 * 1024;

/// A packed source tree that can be sent any number of times.
pub struct Bundle {
    archive: Arc<File>,
    /// What is sent before the archive.
    pub metadata: Metadata,
}

impl Bundle {
    /// Packs `dir` as Argo CD would.
    pub fn pack(dir: &Path, app_path: &str, env: Vec<(String, String)>) -> Result<Self> {
        anyhow::ensure!(dir.is_dir(), "{} is not a directory", dir.display());
        anyhow::ensure!(
            dir.join(app_path).is_dir(),
            "{} has no directory {app_path:?}; give the application's path inside it with --app-path",
            dir.display()
        );
        let archive = tempfile::tempfile().context("cannot make a temporary file")?;
        let packed = pack(dir, &Options::default(), &archive)
            .with_context(|| format!("cannot pack {}", dir.display()))?;
        let metadata = Metadata {
            app_name: app_name(dir, app_path),
            app_rel_path: app_path.to_owned(),
            checksum: packed.checksum,
            size: i64::try_from(packed.bytes).unwrap_or(i64::MAX),
            env,
        };
        Ok(Self { archive: Arc::new(archive), metadata })
    }

    /// The archive in pieces.
    pub fn chunks(&self) -> io::Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>> {
        let archive = Arc::clone(&self.archive);
        let length = archive.metadata()?.len();
        let offsets = (0..length).step_by(CHUNK);
        Ok(tokio_stream::iter(offsets.map(move |offset| {
            // The file was just written: these reads come from memory.
            let size = usize::try_from(length - offset).unwrap_or(CHUNK).min(CHUNK);
            let mut chunk = vec![0; size];
            archive.read_exact_at(&mut chunk, offset)?;
            Ok(Bytes::from(chunk))
        })))
    }

    /// The archive as a plugin in this process takes it.
    pub fn source(&self, limits: Limits) -> io::Result<Source> {
        let chunks = self.chunks()?.map(|chunk| chunk.map_err(SourceError::transport));
        Ok(Source::new(self.metadata.clone(), chunks, limits))
    }
}
