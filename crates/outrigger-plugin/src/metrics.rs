//! What the server counts, in the Prometheus text format.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::call::Report;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabel {
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    method: &'static str,
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginLabels {
    plugin: String,
    digest: String,
}

/// From half a millisecond to five minutes: a match takes the one, a slow helm dependency update the other.
const SECONDS: [f64; 16] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 90.0, 300.0];

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

/// The metrics of one server.
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    call_seconds: Family<MethodLabel, Histogram>,
    phase_seconds: Family<PhaseLabels, Histogram, fn() -> Histogram>,
    wire_bytes: Counter,
    tree_bytes: Counter,
    tree_entries: Counter,
    in_flight: Gauge,
    queued: Gauge,
    config_reloads: Family<ResultLabel, Counter>,
    config_broken: Gauge,
    plugin_info: Family<PluginLabels, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Empty metrics in a registry of their own.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("outrigger");
        let calls = Family::default();
        registry.register("calls", "Calls answered, by method and outcome", calls.clone());
        let call_seconds = Family::new_with_constructor(seconds as fn() -> Histogram);
        registry.register_with_unit(
            "call",
            "Time from a call's arrival to its reply",
            Unit::Seconds,
            call_seconds.clone(),
        );
        let phase_seconds = Family::new_with_constructor(seconds as fn() -> Histogram);
        registry.register_with_unit("phase", "Time by phase of a call", Unit::Seconds, phase_seconds.clone());
        let wire_bytes = Counter::default();
        registry.register("received_bytes", "Compressed source bytes received", wire_bytes.clone());
        let tree_bytes = Counter::default();
        registry.register("tree_bytes", "Bytes of the files of received trees", tree_bytes.clone());
        let tree_entries = Counter::default();
        registry.register(
            "tree_entries",
            "Files, directories and links of received trees",
            tree_entries.clone(),
        );
        let in_flight = Gauge::default();
        registry.register("in_flight", "Calls being answered now", in_flight.clone());
        let queued = Gauge::default();
        registry.register("queued", "Calls waiting for a free slot now", queued.clone());
        let config_reloads = Family::default();
        registry.register("config_reloads", "Changes of plugin.yaml seen, by result", config_reloads.clone());
        let config_broken = Gauge::default();
        registry.register(
            "config_broken",
            "1 while plugin.yaml on disk cannot be used and the last good one is served",
            config_broken.clone(),
        );
        let plugin_info = Family::default();
        registry.register(
            "plugin_info",
            "The plugin served now, and its configuration's digest",
            plugin_info.clone(),
        );
        Self {
            registry,
            calls,
            call_seconds,
            phase_seconds,
            wire_bytes,
            tree_bytes,
            tree_entries,
            in_flight,
            queued,
            config_reloads,
            config_broken,
            plugin_info,
        }
    }

    /// The text that `/metrics` serves.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Counts a call as running until the guard is dropped.
    pub(crate) fn in_flight(&self) -> Raised {
        Raised::new(&self.in_flight)
    }

    /// Counts a call as waiting for a slot until the guard is dropped.
    pub(crate) fn queued(&self) -> Raised {
        Raised::new(&self.queued)
    }

    pub(crate) fn count_call(
        &self,
        method: &'static str,
        outcome: &'static str,
        took: Duration,
        report: &Report,
    ) {
        self.calls.get_or_create(&CallLabels { method, outcome }).inc();
        self.call_seconds.get_or_create(&MethodLabel { method }).observe(took.as_secs_f64());
        for (phase, took) in &report.phases {
            let labels = PhaseLabels { method, phase: phase.name() };
            self.phase_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        }
        self.wire_bytes.inc_by(report.wire_bytes);
        self.tree_bytes.inc_by(report.tree_bytes);
        self.tree_entries.inc_by(report.tree_entries);
    }

    /// Notes that plugin.yaml changed, and whether the new one could be used.
    pub fn count_reload(&self, usable: bool) {
        let result = if usable { "used" } else { "refused" };
        self.config_reloads.get_or_create(&ResultLabel { result }).inc();
        self.config_broken.set(i64::from(!usable));
    }

    /// Says which plugin is served.
    pub fn set_plugin(&self, plugin: &str, digest: &str) {
        self.plugin_info.clear();
        let labels = PluginLabels { plugin: plugin.to_owned(), digest: digest.to_owned() };
        self.plugin_info.get_or_create(&labels).set(1);
    }
}

/// A gauge that is one higher while this lives.
pub(crate) struct Raised(Gauge);

impl Raised {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Shared by whoever counts.
pub type SharedMetrics = Arc<Metrics>;
