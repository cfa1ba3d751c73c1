//! `filepath.Glob` on an index.

use std::collections::HashSet;

use super::go_match::{go_match, match_piece, next_piece};
use super::{GlobError, TreeIndex, full_pattern, inside};
use crate::index::NodeId;
use crate::paths::{join, split};

/// Directories a pattern may name.
const MAX_LEVELS: usize = 10_000;

/// Whether a `discover.fileName` pattern matches something in the application's directory.
pub fn file_name(index: &TreeIndex, app_rel_path: &str, pattern: &str) -> Result<bool, GlobError> {
    Ok(!glob(index, &full_pattern(index, app_rel_path, pattern), 0)?.is_empty())
}

/// Whether every part of a `discover.fileName` pattern is well-formed.
///
/// Stricter than matching, which notices a defect only when it gets that far.
pub fn check_file_name_pattern(pattern: &str) -> Result<(), GlobError> {
    let mut rest = pattern.as_bytes();
    while !rest.is_empty() {
        let (_, piece, after) = next_piece(rest);
        match_piece(piece, b"")?;
        rest = after;
    }
    Ok(())
}

/// The paths that match.
fn glob(index: &TreeIndex, pattern: &[u8], level: usize) -> Result<Vec<Vec<u8>>, GlobError> {
    if level == MAX_LEVELS {
        return Err(GlobError::BadPattern);
    }
    go_match(pattern, b"")?;
    if !has_meta(pattern) {
        let exists = inside(pattern).is_some_and(|path| index.resolve(path, false).is_ok());
        return Ok(if exists { vec![pattern.to_vec()] } else { Vec::new() });
    }
    let (dir, file) = match split(pattern) {
        (None, file) => (b".".as_slice(), file),
        (Some(b""), file) => (b"/".as_slice(), file),
        (Some(dir), file) => (dir, file),
    };
    let dirs = if has_meta(dir) { glob(index, dir, level + 1)? } else { vec![dir.to_vec()] };
    let mut found = Vec::new();
    // Links give one directory many paths, and levels of links give it very many. Whether something matches
    // in it does not depend on the path, so that one of them will do.
    let mut seen = HashSet::new();
    for dir in &dirs {
        let node = inside(dir).and_then(|path| index.resolve(path, true).ok());
        if let Some(node) = node.filter(|node| index.is_dir(*node) && seen.insert(*node)) {
            glob_dir(index, node, dir, file, &mut found)?;
        }
    }
    Ok(found)
}

/// Adds the entries of one directory that match. All of them are looked at: any may show that the pattern
/// is malformed.
fn glob_dir(
    index: &TreeIndex,
    node: NodeId,
    dir: &[u8],
    pattern: &[u8],
    found: &mut Vec<Vec<u8>>,
) -> Result<(), GlobError> {
    for child in index.children(node) {
        let name = index.name(child);
        if go_match(pattern, name)? {
            found.push(join(&[dir, name]));
        }
    }
    Ok(())
}

fn has_meta(path: &[u8]) -> bool {
    path.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'))
}
