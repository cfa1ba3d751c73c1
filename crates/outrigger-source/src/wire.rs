//! The pipe between the stream and the blocking thread: batches of bytes, hashed as they are taken out.
//!
//! A closed pipe without an end marker means that nobody waits any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::error::{LimitKind, SourceError};

/// Batches that may wait for the blocking thread.
const QUEUE: usize = 4;
/// A batch of this size has to be taken out before the next one is fetched.
const LARGE: usize = 1 << 20;

enum Message {
    Data(Bytes),
    End,
}

/// The asynchronous end. Dropping it before [`disarm`](Batches::disarm) cancels the other end.
pub(crate) struct Batches {
    queue: Option<mpsc::Sender<Message>>,
    cancelled: Arc<AtomicBool>,
    armed: bool,
}

impl Batches {
    /// Hands one batch over, waiting while the queue is full.
    pub(crate) async fn send(&mut self, batch: Bytes) {
        let is_large = batch.len() >= LARGE;
        self.put(Message::Data(batch)).await;
        if is_large && let Some(queue) = &self.queue {
            // All places are free again when everything was taken out. A closed queue shows at the next batch.
            let _ = queue.reserve_many(QUEUE).await;
        }
    }

    /// Says that the stream is complete.
    pub(crate) async fn end(&mut self) {
        self.put(Message::End).await;
        self.queue = None;
    }

    async fn put(&mut self, message: Message) {
        if let Some(queue) = &self.queue
            && queue.send(message).await.is_err()
        {
            self.queue = None;
        }
    }

    /// Tells the other end to stop.
    pub(crate) fn cancel(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.queue = None;
    }

    /// The work is done: dropping this no longer cancels anything.
    pub(crate) fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        if self.armed {
            self.cancel();
        }
    }
}

/// The blocking end.
pub(crate) struct Wire {
    queue: mpsc::Receiver<Message>,
    cancelled: Arc<AtomicBool>,
    current: Bytes,
    ended: bool,
    hasher: Sha256,
    bytes: u64,
    allowed: u64,
    started: Instant,
    waited: Duration,
}

/// A pipe that carries at most `allowed` bytes before it reports a limit.
pub(crate) fn pipe(allowed: u64) -> (Batches, Wire) {
    let (sender, queue) = mpsc::channel(QUEUE);
    let cancelled = Arc::new(AtomicBool::new(false));
    let batches = Batches { queue: Some(sender), cancelled: cancelled.clone(), armed: true };
    let wire = Wire {
        queue,
        cancelled,
        current: Bytes::new(),
        ended: false,
        hasher: Sha256::new(),
        bytes: 0,
        allowed,
        started: Instant::now(),
        waited: Duration::ZERO,
    };
    (batches, wire)
}

impl Wire {
    /// The bytes at hand, at least one unless the stream is over.
    pub(crate) fn fill(&mut self) -> Result<&[u8], SourceError> {
        while self.current.is_empty() && !self.ended {
            self.receive()?;
            if self.bytes > self.allowed {
                return Err(self.over_limit());
            }
        }
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(SourceError::Cancelled);
        }
        Ok(&self.current)
    }

    /// Marks `count` of the bytes at hand as used.
    pub(crate) fn consume(&mut self, count: usize) {
        self.current.advance(count);
    }

    /// Bytes received so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time this end spent on something else than waiting.
    pub(crate) fn busy(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.waited)
    }

    /// Reads to the end of the stream and compares the checksum of everything with `expected`.
    pub(crate) fn finish(&mut self, expected: &str) -> Result<(), SourceError> {
        self.current.clear();
        while !self.ended {
            self.receive()?;
            self.current.clear();
        }
        if self.bytes > self.allowed {
            return Err(self.over_limit());
        }
        let actual = hex(&std::mem::take(&mut self.hasher).finalize());
        if actual != expected {
            return Err(SourceError::Checksum { expected: expected.to_owned(), actual });
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), SourceError> {
        let asked = Instant::now();
        let message = self.queue.blocking_recv();
        self.waited += asked.elapsed();
        match message {
            Some(Message::Data(batch)) => {
                self.bytes += batch.len() as u64;
                if self.bytes <= self.allowed {
                    self.hasher.update(&batch);
                }
                self.current = batch;
                Ok(())
            }
            Some(Message::End) => {
                self.ended = true;
                Ok(())
            }
            None => Err(SourceError::Cancelled),
        }
    }

    fn over_limit(&self) -> SourceError {
        SourceError::Limit { kind: LimitKind::WireBytes, allowed: self.allowed }
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[digit as usize]))
        .collect()
}
