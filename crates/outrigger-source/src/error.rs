//! Why a source could not be read, whose fault that is, and whether to try again.

use std::io;

use rustix::io::Errno;

/// Who has to act for a failed source to work the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The sender sent something no server would accept. Sending it again fails again.
    Sender,
    /// The tree is larger than this server is configured to take.
    Limit,
    /// This server's disk, memory or configuration. Another replica may succeed.
    Server,
    /// The stream ended early. Sending it again may succeed.
    Transport,
}

/// A limit of [`Limits`](crate::Limits) that an archive went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// [`Limits::source_bytes`](crate::Limits::source_bytes)
    SourceBytes,
    /// [`Limits::wire_bytes`](crate::Limits::wire_bytes)
    WireBytes,
    /// [`Limits::entries`](crate::Limits::entries)
    Entries,
    /// [`Limits::file_bytes`](crate::Limits::file_bytes)
    FileBytes,
    /// [`Limits::name_bytes`](crate::Limits::name_bytes)
    NameBytes,
    /// All names and link targets together: 64 bytes for each of [`Limits::entries`](crate::Limits::entries)
    AllNameBytes,
    /// [`Limits::depth`](crate::Limits::depth)
    Depth,
}

impl std::fmt::Display for LimitKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SourceBytes => "unpacked bytes",
            Self::WireBytes => "bytes on the wire",
            Self::Entries => "entries",
            Self::FileBytes => "bytes in one file",
            Self::NameBytes => "bytes in one path",
            Self::AllNameBytes => "bytes in all names",
            Self::Depth => "levels of directories",
        })
    }
}

/// Everything that can go wrong between the first chunk and a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The bytes that arrived are not the bytes the sender announced.
    /// The sender's fault; worth one retry, because a repository may change while it is packed.
    #[error("file checksum validation error: announced {expected:?}, received {actual}")]
    Checksum {
        /// What the metadata said.
        expected: String,
        /// The lower-case hex SHA-256 of what arrived.
        actual: String,
    },
    /// The bytes are not a gzip stream, or a damaged one. The sender's fault; never retried.
    #[error("error decompressing tgz file: gzip: {0}")]
    Gzip(&'static str),
    /// The decompressed bytes are not a tar archive, or a damaged one. The sender's fault; never retried.
    #[error("error decompressing tgz file: tar: {0}")]
    Tar(&'static str),
    /// An entry names a place outside the tree. The sender's fault; never retried.
    #[error("archive entry {name:?}: path escapes from parent")]
    Escapes {
        /// The entry, or the link target that was followed for it.
        name: String,
    },
    /// A symbolic link was to be created below another symbolic link. The sender's fault; never retried.
    #[error("illegal symlink parent directory for {name:?}")]
    SymlinkParent {
        /// The entry.
        name: String,
    },
    /// Two entries contradict each other (a file below a file, a link over a file, …), or a name
    /// cannot exist on a file system. The sender's fault; never retried.
    #[error("archive entry {name:?}: {reason}")]
    Entry {
        /// The entry.
        name: String,
        /// What the file system says, or would say.
        reason: Errno,
    },
    /// With [`FileModes::Preserve`](crate::FileModes::Preserve): an entry has set-id, sticky or unknown
    /// mode bits. The sender's fault; never retried.
    #[error("archive entry {name:?}: unsupported file mode {mode:o}")]
    Mode {
        /// The entry.
        name: String,
        /// The mode as sent.
        mode: u32,
    },
    /// A sparse file in PAX format, which no Argo CD sends. The sender's fault; never retried.
    #[error("archive entry {name:?}: sparse files are not supported")]
    Sparse {
        /// The entry.
        name: String,
    },
    /// The archive is larger than allowed. A matter of configuration; never retried.
    #[error("source has more than {allowed} {kind}: raise the limit or send less")]
    Limit {
        /// Which limit.
        kind: LimitKind,
        /// Its value.
        allowed: u64,
    },
    /// `appRelPath` leaves the tree. The sender's fault; never retried.
    #[error("illegal appPath: out of workDir bound")]
    AppPath,
    /// The stream carries something else than file chunks. The sender's fault; never retried.
    #[error("{0}")]
    Protocol(String),
    /// This server could not do its part: disk full, no permission, no handles left. Another replica may.
    #[error("{action}: {source}")]
    Io {
        /// What was being done.
        action: String,
        /// What the system said.
        source: io::Error,
    },
    /// The stream broke. Nobody's fault here; the caller may send again.
    #[error("stream Recv error: {0}")]
    Transport(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The source was asked twice. A bug in this server.
    #[error("the source was already consumed")]
    Consumed,
    /// Whoever waited for the tree went away. Seen by nobody but the work that was stopped.
    #[error("the work on this source was cancelled")]
    Cancelled,
}

impl SourceError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Checksum { .. }
            | Self::Gzip(_)
            | Self::Tar(_)
            | Self::Escapes { .. }
            | Self::SymlinkParent { .. }
            | Self::Entry { .. }
            | Self::Mode { .. }
            | Self::Sparse { .. }
            | Self::AppPath
            | Self::Protocol(_) => Fault::Sender,
            Self::Limit { .. } => Fault::Limit,
            Self::Io { .. } | Self::Consumed => Fault::Server,
            Self::Transport(_) | Self::Cancelled => Fault::Transport,
        }
    }

    /// A broken stream, for whoever feeds a [`Source`](crate::Source).
    pub fn transport(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Transport(error.into())
    }

    /// A failure of this server while doing `action`.
    pub(crate) fn io(action: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Io { action: action.into(), source: source.into() }
    }
}
