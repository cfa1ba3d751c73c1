//! Any bytes as a source: scan and unpack agree, and nothing is written beside the tree.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use outrigger_source::{FileModes, Limits, Metadata, Source, WorkDir};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

const CANARY: &str = "untouched";

/// A runtime and a place of this process's own, with a canary where a tree that escapes would write.
fn place() -> &'static (Runtime, WorkDir) {
    static PLACE: OnceLock<(Runtime, WorkDir)> = OnceLock::new();
    PLACE.get_or_init(|| {
        let base = std::env::temp_dir().join(format!("outrigger-fuzz-{}", std::process::id()));
        let work = WorkDir::open(&base).unwrap();
        std::fs::write(work.path().join("canary"), CANARY).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        (runtime, work)
    })
}

/// The archive as it is, and wrapped: most random bytes are no gzip, but many are a tar with a defect.
fn sources(data: &[u8]) -> [Vec<u8>; 2] {
    let mut stored = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stored.push(u8::from(blocks.peek().is_none()));
        stored.extend_from_slice(&length.to_le_bytes());
        stored.extend_from_slice(&(!length).to_le_bytes());
        stored.extend_from_slice(block);
    }
    [data.to_vec(), stored]
}

fn source(archive: &[u8]) -> Source {
    let checksum = Sha256::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let metadata = Metadata { checksum, ..Metadata::default() };
    let limits = Limits { source_bytes: 1 << 20, entries: 500, file_bytes: 1 << 18, depth: 32, ..Limits::default() };
    Source::from_bytes(metadata, Bytes::copy_from_slice(archive), limits)
}

fuzz_target!(|data: &[u8]| {
    let (runtime, work) = place();
    for archive in sources(data) {
        let scanned = runtime.block_on(source(&archive).scan());
        let unpacked = runtime.block_on(source(&archive).unpack(work, FileModes::Fixed));
        assert_eq!(scanned.is_ok(), unpacked.is_ok(), "{:?} / {:?}", scanned.err(), unpacked.err());
        if let Ok(tree) = unpacked {
            tree.remove().unwrap();
        }
        let left: Vec<_> = std::fs::read_dir(work.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [Path::new("canary")]);
        assert_eq!(std::fs::read_to_string(work.path().join("canary")).unwrap(), CANARY);
    }
});
