//! Announced parameters: what the parameters tab of an application offers.

use std::collections::BTreeMap;

use serde::Serialize;

use super::decode::Decoder;
use super::keys;
use super::problem::ConfigError;
use crate::yaml::{Content, Document, Entry, Node, Scalar};

/// One parameter that a plugin announces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParameterAnnouncement {
    /// Identifies the parameter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// A longer description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tooltip: String,
    /// Whether a value must be given.
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
    /// Type of the value or, in collections, of the values.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub item_type: String,
    /// `string` (or empty), `array` or `map`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub collection_type: String,
    /// Default of a single value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub string: String,
    /// Default of an array.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub array: Vec<String>,
    /// Default of a map.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub map: BTreeMap<String, String>,
}

// serde asks for a reference.
fn is_false(flag: &bool) -> bool {
    !flag
}

impl From<ParameterAnnouncement> for outrigger_wire::repository::ParameterAnnouncement {
    fn from(announcement: ParameterAnnouncement) -> Self {
        let ParameterAnnouncement {
            name,
            title,
            tooltip,
            required,
            item_type,
            collection_type,
            string,
            array,
            map,
        } = announcement;
        Self { name, title, tooltip, required, item_type, collection_type, string, array, map }
    }
}

impl From<outrigger_wire::repository::ParameterAnnouncement> for ParameterAnnouncement {
    fn from(announcement: outrigger_wire::repository::ParameterAnnouncement) -> Self {
        let outrigger_wire::repository::ParameterAnnouncement {
            name,
            title,
            tooltip,
            required,
            item_type,
            collection_type,
            string,
            array,
            map,
        } = announcement;
        Self { name, title, tooltip, required, item_type, collection_type, string, array, map }
    }
}

/// Reads what the command of dynamic parameters printed: a JSON list in the shape of the static one.
///
/// Null entries are dropped: the reference accepts them and then panics when it sends its reply.
pub fn parse_announcements(json: &[u8]) -> Result<Vec<ParameterAnnouncement>, ConfigError> {
    let document = Document::parse_json(json)?;
    let mut decoder = Decoder::default();
    let mut slots = Vec::new();
    if let Some(root) = document.root() {
        announcements(&mut decoder, "the list of parameters", root, &mut slots);
    }
    ConfigError::from_problems(decoder.problems)?;
    Ok(slots.into_iter().flatten().collect())
}

/// Items take the places of earlier ones; a null item empties its place.
pub(super) fn announcements(
    decoder: &mut Decoder,
    path: &str,
    node: Node<'_>,
    slots: &mut Vec<Option<ParameterAnnouncement>>,
) {
    let Some(items) = decoder.items(path, node, "") else {
        if matches!(node.content(), Content::Scalar(Scalar::Null)) {
            slots.clear();
        }
        return;
    };
    slots.resize(items.len(), None);
    for (index, (item, slot)) in items.into_iter().zip(slots).enumerate() {
        if matches!(item.content(), Content::Scalar(Scalar::Null)) {
            *slot = None;
            continue;
        }
        announcement(decoder, &format!("{path}[{index}]"), item, slot.get_or_insert_default());
    }
}

fn announcement(decoder: &mut Decoder, path: &str, node: Node<'_>, out: &mut ParameterAnnouncement) {
    for Entry { key, value } in decoder.entries(path, node) {
        let Some(field) = keys::field(keys::ANNOUNCEMENT, &key.text) else {
            continue;
        };
        let path = format!("{path}.{field}");
        match field {
            "name" => decoder.text(&path, value, &mut out.name),
            "title" => decoder.text(&path, value, &mut out.title),
            "tooltip" => decoder.text(&path, value, &mut out.tooltip),
            "required" => decoder.flag(&path, value, &mut out.required),
            "itemType" => decoder.text(&path, value, &mut out.item_type),
            "collectionType" => decoder.text(&path, value, &mut out.collection_type),
            "string" => decoder.text(&path, value, &mut out.string),
            "array" => decoder.texts(&path, value, &mut out.array, ""),
            _ => decoder.text_map(&path, value, &mut out.map),
        }
    }
}
