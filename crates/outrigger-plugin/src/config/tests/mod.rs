//! Files with what the reference makes of them.

mod announcements;
mod lint;
mod parse;
mod schema;
mod types;

/// The smallest file that is accepted, with more lines below `spec`.
fn with_spec(lines: &str) -> String {
    format!(
        "kind: ConfigManagementPlugin\nmetadata: {{name: p}}\nspec:\n  generate: {{command: [x]}}\n{lines}\n"
    )
}

/// A file as the documentation shows it.
const DOCUMENTED: &str = r#"
apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata:
  name: my-plugin
spec:
  version: v1.0
  init:
    command: [sh]
    args: [-c, 'echo "Initializing..."']
  generate:
    command: [sh, -c]
    args:
      - |
        helm template "$ARGOCD_APP_NAME" . | cat
  discover:
    fileName: "./subdir/s*.yaml"
  parameters:
    static:
      - name: string-param
        title: Description of the string param
        tooltip: Tooltip shown when the user hovers it
        required: false
        itemType: ""
        collectionType: ""
        string: default-string-value
      - name: array-param
        array: [default, items]
        collectionType: array
      - name: map-param
        map:
          some: value
        collectionType: map
    dynamic:
      command: [echo, '[{"name": "example-param", "string": "default-string-value"}]']
  preserveFileMode: false
  provideGitCreds: true
  listenAddress: ":9090"
  outrigger:
    emptyOutput: fail
"#;
