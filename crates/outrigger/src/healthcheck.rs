//! `outrigger healthcheck`: a probe that needs no other program in the image.

use anyhow::{Context as _, Result, bail};
use outrigger_plugin::serve::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::cli::HealthArgs;
use crate::print::say;
use crate::{config_file, places};

/// Succeeds if the server says that it serves.
pub(crate) async fn run(args: HealthArgs) -> Result<()> {
    let endpoint = match args.address {
        Some(endpoint) => endpoint,
        None => {
            let config = config_file::load(&args.config_dir_path.join("plugin.yaml"))?;
            Endpoint::unix(&places::socket_dir().join(config.socket_file_name()))
                .map_err(anyhow::Error::msg)?
        }
    };
    let check = async {
        let channel = crate::dial::connect(&endpoint).await;
        let channel = channel.with_context(|| format!("cannot reach {endpoint}"))?;
        let reply = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
        anyhow::Ok(
            reply.with_context(|| format!("{endpoint} does not answer health checks"))?.into_inner().status(),
        )
    };
    let status = tokio::time::timeout(args.timeout, check).await;
    let status = status.with_context(|| {
        format!("{endpoint} did not answer within {}", humantime::format_duration(args.timeout))
    })??;
    if status != ServingStatus::Serving {
        bail!("{endpoint} is up and says {}", status.as_str_name());
    }
    say!("{endpoint} is serving");
    Ok(())
}
