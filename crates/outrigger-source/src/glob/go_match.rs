//! `filepath.Match`: `*`, `?`, `[a-z]`, `[^a-z]` and `\c`, none of the first three crossing a slash.
//!
//! A malformed pattern is noticed only as far as it is read: a piece between two stars that is never
//! reached is never checked.

use super::GlobError;
use super::runes;

/// Whether `name` matches `pattern` as a whole.
pub fn go_match(pattern: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<bool, GlobError> {
    let (mut pattern, mut name) = (pattern.as_ref(), name.as_ref());
    'pieces: while !pattern.is_empty() {
        let (starred, piece, rest) = next_piece(pattern);
        if starred && piece.is_empty() {
            return Ok(!name.contains(&b'/'));
        }
        let mut skipped = 0;
        loop {
            if let Some(left) = match_piece(piece, &name[skipped..])?
                && (left.is_empty() || !rest.is_empty())
            {
                (pattern, name) = (rest, left);
                continue 'pieces;
            }
            if !starred || name.get(skipped).is_none_or(|byte| *byte == b'/') {
                return Ok(false);
            }
            skipped += 1;
        }
    }
    Ok(name.is_empty())
}

/// Splits a pattern into whether it starts with stars, what follows up to the next star, and the rest.
pub(super) fn next_piece(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let body = &pattern[stars..];
    let (mut at, mut in_class) = (0, false);
    while let Some(byte) = body.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    let (piece, rest) = body.split_at(at.min(body.len()));
    (stars > 0, piece, rest)
}

/// Matches a piece without stars at the start of `name` and returns what is left of the name. The piece is
/// read to its end even when the name does not match.
pub(super) fn match_piece<'a>(mut piece: &[u8], name: &'a [u8]) -> Result<Option<&'a [u8]>, GlobError> {
    let mut left = Some(name);
    while let Some(operator) = piece.first() {
        left = left.filter(|name| !name.is_empty());
        match operator {
            b'[' => {
                let (char, width) = left.map_or(('\0', 0), runes::first);
                let (matches, rest) = match_class(&piece[1..], char)?;
                left = left.filter(|_| matches).map(|name| &name[width..]);
                piece = rest;
            }
            b'?' => {
                left = left.filter(|name| name[0] != b'/').map(|name| &name[runes::first(name).1..]);
                piece = &piece[1..];
            }
            _ => {
                if *operator == b'\\' {
                    piece = &piece[1..];
                }
                let literal = *piece.first().ok_or(GlobError::BadPattern)?;
                left = left.filter(|name| name[0] == literal).map(|name| &name[1..]);
                piece = &piece[1..];
            }
        }
    }
    Ok(left)
}

/// Reads a class after its opening bracket; returns whether it holds `char`, and what follows the class.
fn match_class(class: &[u8], char: char) -> Result<(bool, &[u8]), GlobError> {
    let (negated, mut class) = class.strip_prefix(b"^").map_or((false, class), |rest| (true, rest));
    let (mut found, mut ranges) = (false, 0);
    loop {
        if ranges > 0 && class.first() == Some(&b']') {
            return Ok((found != negated, &class[1..]));
        }
        let (low, rest) = class_char(class)?;
        let (high, rest) = if rest[0] == b'-' { class_char(&rest[1..])? } else { (low, rest) };
        found |= low <= char && char <= high;
        class = rest;
        ranges += 1;
    }
}

/// One character of a class, escaped or not. Something must follow it.
fn class_char(class: &[u8]) -> Result<(char, &[u8]), GlobError> {
    let escaped = match class.first() {
        None | Some(b'-' | b']') => return Err(GlobError::BadPattern),
        Some(b'\\') => &class[1..],
        Some(_) => class,
    };
    let (char, width) = runes::first(escaped);
    let invalid = width == 0 || (width == 1 && !char.is_ascii());
    let rest = &escaped[width..];
    if invalid || rest.is_empty() { Err(GlobError::BadPattern) } else { Ok((char, rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_as_documented() {
        for (pattern, name, expected) in [
            ("abc", "abc", Ok(true)),
            ("*", "abc", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*", "a", Ok(true)),
            ("a*", "ab/c", Ok(false)),
            ("a*/b", "abc/b", Ok(true)),
            ("a*/b", "a/c/b", Ok(false)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
            ("ab[c]", "abc", Ok(true)),
            ("ab[^c]", "abc", Ok(false)),
            ("ab[^e-g]", "abf", Ok(false)),
            ("a\\*b", "a*b", Ok(true)),
            ("a\\*b", "ab", Ok(false)),
            ("a?b", "a☺b", Ok(true)),
            ("a[^a][^a][^a]b", "a☺b", Ok(false)),
            ("[a-ζ]*", "α", Ok(true)),
            ("*[a-ζ]", "A", Ok(false)),
            ("a?b", "a/b", Ok(false)),
            ("[\\]a]", "]", Ok(true)),
            ("[\\-x]", "-", Ok(true)),
            ("[]a]", "]", Err(())),
            ("[-]", "-", Err(())),
            ("[x-]", "x", Err(())),
            ("[-x]", "x", Err(())),
            ("\\", "a", Err(())),
            ("[a-b-c]", "a", Err(())),
            ("[", "a", Err(())),
            ("[^", "a", Err(())),
            ("[^bc", "a", Err(())),
            ("a[", "a", Err(())),
            ("a[", "ab", Err(())),
            ("a[", "x", Err(())),
            ("a*[", "b", Ok(false)),
            ("a*[", "ab", Err(())),
            ("*x", "xxx", Ok(true)),
            ("", "", Ok(true)),
            ("", "a", Ok(false)),
        ] {
            assert_eq!(go_match(pattern, name).map_err(|_| ()), expected, "{pattern:?} on {name:?}");
        }
    }

    /// The obvious recursive definition, for patterns of literals, `?` and `*` only.
    fn reference(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some(b'*'), None) => reference(&pattern[1..], name),
            (Some(b'*'), Some(byte)) => {
                reference(&pattern[1..], name) || (*byte != b'/' && reference(pattern, &name[1..]))
            }
            (Some(b'?'), Some(byte)) => *byte != b'/' && reference(&pattern[1..], &name[1..]),
            (Some(left), Some(right)) => left == right && reference(&pattern[1..], &name[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn simple_patterns_agree_with_the_obvious_definition(pattern in "[ab/*?]{0,8}", name in "[ab/]{0,8}") {
            prop_assert_eq!(go_match(&pattern, &name), Ok(reference(pattern.as_bytes(), name.as_bytes())));
        }

        #[test]
        fn no_input_panics(pattern in proptest::collection::vec(any::<u8>(), 0..12), name in proptest::collection::vec(any::<u8>(), 0..12)) {
            let _ = go_match(pattern, name);
        }
    }
}
