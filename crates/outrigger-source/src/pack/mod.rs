//! The sender's side: a directory as a tgz, the way Argo CD's repo-server packs one.
//!
//! Entries come in lexical order, the root as `.`; files, directories and symbolic links are packed,
//! everything else is left out without a word. Exclusions are Go patterns against the relative path; an
//! excluded directory is not entered. Not kept: owners' names, times below a second.

mod header;

use std::fs::{self, File, Metadata as FileMetadata};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;

use crate::error::SourceError;
use crate::glob::go_match;
use crate::source::Source;
use crate::types::{Limits, Metadata};
use crate::wire::hex;
use header::HeaderWriter;

/// Bytes read from a packed file at once.
const CHUNK: usize = 256 * 1024;

/// How to pack.
#[derive(Debug, Clone)]
pub struct Options {
    /// Go patterns of what to leave out.
    pub exclude: Vec<String>,
    /// gzip level, 0 to 9.
    pub level: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { exclude: Vec::new(), level: 1 }
    }
}

/// What was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Lower-case hex SHA-256 of the tgz.
    pub checksum: String,
    /// Length of the tgz.
    pub bytes: u64,
    /// Regular files in it. Argo CD refuses to send a tree without any.
    pub files: u64,
}

/// Packs `dir` into `output`. A symbolic link given as `dir` is followed. Blocks.
pub fn pack(dir: &Path, options: &Options, output: impl Write) -> io::Result<Packed> {
    let metered = Metered { output, hasher: Sha256::new(), bytes: 0 };
    let gzip = GzEncoder::new(metered, Compression::new(options.level.min(9)));
    let mut packer = Packer {
        options,
        output: io::BufWriter::with_capacity(64 * 1024, gzip),
        files: 0,
        buffer: vec![0; 64 * 1024],
    };
    packer.entry(dir, b".", &fs::metadata(dir)?)?;
    packer.output.write_all(&[0; 1024])?;
    let gzip = packer.output.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut metered = gzip.finish()?;
    metered.output.flush()?;
    Ok(Packed { checksum: hex(&metered.hasher.finalize()), bytes: metered.bytes, files: packer.files })
}

/// Packs `dir` into a temporary file without a name and returns it as a source. Blocks.
pub fn pack_to_source(
    dir: &Path,
    app_rel_path: &str,
    env: Vec<(String, String)>,
    exclude: Vec<String>,
    limits: Limits,
) -> io::Result<Source> {
    let mut file = unnamed_file()?;
    let packed = pack(dir, &Options { exclude, ..Options::default() }, &mut file)?;
    file.rewind()?;
    let metadata = Metadata {
        app_name: app_name(dir, app_rel_path),
        app_rel_path: app_rel_path.to_owned(),
        checksum: packed.checksum,
        size: packed.bytes.try_into().unwrap_or(i64::MAX),
        env,
    };
    Ok(Source::new(metadata, chunks_of(file), limits))
}

impl Source {
    /// A source from a complete tgz in a file. Fills in the metadata's checksum and size. Blocks.
    pub fn from_tgz(metadata: Metadata, mut file: File, limits: Limits) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let size = io::copy(&mut file, &mut HashWriter(&mut hasher))?;
        file.rewind()?;
        let metadata = Metadata {
            checksum: hex(&hasher.finalize()),
            size: size.try_into().unwrap_or(i64::MAX),
            ..metadata
        };
        Ok(Self::new(metadata, chunks_of(file), limits))
    }

    /// A source from a complete tgz in memory. Fills in the metadata's checksum and size.
    pub fn from_bytes(metadata: Metadata, tgz: Bytes, limits: Limits) -> Self {
        let metadata = Metadata {
            checksum: hex(&Sha256::digest(&tgz)),
            size: tgz.len().try_into().unwrap_or(i64::MAX),
            ..metadata
        };
        Self::new(metadata, stream::iter([Ok(tgz)]), limits)
    }
}

