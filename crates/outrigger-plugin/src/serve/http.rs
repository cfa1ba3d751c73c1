//! `/metrics`, `/healthz` and `/readyz` over plain HTTP.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use tokio_util::sync::CancellationToken;

use super::listener::bind_tcp;
use crate::metrics::SharedMetrics;

/// Whether the server may get work, and what a person should know about it.
#[derive(Clone, Default)]
pub struct Readiness(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    ready: bool,
    remark: Option<String>,
}

impl Readiness {
    /// Ready, or no longer.
    pub fn set_ready(&self, ready: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).ready = ready;
    }

    /// Something that is wrong although the server works, or nothing.
    pub fn set_remark(&self, remark: Option<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remark = remark;
    }

    fn answer(&self) -> (StatusCode, String) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (state.ready, &state.remark) {
            (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n".to_owned()),
            (true, None) => (StatusCode::OK, "ok\n".to_owned()),
            (true, Some(remark)) => (StatusCode::OK, format!("ok, but {remark}\n")),
        }
    }
}

/// Serves the three pages at `address` until `stop`; returns the address as bound.
pub async fn serve_http(
    address: &str,
    metrics: SharedMetrics,
    readiness: Readiness,
    stop: CancellationToken,
) -> io::Result<std::net::SocketAddr> {
    let listener = bind_tcp(address).await?;
    let bound = listener.local_addr()?;
    let text = || {
        let headers = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
        async move { (headers, metrics.text()).into_response() }
    };
    let router = Router::new()
        .route("/metrics", get(text))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(|| async move { readiness.answer() }));
    tokio::spawn(async move {
        let _ = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
    });
    Ok(bound)
}
