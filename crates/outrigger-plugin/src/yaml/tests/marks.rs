//! Lines and columns of nodes, keys and errors.

use crate::yaml::{Content, Document, Node, Scalar, to_json};

fn mapping(node: Node<'_>) -> Vec<(String, (usize, usize), Node<'_>)> {
    match node.content() {
        Content::Mapping(entries) => entries
            .into_iter()
            .map(|e| (e.key.text.into_owned(), (e.key.line, e.key.column), e.value))
            .collect(),
        other => panic!("expected a mapping, found {other:?}"),
    }
}

#[test]
fn every_node_and_key_knows_its_place() {
    let document = Document::parse("é: 1\nlist:\n  - a\n  - {k: v, ü: w}\n".as_bytes()).unwrap();
    let entries = mapping(document.root().unwrap());
    assert_eq!((entries[0].0.as_str(), entries[0].1), ("list", (2, 1)));
    assert_eq!((entries[1].0.as_str(), entries[1].1), ("é", (1, 1)));
    assert_eq!((entries[1].2.line(), entries[1].2.column()), (1, 4));
    let Content::Sequence(items) = entries[0].2.content() else { panic!("expected a list") };
    assert_eq!((items[0].line(), items[0].column()), (3, 5));
    let inner = mapping(items[1]);
    assert_eq!((inner[1].0.as_str(), inner[1].1), ("ü", (4, 12)));
    assert_eq!((inner[1].2.line(), inner[1].2.column()), (4, 15));
}

#[test]
fn an_alias_stands_where_it_is_written_and_holds_what_it_names() {
    let document = Document::parse(b"a: &x text\nb: *x\n").unwrap();
    let entries = mapping(document.root().unwrap());
    assert_eq!((entries[1].2.line(), entries[1].2.column()), (2, 4));
    assert!(matches!(entries[1].2.content(), Content::Scalar(Scalar::Text(text)) if text.as_ref() == "text"));
}

#[test]
fn merged_keys_point_at_where_they_were_written() {
    let document = Document::parse(b"base: &b {x: 1}\nuser:\n  <<: *b\n  z: 2\n").unwrap();
    let user = mapping(mapping(document.root().unwrap())[1].2);
    assert_eq!((user[0].0.as_str(), user[0].1), ("x", (1, 11)));
    assert_eq!((user[1].0.as_str(), user[1].1), ("z", (4, 3)));
}

#[test]
fn an_empty_stream_has_no_root() {
    assert!(Document::parse(b"").unwrap().root().is_none());
    assert!(Document::parse(b"# only a comment\n").unwrap().root().is_none());
    assert!(Document::parse(b"---\n").unwrap().root().is_some());
}

#[test]
fn errors_say_where_and_why() {
    let cases: &[(&[u8], &str)] = &[
        (b"a: 1\nb: c: d\n", "line 2, column 5: mapping values are not allowed here"),
        (b"a: 1\nb\n", "line 2, column 1: expected a key followed by ':'"),
        (b"a:\n\t- b\n", "line 2, column 1: found a character that cannot start any token"),
        (b"a: 'b\n", "line 1, column 4: this quoted string is never closed"),
        (b"a: [b\nc: d\n", "line 2, column 2: expected ',' or ']'"),
        (b"a: *b\n", "line 1, column 4: this alias names no anchor of the document"),
        (b"a: 1\nb: \x01\n", "line 2, column 4: control characters are not allowed"),
        (b"a: 1\nb: \xff\n", "line 2, column 4: invalid UTF-8"),
        (b"a: !!int x\n", "line 1, column 4: the value does not fit its tag !!int"),
        (b"? [a]\n: b\n", "line 1, column 3: a mapping or list cannot be a key"),
        (b"a: 1\n~: b\n", "line 2, column 1: null cannot be a key"),
        (b"a: .nan\n", "line 1, column 4: infinity and NaN cannot be written as JSON"),
    ];
    for (input, expected) in cases {
        assert_eq!(
            to_json(input, 1 << 20).unwrap_err().to_string(),
            *expected,
            "{}",
            String::from_utf8_lossy(input)
        );
    }
}
