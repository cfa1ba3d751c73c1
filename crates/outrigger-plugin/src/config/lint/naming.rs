//! Names: of the file's format, and of the socket.

use super::{File, Finding};
use crate::config::API_VERSION;

/// Where Argo CD looks for sockets unless told otherwise.
const SOCKET_DIR: &str = "/home/argocd/cmp-server/plugins/";
const SOCKET_SUFFIX: &str = ".sock";
/// What a unix socket address has room for.
const MAX_SOCKET_PATH: usize = 107;

pub(super) fn check(file: &File<'_>, findings: &mut Vec<Finding>) {
    let api_version = &file.config.api_version;
    if api_version != API_VERSION && file.get(&["spec"]).is_some() {
        let message = if api_version.is_empty() {
            "apiVersion is missing"
        } else {
            "apiVersion is not the documented one"
        };
        let place = file.place(&["apiVersion"]);
        findings.push(place.warning("api-version", message, format!("write {API_VERSION}")));
    }
    if !file.config.name.is_empty() {
        socket_name(file, findings);
    }
    let address = &file.config.spec.listen_address;
    let port = address.rsplit_once(':').map(|(_, port)| port);
    if !address.is_empty() && port.is_none_or(|port| port.parse::<u16>().is_err()) {
        let place = file.place(&["spec", "listenAddress"]);
        findings.push(place.warning(
            "listen-address",
            "spec.listenAddress names no port",
            "write it as :9090",
        ));
    }
}

fn socket_name(file: &File<'_>, findings: &mut Vec<Finding>) {
    let (name, version) = (&file.config.name, &file.config.spec.version);
    let unusual =
        |text: &str| text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'));
    for (text, path) in [(name, ["metadata", "name"]), (version, ["spec", "version"])] {
        let Some(character) = unusual(text) else { continue };
        let place = file.place(&path);
        let field = path.join(".");
        findings.push(if matches!(character, '/' | '\0') {
            let message =
                format!("{field} cannot be part of a socket's file name because of its {character:?}");
            place.error("socket-name", message, "use letters, digits, '.', '_' and '-'")
        } else {
            let message = format!("{field} holds {character:?} and becomes part of a socket's file name");
            place.warning("socket-name", message, "use letters, digits, '.', '_' and '-'")
        });
    }
    let room = MAX_SOCKET_PATH - SOCKET_DIR.len() - SOCKET_SUFFIX.len();
    let length = file.config.name_and_version().len();
    if length > room {
        let message =
            format!("name and version together have {length} bytes, but a socket has room for {room}");
        findings.push(file.place(&["metadata", "name"]).error(
            "socket-length",
            message,
            "choose a shorter name",
        ));
    }
}
