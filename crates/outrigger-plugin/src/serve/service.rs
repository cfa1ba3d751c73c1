//! Argo CD's plugin protocol in front of a [`Plugin`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use outrigger_source::{Limits, Metadata, Source, SourceError};
use outrigger_wire::plugin::app_stream_request::Request as Part;
use outrigger_wire::plugin::config_management_plugin_service_server::ConfigManagementPluginService;
use outrigger_wire::plugin::{
    AppStreamRequest, CheckPluginConfigurationResponse, ManifestResponse, ParametersAnnouncementResponse,
    RepositoryResponse, SpecificationResponse,
};
use tokio::time::Instant;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Request, Response, Status, Streaming};
use tracing::{Instrument as _, Span, error, info, info_span};

use super::connection::AfterReply;
use crate::call::{Call, Phase};
use crate::config::ParameterAnnouncement;
use crate::error::RenderError;
use crate::janitor::Janitor;
use crate::metrics::SharedMetrics;
use crate::plugin::{Match, Plugin};

/// How much earlier than the caller's deadline the work ends, so that an error still arrives.
const MARGIN: Duration = Duration::from_millis(100);
/// How much of that margin is left to a plugin to tell in its own words what took so long.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// The response header with the time of each phase in milliseconds: `receive=1.20,unpack=0.31`.
pub const PHASES_HEADER: &str = "outrigger-phases";

/// The service's name, for the log.
const SERVICE: &str = "plugin.ConfigManagementPluginService";

/// Connects a span to the trace its caller began, by the request's headers.
pub type LinkTrace = fn(&Span, &http::HeaderMap);

pub(super) struct Service<P> {
    pub(super) plugin: Arc<P>,
    pub(super) limits: Limits,
    pub(super) metrics: SharedMetrics,
    pub(super) janitor: Janitor,
    pub(super) link_trace: Option<LinkTrace>,
}

/// The three questions that come with a tree.
#[derive(Debug, Clone, Copy)]
enum Method {
    Generate,
    Match,
    Parameters,
}

impl Method {
    const fn rpc(self) -> &'static str {
        match self {
            Self::Generate => "GenerateManifest",
            Self::Match => "MatchRepository",
            Self::Parameters => "GetParametersAnnouncement",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::Match => "match",
            Self::Parameters => "parameters",
        }
    }
}

enum Answer {
    Manifests(Vec<String>),
    Match(Match),
    Parameters(Vec<ParameterAnnouncement>),
}

impl<P: Plugin> Service<P> {
    /// Answers one question, with the clock, the log and the counters running.
    async fn answer(
        &self,
        method: Method,
        request: Request<Streaming<AppStreamRequest>>,
    ) -> Result<(Answer, MetadataMap), Status> {
        let _in_flight = self.metrics.in_flight();
        let (headers, extensions, mut stream) = request.into_parts();
        let headers = headers.into_headers();
        let after_reply = extensions.get::<AfterReply>().cloned().unwrap_or_default();
        let deadline = deadline(&headers);
        let call = Call::new(deadline, self.janitor.clone());

        let first = limited(deadline, stream.message()).await;
        let metadata = match first {
            Some(Ok(Some(AppStreamRequest { request: Some(Part::Metadata(metadata)) }))) => metadata,
            other => {
                drain(&mut stream, deadline).await;
                let status = no_metadata(other);
                self.metrics.count_call(method.name(), "bad_request", call.used(), &call.report());
                error!(
                    grpc.service = SERVICE,
                    grpc.method = method.rpc(),
                    grpc.code = code_name(status.code()),
                    grpc.error = status.message(),
                    "finished call"
                );
                return Err(status);
            }
        };
        let metadata = Metadata {
            app_name: metadata.app_name,
            app_rel_path: metadata.app_rel_path,
            checksum: metadata.checksum,
            size: metadata.size,
            env: metadata.env.into_iter().map(|entry| (entry.name, entry.value)).collect(),
        };
        let app = application(&metadata).to_owned();
        let span = info_span!("call", "otel.name" = method.rpc(), "otel.kind" = "server", app);
        if let Some(link) = self.link_trace {
            link(&span, &headers);
        }
        let mut source = Source::new(metadata, chunks(stream), self.limits);
        async {
            let mut unfinished = Unfinished { metrics: &self.metrics, method, call: &call, finished: false };
            let result = self.ask(method, &call, &mut source).await;
            // The sender counts a stream that is not read to its end as a failure, whatever the answer.
            let _ = limited(deadline, source.drain()).await;
            unfinished.finished = true;
            after_reply.keep(call.take_leftovers());
            self.conclude(method, &call, result)
        }
        .instrument(span)
        .await
    }

