//! Which types the fields accept.

use super::with_spec;
use crate::config::PluginConfig;

fn check(file: impl Fn(&str) -> String, cases: &[(&str, bool)]) {
    for (lines, accepted) in cases {
        let result = PluginConfig::parse(file(lines).as_bytes());
        assert_eq!(result.is_ok(), *accepted, "{lines:?} gave {result:?}");
    }
}

#[test]
fn fields_of_the_spec_have_types() {
    check(
        with_spec,
        &[
            ("  version: v1.0", true),
            ("  version: 1.0", false),
            ("  version: '1.0'", true),
            ("  version: true", false),
            ("  version: null", true),
            ("  version: ", true),
            ("  version: [a]", false),
            ("  version: 2024-01-01", true),
            ("  version: 1.2.3", true),
            ("  init: null", true),
            ("  init: []", false),
            ("  init: x", false),
            ("  init: {command: x}", false),
            ("  init: {command: [1]}", false),
            ("  init: {command: [null]}", true),
            ("  init: {command: []}", true),
            ("  init: {command: {a: b}}", false),
            ("  init: {command: [x], args: x}", false),
            ("  init: {command: [x], args: [true]}", false),
            (r#"  init: {command: [x], args: ["true"]}"#, true),
            ("  discover: {fileName: '*'}", true),
            ("  discover: {fileName: 1}", false),
            ("  discover: []", false),
            ("  discover: {find: x}", false),
            ("  discover: {find: {glob: 1}}", false),
            ("  discover: {find: {glob: '**'}}", true),
            ("  discover: {find: {command: x}}", false),
            ("  parameters: []", false),
            ("  parameters: {static: {}}", false),
            ("  parameters: {static: [x]}", false),
            ("  parameters: {static: [{name: 1}]}", false),
            ("  parameters: {static: [{name: a, required: 'true'}]}", false),
            ("  parameters: {static: [{name: a, required: yes}]}", true),
            ("  parameters: {static: [{array: [1]}]}", false),
            ("  parameters: {static: [{array: a}]}", false),
            ("  parameters: {static: [{map: {a: 1}}]}", false),
            ("  parameters: {static: [{map: {1: a}}]}", true),
            ("  parameters: {static: [{map: [a]}]}", false),
            ("  parameters: {static: [{string: 5}]}", false),
            ("  parameters: {static: [null]}", true),
            ("  parameters: {dynamic: [x]}", false),
            ("  parameters: {dynamic: {command: [x]}}", true),
            ("  preserveFileMode: true", true),
            ("  preserveFileMode: 'true'", false),
            ("  preserveFileMode: 1", false),
            ("  preserveFileMode: on", true),
            ("  preserveFileMode: null", true),
            ("  provideGitCreds: x", false),
            ("  lockRepo: [anything]", true),
            ("  unknown: {a: {b: [1, 2.5]}}", true),
            ("  unknown: .nan", false),
            ("  unknown: {null: 1}", false),
            ("  unknown: {? [a] : 1}", false),
            ("  a: 1\n  a: 2", true),
            ("  x: &x [*x]", false),
        ],
    );
}

#[test]
fn fields_of_the_metadata_have_types_though_only_the_name_matters() {
    let file = |lines: &str| {
        format!(
            "kind: ConfigManagementPlugin\nspec: {{generate: {{command: [x]}}}}\nmetadata:\n  name: p\n{lines}\n"
        )
    };
    check(
        file,
        &[
            ("  namespace: argocd", true),
            ("  namespace: 1", false),
            ("  labels: {a: b}", true),
            ("  labels: {a: 1}", false),
            ("  labels: {a: null}", true),
            ("  labels: [a]", false),
            ("  annotations: {a: true}", false),
            ("  annotations: null", true),
            ("  creationTimestamp: null", true),
            ("  creationTimestamp: 2024-01-31T12:00:00Z", true),
            (r#"  creationTimestamp: "2024-01-31T12:00:00.5+02:00""#, true),
            ("  creationTimestamp: 2024-01-31", false),
            (r#"  creationTimestamp: """#, false),
            (r#"  creationTimestamp: "2024-02-30T12:00:00Z""#, false),
            (r#"  creationTimestamp: "2024-01-31T1:00:00Z""#, true),
            (r#"  creationTimestamp: "2024-1-31T01:00:00Z""#, false),
            ("  creationTimestamp: 5", false),
            ("  deletionTimestamp: x", false),
            ("  generation: 5", true),
            ("  generation: 5.5", false),
            ("  generation: 1e3", true),
            ("  generation: '5'", false),
            ("  generation: 99999999999999999999", false),
            ("  deletionGracePeriodSeconds: -1", true),
            ("  finalizers: [a]", true),
            ("  finalizers: a", false),
            ("  uid: 5", false),
            ("  ownerReferences: [{name: a, controller: true}]", true),
            ("  ownerReferences: [{controller: 'true'}]", false),
            ("  ownerReferences: {}", false),
            ("  managedFields: [{fieldsV1: {anything: 1}, time: null}]", true),
            ("  managedFields: [{time: x}]", false),
            ("  unknown: 5", true),
        ],
    );
}

#[test]
fn our_own_settings_are_strict() {
    check(
        with_spec,
        &[
            ("  listenAddress: ':9090'", true),
            ("  listenAddress: 9090", false),
            ("  outrigger: null", true),
            ("  outrigger: {}", true),
            ("  outrigger: []", false),
            ("  outrigger: {emptyOutput: warn}", true),
            ("  outrigger: {emptyOutput: fail}", true),
            ("  outrigger: {emptyOutput: failed}", false),
            ("  outrigger: {emptyOutput: true}", false),
            ("  outrigger: {emptyOutput: }", false),
            ("  outrigger: {EmptyOutput: warn}", false),
            ("  outrigger: {unknown: 1}", false),
        ],
    );
}
