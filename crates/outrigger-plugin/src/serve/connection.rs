//! One HTTP/2 connection: its requests, and its end when the server stops.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::{Router, response::Response};
use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use outrigger_wire::CONFIG_DIGEST_HEADER;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::listener::Stream;

/// How long a connection must be without a request before a stopping server takes leave of it.
///
/// The repo-server asks several questions over one connection; an answer missing in between would count as
/// "not this plugin's" and be cached.
const LINGER: Duration = Duration::from_secs(1);
const WINDOW: u32 = 1 << 20;

/// Values that live until the reply to a request has been sent.
#[derive(Clone, Default)]
pub(super) struct AfterReply(Arc<Mutex<Vec<Box<dyn Send>>>>);

impl AfterReply {
    pub(super) fn keep(&self, values: Vec<Box<dyn Send>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(values);
    }
}

/// The tasks of a server: its connections and the requests on them.
#[derive(Clone, Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    aborted: CancellationToken,
}

impl Tasks {
    /// Runs `work` until its end, or until everything is aborted.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let aborted = self.aborted.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                () = work => {}
                () = aborted.cancelled() => {}
            }
        });
    }

    /// Waits for everything; what still runs after `grace` is ended. Tells whether all ended by itself.
    pub(super) async fn finish(&self, grace: Duration) -> bool {
        self.tracker.close();
        let finished = tokio::time::timeout(grace, self.tracker.wait()).await.is_ok();
        self.aborted.cancel();
        self.tracker.wait().await;
        finished
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, work: F) {
        self.spawn(work);
    }
}

/// Serves one connection to its end. `draining` asks it to end when it is idle.
pub(super) async fn serve(
    stream: Box<dyn Stream>,
    router: Router,
    digest: impl Fn() -> String + Send + 'static,
    draining: CancellationToken,
    tasks: Tasks,
) {
    let (activity, mut active) = watch::channel(0_usize);
    let activity = Arc::new(activity);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let router = router.clone();
        let digest = digest();
        // A health check that watches, or an open reflection, keeps nobody from stopping.
        let is_work = request.uri().path().starts_with("/plugin.");
        let running = is_work.then(|| Running::new(&activity));
        async move {
            let after_reply = AfterReply::default();
            request.extensions_mut().insert(after_reply.clone());
            let Ok(mut response) = router.oneshot(request.map(Body::new)).await;
            if let Ok(value) = HeaderValue::try_from(digest) {
                response.headers_mut().insert(CONFIG_DIGEST_HEADER, value);
            }
            let reply = response.map(|body| Reply { body, _running: running, _after_reply: after_reply });
            Ok::<Response<Reply>, Infallible>(reply)
        }
    });
    let mut builder = http2::Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(20))
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .max_concurrent_streams(1024);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let idle_at_the_end = async {
        draining.cancelled().await;
        until_idle(&mut active).await;
    };
    tokio::select! {
        // An error is a peer that went away; there is nobody to tell.
        _ = connection.as_mut() => return,
        () = idle_at_the_end => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Returns when no request ran or came for [`LINGER`].
async fn until_idle(active: &mut watch::Receiver<usize>) {
    loop {
        if active.wait_for(|running| *running == 0).await.is_err() {
            return;
        }
        if !matches!(tokio::time::timeout(LINGER, active.changed()).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// Counts a request as running until its reply is sent or given up.
struct Running(Arc<watch::Sender<usize>>);

impl Running {
    fn new(activity: &Arc<watch::Sender<usize>>) -> Self {
        activity.send_modify(|running| *running += 1);
        Self(Arc::clone(activity))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

/// A reply's body, with what must live until it has been sent.
struct Reply {
    body: Body,
    _running: Option<Running>,
    _after_reply: AfterReply,
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