    async fn ask(&self, method: Method, call: &Call, source: &mut Source) -> Result<Answer, RenderError> {
        call.enter(Phase::Receive);
        let work = async {
            match method {
                Method::Generate => self.plugin.generate(call, source).await.map(Answer::Manifests),
                Method::Match => self.plugin.matches(call, source).await.map(Answer::Match),
                Method::Parameters => self.plugin.parameters(call, source).await.map(Answer::Parameters),
            }
        };
        let last_words = call.deadline().map(|deadline| deadline + LAST_WORDS);
        limited(last_words, Box::pin(work)).await.unwrap_or_else(|| {
            Err(RenderError::Deadline {
                phase: call.current().unwrap_or(Phase::Receive),
                used: call.used(),
                allowed: call.allowed().unwrap_or_default(),
            })
        })
    }

    fn conclude(
        &self,
        method: Method,
        call: &Call,
        result: Result<Answer, RenderError>,
    ) -> Result<(Answer, MetadataMap), Status> {
        let report = call.report();
        let used = call.used();
        let outcome = result.as_ref().err().map_or("ok", RenderError::outcome);
        self.metrics.count_call(method.name(), outcome, used, &report);
        let phases = phases(&report.phases);
        let time_ms = used.as_secs_f64() * 1e3;
        let mut headers = MetadataMap::new();
        if let Ok(value) = MetadataValue::try_from(&phases) {
            headers.insert(PHASES_HEADER, value);
        }
        match result {
            Ok(answer) => {
                info!(
                    grpc.service = SERVICE,
                    grpc.method = method.rpc(),
                    grpc.code = "OK",
                    grpc.time_ms = time_ms,
                    phases,
                    bytes = report.wire_bytes,
                    files = report.tree_entries,
                    tree = report.tree_id,
                    "finished call"
                );
                Ok((answer, headers))
            }
            Err(failure) => {
                error!(
                    grpc.service = SERVICE,
                    grpc.method = method.rpc(),
                    grpc.code = code_name(failure.code()),
                    grpc.time_ms = time_ms,
                    grpc.error = %failure,
                    phases,
                    "finished call"
                );
                let mut status = Status::from(&failure);
                *status.metadata_mut() = headers;
                Err(status)
            }
        }
    }
}

/// Tells and counts a call whose caller went away before its answer.
struct Unfinished<'a> {
    metrics: &'a SharedMetrics,
    method: Method,
    call: &'a Call,
    finished: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let (report, used) = (self.call.report(), self.call.used());
        self.metrics.count_call(self.method.name(), "cancelled", used, &report);
        info!(
            grpc.service = SERVICE,
            grpc.method = self.method.rpc(),
            grpc.code = "Canceled",
            grpc.time_ms = used.as_secs_f64() * 1e3,
            phase = self.call.current().map(Phase::name),
            phases = phases(&report.phases),
            "finished call"
        );
    }
}

#[tonic::async_trait]
impl<P: Plugin> ConfigManagementPluginService for Service<P> {
    async fn generate_manifest(
        &self,
        request: Request<Streaming<AppStreamRequest>>,
    ) -> Result<Response<ManifestResponse>, Status> {
        match self.answer(Method::Generate, request).await? {
            (Answer::Manifests(manifests), headers) => {
                Ok(reply(ManifestResponse { manifests, source_type: String::new() }, headers))
            }
            _ => Err(Status::internal("the plugin answered another question")),
        }
    }

    async fn match_repository(
        &self,
        request: Request<Streaming<AppStreamRequest>>,
    ) -> Result<Response<RepositoryResponse>, Status> {
        match self.answer(Method::Match, request).await? {
            (Answer::Match(found), headers) => Ok(reply(
                RepositoryResponse { is_supported: found.supported, is_discovery_enabled: found.discovers },
                headers,
            )),
            _ => Err(Status::internal("the plugin answered another question")),
        }
    }

    async fn get_parameters_announcement(
        &self,
        request: Request<Streaming<AppStreamRequest>>,
    ) -> Result<Response<ParametersAnnouncementResponse>, Status> {
        match self.answer(Method::Parameters, request).await? {
            (Answer::Parameters(announcements), headers) => {
                let parameter_announcements = announcements.into_iter().map(Into::into).collect();
                Ok(reply(ParametersAnnouncementResponse { parameter_announcements }, headers))
            }
            _ => Err(Status::internal("the plugin answered another question")),
        }
    }

    async fn check_plugin_configuration(
        &self,
        _request: Request<()>,
    ) -> Result<Response<CheckPluginConfigurationResponse>, Status> {
        let plugin = self.plugin.describe();
        Ok(Response::new(CheckPluginConfigurationResponse {
            is_discovery_configured: plugin.discovers,
            provide_git_creds: plugin.wants_git_credentials,
        }))
    }

