//! Scalars to typed values, by the rules of go-yaml v2.

use std::borrow::Cow;

use super::timestamp;

/// Prefix of the tags that are written with `!!`.
pub(super) const STANDARD_TAG: &str = "tag:yaml.org,2002:";
pub(super) const MERGE_TAG: &str = "tag:yaml.org,2002:merge";

/// A single YAML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// `null`, `~` or nothing.
    Null,
    /// `true`, `yes`, `on`, `y` and their opposites.
    Bool(bool),
    /// An integer that fits 64 signed bits.
    Int(i64),
    /// A larger integer that fits 64 bits.
    Uint(u64),
    /// Any other number; may be infinite or not a number.
    Float(f64),
    /// Text.
    Text(Box<str>),
    /// Decoded `!!binary` that is not text.
    Bytes(Vec<u8>),
}

/// Gives a scalar its value, or says why its tag does not fit.
pub(super) fn scalar(tag: Option<&[u8]>, text: Cow<'_, str>, plain: bool) -> Result<Scalar, String> {
    let Some(tag) = tag else {
        return Ok(if plain { untagged(text) } else { Scalar::Text(text.into()) });
    };
    let Some(name) = tag.strip_prefix(STANDARD_TAG.as_bytes()) else {
        return Ok(Scalar::Text(text.into()));
    };
    let value = match name {
        b"binary" => return binary(&text),
        b"bool" | b"int" | b"float" | b"null" => untagged(Cow::Borrowed(&text)),
        b"timestamp" if timestamp::is_timestamp(&text) => return Ok(Scalar::Text(text.into())),
        b"timestamp" => return Err("the value does not fit its tag !!timestamp".to_owned()),
        _ => return Ok(Scalar::Text(text.into())),
    };
    match (name, &value) {
        (b"bool", Scalar::Bool(_))
        | (b"int", Scalar::Int(_) | Scalar::Uint(_))
        | (b"float", Scalar::Float(_))
        | (b"null", Scalar::Null) => Ok(value),
        (b"float", Scalar::Int(number)) => Ok(Scalar::Float(*number as f64)),
        _ => Err(format!("the value does not fit its tag !!{}", String::from_utf8_lossy(name))),
    }
}

fn untagged(text: Cow<'_, str>) -> Scalar {
    let value = match text.as_bytes().first() {
        None => Some(Scalar::Null),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => word(&text),
        Some(b'.') => word(&text).or_else(|| dotted_float(&text)),
        Some(b'+' | b'-' | b'0'..=b'9') => word(&text).or_else(|| number(&text)),
        Some(_) => None,
    };
    value.unwrap_or_else(|| Scalar::Text(text.into()))
}

fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Option<Scalar> {
    let plain = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    let plain = plain.as_ref();
    let (negative, digits) = split_sign(plain);
    if let Some(magnitude) = magnitude(digits) {
        if let Some(number) = with_sign(negative, magnitude) {
            return Some(Scalar::Int(number));
        }
        if !plain.starts_with(['+', '-']) {
            return Some(Scalar::Uint(magnitude));
        }
    }
    if let Some(number) = decimal_float(plain) {
        return Some(Scalar::Float(number));
    }
    // Left over from older rules: a sign between the prefix and the digits.
    let (negative, digits) =
        split_sign(plain.strip_prefix("0b").filter(|rest| rest.starts_with(['+', '-']))?);
    with_sign(negative, in_radix(digits, 2)?).map(Scalar::Int)
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn with_sign(negative: bool, magnitude: u64) -> Option<i64> {
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Digits in the base that their prefix names; a leading 0 means octal.
fn magnitude(digits: &str) -> Option<u64> {
    let Some(rest) = digits.strip_prefix('0') else {
        return in_radix(digits, 10);
    };
    match rest.as_bytes() {
        [] => Some(0),
        [b'x' | b'X', _, ..] => in_radix(&rest[1..], 16),
        [b'b' | b'B', _, ..] => in_radix(&rest[1..], 2),
        [b'o' | b'O', _, ..] => in_radix(&rest[1..], 8),
        _ => in_radix(rest, 8),
    }
}

fn in_radix(digits: &str, radix: u32) -> Option<u64> {
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// `1`, `1.`, `.5`, `1e3` with an optional sign; what overflows is no number.
fn decimal_float(text: &str) -> Option<f64> {
    let (_, unsigned) = split_sign(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(split_sign(exponent).1)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits));
    if !well_formed {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Numbers that begin with a dot may hold underscores, but only between digits.
fn dotted_float(text: &str) -> Option<Scalar> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let misplaced = |at: usize| bytes[at] == b'_' && !(at > 0 && is_digit(at - 1) && is_digit(at + 1));
    if (0..bytes.len()).any(misplaced) {
        return None;
    }
    decimal_float(&text.replace('_', "")).map(Scalar::Float)
}

/// Standard base64 with padding; line breaks inside it are skipped.
fn binary(text: &str) -> Result<Scalar, String> {
    let invalid = || "!!binary does not hold base64".to_owned();
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    if !digits.len().is_multiple_of(4) {
        return Err(invalid());
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let groups = digits.len() / 4;
    for (index, group) in digits.chunks_exact(4).enumerate() {
        let padding = match group {
            [_, _, b'=', b'='] => 2,
            [_, _, _, b'='] => 1,
            _ => 0,
        };
        if padding > 0 && index + 1 < groups {
            return Err(invalid());
        }
        let mut bits = 0_u32;
        for digit in &group[..4 - padding] {
            bits = bits << 6 | base64_digit(*digit).ok_or_else(invalid)?;
        }
        bits <<= 6 * padding;
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Scalar::Text(text.into()),
        Err(error) => Scalar::Bytes(error.into_bytes()),
    })
}

fn base64_digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}
