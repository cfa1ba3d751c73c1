//! A directory, packed and unpacked again.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod support;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use outrigger_source::pack::{Options, pack, pack_to_source};
use outrigger_source::{FileModes, Limits, Metadata, Source, WorkDir};
use support::{mode_of, shape_on_disk};

fn example() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::create_dir_all(root.join("apps/web/templates")).unwrap();
    fs::create_dir_all(root.join(".git/objects")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::write(root.join(".git/objects/pack"), vec![7; 100_000]).unwrap();
    fs::write(root.join("apps/web/run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(root.join("apps/web/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("é"), "not ASCII").unwrap();
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"\xff")), "not UTF-8").unwrap();
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(200));
    fs::create_dir_all(root.join(&long).parent().unwrap()).unwrap();
    fs::write(root.join(&long), "long").unwrap();
    let fitting = format!("{}/{}", "p".repeat(90), "n".repeat(90));
    fs::create_dir_all(root.join(&fitting).parent().unwrap()).unwrap();
    fs::write(root.join(&fitting), "fits into two fields").unwrap();
    symlink("apps/web", root.join("link")).unwrap();
    symlink("x".repeat(150), root.join("long-link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    dir
}

fn work() -> (tempfile::TempDir, WorkDir) {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    (base, work)
}

fn assert_same_content(left: &Path, right: &Path) {
    for (path, kind) in shape_on_disk(left) {
        if kind == b"f" {
            let path = std::ffi::OsStr::from_bytes(&path);
            assert_eq!(fs::read(left.join(path)).unwrap(), fs::read(right.join(path)).unwrap(), "{path:?}");
        }
    }
}

#[tokio::test]
async fn what_was_packed_comes_out_again() {
    let (dir, (_base, work)) = (example(), work());
    let mut source =
        pack_to_source(dir.path(), "apps/web", vec![("A".into(), "b".into())], vec![], Limits::default())
            .unwrap();
    assert_eq!(source.metadata().app_name, "web");
    assert_eq!(source.metadata().app_rel_path, "apps/web");
    let tree = source.unpack(&work, FileModes::Preserve).await.unwrap();
    assert_eq!(tree.stats().wire_bytes, u64::try_from(source.metadata().size).unwrap());
    fs::remove_file(dir.path().join("socket")).unwrap();
    assert_eq!(shape_on_disk(tree.path()), shape_on_disk(dir.path()));
    assert_same_content(tree.path(), dir.path());
    assert_eq!(mode_of(&tree.path().join("apps/web/run.sh")), 0o755);
}

#[tokio::test]
async fn exclusions_are_go_patterns_on_relative_paths() {
    let (dir, (_base, work)) = (example(), work());
    for (exclude, gone, kept) in [
        (".git", vec![".git"], "apps"),
        ("apps/*", vec!["apps/web"], "apps"),
        ("*.sh", vec![], "apps/web/run.sh"),
        ("apps/web/*.sh", vec!["apps/web/run.sh"], "apps/web"),
    ] {
        let mut source =
            pack_to_source(dir.path(), ".", vec![], vec![exclude.to_owned()], Limits::default()).unwrap();
        let tree = source.unpack(&work, FileModes::Fixed).await.unwrap();
        assert!(tree.path().join(kept).exists(), "{exclude}");
        for gone in gone {
            assert!(!tree.path().join(gone).exists(), "{exclude}");
        }
    }
    assert!(pack_to_source(dir.path(), ".", vec![], vec!["[".into()], Limits::default()).is_err());
    assert!(pack_to_source(Path::new("/no/such/dir"), ".", vec![], vec![], Limits::default()).is_err());
}

#[tokio::test]
async fn the_checksum_is_of_the_bytes_written() {
    let dir = example();
    let mut tgz = Vec::new();
    let packed = pack(dir.path(), &Options::default(), &mut tgz).unwrap();
    assert_eq!(packed.bytes, tgz.len() as u64);
    assert_eq!(packed.files, 6);
    let from_bytes = Source::from_bytes(Metadata::default(), tgz.clone().into(), Limits::default());
    assert_eq!(from_bytes.metadata().checksum, packed.checksum);

    let path = dir.path().join("a.tgz");
    fs::write(&path, &tgz).unwrap();
    let mut from_file =
        Source::from_tgz(Metadata::default(), fs::File::open(&path).unwrap(), Limits::default()).unwrap();
    assert_eq!(from_file.metadata().checksum, packed.checksum);
    assert_eq!(from_file.scan().await.unwrap().stats.wire_bytes, packed.bytes);
}

#[tokio::test]
async fn times_do_not_change_a_trees_identity() {
    let (dir, (_base, work)) = (example(), work());
    let mut ids = Vec::new();
    for second in [1_000, 2_000] {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
        fs::File::open(dir.path().join("apps/web/run.sh")).unwrap().set_modified(time).unwrap();
        let mut source = pack_to_source(dir.path(), ".", vec![], vec![], Limits::default()).unwrap();
        ids.push((
            source.metadata().checksum.clone(),
            source.unpack(&work, FileModes::Fixed).await.unwrap().id(),
        ));
    }
    assert_ne!(ids[0].0, ids[1].0);
    assert_eq!(ids[0].1, ids[1].1);
}