    async fn get_specification(
        &self,
        request: Request<Streaming<AppStreamRequest>>,
    ) -> Result<Response<SpecificationResponse>, Status> {
        let deadline = deadline(&request.metadata().clone().into_headers());
        drain(&mut request.into_inner(), deadline).await;
        Ok(Response::new(SpecificationResponse { name: self.plugin.describe().name.clone() }))
    }
}

fn reply<T>(message: T, headers: MetadataMap) -> Response<T> {
    Response::from_parts(headers, message, http::Extensions::new())
}

/// The Application's name where the caller gave one; upstream's `appName` is only a directory's name.
fn application(metadata: &Metadata) -> &str {
    metadata
        .env
        .iter()
        .find(|(name, value)| name == "ARGOCD_APP_NAME" && !value.is_empty())
        .map_or(metadata.app_name.as_str(), |(_, value)| value)
}

fn chunks(
    stream: Streaming<AppStreamRequest>,
) -> impl futures_util::Stream<Item = Result<Bytes, SourceError>> {
    unfold(Some(stream), |stream| async {
        let mut stream = stream?;
        match stream.message().await {
            Ok(None) => None,
            Ok(Some(AppStreamRequest { request: Some(Part::File(file)) })) => {
                Some((Ok(file.chunk), Some(stream)))
            }
            Ok(Some(_)) => Some((
                Err(SourceError::Protocol("a message after the metadata holds no file chunk".to_owned())),
                Some(stream),
            )),
            Err(status) => Some((Err(SourceError::transport(status)), None)),
        }
    })
}

fn no_metadata(first: Option<Result<Option<AppStreamRequest>, Status>>) -> Status {
    match first {
        None => Status::deadline_exceeded("the request's time was used up before its metadata arrived"),
        Some(Err(status)) => status,
        Some(Ok(None)) => Status::invalid_argument("error receiving stream header: the stream is empty"),
        Some(Ok(Some(_))) => {
            Status::invalid_argument("error getting stream metadata: the first message is not the metadata")
        }
    }
}

async fn drain(stream: &mut Streaming<AppStreamRequest>, deadline: Option<Instant>) {
    let _ = limited(deadline, async { while let Ok(Some(_)) = stream.message().await {} }).await;
}

async fn limited<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline, work).await.ok(),
        None => Some(work.await),
    }
}

/// The time until which work may go on: the caller's deadline less [`MARGIN`].
fn deadline(headers: &http::HeaderMap) -> Option<Instant> {
    let timeout = headers.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = timeout.split_at_checked(timeout.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok().filter(|_| number.len() <= 8)?;
    let timeout = match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    };
    Some(Instant::now() + timeout.saturating_sub(MARGIN))
}

fn phases(phases: &[(Phase, Duration)]) -> String {
    let mut text = String::new();
    for (phase, took) in phases {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&format!("{phase}={:.2}", took.as_secs_f64() * 1e3));
    }
    text
}

/// Reads what [`PHASES_HEADER`] holds.
pub fn read_phases(header: &str) -> Vec<(Phase, Duration)> {
    header
        .split(',')
        .filter_map(|part| {
            let (phase, millis) = part.split_once('=')?;
            let millis: f64 = millis.parse().ok()?;
            Some((Phase::from_name(phase)?, Duration::try_from_secs_f64(millis / 1e3).ok()?))
        })
        .collect()
}

/// The code's name as gRPC for Go logs it: `DeadlineExceeded`.
fn code_name(code: Code) -> String {
    format!("{code:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout(value: &str) -> Option<Duration> {
        let mut headers = http::HeaderMap::new();
        headers.insert("grpc-timeout", value.parse().unwrap());
        deadline(&headers).map(|at| at.saturating_duration_since(Instant::now()))
    }

    #[test]
    fn the_callers_deadline_is_kept_less_a_margin() {
        let left = timeout("90S").unwrap();
        assert!(left <= Duration::from_millis(89_900) && left > Duration::from_secs(89), "{left:?}");
        assert_eq!(timeout("50m"), Some(Duration::ZERO));
        assert!(timeout("59999999u").unwrap() > Duration::from_secs(59));
    }

    #[test]
    fn a_timeout_that_is_none_is_no_deadline() {
        for value in ["", "S", "5", "123456789S", "-1S", "5x"] {
            assert_eq!(timeout(value), None, "{value:?}");
        }
    }

    #[test]
    fn phases_survive_the_header() {
        let times =
            vec![(Phase::Receive, Duration::from_micros(1_230)), (Phase::Generate, Duration::from_secs(2))];
        assert_eq!(read_phases(&phases(&times)), times);
        assert_eq!(
            read_phases("nonsense,receive=x,unpack=1"),
            vec![(Phase::Unpack, Duration::from_millis(1))]
        );
    }
}
