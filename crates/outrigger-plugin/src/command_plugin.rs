//! The plugin that runs the commands of a `plugin.yaml`: what argocd-cmp-server does.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use outrigger_source::{FileModes, Metadata, Source, SourceError, Tree, WorkDir};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{Instrument as _, info, warn};

use crate::call::{Call, Phase, span};
use crate::command::{CommandLimits, Environment, Invocation, Output, shorten};
use crate::config::{Command, EmptyOutput, ParameterAnnouncement, PluginConfig, parse_announcements};
use crate::documents;
use crate::error::RenderError;
use crate::metrics::SharedMetrics;
use crate::plugin::{Description, Match, Plugin};
use crate::workspace::Workspace;

/// Runs `init`, `generate`, `discover` and `parameters` of a plugin.yaml in a private copy of the tree.
pub struct CommandPlugin {
    current: RwLock<Current>,
    work: WorkDir,
    env: Environment,
    limits: CommandLimits,
    slots: Option<Arc<Semaphore>>,
    metrics: SharedMetrics,
}

#[derive(Clone)]
struct Current {
    config: Arc<PluginConfig>,
    description: Arc<Description>,
}

impl Current {
    fn new(config: PluginConfig) -> Self {
        let description = Description {
            name: config.name_and_version(),
            digest: config.digest().to_owned(),
            discovers: config.is_discovery_configured(),
            wants_git_credentials: config.spec.provide_git_creds,
        };
        Self { config: Arc::new(config), description: Arc::new(description) }
    }
}

/// What a [`CommandPlugin`] works with besides its plugin.yaml.
pub struct Equipment {
    /// Where trees are unpacked.
    pub work: WorkDir,
    /// The environment that commands get before the request's is added.
    pub env: Environment,
    /// What a command may use.
    pub limits: CommandLimits,
    /// How many calls may hold a tree at once; the others wait. `None`: as many as come.
    pub parallelism: Option<usize>,
    /// Where waiting calls are counted.
    pub metrics: SharedMetrics,
}

impl CommandPlugin {
    /// A plugin as `config` says.
    pub fn new(config: PluginConfig, equipment: Equipment) -> Self {
        let Equipment { work, env, limits, parallelism, metrics } = equipment;
        let current = Current::new(config);
        metrics.set_plugin(&current.description.name, &current.description.digest);
        Self {
            current: RwLock::new(current),
            work,
            env,
            limits,
            slots: parallelism.map(|slots| Arc::new(Semaphore::new(slots))),
            metrics,
        }
    }

    /// Uses `config` from the next call on; calls that run go on with the old one.
    pub fn reconfigure(&self, config: PluginConfig) {
        let current = Current::new(config);
        self.metrics.set_plugin(&current.description.name, &current.description.digest);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
    }

    fn current(&self) -> Current {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The configuration in use.
    pub fn config(&self) -> Arc<PluginConfig> {
        self.current().config
    }

    /// Waits for a slot, then unpacks the source into a workspace of its own.
    async fn open<'a>(
        &'a self,
        call: &'a Call,
        config: &'a PluginConfig,
        source: &mut Source,
        app_dir: fn(&Tree, &str) -> Result<PathBuf, SourceError>,
    ) -> Result<Session<'a>, RenderError> {
        let slot = self.slot(call).await?;
        let mut workspace = Workspace::new(slot, call.janitor().clone());
        let tree = arriving(call, source.unpack(&self.work, modes(config))).await?;
        call.record_source(tree.stats(), Some(tree.id().to_string()));
        let metadata = source.metadata();
        let dir = app_dir(&tree, &metadata.app_rel_path);
        workspace.hold(tree);
        let dir = dir?;
        if !dir.is_dir() {
            return Err(RenderError::NoAppDir { path: metadata.app_rel_path.clone().into() });
        }
        let env = self.environment(metadata, &mut workspace)?;
        Ok(Session { call, workspace, dir, env, limits: self.limits })
    }

    async fn slot(&self, call: &Call) -> Result<Option<OwnedSemaphorePermit>, RenderError> {
        let Some(slots) = &self.slots else { return Ok(None) };
        let _queued = self.metrics.queued();
        let slot = call.phase(Phase::Queue, Arc::clone(slots).acquire_owned()).await;
        slot.map(Some).map_err(|closed| RenderError::Server(closed.to_string()))
    }

    fn environment(
        &self,
        metadata: &Metadata,
        workspace: &mut Workspace,
    ) -> Result<Environment, RenderError> {
        let request = metadata.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut env = self.env.with(request);
        let spilled = env.spill(|| {
            let private = self.work.private_dir().map_err(std::io::Error::other)?;
            let path = private.path().to_owned();
            workspace.hold(private);
            Ok(path)
        })?;
        for name in spilled {
            warn!(
                variable = name,
                "environment variable is too long for a program; it is in a file named by {name}_FILE"
            );
        }
        Ok(env)
    }
}

impl Plugin for CommandPlugin {
    fn describe(&self) -> Arc<Description> {
        self.current().description
    }

    async fn matches(&self, call: &Call, source: &mut Source) -> Result<Match, RenderError> {
        let config = self.config();
        let discover = &config.spec.discover;
        if !discover.file_name.is_empty() {
            return matches_names(call, source, modes(&config), "fileName", &discover.file_name).await;
        }
        if !discover.find.glob.is_empty() {
            return matches_names(call, source, modes(&config), "find.glob", &discover.find.glob).await;
        }
        if discover.find.command.command.is_empty() {
            // Nothing to look for, but a source that cannot be used is an error all the same.
            let scanned = arriving(call, source.scan_for(modes(&config))).await?;
            call.record_source(&scanned.stats, None);
            return Ok(Match { supported: false, discovers: false });
        }
        let mut session = self.open(call, &config, source, Tree::scoped_app_dir).await?;
        let output = session.run(Phase::Discover, &discover.find.command).await;
        session.close();
        Ok(Match { supported: !trimmed(&output?.stdout).is_empty(), discovers: true })
    }

