//! A small writer of raw archives, right and wrong ones, and what the tests check after reading them.

#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_source::{IndexEntry, Limits, Metadata, Source, TreeIndex};

/// Which magic a header carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Magic {
    V7,
    Ustar,
    Gnu,
}

/// One header, to be changed before it is written.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) name: Vec<u8>,
    pub(crate) typeflag: u8,
    pub(crate) link: Vec<u8>,
    pub(crate) mode: u64,
    pub(crate) size: u64,
    pub(crate) magic: Magic,
    pub(crate) prefix: Vec<u8>,
}

impl Head {
    pub(crate) fn new(typeflag: u8, name: impl AsRef<[u8]>) -> Self {
        let name = name.as_ref().to_vec();
        Self {
            name,
            typeflag,
            link: Vec::new(),
            mode: 0o644,
            size: 0,
            magic: Magic::Ustar,
            prefix: Vec::new(),
        }
    }

    pub(crate) fn block(&self) -> [u8; 512] {
        let mut block = [0; 512];
        put(&mut block[..100], &self.name);
        put(&mut block[100..108], format!("{:07o}\0", self.mode & 0o777_7777).as_bytes());
        put(&mut block[108..116], b"0000000\0");
        put(&mut block[116..124], b"0000000\0");
        if self.size < 1 << 33 {
            put(&mut block[124..136], format!("{:011o}\0", self.size).as_bytes());
        } else {
            block[124] = 0x80;
            put(&mut block[128..136], &self.size.to_be_bytes());
        }
        put(&mut block[136..148], b"00000000000\0");
        block[156] = self.typeflag;
        put(&mut block[157..257], &self.link);
        match self.magic {
            Magic::V7 => {}
            Magic::Ustar => put(&mut block[257..265], b"ustar\x0000"),
            Magic::Gnu => put(&mut block[257..265], b"ustar  \0"),
        }
        put(&mut block[345..500], &self.prefix);
        fix_checksum(&mut block);
        block
    }
}

fn put(field: &mut [u8], value: &[u8]) {
    let count = value.len().min(field.len());
    field[..count].copy_from_slice(&value[..count]);
}

/// Makes a changed header valid again.
pub(crate) fn fix_checksum(block: &mut [u8; 512]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// A tar archive under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Archive(pub(crate) Vec<u8>);

impl Archive {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A header and its content, padded. The header's size field stays as given.
    pub(crate) fn with(mut self, head: &Head, content: &[u8]) -> Self {
        self.0.extend_from_slice(&head.block());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn file(self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        self.with(&Head { size: content.len() as u64, ..Head::new(b'0', name) }, content)
    }

    pub(crate) fn dir(self, name: impl AsRef<[u8]>) -> Self {
        self.with(&Head { mode: 0o755, ..Head::new(b'5', name) }, b"")
    }

    pub(crate) fn link(self, name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.with(&Head { link: target.as_ref().to_vec(), ..Head::new(b'2', name) }, b"")
    }

    pub(crate) fn other(self, typeflag: u8, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        self.with(
            &Head { size: content.len() as u64, link: b"a".to_vec(), ..Head::new(typeflag, name) },
            content,
        )
    }

    /// A PAX header with these records for the next entry.
    pub(crate) fn pax(self, records: &[(&str, &[u8])]) -> Self {
        let text: Vec<u8> = records.iter().flat_map(|(key, value)| pax_record(key, value)).collect();
        self.other(b'x', "PaxHeaders.0/x", text)
    }

    /// A GNU record (`L` for the name, `K` for the link target) for the next entry.
    pub(crate) fn gnu(self, typeflag: u8, value: &[u8]) -> Self {
        let content = [value, b"\0"].concat();
        let head =
            Head { size: content.len() as u64, magic: Magic::Gnu, ..Head::new(typeflag, "././@LongLink") };
        self.with(&head, &content)
    }

    /// The two zero blocks that end an archive.
    pub(crate) fn end(self) -> Self {
        self.raw(&[0; 1024])
    }

    pub(crate) fn tgz(&self) -> Vec<u8> {
        gzip(&self.0)
    }
}

/// `length key=value\n`, the length counting itself.
pub(crate) fn pax_record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let length = (rest..).find(|length| length.to_string().len() + rest == *length).unwrap();
    [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A source that arrives in chunks of 1 KiB, like upstream's.
pub(crate) fn source(tgz: &[u8], limits: Limits) -> Source {
    let whole = Source::from_bytes(Metadata::default(), Bytes::copy_from_slice(tgz), limits);
    let chunks: Vec<_> = tgz.chunks(1024).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    Source::new(whole.metadata().clone(), futures_util::stream::iter(chunks), limits)
}

/// What a tree looks like: path to `d`, `l <target>`, or `f`.
pub(crate) type Shape = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn shape_of_index(index: &TreeIndex) -> Shape {
    let mut shape = Shape::new();
    index.for_each(|path, entry| {
        let described = match entry {
            IndexEntry::Dir => b"d".to_vec(),
            IndexEntry::File => b"f".to_vec(),
            IndexEntry::Link(target) => [b"l ", target].concat(),
        };
        shape.insert(path.to_vec(), described);
    });
    shape
}

pub(crate) fn shape_on_disk(root: &Path) -> Shape {
    let mut shape = Shape::new();
    each_on_disk(root, root, &mut |path, full| {
        let metadata = full.symlink_metadata().unwrap();
        let described = if metadata.is_symlink() {
            [b"l ", full.read_link().unwrap().as_os_str().as_bytes()].concat()
        } else if metadata.is_dir() {
            b"d".to_vec()
        } else {
            b"f".to_vec()
        };
        shape.insert(path.to_vec(), described);
    });
    shape
}

/// Calls `visit` with the relative and the full path of everything below `root`.
pub(crate) fn each_on_disk(root: &Path, dir: &Path, visit: &mut dyn FnMut(&[u8], &Path)) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let full = entry.unwrap().path();
        visit(full.strip_prefix(root).unwrap().as_os_str().as_bytes(), &full);
        if full.symlink_metadata().unwrap().is_dir() {
            each_on_disk(root, &full, visit);
        }
    }
}

pub(crate) fn mode_of(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}
