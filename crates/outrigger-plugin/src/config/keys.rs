//! The keys of plugin.yaml, and how a key of the file finds its field.

/// The top level.
pub(super) const ROOT: &[&str] = &["apiVersion", "kind", "metadata", "spec"];
/// `spec`
pub(super) const SPEC: &[&str] = &[
    "version",
    "init",
    "generate",
    "discover",
    "parameters",
    "preserveFileMode",
    "provideGitCreds",
    "listenAddress",
    "outrigger",
];
/// `spec.init`, `spec.generate`, `spec.parameters.dynamic`
pub(super) const COMMAND: &[&str] = &["command", "args"];
/// `spec.discover`
pub(super) const DISCOVER: &[&str] = &["fileName", "find"];
/// `spec.discover.find`
pub(super) const FIND: &[&str] = &["glob", "command", "args"];
/// `spec.parameters`
pub(super) const PARAMETERS: &[&str] = &["static", "dynamic"];
/// `spec.parameters.static[]`
pub(super) const ANNOUNCEMENT: &[&str] =
    &["name", "title", "tooltip", "required", "itemType", "collectionType", "string", "array", "map"];
/// `spec.outrigger`
pub(super) const OUTRIGGER: &[&str] = &["emptyOutput"];
/// `metadata`
pub(super) const METADATA: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
/// `metadata.ownerReferences[]`
pub(super) const OWNER_REFERENCE: &[&str] =
    &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
/// `metadata.managedFields[]`
pub(super) const MANAGED_FIELDS: &[&str] =
    &["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// The field that a key means: the one spelled exactly so, else one that differs in case only.
pub(super) fn field(fields: &[&'static str], key: &str) -> Option<&'static str> {
    let exact = fields.iter().find(|field| **field == key);
    exact.or_else(|| fields.iter().find(|field| equal_fold(field, key))).copied()
}

/// Whether a key of the file means the field.
pub(super) fn same_field(field: &str, key: &str) -> bool {
    field == key || equal_fold(field, key)
}

/// Case-insensitive as in Go, where ſ is an s and the Kelvin sign a k.
fn equal_fold(field: &str, key: &str) -> bool {
    let folded = key.chars().map(|character| match character {
        '\u{17F}' => 'S',
        '\u{212A}' => 'K',
        other => other.to_ascii_uppercase(),
    });
    field.chars().map(|character| character.to_ascii_uppercase()).eq(folded)
}

/// The field that was probably meant by an unknown key.
pub(super) fn similar(fields: &[&'static str], key: &str) -> Option<&'static str> {
    let key = key.to_lowercase();
    let distances = fields.iter().map(|field| (distance(&field.to_lowercase(), &key), *field));
    let (distance, field) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= 2 && distance * 3 <= field.len()).then_some(field)
}

/// How many letters must be added, removed, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}
