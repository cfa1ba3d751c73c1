//! Outputs with the documents that the reference makes of them, or `None` where it refuses them.

use super::split;

fn check(cases: &[(&str, Option<&[&str]>)]) {
    for (output, expected) in cases {
        let actual = split(output.as_bytes());
        let documents =
            actual.as_ref().ok().map(|documents| documents.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(documents.as_deref(), *expected, "{output:?} gave {actual:?}");
    }
}

#[test]
fn json_values_are_passed_on_byte_for_byte() {
    check(&[
        ("{\"b\":1,\"a\":2}", Some(&[r#"{"b":1,"a":2}"#])),
        ("{\"a\": 1.0}{\"b\":1e3}", Some(&[r#"{"a": 1.0}"#, r#"{"b":1e3}"#])),
        ("{\"a\":1}\n{\"b\":2}\n", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("{\"a\":\"<&>\\/\\u0041\"}", Some(&["{\"a\":\"<&>\\/\\u0041\"}"])),
        ("{\"a\":1}[1, 2]\"x\" 5 true", Some(&[r#"{"a":1}"#, "[1, 2]", r#""x""#, "5", "true"])),
        ("  {\"a\":1}  ", Some(&[r#"{"a":1}"#])),
        ("\n\n{\"a\":1}", Some(&[r#"{"a":1}"#])),
        ("{}", Some(&["{}"])),
        ("{\"a\":1}null{\"b\":2}", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
    ]);
}

#[test]
fn output_is_yaml_from_the_first_thing_that_is_no_json() {
    check(&[
        ("{\"a\":1}\n---\n{\"b\":  2}\n", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("{\"a\":1}\n---\nb: 2\n", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("{a: 1}", Some(&[r#"{"a":1}"#])),
        ("{\"a\": yes}", Some(&[r#"{"a":true}"#])),
        ("{\"a\":1}\n# a comment\n", Some(&[r#"{"a":1}"#])),
        ("{\"a\":1}\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("{\"a\":1} b: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("{\"a\":1}\n\n---\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("[1, 2]", Some(&["[1,2]"])),
        ("[{\"a\": 1.0}]", Some(&[r#"[{"a":1}]"#])),
    ]);
}

#[test]
fn a_stream_with_two_json_values_stays_json() {
    check(&[
        ("{\"a\":1}{\"b\":2}\n---\nc: 3\n", None),
        ("{\"a\":1}{\"b\":2} x", None),
        ("{\"a\":1}{\"b\":2}\n{\"c\":", None),
        ("{\"a\":1}null\n---\nb: 2", None),
    ]);
}

#[test]
fn too_little_behind_a_json_value_is_neither_json_nor_yaml() {
    check(&[
        ("{\"a\":1}x", None),
        ("{\"a\":1}\nx", None),
        ("{\"a\":1}abc", None),
        ("{\"a\":1}abcd", Some(&[r#"{"a":1}"#, r#""abcd""#])),
        ("{\"a\":1}\n  x", Some(&[r#"{"a":1}"#, r#""x""#])),
        ("{\"a\":1}\n  xyz", Some(&[r#"{"a":1}"#, r#""xyz""#])),
        ("{\"a\":1}   x", None),
        ("{\"a\":1}\u{a0}\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("{\"a\":1}\u{fffd}b: 2", None),
    ]);
}

#[test]
fn separators_stand_alone_on_their_line() {
    check(&[
        ("a: 1\n---\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("---\na: 1\n---\n", Some(&[r#"{"a":1}"#])),
        ("---\n---\na: 1\n---\n---\n", Some(&[r#"{"a":1}"#])),
        ("a: 1\n--- \t\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("a: 1\n--- # comment\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("a: 1\n---# comment\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("---# comment\na: 1", None),
        ("a: 1\n--- foo: bar\n", None),
        ("---foo\n", None),
        ("----\n", None),
        ("a: 1\n ---\n", Some(&[r#"{"a":"1 ---"}"#])),
        ("a: |\n  x\n---\nb: 1", Some(&["{\"a\":\"x\\n\"}", r#"{"b":1}"#])),
        ("\"a\n---\nb\"", None),
        ("a: 1\n---\r\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("a: 1\n---\u{a0}\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("---", Some(&[])),
        ("", Some(&[])),
        ("\n", Some(&[])),
        ("\n\n---\n\n", Some(&[])),
    ]);
}

#[test]
fn what_follows_an_explicit_end_is_ignored() {
    check(&[
        ("a: 1\n...\nb: [", Some(&[r#"{"a":1}"#])),
        ("a: 1\n...\n---\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("...\n", None),
        ("a: 1\n... # c\n%$", Some(&[r#"{"a":1}"#])),
        ("a: 1\n...x\n", None),
    ]);
}

#[test]
fn directives_are_refused() {
    check(&[("%YAML 1.1\n---\na: 1", None), ("%YAML 1.2\n---\na: 1", None), ("%TAG ! x:\n---\na: 1", None)]);
}

#[test]
fn byte_order_marks_and_crlf_are_accepted() {
    check(&[
        ("\u{feff}a: 1\n", Some(&[r#"{"a":1}"#])),
        ("a: 1\n---\n\u{feff}b: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("a: 1\r\nb: |\r\n  x\r\n  y\r\n", Some(&["{\"a\":1,\"b\":\"x\\ny\\n\"}"])),
        ("a: 1\r---\rb: 2", Some(&[r#"{"a":1}"#])),
        ("{\"a\":1}\r\n---\r\nb: 2\r\n", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("\u{feff}{\"b\":1, \"a\":2}", Some(&[r#"{"a":2,"b":1}"#])),
    ]);
}

#[test]
fn anchors_do_not_cross_documents() {
    check(&[("a: &x 1\n---\nb: *x", None), ("a: &x 1\nb: *x", Some(&[r#"{"a":1,"b":1}"#]))]);
}

#[test]
fn scalars_and_lists_are_documents_too() {
    check(&[
        ("hello", Some(&[r#""hello""#])),
        ("5", Some(&["5"])),
        ("- a\n- b", Some(&[r#"["a","b"]"#])),
        ("{}", Some(&["{}"])),
        ("[]", Some(&["[]"])),
        ("\"x\"", Some(&[r#""x""#])),
        ("true", Some(&["true"])),
        ("a\nb", Some(&[r#""a b""#])),
        ("kind: List\nitems: [{a: 1}]", Some(&[r#"{"items":[{"a":1}],"kind":"List"}"#])),
    ]);
}

#[test]
fn empty_comment_only_and_null_documents_are_dropped() {
    check(&[
        ("# nothing\n", Some(&[])),
        ("~", Some(&[])),
        ("null", Some(&[])),
        ("a: 1\n---\n# only this\n---\nnull\n---\n---\nb: 2", Some(&[r#"{"a":1}"#, r#"{"b":2}"#])),
        ("!!null \"\"", Some(&[])),
        ("\"\"", Some(&[r#""""#])),
        ("''", Some(&[r#""""#])),
        ("NULL", Some(&[])),
        ("Null", Some(&[])),
    ]);
}

#[test]
fn the_last_line_counts_as_ended() {
    check(&[
        ("a: |\n  x", Some(&["{\"a\":\"x\\n\"}"])),
        ("a: |+\n  x", Some(&["{\"a\":\"x\\n\"}"])),
        ("a: >\n  x", Some(&["{\"a\":\"x\\n\"}"])),
        ("a: \"x\ny\"", Some(&[r#"{"a":"x y"}"#])),
    ]);
}

#[test]
fn errors_name_document_line_and_reason_but_quote_nothing() {
    let cases = [
        (
            "a: 1\n---\nb: 1\n---\nc: 1\nd: e: secret\n",
            "document 3 (line 6): mapping values are not allowed here",
        ),
        ("---\na: [secret\n", "document 1 (line 3): expected ',' or ']'"),
        ("a: 1\n--- secret\n", "document 1 (line 2): only a comment may follow '---' on its line"),
        ("a: 1\r\n---\r\nb: 'secret\r\n", "document 2 (line 3): this quoted string is never closed"),
        ("{\"a\":1}\n{\"b\":2}\n{\"c\": secret}", "document 3 (line 3): expected a JSON value"),
        ("{\"a\":1}\n{\"b\":2}\n{\"c\": ", "document 3 (line 3): unexpected end of JSON"),
        ("{\"a\":1}\n---\nb: @secret", "document 2 (line 3): found a character that cannot start any token"),
    ];
    for (output, expected) in cases {
        assert_eq!(split(output.as_bytes()).unwrap_err().to_string(), expected);
    }
}

#[test]
fn one_bad_document_fails_the_whole_output() {
    assert!(split(b"a: 1\n---\nb: [\n---\nc: 3\n").is_err());
}

#[test]
fn json_is_looked_for_in_the_first_4096_bytes_only() {
    let far = |blanks: usize| format!("{}{{\"b\": 1, \"a\": 2}}", "\n".repeat(blanks));
    assert_eq!(split(far(4095).as_bytes()).unwrap(), [r#"{"b": 1, "a": 2}"#]);
    assert_eq!(split(far(4096).as_bytes()).unwrap(), [r#"{"a":2,"b":1}"#]);
}

#[test]
fn bad_utf8_inside_json_becomes_what_readers_would_make_of_it() {
    assert_eq!(split(b"{\"a\":\"\xff\xe2\x80\"}").unwrap(), ["{\"a\":\"\u{fffd}\u{fffd}\u{fffd}\"}"]);
    assert!(split(b"a: \"\xff\"").is_err());
}

#[test]
fn a_last_line_of_4096_bytes_is_kept() {
    let line = format!("b: {}", "x".repeat(4093));
    let documents = split(format!("a: 1\n{line}").as_bytes()).unwrap();
    assert_eq!(documents, [format!("{{\"a\":1,\"b\":\"{}\"}}", "x".repeat(4093))]);
}

#[test]
fn json_nests_as_deep_as_yaml() {
    let nested = |depth: usize| [r#"{"a":"#.repeat(depth), "1".to_owned(), "}".repeat(depth)].concat();
    assert_eq!(split(nested(10_000).as_bytes()).unwrap(), [nested(10_000)]);
    assert!(split(nested(10_001).as_bytes()).is_err());
    assert!(split("{\"a\":".repeat(200_000).as_bytes()).is_err());
}

#[test]
fn documents_together_cannot_grow_without_end() {
    let bomb = format!("a: &a {}\nb: [{}]\n---\n", "x".repeat(500_000), vec!["*a"; 200].join(", "));
    let error = split(bomb.as_bytes()).unwrap_err();
    assert_eq!(error.reason, "the document grows too large through aliases");
}
