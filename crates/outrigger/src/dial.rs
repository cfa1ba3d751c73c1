//! Connecting to a gRPC server on a unix socket or on TCP.
//!
//! Names are resolved in this process (hickory): a static binary cannot load the C library's resolvers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use hickory_resolver::TokioResolver;
use hyper_util::rt::TokioIo;
use outrigger_plugin::serve::Endpoint;
use tokio::net::{TcpStream, UnixStream};
use tonic::transport::{Channel, Uri};
use tower::service_fn;

/// A connection that is there when this returns.
pub(crate) async fn connect(endpoint: &Endpoint) -> anyhow::Result<Channel> {
    match endpoint {
        Endpoint::Unix(path) => {
            let path = Arc::new(path.clone());
            let connector = service_fn(move |_: Uri| {
                let path = Arc::clone(&path);
                async move { UnixStream::connect(path.as_path()).await.map(TokioIo::new) }
            });
            // The name stands in the requests only; the socket is what is dialled.
            let target = roomy(Channel::from_static("http://localhost"));
            target.connect_with_connector(connector).await.map_err(root_cause)
        }
        Endpoint::Tcp(address) => {
            let target = roomy(Channel::from_shared(format!("http://{address}"))?);
            target.connect_with_connector(service_fn(tcp)).await.map_err(root_cause)
        }
    }
}

/// Replies may be large, and errors too: they travel in headers and hold what a tool said.
fn roomy(target: tonic::transport::Endpoint) -> tonic::transport::Endpoint {
    target.initial_stream_window_size(1 << 20).http2_max_header_list_size(1 << 20)
}

/// Only the last of a chain of errors says anything; the others repeat it.
fn root_cause(error: tonic::transport::Error) -> anyhow::Error {
    let error = anyhow::Error::new(error);
    anyhow::Error::msg(error.root_cause().to_string())
}

/// Dials the host and port of `uri`.
pub(crate) async fn tcp(uri: Uri) -> io::Result<TokioIo<TcpStream>> {
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for ip in resolve(host).await? {
        match TcpStream::connect(SocketAddr::new(ip, port)).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(TokioIo::new(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn resolve(host: &str) -> io::Result<Vec<IpAddr>> {
    if let Ok(ip) = host.parse() {
        return Ok(vec![ip]);
    }
    if host == "localhost" {
        return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
    }
    let resolver = TokioResolver::builder_tokio()
        .and_then(hickory_resolver::ResolverBuilder::build)
        .map_err(io::Error::other)?;
    let found = resolver.lookup_ip(host).await.map_err(io::Error::other)?;
    Ok(found.iter().collect())
}
