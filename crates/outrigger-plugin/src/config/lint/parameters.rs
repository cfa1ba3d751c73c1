//! Announced parameters that the parameters tab cannot show as meant.

use super::{File, Finding, Place, child, items};
use crate::yaml::{Content, Node, Scalar};

pub(super) fn check(file: &File<'_>, findings: &mut Vec<Finding>) {
    for item in items(file.get(&["spec", "parameters", "static"])) {
        match item.content() {
            Content::Mapping(_) => announcement(item, findings),
            Content::Scalar(Scalar::Null) => {
                findings.push(Place::of(item).warning(
                    "null-parameter",
                    "an empty entry is dropped",
                    "remove it",
                ));
            }
            _ => {}
        }
    }
}

fn announcement(item: Node<'_>, findings: &mut Vec<Finding>) {
    if text(item, "name").is_empty() {
        let place = Place::of(child(item, "name").unwrap_or(item));
        findings.push(place.warning(
            "parameter-name",
            "a parameter without a name cannot be set",
            "give it a name",
        ));
    }
    let collection_type = text(item, "collectionType");
    let expected = match collection_type {
        "" | "string" => "string",
        "array" => "array",
        "map" => "map",
        _ => {
            let place = Place::of(child(item, "collectionType").unwrap_or(item));
            let message = format!("collectionType {collection_type:?} is unknown");
            findings.push(place.warning("collection-type", message, "write string, array or map"));
            return;
        }
    };
    for default in ["string", "array", "map"] {
        let Some(value) = child(item, default).filter(|value| !is_null(*value)) else {
            continue;
        };
        if default != expected {
            let message =
                format!("the default in {default} is not shown: the parameter is of type {expected}");
            let hint = if collection_type.is_empty() {
                format!("add collectionType: {default}")
            } else {
                format!("give the default in {expected}")
            };
            findings.push(Place::of(value).warning("default-mismatch", message, hint));
        }
    }
}

fn is_null(node: Node<'_>) -> bool {
    matches!(node.content(), Content::Scalar(Scalar::Null))
}

fn text<'d>(item: Node<'d>, field: &str) -> &'d str {
    match child(item, field).map(|node| node.content()) {
        Some(Content::Scalar(Scalar::Text(text))) => text,
        _ => "",
    }
}
