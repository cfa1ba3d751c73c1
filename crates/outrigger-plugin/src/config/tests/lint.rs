//! What lint says about files.

use super::{DOCUMENTED, with_spec};
use crate::config::lint::{Finding, Severity, lint};

fn findings(text: &str) -> Vec<Finding> {
    lint(text.as_bytes())
}

/// Findings about a file that is fine but for the given lines below `spec`.
fn codes(lines: &str) -> Vec<&'static str> {
    let text = format!("apiVersion: argoproj.io/v1alpha1\n{}", with_spec(lines));
    findings(&text).into_iter().map(|finding| finding.code).collect()
}

fn named(name: &str) -> Vec<(&'static str, Severity)> {
    let text = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata: {{name: {name}}}\nspec: {{generate: {{command: [x]}}}}\n"
    );
    findings(&text).into_iter().map(|finding| (finding.code, finding.severity)).collect()
}

#[test]
fn the_documented_file_is_fine() {
    assert_eq!(findings(DOCUMENTED), []);
}

#[test]
fn a_finding_says_where_what_and_how_to_mend_it() {
    let text = "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata:\n  name: p\nspec:\n  genrate:\n    command: [x]\n  generate:\n    command: [x]\n";
    let expected = Finding {
        severity: Severity::Warning,
        line: 6,
        column: 3,
        code: "unknown-key",
        message: "the key \"genrate\" is unknown and ignored".to_owned(),
        hint: "did you mean generate?".to_owned(),
    };
    assert_eq!(findings(text), [expected]);
}

#[test]
fn all_errors_come_at_once_in_the_order_of_the_file() {
    let text = "kind: Plugin\nmetadata: {name: 5}\nspec:\n  version: 1.10\n  generate: {command: helm}\n  lockRepo: true\n";
    let found: Vec<_> = findings(text).into_iter().map(|f| (f.line, f.code, f.severity)).collect();
    let expected = [
        (1, "api-version", Severity::Warning),
        (1, "kind", Severity::Error),
        (2, "type", Severity::Error),
        (4, "type", Severity::Error),
        (5, "type", Severity::Error),
        (6, "legacy-key", Severity::Warning),
    ];
    assert_eq!(found, expected);
}

#[test]
fn broken_yaml_is_one_error() {
    let found = findings("kind: [\n");
    assert_eq!((found.len(), found[0].code, found[0].severity), (1, "syntax", Severity::Error));
}

#[test]
fn legacy_keys_are_pointed_out() {
    assert_eq!(
        codes("  lockRepo: true\n  allowConcurrency: true\n  name: x\n  discovery: {}"),
        ["legacy-key"; 4]
    );
    let text = "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata: {name: p, namespace: argocd}\nspec: {generate: {command: [x]}}\n";
    assert_eq!(findings(text).iter().map(|finding| finding.code).collect::<Vec<_>>(), ["legacy-key"]);
}

#[test]
fn unknown_and_misspelt_keys_are_pointed_out() {
    assert_eq!(codes("  unknown: 1"), ["unknown-key"]);
    assert_eq!(codes("  discover: {filename: x}"), ["key-case"]);
    assert_eq!(codes("  preservefilemode: true\n  preserveFileMode: true"), ["key-case", "repeated-key"]);
    assert_eq!(codes("  init: {command: [x], arg: [y]}"), ["unknown-key"]);
    assert_eq!(codes("  parameters: {static: [{name: a, titel: x}]}"), ["unknown-key"]);
}

#[test]
fn only_the_first_discovery_rule_counts() {
    assert_eq!(codes("  discover: {fileName: x, find: {glob: '**'}}"), ["several-discovery-rules"]);
    assert_eq!(
        codes("  discover: {fileName: x, find: {glob: '**', command: [x]}}"),
        ["several-discovery-rules", "several-discovery-rules"]
    );
    assert_eq!(codes("  discover: {find: {command: [x]}}"), [""; 0]);
}

#[test]
fn globs_that_do_not_mean_what_they_seem_to() {
    assert_eq!(codes("  discover: {find: {glob: Chart.yaml}}"), ["glob-without-wildcard"]);
    assert_eq!(codes("  discover: {find: {glob: 'a?.yaml'}}"), ["glob-without-wildcard"]);
    assert_eq!(codes("  discover: {find: {glob: '**/{*.yaml,*.yml}'}}"), ["star-in-braces"]);
    assert_eq!(codes("  discover: {find: {glob: '**/*.{yaml,yml}'}}"), [""; 0]);
    assert_eq!(codes("  discover: {fileName: '**/Chart.yaml'}"), ["double-star"]);
}

