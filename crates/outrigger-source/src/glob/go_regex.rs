//! Regular expressions in Go's syntax, as far as globs produce them.
//!
//! Outside brackets the two languages agree. Inside, Go knows no nested classes and no set operations,
//! has its own escapes and ASCII-only `\d`, `\s`, `\w`; so classes are read by Go's rules and written
//! anew as plain ranges. Unicode classes (`\pL`) are refused.

use regex::Regex;

use super::GlobError;

type Ranges = Vec<(u32, u32)>;

const MAX: u32 = 0x10_ffff;
const DIGIT: &[(u32, u32)] = &[(0x30, 0x39)];
const SPACE: &[(u32, u32)] = &[(0x9, 0xa), (0xc, 0xd), (0x20, 0x20)];
const WORD: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];

/// Compiles an expression.
pub(super) fn compile(expression: &str) -> Result<Regex, GlobError> {
    let mut ours = String::with_capacity(expression.len());
    let mut rest = expression;
    while let Some(char) = rest.chars().next() {
        if char == '[' {
            rest = class(&rest[1..], &mut ours)?;
        } else {
            ours.push(char);
            rest = &rest[char.len_utf8()..];
        }
    }
    Regex::new(&ours).map_err(|error| bad(&error.to_string()))
}

fn bad(reason: &str) -> GlobError {
    GlobError::BadExpression(reason.to_owned())
}

/// Translates the class that `text` starts with, its opening bracket removed; returns what follows it.
fn class<'a>(text: &'a str, into: &mut String) -> Result<&'a str, GlobError> {
    let (negated, mut rest) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
    let mut ranges = Ranges::new();
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        rest = item(rest, &mut ranges)?;
    }
    write_class(negated, &ranges, into);
    Ok(&rest[1..])
}

/// One member of a class: a named class, an escape that stands for several characters, or a range.
fn item<'a>(text: &'a str, ranges: &mut Ranges) -> Result<&'a str, GlobError> {
    if let Some(inner) = text.strip_prefix("[:")
        && let Some(end) = inner.find(":]")
    {
        let name = &inner[..end];
        let (negated, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
        let named = named(name).ok_or_else(|| bad("invalid character class range"))?;
        add(ranges, negated, named);
        return Ok(&inner[end + 2..]);
    }
    let mut chars = text.chars();
    if chars.next() == Some('\\') {
        let set = match chars.next() {
            Some('d' | 'D') => Some(DIGIT),
            Some('s' | 'S') => Some(SPACE),
            Some('w' | 'W') => Some(WORD),
            Some('p' | 'P') => return Err(bad("Unicode classes are not supported here")),
            _ => None,
        };
        if let Some(set) = set {
            add(ranges, text.as_bytes()[1].is_ascii_uppercase(), set);
            return Ok(chars.as_str());
        }
    }
    let (low, rest) = char(text)?;
    let after_dash = rest.strip_prefix('-').filter(|after| !after.is_empty() && !after.starts_with(']'));
    let (high, rest) = after_dash.map_or(Ok((low, rest)), char)?;
    if high < low {
        return Err(bad("invalid character class range"));
    }
    ranges.push((low, high));
    Ok(rest)
}

/// One character, escaped or not.
fn char(text: &str) -> Result<(u32, &str), GlobError> {
    let mut chars = text.chars();
    let first = chars.next().ok_or_else(|| bad("missing closing ]"))?;
    if first != '\\' {
        return Ok((u32::from(first), chars.as_str()));
    }
    let invalid = || bad("invalid escape sequence");
    let escaped = chars.next().ok_or_else(|| bad("trailing backslash"))?;
    let rest = chars.as_str();
    let value = match escaped {
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        'x' => return hex(rest).ok_or_else(invalid),
        '0' => return Ok(octal(text)),
        '1'..='7' if rest.starts_with(|next| matches!(next, '0'..='7')) => return Ok(octal(text)),
        _ if escaped.is_ascii() && !escaped.is_ascii_alphanumeric() => u32::from(escaped),
        _ => return Err(invalid()),
    };
    Ok((value, rest))
}

