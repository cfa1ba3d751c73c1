//! Source trees on the wire: receive, look at, unpack, and send them.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use outrigger_source::{FileModes, Limits, WorkDir, pack::pack_to_source};
//!
//! let repo = tempfile::tempdir()?;
//! std::fs::create_dir(repo.path().join("web"))?;
//! std::fs::write(repo.path().join("web/Chart.yaml"), "name: web")?;
//!
//! // Discovery: is there a chart? Nothing is written.
//! let mut source = pack_to_source(repo.path(), "web", vec![], vec![], Limits::default())?;
//! assert!(source.scan().await?.index.match_file_name("web", "Chart.yaml")?);
//!
//! // Rendering: the same tree in a directory of its own, gone when dropped.
//! let work = WorkDir::open(repo.path())?;
//! let mut source = pack_to_source(repo.path(), "web", vec![], vec![], Limits::default())?;
//! let tree = source.unpack(&work, FileModes::Fixed).await?;
//! assert!(tree.app_dir("web")?.join("Chart.yaml").exists());
//! # Ok(())
//! # }
//! ```
//!
//! A [`Source`] is a tree as it arrives, one gzip-compressed tar in many small messages. It is consumed
//! once, by the cheapest way that answers the question at hand:
//!
//! * [`scan`](Source::scan) keeps only names ([`TreeIndex`]) and answers discovery's globs on them;
//! * [`unpack`](Source::unpack) writes the tree into a private directory ([`Tree`]) of a [`WorkDir`];
//! * [`drain`](Source::drain) reads to the end, because the sender fails if nobody does.
//!
//! Promised: what is accepted, refused, ignored and stored is what Argo CD 3.5's `argocd-cmp-server`
//! accepts, refuses, ignores and stores; every write stays beneath the tree's directory; memory stays
//! bounded by [`Limits`] whatever the archive claims; a failed or abandoned unpack leaves nothing behind.
//!
//! Not promised: expansion of sparse files, timestamps, owners, extended attributes, or durability: a
//! tree is scratch space.

mod apply;
mod disk;
mod error;
pub mod glob;
mod ground;
mod gunzip;
mod index;
pub mod pack;
mod paths;
mod remove;
mod source;
mod tar;
mod tree_id;
mod types;
mod wire;
mod work;
mod workdir;

pub use error::{Fault, LimitKind, SourceError};
pub use glob::GlobError;
pub use index::{IndexEntry, TreeIndex};
pub use source::Source;
pub use types::{FileModes, Limits, Metadata, Stats, TreeId};
pub use work::Scanned;
pub use workdir::{Swept, Tree, WorkDir};
