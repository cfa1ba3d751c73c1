//! Log lines as upstream writes them: one event per line on stderr, in logrus's JSON or text form, with the
//! application's name on every line that belongs to one.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::time::SystemTime;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::cli::{LogArgs, LogFormat};

/// Writes events in one of upstream's formats.
pub(crate) struct LogLayer<W> {
    format: LogFormat,
    level: LevelFilter,
    write: W,
}

impl LogLayer<fn(&str)> {
    /// Writes to stderr.
    pub(crate) fn to_stderr(args: &LogArgs) -> Self {
        Self::new(args, |line| {
            // A log that cannot be written has nowhere to complain.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        })
    }
}

impl<W: Fn(&str) + 'static> LogLayer<W> {
    fn new(args: &LogArgs, write: W) -> Self {
        Self { format: args.logformat, level: args.loglevel, write }
    }

    fn line(&self, level: Level, fields: BTreeMap<String, Value>) -> String {
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        match self.format {
            LogFormat::Json => json_line(level, &time, fields),
            LogFormat::Text => text_line(level, &time, fields),
        }
    }
}

/// The fields of a span, kept for the lines of its events.
struct SpanFields(BTreeMap<String, Value>);

impl<S, W> Layer<S> for LogLayer<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Fn(&str) + 'static,
{
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let ours = metadata.target().starts_with("outrigger");
        let level = if ours { self.level } else { self.level.min(LevelFilter::WARN) };
        // Spans carry the application's name for lines of any level.
        metadata.is_span() && ours || *metadata.level() <= level
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(SpanFields(fields.0));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(known) = span.extensions_mut().get_mut::<SpanFields>()
        {
            known.0.extend(fields.0);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in
            context.event_scope(event).into_iter().flat_map(tracing_subscriber::registry::Scope::from_root)
        {
            if let Some(known) = span.extensions().get::<SpanFields>() {
                let shown = known.0.iter().filter(|(name, _)| !name.starts_with("otel."));
                fields.0.extend(shown.map(|(name, value)| (name.clone(), value.clone())));
            }
        }
        event.record(&mut fields);
        (self.write)(&self.line(*event.metadata().level(), fields.0));
    }
}

#[derive(Default)]
struct Fields(BTreeMap<String, Value>);

impl Fields {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        let name = if field.name() == "message" { "msg" } else { field.name() };
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, (value * 1e3).round() / 1e3);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value);
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value);
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}"));
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn json_line(level: Level, time: &str, mut fields: BTreeMap<String, Value>) -> String {
    fields.insert("level".to_owned(), level_name(level).into());
    fields.insert("time".to_owned(), time.into());
    fields.entry("msg".to_owned()).or_insert_with(|| "".into());
    let mut line = serde_json::to_string(&fields).unwrap_or_default();
    line.push('\n');
    line
}

fn text_line(level: Level, time: &str, mut fields: BTreeMap<String, Value>) -> String {
    let message = fields.remove("msg").unwrap_or_default();
    let mut line = format!("time=\"{time}\" level={} msg={}", level_name(level), quoted(&message, true));
    for (name, value) in &fields {
        let _ = write!(line, " {name}={}", quoted(value, false));
    }
    line.push('\n');
    line
}

/// A value of a text line: bare where that is unambiguous, in double quotes otherwise.
fn quoted(value: &Value, always: bool) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let bare = |c: char| c.is_ascii_alphanumeric() || "-._/@^+".contains(c);
    if !always && !text.is_empty() && text.chars().all(bare) { text } else { format!("{text:?}") }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn logged(format: LogFormat, level: LevelFilter, work: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let args = LogArgs { logformat: format, loglevel: level };
        let kept = Arc::clone(&lines);
        let layer = LogLayer::new(&args, move |line| kept.lock().unwrap().push(line.to_owned()));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        lines.lock().unwrap().clone()
    }

    #[test]
    fn a_json_line_has_upstreams_keys_and_the_application() {
        let lines = logged(LogFormat::Json, LevelFilter::INFO, || {
            let _span = tracing::info_span!("call", otel.name = "x", app = "guestbook").entered();
            tracing::warn!(files = 3, "two\nlines");
        });
        let line: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(lines[0].matches('\n').count(), 1);
        assert_eq!(line["level"], "warning");
        assert_eq!(line["msg"], "two\nlines");
        assert_eq!(line["app"], "guestbook");
        assert_eq!(line["files"], 3);
        assert!(line["time"].as_str().unwrap().ends_with('Z'));
        assert!(line.get("otel.name").is_none());
    }

    #[test]
    fn a_text_line_is_one_line_of_pairs() {
        let lines = logged(LogFormat::Text, LevelFilter::INFO, || {
            tracing::info!(dir = "/a b", n = 1, "say \"hi\"\n");
        });
        let line = lines[0].split_once(' ').unwrap().1;
        assert_eq!(line, "level=info msg=\"say \\\"hi\\\"\\n\" dir=\"/a b\" n=1\n");
    }

    #[test]
    fn lines_below_the_level_are_not_written_and_the_application_is_known_all_the_same() {
        let lines = logged(LogFormat::Json, LevelFilter::ERROR, || {
            let _span = tracing::info_span!("call", app = "guestbook").entered();
            tracing::info!("quiet");
            tracing::error!("loud");
        });
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("guestbook"));
    }
}
