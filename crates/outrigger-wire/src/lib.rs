//! The plugin protocol on the wire: messages and gRPC stubs generated from `proto/`, nothing else.
//!
//! File chunks are [`bytes::Bytes`], so a received message is not copied again.

/// `plugin.ConfigManagementPluginService`: what the repo-server calls.
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod plugin {
    tonic::include_proto!("plugin");
}

/// The messages of Argo CD's repo-server contract that plugins share.
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod repository {
    tonic::include_proto!("repository");
}

/// `version.VersionService`.
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod version {
    tonic::include_proto!("version");
}

/// `askpass.AskPassService`: git credentials for plugins that ask for them.
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod askpass {
    tonic::include_proto!("askpass");
}

/// The compiled contracts, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The response header that carries the digest of the plugin's configuration.
pub const CONFIG_DIGEST_HEADER: &str = "outrigger-config-digest";

/// The largest message Argo CD sends or takes when `ARGOCD_GRPC_MAX_SIZE_MB` says nothing else.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 100 * 1024 * 1024;
