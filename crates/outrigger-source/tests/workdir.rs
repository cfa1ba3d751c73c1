//! Trees on disk: who may remove them, and that removing works whatever commands left.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use outrigger_source::{FileModes, Limits, SourceError, Tree, WorkDir};
use support::{Archive, mode_of, source};

const UUID: &str = "5f0c0f9e-3f0b-4c43-9a64-0d0c3a8f6a11";

async fn tree(work: &WorkDir, archive: Archive) -> Tree {
    source(&archive.end().tgz(), Limits::default()).unpack(work, FileModes::Fixed).await.unwrap()
}

#[tokio::test]
async fn the_work_directory_is_private_and_trees_are_readable_in_it() {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path().join("new/base")).unwrap();
    assert_eq!(work.path(), base.path().join("new/base/_cmp_server"));
    assert_eq!(mode_of(work.path()), 0o700);
    let tree = tree(&work, Archive::new().file("f", "x")).await;
    assert_eq!(mode_of(tree.path()) & 0o700, 0o700);
    assert_eq!(tree.path().parent(), Some(work.path()));
}

#[test]
fn a_link_is_not_taken_for_the_work_directory() {
    let base = tempfile::tempdir().unwrap();
    symlink("/", base.path().join("_cmp_server")).unwrap();
    assert!(WorkDir::open(base.path()).is_err());
}

#[tokio::test]
async fn a_sweep_removes_only_trees_nobody_holds() {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    let live = tree(&work, Archive::new().file("f", "x")).await;
    let dead = work.path().join(UUID);
    fs::create_dir_all(dead.join("a/b")).unwrap();
    fs::write(dead.join("a/b/f"), "x").unwrap();
    fs::create_dir(work.path().join("not-a-tree")).unwrap();
    fs::create_dir(work.path().join(UUID.to_uppercase())).unwrap();
    fs::write(work.path().join("6f0c0f9e-3f0b-4c43-9a64-0d0c3a8f6a12"), "a file").unwrap();
    symlink(base.path(), work.path().join("7f0c0f9e-3f0b-4c43-9a64-0d0c3a8f6a13")).unwrap();

    let other_server = WorkDir::open(base.path()).unwrap();
    let swept = other_server.sweep().unwrap();
    assert_eq!((swept.removed, swept.in_use, swept.failed.len()), (1, 1, 0));
    assert!(live.path().join("f").exists());
    assert!(!dead.exists());
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 5);

    let path = live.path().to_owned();
    drop(live);
    assert!(!path.exists());
}

#[test]
fn trees_made_while_others_sweep_survive() {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                work.sweep().unwrap();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for _ in 0..50 {
            let tree = runtime.block_on(tree(&work, Archive::new().file("d/f", "x")));
            assert!(tree.path().join("d/f").exists());
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn removing_never_follows_links() {
    let base = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "x").unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    let tree = tree(&work, Archive::new().file("f", "x")).await;
    symlink(outside.path(), tree.path().join("out")).unwrap();
    symlink(outside.path().join("secret"), tree.path().join("file")).unwrap();
    tree.remove().unwrap();
    assert!(outside.path().join("secret").exists());
}

/// A thread swaps a directory for a link to somewhere else, over and over, while the tree is removed.
#[test]
fn a_directory_swapped_for_a_link_costs_nothing_outside() {
    let base = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    for at in 0..20 {
        fs::create_dir(outside.path().join(format!("d{at}"))).unwrap();
        fs::write(outside.path().join(format!("d{at}/secret")), "x").unwrap();
    }
    let work = WorkDir::open(base.path()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for _ in 0..10 {
        let archive = (0..20).fold(Archive::new(), |archive, at| archive.file(format!("d{at}/a/b/f"), "x"));
        let tree = runtime.block_on(tree(&work, archive));
        let (root, target) = (tree.path().to_owned(), outside.path().to_owned());
        let swapper = std::thread::spawn(move || {
            for at in (0..20).rev() {
                let dir = root.join(format!("d{at}"));
                if fs::rename(&dir, root.join(format!("moved{at}"))).is_ok() {
                    let _ = symlink(target.join(format!("d{at}")), &dir);
                }
            }
        });
        let removed = tree.remove();
        swapper.join().unwrap();
        if removed.is_err() {
            work.sweep().unwrap();
        }
    }
    for at in 0..20 {
        assert!(outside.path().join(format!("d{at}/secret")).exists());
    }
}

#[tokio::test]
async fn depth_does_not_keep_a_tree_from_being_removed() {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    let tree = tree(&work, Archive::new().file("f", "x")).await;
    // Deeper than a path can be written: built from the inside out.
    let mut top = tree.path().join("d0");
    fs::create_dir_all(top.join("x/".repeat(100))).unwrap();
    for at in 1..12 {
        let outer = tree.path().join(format!("d{at}"));
        fs::create_dir_all(outer.join("x/".repeat(100))).unwrap();
        fs::rename(&top, outer.join("x/".repeat(99)).join("x/in")).unwrap();
        top = outer;
    }
    tree.remove().unwrap();
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn wide_directories_are_removed_too() {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    let tree = tree(&work, Archive::new().file("f", "x")).await;
    for at in 0..1200 {
        fs::create_dir(tree.path().join(format!("dir-{at}"))).unwrap();
        fs::write(tree.path().join(format!("file-{at}")), "").unwrap();
    }
    tree.remove().unwrap();
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn read_only_directories_are_removed_too() {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    let tree = tree(&work, Archive::new().file("a/b/c/f", "x").file("locked/f", "x")).await;
    for (path, mode) in [("a/b/c", 0o555), ("a/b", 0o500), ("a", 0o100), ("locked", 0), ("", 0o500)] {
        fs::set_permissions(tree.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    tree.remove().unwrap();
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_application_stays_inside_the_tree() {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    let tree = tree(&work, Archive::new().file("apps/a/f", "x").link("l", "apps/a")).await;
    let root = tree.path();
    for (rel, expected) in [
        ("", ""),
        (".", ""),
        ("apps/a", "apps/a"),
        ("/apps", "apps"),
        ("x/../apps/", "apps"),
        ("missing", "missing"),
    ] {
        let expected = if expected.is_empty() { root.to_owned() } else { root.join(expected) };
        assert_eq!(tree.app_dir(rel).unwrap(), expected, "{rel}");
    }
    let sibling = format!("../{}x", root.file_name().unwrap().to_str().unwrap());
    for rel in ["..", "../x", "apps/../../x", sibling.as_str()] {
        let error = tree.app_dir(rel).unwrap_err();
        assert!(matches!(error, SourceError::AppPath));
        assert_eq!(error.to_string(), "illegal appPath: out of workDir bound");
    }
    for (rel, expected) in
        [("l", "apps/a"), ("l/../..", ""), ("../../l/f", "apps/a/f"), ("no/such", "no/such")]
    {
        assert_eq!(tree.scoped_app_dir(rel).unwrap(), Path::join(root, expected), "{rel}");
    }
}

#[test]
fn a_work_directory_that_others_may_enter_is_closed_to_them() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("_cmp_server");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    WorkDir::open(base.path()).unwrap();
    assert_eq!(mode_of(&path), 0o700);
}
