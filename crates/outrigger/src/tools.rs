//! `render`, `match` and `params`: a plugin asked without Argo CD, on the engine of the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use outrigger_plugin::command::{CommandLimits, Environment, adopt_orphans};
use outrigger_plugin::config::ParameterAnnouncement;
use outrigger_plugin::metrics::Metrics;
use outrigger_plugin::{Call, CommandPlugin, Equipment, Janitor, Match, Plugin as _, RenderError};
use outrigger_source::{Limits, Source, WorkDir, pack};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::StopSignals;
use crate::bundle::Bundle;
use crate::cli::{ManifestFormat, ParamsArgs, RenderArgs, TableFormat, TreeArgs};
use crate::client::{Client, Failure, Phases};
use crate::print::{self, say, tell};
use crate::{app_env, config_file, places};

/// `outrigger render`.
pub(crate) async fn render(args: RenderArgs) -> Result<()> {
    let mut asked = Asked::open(&args.tree).await?;
    let (manifests, phases) = asked.generate().await?;
    if manifests.is_empty() {
        tell!("warning: the plugin printed nothing; Argo CD would prune everything the application has");
    }
    for manifest in &manifests {
        match args.output {
            ManifestFormat::Json => say!("{manifest}"),
            ManifestFormat::Yaml => say!("---\n{}", print::yaml(manifest)?),
        }
    }
    tell!("{}", print::phases(&phases));
    tell!("{}", print::count(manifests.len(), "manifest"));
    Ok(())
}

/// `outrigger match`. Says yes or no; fails where discovery fails.
pub(crate) async fn matches(args: TreeArgs) -> Result<bool> {
    let mut asked = Asked::open(&args).await?;
    let (found, phases) = asked.matches().await?;
    match found {
        Match { supported: true, .. } => say!("match"),
        Match { discovers: true, .. } => say!("no match"),
        Match { discovers: false, .. } => {
            say!("no match");
            tell!("the plugin has no discovery rule: applications use it by name only");
        }
    }
    tell!("{}", print::phases(&phases));
    Ok(found.supported)
}

/// `outrigger params`.
pub(crate) async fn params(args: ParamsArgs) -> Result<()> {
    let mut asked = Asked::open(&args.tree).await?;
    let (announcements, _) = asked.parameters().await?;
    match args.output {
        TableFormat::Json => say!("{}", serde_json::to_string_pretty(&announcements)?),
        TableFormat::Table if announcements.is_empty() => tell!("the plugin announces no parameters"),
        TableFormat::Table => say!("{}", print::parameters(&announcements)),
    }
    Ok(())
}

/// A packed tree and somebody to ask about it.
struct Asked {
    bundle: Bundle,
    timeout: Duration,
    whom: Whom,
}

enum Whom {
    Server(Box<Client>),
    Plugin(Box<LocalPlugin>),
}

impl Asked {
    async fn open(args: &TreeArgs) -> Result<Self> {
        let whom = match &args.address {
            Some(address) => {
                let connecting = tokio::time::timeout(args.timeout, Client::connect(address)).await;
                Whom::Server(Box::new(
                    connecting.with_context(|| format!("{address} did not answer in time"))??,
                ))
            }
            None => Whom::Plugin(Box::new(local_plugin(args)?)),
        };
        let app_name = match &args.app_name {
            Some(name) => Some(name.clone()),
            None => Some(pack::app_name(&args.dir, &args.app_path)).filter(|name| !name.is_empty()),
        };
        let app_name = app_name.as_deref().unwrap_or("app");
        let env = app_env::of(args, app_name)?;
        let (dir, app_path) = (args.dir.clone(), args.app_path.clone());
        let bundle = tokio::task::spawn_blocking(move || Bundle::pack(&dir, &app_path, env)).await??;
        Ok(Self { bundle, timeout: args.timeout, whom })
    }

    async fn generate(&mut self) -> Result<(Vec<String>, Phases)> {
        let answer = match &mut self.whom {
            Whom::Server(client) => client.generate(&self.bundle, self.timeout).await,
            Whom::Plugin(local) => {
                let ask = async |plugin: &CommandPlugin, call: &Call, source: &mut Source| {
                    plugin.generate(call, source).await
                };
                local.answer(&self.bundle, self.timeout, ask).await
            }
        };
        answer.map_err(explain)
    }

