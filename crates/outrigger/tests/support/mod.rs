//! A real server process, and a caller that speaks the protocol message by message.
#![allow(
    dead_code,
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    unreachable_pub
)]

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use outrigger::bundle::Bundle;
use outrigger_wire::plugin::app_stream_request::Request as Part;
use outrigger_wire::plugin::config_management_plugin_service_client::ConfigManagementPluginServiceClient;
use outrigger_wire::plugin::{AppStreamRequest, EnvEntry, File, ManifestRequestMetadata};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio_stream::StreamExt as _;
use tonic::transport::{Channel, Endpoint, Uri};

pub const BINARY: &str = env!("CARGO_BIN_EXE_outrigger");
pub type PluginClient = ConfigManagementPluginServiceClient<Channel>;

/// A plugin.yaml with these lines under `spec`.
pub fn plugin_yaml(spec: &str) -> String {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata:\n  name: tested\nspec:\n{spec}"
    )
}

/// `generate:` with a shell script.
pub fn generate(script: &str) -> String {
    format!("generate:\n  command: [sh, -c]\n  args:\n    - {script:?}\n")
}

/// A server process with directories of its own.
pub struct Server {
    pub place: TempDir,
    pub process: Child,
    pub socket: PathBuf,
}

/// How a server is to be started.
pub struct Setup {
    pub place: TempDir,
    command: Command,
    socket: &'static str,
}

impl Setup {
    pub fn new(spec: &str) -> Self {
        Self::with_file(&plugin_yaml(spec))
    }

    pub fn with_file(plugin_yaml: &str) -> Self {
        let place = tempfile::Builder::new().prefix("or-").tempdir().unwrap();
        for dir in ["config", "plugins", "work"] {
            std::fs::create_dir(place.path().join(dir)).unwrap();
        }
        std::fs::write(place.path().join("config/plugin.yaml"), plugin_yaml).unwrap();
        let mut command = Command::new(BINARY);
        // Called as a plugin image calls it.
        command
            .arg0("/var/run/argocd/argocd-cmp-server")
            .env_remove("ARGOCD_EXEC_TIMEOUT")
            .env("ARGOCD_PLUGINSOCKFILEPATH", place.path().join("plugins"))
            .env("ARGOCD_CMP_WORKDIR", place.path().join("work"))
            .arg("--config-dir-path")
            .arg(place.path().join("config"))
            .stderr(Stdio::from(std::fs::File::create(place.path().join("log")).unwrap()));
        Self { place, command, socket: "tested.sock" }
    }

    pub fn arg(mut self, arg: &str) -> Self {
        self.command.arg(arg);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn socket(mut self, name: &'static str) -> Self {
        self.socket = name;
        self
    }

    /// Starts it without waiting; for servers whose socket is not in their own place.
    pub fn start_elsewhere(mut self) -> Server {
        let process = self.command.spawn().unwrap();
        let socket = self.place.path().join("plugins").join(self.socket);
        Server { place: self.place, process, socket }
    }

    /// Starts it and waits until it listens.
    pub fn start(self) -> Server {
        let server = self.start_elsewhere();
        server.wait_until("it listens", |server| {
            std::os::unix::net::UnixStream::connect(&server.socket).is_ok()
        });
        server
    }

    /// Runs it to its end; for servers that do not start.
    pub fn run(mut self) -> (std::process::ExitStatus, String) {
        let status = self.command.status().unwrap();
        (status, std::fs::read_to_string(self.place.path().join("log")).unwrap())
    }
}

impl Server {
    pub fn start(spec: &str) -> Self {
        Setup::new(spec).start()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.place.path().join("log")).unwrap()
    }

    #[track_caller]
    pub fn wait_until(&self, what: &str, mut there: impl FnMut(&Self) -> bool) {
        let started = Instant::now();
        while !there(self) {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "waited in vain until {what}; log:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub async fn client(&self) -> PluginClient {
        client(&self.socket).await
    }

    /// The address after `text` in the log, such as that of a port 0.
    pub fn address(&self, text: &str) -> String {
        let log = self.log();
        let line =
            log.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text:?} in {log}"));
        let rest = &line[line.find(text).unwrap() + text.len()..];
        rest.split(['"', ' ']).next().unwrap().to_owned()
    }

