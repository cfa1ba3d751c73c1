//! Keys that are ignored, outdated, or not spelled as documented.

use super::{File, Finding, Place};
use crate::config::keys;
use crate::yaml::{Content, Key, Node};

/// A part of the file: its documented keys and what lies below them.
struct Part {
    path: &'static str,
    fields: &'static [&'static str],
    below: &'static [(&'static str, Below)],
}

enum Below {
    Mapping(&'static Part),
    ListOf(&'static Part),
}

const COMMAND: Part = Part { path: "", fields: keys::COMMAND, below: &[] };
const ANNOUNCEMENT: Part = Part { path: "spec.parameters.static[]", fields: keys::ANNOUNCEMENT, below: &[] };
const FIND: Part = Part { path: "spec.discover.find", fields: keys::FIND, below: &[] };
const DISCOVER: Part =
    Part { path: "spec.discover", fields: keys::DISCOVER, below: &[("find", Below::Mapping(&FIND))] };
const PARAMETERS: Part = Part {
    path: "spec.parameters",
    fields: keys::PARAMETERS,
    below: &[("static", Below::ListOf(&ANNOUNCEMENT)), ("dynamic", Below::Mapping(&COMMAND))],
};
const SPEC: Part = Part {
    path: "spec",
    fields: keys::SPEC,
    below: &[
        ("init", Below::Mapping(&COMMAND)),
        ("generate", Below::Mapping(&COMMAND)),
        ("discover", Below::Mapping(&DISCOVER)),
        ("parameters", Below::Mapping(&PARAMETERS)),
    ],
};
const METADATA: Part = Part { path: "metadata", fields: keys::METADATA, below: &[] };
const ROOT: Part = Part {
    path: "",
    fields: keys::ROOT,
    below: &[("metadata", Below::Mapping(&METADATA)), ("spec", Below::Mapping(&SPEC))],
};

/// Keys that older files carry, with what to say about them.
const LEGACY: &[(&str, &str, &str)] = &[
    ("spec", "lockRepo", "it has had no effect since plugins became sidecars; remove it"),
    ("spec", "allowConcurrency", "it has had no effect since plugins became sidecars; remove it"),
    ("spec", "name", "the name belongs into metadata.name"),
    ("spec", "discovery", "the key is called discover"),
];

pub(super) fn check(file: &File<'_>, findings: &mut Vec<Finding>) {
    if is_old_form(file.root) {
        let message = "this looks like an entry of configManagementPlugins in argocd-cm";
        let hint = "put kind, metadata.name and spec around it, with init and generate below spec";
        findings.push(Place::of(file.root).error("old-form", message, hint));
        return;
    }
    part(&ROOT, file.root, findings);
}

/// Before plugins had files of their own they were a list in a ConfigMap, without `spec`.
fn is_old_form(root: Node<'_>) -> bool {
    let has = |node: Node<'_>, name: &str| super::child(node, name).is_some();
    let entry = match root.content() {
        Content::Sequence(items) => items.first().copied(),
        Content::Mapping(_) if has(root, "configManagementPlugins") => return true,
        Content::Mapping(_) => Some(root),
        Content::Scalar(_) => None,
    };
    entry.is_some_and(|entry| has(entry, "generate") && !has(entry, "spec"))
}

fn part(part: &Part, node: Node<'_>, findings: &mut Vec<Finding>) {
    let Content::Mapping(entries) = node.content() else {
        return;
    };
    let mut seen: Vec<&str> = Vec::new();
    for entry in entries {
        let place = Place::of_key(&entry.key);
        let Some(field) = keys::field(part.fields, &entry.key.text) else {
            findings.push(unknown(part, &entry.key));
            continue;
        };
        if entry.key.text != field {
            let message = format!("{:?} is read as {field}", entry.key.text);
            findings.push(place.warning("key-case", message, format!("write {field}")));
        }
        if seen.contains(&field) {
            let message = format!("{field} is given more than once in different spellings");
            findings.push(place.warning("repeated-key", message, "keep one of them"));
        }
        seen.push(field);
        if part.path == "metadata" && field == "namespace" {
            let message = "metadata.namespace has no meaning for a plugin";
            findings.push(place.warning("legacy-key", message, "remove it"));
        }
        match part.below.iter().find(|(name, _)| *name == field) {
            Some((_, Below::Mapping(below))) => self::part(below, entry.value, findings),
            Some((_, Below::ListOf(below))) => {
                super::items(Some(entry.value))
                    .into_iter()
                    .for_each(|item| self::part(below, item, findings));
            }
            None => {}
        }
    }
}

fn unknown(part: &Part, key: &Key<'_>) -> Finding {
    let place = Place::of_key(key);
    let text = key.text.as_ref();
    let legacy = LEGACY.iter().find(|(path, name, _)| *path == part.path && name.eq_ignore_ascii_case(text));
    if let Some((_, name, hint)) = legacy {
        return place.warning("legacy-key", format!("{name} is ignored"), *hint);
    }
    let hint = match keys::similar(part.fields, text) {
        Some(meant) => format!("did you mean {meant}?"),
        None if part.fields == keys::ROOT && keys::field(keys::SPEC, text).is_some() => {
            "it belongs below spec".to_owned()
        }
        None => format!("known keys: {}", part.fields.join(", ")),
    };
    place.warning("unknown-key", format!("the key {text:?} is unknown and ignored"), hint)
}
