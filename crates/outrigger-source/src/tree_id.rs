//! The identity of a tree, computed while its bytes pass.
//!
//! Hashed are, in archive order, the entries that have an effect: kind, mode as asked of the file system,
//! path, and link target or content, each preceded by its length, so that no two different sequences
//! read the same. Times, owners and ignored entries do not count; neither does the process's umask.

use crate::types::TreeId;

const CONTEXT: &str = "outrigger.dev tree id v1";

/// The hash function is several times faster on whole blocks of this size than on small pieces.
const BLOCK: usize = 64 * 1024;

/// Gathers a [`TreeId`].
pub(crate) struct TreeHasher {
    hasher: blake3::Hasher,
    /// What does not fill a block yet.
    pending: Vec<u8>,
}

impl TreeHasher {
    pub(crate) fn new() -> Self {
        Self { hasher: blake3::Hasher::new_derive_key(CONTEXT), pending: Vec::with_capacity(BLOCK) }
    }

    /// A directory.
    pub(crate) fn dir(&mut self, path: &[u8], mode: u32) {
        self.head(b'd', path, mode, 0);
    }

    /// A link, with the target as stored.
    pub(crate) fn link(&mut self, path: &[u8], target: &[u8]) {
        self.head(b'l', path, 0, target.len() as u64);
        self.content(target);
    }

    /// A file of `size` bytes, which follow through [`content`](Self::content).
    pub(crate) fn file(&mut self, path: &[u8], mode: u32, size: u64) {
        self.head(b'f', path, mode, size);
    }

    /// The next bytes of the file announced last.
    pub(crate) fn content(&mut self, mut bytes: &[u8]) {
        if !self.pending.is_empty() {
            let (filling, rest) = bytes.split_at(bytes.len().min(BLOCK - self.pending.len()));
            self.pending.extend_from_slice(filling);
            if self.pending.len() < BLOCK {
                return;
            }
            self.hasher.update(&self.pending);
            self.pending.clear();
            bytes = rest;
        }
        let (blocks, rest) = bytes.split_at(bytes.len() - bytes.len() % BLOCK);
        self.hasher.update(blocks);
        self.pending.extend_from_slice(rest);
    }

    pub(crate) fn finish(mut self) -> TreeId {
        self.hasher.update(&self.pending);
        TreeId(*self.hasher.finalize().as_bytes())
    }

    fn head(&mut self, kind: u8, path: &[u8], mode: u32, length: u64) {
        let mut head = [0; 21];
        head[0] = kind;
        head[1..5].copy_from_slice(&mode.to_le_bytes());
        head[5..13].copy_from_slice(&(path.len() as u64).to_le_bytes());
        head[13..].copy_from_slice(&length.to_le_bytes());
        self.content(&head);
        self.content(path);
    }
}