    pub fn pid(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(i32::try_from(self.process.id()).unwrap())
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(self.pid(), signal).unwrap();
    }

    /// The trees that lie in the work directory.
    pub fn trees(&self) -> Vec<PathBuf> {
        let dir = self.place.path().join("work/_cmp_server");
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// The children of the server, zombies included.
    pub fn children(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let Some((name, rest)) = stat.rsplit_once(") ") else {
                continue;
            };
            let mut fields = rest.split(' ');
            let (state, parent) = (fields.next().unwrap(), fields.next().unwrap());
            if parent == self.process.id().to_string() {
                found.push(format!("{name}) {state}"));
            }
        }
        found
    }

    /// Waits until nothing of any render is left.
    pub fn wait_until_tidy(&self) {
        self.wait_until("no tree is left", |server| server.trees().is_empty());
        self.wait_until("no child is left", |server| server.children().is_empty());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            let mut err = std::io::stderr().lock();
            let _ = writeln!(err, "--- log of the server:\n{}", self.log());
        }
    }
}

pub async fn client(socket: &Path) -> PluginClient {
    let socket = socket.to_owned();
    let connector = tower::service_fn(move |_: Uri| {
        let socket = socket.clone();
        async move { tokio::net::UnixStream::connect(socket).await.map(hyper_util::rt::TokioIo::new) }
    });
    let channel = Endpoint::from_static("http://localhost").connect_with_connector(connector).await.unwrap();
    ConfigManagementPluginServiceClient::new(channel).max_decoding_message_size(100 << 20)
}

/// A directory with these files; a name that ends in `/` is a directory, `a -> b` a link.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        if let Some((link, target)) = name.split_once(" -> ") {
            std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
            continue;
        }
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if name.ends_with('/') {
            std::fs::create_dir_all(&path).unwrap();
        } else {
            std::fs::write(path, content).unwrap();
        }
    }
    dir
}

/// A stream of messages: the metadata and the packed tree.
pub async fn messages(dir: &Path, app_path: &str, env: &[(&str, &str)]) -> Vec<AppStreamRequest> {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let bundle = Bundle::pack(dir, app_path, env).unwrap();
    let chunks: Vec<Bytes> = bundle.chunks().unwrap().map(Result::unwrap).collect().await;
    parts(app_path, &chunks.concat(), bundle.metadata.env, 1024)
}

/// The messages of any bytes, right or wrong.
pub fn parts(
    app_path: &str,
    archive: &[u8],
    env: Vec<(String, String)>,
    chunk: usize,
) -> Vec<AppStreamRequest> {
    let checksum: String = Sha256::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let metadata = ManifestRequestMetadata {
        app_name: "app".to_owned(),
        app_rel_path: app_path.to_owned(),
        checksum,
        size: archive.len() as i64,
        env: env.into_iter().map(|(name, value)| EnvEntry { name, value }).collect(),
    };
    let first = AppStreamRequest { request: Some(Part::Metadata(metadata)) };
    let chunks = archive.chunks(chunk).map(|chunk| file(Bytes::copy_from_slice(chunk)));
    std::iter::once(first).chain(chunks).collect()
}

pub fn file(chunk: Bytes) -> AppStreamRequest {
    AppStreamRequest { request: Some(Part::File(File { chunk })) }
}

/// A request of these messages with a deadline.
pub fn request(
    messages: Vec<AppStreamRequest>,
    timeout: Duration,
) -> tonic::Request<tokio_stream::Iter<std::vec::IntoIter<AppStreamRequest>>> {
    let mut request = tonic::Request::new(tokio_stream::iter(messages));
    request.set_timeout(timeout);
    request
}

pub const MINUTE: Duration = Duration::from_secs(60);

/// Renders a tree, expecting success or the error's status.
pub async fn render(
    client: &mut PluginClient,
    dir: &Path,
    app_path: &str,
    env: &[(&str, &str)],
) -> Result<Vec<String>, tonic::Status> {
    let messages = messages(dir, app_path, env).await;
    Ok(client.generate_manifest(request(messages, MINUTE)).await?.into_inner().manifests)
}
