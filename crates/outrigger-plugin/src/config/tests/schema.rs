//! The schema describes what the parser reads.

use serde_json::{Value, json};

use super::{DOCUMENTED, with_spec};
use crate::config::schema::json_schema;
use crate::config::{PluginConfig, keys};
use crate::yaml;

/// Just enough of JSON Schema for the schema at hand; patterns are left out.
fn violations(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect("reference leads nowhere");
        found.extend(violations(root, target, value, path));
    }
    let type_fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some(other) => panic!("unexpected type {other}"),
        None => true,
    };
    let constant_fits = schema.get("const").is_none_or(|constant| constant == value);
    let choice_fits = schema["enum"].as_array().is_none_or(|choices| choices.contains(value));
    if !(type_fits && constant_fits && choice_fits) {
        found.push(path.to_owned());
    }
    for (key, item) in value.as_object().into_iter().flatten() {
        let below = format!("{path}.{key}");
        match (schema["properties"].get(key), schema.get("additionalProperties")) {
            (Some(property), _) => found.extend(violations(root, property, item, &below)),
            (None, Some(Value::Bool(false))) => found.push(below),
            (None, Some(other)) => found.extend(violations(root, other, item, &below)),
            (None, None) => {}
        }
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(required).is_none() {
            found.push(format!("{path}.{required}"));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        found.extend(violations(root, schema.get("items").unwrap_or(&json!({})), item, &format!("{path}[]")));
    }
    found
}

fn check(file: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(&yaml::to_json(file.as_bytes(), 1 << 20).unwrap()).unwrap();
    let schema = json_schema();
    violations(&schema, &schema, &value, "")
}

fn documented(lines: &str) -> String {
    format!("apiVersion: argoproj.io/v1alpha1\n{}", with_spec(lines))
}

#[test]
fn what_the_schema_accepts_the_parser_accepts() {
    let samples = [
        DOCUMENTED.to_owned(),
        documented(""),
        documented("  version: v1.0.0\n  discover: {find: {glob: '**/Chart.yaml'}}"),
        documented("  discover: {find: {command: [sh, -c], args: ['find . -name env.yaml']}}"),
        documented("  outrigger: {emptyOutput: warn}\n  listenAddress: 0.0.0.0:9090"),
        documented("  parameters: {static: [{name: a, collectionType: map, map: {b: c}}]}"),
    ];
    for sample in samples {
        assert_eq!(check(&sample), Vec::<String>::new(), "{sample}");
        assert!(PluginConfig::parse(sample.as_bytes()).is_ok(), "{sample}");
    }
}

#[test]
fn what_the_parser_refuses_the_schema_refuses() {
    for lines in [
        "  version: 1.0",
        "  init: {command: x}",
        "  init: {command: [1]}",
        "  discover: {fileName: 1}",
        "  outrigger: {emptyOutput: maybe}",
        "  outrigger: {unknown: 1}",
        "  parameters: {static: [{name: 1}]}",
        "  preserveFileMode: 'true'",
    ] {
        assert!(PluginConfig::parse(documented(lines).as_bytes()).is_err(), "{lines}");
        assert_ne!(check(&documented(lines)), Vec::<String>::new(), "{lines}");
    }
}

#[test]
fn schema_and_parser_know_the_same_keys() {
    let schema = json_schema();
    let same = |pointer: &str, fields: &[&str]| {
        let properties =
            schema.pointer(pointer).and_then(|part| part["properties"].as_object()).expect(pointer);
        let mut expected: Vec<&str> = fields.to_vec();
        let mut actual: Vec<&str> = properties.keys().map(String::as_str).collect();
        expected.sort_unstable();
        actual.sort_unstable();
        assert_eq!(actual, expected, "{pointer}");
        for (key, property) in properties {
            let described = property.get("description").is_some() || key == "find";
            assert!(described, "{pointer}/{key} has no description");
        }
    };
    same("", keys::ROOT);
    same("/properties/spec", keys::SPEC);
    same("/properties/spec/properties/discover", keys::DISCOVER);
    same("/properties/spec/properties/discover/properties/find", keys::FIND);
    same("/properties/spec/properties/parameters", keys::PARAMETERS);
    same("/properties/spec/properties/outrigger", keys::OUTRIGGER);
    same("/$defs/command", keys::COMMAND);
    same("/$defs/announcement", keys::ANNOUNCEMENT);
}
