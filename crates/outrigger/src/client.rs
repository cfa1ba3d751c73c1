//! Asking a plugin server as the repo-server does: metadata first, then the tree, then one reply.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use outrigger_plugin::config::ParameterAnnouncement;
use outrigger_plugin::serve::{Endpoint, PHASES_HEADER, read_phases};
use outrigger_plugin::{Match, Phase};
use outrigger_source::Metadata;
use outrigger_wire::plugin::app_stream_request::Request as Part;
use outrigger_wire::plugin::config_management_plugin_service_client::ConfigManagementPluginServiceClient;
use outrigger_wire::plugin::{AppStreamRequest, EnvEntry, File, ManifestRequestMetadata};
use tokio_stream::{Stream, StreamExt as _};
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::bundle::Bundle;

/// The time of each phase, as the server measured it.
pub type Phases = Vec<(Phase, Duration)>;

/// A connection to a plugin server.
#[derive(Clone)]
pub struct Client {
    service: ConfigManagementPluginServiceClient<Channel>,
}

impl Client {
    /// Connects; `what` is said when that fails.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self> {
        let channel = crate::dial::connect(endpoint).await;
        let channel =
            channel.with_context(|| format!("cannot reach a plugin server at {endpoint}; is it running?"))?;
        let limit = crate::places::max_message_bytes();
        let service = ConfigManagementPluginServiceClient::new(channel)
            .max_decoding_message_size(limit)
            .max_encoding_message_size(limit);
        Ok(Self { service })
    }

    /// Whether the plugin discovers its applications.
    pub async fn discovers(&mut self) -> Result<bool, Status> {
        Ok(self.service.check_plugin_configuration(()).await?.into_inner().is_discovery_configured)
    }

    /// The application's manifests.
    pub async fn generate(
        &mut self,
        bundle: &Bundle,
        timeout: Duration,
    ) -> Result<(Vec<String>, Phases), Failure> {
        let reply = self.service.generate_manifest(request(bundle, timeout)?).await?;
        Ok((reply.get_ref().manifests.clone(), phases(reply.metadata())))
    }

    /// Whether the tree is the plugin's.
    pub async fn matches(&mut self, bundle: &Bundle, timeout: Duration) -> Result<(Match, Phases), Failure> {
        let reply = self.service.match_repository(request(bundle, timeout)?).await?;
        let answer = reply.get_ref();
        let found = Match { supported: answer.is_supported, discovers: answer.is_discovery_enabled };
        Ok((found, phases(reply.metadata())))
    }

    /// The parameters of the plugin for this tree.
    pub async fn parameters(
        &mut self,
        bundle: &Bundle,
        timeout: Duration,
    ) -> Result<(Vec<ParameterAnnouncement>, Phases), Failure> {
        let reply: Response<_> = self.service.get_parameters_announcement(request(bundle, timeout)?).await?;
        let phases = phases(reply.metadata());
        let announcements = reply.into_inner().parameter_announcements.into_iter().map(Into::into);
        Ok((announcements.collect(), phases))
    }
}

/// Why a plugin server did not answer, and how far it came.
#[derive(Debug)]
pub struct Failure {
    /// In the server's words.
    pub message: String,
    /// The phases that it went through.
    pub phases: Phases,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self { message: status.message().to_owned(), phases: phases(status.metadata()) }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self { message: format!("cannot send the source: {error}"), phases: Vec::new() }
    }
}

fn phases(headers: &MetadataMap) -> Phases {
    headers.get(PHASES_HEADER).and_then(|value| value.to_str().ok()).map(read_phases).unwrap_or_default()
}

fn request(
    bundle: &Bundle,
    timeout: Duration,
) -> std::io::Result<Request<impl Stream<Item = AppStreamRequest> + use<>>> {
    let first = AppStreamRequest { request: Some(Part::Metadata(wire_metadata(&bundle.metadata))) };
    // A file that cannot be read any more cuts the stream short, and the checksum tells.
    let chunks = bundle.chunks()?.map_while(Result::ok);
    let parts = tokio_stream::once(first).chain(chunks.map(file_part));
    let mut request = Request::new(parts);
    request.set_timeout(timeout);
    Ok(request)
}

fn file_part(chunk: Bytes) -> AppStreamRequest {
    AppStreamRequest { request: Some(Part::File(File { chunk })) }
}

fn wire_metadata(metadata: &Metadata) -> ManifestRequestMetadata {
    let env = metadata.env.iter().map(|(name, value)| EnvEntry { name: name.clone(), value: value.clone() });
    ManifestRequestMetadata {
        app_name: metadata.app_name.clone(),
        app_rel_path: metadata.app_rel_path.clone(),
        checksum: metadata.checksum.clone(),
        size: metadata.size,
        env: env.collect(),
    }
}
