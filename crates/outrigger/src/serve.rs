//! `outrigger serve`: a plugin server from start to end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use outrigger_plugin::command::{CommandLimits, Environment, adopt_orphans};
use outrigger_plugin::config::PluginConfig;
use outrigger_plugin::metrics::{Metrics, SharedMetrics};
use outrigger_plugin::serve::{Endpoint, Options, Readiness, Server, serve_http};
use outrigger_plugin::{CommandPlugin, Equipment, Janitor, Plugin as _, duration};
use outrigger_source::WorkDir;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::StopSignals;
use crate::cli::ServeArgs;
use crate::config_file::ConfigFile;
use crate::places;
use crate::telemetry::Telemetry;

/// The grace period of somebody in a hurry. Not nothing: whoever is dialling must hear from us first.
const HURRY: Duration = Duration::from_secs(1);

/// Serves until SIGTERM or SIGINT.
pub(crate) async fn run(args: ServeArgs) -> Result<()> {
    let telemetry = Telemetry::start(&args.log, &args.otlp)?;
    info!(version = env!("CARGO_PKG_VERSION"), "Outrigger plugin server is starting");
    let stop = StopSignals::listen()?;
    let built = App::build(&args, &telemetry).await;
    let result = match built {
        Ok(app) => {
            app.run(stop).await;
            Ok(())
        }
        Err(failure) => {
            error!("{failure:#}");
            Err(failure)
        }
    };
    telemetry.finish().await;
    result
}

/// A server with everything it needs.
struct App<'a> {
    args: &'a ServeArgs,
    file: ConfigFile,
    plugin: Arc<CommandPlugin>,
    server: Server<CommandPlugin>,
    endpoints: Vec<Endpoint>,
    metrics: SharedMetrics,
    readiness: Readiness,
    stop_http: CancellationToken,
}

impl<'a> App<'a> {
    async fn build(args: &'a ServeArgs, telemetry: &Telemetry) -> Result<Self> {
        raise_descriptor_limit();
        adopt_orphans().context("cannot watch for child processes")?;
        let mut file = ConfigFile::in_dir(&args.config_dir_path);
        let config = file.load()?;
        let metrics = Arc::new(Metrics::new());
        let base = places::work_base();
        let work = WorkDir::open(&base)
            .with_context(|| format!("cannot use {} for source trees", base.display()))?;
        sweep(&work);
        let equipment = Equipment {
            work,
            env: Environment::of_this_process(),
            limits: command_limits(args)?,
            parallelism: (args.parallelism > 0).then_some(args.parallelism),
            metrics: Arc::clone(&metrics),
        };
        let plugin = Arc::new(CommandPlugin::new(config, equipment));
        let options = Options {
            limits: (&args.limits).into(),
            max_message_bytes: places::max_message_bytes(),
            metrics: Arc::clone(&metrics),
            janitor: Janitor::default(),
            link_trace: telemetry.link_trace(),
        };
        let server = Server::new(Arc::clone(&plugin), options).await;
        let (readiness, stop_http) = (Readiness::default(), CancellationToken::new());
        if let Some(address) = &args.http {
            let bound = serve_http(address, Arc::clone(&metrics), readiness.clone(), stop_http.clone()).await;
            let bound = bound.with_context(|| format!("cannot serve HTTP on {address}"))?;
            info!("serving /metrics, /healthz and /readyz on {bound}");
        }
        let mut app =
            Self { args, file, plugin, server, endpoints: Vec::new(), metrics, readiness, stop_http };
        let config = app.plugin.config();
        app.listen(&config).await?;
        app.readiness.set_ready(true);
        Ok(app)
    }

    async fn run(mut self, mut stop: StopSignals) {
        loop {
            tokio::select! {
                () = stop.told_to_stop() => break,
                config = self.file.changed() => self.reload(config).await,
            }
        }
        self.readiness.set_ready(false);
        info!(
            grace = duration::human(self.args.grace_period),
            "stopping: no new connections, running calls go on"
        );
        let finished = tokio::select! {
            finished = self.server.shutdown(self.args.grace_period) => finished,
            // A person who presses Ctrl-C again does not want to wait. A second SIGTERM says nothing new:
            // some supervisors send it twice at once.
            () = stop.interrupted() => self.server.shutdown(HURRY).await,
        };
        if !finished {
            warn!("calls that were still running were ended");
        }
        self.stop_http.cancel();
        info!("stopped");
    }

