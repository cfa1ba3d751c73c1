//! What the server and its helpers say to others: the repo-server's askpass service, a trace collector.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use outrigger_wire::askpass::ask_pass_service_server::{AskPassService, AskPassServiceServer};
use outrigger_wire::askpass::{CredentialsRequest, CredentialsResponse};
use support::*;
use tonic::{Request, Response, Status};

struct RepoServer;

#[tonic::async_trait]
impl AskPassService for RepoServer {
    async fn get_credentials(
        &self,
        request: Request<CredentialsRequest>,
    ) -> Result<Response<CredentialsResponse>, Status> {
        match request.into_inner().nonce.as_str() {
            "right" => Ok(Response::new(CredentialsResponse {
                username: "ci".to_owned(),
                password: "hunter2".to_owned(),
            })),
            _ => Err(Status::not_found("unknown nonce")),
        }
    }
}

/// Runs the binary as git does.
fn askpass(name: &str, socket: &str, nonce: &str, question: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(BINARY);
    command
        .arg0(name)
        .args(question)
        .env("ARGOCD_ASK_PASS_SOCK", socket)
        .env("ARGOCD_GIT_ASKPASS_NONCE", nonce);
    if name == "argocd" {
        command.env("ARGOCD_BINARY_NAME", "argocd-git-ask-pass");
    }
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn git_gets_its_credentials_from_the_repo_server() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ask.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let incoming = futures_util::stream::unfold(listener, |listener| async {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(AskPassServiceServer::new(RepoServer))
            .serve_with_incoming(incoming),
    );
    let socket = path.to_str().unwrap();
    for name in ["argocd", "argocd-git-ask-pass"] {
        assert_eq!(askpass(name, socket, "right", &["Username for 'https://x': "]).1, "ci\n");
        assert_eq!(askpass(name, socket, "right", &["Password for 'https://ci@x': "]).1, "hunter2\n");
    }
    for (nonce, question, wanted) in [
        ("wrong", &["Username"][..], "unknown nonce"),
        ("", &["Username"], "ARGOCD_GIT_ASKPASS_NONCE is not set"),
        ("right", &["Colour"], "unknown credential type 'Colour'"),
        ("right", &[], "expected 1 argument, got 0"),
    ] {
        let (code, out, err) = askpass("argocd", socket, nonce, question);
        assert_eq!((code, out.as_str()), (Some(20), ""), "{wanted}");
        assert!(err.contains(wanted) && !err.contains("hunter2"), "{err}");
    }
}

#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        assert_eq!(request.metadata().get("x-team").unwrap(), "blue");
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_join_the_callers_and_hold_a_span_per_phase_and_no_environment() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let collector = Collector::default();
    let service = TraceServiceServer::new(collector.clone());
    let incoming = futures_util::stream::unfold(listener, |listener| async {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    tokio::spawn(tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming));

    let mut server = Setup::new(&generate("echo 'a: 1'"))
        // By name: the static binary must be able to look it up.
        .arg(&format!("--otlp-address=localhost:{port}"))
        .arg("--otlp-headers=x-team=blue")
        .arg("--otlp-attrs=cluster:test")
        .start();
    let repo = tree(&[("a", "")]);
    let env = [("ARGOCD_APP_NAME", "guestbook"), ("ARGOCD_ENV_PASSWORD", "hunter2")];
    let mut request = request(messages(repo.path(), ".", &env).await, MINUTE);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    request.metadata_mut().insert("traceparent", format!("00-{trace}-b7ad6b7169203331-01").parse().unwrap());
    server.client().await.generate_manifest(request).await.unwrap();
    server.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(server.process.wait().unwrap().success());

    let sent = collector.0.lock().unwrap().clone();
    let resource = format!("{:?}", sent[0].resource_spans[0].resource);
    assert!(resource.contains("argocd-cmp-server") && resource.contains("cluster"), "{resource}");
    let spans: Vec<_> = sent
        .iter()
        .flat_map(|sent| &sent.resource_spans)
        .flat_map(|spans| &spans.scope_spans)
        .flat_map(|scope| &scope.spans)
        .collect();
    let mut names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["GenerateManifest", "generate", "parse", "unpack"]);
    for span in &spans {
        let id: String = span.trace_id.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(id, trace, "{}", span.name);
    }
    let all = format!("{sent:?}");
    assert!(all.contains("guestbook") && !all.contains("hunter2"));
}
