//! Advice about a plugin.yaml: everything that makes it unusable, and what is legal but hardly meant.
//!
//! Errors are the problems that loading or using the file would meet, all at once. Warnings are about text that
//! Argo CD reads without complaint and then ignores, or takes for something else than it looks like. What cannot
//! be judged from the file alone (which environment variables a script reads, how a command exits) is left out
//! rather than guessed.

mod commands;
mod discovery;
mod naming;
mod parameters;
mod spelling;

use super::{PluginConfig, Problem, keys, read};
use crate::yaml::{Content, Document, Key, Node};

/// How bad a [`Finding`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The plugin cannot work like this.
    Error,
    /// It works, but probably not as meant.
    Warning,
}

/// Something worth changing in a plugin.yaml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// One-based line.
    pub line: usize,
    /// One-based column in characters.
    pub column: usize,
    /// A short, stable name of the rule.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

/// Looks a file over. The findings come in the order of the file.
pub fn lint(bytes: &[u8]) -> Vec<Finding> {
    let (config, problems) = read(bytes);
    let mut findings: Vec<Finding> = problems.into_iter().map(Finding::from).collect();
    if let Ok(document) = Document::parse(bytes)
        && let Some(root) = document.root()
    {
        let file = File { config: &config, root };
        spelling::check(&file, &mut findings);
        naming::check(&file, &mut findings);
        commands::check(&file, &mut findings);
        discovery::check(&file, &mut findings);
        parameters::check(&file, &mut findings);
    }
    findings.sort_by_key(|finding| (finding.line, finding.column, finding.severity));
    findings
}

impl From<Problem> for Finding {
    fn from(problem: Problem) -> Self {
        let Problem { line, column, code, message, hint } = problem;
        Self { severity: Severity::Error, line, column, code, message, hint }
    }
}

/// Where a finding points at.
#[derive(Clone, Copy)]
struct Place {
    line: usize,
    column: usize,
}

impl Place {
    fn of(node: Node<'_>) -> Self {
        Self { line: node.line(), column: node.column() }
    }

    fn of_key(key: &Key<'_>) -> Self {
        Self { line: key.line, column: key.column }
    }

    fn error(self, code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        self.finding(Severity::Error, code, message.into(), hint.into())
    }

    fn warning(self, code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        self.finding(Severity::Warning, code, message.into(), hint.into())
    }

    fn finding(self, severity: Severity, code: &'static str, message: String, hint: String) -> Finding {
        Finding { severity, line: self.line, column: self.column, code, message, hint }
    }
}

/// A file that could be parsed, with what was read from it.
struct File<'d> {
    config: &'d PluginConfig,
    root: Node<'d>,
}

impl<'d> File<'d> {
    /// The node of a field, given the documented keys that lead to it.
    fn get(&self, path: &[&str]) -> Option<Node<'d>> {
        path.iter().try_fold(self.root, |node, key| child(node, key))
    }

    /// Where a field is, or the nearest thing that holds it.
    fn place(&self, path: &[&str]) -> Place {
        let nearest = (0..=path.len()).rev().find_map(|length| self.get(&path[..length]));
        Place::of(nearest.unwrap_or(self.root))
    }
}

/// The value that counts for a field: that of the last key that means it.
fn child<'d>(node: Node<'d>, key: &str) -> Option<Node<'d>> {
    let Content::Mapping(entries) = node.content() else {
        return None;
    };
    let mut meant = entries.into_iter().filter(|entry| keys::same_field(key, &entry.key.text));
    meant.next_back().map(|entry| entry.value)
}

fn items(node: Option<Node<'_>>) -> Vec<Node<'_>> {
    match node.map(|node| node.content()) {
        Some(Content::Sequence(items)) => items,
        _ => Vec::new(),
    }
}
