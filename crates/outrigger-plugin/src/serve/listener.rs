//! Accepting connections, and ceasing to without leaving anybody behind.
//!
//! A repo-server that dials a plugin waits for the first frame of the server without a time limit. So every
//! connection that the kernel took must be answered: a listener that closes takes its name away, lets the
//! kernel refuse whoever comes now, and serves those who were already waiting.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::Shutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Endpoint;
use super::authority::Localhost;

/// A connection of either kind.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// A bound listener.
pub(super) enum Listener {
    Unix { listener: UnixListener, file: SocketFile },
    Tcp(TcpListener),
}

/// The socket's name in the file system, and which file it was when it was made.
pub(super) struct SocketFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    /// Removes the name, unless another server has taken it meanwhile.
    fn remove(&self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

impl Listener {
    pub(super) async fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Unix(path) => {
                make_room(path)?;
                let listener = UnixListener::bind(path)?;
                let file = SocketFile { path: path.clone(), identity: identity(path) };
                Ok(Self::Unix { listener, file })
            }
            Endpoint::Tcp(address) => Ok(Self::Tcp(bind_tcp(address).await?)),
        }
    }

    /// The address as bound: with the real port where port 0 was asked for.
    pub(super) fn endpoint(&self) -> io::Result<Endpoint> {
        match self {
            Self::Unix { file, .. } => Ok(Endpoint::Unix(file.path.clone())),
            Self::Tcp(listener) => Ok(Endpoint::Tcp(listener.local_addr()?.to_string())),
        }
    }

    /// Hands every connection to `serve` until told to stop; whoever waits then is served too.
    pub(super) async fn accept_until(self, stop: CancellationToken, serve: impl Fn(Box<dyn Stream>)) {
        let mut complained = false;
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                accepted = self.accept() => accepted,
            };
            match accepted {
                Ok(stream) => {
                    complained = false;
                    serve(stream);
                }
                Err(error) => {
                    if !std::mem::replace(&mut complained, true) {
                        warn!(%error, "cannot accept a connection; trying again");
                    }
                    // Out of descriptors, mostly: the waiting one stays in the backlog until some are free.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        if let Err(error) = self.close(serve) {
            info!(%error, "the listener did not close cleanly");
        }
    }

    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix { listener, .. } => Ok(unix_stream(listener.accept().await?.0)),
            Self::Tcp(listener) => tcp_stream(listener.accept().await?.0),
        }
    }

    /// Takes the name away, then serves those who are in the backlog.
    fn close(self, serve: impl Fn(Box<dyn Stream>)) -> io::Result<()> {
        match self {
            Self::Unix { listener, file } => {
                file.remove();
                let listener = listener.into_std()?;
                // From here on the kernel refuses whoever found the name before it went.
                rustix::net::shutdown(listener.as_fd(), Shutdown::Read)?;
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    serve(unix_stream(UnixStream::from_std(stream)?));
                }
            }
            Self::Tcp(listener) => {
                let listener = listener.into_std()?;
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    serve(tcp_stream(TcpStream::from_std(stream)?)?);
                }
            }
        }
        Ok(())
    }
}

/// Listens on TCP. On a machine without IPv6, `[::]` still means every address there is.
pub(super) async fn bind_tcp(address: &str) -> io::Result<TcpListener> {
    // A static program in an empty image has no other way to know this one name.
    let address = address.replace("localhost:", "127.0.0.1:");
    match TcpListener::bind(&address).await {
        Err(error) if address.starts_with("[::]:") && is_no_ipv6(&error) => {
            TcpListener::bind(address.replace("[::]", "0.0.0.0")).await
        }
        bound => bound,
    }
}

fn is_no_ipv6(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EAFNOSUPPORT | nix::libc::EADDRNOTAVAIL))
}

fn unix_stream(stream: UnixStream) -> Box<dyn Stream> {
    Box::new(Localhost::new(stream))
}

fn tcp_stream(stream: TcpStream) -> io::Result<Box<dyn Stream>> {
    // Replies are small and waited for.
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// Removes a socket that an earlier server left, as upstream does. Anything else in its place is an error.
fn make_room(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} exists and is not a socket; remove it or choose another name", path.display()),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