    async fn matches(&mut self) -> Result<(Match, Phases)> {
        let answer = match &mut self.whom {
            Whom::Server(client) => client.matches(&self.bundle, self.timeout).await,
            Whom::Plugin(local) => {
                let ask = async |plugin: &CommandPlugin, call: &Call, source: &mut Source| {
                    plugin.matches(call, source).await
                };
                local.answer(&self.bundle, self.timeout, ask).await
            }
        };
        answer.map_err(explain)
    }

    async fn parameters(&mut self) -> Result<(Vec<ParameterAnnouncement>, Phases)> {
        let answer = match &mut self.whom {
            Whom::Server(client) => client.parameters(&self.bundle, self.timeout).await,
            Whom::Plugin(local) => {
                let ask = async |plugin: &CommandPlugin, call: &Call, source: &mut Source| {
                    plugin.parameters(call, source).await
                };
                local.answer(&self.bundle, self.timeout, ask).await
            }
        };
        answer.map_err(explain)
    }
}

/// Shows how far a failed question came.
fn explain(failure: Failure) -> anyhow::Error {
    if !failure.phases.is_empty() {
        tell!("{}", print::phases(&failure.phases));
    }
    anyhow::Error::msg(failure.message)
}

/// A plugin in this process, with a place of its own for its tree.
struct LocalPlugin {
    plugin: CommandPlugin,
    _place: TempDir,
}

impl LocalPlugin {
    /// Asks as a server would, and waits until everything is cleaned up.
    async fn answer<T>(
        &self,
        bundle: &Bundle,
        timeout: Duration,
        ask: impl AsyncFnOnce(&CommandPlugin, &Call, &mut Source) -> Result<T, RenderError>,
    ) -> Result<(T, Phases), Failure> {
        let failed = |message: String, phases: Phases| Failure { message, phases };
        let mut stop = StopSignals::listen().map_err(|error| failed(error.to_string(), Vec::new()))?;
        let mut source = bundle.source(Limits::default())?;
        let call = Call::new(Some(Instant::now() + timeout), Janitor::default());
        let answer = tokio::select! {
            answer = ask(&self.plugin, &call, &mut source) => answer.map_err(|error| error.to_string()),
            () = stop.told_to_stop() => Err("interrupted".to_owned()),
        };
        let phases = call.report().phases;
        call.finish().await;
        match answer {
            Ok(answer) => Ok((answer, phases)),
            Err(message) => Err(failed(message, phases)),
        }
    }
}

fn local_plugin(args: &TreeArgs) -> Result<LocalPlugin> {
    let path = find_plugin(args)?;
    tell!("plugin: {}", path.display());
    let config = config_file::load(&path)?;
    adopt_orphans().context("cannot watch for child processes")?;
    let place = tempfile::Builder::new().prefix("outrigger-").tempdir_in(places::work_base());
    let place = place.context("cannot make a directory for the source tree")?;
    let equipment = Equipment {
        work: WorkDir::open(place.path())?,
        env: Environment::of_this_process(),
        limits: CommandLimits::default(),
        parallelism: None,
        metrics: Arc::new(Metrics::new()),
    };
    Ok(LocalPlugin { plugin: CommandPlugin::new(config, equipment), _place: place })
}

fn find_plugin(args: &TreeArgs) -> Result<PathBuf> {
    if let Some(path) = &args.plugin {
        let path = if path.is_dir() { path.join("plugin.yaml") } else { path.clone() };
        return Ok(path);
    }
    let places = [
        PathBuf::from("plugin.yaml"),
        args.dir.join("plugin.yaml"),
        Path::new(places::CONFIG_DIR).join("plugin.yaml"),
    ];
    let found = places.iter().find(|path| path.is_file()).cloned();
    found.with_context(|| {
        let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        format!("no plugin.yaml found (looked at {}); name one with --plugin", places.join(", "))
    })
}
