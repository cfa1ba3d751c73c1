//! Values of fields, names, and errors.

use super::{DOCUMENTED, with_spec};
use crate::config::{Command, EmptyOutput, PluginConfig};

fn parse(text: &str) -> PluginConfig {
    PluginConfig::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn error(text: &str) -> String {
    PluginConfig::parse(text.as_bytes()).unwrap_err().to_string()
}

fn command(command: &[&str], args: &[&str]) -> Command {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Command { command: owned(command), args: owned(args) }
}

#[test]
fn the_documented_file_is_read_completely() {
    let config = parse(DOCUMENTED);
    assert_eq!(config.api_version, "argoproj.io/v1alpha1");
    assert_eq!(config.name, "my-plugin");
    assert_eq!(config.spec.version, "v1.0");
    assert_eq!(config.spec.init, command(&["sh"], &["-c", "echo \"Initializing...\""]));
    assert_eq!(
        config.spec.generate,
        command(&["sh", "-c"], &["helm template \"$ARGOCD_APP_NAME\" . | cat\n"])
    );
    assert_eq!(config.spec.discover.file_name, "./subdir/s*.yaml");
    assert_eq!(config.spec.discover.find.glob, "");
    assert!(!config.spec.discover.find.command.is_defined());
    assert_eq!(config.spec.parameters.statics.len(), 3);
    assert_eq!(config.spec.parameters.statics[0].string, "default-string-value");
    assert_eq!(config.spec.parameters.statics[1].array, ["default", "items"]);
    assert_eq!(config.spec.parameters.statics[2].map["some"], "value");
    assert_eq!(config.spec.parameters.dynamic.command[0], "echo");
    assert!(!config.spec.preserve_file_mode);
    assert!(config.spec.provide_git_creds);
    assert_eq!(config.spec.listen_address, ":9090");
    assert_eq!(config.spec.outrigger.empty_output, EmptyOutput::Fail);
}

#[test]
fn the_socket_is_named_after_name_and_version() {
    assert_eq!(parse(DOCUMENTED).name_and_version(), "my-plugin-v1.0");
    assert_eq!(parse(DOCUMENTED).socket_file_name(), "my-plugin-v1.0.sock");
    assert_eq!(parse(&with_spec("")).name_and_version(), "p");
    assert_eq!(parse(&with_spec("")).socket_file_name(), "p.sock");
}

#[test]
fn discovery_is_configured_by_any_of_its_rules() {
    let configured = |lines: &str| parse(&with_spec(lines)).is_discovery_configured();
    assert!(!configured(""));
    assert!(!configured("  discover: {find: {args: [x]}}"));
    assert!(!configured("  discover: {fileName: ''}"));
    assert!(configured("  discover: {fileName: x}"));
    assert!(configured("  discover: {find: {glob: x}}"));
    assert!(configured("  discover: {find: {command: [x]}}"));
}

#[test]
fn the_digest_is_that_of_the_bytes() {
    let digest = parse(&with_spec("")).digest().to_owned();
    assert_eq!(digest.len(), 64);
    assert_ne!(digest, parse(&with_spec("# comment")).digest());
    assert_eq!(digest, parse(&with_spec("")).digest());
}

#[test]
fn keys_are_matched_without_regard_to_case() {
    let config = parse(
        "KIND: ConfigManagementPlugin\nMetaData: {NAME: p}\nspec: {generate: {COMMAND: [x]}, preservefilemode: yes}\n",
    );
    assert_eq!(config.name, "p");
    assert_eq!(config.spec.generate, command(&["x"], &[]));
    assert!(config.spec.preserve_file_mode);
    assert_eq!(
        parse("kind: ConfigManagementPlugin\nmetadata: {name: p}\n\u{17f}pec: {generate: {command: [x]}}\n")
            .name,
        "p"
    );
}

#[test]
fn of_several_spellings_the_last_in_byte_order_wins_and_structures_are_combined() {
    assert_eq!(parse(&with_spec("  version: a\n  VERSION: b\n  Version: c")).spec.version, "a");
    assert_eq!(parse(&with_spec("  version: null\n  Version: c")).spec.version, "c");
    let both = "kind: ConfigManagementPlugin\nmetadata: {name: p}\n\
                Spec: {version: a, generate: {command: [x]}}\nspec: {version: b}\n";
    assert_eq!(parse(both).spec.version, "b");
    assert_eq!(parse(both).spec.generate, command(&["x"], &[]));
    let stale = with_spec("  init: {Command: [a, b], command: [c, null]}");
    assert_eq!(parse(&stale).spec.init, command(&["c", "b"], &[]));
    assert!(error("kind: Other\nKind: ConfigManagementPlugin\nmetadata: {name: p}\nspec: {generate: {command: [x]}}\n")
        .contains("kind must be ConfigManagementPlugin"));
}

#[test]
fn files_may_be_json_and_may_hold_directives_and_further_documents() {
    parse(
        r#"{"kind": "ConfigManagementPlugin", "metadata": {"name": "p"}, "spec": {"generate": {"command": ["x"]}}}"#,
    );
    parse(&format!("%YAML 1.1\n---\n{}---\nignored: [", with_spec("")));
}

#[test]
fn null_parameters_are_dropped() {
    let config = parse(&with_spec("  parameters: {static: [null, {name: a}, ~]}"));
    assert_eq!(config.spec.parameters.statics.len(), 1);
}

#[test]
fn name_kind_and_generate_are_required() {
    for empty in ["", "null", "{}", "# nothing\n"] {
        let text = error(empty);
        assert_eq!(text.lines().count(), 3, "{text}");
    }
    assert_eq!(error("[]"), "line 1, column 1: the file must be a mapping, not a list");
    assert_eq!(
        error("kind: Plugin\nmetadata: {name: p}\nspec:\n  generate: {command: [x]}\n"),
        "line 1, column 7: kind must be ConfigManagementPlugin"
    );
    assert_eq!(
        error("kind: ConfigManagementPlugin\nmetadata: {name: ''}\nspec:\n  generate: {command: [x]}\n"),
        "line 2, column 11: metadata.name is missing (hint: every plugin needs a name)"
    );
    assert!(
        error("kind: ConfigManagementPlugin\nmetadata: {name: p}\nspec:\n  init: {command: [x]}\n")
            .starts_with("line 4, column 3: spec.generate.command is missing")
    );
}

#[test]
fn every_problem_is_told_with_its_place() {
    let text = "kind: ConfigManagementPlugin\nmetadata:\n  name: 5\nspec:\n  version: 1.10\n  generate:\n    command: helm template .\n  outrigger:\n    emptyOuput: fail\n";
    let expected = [
        "line 3, column 9: metadata.name must be text, not a number (hint: put the value in quotes)",
        "line 5, column 12: spec.version must be text, not a number (hint: put it in quotes; without them 1.10 is the number 1.1)",
        "line 7, column 14: spec.generate.command must be a list, not text (hint: write it as a list: [program, argument, …])",
        "line 9, column 5: spec.outrigger has no setting \"emptyOuput\" (hint: did you mean emptyOutput?)",
    ];
    assert_eq!(error(text), expected.join("\n"));
}

#[test]
fn broken_yaml_is_located() {
    assert_eq!(error("kind: x\nmetadata: a: b\n"), "line 2, column 12: mapping values are not allowed here");
}
