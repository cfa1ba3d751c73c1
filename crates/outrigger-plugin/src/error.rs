//! Why a render failed: whose fault it is, and which gRPC code says so.

use std::path::PathBuf;
use std::time::Duration;

use outrigger_source::{Fault, SourceError};
use tonic::{Code, Status};

use crate::call::Phase;
use crate::command::CommandError;
use crate::documents::DocumentError;
use crate::duration;

/// Why a plugin did not answer a call.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The source did not arrive as it should. Mostly the sender's fault.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A command of the plugin did not run or said no; its stderr is the user's answer.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The generate command's output is not a stream of YAML or JSON documents. The plugin's fault.
    #[error("the output of `generate` cannot be used: {0}")]
    Document(#[from] DocumentError),
    /// The command succeeded and printed nothing, and the plugin calls that an error.
    #[error(
        "the generate command succeeded without any output, and this plugin does not allow an empty application \
         (spec.outrigger.emptyOutput: fail)"
    )]
    EmptyOutput,
    /// The output of `parameters.dynamic` is not a list of announcements. The plugin's fault.
    #[error("the output of `parameters.dynamic` cannot be used: {0}")]
    Announcements(String),
    /// The discovery rule itself is wrong, or upstream's rules make its result an error.
    #[error("discovery by {rule} {pattern:?}: {reason}")]
    Discovery {
        /// `fileName` or `find.glob`.
        rule: &'static str,
        /// The rule's pattern.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// The application's path is not a directory of the tree.
    #[error("the application's path {path:?} is not a directory of the source")]
    NoAppDir {
        /// The path inside the tree.
        path: PathBuf,
    },
    /// The caller's time was used up before a command could be blamed for it.
    #[error("the request's time was used up while in phase {phase}: {} used, {} allowed", duration::human(*used), duration::human(*allowed))]
    Deadline {
        /// The phase that was running.
        phase: Phase,
        /// Time since the request arrived.
        used: Duration,
        /// Time the caller gave.
        allowed: Duration,
    },
    /// The server could not do its part.
    #[error("{0}")]
    Server(String),
}

impl RenderError {
    /// The gRPC code a client sees. What a plugin's tool says is `Unknown`, as it is upstream.
    pub fn code(&self) -> Code {
        match self {
            Self::Source(error) => match error.fault() {
                Fault::Sender => Code::InvalidArgument,
                Fault::Limit => Code::ResourceExhausted,
                Fault::Transport => Code::Cancelled,
                Fault::Server => Code::Internal,
            },
            Self::Command(error) if error.is_timeout() => Code::DeadlineExceeded,
            Self::Command(_)
            | Self::Document(_)
            | Self::EmptyOutput
            | Self::Announcements(_)
            | Self::Discovery { .. } => Code::Unknown,
            Self::NoAppDir { .. } => Code::InvalidArgument,
            Self::Deadline { .. } => Code::DeadlineExceeded,
            Self::Server(_) => Code::Internal,
        }
    }

    /// One word for metrics.
    pub fn outcome(&self) -> &'static str {
        match self.code() {
            Code::InvalidArgument | Code::Cancelled => "bad_request",
            Code::ResourceExhausted => "limit",
            Code::DeadlineExceeded => "timeout",
            Code::Internal => "server_error",
            _ => "plugin_error",
        }
    }
}

impl From<&RenderError> for Status {
    fn from(error: &RenderError) -> Self {
        Status::new(error.code(), error.to_string())
    }
}