#[test]
fn malformed_patterns_are_errors() {
    for rule in ["{fileName: '[a'}", "{find: {glob: '*[b-a]'}}"] {
        let text = format!("apiVersion: argoproj.io/v1alpha1\n{}", with_spec(&format!("  discover: {rule}")));
        let found = findings(&text);
        assert_eq!((found[0].code, found[0].severity), ("bad-pattern", Severity::Error), "{rule}");
        assert!(found[0].message.contains("is no valid pattern: "), "{}", found[0].message);
    }
}

#[test]
fn shell_syntax_without_a_shell_is_pointed_out() {
    assert_eq!(codes("  init: {command: [helm, dep, build, '&&', echo, x]}"), ["shell-syntax"]);
    assert_eq!(codes("  init: {command: [helm, template, $ARGOCD_APP_NAME, .]}"), ["shell-syntax"]);
    assert_eq!(codes("  init: {command: [helm], args: ['--name=${ARGOCD_APP_NAME}']}"), ["shell-syntax"]);
    assert_eq!(codes("  init: {command: [echo, '$(date)']}"), ["shell-syntax"]);
    for fine in [
        "[sh, -c, 'a && b | c > $D']",
        "[/bin/bash, -c, 'a $B']",
        "[env, FOO=1, bash, -c, 'a $B']",
        "[jq, '.a | $ENV.HOME']",
        "[grep, '^a$']",
        "[awk, '{print $1}']",
        "[kustomize, build, --enable-helm, .]",
        "[sed, 's/$X/y/']",
        "[tool, 'a|b', 'x>y', price$]",
    ] {
        assert_eq!(codes(&format!("  init: {{command: {fine}}}")), [""; 0], "{fine}");
    }
}

#[test]
fn commands_that_cannot_be_run_are_pointed_out() {
    assert_eq!(codes("  init: {command: ['helm template .']}"), ["command-in-one-string"]);
    assert_eq!(codes("  init: {args: [x]}"), ["args-without-command"]);
    assert_eq!(codes("  init: {command: ['']}"), ["empty-program"]);
}

#[test]
fn names_must_make_a_socket() {
    assert_eq!(named("good-Name_1.2"), []);
    assert_eq!(named("a/b"), [("socket-name", Severity::Error)]);
    assert_eq!(named("a b"), [("socket-name", Severity::Warning)]);
    assert_eq!(named(&"x".repeat(70)), []);
    assert_eq!(named(&"x".repeat(71)), [("socket-length", Severity::Error)]);
}

#[test]
fn the_form_of_argocd_cm_is_recognised() {
    for old in [
        "- name: a\n  generate:\n    command: [x]\n",
        "name: a\ninit:\n  command: [x]\ngenerate:\n  command: [x]\n",
        "configManagementPlugins: |\n  - name: a\n",
    ] {
        assert!(findings(old).iter().any(|finding| finding.code == "old-form"), "{old}");
    }
    assert!(
        findings("kind: ConfigManagementPlugin\nmetadata: {name: p}\ninit: {command: [x]}\nspec: {}\n")
            .iter()
            .any(|finding| finding.hint == "it belongs below spec")
    );
}

#[test]
fn the_version_of_the_format_should_be_the_documented_one() {
    let text = format!("apiVersion: v1\n{}", with_spec(""));
    assert_eq!(findings(&text).iter().map(|finding| finding.code).collect::<Vec<_>>(), ["api-version"]);
}

#[test]
fn announced_parameters_should_be_shown_as_meant() {
    let parameter = |text: &str| codes(&format!("  parameters: {{static: [{text}]}}"));
    assert_eq!(parameter("{name: a, collectionType: list}"), ["collection-type"]);
    assert_eq!(parameter("{name: a, array: [x]}"), ["default-mismatch"]);
    assert_eq!(parameter("{name: a, collectionType: map, string: x}"), ["default-mismatch"]);
    assert_eq!(parameter("{title: a}"), ["parameter-name"]);
    assert_eq!(parameter("null"), ["null-parameter"]);
    assert_eq!(parameter("{name: a, collectionType: array, array: [x]}, {name: b, string: x}"), [""; 0]);
}

#[test]
fn an_address_needs_a_port() {
    assert_eq!(codes("  listenAddress: localhost"), ["listen-address"]);
    assert_eq!(codes("  listenAddress: '[::]:9090'"), [""; 0]);
}
