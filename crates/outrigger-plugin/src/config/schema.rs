//! plugin.yaml as JSON Schema, for editors.
//!
//! The schema describes files as they are documented: it is stricter than the parser, which ignores unknown keys
//! and the case of known ones. Whatever the schema accepts, the parser accepts.

use serde_json::{Value, json};

use super::{API_VERSION, KIND};

/// JSON Schema (2020-12) of a plugin.yaml.
pub fn json_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "description": "A config management plugin of Argo CD.",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "additionalProperties": false,
        "properties": {
            "apiVersion": { "description": "Version of this format.", "const": API_VERSION },
            "kind": { "description": "What the file is.", "const": KIND },
            "metadata": metadata(),
            "spec": spec(),
        },
        "$defs": {
            "command": {
                "type": "object",
                "additionalProperties": false,
                "required": ["command"],
                "properties": command_properties("The program, and arguments if you like. No shell is involved."),
            },
            "announcement": announcement(),
        },
    })
}

fn metadata() -> Value {
    json!({
        "description": "Only the name has a meaning.",
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {
                "description": "Name of the plugin. Applications use it, followed by a dash and the version if there is one.",
                "type": "string",
                "minLength": 1,
                "maxLength": 70,
                "pattern": "^[A-Za-z0-9._-]+$",
            },
            "labels": { "description": "Ignored.", "type": "object", "additionalProperties": { "type": "string" } },
            "annotations": { "description": "Ignored.", "type": "object", "additionalProperties": { "type": "string" } },
        },
    })
}

fn spec() -> Value {
    json!({
        "description": "What the plugin runs, and when.",
        "type": "object",
        "required": ["generate"],
        "additionalProperties": false,
        "properties": {
            "version": {
                "description": "Becomes part of the plugin's name: name-version. Quote it, or 1.10 is a number.",
                "type": "string",
                "pattern": "^[A-Za-z0-9._-]*$",
            },
            "init": {
                "description": "Runs in the application's directory before every generate, in the same tree.",
                "$ref": "#/$defs/command",
            },
            "generate": {
                "description": "Runs in the application's directory and prints manifests as YAML or JSON.",
                "$ref": "#/$defs/command",
            },
            "discover": discover(),
            "parameters": {
                "description": "What the parameters tab of an application shows.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "static": {
                        "description": "Parameters of every application.",
                        "type": "array",
                        "items": { "$ref": "#/$defs/announcement" },
                    },
                    "dynamic": {
                        "description": "Runs in the application's directory and prints a JSON list in the shape of static.",
                        "$ref": "#/$defs/command",
                    },
                },
            },
            "preserveFileMode": {
                "description": "Keep the files' modes. Without it no file of the repository is executable.",
                "type": "boolean",
                "default": false,
            },
            "provideGitCreds": {
                "description": "Let generate use the repository's git credentials.",
                "type": "boolean",
                "default": false,
            },
            "listenAddress": {
                "description": "TCP address to listen on when the plugin runs as a service, as in :9090.",
                "type": "string",
                "pattern": ":[0-9]+$",
            },
            "outrigger": outrigger(),
        },
    })
}

fn discover() -> Value {
    let mut find = command_properties(
        "Runs in the application's directory. The application matches if it exits with 0 and prints anything; any other exit status is an error.",
    );
    find["glob"] = json!({
        "description": "Pattern below the application's directory in which ** crosses directories. Inside {a,b} a * stands for itself.",
        "type": "string",
    });
    json!({
        "description": "How the plugin recognises its applications. Only the first of fileName, find.glob and find.command counts.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "fileName": {
                "description": "Pattern below the application's directory, without **.",
                "type": "string",
            },
            "find": { "type": "object", "additionalProperties": false, "properties": find },
        },
    })
}

fn outrigger() -> Value {
    json!({
        "description": "Settings that only Outrigger knows; Argo CD's own server ignores them.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "emptyOutput": {
                "description": "What to do when generate succeeds but prints no manifest, which would delete everything the application owns.",
                "enum": ["warn", "fail"],
                "default": "warn",
            },
        },
    })
}

fn announcement() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "properties": {
            "name": { "description": "Identifies the parameter.", "type": "string", "minLength": 1 },
            "title": { "description": "The name for people.", "type": "string" },
            "tooltip": { "description": "A longer description.", "type": "string" },
            "required": { "description": "Whether a value must be given.", "type": "boolean", "default": false },
            "itemType": { "description": "Type of the value or, in collections, of the values.", "type": "string" },
            "collectionType": {
                "description": "What the parameter holds. It is not inferred from the default.",
                "enum": ["", "string", "array", "map"],
                "default": "string",
            },
            "string": { "description": "Default of a single value.", "type": "string" },
            "array": { "description": "Default of an array.", "type": "array", "items": { "type": "string" } },
            "map": {
                "description": "Default of a map.",
                "type": "object",
                "additionalProperties": { "type": "string" },
            },
        },
    })
}

fn command_properties(description: &str) -> Value {
    json!({
        "command": {
            "description": description,
            "type": "array",
            "minItems": 1,
            "items": { "type": "string" },
        },
        "args": { "description": "Further arguments.", "type": "array", "items": { "type": "string" } },
    })
}
