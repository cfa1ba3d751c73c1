//! What is wrong with a plugin.yaml, and where.

use crate::yaml::YamlError;

/// Something that makes a file unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// One-based line.
    pub line: usize,
    /// One-based column in characters.
    pub column: usize,
    /// A short, stable name of the kind of problem.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " (hint: {})", self.hint) }
    }
}

impl From<YamlError> for Problem {
    fn from(error: YamlError) -> Self {
        let YamlError { line, column, reason } = error;
        Self { line, column, code: "syntax", message: reason, hint: String::new() }
    }
}

/// Why a file was refused: all problems that could be found at once, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    /// Sorts the problems; `Ok` when there are none.
    pub(super) fn from_problems(mut problems: Vec<Problem>) -> Result<(), Self> {
        problems.sort_by_key(|problem| (problem.line, problem.column));
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }
}

impl From<YamlError> for ConfigError {
    fn from(error: YamlError) -> Self {
        Self { problems: vec![error.into()] }
    }
}
