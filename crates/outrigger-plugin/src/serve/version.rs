//! `version.VersionService`, which every component of Argo CD answers.

use outrigger_wire::version::VersionMessage;
use outrigger_wire::version::version_service_server::VersionService;
use tonic::{Request, Response, Status};

pub(super) struct Version;

#[tonic::async_trait]
impl VersionService for Version {
    async fn version(&self, _request: Request<()>) -> Result<Response<VersionMessage>, Status> {
        Ok(Response::new(VersionMessage {
            version: concat!("v", env!("CARGO_PKG_VERSION"), "+outrigger").to_owned(),
            compiler: "rustc".to_owned(),
            platform: format!("{}/{}", std::env::consts::OS, go_architecture()),
            ..VersionMessage::default()
        }))
    }
}

fn go_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
