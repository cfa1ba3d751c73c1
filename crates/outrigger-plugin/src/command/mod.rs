//! Running a plugin's commands: deadlines, process groups, output caps.
//!
//! Promised: when [`run`] returns an error about time, or its future is dropped, every process of the
//! command's group has been killed; when the [`Workspace`](crate::workspace) of the render is closed, it
//! has been reaped too. Not promised: a process that leaves the group (`setsid`) is only reaped, not killed.

mod environment;
mod group;
mod output;

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::wait::WaitStatus;
use tokio::time::Instant;

pub use environment::Environment;
pub(crate) use group::Group;
pub use group::adopt_orphans;
use output::{Tail, read_capped, read_tail};

use crate::call::Phase;
use crate::duration;

/// What a render's commands may use.
#[derive(Debug, Clone, Copy)]
pub struct CommandLimits {
    /// Time for one command (`ARGOCD_EXEC_TIMEOUT`), within the request's own deadline.
    pub timeout: Option<Duration>,
    /// After that time, a polite signal is sent first and this long waited before the kill
    /// (`ARGOCD_EXEC_FATAL_TIMEOUT`).
    pub fatal_timeout: Option<Duration>,
    /// The largest stdout.
    pub output_bytes: usize,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self { timeout: None, fatal_timeout: None, output_bytes: 256 * 1024 * 1024 }
    }
}

/// One command to run.
pub(crate) struct Invocation<'a> {
    pub(crate) phase: Phase,
    pub(crate) argv: Vec<&'a str>,
    pub(crate) dir: &'a Path,
    pub(crate) env: &'a Environment,
    pub(crate) deadline: Option<Instant>,
    pub(crate) limits: CommandLimits,
}

/// What a successful command left.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Why a command gave no result. Shown to people: the tool's own words come first.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program is not there or cannot be run. The plugin image's fault.
    #[error("{phase}: cannot run `{command}`: {reason}")]
    NotStarted {
        /// The phase it belongs to.
        phase: Phase,
        /// The command, shortened.
        command: String,
        /// Why.
        reason: String,
    },
    /// The tool ran and said no.
    #[error(
        "{stderr}({phase}: `{command}` {ending} after {}{})",
        duration::human(*used),
        of_allowed(*allowed)
    )]
    Failed {
        /// The phase it belongs to.
        phase: Phase,
        /// The command, shortened.
        command: String,
        /// How it ended: `exited with status 1`, `was killed by SIGKILL`.
        ending: String,
        /// The last lines of stderr with a newline, or nothing.
        stderr: String,
        /// How long it ran.
        used: Duration,
        /// How long it might have run.
        allowed: Option<Duration>,
    },
    /// The tool did not end in time; its process group was killed.
    #[error(
        "{stderr}({phase}: `{command}` {what} and was killed after {}; {limit} allowed {})",
        duration::human(*used),
        duration::human(*allowed)
    )]
    TimedOut {
        /// The phase it belongs to.
        phase: Phase,
        /// The command, shortened.
        command: String,
        /// What it was doing: still running, or exited while something of it holds its output open.
        what: &'static str,
        /// Whose limit it was: `ARGOCD_EXEC_TIMEOUT`, or the request's deadline.
        limit: &'static str,
        /// The last lines of stderr with a newline, or nothing.
        stderr: String,
        /// How long it ran.
        used: Duration,
        /// How long it might run.
        allowed: Duration,
    },
    /// The tool printed more than a reply can hold.
    #[error(
        "{stderr}({phase}: `{command}` printed more than {cap} bytes and was killed; raise --max-output-bytes if that is meant)"
    )]
    TooMuchOutput {
        /// The phase it belongs to.
        phase: Phase,
        /// The command, shortened.
        command: String,
        /// The cap.
        cap: usize,
        /// The last lines of stderr with a newline, or nothing.
        stderr: String,
    },
    /// A variable is too long for the kernel and could not be written to a file either.
    #[error(
        "the environment variable {name} is too long for a program, and writing it to a file failed: {source}"
    )]
    LongVariable {
        /// The variable.
        name: String,
        /// Why.
        source: std::io::Error,
    },
}

impl CommandError {
    /// Whether time was the reason.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. })
    }
}

fn of_allowed(allowed: Option<Duration>) -> String {
    allowed.map_or_else(String::new, |allowed| format!(" of {} allowed", duration::human(allowed)))
}

