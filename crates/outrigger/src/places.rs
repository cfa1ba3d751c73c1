//! Where Argo CD has its things, by its own environment variables.

use std::path::PathBuf;

/// The directory in which a plugin image has its plugin.yaml.
pub(crate) const CONFIG_DIR: &str = "/home/argocd/cmp-server/config";

/// The directory in which the repo-server looks for plugin sockets.
pub(crate) fn socket_dir() -> PathBuf {
    variable("ARGOCD_PLUGINSOCKFILEPATH").unwrap_or_else(|| "/home/argocd/cmp-server/plugins".into())
}

/// The directory under which trees are unpacked.
pub(crate) fn work_base() -> PathBuf {
    variable("ARGOCD_CMP_WORKDIR").or_else(|| variable("TMPDIR")).unwrap_or_else(|| "/tmp".into())
}

/// The largest gRPC message, both ways.
pub(crate) fn max_message_bytes() -> usize {
    let megabytes = std::env::var("ARGOCD_GRPC_MAX_SIZE_MB").ok().and_then(|text| text.parse::<usize>().ok());
    megabytes
        .map_or(outrigger_wire::DEFAULT_MAX_MESSAGE_BYTES, |megabytes| megabytes.saturating_mul(1024 * 1024))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
