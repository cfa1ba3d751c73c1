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
            limits: command_limits(args),
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
        let wanted = app.places(&config)?;
        app.listen(&wanted, &config.name_and_version()).await?;
        if !config.is_discovery_configured() {
            info!(
                "no discovery is configured: applications use this plugin by the name {:?} in spec.source.plugin.name",
                config.name_and_version()
            );
        }
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
            () = stop.interrupted() => self.server.shutdown(Duration::ZERO).await,
        };
        if !finished {
            warn!("calls that were still running were ended");
        }
        self.stop_http.cancel();
        info!("stopped");
    }

    /// Where `config` and the flags say to listen.
    fn places(&self, config: &PluginConfig) -> Result<Vec<Endpoint>> {
        let mut wanted = self.args.listen.clone();
        if !config.spec.listen_address.is_empty() {
            let address = config.spec.listen_address.parse().map_err(anyhow::Error::msg);
            wanted.push(address.context("spec.listenAddress")?);
        }
        let sockets = places::socket_dir();
        if wanted.is_empty() || sockets.is_dir() {
            wanted
                .push(Endpoint::unix(&sockets.join(config.socket_file_name())).map_err(anyhow::Error::msg)?);
        } else {
            info!("{} is not there: no socket for a repo-server in this pod", sockets.display());
        }
        Ok(wanted)
    }

    /// Listens at those of `wanted` that are new. If one fails, none of them stays.
    async fn listen(&mut self, wanted: &[Endpoint], name: &str) -> Result<()> {
        let mut bound: Vec<Endpoint> = Vec::new();
        for endpoint in wanted {
            if self.endpoints.contains(endpoint) || bound.contains(endpoint) {
                continue;
            }
            match self.server.listen(endpoint).await {
                Ok(at) => info!("serving plugin {name} on {at}"),
                Err(error) => {
                    for endpoint in &bound {
                        self.server.close(endpoint).await;
                    }
                    return Err(error).with_context(|| cannot_listen(endpoint));
                }
            }
            bound.push(endpoint.clone());
        }
        self.endpoints.extend(bound);
        Ok(())
    }

    /// Listens at `wanted` only.
    async fn close_others(&mut self, wanted: &[Endpoint]) {
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.endpoints).into_iter().partition(|endpoint| wanted.contains(endpoint));
        self.endpoints = kept;
        for endpoint in gone {
            self.server.close(&endpoint).await;
            info!("no longer serving on {endpoint}");
        }
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
        let wanted = self.places(&config)?;
        self.listen(&wanted, &config.name_and_version()).await?;
        self.plugin.reconfigure(config);
        self.close_others(&wanted).await;
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

fn command_limits(args: &ServeArgs) -> CommandLimits {
    CommandLimits {
        timeout: exec_timeout("ARGOCD_EXEC_TIMEOUT"),
        fatal_timeout: exec_timeout("ARGOCD_EXEC_FATAL_TIMEOUT"),
        output_bytes: usize::try_from(args.max_output_bytes.0).unwrap_or(usize::MAX),
    }
}

/// A limit in Argo CD's words: nothing and 0 mean none. Argo CD's own server ignores these variables, so that
/// one it could not have read must not keep a plugin from starting.
fn exec_timeout(name: &str) -> Option<Duration> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    match duration::parse(&text) {
        Ok(timeout) => Some(timeout).filter(|timeout| !timeout.is_zero()),
        Err(problem) => {
            warn!("{name} is ignored: {problem}");
            None
        }
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

/// A connection waiting for a descriptor is a repo-server that hangs: take more than the usual thousand. Not
/// as many as the kernel gives, since commands inherit the limit and some programs look at every number below it.
fn raise_descriptor_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    const WANTED: u64 = 65_536;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < WANTED.min(hard)
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, WANTED.min(hard), hard);
    }
}
