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

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{CommandFactory as _, Parser as _};

use cli::{Cli, CmpServer, Command, ServeArgs};
use print::{say, tell};

/// Upstream's exit code for any failure of its servers.
const SERVER_FAILED: u8 = 20;

/// Runs `outrigger` with these arguments.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match dispatch(Cli::parse_from(args).command) {
        Ok(code) => code,
        Err(error) => {
            tell!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the plugin server under upstream's name.
pub fn run_cmp_server(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    serve(CmpServer::parse_from(args).serve).unwrap_or_else(|error| {
        tell!("error: {error:#}");
        ExitCode::from(SERVER_FAILED)
    })
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
            clap_complete::generate(shell, &mut Cli::command(), "outrigger", &mut std::io::stdout());
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
    Ok(if served.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(SERVER_FAILED)
    })
}

fn finish(result: Result<()>) -> Result<ExitCode> {
    result.map(|()| ExitCode::SUCCESS)
}

fn yes_or_no(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start")
}
