//! How text is laid out: quoting, brackets, indentation, line breaks.

use super::check;

#[test]
fn double_quotes() {
    check(&[
        (b"\"a\\/b\"", None),
        (b"\"a\\'b\"", Some(r#""a'b""#)),
        (b"\"\\q\"", None),
        (b"\"\\ud800\"", None),
        (b"\"\\x4\"", None),
        (b"\"a\n  b\n\n  c\"", Some("\"a b\\nc\"")),
        (b"\"a \\\n   b\"", Some(r#""a b""#)),
        (b"\"a\\\n\n b\"", Some("\"a\\nb\"")),
        (b"\"a", None),
        (b"\"a\" \"b\"", Some(r#""a""#)),
        (b"\"a\"b", Some(r#""a""#)),
        (b"\"\t x\"", Some("\"\\t x\"")),
        (b"\"\\\t\"", Some("\"\\t\"")),
    ]);
}

#[test]
fn single_quotes() {
    check(&[
        (b"'it''s'", Some(r#""it's""#)),
        (b"''", Some(r#""""#)),
        (b"''''", Some(r#""'""#)),
        (b"'a\n\n  b'", Some("\"a\\nb\"")),
        (b"'\\n'", Some("\"\\\\n\"")),
        (b"'a", None),
        (b"'a'b", Some(r#""a""#)),
    ]);
}

#[test]
fn plain_text() {
    check(&[
        (b"a b", Some(r#""a b""#)),
        (b"a\n  b", Some(r#""a b""#)),
        (b"a\n\n  b", Some("\"a\\nb\"")),
        (b"a #b", Some(r#""a""#)),
        (b"a#b", Some(r#""a#b""#)),
        (b"a:b", Some(r#""a:b""#)),
        (b"a: b: c", None),
        (b"a : b", Some(r#"{"a":"b"}"#)),
        (b"-a", Some(r#""-a""#)),
        (b"?a", Some(r#""?a""#)),
        (b":a", Some(r#"":a""#)),
        (b"- - a", Some(r#"[["a"]]"#)),
        (b"@a", None),
        (b"`a", None),
        (b"%a", None),
        (b"a%", Some(r#""a%""#)),
        (b"a\tb", Some("\"a\\tb\"")),
        (b"a: \tb", Some(r#"{"a":"b"}"#)),
        (b"\ta", None),
        (b"a:\n\tb: 1", None),
        (b"a:\n  b\n  c", Some(r#"{"a":"b c"}"#)),
        (b"a: b\n c", Some(r#"{"a":"b c"}"#)),
        (b"a\n\tb", Some(r#""a b""#)),
        (b"<<", Some("\"\\u003c\\u003c\"")),
        (b"=", Some(r#""=""#)),
        (b"*", None),
        (b"&", None),
        (b"!", Some(r#""""#)),
        (b"#", Some("null")),
        (b"a: -", None),
        (b"a: - b", None),
        (b"- a\n b", Some(r#"["a b"]"#)),
        (b"a: |x", None),
    ]);
}

#[test]
fn flow_collections() {
    check(&[
        (b"[a, b,]", Some(r#"["a","b"]"#)),
        (b"[,]", None),
        (b"{a: 1, b}", Some(r#"{"a":1,"b":null}"#)),
        (b"{a:1}", Some(r#"{"a:1":null}"#)),
        (b"{a:}", Some(r#"{"a:":null}"#)),
        (b"{\"a\":1}", Some(r#"{"a":1}"#)),
        (b"{a: , b: }", Some(r#"{"a":null,"b":null}"#)),
        (b"[a: b]", Some(r#"[{"a":"b"}]"#)),
        (b"[a: b, c]", Some(r#"[{"a":"b"},"c"]"#)),
        (b"[? a : b]", Some(r#"[{"a":"b"}]"#)),
        (b"{? a : b}", Some(r#"{"a":"b"}"#)),
        (b"[a?b]", None),
        (b"[?a]", Some(r#"[{"a":null}]"#)),
        (b"{a?b: 1}", None),
        (b"[a\n,b]", Some(r#"["a","b"]"#)),
        (b"[a", None),
        (b"{a: 1", None),
        (b"a: ]", None),
        (b"[]: x", Some("[]")),
        (b"{[]: x}", None),
        (b"[a]]", Some(r#"["a"]"#)),
        (b"[-]", Some(r#"["-"]"#)),
        (b"[- a]", None),
        (b"[a, #c\n b]", Some(r#"["a","b"]"#)),
        (b"{a: {b: [c, {d: e}]}}", Some(r#"{"a":{"b":["c",{"d":"e"}]}}"#)),
        (b"[a b, c d]", Some(r#"["a b","c d"]"#)),
        (b"{\"a\" : 1}", Some(r#"{"a":1}"#)),
        (b"{a: \"b\"c}", None),
        (b"[\t]", Some("[]")),
    ]);
}

#[test]
fn block_scalars() {
    check(&[
        (b"|\n  a\n   b\n", Some("\"a\\n b\\n\"")),
        (b"|-\n  a\n", Some(r#""a""#)),
        (b"|+\n  a\n\n", Some("\"a\\n\\n\"")),
        (b">\n  a\n  b\n\n  c\n", Some("\"a b\\nc\\n\"")),
        (b">\n  a\n   b\n  c\n", Some("\"a\\n b\\nc\\n\"")),
        (b">-\n  a\n", Some(r#""a""#)),
        (b"|2\n    a\n", Some("\"  a\\n\"")),
        (b"|1-\n  a\n", Some(r#"" a""#)),
        (b"|-1\n  a\n", Some(r#"" a""#)),
        (b"|0\n  a", None),
        (b"|10\n a", None),
        (b"a: |\n  x\n y: 1", None),
        (b"a: |\n  x\nb: 1", Some("{\"a\":\"x\\n\",\"b\":1}")),
        (b"|\n\ta", None),
        (b"|\n  \ta", None),
        (b"| # c\n  a", Some(r#""a""#)),
        (b"|#c\n  a", Some(r#""a""#)),
        (b"|x\n  a", None),
        (b"a: |\nb: 1", Some(r#"{"a":"","b":1}"#)),
        (b"|\n\n\n  a\n", Some("\"\\n\\na\\n\"")),
        (b"|\n   \n  a\n", Some(r#""""#)),
        (b"- |\n a\n- b", Some("[\"a\\n\",\"b\"]")),
        (b"|\n  a\n # c\n", Some("\"a\\n\"")),
        (b">\n\n  a\n", Some("\"\\na\\n\"")),
    ]);
}

#[test]
fn indentation() {
    check(&[
        (b"a:\n- b\n- c", Some(r#"{"a":["b","c"]}"#)),
        (b"a:\n  - b\n - c", None),
        (b"a:\n b: 1\n  c: 2", None),
        (b"a: 1\n b: 2", None),
        (b"  a: 1\n  b: 2", Some(r#"{"a":1,"b":2}"#)),
        (b" a: 1\nb: 2", Some(r#"{"a":1}"#)),
        (b"- a\n-b", None),
        (b"-\n  a: 1\n  b: 2", Some(r#"[{"a":1,"b":2}]"#)),
        (b"a:\n\n\n  b: 1", Some(r#"{"a":{"b":1}}"#)),
        (b"? a\n: b", Some(r#"{"a":"b"}"#)),
        (b"? a", Some(r#"{"a":null}"#)),
        (b"a:\n  ? b\n  : c", Some(r#"{"a":{"b":"c"}}"#)),
        (b"- a\n  b: c", None),
        (b"a: 1\n-b", None),
        (b"a:\n- - b\n  - c\n-\n- d", Some(r#"{"a":[["b","c"],null,"d"]}"#)),
    ]);
}

#[test]
fn line_breaks_of_every_kind() {
    check(&[
        (b"a: 1\rb: 2", Some(r#"{"a":1,"b":2}"#)),
        ("a: 1\u{85}b: 2".as_bytes(), Some(r#"{"a":1,"b":2}"#)),
        ("a: 1\u{2028}b: 2".as_bytes(), Some(r#"{"a":1,"b":2}"#)),
        ("\"a\u{85}b\"".as_bytes(), Some(r#""a b""#)),
        ("\"a\u{2028}b\"".as_bytes(), Some("\"a\\u2028b\"")),
        ("|\n  a\u{2028}  b\n".as_bytes(), Some("\"a\\u2028b\\n\"")),
        ("a\u{2029}b".as_bytes(), Some("\"a\\u2029b\"")),
    ]);
}

#[test]
fn unreadable_bytes() {
    check(&[
        (b"a: \xff", None),
        (b"a: \xc3", None),
        (b"a: \xed\xa0\x80", None),
        (b"a: \x00", None),
        (b"a: \x01", None),
        (b"a: \x7f", None),
        (b"a: \xc2\x80", None),
        (b"a: \xef\xbf\xbe", None),
        (b"\xff\xfea\x00:\x00 \x001\x00", Some(r#"{"a":1}"#)),
        (b"\xfe\xff\x00a\x00:\x00 \x001", Some(r#"{"a":1}"#)),
        (b"\xff\xfea\x00\x00\xd8", None),
        (b"\xff\xfea", None),
        (b"a: 1\n...\n\xff", None),
    ]);
}

#[test]
fn directives_and_further_documents() {
    check(&[
        (b"%YAML 1.1\n---\na: 1", Some(r#"{"a":1}"#)),
        (b"%YAML 1.2\n---\na: 1", None),
        (b"%YAML 1.1\n%YAML 1.1\n---\na", None),
        (b"%TAG !e! tag:yaml.org,2002:\n---\n!e!int \"5\"", Some("5")),
        (b"%TAG ! tag:yaml.org,2002:\n---\n!int \"5\"", Some("5")),
        (b"%FOO\n---\na", None),
        (b"---\na: 1\n---\nb: 2", Some(r#"{"a":1}"#)),
        (b"---\n---\na", Some("null")),
        (b"--- a", Some(r#""a""#)),
        (b"---\n...\na", Some("null")),
        (b"%YAML 1.1\na: 1", None),
    ]);
}
