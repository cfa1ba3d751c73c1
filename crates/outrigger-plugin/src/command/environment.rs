//! The environment of a command: the server's, then the request's, the later winning.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::CommandError;

/// The longest `NAME=value` with its closing NUL that Linux hands to a program (`MAX_ARG_STRLEN`).
const LONGEST_ENTRY: usize = 128 * 1024;

/// Variables by name. Its `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// This process's own environment.
    pub fn of_this_process() -> Self {
        Self { variables: std::env::vars_os().collect() }
    }

    /// This environment with `more` on top. Empty values are kept, empty names are not.
    pub fn with<'a>(&self, more: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut variables = self.variables.clone();
        for (name, value) in more {
            if !name.is_empty() {
                variables.insert(name.into(), value.into());
            }
        }
        Self { variables }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter()
    }

    /// The longest variable and its length, for errors.
    pub(super) fn longest(&self) -> Option<(String, usize)> {
        let (name, value) = self.variables.iter().max_by_key(|(name, value)| name.len() + value.len())?;
        Some((name.to_string_lossy().into_owned(), value.len()))
    }

    /// Moves variables that no program can be given into files: `NAME` becomes `NAME_FILE`.
    ///
    /// `directory` makes the private directory when the first file is needed. Most renders need none.
    pub fn spill(
        &mut self,
        directory: impl FnOnce() -> std::io::Result<PathBuf>,
    ) -> Result<Vec<String>, CommandError> {
        let long: Vec<OsString> = self
            .variables
            .iter()
            .filter(|(name, value)| name.len() + value.len() + 2 > LONGEST_ENTRY)
            .map(|(name, _)| name.clone())
            .collect();
        if long.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |name: &OsStr, source| CommandError::LongVariable {
            name: name.to_string_lossy().into_owned(),
            source,
        };
        let directory = directory().map_err(|error| failed(&long[0], error))?;
        for (number, name) in long.iter().enumerate() {
            let path = directory.join(format!("env-{number}"));
            let value = self.variables.remove(name).unwrap_or_default();
            write_private(&path, value.as_bytes()).map_err(|error| failed(name, error))?;
            let mut file_name = name.clone();
            file_name.push("_FILE");
            self.variables.insert(file_name, path.into_os_string());
        }
        Ok(long.iter().map(|name| name.to_string_lossy().into_owned()).collect())
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_values_win_and_empty_ones_are_kept() {
        let env = Environment::default().with([("A", "1"), ("B", "2")]).with([("A", ""), ("", "x")]);
        assert_eq!(env.get("A"), Some(OsStr::new("")));
        assert_eq!(env.get("B"), Some(OsStr::new("2")));
        assert_eq!(env.iter().count(), 2);
    }

    #[test]
    fn debug_shows_no_values() {
        let env = Environment::default().with([("TOKEN", "hunter2")]);
        assert_eq!(format!("{env:?}"), r#"{"TOKEN"}"#);
    }

    #[test]
    fn a_variable_of_issue_17914_is_spilled_to_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let long = "x".repeat(LONGEST_ENTRY);
        let mut env = Environment::default().with([("BIG", long.as_str()), ("SMALL", "1")]);
        let spilled = env.spill(|| Ok(dir.path().to_owned())).unwrap();
        assert_eq!(spilled, ["BIG"]);
        assert_eq!(env.get("BIG"), None);
        let file = env.get("BIG_FILE").unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), long);
        assert_eq!(env.get("SMALL"), Some(OsStr::new("1")));
    }
}
