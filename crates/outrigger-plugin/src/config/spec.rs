//! `spec`: what a plugin runs, and when.

use super::announcement::{ParameterAnnouncement, announcements};
use super::decode::Decoder;
use super::keys;
use super::problem::Problem;
use crate::yaml::{Content, Entry, Node, Scalar};

const COMMAND_HINT: &str = "write it as a list: [program, argument, …]";

const VERSION_HINT: &str = "put it in quotes; without them 1.10 is the number 1.1";

/// `spec` of a plugin.yaml.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spec {
    /// Becomes part of the plugin's name; may be empty.
    pub version: String,
    /// Runs before every `generate`, in the same tree.
    pub init: Command,
    /// Prints the manifests.
    pub generate: Command,
    /// How the plugin recognises its applications.
    pub discover: Discover,
    /// What the parameters tab of an application shows.
    pub parameters: Parameters,
    /// Whether files keep their modes instead of 0644.
    pub preserve_file_mode: bool,
    /// Whether generate may use the repository's git credentials.
    pub provide_git_creds: bool,
    /// TCP address to listen on, as in `:9090`; may be empty.
    pub listen_address: String,
    /// Settings that only Outrigger knows.
    pub outrigger: Outrigger,
}

/// A program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// Further arguments.
    pub args: Vec<String>,
}

impl Command {
    /// Whether there is anything to run.
    pub fn is_defined(&self) -> bool {
        !self.command.is_empty()
    }
}

/// How a plugin recognises its applications; the first rule that is present counts: `file_name`, `find.glob`,
/// `find.command`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discover {
    /// A pattern without `**`.
    pub file_name: String,
    /// The other rules.
    pub find: Find,
}

/// The second and third rule of [`Discover`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Find {
    /// A command that prints something for applications it recognises.
    pub command: Command,
    /// A pattern in which `**` crosses directories.
    pub glob: String,
}

/// What the parameters tab of an application shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Parameters of every application.
    pub statics: Vec<ParameterAnnouncement>,
    /// A command that prints the parameters of one application.
    pub dynamic: Command,
}

/// Settings that only Outrigger knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outrigger {
    /// What to do when generate succeeds but prints nothing.
    pub empty_output: EmptyOutput,
}

/// What to do when generate succeeds but prints nothing, which would delete everything the application owns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmptyOutput {
    /// Say so and go on, as Argo CD does silently.
    #[default]
    Warn,
    /// Refuse.
    Fail,
}

pub(super) fn spec(decoder: &mut Decoder, node: Node<'_>, out: &mut Spec) {
    let mut slots: Vec<_> = std::mem::take(&mut out.parameters.statics).into_iter().map(Some).collect();
    for Entry { key, value } in decoder.entries("spec", node) {
        match keys::field(keys::SPEC, &key.text) {
            Some("version") => decoder.text_with_hint("spec.version", value, &mut out.version, VERSION_HINT),
            Some("init") => command(decoder, "spec.init", value, &mut out.init),
            Some("generate") => command(decoder, "spec.generate", value, &mut out.generate),
            Some("discover") => discover(decoder, value, &mut out.discover),
            Some("parameters") => parameters(decoder, value, &mut slots, &mut out.parameters.dynamic),
            Some("preserveFileMode") => {
                decoder.flag("spec.preserveFileMode", value, &mut out.preserve_file_mode);
            }
            Some("provideGitCreds") => {
                decoder.flag("spec.provideGitCreds", value, &mut out.provide_git_creds);
            }
            Some("listenAddress") => decoder.text("spec.listenAddress", value, &mut out.listen_address),
            Some("outrigger") => outrigger(decoder, value, &mut out.outrigger),
            _ => {}
        }
    }
    out.parameters.statics = slots.into_iter().flatten().collect();
}

fn command(decoder: &mut Decoder, path: &str, node: Node<'_>, out: &mut Command) {
    for Entry { key, value } in decoder.entries(path, node) {
        command_field(decoder, path, keys::field(keys::COMMAND, &key.text), value, out);
    }
}

fn command_field(decoder: &mut Decoder, path: &str, field: Option<&str>, value: Node<'_>, out: &mut Command) {
    match field {
        Some("command") => decoder.texts(&format!("{path}.command"), value, &mut out.command, COMMAND_HINT),
        Some("args") => decoder.texts(&format!("{path}.args"), value, &mut out.args, COMMAND_HINT),
        _ => {}
    }
}

fn discover(decoder: &mut Decoder, node: Node<'_>, out: &mut Discover) {
    for Entry { key, value } in decoder.entries("spec.discover", node) {
        match keys::field(keys::DISCOVER, &key.text) {
            Some("fileName") => decoder.text("spec.discover.fileName", value, &mut out.file_name),
            Some(_) => find(decoder, value, &mut out.find),
            None => {}
        }
    }
}

fn find(decoder: &mut Decoder, node: Node<'_>, out: &mut Find) {
    let path = "spec.discover.find";
    for Entry { key, value } in decoder.entries(path, node) {
        match keys::field(keys::FIND, &key.text) {
            Some("glob") => decoder.text("spec.discover.find.glob", value, &mut out.glob),
            field => command_field(decoder, path, field, value, &mut out.command),
        }
    }
}

fn parameters(
    decoder: &mut Decoder,
    node: Node<'_>,
    slots: &mut Vec<Option<ParameterAnnouncement>>,
    dynamic: &mut Command,
) {
    for Entry { key, value } in decoder.entries("spec.parameters", node) {
        match keys::field(keys::PARAMETERS, &key.text) {
            Some("static") => announcements(decoder, "spec.parameters.static", value, slots),
            Some(_) => command(decoder, "spec.parameters.dynamic", value, dynamic),
            None => {}
        }
    }
}

/// Our own settings are read strictly: a misspelt one must not be lost in silence.
fn outrigger(decoder: &mut Decoder, node: Node<'_>, out: &mut Outrigger) {
    for Entry { key, value } in decoder.entries("spec.outrigger", node) {
        match key.text.as_ref() {
            "emptyOutput" => empty_output(decoder, value, &mut out.empty_output),
            unknown => {
                let suggestion = keys::similar(keys::OUTRIGGER, unknown);
                let hint = suggestion.map_or_else(
                    || format!("known settings: {}", keys::OUTRIGGER.join(", ")),
                    |known| format!("did you mean {known}?"),
                );
                let message = format!("spec.outrigger has no setting {unknown:?}");
                decoder.problems.push(Problem {
                    line: key.line,
                    column: key.column,
                    code: "unknown-setting",
                    message,
                    hint,
                });
            }
        }
    }
}

fn empty_output(decoder: &mut Decoder, node: Node<'_>, out: &mut EmptyOutput) {
    let value = match node.content() {
        Content::Scalar(Scalar::Text(text)) => text.as_ref(),
        _ => "",
    };
    match value {
        "warn" => *out = EmptyOutput::Warn,
        "fail" => *out = EmptyOutput::Fail,
        other => {
            let suggestion = keys::similar(&["warn", "fail"], other);
            let hint = suggestion.map(|known| format!("did you mean {known}?")).unwrap_or_default();
            let message = "spec.outrigger.emptyOutput must be warn or fail".to_owned();
            decoder.problem(node, "setting", message, &hint);
        }
    }
}
