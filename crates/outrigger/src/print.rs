//! What people see: tables and YAML on stdout, remarks on stderr.

use std::time::Duration;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use outrigger_plugin::config::ParameterAnnouncement;
use outrigger_plugin::{Phase, documents, duration};
use serde_json::Value;

/// A line of the result, on stdout. A reader that went away is no error.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout().lock(), $($text)*);
    }};
}

/// A remark, on stderr.
macro_rules! tell {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

pub(crate) use {say, tell};

/// An empty table with these columns.
pub(crate) fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(columns.iter().map(|column| column.to_uppercase()));
    table
}

/// The phases of a call and their times.
pub(crate) fn phases(phases: &[(Phase, Duration)]) -> String {
    let mut table = table(&["phase", "time"]);
    for (phase, took) in phases {
        table.add_row([phase.name().to_owned(), duration::human(*took)]);
    }
    let total: Duration = phases.iter().map(|(_, took)| *took).sum();
    table.add_row(["total".to_owned(), duration::human(total)]);
    if let Some(times) = table.column_mut(1) {
        times.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// `1 manifest`, `2 manifests`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The parameters a plugin announces.
pub(crate) fn parameters(announcements: &[ParameterAnnouncement]) -> String {
    let mut table = table(&["name", "type", "required", "default", "title"]);
    for parameter in announcements {
        let kind = if parameter.collection_type.is_empty() { "string" } else { &parameter.collection_type };
        let default = match kind {
            "array" => parameter.array.join(", "),
            "map" => {
                let pairs = parameter.map.iter().map(|(key, value)| format!("{key}={value}"));
                pairs.collect::<Vec<_>>().join(", ")
            }
            _ => parameter.string.clone(),
        };
        let required = if parameter.required { "yes" } else { "no" };
        table.add_row([&parameter.name, kind, required, &default, &parameter.title]);
    }
    table.trim_fmt()
}

/// One manifest, given as JSON, in block YAML.
pub(crate) fn yaml(manifest: &str) -> Result<String> {
    let value: Value = serde_json::from_str(manifest)?;
    let mut text = String::new();
    match &value {
        Value::Object(map) if !map.is_empty() => mapping(&mut text, map, 0),
        Value::Array(items) if !items.is_empty() => sequence(&mut text, items, 0),
        scalar => {
            text.push_str(&inline(scalar));
            text.push('\n');
        }
    }
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}

fn mapping(text: &mut String, map: &serde_json::Map<String, Value>, indent: usize) {
    for (number, (key, value)) in map.iter().enumerate() {
        if number > 0 {
            pad(text, indent);
        }
        text.push_str(&plain_or_quoted(key));
        text.push(':');
        child(text, value, indent, false);
    }
}

fn sequence(text: &mut String, items: &[Value], indent: usize) {
    for (number, value) in items.iter().enumerate() {
        if number > 0 {
            pad(text, indent);
        }
        text.push('-');
        child(text, value, indent, true);
    }
}

/// A value after its key or dash: on the same line where it is short, below and deeper otherwise.
fn child(text: &mut String, value: &Value, indent: usize, in_sequence: bool) {
    match value {
        Value::Object(map) if !map.is_empty() && in_sequence => {
            text.push(' ');
            mapping(text, map, indent + 2);
        }
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            pad(text, indent + 2);
            mapping(text, map, indent + 2);
        }
        Value::Array(items) if !items.is_empty() && in_sequence => {
            text.push(' ');
            sequence(text, items, indent + 2);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            pad(text, indent);
            sequence(text, items, indent);
        }
        Value::String(lines) if is_block(lines) => block(text, lines, indent + 2),
        scalar => {
            text.push(' ');
            text.push_str(&inline(scalar));
            text.push('\n');
        }
    }
}

fn pad(text: &mut String, indent: usize) {
    text.extend(std::iter::repeat_n(' ', indent));
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => plain_or_quoted(text),
        other => other.to_string(),
    }
}

/// Bare where every YAML reader takes it for this very string, else as a JSON string, which YAML reads too.
fn plain_or_quoted(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_-./ ,=@+".contains(c);
    let quoted = quoted(text);
    let bare = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_')
        && text.chars().all(harmless)
        && documents::split(text.as_bytes()).is_ok_and(|read| read == [quoted.as_str()]);
    if bare { text.to_owned() } else { quoted }
}

/// A JSON string without the characters that YAML takes for line breaks or a byte order mark.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    let special = ['\u{7f}', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];
    special.iter().fold(json, |json, c| json.replace(*c, &format!("\\u{:04x}", u32::from(*c))))
}

/// Text of several lines that a literal block holds as it is.
fn is_block(text: &str) -> bool {
    let printable = |c: char| {
        c == '\n' || c == '\t' || (!c.is_control() && !['\u{2028}', '\u{2029}', '\u{feff}'].contains(&c))
    };
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.trim_end_matches('\n').len() + 1 >= text.len()
        && text.chars().all(printable)
}

fn block(text: &mut String, lines: &str, indent: usize) {
    text.push_str(if lines.ends_with('\n') { " |\n" } else { " |-\n" });
    for line in lines.strip_suffix('\n').unwrap_or(lines).split('\n') {
        if !line.is_empty() {
            pad(text, indent);
            text.push_str(line);
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn survives(json: &str) {
        let text = yaml(json).unwrap();
        let back = documents::split(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let expected: Value = serde_json::from_str(json).unwrap();
        let back: Value = serde_json::from_str(&back[0]).unwrap();
        assert_eq!(back, expected, "{text}");
    }

    #[test]
    fn a_manifest_reads_as_people_write_it() {
        let json = r#"{"apiVersion":"v1","data":{"a":"one\ntwo\n"},"kind":"ConfigMap","list":[{"w":1,"x":[]},[1,2]],"none":null}"#;
        let expected = "apiVersion: v1\ndata:\n  a: |\n    one\n    two\nkind: ConfigMap\nlist:\n- w: 1\n  x: []\n- - 1\n  - 2\nnone: null";
        assert_eq!(yaml(json).unwrap(), expected);
        survives(json);
    }

    #[test]
    fn strings_that_look_like_something_else_stay_strings() {
        for text in [
            "no",
            "y",
            "on",
            "null",
            "~",
            "1",
            "1.0",
            "0x1f",
            "1e3",
            "",
            " a",
            "a ",
            "a: b",
            "a #b",
            "- a",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "{a",
            "[a",
            "'a",
            "\"a",
            "a\tb",
            "2001-01-01",
            "12:30:45",
            ".inf",
            "=",
            "<<",
            "a\u{2028}b",
            "é",
            "\u{feff}x",
            "a\r\nb",
            "a\n\nb\n",
            "a\n\n",
            "\na",
            "a\n b",
            "---",
            "...",
        ] {
            survives(&serde_json::json!({"v": text, "l": [text], text: 1}).to_string());
        }
    }

    #[test]
    fn scalars_and_lists_are_documents_too() {
        for json in ["\"hello\"", "5", "[\"a\",\"b\"]", "{}", "true"] {
            survives(json);
        }
    }
}