/// Runs one command to its end and adds its group to `groups`, which the caller ends with the render.
pub(crate) async fn run(
    invocation: &Invocation<'_>,
    groups: &mut Vec<Group>,
) -> Result<Output, CommandError> {
    let started = Instant::now();
    let shown = shorten(&invocation.argv);
    let not_started =
        |reason: String| CommandError::NotStarted { phase: invocation.phase, command: shown.clone(), reason };
    let (group, stdout, stderr) = start(invocation).map_err(not_started)?;
    groups.push(group);
    let group = &groups[groups.len() - 1];

    let tail = Mutex::new(Tail::default());
    let said = || tail.lock().unwrap_or_else(PoisonError::into_inner).lines();
    let mut work = pin!(async {
        // The leader may exit while what it started still prints: the output ends when nobody holds it open.
        let reads =
            tokio::try_join!(read_capped(stdout, invocation.limits.output_bytes), read_tail(stderr, &tail));
        std::io::Result::Ok((reads?.0, group.exited().await?))
    });
    let limit = TimeLimit::of(invocation, started);
    let Some(finished) = limit.keep(work.as_mut()).await else {
        let exited = matches!(group.status(), Ok(Some(_)));
        if let Some(grace) = invocation.limits.fatal_timeout {
            // Politely first, and with its output still read, so that it can say goodbye.
            group.terminate();
            let until = Instant::now() + grace;
            let until = invocation.deadline.map_or(until, |deadline| deadline.min(until));
            let _ = tokio::time::timeout_at(until, work.as_mut()).await;
        }
        group.kill();
        return Err(CommandError::TimedOut {
            phase: invocation.phase,
            command: shown,
            what: if exited { HELD_OPEN } else { "did not end in time" },
            limit: limit.whose,
            stderr: said(),
            used: started.elapsed(),
            allowed: limit.allowed.unwrap_or_default(),
        });
    };
    let (stdout, status) = match finished {
        Ok(finished) => finished,
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            group.kill();
            return Err(CommandError::TooMuchOutput {
                phase: invocation.phase,
                command: shown,
                cap: invocation.limits.output_bytes,
                stderr: said(),
            });
        }
        Err(error) => return Err(not_started(format!("waiting for it: {error}"))),
    };
    if !matches!(status, WaitStatus::Exited(_, 0)) {
        return Err(CommandError::Failed {
            phase: invocation.phase,
            command: shown,
            ending: ending(&status),
            stderr: said(),
            used: started.elapsed(),
            allowed: limit.allowed,
        });
    }
    Ok(Output { stdout, stderr: said() })
}

const HELD_OPEN: &str = "exited while something it started kept its output open";

/// The earlier of the command's own time and the request's deadline.
struct TimeLimit {
    at: Option<Instant>,
    whose: &'static str,
    allowed: Option<Duration>,
}

impl TimeLimit {
    fn of(invocation: &Invocation<'_>, started: Instant) -> Self {
        let own = invocation.limits.timeout.map(|timeout| started + timeout);
        let (at, whose) = match (own, invocation.deadline) {
            (Some(own), Some(deadline)) if own < deadline => (Some(own), "ARGOCD_EXEC_TIMEOUT"),
            (Some(own), None) => (Some(own), "ARGOCD_EXEC_TIMEOUT"),
            (_, deadline) => (deadline, "the request's deadline"),
        };
        Self { at, whose, allowed: at.map(|at| at.saturating_duration_since(started)) }
    }

    async fn keep<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.at {
            Some(at) => tokio::time::timeout_at(at, work).await.ok(),
            None => Some(work.await),
        }
    }
}

fn start(invocation: &Invocation<'_>) -> Result<(Group, OwnedFd, OwnedFd), String> {
    let Some((program, args)) = invocation.argv.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let path = look_up(program)?;
    let mut command = Command::new(path);
    command
        .arg0(program)
        .args(args)
        .env_clear()
        .envs(invocation.env.iter())
        .current_dir(invocation.dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (group, mut child) = Group::spawn(&mut command).map_err(|error| why_not(&error, invocation))?;
    let missing = || "its output could not be connected".to_owned();
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    Ok((group, stdout.into(), stderr.into()))
}

fn why_not(error: &std::io::Error, invocation: &Invocation<'_>) -> String {
    if error.raw_os_error() == Some(nix::libc::E2BIG)
        && let Some((name, length)) = invocation.env.longest()
    {
        return format!(
            "its arguments and environment are larger than the kernel allows; the longest variable is {name} with {length} bytes"
        );
    }
    error.to_string()
}

/// Finds a program as Go does: a name with a slash as it is, another one in the server's own PATH, whatever
/// the request says.
fn look_up(program: &str) -> Result<PathBuf, String> {
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|candidate| {
            candidate.is_file() && nix::unistd::access(candidate, nix::unistd::AccessFlags::X_OK).is_ok()
        })
        .ok_or_else(|| {
            format!("{program:?} is not in PATH ({}); is it in the plugin's image?", path.to_string_lossy())
        })
}

fn ending(status: &WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("exited with status {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("was killed by {signal}"),
        other => format!("ended as {other:?}"),
    }
}

/// The command line for people: arguments with white space quoted, the whole cut to one line's length.
pub(crate) fn shorten(argv: &[&str]) -> String {
    const LONGEST: usize = 120;
    let mut line = String::new();
    for arg in argv {
        if !line.is_empty() {
            line.push(' ');
        }
        if arg.is_empty() || arg.contains(char::is_whitespace) {
            line.push_str(&format!("{arg:?}"));
        } else {
            line.push_str(arg);
        }
    }
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