/// Up to three octal digits after a backslash.
fn octal(text: &str) -> (u32, &str) {
    let digits = text[1..].bytes().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
    let value = text[1..=digits].bytes().fold(0, |value, digit| value * 8 + u32::from(digit - b'0'));
    (value, &text[1 + digits..])
}

/// Two hex digits, or any number of them in braces.
fn hex(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => text.split_at_checked(2)?,
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    let value = if significant.is_empty() { 0 } else { u32::from_str_radix(significant, 16).ok()? };
    (value <= MAX).then_some((value, rest))
}

fn add(ranges: &mut Ranges, negated: bool, set: &[(u32, u32)]) {
    if !negated {
        ranges.extend_from_slice(set);
        return;
    }
    let mut next = 0;
    for (low, high) in set {
        if *low > next {
            ranges.push((next, low - 1));
        }
        next = high + 1;
    }
    ranges.push((next, MAX));
}

fn named(name: &str) -> Option<&'static [(u32, u32)]> {
    Some(match name {
        "alnum" => &[(0x30, 0x39), (0x41, 0x5a), (0x61, 0x7a)],
        "alpha" => &[(0x41, 0x5a), (0x61, 0x7a)],
        "ascii" => &[(0, 0x7f)],
        "blank" => &[(0x9, 0x9), (0x20, 0x20)],
        "cntrl" => &[(0, 0x1f), (0x7f, 0x7f)],
        "digit" => DIGIT,
        "graph" => &[(0x21, 0x7e)],
        "lower" => &[(0x61, 0x7a)],
        "print" => &[(0x20, 0x7e)],
        "punct" => &[(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)],
        "space" => &[(0x9, 0xd), (0x20, 0x20)],
        "upper" => &[(0x41, 0x5a)],
        "word" => WORD,
        "xdigit" => &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
        _ => return None,
    })
}

/// Writes ranges as a class. Surrogates cannot occur in text and cannot be written, so they are cut out.
fn write_class(negated: bool, ranges: &[(u32, u32)], into: &mut String) {
    let mut body = String::new();
    for (low, high) in ranges {
        for (low, high) in [(*low, (*high).min(0xd7ff)), ((*low).max(0xe000), *high)] {
            if low <= high {
                body.push_str(&format!("\\x{{{low:x}}}-\\x{{{high:x}}}"));
            }
        }
    }
    let (negated, body) =
        if body.is_empty() { (!negated, "\\x{0}-\\x{10ffff}") } else { (negated, body.as_str()) };
    into.push_str(if negated { "[^" } else { "[" });
    into.push_str(body);
    into.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_by_gos_rules() {
        for (expression, text, expected) in [
            ("^[a-c]$", "b", true),
            ("^[^a-c]$", "b", false),
            ("^[!a]$", "!", true),
            ("^[a&&b]$", "&", true),
            ("^[[a]$", "[", true),
            ("^[]a]$", "]", true),
            ("^[^]]$", "]", false),
            ("^[a-]$", "-", true),
            ("^[--0]$", ".", true),
            ("^[[:alpha:]]$", "x", true),
            ("^[[:^alpha:]]$", "x", false),
            ("^[\\d]$", "5", true),
            ("^[\\D]$", "5", false),
            ("^[\\x41]$", "A", true),
            ("^[\\x{1F600}]$", "😀", true),
            ("^[\\101]$", "A", true),
            ("^[\\-a]$", "-", true),
            ("^[\\]a]$", "]", true),
            ("^[a~~b]$", "~", true),
        ] {
            assert_eq!(compile(expression).unwrap().is_match(text), expected, "{expression} on {text}");
        }
        for expression in
            ["[b-a]", "[a", "[\\", "[\\z]", "[[:foo:]]", "[\\x{110000}]", "[\\1]", "[\\pL]", "a)"]
        {
            assert!(compile(expression).is_err(), "{expression}");
        }
    }
}
