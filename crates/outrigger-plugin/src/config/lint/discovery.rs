//! Discovery rules that are never evaluated, or match something else than they seem to.

use outrigger_source::glob::{check_file_name_pattern, check_glob_pattern};

use super::{File, Finding, Place};

pub(super) fn check(file: &File<'_>, findings: &mut Vec<Finding>) {
    let discover = &file.config.spec.discover;
    let rules: [(&[&str], bool); 3] = [
        (&["spec", "discover", "fileName"], !discover.file_name.is_empty()),
        (&["spec", "discover", "find", "glob"], !discover.find.glob.is_empty()),
        (&["spec", "discover", "find", "command"], discover.find.command.is_defined()),
    ];
    let mut present = rules.iter().filter(|(_, present)| *present).map(|(path, _)| *path);
    if let Some(first) = present.next() {
        for ignored in present {
            let message =
                format!("{} is never evaluated: {} comes first", ignored.join("."), first.join("."));
            let hint = "only the first of fileName, find.glob and find.command counts; keep one";
            findings.push(file.place(ignored).warning("several-discovery-rules", message, hint));
        }
    }
    if !discover.file_name.is_empty() {
        file_name(file.place(rules[0].0), &discover.file_name, findings);
    }
    if !discover.find.glob.is_empty() {
        glob(file.place(rules[1].0), &discover.find.glob, findings);
    }
}

fn file_name(place: Place, pattern: &str, findings: &mut Vec<Finding>) {
    if let Err(reason) = check_file_name_pattern(pattern) {
        let message = format!("spec.discover.fileName is no valid pattern: {reason}");
        findings.push(place.error("bad-pattern", message, ""));
    }
    if pattern.contains("**") {
        let message = "in fileName, '**' means the same as '*' and does not cross directories";
        findings.push(place.warning("double-star", message, "use find.glob instead"));
    }
}

fn glob(place: Place, pattern: &str, findings: &mut Vec<Finding>) {
    if let Err(reason) = check_glob_pattern(pattern) {
        let message = format!("spec.discover.find.glob is no valid pattern: {reason}");
        findings.push(place.error("bad-pattern", message, ""));
    }
    if !pattern.contains(['*', '{']) {
        let message =
            "a glob without '*' or '{': where the file is missing, discovery fails instead of not matching";
        let hint = "use fileName for a fixed name";
        findings.push(place.warning("glob-without-wildcard", message, hint));
    } else if star_in_braces(pattern) {
        let message = "inside '{…}' a '*' stands for itself";
        findings.push(place.warning("star-in-braces", message, "write the '*' outside the braces"));
    }
}

fn star_in_braces(pattern: &str) -> bool {
    let mut behind_brace = pattern.split('{').skip(1);
    behind_brace.any(|text| text.split('}').next().is_some_and(|inside| inside.contains('*')))
}
