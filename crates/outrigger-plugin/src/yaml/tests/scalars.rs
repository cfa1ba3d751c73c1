//! What single values mean.

use super::check;

#[test]
fn words_that_are_booleans_or_null() {
    check(&[
        (b"y", Some("true")),
        (b"Y", Some("true")),
        (b"yes", Some("true")),
        (b"Yes", Some("true")),
        (b"YES", Some("true")),
        (b"on", Some("true")),
        (b"On", Some("true")),
        (b"ON", Some("true")),
        (b"true", Some("true")),
        (b"True", Some("true")),
        (b"TRUE", Some("true")),
        (b"n", Some("false")),
        (b"N", Some("false")),
        (b"no", Some("false")),
        (b"No", Some("false")),
        (b"NO", Some("false")),
        (b"off", Some("false")),
        (b"Off", Some("false")),
        (b"OFF", Some("false")),
        (b"false", Some("false")),
        (b"False", Some("false")),
        (b"FALSE", Some("false")),
        (b"tRue", Some(r#""tRue""#)),
        (b"yEs", Some(r#""yEs""#)),
        (b"oN", Some(r#""oN""#)),
        (b"~", Some("null")),
        (b"null", Some("null")),
        (b"Null", Some("null")),
        (b"NULL", Some("null")),
        (b"nULL", Some(r#""nULL""#)),
        (b"", Some("null")),
        (b"\"yes\"", Some(r#""yes""#)),
        (b"'null'", Some(r#""null""#)),
        (b"|\n  yes\n", Some("\"yes\\n\"")),
    ]);
}

#[test]
fn integers() {
    check(&[
        (b"0", Some("0")),
        (b"-0", Some("0")),
        (b"+12", Some("12")),
        (b"12", Some("12")),
        (b"1_000", Some("1000")),
        (b"1_", Some("1")),
        (b"_1", Some(r#""_1""#)),
        (b"0644", Some("420")),
        (b"0o644", Some("420")),
        (b"0O17", Some("15")),
        (b"089", Some("89")),
        (b"08", Some("8")),
        (b"0x1F", Some("31")),
        (b"0X1f", Some("31")),
        (b"0x", Some(r#""0x""#)),
        (b"0b11", Some("3")),
        (b"0B11", Some("3")),
        (b"0b12", Some(r#""0b12""#)),
        (b"-0b11", Some("-3")),
        (b"+0b11", Some("3")),
        (b"0b-11", Some("-3")),
        (b"0b+11", Some("3")),
        (b"-0x1F", Some("-31")),
        (b"9223372036854775807", Some("9223372036854775807")),
        (b"9223372036854775808", Some("9223372036854775808")),
        (b"-9223372036854775808", Some("-9223372036854775808")),
        (b"-9223372036854775809", Some("-9223372036854776000")),
        (b"18446744073709551615", Some("18446744073709551615")),
        (b"18446744073709551616", Some("18446744073709552000")),
        (b"0xFFFFFFFFFFFFFFFF", Some("18446744073709551615")),
        (b"0x1_F", Some("31")),
        (b"-", Some("[null]")),
        (b"+", Some(r#""+""#)),
        (b"--1", Some(r#""--1""#)),
        (b"1 2", Some(r#""1 2""#)),
    ]);
}

#[test]
fn floats() {
    check(&[
        (b"1.0", Some("1")),
        (b"1.10", Some("1.1")),
        (b"-0.0", Some("-0")),
        (b"1.", Some("1")),
        (b".5", Some("0.5")),
        (b"-.5", Some("-0.5")),
        (b"+.5", Some("0.5")),
        (b".5e1_0", Some("5000000000")),
        (b".1_5", Some("0.15")),
        (b"._5", Some(r#""._5""#)),
        (b".5_", Some(r#"".5_""#)),
        (b"1e3", Some("1000")),
        (b"1E3", Some("1000")),
        (b"12e03", Some("12000")),
        (b"1e+21", Some("1e+21")),
        (b"1e21", Some("1e+21")),
        (b"1e20", Some("100000000000000000000")),
        (b"1e-6", Some("0.000001")),
        (b"1e-7", Some("1e-7")),
        (b"0.000001", Some("0.000001")),
        (b"123e456", Some(r#""123e456""#)),
        (b"1e400", Some(r#""1e400""#)),
        (b"-1e400", Some(r#""-1e400""#)),
        (b"1e-400", Some("0")),
        (b"100000000000000000000", Some("100000000000000000000")),
        (b"1.5e300", Some("1.5e+300")),
        (b"3.141592653589793238", Some("3.141592653589793")),
        (b"5e-324", Some("5e-324")),
        (b"1e", Some(r#""1e""#)),
        (b"1e+", Some(r#""1e+""#)),
        (b".", Some(r#"".""#)),
        (b"..", Some(r#""..""#)),
        (b"1.2.3", Some(r#""1.2.3""#)),
        (b"1e3.5", Some(r#""1e3.5""#)),
        (b"12e0_3", Some("12000")),
    ]);
}

#[test]
fn infinity_and_nan_cannot_be_written() {
    check(&[
        (b".inf", None),
        (b"-.inf", None),
        (b"+.Inf", None),
        (b".INF", None),
        (b".nan", None),
        (b".NaN", None),
        (b".NAN", None),
        (b".iNF", Some(r#"".iNF""#)),
        (b"inf", Some(r#""inf""#)),
        (b"nan", Some(r#""nan""#)),
    ]);
}

#[test]
fn times_and_sexagesimals_are_text() {
    check(&[
        (b"2001-01-01", Some(r#""2001-01-01""#)),
        (b"2001-12-14t21:59:43.10-05:00", Some(r#""2001-12-14t21:59:43.10-05:00""#)),
        (b"12:30:45", Some(r#""12:30:45""#)),
        (b"1:20", Some(r#""1:20""#)),
        (b"190:20:30", Some(r#""190:20:30""#)),
    ]);
}

#[test]
fn tags() {
    check(&[
        (b"!!str 12", Some(r#""12""#)),
        (b"!!str", Some(r#""""#)),
        (b"!!int 5", Some("5")),
        (b"!!int \"5\"", Some("5")),
        (b"!!int 0x10", Some("16")),
        (b"!!int 5.0", None),
        (b"!!int x", None),
        (b"!!float 5", Some("5")),
        (b"!!float 5.5", Some("5.5")),
        (b"!!float 18446744073709551615", None),
        (b"!!float x", None),
        (b"!!bool yes", Some("true")),
        (b"!!bool \"no\"", Some("false")),
        (b"!!bool x", None),
        (b"!!null \"\"", Some("null")),
        (b"!!null x", None),
        (b"!!binary aGVsbG8=", Some(r#""hello""#)),
        (b"!!binary \"aGVs\\nbG8=\"", Some(r#""hello""#)),
        (b"!!binary gP8=", Some("\"\\ufffd\\ufffd\"")),
        (b"!!binary aGVsbG8", None),
        (b"!!binary \"!\"", None),
        (b"!!binary \"\"", Some(r#""""#)),
        (b"!!timestamp 2001-01-01", Some(r#""2001-01-01""#)),
        (b"!!timestamp 2001-1-2T3:4:5Z", Some(r#""2001-1-2T3:4:5Z""#)),
        (b"!!timestamp 2001-02-30", None),
        (b"!!timestamp x", None),
        (b"!custom 12", Some(r#""12""#)),
        (b"! 12", Some(r#""12""#)),
        (b"!<tag:yaml.org,2002:int> 7", Some("7")),
        (b"!<x> 7", Some(r#""7""#)),
        (b"!!map 5", Some(r#""5""#)),
        (b"!!set {a, b}", Some(r#"{"a":null,"b":null}"#)),
        (b"!custom {a: 1}", Some(r#"{"a":1}"#)),
        (b"!!seq [1]", Some("[1]")),
        (b"!e!x 1", None),
        (b"!!unknown 5", Some(r#""5""#)),
    ]);
}

#[test]
fn text_is_escaped_as_in_go() {
    check(&[
        (b"\"<>&\"", Some("\"\\u003c\\u003e\\u0026\"")),
        (b"\"\\u2028\\u2029\"", Some("\"\\u2028\\u2029\"")),
        (b"\"\\x00\\x01\\x1f\\x7f\"", Some("\"\\u0000\\u0001\\u001f\u{7f}\"")),
        (b"\"\\b\\f\\n\\r\\t\\e\\a\\v\"", Some("\"\\b\\f\\n\\r\\t\\u001b\\u0007\\u000b\"")),
        (b"\"\\\"\\\\\"", Some("\"\\\"\\\\\"")),
        ("é日本😀".as_bytes(), Some(r#""é日本😀""#)),
        (b"\"\\u00e9\\U0001F600\"", Some(r#""é😀""#)),
        (b"\"\\N\\_\\L\\P\"", Some("\"\u{85}\u{a0}\\u2028\\u2029\"")),
    ]);
}
