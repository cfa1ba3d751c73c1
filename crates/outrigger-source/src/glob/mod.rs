//! Go-compatible patterns, evaluated on a [`TreeIndex`].
//!
//! `discover.fileName` is Go's `filepath.Glob`, `discover.find.glob` is go-zglob 0.0.6, quirks included;
//! both see the application's directory joined with the pattern as one path. So metacharacters in the
//! application's path are live, and `..` in a pattern climbs.
//!
//! Not promised: what lies outside the tree. A pattern that climbs out of it finds nothing here, where
//! upstream would look at the server's own disk.

mod file_name;
mod go_match;
mod go_regex;
mod runes;
mod zglob;

pub use file_name::{check_file_name_pattern, file_name};
pub use go_match::go_match;
pub use zglob::{check_glob_pattern, zglob};

use crate::index::TreeIndex;

/// Stands for the tree's directory in the paths that patterns are matched against.
const TREE: &[u8] = b"/tree";

/// Why a pattern has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobError {
    /// The pattern is malformed. The plugin author's fault; it never works.
    #[error("syntax error in pattern")]
    BadPattern,
    /// The pattern turns into an invalid regular expression. The plugin author's fault; it never works.
    #[error("error parsing regexp: {0}")]
    BadExpression(String),
    /// A `find.glob` without wildcards, or the directory before its first wildcard, names nothing in this
    /// tree. Upstream answers this with an error too, and not with "no match".
    #[error("file does not exist")]
    NotFound,
}

impl TreeIndex {
    /// Whether `discover.fileName` matches something. See [`file_name`].
    pub fn match_file_name(&self, app_rel_path: &str, pattern: &str) -> Result<bool, GlobError> {
        file_name(self, app_rel_path, pattern)
    }

    /// Whether `discover.find.glob` matches something. See [`zglob`].
    pub fn match_glob(
        &self,
        app_rel_path: &str,
        pattern: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<bool, GlobError> {
        zglob(self, app_rel_path, pattern, env)
    }
}

/// The path upstream would look at: the application's directory and the pattern, joined and cleaned.
/// If the application's path cannot be resolved, upstream goes on without it, so the result is relative.
fn full_pattern(index: &TreeIndex, app_rel_path: &str, pattern: &str) -> Vec<u8> {
    match index.scoped_app_dir(app_rel_path) {
        Ok(app_dir) => crate::paths::join(&[TREE, &app_dir, pattern.as_bytes()]),
        Err(_) => crate::paths::join(&[pattern.as_bytes()]),
    }
}

/// A path of the joined kind relative to the tree, or `None` if it lies outside.
fn inside(path: &[u8]) -> Option<&[u8]> {
    match path.strip_prefix(TREE)? {
        b"" => Some(b"."),
        rest => rest.strip_prefix(b"/"),
    }
}
