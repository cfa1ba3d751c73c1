//! Keys, merge keys and aliases.

use super::check;

#[test]
fn keys_are_resolved_like_values() {
    check(&[
        (b"y: 1", Some(r#"{"true":1}"#)),
        (b"on: push", Some(r#"{"true":"push"}"#)),
        (b"1: a", Some(r#"{"1":"a"}"#)),
        (b"0x10: a", Some(r#"{"16":"a"}"#)),
        (b"1.50: a", Some(r#"{"1.5":"a"}"#)),
        (b"1e6: a", Some(r#"{"1e+06":"a"}"#)),
        (b"100000.0: a", Some(r#"{"100000":"a"}"#)),
        (b"1000000.0: a", Some(r#"{"1e+06":"a"}"#)),
        (b"0.0001: a", Some(r#"{"0.0001":"a"}"#)),
        (b"0.00001: a", Some(r#"{"1e-05":"a"}"#)),
        (b"1e40: a", Some(r#"{".inf":"a"}"#)),
        (b"-1e40: a", Some(r#"{"-.inf":"a"}"#)),
        (b"16777217.0: a", Some(r#"{"1.6777216e+07":"a"}"#)),
        (b".inf: a", Some(r#"{".inf":"a"}"#)),
        (b".nan: a", Some(r#"{".nan":"a"}"#)),
        (b"true: a", Some(r#"{"true":"a"}"#)),
        (b"\"true\": a", Some(r#"{"true":"a"}"#)),
        (b"null: a", None),
        (b"~: a", None),
        (b": a", None),
        (b"18446744073709551615: a", None),
        (b"9223372036854775807: a", Some(r#"{"9223372036854775807":"a"}"#)),
        (b"2001-01-01: a", Some(r#"{"2001-01-01":"a"}"#)),
        (b"? [a]\n: b", None),
        (b"{a: 1}: b", None),
        (b"? {a: 1}\n: b", None),
        (b"{[a]: b}", None),
        (b"!!binary aGk=: a", Some(r#"{"hi":"a"}"#)),
        (b"0.0: a\n-0.0: b", Some(r#"{"-0":"b"}"#)),
    ]);
}

#[test]
fn merge_keys_apply_where_they_stand() {
    check(&[
        (b"a: &a {x: 1, y: 2}\nb: {<<: *a, x: 9}", Some(r#"{"a":{"true":2,"x":1},"b":{"true":2,"x":9}}"#)),
        (b"a: &a {x: 1}\nb: {x: 9, <<: *a}", Some(r#"{"a":{"x":1},"b":{"x":1}}"#)),
        (
            b"a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc: {<<: [*a, *b]}",
            Some(r#"{"a":{"x":1},"b":{"true":3,"x":2},"c":{"true":3,"x":1}}"#),
        ),
        (b"b: {<<: {x: 1}}", Some(r#"{"b":{"x":1}}"#)),
        (b"b: {<<: [{x: 1}, {x: 2, y: 3}]}", Some(r#"{"b":{"true":3,"x":1}}"#)),
        (b"b: {<<: 5}", None),
        (b"b: {<<: [5]}", None),
        (b"b: {<<: }", None),
        (b"a: &a [1]\nb: {<<: *a}", None),
        (b"b: {\"<<\": {x: 1}}", Some("{\"b\":{\"\\u003c\\u003c\":{\"x\":1}}}")),
        (b"b: {! \"<<\": {x: 1}}", Some(r#"{"b":{"x":1}}"#)),
        (b"b: {!!merge x<<: {x: 1}}", Some("{\"b\":{\"x\\u003c\\u003c\":{\"x\":1}}}")),
        (b"b: {!!str <<: {x: 1}}", Some("{\"b\":{\"\\u003c\\u003c\":{\"x\":1}}}")),
        (b"- <<", Some("[\"\\u003c\\u003c\"]")),
        (
            b"a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}",
            Some(r#"{"a":{"x":1},"b":{"true":2,"x":1},"c":{"true":2,"x":1}}"#),
        ),
    ]);
}

#[test]
fn the_last_of_equal_keys_wins() {
    check(&[
        (b"a: 1\na: 2", Some(r#"{"a":2}"#)),
        (b"a: 1\n\"a\": 2", Some(r#"{"a":2}"#)),
        (b"{a: 1, a: 2}", Some(r#"{"a":2}"#)),
        (b"b: 1\na: 2\nb: 3", Some(r#"{"a":2,"b":3}"#)),
        (b"true: 1\ny: 2", Some(r#"{"true":2}"#)),
    ]);
}

#[test]
fn keys_are_sorted_by_their_bytes() {
    check(&[
        ("b: 1\na: 2\nB: 3\nA: 4\n_: 5\né: 6".as_bytes(), Some(r#"{"A":4,"B":3,"_":5,"a":2,"b":1,"é":6}"#)),
        (b"10: a\n9: b\n1: c", Some(r#"{"1":"c","10":"a","9":"b"}"#)),
    ]);
}

#[test]
fn aliases() {
    check(&[
        (b"a: &x [1]\nb: *x", Some(r#"{"a":[1],"b":[1]}"#)),
        (b"a: *x", None),
        (b"&x a: *x", Some(r#"{"a":"a"}"#)),
        (b"a: &x 1\nb: &x 2\nc: *x", Some(r#"{"a":1,"b":2,"c":2}"#)),
        (b"&a [*a]", None),
        (b"a: &a {b: *a}", None),
        (b"*a : 1", None),
        (b"a: &a k\n*a : 1", Some(r#"{"a":"k","k":1}"#)),
        (b"a: &a [1]\n*a : 1", None),
        (b"a: &a\nb: *a", Some(r#"{"a":null,"b":null}"#)),
        ("a: &é 1".as_bytes(), None),
        (b"a: & 1", None),
        (b"a: &a &b 1", None),
        (b"a: *a", None),
    ]);
}
