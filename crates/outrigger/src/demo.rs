//! `outrigger demo`: the main job on embedded defaults.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use outrigger_plugin::command::{CommandLimits, Environment, adopt_orphans};
use outrigger_plugin::config::PluginConfig;
use outrigger_plugin::metrics::Metrics;
use outrigger_plugin::serve::{Endpoint, Options, Server};
use outrigger_plugin::{CommandPlugin, Equipment, Janitor, duration};
use outrigger_source::{Limits, WorkDir};

use crate::StopSignals;
use crate::bundle::Bundle;
use crate::cli::DemoArgs;
use crate::client::{Client, Failure};
use crate::print::{self, say, tell};

const PLUGIN: &str = include_str!("../demo/plugin.yaml");
const REPOSITORY: [(&str, &str); 3] = [
    ("README.md", include_str!("../demo/repository/README.md")),
    ("apps/hello/configmap.tmpl.yaml", include_str!("../demo/repository/apps/hello/configmap.tmpl.yaml")),
    ("apps/hello/deployment.tmpl.yaml", include_str!("../demo/repository/apps/hello/deployment.tmpl.yaml")),
];
const APP: &str = "apps/hello";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Serves the sample plugin, renders the sample application over the wire, and shows what happened.
pub(crate) async fn run(args: DemoArgs) -> Result<()> {
    let place =
        tempfile::Builder::new().prefix("outrigger-demo-").tempdir().context("cannot make a directory")?;
    let repository = place.path().join("repository");
    lay_out(place.path(), &repository)?;
    let mut stop = StopSignals::listen()?;
    adopt_orphans().context("cannot watch for child processes")?;

    let server = start(place.path()).await?;
    let socket = Endpoint::unix(&place.path().join("outrigger-demo-v1.sock")).map_err(anyhow::Error::msg)?;
    server.listen(&socket).await.context("cannot listen on a unix socket")?;
    let tcp =
        server.listen(&Endpoint::Tcp("127.0.0.1:0".to_owned())).await.context("cannot listen on TCP")?;
    tell!("A plugin server is up on {socket} and on {tcp}.");
    tell!("Its plugin.yaml and the application it renders are in {}.\n", place.path().display());

    let env =
        [("ARGOCD_APP_NAME", "hello"), ("ARGOCD_APP_NAMESPACE", "default"), ("ARGOCD_ENV_GREETING", "ahoy")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let bundle = Bundle::pack(&repository, APP, env)?;
    let result = walk_through(&socket, &bundle).await;
    if result.is_ok() {
        next_steps(&tcp, &repository, args.stay);
    }
    if result.is_ok() && args.stay {
        stop.told_to_stop().await;
    }
    server.shutdown(Duration::ZERO).await;
    result
}

fn lay_out(place: &Path, repository: &Path) -> Result<()> {
    std::fs::write(place.join("plugin.yaml"), PLUGIN)?;
    for (name, text) in REPOSITORY {
        let path = repository.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(repository))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

async fn start(place: &Path) -> Result<Server<CommandPlugin>> {
    let metrics = Arc::new(Metrics::new());
    let equipment = Equipment {
        work: WorkDir::open(place)?,
        env: Environment::of_this_process(),
        limits: CommandLimits::default(),
        parallelism: None,
        metrics: Arc::clone(&metrics),
    };
    let plugin = Arc::new(CommandPlugin::new(PluginConfig::parse(PLUGIN.as_bytes())?, equipment));
    let options = Options {
        limits: Limits::default(),
        max_message_bytes: crate::places::max_message_bytes(),
        metrics,
        janitor: Janitor::default(),
        link_trace: None,
    };
    Ok(Server::new(plugin, options).await)
}

/// The questions of a repo-server, in its order.
async fn walk_through(socket: &Endpoint, bundle: &Bundle) -> Result<()> {
    let mut table = print::table(&["step", "answer", "phases", "time"]);
    let refused = |failure: Failure| anyhow::Error::msg(failure.message);
    let mut step = |name: &str, answer: String, phases: &crate::client::Phases, took: Duration| {
        let phases: Vec<String> =
            phases.iter().map(|(phase, took)| format!("{phase} {}", duration::human(*took))).collect();
        table.add_row([name, &answer, &phases.join(", "), &duration::human(took)]);
    };

    let started = Instant::now();
    let mut client = Client::connect(socket).await?;
    step("dial", "connected".to_owned(), &Vec::new(), started.elapsed());

    let started = Instant::now();
    let discovers = client.discovers().await.map_err(|status| refused(status.into()))?;
    step("CheckPluginConfiguration", format!("discovery: {discovers}"), &Vec::new(), started.elapsed());

    let started = Instant::now();
    let (found, phases) = client.matches(bundle, TIMEOUT).await.map_err(refused)?;
    step("MatchRepository", format!("supported: {}", found.supported), &phases, started.elapsed());

    let started = Instant::now();
    let (announcements, phases) = client.parameters(bundle, TIMEOUT).await.map_err(refused)?;
    step(
        "GetParametersAnnouncement",
        print::count(announcements.len(), "parameter"),
        &phases,
        started.elapsed(),
    );

    let started = Instant::now();
    let (manifests, phases) = client.generate(bundle, TIMEOUT).await.map_err(refused)?;
    step("GenerateManifest", print::count(manifests.len(), "manifest"), &phases, started.elapsed());

    for manifest in &manifests {
        say!("---\n{}", print::yaml(manifest)?);
    }
    tell!("\n{}", table.trim_fmt());
    Ok(())
}

fn next_steps(tcp: &Endpoint, repository: &Path, stay: bool) {
    tell!("\nTry next:");
    if stay {
        tell!("  outrigger render {} --app-path {APP} --address {tcp}", repository.display());
        tell!("  outrigger healthcheck {tcp}");
        tell!("  Ctrl-C ends the server and removes its directory");
    } else {
        tell!("  outrigger demo --stay             keep this server up and ask it yourself");
        tell!("  outrigger render DIR              render a directory with your own plugin.yaml");
        tell!("  outrigger lint plugin.yaml        find the traps in it");
        tell!("  outrigger serve --help            run it as a drop-in for argocd-cmp-server");
    }
}
