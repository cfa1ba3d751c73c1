//! Input made to exhaust memory, time or the stack.

use proptest::prelude::*;

use super::{check, json};
use crate::yaml::{Document, to_json};

#[test]
fn ten_thousand_levels_are_read_and_no_more() {
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    assert_eq!(json(nested(10_000).as_bytes()), Some(nested(10_000)));
    assert_eq!(json(nested(10_001).as_bytes()), None);
    assert_eq!(json(format!("a: {}", nested(10_000)).as_bytes()), None);
    let dashes = |depth: usize| "- ".repeat(depth);
    assert!(json(dashes(10_000).as_bytes()).is_some());
    assert_eq!(json(dashes(10_001).as_bytes()), None);
    assert_eq!(json([dashes(6_000), nested(6_000)].concat().as_bytes()), None);
}

#[test]
fn depth_that_is_overwritten_does_not_count() {
    let deep = ["- ".repeat(6_000), "[".repeat(6_000), "]".repeat(6_000)].concat();
    assert_eq!(json(format!("a:\n  {deep}\na: 1\n").as_bytes()).as_deref(), Some(r#"{"a":1}"#));
}

#[test]
fn a_megabyte_of_brackets_is_refused_without_recursion() {
    for piece in ["[", "{a: ", "{a,b:\n", "- ", "? ", "[? ", "{<<: ", "&a [", "!!str [", "[{"] {
        assert_eq!(json(piece.repeat((1 << 20) / piece.len()).as_bytes()), None, "{piece:?}");
    }
}

#[test]
fn deep_trees_are_walked_and_dropped_without_recursion() {
    let text = ["{<<: ".repeat(9_999), "{a: 1}".to_owned(), "}".repeat(9_999)].concat();
    assert_eq!(json(text.as_bytes()).as_deref(), Some(r#"{"a":1}"#));
    let text = "- ".repeat(10_000);
    drop(Document::parse(text.as_bytes()).unwrap().clone());
}

#[test]
fn alias_bombs_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let items = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    let error = to_json(bomb.as_bytes(), usize::MAX).unwrap_err();
    assert_eq!(error.reason, "the document expands too much through aliases");
}

#[test]
fn the_share_of_aliases_is_bounded_where_the_reference_bounds_it() {
    let chain = |length: usize| {
        let links = (1..length).map(|link| format!("- &a{link} [*a{}]\n", link - 1)).collect::<String>();
        format!("- &a0 [x]\n{links}")
    };
    assert!(json(chain(190).as_bytes()).is_some());
    assert_eq!(json(chain(200).as_bytes()), None);
}

#[test]
fn values_that_contain_themselves_are_refused() {
    check(&[(b"&a [*a]", None), (b"a: &a {b: [*a]}", None), (b"a: &a {<<: *a}", None)]);
}

#[test]
fn long_texts_behind_aliases_cannot_fill_the_memory() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(10_000), vec!["*a"; 500].join(", "));
    assert!(to_json(text.as_bytes(), 10_000_000).is_ok());
    let error = to_json(text.as_bytes(), 1_000_000).unwrap_err();
    assert_eq!(error.reason, "the document grows too large through aliases");
}

#[test]
fn a_key_ends_within_1024_characters() {
    let key = |length: usize| "k".repeat(length);
    let written = |length: usize| Some(format!("{{\"{}\":1}}", key(length)));
    assert_eq!(json(format!("{}: 1", key(1024)).as_bytes()), written(1024));
    assert_eq!(json(format!("{}: 1", key(1025)).as_bytes()), None);
    assert_eq!(
        json(format!("{}: 1", "é".repeat(1024)).as_bytes()),
        Some(format!("{{\"{}\":1}}", "é".repeat(1024)))
    );
    assert_eq!(json(format!("? {}\n: 1", key(2000)).as_bytes()), written(2000));
    assert_eq!(json(format!("{{{}: 1}}", key(2000)).as_bytes()), None);
}

#[test]
fn bad_bytes_far_behind_the_end_of_the_document_are_never_looked_at() {
    let behind = |distance: usize| [b"a: 1\n...\n".as_slice(), &vec![b'#'; distance], b"\xff"].concat();
    assert_eq!(json(&behind(600)).as_deref(), Some(r#"{"a":1}"#));
    assert_eq!(json(&behind(10)), None);
}

proptest! {
    #[test]
    fn no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = to_json(&bytes, 1 << 20);
    }

    #[test]
    fn no_yaml_like_input_panics(text in "[-a-c0-2:?,\\[\\]{}#&*!|>'\"%@`\\\\ \n\t\r<~.=éÿ\u{85}\u{2028}]{0,60}") {
        let _ = to_json(text.as_bytes(), 1 << 20);
    }

    #[test]
    fn what_is_written_reads_back_as_itself(text in "\\PC{0,40}") {
        let mut written = String::new();
        crate::yaml::write_json_string(&text, &mut written);
        let parsed: String = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(parsed, text);
    }
}