    async fn parameters(
        &self,
        call: &Call,
        source: &mut Source,
    ) -> Result<Vec<ParameterAnnouncement>, RenderError> {
        let config = self.config();
        let parameters = &config.spec.parameters;
        if parameters.dynamic.command.is_empty() {
            // Static announcements need no files; whoever serves us drains them.
            return Ok(parameters.statics.clone());
        }
        let mut session = self.open(call, &config, source, Tree::app_dir).await?;
        let output = session.run(Phase::Parameters, &parameters.dynamic).await;
        session.close();
        let output = output?;
        let dynamic = parse_announcements(trimmed(&output.stdout))
            .map_err(|reason| RenderError::Announcements(reason.to_string()))?;
        // Dynamic ones first, so that a static one of the same name wins by coming later.
        Ok(dynamic.into_iter().chain(parameters.statics.iter().cloned()).collect())
    }

    async fn generate(&self, call: &Call, source: &mut Source) -> Result<Vec<String>, RenderError> {
        let config = self.config();
        let mut session = self.open(call, &config, source, Tree::app_dir).await?;
        let output = session.render(&config).await;
        session.close();
        let stdout = output?.stdout;
        let manifests = call.phase(Phase::Parse, split(stdout)).await?;
        if manifests.is_empty() && config.spec.outrigger.empty_output == EmptyOutput::Fail {
            return Err(RenderError::EmptyOutput);
        }
        Ok(manifests)
    }
}

/// Reads a source. Bytes are used as they come, so that a stalled sender shows as the phase it is: receive.
async fn arriving<T>(
    call: &Call,
    work: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, SourceError> {
    call.enter(Phase::Receive);
    let started = tokio::time::Instant::now();
    let done = work.instrument(span(Phase::Unpack)).await;
    if done.is_err() {
        call.record(Phase::Receive, started.elapsed());
    }
    done
}

fn modes(config: &PluginConfig) -> FileModes {
    if config.spec.preserve_file_mode { FileModes::Preserve } else { FileModes::Fixed }
}

/// A tree so large is searched where it does not keep other calls waiting.
const MANY_ENTRIES: usize = 4096;

/// Discovery by name or pattern: the tar headers answer it, nothing is written.
async fn matches_names(
    call: &Call,
    source: &mut Source,
    modes: FileModes,
    rule: &'static str,
    pattern: &str,
) -> Result<Match, RenderError> {
    let scanned = arriving(call, source.scan_for(modes)).await?;
    call.record_source(&scanned.stats, None);
    let entries = scanned.index.len();
    let (path, wanted) = (source.metadata().app_rel_path.clone(), pattern.to_owned());
    let index = scanned.index;
    let look = move || match rule {
        "fileName" => index.match_file_name(&path, &wanted),
        _ => index.match_glob(&path, &wanted, &|name| std::env::var(name).ok()),
    };
    let looking = async {
        if entries < MANY_ENTRIES {
            return Ok(look());
        }
        let done = tokio::task::spawn_blocking(look).await;
        done.map_err(|error| RenderError::Server(format!("looking for {rule}: {error}")))
    };
    let found = call.phase(Phase::Discover, looking).await?;
    let supported = found.map_err(|error| RenderError::Discovery {
        rule,
        pattern: pattern.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(Match { supported, discovers: true })
}

/// The commands of one call in its tree.
struct Session<'a> {
    call: &'a Call,
    workspace: Workspace,
    dir: PathBuf,
    env: Environment,
    limits: CommandLimits,
}

impl Session<'_> {
    async fn render(&mut self, config: &PluginConfig) -> Result<Output, RenderError> {
        if !config.spec.init.command.is_empty() {
            self.run(Phase::Init, &config.spec.init).await?;
        }
        self.run(Phase::Generate, &config.spec.generate).await
    }

    async fn run(&mut self, phase: Phase, command: &Command) -> Result<Output, RenderError> {
        let argv: Vec<&str> = command.command.iter().chain(&command.args).map(String::as_str).collect();
        let shown = shorten(&argv);
        let invocation = Invocation {
            phase,
            argv,
            dir: &self.dir,
            env: &self.env,
            deadline: self.call.deadline(),
            limits: self.limits,
        };
        info!(dir = %self.dir.display(), phase = phase.name(), "{shown}");
        let output = self.call.phase(phase, self.workspace.run(&invocation)).await?;
        if output.stdout.is_empty() {
            warn!(
                command = shown,
                phase = phase.name(),
                stderr = output.stderr,
                "Plugin command returned zero output"
            );
        } else {
            info!(command = shown, phase = phase.name(), stderr = output.stderr, "Plugin command successful");
        }
        Ok(output)
    }

    /// Ends the processes now and the tree after the reply.
    fn close(self) {
        self.workspace.end_processes();
        self.call.after_reply(self.workspace);
    }
}

/// Splits the output; a large one where it does not keep other calls waiting.
async fn split(stdout: Vec<u8>) -> Result<Vec<String>, RenderError> {
    const LARGE: usize = 128 * 1024;
    if stdout.len() < LARGE {
        return Ok(documents::split(trimmed(&stdout))?);
    }
    let done = tokio::task::spawn_blocking(move || documents::split(trimmed(&stdout))).await;
    Ok(done.map_err(|error| RenderError::Server(format!("splitting the output: {error}")))??)
}

/// The output without its last newline, as upstream takes it.
fn trimmed(stdout: &[u8]) -> &[u8] {
    stdout.strip_suffix(b"\n").unwrap_or(stdout)
}
