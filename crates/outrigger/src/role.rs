//! Which program this binary is. Argo CD puts one binary under many names, and so do plugin images.

use std::ffi::OsStr;
use std::path::Path;

/// The environment variable by which Argo CD overrides a binary's name.
pub const BINARY_NAME: &str = "ARGOCD_BINARY_NAME";

/// The program this process is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `outrigger`, with subcommands.
    Outrigger,
    /// `argocd-cmp-server`: the plugin server with upstream's flags.
    CmpServer,
    /// `argocd-git-ask-pass`: what git calls for credentials.
    AskPass,
}

impl Role {
    /// The role by this process's name and environment.
    pub fn of_this_process() -> Self {
        Self::by(std::env::var_os(BINARY_NAME).as_deref(), std::env::args_os().next().as_deref())
    }

    /// As upstream decides it: the variable if it is set, else the name of the file.
    fn by(variable: Option<&OsStr>, called_as: Option<&OsStr>) -> Self {
        let called_as = called_as.map(Path::new).and_then(Path::file_name);
        let name = variable.filter(|name| !name.is_empty()).or(called_as).and_then(OsStr::to_str);
        match name {
            Some("argocd-cmp-server") => Self::CmpServer,
            Some("argocd-git-ask-pass") => Self::AskPass,
            // Git runs GIT_ASKPASS=argocd; only our askpass helper is there under that name.
            Some("argocd") => Self::AskPass,
            _ => Self::Outrigger,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(variable: &str, called_as: &str) -> Role {
        Role::by(Some(OsStr::new(variable)), Some(OsStr::new(called_as)))
    }

    #[test]
    fn the_file_name_decides() {
        assert_eq!(role("", "/var/run/argocd/argocd-cmp-server"), Role::CmpServer);
        assert_eq!(role("", "./outrigger"), Role::Outrigger);
        assert_eq!(role("", "/usr/local/bin/argocd"), Role::AskPass);
    }

    #[test]
    fn the_variable_wins_over_the_file_name() {
        assert_eq!(role("argocd-git-ask-pass", "argocd"), Role::AskPass);
        assert_eq!(role("argocd-cmp-server", "outrigger"), Role::CmpServer);
        assert_eq!(role("argocd-git-ask-pass", "/var/run/argocd/argocd-cmp-server"), Role::AskPass);
    }
}
