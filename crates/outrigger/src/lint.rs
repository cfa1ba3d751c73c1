//! `outrigger lint`.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use outrigger_plugin::config::lint::{Finding, Severity, lint};
use serde_json::json;

use crate::cli::{LintArgs, TableFormat};
use crate::print::{self, say, tell};

/// Checks every file; tells whether all of them pass.
pub(crate) fn run(args: &LintArgs) -> Result<bool> {
    let mut all = Vec::new();
    for path in &args.files {
        let bytes = read(path)?;
        let findings = lint(&bytes);
        all.extend(findings.into_iter().map(|finding| (path.display().to_string(), finding)));
    }
    let errors = count(&all, Severity::Error);
    let warnings = count(&all, Severity::Warning);
    match args.output {
        TableFormat::Json => {
            let findings: Vec<_> = all.iter().map(|(path, finding)| machine(path, finding)).collect();
            say!("{}", serde_json::to_string_pretty(&findings)?);
        }
        TableFormat::Table => {
            for (path, finding) in &all {
                say!("{}", human(path, finding));
            }
            let files = print::count(args.files.len(), "file");
            tell!("{files}: {}, {}", print::count(errors, "error"), print::count(warnings, "warning"));
        }
    }
    Ok(errors == 0 && !(args.strict && warnings > 0))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn count(findings: &[(String, Finding)], severity: Severity) -> usize {
    findings.iter().filter(|(_, finding)| finding.severity == severity).count()
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// `plugin.yaml:3:5: warning[legacy-key]: …`, which editors and CI systems know how to read.
fn human(path: &str, finding: &Finding) -> String {
    let Finding { severity, line, column, code, message, hint } = finding;
    let mut text = format!("{path}:{line}:{column}: {}[{code}]: {message}", name(*severity));
    if !hint.is_empty() {
        text.push_str("\n    hint: ");
        text.push_str(hint);
    }
    text
}

fn machine(path: &str, finding: &Finding) -> serde_json::Value {
    json!({
        "file": path,
        "line": finding.line,
        "column": finding.column,
        "severity": name(finding.severity),
        "code": finding.code,
        "message": finding.message,
        "hint": finding.hint,
    })
}