fn chunks_of(file: File) -> impl futures_core::Stream<Item = Result<Bytes, SourceError>> + Send + 'static {
    stream::unfold(Some(tokio::fs::File::from_std(file)), |file| async {
        let mut file = file?;
        let mut chunk = BytesMut::with_capacity(CHUNK);
        match file.read_buf(&mut chunk).await {
            Ok(0) => None,
            Ok(_) => Some((Ok(chunk.freeze()), Some(file))),
            Err(error) => Some((Err(SourceError::io("reading a packed source", error)), None)),
        }
    })
}

/// The base name of the application's directory, as the repo-server sends it.
pub fn app_name(dir: &Path, app_rel_path: &str) -> String {
    let path = dir.join(app_rel_path);
    let resolved = fs::canonicalize(&path).unwrap_or(path);
    resolved.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn unnamed_file() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("outrigger-{}", uuid::Uuid::new_v4()));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

struct Packer<'a, W: Write> {
    options: &'a Options,
    output: W,
    files: u64,
    buffer: Vec<u8>,
}

impl<W: Write> Packer<'_, W> {
    fn entry(&mut self, path: &Path, relative: &[u8], metadata: &FileMetadata) -> io::Result<()> {
        // The repo-server lists a directory before it asks whether to skip it.
        let children = if metadata.is_dir() { Some(sorted(path)?) } else { None };
        if self.is_excluded(relative)? {
            return Ok(());
        }
        let mut header = HeaderWriter::new(relative, metadata);
        if metadata.is_symlink() {
            header.write_link(fs::read_link(path)?.as_os_str().as_bytes(), &mut self.output)?;
        } else if metadata.is_dir() {
            header.write_dir(&mut self.output)?;
        } else if metadata.is_file() {
            header.write_file(metadata.len(), &mut self.output)?;
            self.content(path, metadata.len())?;
            self.files += 1;
        }
        for name in children.into_iter().flatten() {
            let below = path.join(&name);
            let relative = match relative {
                b"." => name.as_bytes().to_vec(),
                _ => [relative, b"/", name.as_bytes()].concat(),
            };
            let metadata = fs::symlink_metadata(&below).map_err(|error| at(&below, &error))?;
            self.entry(&below, &relative, &metadata)?;
        }
        Ok(())
    }

    fn is_excluded(&self, relative: &[u8]) -> io::Result<bool> {
        for pattern in &self.options.exclude {
            let matches = go_match(pattern, relative).map_err(|error| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("exclusion pattern {pattern:?}: {error}"))
            })?;
            if matches {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Copies exactly `size` bytes; a file that changes meanwhile is an error.
    fn content(&mut self, path: &Path, size: u64) -> io::Result<()> {
        let mut file = File::open(path).map_err(|error| at(path, &error))?;
        let mut left = size;
        loop {
            let count = file.read(&mut self.buffer).map_err(|error| at(path, &error))?;
            if count as u64 > left || (count == 0 && left > 0) {
                return Err(at(path, &io::Error::other("file changed while it was packed")));
            }
            if count == 0 {
                break;
            }
            self.output.write_all(&self.buffer[..count])?;
            left -= count as u64;
        }
        self.output.write_all(&[0; 512][..(size.wrapping_neg() % 512) as usize])
    }
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn sorted(dir: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let names = fs::read_dir(dir)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>());
    let mut names = names.map_err(|error| at(dir, &error))?;
    names.sort_unstable();
    Ok(names)
}

/// Counts and hashes what passes.
struct Metered<W> {
    output: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Metered<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.output.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

struct HashWriter<'a>(&'a mut Sha256);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps [`MetadataExt`] in one place.
fn owner_and_time(metadata: &FileMetadata) -> (u32, u32, u32, i64) {
    let rounded = metadata.mtime() + i64::from(metadata.mtime_nsec() >= 500_000_000);
    (metadata.mode() & 0o7777, metadata.uid(), metadata.gid(), rounded)
}
