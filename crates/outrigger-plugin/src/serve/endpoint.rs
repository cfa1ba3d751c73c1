//! Where a server listens.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The longest path of a unix socket.
const LONGEST_SOCKET_PATH: usize = 107;

/// An address to listen on: `unix:PATH`, `HOST:PORT` or `:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A unix socket.
    Unix(PathBuf),
    /// A TCP address, `HOST:PORT`.
    Tcp(String),
}

impl Endpoint {
    /// The unix socket at `path`, if a socket can be there.
    pub fn unix(path: &Path) -> Result<Self, String> {
        let length = path.as_os_str().len();
        if length > LONGEST_SOCKET_PATH {
            return Err(format!(
                "the socket path {} has {length} bytes, and the kernel allows {LONGEST_SOCKET_PATH}; shorten the \
                 plugin's name or version, or the directory (ARGOCD_PLUGINSOCKFILEPATH)",
                path.display()
            ));
        }
        Ok(Self::Unix(path.to_owned()))
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Self::unix(Path::new(path.strip_prefix("//").unwrap_or(path)));
        }
        let wrong = || format!("{text:?} is no address; write HOST:PORT, :PORT or unix:PATH");
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let _: u16 = port.parse().map_err(|_| wrong())?;
        let bracketed = host.starts_with('[') && host.ends_with(']');
        if host.contains(':') && !bracketed {
            return Err(wrong());
        }
        // Go's `:9090` means every address of both families.
        let host = if host.is_empty() { "[::]" } else { host };
        Ok(Self::Tcp(format!("{host}:{port}")))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        assert_eq!("unix:/a/b.sock".parse(), Ok(Endpoint::Unix("/a/b.sock".into())));
        assert_eq!("unix:///a/b.sock".parse(), Ok(Endpoint::Unix("/a/b.sock".into())));
        assert_eq!("127.0.0.1:9090".parse(), Ok(Endpoint::Tcp("127.0.0.1:9090".into())));
        assert_eq!(":9090".parse(), Ok(Endpoint::Tcp("[::]:9090".into())));
        assert_eq!("[::1]:0".parse(), Ok(Endpoint::Tcp("[::1]:0".into())));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_forms_there_are() {
        for text in ["", "9090", "localhost", "a:b", "::1:9090", "host:99999"] {
            assert!(text.parse::<Endpoint>().unwrap_err().contains("unix:PATH"), "{text}");
        }
    }

    #[test]
    fn a_socket_path_that_the_kernel_cuts_off_is_refused() {
        let path = format!("unix:/{}", "x".repeat(107));
        assert!(path.parse::<Endpoint>().unwrap_err().contains("107"));
    }
}
