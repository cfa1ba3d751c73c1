//! `render`, `match` and `params`: a plugin asked without Argo CD, on the engine of the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use outrigger_plugin::command::{CommandLimits, Environment, adopt_orphans};
use outrigger_plugin::config::ParameterAnnouncement;
use outrigger_plugin::metrics::Metrics;
use outrigger_plugin::{Call, CommandPlugin, Equipment, Janitor, Match, Phase, Plugin as _};
use outrigger_source::{Limits, WorkDir};
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
    let (manifests, phases) = asked.ask(Question::Generate).await?;
    let Answer::Manifests(manifests) = manifests else { bail!("the plugin answered another question") };
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
    let (found, phases) = asked.ask(Question::Match).await?;
    let Answer::Match(found) = found else { bail!("the plugin answered another question") };
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
    let (announcements, _) = asked.ask(Question::Parameters).await?;
    let Answer::Parameters(announcements) = announcements else {
        bail!("the plugin answered another question")
    };
    match args.output {
        TableFormat::Json => say!("{}", serde_json::to_string_pretty(&announcements)?),
        TableFormat::Table if announcements.is_empty() => tell!("the plugin announces no parameters"),
        TableFormat::Table => say!("{}", print::parameters(&announcements)),
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Question {
    Generate,
    Match,
    Parameters,
}

enum Answer {
    Manifests(Vec<String>),
    Match(Match),
    Parameters(Vec<ParameterAnnouncement>),
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
            Some(name) => name.clone(),
            None => base_name(&args.dir.join(&args.app_path)),
        };
        let env = app_env::of(args, &app_name)?;
        let (dir, app_path) = (args.dir.clone(), args.app_path.clone());
        let bundle = tokio::task::spawn_blocking(move || Bundle::pack(&dir, &app_path, env)).await??;
        Ok(Self { bundle, timeout: args.timeout, whom })
    }

    async fn ask(&mut self, question: Question) -> Result<(Answer, Phases)> {
        let answer = match &mut self.whom {
            Whom::Server(client) => ask_server(client, question, &self.bundle, self.timeout).await,
            Whom::Plugin(local) => ask_plugin(&local.plugin, question, &self.bundle, self.timeout).await,
        };
        answer.map_err(|failure| {
            if !failure.phases.is_empty() {
                tell!("{}", print::phases(&failure.phases));
            }
            anyhow::Error::msg(failure.message)
        })
    }
}

async fn ask_server(
    client: &mut Client,
    question: Question,
    bundle: &Bundle,
    timeout: Duration,
) -> Result<(Answer, Phases), Failure> {
    Ok(match question {
        Question::Generate => {
            let (manifests, phases) = client.generate(bundle, timeout).await?;
            (Answer::Manifests(manifests), phases)
        }
        Question::Match => {
            let (found, phases) = client.matches(bundle, timeout).await?;
            (Answer::Match(found), phases)
        }
        Question::Parameters => {
            let (announcements, phases) = client.parameters(bundle, timeout).await?;
            (Answer::Parameters(announcements), phases)
        }
    })
}

async fn ask_plugin(
    plugin: &CommandPlugin,
    question: Question,
    bundle: &Bundle,
    timeout: Duration,
) -> Result<(Answer, Phases), Failure> {
    let mut source = bundle.source(Limits::default())?;
    let call = Call::new(Some(Instant::now() + timeout), Janitor::default());
    let work = async {
        match question {
            Question::Generate => plugin.generate(&call, &mut source).await.map(Answer::Manifests),
            Question::Match => plugin.matches(&call, &mut source).await.map(Answer::Match),
            Question::Parameters => plugin.parameters(&call, &mut source).await.map(Answer::Parameters),
        }
    };
    let mut stop =
        StopSignals::listen().map_err(|error| Failure { message: error.to_string(), phases: Vec::new() })?;
    let answer = tokio::select! {
        answer = work => answer.map_err(|error| error.to_string()),
        () = stop.told_to_stop() => Err("interrupted".to_owned()),
    };
    let phases: Vec<(Phase, Duration)> = call.report().phases;
    call.finish().await;
    match answer {
        Ok(answer) => Ok((answer, phases)),
        Err(message) => Err(Failure { message, phases }),
    }
}

/// A plugin in this process, with a place of its own for its tree.
struct LocalPlugin {
    plugin: CommandPlugin,
    _place: TempDir,
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
        "/home/argocd/cmp-server/config/plugin.yaml".into(),
    ];
    let found = places.iter().find(|path| path.is_file()).cloned();
    found.with_context(|| {
        let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        format!("no plugin.yaml found (looked at {}); name one with --plugin", places.join(", "))
    })
}

fn base_name(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.file_name().map_or_else(|| "app".to_owned(), |name| name.to_string_lossy().into_owned())
}
