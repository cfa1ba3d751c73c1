//! Slash-separated paths as bytes, with the arithmetic of Go's `path/filepath` on Unix.

/// The shortest equivalent path by lexical processing alone; `.` for the empty path.
pub(crate) fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.first() == Some(&b'/');
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match kept.last() {
                Some(last) if *last != b".." => {
                    kept.pop();
                }
                _ if rooted => {}
                _ => kept.push(part),
            },
            _ => kept.push(part),
        }
    }
    let mut cleaned = Vec::with_capacity(path.len().max(1));
    if rooted {
        cleaned.push(b'/');
    }
    for (at, part) in kept.iter().enumerate() {
        if at > 0 {
            cleaned.push(b'/');
        }
        cleaned.extend_from_slice(part);
    }
    if cleaned.is_empty() {
        cleaned.push(b'.');
    }
    cleaned
}

/// Whether [`clean`] would return `path` as it is: the usual case, decided without allocating.
pub(crate) fn is_clean(path: &[u8]) -> bool {
    if path.is_empty() {
        return false;
    }
    if path == b"." || path == b"/" {
        return true;
    }
    let body = path.strip_prefix(b"/").unwrap_or(path);
    body.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}

/// The non-empty elements joined by slashes and cleaned; empty if there are none.
pub(crate) fn join(elements: &[&[u8]]) -> Vec<u8> {
    let joined =
        elements.iter().filter(|element| !element.is_empty()).copied().collect::<Vec<_>>().join(&b'/');
    if joined.is_empty() { joined } else { clean(&joined) }
}

/// All but the last component of a cleaned relative path; `.` when there is just one.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    split(path).0.unwrap_or(b".")
}

/// A cleaned relative path as what comes before the last slash, and what comes after it.
pub(crate) fn split(path: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (Some(&path[..at]), &path[at + 1..]),
        None => (None, path),
    }
}

/// The path that leads from the directory `base` to `target`, both cleaned, relative, and not climbing.
pub(crate) fn relative(base: &[u8], target: &[u8]) -> Vec<u8> {
    let parts = |path: &'_ [u8]| -> Vec<Vec<u8>> {
        if path == b"." { Vec::new() } else { path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect() }
    };
    let (base, target) = (parts(base), parts(target));
    let shared = base.iter().zip(&target).take_while(|(left, right)| left == right).count();
    let mut steps = vec![b"..".to_vec(); base.len() - shared];
    steps.extend_from_slice(&target[shared..]);
    if steps.is_empty() { b".".to_vec() } else { steps.join(&b'/') }
}

/// For messages: a path as text.
pub(crate) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cleaning_follows_the_documented_rules() {
        for (given, expected) in [
            ("", "."),
            ("a/b/", "a/b"),
            ("a//b", "a/b"),
            ("a/./b", "a/b"),
            ("a/../b", "b"),
            ("..", ".."),
            ("../../a", "../../a"),
            ("/../a", "/a"),
            ("/", "/"),
            ("//", "/"),
            ("a/..", "."),
            ("./", "."),
            ("a/../..", ".."),
            ("/a/../..", "/"),
            ("a/b/../../../c", "../c"),
            ("...", "..."),
        ] {
            assert_eq!(clean(given.as_bytes()), expected.as_bytes(), "{given:?}");
        }
    }

    #[test]
    fn relative_paths_lead_from_base_to_target() {
        for (base, target, expected) in [
            (".", "a", "a"),
            ("a", "a", "."),
            ("a", ".", ".."),
            ("a/b", "a/c/d", "../c/d"),
            ("a", "a/b", "b"),
            ("a/b", "c", "../../c"),
            (".", ".", "."),
        ] {
            assert_eq!(
                relative(base.as_bytes(), target.as_bytes()),
                expected.as_bytes(),
                "{base} to {target}"
            );
        }
    }

    proptest! {
        #[test]
        fn cleaning_is_idempotent_and_leaves_no_dots_inside(path in "[ab./]{0,16}") {
            let once = clean(path.as_bytes());
            prop_assert_eq!(&clean(&once), &once);
            let climbing = once.strip_prefix(b"/").unwrap_or(&once).split(|byte| *byte == b'/')
                .skip_while(|part| *part == b"..").any(|part| part == b".." );
            prop_assert!(!climbing);
            prop_assert_eq!(once.first() == Some(&b'/'), path.starts_with('/'));
        }

        #[test]
        fn what_is_called_clean_is_returned_unchanged(path in "[ab./]{0,16}") {
            if is_clean(path.as_bytes()) {
                prop_assert_eq!(clean(path.as_bytes()), path.as_bytes());
            }
        }

        #[test]
        fn following_a_relative_path_arrives_at_the_target(base in "[ab](/[ab]){0,3}", target in "[ab](/[ab]){0,3}") {
            let step = relative(base.as_bytes(), target.as_bytes());
            prop_assert_eq!(join(&[base.as_bytes(), &step]), target.as_bytes());
        }
    }
}
