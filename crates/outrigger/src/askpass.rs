//! What git calls for credentials inside a plugin: asks the repo-server by the nonce it was given.
//!
//! Prints exactly one line, the user name or the password, and never logs either.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use outrigger_plugin::serve::Endpoint;
use outrigger_wire::askpass::CredentialsRequest;
use outrigger_wire::askpass::ask_pass_service_client::AskPassServiceClient;

const NONCE: &str = "ARGOCD_GIT_ASKPASS_NONCE";
const SOCKET: &str = "ARGOCD_ASK_PASS_SOCK";
const DEFAULT_SOCKET: &str = "/tmp/reposerver-ask-pass.sock";
/// Upstream's exit code for any failure.
const FAILED: u8 = 20;

/// Answers git's question in `args` and exits.
#[allow(clippy::print_stdout, clippy::print_stderr)]
pub fn run(args: &[OsString]) -> ExitCode {
    match answer(args) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("argocd-git-ask-pass: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn answer(args: &[OsString]) -> Result<String> {
    let [_, question] = args else {
        bail!(
            "expected 1 argument, got {}; git calls this program with its prompt",
            args.len().saturating_sub(1)
        );
    };
    let nonce = std::env::var(NONCE).ok().filter(|nonce| !nonce.is_empty());
    let nonce = nonce.with_context(|| {
        format!("{NONCE} is not set; only a plugin with provideGitCreds: true is given credentials")
    })?;
    let socket = std::env::var(SOCKET).ok().filter(|path| !path.is_empty());
    let socket = socket.unwrap_or_else(|| DEFAULT_SOCKET.to_owned());
    let wants_password = match question.to_string_lossy() {
        question if question.starts_with("Username") => false,
        question if question.starts_with("Password") => true,
        other => bail!("unknown credential type '{other}'"),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let credentials = runtime.block_on(async {
        let endpoint = Endpoint::unix(Path::new(&socket)).map_err(anyhow::Error::msg)?;
        let ask = async {
            let channel =
                crate::dial::connect(&endpoint).await.with_context(|| format!("cannot reach {socket}"))?;
            let reply =
                AskPassServiceClient::new(channel).get_credentials(CredentialsRequest { nonce }).await;
            reply.map_err(|status| anyhow::anyhow!("the repo-server refused: {}", status.message()))
        };
        tokio::time::timeout(Duration::from_secs(30), ask).await.context("the repo-server did not answer")?
    })?;
    let credentials = credentials.into_inner();
    Ok(if wants_password { credentials.password } else { credentials.username })
}
