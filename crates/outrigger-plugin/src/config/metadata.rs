//! `metadata`: only the name matters, but the reference refuses a file whose other fields have wrong types.

use std::collections::BTreeMap;

use super::decode::Decoder;
use super::keys;
use crate::yaml::{Entry, Node};

/// Reads the name and checks the types of everything else.
pub(super) fn metadata(decoder: &mut Decoder, node: Node<'_>, name: &mut String) {
    for Entry { key, value } in decoder.entries("metadata", node) {
        let Some(field) = keys::field(keys::METADATA, &key.text) else {
            continue;
        };
        let path = format!("metadata.{field}");
        match field {
            "name" => decoder.text(&path, value, name),
            "labels" | "annotations" => decoder.text_map(&path, value, &mut BTreeMap::new()),
            "finalizers" => decoder.texts(&path, value, &mut Vec::new(), ""),
            "generation" | "deletionGracePeriodSeconds" => decoder.integer(&path, value),
            "creationTimestamp" | "deletionTimestamp" => decoder.time(&path, value),
            "ownerReferences" => each(decoder, &path, value, keys::OWNER_REFERENCE),
            "managedFields" => each(decoder, &path, value, keys::MANAGED_FIELDS),
            _ => decoder.text(&path, value, &mut String::new()),
        }
    }
}

fn each(decoder: &mut Decoder, path: &str, node: Node<'_>, fields: &[&'static str]) {
    for (index, item) in decoder.items(path, node, "").unwrap_or_default().into_iter().enumerate() {
        let path = format!("{path}[{index}]");
        for Entry { key, value } in decoder.entries(&path, item) {
            let Some(field) = keys::field(fields, &key.text) else {
                continue;
            };
            let path = format!("{path}.{field}");
            match field {
                "controller" | "blockOwnerDeletion" => decoder.flag(&path, value, &mut false),
                "time" => decoder.time(&path, value),
                "fieldsV1" => {}
                _ => decoder.text(&path, value, &mut String::new()),
            }
        }
    }
}
