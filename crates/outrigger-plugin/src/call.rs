//! One request to a plugin: its deadline, its phases and what is to be cleaned up after the reply.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{Instrument as _, Span, info_span};

use crate::janitor::Janitor;

/// The steps of a render, as they appear in errors, metrics, traces and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Waiting for a free slot (`--parallelism`).
    Queue,
    /// Waiting for the sender's bytes.
    Receive,
    /// Decompressing, verifying and writing (or only indexing) the tree.
    Unpack,
    /// The plugin's `discover` rule.
    Discover,
    /// The plugin's `init` command.
    Init,
    /// The plugin's `generate` command.
    Generate,
    /// The plugin's `parameters.dynamic` command.
    Parameters,
    /// Splitting the output into documents.
    Parse,
}

impl Phase {
    /// Every phase, in the order of a render.
    pub const ALL: [Self; 8] = [
        Self::Queue,
        Self::Receive,
        Self::Unpack,
        Self::Discover,
        Self::Init,
        Self::Generate,
        Self::Parameters,
        Self::Parse,
    ];

    /// The phase's name, lower-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Receive => "receive",
            Self::Unpack => "unpack",
            Self::Discover => "discover",
            Self::Init => "init",
            Self::Generate => "generate",
            Self::Parameters => "parameters",
            Self::Parse => "parse",
        }
    }

    /// The phase of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one call cost: time by phase, bytes and files.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The phases in the order they ended, each with the time it took.
    pub phases: Vec<(Phase, Duration)>,
    /// Compressed bytes received.
    pub wire_bytes: u64,
    /// Bytes of the tree's files.
    pub tree_bytes: u64,
    /// Entries of the tree.
    pub tree_entries: u64,
    /// The tree's identity, where it was unpacked.
    pub tree_id: Option<String>,
}

/// The span of a phase; log lines within it name the phase.
pub(crate) fn span(phase: Phase) -> Span {
    info_span!("phase", "otel.name" = phase.name(), phase = phase.name())
}

/// One request to a plugin.
#[derive(Clone)]
pub struct Call {
    started: Instant,
    deadline: Option<Instant>,
    state: Arc<Mutex<State>>,
    janitor: Janitor,
}

#[derive(Default)]
struct State {
    report: Report,
    current: Option<Phase>,
    leftovers: Vec<Box<dyn Send>>,
}

impl Call {
    /// A call that must be answered by `deadline`, if there is one.
    pub fn new(deadline: Option<Instant>, janitor: Janitor) -> Self {
        Self { started: Instant::now(), deadline, state: Arc::default(), janitor }
    }

    /// When the answer must be ready.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How long this call runs already.
    pub fn used(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long it may run in all.
    pub fn allowed(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(self.started))
    }

    /// Runs `work` as `phase`: its time is recorded, and an expired deadline names it.
    pub async fn phase<T>(&self, phase: Phase, work: impl Future<Output = T>) -> T {
        self.enter(phase);
        let started = Instant::now();
        let done = work.instrument(span(phase)).await;
        self.record(phase, started.elapsed());
        done
    }

    /// Says which phase is running now.
    pub(crate) fn enter(&self, phase: Phase) {
        self.state().current = Some(phase);
    }

    /// The phase that is running, or ran last.
    pub fn current(&self) -> Option<Phase> {
        self.state().current
    }

    /// Adds the time of a phase that was measured elsewhere.
    pub fn record(&self, phase: Phase, took: Duration) {
        self.state().report.phases.push((phase, took));
    }

    /// Adds what is known of the source.
    pub(crate) fn record_source(&self, stats: &outrigger_source::Stats, id: Option<String>) {
        let mut state = self.state();
        state.report.phases.push((Phase::Receive, stats.receive));
        state.report.phases.push((Phase::Unpack, stats.unpack));
        state.report.wire_bytes = stats.wire_bytes;
        state.report.tree_bytes = stats.bytes;
        state.report.tree_entries = stats.entries;
        state.report.tree_id = id;
    }

    /// What the call cost until now.
    pub fn report(&self) -> Report {
        self.state().report.clone()
    }

    /// Keeps `value` until the reply has been sent, then drops it.
    ///
    /// Dropping may be slow in appearance only: whatever takes long hands itself to the [`Janitor`].
    pub fn after_reply(&self, value: impl Send + 'static) {
        self.state().leftovers.push(Box::new(value));
    }

    /// Drops what waited for the reply and waits until it is cleaned up; for callers without a server.
    pub async fn finish(self) {
        drop(self.take_leftovers());
        self.janitor.finish().await;
    }

    pub(crate) fn janitor(&self) -> &Janitor {
        &self.janitor
    }

    /// What waits for the reply; for whoever sends it.
    pub(crate) fn take_leftovers(&self) -> Vec<Box<dyn Send>> {
        std::mem::take(&mut self.state().leftovers)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
