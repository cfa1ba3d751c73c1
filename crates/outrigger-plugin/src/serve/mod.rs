//! Puts a [`Plugin`](crate::Plugin) behind Argo CD's gRPC protocol, on unix sockets and on TCP.
//!
//! Promised: every connection that the kernel took is answered; a stopping server finishes what runs within
//! its grace period; nothing of a request is left when [`Server::shutdown`] returns. Not promised: encryption
//! and authentication of callers.

mod authority;
mod connection;
mod endpoint;
mod http;
mod listener;
mod service;
mod version;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use outrigger_source::Limits;
use outrigger_wire::DESCRIPTORS;
use outrigger_wire::plugin::config_management_plugin_service_server::ConfigManagementPluginServiceServer;
use outrigger_wire::version::version_service_server::VersionServiceServer;
use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

pub use self::http::{Readiness, serve_http};
pub use endpoint::Endpoint;
pub use service::{LinkTrace, PHASES_HEADER, read_phases};

use crate::janitor::Janitor;
use crate::metrics::SharedMetrics;
use crate::plugin::Plugin;
use connection::Tasks;
use listener::{Listener, Stream};
use service::Service;

/// Whoever was dialling when the server stopped must hear from it first, however much of a hurry there is.
const LEAST_GRACE: Duration = Duration::from_secs(1);

/// What a server is started with.
pub struct Options {
    /// Bounds on what callers send.
    pub limits: Limits,
    /// The largest gRPC message, both ways.
    pub max_message_bytes: usize,
    /// Where calls are counted.
    pub metrics: SharedMetrics,
    /// Who cleans up.
    pub janitor: Janitor,
    /// How to join the caller's trace, if traces are exported.
    pub link_trace: Option<LinkTrace>,
}

/// A plugin that is being served. Cheap to clone; all clones are the same server.
pub struct Server<P> {
    shared: Arc<Shared<P>>,
}

impl<P> Clone for Server<P> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

struct Shared<P> {
    plugin: Arc<P>,
    router: Router,
    health: HealthReporter,
    janitor: Janitor,
    listeners: Mutex<HashMap<Endpoint, Listening>>,
    tasks: Tasks,
    draining: CancellationToken,
}

/// A listener at work.
struct Listening {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl<P: Plugin> Server<P> {
    /// A server that listens nowhere yet.
    pub async fn new(plugin: Arc<P>, options: Options) -> Self {
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_service_status("", ServingStatus::Serving).await;
        health.set_serving::<ConfigManagementPluginServiceServer<Service<P>>>().await;
        let service = Service {
            plugin: Arc::clone(&plugin),
            limits: options.limits,
            metrics: options.metrics,
            janitor: options.janitor.clone(),
            link_trace: options.link_trace,
        };
        let plugin_service = ConfigManagementPluginServiceServer::new(service)
            .max_decoding_message_size(options.max_message_bytes)
            .max_encoding_message_size(options.max_message_bytes);
        let mut routes = tonic::service::Routes::builder();
        routes
            .add_service(plugin_service)
            .add_service(VersionServiceServer::new(version::Version))
            .add_service(health_service);
        if let Ok(reflection) = reflection().build_v1() {
            routes.add_service(reflection);
        }
        if let Ok(reflection) = reflection().build_v1alpha() {
            routes.add_service(reflection);
        }
        let shared = Shared {
            plugin,
            router: routes.routes().prepare().into_axum_router(),
            health,
            janitor: options.janitor,
            listeners: Mutex::default(),
            tasks: Tasks::default(),
            draining: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Listens at `endpoint` too, and says where that is exactly.
    pub async fn listen(&self, endpoint: &Endpoint) -> io::Result<Endpoint> {
        let listener = Listener::bind(endpoint).await?;
        let bound = listener.endpoint()?;
        let stop = CancellationToken::new();
        let server = self.clone();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            listener.accept_until(stopped, |stream| server.serve_connection(stream)).await;
        });
        self.listeners().insert(endpoint.clone(), Listening { stop, task });
        Ok(bound)
    }

    /// Listens at `endpoint` no more; its connections go on.
    pub async fn close(&self, endpoint: &Endpoint) {
        let listening = self.listeners().remove(endpoint);
        if let Some(Listening { stop, task }) = listening {
            stop.cancel();
            let _ = task.await;
        }
    }

    /// Stops: says so to health checks, closes the listeners, takes leave of every connection once it is
    /// idle, and after `grace` (a second at least) of those that are not. Returns whether everything ended by itself.
    pub async fn shutdown(&self, grace: Duration) -> bool {
        let shared = &self.shared;
        shared.health.set_service_status("", ServingStatus::NotServing).await;
        shared.health.set_not_serving::<ConfigManagementPluginServiceServer<Service<P>>>().await;
        let endpoints: Vec<Endpoint> = self.listeners().keys().cloned().collect();
        for endpoint in &endpoints {
            self.close(endpoint).await;
        }
        shared.draining.cancel();
        let finished = shared.tasks.finish(grace.max(LEAST_GRACE)).await;
        shared.janitor.finish().await;
        finished
    }

    fn serve_connection(&self, stream: Box<dyn Stream>) {
        let shared = &self.shared;
        let plugin = Arc::clone(&shared.plugin);
        let digest = move || plugin.describe().digest.clone();
        let (router, draining, tasks) =
            (shared.router.clone(), shared.draining.clone(), shared.tasks.clone());
        shared.tasks.spawn(connection::serve(stream, router, digest, draining, tasks));
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<Endpoint, Listening>> {
        self.shared.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
