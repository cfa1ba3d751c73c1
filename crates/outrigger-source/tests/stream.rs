//! How a stream is read: to its end, at the sender's pace, and no longer than somebody waits.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod support;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use outrigger_source::{Fault, FileModes, Limits, Metadata, Source, SourceError, WorkDir};
use support::{Archive, source};

type Item = Result<Bytes, SourceError>;

/// Passes a stream on and counts what was taken out of it.
struct Counted<S>(S, Arc<AtomicUsize>);

impl<S: Stream<Item = Item> + Unpin> Stream for Counted<S> {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        let polled = self.0.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(chunk))) = &polled {
            self.1.fetch_add(chunk.len(), Ordering::Relaxed);
        }
        polled
    }
}

fn work() -> (tempfile::TempDir, WorkDir) {
    let base = tempfile::tempdir().unwrap();
    let work = WorkDir::open(base.path()).unwrap();
    (base, work)
}

fn trees_in(work: &WorkDir) -> usize {
    std::fs::read_dir(work.path()).unwrap().count()
}

/// A tree of random bytes, so that its archive is large.
fn large_tgz() -> Vec<u8> {
    let mut state = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    })
    .take(1 << 18)
    .collect();
    (0..4).fold(Archive::new(), |archive, at| archive.file(format!("d{at}/noise"), &noise)).end().tgz()
}

/// Metadata that fits `tgz`.
fn metadata(tgz: &[u8]) -> Metadata {
    source(tgz, Limits::default()).metadata().clone()
}

async fn until(mut condition: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never happened");
}

#[tokio::test]
async fn content_arrives_whatever_the_size_of_the_messages() {
    let (_base, work) = work();
    let tgz = large_tgz();
    let mut ids = Vec::new();
    for size in [1, 1000, 1024, 65_536, 10_000_000] {
        let part = if size == 1 { Archive::new().file("a", "x").end().tgz() } else { tgz.clone() };
        let chunks: Vec<Item> = part.chunks(size).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        let mut source = Source::new(metadata(&part), stream::iter(chunks), Limits::default());
        let tree = source.unpack(&work, FileModes::Fixed).await.unwrap();
        assert_eq!(tree.stats().wire_bytes, part.len() as u64);
        if size > 1 {
            assert_eq!(tree.stats().bytes, 1 << 20);
            assert_eq!(tree.stats().entries, 4);
            ids.push(tree.id());
        }
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "the same tree has the same identity however it was cut");
}

#[tokio::test]
async fn a_refused_source_is_still_read_to_its_end() {
    let (_base, work) = work();
    let tgz = [Archive::new().file("../x", "x").end().tgz(), vec![7; 300_000]].concat();
    for scan in [true, false] {
        let taken = Arc::new(AtomicUsize::new(0));
        let chunks: Vec<Item> = tgz.chunks(1024).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        let mut source =
            Source::new(metadata(&tgz), Counted(stream::iter(chunks), taken.clone()), Limits::default());
        let error = if scan {
            source.scan().await.unwrap_err()
        } else {
            source.unpack(&work, FileModes::Fixed).await.unwrap_err()
        };
        assert!(matches!(error, SourceError::Escapes { .. }), "{error:?}");
        assert_eq!(error.fault(), Fault::Sender);
        assert_eq!(taken.load(Ordering::Relaxed), tgz.len());
        source.drain().await.unwrap();
    }
    assert_eq!(trees_in(&work), 0);
}

#[tokio::test]
async fn a_broken_stream_ends_at_once_and_leaves_nothing() {
    let (_base, work) = work();
    let tgz = large_tgz();
    let half = Bytes::copy_from_slice(&tgz[..tgz.len() / 2]);
    let broken =
        stream::iter([Ok(half), Err(SourceError::transport("connection reset"))]).chain(stream::pending());
    let mut source = Source::new(metadata(&tgz), broken, Limits::default());
    let error = source.unpack(&work, FileModes::Fixed).await.unwrap_err();
    assert_eq!(error.fault(), Fault::Transport);
    assert_eq!(error.to_string(), "stream Recv error: connection reset");
    assert_eq!(trees_in(&work), 0);
}

#[tokio::test]
async fn an_abandoned_unpack_stops_and_cleans_up() {
    let (_base, work) = work();
    let tgz = large_tgz();
    let half = Bytes::copy_from_slice(&tgz[..tgz.len() / 2]);
    let stalled = stream::iter([Ok(half)]).chain(stream::pending());
    let mut source = Source::new(metadata(&tgz), stalled, Limits::default());
    {
        let mut unpack = Box::pin(source.unpack(&work, FileModes::Fixed));
        let waited = tokio::time::timeout(Duration::from_millis(50), unpack.as_mut()).await;
        assert!(waited.is_err());
        until(|| trees_in(&work) == 1).await;
    }
    until(|| trees_in(&work) == 0).await;
    assert!(matches!(source.scan().await, Err(SourceError::Consumed)));
}

