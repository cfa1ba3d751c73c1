//! Logs to stderr and, where asked for, traces to an OpenTelemetry collector.

use std::time::Duration;

use anyhow::{Context as _, Result};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{KeyValue, trace::TraceContextExt as _};
use opentelemetry_otlp::{WithExportConfig as _, WithTonicConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tonic::metadata::{MetadataKey, MetadataMap, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig};
use tower::service_fn;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::{LogArgs, OtlpArgs};
use crate::logging::LogLayer;

/// Keeps traces flowing; sends the last ones when dropped.
pub(crate) struct Telemetry {
    provider: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Starts logging and tracing for the whole process. Must be called within a tokio runtime.
    pub(crate) fn start(log: &LogArgs, otlp: &OtlpArgs) -> Result<Self> {
        let provider = if otlp.otlp_address.is_empty() { None } else { Some(provider(otlp)?) };
        let traces = provider.as_ref().map(|provider| {
            tracing_opentelemetry::layer()
                .with_tracer(provider.tracer("outrigger"))
                .with_location(false)
                .with_threads(false)
                // Spans only: a log line may hold what a tool printed.
                .with_filter(tracing_subscriber::filter::filter_fn(|metadata| {
                    metadata.is_span() && metadata.target().starts_with("outrigger")
                }))
        });
        tracing_subscriber::registry().with(traces).with(LogLayer::to_stderr(log)).try_init()?;
        Ok(Self { provider })
    }

    /// How calls join their caller's trace, where traces are sent at all.
    pub(crate) fn link_trace(&self) -> Option<outrigger_plugin::serve::LinkTrace> {
        self.provider.as_ref().map(|_| link as outrigger_plugin::serve::LinkTrace)
    }

    /// Sends what is left.
    pub(crate) async fn finish(self) {
        if let Some(provider) = self.provider {
            // It waits for the exporter, which needs this runtime.
            let _ =
                tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(Duration::from_secs(3)))
                    .await;
        }
    }
}

fn provider(args: &OtlpArgs) -> Result<SdkTracerProvider> {
    let scheme = if args.otlp_insecure { "http" } else { "https" };
    let target = format!("{scheme}://{}", args.otlp_address);
    let wrong = || format!("--otlp-address {:?} is not HOST:PORT", args.otlp_address);
    let mut endpoint = Channel::from_shared(target.clone()).with_context(wrong)?;
    if !args.otlp_insecure {
        endpoint = endpoint.tls_config(ClientTlsConfig::new().with_native_roots()).with_context(wrong)?;
    }
    let channel = endpoint.connect_with_connector_lazy(service_fn(crate::dial::tcp));
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_tonic()
        .with_endpoint(target)
        .with_channel(channel)
        .with_metadata(headers(&args.otlp_headers)?)
        .build()
        .context("cannot set up the trace exporter")?;
    let resource = Resource::builder()
        .with_service_name("argocd-cmp-server")
        .with_attributes(attributes(&args.otlp_attrs));
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(args.otlp_sample_ratio))))
        .build())
}

fn headers(pairs: &[String]) -> Result<MetadataMap> {
    let mut headers = MetadataMap::new();
    for pair in pairs.iter().filter(|pair| !pair.is_empty()) {
        // The value may be a token: it stays out of the message.
        let (name, value) = pair.split_once('=').context("--otlp-headers takes key=value pairs")?;
        let wrong = || format!("--otlp-headers: {name:?} is not a header");
        let name: MetadataKey<_> = name.trim().to_lowercase().parse().with_context(wrong)?;
        headers.insert(name.clone(), MetadataValue::try_from(value).with_context(wrong)?);
    }
    Ok(headers)
}

fn attributes(pairs: &[String]) -> Vec<KeyValue> {
    let pairs = pairs.iter().filter_map(|pair| pair.split_once(':'));
    pairs.map(|(name, value)| KeyValue::new(name.to_owned(), value.to_owned())).collect()
}

struct Headers<'a>(&'a http::HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

fn link(span: &Span, headers: &http::HeaderMap) {
    let parent = TraceContextPropagator::new().extract(&Headers(headers));
    if parent.span().span_context().is_valid() {
        // Fails only where the span is not recorded.
        let _ = span.set_parent(parent);
    }
}
