//! [`Source`]: one tree on the wire, and the asynchronous half of reading it.
//!
//! Messages may be as small as 1 KiB. They are gathered into batches and handed to one blocking thread
//! that hashes, inflates and acts; the queue between the two is short, so a slow disk slows the sender
//! down instead of filling memory.
//!
//! Promised: the stream is read to its end before any answer, except when the stream itself breaks;
//! dropping a future stops the thread and removes what it wrote. Not promised: that the thread has
//! already stopped at the moment the drop returns.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;

use crate::error::SourceError;
use crate::types::{FileModes, Limits, Metadata};
use crate::wire::{self, Batches, Wire};
use crate::work::{self, Job, Scanned};
use crate::workdir::{Tree, WorkDir};

/// Batches handed to the blocking thread are at least this long, the last one aside.
const BATCH: usize = 64 * 1024;

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, SourceError>> + Send>>;

/// A tree on the wire: its metadata, and a tgz stream that can be consumed once.
pub struct Source {
    metadata: Metadata,
    limits: Limits,
    chunks: Option<Chunks>,
    started: bool,
}

impl Source {
    /// A source whose bytes are the concatenation of `chunks`. An `Err` ends it at once.
    pub fn new(
        metadata: Metadata,
        chunks: impl Stream<Item = Result<Bytes, SourceError>> + Send + 'static,
        limits: Limits,
    ) -> Self {
        Self { metadata, limits, chunks: Some(Box::pin(chunks)), started: false }
    }

    /// What the sender said about the tree.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Reads the whole stream and keeps only the shape of the tree. Nothing is written.
    ///
    /// Accepts and refuses the same archives as [`unpack`](Self::unpack) with [`FileModes::Fixed`].
    pub async fn scan(&mut self) -> Result<Scanned, SourceError> {
        self.scan_for(FileModes::Fixed).await
    }

    /// [`scan`](Self::scan), refusing what [`unpack`](Self::unpack) would refuse with these modes.
    pub async fn scan_for(&mut self, modes: FileModes) -> Result<Scanned, SourceError> {
        let job = self.job(modes);
        let (mut scanned, receive) = self.run(move |wire| work::scan(wire, &job)).await?;
        scanned.stats.receive = receive;
        Ok(scanned)
    }

    /// Reads the whole stream and writes the tree into a new directory of `work`.
    pub async fn unpack(&mut self, work: &WorkDir, modes: FileModes) -> Result<Tree, SourceError> {
        let (job, work) = (self.job(modes), work.clone());
        let (mut tree, receive) = self.run(move |wire| work::unpack(wire, &job, &work)).await?;
        tree.stats_mut().receive = receive;
        Ok(tree)
    }

    /// Reads what is left of the stream and throws it away, because the sender fails otherwise.
    /// Does nothing when the source was consumed.
    pub async fn drain(&mut self) -> Result<(), SourceError> {
        self.started = true;
        let mut receive = Duration::ZERO;
        while let Some(chunks) = self.chunks.as_mut() {
            match next(chunks, &mut receive).await {
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    self.chunks = None;
                    return Err(error);
                }
                None => self.chunks = None,
            }
        }
        Ok(())
    }

    fn job(&self, modes: FileModes) -> Job {
        Job { checksum: self.metadata.checksum.clone(), limits: self.limits, modes }
    }

    /// Runs `job` on a blocking thread, feeding it the stream.
    async fn run<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(Wire) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<(T, Duration), SourceError> {
        if std::mem::replace(&mut self.started, true) {
            return Err(SourceError::Consumed);
        }
        let chunks = self.chunks.as_mut().ok_or(SourceError::Consumed)?;
        let mut receive = Duration::ZERO;
        // A small source is all there before a thread is asked for.
        let first = gather(chunks, &mut receive).await?;
        let (mut batches, wire) = wire::pipe(self.limits.wire_bytes);
        let worker = tokio::task::spawn_blocking(move || job(wire));
        let pumped = pump(first, chunks, &mut batches, &mut receive).await;
        self.chunks = None;
        if pumped.is_err() {
            batches.cancel();
        }
        let worked = worker.await;
        batches.disarm();
        pumped?;
        match worked {
            Ok(done) => done.map(|value| (value, receive)),
            Err(join) => Err(SourceError::io("reading the source", std::io::Error::other(join))),
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("metadata", &self.metadata).field("started", &self.started).finish()
    }
}

/// Moves the stream into batches until it ends. A worker that is gone is no error here: it has the reason.
async fn pump(
    first: Option<Bytes>,
    chunks: &mut Chunks,
    batches: &mut Batches,
    receive: &mut Duration,
) -> Result<(), SourceError> {
    let mut batch = first;
    while let Some(bytes) = batch {
        let is_last = bytes.len() < BATCH;
        batches.send(bytes).await;
        batch = if is_last { None } else { gather(chunks, receive).await? };
    }
    batches.end().await;
    Ok(())
}

/// The next batch: many small chunks or one large one. Shorter than [`BATCH`] only at the stream's end.
async fn gather(chunks: &mut Chunks, receive: &mut Duration) -> Result<Option<Bytes>, SourceError> {
    let mut gathered = BytesMut::new();
    while let Some(chunk) = next(chunks, receive).await {
        let chunk = chunk?;
        if gathered.is_empty() && chunk.len() >= BATCH {
            return Ok(Some(chunk));
        }
        if gathered.len() + chunk.len() > gathered.capacity() {
            // Few sources fill a batch: the first pieces tell which.
            let wanted = if gathered.is_empty() { 4 * chunk.len() } else { BATCH };
            gathered.reserve(wanted.min(BATCH) + chunk.len());
        }
        gathered.extend_from_slice(&chunk);
        if gathered.len() >= BATCH {
            break;
        }
    }
    Ok((!gathered.is_empty()).then(|| gathered.freeze()))
}

/// The next chunk; adds the time for which there was none to `waited`.
async fn next(chunks: &mut Chunks, waited: &mut Duration) -> Option<Result<Bytes, SourceError>> {
    let mut since: Option<Instant> = None;
    poll_fn(|context| match chunks.as_mut().poll_next(context) {
        Poll::Ready(item) => {
            *waited += since.map_or(Duration::ZERO, |start| start.elapsed());
            Poll::Ready(item)
        }
        Poll::Pending => {
            since.get_or_insert_with(Instant::now);
            Poll::Pending
        }
    })
    .await
}
