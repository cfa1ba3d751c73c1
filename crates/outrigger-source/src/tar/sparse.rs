//! Old GNU sparse files. They have no effect, but a malformed map makes the archive invalid, and
//! a long one continues in blocks of its own that have to be read.

use super::header::{is_gnu, numeric};
use super::{BLOCK, INVALID, MAX_RECORD};
use crate::error::SourceError;

/// Bytes of one offset-and-length pair.
const PAIR: usize = 24;
/// The pairs in the header itself: four of them, then the flag that says whether more follow.
const FIRST: std::ops::Range<usize> = 386..386 + 4 * PAIR + 1;

/// Checks the map that starts in `block`, fetching further blocks with `more`.
pub(super) fn check_old_gnu(
    block: &mut [u8; BLOCK],
    mut more: impl FnMut(&mut [u8; BLOCK]) -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    if !is_gnu(block) {
        return Err(INVALID);
    }
    let real_size = numeric(&block[483..495])?;
    let mut map = Map { end: 0, real_size, valid: real_size >= 0 };
    let mut seen = FIRST.len();
    let mut extended = map.take(&block[FIRST])?;
    while extended {
        if seen as u64 >= MAX_RECORD {
            return Err(SourceError::Tar("sparse map too long"));
        }
        more(block)?;
        seen += BLOCK;
        extended = map.take(&block[..])?;
    }
    if seen as u64 >= MAX_RECORD {
        return Err(SourceError::Tar("sparse map too long"));
    }
    if map.valid { Ok(()) } else { Err(INVALID) }
}

struct Map {
    end: i64,
    real_size: i64,
    valid: bool,
}

impl Map {
    /// Reads the pairs of one block; returns whether another block follows.
    fn take(&mut self, pairs: &[u8]) -> Result<bool, SourceError> {
        let count = pairs.len() / PAIR;
        for pair in pairs.chunks_exact(PAIR).take_while(|pair| pair[0] != 0) {
            let (offset, length) = (numeric(&pair[..12])?, numeric(&pair[12..])?);
            let end = offset.checked_add(length);
            let in_order = offset >= self.end && length >= 0 && end.is_some_and(|end| end <= self.real_size);
            self.valid &= in_order;
            self.end = end.unwrap_or(i64::MAX);
        }
        Ok(pairs[count * PAIR] > 0)
    }
}
