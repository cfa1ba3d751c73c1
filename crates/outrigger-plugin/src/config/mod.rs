//! plugin.yaml: the file that says what a plugin is called and which commands it runs.
//!
//! Promised: a file is accepted or refused, and its fields have the values, as in Argo CD's own server. So keys
//! are matched without regard to case, unknown ones are ignored, later spellings of one key win over earlier
//! ones in the order of their bytes, and a number is no text: `version: 1.0` is refused. Every problem of a file
//! is reported at once, with line and column.
//!
//! Not promised: `spec.listenAddress` and `spec.outrigger` are ours; Argo CD ignores them. Inside
//! `spec.outrigger` nothing is ignored: an unknown key is an error. Null entries among the static parameters are
//! dropped; the reference keeps them and panics when it is asked for them.

mod announcement;
mod decode;
mod keys;
pub mod lint;
mod metadata;
mod problem;
pub mod schema;
mod spec;
#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

pub use announcement::{ParameterAnnouncement, parse_announcements};
pub use problem::{ConfigError, Problem};
pub use spec::{Command, Discover, EmptyOutput, Find, Outrigger, Parameters, Spec};

use crate::yaml::{Document, Entry, Node, json_limit};
use decode::Decoder;

/// The only kind of file that is accepted.
pub const KIND: &str = "ConfigManagementPlugin";
/// The documented `apiVersion`; others are accepted too.
pub const API_VERSION: &str = "argoproj.io/v1alpha1";

/// A valid plugin.yaml.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginConfig {
    /// `apiVersion`, as written.
    pub api_version: String,
    /// `metadata.name`, never empty.
    pub name: String,
    /// `spec`
    pub spec: Spec,
    digest: String,
}

impl PluginConfig {
    /// Reads and validates a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        let (config, problems) = read(bytes);
        ConfigError::from_problems(problems)?;
        Ok(config)
    }

    /// What applications call the plugin: `name`, or `name-version` if there is a version.
    pub fn name_and_version(&self) -> String {
        match self.spec.version.as_str() {
            "" => self.name.clone(),
            version => format!("{}-{version}", self.name),
        }
    }

    /// Name of the socket in the plugin directory.
    pub fn socket_file_name(&self) -> String {
        format!("{}.sock", self.name_and_version())
    }

    /// Whether the plugin can tell which applications are its own.
    pub fn is_discovery_configured(&self) -> bool {
        let discover = &self.spec.discover;
        !discover.file_name.is_empty() || !discover.find.glob.is_empty() || discover.find.command.is_defined()
    }

    /// Hex SHA-256 of the file's bytes.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// Reads as much as can be read, with every problem on the way.
fn read(bytes: &[u8]) -> (PluginConfig, Vec<Problem>) {
    let mut config = PluginConfig { digest: hex(&Sha256::digest(bytes)), ..PluginConfig::default() };
    let document = match Document::parse(bytes) {
        Ok(document) => document,
        Err(error) => return (config, vec![error.into()]),
    };
    let mut decoder = Decoder::default();
    // The reference converts the whole file to JSON first: what cannot be converted cannot be read.
    decoder.problems.extend(document.to_json(json_limit(bytes.len())).err().map(Problem::from));
    let places = root(&mut decoder, document.root(), &mut config);
    validate(&mut decoder, &config, &places);
    (config, decoder.problems)
}

/// Where to point at when something is missing.
#[derive(Debug, Default)]
struct Places<'d> {
    root: Option<Node<'d>>,
    kind: Option<Node<'d>>,
    kind_value: String,
    metadata: Option<Node<'d>>,
    spec: Option<Node<'d>>,
}

fn root<'d>(decoder: &mut Decoder, node: Option<Node<'d>>, config: &mut PluginConfig) -> Places<'d> {
    let mut places = Places { root: node, ..Places::default() };
    let Some(node) = node else { return places };
    for Entry { key, value } in decoder.entries("the file", node) {
        match keys::field(keys::ROOT, &key.text) {
            Some("apiVersion") => decoder.text("apiVersion", value, &mut config.api_version),
            Some("kind") => {
                places.kind = Some(value);
                decoder.text("kind", value, &mut places.kind_value);
            }
            Some("metadata") => {
                places.metadata = Some(value);
                metadata::metadata(decoder, value, &mut config.name);
            }
            Some(_) => {
                places.spec = Some(value);
                spec::spec(decoder, value, &mut config.spec);
            }
            None => {}
        }
    }
    places
}

fn validate(decoder: &mut Decoder, config: &PluginConfig, places: &Places<'_>) {
    if config.name.is_empty() && !decoder.has_reported(&["the file", "metadata", "metadata.name"]) {
        let message = "metadata.name is missing".to_owned();
        decoder.missing(
            places.metadata.or(places.root),
            "missing-name",
            message,
            "every plugin needs a name",
        );
    }
    if places.kind_value != KIND && !decoder.has_reported(&["the file", "kind"]) {
        let message = format!("kind must be {KIND}");
        let hint =
            if places.kind_value == "ConfigMap" { "the file wanted is the text inside its data" } else { "" };
        decoder.missing(places.kind.or(places.root), "kind", message, hint);
    }
    let generate = ["the file", "spec", "spec.generate", "spec.generate.command"];
    if !config.spec.generate.is_defined() && !decoder.has_reported(&generate) {
        let message = "spec.generate.command is missing".to_owned();
        let hint = "it is the command that prints the manifests";
        decoder.missing(places.spec.or(places.root), "missing-generate", message, hint);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