#[tokio::test]
async fn what_an_abandoned_scan_left_can_be_drained() {
    let tgz = large_tgz();
    let taken = Arc::new(AtomicUsize::new(0));
    let (send, receive) = tokio::sync::mpsc::channel::<Item>(1);
    let chunks =
        stream::unfold(receive, |mut receive| async { receive.recv().await.map(|item| (item, receive)) });
    let counted = Counted(Box::pin(chunks), taken.clone());
    let mut source = Source::new(metadata(&tgz), counted, Limits::default());
    let (first, second) = tgz.split_at(tgz.len() / 2);
    send.send(Ok(Bytes::copy_from_slice(first))).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(50), source.scan()).await.is_err());
    send.send(Ok(Bytes::copy_from_slice(second))).await.unwrap();
    drop(send);
    source.drain().await.unwrap();
    assert_eq!(taken.load(Ordering::Relaxed), tgz.len());
}

#[tokio::test]
async fn draining_reads_everything_once() {
    let tgz = large_tgz();
    let taken = Arc::new(AtomicUsize::new(0));
    let chunks: Vec<Item> = tgz.chunks(4096).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    let mut source =
        Source::new(metadata(&tgz), Counted(stream::iter(chunks), taken.clone()), Limits::default());
    source.drain().await.unwrap();
    source.drain().await.unwrap();
    assert_eq!(taken.load(Ordering::Relaxed), tgz.len());
    assert!(matches!(source.scan().await, Err(SourceError::Consumed)));
}

#[tokio::test]
async fn waiting_for_the_sender_is_told_from_working() {
    let tgz = Archive::new().file("a", "x").end().tgz();
    let bytes = Bytes::copy_from_slice(&tgz);
    let slow = stream::once(async move {
        tokio::time::sleep(Duration::from_millis(80)).await;
        Ok(bytes)
    });
    let mut source = Source::new(metadata(&tgz), Box::pin(slow), Limits::default());
    let stats = source.scan().await.unwrap().stats;
    assert!(stats.receive >= Duration::from_millis(80), "{stats:?}");
    assert!(stats.unpack < Duration::from_millis(80), "{stats:?}");
}

#[tokio::test]
async fn a_slow_disk_slows_the_sender_down() {
    let taken = Arc::new(AtomicUsize::new(0));
    let endless = stream::repeat_with(|| Ok(Bytes::from_static(&[0; 65_536])));
    let mut source = Source::new(Metadata::default(), Counted(endless, taken.clone()), Limits::default());
    // No thread ever takes a batch out: only the queue can fill up.
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_time().build().unwrap();
    let taken_at_rest = std::thread::spawn(move || {
        let (release, blocked) = std::sync::mpsc::channel::<()>();
        runtime.spawn_blocking(move || blocked.recv().ok());
        let stalled = runtime.block_on(async {
            tokio::time::timeout(Duration::from_millis(200), source.scan()).await.is_err()
        });
        drop(release);
        (stalled, taken.load(Ordering::Relaxed))
    })
    .join()
    .unwrap();
    assert!(taken_at_rest.0);
    assert!(taken_at_rest.1 < 1 << 20, "{} bytes were taken with nobody to use them", taken_at_rest.1);
}

#[tokio::test]
async fn secrets_do_not_show_in_debug_output() {
    let metadata = Metadata { env: vec![("TOKEN".into(), "hunter2".into())], ..Metadata::default() };
    let source = Source::new(metadata, stream::empty(), Limits::default());
    let shown = format!("{source:?}");
    assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn identity_depends_on_what_matters_and_nothing_else() {
    let (_base, work) = work();
    let mut ids = Vec::new();
    for archive in [
        Archive::new().file("a", "1").file("b", "2"),
        Archive::new().file("a", "1").file("b", "3"),
        Archive::new().file("a", "1").file("c", "2"),
        Archive::new().file("a", "12").file("b", ""),
        Archive::new().file("a", "1").link("b", "2"),
        Archive::new().file("a", "1").dir("b"),
        Archive::new().file("a", "1"),
    ] {
        ids.push(
            source(&archive.end().tgz(), Limits::default())
                .unpack(&work, FileModes::Fixed)
                .await
                .unwrap()
                .id(),
        );
    }
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());

    let ignored = Archive::new().dir(".").file("./a", "1").other(b'1', "h", "").file("b", "2").end().tgz();
    let same = source(&ignored, Limits::default()).unpack(&work, FileModes::Fixed).await.unwrap().id();
    assert_eq!(same, ids[0]);
    assert_eq!(same.to_string().len(), 64);
}