    /// Listens where `config` and the flags say, and nowhere else. If that fails, the old places stay.
    async fn listen(&mut self, config: &PluginConfig) -> Result<()> {
        let own = Endpoint::unix(&places::socket_dir().join(config.socket_file_name()))
            .map_err(anyhow::Error::msg)?;
        let mut wanted = self.args.listen.clone();
        if !config.spec.listen_address.is_empty() {
            let address = config.spec.listen_address.parse().map_err(anyhow::Error::msg);
            wanted.push(address.context("spec.listenAddress")?);
        }
        if wanted.is_empty() || places::socket_dir().is_dir() {
            wanted.push(own);
        } else {
            info!("{} is not there: no socket for a repo-server in this pod", places::socket_dir().display());
        }
        for endpoint in &wanted {
            if !self.endpoints.contains(endpoint) {
                let bound = self.server.listen(endpoint).await.with_context(|| cannot_listen(endpoint))?;
                info!("serving plugin {} on {bound}", config.name_and_version());
                self.endpoints.push(endpoint.clone());
            }
        }
        let (kept, gone) =
            std::mem::take(&mut self.endpoints).into_iter().partition(|old| wanted.contains(old));
        self.endpoints = kept;
        let gone: Vec<Endpoint> = gone;
        for endpoint in gone {
            self.server.close(&endpoint).await;
            info!("no longer serving on {endpoint}");
        }
        if !config.is_discovery_configured() {
            info!(
                "no discovery is configured: applications use this plugin by the name {:?} in spec.source.plugin.name",
                config.name_and_version()
            );
        }
        Ok(())
    }

    async fn reload(&mut self, config: Result<PluginConfig>) {
        let result = self.take_over(config).await;
        self.metrics.count_reload(result.is_ok());
        match result {
            Ok(()) => {
                self.readiness.set_remark(None);
                info!(digest = self.plugin.describe().digest, "plugin.yaml changed and is in use");
            }
            Err(failure) => {
                error!("plugin.yaml changed, but the last good one stays in use: {failure:#}");
                self.readiness.set_remark(Some(format!("the last good plugin.yaml is served: {failure:#}")));
            }
        }
    }

    async fn take_over(&mut self, config: Result<PluginConfig>) -> Result<()> {
        let config = config?;
        self.listen(&config).await?;
        self.plugin.reconfigure(config);
        Ok(())
    }
}

fn cannot_listen(endpoint: &Endpoint) -> String {
    let missing = match endpoint {
        Endpoint::Unix(path) => path.parent().filter(|dir| !dir.is_dir()),
        Endpoint::Tcp(_) => None,
    };
    match missing {
        Some(dir) => format!(
            "cannot listen on {endpoint}: there is no directory {}; mount the repo-server's plugins directory \
             there, set ARGOCD_PLUGINSOCKFILEPATH, or serve on TCP with --listen",
            Path::display(dir)
        ),
        None => format!("cannot listen on {endpoint}"),
    }
}

fn command_limits(args: &ServeArgs) -> Result<CommandLimits> {
    Ok(CommandLimits {
        timeout: exec_timeout("ARGOCD_EXEC_TIMEOUT")?,
        fatal_timeout: exec_timeout("ARGOCD_EXEC_FATAL_TIMEOUT")?,
        output_bytes: usize::try_from(args.max_output_bytes.0).unwrap_or(usize::MAX),
    })
}

fn exec_timeout(name: &str) -> Result<Option<Duration>> {
    match std::env::var(name) {
        Ok(text) if !text.is_empty() => {
            let timeout =
                duration::parse(&text).map_err(anyhow::Error::msg).with_context(|| name.to_owned())?;
            Ok(Some(timeout))
        }
        _ => Ok(None),
    }
}

/// Removes what an earlier server left behind, while this one already serves.
fn sweep(work: &WorkDir) {
    let work = work.clone();
    tokio::task::spawn_blocking(move || match work.sweep() {
        Ok(swept) => {
            if swept.removed > 0 {
                info!(removed = swept.removed, "removed source trees that an earlier server left");
            }
            for (path, failure) in swept.failed {
                warn!("cannot remove {}, which an earlier server left: {failure}", path.display());
            }
        }
        Err(failure) => warn!("cannot remove what an earlier server left: {failure}"),
    });
}

/// A connection waiting for a descriptor is a repo-server that hangs: take as many as the kernel gives.
fn raise_descriptor_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
