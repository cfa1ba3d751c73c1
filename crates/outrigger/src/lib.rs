//! The `outrigger` program: thin subcommands over the crates.

pub mod app_env;
pub mod askpass;
pub mod bundle;
pub mod cli;
pub mod client;
mod config_file;
mod demo;
mod dial;
mod healthcheck;
mod lint;
mod logging;
mod places;
mod print;
pub mod role;
mod serve;
mod size;
mod telemetry;
mod tools;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{CommandFactory as _, Parser};

use tokio::signal::unix::{Signal, SignalKind, signal};

use cli::{Cli, CmpServer, Command, ServeArgs};
use print::{say, tell};

/// Upstream's exit code for any failure of its servers.
const SERVER_FAILED: u8 = 20;

/// The exit code of `outrigger match` where there is no answer.
const NO_ANSWER: u8 = 2;

/// Runs `outrigger` with these arguments.
pub fn run(args: &[OsString]) -> ExitCode {
    let command = parse::<Cli>(args).command;
    let failed =
        if matches!(command, Command::Match(_)) { ExitCode::from(NO_ANSWER) } else { ExitCode::FAILURE };
    dispatch(command).unwrap_or_else(|error| {
        tell!("error: {error:#}");
        failed
    })
}

/// Runs the plugin server under upstream's name. It takes no arguments but flags, so that a word chooses one
/// of our own subcommands: an image needs only this one file to probe itself.
pub fn run_cmp_server(args: &[OsString]) -> ExitCode {
    if args.get(1).is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-")) {
        return run(args);
    }
    serve(parse::<CmpServer>(args).serve).unwrap_or_else(|error| {
        tell!("error: {error:#}");
        ExitCode::from(SERVER_FAILED)
    })
}

/// Reads the command line. An environment variable that is set to nothing counts as not set, as in Argo CD.
fn parse<T: Parser>(args: &[OsString]) -> T {
    let matches = forget_empty_variables(T::command()).get_matches_from(args);
    T::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

fn forget_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| match arg.get_env() {
        Some(name) if is_empty(name) => arg.env(None::<&str>),
        _ => arg,
    });
    command.mut_subcommands(forget_empty_variables)
}

fn dispatch(command: Command) -> Result<ExitCode> {
    match command {
        Command::Serve(args) => serve(*args),
        Command::Demo(args) => finish(runtime()?.block_on(demo::run(args))),
        Command::Render(args) => finish(runtime()?.block_on(tools::render(args))),
        Command::Match(args) => Ok(yes_or_no(runtime()?.block_on(tools::matches(args))?)),
        Command::Params(args) => finish(runtime()?.block_on(tools::params(args))),
        Command::Lint(args) => Ok(yes_or_no(lint::run(&args)?)),
        Command::Schema => {
            let schema = outrigger_plugin::config::schema::json_schema();
            say!("{}", serde_json::to_string_pretty(&schema)?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Healthcheck(args) => finish(runtime()?.block_on(healthcheck::run(args))),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "outrigger", &mut script);
            say!("{}", String::from_utf8_lossy(&script));
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { dir } => {
            std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
            clap_mangen::generate_to(Cli::command(), &dir).context("cannot write the man pages")?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A server's own log says why it failed; this only tells that it did.
fn serve(args: ServeArgs) -> Result<ExitCode> {
    let served = runtime()?.block_on(Box::pin(serve::run(args)));
    Ok(if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(SERVER_FAILED) })
}

fn finish(result: Result<()>) -> Result<ExitCode> {
    result.map(|()| ExitCode::SUCCESS)
}

fn yes_or_no(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")
}

/// SIGTERM and SIGINT, heard from the moment this is made: make it before anybody can connect, because a
/// process that does not listen for them dies at once and leaves its clients hanging.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> Result<Self> {
        let context = "cannot listen for signals";
        let terminate = signal(SignalKind::terminate()).context(context)?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt()).context(context)? })
    }

    /// Waits for either.
    async fn told_to_stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for Ctrl-C.
    async fn interrupted(&mut self) {
        self.interrupt.recv().await;
    }
}
