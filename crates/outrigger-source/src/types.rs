//! The small values that travel with a source.

use std::fmt;
use std::time::Duration;

/// What the sender says about a tree before it sends it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The base name of the application's directory (not the Application's name).
    pub app_name: String,
    /// The application's directory relative to the tree.
    pub app_rel_path: String,
    /// Lower-case hex SHA-256 of the bytes on the wire.
    pub checksum: String,
    /// Length of the bytes on the wire, as announced; informational.
    pub size: i64,
    /// Environment for the commands, in the order sent. Values may be secret.
    pub env: Vec<(String, String)>,
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Metadata")
            .field("app_name", &self.app_name)
            .field("app_rel_path", &self.app_rel_path)
            .field("checksum", &self.checksum)
            .field("size", &self.size)
            .field("env_names", &names)
            .finish()
    }
}

/// How much a sender may ask of this server. The default passes a repository of 5 GB with its `.git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes after decompression, tar headers included.
    pub source_bytes: u64,
    /// Compressed bytes.
    pub wire_bytes: u64,
    /// Entries of any type, ignored ones included.
    pub entries: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of one path or link target.
    pub name_bytes: usize,
    /// Directories in one path, its last component included.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 16 << 30,
            wire_bytes: 8 << 30,
            entries: 1_000_000,
            file_bytes: 8 << 30,
            name_bytes: 4096,
            depth: 256,
        }
    }
}

/// Where the time and the bytes of one source went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Compressed bytes received.
    pub wire_bytes: u64,
    /// Bytes of file content.
    pub bytes: u64,
    /// Entries seen, ignored ones included.
    pub entries: u64,
    /// Time spent waiting for the sender.
    pub receive: Duration,
    /// Time spent inflating, hashing and writing.
    pub unpack: Duration,
}

/// Which permissions unpacked files get (`preserveFileMode`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileModes {
    /// Files 0644, directories 0755, whatever the archive says.
    #[default]
    Fixed,
    /// As the archive says. Bits beyond 0777 are refused, as Argo CD does.
    Preserve,
}

/// The identity of a tree: equal ids mean equal trees, whatever their timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeId(pub(crate) [u8; 32]);

impl TreeId {
    /// The raw digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeId({self})")
    }
}
