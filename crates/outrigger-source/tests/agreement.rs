//! Scanning and unpacking take the same decisions on archives nobody thought of.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod support;

use outrigger_source::{FileModes, Limits, WorkDir};
use proptest::prelude::*;
use support::{Archive, shape_of_index, shape_on_disk, source};

/// One entry: its kind, its name, and a link target for those that have one.
type Entry = (u8, String, String);

/// Few names, so that entries meet; dots and slashes where they hurt.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let name = "/?([abc]|\\.\\.?|)(/([abc]|\\.\\.)){0,3}/?";
    let target = "/?(\\.\\./){0,2}([abc]|\\.)(/[abc]){0,2}";
    let kind = prop_oneof![4 => Just(b'0'), 2 => Just(b'5'), 3 => Just(b'2'), 1 => Just(0), 1 => Just(b'1')];
    proptest::collection::vec((kind, name, target), 1..12)
}

fn archive(entries: &[Entry]) -> Archive {
    entries.iter().fold(Archive::new(), |archive, (kind, name, target)| match kind {
        b'2' => archive.link(name, target),
        b'5' => archive.dir(name),
        b'1' => archive.other(b'1', name, ""),
        kind => archive.other(*kind, name, target),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scan_sees_what_an_unpack_writes(entries in entries()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let work = WorkDir::open(outside.path()).unwrap();
        let tgz = archive(&entries).end().tgz();
        let scanned = runtime.block_on(source(&tgz, Limits::default()).scan());
        let unpacked = runtime.block_on(source(&tgz, Limits::default()).unpack(&work, FileModes::Fixed));
        match (scanned, unpacked) {
            (Ok(scanned), Ok(tree)) => {
                prop_assert_eq!(shape_of_index(&scanned.index), shape_on_disk(tree.path()));
                for link in shape_on_disk(tree.path()).into_values().filter(|kind| kind.starts_with(b"l ")) {
                    prop_assert!(!link.starts_with(b"l /"), "links are stored relative");
                }
            }
            (Err(scan), Err(unpack)) => prop_assert_eq!(format!("{scan:?}"), format!("{unpack:?}")),
            (scanned, unpacked) => prop_assert!(false, "scan {scanned:?}, unpack {unpacked:?}"),
        }
        prop_assert_eq!(shape_on_disk(outside.path()).len(), 1, "only the empty work directory is left");
    }

    #[test]
    fn no_bytes_make_a_scan_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2048), archived in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let tgz = if archived { support::gzip(&bytes) } else { bytes };
        let _ = runtime.block_on(source(&tgz, Limits::default()).scan());
    }
}
