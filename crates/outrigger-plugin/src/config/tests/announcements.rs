//! The output of dynamic parameter commands.

use crate::config::parse_announcements;

fn check(cases: &[(&str, Option<&str>)]) {
    for (input, expected) in cases {
        let actual = parse_announcements(input.as_bytes());
        let written = actual.as_ref().ok().map(|list| serde_json::to_string(list).unwrap());
        assert_eq!(written.as_deref(), *expected, "{input:?} gave {actual:?}");
    }
}

#[test]
fn announcements_are_read_as_go_reads_json() {
    check(&[
        ("[]", Some("[]")),
        ("[]\n", Some("[]")),
        ("null", Some("[]")),
        (r#"[{"name":"a","extra":[1,{}]}]"#, Some(r#"[{"name":"a"}]"#)),
        (r#"[{"NAME":"x"}]"#, Some(r#"[{"name":"x"}]"#)),
        (r#"[{"name":"a","NAME":"b"}]"#, Some(r#"[{"name":"b"}]"#)),
        (r#"[{"Name":"b","name":null}]"#, Some(r#"[{"name":"b"}]"#)),
        (r#"[{"array":["a","b"],"Array":[null]}]"#, Some(r#"[{"array":["a"]}]"#)),
        (r#"[{"map":{"a":"1"},"Map":{"b":"2"}}]"#, Some(r#"[{"map":{"a":"1","b":"2"}}]"#)),
        (r#"[{"array":["x",null],"map":{"k":null}}]"#, Some(r#"[{"array":["x",""],"map":{"k":""}}]"#)),
        (
            r#"[{"itemType":"number","collectionType":"map","required":true}]"#,
            Some(r#"[{"required":true,"itemType":"number","collectionType":"map"}]"#),
        ),
        (r#"[{"name":"\ud83d\ude00\ud800\u00e9"}]"#, Some("[{\"name\":\"😀\u{fffd}é\"}]")),
        (r#"[{"name":1}]"#, None),
        (r#"[{"required":"true"}]"#, None),
        (r#"[{"array":"x"}]"#, None),
        (r#"[{"map":["x"]}]"#, None),
        (r#"[{"map":{"a":1}}]"#, None),
        ("{}", None),
        ("\"x\"", None),
        ("", None),
        ("[", None),
        ("[] []", None),
        ("[{'name':'a'}]", None),
        ("- name: a", None),
        (r#"[{"name":"a"},]"#, None),
    ]);
}

#[test]
fn null_entries_are_dropped() {
    check(&[("[null]", Some("[]")), (r#"[null,{"name":"a"},null]"#, Some(r#"[{"name":"a"}]"#))]);
}

#[test]
fn nesting_is_bounded_as_in_go() {
    let nested = |depth: usize| format!("[{{\"x\":{}{}}}]", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_announcements(nested(9_998).as_bytes()).is_ok());
    assert!(parse_announcements(nested(9_999).as_bytes()).is_err());
    assert!(parse_announcements("[".repeat(1 << 20).as_bytes()).is_err());
}

#[test]
fn errors_say_where_and_why() {
    let error = |json: &str| parse_announcements(json.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error("[\n  {\"name\": 5}\n]"),
        "line 2, column 12: the list of parameters[0].name must be text, not a number (hint: put the value in quotes)"
    );
    assert_eq!(error("[{\"name\": \"a\"}"), "line 1, column 15: unexpected end of JSON");
    assert_eq!(error("name: a"), "line 1, column 2: expected a JSON value");
    assert_eq!(error("{}"), "line 1, column 1: the list of parameters must be a list, not a mapping");
}
